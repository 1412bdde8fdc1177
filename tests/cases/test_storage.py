"""NVMe over Fabrics over the whole stack: namespaces carved, attached, shared, given back."""

import json
from typing import Any

import pytest

from redfish_fm.control.base import Base
from redfish_fm.drivers.virtual.faults import Refuse, Slow
from redfish_fm.fabric.model import BindTarget, Media, PortId
from redfish_fm.mapping.facts import Facts
from redfish_fm.store.memory import DurableState
from tests.cases.stack import Stack, a_stack
from tests.cases.test_memory import mixed
from tests.control.builders import links, zone_body
from tests.redfish.builders import keys
from tests.virtual_time import in_virtual_time

FABRIC = "/redfish/v1/Fabrics/NVMeoF"
CONNECTIONS, ZONES = f"{FABRIC}/Connections", f"{FABRIC}/Zones"
STORAGE = "/redfish/v1/Storage/jbof1"
VOLUMES = f"{STORAGE}/Volumes"
POOL = f"{STORAGE}/StoragePools/jbof1-pool"
ALLOCATED = f"{POOL}/AllocatedVolumes"
GIB = 1 << 30
TOTAL = 28610229 << 20
SHAREABLE: dict[str, Any] = {"NVMeNamespaceProperties": {"IsShareable": True}}


def endpoint(name: str) -> str:
    return f"{FABRIC}/Endpoints/{name}"


H1, H2, H3, JBOF = (endpoint(name) for name in ("host1", "host2", "host3", "jbof1"))


def connection(initiator: str, *volumes: str, target: str | None = JBOF) -> dict[str, Any]:
    access = {"AccessCapabilities": ["Read", "Write"]}
    rows = [{**access, "Volume": {"@odata.id": volume}} for volume in volumes]
    ends = {"InitiatorEndpoints": links(initiator)}
    ends |= {} if target is None else {"TargetEndpoints": links(target)}
    return {"ConnectionType": "Storage", "VolumeInfo": rows, "Links": ends}


async def settled(stack: Stack) -> None:
    await stack.rig.until(lambda: not stack.kernel.operations.open_of("NVMeoF"))


async def made(stack: Stack, collection: str, body: Any) -> str:
    """POST; return the URI of what came to be, which must have been answered at once."""
    response = await stack.ask("POST", collection, body)
    assert response.status == 201, response.body
    return response.headers["Location"]


async def volume(stack: Stack, gib: int = 1, collection: str = VOLUMES, **more: Any) -> str:
    return await made(stack, collection, {"CapacityBytes": gib * GIB, **more})


async def gone(stack: Stack, uri: str) -> None:
    assert (await stack.ask("DELETE", uri)).status in (202, 204)
    await settled(stack)


async def used(stack: Stack) -> int:
    """Return what the pool says is consumed; the rest is free, to the byte."""
    data = (await stack.get(POOL))["Capacity"]["Data"]
    assert data["AllocatedBytes"] == TOTAL
    assert data["ConsumedBytes"] + data["GuaranteedBytes"] == TOTAL
    ours = (await stack.get(POOL))["Oem"]["RedfishFM"]
    assert ours["UsedMiB"] + ours["FreeMiB"] + ours["ScrubbingMiB"] == ours["TotalMiB"]
    return int(data["ConsumedBytes"])


def attached(stack: Stack) -> set[tuple[str, int | None]]:
    """Return (host, namespace) as the hardware has it."""
    return {(vppb.vcs, target.namespace) for vppb, target in stack.rig.bound("NVMeoF").items()}


async def state(stack: Stack, uri: str) -> str:
    return str((await stack.get(uri))["Status"]["State"])


@in_virtual_time
async def test_a_volume_that_moves_to_another_host_keeps_its_data() -> None:
    async with a_stack(mixed()) as stack:
        moving = await volume(stack)
        for initiator, host in ((H1, "host1"), (H2, "host2")):
            held = await made(stack, CONNECTIONS, connection(initiator, moving))
            assert attached(stack) == {(host, 1)}
            await gone(stack, held)
            assert attached(stack) == set()
            (state,) = stack.rig.hardware["NVMeoF"].part_states("jbof1").values()
            assert state.media is Media.CLEAN
        done = [each.what for each in stack.rig.oracle("NVMeoF").actions("NVMeoF")]
        assert done.count("bind") == 2 and "sanitize" not in done
        await gone(stack, moving)
        assert await used(stack) == 0


