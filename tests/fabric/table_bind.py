"""What a `bind` fabric (PCIe, CXL) refuses of zones, connections and endpoints, and the twins."""

from dataclasses import replace

from redfish_fm.fabric import zoning
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import LD_FM_OWNED, BindTarget
from redfish_fm.fabric.values import (
    Access,
    Binder,
    Chunk,
    Endpoint,
    Role,
    Rule,
    Unit,
    Violation,
    Zone,
    ZoneType,
)
from tests.fabric.builders import a_fabric, connection, put_target, zone
from tests.fabric.scenario import Table, known, patch, post

BIND = Table("bind")


def _with(*zones: Zone, index: FabricIndex | None = None) -> FabricIndex:
    found = index or a_fabric(hosts=3, slds=2, initiators=2)
    for item in zones:
        found.put_zone(item)
    return found


def _zoned_pair(target: str = "T-M1.0") -> FabricIndex:
    return _with(zone("z1", "I1", target))


# -- rule 1 -----------------------------------------------------------------------------------


@BIND.illegal(Rule.HOST_SHARING)
def ld_of_another_host_in_a_zone() -> list[Violation]:
    return post(_with(zone("z1", "I1", "T-M1.0")), zone("z2", "I2", "T-M1.0"))


@BIND.legal
def ld_of_the_same_host_in_a_second_zone() -> list[Violation]:
    return post(_with(zone("z1", "I1", "T-M1.0")), zone("z2", "I1.2", "T-M1.0"))


@BIND.legal
def another_ld_of_the_same_mld_for_another_host() -> list[Violation]:
    return post(_with(zone("z1", "I1", "T-M1.0")), zone("z2", "I2", "T-M1.1"))


@BIND.illegal(Rule.HOST_SHARING)
def whole_mld_while_another_host_has_an_ld() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-M1.0"))
    put_target(index, index.units["M1"])
    return post(index, zone("z2", "I2", "T-M1"))


@BIND.illegal(Rule.HOST_SHARING)
def ld_while_another_host_has_the_whole_mld() -> list[Violation]:
    index = a_fabric()
    put_target(index, index.units["M1"])
    index.put_zone(zone("z1", "I1", "T-M1"))
    return post(index, zone("z2", "I2", "T-M1.0"))


@BIND.illegal(Rule.HOST_SHARING, Rule.ZONE_MANY_HOSTS)
def adding_another_hosts_initiator_beside_an_ld() -> list[Violation]:
    return patch(_zoned_pair(), zone("z1", "I1", "T-M1.0", "I2"))


@BIND.illegal(Rule.HOST_SHARING, Rule.LD_HOST, Rule.SHARING_NEEDS_REGION)
def one_connection_for_two_hosts_where_nothing_is_zoned() -> list[Violation]:
    index = a_fabric(zoned=False)
    index.put_connection(connection("c1", "I1", "T-M1.0", "C-M1.0"))
    return zoning.check_connection(
        index, connection("c2", ["I1", "I2"], "T-M1.0", "C-M1.0"), None, known
    )


@BIND.illegal(Rule.HOST_SHARING)
def whole_device_by_connection_for_another_host() -> list[Violation]:
    index = a_fabric(zoned=False)
    index.put_connection(connection("c1", "I1", "T-D1"))
    return zoning.check_connection(index, connection("c2", "I2", "T-D1"), None, known)


# -- rule 2 -----------------------------------------------------------------------------------


@BIND.illegal(Rule.ZONE_MANY_HOSTS, Rule.HOST_SHARING)
def two_hosts_beside_an_exclusive_unit() -> list[Violation]:
    return post(_with(), zone("z1", "I1", "I2", "T-D1"))


@BIND.legal
def two_initiators_of_one_host_beside_an_exclusive_unit() -> list[Violation]:
    return post(_with(), zone("z1", "I1", "I1.2", "T-D1"))


@BIND.legal
def two_hosts_without_a_target() -> list[Violation]:
    return post(_with(), zone("z1", "I1", "I2", "S"))


@BIND.legal
def two_hosts_beside_a_shareable_unit() -> list[Violation]:
    index = _with()
    index.put_unit(replace(index.units["D1"], exclusive=False))
    return post(index, zone("z1", "I1", "I2", "T-D1"))


@BIND.illegal(Rule.ZONE_UNIT_TWICE)
def zone_bound_unit_in_a_second_zone_of_the_same_host() -> list[Violation]:
    return post(_with(zone("z1", "I1", "T-D1")), zone("z2", "I1.2", "T-D1"))


@BIND.illegal(Rule.ZONE_UNIT_TWICE)
def zone_bound_unit_in_a_second_zone_without_a_host() -> list[Violation]:
    return post(_with(zone("z1", "I1", "T-D1")), zone("z2", "T-D1"))


