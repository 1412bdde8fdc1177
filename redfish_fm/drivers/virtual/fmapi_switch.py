"""What runs in a simulated CXL switch that is reached over the FM API: its firmware's state.

Knows the hardware and the numbers that ports, virtual switches and vPPBs have on the wire; knows
nothing of bytes on connections. What is bound, allocated and trained is the hardware's alone: a
command over the wire is the same that the in-process driver gives, and either sees the other's.
All managers share one of these. Operations take time of the fabric clock.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual import fmapi_events as events
from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.events import Event
from redfish_fm.drivers.virtual.fmapi_ports import port_block
from redfish_fm.drivers.virtual.fmapi_profiles import WireProfile
from redfish_fm.drivers.virtual.fmapi_wire import Dialect
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.refusals import Refusal, Refused
from redfish_fm.errors import FmError
from redfish_fm.fabric.model import BindTarget, PortId, PortState, Step, VppbId

SUCCESS, STARTED, INVALID_INPUT, UNSUPPORTED, INTERNAL_ERROR = range(5)
BUSY, INVALID_HANDLE, ABORTED = 0x0006, 0x000E, 0x0012
OTHER_CCI, BAD_LENGTH, INVALID_LOG, EXHAUSTED = 0x0015, 0x0016, 0x0017, 0x001D
"""Return codes."""

NUMBER_MAX = 0xFF
"""Ports, virtual switches and vPPBs of each are counted in one byte."""

NO_LD = 0xFFFF
"""The LD id of Bind vPPB for what is no MLD."""

UNBOUND, IN_PROGRESS, BOUND_PORT, BOUND_LD = range(4)

_FULL = frozenset({Refusal.POOL_EXHAUSTED, Refusal.TOO_MANY_PARTS})
_SILENT = frozenset({Refusal.DEVICE_ABSENT, Refusal.NO_POWER})


class NotOnTheWire(FmError):
    """A switch can not be told in the numbers of the FM API."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command is answered with."""

    code: int = SUCCESS
    payload: bytes = b""
    background: bool = False


HANG_UP = Answer(-1)
"""No answer: the switch ends the connection."""


@dataclass(slots=True, eq=False)
class Manager:
    """One manager as the switch knows it: a connection. `tell` sends it a request of ours.

    `limit` is what it wants messages to have at most, `limit_max` what the connection can; as
    powers of two.
    """

    tell: Callable[[int, bytes], None]
    dialect: Dialect = Dialect.SPEC
    mask: int = 0
    limit: int = 13
    limit_max: int = 13
    interrupts: bytes = bytes(5)


@dataclass(slots=True)
class Operation:
    """The newest background operation; `code` is None while it runs."""

    opcode: int
    vppb: VppbId | None
    target: BindTarget | None
    started_s: float
    takes_s: float
    code: int | None = None
    task: "asyncio.Task[None] | None" = None

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.code is None


@dataclass(slots=True, eq=False)
class Hold:
    """PERST# of a port. `long_enough`: it may be released."""

    long_enough: bool = False


@dataclass(slots=True)
class _Seen:
    """What managers were last told of."""

    bindings: dict[VppbId, BindTarget] = field(default_factory=dict)
    ports: dict[PortId, PortState] = field(default_factory=dict)
    stale: bool = True


