"""Every rule: illegal changes are refused, their legal twins are not, and each rule is needed."""

from dataclasses import replace
from itertools import permutations

import pytest

from redfish_fm.fabric import zoning
from redfish_fm.fabric.cases import Case
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import EndpointGroup, Rule, Violation, Zone, ZoneType
from tests.fabric.builders import a_fabric, connection, put_target, zone
from tests.fabric.devices import a_chunk, granting, pooled_mld
from tests.fabric.scenarios import SCENARIOS, Scenario, known

OF_BLOCKS = {rule for rule in Rule if rule.name.startswith("BLOCK_")}
"""Judged before anything is zoned: test_block_rules."""
JUDGED_ELSEWHERE = {Rule.BANDWIDTH, Rule.NO_FREE_VPPB, Rule.NO_PATH, *OF_BLOCKS}


def by_name(scenario: Scenario) -> str:
    return scenario.name


@pytest.mark.parametrize("scenario", SCENARIOS, ids=by_name)
def test_a_change_is_refused_by_exactly_the_rules_it_breaks(scenario: Scenario) -> None:
    assert scenario.refused_by() == scenario.expected


def test_every_rule_has_a_function_and_a_scenario() -> None:
    assert set(zoning.RULES) == set(Rule) - JUDGED_ELSEWHERE
    covered = {rule for scenario in SCENARIOS for rule in scenario.expected}
    assert covered == set(zoning.RULES)


