"""One step at one switch: look, act, and say how it ended.

A step that is so already changes nothing. What the switch would do though it must not (the same
target at two vPPBs) is refused here. Errors are those of drivers.base; a command that was sent
and has no known end raises DriverUnavailable and is never repeated.
"""

import asyncio
from collections.abc import Awaitable, Callable

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import (
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
)
from redfish_fm.drivers.cxl_fmapi.attached import AttachedSwitch
from redfish_fm.drivers.cxl_fmapi.capacity import MANAGED_REGION, in_region
from redfish_fm.drivers.cxl_fmapi.dcd_commands import AddCapacity, ReleaseCapacity
from redfish_fm.drivers.cxl_fmapi.discovering import (
    DeviceSurvey,
    Survey,
    control_of,
    fraction,
    is_sanitizing,
    raw_control,
    read_bandwidth,
    read_control,
)
from redfish_fm.drivers.cxl_fmapi.inventories import granularity_mib, sizes_mib
from redfish_fm.drivers.cxl_fmapi.mld_commands import LdAllocation
from redfish_fm.drivers.cxl_fmapi.numbers import (
    AddPolicy,
    DeviceType,
    RemovalPolicy,
    UnbindOption,
)
from redfish_fm.drivers.cxl_fmapi.observing import is_moving
from redfish_fm.drivers.cxl_fmapi.refusals import SwitchBusy
from redfish_fm.drivers.cxl_fmapi.switch_commands import BIND, UNBIND
from redfish_fm.fabric.model import (
    LD_FM_OWNED,
    Allocate,
    Attachment,
    Bind,
    BindTarget,
    Deallocate,
    Device,
    Media,
    PartKind,
    Sanitize,
    SetQos,
    Step,
    Unbind,
    VppbId,
)
from redfish_fm.fabric.qos_control import QosControl
from redfish_fm.fabric.targets import overlaps

BYTES_PER_MIB = 1 << 20
_IN_BACKGROUND: dict[type[Step], int] = {Bind: BIND.opcode, Unbind: UNBIND.opcode}
"""Opcodes of what a switch may still carry out when nobody waits for it any more."""

_ALL_PERCENT = 100
_NO_TAG = bytes(16)

Sending = Callable[[], Awaitable[object]]
"""Sends what changes something; once it was called, the outcome may be unknown."""


