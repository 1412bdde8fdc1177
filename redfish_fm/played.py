"""What is simulated beside the fabrics: hosts, faults that were ordered, moods of the service.

A part of the composition root: it puts together what the configuration asks for.
"""

import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.config import Config, latency_of
from redfish_fm.drivers.base import Driver
from redfish_fm.drivers.virtual import schedule
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.orders import FaultDesk
from redfish_fm.drivers.virtual.power import VirtualPower
from redfish_fm.drivers.virtual.power import create as create_power
from redfish_fm.drivers.virtual.schedule import Schedule
from redfish_fm.mapping.observed_hosts import MANAGER_RESET, reset_action
from redfish_fm.mapping.power import MANAGER_RESETS
from redfish_fm.mapping.uris import FABRIC_MANAGER, MANAGER
from redfish_fm.redfish.emulation import Emulation, EmulationPolicy

OWN_MANAGER = MANAGER.format(manager=FABRIC_MANAGER)
"""The manager that this service is."""


@contextlib.asynccontextmanager
async def powered_hosts(
    config: Config, drivers: Mapping[str, Driver], clock: Clock, fabric_clock: Clock
) -> AsyncIterator[VirtualPower]:
    """Yield the BMCs of all hosts that the virtual fabrics know."""
    hardware = [each.hardware for each in drivers.values() if isinstance(each, VirtualDriver)]
    power = create_power(hardware, clock, fabric_clock, config.state)
    try:
        yield power
    finally:
        await power.close()


@contextlib.asynccontextmanager
async def ordered_faults(
    path: Path | None, drivers: Mapping[str, Driver], power: VirtualPower, fabric_clock: Clock
) -> AsyncIterator[Schedule | None]:
    """Yield the faults that were ordered beforehand, checked. Raises FmError with all mistakes."""
    virtual = [driver for driver in drivers.values() if isinstance(driver, VirtualDriver)]
    desks = [
        FaultDesk(driver.hardware, driver.faults, fabric_clock, power.machines)
        for driver in virtual
    ]
    try:
        yield None if path is None else schedule.load(path, desks, fabric_clock)
    finally:
        for desk in desks:
            await desk.close()


def play_reset(config: Config, documents: MutableMapping[str, dict[str, Any]]) -> None:
    """Let our own manager be reset, where there is one and its reset is to be played."""
    if config.emulation_reset_outage_s and OWN_MANAGER in documents:
        actions = reset_action(MANAGER_RESET, OWN_MANAGER, MANAGER_RESETS)
        documents[OWN_MANAGER] = {**documents[OWN_MANAGER], "Actions": actions}


def emulation(
    config: Config, end_sessions: Callable[[], Awaitable[None]], clock: Clock
) -> Emulation | None:
    """Return who plays what is asked for, None where that is nothing."""
    policy = EmulationPolicy(
        config.emulation_latency_ms / 1000,
        tuple(filter(None, map(latency_of, config.emulation_latency_paths))),
        OWN_MANAGER,
        config.emulation_reset_outage_s,
        config.emulation_reset_ends_sessions,
    )
    chance = random.Random(f"{config.seed} emulation")  # noqa: S311 - no secret
    return Emulation(policy, clock, chance, end_sessions) if policy.plays else None
