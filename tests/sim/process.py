"""One life of the service process: the real kernel under the real protocol, over a dying store.

A crash cancels everything at once and closes nothing in order; the hardware and the durable state
live on, and so do commands that were under way.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.control.base import Base
from redfish_fm.control.kernel import Kernel, KernelConfig
from redfish_fm.control.reconcile import Policy
from redfish_fm.fabric.model import Inventory, Observation
from redfish_fm.mapping.default_zone import keep_default_zones
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.redfish.accounts import Accounts
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.changes import Change, Edit, FeedRecord, Space
from redfish_fm.redfish.documents import account_document, service_documents
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.privileges import Privileges
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.service import Service
from redfish_fm.redfish.sessions import Sessions
from redfish_fm.resources import schemas_dir
from redfish_fm.store.base import OutcomeUnknown, SessionRow, StoreFailed, StoreFull
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.sim.plant import Plant, WatchedDriver
from tests.sim.weather import Weather, stream

T = TypeVar("T")
USERS = 200
CATALOG = Catalog.load(schemas_dir())
REGISTRIES = Registries.load(schemas_dir())
PRIVILEGES = Privileges.load(schemas_dir())


@cache
def accounts() -> Accounts:
    """Return accounts u0, u1, …, so that every client in doubt can go on as a new user."""
    known = Accounts()
    for number in range(USERS):
        uri, document = account_document(CATALOG, f"u{number}", f"u{number}", "Administrator")
        known.apply([Edit(Space.DOCUMENT, uri, None, msgspec.json.encode(document))])
    return known


class _Logins:
    """Every user has a session for ever; its token is the user's name."""

    async def put_session(self, row: SessionRow) -> None:
        raise NotImplementedError

    async def delete_sessions(self, ids: Sequence[str]) -> None:
        raise NotImplementedError

    async def sessions(self) -> list[SessionRow]:
        names = [f"u{number}" for number in range(USERS)]
        return [
            SessionRow(name, hashlib.sha256(name.encode()).hexdigest(), name, 0.0, "sim")
            for name in names
        ]


def make_base(inventories: Iterable[Inventory]) -> Base:
    """Return the inventory layer, as the composition root makes it."""
    rendered = render_inventories(list(inventories))
    service = service_documents(
        CATALOG,
        REGISTRIES,
        Privileges.load(schemas_dir()),
        uuid="11111111-2222-3333-4444-555555555555",
        product_version="0",
        top_level=("Fabrics", "Systems", "Chassis"),
    )
    return Base({**rendered.documents, **service}, rendered.facts)


class WatchedStore(MemoryStore):
    """The memory store, telling the checker what has just become durable."""

    stored: Callable[[Sequence[Change]], None]

    def _write_batch(
        self, base_seq: int, batch: Sequence[Change], records: Sequence[tuple[int, FeedRecord]]
    ) -> None:
        super()._write_batch(base_seq, batch, records)
        self.stored(batch)


class StoreWeather:
    """Decides for each transaction whether and how the device fails."""

    def __init__(self, rates: Mapping[str, float], seed: str) -> None:
        self.rates = dict(rates)
        self._rng = stream(f"store {seed}")
        self.struck: dict[str, int] = {}

    def before(self, _attempt: int) -> BaseException | None:
        if self._hits("failed"):
            return StoreFailed("the simulated device failed")
        if self._hits("full"):
            return StoreFull("the simulated device is full")
        return OutcomeUnknown("lost before") if self._hits("unknown before") else None

    def after(self, _attempt: int) -> BaseException | None:
        return OutcomeUnknown("lost after") if self._hits("unknown after") else None

    def _hits(self, kind: str) -> bool:
        hit = kind in self.rates and self._rng.random() < self.rates[kind]
        if hit:
            self.struck[f"store {kind}"] = self.struck.get(f"store {kind}", 0) + 1
        return hit


@dataclass
class Process:
    """A running service. After `crash` it is only a memory of it."""

    kernel: Kernel
    service: Service
    running: asyncio.Task[None]
    drivers: list[WatchedDriver]
    durable: DurableState
    alive: bool = True
    requests: dict[asyncio.Task[Any], None] = field(default_factory=dict)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something that dies with the process."""
        task = asyncio.get_running_loop().create_task(work)
        self.requests[task] = None
        task.add_done_callback(lambda done: self.requests.pop(done, None))
        return task

    async def crash(self) -> None:
        """End it at this instant. What was sent to the hardware stays there."""
        self.alive = False
        self.durable.crash()
        dying = [self.running, *self.requests]
        for task in dying:
            task.cancel()
        for driver in self.drivers:
            # Not an orderly close: it is how the hardware sees the links of a dead process.
            await driver.close()
        await asyncio.gather(*dying, return_exceptions=True)


async def start(
    weather: Weather,
    base: Base,
    plants: Sequence[Plant],
    durable: DurableState,
    clock: Clock,
    device: StoreWeather,
    *,
    stored: Callable[[Sequence[Change]], None],
    seen: Callable[[Observation], None],
) -> Process:
    """Start the service on what the last one left behind."""
    store = WatchedStore(
        durable,
        clock,
        "simulation",
        latency_s=weather.store_latency_s,
        fault_before=device.before,
        fault_after=device.after,
    )
    store.stored = stored
    loaded = await store.load()
    drivers = [WatchedDriver(plant, clock, seen) for plant in plants]
    policy = Policy(apply_timeout_s=2.0, observe_timeout_s=2.0, operation_s=weather.operation_s)
    kernel = Kernel(
        store,
        base,
        {plant.fabric: driver for plant, driver in zip(plants, drivers, strict=True)},
        clock,
        KernelConfig(weather.sync_budget_s, policy),
    )
    kernel.start(loaded)
    running = asyncio.get_running_loop().create_task(kernel.run())
    sessions = Sessions(_Logins(), SessionRow, clock, timeout_s=1e9, limit=USERS)
    await sessions.load()
    service = Service(
        CATALOG, REGISTRIES, PRIVILEGES, kernel.published, kernel.commits.commit, sessions,
        accounts(),
    )  # fmt: skip
    await _default_zones(kernel, [plant.fabric for plant in plants], clock)
    return Process(kernel, service, running, drivers, durable)


async def _default_zones(kernel: Kernel, fabrics: Sequence[str], clock: Clock) -> None:
    """Make the Default zones before anybody is served, as the composition root does.

    Where the store fails, that would end instead, and be started again.
    """
    while True:
        try:
            await kernel.writer.submit(lambda tip: keep_default_zones(fabrics, tip), "service")
            return
        except RedfishError:
            await clock.sleep(0.5)
