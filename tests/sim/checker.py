"""The invariants, checked whenever something happens: an action, a commit, a look, an answer.

Keeps its own fold of everything the store acknowledged (`mirror`) and every change in order
(`log`), the line on which each answer is placed. Nothing raises where it is noticed, because that
would be inside the service: the first failure is kept and ends the run.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from redfish_fm.control.base import Base
from redfish_fm.control.state import WantedState
from redfish_fm.fabric.binding import wanted_by_connection, wanted_by_vppb, wanted_by_zone
from redfish_fm.fabric.model import (
    Bind,
    BindTarget,
    Observation,
    PortId,
    Sanitize,
    Step,
    VppbId,
)
from redfish_fm.mapping.drafts import TakeBack
from redfish_fm.mapping.operations import Operation, OperationState, decode_operation
from redfish_fm.mapping.uris import SYSTEM_COLLECTION
from redfish_fm.redfish.changes import Change, Edit, FeedOp, Space
from redfish_fm.store.base import StoredState
from redfish_fm.store.memory import DurableState
from tests.sim.composed import mixed_up, strangers, untold
from tests.sim.isolation import broken
from tests.sim.plant import Plant
from tests.sim.process import Process
from tests.sim.truth import capacity_faults, collide
from tests.sim.weather import Weather
from tests.virtual_time import VirtualClock

Place = tuple[VppbId, BindTarget]

TURNS = 200
"""Of the event loop, without time passing: more than all looks at once take to be shown."""


@dataclass
class Checker:
    """Everything that must hold. `process` is the service that runs now, None while it is down."""

    weather: Weather
    base: Base
    plants: Sequence[Plant]
    durable: DurableState
    counts: Counter[str] = field(default_factory=Counter)
    log: list[Change] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    process: Process | None = None
    failure: str | None = None

    def __post_init__(self) -> None:
        self.failed = asyncio.Event()
        self.mirror = WantedState(self.base)
        self.stopped: set[str] = set()
        self.left: set[BindTarget] = set()
        """Parts of Tasks that ended before these were given back, and said so: they were called
        off, or told that another manager has them."""
        self.away_since_s: dict[PortId, float] = {}
        """Since when each look of this process says that no device is there."""
        self._makers: dict[str, Change] = {}
        self._established: set[Place] = set()
        for plant in self.plants:
            plant.watchers.append(self.acted)

    def fail(self, text: str) -> None:
        """Keep the first failure."""
        if self.failure is None:
            self.failure = f"at {self._now_s():.3f} s: {text}"
            self.note(f"FAILED {text}")
            self.failed.set()

    def note(self, text: str) -> None:
        """Add a line to the trace of the run."""
        self.trace.append(f"{self._now_s():9.4f} {text}")

    def expect(self, holds: bool, text: str) -> None:
        if not holds:
            self.fail(text)

    # -- hardware -----------------------------------------------------------------------------

    def acted(self, plant: Plant, step: Step, cause: str) -> None:
        """A command has changed something."""
        self.counts[f"hardware {cause}"] += 1
        self.counts[f"hardware {cause} {type(step).__name__}"] += 1
        self.counts["bound over a chain"] += isinstance(step, Bind) and plant.is_chained(step.vppb)
        self.note(f"hardware {cause}: {step}")
        harm, plant.harm = plant.harm, []
        for each in harm:
            self.fail(f"harm: {each}")
        if self.mirror.index.compositions:
            self._compositions_keep_apart(plant)
        for double in plant.doubles():
            if double.ours:
                self.fail(f"two hosts reach one unit: {double}")
            self.counts["excused double reach"] += 1
        for wrong in capacity_faults(plant.devices):
            self.fail(f"capacity: {wrong}")
        if isinstance(step, Sanitize) and cause != "outside" and plant.is_honest(step.target):
            # Whoever has it may have lost the binding for a moment, and wants the contents back.
            owners = [place for place in self._established if place[1] == step.target]
            if owners and not self._is_meddled(plant, owners):
                self.fail(f"contents of {owners} were sanitized")
        self._nothing_unexplained()

    def _compositions_keep_apart(self, plant: Plant) -> None:
        """No device of a composition is reachable by a host of another one."""
        wanted = self.wanted()
        held = {vppb: target for vppb, target in plant.held().items()
                if (vppb, target) in wanted and plant.is_ours(vppb)}  # fmt: skip
        for each in strangers(self.mirror.index, plant, held):
            self.fail(f"compositions meet: {each}")
        self.counts["compositions held apart"] += len(self.mirror.index.compositions)

    @staticmethod
    def _is_meddled(plant: Plant, places: list[Place]) -> bool:
        return not all(plant.is_ours(vppb) for vppb, _ in places)

    def _nothing_unexplained(self) -> None:
        known = self.wanted() | self.releasing()
        parts = {*self.mirror.index.allocations, *self.freeing(), *self.left}
        for plant in self.plants:
            for place in plant.held().items():
                if place not in known and plant.is_ours(place[0]):
                    self.fail(f"bound, but neither wanted nor being released: {place}")
            for device in plant.devices.values():
                for part in device.parts.values():
                    if part.target not in parts and plant.is_honest(part.target):
                        self.fail(f"allocated, but neither wanted nor being freed: {part.target}")

    def wanted(self) -> set[Place]:
        """Return what durable state wants bound."""
        return {(each.vppb, each.target) for each in self.mirror.index.bindings.values()}

    def open_operations(self) -> list[Operation]:
        return [each for each in self.mirror.operations.values() if each.open]

    def releasing(self) -> set[Place]:
        """Return what durable state says is being released."""
        return {(b.vppb, b.target) for each in self.open_operations() for b in each.released}

    def freeing(self) -> set[BindTarget]:
        """Return the parts that durable state says are being given back."""
        return {part.target for each in self.open_operations() for part in each.freed}

    def plant(self, fabric: str) -> Plant:
        return next(plant for plant in self.plants if plant.fabric == fabric)

    def is_bound(self, fabric: str, place: Place) -> bool:
        """Return the truth about one binding."""
        return self.plant(fabric).bound().get(place[0]) == place[1]

    def seen(self, look: Observation) -> None:
        """The service is about to learn something; a visible violation must be shown at once."""
        plant = self.plant(look.fabric)
        for port, state in look.ports.items():
            if state.device_present:
                self.away_since_s.pop(port, None)
            else:
                self.away_since_s.setdefault(port, self._now_s())
        held = [(vppb, target) for vppb, target in sorted(look.bindings.items()) if target]
        shared = [
            (target, other)
            for number, (vppb, target) in enumerate(held)
            for second, other in held[number + 1 :]
            if plant.host(vppb) != plant.host(second)
            and self._seen_to_collide(plant, look, target, other)
        ]
        if shared and self.process is not None:
            told = {target for pair in shared for target in pair}
            asyncio.get_running_loop().call_soon(self._shown, self.process, look.fabric, told)

    @staticmethod
    def _seen_to_collide(
        plant: Plant, look: Observation, one: BindTarget, other: BindTarget
    ) -> bool:
        """What is shareable by what is wanted is no violation, whatever hardware made of it."""
        said = look.parts.get(one)
        excused = one.path == other.path and said is not None and said.shareable
        return collide(plant.devices, one, other) and not excused

    def _shown(
        self, process: Process, fabric: str, targets: set[BindTarget], turns: int = TURNS
    ) -> None:
        """Expect that a look tells who is reached by two hosts, in no time.

        It may wait for the look at another fabric, and is itself shown in parts: that takes turns
        of the event loop.
        """
        if not process.alive:
            return
        untold = next(_untold(process, fabric, targets), None)
        if untold is not None and turns:
            loop = asyncio.get_running_loop()
            loop.call_soon(self._shown, process, fabric, targets, turns - 1)
            return
        self.expect(untold is None, str(untold))
        self.counts["violations shown"] += 1

    # -- store --------------------------------------------------------------------------------

    def stored(self, batch: Sequence[Change]) -> None:
        """A batch has become durable."""
        for change in batch:
            self.mirror.apply_all(change.edits)
            self.mirror.seq = change.seq
            self.log.append(change)
            self.counts["changes"] += 1
            self.note(f"durable {change.seq} by {change.actor}: "
                      f"{', '.join(sorted(describe(edit) for edit in change.edits))}")  # fmt: skip
            for edit in change.edits:
                if edit.space is Space.DOCUMENT:
                    self._document_changed(change, edit)
                elif edit.space is Space.OPERATION and edit.pre is not None:
                    self._operation_moved(edit)
        self._consistent()
        self._nothing_unexplained()

    def expect_available(self, asked_s: float, change: Change) -> None:
        """What was seen away since before somebody asked for it is not newly given to anybody."""
        index = self.mirror.index
        for edit in change.edits:
            if edit.space is not Space.DOCUMENT or edit.post is None:
                continue
            new = members(edit.post) - (members(edit.pre) if edit.pre else set())
            for end in (index.endpoints[uri] for uri in new if uri in index.endpoints):
                for port in end.ports if end.units else ():
                    place = self.base.facts.port_at(port)
                    since_s = None if place is None else self.away_since_s.get(place[1])
                    away = since_s is not None and since_s < asked_s
                    self.expect(not away, f"{end.id} was added, and is away since {since_s} s")

    def _document_changed(self, change: Change, edit: Edit) -> None:
        """Only what an operation made goes with it: never what a client was promised since."""
        if edit.pre is None:
            self._makers[edit.key] = change
        elif edit.post is None:
            maker = self._makers.pop(edit.key)
            if edit.key.startswith(f"{SYSTEM_COLLECTION}/"):
                self._nothing_left_of(edit.key, edit.pre)
            stopped = {e.key for e in change.edits if e.space is Space.OPERATION and e.pre}
            if change.actor == "reconcile":
                own = maker.operation in stopped
                self.expect(own, f"{edit.key} of change {maker.seq} was taken from its client")

    def _nothing_left_of(self, system: str, document: bytes) -> None:
        """What was made for a system of blocks alone goes with it."""
        ours = msgspec.json.decode(document).get("Oem", {}).get("RedfishFM", {})
        for links in ours.get("Composition", {}).values():
            left = [each["@odata.id"] for each in links
                    if each.get("@odata.id") in self.mirror.spaces[Space.DOCUMENT]]  # fmt: skip
            self.expect(not left, f"{system} is gone, and {left} of it are still there")

    def _operation_moved(self, edit: Edit) -> None:
        before = decode_operation(edit.pre or b"")
        after = None if edit.post is None else decode_operation(edit.post)
        if after is not None and _leaves(before, after):
            self.left |= {part.target for part in after.freed}
        if after is not None and after.state is OperationState.STOPPING:
            if before.state is OperationState.RUNNING:
                self._taken_back(before)
        elif before.open and (after is None or not after.open):
            self._ended(before, after)

    def _taken_back(self, before: Operation) -> None:
        self.stopped.add(before.id)
        self.counts["taken back"] += 1
        joined = {after for _, after in before.joined}
        for binding in before.granted:
            recorded = self.mirror.index.bindings.get(binding.vppb)
            gone = recorded is None or before.uri not in recorded.holders
            if gone and before.take_back is TakeBack.COMPOSITION and binding not in joined:
                gone = recorded is None or recorded.unit != binding.unit
            self.expect(gone, f"operation {before.id} was taken back, {recorded} is still wanted")
        for uri in before.made:
            there = uri in self.mirror.spaces[Space.DOCUMENT]
            self.expect(not there, f"operation {before.id} was taken back, {uri} is still there")
        self.counts["compositions taken back"] += before.take_back is TakeBack.COMPOSITION
        for part in before.allocated:
            wanted = self.mirror.index.allocations.get(part.target) == part
            self.expect(not wanted, f"operation {before.id} was taken back, {part} is still wanted")
        spaces = self.mirror.spaces
        raw = spaces[Space.DOCUMENT].get(before.uri) or spaces[Space.OVERLAY].get(before.uri)
        left = members(raw) & set(before.added) if raw is not None else set()
        self.expect(not left, f"operation {before.id} was taken back, {left} are still members")

    def _ended(self, before: Operation, after: Operation | None) -> None:
        state = before.ended_state if after is None else after.state
        self.counts[f"operations {state.value.lower()}"] += 1
        if after is not None or before.state is OperationState.RUNNING:
            self._established |= {(b.vppb, b.target) for b in before.granted} & self.wanted()
        if not self.weather.steady:
            return
        self._parts_ended(before)
        wanted = self.wanted()
        for binding in before.granted:
            place = (binding.vppb, binding.target)
            bound = place not in wanted or self.is_bound(binding.fabric, place)
            self.expect(bound, f"operation {before.id} ends, but {place} is not bound")
        for binding in before.released:
            place = (binding.vppb, binding.target)
            passed_on = place in wanted or place in self.releasing()
            free = passed_on or not self.is_bound(binding.fabric, place)
            self.expect(free, f"operation {before.id} ends, but {place} is still bound")

    def _parts_ended(self, before: Operation) -> None:
        index = self.mirror.index
        exist = {target: has for plant in self.plants for target, has in plant.allocated().items()}
        for part in before.allocated:
            wanted = index.allocations.get(part.target) == part
            there = exist.get(part.target) == (part.size_mib, part.shareable)
            self.expect(there or not wanted, f"operation {before.id} ends without {part}")
        for part in before.freed:
            passed_on = part.target in index.allocations or part.target in self.freeing()
            gone = passed_on or part.target not in exist
            self.expect(gone, f"operation {before.id} ends, but {part} is still allocated")

    def _consistent(self) -> None:
        """Never half: bindings are exactly what the documents mean, and break no rule."""
        index = self.mirror.index
        holders = [*((z, wanted_by_zone(index, index.zones[z])) for z in index.zones),
                   *((c, wanted_by_connection(index, index.connections[c]))
                     for c in index.connections),
                   *((v, wanted_by_vppb(index, grant.vppb, grant.unit))
                     for v, grant in index.vppb_grants.items())]  # fmt: skip
        count = 0
        for holder, claims in holders:
            held = {(b.unit, b.host) for b in index.bindings_of_holder(holder)}
            count += len(index.bindings_of_holder(holder))
            self.expect(held == claims, f"{holder} means {set(claims)} but {held} are recorded")
        total = sum(len(binding.holders) for binding in index.bindings.values())
        self.expect(total == count, "a binding is recorded for a holder that is gone")
        for binding in index.bindings.values():
            by_hand = [index.vppb_grants[h] for h in binding.holders if h in index.vppb_grants]
            for grant in by_hand:
                self.expect(grant.vppb == binding.vppb, f"{grant} is bound at {binding.vppb}")
        self._established &= self.wanted()
        wrong = broken(index)
        self.expect(wrong is None, f"durable state breaks a rule: {wrong}")
        if index.compositions or index.reservations:
            mixed = mixed_up(index, VirtualClock().wall_s())
            self.expect(mixed is None, f"compositions are mixed up: {mixed}")

    # -- states -------------------------------------------------------------------------------

    def quiet_states_agree(self) -> None:
        """Where nothing is in flight: tip, published, and one rebuilt from the disk are equal."""
        if self.process is None:
            return
        kernel = self.process.kernel
        stored = StoredState(self.durable.seq, self.durable.spaces)
        self.expect(self._same_spaces(), "the store does not hold what it acknowledged")
        if not kernel.published.seq == kernel.writer.tip.seq == stored.seq:
            return
        rebuilt = WantedState(self.base)
        rebuilt.load(stored)
        fresh = rebuilt.comparable()
        for name, state in (("tip", kernel.writer.tip), ("published", kernel.published.state),
                            ("mirror", self.mirror)):  # fmt: skip
            mine = state.comparable()
            unequal = [part for part in fresh if mine[part] != fresh[part]]
            self.expect(not unequal, f"{name} differs from a rebuilt state in {unequal}")
        if self.weather.composing:
            wrong = next(untold(self.process, self.mirror.index), None)
            self.expect(wrong is None, f"blocks are not told as they are: {wrong}")
            self.counts["blocks and pools compared"] += 1
        self.counts["rebuilt"] += 1

    def _same_spaces(self) -> bool:
        return all(
            dict(self.mirror.spaces[space]) == dict(self.durable.spaces.get(space, {}))
            for space in Space
            if space is not Space.META
        )

    def feed_is_whole(self) -> None:
        """The feed has every change once, and folding it gives the documents."""
        sequence = [record.seq for _, record in self.durable.feed]
        self.expect(sequence == [change.seq for change in self.log], "the feed has gaps")
        folded: dict[str, bytes] = {}
        for _, record in self.durable.feed:
            for entry in record.entries:
                if entry.op is FeedOp.DELETED:
                    folded.pop(entry.uri, None)
                elif entry.op is not FeedOp.OBSERVED:
                    folded[entry.uri] = entry.post or b""
        documents = dict(self.durable.spaces.get(Space.DOCUMENT, {}))
        self.expect(
            {uri: folded.get(uri) for uri in documents} == documents,
            "the feed gives other documents",
        )

    @staticmethod
    def _now_s() -> float:
        return asyncio.get_running_loop().time()


def members(raw: bytes) -> set[str]:
    """Return everything that a Zone, Connection, EndpointGroup or system of blocks names."""
    return set(_links(msgspec.json.decode(raw)))


def _links(value: Any) -> Iterator[str]:
    document = value.get("Links") or {}
    for name in ("Endpoints", "InitiatorEndpoints", "TargetEndpoints", "InitiatorEndpointGroups",
                 "TargetEndpointGroups", "ResourceBlocks"):  # fmt: skip
        yield from (each["@odata.id"] for each in document.get(name) or ())
    for kind in ("MemoryChunk", "MemoryRegion", "Volume"):
        for row in value.get(f"{kind}Info") or ():
            yield row[kind]["@odata.id"]


def _leaves(before: Operation, after: Operation) -> bool:
    """Return whether an operation ends, or is about to, without all that it is to give back."""
    called_off = after.called_off and before.open and not after.open and not before.called_off
    return called_off or any(each.key == "RedfishFM.CapacityLeft" for each in after.messages)


def describe(edit: Edit) -> str:
    """Return one edit in a word or two."""
    sign = "+" if edit.pre is None else "-" if edit.post is None else "~"
    state = f" {decode_operation(edit.post).state.value}" if (
        edit.space is Space.OPERATION and edit.post) else ""  # fmt: skip
    return f"{sign}{edit.space.value} {edit.key}{state}"


def _untold(process: Process, fabric: str, targets: set[BindTarget]) -> Iterator[str]:
    """Yield what is not said of targets that two hosts reach."""
    kernel = process.kernel
    reported = {violation.subject for violation in kernel.loops[fabric].violations}
    index = kernel.published.state.index
    for target in targets:
        units = index.units_of_target(target)
        named = any(index.units[unit].target == target for unit in units)
        if not named and target not in index.allocations:
            continue  # a part that is all somebody else's is shown as foreign, and only so
        if not units & reported:
            yield f"double reach of {target} is not reported"
        for unit in units & reported:
            found = kernel.published.get(unit)
            status = json.loads(found.body).get("Status", {}) if found else {}
            # Of a device that is not there nothing is said but that; its fabric says the rest.
            if status.get("Health") != "Critical" and status.get("State") != "Absent":
                yield f"{unit} is reached by two hosts, but {status}"
