"""One CXL switch, with the commands that a driver needs, typed.

Binding and unbinding are followed to their end and looked at: what returns without an error has
been seen. What raises DriverUnavailable may have happened, or may yet. Deadlines are on the
service clock; None means the policy's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import DriverRejected, DriverUnavailable, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.background import Background
from redfish_fm.drivers.cxl_fmapi.caller import Caller, CallPolicy
from redfish_fm.drivers.cxl_fmapi.channel import Channel
from redfish_fm.drivers.cxl_fmapi.command import NOTHING, Command
from redfish_fm.drivers.cxl_fmapi.device import DeviceClient
from redfish_fm.drivers.cxl_fmapi.events import EventRecord
from redfish_fm.drivers.cxl_fmapi.generic_commands import (
    CLEAR_EVENTS,
    GET_EVENTS,
    SET_EVENT_MASK,
    EventHandles,
    EventMask,
    LogChoice,
)
from redfish_fm.drivers.cxl_fmapi.identify import Identity
from redfish_fm.drivers.cxl_fmapi.numbers import (
    BindingStatus,
    ConfigurationState,
    EventLog,
    PortOperation,
    ReturnCode,
    UnbindOption,
    VcsState,
)
from redfish_fm.drivers.cxl_fmapi.refusals import Refused
from redfish_fm.drivers.cxl_fmapi.switch_commands import (
    BIND,
    CONTROL_PORT,
    GET_PORTS,
    GET_VCSS,
    IDENTIFY_SWITCH,
    UNBIND,
    Bind,
    PortControl,
    PortIds,
    PortState,
    SwitchIdentity,
    Unbind,
    VcsInfo,
    VcsQuery,
    VppbState,
)

Q = TypeVar("Q")

PORTS_AT_ONCE = 250
"""So many port blocks fit the smallest frame there is (4095 bytes)."""

VCSS_AT_ONCE = 7
"""Known switches tell of no more in one answer."""

_VPPB_LIMIT = 255
_PORT_BYTES, _VPPB_BYTES = 16, 4
_ANSWER_HEAD = 20
"""Frame, CCI header, and what stands before the first block of an answer."""

_ANSWER_BYTES = 4095
_EVENT_ROUNDS = 64
"""A log that never runs dry is left alone after so many rounds, until the next time."""

_Refusal = Refused | DriverUnsupported
_BOUND = frozenset(
    {BindingStatus.BOUND_PHYSICAL_PORT, BindingStatus.BOUND_LD, BindingStatus.BOUND_PID}
)


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Records that were read and cleared; `overflow` when the switch had to drop some."""

    records: tuple[EventRecord, ...]
    overflow: bool


