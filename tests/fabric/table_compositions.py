"""Rule 5: what a composition holds, nobody else's zone, connection or vPPB takes."""

from redfish_fm.fabric import zoning
from redfish_fm.fabric.composition import Block, BlockType, Composition
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import VppbId
from redfish_fm.fabric.values import Rule, Violation
from tests.fabric.builders import a_fabric, connection, zone
from tests.fabric.scenario import Table, known, patch, post

COMPOSITIONS = Table("composed")
SYSTEM = "composed-1"


def a_composition(expands: bool = False) -> FabricIndex:
    """Host H1 has D1 and the first LD of M1, by the zone "own" and the connection "given"."""
    index = a_fabric(hosts=2, slds=2)
    index.put_block(Block("b-H1", frozenset({BlockType.COMPUTE}), host="H1"))
    index.put_block(Block("b-D1", frozenset({BlockType.PROCESSOR}), units=frozenset({"D1"})))
    blocks = ("b-D1",) if expands else ("b-H1", "b-D1")
    holdings = frozenset({"own", "given", "C-M1.0"})
    index.put_composition(Composition(SYSTEM, "H1", blocks, holdings, expands))
    return index


@COMPOSITIONS.illegal(Rule.COMPOSED)
def a_zone_of_the_same_host_takes_a_composed_device() -> list[Violation]:
    return post(a_composition(), zone("z", "I1", "T-D1"))


@COMPOSITIONS.illegal(Rule.COMPOSED)
def a_zone_takes_the_device_of_a_composition_that_is_not_bound_yet() -> list[Violation]:
    return post(a_composition(), zone("z", "I2", "T-D1"))


@COMPOSITIONS.legal
def a_zone_takes_a_device_that_no_composition_has() -> list[Violation]:
    return post(a_composition(), zone("z", "I2", "T-D2"))


@COMPOSITIONS.legal
def the_compositions_own_zone_takes_it() -> list[Violation]:
    return post(a_composition(), zone("own", "I1", "T-D1"))


@COMPOSITIONS.illegal(Rule.COMPOSED)
def a_zone_takes_the_host_of_a_composed_system() -> list[Violation]:
    return post(a_composition(), zone("z", "I1", "T-D2"))


@COMPOSITIONS.illegal(Rule.COMPOSED)
def a_zone_that_had_the_host_before_gives_it_another_device() -> list[Violation]:
    index = a_composition()
    index.put_zone(zone("z", "I1"))
    return patch(index, zone("z", "I1", "T-D2"))


@COMPOSITIONS.legal
def a_zone_that_had_the_host_before_gives_it_a_device_less() -> list[Violation]:
    index = a_composition()
    index.put_zone(zone("z", "I1", "T-D2"))
    return patch(index, zone("z", "I1"))


@COMPOSITIONS.legal
def a_zone_takes_a_physical_host_that_was_only_given_more() -> list[Violation]:
    return post(a_composition(expands=True), zone("z", "I1", "T-D2"))


@COMPOSITIONS.illegal(Rule.COMPOSED)
def a_zone_is_widened_by_a_composed_device() -> list[Violation]:
    index = a_composition()
    index.put_zone(zone("z", "I2"))
    return patch(index, zone("z", "I2", "T-D1"))


@COMPOSITIONS.illegal(Rule.COMPOSED)
def a_connection_takes_the_host_of_a_composed_system() -> list[Violation]:
    index = a_composition()
    index.put_zone(zone("own", "I1", "T-M1.0"))
    return post(index, connection("c", "I1", ["T-M1.0"], "C-M1.0"))


@COMPOSITIONS.legal
def the_compositions_own_connection_takes_it() -> list[Violation]:
    index = a_composition()
    index.put_zone(zone("own", "I1", "T-M1.0"))
    return post(index, connection("given", "I1", ["T-M1.0"], "C-M1.0"))


@COMPOSITIONS.illegal(Rule.COMPOSED)
def a_connection_grants_its_own_host_the_part_of_a_composition() -> list[Violation]:
    index = a_composition(expands=True)
    index.put_zone(zone("own", "I1", "T-M1.0"))
    return post(index, connection("c", "I1", ["T-M1.0"], "C-M1.0"))


@COMPOSITIONS.legal
def a_connection_grants_a_host_that_was_given_more_another_part() -> list[Violation]:
    index = a_composition(expands=True)
    index.put_zone(zone("z", "I1", "T-M1.1"))
    return post(index, connection("c", "I1", ["T-M1.1"], "C-M1.1"))


@COMPOSITIONS.illegal(Rule.COMPOSED)
def a_composed_device_is_put_on_a_vppb_by_hand() -> list[Violation]:
    index = a_composition(expands=True)
    target = index.units["D1"].target
    assert target is not None
    vppb = VppbId(target.switch, "VCS1", 1)
    return zoning.check_vppb(index, vppb, "D1", "H1", holder="v", status=known)


@COMPOSITIONS.legal
def a_device_is_taken_when_the_composition_is_gone() -> list[Violation]:
    index = a_composition()
    index.remove_composition(SYSTEM)
    return post(index, zone("z", "I2", "T-D1"))