# -- what is served --------------------------------------------------------------------------


@in_virtual_time
async def test_a_subsystem_is_a_storage_with_controller_ports_pool_and_endpoint() -> None:
    async with a_stack(mixed()) as stack:
        assert (await stack.get("/redfish/v1"))["Storage"] == {"@odata.id": "/redfish/v1/Storage"}
        found = (await stack.get("/redfish/v1/Storage"))["Members"]
        names = sorted(each["@odata.id"].rsplit("/", 1)[-1] for each in found)
        assert names == ["dpnvme1", "jbof1", "jbof2", "nvme1", "nvme2"]
        storage, target = await stack.get(STORAGE), await stack.get(JBOF)
        assert storage["Identifiers"] == target["Identifiers"]
        assert storage["Identifiers"][0]["DurableNameFormat"] == "NQN"
        (entity,) = target["ConnectedEntities"]
        assert (entity["EntityType"], entity["EntityRole"]) == ("StorageSubsystem", "Target")
        assert entity["EntityLink"] == {"@odata.id": STORAGE}
        assert "Switches" not in await stack.get(FABRIC)
        ports = (await stack.get(f"{STORAGE}/Controllers/1/Ports"))["Members"]
        assert [each["@odata.id"].rsplit("/", 1)[-1] for each in ports] == ["D1", "U1", "U2"]
        host = (await stack.get(H3))["Identifiers"]
        assert host[0]["DurableName"].endswith("8d6ab6f0-5f0e-4c8e-9f0b-3f1c0a6f7b11")


@in_virtual_time
async def test_storage_pool_and_volumes_show_the_state_of_their_port() -> None:
    async with a_stack(mixed()) as stack:
        namespace = await volume(stack)
        await made(stack, CONNECTIONS, connection(H1, namespace))
        stack.rig.hardware["NVMeoF"].remove_device("jbof1-pool")
        await stack.rig.until(lambda: stack.rig.get(POOL)["Status"]["State"] == "Absent")
        assert await state(stack, namespace) == "Absent"
        assert (await stack.get(STORAGE))["Status"]["HealthRollup"] == "Critical"
        assert await state(stack, "/redfish/v1/Storage/jbof2") == "Enabled"


@in_virtual_time
async def test_one_network_port_is_enough_and_a_silent_subsystem_shows() -> None:
    async with a_stack(mixed()) as stack:
        controller, hardware = f"{STORAGE}/Controllers/1", stack.rig.hardware["NVMeoF"]
        for port, shown in (("U1", "Enabled"), ("U2", "UnavailableOffline")):
            hardware.set_port(PortId("jbof1", port), link_up=False)
            await stack.rig.until(
                lambda port=port: (
                    stack.rig.get(f"{STORAGE}/Controllers/1/Ports/{port}")[  # type: ignore[misc]
                        "LinkStatus"
                    ]
                    == "LinkDown"
                )
            )
            assert await state(stack, controller) == await state(stack, JBOF) == shown
        hardware.cut("jbof1")
        await stack.rig.until(
            lambda: stack.rig.get(STORAGE)["Status"]["State"] == "UnavailableOffline"
        )


def test_an_imported_pool_lists_the_volumes_that_come_out_of_it() -> None:
    documents = {
        VOLUMES: {"@odata.type": "#VolumeCollection.VolumeCollection"},
        ALLOCATED: {"@odata.type": "#VolumeCollection.VolumeCollection"},
        f"{VOLUMES}/7": {
            "@odata.type": "#Volume.v1_0_0.Volume",
            "Links": {"ProvidingStoragePool": {"@odata.id": POOL}},
        },
    }
    assert Base(documents, Facts()).members == {
        VOLUMES: {f"{VOLUMES}/7"},
        ALLOCATED: {f"{VOLUMES}/7"},
    }


# -- a namespace's life ----------------------------------------------------------------------


