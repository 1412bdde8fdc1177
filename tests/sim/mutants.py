"""The service with one decision made wrong each; the simulation must notice every one of them.

Patched in from here only: the product has no switch for any of it. Each value makes a context
manager within which the mutant lives.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from redfish_fm.control import verdicts
from redfish_fm.control.intent import Intent
from redfish_fm.control.operations import Operations
from redfish_fm.control.reconcile import FabricLoop
from redfish_fm.control.settling import Settling
from redfish_fm.control.tip import TipView
from redfish_fm.control.verdicts import Look
from redfish_fm.control.writer import Writer
from redfish_fm.drivers.virtual.refusals import Forgets
from redfish_fm.fabric import binding as binding_module
from redfish_fm.fabric import zoning
from redfish_fm.fabric.ground import Ground, Targets
from redfish_fm.fabric.model import BindTarget, Deallocate, Media, Sanitize, Step, Unbind
from redfish_fm.fabric.part_index import PartIndex
from redfish_fm.fabric.parts_planner import PartsPlanner
from redfish_fm.fabric.physical import Inventoried
from redfish_fm.fabric.planner import _Planner
from redfish_fm.fabric.values import Binding, Rule
from redfish_fm.mapping import connections, groups, inventory
from redfish_fm.mapping.bindings import binding_edit
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.observed import ObservedFabric
from redfish_fm.mapping.operations import Operation, encode_operation
from redfish_fm.redfish.changes import Change, Edit, Space
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store import memory
from tests.sim import simulation
from tests.sim.compose_mutants import COMPOSE_ENGINE, COMPOSE_RULES
from tests.sim.stopping import stopping_with
from tests.sim.weather import Weather

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
    return stopping_with(lambda before, after: replace(after, released=before.released))


def answer_before_the_hardware() -> AbstractContextManager[Any]:
    """A write is answered as done as soon as it is durable."""

    async def verdict(_self: Operations, _operation_id: str, _budget_s: float) -> bool:
        return True

    return patch.object(Operations, "verdict", verdict)


# -- what is done to contents and capacity ---------------------------------------------------


def no_sanitize_before_reuse() -> AbstractContextManager[Any]:
    """Whatever is in memory, it is taken for clean."""
    return patch.object(Ground, "clean", lambda _self, _target: True)


def fresh_is_forgotten() -> AbstractContextManager[Any]:
    """New grants are bound as they are, as if their owner had merely lost them."""
    return patch.object(Intent, "_fresh", lambda _self, _seen: frozenset())


def everything_is_fresh() -> AbstractContextManager[Any]:
    """What its owner has lost for a moment is sanitized before it is bound again."""
    return patch.object(
        Intent, "_fresh", lambda self, _seen: frozenset(each.vppb for each in self.wanted())
    )


def silence_is_clean() -> AbstractContextManager[Any]:
    """A device that says nothing has nothing in it."""
    return patch.object(Ground, "silent", lambda _self, _target: False)


def sanitize_while_bound() -> AbstractContextManager[Any]:
    """Dirty contents are overwritten at once, whoever has them."""

    def scrub(self: Ground, target: BindTarget) -> bool:
        if self.clean(target):
            return True
        if self.parts[target].media is Media.DIRTY and not self.taken.touch(target):
            self.taken.add(target)
            self.sanitizes.append(Sanitize(target))
        return False

    return patch.object(Ground, "scrub", scrub)


def deallocate_before_clean() -> AbstractContextManager[Any]:
    """Capacity is given back as it is; it is somebody else's next."""

    def free(self: PartsPlanner, target: BindTarget) -> None:
        ground = self._ground
        wanted = self._wanted_targets.touch(target) or self._claims.touch(target)
        if not wanted and target in ground.parts and ground.idle(target):
            self.deallocates.append(Deallocate(target))

    stack = ExitStack()
    stack.enter_context(patch.object(PartsPlanner, "free", free))
    stack.enter_context(patch.object(PartsPlanner, "scrub_released", lambda _self, _target: None))
    return stack


def deallocate_while_bound() -> AbstractContextManager[Any]:
    """Capacity is given back although somebody is still bound to it."""

    def free(self: PartsPlanner, target: BindTarget) -> None:
        ground = self._ground
        wanted = self._wanted_targets.touch(target)
        if not wanted and target in ground.parts and not ground.pending(target):
            self.deallocates.append(Deallocate(target))

    return patch.object(PartsPlanner, "free", free)


def allocation_forgotten_on_take_back() -> AbstractContextManager[Any]:
    """Parts that are taken back are forgotten instead of given back."""
    return stopping_with(lambda before, after: replace(after, freed=before.freed))


