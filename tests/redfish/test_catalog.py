"""The catalog: facts equal to the official bundle, our tables consistent with them."""

import json
from typing import Any

import pytest

from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.properties import Kind
from redfish_fm.resources import schemas_dir
from tests.redfish.builders import CATALOG
from tests.redfish.packs import pack


def schema_of(name: str) -> dict[str, Any]:
    bundle = pack("dmtf-2025.4-json-schema-latest")
    version = CATALOG.types[name].version
    file = f"{name}.{version}" if version else name
    definition = bundle[file]["definitions"][name]
    if version is None and "anyOf" in definition:
        definition = definition["anyOf"][-1]
    return definition  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", sorted(CATALOG.types))
def test_names_readonly_and_verbs_equal_the_bundle(name: str) -> None:
    bundle = pack("dmtf-2025.4-json-schema-latest")
    info, schema = CATALOG.types[name], schema_of(name)
    unversioned = bundle[name]["definitions"][name]
    verbs = next((e for e in unversioned.get("anyOf", []) if "uris" in e), unversioned)
    assert list(info.uris) == verbs.get("uris", [])
    for verb in ("insertable", "updatable", "deletable"):
        assert getattr(info, verb) == verbs[verb]
    if not info.collection:
        properties = {key for key in schema["properties"] if "@" not in key}
        assert set(info.properties) == properties
        for key in properties - {"Actions"}:
            assert info.properties[key].read_only == schema["properties"][key].get(
                "readonly", False
            )


def test_the_version_is_the_newest_of_the_bundle() -> None:
    bundle = pack("dmtf-2025.4-json-schema-latest")
    for name, info in CATALOG.types.items():
        if info.version is None:
            continue
        refs = [
            each["$ref"] for each in bundle[name]["definitions"][name]["anyOf"] if "$ref" in each
        ]
        versions = [
            ref.split(f"/{name}.")[1].split(".json")[0] for ref in refs if f"/{name}.v" in ref
        ]
        newest = max(versions, key=lambda text: tuple(int(n) for n in text[1:].split("_")))
        assert info.version == newest


@pytest.mark.parametrize(
    ("uri", "type_name"),
    [
        ("/redfish/v1", "ServiceRoot"),
        ("/redfish/v1/Fabrics/CXL/Zones", "ZoneCollection"),
        ("/redfish/v1/Fabrics/CXL/Zones/1", "Zone"),
        ("/redfish/v1/Fabrics/CXL/Switches/S/VCSs/1/VPPBs/0", "VirtualPCI2PCIBridge"),
        ("/redfish/v1/Chassis/C/MemoryDomains/D/MemoryChunks/1", "MemoryChunks"),
        ("/redfish/v1/Chassis/C/PCIeDevices/D/CXLLogicalDevices/1", "CXLLogicalDevice"),
        ("/redfish/v1/TaskService/Tasks/7", "Task"),
        ("/redfish/v1/Fabrics//Zones", None),
        ("/redfish/v1/Nope", None),
        ("/redfish/v1/Fabrics/CXL/Zones/1/2", None),
        ("", None),
    ],
)
def test_a_uri_tells_its_type(uri: str, type_name: str | None) -> None:
    found = CATALOG.type_of(uri)
    assert (None if found is None else found.name) == type_name


def test_every_template_leads_back_to_its_type() -> None:
    for info in CATALOG.types.values():
        for template in info.uris:
            found = CATALOG.type_of(template.replace("{", "").replace("}", "").rstrip("/"))
            assert found is info, template


def test_ancestors_are_the_types_above() -> None:
    uri = "/redfish/v1/Systems/1/LogServices/L/Entries/1"
    assert CATALOG.ancestors(uri) == (
        "ServiceRoot", "ComputerSystemCollection", "ComputerSystem", "LogServiceCollection",
        "LogService", "LogEntryCollection",
    )  # fmt: skip


def test_every_property_of_a_creatable_type_is_classified_once() -> None:
    for info in CATALOG.types.values():
        if info.create is None:
            continue
        names = set(info.properties)
        links = info.properties.get("Links")
        if links is not None and links.object is not None and "Links" not in info.create.refused:
            names.discard("Links")
            names |= {f"Links.{name}" for name in links.object.properties}
        lists = [info.create.required, info.create.optional, frozenset(info.create.refused)]
        assert set().union(*lists) == names
        assert sum(map(len, lists)) == len(names)


def test_our_tables_name_properties_that_exist() -> None:
    for info in CATALOG.types.values():
        for path in (*info.writable_here, *info.overlay_here, *info.derived):
            name, _, below = path.partition(".")
            found = info.properties[name]
            if below:
                assert found.object is not None
                assert below in found.object.properties


def test_task_monitors_and_tasks_lead_to_each_other() -> None:
    task = "/redfish/v1/TaskService/Tasks/a1"
    assert CATALOG.task_of(CATALOG.monitor_of(task)) == task
    assert CATALOG.task_of(task) is None
    assert CATALOG.task_of(CATALOG.monitor_of(task) + "/x") is None


def test_a_table_for_an_unknown_type_or_action_is_refused() -> None:
    facts = json.loads((schemas_dir() / "catalog.json").read_text())
    service = json.loads((schemas_dir() / "service.json").read_text())
    with pytest.raises(ValueError, match="Zine"):
        Catalog(facts, {**service, "types": {"Zine": {}}})
    with pytest.raises(ValueError, match=r"Zone\.Bake"):
        Catalog(facts, {**service, "types": {"Zone": {"actions": ["Zone.Bake"]}}})


def test_no_sentence_of_the_standard_is_in_the_facts() -> None:
    text = (schemas_dir() / "catalog.json").read_text().lower()
    assert "shall" not in text
    assert '"description":"' not in text


def test_link_targets_and_enumerations_are_facts() -> None:
    zone = CATALOG.types["Zone"]
    assert zone.properties["ZoneType"].enum == {
        "Default", "ZoneOfEndpoints", "ZoneOfZones", "ZoneOfResourceBlocks",
    }  # fmt: skip
    links = zone.properties["Links"].object
    assert links is not None
    endpoints = links.properties["Endpoints"].items
    assert endpoints is not None
    assert (endpoints.kind, endpoints.link_to) == (Kind.LINK, "Endpoint")
