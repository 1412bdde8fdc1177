"""One device behind a port of a switch: its LDs, their bandwidth, its dynamic capacity.

Commands reach it through a tunnel, or by the port of the wire where the switch has no tunnel.
"""

from collections.abc import Iterable, Sequence

from redfish_fm.drivers.cxl_fmapi.caller import Caller
from redfish_fm.drivers.cxl_fmapi.command import NOTHING
from redfish_fm.drivers.cxl_fmapi.dcd_commands import (
    ADD_CAPACITY,
    GET_EXTENTS,
    GET_REGIONS,
    RELEASE_CAPACITY,
    AddCapacity,
    ExtentList,
    ExtentQuery,
    RegionQuery,
    Regions,
    ReleaseCapacity,
)
from redfish_fm.drivers.cxl_fmapi.events import Extent
from redfish_fm.drivers.cxl_fmapi.generic_commands import (
    BACKGROUND_STATUS,
    SANITIZE,
    BackgroundStatus,
)
from redfish_fm.drivers.cxl_fmapi.mld_commands import (
    GET_LD_ALLOCATIONS,
    GET_LD_INFO,
    GET_QOS_ALLOCATED,
    GET_QOS_CONTROL,
    GET_QOS_LIMIT,
    GET_QOS_STATUS,
    SET_LD_ALLOCATIONS,
    SET_QOS_ALLOCATED,
    SET_QOS_CONTROL,
    SET_QOS_LIMIT,
    LdAllocation,
    LdAllocations,
    LdCountRange,
    LdFractions,
    LdInfo,
    LdRange,
    NewLdAllocations,
    QosControl,
)
from redfish_fm.drivers.cxl_fmapi.numbers import ReturnCode
from redfish_fm.drivers.cxl_fmapi.refusals import BadAnswer

_LD_MAX = 16
"""LDs of one device that can be bound."""

_REGIONS_MAX = 8
_EXTENTS_AT_ONCE = 20
"""So many fit the smallest message that a component may be limited to, with room to spare."""

_EXTENTS_MAX = 1 << 14
"""Extents of one host that are read. A device that tells of more, or never ends, tells nothing."""

_WALKS = 5
"""How often a list that changes meanwhile is begun anew."""


class DeviceClient:
    """The device at `port`."""

    def __init__(self, caller: Caller, port: int) -> None:
        self._caller = caller
        self._port = port

    async def ld_info(self, deadline_s: float | None = None) -> LdInfo:
        """Return memory and number of LDs."""
        return await self._caller.call(GET_LD_INFO, NOTHING, port=self._port, deadline_s=deadline_s)

    async def ld_allocations(self) -> LdAllocations:
        """Return the memory of all LDs."""
        return await self._caller.call(GET_LD_ALLOCATIONS, LdRange(0, _LD_MAX), port=self._port)

    async def set_ld_allocations(
        self, start: int, allocations: Iterable[LdAllocation]
    ) -> tuple[LdAllocation, ...]:
        """Set the memory of LDs from `start` on, and return what the device made of it."""
        wanted = NewLdAllocations(start, tuple(allocations))
        done = await self._caller.change(SET_LD_ALLOCATIONS, wanted, port=self._port)
        return done.allocations

    async def qos_control(self) -> QosControl:
        """Return telemetry and thresholds."""
        return await self._caller.call(GET_QOS_CONTROL, NOTHING, port=self._port)

    async def set_qos_control(self, control: QosControl) -> QosControl:
        """Set telemetry and thresholds, and return what the device made of it."""
        return await self._caller.change(SET_QOS_CONTROL, control, port=self._port)

    async def backpressure_percent(self) -> int:
        """Return the average backpressure."""
        status = await self._caller.call(GET_QOS_STATUS, NOTHING, port=self._port)
        return status.backpressure_percent

    async def bandwidth_allocated(self, ld_count: int) -> tuple[int, ...]:
        """Return what each LD is promised, in 1/256."""
        request = LdCountRange(ld_count, 0)
        found = await self._caller.call(GET_QOS_ALLOCATED, request, port=self._port)
        return found.fractions

    async def set_bandwidth_allocated(self, start: int, fractions: Sequence[int]) -> None:
        """Promise bandwidth to LDs from `start` on, in 1/256."""
        request = LdFractions(start, tuple(fractions))
        await self._caller.change(SET_QOS_ALLOCATED, request, port=self._port)

    async def bandwidth_limit(self, ld_count: int) -> tuple[int, ...]:
        """Return what each LD gets at most, in 1/256."""
        request = LdCountRange(ld_count, 0)
        found = await self._caller.call(GET_QOS_LIMIT, request, port=self._port)
        return found.fractions

    async def set_bandwidth_limit(self, start: int, fractions: Sequence[int]) -> None:
        """Limit LDs from `start` on, in 1/256."""
        request = LdFractions(start, tuple(fractions))
        await self._caller.change(SET_QOS_LIMIT, request, port=self._port)

    async def sanitize(self, ld: int) -> bool:
        """Let an LD overwrite all it has; return whether it is done already."""
        message = await self._caller.send(SANITIZE, NOTHING, port=self._port, ld=ld)
        return message.return_code == ReturnCode.SUCCESS

    async def ld_status(self, ld: int) -> BackgroundStatus:
        """Return how far an LD is with its last background operation."""
        return await self._caller.call(BACKGROUND_STATUS, NOTHING, port=self._port, ld=ld)

    async def regions(self, host: int) -> Regions:
        """Return the regions of one host."""
        request = RegionQuery(host, _REGIONS_MAX, 0)
        return await self._caller.call(GET_REGIONS, request, port=self._port)

    async def extents(self, host: int) -> tuple[Extent, ...]:
        """Return all extents of one host, of one moment."""
        for _ in range(_WALKS):
            first = await self._extents(host, 0)
            if first.total > _EXTENTS_MAX:
                raise BadAnswer(
                    f"{self._caller.link.name}: port {self._port} tells of {first.total} extents"
                )
            found, piece = list(first.extents), first
            while len(found) < first.total and piece.extents:
                piece = await self._extents(host, len(found))
                if piece.generation != first.generation:
                    break
                found += piece.extents
            else:
                if len(found) >= first.total:
                    return tuple(found[: first.total])
        raise BadAnswer(
            f"{self._caller.link.name}: the extents of port {self._port} never stand still"
        )

    async def _extents(self, host: int, start: int) -> ExtentList:
        request = ExtentQuery(host, _EXTENTS_AT_ONCE, start)
        return await self._caller.call(GET_EXTENTS, request, port=self._port)

    async def add_capacity(self, request: AddCapacity) -> None:
        """Offer capacity to a host; that it takes it is told by an event, and seen in extents."""
        await self._caller.send(ADD_CAPACITY, request, port=self._port)

    async def release_capacity(self, request: ReleaseCapacity) -> None:
        """Ask a host for capacity, or take it; that it is free is told by an event."""
        await self._caller.send(RELEASE_CAPACITY, request, port=self._port)
