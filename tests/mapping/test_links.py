"""Inverse links: what is derived from what, and that nothing derived is stored."""

from redfish_fm.mapping.links import FORWARD, INVERSE, forward_links, strip_inverse
from tests.mapping.builders import links


def test_a_zone_is_known_to_its_endpoints_and_inner_zones() -> None:
    document = {"Links": {"Endpoints": links("/e/1", "/e/2/"), "ContainsZones": links("/z")}}
    assert list(forward_links("Zone", document)) == [
        ("/e/1", "/Links/Zones"),
        ("/e/2", "/Links/Zones"),
        ("/z", "/Links/ContainedByZones"),
    ]


def test_an_endpoint_on_both_sides_knows_its_connection_once() -> None:
    document = {"Links": {"InitiatorEndpoints": links("/e"), "TargetEndpoints": links("/e")}}
    assert list(forward_links("Connection", document)) == [("/e", "/Links/Connections")]


def test_an_endpoint_is_known_to_entities_that_can_say_so_and_to_ports() -> None:
    chunk = "/redfish/v1/Chassis/c/MemoryDomains/d/MemoryChunks/1"
    function = "/redfish/v1/Chassis/c/PCIeDevices/d/PCIeFunctions/1"
    document = {
        "ConnectedEntities": [{"EntityLink": {"@odata.id": each}} for each in (chunk, function)],
        "Links": {"Ports": links("/far"), "ConnectedPorts": links("/near")},
    }
    assert list(forward_links("Endpoint", document)) == [
        (chunk, "/Links/Endpoints"),
        ("/near", "/Links/AssociatedEndpoints"),
        ("/far", "/Links/AssociatedEndpoints"),
    ]


def test_the_switch_port_at_the_other_end_knows_the_endpoint_too() -> None:
    document = {"Links": {"LocalPorts": links("/far")}}
    found = [target for target, _ in forward_links("Endpoint", document, {"/far": "/near"})]
    assert found == ["/far", "/near"]


def test_documents_of_any_shape_are_walked() -> None:
    values: tuple[object, ...] = (
        None,
        1,
        "x",
        [],
        {"Endpoints": 7},
        {"Endpoints": [{}, None, {"@odata.id": 3}]},
    )
    for value in values:
        assert list(forward_links("Zone", {"Links": value})) == []


def test_stripping_keeps_what_is_not_derived() -> None:
    document = {"Id": "1", "Links": {"Zones": [], "Zones@odata.count": 0, "Ports": []}}
    assert strip_inverse("Endpoint", document) == {"Id": "1", "Links": {"Ports": []}}
    assert strip_inverse("Endpoint", {"Links": {"Zones": []}}) == {}
    assert strip_inverse("Fabric", document) == document


def test_every_inverse_pointer_is_dropped_somewhere() -> None:
    derived = {pointer.rsplit("/", 1)[-1] for rows in FORWARD.values() for _, pointer in rows}
    dropped = {name for names in INVERSE.values() for name in names}
    assert derived == dropped