class FmapiSwitch:
    """One switch of powered hardware as managers reach it. Close it before the hardware.

    `operation_s` None: as usual for the profile.
    """

    def __init__(
        self,
        hardware: Hardware,
        switch: str,
        profile: WireProfile,
        clock: Clock,
        fabric_clock: Clock,
        *,
        operation_s: float | None = None,
    ) -> None:
        self.hardware = hardware
        self.simulated = hardware.switches[switch]
        self.facts = self.simulated.facts
        self.profile = profile
        self.clock = clock
        self.fabric_clock = fabric_clock
        self.operation_s = profile.operation_s if operation_s is None else operation_s
        self.ports = tuple(port.id.port for port in self.facts.ports)
        self.vcss = self.facts.virtual_switches
        self.port_numbers = {port: number for number, port in enumerate(self.ports)}
        self.operation: Operation | None = None
        self.stuck_next = False
        """Let the next operation never end by itself."""
        self.logs = events.EventLogs()
        self.managers: list[Manager] = []
        self.held: dict[int, Hold] = {}
        """Ports under PERST#."""
        self.frozen: set[VppbId] = set()
        self.qos_controls: dict[int, bytes] = {}
        self.tags: dict[BindTarget, bytes] = {}
        """Tags of dynamic capacity, by region."""
        self.sanitized: set[BindTarget] = set()
        """LDs that were told to sanitize themselves."""
        self.clock_offset_ns = 0
        self._seen = _Seen()
        self._running: set[asyncio.Task[None]] = set()
        self._on_cut: list[Callable[[], None]] = []
        self._generations: dict[object, tuple[object, int]] = {}
        self._vcs_numbers = {vcs.id: number for number, vcs in enumerate(self.vcss)}
        self._check_numbers()
        self._stop_listening = hardware.listen(self._on_event)
        self._take_note()

    @property
    def serial(self) -> int:
        """Return 64 bits made of the serial number."""
        return serial_of(self.facts.serial_number or self.facts.id)

    def reachable(self) -> bool:
        """Whether the management link of the switch is up."""
        return self.hardware.reachable(self.facts.id)

    def on_cut(self, told: Callable[[], None]) -> Callable[[], None]:
        """Call `told` whenever the management link goes down, until the returned is called."""
        self._on_cut.append(told)
        return lambda: self._on_cut.remove(told)

    def now_ns(self) -> int:
        """Return the switch's own time in ns since 1970."""
        return int(self.clock.wall_s() * 1e9) + self.clock_offset_ns

    async def close(self) -> None:
        """Stop what is under way. Safe to repeat."""
        self._stop_listening()
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    # -- numbers --------------------------------------------------------------------------------

    def port_id(self, number: int) -> PortId | None:
        """Return the port of that number."""
        return PortId(self.facts.id, self.ports[number]) if number < len(self.ports) else None

    def vppb_id(self, vcs: int, vppb: int) -> VppbId | None:
        """Return the vPPB of those numbers."""
        if vcs >= len(self.vcss) or vppb >= self.vcss[vcs].vppb_count:
            return None
        return VppbId(self.facts.id, self.vcss[vcs].id, vppb)

    def device(self, port: int) -> SimulatedDevice | None:
        """Return the device plugged in at a port, None where it does not answer."""
        found = self.simulated.device_at(self.ports[port]) if port < len(self.ports) else None
        return found if found is not None and found.answers else None

    def bind_target(self, port: int, ld: int) -> BindTarget | None:
        """Return what Bind vPPB means, None for no such port.

        Of an LD with dynamic capacity the hardware binds one region at a time: the first that is
        allocated and free, else the first that may be shared.
        """
        where = self.port_id(port)
        if where is None:
            return None
        if ld == NO_LD:
            return BindTarget(where.switch, where.port)
        device = self.simulated.device_at(where.port)
        mld = device is not None and bool(device.facts.lds)
        if ld == 0 and not mld and self.profile.device_as_ld:
            return BindTarget(where.switch, where.port)
        target = BindTarget(where.switch, where.port, ld)
        if device is None or not any(each.dynamic and each.id == ld for each in device.facts.lds):
            return target
        taken = set(self.simulated.bindings.values())
        regions = [r for r in self.hardware.part_states(where.switch)
                   if (r.port, r.ld) == (where.port, ld) and r.region is not None]  # fmt: skip
        regions.sort(key=lambda region: region.region or 0)
        free = [region for region in regions if region not in taken]
        shared = [region for region in regions if device.is_shareable(region)]
        return next(iter([*free, *shared]), target)

    def entry(self, vppb: VppbId) -> tuple[int, int, int]:
        """Return binding status, port and LD of a vPPB as the wire tells them."""
        operation, bound = self.operation, self.simulated.bindings.get(vppb)
        if operation is not None and operation.running and operation.vppb == vppb:
            target = operation.target or bound
            return (IN_PROGRESS, *self._named(target)) if target else (IN_PROGRESS, 0, self._no_ld)
        if bound is None:
            return UNBOUND, 0, self._no_ld
        as_ld = bound.ld is not None or self.profile.device_as_ld
        return (BOUND_LD if as_ld else BOUND_PORT, *self._named(bound))

    @property
    def _no_ld(self) -> int:
        return self.profile.no_ld

    def _named(self, target: BindTarget) -> tuple[int, int]:
        return self.port_numbers[target.port], self._no_ld if target.ld is None else target.ld

    def _check_numbers(self) -> None:
        most = max((vcs.vppb_count for vcs in self.vcss), default=0)
        counts = {"ports": len(self.ports), "virtual switches": len(self.vcss), "vPPBs": most}
        for what, count in counts.items():
            if count > NUMBER_MAX:
                text = f"{count} {what}; the FM API tells {NUMBER_MAX} at most"
                raise NotOnTheWire(f"switch {self.facts.id} has {text}")

    # -- commands -------------------------------------------------------------------------------

    def execute(self, step: Step) -> int:
        """Let the hardware do it now; returns the return code."""
        try:
            self.hardware.execute(step, "wire")
        except Refused as refused:
            return code_of(refused.refusal)
        finally:
            self.look()
        return SUCCESS

    def start(
        self,
        opcode: int,
        work: Callable[[], int],
        vppb: VppbId | None = None,
        target: BindTarget | None = None,
    ) -> Answer:
        """Begin `work`, which returns its code; one operation at a time."""
        if self.operation is not None and self.operation.running:
            return Answer(BUSY, background=self.profile.checks_late)
        now_s = self.fabric_clock.now_s()
        operation = Operation(opcode, vppb, target, now_s, self.operation_s)
        self.operation = operation
        stuck, self.stuck_next = self.stuck_next, False
        if stuck:
            operation.takes_s = float("inf")
        elif operation.takes_s <= 0:
            operation.code = SUCCESS
            operation.code = work()
        else:
            operation.task = self.spawn(self._work(operation, work))
        return Answer(STARTED, background=self.profile.shows_background)

    def hold(self, port: int) -> None:
        """Assert PERST# of a port; how long is a matter of the fabric clock, whatever its scale."""
        hold = self.held[port] = Hold(self.profile.perst_s <= 0)

        async def wait() -> None:
            await self.fabric_clock.sleep(self.profile.perst_s)
            hold.long_enough = True

        if not hold.long_enough:
            self.spawn(wait())

    def spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Let something go on in the switch, until it is closed."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def generation(self, what: object, now: object) -> int:
        """Return the number of a list's present content: another one after each change."""
        before, number = self._generations.get(what, (None, 0))
        if before != now:
            number += 1
            self._generations[what] = now, number
        return number

    def abort(self) -> bool:
        """End the operation that runs; False where none does."""
        operation = self.operation
        if operation is None or not operation.running:
            return False
        if operation.task is not None:
            operation.task.cancel()
        operation.code = ABORTED
        return True

    def percent(self, operation: Operation) -> int:
        """Return how far an operation is."""
        if not operation.running:
            return 100
        if self.profile.shown_percent is not None:
            return self.profile.shown_percent
        if operation.takes_s == float("inf"):
            return _STUCK_PERCENT
        gone_s = self.fabric_clock.now_s() - operation.started_s
        return min(99, int(100 * gone_s / operation.takes_s))

    async def _work(self, operation: Operation, work: Callable[[], int]) -> None:
        await self.fabric_clock.sleep(operation.takes_s)
        # It is over before what it did is told, else the vPPB would be told as in progress.
        operation.code = SUCCESS
        operation.code = work()
        self._tell(operation_ended=True)

    # -- changes --------------------------------------------------------------------------------

    def look(self) -> None:
        """Note what has changed, in the logs, and tell the managers."""
        self.hardware.advance()
        before = self._seen.bindings
        now = self.simulated.bindings
        logs: set[int] = set()
        if now != before:
            for vppb in [v for v in before | now if before.get(v) != now.get(v)]:
                logs.add(self._binding_changed(vppb))
            self._seen.bindings = dict(now)
        if self._seen.stale:
            logs |= self._ports_changed()
        if logs:
            self._tell(logs)

    def notify(self, opcode: int, payload: bytes) -> None:
        """Send a vendor's notice to all managers, where the profile does."""
        for manager in tuple(self.managers) if self.profile.vendor_notices else ():
            manager.tell(opcode, payload)

    def record_capacity(self, data: list[bytes], ld: int) -> None:
        """Keep records of dynamic capacity, and tell of them."""
        for each in data:
            self.logs.add(events.DYNAMIC, events.DYNAMIC_CAPACITY, each, self.now_ns(), ld)
        self._tell({events.DYNAMIC})

    def numbers(self, vppb: VppbId) -> tuple[int, int]:
        """Return the numbers of virtual switch and vPPB."""
        return self._vcs_numbers[vppb.vcs], vppb.vppb

    def _binding_changed(self, vppb: VppbId) -> int:
        vcs, number = self.numbers(vppb)
        entry = self.entry(vppb)
        data = events.virtual_switch_data(vcs, number, entry)
        self.logs.add(events.INFORMATIONAL, events.VIRTUAL_SWITCH, data, self.now_ns(), entry[2])
        self.notify(NOTICE_VPPB, bytes((vcs, number, entry[0])))
        return events.INFORMATIONAL

    def _ports_changed(self) -> set[int]:
        """Compare all ports with what was seen of them; returns the logs that have more now."""
        before, now = self._seen.ports, dict(self.simulated.port_states())
        self._seen.ports, self._seen.stale = now, False
        logs = set()
        for port, state in now.items():
            was = before.get(port, state)
            if was.device_present != state.device_present:
                logs.add(self._port_changed(port, state, events.SLOT_STATUS))
            if was.link_up != state.link_up:
                logs.add(self._port_changed(port, state, events.LINK_STATE))
        return logs

    def _port_changed(self, port: PortId, state: PortState, kind: int) -> int:
        number = self.port_numbers[port.port]
        bound = any(each.port == port.port for each in self.simulated.bindings.values())
        lost = bound and not state.link_up
        log = events.WARNING if lost else events.INFORMATIONAL
        block = self.port_block(number, self._seen.ports)
        data = events.physical_switch_data(number, kind, block, present=state.device_present)
        self.logs.add(log, events.PHYSICAL_SWITCH, data, self.now_ns())
        self.notify(NOTICE_PORT, bytes((number, state.link_up)))
        self.notify(NOTICE_DEVICES, b"")
        return log

    def engaged(self) -> list[VppbId]:
        """Return the vPPBs that are bound, or being bound or unbound."""
        found = list(self.simulated.bindings)
        operation = self.operation
        if operation is not None and operation.running and operation.vppb is not None:
            found.append(operation.vppb)
        return found

    def port_block(self, number: int, states: Mapping[PortId, PortState]) -> bytes:
        """Return the state of a port as 5101h tells it; `states` are those of all ports now."""
        port = self.facts.ports[number]
        operation = self.operation if self.operation and self.operation.running else None
        busy = operation is not None and operation.target is not None and (
            operation.target.port == port.id.port)  # fmt: skip
        return port_block(
            number,
            port,
            states[port.id],
            self.simulated.device_at(port.id.port),
            held=number in self.held,
            busy_opcode=operation.opcode if operation is not None and busy else None,
        )

    def _tell(self, logs: set[int] | None = None, *, operation_ended: bool = False) -> None:
        bits = sum(1 << log for log in logs or ()) | operation_ended << _OPERATION_BIT
        for manager in tuple(self.managers):
            if manager.mask & bits:
                manager.tell(EVENT_NOTIFICATION, (manager.mask & bits).to_bytes(2, "little"))

    def _take_note(self) -> None:
        self._seen = _Seen(
            dict(self.simulated.bindings), dict(self.simulated.port_states()), stale=False
        )

    def _on_event(self, switch: str, event: Event) -> None:
        """Hear from the hardware, amid whatever it does: look later."""
        if switch != self.facts.id or event is Event.TIMER:
            return
        self._seen.stale = True
        if event is Event.RESTARTED:
            self.abort()
            self.operation = None
            self.logs = events.EventLogs()
            self.held.clear()
            self.frozen.clear()
        if event in (Event.CUT, Event.RESTARTED):
            for told in tuple(self._on_cut):
                told()


NOTICE_PORT, NOTICE_VPPB, NOTICE_DEVICES = 0xC000, 0xC001, 0xC002
EVENT_NOTIFICATION = 0x0106
"""Requests of the switch's own: those of one vendor, and that of the standard."""

_OPERATION_BIT = 15
_STUCK_PERCENT = 50


def serial_of(text: str) -> int:
    """Return 64 bits made of a serial number."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def code_of(refusal: Refusal) -> int:
    """Return the return code for what the hardware says."""
    if refusal in _FULL:
        return EXHAUSTED
    return INTERNAL_ERROR if refusal in _SILENT else INVALID_INPUT
