"""Messages of Tasks that wait: every one is in a registry, and names what can be looked at."""

from redfish_fm.fabric.model import BindTarget, PortId, VppbId
from redfish_fm.mapping.awaited import Awaited, fabric_left
from redfish_fm.mapping.facts import Facts
from tests.redfish.builders import REGISTRIES

FABRIC = "/redfish/v1/Fabrics/F"
VPPB, LD = VppbId("s", "1", 2), BindTarget("s", "4", 3)
KNOWN = Facts(
    switch_uris={("F", "s"): f"{FABRIC}/Switches/s"},
    port_uris={("F", PortId("s", "4")): f"{FABRIC}/Switches/s/Ports/4"},
    vppb_uris={("F", VPPB): f"{FABRIC}/Switches/s/VCSs/1/VPPBs/2"},
)


def test_each_message_is_known_with_so_many_arguments() -> None:
    words = Awaited(KNOWN, "F")
    made = [words.switch("s"), words.operation("s"), words.device(LD), words.scrub(LD)]
    made += [words.unbind(LD, VPPB), words.left(LD, VPPB), fabric_left("F")]
    REGISTRIES.check(made)
    assert len({each.key for each in made}) == len(made)


def test_what_has_a_resource_is_named_by_it() -> None:
    words = Awaited(KNOWN, "F")
    assert words.unbind(LD, VPPB).args == (
        "ld 3",
        f"{FABRIC}/Switches/s/Ports/4",
        f"{FABRIC}/Switches/s/VCSs/1/VPPBs/2",
    )
    assert words.switch("s").args == (f"{FABRIC}/Switches/s",)
    assert fabric_left("F").args == (FABRIC,)


def test_what_has_none_is_named_as_its_driver_calls_it() -> None:
    words = Awaited(Facts(), "F")
    whole = BindTarget("s", "4")
    assert words.left(whole, VPPB).args == ("the whole device", "s/4", "s/1/2")
    assert words.operation("s").args == ("s",)
