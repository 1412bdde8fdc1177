"""Every command that is known, by opcode. Pure: puts the tables of the sets together."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from redfish_fm.drivers.cxl_fmapi import (
    dcd_commands,
    generic_commands,
    mld_commands,
    notices,
    switch_commands,
)
from redfish_fm.drivers.cxl_fmapi.command import Command, table

COMMANDS: Mapping[int, Command[Any, Any]] = MappingProxyType(
    table(
        (
            *generic_commands.ROWS,
            *switch_commands.ROWS,
            *mld_commands.ROWS,
            *dcd_commands.ROWS,
            *notices.ROWS,
        )
    )
)


def name_of(opcode: int) -> str:
    """Return what to call an opcode in a message to people."""
    known = COMMANDS.get(opcode)
    return str(known) if known else f"opcode {opcode:04X}h"
