"""Commands that a switch still runs after its management link was reset.

Bounded in service time, like the driver's `late_max_s`; kept, so that the next process finds them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.refusals import switch_of
from redfish_fm.drivers.virtual.state import LateCommand, VirtualState
from redfish_fm.fabric.model import Step


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A late command with its due time on the service clock."""

    due_s: float
    command: LateCommand


class LateCommands:
    """The commands of one fabric that will still run, in the order in which they will."""

    def __init__(self, state: VirtualState, clock: Clock, late_max_s: float) -> None:
        self._state = state
        self._clock = clock
        self._late_max_s = late_max_s
        self._waiting: list[_Waiting] = []

    def restore(self, kept: Iterable[LateCommand]) -> None:
        """Go on with what an earlier process left."""
        now_s, wall_s = self._clock.now_s(), self._clock.wall_s()
        for command in kept:
            # The wall clock may have been set meanwhile: the bound holds, whatever it says.
            delay_s = min(max(command.due_s - wall_s, 0.0), self._late_max_s)
            self._add(_Waiting(now_s + delay_s, command))

    def postpone(self, step: Step, delay_s: float) -> None:
        """Run a command `delay_s` from now, at most `late_max_s`."""
        if not 0 <= delay_s <= self._late_max_s:
            raise ValueError(f"a command runs late by 0 to {self._late_max_s} s, not {delay_s}")
        command = self._state.postpone(step, self._clock.wall_s() + delay_s)
        self._add(_Waiting(self._clock.now_s() + delay_s, command))

    def pop_due(self) -> LateCommand | None:
        """Take out the next command that is due now."""
        if self._waiting and self._waiting[0].due_s <= self._clock.now_s():
            return self._waiting.pop(0).command
        return None

    def forget(self, switch: str) -> None:
        """Drop what a switch had still to run: it has restarted."""
        self._waiting = [w for w in self._waiting if switch_of(w.command.step) != switch]
        self._state.forget_late(switch)

    def next_s(self) -> float | None:
        """Return when the next one runs (service clock), None if there is none."""
        return self._waiting[0].due_s if self._waiting else None

    def _add(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        self._waiting.sort(key=lambda w: (w.due_s, w.command.n))
