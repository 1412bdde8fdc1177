"""Several writes as one: each judged on what the ones before it have made, all in one Draft.

A composition is a zone, connections, chunks and a system together, and the rules of each are those
of the type. So each is judged as if it came alone, on the tip with the former ones laid on it; then
all are taken off again, and one draft has their edits and their hardware work (DESIGN section 4: a
composition is one commit). Nothing here awaits: nobody else sees what is laid on.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from redfish_fm.fabric.model import VppbId
from redfish_fm.fabric.values import Allocation, Binding, QosWish
from redfish_fm.mapping.drafts import Draft, OperationDraft, TakeBack, Tip
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind


@dataclass
class Transaction:
    """The drafts laid on the tip so far. Made by `transaction`."""

    _tip: Tip
    _drafts: list[Draft] = field(default_factory=list)
    at: str = ""
    """JSON pointer of the request that is judged now, where it is one of several in a body."""
    _places: dict[str, str] = field(default_factory=dict)

    def tell(self, unit: str, place: str) -> None:
        """Note where the request asks for a unit: what refuses it later is told with that place.

        The drafts name places in bodies that no client has written.
        """
        self._places[unit] = f"#{self.at}{place}"

    def add(self, draft: Draft) -> None:
        """Lay a draft, judged just now, on the tip; what follows is judged upon it."""
        self._tip.lay(draft.edits)
        self._drafts.append(draft)

    def edit(self, *edits: Edit) -> None:
        """Lay edits that need no hardware on the tip."""
        self.add(Draft(OutcomeKind.CHANGED, "", edits))

    def merged(self, kind: OutcomeKind, uri: str, added: Iterable[str] = ()) -> Draft:
        """Return one draft of all: about the resource at `uri`, which gained the members `added`.

        What they change back and forth is in it once, or not at all.
        """
        laid = [edit for draft in self._drafts for edit in draft.edits]
        edits = coalesced(laid)
        if not edits:
            return Draft(OutcomeKind.NO_OPERATION, uri)
        plans = [draft.operation for draft in self._drafts if draft.operation is not None]
        made = _made(laid, edits)
        return Draft(
            kind, uri, edits, _operation(uri, plans, edits, made, tuple(added), self._places)
        )

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Take off the tip what is laid on it inside, where that is refused in the end."""
        before = len(self._drafts)
        try:
            yield
        except RedfishError:
            self.take_off(before)
            raise

    def take_off(self, left: int = 0) -> None:
        """Take everything off the tip again, newest first, but for the first `left` drafts."""
        while len(self._drafts) > left:
            draft = self._drafts.pop()
            self._tip.lay(tuple(edit.inverse() for edit in reversed(draft.edits)))


@contextmanager
def transaction(tip: Tip) -> Iterator[Transaction]:
    """Let several drafts be judged one upon the other; the tip is as before afterwards."""
    laid = Transaction(tip)
    try:
        yield laid
    finally:
        laid.take_off()


