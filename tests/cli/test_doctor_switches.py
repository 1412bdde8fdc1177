"""The doctor says of each switch whether it answers, what it is and what it lacks."""

from redfish_fm.cli.doctor_switches import look_at_switches
from redfish_fm.config_switches import SwitchStanza
from tests.drivers.cxl_fmapi.peer_switch import SwitchState, peer_of


def stanza(port: int, **more: str) -> SwitchStanza:
    plain = {"id": "cxl0", "fabric": "CXL", "link": "mctp-tcp", "address": f"127.0.0.1:{port}"}
    return SwitchStanza(**{**plain, **more})  # type: ignore[arg-type]


async def test_a_switch_that_answers_is_described_with_what_it_lacks() -> None:
    peer = peer_of(SwitchState())
    found = await look_at_switches([stanza(await peer.listen())])
    await peer.close()
    ((name, answers, detail),) = found
    assert (name, answers) == ("switch cxl0", True)
    what, _, lacking = detail.rpartition("; lacks ")
    assert what == (
        "1AED:2003; serial number 1122334455667788; profile standard; 8 ports with 7 devices; "
        "2 virtual switches with 8 vPPBs"
    )
    assert lacking.startswith("Get DCD Info (5600h), Get QoS Allocated BW (5406h)")


async def test_a_switch_that_is_not_there_and_one_that_nobody_is_are_told_apart() -> None:
    peer = peer_of(SwitchState())
    gone = await peer.listen()
    await peer.close()
    waits = stanza(0, id="cxl1", fabric="X", link="fm-listen")
    (one, other) = await look_at_switches([stanza(gone), waits], answer_s=0.3)
    assert not one[1]
    assert "Connect call failed" in one[2]
    assert not other[1]
    assert "nobody dialled in at 127.0.0.1:0" in other[2]
