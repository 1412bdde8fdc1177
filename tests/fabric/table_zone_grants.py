"""What a `zone-grants` fabric (SAS, FC) refuses, and the twins: several initiators are legal."""

from redfish_fm.fabric import zoning
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import EndpointGroup, Rule, Violation, Zone, ZoneType
from tests.fabric.builders import a_fabric, connection, vppb, zone
from tests.fabric.devices import granting
from tests.fabric.scenario import Table, known, patch, post

ZONE_GRANTS = Table("zone-grants")


def _fabric() -> FabricIndex:
    return a_fabric(slds=2, kind=FabricKind.ZONE_GRANTS)


@ZONE_GRANTS.legal
def two_hosts_beside_a_disk() -> list[Violation]:
    index = _fabric()
    index.put_zone(zone("z1", "I2", "T-D1"))
    return post(index, zone("z2", "I1", "I2", "T-D1"))


@ZONE_GRANTS.legal
def a_disk_of_another_host_in_a_zone() -> list[Violation]:
    index = _fabric()
    index.put_zone(zone("z1", "I1", "T-D1"))
    return post(index, zone("z2", "I2", "T-D1"))


@ZONE_GRANTS.legal
def routing_in_a_default_zone_that_holds_disks() -> list[Violation]:
    index = _fabric()
    index.put_zone(Zone("default", "F", ZoneType.DEFAULT, ("I1", "I2", "T-D1")))
    return patch(index, Zone("default", "F", ZoneType.DEFAULT, ("I1", "I2", "T-D1"), (), True))


@ZONE_GRANTS.legal
def a_connection_of_ends_that_share_no_zone() -> list[Violation]:
    index = _fabric()
    index.put_zone(zone("z1", "I1"))
    return post(index, connection("c1", "I1", "T-D1"))


@ZONE_GRANTS.illegal(Rule.HOST_SHARING)
def a_disk_by_connection_for_another_host() -> list[Violation]:
    index = _fabric()
    index.put_connection(connection("c1", "I1", "T-D1"))
    return post(index, connection("c2", "I2", "T-D1"))


@ZONE_GRANTS.legal
def another_disk_by_connection_for_another_host() -> list[Violation]:
    index = _fabric()
    index.put_connection(connection("c1", "I1", "T-D1"))
    return post(index, connection("c2", "I2", "T-D2"))


@ZONE_GRANTS.illegal(Rule.HOST_SHARING)
def another_host_in_the_group_of_a_connection() -> list[Violation]:
    index = _fabric()
    group = EndpointGroup("g", "F", ("I1",))
    index.put_group(group)
    index.put_connection(granting("c1", targets=("T-D1",), from_groups=("g",)))
    return zoning.check_group(index, EndpointGroup("g", "F", ("I1", "I2")), group, known)


@ZONE_GRANTS.legal
def another_host_in_the_group_of_no_connection() -> list[Violation]:
    index = _fabric()
    group = EndpointGroup("g", "F", ("I1",))
    index.put_group(group)
    return zoning.check_group(index, EndpointGroup("g", "F", ("I1", "I2")), group, known)


@ZONE_GRANTS.illegal(Rule.DUPLICATE_MEMBER, Rule.UNKNOWN_MEMBER)
def a_zone_with_a_duplicate_and_an_unknown_endpoint() -> list[Violation]:
    return post(_fabric(), zone("z1", "I1", "I1", "nobody"))


@ZONE_GRANTS.illegal(Rule.MAX_ZONES)
def one_zone_more_than_the_fabric_holds() -> list[Violation]:
    index = a_fabric(kind=FabricKind.ZONE_GRANTS, max_zones=1)
    index.put_zone(zone("z1", "I1"))
    return post(index, zone("z2", "I1"))


@ZONE_GRANTS.illegal(Rule.VPPB_WRONG_UNIT)
def a_disk_on_a_vppb() -> list[Violation]:
    index = _fabric()
    return zoning.check_vppb(index, vppb(1), "D1", "H1", holder="v")
