"""The composition root: the only module that imports every room and puts them together."""

import asyncio
import contextlib
import gc
import logging
import secrets
import signal
import ssl
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from redfish_fm import __version__, logs, resources
from redfish_fm.clocks import Clock, ScaledClock, SystemClock
from redfish_fm.config import Config
from redfish_fm.control.base import Base
from redfish_fm.control.kernel import Kernel, KernelConfig
from redfish_fm.control.power import PowerPolicy
from redfish_fm.control.reconcile import Policy
from redfish_fm.control.session_rows import SessionRows
from redfish_fm.control.tip import TipView
from redfish_fm.drivers import registry
from redfish_fm.drivers.base import Driver
from redfish_fm.drivers.virtual.schedule import Schedule
from redfish_fm.errors import FmError
from redfish_fm.mapping.default_zone import keep_default_zones
from redfish_fm.mapping.drafts import Draft
from redfish_fm.played import emulation, ordered_faults, play_reset, powered_hosts
from redfish_fm.redfish.accounts import Accounts
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.documents import account_document, service_documents
from redfish_fm.redfish.identity import Identity
from redfish_fm.redfish.passwords import hash_password
from redfish_fm.redfish.privileges import Privileges
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.roles import Roles
from redfish_fm.redfish.service import Service
from redfish_fm.redfish.sessions import Sessions
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.reload import Reload, ServedCertificate
from redfish_fm.samples import kernel_samples, server_samples
from redfish_fm.server.http import HttpServer
from redfish_fm.server.limits import Limits
from redfish_fm.server.listener import listen
from redfish_fm.server.metrics import Metrics
from redfish_fm.server.tls import TlsFiles, ensure_certificate, operator_certificate
from redfish_fm.store.base import SessionRow, Store, StoredState
from redfish_fm.store.memory import DurableState, MemoryStore
from redfish_fm.store.sqlite import SqliteStore
from redfish_fm.worlds import World, document_edit, source, wanted_types

log = logging.getLogger(__name__)

_GC_THRESHOLDS = (10_000, 50, 50)
"""gc.set_threshold() once everything is made; Python's own are 700, 10, 10.

What a request makes is freed by reference count, and what a write keeps stays: with the usual
thresholds the collector walks through it again and again to find nothing. Measured with 16
writers: a POST of a zone costs 9 % less CPU.
"""
FIRST_LOOK_S = 0.5
"""How long "ready" waits for a first look at every fabric, so that early answers show Status."""
UUID_KEY = "uuid"
"""Key in the META space: the ServiceRoot.UUID, made once per state."""


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