def fixed_vppb_is_ignored() -> AbstractContextManager[Any]:
    """A unit that a client puts on one vPPB is bound to whichever is free."""
    ledger = vars(binding_module)["_Ledger"]
    begin = ledger.__init__

    def make(self: Any, index: Any, occupied: Any, _fixed: Any) -> None:
        begin(self, index, occupied, {})

    return patch.object(ledger, "__init__", make)


def allocate_before_room() -> AbstractContextManager[Any]:
    """A part that is being freed counts as gone when the operation is judged."""
    return patch.object(verdicts, "is_freed", lambda _part, _look: True)


def released_before_scrubbed() -> AbstractContextManager[Any]:
    """A release counts as done while the command that should free it may still fail."""
    return patch.object(verdicts, "is_released", lambda _binding, _look: True)


def groups_do_not_follow() -> AbstractContextManager[Any]:
    """The edit of a group changes no connection that names it."""
    return patch.object(groups, "_with", lambda _group, uri, index: index.connections[uri])


def other_way_is_free() -> AbstractContextManager[Any]:
    """The other port of a dual-ported device, or the physical function, is another thing."""
    return patch.object(Inventoried, "ways", lambda _self, target: (target,))


def parts_under_change_are_granted() -> AbstractContextManager[Any]:
    """A connection rests on a part, zone or group that may still be taken back."""
    return patch.object(connections, "_refuse_doubtful", lambda *_: None)


def accounts_forget_what_is_scrubbed() -> AbstractContextManager[Any]:
    """What a pool has cut out is not counted as used."""
    return patch.object(PartIndex, "cut_mib", lambda _self, _origin: 0)


def shown_at_first_and_never_again() -> AbstractContextManager[Any]:
    """What is seen of bindings is said once; later looks say nothing new of them."""
    return patch.object(ObservedFabric, "_part_changed", lambda _self, _target: None)


def unready_parts() -> AbstractContextManager[Any]:
    """A part is bound before it is known to exist."""
    return patch.object(PartsPlanner, "ready", lambda _self, _target, _fresh: True)


# -- hardware -------------------------------------------------------------------------------


def hardware(*forgets: Forgets) -> Mutant:
    """All hardware forgets these checks, besides what a seed lets it forget."""

    def mutant() -> AbstractContextManager[Any]:
        inventories = vars(simulation)["draw"]

        def careless(seed: int, steps: int = 100) -> Weather:
            weather: Weather = inventories(seed, steps)
            return replace(weather, forgets=weather.forgets | frozenset(forgets))

        return patch.object(simulation, "draw", careless)

    return mutant


def both(*mutants: Mutant) -> Mutant:
    """Several at once."""

    def mutant() -> AbstractContextManager[Any]:
        stack = ExitStack()
        for each in mutants:
            stack.enter_context(each())
        return stack

    return mutant


def ways_mixed_up() -> AbstractContextManager[Any]:
    """Whoever comes in at a switch below others is taken for the next host there."""
    put = inventory._put_vcs  # noqa: SLF001

    def mixed_up(out: Any, fabric: str, switch: Any, vcs: Any, hops: int) -> None:
        hosts = [each.host for each in switch.virtual_switches]
        follower = hosts[(hosts.index(vcs.host) + 1) % len(hosts)]
        put(out, fabric, switch, replace(vcs, host=follower) if vcs.through else vcs, hops)

    return patch.object(inventory, "_put_vcs", mixed_up)


def focused(focus: str, mutant: Mutant, **changes: Any) -> Mutant:
    """In worlds whose clients mostly do what the mutant is about."""

    def focused_mutant() -> AbstractContextManager[Any]:
        drawn = vars(simulation)["draw"]

        def draw(seed: int, steps: int = 100) -> Weather:
            return replace(drawn(seed, steps), focus=focus, **changes)

        stack = ExitStack()
        stack.enter_context(patch.object(simulation, "draw", draw))
        stack.enter_context(mutant())
        return stack

    return focused_mutant


_HOSTS = (Rule.HOST_SHARING, Rule.LD_HOST, Rule.SHARING_NEEDS_REGION, Rule.ZONE_MANY_HOSTS)

