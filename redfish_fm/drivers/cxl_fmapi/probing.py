"""Questions that a switch or device need not know: what is not there is asked for once.

Some switches say nothing at all to what they do not know, and everything else waits meanwhile. So
such questions get a short time; silence counts only if the switch answers right after it and never
answered the question, and counts for every device behind it. Forgotten when another switch answers.
"""

import logging
from typing import TypeVar

from redfish_fm.drivers.base import DriverRejected, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.caller import REMEMBERED_S, Caller
from redfish_fm.drivers.cxl_fmapi.command import Command
from redfish_fm.drivers.cxl_fmapi.commands import name_of
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer

log = logging.getLogger(__name__)

Q = TypeVar("Q")
R = TypeVar("R")

PROBE_S = 0.5
"""How long such a question may take; switches that were measured need 0.2 to 40 ms."""

_QUESTIONS = 2
"""One answer may get lost."""


class Probes:
    """What one switch was found not to answer."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._silent: dict[int, float] = {}
        self._answered: set[tuple[int, int | None]] = set()

    def forget(self) -> None:
        """Ask for everything again: it is another switch."""
        self._silent.clear()
        self._answered.clear()

    @property
    def silent(self) -> tuple[str, ...]:
        """Return the names of commands that the switch says nothing to."""
        return tuple(name_of(opcode) for opcode in sorted(self._silent))

    def is_silent(self, opcode: int) -> bool:
        """Return whether the switch is known to say nothing to a command."""
        return self._silent.get(opcode, 0.0) > self._caller.clock.now_s()

    async def ask(
        self,
        command: Command[Q, R],
        request: Q,
        port: int | None = None,
        ld: int | None = None,
    ) -> R | None:
        """Return the answer, None where the command does not exist or is refused.

        Raises DriverUnavailable when the switch does not answer other questions either.
        """
        caller = self._caller
        now_s = caller.clock.now_s()
        answered = (command.opcode, port) in self._answered
        if self.is_silent(command.opcode) and not answered:
            return None
        silence: NoAnswer | None = None
        for _ in range(_QUESTIONS):
            until_s = caller.clock.now_s() + PROBE_S
            try:
                answer = await caller.call(command, request, port=port, ld=ld, deadline_s=until_s)
            except NoAnswer as error:
                silence = error
                await caller.barrier()
            except (DriverUnsupported, DriverRejected) as error:
                log.debug("%s: left out: %s", caller.link.name, error)
                return None
            else:
                self._answered.add((command.opcode, port))
                return answer
        if answered and silence is not None:
            raise silence
        log.debug("%s says nothing to %s", caller.link.name, command)
        self._silent[command.opcode] = now_s + REMEMBERED_S
        return None
