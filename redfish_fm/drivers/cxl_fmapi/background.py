"""Background operations of one switch: one at a time, followed to their end.

The status tells only an opcode, so two binds can not be told apart by it: what an operation has
done is known after a look at what it was to change (CXL FM API, Background Operation Status).
"""

import asyncio
import logging
from typing import Any, TypeVar

from redfish_fm.drivers.base import (
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
)
from redfish_fm.drivers.cxl_fmapi import refusals
from redfish_fm.drivers.cxl_fmapi.caller import Caller
from redfish_fm.drivers.cxl_fmapi.command import NOTHING, Command
from redfish_fm.drivers.cxl_fmapi.commands import name_of
from redfish_fm.drivers.cxl_fmapi.generic_commands import (
    ABORT,
    BACKGROUND_STATUS,
    BackgroundStatus,
)
from redfish_fm.drivers.cxl_fmapi.numbers import ReturnCode
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer

log = logging.getLogger(__name__)

Q = TypeVar("Q")

_DONE_PERCENT = 100
_IDLE_LOOKS = 3
"""So many looks in a row that show no operation at all mean that ours is forgotten."""


class Background:
    """The one operation that a switch carries out at a time."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._turn = asyncio.Lock()

    async def run(
        self, command: Command[Q, Any], request: Q, deadline_s: float, changes: int
    ) -> None:
        """Carry out a command to its end, at the switch that was there at so many `changes`.

        Whether it is still there at the end is for the caller to see: a status has no name.
        Raises Refused with the code of the end, and DriverUnavailable where the end is not told.
        """
        await self._wait_turn(command, deadline_s)
        try:
            message = await self._caller.send(
                command, request, deadline_s=deadline_s, changes=changes
            )
            if message.return_code == ReturnCode.BACKGROUND_STARTED:
                await self._follow(command, deadline_s)
        finally:
            self._turn.release()

    async def status(self, deadline_s: float | None = None) -> BackgroundStatus:
        """Return how far the switch is with its last operation."""
        return await self._caller.call(BACKGROUND_STATUS, NOTHING, deadline_s=deadline_s)

    async def _wait_turn(self, command: Command[Any, Any], deadline_s: float) -> None:
        left_s = max(0.0, deadline_s - self._caller.clock.now_s())
        try:
            async with asyncio.timeout(left_s):
                await self._turn.acquire()
        except TimeoutError as error:
            raise DriverNotSent(f"{command} waited for its turn until its deadline") from error

    async def _follow(self, command: Command[Any, Any], deadline_s: float) -> None:
        clock, policy = self._caller.clock, self._caller.policy
        name, idle, attempt = self._caller.link.name, 0, 0
        while clock.now_s() < deadline_s:
            await clock.sleep(min(policy.wait_s(attempt), deadline_s - clock.now_s()))
            attempt += 1
            if clock.now_s() >= deadline_s:
                break
            status = await self._look(command, deadline_s)
            if status is None:
                continue
            # One known switch shows opcode 0 and "running" while it has nothing to do.
            idle = idle + 1 if status.opcode == 0 else 0
            if idle >= _IDLE_LOOKS:
                raise DriverUnavailable(f"{name} knows nothing of {command} any more")
            if status.opcode not in (0, command.opcode):
                raise DriverUnavailable(
                    f"{name} tells of {name_of(status.opcode)} instead of {command}"
                )
            if status.opcode and not status.running and status.percent >= _DONE_PERCENT:
                refusals.check(command.opcode, status.return_code)
                return
        raise DriverUnavailable(f"{name} was not done with {command} by its deadline")

    async def _look(self, command: Command[Any, Any], deadline_s: float) -> BackgroundStatus | None:
        """Return the status, None where this look was not answered.

        The command is sent by now: that a look is not must not be taken for it.
        """
        try:
            return await self.status(deadline_s)
        except NoAnswer:
            return None
        except DriverNotSent as error:
            raise DriverUnavailable(f"the end of {command} was not seen: {error}") from error
        except DriverUnsupported as error:
            raise DriverUnavailable(
                f"{self._caller.link.name} does not tell how {command} ends"
            ) from error

    async def abort(self) -> None:
        """Ask the switch to give up what it carries out; whether it does, its status tells."""
        name = self._caller.link.name
        try:
            await self._caller.change(ABORT, NOTHING)
        except (NoAnswer, DriverRejected, DriverUnsupported) as error:
            log.info("%s does not give up what it never ends: %s", name, error)
        else:
            log.warning("%s was told to give up what it did not end", name)