RULE_MUTANTS: dict[str, tuple[tuple[Rule, ...], Mutant]] = {
    name: (rules, focused(focus, without(*rules), **changes))
    for name, focus, rules, changes in (
        ("HOST_SHARING off", "", (Rule.HOST_SHARING,), {}),
        ("ZONE_UNIT_TWICE off", "zones", (Rule.ZONE_UNIT_TWICE,), {}),
        ("HOST_SHARING, LD_HOST off", "memory", (Rule.HOST_SHARING, Rule.LD_HOST), {}),
        ("HOST_SHARING, ZONE_MANY_HOSTS off", "zones",
         (Rule.HOST_SHARING, Rule.ZONE_MANY_HOSTS), {}),
        ("all four of hosts off", "memory", _HOSTS, {}),
        ("CONNECTION_NO_COMMON_ZONE off", "memory", (Rule.CONNECTION_NO_COMMON_ZONE,), {}),
        ("CONNECTION_CHUNK_FOREIGN off", "memory", (Rule.CONNECTION_CHUNK_FOREIGN,), {}),
        ("CONNECTION_CHUNK_MISSING off", "memory", (Rule.CONNECTION_CHUNK_MISSING,), {}),
        ("CONNECTION_REGION_FOREIGN off", "memory", (Rule.CONNECTION_REGION_FOREIGN,),
         {"regions": 4, "dynamic_lds": 2}),
        ("CONNECTION_LUN off", "storage", (Rule.CONNECTION_LUN,), {"namespaces": 4}),
        ("CONNECTION_SIDES off", "groups", (Rule.CONNECTION_SIDES,), {"regions": 4}),
        ("TARGET_UNAVAILABLE off", "zones", (Rule.TARGET_UNAVAILABLE,), {"device_every_s": 1.0}),
        ("DUPLICATE_MEMBER off", "", (Rule.DUPLICATE_MEMBER,), {}),
        ("UNKNOWN_MEMBER off", "", (Rule.UNKNOWN_MEMBER,), {}),
        ("FOREIGN_FABRIC off", "", (Rule.FOREIGN_FABRIC,), {"gpus": 1}),
        ("ZONE_IN_USE off", "memory", (Rule.ZONE_IN_USE,), {}),
        ("ZONE_NESTING off", "", (Rule.ZONE_NESTING,), {}),
        ("MAX_ZONES off", "zones", (Rule.MAX_ZONES,), {"max_zones": 2}),
        ("PART_SIZE off", "memory", (Rule.PART_SIZE,), {"pooled": 4}),
        ("PART_RANGE off", "memory", (Rule.PART_RANGE,), {"regions": 4}),
        ("PART_OVERLAP off", "memory", (Rule.PART_OVERLAP,), {"regions": 4, "pooled": 4}),
        ("POOL_EXHAUSTED off", "memory", (Rule.POOL_EXHAUSTED,), {"pooled": 4}),
        ("PART_IN_USE off", "memory", (Rule.PART_IN_USE,), {}),
        ("GROUP_IN_USE off", "groups", (Rule.GROUP_IN_USE,), {"regions": 4}),
        ("DEFAULT_ROUTING off", "hands", (Rule.DEFAULT_ROUTING,), {}),
    )
}  # fmt: skip
"""Which rules are off, and the mutant."""

_COMPOSING: dict[str, Any] = {"composing": True, "focus": "compose", "gpus": 3, "hosts": 3}

RULE_MUTANTS |= {
    name: (rules, focused(mutant=mutant, **{**_COMPOSING, **changes}))
    for name, rules, mutant, changes in (
        *COMPOSE_RULES,
        ("COMPOSED off", (Rule.COMPOSED,), without(Rule.COMPOSED), {"focus": "zones", "dual": 1}),
    )
}

ENGINE_MUTANTS: dict[str, Mutant] = {
    "bind before unbind": focused("zones", bind_before_unbind),
    "no barrier": no_barrier,
    "barrier of an earlier look": barrier_of_an_earlier_look,
    "restart forgets what was sent": focused(
        "zones", forgetful_restart, crash_every_s=1.0, command_s=0.3, operation_s=1.0
    ),
    "rollback of a release": focused("zones", rollback_of_a_release),
    "journal drops one write in 50": journal_drops_one_in_50,
    "publish before durable": publish_before_durable,
    "take_back forgets to release": take_back_forgets_to_release,
    "answer before the hardware": answer_before_the_hardware,
    "no sanitize before reuse": focused("memory", no_sanitize_before_reuse),
    "what is fresh is forgotten": focused("memory", fresh_is_forgotten),
    "everything is fresh": focused("memory", everything_is_fresh, keeps_bindings=False),
    "silence is clean": focused("memory", silence_is_clean, device_every_s=1.0),
    "sanitize while bound": focused("memory", sanitize_while_bound),
    "allocation forgotten on take_back": focused("memory", allocation_forgotten_on_take_back),
    "fixed vPPB is ignored": focused("hands", fixed_vppb_is_ignored),
    "freed before it is gone": focused("memory", allocate_before_room),
    "released before it is scrubbed": released_before_scrubbed,
    "groups do not follow": focused("groups", groups_do_not_follow, regions=4, namespaces=5),
    "the other way is free": focused("zones", other_way_is_free, dual=1, functions=2),
    "parts under change are granted": focused("memory", parts_under_change_are_granted),
    "used capacity is not counted": focused("memory", accounts_forget_what_is_scrubbed, pooled=4),
    "whose way is whose below": focused(mutant=ways_mixed_up, **_COMPOSING, chained=2),
    "parts are not said anew": focused("memory", shown_at_first_and_never_again, pooled=4),
}

