"""What a `bind` fabric refuses where a device is more than one unit, and of its special zones.

Multi-host NICs, dual-ported drives, functions; EndpointGroups, Default zones, vPPBs bound by hand.
"""

from dataclasses import replace

from redfish_fm.fabric import zoning
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import (
    Endpoint,
    EndpointGroup,
    Role,
    Rule,
    Violation,
    VppbGrant,
    Zone,
    ZoneType,
)
from tests.fabric.builders import a_fabric, binding, connection, put_target, vppb, zone
from tests.fabric.devices import dual_ported, dynamic_ld, functions, granting, shared_nic
from tests.fabric.scenario import Table, known, patch, post

DEVICES = Table("bind, devices")


def _with(*zones: Zone, index: FabricIndex | None = None) -> FabricIndex:
    found = index or a_fabric(hosts=3, slds=2, initiators=2)
    for item in zones:
        found.put_zone(item)
    return found


# -- devices on several ports -------------------------------------------------------------------


@DEVICES.legal
def two_heads_of_a_shared_nic_for_two_hosts() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-NIC.1"), index=shared_nic(a_fabric()))
    return post(index, zone("z2", "I2", "T-NIC.2"))


@DEVICES.illegal(Rule.HOST_SHARING, Rule.ZONE_UNIT_TWICE)
def one_head_of_a_shared_nic_for_two_hosts() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-NIC.1"), index=shared_nic(a_fabric()))
    return post(index, zone("z2", "I2", "T-NIC.1"))


@DEVICES.legal
def both_ports_of_a_dual_ported_drive_for_one_host() -> list[Violation]:
    return post(dual_ported(a_fabric()), zone("z1", "I1", "T-W", "T-W.b"))


@DEVICES.illegal(Rule.HOST_SHARING, Rule.ZONE_UNIT_TWICE)
def the_ports_of_a_dual_ported_drive_for_two_hosts() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-W"), index=dual_ported(a_fabric()))
    return post(index, zone("z2", "I2", "T-W.b"))


@DEVICES.illegal(Rule.HOST_SHARING, Rule.ZONE_UNIT_TWICE)
def the_first_port_of_a_drive_whose_second_is_taken() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-W.b"), index=dual_ported(a_fabric()))
    return post(index, zone("z2", "I2", "T-W"))


def _whole(index: FabricIndex, unit: str) -> FabricIndex:
    """The device itself has an endpoint, though it is bound by its heads or functions only."""
    put_target(index, index.units[unit])
    return index


@DEVICES.illegal(Rule.NOT_BINDABLE)
def a_whole_nic_that_is_bound_by_its_heads() -> list[Violation]:
    return post(_whole(shared_nic(a_fabric()), "NIC"), zone("z1", "I1", "T-NIC"))


@DEVICES.illegal(Rule.NOT_BINDABLE)
def a_whole_device_that_is_bound_by_its_functions() -> list[Violation]:
    return post(_whole(functions(a_fabric()), "G"), zone("z1", "I1", "T-G"))


@DEVICES.illegal(Rule.NOT_BINDABLE)
def a_whole_device_next_to_one_that_can_be_bound() -> list[Violation]:
    index = shared_nic(a_fabric())
    both = Endpoint("both", "F", Role.TARGET, units=frozenset({"NIC", "D1"}))
    index.put_endpoint(both)
    return post(index, zone("z1", "I1", "both"))


@DEVICES.illegal(Rule.NOT_BINDABLE)
def a_connection_to_a_whole_nic_that_an_import_zoned() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-NIC"), index=_whole(shared_nic(a_fabric()), "NIC"))
    return post(index, connection("c1", "I1", "T-NIC"))


@DEVICES.legal
def an_imported_zone_with_a_whole_nic_keeps_living() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-NIC"), index=_whole(shared_nic(a_fabric()), "NIC"))
    return patch(index, index.zones["z1"])


