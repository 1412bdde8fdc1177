"""The whole service in this process, in virtual time: app's own parts over simulated hardware.

Puts together what other tests have: the running kernel with its hardware (tests.control), the
client of a house (tests.redfish), the world and the base layer as the composition root makes them.
"""

import asyncio
import contextlib
import json
import random
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from redfish_fm import app, worlds
from redfish_fm.certificates.serving import Certificates
from redfish_fm.certificates.writing import CertificateWrites
from redfish_fm.config import Config
from redfish_fm.control.delivery import Parcel
from redfish_fm.control.kernel import Kernel
from redfish_fm.control.published import Published
from redfish_fm.control.session_rows import SessionRows
from redfish_fm.control.tip import TipView
from redfish_fm.drivers.virtual.machines import Machines
from redfish_fm.mapping.default_zone import keep_default_zones
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.uris import HTTPS_CERTIFICATE
from redfish_fm.own_events import OwnEvents
from redfish_fm.own_manager import OwnManager
from redfish_fm.played import emulation
from redfish_fm.redfish.accounts import Accounts
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.documents import REDFISH_VERSION, account_document
from redfish_fm.redfish.identity import Identity
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.redfish.roles import ROLES, Roles
from redfish_fm.redfish.service import Service
from redfish_fm.redfish.sessions import Sessions
from redfish_fm.redfish.writes import Commit, OutcomeKind
from redfish_fm.server.discovery import Discovery
from redfish_fm.server.ssdp import Announced
from redfish_fm.server.targets import split_target
from redfish_fm.store.base import SessionRow, StoredState
from redfish_fm.store.memory import DurableState
from tests.control.builders import Rig, running_kernel
from tests.redfish.builders import CATALOG, PRIVILEGES, REGISTRIES, check_response
from tests.redfish.house import SECRET, House
from tests.unpacking import unpack
from tests.virtual_time import VirtualClock

ROOT = "/redfish/v1"
CUSTOM_ROLES: Mapping[str, tuple[str, ...]] = {
    "Reader": ("Login",),
    "Keeper": ("Login", "ConfigureManager"),
    "Personnel": ("Login", "ConfigureUsers"),
    "Builder": ("Login", "ConfigureComponents"),
    "Nothing": ("ConfigureSelf",),
}
"""Custom roles that every stack has, one privilege each beside Login; "Nothing" can not log in."""
USERS: Mapping[str, tuple[str, bool]] = {
    "admin": ("Administrator", False),
    "op": ("Operator", False),
    "ro": ("ReadOnly", False),
    "due": ("Administrator", True),
    **{name.lower(): (name, False) for name in CUSTOM_ROLES},
}
"""User name -> role, and whether a new password is due."""

_OWN_CERTIFICATE = HTTPS_CERTIFICATE.format(manager="FabricManager", certificate="1")


@cache
def two_hosts() -> worlds.World:
    """Return the world of the shipped topology two-hosts."""
    return worlds.source(Config(topology="two-hosts"), CATALOG)(StoredState(0, {}))


def imported(folder: Path) -> worlds.World:
    """Return the world of a mockup, as its first start makes it."""
    return worlds.imported_world(worlds.read_mockup(folder, CATALOG, strict=False))


REPAIRED = "mockups-dmtf-2025.4-repaired.tar.gz"


def unpacked(shared: Path, place: Path, name: str, file: str = REPAIRED) -> Path:
    """Unpack one of the public mockups, repaired or not, under `place`; return its folder."""
    with tarfile.open(shared / "data" / file) as pack:
        members = [each for each in pack.getmembers() if f"/{name}/" in f"/{each.name}"]
        unpack(pack, place, members)
    (folder,) = [path for path in place.rglob(name) if path.is_dir()]
    return folder


@dataclass
class Outbox:
    """Stands for the receivers of events: keeps what they took, refuses what `answer` says."""

    taken: list[Parcel] = field(default_factory=list)
    tried: list[Parcel] = field(default_factory=list)
    answer: Callable[[Parcel], str | None] = lambda _: None

    async def send(self, parcel: Parcel) -> str | None:
        await asyncio.sleep(0.001)
        self.tried.append(parcel)
        reason = self.answer(parcel)
        if reason is None:
            self.taken.append(parcel)
        return reason

    def events(self, subscription: str) -> list[dict[str, Any]]:
        """Return the members of Events[] that one subscription got, in the order they came."""
        mine = (json.loads(each.body) for each in self.taken if each.subscription == subscription)
        return [event for payload in mine for event in payload["Events"]]


