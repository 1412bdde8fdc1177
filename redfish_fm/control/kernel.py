"""The heart assembled: writer, operations and one reconcile loop per fabric, without any HTTP.

The composition root gives it a store, an inventory and drivers, and who drives hosts where anybody
does; simulation and tests do the same.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from redfish_fm.clocks import Clock
from redfish_fm.control.base import Base
from redfish_fm.control.commits import Commits
from redfish_fm.control.expiry import Expiry
from redfish_fm.control.inventory_news import InventoryNews
from redfish_fm.control.operations import Operations
from redfish_fm.control.power import PowerLoop, PowerPolicy
from redfish_fm.control.published import Published
from redfish_fm.control.reconcile import FabricLoop, Policy
from redfish_fm.control.retries import Retries
from redfish_fm.control.state import WantedState
from redfish_fm.control.store_probe import StoreProbe
from redfish_fm.control.task_keeper import TaskKeeper
from redfish_fm.control.unserved import Unserved
from redfish_fm.control.writer import Writer
from redfish_fm.drivers.base import Driver, PowerControl
from redfish_fm.mapping.uris import RESERVATIONS
from redfish_fm.redfish.changes import Space
from redfish_fm.store.base import Store, StoredState

CLOSE_TIMEOUT_S = 2.0
"""How long a stop waits for what is in flight before it lets go."""
_OPERATIONS = frozenset({Space.OPERATION})
_COMMANDS = frozenset({Space.BINDING, Space.OPERATION})


@dataclass(frozen=True, slots=True)
class KernelConfig:
    """How the kernel behaves; times in seconds of the service clock.

    `time_scale` is how fast the fabric clock runs, on which reservations last.
    """

    sync_budget_s: float = 5.0
    policy: Policy = field(default_factory=Policy)
    power: PowerPolicy = field(default_factory=PowerPolicy)
    time_scale: float = 1.0
    policies: Mapping[str, Policy] = field(default_factory=dict)
    """Of fabrics that are looked after otherwise than `policy` says."""


class Kernel:
    """Owns every part that can change or drive something. Use as: start, then run as a task."""

    def __init__(
        self,
        store: Store,
        base: Base,
        drivers: Mapping[str, Driver],
        clock: Clock,
        config: KernelConfig,
        power: PowerControl | None = None,
    ) -> None:
        self._store = store
        self._drivers = dict(drivers)
        self.published = Published(WantedState(base))
        self.writer = Writer(store, base, self.published, clock)
        self.writer.tip_view.time_scale = config.time_scale
        self.operations = Operations(self.writer, self.published, clock)
        self._probe = StoreProbe(self.writer, clock)
        self.tasks = TaskKeeper(self.writer, self.published, self.operations, clock)
        self.retries = Retries(self.writer, self.published, clock)
        self.commits = Commits(self.writer, self.operations, self.retries, config.sync_budget_s)
        self._clock = clock
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self.loops: dict[str, FabricLoop] = {}
        for fabric, driver in self._drivers.items():
            self._put_loop(fabric, driver, config.policies.get(fabric, config.policy))
        self._power = power
        self.power: PowerLoop | None = None
        if power is not None:
            self.power = PowerLoop(
                power, self.writer, self.published, self.operations, clock, config.power
            )
            self.writer.on_publish.add(self.power.published, spaces=_OPERATIONS)
        self.unserved = Unserved(self.operations, self.published, clock, self.loops)
        self.writer.on_publish.add(self.unserved.published, spaces=_OPERATIONS)
        self.expiry = Expiry(self.writer, self.published, clock)
        self.inventory = InventoryNews(self.writer, clock)
        self.writer.on_publish.add(self.expiry.published, below=(f"{RESERVATIONS}/",))
        self._running: list[asyncio.Task[None]] = []
        self._closing = False

    def start(self, stored: StoredState) -> None:
        """Take over what the store has loaded; call once, before `run`."""
        self.writer.start(stored)
        self.tasks.start()

    async def run(self) -> None:
        """Commit and reconcile until cancelled, or until `close` has decided everything."""
        if self._closing:
            return
        async with asyncio.TaskGroup() as tasks:
            self._group = tasks
            self._looking = {
                fabric: tasks.create_task(loop.run()) for fabric, loop in self.loops.items()
            }
            self._running = [
                tasks.create_task(self.writer.run()),
                tasks.create_task(self.expiry.run()),
                tasks.create_task(self.inventory.run()),
                tasks.create_task(self.tasks.run()),
                tasks.create_task(self.unserved.run()),
                tasks.create_task(self._probe.run()),
                *self._looking.values(),
                *([] if self.power is None else [tasks.create_task(self.power.run())]),
            ]

    def _put_loop(self, fabric: str, driver: Driver, policy: Policy) -> FabricLoop:
        loop = self.loops[fabric] = FabricLoop(
            fabric, driver, self.writer, self.published, self.operations, self._clock, policy
        )
        self.writer.on_publish.add(loop.published)
        self.writer.on_publish.add(loop.commanded, spaces=_COMMANDS)
        return loop

    def rebase(self, base: Base) -> None:
        """Let everything rest on another inventory. Call with `published.looking` held."""
        before = self.published.base.resources()
        self.writer.rebase(base)
        self.inventory.changed(before, self.published.base.resources())
        for loop in self.loops.values():
            loop.wake()
        self.unserved.look()

    def add_fabric(self, fabric: str, driver: Driver, policy: Policy) -> None:
        """Look after one more fabric, beside those there are; call while `run` runs."""
        self._drivers[fabric] = driver
        loop = self._put_loop(fabric, driver, policy)
        if self._group is not None:
            self._looking[fabric] = self._group.create_task(loop.run())
            self._running.append(self._looking[fabric])

    async def remove_fabric(self, fabric: str) -> None:
        """Look after a fabric no longer; its driver is the caller's to close.

        What is under way there ends once inventory is without it, and goes on where it is put back.
        """
        loop, task = self.loops.pop(fabric), self._looking.pop(fabric, None)
        del self._drivers[fabric]
        self.writer.on_publish.remove(loop.published)
        self.writer.on_publish.remove(loop.commanded)
        loop.leave()
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def owner_of(self, uri: str) -> str | None:
        """Return the user name of who has a Task or a reservation; None where nobody does."""
        return self.operations.owner_of(uri) or self.expiry.owner_of(uri)

    async def first_observed(self, timeout_s: float) -> bool:
        """Wait until all was looked at once; False where that takes longer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                for loop in self._all_loops():
                    await loop.first_observed.wait()
                return True
        return False

    async def close(self) -> None:
        """Decide what is in flight, stop, then close drivers and the store.

        `run` ends, also one that has yet to begin. Clients that wait for hardware are answered with
        a Task, those whose changes are not decided by then with a 503.
        """
        self._closing = True
        self.operations.close()
        with contextlib.suppress(TimeoutError):
            # Where nothing runs, nothing is decided.
            async with asyncio.timeout(CLOSE_TIMEOUT_S if self._running else 0.0):
                await self.writer.close()
                await self.retries.close()
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        self.writer.give_up()
        if self._power is not None:
            await self._power.close()
        for driver in self._drivers.values():
            await driver.close()
        await self._store.close()

    def _all_loops(self) -> list[FabricLoop | PowerLoop]:
        """Return the loops of all fabrics, and that of hosts where somebody drives them."""
        return [*self.loops.values(), *([] if self.power is None else [self.power])]