@DEVICES.legal
def a_whole_mld_in_a_zone_whose_chunks_a_connection_may_name() -> list[Violation]:
    return post(_whole(a_fabric(), "M1"), zone("z1", "I1", "T-M1"))


@DEVICES.legal
def a_whole_dynamic_ld_whose_regions_a_connection_may_name() -> list[Violation]:
    return post(dynamic_ld(a_fabric()), zone("z1", "I1", "T-Y.0"))


# -- multi-function devices ---------------------------------------------------------------------


@DEVICES.legal
def two_physical_functions_for_two_hosts() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-G.0"), index=functions(a_fabric()))
    return post(index, zone("z2", "I2", "T-G.1"))


@DEVICES.legal
def two_virtual_functions_for_two_hosts() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-G.2"), index=functions(a_fabric()))
    return post(index, zone("z2", "I2", "T-G.3"))


@DEVICES.illegal(Rule.HOST_SHARING, Rule.ZONE_UNIT_TWICE)
def one_virtual_function_for_two_hosts() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-G.2"), index=functions(a_fabric()))
    return post(index, zone("z2", "I2", "T-G.2"))


@DEVICES.illegal(Rule.HOST_SHARING, Rule.ZONE_UNIT_TWICE)
def a_physical_function_whose_virtual_one_is_taken() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-G.2"), index=functions(a_fabric()))
    return post(index, zone("z2", "I2", "T-G.0"))


@DEVICES.legal
def a_virtual_function_beside_another_physical_one() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-G.2"), index=functions(a_fabric()))
    return post(index, zone("z2", "I2", "T-G.1"))


# -- endpoint groups ----------------------------------------------------------------------------


def _grouped(*members: str) -> tuple[FabricIndex, EndpointGroup]:
    """Host 1 has D1 by zone z1; connection c1 names group g as its initiators."""
    index = _with(zone("z1", "I1", "I1.2", "T-D1"))
    group = EndpointGroup("g", "F", members or ("I1",))
    index.put_group(group)
    index.put_connection(granting("c1", targets=("T-D1",), from_groups=("g",)))
    return index, group


@DEVICES.legal
def another_initiator_of_the_host_in_a_group() -> list[Violation]:
    index, group = _grouped()
    return zoning.check_group(index, replace(group, endpoints=("I1", "I1.2")), group, known)


@DEVICES.illegal(Rule.HOST_SHARING, Rule.CONNECTION_NO_COMMON_ZONE)
def another_host_in_a_group() -> list[Violation]:
    index, group = _grouped()
    return zoning.check_group(index, replace(group, endpoints=("I1", "I2")), group, known)


@DEVICES.illegal(Rule.CONNECTION_NO_COMMON_ZONE)
def an_initiator_outside_of_the_zone_in_a_group() -> list[Violation]:
    index, group = _grouped()
    index.put_zone(zone("z1", "I1", "T-D1"))
    return zoning.check_group(index, replace(group, endpoints=("I1", "I1.2")), group, known)


@DEVICES.illegal(Rule.NOT_BINDABLE)
def a_target_in_a_group_of_initiators() -> list[Violation]:
    index, group = _grouped()
    index.put_zone(zone("z1", "I1", "T-D1", "T-D2"))
    return zoning.check_group(index, replace(group, endpoints=("I1", "T-D2")), group, known)


@DEVICES.illegal(Rule.TARGET_UNAVAILABLE)
def an_absent_target_in_a_group_of_targets() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"))
    group = EndpointGroup("g", "F", ())
    index.put_group(group)
    index.put_connection(granting("c1", ("I1",), to_groups=("g",)))
    wanted = replace(group, endpoints=("T-D1",))
    return zoning.check_group(index, wanted, group, lambda _: ("Absent", None))


@DEVICES.illegal(Rule.UNKNOWN_MEMBER, Rule.DUPLICATE_MEMBER, Rule.FOREIGN_FABRIC)
def a_group_with_members_that_it_can_not_have() -> list[Violation]:
    index = a_fabric(fabric="G", prefix="G/", into=a_fabric())
    group = EndpointGroup("g", "F", ("I1", "I1", "nobody", "G/I1"))
    return zoning.check_group(index, group, None, known)


