"""What a `connection-grants` fabric (NVMe over Fabrics) refuses, and the twins.

Zones limit where there are any; a namespace has one host unless it is shareable.
"""

from dataclasses import replace

from redfish_fm.fabric import zoning
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import (
    Access,
    Binder,
    EndpointGroup,
    Rule,
    Violation,
    Volume,
    Zone,
    ZoneType,
)
from tests.fabric.builders import a_fabric, connection, target_of, zone
from tests.fabric.devices import a_volume, granting, subsystem
from tests.fabric.scenario import Table, known, patch, post

CONNECTION_GRANTS = Table("connection-grants")


def _fabric(*volumes: str, shareable: bool = False) -> FabricIndex:
    """Two hosts and a subsystem N with these namespaces."""
    index = subsystem(a_fabric(hosts=3, slds=0, mlds=0, kind=FabricKind.CONNECTION_GRANTS))
    for id_ in volumes:
        index.put_volume(a_volume(index, id_, shareable=shareable))
    return index


def _granted(shareable: bool = False) -> FabricIndex:
    """Namespace v1 is host 1's."""
    index = _fabric("v1", "v2", shareable=shareable)
    index.put_connection(granting("c1", ("I1",), ("T-N",), volumes=("v1",)))
    return index


# -- rule 1 -----------------------------------------------------------------------------------


@CONNECTION_GRANTS.illegal(Rule.HOST_SHARING)
def a_namespace_for_a_second_host() -> list[Violation]:
    return post(_granted(), granting("c2", ("I2",), ("T-N",), volumes=("v1",)))


@CONNECTION_GRANTS.legal
def a_shareable_namespace_for_a_second_host() -> list[Violation]:
    return post(_granted(shareable=True), granting("c2", ("I2",), ("T-N",), volumes=("v1",)))


@CONNECTION_GRANTS.legal
def another_namespace_for_a_second_host() -> list[Violation]:
    return post(_granted(), granting("c2", ("I2",), ("T-N",), volumes=("v2",)))


@CONNECTION_GRANTS.legal
def the_same_namespace_for_the_same_host() -> list[Violation]:
    return post(_granted(), granting("c2", ("I1",), ("T-N",), volumes=("v1",)))


@CONNECTION_GRANTS.illegal(Rule.HOST_SHARING)
def two_hosts_in_one_connection_to_a_namespace() -> list[Violation]:
    return post(_fabric("v1"), granting("c1", ("I1", "I2"), ("T-N",), volumes=("v1",)))


@CONNECTION_GRANTS.illegal(Rule.HOST_SHARING, Rule.CONNECTION_CHUNK_MISSING)
def the_whole_subsystem_while_another_host_has_a_namespace() -> list[Violation]:
    return post(_granted(), granting("c2", ("I2",), ("T-N",)))


@CONNECTION_GRANTS.illegal(Rule.HOST_SHARING)
def a_namespace_while_another_host_has_the_whole_subsystem() -> list[Violation]:
    index = _fabric("v1")
    index.put_connection(granting("c1", ("I1",), ("T-N",)))
    return post(index, granting("c2", ("I2",), ("T-N",), volumes=("v1",)))


@CONNECTION_GRANTS.illegal(Rule.CONNECTION_CHUNK_MISSING)
def a_subsystem_with_namespaces_without_naming_one() -> list[Violation]:
    return post(_fabric("v1"), granting("c1", ("I1",), ("T-N",)))


@CONNECTION_GRANTS.illegal(Rule.CONNECTION_CHUNK_MISSING)
def a_subsystem_without_any_namespace() -> list[Violation]:
    return post(_fabric(), granting("c1", ("I1",), ("T-N",)))


@CONNECTION_GRANTS.illegal(Rule.CONNECTION_CHUNK_MISSING)
def the_last_namespace_taken_out_of_a_connection() -> list[Violation]:
    index = _granted()
    return patch(index, replace(index.connections["c1"], volumes=()))


@CONNECTION_GRANTS.legal
def an_imported_connection_to_a_whole_subsystem_keeps_living() -> list[Violation]:
    index = _fabric("v1")
    index.put_connection(granting("c1", ("I1",), ("T-N",)))
    return patch(index, index.connections["c1"])


