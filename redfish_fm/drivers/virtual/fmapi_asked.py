"""One command as a handler gets it, one row of the command tables, and how a row is found."""

from collections.abc import Callable
from dataclasses import dataclass

from redfish_fm.drivers.virtual.fmapi_switch import (
    BAD_LENGTH,
    UNSUPPORTED,
    Answer,
    FmapiSwitch,
    Manager,
)

CONFIGURATION, DATA, POLICY, LOG = 1 << 1, 1 << 2, 1 << 3, 1 << 4
BACKGROUND, ABORTABLE = 1 << 6, 1 << 8
"""Effects of commands, as the Command Effects Log has them: what changes at once, and how."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A command. `port` and `ld`: which device it was passed on to, None for the switch itself."""

    opcode: int
    payload: bytes
    manager: Manager
    port: int | None = None
    ld: int | None = None


Handler = Callable[[FmapiSwitch, Asked], Answer | None]
"""Carries out a command; None is no answer at all."""


@dataclass(frozen=True, slots=True)
class Row:
    """One command. `size`: bytes of its request; `more`: as many as it says itself follow."""

    handler: Handler
    size: int = 0
    more: bool = False
    effects: int = 0


Table = dict[int, Row]


def carry_out(switch: FmapiSwitch, table: Table, asked: Asked) -> Answer | None:
    """Return the answer of whoever has that table."""
    profile, row = switch.profile, table.get(asked.opcode)
    if row is None or not profile.has(asked.opcode, behind_port=asked.port is not None):
        return None if profile.silent else Answer(UNSUPPORTED)
    if not _fits(row, len(asked.payload), strict=profile.strict) and not (
        profile.checks_late and asked.opcode in _LATE
    ):
        return Answer(BAD_LENGTH)
    return row.handler(switch, asked)


_LATE = (0x5201, 0x5202)
"""What a switch that checks late refuses at the operation's end only."""


def _fits(row: Row, size: int, *, strict: bool) -> bool:
    return size == row.size if strict and not row.more else size >= row.size
