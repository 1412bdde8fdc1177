"""What is kept of parts, of contents and of a device's life: values, and their physics.

Pure. Sizes in MiB, times on the fabric clock.
"""

from dataclasses import dataclass

from redfish_fm.drivers.virtual.capacity import Extent
from redfish_fm.fabric.model import BindTarget, Media

SANITIZE_S = 0.05
"""Least time of a sanitize: command, key change and verification of a small part."""

SANITIZE_MIB_PER_S = 64 * 2**20
"""64 TiB/s: media zero their own cells, all channels at once; 8 TiB take 0.175 s. Real devices
need longer; here a scrub must be long enough to be interrupted and short enough for tests."""

Key = tuple[str, tuple[tuple[str, int], ...]]
"""Names one part of a device: the head it belongs to ("" where all ports reach the same media),
and BindTarget.path."""


def sanitize_s(size_mib: int) -> float:
    """Return how long the sanitizing of that much takes."""
    return SANITIZE_S + size_mib / SANITIZE_MIB_PER_S


def nested(one: Key, other: Key) -> bool:
    """Whether one is the other, or a part of it."""
    if one[0] != other[0]:
        return False
    shorter, longer = sorted((one[1], other[1]), key=len)
    return longer[: len(shorter)] == shorter


@dataclass(frozen=True, slots=True)
class Part:
    """One allocated part. `target` is the name under which it was allocated."""

    target: BindTarget
    size_mib: int
    shareable: bool
    extents: tuple[Extent, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """What is in a part (or a device, or a fixed LD).

    `media` is what the hardware reports; `hosts` whose data truly are in it. Of what is for several
    hosts `owners` share it now, and `residue` are those of `hosts` whose data were in it before the
    first of them came. `done_s`: when the sanitizing under way ends.
    """

    media: Media = Media.CLEAN
    hosts: frozenset[str] = frozenset()
    residue: frozenset[str] = frozenset()
    done_s: float | None = None
    owners: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Residue:
    """Data that hosts left in addresses which no part has any more."""

    extent: Extent
    hosts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Life:
    """How a device is. `serial_number` None: that of the inventory; `health` as Redfish has it."""

    present: bool = True
    powered: bool = True
    serial_number: str | None = None
    health: str = "OK"
