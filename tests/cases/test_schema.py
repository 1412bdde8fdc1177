"""Cases SCHEMA of shared/cases.jsonl: identities, types, the root's links, actions.

The oracle is the packs' own JSON schemas and what schemas/types says of URIs, read here anew.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from redfish_fm.fabric.power import ResetType
from redfish_fm.redfish.changes import Space
from redfish_fm.resources import schemas_dir
from tests.cases.conftest import Tree
from tests.cases.life import GPU1, HOST1, PCIE_ENDPOINTS, endpoint_body, lived
from tests.cases.stack import ROOT, Stack, a_stack, links_in, two_hosts
from tests.control.builders import PCIE_ZONES, zone_body
from tests.drivers.fabrics import MOCKUPS
from tests.mapping.schemas import SchemaPack
from tests.redfish.builders import CATALOG, keys, related
from tests.virtual_time import in_virtual_time

TYPE = re.compile(r"#[A-Za-z0-9]+(\.v\d+_\d+_\d+)?\.[A-Za-z0-9]+")
RACK_LINKS = frozenset({"Storage", "Cables"})
"""Linked where there is any in the rack."""

VERSION = re.compile(r"\d+\.\d+\.\d+")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ROOT_LINKS = {
    "Fabrics": "FabricCollection",
    "Systems": "ComputerSystemCollection",
    "Chassis": "ChassisCollection",
    "Managers": "ManagerCollection",
    "CompositionService": "CompositionService",
    "EventService": "EventService",
    "Tasks": "TaskService",
    "SessionService": "SessionService",
    "AccountService": "AccountService",
    "Registries": "MessageRegistryFileCollection",
    "JsonSchemas": "JsonSchemaFileCollection",
}
OWN_REGISTRY = f"{ROOT}/Registries/RedfishFM/RedfishFM.1.0.0"
CONTRADICTION = re.compile(r"\.Messages\.\w+: 'Severity' is a required property$")
"""The one thing the schemas want that we leave out: docs/decisions/0006."""


def type_name(document: Mapping[str, Any]) -> str:
    return str(document["@odata.type"]).rsplit(".", 1)[-1]


def placed() -> dict[str, list[re.Pattern[str]]]:
    """Return, by type, a pattern of each URI that the schemas give it."""
    found: dict[str, list[re.Pattern[str]]] = {}
    for path in (schemas_dir() / "types").glob("*.json"):
        for name, facts in json.loads(path.read_text()).get("x-resources", {}).items():
            uris = (*facts.get("uris", ()), *facts.get("uris_deprecated", ()))
            found[name] = [pattern(uri) for uri in uris]
    return found


def pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{[^}]*\}", template.rstrip("/"))
    return re.compile("[^/]+".join(map(re.escape, parts)))


def identities(tree: Tree) -> Iterator[str]:
    """Yield what is wrong with the identity of a resource, one line each."""
    places = placed()
    for uri, document in tree.items():
        expected = f"{uri}/" if uri == ROOT else uri
        if document["@odata.id"] != expected:
            yield f"{uri}: @odata.id is {document['@odata.id']}"
        name, patterns = type_name(document), places.get(type_name(document), [])
        if patterns and not any(each.fullmatch(uri) for each in patterns):
            yield f"{uri}: not a place of {name}"
        is_member = type_name(tree.get(uri.rpartition("/")[0], {"@odata.type": ""}))
        if is_member.endswith("Collection") and document.get("Id") != uri.rpartition("/")[2]:
            yield f"{uri}: Id is {document.get('Id')}"
        for link in all_ids(document):
            if not link.startswith(f"{ROOT}/"):
                yield f"{uri}: {link} is no path below {ROOT}"
            elif link != f"{ROOT}/" and link.endswith("/"):
                yield f"{uri}: {link} ends in a slash"


def all_ids(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "@odata.id":
                yield inner
            else:
                yield from all_ids(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from all_ids(inner)


def test_sc_01_identity_of_every_resource(own_tree: Tree) -> None:
    assert len(own_tree) > 200
    assert list(identities(own_tree)) == []
    for uri, document in own_tree.items():
        if "Id" in document and uri != ROOT:
            assert document["Id"] == uri.rpartition("/")[2], uri


def test_sc_01_identity_of_every_imported_resource(imported_trees: dict[str, Tree]) -> None:
    for name, tree in imported_trees.items():
        assert list(identities(tree)) == [], name


def test_sc_01_every_link_leads_somewhere(own_tree: Tree, imported_trees: dict[str, Tree]) -> None:
    for tree in (own_tree, *imported_trees.values()):
        for uri, document in tree.items():
            assert [link for link in links_in(document) if link not in tree] == [], uri


@in_virtual_time
async def test_sc_01_the_trailing_slash_names_the_same_resource() -> None:
    async with a_stack() as stack:
        for uri in (ROOT, PCIE_ZONES, HOST1):
            one, other = [await stack.ask("GET", each) for each in (uri, f"{uri}/")]
            assert (one.status, one.body) == (200, other.body)


def test_sc_02_every_type_is_well_formed_and_published(
    own_tree: Tree, imported_trees: dict[str, Tree]
) -> None:
    for tree in (own_tree, *imported_trees.values()):
        listed = {tree[uri]["Schema"] for uri in tree if uri.startswith(f"{ROOT}/JsonSchemas/")}
        for uri, document in tree.items():
            assert TYPE.fullmatch(document["@odata.type"]), uri
            assert document["@odata.type"] in listed, uri


def test_sc_02_every_resource_of_ours_is_valid(own_tree: Tree, schemas: SchemaPack) -> None:
    errors = [line for document in own_tree.values() for line in schemas.errors(document)]
    assert [line for line in errors if not CONTRADICTION.search(line)] == []
    assert len(errors) == len(own_tree[OWN_REGISTRY]["Messages"])


def test_sc_02_the_oracle_refuses_what_no_schema_names(own_tree: Tree, schemas: SchemaPack) -> None:
    one_each = {document["@odata.type"]: document for document in own_tree.values()}
    assert len(one_each) > 40
    for document in one_each.values():
        invented = schemas.errors({**document, "Invented": 1})
        assert len(invented) == len(schemas.errors(document)) + 1, document["@odata.id"]


def test_sc_02_every_imported_resource_is_valid(
    own_tree: Tree, imported_trees: dict[str, Tree], schemas: SchemaPack
) -> None:
    judged = 0
    for tree in imported_trees.values():
        examples = set(capabilities(tree))
        for uri, document in tree.items():
            if schema_of(document) in schemas.files and document != own_tree.get(uri):
                lines = [each for each in schemas.errors(document) if not fine(each, uri, examples)]
                assert lines == []
                judged += 1
    assert judged > 400


def capabilities(tree: Tree) -> Iterator[str]:
    """Yield the URIs of capabilities objects: forms to fill in, which need not be complete."""
    for document in tree.values():
        listed = document.get("@Redfish.CollectionCapabilities", {}).get("Capabilities", ())
        yield from (each["CapabilitiesObject"]["@odata.id"] for each in listed)


def fine(line: str, uri: str, examples: set[str]) -> bool:
    incomplete = uri in examples and line.endswith("is a required property")
    return incomplete or CONTRADICTION.search(line) is not None


def schema_of(document: Mapping[str, Any]) -> str:
    return f"{str(document['@odata.type']).lstrip('#').rpartition('.')[0]}.json"


@pytest.mark.parametrize(
    "claim", ["#Zone.1.00.0.Zone", "#Zone.v1_0_0.Zone", "#Endpoint.v1_8_2.Endpoint", "Zone"]
)
@in_virtual_time
async def test_sc_02_what_is_made_has_the_services_type(claim: str) -> None:
    async with a_stack() as stack:
        body = {"@odata.type": claim, "@odata.id": "/x", "Name": "x"}
        zone = await stack.get(await stack.made(PCIE_ZONES, body))
        assert zone["@odata.type"] == "#Zone.v1_6_3.Zone"
        assert zone["@odata.id"].startswith(f"{PCIE_ZONES}/")
        made = await stack.made(PCIE_ENDPOINTS, {**endpoint_body(), "@odata.type": claim})
        assert (await stack.get(made))["@odata.type"] == "#Endpoint.v1_8_2.Endpoint"


@in_virtual_time
async def test_sc_02_annotations_of_a_client_are_not_kept() -> None:
    async with a_stack() as stack:
        counts = {"Identifiers@odata.count": 9, "Name@odata.type": "x"}
        body = {"Name": "x", **counts, "Links": {"Endpoints@odata.count": 9, "Endpoints": []}}
        zone = await stack.made(PCIE_ZONES, body)
        shown = await stack.get(zone)
        assert "@odata.count" not in json.dumps(shown)
        assert (await stack.ask("PATCH", zone, {**body, "Name": "y"})).status == 200
        assert await stack.get(zone) == {**shown, "Name": "y"} | {
            "@odata.etag": await stack.etag(zone)
        }


@in_virtual_time
async def test_sc_03_the_root_links_every_service_at_top_level() -> None:
    async with a_stack() as stack:
        root = json.loads((await stack.ask("GET", f"{ROOT}/", user=None)).body)
        for name, kind in ROOT_LINKS.items():
            assert set(root[name]) == {"@odata.id"}
            assert type_name(await stack.get(root[name]["@odata.id"])) == kind
        linked = {name for name, value in root.items() if isinstance(value, dict)}
        others = {"Links", "ProtocolFeaturesSupported", *RACK_LINKS}
        assert linked - others == set(ROOT_LINKS)
        for name in RACK_LINKS:
            assert (await stack.get(root[name]["@odata.id"]))["Members@odata.count"] > 0
        sessions = root["Links"]["Sessions"]
        assert sessions == (await stack.get(root["SessionService"]["@odata.id"]))["Sessions"]
        assert VERSION.fullmatch(root["RedfishVersion"])
        assert UUID.fullmatch(root["UUID"])
        assert root["Vendor"]
        assert root["Product"]


def test_sc_03_every_import_has_the_services_that_are_ours(
    imported_trees: dict[str, Tree],
) -> None:
    for tree in imported_trees.values():
        for name in ROOT_LINKS.keys() - {"Fabrics", "Systems", "Managers", "CompositionService"}:
            assert type_name(tree[tree[ROOT][name]["@odata.id"]]) == ROOT_LINKS[name]


def actions(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the actions by name; ours, which stand below Oem, as "Oem/Type.Action"."""
    found: dict[str, Any] = dict(document.get("Actions", {}))
    ours: dict[str, Any] = found.pop("Oem", {})
    return {**found, **{f"Oem/{name.lstrip('#')}": action for name, action in ours.items()}}


