"""A simulated switch on a real loopback socket, as a manager's driver meets it.

    async with fmapi_world(CXL, profile="standard") as world:
        world.host, world.port            where it listens (MCTP packets)
        world.hardware                    the powered hardware behind it
        world.switch                      its firmware: operation, logs, numbers of ports
        world.faults.order(WireFault.DROP, 0x5201)

    async with fmapi_world(CXL, profile="short-identity", dial=("127.0.0.1", port)) as world:
        …                                 it dials a manager that listens there (frames)

On the wire, ports and virtual switches have the numbers of their places in the inventory, from 0.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.fmapi_faults import WireFault, WireFaults
from redfish_fm.drivers.virtual.fmapi_profiles import PROFILES
from redfish_fm.drivers.virtual.fmapi_server import FmapiDialer, FmapiListener
from redfish_fm.drivers.virtual.fmapi_switch import FmapiSwitch
from redfish_fm.drivers.virtual.fmapi_wire import Dialect
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import Inventory
from tests.drivers.fabrics import CXL
from tests.virtual_time import VirtualClock


@dataclass
class FmapiWorld:
    """What was started. `host` and `port` say where a listener listens."""

    hardware: Hardware
    switch: FmapiSwitch
    faults: WireFaults
    end: FmapiListener | FmapiDialer
    clock: Clock
    host: str = ""
    port: int = 0


@contextlib.asynccontextmanager
async def fmapi_world(
    inventory: Inventory = CXL,
    profile: str = "standard",
    *,
    switch: str | None = None,
    rates: Mapping[WireFault, float] | None = None,
    seed: int | str = 0,
    dial: tuple[str, int] | None = None,
    frames: bool | None = None,
    dialect: Dialect | None = None,
    operation_s: float | None = None,
    port: int = 0,
    hardware: Hardware | None = None,
    clock: Clock | None = None,
    fabric_clock: Clock | None = None,
) -> AsyncIterator[FmapiWorld]:
    """Yield one switch of `inventory` (the first by default), served over the wire.

    `hardware` given: it is used and left powered; else it is made, as careless as the profile says.
    """
    clock = clock or VirtualClock()
    wanted = PROFILES[profile]
    powered = hardware or Hardware(inventory, clock, forgets=wanted.forgets)
    served = FmapiSwitch(
        powered,
        switch or inventory.switches[0].id,
        wanted,
        clock,
        fabric_clock or clock,
        operation_s=operation_s,
    )
    faults = WireFaults(rates, seed)
    end: FmapiListener | FmapiDialer
    if dial is None:
        end = FmapiListener(served, clock, frames=bool(frames), dialect=dialect, faults=faults)
    else:
        end = FmapiDialer(served, clock, frames=frames is not False, dialect=dialect, faults=faults)
    world = FmapiWorld(powered, served, faults, end, clock)
    try:
        if isinstance(end, FmapiListener):
            world.port = await end.listen("127.0.0.1", port)
            world.host = "127.0.0.1"
        elif dial is not None:
            end.dial(*dial)
        yield world
    finally:
        await end.close()
        await served.close()
        if hardware is None:
            powered.close()
