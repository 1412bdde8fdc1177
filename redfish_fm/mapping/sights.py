"""One look at a fabric with what it means, and what differs from the look before.

Pure. Control makes a FabricSight after every observation; Lasting remembers what was last seen,
also of switches that do not answer any more.
"""

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from redfish_fm.fabric.link_errors import NO_ERRORS, LinkErrors
from redfish_fm.fabric.model import (
    BindTarget,
    Observation,
    PartState,
    PortId,
    PortState,
    Qos,
    VppbId,
)
from redfish_fm.fabric.values import Violation


@dataclass(frozen=True, slots=True)
class FabricSight:
    """One look at one fabric with what it means. Made by control after each observation.

    `observation` None: no switch answers. `unmet` are wanted vPPBs not seen as wanted, `opening`
    those among them that an open operation is still binding; `foreign` is bound but not ours;
    `unmet_parts` are parts of pools that are wanted and not seen allocated, `blocked_parts` those
    among them that something else is in the way of, `foreign_parts` those that are there although
    nobody here asked for them.
    """

    fabric: str
    observation: Observation | None
    unmet: frozenset[VppbId] = frozenset()
    foreign: tuple[tuple[VppbId, BindTarget], ...] = ()
    violations: tuple[Violation, ...] = ()
    opening: frozenset[VppbId] = frozenset()
    unmet_parts: frozenset[BindTarget] = frozenset()
    foreign_parts: tuple[BindTarget, ...] = ()
    blocked_parts: frozenset[BindTarget] = frozenset()
    now: str | None = None
    """When it was made, as DateTime text: what begins with this look began then."""


K = TypeVar("K", PortId, VppbId, BindTarget)
V = TypeVar("V")
_MISSING = object()


@dataclass(slots=True)
class News:
    """What one look says otherwise than the look before."""

    ports: list[PortId] = field(default_factory=list)
    vppbs: list[VppbId] = field(default_factory=list)
    parts: list[BindTarget] = field(default_factory=list)
    switches: frozenset[str] = frozenset()
    """Those that fell silent or answer again."""


class Lasting:
    """What was last seen of every port, vPPB, part and LD.

    By switch: `bound` counts bound vPPBs, `errors` sums up what those ports count that tell.
    """

    def __init__(self) -> None:
        self.ports: dict[PortId, PortState] = {}
        self.bindings: dict[VppbId, BindTarget | None] = {}
        self.parts: dict[BindTarget, PartState] = {}
        self.qos: dict[BindTarget, Qos] = {}
        self.bound: dict[str, int] = {}
        self.errors: dict[str, LinkErrors] = {}
        self.unreachable: frozenset[str] = frozenset()
        self.busy: frozenset[VppbId] = frozenset()

    def compare(
        self, seen: Observation | None, switches: Collection[str]
    ) -> Generator[None, None, News]:
        """Take a look in and return what is new in it; None: none of `switches` answered.

        Yields after each thing that is new, that others may have a turn.
        """
        silent = frozenset(switches) if seen is None else seen.unreachable & frozenset(switches)
        news = News(switches=silent ^ self.unreachable)
        self.unreachable = silent
        if seen is None:
            return news
        gone = seen.unreachable
        ports = yield from _differences(self.ports, seen.ports, gone)
        for port, earlier in ports.items():
            self._count(port.switch, earlier, self.ports.get(port))
            yield
        news.ports = [*ports]
        vppbs = yield from _differences(self.bindings, seen.bindings, gone)
        for vppb, before in vppbs.items():
            change = (self.bindings.get(vppb) is not None) - (before is not None)
            self.bound[vppb.switch] = self.bound.get(vppb.switch, 0) + change
            yield
        news.vppbs = [*vppbs, *(self.busy ^ seen.busy)]
        self.busy = seen.busy
        parts = yield from _differences(self.parts, seen.parts, gone)
        qos = yield from _differences(self.qos, seen.qos, gone)
        news.parts = [*parts, *qos]
        return news

    def _count(self, switch: str, before: PortState | None, now: PortState | None) -> None:
        less = None if before is None else before.errors
        more = None if now is None else now.errors
        if less != more:
            counted = self.errors.get(switch, NO_ERRORS) - (less or NO_ERRORS)
            self.errors[switch] = counted + (more or NO_ERRORS)


def _differences(
    known: dict[K, V], seen: Mapping[K, V], silent: Collection[str]
) -> Generator[None, None, dict[K, V | None]]:
    """Bring `known` up to what is seen; return what differs with what was known before (or None).

    What is no longer said by a switch that answers is forgotten.
    """
    changed: dict[K, V | None] = {}
    for key, value in seen.items():
        before = known.get(key, _MISSING)
        if before is not value and before != value:
            changed[key] = known.get(key)
            known[key] = value
            yield
    if len(known) > len(seen) or silent:
        for key in [key for key in known if key not in seen and key.switch not in silent]:
            changed[key] = known.pop(key)
    return changed
