"""The tip as mapping may read it while it judges one write (mapping.drafts.Tip).

A thin view: nothing here changes state for good, and nothing here is observed except what rules
need: which vPPBs are occupied and how a newly added target does.
"""

import datetime
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.control.ids import resource_id
from redfish_fm.control.published import Published
from redfish_fm.control.state import WantedState, member_order
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, Place
from redfish_fm.fabric.power import Machine
from redfish_fm.mapping.drafts import LogState, Subscribing
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.log_services import cleared_key
from redfish_fm.redfish.changes import Edit, Space


class TipView:
    """Satisfies mapping.drafts.Tip over the writer's tip.

    `occupants` are asked which vPPBs and parts of their fabric must not be granted now,
    `foreigners` what of theirs somebody else has bound,
    `machine_at` which host there is at a URI, `logs` how far the log of a LogService is;
    `subscribing` is what holds for subscriptions.
    `time_scale` is how fast the fabric clock runs.
    """

    def __init__(self, state: WantedState, published: Published, clock: Clock) -> None:
        self.state = state
        self._published = published
        self._clock = clock
        self.occupants: list[Callable[[], Iterable[Place]]] = []
        self.foreigners: list[Callable[[], frozenset[BindTarget]]] = []
        self.time_scale = 1.0
        self.machine_at: Callable[[str], Machine | None] = lambda _: None
        self.logs: Mapping[str, Callable[[bytes | None], LogState]] = {}
        self.subscribing = Subscribing()

    @property
    def next_id(self) -> str:
        """The Id for the one resource this write makes."""
        return resource_id(self.state.seq + 1)

    def new_id(self, n: int) -> str:
        """Return the Id of the n-th further resource of this write."""
        return resource_id(self.state.seq + 1, n)

    @property
    def index(self) -> FabricIndex:
        """The typed index at the tip."""
        return self.state.index

    @property
    def facts(self) -> Facts:
        """What inventory means to the fabrics."""
        return self.state.base.facts

    @property
    def occupied(self) -> Container[Place]:
        """What was last seen taken by others, is being released, or is in a state not known."""
        return _Occupied((*self.occupants, self._given_up))

    @property
    def bound_elsewhere(self) -> frozenset[BindTarget]:
        """What was last seen bound by another manager."""
        return frozenset().union(*(bound() for bound in self.foreigners))

    def _given_up(self) -> Iterable[Place]:
        """Yield what open operations give up, those too that no loop has heard of yet."""
        for operation in self.state.operations.values():
            if operation.open:
                yield from (released.vppb for released in operation.released)
                yield from (freed.target for freed in operation.freed)

    def timestamp(self) -> str:
        """Return the wall time as Redfish DateTime text, in UTC with seconds."""
        return date_time(self._clock.wall_s())

    def wall_s(self) -> float:
        """Return the wall time in seconds since 1970."""
        return self._clock.wall_s()

    def ends_s(self, lasting_s: float) -> float:
        """Return the wall time when `lasting_s` of the fabric clock are over.

        At scale 0 fabric time has no length of its own: it jumps. The service clock stands for it.
        """
        return self._clock.wall_s() + lasting_s / (self.time_scale or 1.0)

    def shown(self, uri: str) -> Mapping[str, Any] | None:
        """Return the resource or collection at `uri` as a GET would show it, were this durable."""
        return self._published.over(self.state).composed(uri)

    def document(self, uri: str) -> Mapping[str, Any] | None:
        """Return the wanted document, or inventory with its overlay."""
        return self.state.document(uri)

    def exists(self, uri: str) -> bool:
        """Return whether there is a resource at `uri`."""
        return self.state.exists(uri)

    def wanted(self, uri: str) -> bytes | None:
        """Return the bytes stored in DOCUMENT space."""
        return self.state.spaces[Space.DOCUMENT].get(uri)

    def overlay(self, uri: str) -> bytes | None:
        """Return the bytes stored in OVERLAY space."""
        return self.state.spaces[Space.OVERLAY].get(uri)

    def secret(self, uri: str) -> bytes | None:
        """Return the bytes stored in SECRET space."""
        return self.state.spaces[Space.SECRET].get(uri)

    def members(self, collection: str) -> Sequence[str]:
        """Return the URIs of a collection's members."""
        return self.state.members_of(collection)

    def linked_by(self, uri: str, pointer: str) -> Sequence[str]:
        """Return the wanted resources that `uri` shows at the pointer of derived links."""
        return sorted(self.state.links.get(uri, {}).get(pointer, ()), key=member_order)

    def is_wanted(self, uri: str) -> bool:
        """Return whether `uri` lives in DOCUMENT space."""
        return uri in self.state.spaces[Space.DOCUMENT]

    def wanted_tag(self, uri: str) -> str | None:
        """Return the W part of the ETag at the tip."""
        return self.state.wanted_tag(uri)

    def busy(self, uri: str) -> str | None:
        """Return the URI of the Task whose open operation holds `uri`."""
        return self.state.busy(uri)

    def status(self, uri: str) -> tuple[str | None, str | None]:
        """Return the last observed Status (State, Health) of the endpoint at `uri`."""
        status = (self._published.observed(uri) or {}).get("Status") or {}
        return status.get("State"), status.get("Health")

    def machine(self, uri: str) -> Machine | None:
        """Return the host whose system or BMC is at `uri`; None where nobody can reset it."""
        return self.machine_at(uri)

    def log(self, uri: str) -> LogState | None:
        """Return the log whose LogService is at `uri`; None where nobody keeps one."""
        found = self.logs.get(uri)
        return None if found is None else found(self.state.spaces[Space.META].get(cleared_key(uri)))

    def lay(self, edits: Sequence[Edit]) -> None:
        """Lay edits on the tip, for as long as one write is judged."""
        self.state.apply_all(edits)


class _Occupied:
    """What nothing may be granted on now; asked for when the first grant looks."""

    def __init__(self, occupants: Iterable[Callable[[], Iterable[Place]]]) -> None:
        self._occupants = occupants
        self._known: frozenset[Place] | None = None

    def __contains__(self, place: object) -> bool:
        if self._known is None:
            self._known = frozenset().union(*(occupied() for occupied in self._occupants))
        return place in self._known


def date_time(wall_s: float) -> str:
    """Return seconds since 1970 as Redfish DateTime text in UTC, "2026-12-01T03:04:05Z"."""
    moment = datetime.datetime.fromtimestamp(wall_s, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