class SwitchClient:
    """One switch."""

    def __init__(self, link: Channel, clock: Clock, policy: CallPolicy | None = None) -> None:
        self.caller = Caller(link, clock, policy)
        self.background = Background(self.caller)

    async def identify(self) -> Identity:
        """Return who the switch is. Raises DriverUnavailable when it does not answer."""
        return await self.caller.introduce()

    async def switch(self) -> SwitchIdentity:
        """Return the size of the switch."""
        return await self.caller.call(IDENTIFY_SWITCH, NOTHING)

    async def physical_ports(self, ports: Sequence[int]) -> dict[int, PortState]:
        """Return the state of those of the ports that the switch knows.

        Give all ports from 0 where all are wanted: it is then one command, and right everywhere.
        """
        identity = await self.caller.introduce()
        wanted = list(dict.fromkeys(ports))
        whole = self.caller.profile.all_ports and wanted
        asked = list(range(max(wanted) + 1)) if whole else wanted
        room = PORTS_AT_ONCE if whole else _room(identity) // _PORT_BYTES
        found: dict[int, PortState] = {}
        for some in _pieces(asked, max(1, min(PORTS_AT_ONCE, room))):
            found |= await self._ports(tuple(some))
        return {port: found[port] for port in wanted if port in found}

    async def _ports(self, ports: tuple[int, ...]) -> dict[int, PortState]:
        """Ask for some ports; where the whole list is refused, for each by itself."""
        try:
            states = (await self.caller.call(GET_PORTS, PortIds(ports))).ports
        except Refused as error:
            if error.code != ReturnCode.INVALID_INPUT:
                raise
            found: dict[int, PortState] = {}
            for each in ports if len(ports) > 1 else ():
                found |= await self._ports((each,))
            return found
        return {
            state.port_id: state
            for state in states
            if state.configuration_state != ConfigurationState.INVALID_PORT
        }

    async def virtual_switches(
        self, vcss: Iterable[int], vppb_count: int = 0, deadline_s: float | None = None
    ) -> dict[int, VcsInfo]:
        """Return those of the virtual switches that there are, with all their vPPBs.

        `vppb_count`: of the whole switch, as far as known; so much fits an answer or it is split.
        """
        identity = await self.caller.introduce()
        room = _room(identity) - _VPPB_BYTES * (VCSS_AT_ONCE + vppb_count)
        found: dict[int, VcsInfo] = {}
        for some in _pieces(list(dict.fromkeys(vcss)), VCSS_AT_ONCE if room >= 0 else 1):
            found |= await self._vcss(tuple(some), deadline_s)
        return found

    async def _vcss(self, vcss: tuple[int, ...], deadline_s: float | None) -> dict[int, VcsInfo]:
        """Ask for some virtual switches; where all are refused, for each by itself."""
        query = VcsQuery(0, _VPPB_LIMIT, vcss)
        try:
            infos = await self.caller.call(GET_VCSS, query, deadline_s=deadline_s)
        except Refused as error:
            if error.code != ReturnCode.INVALID_INPUT:
                raise
            found: dict[int, VcsInfo] = {}
            for each in vcss if len(vcss) > 1 else ():
                found |= await self._vcss((each,), deadline_s)
            return found
        return {
            info.vcs_id: info
            for info in infos
            if info.vcs_id in vcss and info.state != VcsState.INVALID_VCS
        }

    async def vppb(self, vcs: int, vppb: int, deadline_s: float | None = None) -> VppbState:
        """Return one vPPB. Raises DriverRejected when there is none."""
        info = (await self.virtual_switches((vcs,), deadline_s=deadline_s)).get(vcs)
        if info is None or vppb >= len(info.vppbs):
            raise DriverRejected(f"{self.caller.link.name} has no vPPB {vppb} in VCS {vcs}")
        return info.vppbs[vppb]

    async def bind(
        self, vcs: int, vppb: int, port: int, ld: int | None, deadline_s: float | None = None
    ) -> VppbState:
        """Bind a port, or one LD of it, and return the vPPB as it is seen bound."""
        until_s = self.caller.deadline(deadline_s)
        profile = await self.caller.prepare(BIND)
        changes = self.caller.changes
        ld_id = profile.ld_of_port if ld is None else ld
        refusal = await self._refusal(BIND, Bind(vcs, vppb, port, ld_id), until_s, changes)
        seen = await self._outcome(vcs, vppb, until_s, refusal, changes)
        if seen.status in _BOUND and seen.port_id == port and ld in (None, seen.ld_id):
            return seen
        raise refusal or DriverUnavailable(
            f"{self.caller.link.name} says yes to a bind of vPPB {vppb} and shows {seen}"
        )

    async def unbind(
        self,
        vcs: int,
        vppb: int,
        option: UnbindOption = UnbindOption.MANAGED_HOT_REMOVE,
        deadline_s: float | None = None,
    ) -> VppbState:
        """Unbind a vPPB and return it as it is seen unbound."""
        until_s = self.caller.deadline(deadline_s)
        await self.caller.prepare(UNBIND)
        changes = self.caller.changes
        refusal = await self._refusal(UNBIND, Unbind(vcs, vppb, option), until_s, changes)
        seen = await self._outcome(vcs, vppb, until_s, refusal, changes)
        if seen.status == BindingStatus.UNBOUND:
            return seen
        raise refusal or DriverUnavailable(
            f"{self.caller.link.name} says yes to an unbind of vPPB {vppb} and shows {seen}"
        )

    async def _refusal(
        self, command: Command[Q, Any], request: Q, until_s: float, changes: int
    ) -> _Refusal | None:
        """Carry out a command; return its refusal, for it may be that of an operation before."""
        try:
            await self.background.run(command, request, until_s, changes)
        except (Refused, DriverUnsupported) as refusal:
            return refusal
        return None

    async def _outcome(
        self, vcs: int, vppb: int, until_s: float, refusal: _Refusal | None, changes: int
    ) -> VppbState:
        """Return a vPPB after a command that was sent; what can not be seen is unknown.

        A look that fails never says that the command was not sent, or was refused.
        """
        try:
            seen = await self._settled(vcs, vppb, until_s)
        except DriverUnavailable as error:
            raise DriverUnavailable(f"the outcome was not seen: {error}") from error
        except (DriverRejected, DriverUnsupported) as error:
            raise refusal or DriverUnavailable(f"the outcome was not seen: {error}") from error
        if self.caller.changes != changes:
            raise DriverUnavailable(f"another switch answers at {self.caller.link.name} now")
        return seen

    async def _settled(self, vcs: int, vppb: int, until_s: float) -> VppbState:
        """Return a vPPB once no operation is in progress on it."""
        clock, policy, attempt = self.caller.clock, self.caller.policy, 0
        while True:
            seen = await self.vppb(vcs, vppb, until_s)
            if seen.status != BindingStatus.IN_PROGRESS:
                return seen
            if clock.now_s() + policy.wait_s(attempt) >= until_s:
                raise DriverUnavailable(
                    f"{self.caller.link.name}: vPPB {vppb} is still being bound or unbound"
                )
            await clock.sleep(policy.wait_s(attempt))
            attempt += 1

    async def control_port(
        self, port: int, operation: PortOperation, deadline_s: float | None = None
    ) -> None:
        """Hold, release or reset the device at a port; at least 100 ms between hold and release."""
        request = PortControl(port, operation)
        await self.caller.change(CONTROL_PORT, request, deadline_s=deadline_s)

    def device(self, port: int) -> DeviceClient:
        """Return the device behind a port."""
        return DeviceClient(self.caller, port)

    async def subscribe(self, logs: Iterable[EventLog]) -> frozenset[int]:
        """Ask to be told of new records; return the logs of which the switch will tell."""
        mask = EventMask(frozenset(int(log) for log in logs))
        return (await self.caller.change(SET_EVENT_MASK, mask)).logs

    async def events(self, log: EventLog) -> EventBatch:
        """Return what a log has, and clear it. A record may come twice; it is then the same."""
        records: dict[int, EventRecord] = {}
        overflow = False
        for _ in range(_EVENT_ROUNDS):
            found = await self.caller.call(GET_EVENTS, LogChoice(log))
            overflow |= found.overflow
            records |= {each.handle: each for each in found.records}
            if found.records:
                handles = tuple(each.handle for each in found.records[:255])
                await self._clear(EventHandles(log, False, handles))
            if not found.more:
                break
        return EventBatch(tuple(records.values()), overflow)

    async def _clear(self, handles: EventHandles) -> None:
        try:
            await self.caller.change(CLEAR_EVENTS, handles)
        except Refused as error:
            # Another manager was faster.
            if error.code != ReturnCode.INVALID_HANDLE:
                raise


def _room(identity: Identity) -> int:
    """Return how many bytes of payload an answer may have."""
    said = identity.message_bytes_max or _ANSWER_BYTES
    return min(_ANSWER_BYTES, said) - _ANSWER_HEAD


def _pieces(some: list[int], most: int) -> list[list[int]]:
    return [some[at : at + most] for at in range(0, len(some), most)]
