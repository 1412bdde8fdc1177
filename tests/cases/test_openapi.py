"""The OpenAPI document: valid, and in agreement with what is served, routes and $metadata."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from redfish_fm.redfish.bodies import check_action, check_create, check_patch
from redfish_fm.redfish.certificates import CLIENT_AUTHORITIES
from redfish_fm.redfish.openapi import as_yaml
from redfish_fm.redfish.routes import Routes
from redfish_fm.redfish.select import parse_select
from redfish_fm.redfish.targets import PUBLIC
from tests.cases.composing import COMPOSE, RESERVATIONS, block, manifest, stanza
from tests.cases.conftest import Tree
from tests.cases.life import (
    GPU1,
    HOST1,
    account_body,
    connection_body,
    endpoint_body,
    group_body,
    lived,
    role_body,
)
from tests.cases.small_world import small_world
from tests.cases.stack import CATALOG, ROOT, Stack, a_stack
from tests.cases.test_collection import authority_body
from tests.cases.test_created_bodies import GOOD
from tests.control.builders import CXL_ZONES, PCIE_FABRIC, PCIE_ZONES, cxl, links, zone_body
from tests.fuzz.run import topology_world
from tests.fuzz.surface import targets_of
from tests.redfish.house import PASSWORD
from tests.virtual_time import in_virtual_time, run

OPENAPI = f"{ROOT}/openapi.yaml"
PCIE_ZONE = f"{ROOT}/Fabrics/{{FabricId}}/Zones/{{ZoneId}}"
METHODS = ("get", "head", "post", "patch", "delete")
COMING = {f"{ROOT}/TaskService/Tasks", f"{ROOT}/TaskService/TaskMonitors", RESERVATIONS} | {
    f"{ROOT}/Managers/{{ManagerId}}/LogServices/{{LogServiceId}}/Entries"
}
"""Collections whose members come without a POST to them."""


@cache
def document() -> Any:
    """Return what a fresh service on two-hosts says of itself, read once."""

    async def read() -> bytes:
        async with a_stack() as stack:
            response = await stack.ask("GET", OPENAPI)
            assert response.status == 200
            assert response.headers["Content-Type"] == "application/yaml"
            return response.body

    return yaml.load(run(read()), Loader=yaml.CSafeLoader)


def body_schema(name: str) -> Draft202012Validator:
    return Draft202012Validator(document()["components"]["schemas"][name])


def test_it_is_valid_openapi_3_1() -> None:
    assert document()["openapi"].startswith("3.1.")
    validate(document())


def test_every_schema_is_valid_json_schema() -> None:
    for schema in document()["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


@in_virtual_time
async def test_it_needs_credentials_and_takes_reading_only() -> None:
    async with a_stack() as stack:
        assert (await stack.ask("GET", OPENAPI, user=None)).status == 401
        assert (await stack.ask("GET", OPENAPI, user="ro")).status == 200
        refused = await stack.ask("DELETE", OPENAPI)
        assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")


@pytest.mark.parametrize(
    "accept", ["application/yaml", "application/*", "*/*", "application/yaml;charset=utf-8", None]
)
@in_virtual_time
async def test_the_usual_accept_headers_get_it(accept: str | None) -> None:
    async with a_stack() as stack:
        headers = {} if accept is None else {"accept": accept}
        first = await stack.ask("GET", OPENAPI, **headers)
        again = await stack.ask("GET", OPENAPI, if_none_match=first.headers["ETag"], **headers)
        assert (first.status, again.status) == (200, 304)
        assert (await stack.ask("GET", OPENAPI, accept="application/json")).status == 406


def test_routes_and_verbs_are_some_of_those_of_the_routes_table() -> None:
    table = {(method, each.uri) for each in Routes(CATALOG).all() for method in each.methods}
    told = {
        (method.upper(), uri)
        for method, uri in operations(document())
        if CATALOG.template_of(uri.partition("/Actions/")[0]) is not None
    }
    assert len(told) > 150
    assert told <= table


def operations(told: Any) -> set[tuple[str, str]]:
    """Return (method, template) of every operation of an OpenAPI document."""
    return {(name, uri) for uri, item in told["paths"].items() for name in METHODS if name in item}


async def described(stack: Stack) -> Any:
    """Return the document as it is now."""
    return yaml.load((await stack.ask("GET", OPENAPI)).body, Loader=yaml.CSafeLoader)


async def taken(stack: Stack, *further: str) -> set[tuple[str, str]]:
    """Return (method, template) of all that OPTIONS allows of everything that can be reached."""
    found = set()
    places = set(further)
    for uri, shown in (await stack.crawl()).items():
        places |= {uri, *targets_of(shown)}
    for uri in places:
        allow = (await stack.ask("OPTIONS", uri)).headers["Allow"].lower().split(", ")
        found |= {(method, template(uri)) for method in allow if method != "options"}
    return found


def unlinked(told: Any) -> Iterator[str]:
    """Yield the URIs of a document that are no templates: not to all of them any link leads."""
    return (uri for uri in told["paths"] if "{" not in uri)


def template(uri: str) -> str:
    """Return the template that the document has a URI under."""
    owner, action, name = uri.partition("/Actions/")
    if CATALOG.task_of(uri) is not None:
        return CATALOG.task_monitor
    return f"{CATALOG.template_of(owner) or owner}{action}{name}"


async def everything(stack: Stack) -> str:
    """Make one of everything in small_world; return a task monitor."""
    # A subsystem has room for two: one that the connection grants, and one of its pool.
    (pool,) = [each for each in await stack.crawl() if each.endswith("/AllocatedVolumes")]
    await stack.made(pool, {"CapacityBytes": 1 << 30})
    await stack.made(GOOD["Volume"][0], {"Id": "given", "CapacityBytes": 1 << 30})
    for name in GOOD.keys() - {"Volume"}:
        await stack.made(*GOOD[name])
    await stack.made(CLIENT_AUTHORITIES, authority_body("one"))
    await stack.login("admin", PASSWORD)
    await stack.itself.logs.audit_log.close()
    part = {"SupplyingResourceBlocks": links(block("drive1"))}
    reserve = manifest("PreviewReserve", stanza("ComposeResource", Links=part))
    reserved = await stack.ask("POST", COMPOSE, reserve)
    assert reserved.status == 200, reserved.body
    grants = zone_body(cxl("host1-2"), cxl("mem1"))
    task = await stack.ask("POST", CXL_ZONES, grants, prefer="respond-async")
    assert task.status == 202, task.body
    return task.headers["Location"]


@in_virtual_time
async def test_it_tells_what_is_taken_once_there_is_one_of_everything_and_nothing_else() -> None:
    async with a_stack(small_world()) as stack:
        told = await described(stack)
        monitor = await everything(stack)
        assert await taken(stack, monitor, *unlinked(told)) == operations(told)


@in_virtual_time
async def test_everything_that_is_served_stands_in_it_and_takes_no_other_method() -> None:
    async with a_stack() as stack:
        made = await lived(stack)
        assert await taken(stack, made["monitor"]) <= operations(document())


@pytest.mark.parametrize("topology", ["two-hosts", "mixed"])
@in_virtual_time
async def test_nothing_stands_in_it_that_neither_is_nor_can_be_made(topology: str) -> None:
    async with a_stack(topology_world(topology)) as stack:
        told = await described(stack)
        there = await taken(stack, *unlinked(told))
        holding = {uri for method, uri in there if method == "post"} | COMING
        for method, uri in operations(told) - there:
            member = uri.partition("/Actions/")[0]
            assert member.rpartition("/")[0] in holding, (method, uri)


def test_its_types_are_those_of_metadata(own_tree: Tree) -> None:
    async def read() -> bytes:
        async with a_stack() as stack:
            return (await stack.ask("GET", f"{ROOT}/$metadata")).body

    root = ElementTree.fromstring(run(read()))  # noqa: S314 - our own document
    included = {str(each.get("Namespace")) for each in root.iter() if each.tag.endswith("Include")}
    schemas = document()["components"]["schemas"]
    told = {name for name, row in schemas.items() if "externalDocs" in row}
    assert {str(each["@odata.type"]).rpartition(".")[2] for each in own_tree.values()} <= told
    assert told <= {namespace.partition(".")[0] for namespace in included}
    for name in told:
        assert re.search(
            schemas[name]["properties"]["@odata.type"]["pattern"], CATALOG.types[name].odata_type
        )


def test_credentials_are_asked_for_everywhere_but_for_what_is_public_and_the_login() -> None:
    assert document()["security"] == [{"basic": []}, {"token": []}]
    paths = document()["paths"]
    open_ = {
        (method, uri)
        for method, uri in operations(document())
        if paths[uri][method].get("security") == []
    }
    login = ("post", CATALOG.uri_of("SessionCollection"))
    assert open_ == {login} | {(method, uri) for uri in PUBLIC for method in ("get", "head")}


@in_virtual_time
async def test_its_query_parameters_are_those_that_are_evaluated() -> None:
    values = {"$expand": ".", "$select": "Id", "$filter": "Id eq '1'", "$top": "1", "$skip": "0"}
    async with a_stack() as stack:
        for uri in (PCIE_ZONES, PCIE_FABRIC):
            item = document()["paths"][CATALOG.template_of(uri) or uri]["get"]
            rows = document()["components"]["parameters"]
            names = {rows[each["$ref"].rpartition("/")[2]]["name"] for each in item["parameters"]}
            for name in (*values, "only", "excerpt"):
                target = f"{uri}?{name}={values.get(name, '')}"
                taken = (await stack.ask("GET", target)).status == 200
                # A collection ignores it; it means something where single types have one.
                assert taken == (name in names) or name == "excerpt", target
            unknown = await stack.ask("GET", f"{uri}?$invented=1")
            assert unknown.status == 501


@in_virtual_time
async def test_top_and_skip_are_described_as_far_as_they_are_read() -> None:
    most = document()["components"]["parameters"]["top"]["schema"]["maximum"]
    assert document()["components"]["parameters"]["skip"]["schema"]["maximum"] == most
    async with a_stack() as stack:
        for name in ("$top", "$skip"):
            assert (await stack.ask("GET", f"{PCIE_ZONES}?{name}={most}")).status == 200
            assert (await stack.ask("GET", f"{PCIE_ZONES}?{name}={most + 1}")).status == 400


@pytest.mark.parametrize(
    "text",
    ["Id", "Id,Name", " Id , Name ", "Status/State", "@odata.id", "", ",", "Id,", "a//b", "*"],
)
def test_select_is_described_as_it_is_read(text: str) -> None:
    pattern = document()["components"]["parameters"]["select"]["schema"]["pattern"]
    assert (re.search(pattern, text) is not None) == (parse_select(text) is not None)


@in_virtual_time
async def test_a_member_in_the_place_of_its_collection_fits_what_is_described() -> None:
    async with a_stack() as stack:
        await stack.made(PCIE_ZONES, {"Name": "one"})
        for uri in (f"{ROOT}/SessionService/Sessions", f"{ROOT}/Systems", f"{ROOT}/Fabrics"):
            item = document()["paths"][uri]["get"]["responses"]["200"]
            described = item["content"]["application/json"]["schema"]
            whole = {**described, "components": document()["components"]}
            shown = json.loads((await stack.ask("GET", uri)).body)
            member = await stack.get(shown["Members"][0]["@odata.id"])
            fits = Draft202012Validator(whole).is_valid
            assert fits(shown)
            assert fits(member)
            assert not fits(await stack.get(ROOT))


def test_an_excerpt_is_offered_where_there_is_one() -> None:
    paths = document()["paths"]
    excerpt = {"$ref": "#/components/parameters/excerpt"}
    assert (
        excerpt in paths[f"{ROOT}/Chassis/{{ChassisId}}/Sensors/{{SensorId}}"]["get"]["parameters"]
    )
    assert excerpt not in paths[PCIE_ZONE]["get"]["parameters"]


def test_operations_have_names_of_their_own() -> None:
    paths = document()["paths"]
    names = [paths[uri][method]["operationId"] for method, uri in operations(document())]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"\w+", name) for name in names)


@pytest.mark.parametrize(
    ("type_name", "body"),
    [
        ("Zone", zone_body(HOST1, GPU1, Name="z")),
        ("Zone", {"Name": "z", "@odata.type": "#Zone.v1_0_0.Zone"}),
        ("Connection", connection_body()),
        ("Endpoint", endpoint_body()),
        ("EndpointGroup", group_body()),
        ("ManagerAccount", account_body()),
        ("Role", role_body()),
        ("Session", {"UserName": "x", "Password": "y"}),
        ("Role", {**role_body(), "AssignedPrivileges": []}),
        ("Endpoint", endpoint_body(ConnectedEntities=[])),
        ("Connection", connection_body(Links={})),
        ("Zone", {"Name": 1}),
        ("Zone", {"Name": ""}),
        ("Zone", {"Bogus": 1}),
        ("Zone", {"Status": {}}),
        ("Zone", {"ZoneType": "Banana"}),
        ("Zone", {"Links": {"Endpoints": "x"}}),
        ("Zone", {"Links": {"Endpoints": [{"@odata.id": "x"}]}}),
        ("Zone", {"Links": {"Bogus": []}}),
        ("Zone", {"Oem": {"Contoso": {"a": 1}}}),
        ("Zone", {"Oem": {"Contoso": 1}}),
        ("Zone", {"Oem": {"Contoso": None}}),
        ("Endpoint", {}),
        ("Connection", connection_body(MemoryChunkInfo=[{"Bogus": 1}])),
        ("ManagerAccount", {"UserName": "x"}),
        ("ManagerAccount", account_body(RoleId=None)),
        ("Certificate", {"CertificateString": "x", "CertificateType": "PEM"}),
        ("Certificate", {"CertificateString": "x", "CertificateType": None}),
        ("Certificate", {"CertificateString": None, "CertificateType": "PEM"}),
        ("Session", {"UserName": "x", "Password": 1}),
        ("Zone", {"Name": "x" * 256}),
        ("Zone", {"Name": "x" * 257}),
        ("Zone", {"Name": "x", "Description": "x" * 4_096}),
        ("Zone", {"Name": "x", "Description": "x" * 4_097}),
        ("Zone", {"Name": "x", "Links": {"Endpoints": [{"@odata.id": "/" * 4_096}]}}),
        ("Zone", {"Name": "x", "Links": {"Endpoints": [{"@odata.id": "/" * 4_097}]}}),
        ("Zone", {"Name": "x", "Id": "x" * 128}),
        ("Zone", {"Name": "x", "Id": "x" * 129}),
        ("Zone", {"Name": "x", "Id": "a/b"}),
        ("Zone", {"Name": "x", "Id": ".."}),
        ("Zone", {"Name": "x", "Id": "Members"}),
        ("AddressPool", {"Name": "x", "Ethernet": {"IPv4": {"NTPServer": ["x" * 4_096]}}}),
        ("AddressPool", {"Name": "x", "Ethernet": {"IPv4": {"NTPServer": ["x" * 4_097]}}}),
        (
            "AddressPool",
            {"Name": "x", "Ethernet": {"IPv4": {"HostAddressRange": {"Lower": "x" * 4_097}}}},
        ),
    ],
)
def test_a_body_fits_its_schema_where_the_service_finds_no_fault(type_name: str, body: Any) -> None:
    fits = body_schema(f"{type_name}.Create").is_valid(body)
    assert fits == (check_create(CATALOG.types[type_name], body) == [])


@pytest.mark.parametrize(
    "body",
    [
        {"Name": "x"},
        {"Id": "x"},
        {"Links": {"Endpoints": []}},
        {"Bogus": 1},
        {"Name": None},
        {"Links": {"Endpoints": [None, {}, {"@odata.id": "/x"}]}},
        {"Links": {"Endpoints": [{"Bogus": 1}]}},
        {"Oem": {"Contoso": {"a": None}}},
        {"Oem": {"Contoso": None}},
        {"Links": {"Oem": {"Contoso": None}}},
        {"Oem": {"Contoso": 1}},
    ],
)
def test_a_patch_fits_its_schema_where_the_service_finds_no_fault(body: Any) -> None:
    fits = body_schema("Zone.Update").is_valid(body)
    assert fits == (check_patch(CATALOG.types["Zone"], body, wanted=True) == [])


@pytest.mark.parametrize(
    "body",
    [
        {"Endpoint": {"@odata.id": GPU1}},
        {"Endpoint": GPU1},
        {},
        {"Endpoint": 1},
        {"Bogus": 1},
        {"Endpoint": "/" * 4_096},
        {"Endpoint": "/" * 4_097},
        {"Endpoint": {"@odata.id": "/" * 4_097}},
        {"Endpoint": GPU1, "ZoneETag": "x" * 4_096},
        {"Endpoint": GPU1, "ZoneETag": "x" * 4_097},
    ],
)
def test_parameters_fit_their_schema_where_the_service_finds_no_fault(body: Any) -> None:
    fits = body_schema("Zone.AddEndpoint.Parameters").is_valid(body)
    action = CATALOG.types["Zone"].actions["Zone.AddEndpoint"]
    assert fits == (check_action(action, body) == [])


def test_every_name_of_the_tables_stands_in_the_schemas() -> None:
    schemas = document()["components"]["schemas"]
    made = [name.removesuffix(".Create") for name in schemas if name.endswith(".Create")]
    assert len(made) > 8
    for name in made:
        info = CATALOG.types[name]
        assert info.create is not None
        assert paths_in(schemas[f"{name}.Create"], info.create.allowed) == info.create.allowed


def paths_in(schema: Any, paths: frozenset[str]) -> set[str]:
    """Return those of `paths` that the schema has properties for."""
    found = set()
    for path in paths:
        level = schema
        for name in path.split("."):
            level = (level or {}).get("properties", {}).get(name)
        if level is not None:
            found.add(path)
    return found


@pytest.mark.parametrize(
    "value",
    [
        {},
        {
            "a": [],
            "b": {},
            "yes": "no",
            "200": 1.5,
            "null": None,
            "é": "a: b # c\n",
            "list": [[1], {}],
        },
        {"$x": [{"deep": [{"er": True}]}, "- x", "{"], "Name": "0x1", "Time": "12:30", "~": "~"},
    ],
)
def test_yaml_reads_back_as_it_was(value: Any) -> None:
    assert yaml.safe_load(as_yaml(value)) == json.loads(json.dumps(value))
