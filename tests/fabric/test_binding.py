"""What zones and connections want bound, and what a change does to recorded bindings."""

from dataclasses import replace

import pytest

from redfish_fm.fabric.binding import (
    BindingDelta,
    binding_delta,
    binding_deltas,
    wanted_by_connection,
    wanted_by_vppb,
    wanted_by_zone,
)
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import LD_FM_OWNED, BindTarget, FabricKind, VppbId
from redfish_fm.fabric.values import (
    Allocation,
    Binder,
    Chunk,
    Connection,
    EndpointGroup,
    Region,
    RegionGrant,
    Rule,
    Unit,
    Volume,
    VolumeGrant,
    Zone,
    ZoneType,
)
from tests.fabric.builders import a_fabric, binding, connection, put_target, vppb, zone


@pytest.fixture
def index() -> FabricIndex:
    return a_fabric(hosts=2, slds=3, vppbs=2)


def test_a_zone_wants_its_zone_bound_units_for_its_one_host(index: FabricIndex) -> None:
    wanted = wanted_by_zone(index, zone("z", "S", "I1", "T-D1", "T-M1.0", "T-D2"))
    assert wanted == {("D1", "H1"), ("D2", "H1")}


@pytest.mark.parametrize("members", [("T-D1",), ("I1", "I2", "T-D1"), ("I1", "S"), ()])
def test_a_zone_without_exactly_one_host_wants_nothing(
    index: FabricIndex, members: tuple[str, ...]
) -> None:
    assert wanted_by_zone(index, zone("z", *members)) == frozenset()


def test_a_default_zone_wants_nothing_even_if_it_routes(index: FabricIndex) -> None:
    default = Zone("z", "F", ZoneType.DEFAULT, ("I1", "T-D1"), routing=True)
    assert wanted_by_zone(index, default) == frozenset()


@pytest.mark.parametrize("kind", [FabricKind.ZONE_GRANTS, FabricKind.REACH])
def test_other_kinds_of_fabric_want_nothing_bound(kind: FabricKind) -> None:
    index = a_fabric(kind=kind)
    index.put_unit(Unit("D1", "F", Binder.ZONE, target=BindTarget("SW", "D1")))
    assert wanted_by_zone(index, zone("z", "I1", "T-D1")) == frozenset()
    assert wanted_by_connection(index, connection("c", "I1", "T-M1.0", "C-M1.0")) == frozenset()


def test_units_that_no_driver_can_bind_are_not_wanted(index: FabricIndex) -> None:
    index.put_unit(replace(index.units["D1"], target=None))
    index.put_unit(replace(index.units["D2"], binder=Binder.NOTHING))
    assert wanted_by_zone(index, zone("z", "I1", "T-D1", "T-D2")) == frozenset()


def test_a_zone_and_a_connection_want_nothing_of_another_fabric(index: FabricIndex) -> None:
    a_fabric(fabric="G", prefix="G/", into=index)
    put_target(index, index.units["G/D1"], "T-alias")
    index.put_endpoint(replace(index.endpoints["T-alias"], fabric="F"))
    assert wanted_by_zone(index, zone("z", "I1", "T-alias")) == frozenset()
    asked = connection("c", "I1", "G/T-M1.0", "G/C-M1.0")
    assert wanted_by_connection(index, asked) == frozenset()


def test_a_connection_wants_the_lds_of_its_chunks_only(index: FabricIndex) -> None:
    both = ["T-M1.0", "T-M1.1"]
    assert wanted_by_connection(index, connection("c", "I1", both, "C-M1.1")) == {("M1.1", "H1")}
    assert wanted_by_connection(index, connection("c", "I1", both)) == frozenset()


def test_a_connection_to_a_chunk_of_a_zone_bound_unit_wants_nothing(index: FabricIndex) -> None:
    index.put_chunk(Chunk("C-D1", "D1", 0, 1))
    assert wanted_by_connection(index, connection("c", "I1", "T-D1", "C-D1")) == frozenset()