@DEVICES.legal
def a_group_of_anybody_that_no_connection_names() -> list[Violation]:
    group = EndpointGroup("g", "F", ("I1", "I2", "T-D1"))
    return zoning.check_group(a_fabric(), group, None, known)


@DEVICES.illegal(Rule.GROUP_IN_USE)
def deleting_a_group_that_a_connection_names() -> list[Violation]:
    return zoning.check_group_removal(_grouped()[0], "g")


@DEVICES.legal
def deleting_a_group_that_nobody_names() -> list[Violation]:
    index, _ = _grouped()
    index.remove_connection("c1")
    return zoning.check_group_removal(index, "g")


@DEVICES.illegal(Rule.ENDPOINT_IN_USE)
def deleting_an_endpoint_that_a_connection_has_by_a_group() -> list[Violation]:
    index, _ = _grouped("I1.2")
    index.put_zone(zone("z1", "I1", "T-D1"))
    return zoning.check_endpoint_removal(index, "I1.2")


@DEVICES.illegal(Rule.ZONE_IN_USE)
def taking_a_grouped_initiator_out_of_the_common_zone() -> list[Violation]:
    return patch(_grouped("I1.2")[0], zone("z1", "I1", "T-D1"))


@DEVICES.illegal(Rule.CONNECTION_SIDES)
def a_side_of_endpoints_and_groups() -> list[Violation]:
    index, _ = _grouped("I1.2")
    return post(index, granting("c2", ("I1",), ("T-D1",), from_groups=("g",)))


@DEVICES.legal
def a_side_of_groups() -> list[Violation]:
    index, _ = _grouped("I1.2")
    return post(index, granting("c2", targets=("T-D1",), from_groups=("g",)))


@DEVICES.illegal(Rule.UNKNOWN_MEMBER)
def a_connection_with_an_unknown_group() -> list[Violation]:
    return post(_grouped()[0], granting("c2", targets=("T-D1",), from_groups=("none",)))


@DEVICES.illegal(Rule.FOREIGN_FABRIC)
def a_connection_with_a_group_of_another_fabric() -> list[Violation]:
    index, _ = _grouped()
    index.put_group(EndpointGroup("far", "G", ()))
    return post(index, granting("c2", targets=("T-D1",), from_groups=("far",)))


# -- names that stand somewhere already ---------------------------------------------------------


@DEVICES.illegal(Rule.ENDPOINT_IN_USE)
def a_new_endpoint_whose_name_an_imported_zone_has() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1", "lost"))
    lost = Endpoint("lost", "F", Role.INITIATOR, host="H9")
    return zoning.check_endpoint(index, lost, None, has_entities=True)


@DEVICES.legal
def a_new_endpoint_whose_name_nobody_has() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1", "lost"))
    new = Endpoint("new", "F", Role.INITIATOR, host="H9")
    return zoning.check_endpoint(index, new, None, has_entities=True)


# -- endpoints that exclude each other ----------------------------------------------------------


def _excluding(one: str, *others: str) -> FabricIndex:
    index = a_fabric(slds=2)
    index.put_endpoint(replace(index.endpoints[one], excludes=frozenset(others)))
    return index


@DEVICES.illegal(Rule.MUTUALLY_EXCLUSIVE)
def a_zone_with_an_endpoint_and_one_that_it_excludes() -> list[Violation]:
    return post(_excluding("T-D1", "T-D2"), zone("z1", "I1", "T-D1", "T-D2"))


@DEVICES.illegal(Rule.MUTUALLY_EXCLUSIVE)
def a_zone_with_an_endpoint_and_one_that_excludes_it() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"), index=_excluding("T-D2", "T-D1"))
    return patch(index, zone("z1", "I1", "T-D1", "T-D2"))


