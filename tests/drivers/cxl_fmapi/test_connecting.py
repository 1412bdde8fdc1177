"""The connections of a fabric: an address that can not be had yet is tried again."""

import asyncio
import socket

from redfish_fm.clocks import SystemClock
from redfish_fm.drivers.cxl_fmapi.connecting import Connections
from redfish_fm.drivers.cxl_fmapi.links import LinkPolicy
from redfish_fm.drivers.cxl_fmapi.places import Framing, LinkKind, SwitchPlace
from tests.drivers.cxl_fmapi.peer_switch import SwitchState
from tests.drivers.cxl_fmapi.rigs import world
from tests.virtual_time import in_virtual_time

AT_ONCE = LinkPolicy(again_s_first=0.001, again_s_max=0.01)


class Counted(SystemClock):
    """Tells that somebody has waited three times."""

    def __init__(self) -> None:
        self.thrice = asyncio.Event()
        self._waits = 0

    async def sleep(self, delay_s: float) -> None:
        self._waits += 1
        if self._waits == 3:
            self.thrice.set()
        await super().sleep(delay_s)


async def test_a_taken_address_is_said_once_and_listened_at_once_it_is_free(caplog) -> None:
    clock = Counted()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()
        place = SwitchPlace("s1", LinkKind.FM_LISTEN, address, framing=Framing.FRAMES)
        connections = Connections([place], clock, 1, AT_ONCE)
        (running,) = [asyncio.create_task(each) for each in connections.runners()]
        await clock.thrice.wait()
        assert connections.port_of("s1") is None
    await running
    assert connections.port_of("s1") == address[1]
    assert caplog.text.count("nobody can dial in at 127.0.0.1") == 1
    await connections.close()


@in_virtual_time
async def test_a_switch_that_dials_in_is_asked_on_the_message_type_that_harms_none() -> None:
    async with world(SwitchState(), link=LinkKind.FM_LISTEN) as made:
        await made.observed()
        first = made.peers["sw0"].asked[0]
        assert (first.opcode, first.message_type) == (1, 7)
