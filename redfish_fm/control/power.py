"""One loop for the power of all hosts: ask their BMCs what is asked, and show what is seen.

A reset is a command, not a state that is wanted: it is sent once, never again. It ends when the
BMC has accepted it; where no answer came its operation stays open until a look shows that it was
done, or its time is over (decision 0010). Hints only wake the loop.
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from redfish_fm.clocks import Clock
from redfish_fm.control.announce import Announcer
from redfish_fm.control.operations import Operations
from redfish_fm.control.published import Published
from redfish_fm.control.writer import Writer
from redfish_fm.drivers.base import (
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
    PowerControl,
)
from redfish_fm.fabric.power import HostState, Machine, PowerState, ResetType, is_achieved
from redfish_fm.mapping.observed import PART
from redfish_fm.mapping.observed_hosts import ObservedHosts, is_system, system_of
from redfish_fm.mapping.operations import Operation
from redfish_fm.mapping.power import OF_NO_FABRIC, booted
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Change, Space
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.times import date_time

log = logging.getLogger(__name__)

ACTOR = "power"


@dataclass(frozen=True, slots=True)
class PowerPolicy:
    """How hosts are looked after. All times in seconds of the service clock.

    `operation_s`: how long a command of unknown outcome is waited for; `not_ready_s`: for how long
    a host takes no command after its power has changed.
    """

    observe_interval_s: float = 1.0
    observe_timeout_s: float = 5.0
    command_timeout_s: float = 5.0
    operation_s: float = 300.0
    not_ready_s: float = 0.0


class PowerLoop:
    """Looks after the power of hosts. Run `run` as a task."""

    def __init__(
        self,
        driver: PowerControl,
        writer: Writer,
        published: Published,
        operations: Operations,
        clock: Clock,
        policy: PowerPolicy,
    ) -> None:
        self._driver = driver
        self._writer = writer
        self._published = published
        self._operations = operations
        self._clock = clock
        self._policy = policy
        self._announcer = Announcer(writer, published, clock)
        self._observed = ObservedHosts(published.statuses)
        self._resets: Mapping[str, frozenset[ResetType]] | None = None
        self._machines: dict[str, Machine] = {}
        self._changed_s: dict[str, float] = {}
        self._since_s: dict[str, float] = {}
        self._refusals: dict[str, Message] = {}
        """What BMCs refused, by operation, until that is recorded."""
        self._sending: set[str] = set()
        self._started: set[str] = set()
        self._looks = 0
        self._new: list[Operation] = []
        self._wake = asyncio.Event()
        self._turn = asyncio.Lock()
        self._said: str | None = None
        self.first_observed = asyncio.Event()
        self.unknown = 0
        """How many commands ended without an answer."""
        writer.tip_view.machine_at = self._machine_at

    @property
    def trouble(self) -> str | None:
        """What is wrong with asking BMCs, in one line."""
        return self._said

    def published(self, changes: Sequence[Change]) -> None:
        """Take up the commands among these changes."""
        for edit in (edit for change in changes for edit in change.edits):
            if edit.space is Space.OPERATION and edit.pre is None:
                operation = self._published.state.operations.get(edit.key)
                if operation is not None and operation.open and operation.reset is not None:
                    self._new.append(operation)
                    self._wake.set()

    async def run(self) -> None:
        """Look after all hosts until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch())
            tasks.create_task(self._announcer.run())
            tasks.create_task(self._cycle_for_ever(tasks))

    async def _watch(self) -> None:
        while True:
            try:
                async for _ in self._driver.watch():
                    self._wake.set()
                return
            except DriverUnavailable as error:
                log.debug("watching the power of hosts broke off: %s", error)
            except Exception:
                # Part of the supervisor of this loop: a faulty watch costs hints only.
                log.exception("watching the power of hosts failed")
            await self._clock.sleep(self._policy.observe_interval_s)

    async def _cycle_for_ever(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            self._wake.clear()
            commands, self._new = self._new, []
            for operation in commands:
                self._sending.add(operation.id)
                tasks.create_task(self._send(operation))
            await self._guarded_look()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._policy.observe_interval_s):
                    await self._wake.wait()

    async def _guarded_look(self) -> None:
        """Look once, and judge what has no answer. What fails costs time, not truth."""
        try:
            try:
                seen = await self._look()
                self._say(None)
            except DriverUnavailable as error:
                seen = {}
                self._machines = {uri: replace(m, state=None) for uri, m in self._machines.items()}
                self._say(f"no BMC answers: {error}")
            # Whether anybody answers or not: what has had its time is over.
            await self._judge(seen)
        except RedfishError as error:
            self._say(f"could not record what happened: {error}")
        except Exception:
            # The supervisor of one reconcile loop: one of the places that catch everything.
            log.exception("looking after the power of hosts failed")
        self.first_observed.set()

    async def _look(self) -> Mapping[str, HostState]:
        """Ask all BMCs and publish what they say, one look at a time. Raises DriverUnavailable."""
        async with self._turn:
            seen = await self._look_in_turn()
        await self._spend_once()
        return seen

    async def _look_since(self) -> None:
        """Look, unless somebody else's look has begun since: of many who ask at once, one does."""
        known = self._looks
        async with self._turn:
            if self._looks == known:
                await self._look_in_turn()
        await self._spend_once()

    async def _look_in_turn(self) -> Mapping[str, HostState]:
        self._looks += 1
        seen = await self._observe()
        async with self._published.looking:
            await self._show(seen)
        return seen

    async def _spend_once(self) -> None:
        """Spend what was meant for one start of a host. What can not be stored is tried again."""
        started, self._started = self._started, set()
        if not started:
            return
        try:
            systems = sorted(map(system_of, started))
            await self._writer.submit(functools.partial(booted, systems), ACTOR)
        except RedfishError:
            self._started |= started
            raise

    async def _observe(self) -> Mapping[str, HostState]:
        try:
            async with asyncio.timeout(self._policy.observe_timeout_s):
                if self._resets is None:
                    self._resets = self._shown(await self._driver.discover())
                seen = await self._driver.observe()
                return {host: state for host, state in seen.items() if host in self._resets}
        except TimeoutError as error:
            raise DriverUnavailable("no observation in time") from error

    def _shown(
        self, found: Mapping[str, frozenset[ResetType]]
    ) -> Mapping[str, frozenset[ResetType]]:
        """Return those hosts that a client can see as systems."""
        known = self._published.base.documents
        uris = {host: system_of(host) for host in found}
        return {host: found[host] for host, uri in uris.items() if is_system(uri) and uri in known}

    async def _show(self, seen: Mapping[str, HostState]) -> None:
        """Publish what was seen, and note which hosts were started since the look before.

        A host at a time, so that requests are answered in between where many have changed.
        """
        self._note_changes(seen)
        facts = self._published.base.facts
        for host, started in self._observed.look_in_parts(facts, self._resets or {}, seen):
            if started:
                self._started.add(host)
            await asyncio.sleep(0)
        now = date_time(self._clock.wall_s())
        for number, patches in enumerate(self._published.statuses.patches_in_parts(now, PART)):
            if number:
                await asyncio.sleep(0)
            self._announcer.touched(self._published.observe(patches))
        self._announcer.looked.set()

    def _note_changes(self, seen: Mapping[str, HostState]) -> None:
        machines: dict[str, Machine] = {}
        bmcs = self._published.base.facts.bmcs
        for host, resets in (self._resets or {}).items():
            system, state = system_of(host), seen.get(host)
            before = self._machines.get(system)
            if before is not None and before.state is not None and state is not None:
                settled = state.power in (PowerState.ON, PowerState.OFF)
                if settled and state.power is not before.state.power:
                    self._changed_s[host] = self._clock.now_s()
            machine = Machine(host, resets, state)
            for uri in (system, bmcs.get(system)):
                if uri is not None:
                    machines[uri] = machine
        self._machines = machines

    def _machine_at(self, uri: str) -> Machine | None:
        machine = self._machines.get(uri)
        if machine is None or not self._policy.not_ready_s:
            return machine
        changed_s = self._changed_s.get(machine.host, float("-inf"))
        busy_s = changed_s + self._policy.not_ready_s - self._clock.now_s()
        return replace(machine, busy_s=max(0.0, busy_s))

    async def _send(self, operation: Operation) -> None:
        """Hand one command to its BMC, once, and record how it ended."""
        wish = operation.reset
        assert wish is not None  # noqa: S101 - only such operations are taken up
        deadline_s = self._clock.now_s() + self._policy.command_timeout_s
        try:
            if wish.asked is None:
                await self._driver.reset_manager(wish.host, deadline_s)
            else:
                await self._driver.reset(wish.host, wish.asked, deadline_s)
            with contextlib.suppress(DriverUnavailable):
                # Whoever is told that it was accepted sees what has become of it.
                await self._look_since()
            await self._operations.complete(operation)
        except (DriverRejected, DriverUnsupported, DriverNotSent) as error:
            await self._refused(operation, str(error))
        except DriverUnavailable as error:
            self.unknown += 1
            log.warning("%s: %s", operation.uri, error)
        except RedfishError as error:
            log.warning("%s: the answer could not be recorded: %s", operation.uri, error)
        except Exception:
            # Part of the same supervisor: what a faulty driver has done is not known.
            self.unknown += 1
            log.exception("a command to %s failed", wish.host)
        finally:
            self._sending.discard(operation.id)
            self._wake.set()

    async def _refused(self, operation: Operation, reason: str) -> None:
        wish = operation.reset
        asked = "restart" if wish is None or wish.asked is None else wish.asked.value
        told = messages.hardware_refused(asked, operation.uri, reason)
        self._refusals[operation.id] = told
        try:
            await self._operations.fail(operation, (told,))
        except RedfishError as error:
            # It is tried again after the next look.
            log.warning("%s: a refusal could not be recorded: %s", operation.uri, error)
        else:
            del self._refusals[operation.id]

    async def _judge(self, seen: Mapping[str, HostState]) -> None:
        """End commands without an answer that are seen to be done, or have had their time."""
        waiting = [
            each
            for each in self._operations.open_of(OF_NO_FABRIC)
            if each.id not in self._sending and each not in self._new
        ]
        now_s, before = self._clock.now_s(), self._since_s
        self._since_s = {each.id: before.get(each.id, now_s) for each in waiting}
        self._refusals = {
            each.id: self._refusals[each.id] for each in waiting if each.id in self._refusals
        }
        for operation in waiting:
            wish = operation.reset
            told = self._refusals.get(operation.id)
            if told is not None:
                # The store would not take it before.
                await self._operations.fail(operation, (told,))
                continue
            state = None if wish is None else seen.get(wish.host)
            if wish is not None and state is not None and is_achieved(wish, state):
                await self._operations.complete(operation)
            elif now_s - self._since_s[operation.id] > self._policy.operation_s:
                await self._operations.fail(operation, (messages.operation_timeout(),))

    def _say(self, trouble: str | None) -> None:
        """Log a change of mood once, not each time."""
        if trouble != self._said:
            self._said = trouble
            log.log(logging.INFO if trouble is None else logging.WARNING, "power of hosts: %s",
                    trouble or "BMCs answer")  # fmt: skip
