"""Cases COLLECTION of shared/cases.jsonl: ids, Location, counts, members, deleting what is gone."""

import json
import re
from typing import Any

import pytest

from redfish_fm.drivers.virtual.faults import Slow
from redfish_fm.fabric.model import BindTarget, Unbind
from redfish_fm.mapping.uris import SUBSCRIPTIONS
from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.certificates import CLIENT_AUTHORITIES
from redfish_fm.redfish.roles import ROLES
from tests.cases.conftest import Tree
from tests.cases.life import (
    CXL_CONNECTIONS,
    CXL_HOST1,
    GPU1,
    HOST1,
    HOST2,
    LD0,
    PCIE_CONNECTIONS,
    PCIE_DEFAULT,
    PCIE_ENDPOINTS,
    PCIE_GROUPS,
    PCIE_POOLS,
    SYSTEMS,
    account_body,
    connection_body,
    endpoint_body,
    group_body,
    role_body,
    slowly,
    system_body,
)
from tests.cases.stack import Stack, a_stack
from tests.certificates_made import an_authority
from tests.control.builders import CXL_ZONES, PCIE_ZONES, links, zone_body
from tests.redfish.builders import CATALOG
from tests.redfish.house import PASSWORD, SESSIONS
from tests.virtual_time import in_virtual_time

BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"
LOGIN = {"UserName": "admin", "Password": PASSWORD}


def authority_body(name: str) -> dict[str, Any]:
    """Return an authority that clients' certificates are to be trusted by, at any time."""
    made = an_authority(name, days=(-9_000, 9_000))
    return {"CertificateString": made.pem, "CertificateType": "PEM"}


def block_body(*blocks: str) -> dict[str, Any]:
    """Return a block made of others."""
    found = (f"{BLOCKS}/{name}" for name in blocks)
    return {"Links": {"SupplyingResourceBlocks": links(*found)}}


CREATABLE: dict[str, tuple[Any, ...]] = {
    PCIE_ZONES: ({"Name": "a"}, {"Name": "b"}),
    PCIE_ENDPOINTS: (endpoint_body("D3"), endpoint_body("D3", Name="third")),
    CXL_CONNECTIONS: (connection_body(),),
    PCIE_GROUPS: (group_body("a"), group_body("b")),
    PCIE_POOLS: ({"Name": "a"}, {"Name": "b"}),
    SYSTEMS: (system_body("host2", "gpu2"), system_body("host2", "nvme2", Name="second")),
    BLOCKS: (block_body("gpu1"), block_body("nvme1")),
    ACCOUNTS: (account_body("a"), account_body("b")),
    ROLES: (role_body("A"), role_body("B")),
    SESSIONS: (LOGIN, LOGIN),
    SUBSCRIPTIONS: (
        {"Destination": "https://192.0.2.50/a", "Protocol": "Redfish"},
        {"Destination": "https://192.0.2.50/a", "Protocol": "Redfish", "Context": "b"},
    ),
    CLIENT_AUTHORITIES: (authority_body("a"), authority_body("b")),
}
"""Every collection that takes a POST now, with bodies for it."""


async def members(stack: Stack, uri: str) -> list[str]:
    """Return the members of a collection, whose form is checked."""
    document = await stack.get(uri)
    check_collection(document)
    return [member["@odata.id"] for member in document["Members"]]


def check_collection(document: dict[str, Any]) -> None:
    uri, listed = document["@odata.id"], document["Members"]
    assert isinstance(listed, list), uri
    assert type(document["Members@odata.count"]) is int, uri
    assert document["Members@odata.count"] == len(listed), uri
    assert "Member@odata.count" not in document
    if not document["@odata.type"].endswith(".LogEntryCollection"):
        # DSP0266 wants log entries whole in their collection.
        assert all(set(member) == {"@odata.id"} for member in listed), uri
    uris = [member["@odata.id"] for member in listed]
    assert len(set(uris)) == len(uris), uri
    if not ELSEWHERE.fullmatch(uri):
        assert all(each.rpartition("/")[0] == uri for each in uris), uri


