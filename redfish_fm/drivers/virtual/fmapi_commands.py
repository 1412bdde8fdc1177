"""From a message of a manager to the answer of the switch: all commands, and who carries them out.

Knows tables and profiles; nothing of connections.
"""

from redfish_fm.drivers.virtual.fmapi_asked import Asked, Table, carry_out
from redfish_fm.drivers.virtual.fmapi_generic import GENERIC, logs_table
from redfish_fm.drivers.virtual.fmapi_switch import (
    BAD_LENGTH,
    OTHER_CCI,
    Answer,
    FmapiSwitch,
    Manager,
)
from redfish_fm.drivers.virtual.fmapi_switching import SWITCHING
from redfish_fm.drivers.virtual.fmapi_tunnel import DEVICE, TUNNELS
from redfish_fm.drivers.virtual.fmapi_wire import FM_API, Heard

SWITCH: Table = {**GENERIC, **SWITCHING, **TUNNELS}
SWITCH |= logs_table(SWITCH)


def answer(switch: FmapiSwitch, heard: Heard, manager: Manager) -> Answer | None:
    """Return the answer to a request; None where the switch says nothing."""
    if not heard.whole:
        return Answer(BAD_LENGTH)
    if switch.profile.strict and (heard.message_type == FM_API) != _is_fm_api(heard.opcode):
        return Answer(OTHER_CCI)
    if switch.profile.routes_by_port and switch.profile.has(heard.opcode, behind_port=True):
        asked = Asked(heard.opcode, heard.payload, manager, heard.port)
        found = carry_out(switch, DEVICE, asked)
    else:
        found = carry_out(switch, SWITCH, Asked(heard.opcode, heard.payload, manager))
    switch.look()
    return found


def _is_fm_api(opcode: int) -> bool:
    return _FM_API_SETS[0] <= opcode >> 8 <= _FM_API_SETS[1]


_FM_API_SETS = (0x51, 0x56)
"""Command sets of MCTP message type 7; all others go on type 8."""