async def serve(config: Config, again: Callable[[], Config] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; return the exit code. SIGHUP takes over what `again` reads.

    Raises FmError or OSError, with one clear line, where it can not start.
    """
    logs.configure(config.log_format, config.log_level)
    reload = Reload(config, again or (lambda: config))
    if again is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    # What is made at start stays: the collector would walk through all of it again and again.
    gc.disable()
    try:
        return await _serve(config, reload)
    finally:
        gc.enable()


async def _serve(config: Config, reload: Reload) -> int:
    clock = SystemClock()
    stop = _stop_on_signals()
    async with contextlib.AsyncExitStack() as stack:
        folder = config.state or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tables = _Tables.load()
        make_world = source(config, tables.catalog)
        store = _store(config, clock)
        stack.push_async_callback(store.close)
        stored = await store.load()
        world = make_world(stored)
        del make_world
        fabric_clock = ScaledClock(clock, config.time_scale)
        drivers = await stack.enter_async_context(_drivers(config, world, clock, fabric_clock))
        power = await stack.enter_async_context(powered_hosts(config, drivers, clock, fabric_clock))
        faults = ordered_faults(config.faults, drivers, power, fabric_clock)
        schedule_of_faults = await stack.enter_async_context(faults)
        service_uuid = _stored_uuid(stored) or str(uuid.uuid4())
        imported_types = wanted_types(world, stored)
        base = _base(config, tables, world, imported_types, service_uuid)
        kernel = Kernel(store, base, drivers, clock, _kernel_config(config), power)
        identity = _identity(config, tables.catalog, SessionRows(store, kernel.writer), clock)
        await identity.load(stored.spaces)
        kernel.writer.on_publish.append(identity.published)
        kernel.start(stored)
        del stored
        running = asyncio.create_task(_run(kernel, identity, schedule_of_faults))
        stack.push_async_callback(_ended, running)
        stack.push_async_callback(kernel.close)
        await _first_start(config, kernel, tables.catalog, world, service_uuid)
        fabrics = world.default_zones
        await kernel.writer.submit(lambda tip: keep_default_zones(fabrics, tip), "service")
        service = Service(
            tables.catalog,
            tables.registries,
            tables.privileges,
            kernel.published,
            kernel.commits.commit,
            identity.sessions,
            identity.accounts,
            owner=kernel.operations.owner_of,
            roles=identity.roles,
            replay=kernel.retries.outcome,
            task_result=kernel.operations.result,
            odata_types=sorted(base.odata_types | imported_types),
            served=lambda: [*base.documents, *kernel.published.state.spaces[Space.DOCUMENT]],
            body_bytes_max=config.body_limit_bytes,
            page_size=config.page_size,
            headers=world.headers,
            xml=world.xml,
            emulation=emulation(config, identity.sessions.end_all, clock),
        )
        certificate = None if config.http else _certificate(config, folder, clock)
        reload.certificate = certificate
        context = None if certificate is None else certificate.context
        await _serve_http(config, stack, context, service, kernel, store, clock, running, stop)
    return 0


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _store(config: Config, clock: Clock) -> SqliteStore | MemoryStore:
    if config.state is None:
        return MemoryStore(DurableState(), clock, config.source_name)
    return SqliteStore(config.state, config.source_name, clock)


def _stored_uuid(stored: StoredState) -> str | None:
    raw = stored.spaces.get(Space.META, {}).get(UUID_KEY)
    return None if raw is None else raw.decode()


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
    config: Config, tables: _Tables, world: World, types: set[str], service_uuid: str
) -> Base:
    """Return the inventory layer; it takes the documents out of `world`."""
    catalog = tables.catalog
    served = {
        name
        for name, info in catalog.types.items()
        if info.uris and info.uris[0].rstrip("/") in world.documents
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
    play_reset(config, world.documents)
    world.documents.update(service)
    return Base(world.documents.handed_over(), world.facts)


def _kernel_config(config: Config) -> KernelConfig:
    policy = Policy(
        observe_interval_s=config.observe_interval_s,
        enforce=config.foreign_bindings == "enforce",
    )
    power = PowerPolicy(
        observe_interval_s=config.observe_interval_s, not_ready_s=config.emulation_not_ready_s
    )
    return KernelConfig(config.sync_budget_s, policy, power)


def _identity(config: Config, catalog: Catalog, rows: SessionRows, clock: Clock) -> Identity:
    sessions = Sessions(
        rows, SessionRow, clock, timeout_s=config.session_timeout_s, limit=config.session_limit
    )
    return Identity(Accounts(), Roles(catalog.roles), sessions)


async def _run(kernel: Kernel, identity: Identity, faults: Schedule | None) -> None:
    """Run the kernel, and beside it all that goes on with it, until the kernel has ended."""
    async with asyncio.TaskGroup() as tasks:
        beside = [tasks.create_task(identity.sessions.run())]
        if faults is not None:
            beside.append(tasks.create_task(faults.run()))
        try:
            await kernel.run()
        finally:
            for task in beside:
                task.cancel()


async def _first_start(
    config: Config, kernel: Kernel, catalog: Catalog, world: World, service_uuid: str
) -> None:
    """Commit what a new state begins with: identity, the imported documents, the first admin."""
    if kernel.writer.tip.spaces[Space.META].get(UUID_KEY) is not None:
        if config.admin_password is not None:
            log.info("this state has its accounts: REDFISH_FM_ADMIN_PASSWORD changes none")
        return
    uri, document = account_document(catalog, "admin", config.admin_user, "Administrator")
    if config.admin_password is None:
        password = secrets.token_urlsafe(15)
        print(f"redfish-fm first start: user {config.admin_user} password {password}", flush=True)
    else:
        password = config.admin_password.reveal()
    secret = await asyncio.to_thread(hash_password, password)

    def prepare(_: TipView) -> Draft:
        edits = (
            Edit(Space.META, UUID_KEY, None, service_uuid.encode()),
            *world.first,
            document_edit(Space.DOCUMENT, uri, document),
            Edit(Space.SECRET, uri, None, secret),
        )
        return Draft(OutcomeKind.CREATED, uri, edits)

    await kernel.writer.submit(prepare, "service")


def _certificate(config: Config, folder: Path, clock: Clock) -> ServedCertificate:
    """Return the certificate to serve with: the operator's, or one made for config.host."""

    def files(config: Config) -> TlsFiles:
        if config.tls_cert is not None and config.tls_key is not None:
            return operator_certificate(config.tls_cert, config.tls_key)
        return ensure_certificate(folder / "tls", config.host, clock.wall_s())

    return ServedCertificate(config, files)


async def _serve_http(
    config: Config,
    stack: contextlib.AsyncExitStack,
    context: ssl.SSLContext | None,
    service: Service,
    kernel: Kernel,
    store: Store,
    clock: Clock,
    running: "asyncio.Task[None]",
    stop: asyncio.Event,
) -> None:
    server = HttpServer(
        service.handle,
        service.transport_error,
        limits=Limits(body_bytes=config.body_limit_bytes),
        metrics=Metrics(lambda: [*kernel_samples(kernel, store), *server_samples(server)]).render,
        clock=clock,
    )
    listener = await listen(server, config.host, config.port, context)
    stack.push_async_callback(server.stop)
    stack.push_async_callback(listener.close)
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()
    await kernel.first_observed(FIRST_LOOK_S)
    print(f"redfish-fm ready URL={listener.url}/redfish/v1/", flush=True)
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait({stopped, running}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    kernel.operations.close()
    if running.done():
        print("redfish-fm: a part of the service ended by itself", file=sys.stderr)
        await running
        raise FmError("a part of the service ended by itself")


async def _ended(running: "asyncio.Task[None]") -> None:
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
