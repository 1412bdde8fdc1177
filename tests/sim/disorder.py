"""What happens to the world by itself: crashes, links, switches, strangers and lies."""

import asyncio
import contextlib
import random
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from redfish_fm.drivers.virtual.refusals import Refused
from redfish_fm.fabric.model import Bind, BindTarget, PortRole, Unbind
from tests.sim.checker import Checker
from tests.sim.plant import Plant
from tests.sim.weather import stream

if TYPE_CHECKING:
    from tests.sim.simulation import World


class Disorder:
    """Everything that goes wrong besides single commands."""

    def __init__(self, world: "World", rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        self._weather = world.weather

    def all(self) -> list[Coroutine[Any, Any, None]]:
        """Return what goes on for ever, each with its own chance."""
        weather = self._weather
        every = (
            (weather.crash_every_s, self._crash),
            (weather.link_every_s, self._link),
            (weather.cut_every_s, self._cut),
            (weather.foreign_every_s, self._foreign),
            (2.0 if weather.lies else 0.0, self._truth),
        )
        return [
            self._for_ever(mean_s, what, stream(f"event {self._rng.random()}"))
            for mean_s, what in every
            if mean_s
        ]

    async def _for_ever(self, mean_s: float, what: Any, rng: random.Random) -> None:
        while True:
            await asyncio.sleep(rng.expovariate(1.0 / mean_s))
            self._world.population.steps += 1
            await what(rng)

    async def _crash(self, rng: random.Random) -> None:
        """Kill the service: at any instant, or while a command is on its way."""
        if rng.random() < 0.7:
            faults = rng.choice(self._world.plants).faults
            faults.sent.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(5.0):
                    await faults.sent.wait()
                    await asyncio.sleep(rng.random() * self._weather.command_s)
        await self._world.crash(rng.choice((0.0, 0.0, 0.0, 0.5, 3.0)))

    async def _link(self, rng: random.Random) -> None:
        plant = rng.choice(self._world.plants)
        switch = plant.switches[rng.choice(sorted(plant.switches))]
        port = rng.choice(switch.facts.ports).id
        pulled = rng.random() < 0.3
        self._note(f"{port} {'pulled' if pulled else 'down'}")
        for _ in range(rng.choice((1, 1, 20))):
            plant.set_port(port, link_up=False, present=not pulled)
            await asyncio.sleep(rng.choice((0.005, 0.5)))
            plant.set_port(port, link_up=True, present=True)
            await asyncio.sleep(0.005)

    async def _cut(self, rng: random.Random) -> None:
        plant = rng.choice(self._world.plants)
        switch = rng.choice(sorted(plant.switches))
        down_s = rng.choice((0.0, 0.2, 4.0))
        restart = rng.random() < 0.3
        self._note(f"{'restart' if restart else 'cut'} {switch} for {down_s} s")
        self._world.checker.counts["restarts" if restart else "cuts"] += 1
        (plant.restart if restart else plant.cut)(switch, down_s)

    async def _truth(self, rng: random.Random) -> None:
        plant = rng.choice(self._world.plants)
        self._note("the switch stops lying about the past")
        plant.faults.tell_truth()

    async def _foreign(self, rng: random.Random) -> None:
        """Another manager binds or unbinds behind our back."""
        plant = rng.choice(self._world.plants)
        switch = plant.switches[rng.choice(sorted(plant.switches))]
        vppb = rng.choice(switch.vppbs())
        target = rng.choice(_targets(plant, switch.facts.id))
        bound = switch.bindings.get(vppb)
        if bound is not None and rng.random() < 0.8:
            self._strange(plant, Unbind(vppb, bound))
        else:
            self._strange(plant, Bind(vppb, target))

    def _strange(self, plant: Plant, step: Bind | Unbind) -> None:
        self._world.checker.counts["foreign"] += 1
        try:
            plant.execute(step, "outside")
        except Refused:
            self._world.checker.counts["foreign refused"] += 1

    def _note(self, text: str) -> None:
        self._world.checker.note(text)

    @staticmethod
    def clean_up(plants: Sequence[Plant], checker: Checker) -> None:
        """A technician removes what strangers and lies have left behind."""
        known = checker.wanted() | checker.releasing()
        for plant in plants:
            # A command that was struck before the quiet may have claimed something since.
            plant.faults.tell_truth()
            for vppb, target in plant.bound().items():
                if (vppb, target) not in known and not plant.is_ours(vppb):
                    plant.execute(Unbind(vppb, target), "outside")


def _targets(plant: Plant, switch: str) -> list[BindTarget]:
    """Return everything behind a switch that can be bound."""
    devices = {device.id: device for device in plant.inventory.devices}
    found = []
    for port in plant.switches[switch].facts.ports:
        if port.role is PortRole.DOWNSTREAM and port.device is not None:
            lds = devices[port.device].lds
            found += [BindTarget(switch, port.id.port, ld.id) for ld in lds]
            found += [] if lds else [BindTarget(switch, port.id.port)]
    return found
