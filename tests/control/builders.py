"""The kernel over two-hosts in virtual time: what a client does, what a device does, the truth."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from redfish_fm.control.base import Base
from redfish_fm.control.kernel import Kernel, KernelConfig
from redfish_fm.control.power import PowerPolicy
from redfish_fm.control.published import Published
from redfish_fm.control.reconcile import FabricLoop, Policy
from redfish_fm.control.state import WantedState
from redfish_fm.control.tip import TipView
from redfish_fm.drivers.base import Driver, PowerControl
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.faults import FaultPlan
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.machines import Machines
from redfish_fm.drivers.virtual.oracle import Oracle
from redfish_fm.drivers.virtual.power import VirtualPower
from redfish_fm.fabric.model import BindTarget, Inventory, VppbId
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import Outcome, OutcomeKind, Write, WriteKind
from redfish_fm.store.base import Store
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.drivers.fabrics import CXL, PCIE, machines_of
from tests.virtual_time import VirtualClock

PCIE_FABRIC = "/redfish/v1/Fabrics/PCIe"
PCIE_ZONES = f"{PCIE_FABRIC}/Zones"
CXL_FABRIC = "/redfish/v1/Fabrics/CXL"
CXL_ZONES = f"{CXL_FABRIC}/Zones"
TASKS = "/redfish/v1/TaskService/Tasks"
SERVICE_DOCUMENTS = {
    TASKS: {"@odata.id": TASKS, "@odata.type": "#TaskCollection.TaskCollection", "Name": "Tasks"}
}


def pcie(name: str) -> str:
    """Return an endpoint of the PCIe fabric: "gpu1", "host1-1"."""
    return f"{PCIE_FABRIC}/Endpoints/{name}"


def cxl(name: str) -> str:
    return f"{CXL_FABRIC}/Endpoints/{name}"


def links(*uris: str) -> list[dict[str, str]]:
    return [{"@odata.id": uri} for uri in uris]


def zone_body(*endpoints: str, **more: Any) -> dict[str, Any]:
    return {"Links": {"Endpoints": links(*endpoints)}, **more}


def a_base(*inventories: Inventory) -> Base:
    rendered = render_inventories(list(inventories or (PCIE, CXL)))
    documents = {**rendered.documents, **SERVICE_DOCUMENTS}
    return Base(documents, rendered.facts)


def document(uri: str, type_name: str = "Zone", **properties: Any) -> bytes:
    """Return stored bytes of a document nobody judges."""
    known = {"@odata.id": uri, "@odata.type": f"#{type_name}.v1_0_0.{type_name}"}
    return msgspec.json.encode({**known, "Id": uri.rsplit("/", 1)[-1], **properties})


def put(uri: str, post: bytes | None, pre: bytes | None = None) -> Edit:
    return Edit(Space.DOCUMENT, uri, pre, post)


def always(*edits: Edit, kind: OutcomeKind = OutcomeKind.CHANGED) -> Callable[[TipView], Draft]:
    """Return a prepare that judges nothing."""
    return lambda _tip: Draft(kind, edits[0].key if edits else "", edits)


@dataclass
class Rig:
    """A running kernel with its hardware; `durable` and `hardware` outlive it."""

    kernel: Kernel
    hardware: Mapping[str, Hardware]
    drivers: Mapping[str, VirtualDriver]
    durable: DurableState
    store: Store
    running: "asyncio.Task[None]"
    machines: Machines | None = None
    """The hosts, where anybody drives them."""
    background: list["asyncio.Task[Any]"] = field(default_factory=list)

    # -- what a client does ------------------------------------------------------------------

    async def commit(self, kind: WriteKind, uri: str, **more: Any) -> Outcome:
        if kind is WriteKind.CREATE:
            name = uri.rsplit("/", 1)[-1].removesuffix("s")
        else:
            found = self.kernel.published.get(uri)
            name = "Zone" if found is None else found.type_name
        return await self.kernel.commits.commit(Write(kind, uri, name, "tester", **more))

    async def post(self, collection: str, body: Mapping[str, Any]) -> Outcome:
        return await self.commit(WriteKind.CREATE, collection, body=body)

    async def zone(self, *endpoints: str, **more: Any) -> Outcome:
        """POST a zone of these endpoints to their fabric."""
        collection = f"{endpoints[0].rsplit('/', 2)[0]}/Zones"
        return await self.post(collection, zone_body(*endpoints, **more))

    async def patch(
        self, uri: str, body: Mapping[str, Any], if_match: str | None = None
    ) -> Outcome:
        tags = None if if_match is None else (if_match.strip('"'),)
        return await self.commit(WriteKind.PATCH, uri, body=body, if_match=tags)

    async def delete(self, uri: str) -> Outcome:
        return await self.commit(WriteKind.DELETE, uri)

    async def act(self, uri: str, action: str, **body: Any) -> Outcome:
        return await self.commit(WriteKind.ACTION, uri, action=action, body=body)

    def later(self, coroutine: Any) -> "asyncio.Task[Any]":
        """Start a client's request without waiting for it."""
        task = asyncio.create_task(coroutine)
        self.background.append(task)
        return task

    def get(self, uri: str) -> dict[str, Any]:
        found = self.kernel.published.get(uri)
        assert found is not None, uri
        result: dict[str, Any] = json.loads(found.body)
        return result

    def etag(self, uri: str) -> str:
        found = self.kernel.published.get(uri)
        assert found is not None
        return found.etag

    def status(self, uri: str) -> tuple[str, str]:
        status = self.get(uri)["Status"]
        return status["State"], status["Health"]

    # -- the truth ---------------------------------------------------------------------------

    @property
    def published(self) -> Published:
        return self.kernel.published

    def loop(self, fabric: str = "PCIe") -> FabricLoop:
        return self.kernel.loops[fabric]

    def faults(self, fabric: str = "PCIe") -> FaultPlan:
        return self.drivers[fabric].faults

    def bound(self, fabric: str = "PCIe") -> dict[VppbId, BindTarget]:
        return self.hardware[fabric].oracle().bindings(fabric)

    def rejected(self, fabric: str = "PCIe") -> int:
        return self.loop(fabric).rejected

    def clock_s(self) -> float:
        return asyncio.get_running_loop().time()

    def oracle(self, fabric: str = "PCIe") -> Oracle:
        return self.hardware[fabric].oracle()

    def assert_isolated(self) -> None:
        for fabric in self.hardware:
            assert self.oracle(fabric).double_reach() == []

    def wanted(self, fabric: str = "PCIe") -> dict[VppbId, BindTarget]:
        bindings = self.published.state.index.bindings.values()
        return {each.vppb: each.target for each in bindings if each.fabric == fabric}

    async def assert_equal_to_disk(self) -> None:
        """Tip and published state equal a state built anew from what is durable."""
        await self.until(lambda: self.kernel.writer.tip.seq == self.published.seq)
        fresh = WantedState(self.published.base)
        for space, keys in self.durable.spaces.items():
            for key, value in keys.items():
                fresh.apply(Edit(space, key, None, value))
        assert self.kernel.writer.tip.comparable() == fresh.comparable()
        assert self.published.state.comparable() == fresh.comparable()
        assert self.kernel.writer.tip.seq == self.published.seq == self.durable.seq

    async def until(self, truth: Callable[[], bool], within_s: float = 60.0) -> None:
        """Wait in virtual time until something is so."""
        async with asyncio.timeout(within_s):
            while not truth():  # noqa: ASYNC110 - whoever makes it true knows nothing of tests
                await asyncio.sleep(0.01)

    async def converged(self, fabric: str = "PCIe", within_s: float = 60.0) -> None:
        """Wait until the hardware is as wanted and no operation is open."""
        await self.until(
            lambda: (
                self.bound(fabric) == self.wanted(fabric)
                and not self.kernel.operations.open_of(fabric)
            ),
            within_s,
        )


