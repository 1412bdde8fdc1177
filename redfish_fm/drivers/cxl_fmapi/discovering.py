"""Everything one switch says of itself and of the devices behind it, asked in order.

What a switch or device does not implement is left out of the survey; what does not answer at all
raises DriverUnavailable, and the survey is to be made again.
"""

import logging
from collections.abc import Awaitable, Container, Mapping
from dataclasses import dataclass, field, fields
from typing import TypeVar

from redfish_fm.drivers.base import DriverRejected, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.client import SwitchClient
from redfish_fm.drivers.cxl_fmapi.command import NOTHING
from redfish_fm.drivers.cxl_fmapi.dcd_commands import GET_DCD_INFO, DcdInfo, Region
from redfish_fm.drivers.cxl_fmapi.events import Extent
from redfish_fm.drivers.cxl_fmapi.generic_commands import (
    EFFECTS_LOG,
    GET_EVENTS,
    GET_LOG,
    GET_LOGS,
    SANITIZE,
    BackgroundStatus,
    CommandEffect,
    LogChoice,
    LogRange,
)
from redfish_fm.drivers.cxl_fmapi.identify import IDENTIFY, Identity
from redfish_fm.drivers.cxl_fmapi.layouts import layout
from redfish_fm.drivers.cxl_fmapi.mld_commands import (
    GET_QOS_ALLOCATED,
    GET_QOS_CONTROL,
    GET_QOS_LIMIT,
    GET_QOS_STATUS,
    LdAllocations,
    LdCountRange,
    LdInfo,
)
from redfish_fm.drivers.cxl_fmapi.mld_commands import QosControl as RawControl
from redfish_fm.drivers.cxl_fmapi.numbers import (
    ConfigurationState,
    DeviceType,
    EventLog,
    ReturnCode,
)
from redfish_fm.drivers.cxl_fmapi.probing import PROBE_S, Probes
from redfish_fm.drivers.cxl_fmapi.refusals import BadAnswer
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer
from redfish_fm.drivers.cxl_fmapi.switch_commands import PortState, SwitchIdentity, VcsInfo
from redfish_fm.fabric.model import Qos
from redfish_fm.fabric.qos_control import QosControl

log = logging.getLogger(__name__)

T = TypeVar("T")

LD_COUNT_MAX = 16
"""LDs of one device that can be bound."""

_ONCE = ("serial", "info", "allocations", "bandwidth", "dynamic", "sanitizes", "control")
"""What a device tells of itself in one answer each."""

_ALL_PERCENT = 100
_FIRST_LD = 0
_LOG_PIECE = 128
"""Bytes of a log in one answer: whole entries, and two tunnels around them fit everywhere."""

_LOG_BYTES_MAX = 4096

_FRACTION = 256
"""Bandwidth is told in 1/256 of the device's; all of it does not fit the byte: 255 means it."""


@dataclass(frozen=True, slots=True)
class DeviceSurvey:
    """A device behind a downstream port. None: not told.

    `regions` and `extents`: by host, which is the LD by which it reaches the device. `sanitizes`:
    its LDs know how to overwrite themselves. `control` and `backpressure_percent`: of all its LDs.
    `trouble`: why it tells nothing this time, though it should; `nameless`: it refused to say who
    it is, and knows how to.
    """

    serial: int | None = None
    info: LdInfo | None = None
    allocations: LdAllocations | None = None
    bandwidth: tuple[Qos, ...] | None = None
    dynamic: DcdInfo | None = None
    regions: Mapping[int, tuple[Region, ...]] = field(default_factory=dict)
    extents: Mapping[int, tuple[Extent, ...]] = field(default_factory=dict)
    sanitizes: bool = False
    control: QosControl | None = None
    backpressure_percent: int | None = None
    trouble: str = ""
    nameless: bool = False

    @property
    def told(self) -> frozenset[str]:
        """Return the names of what it told."""
        known = {name for name in _ONCE if getattr(self, name) not in (None, False)}
        known |= {f"regions of {host}" for host in self.regions}
        return frozenset(known | {f"extents of {host}" for host in self.extents})


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


async def survey(
    client: SwitchClient, probes: Probes, in_doubt: Container[int] = frozenset()
) -> Survey:
    """Ask a switch for everything. Raises DriverUnavailable when it does not tell the whole.

    `in_doubt`: ports whose devices told less than they should the last time.
    """
    identity = await client.identify()
    size = await client.switch()
    ports = await client.physical_ports(range(size.port_count))
    known = sorted({*range(size.vcs_count), *size.active_vcss})
    vcss = await client.virtual_switches(known, size.vppb_count)
    devices = {
        number: await survey_device(client, probes, number, state, in_doubt=number in in_doubt)
        for number, state in ports.items()
        if not is_upstream(state) and state.device_type != DeviceType.NONE
    }
    has_events = await probes.ask(GET_EVENTS, LogChoice(EventLog.INFORMATIONAL)) is not None
    return Survey(identity, size, ports, vcss, devices, has_events)


