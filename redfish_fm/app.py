"""The composition root: the only module that imports every room and puts them together."""

import asyncio
import contextlib
import gc
import random
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from redfish_fm import __version__, logs, resources
from redfish_fm.certificates.serving import Certificates
from redfish_fm.certificates.writing import CertificateWrites
from redfish_fm.clocks import Clock, ScaledClock, SystemClock
from redfish_fm.config import Config
from redfish_fm.control.account_locks import keeper
from redfish_fm.control.base import Base
from redfish_fm.control.kernel import Kernel, KernelConfig
from redfish_fm.control.power import PowerPolicy
from redfish_fm.control.reconcile import Policy
from redfish_fm.control.session_rows import SessionRows
from redfish_fm.drivers import registry
from redfish_fm.drivers.base import Driver, PowerControl
from redfish_fm.drivers.virtual.schedule import Schedule
from redfish_fm.errors import FmError
from redfish_fm.first_start import begin, stored_uuid
from redfish_fm.lives import Kept, read_again
from redfish_fm.mapping.default_zone import keep_default_zones
from redfish_fm.mapping.service_manager import OwnUris
from redfish_fm.mapping.uris import HTTPS_CERTIFICATE
from redfish_fm.own_events import OwnEvents, about_events, add_events
from redfish_fm.own_manager import OwnManager, about_service, add_to
from redfish_fm.played import emulation, ordered_faults, powered_hosts
from redfish_fm.readiness import readiness
from redfish_fm.redfish.accounts import Accounts
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.certificates import certificate_documents
from redfish_fm.redfish.documents import REDFISH_VERSION, service_documents
from redfish_fm.redfish.identity import Identity
from redfish_fm.redfish.privileges import Privileges
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.roles import Roles
from redfish_fm.redfish.service import Service
from redfish_fm.redfish.sessions import Sessions
from redfish_fm.reload import Reload
from redfish_fm.samples import metrics_of
from redfish_fm.server.discovery import Discovery
from redfish_fm.server.http import HttpServer
from redfish_fm.server.interfaces import announced_addresses, listened_on
from redfish_fm.server.listener import Bound, listen
from redfish_fm.server.process_limits import keep_no_core, usual_limits
from redfish_fm.server.request_counts import RequestCounts
from redfish_fm.server.ssdp import Announced
from redfish_fm.store.base import SessionRow, Store, StoredState
from redfish_fm.store.memory import MemoryStore
from redfish_fm.store.mockup import Progress
from redfish_fm.store.sqlite import SqliteStore
from redfish_fm.switches import (
    SwitchFabrics,
    drivers_of,
    switch_fabrics,
    types_of_switches,
)
from redfish_fm.wires_served import served_wires
from redfish_fm.worlds import World, discovered_world, source, wanted_types

_GC_THRESHOLDS = (10_000, 50, 50)
"""gc.set_threshold() once everything is made; Python's own are 700, 10, 10.

What a request makes is freed by reference count, and what a write keeps stays: with the usual
thresholds the collector walks through it again and again to find nothing. Measured with 16
writers: a POST of a zone costs 9 % less CPU.
"""
FIRST_LOOK_S = 0.5
"""How long "ready" waits for a first look at every fabric, so that early answers show Status."""
FIRST_LOOK_RESOURCES_MAX = 25_000
"""Of more a first look takes longer (10 us each, and more): it is not waited for in vain."""
_TOP_DEPTH = "/redfish/v1/Systems".count("/")


@dataclass(frozen=True, slots=True)
class _Tables:
    """The protocol's tables, loaded from schemas/."""

    catalog: Catalog
    registries: Registries
    privileges: Privileges

    @classmethod
    def load(cls) -> "_Tables":
        folder = resources.schemas_dir()
        return cls(Catalog.load(folder), Registries.load(folder), Privileges.load(folder))