@in_virtual_time
async def test_sc_05_every_target_takes_a_post_and_names_what_is_missing() -> None:
    async with a_stack() as stack:
        await lived(stack)
        tried = 0
        for uri, document in (await stack.crawl()).items():
            for name, action in actions(document).items():
                assert action["target"] == f"{uri}/Actions/{name.lstrip('#')}"
                allow = (await stack.ask("OPTIONS", action["target"])).headers["Allow"]
                assert "POST" in allow.split(", ")
                await check_action(stack, action)
                tried += 1
        assert tried >= 4


async def check_action(stack: Stack, action: Mapping[str, Any]) -> None:
    """Check that an empty body is refused by what ActionInfo says is missing, if anything is."""
    info = await stack.get(action["@Redfish.ActionInfo"])
    required = {row["Name"] for row in info["Parameters"] if row["Required"]}
    if not required:
        assert (await stack.ask("POST", action["target"], {})).status == 204
        return
    before = stack.tags()
    response = await stack.ask("POST", action["target"], {})
    assert response.status == 400
    assert set(keys(response)) == {"ActionParameterMissing"}
    assert set(related(response)) == {f"#/{name}" for name in required}
    assert stack.tags() == before


def test_sc_05_enumerations_are_told(own_tree: Tree, schemas: SchemaPack) -> None:
    infos = [each for each in own_tree.values() if type_name(each) == "ActionInfo"]
    supported = {name for info in CATALOG.types.values() for name in info.row.actions}
    assert len(infos) >= 7
    assert {info["Id"] for info in infos} <= supported
    ours = {name for info in CATALOG.types.values() for name in info.row.oem_actions}
    for info in (each for each in infos if each["Id"] not in ours):
        published, definitions = parameters(schemas, info["Id"])
        assert {row["Name"] for row in info["Parameters"]} == set(published)
        for row in info["Parameters"]:
            inner = published[row["Name"]].get("items", published[row["Name"]])
            enum = referred(schemas, definitions, inner).get("enum")
            told = set(row.get("AllowableValues", []))
            if row["Name"] == "ResetType":
                # What a host can do is less than there are words for.
                assert told and told <= {each.value for each in ResetType}
            else:
                assert told == set(enum or [])


