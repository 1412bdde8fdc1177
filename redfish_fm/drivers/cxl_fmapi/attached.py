"""One switch as the driver has it: link, client, what it was surveyed as, and its open commands.

A task of its own surveys the switch whenever it is new or may have changed; looks take what that
task found. A look never tells of a switch that was not surveyed since its newest connection: what
was known of it may be of another one.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import DriverRejected, DriverUnavailable, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.caller import CallPolicy
from redfish_fm.drivers.cxl_fmapi.capacity import region_parts
from redfish_fm.drivers.cxl_fmapi.channel import Channel
from redfish_fm.drivers.cxl_fmapi.client import SwitchClient
from redfish_fm.drivers.cxl_fmapi.contents import Contents
from redfish_fm.drivers.cxl_fmapi.discovering import (
    DeviceSurvey,
    Survey,
    is_sanitizing,
    shape,
    survey,
    survey_device,
    was_sanitized,
)
from redfish_fm.drivers.cxl_fmapi.doubts import Doubts
from redfish_fm.drivers.cxl_fmapi.inventories import SwitchPart, part_of, sizes_mib, unknown
from redfish_fm.drivers.cxl_fmapi.links import Link
from redfish_fm.drivers.cxl_fmapi.mld_commands import SET_LD_ALLOCATIONS
from redfish_fm.drivers.cxl_fmapi.observing import Translator, is_moving
from redfish_fm.drivers.cxl_fmapi.open_commands import OpenCommands
from redfish_fm.drivers.cxl_fmapi.places import SwitchPlace
from redfish_fm.drivers.cxl_fmapi.probing import Probes
from redfish_fm.drivers.cxl_fmapi.records import Records
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer
from redfish_fm.drivers.cxl_fmapi.switch_commands import CONTROL_PORT, VcsInfo
from redfish_fm.drivers.cxl_fmapi.switch_commands import PortState as RawPort
from redfish_fm.fabric.model import (
    BindTarget,
    Device,
    Media,
    PartKind,
    PartState,
    PortId,
    PortState,
    Qos,
    VppbId,
)

log = logging.getLogger(__name__)

_NEVER = -1
"""A generation that no connection has."""


_Answers = tuple[dict[int, RawPort], dict[int, VcsInfo]]
"""What a switch says of its ports and virtual switches."""


@dataclass(frozen=True, slots=True)
class AttachedPolicy:
    """Times in seconds. `again_s`: between two surveys where nothing hints at a change.

    `retry_s`: before a survey that failed is made again; `look_s`: how long a look may take;
    `patience_s`: how long a connection that was lost is waited for; `abort_s`: how long a bind or
    unbind of ours may run before the switch is told to give it up, again and again.
    """

    again_s: float = 30.0
    retry_s: float = 0.5
    look_s: float = 3.0
    patience_s: float = 0.5
    abort_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Sight:
    """What one switch says now. `barrier_s` and `busy` as in Observation, for it alone."""

    barrier_s: float
    bindings: Mapping[VppbId, BindTarget | None]
    ports: Mapping[PortId, PortState]
    parts: Mapping[BindTarget, PartState]
    qos: Mapping[BindTarget, Qos]
    busy: frozenset[VppbId]


class AttachedSwitch:
    """One switch. `hint` is called when something there may be new. Run `run` as a task.

    `changing` is held while a step looks and acts: those of one switch go one by one. `pools`: of
    which devices it was decided whether the memory of their LDs is a pool; what is new is added.
    """

    def __init__(
        self,
        place: SwitchPlace,
        channel: Channel,
        clock: Clock,
        late_max_s: float,
        hint: Callable[[], None],
        call_policy: CallPolicy | None = None,
        policy: AttachedPolicy | None = None,
        pools: dict[str, bool] | None = None,
    ) -> None:
        self._pools = {} if pools is None else pools
        self.place = place
        self.channel = channel
        self.client = SwitchClient(channel, clock, call_policy)
        self.probes = Probes(self.client.caller)
        self.commands = OpenCommands(clock.now_s(), late_max_s)
        self.contents = Contents()
        self.records = Records(self.client, self.contents, self.touch)
        self.changing = asyncio.Lock()
        self.part: SwitchPart = unknown(place)
        self.survey: Survey | None = None
        self._clock = clock
        self._hint = hint
        self._policy = policy or AttachedPolicy()
        self._reason = ""
        self._aborted_s = -math.inf
        self._generation = _NEVER
        self._surveying = False
        self._surveyed = asyncio.Event()
        self._attempted = asyncio.Event()
        self._stale = asyncio.Event()
        self._translator = Translator(place.id)
        self._last: tuple[_Answers, Sight] | None = None
        self._asking = asyncio.Lock()
        self._dirty: set[int] = set()
        self._touched: set[int] = set()
        """Ports that were touched since the survey that is under way began."""
        self._doubts = Doubts()

    @property
    def connected(self) -> bool:
        """Return whether there is a connection; a file or socket always counts as one."""
        return not isinstance(self.channel, Link) or self.channel.connected

    @property
    def current(self) -> bool:
        """Return whether the survey is of the switch that is connected now."""
        return self.connected and self._surveyed.is_set() and self._generation == self._opened

    @property
    def _opened(self) -> int:
        return self.channel.generation

    def touch(self, port: int | None = None) -> None:
        """Ask a device anew before the next look; without a port everything, beside the looks."""
        if port is None:
            self._stale.set()
        else:
            self._dirty.add(port)
            self._touched.add(port)

    # -- the survey --------------------------------------------------------------------------

    async def run(self) -> None:
        """Survey the switch whenever that is due, until cancelled."""
        while True:
            if isinstance(self.channel, Link):
                await self.channel.wait_connected()
            self._stale.clear()
            self._surveying = True
            try:
                await self._survey_all()
            except (DriverUnavailable, DriverRejected, DriverUnsupported) as error:
                self._say(str(error))
                if self._generation != self._opened:
                    self._surveyed.clear()
                rest_s = self._policy.retry_s
            else:
                self._say("")
                rest_s = self._policy.again_s
            finally:
                self._surveying = False
                self._attempted.set()
            await self._until_due(rest_s)

    async def _until_due(self, rest_s: float) -> None:
        """Wait until somebody touches the switch, or for a while."""
        waiting = asyncio.ensure_future(self._stale.wait())
        resting = asyncio.ensure_future(self._clock.sleep(rest_s))
        try:
            await asyncio.wait({waiting, resting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            resting.cancel()

    async def _survey_all(self) -> None:
        generation = self._opened
        self._touched.clear()
        seen = await survey(self.client, self.probes, self._doubts.ports)
        if isinstance(self.channel, Link) and self._opened != generation:
            raise DriverUnavailable("the connection was made anew meanwhile")
        wanted = self.place.serial
        if wanted is not None and seen.identity.serial != wanted:
            self._surveyed.clear()
            raise DriverUnavailable(
                f"another switch answers there, with serial number {seen.identity.serial:016X}"
            )
        if self.survey is not None and self.survey.identity != seen.identity:
            log.warning(
                "another switch answers as %s: its serial number is %016X, it was %016X",
                self.place.id,
                seen.identity.serial,
                self.survey.identity.serial,
            )
            self.part, self.survey = unknown(self.place), None
            self._doubts = Doubts()
            self.probes.forget()
            self._touched.clear()
            seen = await survey(self.client, self.probes)
        believed, ports = self._doubts.believed, seen.ports
        devices = {
            port: believed(self.survey, port, ports[port], device)
            for port, device in seen.devices.items()
        }
        troubled = {port for port, device in seen.devices.items() if device.trouble}
        seen = replace(seen, devices=devices)
        # Of what was changed meanwhile the survey may tell how it was before, and so it does of
        # what was changed earlier in a device that can not be asked.
        self._dirty = self._touched | (self._dirty & troubled)
        self._take(seen)
        if self._generation != self._opened:
            # Nobody knows who was bound meanwhile.
            self.contents.forget()
        self._generation = self._opened
        self._surveyed.set()
        self._hint()

    def _take(self, seen: Survey) -> None:
        lacks = self.client.caller.lacks
        able = {port: not lacks(SET_LD_ALLOCATIONS.opcode, port) for port in seen.devices}
        before = None if self.survey is None else self.part
        known = self.part.devices
        resets = not lacks(CONTROL_PORT.opcode)
        pools = self._pools
        self.part = part_of(self.place, seen, before, able, resets_ports=resets, pools=pools)
        pools.update(self.part.pools)
        self.survey, self._last = seen, None
        self._translator.meet(self.part.devices)
        told = seen.devices.items()
        self._translator.loads({p: (each.control, each.backpressure_percent) for p, each in told})
        for port, device in known.items():
            if port not in self.part.devices or self.part.devices[port].id != device.id:
                self.contents.forget(port)

    def _say(self, trouble: str) -> None:
        """Log a change of mood once, not each time."""
        if trouble != self._reason:
            if trouble:
                log.warning("switch %s can not be discovered: %s", self.place.id, trouble)
            else:
                log.info("switch %s is discovered", self.place.id)
        self._reason = trouble

    async def ready(self) -> Survey:
        """Return the survey of the present connection. Raises DriverUnavailable without one."""
        await self._patience()
        if not self.connected:
            raise self._silent()
        if not self.current:
            self._surveyed.clear()
            self._attempted.clear()
            if not self._surveying:
                self._stale.set()
            try:
                async with asyncio.timeout(self._policy.look_s):
                    await self._attempted.wait()
            except TimeoutError as error:
                raise self._silent() from error
        if not self.current or self.survey is None:
            raise self._silent()
        return self.survey

    async def prove_there(self) -> None:
        """Return once the switch has answered a question. Raises DriverUnavailable."""
        await self.ready()
        await self.client.caller.barrier()

    async def _patience(self) -> None:
        """Wait a moment for a connection that was lost just now: most are back at once."""
        if isinstance(self.channel, Link) and not self.connected:
            left_s = self.channel.lost_s + self._policy.patience_s - self._clock.now_s()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, left_s)):
                    await self.channel.wait_connected()

    def _silent(self) -> DriverUnavailable:
        why = self._reason or "it is being discovered"
        if isinstance(self.channel, Link) and not self.channel.connected:
            why = self.channel.reason
        return DriverUnavailable(f"switch {self.place.id} does not answer: {why}")

    # -- the look ----------------------------------------------------------------------------

    async def look(self) -> Sight:
        """Ask what is so now. Raises DriverUnavailable where the switch does not tell the whole."""
        try:
            async with asyncio.timeout(self._policy.look_s):
                return await self._look()
        except TimeoutError as error:
            raise DriverUnavailable(f"switch {self.place.id} takes too long to tell") from error
        except (DriverRejected, DriverUnsupported) as error:
            raise DriverUnavailable(f"switch {self.place.id}: {error}") from error

    async def _look(self) -> Sight:
        known = await self.ready()
        running = await self._prove()
        barrier_s = self.commands.barrier_s(self._clock.now_s())
        ports, vcss = await self._ask(known)
        quiet = not (self._dirty or self.contents.changed or self.contents.running)
        if self._last is not None and (ports, vcss) == self._last[0] and quiet:
            # Almost every poll ends here.
            return replace(self._last[1], barrier_s=barrier_s)
        if shape(ports, vcss) != shape(known.ports, known.vcss):
            self._surveyed.clear()
            known = await self.ready()
            ports, vcss = await self._ask(known)
            if shape(ports, vcss) != shape(known.ports, known.vcss):
                raise DriverUnavailable(f"switch {self.place.id} changes while it is looked at")
        await self._ask_dirty()
        known = self.survey or known
        moving = any(is_moving(each) for each in vcss.values())
        if moving and not running:
            running = await self._running() is not None
        bindings = self._translator.bindings(vcss, running)
        busy = self._translator.uncertain(vcss) if moving and running else frozenset[VppbId]()
        if busy:
            # Whichever LD it is bound to, or was a moment ago, somebody may write into it.
            self.contents.forget()
        await self._ask_contents(bindings)
        sight = Sight(
            barrier_s,
            bindings,
            self._translator.ports(ports),
            self._parts(known),
            self._qos(known),
            busy,
        )
        if not moving and self.survey is known:
            self._last = (ports, vcss), sight
        return sight

    async def _ask(self, known: Survey) -> _Answers:
        ports = await self.client.physical_ports(range(known.size.port_count))
        return ports, await self.client.virtual_switches(known.vcss, known.size.vppb_count)

    async def _prove(self) -> bool:
        """Settle what can be; return whether the switch may still carry something out."""
        connection = self._opened
        if not self.commands.look_begins(self._clock.now_s(), connection):
            return self.changing.locked()
        identity = await self.client.caller.barrier()
        if (opcode := await self._running()) is not None:
            await self._end(opcode)
            return True
        if self.survey is not None and identity == self.survey.identity:
            self.commands.prove(self._clock.now_s(), connection)
        return self.changing.locked()

    async def _running(self) -> int | None:
        """Return the opcode of what the switch carries out now."""
        try:
            status = await self.client.background.status()
        except DriverUnsupported:
            return None
        # One known switch shows "running" with opcode 0 when it has nothing to do.
        return status.opcode if status.running and status.opcode else None

    async def _end(self, opcode: int) -> None:
        """Let the switch give up a command of ours that it should have ended long ago.

        While it runs nothing else is bound there, and nothing is known for certain.
        """
        now_s, since_s = self._clock.now_s(), self.commands.lost_since_s(opcode)
        if since_s is not None and now_s >= max(since_s, self._aborted_s) + self._policy.abort_s:
            self._aborted_s = now_s
            await self.client.background.abort()

    async def _ask_dirty(self) -> None:
        """Ask anew those devices whose memory or bandwidth may have changed."""
        async with self._asking:
            while self._dirty:
                port, before = self._dirty.pop(), self.survey
                if before is None or port not in before.devices:
                    continue
                try:
                    state = before.ports[port]
                    asked = survey_device(
                        self.client, self.probes, port, state, in_doubt=port in self._doubts.ports
                    )
                    device = await asked
                    if device.trouble:
                        raise DriverUnavailable(device.trouble)
                    device = self._doubts.believed(before, port, state, device)
                except BaseException:
                    self._dirty.add(port)
                    raise
                if self.survey is before:
                    self._take(replace(before, devices={**before.devices, port: device}))

    async def _ask_contents(self, bindings: Mapping[VppbId, BindTarget | None]) -> None:
        """Take note of who is bound, and of what has been overwritten by now."""
        for target in bindings.values():
            if target is not None and target.ld is not None:
                self.contents.soiled((int(target.port), target.ld))
        for port, ld in self.contents.running:
            try:
                status = await self.client.device(port).ld_status(ld)
            except NoAnswer as error:
                log.debug("LD %d at port %d does not tell how far it is: %s", ld, port, error)
                continue
            except (DriverRejected, DriverUnsupported) as error:
                log.debug("nothing is known of LD %d at port %d any more: %s", ld, port, error)
                self.contents.soiled((port, ld))
                continue
            if not is_sanitizing(status):
                self.contents.ended((port, ld), clean=was_sanitized(status))
        self.contents.looked()

    async def parts(self) -> dict[BindTarget, PartState]:
        """Return every allocated part, as it is now where its device was touched."""
        await self._ask_dirty()
        return {} if self.survey is None else self._parts(self.survey)

    def bindings(
        self, vcss: Mapping[int, VcsInfo], running: bool
    ) -> dict[VppbId, BindTarget | None]:
        """Return what these virtual switches have bound."""
        return self._translator.bindings(vcss, running)

    def _parts(self, known: Survey) -> dict[BindTarget, PartState]:
        """Return every allocated part."""
        found: dict[BindTarget, PartState] = {}
        for port, device in self.part.devices.items():
            told = known.devices.get(port)
            if told is None or (device.pool is None and not device.sanitizes):
                continue
            where = BindTarget(self.place.id, str(port))
            if device.pool is not None and device.pool.kind is PartKind.REGION:
                by_host = {
                    host: region_parts(told.regions[host], told.extents.get(host, ()))
                    for host in told.regions
                }
                found |= {
                    replace(where, ld=host, region=region): state
                    for host, parts in by_host.items()
                    for region, state in parts.items()
                }
            else:
                for ld, size_mib in _ld_sizes(told, device):
                    media = self.contents.media((port, ld)) if device.sanitizes else Media.CLEAN
                    found[replace(where, ld=ld)] = PartState(size_mib, media)
        return found

    def _qos(self, known: Survey) -> dict[BindTarget, Qos]:
        return {
            BindTarget(self.place.id, str(port), ld): qos
            for port, device in self.part.devices.items()
            if device.qos and port in known.devices
            for ld, qos in enumerate(known.devices[port].bandwidth or ())
        }


def _ld_sizes(told: DeviceSurvey, device: Device) -> list[tuple[int, int]]:
    """Return the LDs that have memory, with how much of it."""
    if told.allocations is None:
        return []
    ids = {ld.id for ld in device.lds}
    sizes = sizes_mib(told.allocations).items()
    return [(ld, size) for ld, size in sizes if size and ld in ids]