@BIND.illegal(Rule.ZONE_UNIT_TWICE)
def zone_bound_unit_again_under_another_endpoint() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"))
    index.put_endpoint(replace(index.endpoints["T-D1"], id="T-again"))
    return patch(_with(zone("z2", "I1"), index=index), zone("z2", "I1", "T-again"))


@BIND.legal
def zone_bound_unit_after_its_zone_is_gone() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"))
    index.remove_zone("z1")
    return post(index, zone("z2", "I2", "T-D1"))


@BIND.legal
def another_zone_bound_unit_in_a_second_zone() -> list[Violation]:
    return post(_with(zone("z1", "I1", "T-D1")), zone("z2", "I2", "T-D2"))


@BIND.legal
def switch_endpoint_in_any_number_of_zones() -> list[Violation]:
    return post(_with(zone("z1", "I1", "S"), zone("z2", "I2", "S")), zone("z3", "I3", "S"))


# -- rule 3 -----------------------------------------------------------------------------------


def _connect(
    index: FabricIndex, *args: str, access: frozenset[Access] | None = None
) -> list[Violation]:
    wanted = connection("c1", *args)
    if access is not None:
        wanted = connection("c1", *args, access=access)
    return zoning.check_connection(index, wanted, None, known)


@BIND.legal
def connection_within_a_zone() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0", "C-M1.0")


@BIND.illegal(Rule.CONNECTION_NO_COMMON_ZONE)
def connection_across_zones() -> list[Violation]:
    index = _with(zone("z1", "I1", "S"), zone("z2", "T-M1.0", "S"))
    return _connect(index, "I1", "T-M1.0", "C-M1.0")


@BIND.illegal(Rule.CONNECTION_CHUNK_FOREIGN, Rule.CONNECTION_CHUNK_MISSING)
def connection_with_a_chunk_of_another_ld() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0", "C-M1.1")


@BIND.legal
def connection_to_a_whole_mld_with_a_chunk_of_one_of_its_lds() -> list[Violation]:
    index = a_fabric()
    put_target(index, index.units["M1"])
    return _connect(_with(zone("z1", "I1", "T-M1"), index=index), "I1", "T-M1", "C-M1.0")


@BIND.illegal(Rule.CONNECTION_CHUNK_FOREIGN)
def connection_with_its_own_chunk_and_one_of_another_ld() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0", "C-M1.0", "C-M1.1")


@BIND.illegal(Rule.CONNECTION_CHUNK_MISSING)
def connection_to_an_ld_without_a_chunk() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0")


@BIND.legal
def connection_to_a_whole_device_without_a_chunk() -> list[Violation]:
    return _connect(_zoned_pair("T-D1"), "I1", "T-D1")


@BIND.illegal(Rule.CONNECTION_ACCESS)
def connection_with_more_access_than_the_chunk_has() -> list[Violation]:
    index = _zoned_pair()
    index.put_chunk(replace(index.chunks["C-M1.0"], access=frozenset({Access.READ})))
    return _connect(index, "I1", "T-M1.0", "C-M1.0")


@BIND.legal
def connection_with_exactly_the_chunks_access() -> list[Violation]:
    index = _zoned_pair()
    index.put_chunk(replace(index.chunks["C-M1.0"], access=frozenset({Access.READ})))
    return _connect(index, "I1", "T-M1.0", "C-M1.0", access=frozenset({Access.READ}))


# -- rule 4 -----------------------------------------------------------------------------------


def _region(index: FabricIndex) -> FabricIndex:
    """An LD that says it is shareable: the unit may be, the LD is still bound once."""
    index.put_unit(replace(index.units["M1.0"], exclusive=False))
    index.put_unit(replace(index.units["M1"], exclusive=False))
    index.put_chunk(Chunk("C-more", "M1.0", 1024, 1024))
    return index


@BIND.illegal(Rule.LD_HOST)
def two_hosts_with_chunks_of_one_ld() -> list[Violation]:
    index = _region(a_fabric(lds=1))
    index.put_zone(zone("z1", "I1", "I2", "T-M1.0"))
    index.put_connection(connection("c0", "I1", "T-M1.0", "C-M1.0"))
    return _connect(index, "I2", "T-M1.0", "C-more")


@BIND.legal
def one_host_with_two_chunks_of_one_ld() -> list[Violation]:
    index = _region(a_fabric(lds=1))
    index.put_zone(zone("z1", "I1", "I2", "T-M1.0"))
    index.put_connection(connection("c0", "I1", "T-M1.0", "C-M1.0"))
    return _connect(index, "I1", "T-M1.0", "C-more")