@DEVICES.legal
def two_zones_with_endpoints_that_exclude_each_other() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"), index=_excluding("T-D1", "T-D2"))
    return post(index, zone("z2", "I1", "T-D2"))


@DEVICES.illegal(Rule.MUTUALLY_EXCLUSIVE)
def excluding_an_endpoint_of_the_same_zone() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1", "T-D2"))
    old = index.endpoints["T-D1"]
    new = replace(old, excludes=frozenset({"T-D2"}))
    return zoning.check_endpoint(index, new, old, has_entities=True)


@DEVICES.legal
def excluding_an_endpoint_of_another_zone() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"), zone("z2", "I2", "T-D2"))
    old = index.endpoints["T-D1"]
    new = replace(old, excludes=frozenset({"T-D2"}))
    return zoning.check_endpoint(index, new, old, has_entities=True)


# -- default zones ------------------------------------------------------------------------------


def _default(*members: str, routing: bool = False) -> Zone:
    return Zone("default", "F", ZoneType.DEFAULT, members, (), routing)


def _shareable(*zones: Zone) -> FabricIndex:
    """D2 may be shared."""
    index = a_fabric(slds=2)
    index.put_unit(replace(index.units["D2"], exclusive=False))
    return _with(*zones, index=index)


@DEVICES.illegal(Rule.DEFAULT_ROUTING)
def switching_routing_on_while_an_exclusive_unit_is_in() -> list[Violation]:
    return patch(_with(_default("T-D1")), _default("T-D1", routing=True))


@DEVICES.legal
def switching_routing_on_while_nothing_exclusive_is_in() -> list[Violation]:
    index = _shareable(_default("I1", "I2", "T-D2"))
    return patch(index, _default("I1", "I2", "T-D2", routing=True))


@DEVICES.illegal(Rule.DEFAULT_ROUTING)
def adding_an_exclusive_unit_while_routing_is_on() -> list[Violation]:
    index = _shareable(_default("I1", "T-D2", routing=True))
    return patch(index, _default("I1", "T-D2", "T-D1", routing=True))


@DEVICES.legal
def adding_a_shareable_unit_while_routing_is_on() -> list[Violation]:
    index = _shareable(_default("I1", routing=True))
    return patch(index, _default("I1", "T-D2", routing=True))


@DEVICES.legal
def adding_an_exclusive_unit_while_routing_is_off() -> list[Violation]:
    return patch(_with(_default("I1")), _default("I1", "T-D1"))


@DEVICES.legal
def taking_one_of_two_exclusive_units_out_of_an_imported_routing_zone() -> list[Violation]:
    index = _with(_default("T-D1", "T-D2", routing=True))
    return patch(index, _default("T-D2", routing=True))


@DEVICES.legal
def a_connection_in_a_routing_default_zone() -> list[Violation]:
    index = _shareable(_default("I1", "T-D2", routing=True))
    return post(index, connection("c1", "I1", "T-D2"))


@DEVICES.illegal(Rule.CONNECTION_NO_COMMON_ZONE)
def a_connection_in_a_default_zone_that_does_not_route() -> list[Violation]:
    index = _shareable(_default("I1", "T-D2"))
    return post(index, connection("c1", "I1", "T-D2"))


@DEVICES.illegal(Rule.ZONE_IN_USE)
def switching_routing_off_under_a_connection() -> list[Violation]:
    index = _shareable(_default("I1", "T-D2", routing=True))
    index.put_connection(connection("c1", "I1", "T-D2"))
    return patch(index, _default("I1", "T-D2"))


@DEVICES.illegal(Rule.CONNECTION_NO_COMMON_ZONE)
def a_connection_in_a_zone_of_zones() -> list[Violation]:
    index = _shareable(zone("z1", "I1"), zone("z2", "T-D2"))
    index.put_zone(Zone("zz", "F", ZoneType.ZONES, zones=("z1", "z2")))
    return post(index, connection("c1", "I1", "T-D2"))


