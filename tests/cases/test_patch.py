"""Cases PATCH of shared/cases.jsonl: unknown and read-only properties, arrays, the same again."""

import json
from typing import Any

import pytest

from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.identity import SESSION_SERVICE
from tests.cases.life import (
    GPU1,
    GPU2,
    HOST1,
    NVME1,
    PCIE_ENDPOINTS,
    account_body,
    endpoint_body,
    lived,
)
from tests.cases.stack import ROOT, a_stack
from tests.control.builders import PCIE_FABRIC, PCIE_ZONES, links, zone_body
from tests.redfish.builders import keys, related
from tests.virtual_time import in_virtual_time

UUIDS = [f"{n}0000000-1111-4222-8333-444444444444" for n in range(1, 4)]
IDENTIFIERS = [{"DurableName": name, "DurableNameFormat": "UUID"} for name in UUIDS]
READ_ONLY = ("Id", "@odata.id", "@odata.type", "Status", "Actions", "Members@odata.count")

BAD: tuple[tuple[Any, list[str], list[str]], ...] = (
    ({"Bogus": 1}, ["PropertyUnknown"], ["#/Bogus"]),
    ({"Id": "other", "@odata.id": "/x"}, ["PropertyNotWritable"], ["#/Id"]),
    ({"@odata.id": "/x"}, ["NoOperation"], []),
    ({"@odata.id": "/x", "@odata.etag": "1", "@odata.type": "#A.A"}, ["NoOperation"], []),
    ({"Description": "ok", "Bogus": 1}, ["PropertyUnknown"], ["#/Bogus"]),
    ({"Description": "ok", "Status": {"State": "Enabled"}}, ["PropertyNotWritable"], ["#/Status"]),
    (
        {"Description": 1, "Bogus": 1, "Id": "x", "Links": {"Nowhere": 1}},
        ["PropertyValueTypeError", "PropertyUnknown", "PropertyNotWritable", "PropertyUnknown"],
        ["#/Description", "#/Bogus", "#/Id", "#/Links/Nowhere"],
    ),
    ({}, ["NoOperation"], []),
)


@pytest.mark.parametrize(("body", "messages", "pointers"), BAD)
@in_virtual_time
async def test_pa_01_one_bad_property_and_nothing_is_applied(
    body: Any, messages: list[str], pointers: list[str]
) -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1, Description="as it was"))
        before, shown, commands = stack.tags(), await stack.get(zone), stack.commands()
        response = await stack.ask("PATCH", zone, body)
        assert response.status == 400
        assert sorted(keys(response)) == sorted(messages)
        assert sorted(related(response)) == sorted(pointers)
        assert stack.tags() == before
        assert await stack.get(zone) == shown
        assert stack.commands() == commands


@in_virtual_time
async def test_pa_01_every_changeable_resource_refuses_unknown_and_identity() -> None:
    """Whatever says PATCH in Allow: nothing invented sticks, and no identity moves."""
    async with a_stack() as stack:
        await lived(stack)
        tried = 0
        for uri, document in (await stack.crawl()).items():
            if "PATCH" not in (await stack.ask("GET", uri)).headers["Allow"].split(", "):
                continue
            before = stack.tags()
            response = await stack.ask("PATCH", uri, {"Bogus": 1})
            assert (response.status, keys(response)) == (400, ["PropertyUnknown"]), uri
            response = await stack.ask("PATCH", uri, {"Id": "other", "@odata.id": "/x"})
            assert (response.status, keys(response)) == (400, ["PropertyNotWritable"]), uri
            response = await stack.ask("PATCH", uri, {})
            assert (response.status, keys(response)) == (400, ["NoOperation"]), uri
            assert stack.tags() == before
            assert await stack.get(uri) == document
            tried += 1
        assert tried > 40


@in_virtual_time
async def test_pa_01_a_good_property_beside_a_refused_meaning_is_not_applied() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        await stack.made(PCIE_ZONES, zone_body(NVME1))
        before = stack.tags()
        body = zone_body(HOST1, GPU1, NVME1, Name="good", Description="good")
        response = await stack.ask("PATCH", zone, body)
        assert response.status == 409
        assert stack.tags() == before


@in_virtual_time
async def test_pa_03_the_identifiers_of_an_endpoint_are_read_only() -> None:
    async with a_stack() as stack:
        body = {**endpoint_body(), "Identifiers": IDENTIFIERS[:2]}
        endpoint = await stack.made(PCIE_ENDPOINTS, body)
        before = stack.tags()
        response = await stack.ask("PATCH", endpoint, {"Identifiers": [{}, None]})
        assert (response.status, keys(response)) == (400, ["PropertyNotWritable"])
        assert (await stack.get(endpoint))["Identifiers"] == IDENTIFIERS[:2]
        assert stack.tags() == before


