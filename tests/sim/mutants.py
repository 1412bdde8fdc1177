"""The service with one decision made wrong each; the simulation must notice every one of them.

Patched in from here only: the product has no switch for any of it. Each value makes a context
manager within which the mutant lives.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from redfish_fm.control.operations import Operations
from redfish_fm.control.reconcile import FabricLoop
from redfish_fm.control.settling import Settling
from redfish_fm.control.tip import TipView
from redfish_fm.control.verdicts import Look
from redfish_fm.control.writer import Writer
from redfish_fm.fabric import zoning
from redfish_fm.fabric.ground import Targets
from redfish_fm.fabric.model import Step, Unbind
from redfish_fm.fabric.planner import _Planner
from redfish_fm.fabric.values import Binding, Rule
from redfish_fm.mapping.bindings import binding_edit
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.operations import Operation, decode_operation, encode_operation
from redfish_fm.redfish.changes import Change, Edit, Space
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store import memory

Mutant = Callable[[], AbstractContextManager[Any]]


def without(*rules: Rule) -> Mutant:
    """Switch isolation rules off."""
    return lambda: patch.dict(zoning.RULES, {rule: lambda _: [] for rule in rules})


def _loose(self: Any, claim: Binding) -> bool:
    return not self._pending(claim.target)


def bind_before_unbind() -> AbstractContextManager[Any]:
    """The planner binds a target although it is seen bound, or being released, elsewhere."""
    return patch.object(_Planner, "_loose", _loose)


def no_barrier() -> AbstractContextManager[Any]:
    """Nothing is ever in doubt."""
    return patch.object(Settling, "unsettled", lambda _self, _place: False)


def barrier_of_an_earlier_look() -> AbstractContextManager[Any]:
    """A look proves also what was sent while it was under way."""

    def look_ended(self: Settling, barrier_s: float) -> None:
        vars(self).update(_barrier_s=barrier_s, _sent_s={}, _sent_targets=Targets())

    return patch.object(Settling, "look_ended", look_ended)


def forgetful_restart() -> AbstractContextManager[Any]:
    """After a restart nothing that an earlier process sent counts."""
    begin = Settling.__init__

    def make(self: Settling, _start_s: float) -> None:
        begin(self, float("-inf"))

    return patch.object(Settling, "__init__", make)


def rollback_of_a_release() -> AbstractContextManager[Any]:
    """A refused unbind gives the old claim back."""
    judge = vars(FabricLoop)["_judge"]

    async def mutant(
        self: Any, operation: Operation, look: Look, refused: Mapping[Step, str]
    ) -> None:
        back = [b for b in operation.released if Unbind(b.vppb, b.target) in refused]
        if back:
            await vars(self._operations)["_writer"].submit(
                lambda tip: _given_back(tip, operation, back), "reconcile"
            )
        else:
            await judge(self, operation, look, refused)

    return patch.object(FabricLoop, "_judge", mutant)


def _given_back(tip: TipView, operation: Operation, back: list[Binding]) -> Draft:
    current = tip.state.operations.get(operation.id)
    if current is None or not current.open:
        return Draft(OutcomeKind.NO_OPERATION, operation.uri)
    left = tuple(each for each in current.released if each not in back)
    after = replace(current, released=left)
    edits = [binding_edit(None, each) for each in back
             if each.vppb not in tip.state.index.bindings]  # fmt: skip
    record = Edit(Space.OPERATION, current.id, encode_operation(current), encode_operation(after))
    return Draft(OutcomeKind.CHANGED, operation.uri, (*edits, record))


def journal_drops_one_in_50() -> AbstractContextManager[Any]:
    """The store says yes to everything, and forgets one change in fifty."""
    staged = vars(memory)["_staged"]

    def mutant(spaces: Any, batch: Sequence[Change]) -> Any:
        return staged(spaces, [change for change in batch if change.seq % 50])

    return patch.object(memory, "_staged", mutant)


def publish_before_durable() -> AbstractContextManager[Any]:
    """A batch is published, and answered, before the store has it."""
    commit = vars(Writer)["_commit"]

    async def mutant(self: Any, batch: list[Any]) -> None:
        self._publish(batch)
        with (
            patch.object(self, "_publish", lambda _: None),
            patch.object(self, "_fail", lambda *_: None),
        ):
            await commit(self, batch)

    return patch.object(Writer, "_commit", mutant)


def take_back_forgets_to_release() -> AbstractContextManager[Any]:
    """Grants that are taken back are forgotten instead of unbound."""
    stopping = vars(Operations)["_stopping"]

    def mutant(self: Any, tip: TipView, operation: Operation, *further: Any) -> Draft:
        draft: Draft = stopping(self, tip, operation, *further)
        *edits, record = draft.edits
        after = replace(decode_operation(record.post or b""), released=operation.released)
        return replace(draft, edits=(*edits, replace(record, post=encode_operation(after))))

    return patch.object(Operations, "_stopping", mutant)


def answer_before_the_hardware() -> AbstractContextManager[Any]:
    """A write is answered as done as soon as it is durable."""

    async def verdict(_self: Operations, _operation_id: str, _budget_s: float) -> bool:
        return True

    return patch.object(Operations, "verdict", verdict)


MUTANTS: dict[str, Mutant] = {
    "HOST_SHARING off": without(Rule.HOST_SHARING),
    "ZONE_UNIT_TWICE off": without(Rule.ZONE_UNIT_TWICE),
    "HOST_SHARING, LD_HOST off": without(Rule.HOST_SHARING, Rule.LD_HOST),
    "HOST_SHARING, ZONE_MANY_HOSTS off": without(Rule.HOST_SHARING, Rule.ZONE_MANY_HOSTS),
    "bind before unbind": bind_before_unbind,
    "no barrier": no_barrier,
    "barrier of an earlier look": barrier_of_an_earlier_look,
    "restart forgets what was sent": forgetful_restart,
    "rollback of a release": rollback_of_a_release,
    "journal drops one write in 50": journal_drops_one_in_50,
    "publish before durable": publish_before_durable,
    "take_back forgets to release": take_back_forgets_to_release,
    "answer before the hardware": answer_before_the_hardware,
}
