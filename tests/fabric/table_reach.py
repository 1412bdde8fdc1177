"""What a `reach` fabric (Ethernet, InfiniBand) refuses: names and counts, never sharing."""

from dataclasses import replace

from redfish_fm.fabric import zoning
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import EndpointGroup, Rule, Violation, Zone, ZoneType
from tests.fabric.builders import a_fabric, connection, zone
from tests.fabric.devices import granting
from tests.fabric.scenario import Table, known, patch, post

REACH = Table("reach")


@REACH.legal
def anything() -> list[Violation]:
    index = a_fabric(kind=FabricKind.REACH)
    index.put_connection(connection("c1", "I1", "T-D1"))
    index.put_zone(zone("z1", "I1", "T-D1"))
    return post(index, connection("c2", "I2", "T-D1")) + post(index, zone("z2", "I1", "I2", "T-D1"))


@REACH.legal
def a_second_initiator_on_a_port() -> list[Violation]:
    index = a_fabric(kind=FabricKind.REACH)
    again = replace(index.endpoints["I1"], id="new", host="H9")
    return zoning.check_endpoint(index, again, None, has_entities=True)


@REACH.legal
def another_host_in_the_group_of_a_connection() -> list[Violation]:
    index = a_fabric(kind=FabricKind.REACH)
    group = EndpointGroup("g", "F", ("I1",))
    index.put_group(group)
    index.put_connection(granting("c1", targets=("T-D1",), from_groups=("g",)))
    return zoning.check_group(index, EndpointGroup("g", "F", ("I1", "I2")), group, known)


@REACH.legal
def routing_in_the_default_zone() -> list[Violation]:
    index = a_fabric(kind=FabricKind.REACH)
    index.put_zone(Zone("default", "F", ZoneType.DEFAULT, ("I1", "I2", "T-D1")))
    return patch(index, Zone("default", "F", ZoneType.DEFAULT, ("I1", "I2", "T-D1"), (), True))


@REACH.illegal(Rule.MUTUALLY_EXCLUSIVE)
def a_zone_with_two_endpoints_that_exclude_each_other() -> list[Violation]:
    index = a_fabric(kind=FabricKind.REACH)
    index.put_endpoint(replace(index.endpoints["I1"], excludes=frozenset({"I2"})))
    return post(index, zone("z1", "I1", "I2"))


@REACH.illegal(Rule.UNKNOWN_MEMBER)
def a_zone_with_an_unknown_endpoint() -> list[Violation]:
    return post(a_fabric(kind=FabricKind.REACH), zone("z1", "nobody"))


@REACH.illegal(Rule.FOREIGN_FABRIC)
def a_zone_with_an_endpoint_of_another_fabric() -> list[Violation]:
    index = a_fabric(kind=FabricKind.REACH)
    index = a_fabric(fabric="G", prefix="G/", kind=FabricKind.REACH, into=index)
    return post(index, zone("z1", "G/I1"))