ELSEWHERE = re.compile(
    r"/redfish/v1/CompositionService/(FreePool|ActivePool)|/redfish/v1/Systems/[^/]+/\w+(/\w+/\w+)?"
)
"""Collections whose members stand elsewhere: pools of blocks, and what a composed system is of."""
BESIDE = frozenset(
    {
        "/redfish/v1/Systems/Capabilities",
        "/redfish/v1/Systems/ConstrainedCapabilities",
        "/redfish/v1/CompositionService/ResourceBlocks/RegisterCapabilities",
        "/redfish/v1/CompositionService/ResourceBlocks/Capabilities",
    }
)
"""What lies under a collection and only tells how members of it are made."""


def is_collection(document: dict[str, Any]) -> bool:
    info = CATALOG.types.get(document.get("@odata.type", "").rsplit(".", 1)[-1])
    return info is not None and info.collection


@pytest.mark.parametrize("collection", [uri for uri in CREATABLE if len(CREATABLE[uri]) > 1])
@in_virtual_time
async def test_cl_01_a_deleted_id_is_never_used_again(collection: str) -> None:
    async with a_stack() as stack:
        first, second = CREATABLE[collection]
        kept = await members(stack, collection)
        gone = await stack.made(collection, first)
        assert (await stack.ask("DELETE", gone)).status == 204
        assert await members(stack, collection) == kept
        last = await stack.made(collection, second)
        assert sorted(await members(stack, collection)) == sorted([*kept, last])
        assert last != gone


@in_virtual_time
async def test_cl_01_ids_stay_unique_however_posts_and_deletes_alternate() -> None:
    async with a_stack() as stack:
        seen, present = [], []
        for round_ in range(12):
            present.append(await stack.made(PCIE_ZONES, {"Name": f"z{round_}"}))
            seen.append(present[-1])
            if round_ % 3:
                await stack.ask("DELETE", present.pop(round_ % len(present)))
            assert sorted(await members(stack, PCIE_ZONES)) == sorted([PCIE_DEFAULT, *present])
        assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("collection", CREATABLE)
@pytest.mark.parametrize("suffix", ["", "/", "/Members"])
@in_virtual_time
async def test_cl_03_create_answers_201_location_body_and_etag(
    collection: str, suffix: str
) -> None:
    async with a_stack() as stack:
        await stack.made(CXL_ZONES, zone_body(CXL_HOST1, LD0))
        await stack.token("admin")
        before = await members(stack, collection)
        user = None if collection == SESSIONS else "admin"
        response = await stack.ask("POST", collection + suffix, CREATABLE[collection][0], user=user)
        assert response.status == 201, response.body
        location, body = response.headers["Location"], json.loads(response.body)
        assert location.startswith(f"{collection}/")
        assert body["@odata.id"] == location
        assert response.headers["ETag"] == body["@odata.etag"]
        read = await stack.ask("GET", location)
        assert (read.status, read.body) == (200, response.body)
        assert read.headers["ETag"] == response.headers["ETag"]
        assert sorted(await members(stack, collection)) == sorted([*before, location])


@in_virtual_time
async def test_cl_03_every_collection_that_says_post_is_tried_here() -> None:
    async with a_stack() as stack:
        taking = set()
        for uri, document in (await stack.crawl()).items():
            allow = (await stack.ask("GET", uri)).headers["Allow"].split(", ")
            if "POST" in allow:
                assert is_collection(document), uri
                taking.add(uri)
        twins = {PCIE_CONNECTIONS, CXL_ZONES, CXL_CONNECTIONS.replace("Connections", "Endpoints")}
        twins |= {uri.replace("PCIe", "CXL") for uri in (PCIE_GROUPS, PCIE_POOLS)}
        assert taking == set(CREATABLE) | twins


def test_cl_05_count_and_members_of_every_collection(own_tree: Tree) -> None:
    collections = [each for each in own_tree.values() if is_collection(each)]
    assert len(collections) > 50
    for document in collections:
        check_collection(document)
        for member in document["Members"]:
            assert member["@odata.id"] in own_tree
    assert not [uri for uri, each in own_tree.items() if ("Members" in each) != is_collection(each)]


def test_cl_05_count_and_members_of_every_imported_collection(
    imported_trees: dict[str, Tree],
) -> None:
    for tree in imported_trees.values():
        collections = [each for each in tree.values() if is_collection(each)]
        assert len(collections) >= 20
        for document in collections:
            check_collection(document)


