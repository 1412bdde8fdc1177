"""All simulated hosts of a topology and their BMCs, powered: they keep state and run on.

Knows the hardware of all fabrics, because the links of a host go with its power in each of them,
and one clock: what is physical takes time of the fabric clock. Knows nothing of deadlines and lost
answers: those are the driver's (`power`). What a host keeps stands in virtual.db with the rest.
Everything here happens synchronously.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.faults import Fault
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.tables import open_state
from redfish_fm.errors import FmError
from redfish_fm.fabric.power import HostState, PowerState, ResetType, is_coming

BOOT_S = 4.0
"""Usual time from power to a running system; real ones take minutes, which nobody waits for."""
SHUTDOWN_S = 2.0
"""Usual time in which a system shuts down when it is asked to."""
BMC_RESTART_S = 5.0
"""Usual time for which a BMC that restarts does not answer."""
_NEVER_S = float("inf")

Listener = Callable[[str], None]
"""Called with the id of a host that changed, or that will by itself; must not raise."""


class NotNow(FmError):
    """A BMC says no; the text is its reason."""


@dataclass(slots=True)
class _Machine:
    """One host. `until_s` (fabric clock) is when its state changes by itself, None never."""

    power: PowerState = PowerState.ON
    then_on: bool = False
    until_s: float | None = None
    boots: int = 0
    reset_s: float | None = None
    manager_reset_s: float | None = None

    @property
    def seen(self) -> HostState:
        return HostState(self.power, self.boots, self.reset_s, self.manager_reset_s)


class Machines:
    """The hosts that run as powered hardware does. Made once; drivers come and go.

    Those that are `off` are so unless something else was kept of them. `next_fault` has the fault
    that strikes the next command to a host, `hanging` the hosts that do not shut down when asked
    to. Raises StateError where the file at `state` can not be used.
    """

    def __init__(
        self,
        hosts: Iterable[str],
        hardware: Iterable[Hardware],
        clock: Clock,
        fabric_clock: Clock | None = None,
        state: Path | None = None,
        *,
        off: Iterable[str] = (),
        boot_s: float = BOOT_S,
        shutdown_s: float = SHUTDOWN_S,
        bmc_restart_s: float = BMC_RESTART_S,
    ) -> None:
        self._hosts = {host: _Machine() for host in dict.fromkeys(hosts)}
        self._hardware = tuple(hardware)
        self._clock = clock
        self._fabric_clock = fabric_clock or clock
        self._boot_s = boot_s
        self._shutdown_s = shutdown_s
        self._bmc_restart_s = bmc_restart_s
        self._silent: dict[str, float] = {}
        self._listeners: list[Listener] = []
        self.next_fault: dict[str, Fault] = {}
        self.hanging: set[str] = set()
        self._db = open_state(state)
        for host in off:
            self._hosts[host].power = PowerState.OFF
        self._restore()

    @property
    def hosts(self) -> Mapping[str, object]:
        """All hosts there are, by id."""
        return self._hosts

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every change until the returned function is called."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    # -- what a manager sees --------------------------------------------------------------------

    def reachable(self, host: str) -> bool:
        """Whether the BMC of a host answers."""
        self.advance()
        return host not in self._silent

    def states(self) -> dict[str, HostState]:
        """Return the true state of every host whose BMC answers."""
        self.advance()
        return {host: m.seen for host, m in self._hosts.items() if host not in self._silent}

    def state(self, host: str) -> HostState:
        """Return the true state of a host. Raises KeyError for an unknown one."""
        self.advance()
        return self._hosts[host].seen

    # -- commands -------------------------------------------------------------------------------

    def execute(self, host: str, asked: ResetType, cause: str = "command") -> None:
        """Begin to do it; what is so already changes nothing. Raises NotNow."""
        self.advance()
        machine = self._hosts[host]
        before = machine.power
        if before.changing and not asked.forced:
            if is_coming(asked, before):
                return
            raise NotNow(f"it is {before.value}")
        match asked:
            case ResetType.ON | ResetType.FORCE_ON if before is PowerState.OFF:
                self._start(host, machine)
            case ResetType.PUSH_POWER_BUTTON if before is PowerState.OFF:
                self._start(host, machine)
            case ResetType.FORCE_OFF if before.powered:
                self._off(host, machine)
            case ResetType.GRACEFUL_RESTART if before is PowerState.OFF:
                raise NotNow("it is Off: nothing is running that could be restarted gracefully")
            case ResetType.GRACEFUL_SHUTDOWN | ResetType.PUSH_POWER_BUTTON if before.powered:
                self._shut_down(host, machine, then_on=False)
            case ResetType.GRACEFUL_RESTART:
                self._shut_down(host, machine, then_on=True)
            case ResetType.FORCE_RESTART | ResetType.POWER_CYCLE:
                self._off(host, machine)
                self._start(host, machine)
            case _:
                return
        self._keep(host, machine, cause)

    def lose_power(self, host: str) -> None:
        """Take the mains away from a host for a moment: it is off, and stays so."""
        self.advance()
        machine = self._hosts[host]
        if machine.power.powered:
            self._off(host, machine)
            self._keep(host, machine, "outside")

    def restart_manager(self, host: str) -> None:
        """Restart the BMC of a host: it does not answer for a while."""
        self.advance()
        machine = self._hosts[host]
        machine.manager_reset_s = self._clock.wall_s()
        self._keep(host, machine, "command")
        if self._bmc_restart_s > 0:
            self.silence(host, self._bmc_restart_s)

    def silence(self, host: str, down_s: float = _NEVER_S) -> None:
        """Let the BMC of a host not answer for `down_s` seconds of the fabric clock."""
        self._silent[host] = self._fabric_clock.now_s() + down_s
        self._tell(host)

    def heal(self, host: str) -> None:
        """Let a BMC answer again."""
        if self._silent.pop(host, None) is not None:
            self._tell(host)

    # -- time -----------------------------------------------------------------------------------

    def advance(self) -> None:
        """Let happen what is due. Everything else here does so first; a watch does in time."""
        now_s = self._fabric_clock.now_s()
        for host in [host for host, until_s in self._silent.items() if until_s <= now_s]:
            self.heal(host)
        for host, machine in self._hosts.items():
            while machine.until_s is not None and machine.until_s <= now_s:
                due_s = machine.until_s
                if machine.power is PowerState.POWERING_ON:
                    machine.power, machine.until_s = PowerState.ON, None
                else:
                    again = machine.then_on
                    self._off(host, machine)
                    if again:
                        self._start(host, machine, due_s)
                self._keep(host, machine, "time")

    def next_s(self) -> float | None:
        """Return when something happens by itself next (fabric clock), None if nothing will."""
        times = [each.until_s for each in self._hosts.values() if each.until_s is not None]
        times += [until_s for until_s in self._silent.values() if until_s != _NEVER_S]
        return min(times, default=None)

    def close(self) -> None:
        """Close the file. Safe to repeat."""
        self._listeners.clear()
        self._db.close()

    # -- the rest -------------------------------------------------------------------------------

    def _start(self, host: str, machine: _Machine, at_s: float | None = None) -> None:
        machine.power, machine.then_on = PowerState.POWERING_ON, False
        machine.until_s = (self._fabric_clock.now_s() if at_s is None else at_s) + self._boot_s
        machine.boots += 1
        machine.reset_s = self._clock.wall_s()
        self._light(host, on=True)

    def _shut_down(self, host: str, machine: _Machine, *, then_on: bool) -> None:
        machine.power, machine.then_on = PowerState.POWERING_OFF, then_on
        hangs = host in self.hanging
        machine.until_s = None if hangs else self._fabric_clock.now_s() + self._shutdown_s

    def _off(self, host: str, machine: _Machine) -> None:
        machine.power, machine.then_on, machine.until_s = PowerState.OFF, False, None
        machine.reset_s = self._clock.wall_s()
        self._light(host, on=False)

    def _light(self, host: str, *, on: bool) -> None:
        for hardware in self._hardware:
            hardware.power_host(host, on)

    def _shift_s(self) -> float:
        """Return what leads from the fabric clock to 1970, now."""
        return self._clock.wall_s() - self._fabric_clock.now_s()

    def _restore(self) -> None:
        shift_s = self._shift_s()
        for host, power, then_on, until_s, boots, reset_s, manager_s in self._db.execute(
            "SELECT host, power, then_on, until_s, boots, reset_s, manager_reset_s FROM machine"
        ):
            # The topology may have lost this host since.
            if host in self._hosts:
                until = None if until_s is None else until_s - shift_s
                self._hosts[host] = _Machine(
                    PowerState(power), bool(then_on), until, boots, reset_s, manager_s
                )

        for host, machine in self._hosts.items():
            if not machine.power.powered:
                self._light(host, on=False)

    def _keep(self, host: str, machine: _Machine, cause: str) -> None:
        """Keep the state of a host, journal it, and tell whoever listens."""
        until_s = None if machine.until_s is None else machine.until_s + self._shift_s()
        with self._db as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(
                "INSERT OR REPLACE INTO machine VALUES (?, ?, ?, ?, ?, ?, ?)",
                (host, machine.power.value, machine.then_on, until_s, machine.boots,
                 machine.reset_s, machine.manager_reset_s),
            )  # fmt: skip
            db.execute(
                "INSERT INTO action (fabric, at_s, what, cause, note) VALUES ('', ?, ?, ?, ?)",
                (self._clock.wall_s(), "power", cause, f"{host}: {machine.power.value}"),
            )
        self._tell(host)

    def _tell(self, host: str) -> None:
        for listener in tuple(self._listeners):
            listener(host)