@dataclass(kw_only=True)
class Stack(House):
    """A house whose fabrics are real; `rig` is what is behind them, `itself` behind its manager,
    `events` behind its EventService, and `outbox` has what that sent."""

    rig: Rig = field(repr=False)
    itself: OwnManager = field(repr=False)
    events: OwnEvents = field(repr=False)
    outbox: Outbox = field(repr=False)

    async def ask(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        user: str | None = "admin",
        **headers: str,
    ) -> Response:
        """Send one request as it stands on the wire: raw target, query and all."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if user is not None:
            sent.setdefault("x-auth-token", await self.token(user))
        raw = body if isinstance(body, bytes) else b""
        if body is not None and not isinstance(body, bytes):
            raw = json.dumps(body).encode()
            sent.setdefault("content-type", "application/json")
        path, query = split_target(target)
        response = await self.service.handle(Request(method, path, query, sent, raw, "192.0.2.1"))
        check_response(response, method)
        return response

    async def made(self, collection: str, body: Any) -> str:
        """POST and return the URI of what came to be."""
        response = await self.ask("POST", collection, body)
        assert response.status == 201, response.body
        return response.headers["Location"]

    async def crawl(self, without: str | None = None) -> dict[str, dict[str, Any]]:
        """GET everything that links lead to from the root, as the client would; by URI.

        `without` names a property whose links are left alone: what clients keep is theirs.
        """
        found: dict[str, dict[str, Any]] = {}
        todo = [(ROOT, ROOT)]
        while todo:
            uri, source = todo.pop()
            if uri in found:
                continue
            try:
                found[uri] = await self.get(uri)
            except AssertionError as error:
                raise AssertionError(f"{uri}, which {source} leads to: {error}") from error
            todo += [(link, uri) for link in links_in(found[uri], without) if link not in found]
        return found

    def commands(self) -> int:
        """Return how often the hardware of all fabrics was told anything, for "no driver call"."""
        actions = sum(len(self.rig.oracle(name).actions(name)) for name in self.rig.hardware)
        return actions + sum(loop.rejected for loop in self.kernel.loops.values())

    def tags(self) -> dict[str, str | None]:
        """Return the ETag of every resource there is, and the state's number: "nothing changed"."""
        state = self.kernel.published.state
        uris = {*state.base.documents, *state.spaces[Space.DOCUMENT]}
        found: dict[str, str | None] = {uri: _tag(self.kernel.published, uri) for uri in uris}
        found["seq"] = str(self.kernel.writer.tip.seq)
        found["sessions"] = str(sorted(self.durable.sessions))
        return found


def _tag(published: Published, uri: str) -> str | None:
    representation = published.get(uri)
    return None if representation is None else representation.etag


_REFERENCES = frozenset({"@odata.id", "@Redfish.ActionInfo", "Uri"})


