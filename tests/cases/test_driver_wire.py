"""Cases DRIVER that need a wire: what is asked of a switch, byte by byte, and what it may lack.

The whole way from a configuration that names a switch which is not there, to binding it when it
comes, stands in tests/e2e/test_cxl_switches.
"""

import pytest

from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.switch_commands import GET_PORTS, PortIds
from redfish_fm.fabric.model import Bind, BindTarget, Unbind, VppbId
from tests.drivers.cxl_fmapi.peer import FRAMES, PACKETS
from tests.drivers.cxl_fmapi.peer_switch import SwitchState
from tests.drivers.cxl_fmapi.rigs import SHORT_IDENTITY, world
from tests.virtual_time import in_virtual_time


@pytest.mark.parametrize(
    ("state", "speak", "jrl", "ld_id"),
    [
        (SwitchState(), PACKETS, False, b"\xff\xff"),
        (SwitchState(typed_tunnel=True), PACKETS, True, b"\xff\xff"),
        (SwitchState(identity=SHORT_IDENTITY), FRAMES, False, b"\x00\x00"),
    ],
    ids=["standard", "jrl", "short-identity"],
)
@in_virtual_time
async def test_dr_01_an_sld_is_bound_with_the_ld_id_that_its_switch_wants_20_times(
    state: SwitchState, speak: str, jrl: bool, ld_id: bytes
) -> None:
    vppb, sld = VppbId("sw0", "0", 0), BindTarget("sw0", "3")
    async with world(state, speak=speak, jrl=jrl) as made:
        await made.observed()
        for _ in range(20):
            await made.driver.apply(Bind(vppb, sld), made.clock.now_s() + 30)
            assert (await made.observed()).bindings[vppb] == sld
            await made.driver.apply(Unbind(vppb, sld), made.clock.now_s() + 30)
            assert (await made.observed()).bindings[vppb] is None
        binds = [each.payload for each in made.peers["sw0"].asked if each.opcode == 0x5201]
        assert binds == [bytes((0, 0, 3, 0)) + ld_id] * 20


def test_dr_05_three_ports_are_asked_for_in_four_bytes_and_short_answers_are_refused() -> None:
    asked = PortIds((0, 3, 7))
    assert GET_PORTS.request.encode(asked) == bytes((3, 0, 3, 7))
    form = GET_PORTS.response_to(asked)
    blocks = b"".join(bytes((port, 3, 2)) + bytes(13) for port in asked.ports)
    whole = bytes((3, 0, 0, 0)) + blocks
    assert [each.port_id for each in form.decode(whole).ports] == [0, 3, 7]
    assert [each.port_id for each in form.decode(bytes((1, 0, 0, 0)) + blocks).ports] == [0]
    for size in range(len(whole)):
        with pytest.raises(Malformed):
            form.decode(whole[:size])


@in_virtual_time
async def test_dr_10_of_a_switch_that_never_answers_nothing_is_known_but_its_name() -> None:
    state = SwitchState(silent={0x0001})
    async with world(state) as made:
        for _ in range(3):
            with pytest.raises(DriverUnavailable):
                await made.driver.observe()
            with pytest.raises(DriverUnavailable):
                await made.driver.discover()
            await made.clock.sleep(1)
        (switch,) = made.driver.inventory.switches
        assert (switch.id, switch.ports, switch.virtual_switches) == ("sw0", (), ())
        assert made.driver.inventory.devices == made.driver.inventory.hosts == ()