def test_without_zones_a_connection_wants_what_else_zones_would() -> None:
    index = a_fabric(zoned=False)
    assert wanted_by_connection(index, connection("c", "I1", "T-D1")) == {("D1", "H1")}
    assert wanted_by_connection(index, connection("c", "I1", "T-M1.0")) == frozenset()
    index.put_chunk(Chunk("C-D1", "D1", 0, 1))
    assert wanted_by_connection(index, connection("c", "I1", "T-D1", "C-D1")) == {("D1", "H1")}
    assert wanted_by_connection(index, connection("c", ["I1", "I2"], "T-D1")) == frozenset()


def test_without_zones_a_host_without_a_virtual_switch_is_waited_for() -> None:
    index = a_fabric(zoned=False)
    index.put_endpoint(replace(index.endpoints["I1"], host="nowhere"))
    assert wanted_by_connection(index, connection("c", "I1", "T-D1")) == frozenset()


def test_the_fm_owned_ld_is_never_wanted(index: FabricIndex) -> None:
    target = BindTarget("SW", "M1", LD_FM_OWNED)
    put_target(index, Unit("FM", "F", Binder.CONNECTION, target=target))
    index.put_chunk(Chunk("C-FM", "FM", 0, 1))
    assert wanted_by_connection(index, connection("c", "I1", "T-FM", "C-FM")) == frozenset()


def delta(index: FabricIndex, *wanted: tuple[str, str], holder: str = "z") -> BindingDelta:
    return binding_delta(index, holder, frozenset(wanted), ())


def test_new_claims_get_the_lowest_free_vppbs_in_order(index: FabricIndex) -> None:
    found = delta(index, ("D2", "H1"), ("D1", "H1"))
    assert found == BindingDelta(granted=(binding("D1", 1, 0), binding("D2", 1, 1)))


def test_the_same_claims_again_change_nothing(index: FabricIndex) -> None:
    index.put_binding(binding("D1", 1))
    assert delta(index, ("D1", "H1")) == BindingDelta()


def test_an_occupied_vppb_is_not_chosen(index: FabricIndex) -> None:
    found = binding_delta(index, "z", frozenset({("D1", "H1")}), {vppb(1, 0)})
    assert found.granted == (binding("D1", 1, 1),)


def test_a_claim_that_leaves_is_released(index: FabricIndex) -> None:
    index.put_binding(binding("D1", 1))
    assert delta(index) == BindingDelta(released=(binding("D1", 1),))


def test_a_binding_lives_as_long_as_its_last_holder(index: FabricIndex) -> None:
    mine = binding("M1.0", 1, holder="c1")
    index.put_binding(mine)
    shared = replace(mine, holders=frozenset({"c1", "c2"}))
    assert delta(index, ("M1.0", "H1"), holder="c2") == BindingDelta(changed=((mine, shared),))
    index.put_binding(shared)
    assert delta(index, holder="c2") == BindingDelta(changed=((shared, mine),))
    index.put_binding(mine)
    assert delta(index, holder="c1") == BindingDelta(released=(mine,))


def test_a_full_virtual_switch_is_a_violation_that_names_unit_and_host(
    index: FabricIndex,
) -> None:
    found = delta(index, ("D1", "H1"), ("D2", "H1"), ("D3", "H1"))
    assert [item.unit for item in found.granted] == ["D1", "D2"]
    (refused,) = found.violations
    assert (refused.rule, refused.subject) == (Rule.NO_FREE_VPPB, "T-D3")
    assert refused.others == ("H1", "D3")


def test_a_host_without_a_virtual_switch_there_has_no_path(index: FabricIndex) -> None:
    (refused,) = delta(index, ("D1", "H9")).violations
    assert (refused.rule, refused.subject) == (Rule.NO_PATH, "T-D1")


def test_a_swap_in_a_full_virtual_switch_takes_over_the_vppb_that_it_frees(
    index: FabricIndex,
) -> None:
    index.put_binding(binding("D1", 1, 0))
    index.put_binding(binding("D2", 1, 1, holder="another"))
    found = delta(index, ("D3", "H1"))
    assert found == BindingDelta(granted=(binding("D3", 1, 0),), released=(binding("D1", 1, 0),))


def test_a_swap_prefers_a_vppb_that_is_free_already(index: FabricIndex) -> None:
    index.put_binding(binding("D1", 1, 0))
    assert delta(index, ("D3", "H1")).granted == (binding("D3", 1, 1),)


