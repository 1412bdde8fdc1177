"""Cases ETAG of shared/cases.jsonl: the forms in which tags come back, and what a tag follows."""

import json
import re
from typing import Any

import pytest

from redfish_fm.fabric.model import PortId
from redfish_fm.worlds import World
from tests.cases.life import (
    GPU1,
    HOST1,
    PCIE_ENDPOINTS,
    PCIE_PORTS,
    account_body,
    endpoint_body,
    lived,
    role_body,
)
from tests.cases.stack import Stack, a_stack
from tests.control.builders import PCIE_ZONES, zone_body
from tests.redfish.builders import keys
from tests.redfish.house import ACCOUNTS
from tests.virtual_time import in_virtual_time

ONE_TAG = re.compile(r'"[!#-~]+"')
ROLES = "/redfish/v1/AccountService/Roles"
FORMS = {
    "the header": lambda tag: tag,
    "made weak": lambda tag: f"W/{tag}",
    "any": lambda _: "*",
    "in a list": lambda tag: f'"x", {tag}, W/"y"',
}
MADE = {
    "zone": (PCIE_ZONES, {"Name": "n0"}),
    "endpoint": (PCIE_ENDPOINTS, endpoint_body(Name="n0")),
    "account": (ACCOUNTS, account_body(Name="n0")),
    "role": (ROLES, {**role_body(), "Name": "n0"}),
}


@pytest.mark.parametrize("kind", MADE)
@in_virtual_time
async def test_et_01_every_form_of_the_current_tag_is_taken(kind: str) -> None:
    async with a_stack() as stack:
        uri = await stack.made(*MADE[kind])
        for number, form in enumerate(FORMS, 1):
            response = await stack.ask("GET", uri)
            tag, body = response.headers["ETag"], json.loads(response.body)
            assert ONE_TAG.fullmatch(tag)
            assert body["@odata.etag"] == tag
            name = {"Name": f"n{number}"}
            response = await stack.ask("PATCH", uri, name, if_match=FORMS[form](tag))
            assert response.status == 200, (form, response.body)
            assert (await stack.get(uri))["Name"] == f"n{number}"
            assert response.headers["ETag"] != tag
        from_body = (await stack.get(uri))["@odata.etag"]
        response = await stack.ask("PATCH", uri, {"Name": "body"}, if_match=from_body)
        assert response.status == 200
        assert (await stack.ask("PATCH", uri, {"Name": "none"})).status == 200
        assert (await stack.ask("DELETE", uri, if_match=await stack.etag(uri))).status == 204


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("tag", ['"never"', 'W/"never"', '"a", "b"', "unquoted", '""', "stale"])
@in_virtual_time
async def test_et_01_any_other_tag_is_refused_and_nothing_changes(kind: str, tag: str) -> None:
    async with a_stack() as stack:
        uri = await stack.made(*MADE[kind])
        if tag == "stale":
            tag = await stack.etag(uri)
            assert (await stack.ask("PATCH", uri, {"Description": "newer"})).status == 200
        before = stack.tags()
        for method, body in (("PATCH", {"Name": "n"}), ("PATCH", {"Bogus": 1}), ("DELETE", None)):
            response = await stack.ask(method, uri, body, if_match=tag)
            assert (response.status, keys(response)) == (412, ["PreconditionFailed"])
        assert stack.tags() == before


@in_virtual_time
async def test_et_01_every_resource_has_one_quoted_tag_in_header_and_body() -> None:
    async with a_stack() as stack:
        await lived(stack)
        for uri in await stack.crawl():
            response = await stack.ask("GET", uri)
            tag = response.headers["ETag"]
            assert ONE_TAG.fullmatch(tag), uri
            assert json.loads(response.body)["@odata.etag"] == tag, uri
            head = await stack.ask("HEAD", uri)
            assert (head.status, head.headers["ETag"], head.body) == (200, tag, b"")
            for form in ("the header", "made weak", "any", "in a list"):
                cached = await stack.ask("GET", uri, if_none_match=FORMS[form](tag))
                assert (cached.status, cached.headers["ETag"], cached.body) == (304, tag, b"")
            fresh = await stack.ask("GET", uri, if_none_match='"never"')
            assert (fresh.status, fresh.body) == (200, response.body)


@in_virtual_time
async def test_et_01_what_hardware_does_never_costs_a_client_its_tag() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        port = f"{PCIE_PORTS}/D4"
        tag, port_tag = await stack.etag(zone), await stack.etag(port)
        stack.rig.hardware["PCIe"].set_port(PortId("pcie1", "D4"), link_up=False)
        stack.rig.hardware["PCIe"].restart("pcie1")
        await stack.rig.until(lambda: stack.rig.get(port)["LinkStatus"] != "LinkUp")
        assert await stack.etag(port) != port_tag
        body: dict[str, Any] = {"LocationIndicatorActive": True}
        assert (await stack.ask("PATCH", port, body, if_match=port_tag)).status == 200
        assert (await stack.ask("PATCH", zone, {"Name": "n"}, if_match=tag)).status == 200


@in_virtual_time
async def test_et_05_content_decides_the_tag_of_a_collection() -> None:
    async with a_stack() as stack:
        for collection, body in MADE.values():
            one, same = await stack.etag(collection), await stack.etag(collection)
            made = await stack.made(collection, body)
            other = await stack.etag(collection)
            assert one == same != other
            assert (await stack.ask("DELETE", made)).status == 204
            assert await stack.etag(collection) == one


@in_virtual_time
async def test_et_05_tags_of_idle_resources_stand_still() -> None:
    async with a_stack() as stack:
        await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        await stack.rig.converged()
        before = await tags(stack)
        await stack.clock.sleep(100.0)
        assert await tags(stack) == before


async def tags(stack: Stack) -> dict[str, str]:
    return {
        uri: document["@odata.etag"]
        for uri, document in (await stack.crawl()).items()
        if "/Sessions" not in uri
    }


@in_virtual_time
async def test_et_05_the_same_content_has_the_same_tags_after_a_restart() -> None:
    async with a_stack() as stack:
        await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        await stack.made(ACCOUNTS, account_body())
        await stack.rig.converged()
        before = await tags(stack)
        durable, hardware = stack.durable, stack.rig.hardware
    async with a_stack(durable=durable, hardware=hardware) as stack:
        assert await tags(stack) == before


@in_virtual_time
async def test_et_05_two_services_with_the_same_content_agree() -> None:
    seen = []
    for _ in range(2):
        async with a_stack() as stack:
            await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
            await stack.rig.converged()
            seen.append(await tags(stack))
    assert seen[0] == seen[1]


def test_et_05_an_import_has_the_same_tags_after_a_restart(public_cxl: World) -> None:
    @in_virtual_time
    async def restart() -> None:
        async with a_stack(public_cxl) as stack:
            before = await tags(stack)
            durable, hardware = stack.durable, stack.rig.hardware
        async with a_stack(public_cxl, durable=durable, hardware=hardware) as stack:
            assert await tags(stack) == before

    restart()


@in_virtual_time
async def test_et_05_a_change_moves_only_the_tags_of_what_shows_it() -> None:
    async with a_stack() as stack:
        before = await tags(stack)
        zone = await stack.made(PCIE_ZONES, {"Name": "n"})
        after = await tags(stack)
        moved = {uri for uri in before if after[uri] != before[uri]}
        assert moved == {PCIE_ZONES}
        assert {uri for uri in after.keys() - before.keys() if "/ActionInfos/" not in uri} == {zone}
