"""Which commands to one switch may still run: what a look proves of the past. Pure; times given.

A command is open from when it was handed over until it is answered. One without an answer stays
open until the switch is seen to run nothing any more, and in addition either a later question was
answered on the same connection, for those keep order, or the connection is gone for `late_max_s`.
"""

import math
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class OpenCommand:
    """One command. `connection` is set once its outcome is unknown: the one it was sent on.

    `until_s`: when it has begun to run or never will; known once its connection is gone. `opcode`:
    what the switch carries out in its background, None for all else.
    """

    handed_s: float
    connection: int | None = None
    until_s: float | None = None
    opcode: int | None = None


class OpenCommands:
    """The open commands of one switch, whoever sent them: a manager before us may have, too."""

    def __init__(self, now_s: float, late_max_s: float) -> None:
        self._late_max_s = late_max_s
        self._open = [OpenCommand(-math.inf, -1, now_s + late_max_s)]

    def hand(self, now_s: float, opcode: int | None = None) -> OpenCommand:
        """Note a command that was handed to us; `opcode` of what runs in the background."""
        command = OpenCommand(now_s, opcode=opcode)
        self._open.append(command)
        return command

    def settle(self, command: OpenCommand) -> None:
        """Note that it was answered, or was never sent and never will be. Safe to repeat."""
        if command in self._open:
            self._open.remove(command)

    def lose(self, command: OpenCommand, connection: int) -> None:
        """Note that its outcome is unknown; nothing where it is settled."""
        if command in self._open:
            command.connection = connection

    def look_begins(self, now_s: float, connection: int | None) -> bool:
        """Note which connection there is now; return whether there is anything to prove."""
        for command in self._open:
            sent = command.connection
            if sent is not None and sent != connection and command.until_s is None:
                command.until_s = now_s + self._late_max_s
        return any(command.connection is not None for command in self._open)

    def prove(self, now_s: float, connection: int) -> None:
        """Note that a question was answered on `connection` while the switch ran nothing."""
        self._open = [
            command
            for command in self._open
            if command.connection is None
            or (command.until_s is None and command.connection != connection)
            or (command.until_s is not None and command.until_s > now_s)
        ]

    def lost_since_s(self, opcode: int) -> float | None:
        """Return when the oldest such command of unknown outcome was handed to us, if any was."""
        lost = (each for each in self._open if each.connection is not None)
        return min((each.handed_s for each in lost if each.opcode == opcode), default=None)

    def barrier_s(self, started_s: float) -> float:
        """Return what a look begun at `started_s` proves; ask before that look is sent.

        A little before `started_s` at the latest: what was handed over in the same instant, but
        after the look, must not count as proved.
        """
        oldest_s = min((each.handed_s for each in self._open), default=started_s)
        return math.nextafter(min(oldest_s, started_s), -math.inf)
