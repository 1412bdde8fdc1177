"""Real switches in the composition root: what is served of them, and how they come and go."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redfish_fm.config import Config
from redfish_fm.config_switches import SwitchStanza
from redfish_fm.control.base import Base
from redfish_fm.control.kernel import Kernel, KernelConfig
from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.errors import FmError
from redfish_fm.fabric.model import DeviceKind, Host, Inventory
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.mapping.operations import Operation, OperationState
from redfish_fm.redfish.writes import Write, WriteKind
from redfish_fm.store.memory import DurableState, MemoryStore
from redfish_fm.switches import (
    APPLY_S,
    SwitchFabrics,
    by_fabric,
    place_of,
    switch_fabrics,
    types_of_switches,
)
from tests.drivers.cxl_fmapi.peer_switch import SwitchState, peer_of
from tests.drivers.fabrics import CXL
from tests.virtual_time import VirtualClock, in_virtual_time

PORTS = "/redfish/v1/Fabrics/REAL/Switches/real1/Ports"


def stanza(port: int = 1, **more: object) -> SwitchStanza:
    plain = {"id": "real1", "fabric": "REAL", "link": "mctp-tcp", "address": f"127.0.0.1:{port}"}
    return SwitchStanza(**{**plain, **more})  # type: ignore[arg-type]


def config(*stanzas: SwitchStanza) -> Config:
    return Config(switches=stanzas, ephemeral=True)


def base_of(inventories: tuple[Inventory, ...]) -> Base:
    rendered = render_inventories(inventories)
    return Base(rendered.documents, rendered.facts)


@contextlib.asynccontextmanager
async def served(fabrics: SwitchFabrics) -> AsyncIterator[Kernel]:
    """Run a kernel over these fabrics, as the composition root does."""
    clock, durable = VirtualClock(), DurableState()
    store = MemoryStore(durable, clock, "test")
    stored = await store.load()
    policies = KernelConfig(policies=fabrics.policies)
    kernel = Kernel(store, base_of(fabrics.inventories), fabrics.drivers, clock, policies)
    fabrics.serve(kernel, lambda found: base_of(tuple(found)))
    kernel.start(stored)
    running = asyncio.create_task(kernel.run())
    try:
        yield kernel
    finally:
        await kernel.close()
        running.cancel()
        await asyncio.wait([running])


def test_a_stanza_is_told_in_the_words_of_its_driver() -> None:
    known = Host("node1", "node1", "u", 2, 64, 1024)
    place = place_of(
        stanza(7, serial="0x1F", hosts={"0": "node1", "1": "new"}, devices={"4": "NVMe"}),
        {"node1": known},
    )
    assert (place.address, place.serial, place.dialect) == (("127.0.0.1", 7), 31, None)
    assert place.hosts[0] is known
    assert (place.hosts[1].id, place.hosts[1].cpu_count) == ("new", 0)
    assert place.kinds == {4: DeviceKind.NVME}


def test_switches_are_driven_by_fabric_in_the_order_of_the_file() -> None:
    found = by_fabric([stanza(), stanza(id="b", fabric="X"), stanza(id="a")], ())
    assert {fabric: [each.id for each in places] for fabric, places in found.items()} == {
        "REAL": ["real1", "a"],
        "X": ["b"],
    }


def test_the_types_of_whatever_a_switch_may_have_are_known_before() -> None:
    names = {each.rpartition(".")[2] for each in types_of_switches()}
    assert {"MemoryDomain", "MemoryRegion", "CXLLogicalDevice", "VirtualCXLSwitch"} & names >= {
        "MemoryDomain",
        "CXLLogicalDevice",
        "VirtualCXLSwitch",
    }


@in_virtual_time
async def test_ids_of_a_topology_are_not_taken_twice() -> None:
    same = config(stanza(id="cxl1", fabric="REAL"))
    with pytest.raises(FmError, match="switch cxl1 is in fabric CXL and in REAL"):
        async with switch_fabrics(same, VirtualClock(), [CXL]):
            pass


@in_virtual_time
async def test_each_fabric_is_looked_after_as_its_switches_say() -> None:
    two = config(stanza(foreign_bindings="enforce"), stanza(2, id="b", fabric="X"))
    async with switch_fabrics(two, VirtualClock(), []) as fabrics:
        policies = fabrics.policies
        assert (policies["REAL"].enforce, policies["X"].enforce) == (True, False)
        assert policies["X"].apply_timeout_s == APPLY_S


@in_virtual_time
async def test_what_is_found_is_served_below_what_is_wanted() -> None:
    clock, peer = VirtualClock(), peer_of(SwitchState())
    port = await peer.listen()
    async with (
        switch_fabrics(config(stanza(port)), clock, []) as fabrics,
        served(fabrics) as kernel,
    ):
        assert kernel.published.state.members_of(PORTS) == []
        while not kernel.published.state.members_of(PORTS):
            await clock.sleep(0.05)
        assert len(kernel.published.state.members_of(PORTS)) == 8
        assert kernel.writer.tip.base is kernel.published.base
        assert kernel.writer.tip.seq == kernel.published.seq
        assert kernel.writer.tip.comparable() == kernel.published.state.comparable()
    await peer.close()


@in_virtual_time
async def test_switches_come_and_go_and_the_others_go_on() -> None:
    clock, peers = VirtualClock(), [peer_of(SwitchState()) for _ in range(2)]
    ports = [await peer.listen() for peer in peers]
    one, two = stanza(ports[0]), stanza(ports[1], id="b", fabric="X")
    fabric = "/redfish/v1/Fabrics/X"
    async with (
        switch_fabrics(config(one), clock, []) as fabrics,
        served(fabrics) as kernel,
    ):
        await kernel.first_observed(10)
        fabrics.change((one, two))
        while "X" not in kernel.loops:
            await clock.sleep(0.05)
        await kernel.loops["X"].first_observed.wait()
        assert kernel.published.exists(f"{fabric}/Switches/b/Ports/3")
        fabrics.change((one,))
        while "X" in kernel.loops:
            await clock.sleep(0.05)
        await clock.sleep(0.05)
        assert not kernel.published.exists(fabric)
        assert set(fabrics.drivers) == {"REAL"}
        assert (peers[0].connections, peers[1].connections) == (1, 1)
    for peer in peers:
        await peer.close()


ENDPOINTS = "/redfish/v1/Fabrics/REAL/Endpoints"


async def operation_of(
    kernel: Kernel, kind: WriteKind, uri: str, body: dict[str, Any] | None = None
) -> str:
    """Ask for something; return the id of the operation that goes on, "" where it is over."""
    write = Write(kind, uri, "Zone", "tester", body or {})
    task = (await kernel.commits.commit(write)).task
    return "" if task is None else task.rsplit("/", 1)[-1]


def told(operation: Operation) -> list[str]:
    return [each.key for each in operation.messages]


@pytest.mark.parametrize("left", [1, 0], ids=["one of two", "the only ones"])
@in_virtual_time
async def test_a_release_at_a_switch_that_is_gone_ends_when_it_is_taken_out(left: int) -> None:
    clock, peers = VirtualClock(), [peer_of(SwitchState()) for _ in range(2)]
    ports = [await peer.listen() for peer in peers]
    both = (stanza(ports[0]), stanza(ports[1], id="b"))
    async with (
        switch_fabrics(config(*both), clock, []) as fabrics,
        served(fabrics) as kernel,
    ):
        while len(kernel.published.state.members_of(ENDPOINTS)) < 20:
            await clock.sleep(0.05)
        found = sorted(kernel.published.state.members_of(ENDPOINTS))
        host = next(each for each in found if "/b-U0" in each)
        device = next(each for each in found if "/b-P3" in each)
        ends = [{"@odata.id": each} for each in (host, device)]
        zones = "/redfish/v1/Fabrics/REAL/Zones"
        body = {"Id": "z", "Links": {"Endpoints": ends}}
        assert await operation_of(kernel, WriteKind.CREATE, zones, body) == ""
        await peers[1].close()
        task = await operation_of(kernel, WriteKind.DELETE, f"{zones}/z")
        await clock.sleep(60.0)
        waiting = kernel.published.state.operations[task]
        assert waiting.open and told(waiting) == ["RedfishFM.SwitchAwaited"]
        fabrics.change(both[:left])
        async with asyncio.timeout(60.0):
            while (ended := kernel.published.state.operations[task]).open:
                await clock.sleep(0.05)
        assert ended.state is OperationState.COMPLETED
        assert ("RedfishFM.FabricLeft" in told(ended)) == (not left)
    for peer in peers:
        await peer.close()


@in_virtual_time
async def test_what_collides_is_not_served_and_the_fabric_is_unavailable() -> None:
    clock, peer = VirtualClock(), peer_of(SwitchState())
    port = await peer.listen()
    other = Host("real1-U0", "another", "u", 1, 1, 1)
    standing = Inventory("T", "T", CXL.kind, "CXL", hosts=(other,))
    async with switch_fabrics(config(stanza(port)), clock, [standing]) as fabrics:
        with pytest.raises(DriverUnavailable, match="real1-U0 of fabric REAL is another elsewhere"):
            while True:
                with contextlib.suppress(DriverUnavailable):
                    await fabrics.drivers["REAL"].discover()
                    break
                await clock.sleep(0.05)
            await fabrics.drivers["REAL"].observe()
        assert fabrics.inventories[0].hosts == ()
    await peer.close()