def referred(
    schemas: SchemaPack, definitions: dict[str, Any], inner: dict[str, Any]
) -> dict[str, Any]:
    """Return the definition that a parameter refers to, in its file or in another; else itself."""
    file, _, named = inner.get("$ref", "").partition("#/definitions/")
    if file:
        definitions = schemas.files[file.rsplit("/", 1)[-1]]["definitions"]
    found: dict[str, Any] = definitions.get(named, inner)
    if "anyOf" in found:
        # An unversioned file leads on to each version there was.
        found = referred(schemas, definitions, found["anyOf"][-1])
    return found


def parameters(schemas: SchemaPack, action: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of "Zone.AddEndpoint" as its newest schema has them, and its types."""
    type_, _, name = action.partition(".")
    newest = max(
        (each for each in schemas.files if re.fullmatch(rf"{type_}\.v[\d_]+\.json", each)),
        key=lambda each: [int(part) for part in re.findall(r"\d+", each)],
    )
    definitions: dict[str, Any] = schemas.files[newest]["definitions"]
    return definitions[name]["parameters"], definitions


@in_virtual_time
async def test_sc_05_what_is_not_advertised_is_not_carried_out() -> None:
    async with a_stack() as stack:
        commands = stack.commands()
        for uri in ("/Fabrics/PCIe/Switches/pcie1", "/Chassis/gpu1"):
            document = await stack.get(f"{ROOT}{uri}")
            assert actions(document) == {}
            target = f"{ROOT}{uri}/Actions/{type_name(document)}.Reset"
            response = await stack.ask("POST", target, {"ResetType": "ForceRestart"})
            assert (response.status, keys(response)) == (400, ["ActionNotSupported"])
        assert stack.commands() == commands


@in_virtual_time
async def test_sc_05_an_action_does_what_its_parameters_say() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1))
        target = actions(await stack.get(zone))["#Zone.AddEndpoint"]["target"]
        body = {"Endpoint": {"@odata.id": GPU1}, "EndpointETag": "", "ZoneETag": ""}
        assert (await stack.ask("POST", target, body)).status == 204
        members = (await stack.get(zone))["Links"]["Endpoints"]
        assert {each["@odata.id"] for each in members} == {HOST1, GPU1}


def test_the_shipped_topology_is_what_these_tests_crawl() -> None:
    assert (MOCKUPS / "two-hosts.yaml").is_file()
    assert len(two_hosts().inventories) == 2


@in_virtual_time
async def test_sc_03_the_uuid_outlives_a_restart() -> None:
    async with a_stack() as stack:
        before = (await stack.get(ROOT))["UUID"]
        durable, hardware = stack.durable, stack.rig.hardware
        assert durable.spaces[Space.DOCUMENT]
    async with a_stack(durable=durable, hardware=hardware) as stack:
        assert (await stack.get(ROOT))["UUID"] == before