CHANGED = {"DurableName": UUIDS[0].replace("1", "9", 1), "DurableNameFormat": "UUID"}
ARRAYS = {
    "empty object keeps, null removes": ([{}, None, {}], [IDENTIFIERS[0], IDENTIFIERS[2]]),
    "null removes the last": ([{}, {}, None], IDENTIFIERS[:2]),
    "a shorter array truncates": ([{}], IDENTIFIERS[:1]),
    "an empty array empties": ([], []),
    "an object changes what stands there": (
        [{"DurableName": CHANGED["DurableName"]}, {}, {}],
        [CHANGED, *IDENTIFIERS[1:]],
    ),
    "a longer array appends": ([{}, {}, {}, CHANGED], [*IDENTIFIERS, CHANGED]),
    "null beyond the end is nothing": ([{}, {}, {}, None], IDENTIFIERS),
}


@pytest.mark.parametrize("name", ARRAYS)
@in_virtual_time
async def test_pa_03_an_array_that_can_be_written(name: str) -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, {"Name": "z", "Identifiers": IDENTIFIERS})
        sent, expected = ARRAYS[name]
        response = await stack.ask("PATCH", zone, {"Identifiers": sent})
        assert response.status == 200, response.body
        assert json.loads(response.body).get("Identifiers", []) == expected
        assert (await stack.get(zone)).get("Identifiers", []) == expected


@in_virtual_time
async def test_pa_03_an_array_of_links() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1, GPU2))
        await stack.rig.converged()
        body = {"Links": {"Endpoints": [{}, None, {}]}}
        assert (await stack.ask("PATCH", zone, body)).status == 200
        assert (await stack.get(zone))["Links"]["Endpoints"] == links(HOST1, GPU2)
        await stack.rig.converged()
        assert [target.port for target in stack.rig.bound().values()] == ["D2"]


@in_virtual_time
async def test_pa_03_wrong_elements_are_named() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, {"Name": "z", "Identifiers": IDENTIFIERS})
        before = stack.tags()
        sent = [{}, 7, {"DurableNameFormat": "Banana"}, {"Bogus": 1}]
        response = await stack.ask("PATCH", zone, {"Identifiers": sent})
        assert response.status == 400
        assert sorted(related(response)) == [
            "#/Identifiers/1",
            "#/Identifiers/2/DurableNameFormat",
            "#/Identifiers/3/Bogus",
        ]
        assert stack.tags() == before


@in_virtual_time
async def test_pa_05_the_same_value_again_changes_nothing() -> None:
    """On everything that takes a PATCH: no commit, no feed record, no command, no Task."""
    async with a_stack() as stack:
        made = await lived(stack)
        bodies: dict[str, Any] = {
            made["zone"]: zone_body(HOST1, GPU1, Name="first"),
            made["empty"]: {"Name": "empty", "Links": {"Endpoints": []}},
            made["endpoint"]: {"Name": "again"},
            made["account"]: {"RoleId": "ReadOnly", "Enabled": True},
            made["role"]: {"AssignedPrivileges": ["Login"]},
            SESSION_SERVICE: {"SessionTimeout": 1800},
        }
        assert (await stack.ask("PATCH", SESSION_SERVICE, bodies[SESSION_SERVICE])).status == 200
        before, commands = stack.tags(), stack.commands()
        feed = len(stack.durable.feed)
        for uri, body in bodies.items():
            for name, value in body.items():
                response = await stack.ask("PATCH", uri, {name: value})
                assert response.status == 200, (uri, response.body)
                assert "Location" not in response.headers
        assert stack.tags() == before
        assert (stack.commands(), len(stack.durable.feed)) == (commands, feed)


@in_virtual_time
async def test_pa_05_the_whole_document_sent_back_is_refused_by_name_only() -> None:
    """A client that PATCHes what it read hears of its read-only properties, and of nothing else."""
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        response = await stack.ask("PATCH", zone, await stack.get(zone))
        assert (response.status, set(keys(response))) == (400, {"PropertyNotWritable"})
        assert set(related(response)) == {"#/Id", "#/Status", "#/Actions", "#/Oem/RedfishFM"}


def test_pa_05_no_resource_claims_deferred_settings(own_tree: dict[str, dict[str, Any]]) -> None:
    for document in own_tree.values():
        assert "@Redfish.Settings" not in document
        assert "@Redfish.SettingsApplyTime" not in document


@pytest.mark.parametrize("uri", [ROOT, PCIE_FABRIC, HOST1, PCIE_ZONES, ACCOUNTS])
@in_virtual_time
async def test_pa_01_what_never_changes_says_so_before_it_looks_at_the_body(uri: str) -> None:
    async with a_stack() as stack:
        for body in (b"", b"{", b"{}", b'{"Bogus": 1}', b'{"Name": "x"}'):
            response = await stack.ask("PATCH", uri, body)
            assert (response.status, keys(response)) == (405, ["OperationNotAllowed"])


@in_virtual_time
async def test_pa_01_a_password_is_never_applied_beside_a_bad_property() -> None:
    async with a_stack() as stack:
        account = await stack.made(ACCOUNTS, account_body())
        before = dict(stack.durable.spaces)
        response = await stack.ask("PATCH", account, {"Password": "another-one", "Bogus": 1})
        assert (response.status, keys(response)) == (400, ["PropertyUnknown"])
        assert dict(stack.durable.spaces) == before
        assert (await stack.login("made", "another-one")).status == 401
