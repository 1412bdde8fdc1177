"""How the targets of commands lie to each other: the same, one a part of the other, or apart.

Pure. Knows targets only: whole ports, functions, LDs, regions and namespaces (model.BindTarget).
"""

from collections.abc import Iterator
from dataclasses import replace

from redfish_fm.fabric.model import BindTarget, PartKind

LD_COUNT_MAX = 16
"""LDs of one MLD are numbered 0-15 (model.LogicalDevice)."""


def overlaps(one: BindTarget, other: BindTarget) -> bool:
    """Return whether binding one takes the other: the same, or one is a part of the other."""
    if (one.switch, one.port) != (other.switch, other.port):
        return False
    shorter, longer = sorted((one.path, other.path), key=len)
    return longer[: len(shorter)] == shorter


def enclosing(target: BindTarget) -> Iterator[BindTarget]:
    """Yield the target and whatever it is a part of, innermost first."""
    yield target
    if target.region is not None:
        yield replace(target, region=None)
    if target.path:
        yield BindTarget(target.switch, target.port)


def part_kind(target: BindTarget) -> PartKind | None:
    """Return of what kind of pool the target would be a part; None where it can be of none."""
    if target.namespace is not None:
        return PartKind.NAMESPACE
    if target.region is not None:
        return PartKind.REGION
    return None if target.ld is None else PartKind.LD


def part_name(target: BindTarget) -> str:
    """Return a target in words, from the innermost part on: "region 0 of ld 3"; the whole: ""."""
    return " of ".join(f"{name} {number}" for name, number in reversed(target.path))


def order(target: BindTarget) -> tuple[str, str, tuple[tuple[str, int], ...]]:
    """Return a sort key: by switch and port, then from the outermost part to the innermost."""
    return target.switch, target.port, target.path
