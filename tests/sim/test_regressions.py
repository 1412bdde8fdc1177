"""What the simulation has found, each as a short story that was told wrongly once.

Every story runs in a world that checks all invariants at each step and must come to rest.
"""

import asyncio
import gc
import json
from typing import Any

import pytest

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.faults import Dropped, Refuse, Slow
from redfish_fm.fabric.model import Allocate, Bind, BindTarget, Deallocate, Sanitize, VppbId
from redfish_fm.store.base import SessionRow, StoreFailed
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.sim.clients import Client
from tests.sim.plant import Plant
from tests.sim.simulation import Report, World, play
from tests.sim.weather import Weather, stream
from tests.sim.wishes import refs
from tests.virtual_time import VirtualClock, in_virtual_time

QUIET = Weather(seed=0, gpus=2, lds=2, vppbs=3, clients=0, patience=0.0, sync_budget_s=0.05)
"""Nothing goes wrong by itself; answers wait 50 ms."""

PCIE = "/redfish/v1/Fabrics/PCIe"
CXL = "/redfish/v1/Fabrics/CXL"
GPU1, GPU2 = f"{PCIE}/Endpoints/gpu1", f"{PCIE}/Endpoints/gpu2"
HOST1, HOST2 = f"{PCIE}/Endpoints/host1-1", f"{PCIE}/Endpoints/host2-1"