@CONNECTION_GRANTS.legal
def a_subsystem_without_exclusive_namespaces_that_two_hosts_have() -> list[Violation]:
    index = _fabric("v1", shareable=True)
    index.put_connection(granting("c1", ("I1",), ("T-N",)))
    index.put_connection(granting("c2", ("I2",), ("T-N",)))
    return patch(index, index.connections["c2"])


@CONNECTION_GRANTS.illegal(Rule.HOST_SHARING)
def an_exclusive_namespace_in_a_subsystem_that_two_hosts_reach() -> list[Violation]:
    index = _fabric("v1", shareable=True)
    index.put_connection(granting("c1", ("I1",), ("T-N",)))
    index.put_connection(granting("c2", ("I2",), ("T-N",)))
    return zoning.check_volume(index, a_volume(index, "new"), None)


@CONNECTION_GRANTS.legal
def a_shareable_namespace_in_a_subsystem_that_two_hosts_reach() -> list[Violation]:
    index = _fabric("v1", shareable=True)
    index.put_connection(granting("c1", ("I1",), ("T-N",)))
    index.put_connection(granting("c2", ("I2",), ("T-N",)))
    return zoning.check_volume(index, a_volume(index, "new", shareable=True), None)


@CONNECTION_GRANTS.illegal(Rule.HOST_SHARING, Rule.PART_IN_USE)
def a_namespace_of_two_hosts_that_stops_being_shareable() -> list[Violation]:
    index = _granted(shareable=True)
    index.put_connection(granting("c2", ("I2",), ("T-N",), volumes=("v1",)))
    held = index.volumes["v1"]
    return zoning.check_volume(index, replace(held, shareable=False), held)


@CONNECTION_GRANTS.illegal(Rule.HOST_SHARING)
def a_namespace_unit_by_connection_for_another_host() -> list[Violation]:
    index = a_fabric(kind=FabricKind.CONNECTION_GRANTS)
    index.put_connection(connection("c1", "I1", "T-D1"))
    return post(index, connection("c2", "I2", "T-D1"))


@CONNECTION_GRANTS.legal
def a_shareable_namespace_unit_by_connection_for_another_host() -> list[Violation]:
    index = a_fabric(kind=FabricKind.CONNECTION_GRANTS)
    index.put_unit(replace(index.units["D1"], exclusive=False, binder=Binder.CONNECTION))
    index.put_connection(connection("c1", "I1", "T-D1"))
    return post(index, connection("c2", "I2", "T-D1"))


@CONNECTION_GRANTS.legal
def a_zone_of_two_hosts_and_a_subsystem() -> list[Violation]:
    return post(_fabric("v1"), zone("z1", "I1", "I2", "T-N"))


# -- rule 3: zones limit ------------------------------------------------------------------------


@CONNECTION_GRANTS.illegal(Rule.CONNECTION_NO_COMMON_ZONE)
def a_connection_of_which_one_end_is_zoned() -> list[Violation]:
    index = _fabric("v1")
    index.put_zone(zone("z1", "I1"))
    return post(index, granting("c1", ("I1",), ("T-N",), volumes=("v1",)))


@CONNECTION_GRANTS.legal
def a_connection_where_nothing_is_zoned() -> list[Violation]:
    return post(_fabric("v1"), granting("c1", ("I1",), ("T-N",), volumes=("v1",)))


@CONNECTION_GRANTS.legal
def a_connection_in_a_routing_default_zone() -> list[Violation]:
    index = _fabric("v1")
    index.put_zone(Zone("default", "F", ZoneType.DEFAULT, ("I1", "T-N"), (), True))
    return post(index, granting("c1", ("I1",), ("T-N",), volumes=("v1",)))


@CONNECTION_GRANTS.legal
def a_connection_without_targets() -> list[Violation]:
    return post(_fabric("v1"), granting("c1", ("I1",), volumes=("v1",)))


@CONNECTION_GRANTS.illegal(Rule.CONNECTION_NO_COMMON_ZONE)
def a_connection_without_targets_round_the_zones() -> list[Violation]:
    index = _fabric("v1")
    index.put_zone(zone("z1", "I2", "T-N"))
    return post(index, granting("c1", ("I1",), volumes=("v1",)))


@CONNECTION_GRANTS.legal
def a_connection_without_targets_within_a_zone() -> list[Violation]:
    index = _fabric("v1")
    index.put_zone(zone("z1", "I1", "T-N"))
    return post(index, granting("c1", ("I1",), volumes=("v1",)))


