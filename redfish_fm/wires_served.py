"""Virtual CXL switches offered to other fabric managers, over the FM API, as configured.

A part of the composition root: it finds the switches among the drivers, and starts and stops what
listens and dials.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.config import Config
from redfish_fm.drivers.base import Driver
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.fmapi_faults import WireFault, WireFaults
from redfish_fm.drivers.virtual.fmapi_profiles import PROFILES
from redfish_fm.drivers.virtual.fmapi_server import FmapiDialer, FmapiListener
from redfish_fm.drivers.virtual.fmapi_switch import FmapiSwitch, NotOnTheWire
from redfish_fm.drivers.virtual.fmapi_wire import Dialect
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.errors import FmError
from redfish_fm.fabric.model import Inventory
from redfish_fm.wire_addresses import WireAddress, fault_rate, wire_address

log = logging.getLogger(__name__)


class WireMisnamed(FmError):
    """A setting names a switch or a fault that there is not; a line for each."""


class WireRefused(FmError):
    """An address can not be listened on; one line for the operator."""


@dataclass(frozen=True, slots=True)
class _Wire:
    """One setting that has been understood."""

    hardware: Hardware
    switch: str
    address: WireAddress
    dials: bool


@contextlib.asynccontextmanager
async def served_wires(
    config: Config, drivers: Mapping[str, Driver], clock: Clock, fabric_clock: Clock
) -> AsyncIterator[tuple[FmapiListener | FmapiDialer, ...]]:
    """Yield what was started; leave it before the hardware is closed.

    Raises WireMisnamed, WireRefused, NotOnTheWire.
    """
    wires, rates = _understood(config, drivers), _rates(config)
    async with contextlib.AsyncExitStack() as stack:
        switches: dict[str, FmapiSwitch] = {}
        for wire in wires:
            if wire.switch not in switches:
                profile = PROFILES[config.fmapi_profile]
                switch = FmapiSwitch(wire.hardware, wire.switch, profile, clock, fabric_clock)
                stack.push_async_callback(switch.close)
                switches[wire.switch] = switch
        ends = []
        for number, wire in enumerate(wires):
            faults = WireFaults(rates, f"{config.seed} {wire.switch} {number}")
            end = await _started(wire, switches[wire.switch], config, clock, faults)
            stack.push_async_callback(end.close)
            ends.append(end)
        yield tuple(ends)


async def _started(
    wire: _Wire, switch: FmapiSwitch, config: Config, clock: Clock, faults: WireFaults
) -> FmapiListener | FmapiDialer:
    dialect, address = Dialect(config.dialect), wire.address
    if wire.dials:
        dialer = FmapiDialer(switch, clock, dialect=dialect, faults=faults)
        dialer.dial(address.host, address.port)
        log.info("FM API: switch %s dials %s port %d", wire.switch, address.host, address.port)
        return dialer
    listener = FmapiListener(switch, clock, dialect=dialect, faults=faults)
    try:
        port = await listener.listen(address.host, address.port)
    except OSError as error:
        await listener.close()
        place = f"{address.host}:{address.port}"
        raise WireRefused(f"cannot listen for fabric managers on {place}: {error}") from error
    log.info("FM API: switch %s listens on %s port %d", wire.switch, address.host, port)
    return listener


def misnamed(config: Config, inventories: Iterable[Inventory]) -> list[str]:
    """Return a line for each setting that names a switch or a fault that there is not."""
    known = _cxl_switches(inventories)
    there = ", ".join(sorted(known)) or "none"
    found = []
    for key in ("fmapi_listen", "fmapi_dial"):
        for text in getattr(config, key):
            address = wire_address(text)
            if address is None or (address.switch or next(iter(known), None)) not in known:
                found.append(f"{key}: {text!r} names no CXL switch; there are: {there}")
    kinds = [kind.value for kind in WireFault]
    names = (rate[0] for rate in map(fault_rate, config.fmapi_faults) if rate is not None)
    found += [
        f"fmapi_faults: there is no fault {name!r}; there are: {', '.join(kinds)}"
        for name in names
        if name not in kinds
    ]
    return found


def _cxl_switches(inventories: Iterable[Inventory]) -> dict[str, str]:
    """Return the fabric of every CXL switch, by the switch's id, in order."""
    found: dict[str, str] = {}
    for inventory in inventories:
        for switch in inventory.switches:
            if switch.protocol == "CXL":
                found.setdefault(switch.id, inventory.fabric)
    return found


def _understood(config: Config, drivers: Mapping[str, Driver]) -> list[_Wire]:
    """Return all settings with their switches. Raises WireMisnamed with all that is wrong."""
    powered = {f: each.hardware for f, each in drivers.items() if isinstance(each, VirtualDriver)}
    inventories = [hardware.inventory for hardware in powered.values()]
    wrong = misnamed(config, inventories)
    if wrong:
        raise WireMisnamed("\n".join(wrong))
    known = _cxl_switches(inventories)
    found = []
    for key in ("fmapi_listen", "fmapi_dial"):
        for address in filter(None, map(wire_address, getattr(config, key))):
            switch = address.switch or next(iter(known))
            found.append(_Wire(powered[known[switch]], switch, address, key == "fmapi_dial"))
    return found


def _rates(config: Config) -> dict[WireFault, float]:
    return {
        WireFault(name): rate for name, rate in filter(None, map(fault_rate, config.fmapi_faults))
    }


__all__ = ["NotOnTheWire", "WireMisnamed", "WireRefused", "misnamed", "served_wires"]
