"""Compositions of a mockup, understood: what is wanted, what is laid over, what is left out."""

from typing import Any

from redfish_fm.mapping.imported import Imported, analyse
from redfish_fm.mapping.imported_findings import FindingKind
from tests.mapping.builders import links

SYSTEMS = "/redfish/v1/Systems"
BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"
CHASSIS = "/redfish/v1/Chassis/1"
MADE, HOST = f"{SYSTEMS}/made", f"{SYSTEMS}/host"
COMPUTE, DRIVE, OWN = (f"{BLOCKS}/{name}" for name in ("compute", "drive", "own"))


def system(*blocks: str, **more: Any) -> dict[str, Any]:
    named = {"ResourceBlocks": links(*blocks)} if blocks else {}
    return {"@odata.type": "#ComputerSystem.v1_27_0.ComputerSystem", "Links": named, **more}


def block(kind: str, **more: Any) -> dict[str, Any]:
    return {
        "@odata.type": "#ResourceBlock.v1_4_3.ResourceBlock",
        "ResourceBlockType": [kind],
        **more,
    }


def collection(name: str, *members: str, **more: Any) -> dict[str, Any]:
    return {"@odata.type": f"#{name}.{name}", "Members": links(*members), **more}


def understood(**more: Any) -> Imported:
    documents = {
        SYSTEMS: collection("ComputerSystemCollection", MADE, HOST),
        MADE: system(COMPUTE, DRIVE, SystemType="Composed"),
        f"{MADE}/Processors": collection("ProcessorCollection", f"{COMPUTE}/Processors/1"),
        f"{MADE}/Storage/1": {"@odata.type": "#Storage.v1_21_0.Storage"},
        HOST: system(SystemType="Physical"),
        COMPUTE: block("Compute", Processors=links(f"{COMPUTE}/Processors/1")),
        f"{COMPUTE}/Processors/1": {"@odata.type": "#Processor.v1_22_0.Processor"},
        DRIVE: block("Storage"),
        OWN: block("ComputerSystem", ComputerSystems=links(HOST)),
        CHASSIS: {
            "@odata.type": "#Chassis.v1_28_0.Chassis",
            "Links": {"ComputerSystems": links(MADE, HOST), "Processors": links(f"{MADE}/x")},
        },
    }
    return analyse({**documents, **more})


def test_a_composed_system_of_known_blocks_is_the_clients() -> None:
    found = understood()
    assert MADE in found.wanted and MADE not in found.inventory
    assert HOST in found.inventory


def test_a_composed_system_of_no_known_block_stays_as_it_is() -> None:
    found = understood(**{MADE: system("/nowhere", SystemType="Composed")})
    assert MADE in found.inventory and f"{MADE}/Storage/1" in found.inventory


def test_what_is_below_a_composed_system_is_left_out_and_told() -> None:
    found = understood()
    assert not [uri for uri in (*found.inventory, *found.wanted) if uri.startswith(f"{MADE}/")]
    assert [each.uri for each in found.findings if each.kind is FindingKind.COMPLETED
            and "resource blocks" in each.text] == [MADE]  # fmt: skip


def test_nothing_links_what_may_be_deleted_one_day() -> None:
    links_left = understood().inventory[CHASSIS]["Links"]
    assert links_left == {"ComputerSystems": links(HOST), "Processors": []}


def test_a_block_that_computes_and_names_no_system_is_a_host_of_its_own() -> None:
    assert understood().facts.blocks[COMPUTE].host == COMPUTE


def test_a_block_that_computes_is_the_physical_systems_that_names_it() -> None:
    found = understood(**{HOST: system(COMPUTE, SystemType="Physical")})
    assert found.facts.blocks[COMPUTE].host == HOST
    assert found.overlays == {}


def test_a_block_that_does_not_compute_has_no_host() -> None:
    assert understood().facts.blocks[DRIVE].host is None


def test_blocks_given_to_a_physical_system_are_laid_over_it() -> None:
    found = understood(**{HOST: system(OWN, DRIVE, SystemType="Physical")})
    assert found.overlays == {HOST: {"Links": {"ResourceBlocks": links(OWN, DRIVE)}}}
    assert found.inventory[HOST]["Links"] == {"ResourceBlocks": links(OWN)}


def test_a_physical_system_can_be_given_blocks_where_there_are_any() -> None:
    action = "#ComputerSystem.AddResourceBlock"
    assert action in understood().inventory[HOST]["Actions"]
    plain = analyse({SYSTEMS: collection("ComputerSystemCollection", HOST), HOST: system()})
    assert "Actions" not in plain.inventory[HOST]


def test_what_tells_how_members_are_made_is_beside_them() -> None:
    uri = f"{SYSTEMS}/Capabilities"
    row = {"CapabilitiesObject": {"@odata.id": uri}, "UseCase": "ComputerSystemComposition"}
    told = {"@Redfish.CollectionCapabilities": {"Capabilities": [row]}}
    systems = collection("ComputerSystemCollection", HOST, **told)
    found = understood(**{uri: system(), SYSTEMS: systems})
    assert found.facts.beside == [uri]
    assert not found.facts.is_host(uri)


def test_what_tells_how_blocks_are_made_is_no_block() -> None:
    uri = f"{BLOCKS}/Capabilities"
    row = {"CapabilitiesObject": {"@odata.id": uri}, "UseCase": "ResourceBlockComposition"}
    told = {"@Redfish.CollectionCapabilities": {"Capabilities": [row]}}
    listed = collection("ResourceBlockCollection", COMPUTE, DRIVE, **told)
    found = understood(**{uri: block("Compute"), BLOCKS: listed})
    assert COMPUTE in found.facts.blocks
    assert uri not in found.facts.blocks


def test_a_member_that_also_tells_how_others_are_made_is_a_member() -> None:
    row = {"CapabilitiesObject": {"@odata.id": HOST}, "UseCase": "ComputerSystemComposition"}
    told = {"@Redfish.CollectionCapabilities": {"Capabilities": [row]}}
    found = understood(**{SYSTEMS: collection("ComputerSystemCollection", HOST, **told)})
    assert found.facts.beside == []


def test_members_that_stand_elsewhere_are_kept_with_their_collection() -> None:
    processors, cpu = f"{HOST}/Processors", f"{COMPUTE}/Processors/1"
    listed = collection("ProcessorCollection", cpu, "/nowhere", f"{processors}/1")
    found = understood(**{processors: listed})
    assert found.facts.listed == {processors: (cpu,)}
