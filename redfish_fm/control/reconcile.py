"""One loop per fabric: observe, judge open operations, plan, apply, again, until all is as wanted.

Level-triggered: hints and commits only wake the loop; what it does follows from what is published
and what is observed (DESIGN section 4). Only this loop hands steps to its driver. Steps run beside
the loop, so a slow one delays nobody else; until it is settled nothing touches its vPPB or target.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.control.announce import Announcer
from redfish_fm.control.backoff import Backoff
from redfish_fm.control.operations import Operations
from redfish_fm.control.published import Published
from redfish_fm.control.settling import Settling
from redfish_fm.control.writer import Writer
from redfish_fm.drivers.base import Driver, DriverRejected, DriverUnavailable, DriverUnsupported
from redfish_fm.fabric.audit import audit
from redfish_fm.fabric.binding import Plan, plan
from redfish_fm.fabric.model import BindTarget, Observation, Step, VppbId
from redfish_fm.fabric.values import Binding, Violation
from redfish_fm.mapping.observed import FabricSight, observed_patches
from redfish_fm.mapping.operations import Operation
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Change, Space
from redfish_fm.redfish.errors import Message, RedfishError

log = logging.getLogger(__name__)

FIRST_POLL_S = 0.01
"""Wait before looking again while something is open; doubles up to the observe interval."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How one fabric is looked after. All times in seconds of the service clock.

    `operation_s`: how long grants may stay unobserved before they are taken back.
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
        self._writer = writer
        self._published = published
        self._operations = operations
        self._clock = clock
        self._policy = policy
        self._settling = Settling(clock.now_s())
        self._backoff = Backoff(clock)
        self._announcer = Announcer(writer, published, clock)
        self._refused: dict[tuple[VppbId, BindTarget], Message] = {}
        self._poll_s = FIRST_POLL_S
        self._since_s: dict[str, float] = {}
        self._wake = asyncio.Event()
        self._said: str | None = None
        self.first_observed = asyncio.Event()
        self.violations: tuple[Violation, ...] = ()
        self.foreign: tuple[VppbId, ...] = ()
        self.cycles = 0
        self.rejected = 0
        self.unknown = 0

    def wake(self) -> None:
        """Look now instead of at the next interval."""
        self._wake.set()

    def published(self, changes: Sequence[Change]) -> None:
        """Wake if any of these changes can concern hardware."""
        if any(
            edit.space in (Space.BINDING, Space.OPERATION)
            for change in changes
            for edit in change.edits
        ):
            self.wake()

    async def run(self) -> None:
        """Look after the fabric until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self._watch())
            tasks.create_task(self._cycle_for_ever())

    async def _watch(self) -> None:
        async for _ in self._driver.watch():
            self.wake()

    async def _cycle_for_ever(self) -> None:
        while True:
            self._wake.clear()
            delay_s = await self._guarded_cycle()
            try:
                async with asyncio.timeout(delay_s):
                    await self._wake.wait()
                    self._poll_s = FIRST_POLL_S
            except TimeoutError:
                continue

    async def _guarded_cycle(self) -> float:
        """Run one cycle; return how long to wait before the next."""
        try:
            return await self.cycle()
        except DriverUnavailable as error:
            self._say(f"does not answer: {error}")
            self._publish_sight(None, None)
            return self._backoff.failed(None)
        except RedfishError as error:
            self._say(f"could not record what happened: {error}")
            return self._policy.observe_interval_s

    async def cycle(self) -> float:
        """Observe once and do what follows; return how long to wait before the next cycle.

        Raises DriverUnavailable when no switch answers, RedfishError (503) when the store can
        not take a result: both cost time, not truth.
        """
        self.cycles += 1
        seen = await self._observe()
        self._publish_sight(seen, self._plan(seen))
        await self._judge_operations(seen)
        await self._announcer.announce()
        todo = self._plan(seen)
        steps = [step for step in todo.steps if self._backoff.ready(step)]
        for step in steps:
            self._start(step)
        self.first_observed.set()
        return self._pause_s(todo, steps)

    def _pause_s(self, todo: Plan, started: Sequence[Step]) -> float:
        """Return how long to wait unless something wakes the loop (a finished step does)."""
        left_alone = [step for step in todo.steps if step not in started]
        if not (left_alone or todo.waiting or self._operations.open_of(self.fabric)):
            return self._policy.observe_interval_s
        poll_s, self._poll_s = self._poll_s, self._poll_s * 2
        return min(self._policy.observe_interval_s, self._backoff.next_s(left_alone, poll_s))

    async def _observe(self) -> Observation:
        self._settling.look_begins()
        try:
            async with asyncio.timeout(self._policy.observe_timeout_s):
                seen = await self._driver.observe()
        except TimeoutError as error:
            raise DriverUnavailable("no observation in time") from error
        self._settling.look_ended(seen.barrier_s)
        self._backoff.succeeded(None)
        self._say(None if seen.complete else f"no answer from {sorted(seen.unreachable)}")
        return seen

    def _wanted(self) -> list[Binding]:
        bindings = self._published.state.index.bindings.values()
        return [binding for binding in bindings if binding.fabric == self.fabric]

    def _releasing(self, wanted: Iterable[Binding]) -> list[Binding]:
        kept = {(binding.vppb, binding.target) for binding in wanted}
        return [
            binding
            for operation in self._operations.open_of(self.fabric)
            for binding in operation.released
            if (binding.vppb, binding.target) not in kept
        ]

    def _plan(self, seen: Observation) -> Plan:
        wanted = self._wanted()
        releasing = self._releasing(wanted)
        return plan(wanted, releasing, seen, self._settling.unsettled, self._policy.enforce)

    def _publish_sight(self, seen: Observation | None, todo: Plan | None) -> None:
        """Show what was seen: ports, bindings, health, foreign bindings, violations."""
        index = self._published.state.index
        facts = self._published.base.facts
        if seen is not None and todo is not None:
            hosts = facts.vcs_hosts(self.fabric)
            releasing = self._releasing(self._wanted())
            found = audit(
                index, seen.bindings, lambda vppb: hosts.get((vppb.switch, vppb.vcs)), releasing
            )
            self._report(found)
            self.foreign = tuple(vppb for vppb, _ in todo.foreign)
            occupied = self._settling.vppbs().union(self.foreign)
            self._writer.tip_view.occupied_by_fabric[self.fabric] = occupied
        sight = FabricSight(
            fabric=self.fabric,
            observation=seen,
            unmet=frozenset() if todo is None else todo.unmet,
            foreign=() if todo is None else todo.foreign,
            violations=self.violations,
            opening=self._vppbs_under_change(),
        )
        self._announcer.touched(self._published.observe(observed_patches(facts, index, sight)))

    def _vppbs_under_change(self) -> frozenset[VppbId]:
        return frozenset(
            binding.vppb
            for operation in self._operations.open_of(self.fabric)
            for binding in operation.granted
        )

    def _report(self, found: Sequence[Violation]) -> None:
        known = set(self.violations)
        for violation in found:
            if violation not in known:
                log.critical("isolation violation on %s: %s", self.fabric, violation)
        self.violations = tuple(found)

    async def _judge_operations(self, seen: Observation) -> None:
        """End what is achieved, take back what was refused or has had its time."""
        now_s = self._clock.now_s()
        for operation in self._operations.open_of(self.fabric):
            since_s = self._since_s.setdefault(operation.id, now_s)
            refused = {
                binding.vppb: self._refused[binding.vppb, binding.target]
                for binding in operation.granted
                if (binding.vppb, binding.target) in self._refused
            }
            if refused:
                reasons = tuple(refused[vppb] for vppb in sorted(refused))
                await self._operations.take_back(operation, frozenset(refused), reasons)
            elif self._achieved(operation, seen):
                self._since_s.pop(operation.id, None)
                await self._operations.complete(operation)
            elif operation.granted and now_s - since_s > self._policy.operation_s:
                await self._give_up(operation, seen)
        self._refused.clear()

    def _achieved(self, operation: Operation, seen: Observation) -> bool:
        kept = {(binding.vppb, binding.target) for binding in self._wanted()}
        return all(
            seen.bindings.get(binding.vppb) == binding.target
            and not self._settling.unsettled(binding.vppb)
            for binding in operation.granted
        ) and all(
            (binding.vppb, binding.target) in kept or self._released(binding, seen)
            for binding in operation.released
        )

    def _released(self, binding: Binding, seen: Observation) -> bool:
        return (
            binding.vppb in seen.bindings
            and seen.bindings[binding.vppb] != binding.target
            and not self._settling.unsettled(binding.vppb)
            and not self._settling.unsettled(binding.target)
        )

    async def _give_up(self, operation: Operation, seen: Observation) -> None:
        missing = frozenset(
            binding.vppb
            for binding in operation.granted
            if seen.bindings.get(binding.vppb) != binding.target
        )
        reason = messages.operation_timeout()
        await self._operations.take_back(operation, missing, (reason,))

    def _start(self, step: Step) -> None:
        """Hand a step to the driver, beside the loop."""
        now_s = self._clock.now_s()
        self._settling.sent(step, now_s)
        self._tasks.create_task(self._carry_out(step, now_s + self._policy.apply_timeout_s))

    async def _carry_out(self, step: Step, deadline_s: float) -> None:
        try:
            async with asyncio.timeout(self._policy.apply_timeout_s):
                await self._driver.apply(step, deadline_s)
        except (DriverRejected, DriverUnsupported) as error:
            self.rejected += 1
            self._settling.refused(step)
            self._backoff.failed(step)
            self._refused[step.vppb, step.target] = self._refusal(step, error)
        except (DriverUnavailable, TimeoutError) as error:
            self.unknown += 1
            self._settling.returned(step)
            self._backoff.failed(step)
            log.info("outcome of %s on %s is unknown: %s", step, self.fabric, error)
        else:
            self._settling.returned(step)
            self._backoff.succeeded(step)
        self.wake()

    def _refusal(self, step: Step, error: DriverRejected | DriverUnsupported) -> Message:
        port = self._published.base.facts.target_uri(self.fabric, step.target) or step.target.port
        what = f"{type(step).__name__} of vPPB {step.vppb.switch}/{step.vppb.vcs}/{step.vppb.vppb}"
        log.info("%s on %s refused: %s", what, self.fabric, error)
        return messages.hardware_refused(what, port, str(error))

    def _say(self, trouble: str | None) -> None:
        """Log a change of mood once, not each time."""
        if trouble == self._said:
            return
        self._said = trouble
        if trouble is None:
            log.info("fabric %s answers", self.fabric)
        else:
            log.warning("fabric %s: %s", self.fabric, trouble)