@pytest.mark.parametrize("rule", list(zoning.RULES), ids=lambda rule: rule.name)
def test_without_its_rule_some_scenario_is_no_longer_refused_as_it_should(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(zoning.RULES, rule, lambda case: [])
    missed = [item.name for item in SCENARIOS if item.refused_by() != item.expected]
    assert missed, f"nothing notices that {rule.name} is off"


SAFE_ALONE = [rule for rule in zoning.RULES if rule is not Rule.ZONE_MANY_HOSTS]


@pytest.mark.parametrize("rule", SAFE_ALONE, ids=lambda rule: rule.name)
def test_without_its_rule_some_illegal_change_is_accepted(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZONE_MANY_HOSTS is not here: rule 1 refuses whatever it refuses, by design."""
    monkeypatch.setitem(zoning.RULES, rule, lambda case: [])
    assert any(item.expected and not item.refused_by() for item in SCENARIOS)


def test_a_refusal_names_the_member_in_the_clients_body() -> None:
    index = a_fabric(slds=2)
    index.put_zone(zone("z1", "I1", "T-D1"))
    index.put_zone(zone("z0", "I1", "T-M1.0"))
    refused = zoning.check_zone(
        index, zone("z2", "I2", "T-D2", "T-M1.0", "nobody", "T-D1"), None, known
    )
    assert set(refused) == {
        Violation(Rule.UNKNOWN_MEMBER, "nobody", None, "/Links/Endpoints/3"),
        Violation(Rule.HOST_SHARING, "T-M1.0", "z0", "/Links/Endpoints/2", ("H2", "H1")),
        Violation(Rule.HOST_SHARING, "T-D1", "z1", "/Links/Endpoints/4", ("H2", "H1")),
        Violation(Rule.ZONE_UNIT_TWICE, "T-D1", "z1", "/Links/Endpoints/4"),
    }


def test_a_refused_connection_names_chunk_and_access() -> None:
    index = a_fabric()
    index.put_zone(zone("z1", "I1", "T-M1.0"))
    index.put_chunk(replace(index.chunks["C-M1.0"], access=frozenset()))
    wanted = connection("c1", "I1", ["T-M1.0"], "C-M1.0", "C-M1.1")
    pointers = {
        (violation.rule, violation.pointer)
        for violation in zoning.check_connection(index, wanted, None, known)
    }
    assert pointers == {
        (Rule.CONNECTION_ACCESS, "/MemoryChunkInfo/0/AccessCapabilities"),
        (Rule.CONNECTION_CHUNK_FOREIGN, "/MemoryChunkInfo/1/MemoryChunk"),
    }


def test_the_second_host_of_a_new_zone_is_blamed_not_the_first() -> None:
    refused = zoning.check_zone(a_fabric(), zone("z", "I1", "T-D1", "I2"), None, known)
    assert refused == [
        Violation(Rule.HOST_SHARING, "T-D1", None, "/Links/Endpoints/1", ("H2", "H1")),
        Violation(Rule.ZONE_MANY_HOSTS, "I2", "z", "/Links/Endpoints/2", ("I1",)),
    ]


def test_an_imported_zone_with_two_hosts_may_stay_and_shrink_but_not_grow() -> None:
    index = a_fabric(hosts=3, slds=2)
    broken = zone("z", "I1", "I2", "T-D1")
    index.put_zone(broken)
    assert zoning.existing_violations(index)
    for members in permutations(broken.endpoints):
        assert not zoning.check_zone(index, zone("z", *members), broken, known)
    for fewer in (("I1", "T-D1"), ("I2", "T-D1"), ("I1", "I2"), ()):
        assert not zoning.check_zone(index, zone("z", *fewer), broken, known)
    for worse in (
        ("I1", "I2", "T-D1", "I3"),
        ("I3", "I1", "I2", "T-D1"),
        ("I1", "I3", "T-D1"),
        ("I1", "I2", "T-D1", "T-D2"),
        ("I1", "I2", "T-D1", "T-M1.0"),
    ):
        assert zoning.check_zone(index, zone("z", *worse), broken, known), worse


def test_an_imported_duplicate_may_stay_but_not_become_a_triple() -> None:
    index = a_fabric()
    broken = zone("z", "S", "S")
    index.put_zone(broken)
    assert not zoning.check_zone(index, broken, broken, known)
    assert zoning.check_zone(index, zone("z", "S", "S", "S"), broken, known)


def test_a_unit_that_two_hosts_already_share_gets_no_third_holder() -> None:
    index = a_fabric()
    index.put_zone(zone("z1", "I1", "T-M1.0"))
    index.put_zone(zone("z2", "I2", "T-M1.0"))
    assert zoning.check_zone(index, zone("z3", "I1", "T-M1.0"), None, known)


def test_a_container_with_an_exclusive_part_is_not_shared() -> None:
    index = a_fabric()
    index.put_unit(replace(index.units["M1"], exclusive=False))
    put_target(index, index.units["M1"])
    index.put_zone(zone("z1", "I1", "T-M1"))
    assert zoning.check_zone(index, zone("z2", "I2", "T-M1"), None, known)


def test_a_shareable_part_of_an_exclusively_taken_whole_is_taken() -> None:
    index = a_fabric()
    index.put_unit(replace(index.units["M1.0"], exclusive=False))
    put_target(index, index.units["M1"])
    index.put_zone(zone("z1", "I1", "T-M1"))
    assert zoning.check_zone(index, zone("z2", "I2", "T-M1.0"), None, known)


def test_deleting_a_zone_names_each_connection_that_needs_it_once() -> None:
    index = a_fabric()
    index.put_zone(zone("z1", "I1", "T-M1.0", "T-M1.1"))
    index.put_connection(connection("c1", "I1", "T-M1.0", "C-M1.0"))
    index.put_connection(connection("c2", "I1", "T-M1.1", "C-M1.1"))
    refused = zoning.check_zone_removal(index, "z1")
    assert [violation.holder for violation in refused] == ["c1", "c2"]
    assert not zoning.check_connection_removal(index, "c1")


def test_a_sound_fabric_has_no_existing_violations() -> None:
    index = a_fabric(hosts=3, slds=3)
    for number in (1, 2, 3):
        index.put_zone(zone(f"z{number}", f"I{number}", f"T-D{number}", f"T-M1.{number}", "S"))
    index.put_connection(connection("c1", "I1", "T-M1.1", "C-M1.1"))
    assert zoning.existing_violations(index) == []


def test_existing_violations_are_found_in_an_import() -> None:
    index = a_fabric(hosts=3, slds=3, max_zones=1)
    index.put_zone(zone("z1", "I1", "I2", "T-D1", "gone"))
    index.put_zone(zone("z2", "I3", "T-D1"))
    index.put_connection(connection("c1", "I1", "T-M1.1", "C-M1.1"))
    assert {violation.rule for violation in zoning.existing_violations(index)} == {
        Rule.HOST_SHARING,
        Rule.ZONE_MANY_HOSTS,
        Rule.ZONE_UNIT_TWICE,
        Rule.UNKNOWN_MEMBER,
        Rule.MAX_ZONES,
        Rule.CONNECTION_NO_COMMON_ZONE,
    }


def test_a_check_costs_the_same_on_a_small_and_on_a_big_fabric() -> None:
    spent = []
    for slds in (10, 1_000):
        index = a_fabric(hosts=3, slds=slds)
        for number in range(2, slds):
            index.put_zone(zone(f"z{number}", "I1", f"T-D{number}", "S"))
        before = index.work
        zoning.check_zone(index, zone("new", "I2", "T-D1", "T-M1.0", "S"), None, known)
        spent.append(index.work - before)
    assert spent[0] == spent[1] > 0


def test_a_group_edit_names_the_member_and_the_connection_that_it_breaks() -> None:
    index = a_fabric()
    index.put_zone(zone("z1", "I1", "T-D1"))
    group = EndpointGroup("g", "F", ("I1",))
    index.put_group(group)
    index.put_connection(granting("c1", targets=("T-D1",), from_groups=("g",)))
    wanted = replace(group, endpoints=("I1", "I2"))
    refused = zoning.check_group(index, wanted, group, known)
    found = {each.rule: (each.subject, each.pointer, each.others) for each in refused}
    assert found[Rule.CONNECTION_NO_COMMON_ZONE] == ("T-D1", None, ("I2", "c1"))
    assert found[Rule.HOST_SHARING] == ("T-D1", None, ("H2", "H1", "c1"))


def test_a_group_of_targets_is_pointed_at_where_its_member_stands() -> None:
    index = a_fabric(zoned=False)
    index.put_connection(connection("c0", "I2", "T-D1"))
    group = EndpointGroup("g", "F", ())
    index.put_group(group)
    index.put_connection(granting("c1", ("I1",), to_groups=("g",)))
    (refused,) = zoning.check_group(index, replace(group, endpoints=("T-D1",)), group, known)
    assert (refused.rule, refused.holder) == (Rule.HOST_SHARING, "c0")
    assert (refused.subject, refused.pointer) == ("T-D1", "/Links/Endpoints/0")


def test_what_an_import_has_too_much_of_may_stay_and_shrink() -> None:
    index = pooled_mld(a_fabric())
    index.put_chunk(a_chunk(index, "c1", 4096))
    index.put_chunk(a_chunk(index, "c2", 1024))
    assert {each.rule for each in zoning.existing_violations(index)} == {Rule.POOL_EXHAUSTED}
    held = index.chunks["c1"]
    assert not zoning.check_chunk(index, held, held)
    assert not zoning.check_chunk(index, replace(held, size_mib=2048), held)
    assert zoning.check_chunk(index, a_chunk(index, "c3", 256), None)


def test_a_host_with_many_connections_is_not_looked_through_when_it_joins_a_zone() -> None:
    spent = []
    for count in (10, 500):
        index = a_fabric(slds=count + 1, kind=FabricKind.CONNECTION_GRANTS)
        for number in range(1, count):
            index.put_zone(zone(f"z{number}", "I1", f"T-D{number}"))
            index.put_connection(connection(f"c{number}", "I1", f"T-D{number}"))
        before = index.work
        assert not zoning.check_zone(index, zone("new", "I1", f"T-D{count}"), None, known)
        spent.append(index.work - before)
    assert spent[0] == spent[1]


def test_the_default_zone_does_not_count_towards_max_zones() -> None:
    index = a_fabric(hosts=1, slds=1, max_zones=1)
    index.put_zone(Zone("default", "F", ZoneType.DEFAULT))
    assert zoning.check_zone(index, Zone("z1", "F", ZoneType.ENDPOINTS), None, known) == []
    index.put_zone(Zone("z1", "F", ZoneType.ENDPOINTS))
    refused = zoning.check_zone(index, Zone("z2", "F", ZoneType.ENDPOINTS), None, known)
    assert [violation.rule for violation in refused] == [Rule.MAX_ZONES]
    assert zoning.check_zone(index, Zone("default", "F", ZoneType.DEFAULT), None, known) == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=by_name)
def test_what_is_left_out_for_zones_would_say_nothing_of_them(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zoning, "RULES_OF_ZONES", zoning.ALL_RULES)
    monkeypatch.setattr(zoning, "RULES_OF_EMPTY_ZONES", zoning.ALL_RULES)
    assert scenario.refused_by() == scenario.expected


def test_a_zone_is_in_use_by_a_connection_that_aims_at_an_initiator() -> None:
    index = a_fabric(hosts=2, slds=1)
    index.put_zone(zone("z1", "I1", "I2"))
    index.put_connection(connection("k1", "I1", "I2"))
    assert [each.rule for each in zoning.check_zone_removal(index, "z1")] == [Rule.ZONE_IN_USE]


@pytest.mark.parametrize("zone_type", list(ZoneType))
@pytest.mark.parametrize("kind", list(FabricKind))
def test_what_is_left_out_for_empty_zones_would_say_nothing_of_them(
    kind: FabricKind, zone_type: ZoneType
) -> None:
    index = a_fabric(hosts=2, slds=2, kind=kind)
    index.put_zone(zone("z1", "I1", "T-D1"))
    index.put_zone(zone("z2", "I2", "T-D2"))
    index.put_connection(connection("c1", "I1", "T-D1"))
    for uri in ("z1", "new"):
        for routing in (False, True):
            empty = Zone(uri, "F", zone_type, routing=routing)
            for before in (None, index.zones["z1"]):
                case = Case(index, empty, known, change=True, before=before)
                for rule in zoning.OF_MEMBERS:
                    assert list(zoning.RULES[rule](case)) == []


def test_a_connection_that_names_no_part_any_more_reaches_nothing() -> None:
    index = a_fabric(hosts=2, slds=1)
    index.put_connection(connection("whole", "I1", "T-D1"))
    reached = dict(index.hosts_of("D1"))
    index.put_connection(replace(connection("whole", "I1", "T-D1"), by_parts=True))
    assert reached
    assert not index.hosts_of("D1")