class Applying:
    """Carries steps out at one switch, one by one."""

    def __init__(self, switch: AttachedSwitch, clock: Clock) -> None:
        self._switch = switch
        self._clock = clock
        self._client = switch.client

    async def apply(self, step: Step, deadline_s: float) -> None:
        """Carry out one step, as drivers.base.Driver.apply says."""
        now_s = self._clock.now_s()
        if now_s >= deadline_s:
            raise DriverNotSent(f"{_what(step)} was not sent, its deadline has passed")
        commands = self._switch.commands
        command = commands.hand(now_s, _IN_BACKGROUND.get(type(step)))
        sending = _Sending()
        try:
            async with asyncio.timeout(deadline_s - now_s), self._switch.changing:
                await self._carry_out(step, deadline_s, sending)
        except TimeoutError as error:
            kind = DriverUnavailable if sending.begun else DriverNotSent
            raise kind(f"{_what(step)}: no end before the deadline") from error
        except (SwitchBusy, DriverNotSent, DriverRejected, DriverUnsupported):
            sending.begun = False
            raise
        else:
            sending.begun = False
        finally:
            if sending.begun:
                commands.lose(command, self._switch.channel.generation)
            else:
                commands.settle(command)
            if isinstance(step, Allocate | Deallocate | SetQos):
                self._switch.touch(_number(step.target.port))

    async def _carry_out(self, step: Step, deadline_s: float, sending: "_Sending") -> None:
        known = await self._switch.ready()
        match step:
            case Bind():
                await self._bind(step, known, deadline_s, sending)
            case Unbind():
                await self._unbind(step, known, deadline_s, sending)
            case Allocate():
                await self._allocate(step, known, deadline_s, sending)
            case Deallocate():
                await self._deallocate(step, known, deadline_s, sending)
            case Sanitize():
                await self._sanitize(step, known, sending)
            case SetQos():
                await self._set_qos(step, known, sending)

    # -- bindings ----------------------------------------------------------------------------

    async def _bind(
        self, step: Bind, known: Survey, deadline_s: float, sending: "_Sending"
    ) -> None:
        vppb, target = step.vppb, step.target
        vcs, port = _number(vppb.vcs), _number(target.port)
        if target.switch != self._switch.place.id or target.function is not None:
            raise DriverRejected(f"{_named(target)} is not of switch {self._switch.place.id}")
        if port not in known.ports or target.ld == LD_FM_OWNED:
            raise DriverRejected(f"switch {vppb.switch} can not bind {_named(target)}")
        bound = await self._bindings(known)
        if vppb not in bound:
            raise DriverRejected(f"switch {vppb.switch} has no vPPB {vppb.vppb} in VCS {vppb.vcs}")
        if bound[vppb] == target:
            return
        if bound[vppb] is not None:
            raise DriverRejected(f"vPPB {vppb.vppb} of VCS {vppb.vcs} is bound already")
        for other, taken in bound.items():
            if taken is not None and overlaps(taken, target):
                raise DriverRejected(
                    f"port {target.port} is bound to vPPB {other.vppb} of VCS {other.vcs}"
                )
        await self._check_part(target, known)
        if target.ld is not None:
            self._switch.contents.soiled((port, target.ld))
        async with sending:
            await self._client.bind(vcs, vppb.vppb, port, target.ld, deadline_s)

    async def _unbind(
        self, step: Unbind, known: Survey, deadline_s: float, sending: "_Sending"
    ) -> None:
        vppb = step.vppb
        bound = await self._bindings(known)
        if vppb not in bound:
            raise DriverRejected(f"switch {vppb.switch} has no vPPB {vppb.vppb} in VCS {vppb.vcs}")
        if bound[vppb] != step.target:
            return
        port = known.ports.get(_number(step.target.port))
        gone = port is None or port.device_type == DeviceType.NONE
        # A device that was pulled can not take leave any more.
        option = UnbindOption.SURPRISE_HOT_REMOVE if gone else UnbindOption.MANAGED_HOT_REMOVE
        async with sending:
            await self._client.unbind(_number(vppb.vcs), vppb.vppb, option, deadline_s)

    async def _bindings(self, known: Survey) -> dict[VppbId, BindTarget | None]:
        """Return what is bound now; waits for what is being changed by nobody of us."""
        while True:
            vcss = await self._client.virtual_switches(known.vcss, known.size.vppb_count)
            if not any(is_moving(each) for each in vcss.values()):
                return self._switch.bindings(vcss, running=False)
            await self._clock.sleep(self._client.caller.policy.wait_s(1))

    async def _check_part(self, target: BindTarget, known: Survey) -> None:
        """Raise DriverRejected for a part that nothing was allocated to."""
        device = self._switch.part.devices.get(_number(target.port))
        if device is None:
            if target.path:
                raise DriverRejected(f"nothing is known behind port {target.port}")
            return
        if (device.attachment is Attachment.MLD) != (target.ld is not None):
            raise DriverRejected(f"port {target.port} is no place for {_named(target)}")
        if target.ld is not None and target.ld not in {ld.id for ld in device.lds}:
            raise DriverRejected(f"the device at port {target.port} has no LD {target.ld}")
        if target.region not in (None, MANAGED_REGION):
            raise DriverRejected(f"port {target.port} is no place for {_named(target)}")
        if device.pool is not None and target not in await self._switch.parts():
            raise DriverRejected(f"nothing is allocated to {_named(target)}")

    # -- memory ------------------------------------------------------------------------------

    def _pool_of(self, target: BindTarget, known: Survey) -> tuple[int, Device]:
        port = _number(target.port)
        device = self._switch.part.devices.get(port)
        if device is None or port not in known.devices:
            raise DriverRejected(f"there is no device at port {target.port}")
        if device.pool is None:
            raise DriverRejected(f"the memory of the device at port {target.port} is not cut")
        whole = target.ld is not None and (target.region is None) == (
            device.pool.kind is PartKind.LD
        )
        managed = target.region in (None, MANAGED_REGION)
        if not (whole and managed) or target.ld not in {ld.id for ld in device.lds}:
            raise DriverRejected(f"the device at port {target.port} has no such part")
        return port, device

    async def _allocate(
        self, step: Allocate, known: Survey, deadline_s: float, sending: "_Sending"
    ) -> None:
        port, device = self._pool_of(step.target, known)
        pool = device.pool
        assert pool is not None and step.target.ld is not None  # noqa: S101 - see _pool_of
        if step.shareable:
            raise DriverRejected("memory that several hosts share is not given out by this switch")
        if step.size_mib <= 0 or step.size_mib % pool.granularity_mib:
            raise DriverRejected(f"{step.size_mib} MiB is no multiple of {pool.granularity_mib}")
        self._switch.touch(port)
        parts = await self._switch.parts()
        now = parts.get(step.target)
        if now is not None:
            if now.size_mib != step.size_mib:
                raise DriverRejected(f"it has {now.size_mib} MiB already")
            return
        used_mib = sum(
            each.size_mib for part, each in parts.items() if part.port == step.target.port
        )
        if used_mib + step.size_mib > pool.capacity_mib:
            raise DriverRejected(f"{pool.capacity_mib - used_mib} MiB are left")
        if pool.kind is PartKind.LD:
            # Whose memory it is that the LD gets now, nobody can say.
            self._switch.contents.soiled((port, step.target.ld))
            await self._resize(port, step.target.ld, step.size_mib, known, sending)
        else:
            await self._add(port, step, deadline_s, sending)

    async def _deallocate(
        self, step: Deallocate, known: Survey, deadline_s: float, sending: "_Sending"
    ) -> None:
        port, device = self._pool_of(step.target, known)
        assert device.pool is not None and step.target.ld is not None  # noqa: S101 - see _pool_of
        self._switch.touch(port)
        if step.target not in await self._switch.parts():
            return
        await self._check_unbound(step.target, known)
        if device.pool.kind is PartKind.LD:
            await self._resize(port, step.target.ld, 0, known, sending)
        else:
            await self._release(port, step.target, known, deadline_s, sending)

    async def _check_unbound(self, target: BindTarget, known: Survey) -> None:
        """Raise DriverRejected for what is bound, or a part of what is."""
        for vppb, taken in (await self._bindings(known)).items():
            if taken is not None and overlaps(taken, target):
                raise DriverRejected(f"it is bound to vPPB {vppb.vppb} of VCS {vppb.vcs}")

    async def _sanitize(self, step: Sanitize, known: Survey, sending: "_Sending") -> None:
        """Let an LD overwrite itself, unless it does or has. Looks tell when it is done."""
        target, contents = step.target, self._switch.contents
        port = _number(target.port)
        there = self._switch.part.devices.get(port)
        if there is None or port not in known.devices or not there.sanitizes:
            raise DriverUnsupported(f"what is behind port {target.port} can not overwrite itself")
        if target.ld not in {ld.id for ld in there.lds} or target.region is not None:
            raise DriverRejected(f"{_named(target)} is no LD")
        assert target.ld is not None  # noqa: S101 - it is one of those
        await self._check_unbound(target, known)
        place, device = (port, target.ld), self._client.device(port)
        if known.has_events:
            # What tells of the time before is not to soil what is overwritten from now on.
            await self._switch.records.catch_up()
        if contents.media(place) is Media.CLEAN:
            return
        # The answer to an earlier try may have been lost.
        done = False
        if not is_sanitizing(await device.ld_status(target.ld)):
            async with sending:
                done = await device.sanitize(target.ld)
        contents.begun(place)
        if done:
            contents.ended(place, clean=True)

    async def _resize(
        self, port: int, ld: int, size_mib: int, known: Survey, sending: "_Sending"
    ) -> None:
        """Set the memory of one LD; what the device made of it must be what was asked."""
        told = known.devices[port].allocations
        unit = None if told is None else granularity_mib(told)
        if unit is None:
            raise DriverRejected(f"the device at port {port} does not tell how it counts memory")
        device = self._client.device(port)
        async with sending:
            await device.set_ld_allocations(ld, [LdAllocation(size_mib // unit, 0)])
            now_mib = sizes_mib(await device.ld_allocations()).get(ld, 0)
            if now_mib == size_mib:
                return
            if size_mib:
                await device.set_ld_allocations(ld, [LdAllocation(0, 0)])
        raise DriverRejected(f"LD {ld} got {now_mib} MiB, not the {size_mib} MiB that were asked")

    async def _add(self, port: int, step: Allocate, deadline_s: float, sending: "_Sending") -> None:
        target = step.target
        assert target.ld is not None and target.region is not None  # noqa: S101 - see _pool_of
        request = AddCapacity(
            target.ld,
            AddPolicy.FREE,
            target.region,
            step.size_mib * BYTES_PER_MIB,
            _NO_TAG,
            (),
        )
        async with sending:
            await self._client.device(port).add_capacity(request)
            await self._until_part(port, target, step.size_mib, deadline_s)

    async def _release(
        self,
        port: int,
        target: BindTarget,
        known: Survey,
        deadline_s: float,
        sending: "_Sending",
    ) -> None:
        assert target.ld is not None and target.region is not None  # noqa: S101 - see _pool_of
        device = self._client.device(port)
        # What the device told since this step began is newer than what is known.
        now = (self._switch.survey or known).devices.get(port, DeviceSurvey())
        regions = now.regions.get(target.ld, ())
        if target.region >= len(regions):
            raise DriverRejected(f"the device at port {port} tells of no such region any more")
        region = regions[target.region]
        mine = tuple(each for each in await device.extents(target.ld) if in_region(region, each))
        request = ReleaseCapacity(
            target.ld,
            RemovalPolicy.PRESCRIPTIVE,
            False,
            False,
            sum(each.length for each in mine),
            _NO_TAG,
            mine,
        )
        async with sending:
            await device.release_capacity(request)
            await self._until_part(port, target, 0, deadline_s)

    async def _until_part(
        self, port: int, target: BindTarget, size_mib: int, deadline_s: float
    ) -> None:
        """Wait until the host has taken what it was offered, or given what it was asked for."""
        policy, attempt = self._client.caller.policy, 0
        while self._clock.now_s() < deadline_s:
            self._switch.touch(port)
            now = (await self._switch.parts()).get(target)
            if (0 if now is None else now.size_mib) == size_mib:
                return
            await self._clock.sleep(policy.wait_s(attempt))
            attempt += 1
        raise DriverUnavailable(f"the host has not answered about {_named(target)} by the deadline")

    # -- bandwidth ---------------------------------------------------------------------------

    async def _set_qos(self, step: SetQos, known: Survey, sending: "_Sending") -> None:
        port, target = _number(step.target.port), step.target
        there = self._switch.part.devices.get(port)
        if step.control is not None:
            await self._set_control(port, step.control, known, sending)
            return
        if there is None or port not in known.devices or not there.qos:
            raise DriverRejected(f"the bandwidth of what is at port {target.port} can not be set")
        if target.ld is None or target.ld >= len(there.lds) or target.region is not None:
            raise DriverRejected(f"{_named(target)} is no LD")
        device = self._client.device(port)
        now = await read_bandwidth(self._switch.probes, port, len(there.lds))
        if now is None or len(now) != len(there.lds):
            raise DriverRejected(f"the device at port {port} does not tell its bandwidth any more")
        others = sum(each.allocated for ld, each in enumerate(now) if ld != target.ld)
        if others + step.qos.allocated > _ALL_PERCENT:
            raise DriverRejected(f"{_ALL_PERCENT - others} % are left")
        before = now[target.ld]
        async with sending:
            await device.set_bandwidth_allocated(target.ld, [fraction(step.qos.allocated)])
            try:
                await device.set_bandwidth_limit(target.ld, [fraction(step.qos.limit)])
            except DriverRejected:
                await device.set_bandwidth_allocated(target.ld, [fraction(before.allocated)])
                raise

    async def _set_control(
        self, port: int, wanted: QosControl, known: Survey, sending: "_Sending"
    ) -> None:
        """Tell a device how to watch its load; it has to do just that."""
        there = self._switch.part.devices.get(port)
        told = None
        if there is not None and port in known.devices and there.telemetry is not None:
            told = await read_control(self._switch.probes, port)
        if told is None:
            raise DriverRejected(f"the device at port {port} takes no QoS Control")
        asked = wanted.over(told)
        if asked == told:
            return
        device = self._client.device(port)
        async with sending:
            now = control_of(await device.set_qos_control(raw_control(asked)))
            if now == asked:
                return
            await device.set_qos_control(raw_control(told))
        raise DriverRejected(f"the device at port {port} made {now} of {asked}")


class _Sending:
    """Whether something that changes anything may have been sent."""

    def __init__(self) -> None:
        self.begun = False

    async def __aenter__(self) -> None:
        self.begun = True

    async def __aexit__(self, *_: object) -> None:
        pass


def _what(step: Step) -> str:
    return f"{type(step).__name__.lower()} of {_named(step.target)}"


def _named(target: BindTarget) -> str:
    """Return what to call a target in a message to people."""
    inside = "".join(
        f"{name.upper() if name == 'ld' else name} {number} " for name, number in target.path
    )
    return f"{inside}{'behind ' if inside else ''}port {target.port}"


def _number(text: str) -> int:
    """Return the number of a port or VCS; -1, which none has, for an id of somebody else."""
    return int(text) if text.isascii() and text.isdigit() else -1
