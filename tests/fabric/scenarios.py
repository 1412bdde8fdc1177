"""The corpus: for each isolation rule, illegal changes and their legal twins.

Each scenario sets up a fabric and asks for one change. `expected` are the rules that must refuse
it; a twin (no `expected`) differs in one thing and must be accepted. test_zoning runs them all;
its mutant tests switch each rule off and demand that some scenario notices.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from redfish_fm.fabric import zoning
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import LD_FM_OWNED, BindTarget, FabricKind
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


@dataclass(frozen=True)
class Scenario:
    """One change and the rules that must refuse it, all of them and no other."""

    name: str
    judge: Callable[[], list[Violation]]
    expected: frozenset[Rule] = frozenset()

    def refused_by(self) -> frozenset[Rule]:
        return frozenset(violation.rule for violation in self.judge())


SCENARIOS: list[Scenario] = []


def known(_: str) -> tuple[str | None, str | None]:
    """Everything is there and well."""
    return "Enabled", "OK"


def illegal(*rules: Rule) -> Callable[[Callable[[], list[Violation]]], None]:
    return lambda judge: SCENARIOS.append(Scenario(judge.__name__, judge, frozenset(rules)))


def legal(judge: Callable[[], list[Violation]]) -> None:
    SCENARIOS.append(Scenario(judge.__name__, judge))


def _with(*zones: Zone, index: FabricIndex | None = None) -> FabricIndex:
    found = index or a_fabric(hosts=3, slds=2, initiators=2)
    for item in zones:
        found.put_zone(item)
    return found


def _post(index: FabricIndex, item: Zone) -> list[Violation]:
    return zoning.check_zone(index, item, None, known)


def _patch(index: FabricIndex, item: Zone) -> list[Violation]:
    return zoning.check_zone(index, item, index.zones[item.id], known)


def _zoned_pair(target: str = "T-M1.0") -> FabricIndex:
    return _with(zone("z1", "I1", target))


# -- rule 1 -----------------------------------------------------------------------------------


@illegal(Rule.HOST_SHARING)
def ld_of_another_host_in_a_zone() -> list[Violation]:
    return _post(_with(zone("z1", "I1", "T-M1.0")), zone("z2", "I2", "T-M1.0"))


@legal
def ld_of_the_same_host_in_a_second_zone() -> list[Violation]:
    return _post(_with(zone("z1", "I1", "T-M1.0")), zone("z2", "I1.2", "T-M1.0"))


@legal
def another_ld_of_the_same_mld_for_another_host() -> list[Violation]:
    return _post(_with(zone("z1", "I1", "T-M1.0")), zone("z2", "I2", "T-M1.1"))


@illegal(Rule.HOST_SHARING)
def whole_mld_while_another_host_has_an_ld() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-M1.0"))
    put_target(index, index.units["M1"])
    return _post(index, zone("z2", "I2", "T-M1"))


@illegal(Rule.HOST_SHARING)
def ld_while_another_host_has_the_whole_mld() -> list[Violation]:
    index = a_fabric()
    put_target(index, index.units["M1"])
    index.put_zone(zone("z1", "I1", "T-M1"))
    return _post(index, zone("z2", "I2", "T-M1.0"))


@illegal(Rule.HOST_SHARING, Rule.ZONE_MANY_HOSTS)
def adding_another_hosts_initiator_beside_an_ld() -> list[Violation]:
    return _patch(_zoned_pair(), zone("z1", "I1", "T-M1.0", "I2"))


@illegal(Rule.HOST_SHARING, Rule.LD_HOST)
def one_connection_for_two_hosts_where_nothing_is_zoned() -> list[Violation]:
    index = a_fabric(zoned=False)
    index.put_connection(connection("c1", "I1", "T-M1.0", "C-M1.0"))
    return zoning.check_connection(
        index, connection("c2", ["I1", "I2"], "T-M1.0", "C-M1.0"), None, known
    )


@illegal(Rule.HOST_SHARING)
def whole_device_by_connection_for_another_host() -> list[Violation]:
    index = a_fabric(zoned=False)
    index.put_connection(connection("c1", "I1", "T-D1"))
    return zoning.check_connection(index, connection("c2", "I2", "T-D1"), None, known)


@illegal(Rule.HOST_SHARING)
def namespace_by_connection_for_another_host_on_a_connection_grants_fabric() -> list[Violation]:
    index = a_fabric(kind=FabricKind.CONNECTION_GRANTS)
    index.put_connection(connection("c1", "I1", "T-D1"))
    return zoning.check_connection(index, connection("c2", "I2", "T-D1"), None, known)


@legal
def shareable_namespace_by_connection_for_another_host() -> list[Violation]:
    index = a_fabric(kind=FabricKind.CONNECTION_GRANTS)
    index.put_unit(replace(index.units["D1"], exclusive=False))
    index.put_connection(connection("c1", "I1", "T-D1"))
    return zoning.check_connection(index, connection("c2", "I2", "T-D1"), None, known)


@legal
def anything_on_a_reach_fabric() -> list[Violation]:
    index = a_fabric(kind=FabricKind.REACH)
    index.put_connection(connection("c1", "I1", "T-D1"))
    index.put_zone(zone("z1", "I1", "T-D1"))
    return zoning.check_connection(index, connection("c2", "I2", "T-D1"), None, known) + _post(
        index, zone("z2", "I1", "I2", "T-D1")
    )


# -- rule 2 -----------------------------------------------------------------------------------


@illegal(Rule.ZONE_MANY_HOSTS, Rule.HOST_SHARING)
def two_hosts_beside_an_exclusive_unit() -> list[Violation]:
    return _post(_with(), zone("z1", "I1", "I2", "T-D1"))


@legal
def two_initiators_of_one_host_beside_an_exclusive_unit() -> list[Violation]:
    return _post(_with(), zone("z1", "I1", "I1.2", "T-D1"))


@legal
def two_hosts_without_a_target() -> list[Violation]:
    return _post(_with(), zone("z1", "I1", "I2", "S"))


@legal
def two_hosts_beside_a_shareable_unit() -> list[Violation]:
    index = _with()
    index.put_unit(replace(index.units["D1"], exclusive=False))
    return _post(index, zone("z1", "I1", "I2", "T-D1"))


@legal
def two_hosts_beside_a_disk_on_a_zone_grants_fabric() -> list[Violation]:
    index = a_fabric(kind=FabricKind.ZONE_GRANTS)
    index.put_zone(zone("z1", "I2", "T-D1"))
    return _post(index, zone("z2", "I1", "I2", "T-D1"))


@illegal(Rule.ZONE_UNIT_TWICE)
def zone_bound_unit_in_a_second_zone_of_the_same_host() -> list[Violation]:
    return _post(_with(zone("z1", "I1", "T-D1")), zone("z2", "I1.2", "T-D1"))


@illegal(Rule.ZONE_UNIT_TWICE)
def zone_bound_unit_in_a_second_zone_without_a_host() -> list[Violation]:
    return _post(_with(zone("z1", "I1", "T-D1")), zone("z2", "T-D1"))


@illegal(Rule.ZONE_UNIT_TWICE)
def zone_bound_unit_again_under_another_endpoint() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"))
    index.put_endpoint(replace(index.endpoints["T-D1"], id="T-again"))
    return _patch(_with(zone("z2", "I1"), index=index), zone("z2", "I1", "T-again"))


@legal
def zone_bound_unit_after_its_zone_is_gone() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"))
    index.remove_zone("z1")
    return _post(index, zone("z2", "I2", "T-D1"))


@legal
def another_zone_bound_unit_in_a_second_zone() -> list[Violation]:
    return _post(_with(zone("z1", "I1", "T-D1")), zone("z2", "I2", "T-D2"))


@legal
def switch_endpoint_in_any_number_of_zones() -> list[Violation]:
    return _post(_with(zone("z1", "I1", "S"), zone("z2", "I2", "S")), zone("z3", "I3", "S"))


# -- rule 3 -----------------------------------------------------------------------------------


def _connect(
    index: FabricIndex, *args: str, access: frozenset[Access] | None = None
) -> list[Violation]:
    wanted = connection("c1", *args)
    if access is not None:
        wanted = connection("c1", *args, access=access)
    return zoning.check_connection(index, wanted, None, known)


@legal
def connection_within_a_zone() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0", "C-M1.0")


@illegal(Rule.CONNECTION_NO_COMMON_ZONE)
def connection_across_zones() -> list[Violation]:
    index = _with(zone("z1", "I1", "S"), zone("z2", "T-M1.0", "S"))
    return _connect(index, "I1", "T-M1.0", "C-M1.0")


@illegal(Rule.CONNECTION_NO_COMMON_ZONE)
def connection_of_one_end_zoned_on_a_connection_grants_fabric() -> list[Violation]:
    index = a_fabric(kind=FabricKind.CONNECTION_GRANTS)
    return _connect(_with(zone("z1", "I1"), index=index), "I1", "T-D1")


@legal
def connection_without_zones_on_a_connection_grants_fabric() -> list[Violation]:
    return _connect(a_fabric(kind=FabricKind.CONNECTION_GRANTS), "I1", "T-D1")


@illegal(Rule.CONNECTION_CHUNK_FOREIGN, Rule.CONNECTION_CHUNK_MISSING)
def connection_with_a_chunk_of_another_ld() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0", "C-M1.1")


@legal
def connection_to_a_whole_mld_with_a_chunk_of_one_of_its_lds() -> list[Violation]:
    index = a_fabric()
    put_target(index, index.units["M1"])
    return _connect(_with(zone("z1", "I1", "T-M1"), index=index), "I1", "T-M1", "C-M1.0")


@illegal(Rule.CONNECTION_CHUNK_FOREIGN)
def connection_with_its_own_chunk_and_one_of_another_ld() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0", "C-M1.0", "C-M1.1")


@illegal(Rule.CONNECTION_CHUNK_MISSING)
def connection_to_an_ld_without_a_chunk() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0")


@legal
def connection_to_a_whole_device_without_a_chunk() -> list[Violation]:
    return _connect(_zoned_pair("T-D1"), "I1", "T-D1")


@illegal(Rule.CONNECTION_ACCESS)
def connection_with_more_access_than_the_chunk_has() -> list[Violation]:
    index = _zoned_pair()
    index.put_chunk(replace(index.chunks["C-M1.0"], access=frozenset({Access.READ})))
    return _connect(index, "I1", "T-M1.0", "C-M1.0")


@legal
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


@illegal(Rule.LD_HOST)
def two_hosts_with_chunks_of_one_ld() -> list[Violation]:
    index = _region(a_fabric(lds=1))
    index.put_zone(zone("z1", "I1", "I2", "T-M1.0"))
    index.put_connection(connection("c0", "I1", "T-M1.0", "C-M1.0"))
    return _connect(index, "I2", "T-M1.0", "C-more")


@legal
def one_host_with_two_chunks_of_one_ld() -> list[Violation]:
    index = _region(a_fabric(lds=1))
    index.put_zone(zone("z1", "I1", "I2", "T-M1.0"))
    index.put_connection(connection("c0", "I1", "T-M1.0", "C-M1.0"))
    return _connect(index, "I1", "T-M1.0", "C-more")


@illegal(Rule.LD_FM_OWNED)
def the_fm_owned_ld_in_a_zone() -> list[Violation]:
    index = _with()
    target = BindTarget("SW", "M1", LD_FM_OWNED)
    put_target(index, Unit("FM", "F", Binder.CONNECTION, target=target, within="M1"))
    return _post(index, zone("z1", "I1", "T-FM"))


# -- rules 5 and 6 ----------------------------------------------------------------------------


@illegal(Rule.PORT_HAS_INITIATOR)
def a_second_initiator_on_a_port() -> list[Violation]:
    index = a_fabric()
    again = replace(index.endpoints["I1"], id="new", host="H9")
    return zoning.check_endpoint(index, again, None, has_entities=True)


@legal
def a_target_on_the_port_of_an_initiator() -> list[Violation]:
    index = a_fabric()
    ports = index.endpoints["I1"].ports
    target = Endpoint("new", "F", Role.TARGET, units=frozenset({"D1"}), ports=ports)
    return zoning.check_endpoint(index, target, None, has_entities=True)


@legal
def a_second_initiator_on_a_port_of_a_reach_fabric() -> list[Violation]:
    index = a_fabric(kind=FabricKind.REACH)
    again = replace(index.endpoints["I1"], id="new", host="H9")
    return zoning.check_endpoint(index, again, None, has_entities=True)


@illegal(Rule.NOT_BINDABLE)
def a_new_endpoint_without_entities() -> list[Violation]:
    new = Endpoint("new", "F", Role.EXEMPT)
    return zoning.check_endpoint(a_fabric(), new, None, has_entities=False)


@legal
def an_imported_endpoint_without_entities_keeps_living() -> list[Violation]:
    index = a_fabric()
    old = index.endpoints["S"]
    return zoning.check_endpoint(index, old, old, has_entities=False)


@illegal(Rule.NOT_BINDABLE)
def a_target_that_gives_nothing_in_a_zone() -> list[Violation]:
    index = a_fabric()
    index.put_endpoint(Endpoint("empty", "F", Role.TARGET))
    return _post(index, zone("z1", "I1", "empty"))


@illegal(Rule.NOT_BINDABLE)
def a_target_whose_unit_is_no_device_in_a_zone() -> list[Violation]:
    index = a_fabric()
    index.put_endpoint(Endpoint("odd", "F", Role.TARGET, units=frozenset({"/redfish/v1"})))
    return _post(index, zone("z1", "I1", "odd"))


@illegal(Rule.NOT_BINDABLE)
def a_target_as_initiator_of_a_connection() -> list[Violation]:
    return _connect(_with(zone("z1", "T-D1", "T-D2")), "T-D1", "T-D2")


@illegal(Rule.UNKNOWN_MEMBER)
def a_zone_with_an_unknown_endpoint() -> list[Violation]:
    return _post(_with(), zone("z1", "I1", "nobody"))


@illegal(Rule.UNKNOWN_MEMBER)
def a_connection_with_an_unknown_chunk() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0", "nothing")


@illegal(Rule.FOREIGN_FABRIC)
def a_zone_with_an_endpoint_of_another_fabric() -> list[Violation]:
    index = a_fabric(fabric="G", prefix="G/", into=_with())
    return _post(index, zone("z1", "I1", "G/T-D1"))


def _two_fabrics() -> FabricIndex:
    index = a_fabric(fabric="G", prefix="G/", into=_with())
    alias = Endpoint("alias", "F", Role.TARGET, units=frozenset({"G/D1"}))
    index.put_endpoint(alias)
    return index


@illegal(Rule.FOREIGN_FABRIC)
def a_zone_with_an_endpoint_whose_device_is_behind_another_fabric() -> list[Violation]:
    return _post(_two_fabrics(), zone("z1", "I1", "alias"))


@illegal(Rule.FOREIGN_FABRIC)
def an_endpoint_for_a_device_behind_another_fabric() -> list[Violation]:
    alias = Endpoint("another", "F", Role.TARGET, units=frozenset({"G/D1"}))
    return zoning.check_endpoint(_two_fabrics(), alias, None, has_entities=True)


@legal
def an_endpoint_for_a_device_behind_its_own_fabric() -> list[Violation]:
    alias = Endpoint("G/another", "G", Role.TARGET, units=frozenset({"G/D1"}))
    return zoning.check_endpoint(_two_fabrics(), alias, None, has_entities=True)


@illegal(Rule.DUPLICATE_MEMBER)
def a_zone_that_names_an_endpoint_twice() -> list[Violation]:
    return _post(_with(), zone("z1", "I1", "T-D1", "T-D1"))


@illegal(Rule.DUPLICATE_MEMBER)
def a_connection_that_names_a_chunk_twice() -> list[Violation]:
    return _connect(_zoned_pair(), "I1", "T-M1.0", "C-M1.0", "C-M1.0")


def _when(state: str | None, health: str | None, target: str) -> list[Violation]:
    def status(endpoint: str) -> tuple[str | None, str | None]:
        return (state, health) if endpoint == target else ("Enabled", "OK")

    return zoning.check_zone(_with(), zone("z1", "I1", "T-D1"), None, status)


@illegal(Rule.TARGET_UNAVAILABLE)
def a_new_target_that_is_absent() -> list[Violation]:
    return _when("Absent", None, "T-D1")


@illegal(Rule.TARGET_UNAVAILABLE)
def a_new_target_that_is_critical() -> list[Violation]:
    return _when("Enabled", "Critical", "T-D1")


@legal
def an_initiator_that_is_offline() -> list[Violation]:
    return _when("UnavailableOffline", "Critical", "I1")


@legal
def an_old_target_that_went_absent() -> list[Violation]:
    index = _with(zone("z1", "I1", "T-D1"))
    status = {"T-D1": ("Absent", "Critical")}
    return zoning.check_zone(
        index,
        zone("z1", "I1", "T-D1", "T-D2"),
        index.zones["z1"],
        lambda endpoint: status.get(endpoint, (None, None)),
    )


@illegal(Rule.ENDPOINT_IN_USE)
def deleting_an_endpoint_in_a_zone() -> list[Violation]:
    return zoning.check_endpoint_removal(_zoned_pair(), "I1")


@illegal(Rule.ENDPOINT_IN_USE)
def turning_an_endpoint_in_a_zone_into_another_host() -> list[Violation]:
    index = _zoned_pair()
    old = index.endpoints["I1"]
    return zoning.check_endpoint(index, replace(old, host="H2"), old, has_entities=True)


@legal
def deleting_an_endpoint_that_only_the_default_zone_lists() -> list[Violation]:
    index = _with(Zone("default", "F", ZoneType.DEFAULT, ("I1",)))
    return zoning.check_endpoint_removal(index, "I1")


def _connected() -> FabricIndex:
    index = _zoned_pair()
    index.put_connection(connection("c1", "I1", "T-M1.0", "C-M1.0"))
    return index


@illegal(Rule.ZONE_IN_USE)
def deleting_the_last_common_zone_of_a_connection() -> list[Violation]:
    return zoning.check_zone_removal(_connected(), "z1")


@illegal(Rule.ZONE_IN_USE)
def removing_one_end_of_a_connection_from_its_zone() -> list[Violation]:
    return _patch(_connected(), zone("z1", "I1"))


@legal
def deleting_one_of_two_common_zones_of_a_connection() -> list[Violation]:
    return zoning.check_zone_removal(_with(zone("z2", "I1", "T-M1.0"), index=_connected()), "z1")


@legal
def deleting_the_only_zone_on_a_connection_grants_fabric() -> list[Violation]:
    index = a_fabric(kind=FabricKind.CONNECTION_GRANTS)
    index.put_zone(zone("z1", "I1", "T-D1"))
    index.put_connection(connection("c1", "I1", "T-D1"))
    return zoning.check_zone_removal(index, "z1")


@illegal(Rule.ZONE_TYPE)
def making_a_default_zone() -> list[Violation]:
    return _post(_with(), Zone("z1", "F", ZoneType.DEFAULT))


@illegal(Rule.ZONE_TYPE)
def making_a_zone_of_resource_blocks_in_a_fabric() -> list[Violation]:
    return _post(_with(), Zone("z1", "F", ZoneType.RESOURCE_BLOCKS))


@illegal(Rule.ZONE_TYPE)
def routing_in_a_default_zone_that_holds_exclusive_units() -> list[Violation]:
    index = _with(Zone("default", "F", ZoneType.DEFAULT, ("T-D1",)))
    return _patch(index, replace(index.zones["default"], routing=True))


@legal
def routing_in_a_default_zone_without_exclusive_units() -> list[Violation]:
    index = _with(Zone("default", "F", ZoneType.DEFAULT, ("I1", "I2")))
    return _patch(index, replace(index.zones["default"], routing=True))


@illegal(Rule.ZONE_NESTING)
def a_zone_of_zones_of_zones() -> list[Violation]:
    index = _with(zone("z1"), Zone("zz", "F", ZoneType.ZONES, zones=("z1",)))
    return _post(index, Zone("zzz", "F", ZoneType.ZONES, zones=("zz",)))


@legal
def a_zone_of_zones_of_endpoints() -> list[Violation]:
    return _post(_with(zone("z1")), Zone("zz", "F", ZoneType.ZONES, zones=("z1",)))


@illegal(Rule.MAX_ZONES)
def one_zone_more_than_the_fabric_holds() -> list[Violation]:
    return _post(_with(zone("z1"), index=a_fabric(max_zones=1)), zone("z2"))


@legal
def changing_a_zone_of_a_full_fabric() -> list[Violation]:
    return _patch(_with(zone("z1"), index=a_fabric(max_zones=1)), zone("z1", "I1"))
