"""Rule 8: what is observed bound and nobody granted, whatever was planned."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from redfish_fm.fabric.audit import audit
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import LD_FM_OWNED, BindTarget, VppbId
from redfish_fm.fabric.values import (
    Allocation,
    Binder,
    Binding,
    Region,
    RegionGrant,
    Rule,
    Violation,
)
from tests.fabric.builders import a_fabric, binding, connection, zone


@pytest.fixture
def index() -> FabricIndex:
    index = a_fabric(hosts=2, slds=2)
    index.put_zone(zone("z1", "I1", "T-D1", "T-M1.0"))
    return index


def host_of(vppb: VppbId) -> str | None:
    return None if vppb.vcs == "V9" else f"H{vppb.vcs[1:]}"


def judged(
    index: FabricIndex, *observed: Binding, releasing: Iterable[Binding] = ()
) -> list[Violation]:
    return audit(index, {item.vppb: item.target for item in observed}, host_of, releasing)


def test_what_reach_gives_is_in_order(index: FabricIndex) -> None:
    assert judged(index, binding("D1", 1), binding("M1.0", 1, 1)) == []


def test_free_vppbs_and_unknown_targets_are_in_order(index: FabricIndex) -> None:
    stranger = binding("D77", 2)
    assert judged(index, stranger) == []
    assert audit(index, {stranger.vppb: None}, host_of) == []


def test_a_host_that_nobody_gave_the_unit_is_a_violation(index: FabricIndex) -> None:
    assert judged(index, binding("D1", 2)) == [
        Violation(Rule.HOST_SHARING, "D1", "z1", None, ("H2", "H1"))
    ]
    assert judged(index, binding("D2", 2)) == [
        Violation(Rule.HOST_SHARING, "D2", None, None, ("H2",))
    ]


def test_two_hosts_on_one_unit_are_both_named_whoever_is_right(index: FabricIndex) -> None:
    found = judged(index, binding("D1", 1), binding("D1", 2))
    assert {violation.others[0] for violation in found} == {"H1", "H2"}


def test_two_bindings_of_one_host_are_no_isolation_violation(index: FabricIndex) -> None:
    assert judged(index, binding("D1", 1, 0), binding("D1", 1, 1)) == []


def test_a_whole_mld_beside_an_ld_of_another_host_is_a_violation(index: FabricIndex) -> None:
    found = judged(index, binding("M1.0", 1), binding("M1", 2))
    assert {violation.subject for violation in found} == {"M1.0", "M1"}


def test_an_ld_does_not_entitle_to_the_whole_mld(index: FabricIndex) -> None:
    assert [violation.subject for violation in judged(index, binding("M1", 1))] == ["M1"]


def test_two_lds_of_two_hosts_are_in_order(index: FabricIndex) -> None:
    index.put_zone(zone("z2", "I2", "T-M1.1"))
    assert judged(index, binding("M1.0", 1), binding("M1.1", 2)) == []


def test_a_release_that_is_still_under_way_is_in_order(index: FabricIndex) -> None:
    late = binding("D2", 2)
    assert judged(index, late, releasing=[late]) == []


def test_a_release_is_no_excuse_for_two_hosts_at_once(index: FabricIndex) -> None:
    late = binding("D1", 2)
    assert judged(index, late, binding("D1", 1), releasing=[late]) != []


def test_a_release_excuses_its_own_vppb_only(index: FabricIndex) -> None:
    assert judged(index, binding("D2", 2, 1), releasing=[binding("D2", 2, 0)]) != []


def test_the_fm_owned_ld_is_never_seen_bound(index: FabricIndex) -> None:
    owned = binding("M1", 1, target=BindTarget("SW", "M1", LD_FM_OWNED))
    assert [violation.rule for violation in judged(index, owned)] == [Rule.LD_FM_OWNED]


def test_a_virtual_switch_of_an_unknown_host_is_not_judged(index: FabricIndex) -> None:
    assert judged(index, binding("D1", 9)) == []


def share(index: FabricIndex, *hosts: int) -> BindTarget:
    """Make a shareable region in a dynamic LD, granted to these hosts; return its target."""
    region = BindTarget("SW", "M1", 3, region=0)
    index.put_unit(replace(index.units["M1.3"], binder=Binder.NOTHING, exclusive=False))
    index.put_unit(replace(index.units["M1"], exclusive=False))
    allocation = Allocation("F", region, 512, "R", shareable=True)
    index.put_region(Region("R", "M1.3", "pool", 0, 512, shareable=True, allocation=allocation))
    for host in hosts:
        grant = RegionGrant("R", frozenset())
        asked = connection(f"c{host}", f"I{host}", "T-M1.3")
        index.put_connection(replace(asked, regions=(grant,)))
    return region


def test_a_shared_region_may_be_seen_for_every_host_that_has_a_grant(index: FabricIndex) -> None:
    region = share(index, 1, 2)
    bound = [binding("R", host, target=region) for host in (1, 2)]
    assert judged(index, *bound) == []


def test_a_grant_of_another_host_entitles_nobody_to_a_shared_region(index: FabricIndex) -> None:
    region = share(index, 1)
    bound = [binding("R", host, target=region) for host in (1, 2)]
    assert judged(index, *bound) == [
        Violation(Rule.HOST_SHARING, "R", "c1", None, ("H2", "H1")),
    ]


def test_a_part_that_nobody_made_is_judged_as_what_it_lies_in(index: FabricIndex) -> None:
    share(index, 1)
    strange = binding("?", 2, target=BindTarget("SW", "M1", 3, region=5))
    assert [violation.subject for violation in judged(index, strange)] == ["M1.3"]
