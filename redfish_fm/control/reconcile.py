"""One loop per fabric: observe, judge open operations, plan, apply, again, until all is as wanted.

Level-triggered: hints and commits only wake the loop; what it does follows from what is published
and what is observed (DESIGN section 4). Only this loop hands steps to its driver. Steps run beside
the loop, so a slow one delays nobody else; until it is settled nothing touches its vPPB or target.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from redfish_fm.clocks import Clock
from redfish_fm.control.announce import Announcer
from redfish_fm.control.backoff import Backoff
from redfish_fm.control.intent import Intent
from redfish_fm.control.operations import Operations
from redfish_fm.control.port_resets import PortResets
from redfish_fm.control.published import Published
from redfish_fm.control.steps import Steps
from redfish_fm.control.verdicts import (
    Look,
    achieved,
    described,
    done_of,
    grant_steps,
    is_only_cleaning,
    missing,
    place_of,
    release_steps,
)
from redfish_fm.control.waits import Waits, nothing_seen
from redfish_fm.control.writer import Writer
from redfish_fm.drivers.base import Driver, DriverUnavailable
from redfish_fm.fabric.audit import audit
from redfish_fm.fabric.binding import Plan
from redfish_fm.fabric.model import BindTarget, Observation, Place, Step, VppbId
from redfish_fm.fabric.values import Violation
from redfish_fm.mapping.awaited import not_observed
from redfish_fm.mapping.observed import ObservedFabric
from redfish_fm.mapping.operations import Operation, OperationState, still_wanted
from redfish_fm.mapping.sights import FabricSight
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Change, Edit, Space
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.times import date_time

log = logging.getLogger(__name__)

FIRST_POLL_S = 0.01
"""Wait before looking again while something is open; doubles up to the observe interval."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How one fabric is looked after. All times in seconds of the service clock.

    `operation_s`: how long grants may stay unobserved before they are taken back, and releases
    before it is told.
    """

    observe_interval_s: float = 1.0
    observe_timeout_s: float = 5.0
    apply_timeout_s: float = 5.0
    operation_s: float = 300.0
    enforce: bool = False


class FabricLoop:
    """Keeps one fabric as wanted. Run `run` as a task; `wake` when something may have changed."""

    def __init__(
        self,
        fabric: str,
        driver: Driver,
        writer: Writer,
        published: Published,
        operations: Operations,
        clock: Clock,
        policy: Policy,
    ) -> None:
        self.fabric = fabric
        self._driver = driver
        self._published = published
        self._operations = operations
        self._clock = clock
        self._policy = policy
        self._steps = Steps(fabric, driver, clock, policy.apply_timeout_s, self.wake)
        self._backoff = Backoff(clock)
        self._resets = PortResets(driver, operations, clock, policy.apply_timeout_s, self.wake)
        self._announcer = Announcer(writer, published, clock)
        self._intent = Intent(fabric, published, operations)
        self._poll_s = FIRST_POLL_S
        self._since_s: dict[str, float] = {}
        self._waits = Waits(fabric, published, clock, policy.operation_s)
        self._observed = ObservedFabric(fabric, published.statuses)
        self._wake = asyncio.Event()
        self._said: str | None = None
        self.first_observed = asyncio.Event()
        self.violations: tuple[Violation, ...] = ()
        self.foreign: tuple[VppbId, ...] = ()
        self.foreign_parts: tuple[BindTarget, ...] = ()
        self._bound_elsewhere: frozenset[BindTarget] = frozenset()
        self._busy: frozenset[VppbId] = frozenset()
        self.cycles = 0
        self.answers: bool | None = None
        """Whether the driver could be asked when it was last tried; None: not yet."""
        self.unanswered = 0
        self._looked_s = clock.now_s()
        self._occupants = writer.tip_view.occupants
        self._occupants.append(self._occupied)
        self._foreigners = writer.tip_view.foreigners
        self._foreigners.append(self._of_others)

    @property
    def rejected(self) -> int:
        """How many steps the hardware refused."""
        return self._steps.rejected

    @property
    def unknown(self) -> int:
        """How many steps ended without an answer."""
        return self._steps.unknown

    @property
    def calls(self) -> Mapping[tuple[str, str], int]:
        """Calls of the driver by kind of step and outcome: "ok", "rejected" or "unknown"."""
        return self._steps.calls

    @property
    def trouble(self) -> str | None:
        """What is wrong with asking the driver, in one line; some of its switches, say."""
        return self._said

    @property
    def unseen_s(self) -> float:
        """For how long the fabric has not been seen whole or in part, in seconds."""
        return self._clock.now_s() - self._looked_s

    @property
    def lag_s(self) -> float:
        """For how long the oldest open operation has waited for the hardware; 0 for none."""
        now_s = self._clock.now_s()
        return now_s - min(self._since_s.values(), default=now_s)

    def waits(self, operation_id: str) -> bool:
        """Return whether an open operation waits here for what is not ours to end."""
        return bool(self._waits.told(operation_id))

    def leave(self) -> None:
        """Keep nothing occupied any more: nobody looks after the fabric from now on."""
        self._occupants.remove(self._occupied)
        self._foreigners.remove(self._of_others)

    def wake(self) -> None:
        """Look now instead of at the next interval."""
        self._wake.set()

    def published(self, changes: Sequence[Change]) -> None:
        """Note what these changes let look otherwise."""
        for change in changes:
            self._observed.touched(change.edits)
        self._announcer.published(changes)

    def commanded(self, changes: Sequence[Change]) -> None:
        """Wake if any of these changes, of operations or bindings, concerns this fabric."""
        self._take_up_resets(changes)
        if any(self._concerns_hardware(edit) for change in changes for edit in change.edits):
            self.wake()

    def _concerns_hardware(self, edit: Edit) -> bool:
        if edit.space is Space.BINDING:
            return edit.key.startswith(f"{self.fabric}|")
        if edit.space is not Space.OPERATION:
            return False
        operation = self._published.state.operations.get(edit.key)
        if operation is None or not operation.open or self.fabric not in operation.fabrics:
            return False
        # One that was only given another message has nothing new to do.
        return edit.pre is None or operation.state is OperationState.STOPPING

    def _take_up_resets(self, changes: Sequence[Change]) -> None:
        for edit in (edit for change in changes for edit in change.edits):
            if edit.space is Space.OPERATION and edit.pre is None:
                operation = self._published.state.operations.get(edit.key)
                reset = None if operation is None else operation.port_reset
                if operation is not None and reset is not None and operation.fabric == self.fabric:
                    self._resets.take_up(operation)

    async def run(self) -> None:
        """Look after the fabric until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self._watch())
            tasks.create_task(self._announcer.run())
            tasks.create_task(self._cycle_for_ever())

    async def _watch(self) -> None:
        while True:
            try:
                async for _ in self._driver.watch():
                    self.wake()
                return
            except DriverUnavailable as error:
                log.debug("watching fabric %s broke off: %s", self.fabric, error)
            except Exception:
                # Part of the supervisor of one reconcile loop: a faulty watch costs hints only.
                log.exception("watching fabric %s failed", self.fabric)
            # Without hints the loop still looks at each interval.
            await self._clock.sleep(self._policy.observe_interval_s)

    async def _cycle_for_ever(self) -> None:
        while True:
            self._wake.clear()
            delay_s = await self._guarded_cycle()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await self._wake.wait()
                    self._poll_s = FIRST_POLL_S

    async def _guarded_cycle(self) -> float:
        """Run one cycle; return how long to wait before the next. Supervises: never raises."""
        try:
            try:
                return await self.cycle()
            except DriverUnavailable as error:
                self.answers = False
                self.unanswered += 1
                self._say(f"does not answer: {error}")
                async with self._published.looking:
                    await self._show(None, Plan())
                self._resets.start(self._tasks)
                await self._resets.judge(self._intent.resets(), None)
                dark = nothing_seen(self.fabric, self._intent.parts(), self._clock.now_s())
                await self._judge_operations(dark, ())
        except RedfishError as error:
            self._say(f"could not record what happened: {error}")
            return self._policy.observe_interval_s
        except Exception:
            # The supervisor of one reconcile loop: one of the two places that catch everything.
            log.exception("looking after fabric %s failed", self.fabric)
        return self._backoff.failed(None)

    async def cycle(self) -> float:
        """Observe once and do what follows; return how long to wait before the next cycle.

        Raises DriverUnavailable when no switch answers, RedfishError (503) when the store can
        not take a result: both cost time, not truth.
        """
        self.cycles += 1
        seen = await self._observe()
        async with self._published.looking:
            shown = self._plan(seen)
            await self._show(seen, shown)
        self._resets.start(self._tasks)
        await self._resets.judge(self._intent.resets(), seen)
        await self._judge_operations(seen, shown.foreign)
        todo = self._plan(seen)
        self._steps.planned(todo.steps)
        steps = [step for step in todo.steps if self._steps.ready(step)]
        for step in steps:
            self._steps.start(step, self._tasks)
        self.first_observed.set()
        return self._pause_s(todo, steps)

    def _pause_s(self, todo: Plan, started: Sequence[Step]) -> float:
        """Return how long to wait unless something wakes the loop (a finished step does)."""
        left_alone = [step for step in todo.steps if step not in started]
        open_ = self._intent.open() or self._intent.resets()
        if not (left_alone or todo.waiting or todo.unmet_parts or open_):
            return self._policy.observe_interval_s
        longest_s = self._policy.observe_interval_s
        poll_s, self._poll_s = self._poll_s, min(longest_s, self._poll_s * 2)
        return min(longest_s, self._steps.next_s(left_alone, poll_s))

    async def _observe(self) -> Observation:
        settling = self._steps.settling
        settling.look_begins()
        try:
            async with asyncio.timeout(self._policy.observe_timeout_s):
                seen = await self._driver.observe()
        except TimeoutError as error:
            raise DriverUnavailable("no observation in time") from error
        settling.look_ended(seen.barrier_s)
        self.answers, self._looked_s = True, self._clock.now_s()
        self._backoff.succeeded(None)
        self._say(None if seen.complete else f"no answer from {sorted(seen.unreachable)}")
        return seen

    def _plan(self, seen: Observation) -> Plan:
        return self._intent.plan(seen, self._steps.settling.unsettled, self._policy.enforce)

    async def _show(self, seen: Observation | None, todo: Plan) -> None:
        """Publish what was seen: ports, bindings, health, foreign bindings, violations.

        Of much that is new (the first look at a big fabric) a part at a time, so that requests are
        answered in between; whoever calls holds `Published.looking` since before the plan.
        """
        if seen is not None:
            self._take_in(seen, todo)
        sight = FabricSight(
            fabric=self.fabric,
            observation=seen,
            unmet=todo.unmet,
            foreign=todo.foreign,
            violations=self.violations,
            opening=self._intent.opening(),
            unmet_parts=todo.unmet_parts,
            foreign_parts=todo.foreign_parts,
            blocked_parts=todo.blocked_parts,
            now=date_time(self._clock.wall_s()),
        )
        state = self._published.state
        parts = self._observed.look_in_parts(state.base.facts, state.index, sight)
        for number, patches in enumerate(parts):
            if number:
                await asyncio.sleep(0)
            self._announcer.touched(self._published.observe(patches))
        self._announcer.looked.set()

    def _take_in(self, seen: Observation, todo: Plan) -> None:
        """Judge what is bound, and note which vPPBs must not be granted."""
        state = self._published.state
        hosts = state.base.facts.vcs_hosts(self.fabric)
        releasing = self._intent.releasing()
        found = audit(
            state.index, seen.bindings, lambda vppb: hosts.get((vppb.switch, vppb.vcs)), releasing
        )
        self._report(found)
        self._busy = seen.busy
        self.foreign = tuple(vppb for vppb, _ in todo.foreign)
        self._bound_elsewhere = frozenset(target for _, target in todo.foreign)
        for part in set(todo.foreign_parts) - set(self.foreign_parts):
            log.warning("fabric %s: a part that nobody here asked for: %s", self.fabric, part)
        self.foreign_parts = todo.foreign_parts

    def _occupied(self) -> frozenset[Place]:
        """Return what must not be granted now: foreign, releasing, being freed or unsettled."""
        unsettled = self._steps.settling.open_places()
        given_up = self._intent.given_up()
        return unsettled.union(given_up, self.foreign, self.foreign_parts, self._busy)

    def _of_others(self) -> frozenset[BindTarget]:
        """Return what was last seen bound by somebody else."""
        return self._bound_elsewhere

    def _report(self, found: Sequence[Violation]) -> None:
        known = set(self.violations)
        for violation in found:
            if violation not in known:
                log.critical("isolation violation on %s: %s", self.fabric, violation)
        self.violations = tuple(found)

    async def _judge_operations(
        self, seen: Observation, foreign: tuple[tuple[VppbId, BindTarget], ...]
    ) -> None:
        """End what is achieved, take back what was refused or has had its time.

        `foreign` are the bindings of other managers.
        """
        refused = dict(self._steps.refused)
        now_s, before = self._clock.now_s(), self._since_s
        operations = self._intent.open()
        settling = self._steps.settling
        look = self._intent.look(
            seen,
            settling.unsettled,
            foreign,
            settling.under_way(),
            enforce=self._policy.enforce,
        )
        self._since_s = {each.id: before.get(each.id, now_s) for each in operations}
        self._waits.keep({*self._since_s})
        for operation in operations:
            await self._judge(operation, look, refused)
        for operation in self._intent.left():
            if achieved(operation.part(self.fabric), look):
                await self._operations.caught_up(operation, self.fabric)
        for step in refused:
            # What was refused meanwhile is judged next time.
            if self._steps.refused.get(step) is refused[step]:
                del self._steps.refused[step]

    async def _judge(self, operation: Operation, look: Look, refused: Mapping[Step, str]) -> None:
        mine = operation.part(self.fabric)
        told = self._told(operation, grant_steps(mine), refused)
        state = self._published.state
        if operation.grants and not still_wanted(state.index, operation, state.is_written):
            await self._operations.abandon(operation)
        elif told:
            await self._operations.take_back(operation, told, self.fabric)
        elif achieved(mine, look):
            if news := _new(operation, self._waits.left_behind(mine, look)):
                # The next look ends it: what is told now is durable then.
                await self._operations.note(operation, news, self.fabric)
            else:
                await self._operations.seen(operation, self.fabric)
        else:
            await self._wait_on(operation, mine, look, refused)

    async def _wait_on(
        self, operation: Operation, mine: Operation, look: Look, refused: Mapping[Step, str]
    ) -> None:
        """Take back what has had its time; else tell what is new about what it waits for."""
        waits = self._waits.lasting(operation, mine, look)
        endless = bool(waits) and is_only_cleaning(mine, look)
        self._operations.unseen(operation, self.fabric, done_of(mine, look), endless=endless)
        if operation.grants and self._overdue(operation):
            told = self._unobserved(mine, look)
            await self._operations.take_back(operation, told, self.fabric)
        else:
            told = self._told(mine, release_steps(mine), refused)
            if news := _new(operation, (*told, *waits)):
                await self._operations.note(operation, news, self.fabric)

    def _overdue(self, operation: Operation) -> bool:
        waited_s = self._clock.now_s() - self._since_s[operation.id]
        return waited_s > self._policy.operation_s

    def _told(
        self, operation: Operation, steps: Iterable[Step], refused: Mapping[Step, str]
    ) -> tuple[Message, ...]:
        found = (step for step in steps if step in refused)
        return tuple(self._message(operation, step, refused[step]) for step in found)

    def _unobserved(self, operation: Operation, look: Look) -> tuple[Message, ...]:
        reason = not_observed(self._policy.operation_s)
        named = (self._message(operation, step, reason) for step in missing(operation, look))
        return (messages.operation_timeout(), *named)

    def _message(self, operation: Operation, step: Step, reason: str) -> Message:
        port = self._published.base.facts.target_uri(self.fabric, step.target) or step.target.port
        told = messages.hardware_refused(described(step), port, reason)
        place = place_of(step, operation)
        return told if place is None else replace(told, related=(place,))

    def _say(self, trouble: str | None) -> None:
        """Log a change of mood once, not each time."""
        if trouble == self._said:
            return
        self._said = trouble
        if trouble is None:
            log.info("fabric %s answers", self.fabric)
        else:
            log.warning("fabric %s: %s", self.fabric, trouble)


def _new(operation: Operation, told: Iterable[Message]) -> tuple[Message, ...]:
    """Return what is not among the messages of an operation yet."""
    return tuple(each for each in told if each not in operation.messages)
