"""What a row of the command table is. Pure; the rows stand in the modules of their sets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from redfish_fm.drivers.cxl_fmapi.layouts import Form, layout

Q = TypeVar("Q")
R = TypeVar("R")

FM_API = 0x07
"""MCTP message type of the command sets 51h to 56h."""

CCI = 0x08
"""MCTP message type of everything that components share (Identify, events, logs)."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """An empty payload."""

    SIZE: ClassVar = 0


NOTHING = Nothing()


@dataclass(frozen=True, slots=True)
class Command(Generic[Q, R]):
    """One command. How an answer is read may depend on what was asked (5200h).

    `background`: it may answer 0001h and go on; Background Operation Status tells its end.
    """

    opcode: int
    name: str
    request: Form[Q]
    response_to: Callable[[Q], Form[R]]
    background: bool = False

    @property
    def message_type(self) -> int:
        """Return the MCTP message type the standard gives it."""
        return FM_API if 0x51 <= self.opcode >> 8 <= 0x56 else CCI

    def __str__(self) -> str:
        return f"{self.name} ({self.opcode:04X}h)"


def command(
    opcode: int, name: str, request: type[Q], response: type[R], *, background: bool = False
) -> Command[Q, R]:
    """Return the command whose payloads are plain records."""
    form = layout(response)
    return Command(opcode, name, layout(request), lambda _: form, background)


def table(rows: tuple[Command[Any, Any], ...]) -> dict[int, Command[Any, Any]]:
    """Return commands by opcode. Two with one opcode are a ValueError."""
    by_opcode = {row.opcode: row for row in rows}
    if len(by_opcode) != len(rows):
        raise ValueError("two commands have one opcode")
    return by_opcode