class Teller:
    """Asks for one thing at a time and knows the last answer."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._client = Client(world.population, stream("teller"))

    async def ask(
        self, method: str, path: str, body: Any = None, hang_up_s: float | None = None
    ) -> int:
        process = self.world.checker.process
        assert process is not None
        await self._client.write(process, method, path, body, hang_up_s=hang_up_s)
        return 0 if self._client.last is None else self._client.last.status

    def said(self, name: str) -> Any:
        assert self._client.last is not None
        return json.loads(self._client.last.body)[name]

    def plant(self, fabric: str) -> Plant:
        return next(plant for plant in self.world.plants if plant.fabric == fabric)

    async def zone(self, fabric: str, ends: list[str], **further: Any) -> int:
        body = {**further, "Links": {"Endpoints": refs(ends)}}
        return await self.ask("POST", f"{fabric}/Zones", body)


def assert_all_well(report: Report) -> None:
    assert report.failure is None, "\n".join([*report.trace[-40:], report.failure or ""])


def test_a_task_cancelled_while_its_end_is_being_stored_is_not_completed() -> None:
    """The end was written from what the loop had judged, over what was cancelled meanwhile."""

    async def story(world: World) -> None:
        teller = Teller(world)
        teller.plant("PCIe").faults.next_apply(None, Slow(0.2))
        assert await teller.zone(PCIE, [HOST1, GPU1]) == 202
        # The store takes 0.5 s: the binding is observed while the cancellation is being stored.
        assert await teller.ask("DELETE", teller.said("@odata.id")) == 204

    assert_all_well(play(_with(store_latency_s=0.5), story))


def test_deleting_a_zone_under_change_still_releases_what_the_change_had_released() -> None:
    """The operation of the PATCH was dropped as abandoned, with its open release."""

    async def story(world: World) -> None:
        teller = Teller(world)
        await teller.zone(PCIE, [HOST1, GPU1], Id="mine")
        await asyncio.sleep(1.0)
        teller.plant("PCIe").cut("pcie1", 4.0)
        body = {"Links": {"Endpoints": refs([HOST1, GPU2])}}
        assert await teller.ask("PATCH", f"{PCIE}/Zones/mine", body) == 202
        assert await teller.ask("DELETE", f"{PCIE}/Zones/mine") == 202

    assert_all_well(play(QUIET, story))


def test_a_second_connection_to_an_ld_is_not_done_before_the_ld_is_bound() -> None:
    """Joining a recorded binding opened no operation, so the answer was 201 at once."""
    answers = []

    async def story(world: World) -> None:
        teller = Teller(world)
        host, ld = f"{CXL}/Endpoints/host1-2", f"{CXL}/Endpoints/mem2-ld0"
        await teller.zone(CXL, [host, ld])
        chunk = next(chunk.id for chunk in world.population.chunks if "mem2" in chunk.unit)
        body = {
            "Links": {"InitiatorEndpoints": refs([host]), "TargetEndpoints": refs([ld])},
            "MemoryChunkInfo": [{"MemoryChunk": refs([chunk])[0], "AccessCapabilities": ["Read"]}],
        }
        teller.plant("CXL").faults.next_apply(None, Slow(1.5))
        answers.append(await teller.ask("POST", f"{CXL}/Connections", body))
        answers.append(await teller.ask("POST", f"{CXL}/Connections", body))
        await asyncio.sleep(3.0)
        answers.append(await teller.ask("POST", f"{CXL}/Connections", body))

    assert_all_well(play(QUIET, story))
    assert answers == [202, 202, 201]


def test_an_id_is_not_given_again_while_its_former_bearer_is_being_released() -> None:
    """The new zone stood where an open operation could still take something back."""
    answers = []

    async def story(world: World) -> None:
        teller = Teller(world)
        await teller.zone(PCIE, [HOST1, GPU1], Id="mine")
        await asyncio.sleep(1.0)
        teller.plant("PCIe").cut("pcie1", 2.0)
        answers.append(await teller.ask("DELETE", f"{PCIE}/Zones/mine"))
        answers.append(await teller.zone(PCIE, [HOST2, GPU2], Id="mine"))
        await asyncio.sleep(6.0)
        answers.append(await teller.zone(PCIE, [HOST2], Id="mine"))

    assert_all_well(play(QUIET, story))
    assert answers == [202, 409, 201]


def test_a_cancelled_write_is_no_success_when_who_cancelled_it_has_hung_up() -> None:
    """Only the one who cancelled told the waiting client, and the end then told it success."""
    answers = []

    async def story(world: World) -> None:
        teller, rival = Teller(world), Teller(world)
        teller.plant("PCIe").faults.next_apply(None, Slow(1.5))
        waiting = asyncio.create_task(teller.zone(PCIE, [HOST1, GPU1]))
        await asyncio.sleep(0.5)
        (operation,) = world.checker.open_operations()
        assert await rival.ask("DELETE", operation.task, hang_up_s=0.1) == 0
        answers.append(await waiting)

    assert_all_well(play(_with(store_latency_s=0.2, sync_budget_s=30.0), story))
    assert answers == [409]


@pytest.mark.parametrize("failing", [True, False])
@in_virtual_time
async def test_a_failure_that_nobody_waits_for_any_more_is_not_logged(failing: bool) -> None:
    """A cancelled caller of the memory store left an exception behind that nobody retrieved."""
    complaints: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    clock: Clock = VirtualClock()
    fault = StoreFailed("on demand") if failing else None
    store = MemoryStore(DurableState(), clock, latency_s=1.0, fault_before=lambda _: fault)
    await store.load()
    asking = asyncio.create_task(store.put_session(SessionRow("1", "digest", "user", 0.0, "sim")))
    await asyncio.sleep(0.5)
    asking.cancel()
    await asyncio.wait([asking])
    await asyncio.sleep(1.0)
    # A task complains when it is collected.
    del asking
    gc.collect()
    assert [len(await store.sessions()), complaints] == [0 if failing else 1, []]


MEMORY = Weather(
    seed=0, gpus=2, lds=2, pooled=4, regions=4, vppbs=4, clients=0, patience=0.0, sync_budget_s=0.05
)
"""A quiet world with memory that is cut on demand."""

CHUNKS = "/redfish/v1/Chassis/pooled1/MemoryDomains/1/MemoryChunks"
REGIONS = "/redfish/v1/Chassis/dynamic1/PCIeDevices/dynamic1/CXLLogicalDevices/0/MemoryRegions"
CXL_HOST1, CXL_HOST2 = f"{CXL}/Endpoints/host1-2", f"{CXL}/Endpoints/host2-2"
DYNAMIC, SLD = f"{CXL}/Endpoints/dynamic1-ld0", f"{CXL}/Endpoints/mem1"
SLD_CHUNK = "/redfish/v1/Chassis/mem1/MemoryDomains/0/MemoryChunks/1"
VPPBS = f"{CXL}/Switches/cxl1/VCSs/1/VPPBs"


def _memory(**changes: Any) -> Weather:
    return Weather(**{**vars(MEMORY), **changes})


def _connection(kind: str, part: str, target: str, **initiators: Any) -> dict[str, Any]:
    return {
        "ConnectionType": "Memory",
        f"{kind}Info": [{kind: refs([part])[0], "AccessCapabilities": ["Read"]}],
        "Links": {**initiators, "TargetEndpoints": refs([target])},
    }


def test_nothing_is_granted_that_may_still_be_taken_back() -> None:
    """A region that hardware refused in the end took its document from under a connection."""
    answers = []

    async def story(world: World) -> None:
        teller = Teller(world)
        await teller.zone(CXL, [CXL_HOST1, DYNAMIC])
        teller.plant("CXL").faults.next_apply(None, Slow(1.5), only=(Allocate,))
        body = {"RegionType": "Dynamic", "RegionSizeMiB": 256, "Id": "r1"}
        answers.append(await teller.ask("POST", REGIONS, body))
        (region,) = world.checker.mirror.index.regions
        connection = _connection(
            "MemoryRegion", region, DYNAMIC, InitiatorEndpoints=refs([CXL_HOST1])
        )
        answers.append(await teller.ask("POST", f"{CXL}/Connections", connection))
        await asyncio.sleep(3.0)
        answers.append(await teller.ask("POST", f"{CXL}/Connections", connection))

    assert_all_well(play(_memory(), story))
    assert answers == [202, 409, 201]


def test_a_default_zone_that_routes_nothing_is_no_common_zone_to_rest_on() -> None:
    """With it, a connection was accepted whose one true common zone could still be taken back."""
    answers = []

    async def story(world: World) -> None:
        teller = Teller(world)
        members = {"Links": {"Endpoints": refs([CXL_HOST1, SLD])}}
        answers.append(await teller.ask("PATCH", f"{CXL}/Zones/Default", members))
        teller.plant("CXL").faults.next_apply(None, Slow(1.5), only=(Bind,))
        answers.append(await teller.zone(CXL, [CXL_HOST1, SLD]))
        connection = _connection(
            "MemoryChunk", SLD_CHUNK, SLD, InitiatorEndpoints=refs([CXL_HOST1])
        )
        answers.append(await teller.ask("POST", f"{CXL}/Connections", connection))

    assert_all_well(play(_memory(), story))
    assert answers == [200, 202, 409]


def test_what_a_silent_device_does_not_tell_is_not_taken_for_clean() -> None:
    """Without power it reported no contents, so it was bound to the next host as it was."""

    async def story(world: World) -> None:
        teller, plant = Teller(world), Teller(world).plant("CXL")
        assert await teller.zone(CXL, [CXL_HOST1, SLD], Id="first") == 201
        plant.faults.next_apply(None, Dropped(), only=(Sanitize,), times=None)
        await teller.ask("DELETE", f"{CXL}/Zones/first")
        assert await teller.zone(CXL, [CXL_HOST2, SLD], Id="second") == 202
        await asyncio.sleep(1.0)
        plant.power_device("mem1", on=False)
        await asyncio.sleep(3.0)
        plant.power_device("mem1", on=True)

    assert_all_well(play(_memory(operation_s=60.0), story))


def test_a_part_number_that_is_being_given_back_in_flight_is_not_chosen_again() -> None:
    """The loops knew nothing yet of the DELETE that was being stored before the POST."""

    async def story(world: World) -> None:
        teller, other = Teller(world), Teller(world)
        assert await teller.ask("POST", CHUNKS, {"MemoryChunkSizeMiB": 1024}) in (201, 202)
        await asyncio.sleep(3.0)
        (chunk,) = (each.id for each in world.checker.mirror.index.chunks.values()
                    if each.allocation is not None)  # fmt: skip
        teller.plant("CXL").faults.next_apply(None, Refuse(), only=(Deallocate,))
        leaving = asyncio.create_task(teller.ask("DELETE", chunk))
        await asyncio.sleep(0.1)
        await other.ask("POST", CHUNKS, {"MemoryChunkSizeMiB": 256})
        await leaving
        await asyncio.sleep(60.0)
        sizes = [size for size, _ in teller.plant("CXL").allocated().values()]
        assert sizes == [256]

    assert_all_well(play(_memory(store_latency_s=0.5), story))


def test_members_whose_connection_was_deleted_meanwhile_go_when_they_are_taken_back() -> None:
    """The edit of a group was answered 409, but the group kept the member."""

    async def story(world: World) -> None:
        teller, index = Teller(world), world.checker.mirror.index
        body = {"RegionType": "Dynamic", "RegionSizeMiB": 256, "ShareableRegion": True}
        await teller.ask("POST", REGIONS, body)
        await teller.zone(CXL, [CXL_HOST1, CXL_HOST2, DYNAMIC])
        group = f"{CXL}/EndpointGroups/g"
        made = {"Id": "g", "Links": {"Endpoints": refs([CXL_HOST1])}}
        assert await teller.ask("POST", f"{CXL}/EndpointGroups", made) == 201
        await asyncio.sleep(2.0)
        connection = _connection(
            "MemoryRegion", min(index.regions), DYNAMIC, InitiatorEndpointGroups=refs([group])
        )
        assert await teller.ask("POST", f"{CXL}/Connections", connection) == 201
        teller.plant("CXL").faults.next_apply(None, Slow(1.9), only=(Bind,))
        both = {"Links": {"Endpoints": refs([CXL_HOST1, CXL_HOST2])}}
        assert await teller.ask("PATCH", group, both) == 202
        assert await teller.ask("DELETE", min(index.connections)) in (202, 204)
        await asyncio.sleep(5.0)
        assert index.groups[group].endpoints == (CXL_HOST1,)

    assert_all_well(play(_memory(), story))


@pytest.mark.expects_errors
def test_a_vppb_bound_by_hand_is_well_again_when_the_stranger_has_gone() -> None:
    """Its Critical Health stayed, for nothing rendered who held the binding itself."""

    async def story(world: World) -> None:
        teller, plant = Teller(world), Teller(world).plant("CXL")
        port = {"Links": {"Port": refs([f"{CXL}/Switches/cxl1/Ports/D1"])[0]}}
        assert await teller.ask("PATCH", f"{VPPBS}/0", port) == 200
        stranger = Bind(VppbId("cxl1", "2", 0), BindTarget("cxl1", "D1"))
        plant.execute(stranger, "outside")
        await asyncio.sleep(3.0)
        process = world.checker.process
        assert process is not None
        shown = process.kernel.published.get(f"{VPPBS}/0")
        assert shown is not None
        assert json.loads(shown.body)["Status"]["Health"] == "Critical"

    assert_all_well(play(_memory(foreign_every_s=1e9), story))


def test_a_vppb_is_not_busy_for_ever_when_its_switch_fell_silent_meanwhile() -> None:
    """It stopped being bound while nothing could be said of it, and nobody said it later."""

    async def story(world: World) -> None:
        teller, plant = Teller(world), Teller(world).plant("CXL")
        plant.faults.next_apply(None, Dropped(), only=(Bind,), times=None)
        assert await teller.zone(CXL, [CXL_HOST1, SLD]) == 202
        task = teller.said("@odata.id")
        await asyncio.sleep(1.0)
        plant.cut("cxl1", 4.0)
        await asyncio.sleep(1.5)
        assert await teller.ask("DELETE", task) == 204
        await asyncio.sleep(6.0)

    assert_all_well(play(_memory(), story))


def test_what_a_zone_held_before_goes_with_the_initiator_that_is_taken_back() -> None:
    """A PATCH changed one endpoint of a host for its other one, and a unit for another; when that
    was taken back nobody initiated any more, but what had stayed was still recorded and bound."""

    async def story(world: World) -> None:
        teller = Teller(world)
        first, second = HOST1, f"{PCIE}/Endpoints/host1-2"
        kept = f"{PCIE}/Endpoints/gpu3"
        assert await teller.zone(PCIE, [second, kept, GPU1], Id="mine") == 201
        teller.plant("PCIe").faults.next_apply("pcie1", Refuse(), only=(Bind,))
        body = {"Links": {"Endpoints": refs([first, kept, GPU2])}}
        assert await teller.ask("PATCH", f"{PCIE}/Zones/mine", body) in (202, 409)

    assert_all_well(play(_with(pcie_switches=2), story))


def _with(**changes: Any) -> Weather:
    return Weather(**{**vars(QUIET), **changes})