@CONNECTION_GRANTS.legal
def deleting_the_only_zone_of_a_connection() -> list[Violation]:
    index = _granted()
    index.put_zone(zone("z1", "I1", "T-N"))
    return zoning.check_zone_removal(index, "z1")


@CONNECTION_GRANTS.illegal(Rule.ZONE_IN_USE)
def deleting_the_common_zone_of_an_end_that_stays_zoned() -> list[Violation]:
    index = _granted()
    index.put_zone(zone("z1", "I1", "T-N"))
    index.put_zone(zone("z2", "I1"))
    return zoning.check_zone_removal(index, "z1")


@CONNECTION_GRANTS.illegal(Rule.ZONE_IN_USE)
def a_new_zone_that_parts_a_connection() -> list[Violation]:
    return post(_granted(), zone("z1", "I1"))


@CONNECTION_GRANTS.legal
def a_new_zone_with_both_ends_of_a_connection() -> list[Violation]:
    return post(_granted(), zone("z1", "I1", "T-N"))


@CONNECTION_GRANTS.illegal(Rule.ZONE_IN_USE)
def a_new_zone_that_parts_a_connection_without_targets() -> list[Violation]:
    index = _fabric("v1")
    index.put_connection(granting("c1", ("I1",), volumes=("v1",)))
    return post(index, zone("z1", "I2", "T-N"))


@CONNECTION_GRANTS.illegal(Rule.ZONE_IN_USE)
def routing_by_default_that_parts_a_connection() -> list[Violation]:
    index = _granted()
    index.put_zone(Zone("default", "F", ZoneType.DEFAULT, ("I1",)))
    return patch(index, Zone("default", "F", ZoneType.DEFAULT, ("I1",), (), True))


# -- rule 3: what is granted --------------------------------------------------------------------


@CONNECTION_GRANTS.illegal(Rule.CONNECTION_VOLUME_FOREIGN, Rule.CONNECTION_CHUNK_MISSING)
def a_volume_of_another_subsystem() -> list[Violation]:
    index = subsystem(_fabric("v1"), "M")
    return post(index, granting("c1", ("I1",), (target_of("M"),), volumes=("v1",)))


@CONNECTION_GRANTS.illegal(Rule.CONNECTION_VOLUME_FOREIGN)
def a_volume_of_another_fabric_without_targets() -> list[Violation]:
    index = a_fabric(fabric="G", prefix="G/", slds=0, mlds=0, into=_fabric())
    index = subsystem(index, "G/N", "G")
    index.put_volume(Volume("far", "G/N", None, 256))
    return post(index, granting("c1", ("I1",), volumes=("far",)))


@CONNECTION_GRANTS.illegal(Rule.UNKNOWN_MEMBER)
def a_volume_that_does_not_exist() -> list[Violation]:
    return post(_fabric("v1"), granting("c1", ("I1",), ("T-N",), volumes=("nothing",)))


@CONNECTION_GRANTS.illegal(Rule.CONNECTION_ACCESS)
def more_access_than_the_volume_has() -> list[Violation]:
    index = _fabric("v1")
    index.put_volume(replace(index.volumes["v1"], access=frozenset({Access.READ})))
    return post(index, granting("c1", ("I1",), ("T-N",), volumes=("v1",)))


@CONNECTION_GRANTS.legal
def exactly_the_access_of_the_volume() -> list[Violation]:
    index = _fabric("v1")
    read = frozenset({Access.READ})
    index.put_volume(replace(index.volumes["v1"], access=read))
    return post(index, granting("c1", ("I1",), ("T-N",), volumes=("v1",), access=read))


@CONNECTION_GRANTS.illegal(Rule.CONNECTION_LUN)
def one_lun_for_two_volumes() -> list[Violation]:
    wanted = granting("c1", ("I1",), ("T-N",), volumes=("v1", "v2"), luns=(7, 7))
    return post(_fabric("v1", "v2"), wanted)


@CONNECTION_GRANTS.legal
def two_luns_for_two_volumes() -> list[Violation]:
    wanted = granting("c1", ("I1",), ("T-N",), volumes=("v1", "v2"), luns=(7, 8))
    return post(_fabric("v1", "v2"), wanted)


