"""Whether each configured switch answers, what it is, and what it lacks: for `redfish-fm doctor`.

Asks as a start of the service does, and changes nothing.
"""

import asyncio
from collections.abc import Sequence

from redfish_fm.clocks import SystemClock
from redfish_fm.config_switches import SwitchStanza
from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.attached import AttachedPolicy, AttachedSwitch
from redfish_fm.drivers.cxl_fmapi.discovering import Survey
from redfish_fm.drivers.cxl_fmapi.driver import CxlFmApiDriver, create
from redfish_fm.drivers.cxl_fmapi.numbers import DeviceType
from redfish_fm.switches import by_fabric

ANSWER_S = 8.0
"""How long a switch is waited for; one that says nothing to what it lacks needs seconds."""

_POLL_S = 0.1
Found = tuple[str, bool, str]
"""Name of a switch, whether it answers, and what was seen or what helps."""


async def look_at_switches(
    stanzas: Sequence[SwitchStanza], answer_s: float = ANSWER_S
) -> list[Found]:
    """Return one finding for each switch, in their order."""
    clock = SystemClock()
    policy = AttachedPolicy(look_s=_POLL_S)
    drivers = {
        fabric: create(fabric, places, clock, policy=policy)
        for fabric, places in by_fabric(stanzas, ()).items()
    }
    try:
        return list(
            await asyncio.gather(
                *(_look_at(each, drivers[each.fabric], answer_s) for each in stanzas)
            )
        )
    finally:
        for driver in drivers.values():
            await driver.close()


async def _look_at(stanza: SwitchStanza, driver: CxlFmApiDriver, answer_s: float) -> Found:
    switch, why = driver.switches[stanza.id], ""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + answer_s
    while loop.time() < until_s:
        try:
            return f"switch {stanza.id}", True, describe(switch, await switch.ready())
        except DriverUnavailable as error:
            why = str(error)
        await asyncio.sleep(_POLL_S)
    return f"switch {stanza.id}", False, f"{why}; {_help(stanza)}"


def _help(stanza: SwitchStanza) -> str:
    if stanza.link == "fm-listen":
        return f"nobody dialled in at {stanza.address}; a running service listens there itself"
    return f"is it there, and has it no other manager? link {stanza.link}, {stanza.address}"


def describe(switch: AttachedSwitch, seen: Survey) -> str:
    """Return what a switch is and what it lacks, in one line."""
    identity, size = seen.identity, seen.size
    occupied = sum(each.device_type != DeviceType.NONE for each in seen.ports.values())
    told = [
        f"{identity.vendor_id:04X}:{identity.device_id:04X}",
        f"serial number {identity.serial:016X}",
        f"profile {switch.client.caller.profile.name}",
        f"{len(seen.ports)} ports with {occupied} devices",
        f"{len(seen.vcss)} virtual switches with {size.vppb_count} vPPBs",
    ]
    lacking = sorted({*switch.client.caller.missing, *switch.probes.silent})
    told.append(f"lacks {', '.join(lacking)}" if lacking else "lacks nothing that was asked for")
    return "; ".join(told)
