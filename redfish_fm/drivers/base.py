"""What every driver offers, and how it may fail.

A driver adapts one fabric of one kind. It knows ids, bytes and sockets, never URIs or documents.
Five methods and three errors are the whole contract; tests/drivers/contract holds every driver
to it.
"""

from collections.abc import AsyncIterator
from typing import Protocol

from redfish_fm.errors import FmError
from redfish_fm.fabric.model import Hint, Inventory, Observation, Step


class DriverError(FmError):
    """Root of the three ways a driver fails."""


class DriverRejected(DriverError):
    """The hardware said no, with its reason; trying the same again is useless."""


class DriverUnavailable(DriverError):
    """No answer. The outcome of the command is UNKNOWN: it may run now, later or never."""


class DriverUnsupported(DriverError):
    """This driver can not do that, now or later."""


class Driver(Protocol):
    """One fabric's hands and eyes. Made by a registry factory with the service clock.

    `late_max_s`: the longest time after a link reset in which the switch may still execute a
    command it received before. All methods may be called concurrently; a driver orders its own
    commands. None may block the event loop.
    """

    late_max_s: float

    async def discover(self) -> Inventory:
        """Return the whole inventory. Raises DriverUnavailable when the fabric does not answer."""
        ...

    async def observe(self) -> Observation:
        """Return what every reachable switch says now; unreachable switches are named in it.

        Raises DriverUnavailable only when no switch answers.
        """
        ...

    async def apply(self, step: Step, deadline_s: float) -> None:
        """Carry out one step; `deadline_s` is on the service clock. Repeating it changes nothing.

        Returns once the switch has accepted the command, which is not yet proof: callers
        observe() again. A step whose deadline has passed before the bytes are written is not
        sent. Raises DriverRejected, DriverUnavailable (outcome unknown) or DriverUnsupported.
        """
        ...

    def watch(self) -> AsyncIterator[Hint]:
        """Yield hints until closed; a hint says where to look, never what is true.

        Ends only when the driver is closed. Raises DriverUnavailable when it can hear no more,
        and nothing else; it is then called again.
        """
        ...

    async def close(self) -> None:
        """Release sockets and files; later calls raise DriverUnavailable. Safe to repeat."""
        ...