@CONNECTION_GRANTS.legal
def the_service_chooses_both_luns() -> list[Violation]:
    return post(_fabric("v1", "v2"), granting("c1", ("I1",), ("T-N",), volumes=("v1", "v2")))


# -- groups ---------------------------------------------------------------------------------------


def _grouped() -> tuple[FabricIndex, EndpointGroup]:
    """Host 1 has v1 through the endpoint group g."""
    index, group = _fabric("v1", "v2"), EndpointGroup("g", "F", ("I1",))
    index.put_group(group)
    index.put_connection(granting("c1", targets=("T-N",), volumes=("v1",), from_groups=("g",)))
    return index, group


@CONNECTION_GRANTS.illegal(Rule.HOST_SHARING)
def a_second_host_in_the_group_of_a_connection() -> list[Violation]:
    index, group = _grouped()
    return zoning.check_group(index, replace(group, endpoints=("I1", "I2")), group, known)


@CONNECTION_GRANTS.legal
def another_host_in_the_place_of_the_only_one_of_a_group() -> list[Violation]:
    index, group = _grouped()
    return zoning.check_group(index, replace(group, endpoints=("I2",)), group, known)


@CONNECTION_GRANTS.legal
def another_host_in_a_group_that_two_connections_name() -> list[Violation]:
    """Both move together: neither takes the namespace from the other."""
    index, group = _grouped()
    index.put_connection(granting("c2", targets=("T-N",), volumes=("v1",), from_groups=("g",)))
    return zoning.check_group(index, replace(group, endpoints=("I2",)), group, known)


@CONNECTION_GRANTS.illegal(Rule.HOST_SHARING)
def a_target_in_a_group_that_connections_of_two_hosts_name() -> list[Violation]:
    """Each connection alone could have it: only together they share it."""
    index = a_fabric(kind=FabricKind.CONNECTION_GRANTS)
    group = EndpointGroup("g", "F", ())
    index.put_group(group)
    index.put_connection(granting("c1", ("I1",), to_groups=("g",)))
    index.put_connection(granting("c2", ("I2",), to_groups=("g",)))
    return zoning.check_group(index, replace(group, endpoints=("T-D1",)), group, known)


# -- rule 4: volumes ----------------------------------------------------------------------------


def _make(index: FabricIndex, volume: Volume) -> list[Violation]:
    return zoning.check_volume(index, volume, None)


@CONNECTION_GRANTS.legal
def a_volume_that_fits() -> list[Violation]:
    index = _fabric("v1")
    return _make(index, a_volume(index, "new", 4096 - 256))


@CONNECTION_GRANTS.illegal(Rule.POOL_EXHAUSTED)
def a_volume_bigger_than_what_is_left() -> list[Violation]:
    index = _fabric("v1")
    return _make(index, a_volume(index, "new", 4096))


@CONNECTION_GRANTS.illegal(Rule.POOL_EXHAUSTED)
def a_fifth_of_four_volumes() -> list[Violation]:
    index = _fabric("v1", "v2", "v3", "v4")
    return _make(index, a_volume(index, "new"))


@CONNECTION_GRANTS.illegal(Rule.PART_RANGE)
def a_volume_bigger_than_its_pool() -> list[Violation]:
    index = _fabric()
    return _make(index, a_volume(index, "new", 8192))


@CONNECTION_GRANTS.illegal(Rule.PART_SIZE)
def a_volume_of_an_odd_size() -> list[Violation]:
    index = _fabric()
    return _make(index, a_volume(index, "new", 100))


@CONNECTION_GRANTS.illegal(Rule.PART_OVERLAP)
def a_volume_with_the_number_of_another() -> list[Violation]:
    index = _fabric()
    made = a_volume(index, "new")
    index.put_volume(a_volume(index, "v1"))
    return _make(index, made)


@CONNECTION_GRANTS.illegal(Rule.NOT_CARVABLE)
def a_volume_without_a_pool() -> list[Violation]:
    return _make(_fabric(), Volume("new", "N", None, 256))


@CONNECTION_GRANTS.illegal(Rule.PART_IN_USE)
def deleting_a_granted_volume() -> list[Violation]:
    return zoning.check_volume_removal(_granted(), "v1")


@CONNECTION_GRANTS.legal
def deleting_a_volume_that_nobody_has() -> list[Violation]:
    return zoning.check_volume_removal(_granted(), "v2")
