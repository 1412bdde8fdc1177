"""Which of many resources most probably does what is asked of it: most do not, by what they are."""

from collections.abc import Callable
from typing import Any

from tests.fuzz.surface import Surface

Document = dict[str, Any]


def likely(surface: Surface, method: str, template: str, uris: list[str]) -> list[str]:
    """Return those of `uris` that can do a write; all of them where no rule tells them apart."""
    fits = _FITTING.get(surface.body_name(method, template) or "")
    if fits is None:
        return uris
    owners = ((uri, surface.tree.get(uri.partition("/Actions/")[0], {})) for uri in uris)
    return [uri for uri, owner in owners if fits(owner)]


def _volumes(connection: Document) -> int:
    return len(connection.get("VolumeInfo") or ())


def _blocks(system: Document) -> int:
    return len(system.get("Links", {}).get("ResourceBlocks") or ())


_FITTING: dict[str, Callable[[Document], bool]] = {
    # The last row of a connection can not go.
    "Connection.RemoveVolumeInfo.Parameters": lambda found: _volumes(found) > 1,
    "Connection.AddVolumeInfo.Parameters": lambda found: _volumes(found) > 0,
    # A composed system keeps its host, and a host has none but what it was given.
    "ComputerSystem.RemoveResourceBlock.Parameters": lambda found: _blocks(found) > 1,
    "CXLLogicalDevice.Update": lambda found: "QoS" in found,
    # Of protocols, only those of the service itself.
    "ManagerNetworkProtocol.Update": lambda found: "mDNS" in found,
}
"""Name of a body -> whether a resource can do what it asks."""
