"""What is simulated beside the fabrics: hosts, faults that were ordered, moods of the service.

A part of the composition root: it puts together what the configuration asks for.
"""

import contextlib
import random
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
)
from dataclasses import dataclass
from pathlib import Path

from redfish_fm.clocks import Clock
from redfish_fm.config import Config, latency_of
from redfish_fm.drivers.base import Driver
from redfish_fm.drivers.virtual import schedule
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.orders import FaultDesk
from redfish_fm.drivers.virtual.power import VirtualPower
from redfish_fm.drivers.virtual.power import create as create_power
from redfish_fm.drivers.virtual.schedule import Schedule
from redfish_fm.fabric.model import Host
from redfish_fm.mapping.uris import FABRIC_MANAGER, MANAGER
from redfish_fm.redfish.emulation import Emulation, EmulationPolicy

OWN_MANAGER = MANAGER.format(manager=FABRIC_MANAGER)
"""The manager that this service is, unless an import has another one there."""


@contextlib.asynccontextmanager
async def powered_hosts(
    config: Config,
    drivers: Mapping[str, Driver],
    hosts: Iterable[Host],
    clock: Clock,
    fabric_clock: Clock,
) -> AsyncIterator[VirtualPower]:
    """Yield the BMCs of all hosts that the virtual fabrics know, and of further `hosts`."""
    hardware = [each.hardware for each in drivers.values() if isinstance(each, VirtualDriver)]
    power = create_power(hardware, clock, fabric_clock, config.state, hosts)
    try:
        yield power
    finally:
        await power.close()


@dataclass(frozen=True, slots=True)
class OrderedFaults:
    """The faults that were ordered beforehand, None where there are none, and who brings them."""

    schedule: Schedule | None
    desks: tuple[FaultDesk, ...]

    async def close(self) -> None:
        """Stop what is under way; from now on nothing befalls. Call before hardware is closed."""
        for desk in self.desks:
            await desk.close()


def ordered_faults(
    path: Path | None, drivers: Mapping[str, Driver], power: VirtualPower, fabric_clock: Clock
) -> OrderedFaults:
    """Return the faults that the file at `path` orders. Raises FmError with all mistakes."""
    virtual = [driver for driver in drivers.values() if isinstance(driver, VirtualDriver)]
    desks = tuple(
        FaultDesk(driver.hardware, driver.faults, fabric_clock, power.machines)
        for driver in virtual
    )
    orders = None if path is None else schedule.load(path, desks, fabric_clock)
    return OrderedFaults(orders, desks)


def emulation(
    config: Config,
    end_sessions: Callable[[], Awaitable[None]],
    clock: Clock,
    manager: str = OWN_MANAGER,
) -> Emulation | None:
    """Return who plays what is asked for, None where that is nothing.

    `manager` is the one that this service is.
    """
    policy = EmulationPolicy(
        config.emulation_latency_ms / 1000,
        tuple(filter(None, map(latency_of, config.emulation_latency_paths))),
        manager,
        config.emulation_reset_outage_s,
        config.emulation_reset_ends_sessions,
    )
    chance = random.Random(f"{config.seed} emulation")  # noqa: S311 - no secret
    return Emulation(policy, clock, chance, end_sessions) if policy.plays else None
