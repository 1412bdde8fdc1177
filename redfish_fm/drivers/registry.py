"""Which drivers there are: names to the factories that make them.

Knows entry points and nothing of any driver. A driver package adds itself by an entry point in
the group below; the drivers that ship with us are also known without installed metadata, so a
plain checkout runs.
"""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from redfish_fm.drivers.base import Driver
from redfish_fm.errors import FmError

GROUP = "redfish_fm.drivers"
"""The entry-point group; each entry names a callable that returns a Driver."""

DriverFactory = Callable[..., Driver]
"""Makes one driver; its keywords differ by driver (an address, an inventory)."""

_BUILT_IN = (
    EntryPoint("cxl_fmapi", "redfish_fm.drivers.cxl_fmapi.driver:create", GROUP),
    EntryPoint("virtual", "redfish_fm.drivers.virtual.driver:create", GROUP),
)


class UnknownDriver(FmError):
    """No driver of that name is installed; the text lists those that are."""


class DriverBroken(FmError):
    """The driver is installed but can not be loaded; the text says why."""


def names() -> tuple[str, ...]:
    """Return the names of all drivers, sorted."""
    return tuple(sorted(_entries()))


def factory(name: str) -> DriverFactory:
    """Return the factory of driver `name`. Raises UnknownDriver or DriverBroken."""
    entry = _entries().get(name)
    if entry is None:
        raise UnknownDriver(f"there is no driver {name!r}; installed: {', '.join(names())}")
    try:
        loaded = entry.load()
    except (ImportError, AttributeError) as error:
        raise DriverBroken(f"driver {name!r} ({entry.value}) can not be loaded: {error}") from error
    if not callable(loaded):
        raise DriverBroken(f"driver {name!r} ({entry.value}) is not a factory")
    make: DriverFactory = loaded
    return make


def _entries() -> dict[str, EntryPoint]:
    """Return every entry by name; an installed one wins over the built-in table."""
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    return {entry.name: entry for entry in _BUILT_IN} | installed