@contextlib.asynccontextmanager
async def running_kernel(
    *,
    durable: DurableState | None = None,
    store: Store | None = None,
    hardware: Mapping[str, Hardware] | None = None,
    drivers: Mapping[str, Driver] | None = None,
    inventories: tuple[Inventory, ...] = (PCIE, CXL),
    base: Base | None = None,
    sync_budget_s: float = 5.0,
    policy: Policy | None = None,
    crash: bool = False,
    power: PowerPolicy | None = None,
    machines: Machines | None = None,
    bmcs: PowerControl | None = None,
    **store_options: Any,
) -> AsyncIterator[Rig]:
    """Run a kernel; on leaving it is closed, or with `crash` cut off as kill -9 would.

    Its hosts are driven where `power` says how, or where `machines` or their `bmcs` are given.
    """
    clock = VirtualClock()
    durable = durable or DurableState()
    store = store or MemoryStore(durable, clock, **store_options)
    powered = hardware or {each.fabric: Hardware(each, clock) for each in inventories}
    virtual = {name: VirtualDriver(each, clock, clock) for name, each in powered.items()}
    config = KernelConfig(sync_budget_s, policy or Policy(), power or PowerPolicy())
    if power is not None and machines is None:
        machines = machines_of(*powered.values())
    if machines is not None:
        bmcs = VirtualPower(machines, clock, clock)
    base = base or a_base(*inventories)
    kernel = Kernel(store, base, drivers or virtual, clock, config, bmcs)
    kernel.start(await store.load())
    running = asyncio.create_task(kernel.run())
    rig = Rig(kernel, powered, virtual, durable, store, running, machines)
    try:
        yield rig
    finally:
        if crash:
            durable.crash()
            running.cancel()
            for driver in [*virtual.values(), *([] if bmcs is None else [bmcs])]:
                await driver.close()
        else:
            await kernel.close()
        for task in rig.background:
            task.cancel()
        await asyncio.gather(running, *rig.background, return_exceptions=True)


async def refused(awaitable: Any) -> RedfishError:
    """Return the refusal that a write ends in."""
    try:
        outcome = await awaitable
    except RedfishError as error:
        return error
    raise AssertionError(f"accepted: {outcome}")


def keys(error: RedfishError) -> list[str]:
    return [message.key for message in error.messages]
