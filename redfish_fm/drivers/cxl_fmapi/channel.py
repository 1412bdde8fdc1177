"""What a caller needs of whatever carries its commands: a link, a socket or a device file."""

from typing import Protocol

from redfish_fm.drivers.cxl_fmapi.header import Dialect, Message
from redfish_fm.drivers.cxl_fmapi.session import Order


class Channel(Protocol):
    """The way to one switch.

    `generation` grows when what was known before may be stale. `keep_alive_type` is told by the
    caller: the MCTP message type that the switch answers generic commands on.
    """

    name: str
    generation: int
    keep_alive_type: int

    @property
    def dialect(self) -> Dialect | None:
        """Return the dialect of the answers so far, None before the first."""
        ...

    async def exchange(self, order: Order) -> Message:
        """Send a command and return its answer, whatever its return code.

        Raises DriverNotSent when no byte was written, NoAnswer or another DriverUnavailable when
        the outcome is unknown, and Malformed for a command that does not fit.
        """
        ...