def test_a_zone_may_pass_its_unit_to_another_host(index: FabricIndex) -> None:
    index.put_binding(binding("D1", 1))
    found = delta(index, ("D1", "H2"))
    assert found == BindingDelta(granted=(binding("D1", 2),), released=(binding("D1", 1),))


def test_a_unit_that_another_holder_has_bound_for_another_host_is_refused(
    index: FabricIndex,
) -> None:
    index.put_binding(binding("D1", 1, holder="another"))
    found = delta(index, ("D1", "H2"))
    (refused,) = found.violations
    assert (refused.rule, refused.holder, found.granted) == (Rule.HOST_SHARING, "another", ())


# -- parts of pools, several hosts, several holders ---------------------------------------------


def put_region(index: FabricIndex, shareable: bool) -> None:
    target = BindTarget("SW", "M1", 3, region=0)
    index.put_unit(replace(index.units["M1"], exclusive=False))
    index.put_unit(replace(index.units["M1.3"], binder=Binder.NOTHING, exclusive=False))
    allocation = Allocation("F", target, 512, "R", shareable)
    region = Region("R", "M1.3", "pool", 0, 512, shareable=shareable, allocation=allocation)
    index.put_region(region)


def of_region(*initiators: str) -> Connection:
    asked = connection("c", initiators, "T-M1.3")
    return replace(asked, regions=(RegionGrant("R", frozenset()),))


def test_a_connection_wants_the_regions_and_volumes_that_it_names(index: FabricIndex) -> None:
    put_region(index, shareable=False)
    assert wanted_by_connection(index, of_region("I1")) == {("R", "H1")}


def test_on_a_fabric_of_kind_connection_grants_a_connection_binds_its_volumes() -> None:
    index = a_fabric(kind=FabricKind.CONNECTION_GRANTS, mlds=0)
    target = BindTarget("SW", "P", namespace=1)
    index.put_volume(Volume("V", "D1", None, 1024, fabric="F", target=target))
    asked = replace(connection("c", "I1", ()), volumes=(VolumeGrant("V", frozenset()),))
    assert wanted_by_connection(index, asked) == {("V", "H1")}


def test_what_is_shareable_is_wanted_for_every_host_what_is_exclusive_for_none_of_several(
    index: FabricIndex,
) -> None:
    put_region(index, shareable=True)
    assert wanted_by_connection(index, of_region("I1", "I2")) == {("R", "H1"), ("R", "H2")}
    put_region(index, shareable=False)
    assert wanted_by_connection(index, of_region("I1", "I2")) == frozenset()


def test_the_members_of_a_group_are_hosts_like_any_other(index: FabricIndex) -> None:
    put_region(index, shareable=True)
    index.put_group(EndpointGroup("G", "F", ("I1", "I2")))
    asked = replace(of_region(), initiator_groups=("G",))
    assert wanted_by_connection(index, asked) == {("R", "H1"), ("R", "H2")}


def test_a_shareable_unit_is_bound_once_for_each_host_and_says_so(index: FabricIndex) -> None:
    put_region(index, shareable=True)
    found = delta(index, ("R", "H1"), ("R", "H2"), holder="c")
    assert [(each.host, each.shared) for each in found.granted] == [("H1", True), ("H2", True)]
    for each in found.granted:
        index.put_binding(each)
    again = delta(index, ("R", "H2"), holder="another")
    assert [after.holders for _, after in again.changed] == [{"c", "another"}]
    assert (again.granted, again.violations) == ((), ())


def test_an_exclusive_unit_is_not_bound_as_shared(index: FabricIndex) -> None:
    (granted,) = delta(index, ("D1", "H1")).granted
    assert not granted.shared


def test_a_vppb_wants_the_one_zone_bound_unit_that_a_client_put_there(index: FabricIndex) -> None:
    assert wanted_by_vppb(index, vppb(1, 1), "D1") == {("D1", "H1")}
    assert wanted_by_vppb(index, vppb(1, 1), None) == frozenset()
    assert wanted_by_vppb(index, vppb(9), "D1") == frozenset()
    assert wanted_by_vppb(index, vppb(1, 1), "M1.0") == frozenset()
    assert wanted_by_vppb(index, vppb(1, 1), "unknown") == frozenset()
    far = replace(index.units["D2"], target=BindTarget("other", "D2"))
    index.put_unit(far)
    assert wanted_by_vppb(index, vppb(1, 1), "D2") == frozenset()


