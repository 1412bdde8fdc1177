"""A change of members that hardware refuses, or whose Task is cancelled: the rest is as before."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from redfish_fm.drivers.virtual.faults import Refuse, Slow
from redfish_fm.fabric.model import Bind
from tests.cases.life import (
    CHUNK0,
    CXL_CONNECTIONS,
    CXL_HOST1,
    GPU1,
    GPU2,
    HOST2,
    LD0,
    connection_body,
    group_body,
    slowly,
)
from tests.cases.stack import Stack, a_stack
from tests.cases.test_memory import mixed
from tests.cases.test_storage import CONNECTIONS, H1, connection, made, volume
from tests.control.builders import CXL_FABRIC, CXL_ZONES, PCIE_ZONES, cxl, links, zone_body
from tests.redfish.builders import related
from tests.virtual_time import in_virtual_time

LD1, CHUNK1 = cxl("mem1-ld1"), CHUNK0.replace("/MemoryDomains/0/", "/MemoryDomains/1/")
REFUSED = Refuse("bay is locked")


@dataclass(frozen=True, slots=True)
class Asked:
    """A PATCH that binds one thing more; `place` is where it names what that is."""

    fabric: str
    uri: str
    body: dict[str, Any]
    place: str


async def a_zone(stack: Stack) -> Asked:
    zone = await stack.made(PCIE_ZONES, zone_body(HOST2, GPU1, Name="old"))
    body = zone_body(HOST2, GPU1, GPU2, Name="new", Description="d")
    return Asked("PCIe", zone, body, "#/Links/Endpoints/2")


def row(chunk: str, *access: str) -> dict[str, Any]:
    return {"AccessCapabilities": list(access), "MemoryChunk": {"@odata.id": chunk}}


async def a_connection(stack: Stack) -> Asked:
    await stack.made(CXL_ZONES, zone_body(CXL_HOST1, LD0, LD1))
    uri = await stack.made(CXL_CONNECTIONS, connection_body(Name="old"))
    body = {
        "Name": "new",
        "Description": "d",
        "MemoryChunkInfo": [row(CHUNK0, "Read"), row(CHUNK1, "Read")],
        "Links": {"TargetEndpoints": links(LD0, LD1)},
    }
    return Asked("CXL", uri, body, "#/MemoryChunkInfo/1/MemoryChunk")


async def a_group(stack: Stack) -> Asked:
    await stack.made(CXL_ZONES, zone_body(CXL_HOST1, LD0))
    groups = f"{CXL_FABRIC}/EndpointGroups"
    group = await stack.made(groups, group_body("old", CXL_HOST1))
    assert (await stack.ask("PATCH", group, {"Links": {"Endpoints": []}})).status == 200
    body = connection_body()
    body["Links"] = {"InitiatorEndpointGroups": links(group), "TargetEndpoints": links(LD0)}
    await stack.made(CXL_CONNECTIONS, body)
    new = {**group_body("new", CXL_HOST1), "Description": "d", "GroupType": "Client"}
    return Asked("CXL", group, new, "")


KINDS = pytest.mark.parametrize("kind", [a_zone, a_connection, a_group])
Kind = Callable[[Stack], Awaitable[Asked]]


@KINDS
@in_virtual_time
async def test_a_refused_change_of_members_leaves_everything_as_before(kind: Kind) -> None:
    async with a_stack() as stack:
        asked = await kind(stack)
        before = await stack.get(asked.uri)
        stack.rig.faults(asked.fabric).next_apply(None, REFUSED)
        response = await stack.ask("PATCH", asked.uri, asked.body)
        assert response.status == 409 and b"HardwareRefused" in response.body
        assert related(response) == ([asked.place] if asked.place else [])
        await stack.rig.converged(asked.fabric)
        assert await stack.get(asked.uri) == before
        assert (await stack.ask("PATCH", asked.uri, asked.body)).status == 200


@KINDS
@in_virtual_time
async def test_a_cancelled_change_of_members_leaves_everything_as_before(kind: Kind) -> None:
    async with a_stack() as stack:
        asked = await kind(stack)
        before = await stack.get(asked.uri)
        stack.rig.faults(asked.fabric).next_apply(None, Slow(20.0))
        task = (await slowly(stack, "PATCH", asked.uri, asked.body))["task"]
        assert (await stack.get(asked.uri))["Name"] == "new"
        assert (await stack.ask("DELETE", task)).status < 300
        await stack.rig.converged(asked.fabric)
        assert await stack.get(asked.uri) == before


@in_virtual_time
async def test_what_a_refused_change_let_go_of_stays_gone_and_nothing_else_is_changed() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST2, GPU1, Name="old"))
        before = await stack.get(zone)
        stack.rig.faults().next_apply(None, REFUSED, only=(Bind,))
        response = await stack.ask("PATCH", zone, zone_body(HOST2, GPU2, Name="n"))
        assert response.status == 409, response.body
        await stack.rig.converged()
        after = await stack.get(zone)
        assert after["Links"]["Endpoints"] == links(HOST2)
        assert after["Name"] == "old" and "Description" not in after
        ignored = {"@odata.etag": 0, "Links": 0, "Oem": 0}
        assert "Oem" in before and "Oem" not in after  # what is bound
        assert {**after, **ignored} == {**before, **ignored}
        assert stack.rig.bound() == {}


@in_virtual_time
async def test_a_refused_attachment_is_named_by_namespace_and_host_not_by_a_vppb() -> None:
    async with a_stack(mixed()) as stack:
        first, second = await volume(stack), await volume(stack)
        uri = await made(stack, CONNECTIONS, {**connection(H1, first), "Name": "old"})
        before = await stack.get(uri)
        body = {"Name": "new", "VolumeInfo": connection(H1, first, second)["VolumeInfo"]}
        stack.rig.faults("NVMeoF").next_apply(None, REFUSED)
        response = await stack.ask("PATCH", uri, body)
        assert response.status == 409, response.body
        (told,) = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
        assert told["MessageArgs"][0] == "Attachment of namespace 2 of jbof1 to host1"
        assert related(response) == ["#/VolumeInfo/1/Volume"]
        await stack.rig.converged("NVMeoF")
        assert await stack.get(uri) == before
