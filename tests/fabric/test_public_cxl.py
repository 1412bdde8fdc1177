"""The DMTF public-cxl fabric as values: what clients will try on the first imported mockup.

One host (CXL-System) with initiators I1-I4; T1, T2 are zone-bound units of zones 1 and 2; T3, T4
and T5 are LDs of MLDs; the switch's endpoint "1" is in three zones; connection 14 (I4, T4) has no
common zone.
"""

import pytest

from redfish_fm.fabric import zoning
from redfish_fm.fabric.index import FabricFacts, FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import Binder, Chunk, Endpoint, Role, Rule, Unit
from tests.fabric.builders import connection, zone
from tests.fabric.scenarios import known


@pytest.fixture
def index() -> FabricIndex:
    index = FabricIndex()
    index.put_fabric(FabricFacts("CXL", FabricKind.BIND, zoned=True))
    index.put_endpoint(Endpoint("1", "CXL", Role.EXEMPT))
    for number in range(1, 5):
        index.put_endpoint(Endpoint(f"I{number}", "CXL", Role.INITIATOR, host="CXL-System"))
    index.put_endpoint(Endpoint("I9", "CXL", Role.INITIATOR, host="another"))
    for number in range(1, 6):
        binder = Binder.ZONE if number < 3 else Binder.CONNECTION
        within = f"U{number}-device" if number >= 3 else None
        index.put_unit(Unit(f"U{number}", "CXL", binder, within=within))
        units = frozenset({f"U{number}"})
        index.put_endpoint(Endpoint(f"T{number}", "CXL", Role.TARGET, units=units))
        index.put_chunk(Chunk(f"C{number}", f"U{number}", 0, 1024))
    for id_, members in (("1", "I1 T1 1"), ("2", "I2 T2 1"), ("3", "I3 T3 T4 T5 1")):
        index.put_zone(zone(f"Z{id_}", *members.split(), fabric="CXL"))
    for id_, host, target in (("12", "I2", "2"), ("13", "I3", "3"), ("14", "I4", "4")):
        made = connection(id_, host, f"T{target}", f"C{target}", fabric="CXL")
        index.put_connection(made)
    return index


def post(index: FabricIndex, *members: str) -> set[Rule]:
    made = zone("new", *members, fabric="CXL")
    return {violation.rule for violation in zoning.check_zone(index, made, None, known)}


def test_an_ld_may_be_in_a_second_zone_of_its_host(index: FabricIndex) -> None:
    assert post(index, "I1", "T5") == set()


def test_a_zone_bound_unit_that_is_taken_is_refused_even_to_its_own_host(
    index: FabricIndex,
) -> None:
    assert post(index, "I1", "T1") == {Rule.ZONE_UNIT_TWICE}
    assert post(index, "I4", "T2") == {Rule.ZONE_UNIT_TWICE}


def test_another_host_gets_no_ld_that_is_reached_already(index: FabricIndex) -> None:
    assert post(index, "I9", "T5") == {Rule.HOST_SHARING}


def test_another_host_gets_no_zone_bound_unit_either(index: FabricIndex) -> None:
    assert post(index, "I9", "T1") == {Rule.HOST_SHARING, Rule.ZONE_UNIT_TWICE}


def test_the_switch_may_join_a_fourth_zone(index: FabricIndex) -> None:
    assert post(index, "I9", "1") == set()


def test_the_only_existing_violation_is_the_connection_whose_ends_share_no_zone(
    index: FabricIndex,
) -> None:
    found = zoning.existing_violations(index)
    assert [(item.rule, item.subject) for item in found] == [(Rule.CONNECTION_NO_COMMON_ZONE, "T4")]


def test_that_connection_may_be_renamed_and_deleted_but_not_made_again(
    index: FabricIndex,
) -> None:
    broken = index.connections["14"]
    assert not zoning.check_connection(index, broken, broken, known)
    assert not zoning.check_connection_removal(index, "14")
    index.remove_connection("14")
    assert zoning.check_connection(index, broken, None, known)


def test_a_zone_may_lose_an_end_of_a_connection_that_it_never_served(index: FabricIndex) -> None:
    smaller = zone("Z3", "I3", "T3", "T5", "1", fabric="CXL")
    assert not zoning.check_zone(index, smaller, index.zones["Z3"], known)
    assert not zoning.check_endpoint_removal(index, "I9")


def test_a_connection_across_zones_is_legal_once_its_target_has_moved(index: FabricIndex) -> None:
    wanted = connection("x", "I1", "T2", fabric="CXL")
    refused = zoning.check_connection(index, wanted, None, known)
    assert {item.rule for item in refused} == {Rule.CONNECTION_NO_COMMON_ZONE}
    index.remove_connection("12")
    smaller = zone("Z2", "I2", "1", fabric="CXL")
    assert not zoning.check_zone(index, smaller, index.zones["Z2"], known)
    index.put_zone(smaller)
    assert post(index, "I1", "T2") == set()
    index.put_zone(zone("new", "I1", "T2", fabric="CXL"))
    assert not zoning.check_connection(index, wanted, None, known)