def links_in(value: object, without: str | None = None) -> Iterator[str]:
    """Yield the URIs of all references in a document, without fragment and trailing slash."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == without:
                continue
            if isinstance(inner, str) and name in _REFERENCES and inner.startswith(ROOT):
                yield inner.partition("#")[0].rstrip("/")
            else:
                yield from links_in(inner, without)
    elif isinstance(value, list):
        for inner in value:
            yield from links_in(inner, without)


@contextlib.asynccontextmanager
async def a_stack(
    world: worlds.World | None = None,
    *,
    durable: DurableState | None = None,
    hardware: Mapping[str, Any] | None = None,
    uuid: str = "11111111-2222-3333-4444-555555555555",
    crash: bool = False,
    config: Config = Config(topology="two-hosts"),  # noqa: B008 - frozen
    machines: Machines | None = None,
    outbox: Outbox | None = None,
) -> AsyncIterator[Stack]:
    """Run the service over `world` (two-hosts) until every fabric was looked at once.

    On leaving it is closed, or with `crash` cut off as kill -9 would.
    """
    world = world or two_hosts()
    durable = durable or DurableState()
    base = _base(world, durable, uuid, config)
    fabrics = {"inventories": world.inventories, "base": base, "hardware": hardware}
    power = app._kernel_config(config).power  # noqa: SLF001
    fabrics |= {"power": power, "machines": machines}
    async with running_kernel(durable=durable, crash=crash, **fabrics) as rig:  # type: ignore[arg-type]
        kernel, clock = rig.kernel, VirtualClock()
        rows = SessionRows(rig.store, kernel.writer)
        sessions = Sessions(rows, SessionRow, clock, timeout_s=86400, limit=64)
        identity = Identity(Accounts(), Roles(CATALOG.roles), sessions)
        await identity.load(durable.spaces)
        kernel.writer.on_publish.add(identity.published)
        if durable.seq == 0:
            await kernel.writer.submit(lambda tip: _first(tip, world), "service")
        itself = OwnManager(
            config, kernel, rig.store, CATALOG, REGISTRIES, clock, _discovery(uuid, clock), (),
            config.port,
        )  # fmt: skip
        await itself.load(StoredState(durable.seq, durable.spaces))
        outbox = outbox or Outbox()
        rng = random.Random(0)  # noqa: S311 - no secret
        events = OwnEvents(
            config,
            kernel,
            rig.store,
            CATALOG,
            REGISTRIES,
            PRIVILEGES,
            clock,
            rng,
            identity.may_listen,
            identity.may_be_told,
            outbox.send,
        )
        await events.load(StoredState(durable.seq, durable.spaces))
        itself.logs.follow(events.stream)
        delivering = asyncio.create_task(events.run())
        service = Service(
            CATALOG, REGISTRIES, PRIVILEGES, kernel.published,
            events.carrying_out(_certified(kernel, clock, itself)), sessions,
            identity.accounts, owner=events.owner_of, roles=identity.roles,
            replay=kernel.retries.outcome, task_result=kernel.operations.result,
            odata_types=sorted(base.odata_types),
            served=kernel.published,
            headers=world.headers, xml=world.xml,
            emulation=emulation(config, sessions.end_all, clock), page_size=config.page_size,
            tables=itself.tables, moments=itself.moments, streams=events.door,
        )  # fmt: skip
        service.on_audit.append(itself.logs.audit)
        await kernel.first_observed(60)
        stack = Stack(
            service=service, kernel=kernel, identity=identity, clock=clock, store=rig.store,
            durable=durable, rig=rig, itself=itself, events=events, outbox=outbox,
        )  # fmt: skip
        for user in USERS:
            await stack.token(user)
        try:
            yield stack
        finally:
            if not crash:
                await events.close()
            delivering.cancel()
            await asyncio.wait({delivering})


def _certified(kernel: Kernel, clock: VirtualClock, itself: OwnManager) -> Commit:
    """Return what carries writes out, certificates of clients' authorities read before."""
    plain = Config(http=True, ephemeral=True)
    found = Certificates(plain, Path("unused"), _OWN_CERTIFICATE, kernel.published, clock)
    kernel.writer.on_publish.add(found.published)
    return CertificateWrites(found, clock, itself.commit).commit


def _discovery(uuid: str, clock: VirtualClock) -> Discovery:
    """Return a discovery with no address to announce anything on."""
    announced = Announced(uuid, REDFISH_VERSION, "https", 443, "/redfish/v1/")
    return Discovery(announced, (), (), clock, random.Random(0))  # noqa: S311 - no secret


@cache
def _tables() -> Any:
    return app._Tables(CATALOG, REGISTRIES, PRIVILEGES)  # noqa: SLF001


def _base(world: worlds.World, durable: DurableState, uuid: str, config: Config) -> Any:
    stored = StoredState(durable.seq, durable.spaces)
    # A start lets go of the world's documents; tests start several times from one world.
    world = replace(world, documents=world.documents.copy())
    types = worlds.wanted_types(world, stored)
    return app._base(config, _tables(), world, types, uuid)  # noqa: SLF001


def _first(tip: TipView, world: worlds.World) -> Draft:
    """Return what a new state begins with: the import, and an account of every kind."""
    edits = [*world.first, *keep_default_zones(world.default_zones, tip).edits]
    for role, privileges in CUSTOM_ROLES.items():
        uri = f"{ROLES}/{role}"
        document = {
            "@odata.id": uri,
            "@odata.type": CATALOG.types["Role"].odata_type,
            "Id": role,
            "Name": role,
            "RoleId": role,
            "IsPredefined": False,
            "AssignedPrivileges": list(privileges),
        }
        edits.append(Edit(Space.DOCUMENT, uri, None, encode(document)))
    for user, (role, due) in USERS.items():
        uri, document = account_document(CATALOG, user, user, role)
        if due:
            document["PasswordChangeRequired"] = True
        edits.append(Edit(Space.DOCUMENT, uri, None, encode(document)))
        edits.append(Edit(Space.SECRET, uri, None, SECRET))
    return Draft(OutcomeKind.CREATED, ROOT, tuple(edits))