def coalesced(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return one edit a key, from its first image to its last; none where both are the same."""
    first: dict[tuple[Space, str], Edit] = {}
    for edit in edits:
        key = (edit.space, edit.key)
        before = first.get(key)
        first[key] = edit if before is None else replace(before, post=edit.post)
    return tuple(edit for edit in first.values() if edit.pre != edit.post)


def _made(laid: Iterable[Edit], edits: Iterable[Edit]) -> frozenset[str]:
    """Return the documents that come to be, also in the place of others that are deleted first."""
    made = {edit.key for edit in laid if edit.space is Space.DOCUMENT and edit.pre is None}
    there = {edit.key for edit in edits if edit.space is Space.DOCUMENT and edit.post is not None}
    return frozenset(made & there)


def _before(uri: str, edits: Iterable[Edit]) -> str:
    """Return the document at `uri` as it was before the edits, if they change one."""
    pre = (edit.pre for edit in edits if edit.space is Space.DOCUMENT and edit.key == uri)
    return (next(pre, None) or b"").decode()


@dataclass
class _Work:
    """The hardware work of several plans, as one."""

    granted: dict[VppbId, Binding] = field(default_factory=dict)
    changed: dict[VppbId, tuple[Binding, Binding]] = field(default_factory=dict)
    joined: dict[VppbId, tuple[Binding, Binding]] = field(default_factory=dict)
    released: list[Binding] = field(default_factory=list)
    allocated: dict[object, Allocation] = field(default_factory=dict)
    freed: list[Allocation] = field(default_factory=list)
    bandwidth: list[tuple[QosWish, QosWish]] = field(default_factory=list)

    def take(self, plan: OperationDraft) -> None:
        """Add one plan, which was judged upon those before."""
        for binding in plan.released:
            self._release(binding)
        for before, after in plan.changed:
            self._change(before, after)
        joined = {after: before for before, after in plan.joined}
        for binding in plan.granted:
            self._grant(binding, joined.get(binding))
        for part in plan.freed:
            if self.allocated.pop(part.target, None) is None:
                self.freed.append(part)
        self.allocated.update((part.target, part) for part in plan.allocated)
        self.bandwidth += plan.bandwidth

    def _release(self, binding: Binding) -> None:
        self.changed.pop(binding.vppb, None)
        joined = self.joined.pop(binding.vppb, None)
        mine = self.granted.pop(binding.vppb, None)
        if mine is None or joined is not None:
            self.released.append(binding)

    def _change(self, before: Binding, after: Binding) -> None:
        if before.vppb in self.granted:
            self.granted[before.vppb] = after
        else:
            first = self.changed.get(before.vppb, (before, after))[0]
            self.changed[before.vppb] = (first, after)

    def _grant(self, binding: Binding, before: Binding | None) -> None:
        mine = self.granted.get(binding.vppb)
        if before is not None and mine is None:
            self.joined[binding.vppb] = (before, binding)
        elif before is not None and binding.vppb in self.joined:
            self.joined[binding.vppb] = (self.joined[binding.vppb][0], binding)
        # What this very transaction binds is nobody's yet, whatever the tip says of its holder.
        self.granted[binding.vppb] = binding

    def named(self) -> Iterator[str]:
        """Yield what hardware may refuse: the units that are bound, and the parts that are made."""
        yield from (each.unit for each in self.granted.values())
        yield from (each.holder for each in self.allocated.values())


def _operation(
    uri: str,
    plans: list[OperationDraft],
    edits: tuple[Edit, ...],
    made: frozenset[str],
    added: tuple[str, ...],
    places: Mapping[str, str],
) -> OperationDraft | None:
    work = _Work()
    for plan in plans:
        work.take(plan)
    if not (work.granted or work.released or work.allocated or work.freed or work.bandwidth):
        return None
    written = {edit.key for edit in edits if edit.space in (Space.DOCUMENT, Space.OVERLAY)}
    granting = bool(work.granted or work.allocated or work.bandwidth)
    members: Mapping[str, tuple[str, ...]] = {
        **{member: () for member in added},
        **{member: units for plan in plans for member, units in plan.added.items()},
    }
    return OperationDraft(
        plans[0].fabric,
        uri,
        frozenset({uri, *written}.union(*(plan.resources for plan in plans))),
        tuple(work.granted.values()),
        tuple(work.changed.values()),
        tuple(work.released),
        TakeBack.COMPOSITION if granting else TakeBack.NOTHING,
        members,
        tuple(work.allocated.values()),
        tuple(work.freed),
        tuple(work.joined.values()),
        frozenset().union(*(plan.holders or {plan.resource} for plan in plans)),
        tuple(work.bandwidth),
        places={
            **{unit: place for plan in plans for unit, place in plan.places.items()},
            **{name: places[name] for name in work.named() if name in places},
        },
        document_before=_before(uri, edits),
        made=made,
    )
