"""The catalog: facts equal to the official bundles, our tables consistent with them."""

import json
from typing import Any

import msgspec
import pytest

from redfish_fm.mapping.links import FORWARD
from redfish_fm.redfish.catalog import Catalog, declared_writable
from redfish_fm.redfish.properties import Kind, ObjectInfo, PropertyInfo
from redfish_fm.redfish.service_table import OTHERWISE
from redfish_fm.resources import schemas_dir
from tests.redfish.builders import CATALOG
from tests.redfish.packs import pack

WITH_ROW = sorted(name for name, info in CATALOG.types.items() if info.row.why)
CREATABLE = [name for name in WITH_ROW if CATALOG.types[name].create is not None]


def loaded(service: dict[str, Any]) -> Catalog:
    """Return a catalog of the same facts with another service.json."""
    folder = schemas_dir() / "types"
    files = {path.stem: path.read_bytes() for path in folder.glob("*.json")}
    return Catalog(files, service)


def service_json() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((schemas_dir() / "service.json").read_text("utf-8"))
    return read


def official(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the official definitions of a type: of all versions, and of ours."""
    bundles = {
        **pack("snia-swordfish-1.2.7-schemas"),
        **pack("dmtf-2025.4-json-schema-latest"),
    }
    info = CATALOG.types[name]
    stem = info.namespace.partition(".")[0]
    unversioned = bundles[stem]["definitions"][name]
    if info.version is None:
        others = unversioned.get("anyOf", [unversioned])
        return unversioned, others[-1] if "anyOf" in unversioned else unversioned
    return unversioned, bundles[info.namespace]["definitions"][name]


@pytest.mark.parametrize("name", sorted(CATALOG.types))
def test_names_permissions_uris_and_verbs_equal_the_bundle(name: str) -> None:
    info = CATALOG.types[name]
    unversioned, schema = official(name)
    verbs = unversioned if "insertable" in unversioned else unversioned["anyOf"][-1]
    uris = {uri.rstrip("/") for uri in unversioned.get("uris", verbs.get("uris", []))}
    assert {*info.uris, *info.uris_deprecated} == uris
    for verb in ("insertable", "updatable", "deletable"):
        assert getattr(info, verb) == verbs[verb]
    properties = {key: row for key, row in schema["properties"].items() if "@" not in key}
    assert set(info.properties) == set(properties)
    for key, row in properties.items():
        found = info.properties[key]
        assert found.read_only == (row.get("readonly") is True), key
        assert found.writable == (row.get("readonly") is False), key


def test_every_type_can_be_read_to_its_last_property() -> None:
    seen: set[int] = set()

    def walk(info: PropertyInfo) -> None:
        if info.items is not None:
            walk(info.items)
        if info.object is not None and id(info.object) not in seen:
            seen.add(id(info.object))
            walk_object(info.object)

    def walk_object(found: ObjectInfo) -> None:
        for each in (*found.properties.values(), *(row for _, row in found.dynamic)):
            walk(each)

    for info in CATALOG.types.values():
        walk_object(info.object)
        for action in info.actions.values():
            for each in action.parameters.values():
                walk(each)
    assert len(CATALOG.types) > 300
    assert len(seen) > 500


@pytest.mark.parametrize(
    ("uri", "type_name"),
    [
        ("/redfish/v1", "ServiceRoot"),
        ("/redfish/v1/Fabrics/CXL/Zones", "ZoneCollection"),
        ("/redfish/v1/Fabrics/CXL/Zones/1", "Zone"),
        ("/redfish/v1/Fabrics/CXL/Switches/S/VCSs/1/VPPBs/0", "VirtualPCI2PCIBridge"),
        ("/redfish/v1/Chassis/C/MemoryDomains/D/MemoryChunks/1", "MemoryChunks"),
        ("/redfish/v1/Chassis/C/PCIeDevices/D/CXLLogicalDevices/1", "CXLLogicalDevice"),
        ("/redfish/v1/Storage/S/Volumes/1", "Volume"),
        ("/redfish/v1/Chassis/C/Power", "Power"),
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
        for template in (*info.uris, *info.uris_deprecated):
            found = CATALOG.type_of(template.replace("{", "").replace("}", ""))
            assert found is info, template


def test_ancestors_are_the_types_above() -> None:
    uri = "/redfish/v1/Systems/1/LogServices/L/Entries/1"
    assert CATALOG.ancestors(uri) == (
        "ServiceRoot", "ComputerSystemCollection", "ComputerSystem", "LogServiceCollection",
        "LogService", "LogEntryCollection",
    )  # fmt: skip


@pytest.mark.parametrize("name", CREATABLE)
def test_every_property_of_a_creatable_type_is_classified_once(name: str) -> None:
    info = CATALOG.types[name]
    table = info.create
    assert table is not None
    names = set(info.properties)
    links = info.properties.get("Links")
    if links is not None and links.object is not None and "Links" not in table.refused:
        names.discard("Links")
        names |= {f"Links.{name}" for name in links.object.properties}
    lists = [table.required, table.optional, frozenset(table.refused) - {OTHERWISE}]
    named = set().union(*lists)
    # A path below an object says that only this much of it can be given.
    assert all(each in names or info.find(each) is not None for each in named)
    assert sum(map(len, lists)) == len(named)
    assert named == names or OTHERWISE in table.refused, names - named
    assert all(table.refused.values())


@pytest.mark.parametrize("name", CREATABLE)
def test_what_the_standard_requires_on_creation_can_be_given(name: str) -> None:
    info = CATALOG.types[name]
    _, schema = official(name)
    assert info.create is not None
    assert set(schema.get("requiredOnCreate", ())) <= info.create.required
    for template in info.create.collections:
        collection = CATALOG.type_of(template.replace("{", "").replace("}", ""))
        assert collection is not None
        assert collection.member == name
        assert collection.insertable


@pytest.mark.parametrize("name", WITH_ROW)
def test_a_row_names_properties_that_exist_and_says_truly_what_the_schema_says(name: str) -> None:
    info, row = CATALOG.types[name], service_json()["types"][name]
    for path in (*info.writable_here, *info.overlay_here, *info.derived, *info.row.observed):
        assert info.find(path) is not None, path
    for path in row.get("writable", ()):
        assert declared_writable(info.find(path)), path
    for path, reason in row.get("writable_here", {}).items():
        assert not declared_writable(info.find(path)), path
        assert reason
    assert row["why"]


@pytest.mark.parametrize("name", WITH_ROW)
def test_every_property_has_one_owner(name: str) -> None:
    info = CATALOG.types[name]
    owners = [info.writable_here, frozenset(info.derived), info.row.observed, info.overlay_here]
    if not info.deletable_here:
        owners.remove(info.writable_here)
    else:
        owners.remove(info.overlay_here)
    for position, owned in enumerate(owners):
        for other in owners[position + 1 :]:
            assert not owned & other


def test_an_overlay_sets_only_what_the_schema_lets_clients_set() -> None:
    overlaid = [info for info in CATALOG.types.values() if info.overlay_here]
    assert {"Chassis", "Drive", "PCIeDevice", "Switch"} <= {info.name for info in overlaid}
    for info in overlaid:
        assert info.updatable
        for path in info.overlay_here:
            assert declared_writable(info.find(path)), (info.name, path)


def test_a_type_that_comes_later_is_creatable_nowhere() -> None:
    rows = service_json()["types"]
    for name in CREATABLE:
        create = CATALOG.types[name].create
        assert create is not None
        assert bool(create.collections) != ("later" in rows[name])
        assert rows[name]["collections"]


def test_derived_links_are_those_that_mapping_derives() -> None:
    mapped = {
        (name, path.replace("/", "."), pointer.strip("/").replace("/", "."))
        for name, rows in FORWARD.items()
        for path, pointer in rows
    }
    for info in CATALOG.types.values():
        for path, sources in info.derived.items():
            for source, link in sources:
                assert (source, link, path) in mapped


def test_task_monitors_and_tasks_lead_to_each_other() -> None:
    task = "/redfish/v1/TaskService/Tasks/a1"
    assert CATALOG.task_of(CATALOG.monitor_of(task)) == task
    assert CATALOG.task_of(task) is None
    assert CATALOG.task_of(CATALOG.monitor_of(task) + "/x") is None


def test_a_table_for_an_unknown_type_or_action_is_refused() -> None:
    service = service_json()
    with pytest.raises(ValueError, match="Zine"):
        loaded({**service, "types": {"Zine": {"why": "x"}}})
    wrong = loaded({**service, "types": {"Zone": {"why": "x", "actions": ["Zone.Bake"]}}})
    with pytest.raises(ValueError, match=r"Zone\.Bake"):
        _ = wrong.types["Zone"].actions


def test_every_action_of_our_table_is_one_of_its_type() -> None:
    for info in CATALOG.types.values():
        supported = {action.name for action in info.actions.values() if action.supported}
        assert supported == info.row.actions


def test_two_types_at_one_uri_stop_the_start() -> None:
    zone = msgspec.json.decode((schemas_dir() / "types" / "Zone.json").read_bytes())
    zone["x-resources"] = {"Zine": zone["x-resources"]["Zone"]}
    folder = schemas_dir() / "types"
    files = {"Zone": (folder / "Zone.json").read_bytes(), "Zine": msgspec.json.encode(zone)}
    with pytest.raises(ValueError, match="is also"):
        Catalog(files, {**service_json(), "types": {}})


def test_link_targets_and_enumerations_are_facts() -> None:
    zone = CATALOG.types["Zone"]
    assert zone.properties["ZoneType"].enum == {
        "Default", "ZoneOfEndpoints", "ZoneOfZones", "ZoneOfResourceBlocks",
    }  # fmt: skip
    endpoints = zone.find("Links.Endpoints")
    assert endpoints is not None
    assert endpoints.items is not None
    assert (endpoints.items.kind, endpoints.items.link_to) == (Kind.LINK, "Endpoint")


def test_what_has_no_uri_of_its_own_may_stand_in_place_of_a_link() -> None:
    sources = CATALOG.types["Volume"].properties["CapacitySources"].items
    drives = CATALOG.types["Volume"].find("Links.Drives")
    assert sources is not None
    assert sources.object is not None
    assert drives is not None
    assert drives.items is not None
    assert drives.items.object is None


def test_names_by_pattern_are_properties_too() -> None:
    attributes = CATALOG.types["Bios"].properties["Attributes"].object
    assert attributes is not None
    found = attributes.find("NumaGroup")
    assert found is not None
    assert found.kind is Kind.MIXED
    assert found.types == {"string", "boolean", "number"}
    assert attributes.find("9lives") is None
    headers = CATALOG.types["EventDestination"].properties["HttpHeaders"].items
    assert headers is not None
    assert headers.object is not None
    assert headers.object.find("X-Session") is not None


def test_deprecated_properties_are_known_as_such() -> None:
    assert CATALOG.types["Drive"].properties["IndicatorLED"].deprecated
    assert not CATALOG.types["Drive"].properties["AssetTag"].deprecated