@BIND.illegal(Rule.LD_FM_OWNED)
def the_fm_owned_ld_in_a_zone() -> list[Violation]:
    index = _with()
    target = BindTarget("SW", "M1", LD_FM_OWNED)
    put_target(index, Unit("FM", "F", Binder.CONNECTION, target=target, within="M1"))
    return post(index, zone("z1", "I1", "T-FM"))


# -- rules 5 and 6 ----------------------------------------------------------------------------


@BIND.illegal(Rule.PORT_HAS_INITIATOR)
def a_second_initiator_on_a_port() -> list[Violation]:
    index = a_fabric()
    again = replace(index.endpoints["I1"], id="new", host="H9")
    return zoning.check_endpoint(index, again, None, has_entities=True)


@BIND.legal
def a_target_on_the_port_of_an_initiator() -> list[Violation]:
    index = a_fabric()
    ports = index.endpoints["I1"].ports
    target = Endpoint("new", "F", Role.TARGET, units=frozenset({"D1"}), ports=ports)
    return zoning.check_endpoint(index, target, None, has_entities=True)


@BIND.illegal(Rule.NOT_BINDABLE)
def a_new_endpoint_without_entities() -> list[Violation]:
    new = Endpoint("new", "F", Role.EXEMPT)
    return zoning.check_endpoint(a_fabric(), new, None, has_entities=False)


@BIND.legal
def an_imported_endpoint_without_entities_keeps_living() -> list[Violation]:
    index = a_fabric()
    old = index.endpoints["S"]
    return zoning.check_endpoint(index, old, old, has_entities=False)


@BIND.illegal(Rule.NOT_BINDABLE)
def a_target_that_gives_nothing_in_a_zone() -> list[Violation]:
    index = a_fabric()
    index.put_endpoint(Endpoint("empty", "F", Role.TARGET))
    return post(index, zone("z1", "I1", "empty"))


@BIND.illegal(Rule.NOT_BINDABLE)
def a_target_whose_unit_is_no_device_in_a_zone() -> list[Violation]:
    index = a_fabric()
    index.put_endpoint(Endpoint("odd", "F", Role.TARGET, units=frozenset({"/redfish/v1"})))
    return post(index, zone("z1", "I1", "odd"))


@BIND.illegal(Rule.NOT_BINDABLE)
def a_target_as_initiator_of_a_connection() -> list[Violation]:
    return _connect(_with(zone("z1", "T-D1", "T-D2")), "T-D1", "T-D2")


@BIND.illegal(Rule.UNKNOWN_MEMBER)
def a_zone_with_an_unknown_endpoint() -> list[Violation]:
    return post(_with(), zone("z1", "I1", "nobody"))


@BIND.illegal(Rule.UNKNOWN_MEMBER)
def a_connection_with_an_unknown_chunk() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0", "nothing")


@BIND.illegal(Rule.FOREIGN_FABRIC)
def a_zone_with_an_endpoint_of_another_fabric() -> list[Violation]:
    index = a_fabric(fabric="G", prefix="G/", into=_with())
    return post(index, zone("z1", "I1", "G/T-D1"))


def _two_fabrics() -> FabricIndex:
    index = a_fabric(fabric="G", prefix="G/", into=_with())
    alias = Endpoint("alias", "F", Role.TARGET, units=frozenset({"G/D1"}))
    index.put_endpoint(alias)
    return index


@BIND.illegal(Rule.FOREIGN_FABRIC)
def a_zone_with_an_endpoint_whose_device_is_behind_another_fabric() -> list[Violation]:
    return post(_two_fabrics(), zone("z1", "I1", "alias"))


@BIND.illegal(Rule.FOREIGN_FABRIC)
def an_endpoint_for_a_device_behind_another_fabric() -> list[Violation]:
    alias = Endpoint("another", "F", Role.TARGET, units=frozenset({"G/D1"}))
    return zoning.check_endpoint(_two_fabrics(), alias, None, has_entities=True)


@BIND.legal
def an_endpoint_for_a_device_behind_its_own_fabric() -> list[Violation]:
    alias = Endpoint("G/another", "G", Role.TARGET, units=frozenset({"G/D1"}))
    return zoning.check_endpoint(_two_fabrics(), alias, None, has_entities=True)


@BIND.illegal(Rule.DUPLICATE_MEMBER)
def a_zone_that_names_an_endpoint_twice() -> list[Violation]:
    return post(_with(), zone("z1", "I1", "T-D1", "T-D1"))


@BIND.illegal(Rule.DUPLICATE_MEMBER)
def a_connection_that_names_a_chunk_twice() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0", "C-M1.0", "C-M1.0")