@DEVICES.legal
def a_zone_of_the_zones_of_two_hosts() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"), zone("z2", "I2", "T-D2"))
    return post(index, Zone("zz", "F", ZoneType.ZONES, zones=("z1", "z2")))


@DEVICES.illegal(Rule.ENDPOINT_IN_USE)
def making_an_endpoint_exclusive_in_a_routing_default_zone() -> list[Violation]:
    index = _shareable(_default("I1", "T-D2", routing=True))
    old = index.endpoints["T-D2"]
    return zoning.check_endpoint(index, replace(old, units=frozenset({"D1"})), old, True)


# -- vPPBs bound by hand ------------------------------------------------------------------------


def _bound(host: int = 1) -> FabricIndex:
    """A client put D1 on the first vPPB of a host."""
    index = a_fabric(slds=2)
    index.put_vppb_grant(VppbGrant("v", "F", vppb(host), "D1", f"H{host}"))
    index.put_binding(binding("D1", host, holder="v"))
    return index


@DEVICES.legal
def a_free_unit_on_a_free_vppb() -> list[Violation]:
    return zoning.check_vppb(a_fabric(), vppb(1), "D1", "H1", holder="v")


@DEVICES.legal
def another_unit_on_ones_own_vppb() -> list[Violation]:
    return zoning.check_vppb(_bound(), vppb(1), "D2", "H1", holder="v")


@DEVICES.legal
def freeing_ones_own_vppb() -> list[Violation]:
    return zoning.check_vppb(_bound(), vppb(1), None, "H1", holder="v")


@DEVICES.illegal(Rule.HOST_SHARING, Rule.ZONE_UNIT_TWICE)
def a_unit_of_another_hosts_zone_on_a_vppb() -> list[Violation]:
    index = _with(zone("z1", "I2", "T-D1"))
    return zoning.check_vppb(index, vppb(1), "D1", "H1", holder="v")


@DEVICES.illegal(Rule.ZONE_UNIT_TWICE)
def a_unit_of_a_zone_of_the_same_host_on_a_vppb() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"))
    return zoning.check_vppb(index, vppb(1, 1), "D1", "H1", holder="v")


@DEVICES.illegal(Rule.HOST_SHARING, Rule.ZONE_UNIT_TWICE)
def a_unit_of_another_hosts_vppb_in_a_zone() -> list[Violation]:
    return post(_bound(), zone("z1", "I2", "T-D1"))


@DEVICES.illegal(Rule.ZONE_UNIT_TWICE)
def a_unit_of_ones_own_vppb_in_a_zone() -> list[Violation]:
    return post(_bound(), zone("z1", "I1", "T-D1"))


@DEVICES.illegal(Rule.VPPB_HELD)
def a_unit_on_a_vppb_that_a_zone_uses() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D2"))
    index.put_binding(binding("D2", 1, holder="z1"))
    return zoning.check_vppb(index, vppb(1), "D1", "H1", holder="v")


@DEVICES.illegal(Rule.VPPB_HELD)
def freeing_a_vppb_that_a_zone_uses() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D2"))
    index.put_binding(binding("D2", 1, holder="z1"))
    return zoning.check_vppb(index, vppb(1), None, "H1", holder="v")


@DEVICES.illegal(Rule.VPPB_WRONG_UNIT)
def an_mld_on_a_vppb() -> list[Violation]:
    return zoning.check_vppb(a_fabric(), vppb(1), "M1", "H1", holder="v")


@DEVICES.illegal(Rule.VPPB_WRONG_UNIT)
def a_unit_behind_another_switch_on_a_vppb() -> list[Violation]:
    index = a_fabric(fabric="G", prefix="G/", into=a_fabric())
    return zoning.check_vppb(index, vppb(1), "G/D1", "H1", holder="v")


@DEVICES.illegal(Rule.TARGET_UNAVAILABLE)
def an_absent_unit_on_a_vppb() -> list[Violation]:
    absent = ("Absent", None)
    return zoning.check_vppb(a_fabric(), vppb(1), "D1", "H1", holder="v", status=lambda _: absent)
