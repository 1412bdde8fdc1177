"""The driver of virtual BMCs: deadlines, turns and faults over Machines.

Satisfies drivers.base.PowerControl. It behaves as a driver of real BMCs must: one command at a time
per host, and nothing known of a command whose answer did not come.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import (
    DriverError,
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
)
from redfish_fm.drivers.virtual.faults import Dropped, Lost, Refuse, Slow
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.machines import Machines, NotNow
from redfish_fm.drivers.virtual.state import virtual_db
from redfish_fm.drivers.virtual.watch import wait_until
from redfish_fm.fabric.model import Host
from redfish_fm.fabric.power import HostState, ResetType

COMMAND_S = 0.002
"""Usual time of one command in fabric seconds."""

RESETS = frozenset(ResetType)
"""What every virtual host can be asked: all that the domain has a word for."""


def create(
    hardware: Iterable[Hardware],
    clock: Clock,
    fabric_clock: Clock,
    state: Path | None = None,
    others: Iterable[Host] = (),
) -> "VirtualPower":
    """Power up the hosts that the fabrics know, and `others`; return a driver that owns them.

    `state` is the service's state folder (None keeps nothing). Raises tables.StateError.
    """
    powered = tuple(hardware)
    hosts = {host.id: host.powered for host in others}
    hosts |= {host.id: host.powered for each in powered for host in each.inventory.hosts}
    off = [host for host, on in hosts.items() if not on]
    path = None if state is None else virtual_db(state)
    machines = Machines(hosts, powered, clock, fabric_clock, path, off=off)
    return VirtualPower(machines, clock, fabric_clock, owns_machines=True)


class VirtualPower:
    """One session with powered hosts. `machines` are open to tests and scenarios."""

    def __init__(
        self,
        machines: Machines,
        clock: Clock,
        fabric_clock: Clock,
        *,
        command_s: float = COMMAND_S,
        owns_machines: bool = False,
    ) -> None:
        self.machines = machines
        self._clock = clock
        self._fabric_clock = fabric_clock
        self._command_s = command_s
        self._owns_machines = owns_machines
        self._closed = False
        self._turns = {host: asyncio.Lock() for host in machines.hosts}
        self._running: set[asyncio.Task[DriverError | None]] = set()
        self._watches: list[_Watch] = []
        self._stop_listening = machines.listen(self._hint)

    async def discover(self) -> Mapping[str, frozenset[ResetType]]:
        """Return all hosts; each takes every command."""
        self._check_open()
        await self._fabric_clock.sleep(self._command_s)
        return dict.fromkeys(self.machines.hosts, RESETS)

    async def observe(self) -> Mapping[str, HostState]:
        """Ask all BMCs at once. Raises DriverUnavailable when none answers."""
        self._check_open()
        await self._fabric_clock.sleep(self._command_s)
        self._check_open()
        seen = self.machines.states()
        if self.machines.hosts and not seen:
            raise DriverUnavailable("no BMC answers")
        return seen

    async def reset(self, host: str, asked: ResetType, deadline_s: float) -> None:
        """Ask the BMC of a host, as drivers.base.PowerControl.reset says."""
        if asked not in RESETS:
            raise DriverUnsupported(f"{host}: {asked}")
        about = f"{asked.value} of {host}"
        await self._ask(host, about, deadline_s, lambda: self.machines.execute(host, asked))

    async def reset_manager(self, host: str, deadline_s: float) -> None:
        """Restart the BMC of a host, as drivers.base.PowerControl.reset_manager says."""
        about = f"restart of the BMC of {host}"
        await self._ask(host, about, deadline_s, lambda: self.machines.restart_manager(host))

    def watch(self) -> AsyncIterator[str]:
        """Yield every host that changed."""
        self._check_open()
        made = _Watch(self.machines, self._fabric_clock)
        self._watches.append(made)
        return made

    async def close(self) -> None:
        """End the session; hosts go on. Safe to repeat."""
        if self._closed:
            return
        self._closed = True
        self._stop_listening()
        for watch in self._watches:
            watch.close()
        running = tuple(self._running)
        for task in running:
            task.cancel()
        try:
            await asyncio.gather(*running, return_exceptions=True)
        finally:
            if self._owns_machines:
                self.machines.close()

    async def _ask(self, host: str, about: str, deadline_s: float, act: Callable[[], None]) -> None:
        self._check_open()
        if host not in self.machines.hosts:
            raise DriverRejected(f"{about}: there is no such host")
        task = asyncio.create_task(self._carry_out(host, about, deadline_s, act))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # Whoever gives up leaves the command to the BMC; one not sent yet looks at its deadline.
        await wait_until(task, self._clock, deadline_s)
        if not task.done():
            raise DriverUnavailable(f"{about}: no answer before the deadline")
        if task.cancelled():
            raise DriverUnavailable(f"{about}: the driver was closed")
        error = task.result()
        if error is not None:
            raise error

    async def _carry_out(
        self, host: str, about: str, deadline_s: float, act: Callable[[], None]
    ) -> DriverError | None:
        """Wait for the turn of a command, send it, and return how it ended."""
        async with self._turns[host]:
            if self._clock.now_s() >= deadline_s:
                return DriverNotSent(f"{about}: not sent, its deadline has passed")
            if not self.machines.reachable(host):
                return DriverNotSent(f"{about}: not sent, the BMC does not answer")
            fault = self.machines.next_fault.pop(host, None)
            slow_s = fault.delay_s if isinstance(fault, Slow) else 0.0
            await self._fabric_clock.sleep(self._command_s + slow_s)
            if isinstance(fault, Refuse):
                return DriverRejected(f"{about}: {fault.reason}")
            if isinstance(fault, Dropped):
                return DriverUnavailable(f"{about}: outcome unknown, no answer came")
            try:
                act()
            except NotNow as no:
                return DriverRejected(f"{about}: {no}")
            if isinstance(fault, Lost):
                return DriverUnavailable(f"{about}: outcome unknown, no answer came")
            return None

    def _hint(self, host: str) -> None:
        for watch in self._watches:
            watch.hint(host)

    def _check_open(self) -> None:
        if self._closed:
            raise DriverUnavailable("the driver of the BMCs is closed")


class _Watch(AsyncIterator[str]):
    """One watcher's hints. While somebody waits for one, what is due happens in time."""

    def __init__(self, machines: Machines, fabric_clock: Clock) -> None:
        self._machines = machines
        self._fabric_clock = fabric_clock
        self._waiting: dict[str, None] = {}
        self._news = asyncio.Event()
        self._closed = False

    def hint(self, host: str) -> None:
        self._waiting[host] = None
        self._news.set()

    def close(self) -> None:
        self._closed = True
        self._news.set()

    async def __anext__(self) -> str:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            await self._next_news()
        host = next(iter(self._waiting))
        del self._waiting[host]
        return host

    async def _next_news(self) -> None:
        self._news.clear()
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._news.wait())]
        next_s = self._machines.next_s()
        if next_s is not None:
            pause_s = next_s - self._fabric_clock.now_s()
            waits.append(asyncio.ensure_future(self._fabric_clock.sleep(pause_s)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if not self._closed:
            self._machines.advance()
