"""What open operations wait for that is not this service's to end, and for how long already.

Everything that a Task waits for in that way is told in its Messages: once for each reason, and only
when it lasts, for most of it is over before anybody has read it. Where nothing is in the way and
hardware still does not do what it took, that is the reason. Decides nothing of how operations end
(control.verdicts, control.reconcile).
"""

import math
from collections.abc import Iterator

from redfish_fm.clocks import Clock
from redfish_fm.control.published import Published
from redfish_fm.control.verdicts import Look, described, missing, owed
from redfish_fm.fabric.ground import silent
from redfish_fm.fabric.model import (
    Bind,
    BindTarget,
    Media,
    Observation,
    SetQos,
    Step,
    Unbind,
    VppbId,
)
from redfish_fm.mapping.awaited import Awaited
from redfish_fm.mapping.operations import Operation
from redfish_fm.redfish.errors import Message

LASTING_S = 3.0
"""How long something is waited for before that is told: a Task has it when its client hears of it,
which is after the sync budget (5 s unless configured)."""


class Waits:
    """The waits of one fabric. Times are those of the service clock.

    `unheeded_s`: how long hardware may take for a step that nothing is in the way of.
    """

    def __init__(
        self, fabric: str, published: Published, clock: Clock, unheeded_s: float = math.inf
    ) -> None:
        self._fabric = fabric
        self._published = published
        self._clock = clock
        self._unheeded_s = unheeded_s
        self._due_s: dict[str, dict[Message, float]] = {}

    def lasting(self, operation: Operation, mine: Operation, look: Look) -> tuple[Message, ...]:
        """Return what an operation has waited for long enough; `mine` is its part of the fabric."""
        words = Awaited(self._published.base.facts, self._fabric)
        lasting_s = dict.fromkeys(awaited(mine, look, words), LASTING_S)
        for step in unheeded(mine, look, words):
            told = words.unheeded(described(step), step.target, self._unheeded_s)
            lasting_s[told] = self._unheeded_s
        now_s, before = self._clock.now_s(), self._due_s.get(operation.id, {})
        self._due_s[operation.id] = {
            each: before.get(each, now_s + after_s) for each, after_s in lasting_s.items()
        }
        return self.told(operation.id)

    def told(self, operation_id: str) -> tuple[Message, ...]:
        """Return what an operation waited for long enough when it was last judged."""
        now_s, found = self._clock.now_s(), self._due_s.get(operation_id, {})
        return tuple(each for each, due_s in found.items() if now_s >= due_s)

    def keep(self, operations: set[str]) -> None:
        """Forget all operations but these, by id."""
        for gone in self._due_s.keys() - operations:
            del self._due_s[gone]

    def left_behind(self, mine: Operation, look: Look) -> tuple[Message, ...]:
        """Return what an operation that is over could not give back, as others have it now."""
        words = Awaited(self._published.base.facts, self._fabric)
        if look.enforce:
            return ()
        return tuple(
            words.left(part.target, holder)
            for part in mine.freed
            if part.target not in look.allocations and part.target in look.seen.parts
            if (holder := look.holder(part.target)) is not None
        )


def awaited(operation: Operation, look: Look, words: Awaited) -> Iterator[Message]:
    """Yield why each part of an operation is not done yet, where that is not ours to end."""
    for step in missing(operation, look):
        if isinstance(step, Bind):
            yield from _for_grant(step, look, words)
        else:
            yield from _at(step.target, look, words)
    for step in owed(operation, look):
        yield from _for_release(step, look, words)


def unheeded(operation: Operation, look: Look, words: Awaited) -> Iterator[Step]:
    """Yield the releasing steps that nothing is in the way of. Grants are taken back in time."""
    return (step for step in owed(operation, look) if not _for_release(step, look, words))


def _for_release(step: Step, look: Look, words: Awaited) -> list[Message]:
    at_vppb = _at_vppb(step.vppb, look, words) if isinstance(step, Unbind) else []
    cleaned = not isinstance(step, SetQos)
    return at_vppb or _at(step.target, look, words, cleaned=cleaned)


def _for_grant(step: Bind, look: Look, words: Awaited) -> list[Message]:
    if step.vppb in {vppb for vppb, _theirs in look.foreign}:
        return [words.unbind(step.target, step.vppb)]
    return _at_vppb(step.vppb, look, words) or _at(step.target, look, words, cleaned=True)


def _at_vppb(vppb: VppbId, look: Look, words: Awaited) -> list[Message]:
    if vppb.switch in look.seen.unreachable:
        return [words.switch(vppb.switch)]
    if look.unsettled(vppb) and vppb not in look.under_way:
        return [words.operation(vppb.switch)]
    return []


def _at(target: BindTarget, look: Look, words: Awaited, *, cleaned: bool = False) -> list[Message]:
    """Return what keeps a step from a target; `cleaned`: its contents have to go as well."""
    if target.switch in look.seen.unreachable:
        return [words.switch(target.switch)]
    if silent(look.seen, target) or (cleaned and target in look.displaced):
        return [words.device(target)]
    if (holder := look.holder(target)) is not None:
        return [words.unbind(target, holder)]
    if target in look.under_way:
        return []
    if look.unsettled(target):
        return [words.operation(target.switch)]
    state = look.seen.parts.get(target)
    if cleaned and state is not None and state.media is not Media.CLEAN:
        return [words.scrub(target)]
    return []


def nothing_seen(fabric: str, operations: list[Operation], now_s: float) -> Observation:
    """Return what is seen where none of the switches that these have work at answers."""
    return Observation(
        fabric, now_s, float("-inf"), {}, unreachable=frozenset().union(*map(_switches, operations))
    )


def _switches(operation: Operation) -> frozenset[str]:
    bindings = (*operation.granted, *operation.released)
    wishes = (*(wish for _before, wish in operation.bandwidth), *operation.restoring)
    found = {each.vppb.switch for each in bindings} | {each.target.switch for each in bindings}
    found |= {part.target.switch for part in (*operation.allocated, *operation.freed)}
    return frozenset(found | {wish.target.switch for wish in wishes})
