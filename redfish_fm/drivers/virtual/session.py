"""What an ordered management link proves about commands whose answer never came.

Pure bookkeeping, one LinkSession per switch; times are given. Two things prove the past
(Observation.barrier_s): a later question answered on the same link, because the link keeps
order, or a link reset plus `late_max_s`, because no switch runs a command later than that.

    state of a command    proved settled by
    handed, not yet sent  being dropped by us, or by what follows once sent
    sent                  its answer
    done, answer lost     a question asked afterwards and answered on the same link
    link reset since      the reset's time + late_max_s
"""

import math
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Command:
    """One command that is not known to be settled. `handed_s`: when apply was called."""

    handed_s: float
    link: int | None = None
    """Number of the link it was sent on; None before it is sent."""
    done: bool = False
    """The switch has finished with it (or never got it), but its answer is lost."""
    settled_s: float | None = None
    """When it is settled, whatever happens; known once its link was reset."""


@dataclass(frozen=True, slots=True)
class Question:
    """One look at a switch under way. Made by `ask`, completed by `reply`."""

    started_s: float
    link: int
    settles: tuple[Command, ...]


@dataclass(slots=True)
class LinkSession:
    """The link to one switch; opening it counts as a reset, at `opened_s`.

    A manager that ran before us may have left commands in the switch, so nothing at all is
    proved until `opened_s + late_max_s`, unless the switch is known to have had no manager yet.
    """

    opened_s: float
    late_max_s: float
    had_manager: bool = True
    link: int = 0
    _open: list[Command] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.had_manager:
            before_us = Command(-math.inf, settled_s=self.opened_s + self.late_max_s)
            self._open.append(before_us)

    def hand(self, now_s: float) -> Command:
        """Note a command that was handed to us."""
        command = Command(now_s)
        self._open.append(command)
        return command

    def send(self, command: Command) -> None:
        """Note that its bytes are about to be written to the present link."""
        command.link = self.link

    def settle(self, command: Command) -> None:
        """Note that it was answered, or was never sent and never will be."""
        if command in self._open:
            self._open.remove(command)

    def lose(self, command: Command) -> None:
        """Note that the switch is done with it while its answer is lost."""
        command.done = True

    def reset(self, now_s: float, *, runs_late: bool = True) -> None:
        """Note a link reset: what was sent before is settled after `late_max_s`.

        With `runs_late` False the switch itself restarted and forgot what it had been sent.
        """
        self.link += 1
        for command in self._open:
            if command.link is not None and command.settled_s is None:
                command.settled_s = now_s + (self.late_max_s if runs_late else 0.0)

    def ask(self, now_s: float) -> Question:
        """Begin a look at the switch."""
        settles = tuple(c for c in self._open if c.done and c.link == self.link)
        return Question(now_s, self.link, settles)

    def reply(self, question: Question) -> None:
        """Note that the look was answered: it settles what went before on the same link."""
        if question.link == self.link:
            for command in question.settles:
                self.settle(command)

    def barrier_s(self, started_s: float) -> float:
        """Return what a look begun at `started_s` proves: every command until then is settled.

        Always a little before `started_s`: a command handed in the same instant but after the
        look must not count as proved.
        """
        self._open = [c for c in self._open if c.settled_s is None or c.settled_s > started_s]
        oldest_s = min((c.handed_s for c in self._open), default=started_s)
        return math.nextafter(min(oldest_s, started_s), -math.inf)