async def serve(
    config: Config,
    again: Callable[[], Config] | None = None,
    progress: Progress | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT; return the exit code. SIGHUP takes over what `again` reads.

    `progress` is told how far the reading of a mockup is.
    Raises FmError or OSError, with one clear line, where it can not start.
    """
    keep_no_core()
    with contextlib.ExitStack() as stack:
        kept = Kept(stack)
        while await _life(config, again, progress, kept):
            config = read_again(config, again)
            # What the life that ended left behind goes now.
            gc.unfreeze()
            gc.collect()
    return 0


async def _life(
    config: Config,
    again: Callable[[], Config] | None,
    progress: Progress | None,
    kept: Kept,
) -> bool:
    """Serve until the service ends, or is to be made anew: then return True."""
    logs.configure(config.log_format, config.log_level)
    reload = Reload(config, again or (lambda: config))
    if again is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    # What is made at start stays: the collector would walk through all of it again and again.
    gc.disable()
    try:
        return await _serve(config, reload, progress, kept)
    finally:
        gc.enable()


async def _serve(config: Config, reload: Reload, progress: Progress | None, kept: Kept) -> bool:
    clock = SystemClock()
    stop = _stop_on_signals()
    async with contextlib.AsyncExitStack() as stack:
        # First of all, for a start that can not have its port leaves nothing behind.
        bound = await kept.bound(config)
        stack.callback(bound.close)
        folder = kept.folder(config)
        tables = _Tables.load()
        make_world = source(config, tables.catalog, progress)
        store = _store(config, clock, kept)
        stack.push_async_callback(store.close)
        stored = await store.load()
        world = make_world(stored)
        del make_world
        making = switch_fabrics(config, clock, world.inventories, stored)
        switches = await stack.enter_async_context(making)
        if config.switches:
            world = discovered_world(world.inventories, switches.inventories)
        fabric_clock = ScaledClock(clock, config.time_scale)
        virtual = await stack.enter_async_context(_drivers(config, world, clock, fabric_clock))
        drivers = drivers_of(virtual, switches)
        power = await stack.enter_async_context(
            powered_hosts(config, drivers, world.hosts, clock, fabric_clock)
        )
        faults = ordered_faults(config.faults, drivers, power, fabric_clock)
        parts = await _parts(
            config, tables, world, store, stored, drivers, power, clock, bound, folder, switches
        )
        reload.switches = switches.change
        del stored
        kernel, certificates = parts.kernel, parts.certificates
        reload.certificate = None if certificates.context is None else certificates
        running = asyncio.create_task(_run(parts, faults.schedule))
        stack.push_async_callback(_ended, running)
        stack.push_async_callback(kernel.close)
        stack.push_async_callback(parts.itself.close)
        stack.push_async_callback(parts.events.close)
        # The kernel closes the hardware, which nothing may befall any more by then.
        stack.push_async_callback(faults.close)
        await stack.enter_async_context(served_wires(config, drivers, clock, fabric_clock))
        # Nothing that an operator has to mend may fail from here on: the made password shows once.
        bound.claim()
        await begin(config, kernel, tables.catalog, world, parts.uuid)
        fabrics = world.default_zones
        await kernel.writer.submit(lambda tip: keep_default_zones(fabrics, tip), "service")
        service = _service(config, tables, world, parts, clock)
        return await _serve_http(config, stack, bound, parts, service, clock, kept, running, stop)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is made of a stored state and a world, and goes on until the end."""

    uuid: str
    odata_types: set[str]
    base: Base
    store: Store
    kernel: Kernel
    identity: Identity
    itself: OwnManager
    events: OwnEvents
    certificates: Certificates
    discovery: Discovery


async def _parts(
    config: Config,
    tables: _Tables,
    world: World,
    store: Store,
    stored: StoredState,
    drivers: Mapping[str, Driver],
    power: PowerControl,
    clock: Clock,
    bound: Bound,
    folder: Path,
    switches: SwitchFabrics,
) -> _Parts:
    """Make the parts and let them take over what is stored."""
    catalog = tables.catalog
    service_uuid = stored_uuid(stored) or str(uuid.uuid4())
    imported_types = wanted_types(world, stored)
    listening = listened_on(bound.sockets)
    about = about_service(config, service_uuid, bound.port, listening, certificates=not config.http)
    if config.switches:
        imported_types |= types_of_switches()
    own_uri = ""

    def base_of(world: World) -> Base:
        nonlocal own_uri
        own = add_to(world.documents, world.facts, about)
        own_uri = HTTPS_CERTIFICATE.format(manager=own.manager_id, certificate="1")
        world.documents.update(certificate_documents(catalog, own_uri, served=not config.http))
        return _base(config, tables, world, imported_types, service_uuid, own)

    base = base_of(world)
    discovery = _discovery(config, bound, service_uuid, clock)
    kernel = Kernel(store, base, drivers, clock, _kernel_config(config, switches.policies), power)
    virtual = world.inventories
    switches.serve(kernel, lambda found: base_of(discovered_world(virtual, tuple(found))))
    identity = _identity(config, catalog, store, kernel, clock)
    await identity.load(stored.spaces)
    kernel.writer.on_publish.add(identity.published, below=identity.followed)
    kernel.start(stored)
    itself = OwnManager(
        config,
        kernel,
        store,
        catalog,
        tables.registries,
        clock,
        discovery,
        listening,
        bound.port,
    )
    await itself.load(stored)
    rng = random.SystemRandom()
    events = OwnEvents(
        config, kernel, store, catalog, tables.registries, tables.privileges, clock, rng,
        identity.may_listen, identity.may_be_told,
    )  # fmt: skip
    await events.load(stored)
    itself.logs.follow(events.stream)
    return _Parts(
        service_uuid,
        base.odata_types | imported_types,
        base,
        store,
        kernel,
        identity,
        itself,
        events,
        _certificates(config, folder, own_uri, kernel, clock, bound),
        discovery,
    )


def _service(config: Config, tables: _Tables, world: World, parts: _Parts, clock: Clock) -> Service:
    """Return what answers requests, with the audit log behind it."""
    kernel, identity, itself = parts.kernel, parts.identity, parts.itself
    service = Service(
        tables.catalog,
        tables.registries,
        tables.privileges,
        kernel.published,
        parts.events.carrying_out(
            CertificateWrites(parts.certificates, clock, itself.commit).commit
        ),
        identity.sessions,
        identity.accounts,
        owner=parts.events.owner_of,
        streams=parts.events.door,
        roles=identity.roles,
        locks=identity.locks,
        client_certificates=parts.certificates.clients,
        replay=kernel.retries.outcome,
        task_result=kernel.operations.result,
        odata_types=sorted(parts.odata_types),
        served=kernel.published,
        body_bytes_max=config.body_limit_bytes,
        page_size=config.page_size,
        headers=world.headers,
        xml=world.xml,
        emulation=emulation(config, identity.sessions.end_all, clock, itself.uri),
        tables=itself.tables,
        moments=itself.moments,
    )
    service.on_audit.append(itself.logs.audit)
    return service


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _store(config: Config, clock: Clock, kept: Kept) -> SqliteStore | MemoryStore:
    if config.state is None:
        return MemoryStore(kept.durable(config), clock, config.source_name)
    return SqliteStore(config.state, config.source_name, clock)


@contextlib.asynccontextmanager
async def _drivers(
    config: Config, world: World, clock: Clock, fabric_clock: Clock
) -> AsyncIterator[Mapping[str, Driver]]:
    make = registry.factory("virtual")
    drivers: dict[str, Driver] = {}
    try:
        for inventory in world.inventories:
            drivers[inventory.fabric] = make(
                inventory, clock, fabric_clock, config.state, config.seed
            )
        yield drivers
    finally:
        for driver in drivers.values():
            await driver.close()


def _base(
    config: Config,
    tables: _Tables,
    world: World,
    types: set[str],
    service_uuid: str,
    own: OwnUris | None = None,
) -> Base:
    """Return the inventory layer; it takes the documents out of `world`.

    The service's own manager stands at `own`; None: it is added here.
    """
    catalog = tables.catalog
    if own is None:
        about = about_service(config, service_uuid, config.port, (), certificates=False)
        own = add_to(world.documents, world.facts, about)
    add_events(world.documents, about_events(catalog, types | world.documents.odata_types()))
    served = {
        name
        for name, info in catalog.types.items()
        # What stands deeper is linked from where it stands.
        if info.uris and info.uris[0] in world.documents and info.uris[0].count("/") == _TOP_DEPTH
    }
    root = catalog.types["ServiceRoot"].properties
    top_level = [name for name, info in root.items() if info.link_to in served]
    service = service_documents(
        catalog,
        tables.registries,
        tables.privileges,
        uuid=service_uuid,
        product_version=__version__,
        top_level=top_level,
        odata_types=types | world.documents.odata_types(),
        session_timeout_s=config.session_timeout_s,
    )
    service["/redfish/v1"]["Links"]["ManagerProvidingService"] = {"@odata.id": own.manager}
    world.documents.update(service)
    return Base(world.documents.handed_over(), world.facts)


def _kernel_config(config: Config, policies: Mapping[str, Policy] | None = None) -> KernelConfig:
    policy = Policy(
        observe_interval_s=config.observe_interval_s,
        enforce=config.foreign_bindings == "enforce",
    )
    power = PowerPolicy(
        observe_interval_s=config.observe_interval_s, not_ready_s=config.emulation_not_ready_s
    )
    return KernelConfig(config.sync_budget_s, policy, power, config.time_scale, policies or {})


def _identity(
    config: Config, catalog: Catalog, store: Store, kernel: Kernel, clock: Clock
) -> Identity:
    sessions = Sessions(
        SessionRows(store, kernel.writer),
        SessionRow,
        clock,
        timeout_s=config.session_timeout_s,
        limit=config.session_limit,
        limit_per_user=config.session_limit_per_user,
    )
    return Identity(Accounts(), Roles(catalog.roles), sessions, keeper(kernel.writer))


async def _run(parts: _Parts, faults: Schedule | None) -> None:
    """Run the kernel, and beside it all that goes on with it, until the kernel has ended."""
    async with asyncio.TaskGroup() as tasks:
        beside = [
            tasks.create_task(parts.identity.run()),
            tasks.create_task(parts.certificates.run()),
            tasks.create_task(parts.discovery.run()),
            tasks.create_task(parts.itself.logs.run()),
            tasks.create_task(parts.events.run()),
        ]
        if faults is not None:
            beside.append(tasks.create_task(faults.run()))
        try:
            await parts.kernel.run()
        finally:
            for task in beside:
                task.cancel()


def _certificates(
    config: Config, folder: Path, own_uri: str, kernel: Kernel, clock: Clock, bound: Bound
) -> Certificates:
    """Return what serves and shows certificates, following what becomes durable."""
    addresses = announced_addresses(listened_on(bound.sockets))
    found = Certificates(config, folder, own_uri, kernel.published, clock, addresses)
    kernel.writer.on_publish.add(found.published, below=found.followed)
    return found


def _discovery(config: Config, bound: Bound, service_uuid: str, clock: Clock) -> Discovery:
    announced = Announced(
        uuid=service_uuid,
        redfish_version=REDFISH_VERSION,
        scheme="http" if config.http else "https",
        port=bound.port,
        root="/redfish/v1/",
    )
    rng = random.SystemRandom()
    listening = listened_on(bound.sockets)
    return Discovery(announced, listening, config.discovery_interfaces, clock, rng)


async def _serve_http(
    config: Config,
    stack: contextlib.AsyncExitStack,
    bound: Bound,
    parts: _Parts,
    service: Service,
    clock: Clock,
    kept: Kept,
    running: "asyncio.Task[None]",
    stop: asyncio.Event,
) -> bool:
    """Serve until told to stop, or to restart: then return True."""
    kernel, store, itself = parts.kernel, parts.store, parts.itself
    server = HttpServer(
        service.handle,
        service.transport_error,
        limits=usual_limits(config.body_limit_bytes, config.connection_limit),
        metrics=metrics_of(kernel, store, parts.identity, parts.events, lambda: server).render,
        ready=lambda: readiness(kernel),
        counts=RequestCounts(service.route_of),
        clock=clock,
    )
    listener = await listen(server, bound, parts.certificates.context)
    stack.push_async_callback(server.stop)
    stack.push_async_callback(listener.close)
    stack.push_async_callback(parts.discovery.close)
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()
    if len(parts.base.documents) <= FIRST_LOOK_RESOURCES_MAX:
        await kernel.first_observed(FIRST_LOOK_S)
    await itself.apply()
    print(f"redfish-fm ready URL={listener.url}/redfish/v1/", flush=True)
    stopped = asyncio.create_task(stop.wait())
    restarted = asyncio.create_task(itself.restart.wait())
    await asyncio.wait({stopped, restarted, running}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    restarted.cancel()
    if not itself.restart.is_set():
        kept.let_go()
    kernel.operations.close()
    if running.done():
        print("redfish-fm: a part of the service ended by itself", file=sys.stderr)
        await running
        raise FmError("a part of the service ended by itself")
    return itself.restart.is_set() and not stop.is_set()


async def _ended(running: "asyncio.Task[None]") -> None:
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