def _when(state: str | None, health: str | None, target: str) -> list[Violation]:
    def status(endpoint: str) -> tuple[str | None, str | None]:
        return (state, health) if endpoint == target else ("Enabled", "OK")

    return zoning.check_zone(_with(), zone("z1", "I1", "T-D1"), None, status)


@BIND.illegal(Rule.TARGET_UNAVAILABLE)
def a_new_target_that_is_absent() -> list[Violation]:
    return _when("Absent", None, "T-D1")


@BIND.illegal(Rule.TARGET_UNAVAILABLE)
def a_new_target_that_is_critical() -> list[Violation]:
    return _when("Enabled", "Critical", "T-D1")


@BIND.legal
def an_initiator_that_is_offline() -> list[Violation]:
    return _when("UnavailableOffline", "Critical", "I1")


@BIND.legal
def an_old_target_that_went_absent() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"))
    status = {"T-D1": ("Absent", "Critical")}
    return zoning.check_zone(
        index,
        zone("z1", "I1", "T-D1", "T-D2"),
        index.zones["z1"],
        lambda endpoint: status.get(endpoint, (None, None)),
    )


@BIND.illegal(Rule.ENDPOINT_IN_USE)
def deleting_an_endpoint_in_a_zone() -> list[Violation]:
    return zoning.check_endpoint_removal(_zoned_pair(), "I1")


@BIND.illegal(Rule.ENDPOINT_IN_USE)
def turning_an_endpoint_in_a_zone_into_another_host() -> list[Violation]:
    index = _zoned_pair()
    old = index.endpoints["I1"]
    return zoning.check_endpoint(index, replace(old, host="H2"), old, has_entities=True)


@BIND.legal
def deleting_an_endpoint_that_only_the_default_zone_lists() -> list[Violation]:
    index = _with(Zone("default", "F", ZoneType.DEFAULT, ("I1",)))
    return zoning.check_endpoint_removal(index, "I1")


def _connected() -> FabricIndex:
    index = _zoned_pair()
    index.put_connection(connection("c1", "I1", "T-M1.0", "C-M1.0"))
    return index


@BIND.illegal(Rule.ZONE_IN_USE)
def deleting_the_last_common_zone_of_a_connection() -> list[Violation]:
    return zoning.check_zone_removal(_connected(), "z1")


@BIND.illegal(Rule.ZONE_IN_USE)
def removing_one_end_of_a_connection_from_its_zone() -> list[Violation]:
    return patch(_connected(), zone("z1", "I1"))


@BIND.legal
def deleting_one_of_two_common_zones_of_a_connection() -> list[Violation]:
    return zoning.check_zone_removal(_with(zone("z2", "I1", "T-M1.0"), index=_connected()), "z1")


@BIND.illegal(Rule.ZONE_TYPE)
def making_a_default_zone() -> list[Violation]:
    return post(_with(), Zone("z1", "F", ZoneType.DEFAULT))


@BIND.illegal(Rule.ZONE_TYPE)
def making_a_zone_of_resource_blocks_in_a_fabric() -> list[Violation]:
    return post(_with(), Zone("z1", "F", ZoneType.RESOURCE_BLOCKS))


@BIND.illegal(Rule.DEFAULT_ROUTING)
def routing_in_a_default_zone_that_holds_exclusive_units() -> list[Violation]:
    index = _with(Zone("default", "F", ZoneType.DEFAULT, ("T-D1",)))
    return patch(index, replace(index.zones["default"], routing=True))


@BIND.legal
def routing_in_a_default_zone_without_exclusive_units() -> list[Violation]:
    index = _with(Zone("default", "F", ZoneType.DEFAULT, ("I1", "I2")))
    return patch(index, replace(index.zones["default"], routing=True))


@BIND.illegal(Rule.ZONE_NESTING)
def a_zone_of_zones_of_zones() -> list[Violation]:
    index = _with(zone("z1"), Zone("zz", "F", ZoneType.ZONES, zones=("z1",)))
    return post(index, Zone("zzz", "F", ZoneType.ZONES, zones=("zz",)))


@BIND.legal
def a_zone_of_zones_of_endpoints() -> list[Violation]:
    return post(_with(zone("z1")), Zone("zz", "F", ZoneType.ZONES, zones=("z1",)))


@BIND.illegal(Rule.MAX_ZONES)
def one_zone_more_than_the_fabric_holds() -> list[Violation]:
    return post(_with(zone("z1"), index=a_fabric(max_zones=1)), zone("z2"))


@BIND.legal
def changing_a_zone_of_a_full_fabric() -> list[Violation]:
    return patch(_with(zone("z1"), index=a_fabric(max_zones=1)), zone("z1", "I1"))