@pytest.mark.parametrize("collection", [VOLUMES, ALLOCATED, f"{ALLOCATED}/Members"])
@in_virtual_time
async def test_cl_03_a_volume_is_one_resource_wherever_it_is_asked_for(collection: str) -> None:
    async with a_stack(mixed()) as stack:
        response = await stack.ask("POST", collection, {"CapacityBytes": 3 * GIB})
        assert response.status == 201, response.body
        uri = response.headers["Location"]
        read = await stack.ask("GET", uri)
        assert (read.status, read.body) == (200, response.body)
        assert read.headers["ETag"] == response.headers["ETag"]
        assert uri.startswith(f"{VOLUMES}/")
        for listed in (VOLUMES, ALLOCATED):
            members = await stack.get(listed)
            assert members["Members"] == links(uri)
            assert members["Members@odata.count"] == 1
        shown = await stack.get(uri)
        assert shown["CapacityBytes"] == shown["Capacity"]["Data"]["AllocatedBytes"] == 3 * GIB
        assert shown["NVMeNamespaceProperties"] == {"NamespaceId": "0x1", "IsShareable": False}
        assert shown["Links"]["ProvidingStoragePool"] == {"@odata.id": POOL}
        assert shown["Status"]["State"] == "Enabled"
        await gone(stack, uri)
        assert (
            (await stack.get(ALLOCATED))["Members"] == (await stack.get(VOLUMES))["Members"] == []
        )


@in_virtual_time
async def test_from_carving_to_giving_back_capacity_is_exact() -> None:
    async with a_stack(mixed()) as stack:
        assert await used(stack) == 0
        own = await volume(stack, 10)
        assert await used(stack) == 10 * GIB
        held = await made(stack, CONNECTIONS, connection(H1, own))
        assert attached(stack) == {("host1", 1)}
        assert (await stack.get(held))["VolumeInfo"][0]["LUN"] == 1
        other = await stack.ask("POST", CONNECTIONS, connection(H2, own))
        assert other.status == 409 and "ResourceInUse" in keys(other)
        assert held in str(json.loads(other.body))
        kept = await stack.ask("DELETE", own)
        assert kept.status == 409 and held in str(json.loads(kept.body))
        shared = await volume(stack, 5, **SHAREABLE)
        assert await used(stack) == 15 * GIB
        twins = [await made(stack, CONNECTIONS, connection(host, shared)) for host in (H1, H2)]
        assert attached(stack) == {("host1", 1), ("host1", 2), ("host2", 2)}
        stack.rig.assert_isolated()
        await gone(stack, twins[0])
        assert attached(stack) == {("host1", 1), ("host2", 2)}
        for uri in (twins[1], held):
            await gone(stack, uri)
        assert attached(stack) == set()
        assert await used(stack) == 15 * GIB
        await gone(stack, own)
        assert await used(stack) == 5 * GIB
        await gone(stack, shared)
        assert await used(stack) == 0
        await stack.rig.assert_equal_to_disk()


@in_virtual_time
async def test_what_hardware_still_has_is_not_free() -> None:
    async with a_stack(mixed()) as stack:
        uri = await volume(stack, 7)
        stack.rig.faults("NVMeoF").next_apply(None, Slow(20.0))
        assert (await stack.ask("DELETE", uri)).status == 202
        assert await used(stack) == 7 * GIB
        assert (await stack.get(POOL))["Oem"]["RedfishFM"]["ScrubbingMiB"] == 7 * 1024
        # A new one waits for it and does not get its number.
        assert (await stack.ask("POST", VOLUMES, {"CapacityBytes": GIB})).status == 202
        (again,) = (await stack.get(VOLUMES))["Members"]
        shown = await stack.get(again["@odata.id"])
        assert shown["NVMeNamespaceProperties"]["NamespaceId"] == "0x2"
        assert shown["Status"]["State"] == "Starting"
        await settled(stack)
        assert await used(stack) == 1 * GIB


@in_virtual_time
async def test_a_namespace_that_hardware_refuses_is_gone() -> None:
    async with a_stack(mixed()) as stack:
        stack.rig.faults("NVMeoF").next_apply(None, Refuse("media is read only"))
        refused = await stack.ask("POST", VOLUMES, {"CapacityBytes": GIB})
        assert refused.status >= 400 and "media is read only" in str(json.loads(refused.body))
        await settled(stack)
        assert (
            (await stack.get(VOLUMES))["Members"] == (await stack.get(ALLOCATED))["Members"] == []
        )
        assert await used(stack) == 0


