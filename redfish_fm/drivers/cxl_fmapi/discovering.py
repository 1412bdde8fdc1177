"""Everything one switch says of itself and of the devices behind it, asked in order.

What a switch or device does not implement is left out of the survey; what does not answer at all
raises DriverUnavailable, and the survey is to be made again.
"""

import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from redfish_fm.drivers.base import DriverRejected, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.client import SwitchClient
from redfish_fm.drivers.cxl_fmapi.command import NOTHING
from redfish_fm.drivers.cxl_fmapi.dcd_commands import GET_DCD_INFO, DcdInfo, Region
from redfish_fm.drivers.cxl_fmapi.events import Extent
from redfish_fm.drivers.cxl_fmapi.generic_commands import GET_EVENTS, LogChoice
from redfish_fm.drivers.cxl_fmapi.identify import IDENTIFY, Identity
from redfish_fm.drivers.cxl_fmapi.mld_commands import (
    GET_QOS_ALLOCATED,
    GET_QOS_LIMIT,
    LdAllocations,
    LdCountRange,
    LdInfo,
)
from redfish_fm.drivers.cxl_fmapi.numbers import ConfigurationState, DeviceType, EventLog
from redfish_fm.drivers.cxl_fmapi.probing import Probes
from redfish_fm.drivers.cxl_fmapi.switch_commands import PortState, SwitchIdentity, VcsInfo
from redfish_fm.fabric.model import Qos

log = logging.getLogger(__name__)

T = TypeVar("T")

LD_COUNT_MAX = 16
"""LDs of one device that can be bound."""

_FRACTION = 256
"""Bandwidth is told in 1/256 of the device's; all of it does not fit the byte: 255 means it."""


@dataclass(frozen=True, slots=True)
class DeviceSurvey:
    """A device behind a downstream port. None: not told.

    `regions` and `extents`: by host, which is the LD by which it reaches the device.
    """

    serial: int | None = None
    info: LdInfo | None = None
    allocations: LdAllocations | None = None
    bandwidth: tuple[Qos, ...] | None = None
    dynamic: DcdInfo | None = None
    regions: Mapping[int, tuple[Region, ...]] = field(default_factory=dict)
    extents: Mapping[int, tuple[Extent, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Survey:
    """A switch as it was at one time, by the numbers of its ports and virtual switches."""

    identity: Identity
    size: SwitchIdentity
    ports: Mapping[int, PortState]
    vcss: Mapping[int, VcsInfo]
    devices: Mapping[int, DeviceSurvey]
    has_events: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """What must not change between two looks, or everything is asked anew."""

    ports: tuple[tuple[int, bool, int, int], ...]
    vcss: tuple[tuple[int, int, int], ...]


def is_upstream(state: PortState) -> bool:
    """Return whether a host is to be at this port."""
    return state.configuration_state == ConfigurationState.USP


def shape(ports: Mapping[int, PortState], vcss: Mapping[int, VcsInfo]) -> Shape:
    """Return what there is, without how it is."""
    # A port that hosts have says nothing of a device (CXL FM API, Get Physical Port State).
    return Shape(
        tuple(
            (number, up, 0, 0) if (up := is_upstream(each)) else (number, up, *_device(each))
            for number, each in ports.items()
        ),
        tuple((each.vcs_id, each.usp_port, each.vppb_count) for each in vcss.values()),
    )


def _device(state: PortState) -> tuple[int, int]:
    return state.device_type, state.ld_count


async def survey(client: SwitchClient, probes: Probes) -> Survey:
    """Ask a switch for everything. Raises DriverUnavailable when it does not tell the whole."""
    identity = await client.identify()
    size = await client.switch()
    ports = await client.physical_ports(range(size.port_count))
    known = sorted({*range(size.vcs_count), *size.active_vcss})
    vcss = await client.virtual_switches(known, size.vppb_count)
    devices = {
        number: await survey_device(client, probes, number, state)
        for number, state in ports.items()
        if not is_upstream(state) and state.device_type != DeviceType.NONE
    }
    has_events = await probes.ask(GET_EVENTS, LogChoice(EventLog.INFORMATIONAL)) is not None
    return Survey(identity, size, ports, vcss, devices, has_events)


async def survey_device(
    client: SwitchClient, probes: Probes, port: int, state: PortState
) -> DeviceSurvey:
    """Ask a device; only an MLD is known to answer what comes through a tunnel."""
    if state.device_type != DeviceType.TYPE3_MLD:
        return DeviceSurvey()
    device = client.device(port)
    info = await _if_there(device.ld_info())
    if info is None:
        return DeviceSurvey()
    ld_count = min(info.ld_count, LD_COUNT_MAX)
    serial, dynamic = None, None
    if client.caller.profile.tunnel is not None:
        # Without a tunnel the switch would answer for itself.
        identity = await probes.ask(IDENTIFY, NOTHING, port)
        serial = None if identity is None else identity.serial or None
        dynamic = await probes.ask(GET_DCD_INFO, NOTHING, port)
    if dynamic is not None and not (dynamic.region_count and dynamic.capacity_units):
        dynamic = None
    regions: dict[int, tuple[Region, ...]] = {}
    extents: dict[int, tuple[Extent, ...]] = {}
    for host in range(0 if dynamic is None else ld_count):
        told = await _if_there(device.regions(host))
        if told is not None and told.regions:
            regions[host] = told.regions
            extents[host] = await _if_there(device.extents(host)) or ()
    return DeviceSurvey(
        serial,
        info,
        await _if_there(device.ld_allocations()),
        await read_bandwidth(probes, port, ld_count),
        dynamic,
        regions,
        extents,
    )


async def read_bandwidth(probes: Probes, port: int, ld_count: int) -> tuple[Qos, ...] | None:
    """Return the bandwidth of each LD, None where the device knows of none."""
    request = LdCountRange(ld_count, 0)
    allocated = await probes.ask(GET_QOS_ALLOCATED, request, port)
    if allocated is None:
        return None
    limits = await probes.ask(GET_QOS_LIMIT, request, port)
    if limits is None:
        return None
    both = zip(allocated.fractions, limits.fractions, strict=False)
    return tuple(Qos(percent(one), percent(most)) for one, most in both)


def percent(of_256: int) -> int:
    """Return a fraction of 1/256 in percent."""
    return round(of_256 * 100 / _FRACTION)


def fraction(of_percent: int) -> int:
    """Return percent in 1/256, so that `percent` gives it back for each of 0 to 100."""
    return min(_FRACTION - 1, round(of_percent * _FRACTION / 100))


async def _if_there(asked: Awaitable[T]) -> T | None:
    """Return the answer, None where there is no such command, or it is refused."""
    try:
        return await asked
    except (DriverUnsupported, DriverRejected) as error:
        log.debug("left out: %s", error)
        return None
