"""The driver of CXL switches that are managed by the FM API: one fabric, any number of switches.

Satisfies drivers.base.Driver. Each switch has a link, a survey and open commands of its own, so
what one does or does not answer delays no other.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.applying import Applying
from redfish_fm.drivers.cxl_fmapi.attached import AttachedPolicy, AttachedSwitch, Sight
from redfish_fm.drivers.cxl_fmapi.caller import CallPolicy
from redfish_fm.drivers.cxl_fmapi.connecting import Connections
from redfish_fm.drivers.cxl_fmapi.inventories import inventory
from redfish_fm.drivers.cxl_fmapi.links import LinkPolicy
from redfish_fm.drivers.cxl_fmapi.places import SwitchPlace
from redfish_fm.drivers.cxl_fmapi.resetting import Resetting
from redfish_fm.drivers.cxl_fmapi.watching import Bell, Listening
from redfish_fm.fabric.model import Bind, Hint, Inventory, Observation, PortId, Step, Unbind
from redfish_fm.fabric.port_control import PortReset

log = logging.getLogger(__name__)

LATE_MAX_S = 2.0
"""How long after its connection is gone a switch may begin what it had received before.

What has begun is asked for (Background Operation Status) and has no bound.
"""

InventoryTaken = Callable[[Inventory], Awaitable[None]]
"""Takes over another inventory than before; returns once it is the service's."""


def create(
    fabric: str,
    places: Sequence[SwitchPlace],
    clock: Clock,
    *,
    seed: int | None = None,
    late_max_s: float = LATE_MAX_S,
    link_policy: LinkPolicy | None = None,
    call_policy: CallPolicy | None = None,
    policy: AttachedPolicy | None = None,
    pools: dict[str, bool] | None = None,
) -> "CxlFmApiDriver":
    """Return the driver of a fabric's switches; it connects to them from now on.

    Call it where an event loop runs. Chance (back-off) comes from `seed`, None: from the system.
    `pools`: device to whether the memory of its LDs is a pool, where that was decided before; what
    is decided is added before it is told.
    """
    connections = Connections(places, clock, seed, link_policy)
    return CxlFmApiDriver(fabric, connections, clock, late_max_s, call_policy, policy, pools)


