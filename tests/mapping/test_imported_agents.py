"""Recordings that agents make: bridges, chunks, links that lead nowhere, collections left out."""

from typing import Any

from redfish_fm.fabric.values import Binder
from redfish_fm.mapping.imported import Imported, analyse
from redfish_fm.mapping.imported_findings import FindingKind

FABRIC = "/redfish/v1/Fabrics/F"
BOX = "/redfish/v1/Chassis/Box"


def link(uri: str) -> dict[str, str]:
    return {"@odata.id": uri}


def of(name: str, **properties: Any) -> dict[str, Any]:
    return {"@odata.type": f"#{name}.v1_0_0.{name}", **properties}


def an_endpoint(*entities: tuple[str, str]) -> dict[str, Any]:
    return of(
        "Endpoint",
        ConnectedEntities=[
            {"EntityType": kind, "EntityRole": "Target", "EntityLink": link(uri)}
            for kind, uri in entities
        ],
    )


def a_box(**more: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Two devices in one chassis, each behind an adapter on a port of the one switch."""
    found: dict[str, dict[str, Any]] = {
        FABRIC: of("Fabric", FabricType="CXL"),
        f"{FABRIC}/Endpoints": of("EndpointCollection", Members=[]),
        f"{FABRIC}/Switches/S": of("Switch"),
        BOX: of("Chassis"),
    }
    for n in (1, 2):
        device, adapter = f"{BOX}/PCIeDevices/{n}", f"{BOX}/FabricAdapters/{n}"
        port = f"{FABRIC}/Switches/S/Ports/D{n}"
        chunk = f"{BOX}/MemoryDomains/{n}/MemoryChunks/1"
        found[device] = of("PCIeDevice", CXLDevice={"DeviceType": "Type3"})
        found[adapter] = of("FabricAdapter", Links={"PCIeDevices": [link(device)]})
        found[f"{adapter}/Ports/1"] = of("Port", Links={"ConnectedSwitchPorts": [link(port)]})
        found[port] = of("Port", PortType="DownstreamPort")
        found[f"{device}/CXLLogicalDevices/1"] = of("CXLLogicalDevice")
        found[chunk] = of(
            "MemoryChunks", Links={"CXLLogicalDevices": [link(f"{device}/CXLLogicalDevices/1")]}
        )
        found[f"{FABRIC}/Endpoints/T{n}"] = an_endpoint(
            ("FabricBridge", adapter), ("MemoryChunk", chunk)
        ) | {"Links": {"Ports": [link(f"{adapter}/Ports/1")]}}
    return found | more


def units(found: Imported) -> dict[str, tuple[Binder, str | None]]:
    return {
        unit.id: (unit.binder, unit.target.port if unit.target else None)
        for unit in found.facts.units
    }


def test_a_bridge_and_a_chunk_of_one_device_mean_that_device() -> None:
    assert units(analyse(a_box())) == {
        f"{BOX}/PCIeDevices/1": (Binder.ZONE, "D1"),
        f"{BOX}/PCIeDevices/2": (Binder.ZONE, "D2"),
    }


def test_a_bridge_to_many_is_not_asked_where_a_chunk_says_which() -> None:
    documents = a_box()
    both = [link(f"{BOX}/PCIeDevices/{n}") for n in (1, 2)]
    documents[f"{BOX}/FabricAdapters/1"]["Links"] = {"PCIeDevices": both}
    assert units(analyse(documents)) == units(analyse(a_box()))


def test_an_adapter_means_the_devices_that_it_names() -> None:
    adapter = f"{BOX}/FabricAdapters/2"
    documents = a_box() | {f"{FABRIC}/Endpoints/T9": an_endpoint(("Processor", adapter))}
    found = analyse(documents)
    assert found.facts.entity_units[adapter] == {f"{BOX}/PCIeDevices/2"}
    assert units(found) == units(analyse(a_box()))


def test_a_link_that_leads_nowhere_does_not_mean_everything_in_the_chassis() -> None:
    lost = f"{BOX}/FabricAdapters/9"
    documents = a_box() | {f"{FABRIC}/Endpoints/T9": an_endpoint(("FabricBridge", lost))}
    # A bridge without a chunk is exempt; what matters here is that it merges nothing.
    documents[f"{FABRIC}/Endpoints/T9"]["ConnectedEntities"][0]["EntityType"] = "Processor"
    found = units(analyse(documents))
    assert found[lost] == (Binder.NOTHING, None)
    assert found[f"{BOX}/PCIeDevices/1"] == (Binder.ZONE, "D1")


def test_a_link_into_a_device_that_leads_nowhere_still_means_the_device() -> None:
    inside = f"{BOX}/PCIeDevices/1/PCIeFunctions/9"
    documents = a_box() | {f"{FABRIC}/Endpoints/T9": an_endpoint(("Processor", inside))}
    assert inside not in units(analyse(documents))


def test_a_fabric_with_no_way_to_grant_gets_connections() -> None:
    found = analyse(a_box())
    assert f"{FABRIC}/Connections" in found.inventory
    assert found.inventory[FABRIC]["Connections"] == link(f"{FABRIC}/Connections")
    assert [each.uri for each in found.findings if "Connections are added" in each.text] == [FABRIC]
    assert not found.facts.fabrics[0].zoned


def test_a_fabric_with_zones_stays_as_it_is() -> None:
    zones = {f"{FABRIC}/Zones": of("ZoneCollection", Members=[])}
    found = analyse(a_box() | zones)
    assert f"{FABRIC}/Connections" not in found.inventory
    assert found.facts.fabrics[0].zoned


def test_a_fabric_of_another_kind_stays_as_it_is() -> None:
    documents = a_box() | {FABRIC: of("Fabric", FabricType="Ethernet")}
    assert f"{FABRIC}/Connections" not in analyse(documents).inventory


def test_a_fabric_in_a_place_of_its_own_is_told_and_not_managed() -> None:
    elsewhere = f"{FABRIC}/Oem/Fabric"
    found = analyse(a_box() | {elsewhere: of("Fabric", FabricType="CXL")})
    assert [fabric.id for fabric in found.facts.fabrics] == ["F"]
    assert (FindingKind.COMPLETED, elsewhere) in [(each.kind, each.uri) for each in found.findings]


def test_switches_of_any_names_get_names_of_their_own() -> None:
    other = "/redfish/v1/Fabrics/G"
    found = analyse(
        a_box()
        | {
            other: of("Fabric", FabricType="CXL"),
            f"{other}/Switches/S": of("Switch"),
            f"{other}/Switches/F.S": of("Switch"),
        }
    )
    names = [switch for _fabric, switch in found.facts.switch_uris]
    assert len(names) == len(set(names)) == 3


def test_a_system_is_not_taken_for_another_whose_name_begins_alike() -> None:
    entity = {
        "EntityType": "Processor",
        "EntityRole": "Initiator",
        "EntityLink": link("/redfish/v1/Systems/12"),
        "Identifiers": [{"DurableNameFormat": "NQN", "DurableName": "nqn.a"}],
    }
    found = analyse(
        a_box()
        | {
            "/redfish/v1/Systems/1": of("ComputerSystem"),
            "/redfish/v1/Systems/12": of("ComputerSystem"),
            f"{FABRIC}/Endpoints/I": of("Endpoint", ConnectedEntities=[entity]),
        }
    )
    assert found.facts.durable_hosts == {"NQN:NQN.A": "/redfish/v1/Systems/12"}