ENGINE_MUTANTS |= {
    name: focused(mutant=mutant, **{**_COMPOSING, **changes})
    for name, (mutant, changes) in COMPOSE_ENGINE.items()
}

HARDWARE_MUTANTS: dict[str, Mutant] = {
    "hardware says it sanitized": focused("memory", hardware(Forgets.SANITIZE)),
    "two hosts, hardware binds twice": focused(
        "zones", both(without(*_HOSTS, Rule.ZONE_UNIT_TWICE), hardware(Forgets.DOUBLE_BIND))
    ),
    "two hosts, hardware shares parts": focused(
        "memory", both(without(*_HOSTS), hardware(Forgets.SHAREABLE)), regions=4
    ),
    "bind before unbind, hardware rebinds": focused(
        "zones", both(bind_before_unbind, hardware(Forgets.VPPB_BOUND, Forgets.DOUBLE_BIND))
    ),
    "deallocate before clean, hardware lets it": focused(
        "memory", both(deallocate_before_clean, hardware(Forgets.DEALLOCATE_DIRTY))
    ),
    "deallocate while bound, hardware lets it": focused(
        "memory", both(deallocate_while_bound, hardware(Forgets.DEALLOCATE_BOUND,
                                                        Forgets.DEALLOCATE_DIRTY))
    ),
    "sanitize while bound, hardware lets it": focused(
        "memory", both(sanitize_while_bound, hardware(Forgets.SANITIZE_BOUND))
    ),
    "unready parts, hardware binds them": focused(
        "memory", both(unready_parts, hardware(Forgets.TARGET))
    ),
}  # fmt: skip

BY_TABLE: dict[Rule, str] = {
    Rule.NOT_BINDABLE: "who can not do its part has nothing that could be bound",
    Rule.ZONE_TYPE: "mapping refuses it once more, and what is there already is never that",
    Rule.VPPB_HELD: "whoever chooses the vPPB refuses it once more",
    Rule.VPPB_WRONG_UNIT: "mapping finds no unit behind the port",
    Rule.CONNECTION_ACCESS: "every part of these worlds may be read and written",
    Rule.CONNECTION_VOLUME_FOREIGN: "a world has one subsystem",
    Rule.LD_FM_OWNED: "no inventory here has an endpoint for FFFFh",
    Rule.ENDPOINT_IN_USE: "clients do not delete endpoints",
    Rule.PORT_HAS_INITIATOR: "clients do not make endpoints",
    Rule.NOT_CARVABLE: "mapping refuses a domain that can not be cut before rules are asked",
    Rule.MUTUALLY_EXCLUSIVE: "no endpoint here excludes another",
    Rule.BANDWIDTH: "clients guarantee no bandwidth, and hardware here does not ration it",
    Rule.NO_PATH: "every host has a virtual switch on every switch",
    Rule.BLOCK_UNAVAILABLE: "rules of zones refuse it once more",
    Rule.NO_FREE_VPPB: "without a vPPB there is nothing to record: no decision to make wrong",
}
"""Rules that the simulation can not reach, and why; tests/fabric kills them by a table."""

MUTANTS: dict[str, Mutant] = {
    **{name: mutant for name, (_, mutant) in RULE_MUTANTS.items()},
    **ENGINE_MUTANTS,
    **HARDWARE_MUTANTS,
}

RARE: frozenset[str] = frozenset(
    {
        "CONNECTION_CHUNK_MISSING off",
        "CONNECTION_REGION_FOREIGN off",
        "CONNECTION_SIDES off",
        "bind before unbind",
        "silence is clean",
        "the other way is free",
        "deallocate while bound, hardware lets it",
        "unready parts, hardware binds them",
        "BLOCK_TAKEN off",
        "BLOCK_TWICE off",
        "BLOCK_UNKNOWN off",
        "COMPOSED off",
        "a host that is used up is expanded",
        "a reserved block is taken",
        "reservations last for ever",
        "take_back leaves holdings listed",
        "take_back leaves the chunks",
    }
)
"""Mutants that take many seeds: `make soak` looks for them."""