def test_cl_05_every_member_is_listed(own_tree: Tree, imported_trees: dict[str, Tree]) -> None:
    for tree in (own_tree, *imported_trees.values()):
        for uri in tree:
            above = tree.get(uri.rpartition("/")[0])
            if above is not None and is_collection(above):
                listed = [each["@odata.id"] for each in above["Members"]]
                assert (uri in listed) != (uri in BESIDE), uri


def test_cl_05_log_entries_are_whole_and_as_their_own_get_gives_them(
    imported_trees: dict[str, Tree],
) -> None:
    compared = 0
    for tree in imported_trees.values():
        for document in tree.values():
            if document["@odata.type"].endswith(".LogEntryCollection"):
                for member in document["Members"]:
                    alone = dict(tree[member["@odata.id"]])
                    del alone["@odata.etag"]
                    assert member == alone
                    compared += 1
    assert compared > 0


@in_virtual_time
async def test_cl_06_an_empty_collection_is_an_empty_list() -> None:
    async with a_stack() as stack:
        empty = {
            uri: each
            for uri, each in (await stack.crawl()).items()
            if is_collection(each) and not each["Members"]
        }
        assert {PCIE_CONNECTIONS, CXL_CONNECTIONS, PCIE_GROUPS, PCIE_POOLS} <= set(empty)
        for document in empty.values():
            assert document["Members"] == []
            check_collection(document)


@in_virtual_time
async def test_cl_06_a_collection_that_became_empty_is_one_again() -> None:
    async with a_stack() as stack:
        before = await stack.ask("GET", PCIE_GROUPS)
        group = await stack.made(PCIE_GROUPS, group_body("a"))
        assert await members(stack, PCIE_GROUPS) == [group]
        assert (await stack.ask("DELETE", group)).status == 204
        after = await stack.ask("GET", PCIE_GROUPS)
        assert (after.body, after.headers) == (before.body, before.headers)


def test_cl_06_reference_objects_hold_nothing_but_the_uri(
    own_tree: Tree, imported_trees: dict[str, Tree]
) -> None:
    for tree in (own_tree, *imported_trees.values()):
        for uri, document in tree.items():
            whole = document["@odata.type"].endswith(".LogEntryCollection")
            for pointer, value in () if whole else objects(document, ""):
                if "@odata.id" in value and pointer and "#" not in value["@odata.id"]:
                    assert set(value) == {"@odata.id"}, (uri, pointer)


def objects(value: Any, pointer: str) -> list[tuple[str, dict[str, Any]]]:
    """Return every object in a document with its JSON pointer."""
    if isinstance(value, list):
        return [each for n, one in enumerate(value) for each in objects(one, f"{pointer}/{n}")]
    if not isinstance(value, dict):
        return []
    inner = [each for name, one in value.items() for each in objects(one, f"{pointer}/{name}")]
    return [(pointer, value), *inner]


@in_virtual_time
async def test_cl_08_what_the_hardware_has_lost_can_be_deleted_once() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        ((vppb, target),) = stack.rig.bound().items()
        assert isinstance(target, BindTarget)
        stack.rig.faults().next_apply(None, Slow(1000.0), times=None)
        stack.rig.hardware["PCIe"].execute(Unbind(vppb, target), "outside")
        first = await stack.ask("DELETE", zone)
        assert first.status in (200, 202, 204), first.body
        assert (await stack.ask("GET", zone)).status == 404
        assert (await stack.ask("DELETE", zone)).status == 404
        assert await members(stack, PCIE_ZONES) == [PCIE_DEFAULT]


@in_virtual_time
async def test_cl_08_a_zone_of_an_unreachable_switch_can_be_deleted() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST2, GPU1))
        stack.rig.hardware["PCIe"].cut("pcie1")
        await slowly(stack, "DELETE", zone)
        assert (await stack.ask("GET", zone)).status == 404
        assert (await stack.ask("DELETE", zone)).status == 404
        stack.rig.hardware["PCIe"].heal("pcie1")
        await stack.rig.converged()
        assert stack.rig.bound() == {}
