"""Compositions with one decision made wrong each; tests.sim.mutants lists them with all others."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from redfish_fm.control.expiry import Expiry
from redfish_fm.control.operations import Operations
from redfish_fm.control.state import WantedState
from redfish_fm.fabric import block_rules
from redfish_fm.fabric.values import Rule, Violation
from redfish_fm.mapping import compositions, constrained, operations, writes
from redfish_fm.mapping.assembly import Assembly
from redfish_fm.mapping.drafts import Tip
from redfish_fm.mapping.operations import Operation
from redfish_fm.mapping.transactions import Transaction
from redfish_fm.redfish.changes import Edit
from tests.sim.stopping import stopping_with

Mutant = Callable[[], AbstractContextManager[Any]]


def without_block_rule(rule: Rule) -> Mutant:
    """Nothing that a request names is refused for this rule."""

    def mutant() -> AbstractContextManager[Any]:
        check = block_rules.check_blocks

        def careless(*given: Any, **more: Any) -> list[Violation]:
            return [each for each in check(*given, **more) if each.rule is not rule]

        stack = ExitStack()
        for module in (compositions, constrained):
            stack.enter_context(patch.object(module, "check_blocks", careless))
        return stack

    return mutant


def without(name: str) -> Mutant:
    """One of the questions about blocks is not asked, by whoever asks."""
    return lambda: patch.object(block_rules, name, lambda *_: ())


def held_by_nobody() -> AbstractContextManager[Any]:
    """What a composition holds is changed like anything else."""
    return patch.object(writes, "refuse_held", lambda *_: None)


def laid_for_ever() -> AbstractContextManager[Any]:
    """What was laid on the tip to judge by it stays there."""
    return patch.object(Transaction, "take_off", lambda _self, *_: None)


def chunks_are_left() -> AbstractContextManager[Any]:
    """What is taken back leaves the chunks that were carved for it."""
    taken_back = vars(operations)["_all_taken_back"]

    def mutant(tip: Tip, operation: Operation) -> Iterator[Edit]:
        edits: Iterable[Edit] = taken_back(tip, operation)
        return (each for each in edits if "/MemoryChunks/" not in each.key)

    return patch.object(operations, "_all_taken_back", mutant)


def zones_stay_listed() -> AbstractContextManager[Any]:
    """What is taken back stays listed in the system that it was made for."""
    return patch.object(operations, "without_holdings", lambda document, _uris: dict(document))


def one_fabric_will_do() -> AbstractContextManager[Any]:
    """An operation ends as soon as one of its fabrics shows its part of it."""

    async def seen(self: Operations, operation: Operation, _fabric: str) -> None:
        await self.complete(operation)

    return patch.object(Operations, "seen", seen)


def one_fabric_is_released() -> AbstractContextManager[Any]:
    """Of grants that are taken back only those of one fabric are unbound."""

    def change(before: Operation, after: Operation) -> Operation:
        mine = tuple(each for each in after.released if each.fabric == before.fabric)
        return replace(after, released=mine)

    return stopping_with(change)


def parts_are_kept() -> AbstractContextManager[Any]:
    """A system that is given back leaves the parts of pools that it had."""
    delete = vars(Assembly)["delete"]

    def mutant(self: Any, uri: str) -> None:
        if "/MemoryChunks/" not in uri and "/Volumes/" not in uri:
            delete(self, uri)

    return patch.object(Assembly, "delete", mutant)


def joined_to_another_host() -> AbstractContextManager[Any]:
    """The zone of a system is made for the host beside its own."""
    join = vars(Assembly)["join"]

    def mutant(self: Any, zone: str, fabric: str, host: str, units: Iterable[str]) -> None:
        known = vars(self)["_tip"].index.endpoints.values()
        others = sorted({each.host for each in known if each.fabric == fabric and each.host})
        join(self, zone, fabric, others[others.index(host) - 1], units)

    return patch.object(Assembly, "join", mutant)


def reservations_last() -> AbstractContextManager[Any]:
    """Nobody ends a reservation that is over."""

    async def run(_self: Expiry) -> None:
        await asyncio.Event().wait()

    return patch.object(Expiry, "run", run)


def blocks_are_not_said_anew() -> AbstractContextManager[Any]:
    """A block shows what it showed before somebody took it."""
    return patch.object(WantedState, "_blocks", lambda _self, *_: set())


COMPOSE_RULES: tuple[tuple[str, tuple[Rule, ...], Mutant, dict[str, Any]], ...] = (
    ("BLOCK_TAKEN off", (Rule.BLOCK_TAKEN,), without_block_rule(Rule.BLOCK_TAKEN), {}),
    ("a block of another system is taken", (Rule.BLOCK_TAKEN,), without("_taken"), {}),
    ("a reserved block is taken", (Rule.BLOCK_TAKEN,), without("_reserved"), {}),
    ("a host that is used up is expanded", (Rule.BLOCK_TAKEN,), without("_consumed"), {}),
    ("a host that somebody has is composed", (Rule.BLOCK_IN_USE,), without("_in_use"), {}),
    ("BLOCK_TWICE off", (Rule.BLOCK_TWICE,), without_block_rule(Rule.BLOCK_TWICE), {}),
    ("BLOCK_COMPUTE off", (Rule.BLOCK_COMPUTE,), without_block_rule(Rule.BLOCK_COMPUTE), {}),
    ("BLOCK_UNKNOWN off", (Rule.BLOCK_UNKNOWN,), without_block_rule(Rule.BLOCK_UNKNOWN), {}),
)
"""Name, rules that are off, the mutant, and how its worlds differ."""

COMPOSE_ENGINE: dict[str, tuple[Mutant, dict[str, Any]]] = {
    "what a system holds is changed by others": (held_by_nobody, {"focus": "zones"}),
    "a judged composition stays on the tip": (laid_for_ever, {}),
    "take_back leaves the chunks": (chunks_are_left, {"pooled": 4}),
    "take_back leaves holdings listed": (zones_stay_listed, {}),
    "one fabric of an operation will do": (one_fabric_will_do, {"pooled": 4, "command_s": 0.3}),
    "one fabric of a taken back operation is released": (
        one_fabric_is_released, {"pooled": 4, "operation_s": 1.0},
    ),
    "a system that is given back leaves its parts": (parts_are_kept, {"pooled": 4}),
    "a system is joined to another host": (joined_to_another_host, {}),
    "reservations last for ever": (reservations_last, {}),
    "blocks are not said anew": (blocks_are_not_said_anew, {}),
}  # fmt: skip
