"""What every driver offers, and how it may fail.

A driver adapts one fabric of one kind. It knows ids, bytes and sockets, never URIs or documents.
Five methods and three errors are the whole contract; tests/drivers/contract holds every driver
to it. The power of hosts is no fabric's matter: BMCs have a contract of their own beside it.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol, runtime_checkable

from redfish_fm.errors import FmError
from redfish_fm.fabric.model import Hint, Inventory, Observation, PortId, Step
from redfish_fm.fabric.port_control import PortReset
from redfish_fm.fabric.power import HostState, ResetType


class DriverError(FmError):
    """Root of the three ways a driver fails."""


class DriverRejected(DriverError):
    """The hardware said no, with its reason; trying the same again is useless."""


class DriverUnavailable(DriverError):
    """No answer. The outcome of the command is UNKNOWN: it may run now, later or never."""


class DriverNotSent(DriverUnavailable):
    """No byte of the command was written: it does not run now, and never will."""


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

        Returns once the switch has said yes and a look would show it; where "yes" means only
        begun, the driver asks until it is done. That is not yet proof: callers observe() again.
        A step whose deadline has passed before the bytes are written is not sent. Raises
        DriverRejected, DriverUnavailable (outcome unknown) or DriverUnsupported.
        """
        ...

    def watch(self) -> AsyncIterator[Hint]:
        """Yield hints until closed; a hint says where to look, never what is true.

        There may be more hints than changes: one at once, unasked, or some that still wait when the
        driver is closed. Ends after those, and never before. Raises DriverUnavailable when it can
        hear no more, and nothing else; it is then called again.
        """
        ...

    async def close(self) -> None:
        """Release sockets and files; later calls raise DriverUnavailable. Safe to repeat."""
        ...


@runtime_checkable
class PortControl(Protocol):
    """What a driver has beside the contract where `Switch.resets_ports` says so."""

    async def reset_port(self, port: PortId, asked: PortReset, deadline_s: float) -> None:
        """Reset a downstream port, once; `deadline_s` is on the service clock.

        Returns once the switch has accepted it; links train anew from then on. Raises
        DriverRejected (also for an upstream port, and for one without a device), DriverNotSent
        (it will never run), any other DriverUnavailable (outcome unknown: NOT to be repeated
        blindly) or DriverUnsupported.
        """
        ...


class PowerControl(Protocol):
    """The BMCs of some hosts: what has power, and who turns it on and off.

    Hosts have the ids that fabrics know them by. All methods may be called concurrently; commands
    to one host are carried out one after another. None may block the event loop. Fails with the
    three errors of a Driver.
    """

    async def discover(self) -> Mapping[str, frozenset[ResetType]]:
        """Return every host there is, with what can be asked of it; the same at every call."""
        ...

    async def observe(self) -> Mapping[str, HostState]:
        """Return the state of every host whose BMC answers.

        Raises DriverUnavailable only when no BMC answers.
        """
        ...

    async def reset(self, host: str, asked: ResetType, deadline_s: float) -> None:
        """Ask a BMC to start, stop or restart its host; `deadline_s` is on the service clock.

        Returns once the BMC has accepted it, which takes time from then on: callers observe.
        What is so already is accepted and changes nothing. A command whose deadline has passed
        before the bytes are written is not sent. Raises DriverRejected (also for a host that
        there is not), DriverNotSent (it will never run), any other DriverUnavailable (outcome
        unknown: NOT to be repeated blindly, for a restart happens twice) or DriverUnsupported
        for what `discover` does not list.
        """
        ...

    async def reset_manager(self, host: str, deadline_s: float) -> None:
        """Restart the BMC of a host: it does not answer for a while, the host runs on.

        Returns and raises as `reset` does.
        """
        ...

    def watch(self) -> AsyncIterator[str]:
        """Yield ids of hosts to look at until closed: a suggestion, never a fact.

        Ends and fails as Driver.watch does.
        """
        ...

    async def close(self) -> None:
        """Release sockets and files; later calls raise DriverUnavailable. Safe to repeat."""
        ...