async def survey_device(
    client: SwitchClient, probes: Probes, port: int, state: PortState, *, in_doubt: bool = False
) -> DeviceSurvey:
    """Ask a device; only an MLD is known to answer what comes through a tunnel.

    One that answers what can not be read, or nothing while its switch does, is told of as such:
    the others behind that switch are none the worse. One that is `in_doubt` gets less time, for
    everything else at the switch waits meanwhile.
    """
    if state.device_type != DeviceType.TYPE3_MLD:
        return DeviceSurvey()
    try:
        until_s = client.caller.clock.now_s() + PROBE_S if in_doubt else None
        return await _told_by(client, probes, port, until_s)
    except (BadAnswer, NoAnswer) as error:
        await client.caller.barrier()
        return DeviceSurvey(trouble=str(error))


async def _told_by(
    client: SwitchClient, probes: Probes, port: int, until_s: float | None
) -> DeviceSurvey:
    """Return what a device tells; `until_s`: when its first answer has to be there."""
    device = client.device(port)
    info = await _if_there(device.ld_info(until_s))
    if info is None:
        return DeviceSurvey()
    ld_count = min(info.ld_count, LD_COUNT_MAX)
    serial, dynamic, sanitizes, nameless = None, None, False, False
    if client.caller.profile.tunnel is not None:
        # Without a tunnel the switch would answer for itself.
        identity = await probes.ask(IDENTIFY, NOTHING, port)
        serial = None if identity is None else identity.serial or None
        nameless = identity is None and not (
            client.caller.lacks(IDENTIFY.opcode, port) or probes.is_silent(IDENTIFY.opcode)
        )
        dynamic = await probes.ask(GET_DCD_INFO, NOTHING, port)
        sanitizes = await _lds_sanitize(probes, port)
    if dynamic is not None and not (dynamic.region_count and dynamic.capacity_units):
        dynamic = None
    regions: dict[int, tuple[Region, ...]] = {}
    extents: dict[int, tuple[Extent, ...]] = {}
    for host in range(0 if dynamic is None else ld_count):
        told = await _if_there(device.regions(host))
        if told is not None and told.regions:
            regions[host] = told.regions
            found = await _if_there(device.extents(host))
            if found is not None:
                extents[host] = found
    return DeviceSurvey(
        serial,
        info,
        await _if_there(device.ld_allocations()),
        await read_bandwidth(probes, port, ld_count),
        dynamic,
        regions,
        extents,
        sanitizes,
        await read_control(probes, port),
        None
        if (status := await probes.ask(GET_QOS_STATUS, NOTHING, port)) is None
        else status.backpressure_percent,
        nameless=nameless,
    )


async def read_control(probes: Probes, port: int) -> QosControl | None:
    """Return how a device watches its load, None where it knows of none."""
    told = await probes.ask(GET_QOS_CONTROL, NOTHING, port)
    return None if told is None else control_of(told)


def control_of(told: RawControl) -> QosControl:
    """Return what a device says of how it watches its load."""
    return QosControl(
        told.congestion_enabled,
        told.throughput_enabled,
        told.moderate_percent,
        told.severe_percent,
        told.sample_interval,
        told.completion_basis,
        told.completion_interval,
    )


def raw_control(wanted: QosControl) -> RawControl:
    """Return what to tell a device; `wanted` says everything."""
    values = (getattr(wanted, each.name) or 0 for each in fields(wanted))
    congestion, reduction, *numbers = values
    return RawControl(bool(congestion), bool(reduction), *numbers)


async def _lds_sanitize(probes: Probes, port: int) -> bool:
    """Return whether the first LD lists Sanitize in its Command Effects Log, for all of them."""
    logs = await probes.ask(GET_LOGS, NOTHING, port, _FIRST_LD)
    told = () if logs is None else logs.logs
    size = min(next((each.size for each in told if each.log == EFFECTS_LOG), 0), _LOG_BYTES_MAX)
    form = layout(CommandEffect)
    for offset in range(0, size, _LOG_PIECE):
        request = LogRange(EFFECTS_LOG, offset, min(_LOG_PIECE, size - offset))
        piece = await probes.ask(GET_LOG, request, port, _FIRST_LD)
        data = b"" if piece is None else piece.data[: request.length]
        entries = range(0, len(data) - form.size + 1, form.size)
        if any(form.decode(data[at : at + form.size]).opcode == SANITIZE.opcode for at in entries):
            return True
    return False


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


def is_sanitizing(status: BackgroundStatus) -> bool:
    """Return whether an LD is being overwritten."""
    return bool(status.running and status.opcode == SANITIZE.opcode)


def was_sanitized(status: BackgroundStatus) -> bool:
    """Return whether the last that an LD did is to be overwritten, to the end."""
    whole = status.opcode == SANITIZE.opcode and status.percent >= _ALL_PERCENT
    return whole and status.return_code == ReturnCode.SUCCESS


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
