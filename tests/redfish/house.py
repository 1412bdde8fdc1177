"""The protocol over a real writer and store, without fabrics: accounts, roles, sessions.

`House` is one running service; `durable` outlives it, so a test can restart or crash it.
"""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.control.account_locks import keeper
from redfish_fm.control.base import Base
from redfish_fm.control.kernel import Kernel, KernelConfig
from redfish_fm.control.session_rows import SessionRows
from redfish_fm.control.tip import TipView
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.facts import Facts
from redfish_fm.redfish.accounts import ACCOUNTS, Accounts
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.documents import account_document, service_documents
from redfish_fm.redfish.identity import Identity
from redfish_fm.redfish.passwords import hash_password
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.redfish.roles import ROLES, Roles
from redfish_fm.redfish.service import Service
from redfish_fm.redfish.sessions import Sessions
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.base import SessionRow, Store
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.redfish.builders import CATALOG, PRIVILEGES, REGISTRIES, FakeClock, check_response

SESSIONS = "/redfish/v1/SessionService/Sessions"
SESSION_SERVICE = "/redfish/v1/SessionService"
ADMIN = f"{ACCOUNTS}/admin"
PASSWORD = "admin-password"
FIRST = "first-password"
SECRET = hash_password(PASSWORD)
"""Made once: each costs 70 ms."""


class SteppedClock(FakeClock):
    """A clock whose sleepers wake only when a test moves it with `advance`."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, delay_s: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.time_s + delay_s, woken))
        await self.advance(0, turns=0)
        await woken

    async def advance(self, delay_s: float, turns: int = 10) -> None:
        self.time_s += delay_s
        due = [each for each in self._sleepers if each[0] <= self.time_s]
        self._sleepers = [each for each in self._sleepers if each not in due]
        for _, woken in due:
            if not woken.done():
                woken.set_result(None)
        for _ in range(turns):
            await asyncio.sleep(0)


@dataclass
class House:
    """A service and what is behind it."""

    service: Service
    kernel: Kernel
    identity: Identity
    clock: FakeClock
    store: Any
    durable: DurableState
    tokens: dict[str, str] = field(default_factory=dict)
    challenged: bool = True
    """Whether a 401 has to offer HTTP Basic."""

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str | None = "admin",
        token: str | None = None,
        **headers: str,
    ) -> Response:
        """Send one request by a session of `user`, or by `token`; check what always holds."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["x-auth-token"] = token
        elif user is not None and "authorization" not in sent:
            sent["x-auth-token"] = await self.token(user)
        raw = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, (), sent, raw, "192.0.2.1")
        response = await self.service.handle(request)
        check_response(response, method, challenged=self.challenged)
        return response

    async def get(self, uri: str, **more: Any) -> dict[str, Any]:
        response = await self.send("GET", uri, **more)
        assert response.status == 200, response.body
        document: dict[str, Any] = json.loads(response.body)
        return document

    async def etag(self, uri: str) -> str:
        return (await self.send("GET", uri)).headers["ETag"]

    async def token(self, user: str) -> str:
        """Return the token of one session of `user`, without the cost of a login."""
        token = self.tokens.get(user)
        if token is None or self.identity.sessions.authenticate(token) is None:
            token, _ = await self.identity.sessions.create(user, "192.0.2.1")
            self.tokens[user] = token
        return token

    async def login(self, user: str, password: str) -> Response:
        body = {"UserName": user, "Password": password}
        return await self.send("POST", SESSIONS, body, user=None)

    async def add(
        self, user: str, role: str = "ReadOnly", password: str = FIRST, **more: Any
    ) -> str:
        """POST an account and return its URI."""
        body = {"UserName": user, "Password": password, "RoleId": role, **more}
        response = await self.send("POST", ACCOUNTS, body)
        assert response.status == 201, response.body
        return response.headers["Location"]

    async def add_role(self, role_id: str, *privileges: str) -> str:
        body = {"RoleId": role_id, "AssignedPrivileges": list(privileges)}
        response = await self.send("POST", ROLES, body)
        assert response.status == 201, response.body
        return response.headers["Location"]


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def a_base() -> Base:
    """Return an inventory of nothing but what describes the service."""
    documents = service_documents(
        CATALOG,
        REGISTRIES,
        PRIVILEGES,
        uuid="11111111-2222-3333-4444-555555555555",
        product_version="0",
        top_level=("Systems",),
        session_timeout_s=30,
    )
    systems = {
        "@odata.id": "/redfish/v1/Systems",
        "@odata.type": "#ComputerSystemCollection.ComputerSystemCollection",
        "Name": "Systems",
    }
    return Base({**documents, "/redfish/v1/Systems": systems}, Facts())


BASE = a_base()


@contextlib.asynccontextmanager
async def a_house(
    durable: DurableState | None = None,
    *,
    store: Store | None = None,
    clock: FakeClock | None = None,
    crash: bool = False,
    limit: int = 64,
    limit_per_user: int | None = None,
    sweeping: bool = False,
) -> AsyncIterator[House]:
    """Run a service; on leaving it is closed, or with `crash` cut off as kill -9 would."""
    clock = clock or FakeClock()
    durable = durable or DurableState()
    store = store or MemoryStore(durable, clock)
    kernel = Kernel(store, BASE, {}, clock, KernelConfig())
    rows = SessionRows(store, kernel.writer)
    sessions = Sessions(
        rows, SessionRow, clock, timeout_s=30, limit=limit, limit_per_user=limit_per_user
    )
    identity = Identity(Accounts(), Roles(CATALOG.roles), sessions, keeper(kernel.writer))
    stored = await store.load()
    await identity.load(stored.spaces)
    kernel.writer.on_publish.add(identity.published)
    kernel.start(stored)
    tasks = [asyncio.create_task(kernel.run())]
    if sweeping:
        tasks.append(asyncio.create_task(identity.run()))
    if stored.seq == 0:
        await kernel.writer.submit(_first, "service")
    service = Service(
        CATALOG, REGISTRIES, PRIVILEGES, kernel.published, kernel.commits.commit, sessions,
        identity.accounts, owner=kernel.owner_of, roles=identity.roles,
        replay=kernel.retries.outcome, locks=identity.locks,
    )  # fmt: skip
    try:
        yield House(service, kernel, identity, clock, store, durable)
    finally:
        if crash:
            durable.crash()
        else:
            await kernel.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _first(_tip: TipView) -> Draft:
    uri, document = account_document(CATALOG, "admin", "admin", "Administrator")
    edits = (
        Edit(Space.DOCUMENT, uri, None, encode(document)),
        Edit(Space.SECRET, uri, None, SECRET),
    )
    return Draft(OutcomeKind.CREATED, uri, edits)