@in_virtual_time
async def test_more_than_there_is_is_refused_and_all_reasons_are_named() -> None:
    async with a_stack(mixed()) as stack:
        await volume(stack, TOTAL // GIB)
        full = await stack.ask("POST", ALLOCATED, {"CapacityBytes": GIB})
        assert full.status == 409 and keys(full) == ["ResourceExhaustion"]
        assert POOL in str(json.loads(full.body))
        body = {
            "CapacityBytes": GIB + 1,
            "ProvisioningPolicy": "Thin",
            "AccessCapabilities": ["Append"],
            "Identifiers": [{"DurableName": "x", "DurableNameFormat": "NGUID"}],
        }
        wrong = await stack.ask("POST", VOLUMES, body)
        assert wrong.status == 400
        assert keys(wrong).count("PropertyValueIncorrect") == 4
        unknown = await stack.ask("POST", VOLUMES, {"CapacityBytes": GIB, "RAIDType": "RAID1"})
        assert unknown.status == 400 and keys(unknown) == ["PropertyNotWritable"]


@in_virtual_time
async def test_more_namespaces_than_the_subsystem_has_numbers_are_refused() -> None:
    async with a_stack(mixed()) as stack:
        for _ in range(32):
            await volume(stack)
        full = await stack.ask("POST", VOLUMES, {"CapacityBytes": GIB})
        assert full.status == 409 and keys(full) == ["ResourceExhaustion"]


@in_virtual_time
async def test_a_volume_changes_its_names_only_and_pools_are_not_made() -> None:
    async with a_stack(mixed()) as stack:
        uri = await volume(stack)
        assert (await stack.ask("PATCH", uri, {"Name": "b", "DisplayName": "logs"})).status == 200
        for body in ({"CapacityBytes": 2 * GIB}, SHAREABLE):
            refused = await stack.ask("PATCH", uri, body)
            assert refused.status == 400 and keys(refused) == ["PropertyNotWritable"]
        pools = f"{STORAGE}/StoragePools"
        assert "POST" not in (await stack.ask("GET", pools)).headers["Allow"]
        assert (await stack.ask("POST", pools, {"Name": "x"})).status == 405
        assert (await stack.ask("DELETE", POOL)).status == 405


# -- who has it ------------------------------------------------------------------------------


@in_virtual_time
async def test_zones_limit_where_an_end_is_zoned() -> None:
    async with a_stack(mixed()) as stack:
        one, two = await volume(stack), await volume(stack)
        zone = await made(stack, ZONES, zone_body(H1, JBOF))
        apart = await stack.ask("POST", CONNECTIONS, connection(H2, one))
        assert apart.status == 409
        assert JBOF in str(json.loads(apart.body))
        unnamed = await stack.ask("POST", CONNECTIONS, connection(H2, one, target=None))
        assert unnamed.status == 409
        await made(stack, CONNECTIONS, connection(H1, one))
        # Without the zone nothing is limited any more.
        assert (await stack.ask("DELETE", zone)).status == 204
        await made(stack, CONNECTIONS, connection(H2, two, target=None))
        assert attached(stack) == {("host1", 1), ("host2", 2)}


@in_virtual_time
async def test_an_initiator_is_known_by_its_nqn_alone() -> None:
    async with a_stack(mixed()) as stack:
        nqn = (await stack.get(H3))["Identifiers"]
        body = {
            "EndpointProtocol": "NVMeOverFabrics",
            "Identifiers": nqn,
            "ConnectedEntities": [{"EntityType": "NetworkController", "EntityRole": "Initiator"}],
        }
        again = await made(stack, f"{FABRIC}/Endpoints", body)
        uri = await volume(stack)
        await made(stack, CONNECTIONS, connection(again, uri))
        assert attached(stack) == {("host3", 1)}
        # Two endpoints of one host are no sharing.
        await made(stack, CONNECTIONS, connection(H3, uri))
        assert (await stack.ask("POST", CONNECTIONS, connection(H1, uri))).status == 409


@in_virtual_time
async def test_volumes_come_and_go_in_a_connection_by_its_actions() -> None:
    async with a_stack(mixed()) as stack:
        one, two = await volume(stack), await volume(stack)
        uri = await made(stack, CONNECTIONS, connection(H1, one))
        act = f"{uri}/Actions/Connection."
        row = {"Volume": {"@odata.id": two}, "LUN": 9}
        assert (await stack.ask("POST", f"{act}AddVolumeInfo", row)).status == 204
        assert attached(stack) == {("host1", 1), ("host1", 2)}
        luns = [each["LUN"] for each in (await stack.get(uri))["VolumeInfo"]]
        assert luns == [1, 9]
        gone_now = await stack.ask("POST", f"{act}RemoveVolumeInfo", {"Volume": row["Volume"]})
        assert gone_now.status == 204
        assert attached(stack) == {("host1", 1)}
        twice = await stack.ask("POST", f"{act}AddVolumeInfo", {**row, "LUN": 1})
        assert twice.status == 400


@in_virtual_time
async def test_no_more_access_than_the_volume_allows() -> None:
    async with a_stack(mixed()) as stack:
        uri = await volume(stack, AccessCapabilities=["Read"])
        body = connection(H1, uri)
        assert (await stack.ask("POST", CONNECTIONS, body)).status == 400
        body["VolumeInfo"][0]["AccessCapabilities"] = ["Read"]
        await made(stack, CONNECTIONS, body)


@in_virtual_time
async def test_a_volume_of_another_subsystem_is_not_reached_through_this_one() -> None:
    async with a_stack(mixed()) as stack:
        far = await volume(stack, 1, "/redfish/v1/Storage/jbof2/Volumes")
        assert (await stack.ask("POST", CONNECTIONS, connection(H1, far))).status == 400
        await made(stack, CONNECTIONS, connection(H1, far, target=endpoint("jbof2")))
        assert stack.rig.bound("NVMeoF").popitem()[1] == BindTarget("jbof2", "D1", namespace=1)


@in_virtual_time
async def test_namespaces_and_who_has_them_outlive_a_restart() -> None:
    durable = DurableState()
    async with a_stack(mixed(), durable=durable) as stack:
        own, shared = await volume(stack, 4), await volume(stack, 2, **SHAREABLE)
        held = await made(stack, CONNECTIONS, connection(H1, own, shared))
        await made(stack, CONNECTIONS, connection(H2, shared))
        before, hardware = attached(stack), stack.rig.hardware
        shown = await stack.get(own)
    async with a_stack(mixed(), durable=durable, hardware=hardware) as stack:
        assert attached(stack) == before == {("host1", 1), ("host1", 2), ("host2", 2)}
        assert await stack.get(own) == shown
        assert (await stack.get(ALLOCATED))["Members@odata.count"] == 2
        assert await used(stack) == 6 * GIB
        refused = await stack.ask("POST", CONNECTIONS, connection(H2, own))
        assert refused.status == 409 and held in str(json.loads(refused.body))


# -- drives with two ports -------------------------------------------------------------------


async def dual(stack: Stack) -> tuple[dict[str, str], list[str]]:
    """Return an initiator endpoint by host and switch, and the two ways to dpnvme1."""
    hosts: dict[str, str] = {}
    ways: list[str] = []
    for member in (await stack.get("/redfish/v1/Fabrics/PCIe/Endpoints"))["Members"]:
        uri = member["@odata.id"]
        document = await stack.get(uri)
        entity, *_ = document["ConnectedEntities"]
        switch = document["Links"]["ConnectedPorts"][0]["@odata.id"].split("/")[6]
        if entity["EntityRole"] == "Initiator":
            host = entity["EntityLink"]["@odata.id"].rsplit("/", 1)[-1]
            hosts.setdefault(f"{host} {switch}", uri)
        elif "/Chassis/dpnvme1/" in entity["EntityLink"]["@odata.id"]:
            ways.append(uri)
    return hosts, sorted(ways)


@in_virtual_time
async def test_the_two_ports_of_a_drive_are_two_ways_of_one_host_and_of_no_second() -> None:
    async with a_stack(mixed()) as stack:
        hosts, ways = await dual(stack)
        zones = "/redfish/v1/Fabrics/PCIe/Zones"
        first = await made(stack, zones, zone_body(hosts["host1 pcie1"], ways[0]))
        for way in ways:
            illegal = await stack.ask("POST", zones, zone_body(hosts["host2 pcie2"], way))
            assert illegal.status == 409
            assert first in str(json.loads(illegal.body))
        assert (await stack.ask("DELETE", first)).status in (202, 204)
        await stack.rig.converged("PCIe")
        both = zone_body(hosts["host1 pcie1"], hosts["host1 pcie2"], *ways)
        await made(stack, zones, both)
        assert len(stack.rig.bound("PCIe")) == 2
        stack.rig.assert_isolated()
