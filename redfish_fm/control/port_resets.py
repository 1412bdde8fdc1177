"""Resets of switch ports of one fabric: each command is sent once, and its end is recorded.

A reset is a command, not a state that is wanted, so no look proves it done and nothing repeats it:
it ends when the switch has answered, and without an answer it ends as one of unknown outcome. The
fabric's loop calls this; ends are recorded after a look, so whoever is told sees what it led to.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.control.operations import Operations
from redfish_fm.drivers.base import (
    Driver,
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
    PortControl,
)
from redfish_fm.fabric.model import Observation
from redfish_fm.mapping.operations import Operation
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _End:
    """How a command ended and when; `told` is empty where the switch has accepted it."""

    at_s: float
    told: tuple[Message, ...] = ()


class PortResets:
    """The commands of one fabric. `finished` is called after each, whatever became of it."""

    def __init__(
        self,
        driver: Driver,
        operations: Operations,
        clock: Clock,
        timeout_s: float,
        finished: Callable[[], None],
    ) -> None:
        self._driver = driver
        self._operations = operations
        self._clock = clock
        self._timeout_s = timeout_s
        self._finished = finished
        self._new: dict[str, Operation] = {}
        self._sending: set[str] = set()
        self._ends: dict[str, _End] = {}

    def take_up(self, operation: Operation) -> None:
        """Note a command that was committed just now: it is to be sent."""
        self._new[operation.id] = operation

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Send what is new, as tasks of the group."""
        new, self._new = self._new, {}
        for operation in new.values():
            self._sending.add(operation.id)
            tasks.create_task(self._send(operation))

    async def judge(self, operations: Iterable[Operation], seen: Observation | None) -> None:
        """Record the ends; `seen` is a look, None where nobody answers. Raises RedfishError (503).

        One that was neither sent nor taken up is of an earlier run: whether it was is not known.
        """
        for operation in operations:
            if operation.id in self._sending or operation.id in self._new:
                continue
            end = self._ends.get(operation.id) or _End(self._clock.now_s(), _unknown(operation))
            if end.told:
                await self._operations.fail(operation, end.told)
            elif seen is None or seen.started_s >= end.at_s:
                await self._operations.complete(operation)
            else:
                continue
            self._ends.pop(operation.id, None)

    async def _send(self, operation: Operation) -> None:
        """Hand one command to the driver and note how it ended."""
        told: tuple[Message, ...] = ()
        try:
            await self._carry_out(operation)
        except (DriverRejected, DriverUnsupported, DriverNotSent) as error:
            told = (_refused(operation, str(error)),)
        except (DriverUnavailable, TimeoutError) as error:
            log.warning("%s: the outcome of a reset is not known: %s", operation.uri, error)
            told = _unknown(operation)
        except Exception:
            # Part of the supervisor of one reconcile loop: what a faulty driver has done is not
            # known.
            log.exception("a reset of %s failed", operation.uri)
            told = _unknown(operation)
        self._ends[operation.id] = _End(self._clock.now_s(), told)
        self._sending.discard(operation.id)
        self._finished()

    async def _carry_out(self, operation: Operation) -> None:
        wish = operation.port_reset
        assert wish is not None  # noqa: S101 - only such operations are taken up
        if not isinstance(self._driver, PortControl):
            raise DriverUnsupported("the driver of this fabric resets no ports")
        async with asyncio.timeout(self._timeout_s):
            deadline_s = self._clock.now_s() + self._timeout_s
            await self._driver.reset_port(wish.port, wish.asked, deadline_s)


def _refused(operation: Operation, reason: str) -> Message:
    asked = "reset" if operation.port_reset is None else operation.port_reset.asked.value
    return messages.hardware_refused(asked, operation.uri, reason)


def _unknown(operation: Operation) -> tuple[Message, ...]:
    told = _refused(operation, "no answer: whether it was carried out is not known")
    return messages.operation_timeout(), told
