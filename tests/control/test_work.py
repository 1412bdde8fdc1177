"""O(change): what a write costs is counted, and does not grow with the fabric."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from redfish_fm.control.base import Base
from redfish_fm.control.kernel import Kernel, KernelConfig
from redfish_fm.fabric.index import FabricFacts, VcsFact
from redfish_fm.fabric.model import BindTarget, FabricKind
from redfish_fm.fabric.values import Binder, Chunk, Unit
from redfish_fm.mapping.facts import Facts
from redfish_fm.redfish.writes import Outcome, Write, WriteKind
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.control.builders import SERVICE_DOCUMENTS, links, zone_body
from tests.virtual_time import VirtualClock, run

FABRIC = "/redfish/v1/Fabrics/pod"
PER_SWITCH = 20
COLLECTIONS = {
    f"{FABRIC}/Zones": "ZoneCollection",
    f"{FABRIC}/Endpoints": "EndpointCollection",
    f"{FABRIC}/Connections": "ConnectionCollection",
}


def a_big_base(endpoints: int) -> Base:
    """Return a CXL fabric: switches with one host, 19 whole devices and an LD with a chunk each."""
    facts = Facts(fabrics=[FabricFacts("pod", FabricKind.BIND, zoned=True)])
    documents: dict[str, dict[str, Any]] = {
        uri: {"@odata.id": uri, "@odata.type": f"#{name}.{name}"}
        for uri, name in COLLECTIONS.items()
    }
    for n in range(endpoints):
        switch, port = divmod(n, PER_SWITCH)
        entity = f"/redfish/v1/Chassis/c{n}" if port else f"/redfish/v1/Systems/h{switch}"
        uri = f"{FABRIC}/Endpoints/{'d' if port else 'h'}{n}"
        role = "Target" if port else "Initiator"
        documents[uri] = {
            "@odata.id": uri,
            "@odata.type": "#Endpoint.v1_8_2.Endpoint",
            "ConnectedEntities": [{"EntityLink": {"@odata.id": entity}, "EntityRole": role}],
        }
        if port:
            _plug(facts, entity, f"s{switch}", port)
        else:
            facts.entity_hosts[entity] = entity
            facts.vcss.append(VcsFact("pod", f"s{switch}", "1", entity, PER_SWITCH))
    return Base({**documents, **SERVICE_DOCUMENTS}, facts)


def _plug(facts: Facts, entity: str, switch: str, port: int) -> None:
    is_ld = port == PER_SWITCH - 1
    binder = Binder.CONNECTION if is_ld else Binder.ZONE
    target = BindTarget(switch, f"D{port}", 0 if is_ld else None)
    facts.units.append(Unit(entity, "pod", binder, target=target))
    facts.entity_units[entity] = frozenset({entity})
    if is_ld:
        facts.chunks.append(Chunk(f"{entity}/Chunk", entity, 0, 1024))


class Counter:
    """A kernel without hardware: operations are ended by hand, so every count is exact."""

    def __init__(self, base: Base) -> None:
        clock = VirtualClock()
        store = MemoryStore(DurableState(), clock)
        self.kernel = Kernel(store, base, {}, clock, KernelConfig(sync_budget_s=0.0))
        self.counts: dict[str, tuple[int, ...]] = {}

    def now(self) -> tuple[int, ...]:
        tip, published = self.kernel.writer.tip, self.kernel.published
        return (
            tip.index.work,
            tip.parsed,
            published.state.index.work,
            published.state.parsed,
            published.rendered,
        )

    async def count(self, what: str, write: Callable[[], Awaitable[Outcome]]) -> str:
        before = self.now()
        outcome = await write()
        for uri in (outcome.uri, f"{FABRIC}/Endpoints/d1", f"{FABRIC}/Endpoints/h0"):
            self.kernel.published.get(uri)
        after = self.now()
        self.counts[what] = tuple(b - a for a, b in zip(before, after, strict=True))
        for operation in self.kernel.operations.open_of("pod"):
            await self.kernel.operations.complete(operation)
        return outcome.uri

    async def commit(self, kind: WriteKind, uri: str, name: str, **more: Any) -> Outcome:
        return await self.kernel.commits.commit(Write(kind, uri, name, "tester", **more))


async def counted(base: Base) -> dict[str, tuple[int, ...]]:
    counter = Counter(base)
    kernel = counter.kernel
    kernel.start(await kernel._store.load())  # noqa: SLF001
    running = asyncio.create_task(kernel.run())
    ends = [f"{FABRIC}/Endpoints/{name}" for name in ("h0", "d1", f"d{PER_SWITCH - 1}")]
    commit = counter.commit
    body = zone_body(*ends, Id="z")
    zone = await counter.count(
        "post zone", lambda: commit(WriteKind.CREATE, f"{FABRIC}/Zones", "Zone", body=body)
    )
    more = zone_body(*ends, f"{FABRIC}/Endpoints/d2")
    await counter.count("patch zone", lambda: commit(WriteKind.PATCH, zone, "Zone", body=more))
    chunk = f"/redfish/v1/Chassis/c{PER_SWITCH - 1}/Chunk"
    grant = {
        "Links": {"InitiatorEndpoints": links(ends[0]), "TargetEndpoints": links(ends[2])},
        "MemoryChunkInfo": [{"AccessCapabilities": ["Read"], "MemoryChunk": {"@odata.id": chunk}}],
    }
    where = f"{FABRIC}/Connections"
    connection = await counter.count(
        "post connection", lambda: commit(WriteKind.CREATE, where, "Connection", body=grant)
    )
    await counter.count(
        "delete connection", lambda: commit(WriteKind.DELETE, connection, "Connection")
    )
    await counter.count("delete zone", lambda: commit(WriteKind.DELETE, zone, "Zone"))
    await kernel.close()
    await running
    return counter.counts


def test_a_write_costs_the_same_at_1_000_and_at_20_000_endpoints() -> None:
    small, big = run(counted(a_big_base(1_000))), run(counted(a_big_base(20_000)))
    assert small == big
    assert len(small) == 5
    for counts in small.values():
        assert all(0 < each < 100 for each in counts[:4]), small


@pytest.mark.soak
def test_a_write_costs_the_same_at_100_000_endpoints() -> None:
    assert run(counted(a_big_base(1_000))) == run(counted(a_big_base(100_000)))