def fixed(index: FabricIndex, unit: str, number: int, *occupied: VppbId) -> BindingDelta:
    claims = frozenset({(unit, "H1")})
    return binding_delta(index, "z", claims, occupied, fixed={unit: vppb(1, number)})


def test_a_fixed_vppb_is_the_one_that_is_chosen(index: FabricIndex) -> None:
    assert fixed(index, "D1", 1).granted == (binding("D1", 1, 1),)


def test_a_fixed_vppb_that_is_occupied_or_wanted_by_another_is_refused(index: FabricIndex) -> None:
    (refused,) = fixed(index, "D1", 1, vppb(1, 1)).violations
    assert refused.rule is Rule.NO_FREE_VPPB
    index.put_binding(binding("D2", 1, 1, holder="another"))
    (refused,) = fixed(index, "D1", 1).violations
    assert refused.rule is Rule.NO_FREE_VPPB


def test_a_fixed_vppb_may_pass_from_one_unit_of_its_holder_to_the_next(index: FabricIndex) -> None:
    index.put_binding(binding("D1", 1, 1))
    found = fixed(index, "D2", 1)
    assert found == BindingDelta(granted=(binding("D2", 1, 1),), released=(binding("D1", 1, 1),))


def test_a_unit_that_another_holder_has_elsewhere_can_not_be_fixed(index: FabricIndex) -> None:
    index.put_binding(binding("D1", 1, 0, holder="another"))
    (refused,) = fixed(index, "D1", 1).violations
    assert (refused.rule, refused.holder) == (Rule.VPPB_HELD, "another")


def test_a_host_is_not_given_a_shareable_unit_twice(index: FabricIndex) -> None:
    index.put_unit(replace(index.units["D1"], exclusive=False))
    index.put_binding(binding("D1", 1, 0, holder="another"))
    (refused,) = fixed(index, "D1", 1).violations
    assert refused.rule is Rule.VPPB_HELD


def test_several_holders_change_in_one_delta(index: FabricIndex) -> None:
    index.put_binding(binding("M1.0", 1, 0, holder="c1"))
    wanted = {"c1": frozenset[tuple[str, str]](), "c2": frozenset({("M1.1", "H1")})}
    found = binding_deltas(index, wanted, ())
    assert found.released == (binding("M1.0", 1, 0, holder="c1"),)
    assert found.granted == (binding("M1.1", 1, 1, holder="c2"),)


def test_two_holders_that_want_the_same_get_one_binding(index: FabricIndex) -> None:
    claims = frozenset({("M1.0", "H1")})
    (granted,) = binding_deltas(index, {"c1": claims, "c2": claims}, ()).granted
    assert granted.holders == {"c1", "c2"}


def test_what_one_holder_gives_up_and_another_takes_stays_bound(index: FabricIndex) -> None:
    before = binding("M1.0", 1, 0, holder="c1")
    index.put_binding(before)
    wanted = {"c1": frozenset[tuple[str, str]](), "c2": frozenset({("M1.0", "H1")})}
    after = replace(before, holders=frozenset({"c2"}))
    assert binding_deltas(index, wanted, ()) == BindingDelta(changed=((before, after),))


@pytest.mark.parametrize(
    ("bound", "asked"), [("D1", "D2"), ("D2", "D1"), ("D1", "D3"), ("D3", "D1")]
)
def test_what_is_bound_whole_or_by_another_way_is_bound_for_no_second_host(
    index: FabricIndex, bound: str, asked: str
) -> None:
    for unit, within in (("D2", "D1"), ("D3", "D2")):
        before = index.units[unit]
        index.remove_unit(unit)
        index.put_unit(replace(before, within=within))
    index.put_binding(binding(bound, 1))
    delta = binding_delta(index, "y", frozenset({(asked, "H2")}), frozenset())
    assert delta.granted == ()
    assert [each.rule for each in delta.violations] == [Rule.HOST_SHARING]
    assert binding_delta(index, "y", frozenset({(asked, "H1")}), frozenset()).violations == ()
    moved = binding_deltas(index, {"z": frozenset(), "y": frozenset({(asked, "H2")})}, frozenset())
    assert (moved.violations, [each.unit for each in moved.granted]) == ((), [asked])
