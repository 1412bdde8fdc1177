"""What happens to the world by itself: crashes, links, switches, strangers and lies."""

import asyncio
import contextlib
import random
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redfish_fm.drivers.virtual.faults import Dropped, Late, Lost, Refuse, Slow
from redfish_fm.drivers.virtual.refusals import Refused
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    PartKind,
    PortRole,
    Sanitize,
    Step,
    Unbind,
)
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
            (weather.device_every_s, self._device),
            (weather.part_every_s, self._part),
            (2.0 if weather.lies else 0.0, self._truth),
            (weather.host_every_s, self._host),
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
        if restart:
            # Some switches keep their bindings this time and lose them the next.
            keeps = self._weather.keeps_bindings or rng.random() < 0.3
            plant.restart(switch, down_s, keeps_bindings=keeps)
        else:
            plant.cut(switch, down_s)

    async def _device(self, rng: random.Random) -> None:
        """A device, or all of a failure domain, is pulled out or loses its power for a while."""
        plant = rng.choice(self._world.plants)
        devices = sorted(plant.devices)
        struck = devices if rng.random() < 0.15 else [rng.choice(devices)]
        pulled = rng.random() < 0.6
        other = pulled and self._weather.swaps and rng.random() < 0.5
        self._note(f"{struck} {'pulled' if pulled else 'without power'}")
        self._count("devices pulled" if pulled else "devices without power")
        for device in struck:
            if pulled:
                plant.remove_device(device)
            else:
                plant.power_device(device, False)
        await asyncio.sleep(rng.choice((0.01, 0.5, 3.0, 15.0)))
        for device in struck:
            if pulled:
                number = f"SN-{rng.randrange(10**6)}" if other else None
                plant.return_device(device, number)
            else:
                plant.power_device(device, True)
        self._count("devices replaced" if other else "devices back")
        self._note(f"{struck} back{' as another' if other else ''}")

    async def _host(self, rng: random.Random) -> None:
        """A host is off for a while, or for no time at all: its links go, in all fabrics."""
        hosts = {host.id for plant in self._world.plants for host in plant.inventory.hosts}
        struck = sorted(hosts) if rng.random() < 0.1 else [rng.choice(sorted(hosts))]
        self._note(f"{struck} off")
        self._count("hosts reset")
        try:
            self._power(struck, on=False)
            await asyncio.sleep(rng.choice((0.0, 0.5, 3.0, 15.0)))
        finally:
            self._power(struck, on=True)

    def _power(self, hosts: Sequence[str], *, on: bool) -> None:
        for plant in self._world.plants:
            for host in hosts:
                plant.power_host(host, on)

    async def _part(self, rng: random.Random) -> None:
        """The next command about contents or capacity goes wrong."""
        plant = rng.choice(self._world.plants)
        kind = rng.choice((Sanitize, Sanitize, Allocate, Deallocate))
        fault = rng.choice(
            (Refuse(), Slow(rng.choice((0.5, 4.0))), Lost(rng.random() < 0.5),
             Dropped(rng.random() < 0.5), Late())
        )  # fmt: skip
        plant.faults.next_apply(None, fault, only=(kind,))

    async def _truth(self, rng: random.Random) -> None:
        plant = rng.choice(self._world.plants)
        self._note("the switch stops lying about the past")
        plant.faults.tell_truth()

    async def _foreign(self, rng: random.Random) -> None:
        """Another manager binds, allocates or gives back behind our back."""
        plant = rng.choice(self._world.plants)
        switch = plant.switches[rng.choice(sorted(plant.switches))]
        vppb = rng.choice(switch.vppbs())
        targets = _targets(plant, switch.facts.id)
        bound = switch.bindings.get(vppb)
        parts = _parts(plant)
        if parts and rng.random() < 0.4:
            part = rng.choice(parts)
            steps = (Allocate(part, 256, rng.random() < 0.5), Sanitize(part), Deallocate(part))
            self._strange(plant, rng.choice(steps))
        elif bound is not None and rng.random() < 0.8:
            self._strange(plant, Unbind(vppb, bound))
        elif targets:
            self._strange(plant, Bind(vppb, rng.choice(targets)))

    def _strange(self, plant: Plant, step: Step) -> None:
        self._count("foreign")
        try:
            plant.execute(step, "outside")
        except Refused:
            self._count("foreign refused")

    def _count(self, what: str) -> None:
        self._world.checker.counts[what] += 1

    def _note(self, text: str) -> None:
        self._world.checker.note(text)

    @staticmethod
    def clean_up(plants: Sequence[Plant], checker: Checker) -> None:
        """A technician removes what strangers and lies have left behind."""
        known = checker.wanted() | checker.releasing()
        parts = {*checker.mirror.index.allocations, *checker.freeing()}
        for plant in plants:
            # A command that was struck before the quiet may have claimed something since.
            plant.faults.tell_truth()
            for vppb, target in plant.bound().items():
                if (vppb, target) not in known and not plant.is_ours(vppb):
                    plant.execute(Unbind(vppb, target), "outside")
            exist = plant.allocated()
            for target, has in exist.items():
                part = checker.mirror.index.allocations.get(target)
                other = part is not None and has != (part.size_mib, part.shareable)
                left = target in checker.left
                if (target not in parts or other) and (left or not plant.is_honest(target)):
                    # It takes a while to sanitize: he comes again.
                    _strike(plant, [*_unbinds(plant, target), Sanitize(target), Deallocate(target)])
            for target in checker.mirror.index.allocations:
                device = plant.devices.at(target)
                if device is not None and target not in exist:
                    # Nothing is allocated under who is bound to it: where a device was replaced,
                    # somebody has to say that what was in it is gone for good.
                    _strike(plant, _unbinds(plant, target))


def _unbinds(plant: Plant, target: BindTarget) -> list[Step]:
    return [Unbind(vppb, each) for vppb, each in plant.bound().items() if each == target]


def _strike(plant: Plant, steps: list[Step]) -> None:
    for step in steps:
        with contextlib.suppress(Refused):
            plant.execute(step, "outside")


def _targets(plant: Plant, switch: str) -> list[BindTarget]:
    """Return everything behind a switch that can be bound, allocated or not."""
    devices = {device.id: device for device in plant.inventory.devices}
    found = []
    for port in plant.switches[switch].facts.ports:
        if port.role is not PortRole.DOWNSTREAM or port.device is None:
            continue
        device = devices[port.device]
        whole = BindTarget(switch, port.id.port)
        if device.binds_functions:
            found += [replace(whole, function=each.id) for each in device.functions]
        elif device.pool is not None and device.pool.kind is not PartKind.LD:
            found += [part.target for part in plant.devices[device.id].parts.values()]
        else:
            found += [replace(whole, ld=ld.id) for ld in device.lds] or [whole]
    return found


def _parts(plant: Plant) -> list[BindTarget]:
    """Return the first few parts that each pool may have."""
    found = []
    for device in plant.devices.values():
        pool, port = device.facts.pool, device.ports[0]
        whole = BindTarget(port.switch, port.port)
        if pool is None:
            continue
        if pool.kind is PartKind.LD:
            found += [replace(whole, ld=number) for number in range(pool.part_count_max)]
        elif pool.kind is PartKind.REGION:
            found += [replace(whole, ld=ld.id, region=number) for ld in device.facts.lds
                      for number in range(pool.part_count_max)]  # fmt: skip
        else:
            found += [replace(whole, namespace=n + 1) for n in range(pool.part_count_max)]
    return found