class CxlFmApiDriver:
    """One fabric. `on_inventory` is told whenever another inventory than before is found.

    Nothing is observed of what was found until it has returned.
    """

    def __init__(
        self,
        fabric: str,
        connections: Connections,
        clock: Clock,
        late_max_s: float = LATE_MAX_S,
        call_policy: CallPolicy | None = None,
        policy: AttachedPolicy | None = None,
        pools: dict[str, bool] | None = None,
    ) -> None:
        self.late_max_s = late_max_s
        self.on_inventory: InventoryTaken | None = None
        self._fabric = fabric
        self._clock = clock
        self.connections = connections
        self._bell = Bell(fabric)
        self._closed = False
        self.switches: dict[str, AttachedSwitch] = {}
        self._steps: dict[str, Applying] = {}
        self._resets: dict[str, Resetting] = {}
        for place in connections.places:
            attached = AttachedSwitch(
                place,
                connections.channels[place.id],
                clock,
                late_max_s,
                lambda id_=place.id: self._bell.ring(id_),  # type: ignore[misc]
                call_policy,
                policy,
                pools,
            )
            self.switches[place.id] = attached
            self._steps[place.id] = Applying(attached, clock)
            self._resets[place.id] = Resetting(attached, clock, late_max_s)
        self._told = self.inventory
        self._told_parts = [each.part for each in self.switches.values()]
        self._telling = asyncio.Lock()
        self._applying: set[asyncio.Task[None]] = set()
        self._tasks = [asyncio.ensure_future(each) for each in self._runners()]

    def _runners(self) -> list[Coroutine[Any, Any, None]]:
        found = list(self.connections.runners())
        for each in self.switches.values():
            found += [each.run(), Listening(each, self._bell, self._clock).run()]
        return found

    @property
    def inventory(self) -> Inventory:
        """Return what is known of the fabric, without asking: switches at least."""
        return inventory(self._fabric, [each.part for each in self.switches.values()])

    @property
    def answers(self) -> bool:
        """Return whether any switch of the fabric is known as it is connected now."""
        return any(each.current for each in self.switches.values())

    async def discover(self) -> Inventory:
        """Return the inventory; of a silent switch what was known of it before.

        Raises DriverUnavailable when no switch answers.
        """
        await self._ask_all(AttachedSwitch.prove_there)
        return self.inventory

    async def observe(self) -> Observation:
        """Ask all switches at once. Raises DriverUnavailable when none answers."""
        started_s = self._clock.now_s()
        found = await self._ask_all(AttachedSwitch.look)
        await self._tell_inventory()
        seen = {id_: each for id_, each in found.items() if isinstance(each, Sight)}
        barriers_s = [math.nextafter(started_s, -math.inf)]
        barriers_s += [
            seen[id_].barrier_s if id_ in seen else each.commands.barrier_s(started_s)
            for id_, each in self.switches.items()
        ]
        sights = seen.values()
        return Observation(
            self._fabric,
            started_s,
            min(barriers_s),
            {vppb: target for sight in sights for vppb, target in sight.bindings.items()},
            {port: state for sight in sights for port, state in sight.ports.items()},
            frozenset(self.switches.keys() - seen.keys()),
            {part: state for sight in sights for part, state in sight.parts.items()},
            qos={target: qos for sight in sights for target, qos in sight.qos.items()},
            busy=frozenset().union(*(sight.busy for sight in sights)),
        )

    async def apply(self, step: Step, deadline_s: float) -> None:
        """Carry out one step, as drivers.base.Driver.apply says."""
        self._check_open()
        switch = step.vppb.switch if isinstance(step, Bind | Unbind) else step.target.switch
        steps = self._steps.get(switch)
        if steps is None:
            raise DriverRejected(f"fabric {self._fabric} has no switch {switch}")
        await self._carry_out(steps.apply(step, deadline_s))

    async def reset_port(self, port: PortId, asked: PortReset, deadline_s: float) -> None:
        """Reset a downstream port, as drivers.base.PortControl says."""
        self._check_open()
        resets = self._resets.get(port.switch)
        if resets is None:
            raise DriverRejected(f"fabric {self._fabric} has no switch {port.switch}")
        await self._carry_out(resets.reset(port, asked, deadline_s))

    async def _carry_out(self, command: Coroutine[Any, Any, None]) -> None:
        """Await a command that ends with the driver. Raises what it raises."""
        task = asyncio.ensure_future(command)
        self._applying.add(task)
        task.add_done_callback(self._applying.discard)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        if task.cancelled():
            raise DriverUnavailable(f"the driver of fabric {self._fabric} was closed")
        task.result()

    async def watch(self) -> AsyncIterator[Hint]:
        """Yield a hint for every switch that says something, or is connected anew."""
        self._check_open()
        if not any(each.connected for each in self.switches.values()):
            raise DriverUnavailable(f"no switch of fabric {self._fabric} is connected")
        async for hint in self._bell.hints():
            yield hint

    async def close(self) -> None:
        """Cut every connection; whoever waits is answered. Safe to repeat."""
        self._closed = True
        self._bell.close()
        running = [*self._tasks, *self._applying]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        await self.connections.close()

    async def _ask_all(
        self, ask: Callable[[AttachedSwitch], Awaitable[object]]
    ) -> dict[str, object]:
        """Return what each switch answers; those that do not are left out."""
        self._check_open()
        asked = [_answer(ask, each) for each in self.switches.values()]
        # Of one switch no task is made: that costs a fifth of a look.
        answers = [await asked[0]] if len(asked) == 1 else await asyncio.gather(*asked)
        self._check_open()
        found: dict[str, object] = {}
        why: DriverUnavailable | None = None
        for id_, answer in zip(self.switches, answers, strict=True):
            if isinstance(answer, DriverUnavailable):
                why = answer
            else:
                found[id_] = answer
        if not found:
            raise DriverUnavailable(str(why)) from why
        return found

    async def _tell_inventory(self) -> None:
        parts = [each.part for each in self.switches.values()]
        if all(one is other for one, other in zip(parts, self._told_parts, strict=False)):
            return
        async with self._telling:
            now = inventory(self._fabric, parts)
            if now != self._told and self.on_inventory is not None:
                await self.on_inventory(now)
            self._told, self._told_parts = now, parts

    def _check_open(self) -> None:
        """Raise DriverUnavailable when closed, and what a task of ours has died of."""
        if self._closed:
            raise DriverUnavailable(f"the driver of fabric {self._fabric} is closed")
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()


async def _answer(
    ask: Callable[[AttachedSwitch], Awaitable[object]], switch: AttachedSwitch
) -> object:
    """Return what a switch answers; that it does not is an answer here."""
    try:
        return await ask(switch)
    except DriverUnavailable as error:
        return error
