"""A service over a dictionary: a small fabric, three users, a commit that only remembers."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.redfish import etag
from redfish_fm.redfish.accounts import Accounts
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.documents import account_document, service_documents
from redfish_fm.redfish.passwords import hash_password
from redfish_fm.redfish.privileges import Privileges
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.redfish.service import Service
from redfish_fm.redfish.sessions import Sessions
from redfish_fm.redfish.view import Description, Origin, Representation
from redfish_fm.redfish.writes import Outcome, OutcomeKind, Write, WriteKind
from redfish_fm.resources import schemas_dir

CATALOG = Catalog.load(schemas_dir())
REGISTRIES = Registries.load(schemas_dir())
PRIVILEGES = Privileges.load(schemas_dir())
USERS = {"admin": "Administrator", "op": "Operator", "ro": "ReadOnly"}
SECRETS = {name: hash_password(f"{name}-password") for name in USERS}

FABRIC = "/redfish/v1/Fabrics/F"
ZONES = f"{FABRIC}/Zones"
ZONE = f"{ZONES}/1"
ENDPOINT = f"{FABRIC}/Endpoints/E1"
SWITCH = f"{FABRIC}/Switches/S"
SYSTEM = "/redfish/v1/Systems/H"
TASK = "/redfish/v1/TaskService/Tasks/7"
MONITOR = "/redfish/v1/TaskService/TaskMonitors/7"
SESSIONS = "/redfish/v1/SessionService/Sessions"
METADATA = "/redfish/v1/$metadata"


class FakeClock:
    """A clock that only a test moves."""

    def __init__(self) -> None:
        self.time_s = 1000.0

    def now_s(self) -> float:
        return self.time_s

    def wall_s(self) -> float:
        return 1_700_000_000.0 + self.time_s

    async def sleep(self, delay_s: float) -> None:
        self.time_s += delay_s


@dataclass(frozen=True)
class Row:
    id: str
    token_sha256: str
    user_name: str
    created_s: float
    client: str


@dataclass
class FakeStore:
    rows: dict[str, Row] = field(default_factory=dict)

    async def put_session(self, row: Row) -> None:
        self.rows[row.id] = row

    async def delete_sessions(self, ids: Any) -> None:
        for each in ids:
            self.rows.pop(each, None)

    async def sessions(self) -> list[Row]:
        return list(self.rows.values())


class FakeView:
    """Documents by URI, rendered like the published state does."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        self.origins: dict[str, Origin] = {}

    def put(self, uri: str, type_name: str, origin: Origin, **properties: Any) -> None:
        info = CATALOG.types.get(type_name)
        odata_type = info.odata_type if info else f"#{type_name}.v1_0_0.{type_name}"
        name = uri.rsplit("/", 1)[-1]
        self.documents[uri] = {
            "@odata.id": uri,
            "@odata.type": odata_type,
            "Id": name,
            "Name": name,
            **properties,
        }
        self.origins[uri] = origin

    def get(self, uri: str) -> Representation | None:
        document = self.documents.get(uri)
        if document is None:
            return None
        raw = json.dumps(document).encode()
        wanted = etag.content_tag(raw)
        tag = etag.join(wanted, etag.content_tag(raw, b"observed"))
        body = b'{"@odata.etag":' + json.dumps(tag).encode() + b"," + raw[1:]
        type_name = document["@odata.type"].rsplit(".", 1)[-1]
        return Representation(uri, type_name, self.origins[uri], wanted, body, tag)

    def describe(self, uri: str) -> Description | None:
        return self.get(uri)

    def exists(self, uri: str) -> bool:
        return uri in self.documents


class Bench:
    """A service with its surroundings; `send` does one request and checks what always holds."""

    def __init__(self, **further: Any) -> None:
        self.view = a_view()
        self.clock = FakeClock()
        self.store = FakeStore()
        self.accounts = Accounts()
        self.writes: list[Write] = []
        self.commit: Callable[[Write], Outcome] = self._default_commit
        for name, role in USERS.items():
            self.add_user(name, role)
        limit = further.pop("limit", 64)
        self.sessions: Sessions[Row] = Sessions(
            self.store, Row, self.clock, timeout_s=30, limit=limit
        )
        documents = self.view.documents.values()
        further.setdefault("odata_types", {str(each["@odata.type"]) for each in documents})
        self.service = Service(
            CATALOG, REGISTRIES, PRIVILEGES, self.view, self._commit, self.sessions,
            self.accounts, **further,
        )  # fmt: skip

    def add_user(self, name: str, role: str, **properties: Any) -> str:
        uri, document = account_document(CATALOG, name, name, role)
        document = {**document, **properties}
        raw = json.dumps(document).encode()
        self.accounts.apply([Edit(Space.DOCUMENT, uri, None, raw)])
        secret = SECRETS.get(name, SECRETS["admin"])
        self.accounts.apply([Edit(Space.SECRET, uri, None, secret)])
        self.view.put(uri, "ManagerAccount", Origin.WANTED, **document)
        return uri

    async def token(self, name: str = "admin") -> str:
        token, _row = await self.sessions.create(name, "192.0.2.1")
        return token

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str | None = "admin",
        query: tuple[tuple[str, str], ...] = (),
        **headers: str,
    ) -> Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if user is not None:
            sent.setdefault("x-auth-token", await self.token(user))
        raw = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        request = Request(method, path, query, sent, raw, "192.0.2.1")
        response = await self.service.handle(request)
        check_response(response, method)
        return response

    async def _commit(self, write: Write) -> Outcome:
        self.writes.append(write)
        return self.commit(write)

    def _default_commit(self, write: Write) -> Outcome:
        match write.kind:
            case WriteKind.CREATE:
                uri = f"{write.uri}/new"
                self.view.put(uri, write.type_name, Origin.WANTED, **write.body)
                return Outcome(OutcomeKind.CREATED, uri)
            case WriteKind.DELETE:
                return Outcome(OutcomeKind.DELETED, write.uri)
            case _:
                return Outcome(OutcomeKind.CHANGED, write.uri)


def a_view() -> FakeView:
    """Return a view of one fabric with one zone, one switch, a host and a running task."""
    view = FakeView()
    documents = service_documents(
        CATALOG,
        REGISTRIES,
        PRIVILEGES,
        uuid="11111111-2222-3333-4444-555555555555",
        product_version="0",
        top_level=("Fabrics", "Systems"),
    )
    view.documents.update(documents)
    view.origins.update(dict.fromkeys(documents, Origin.SERVICE))
    view.put("/redfish/v1/Fabrics", "FabricCollection", Origin.SERVICE)
    view.put("/redfish/v1/Systems", "ComputerSystemCollection", Origin.SERVICE)
    view.put(FABRIC, "Fabric", Origin.INVENTORY)
    view.put(ZONES, "ZoneCollection", Origin.SERVICE)
    view.put(f"{FABRIC}/Endpoints", "EndpointCollection", Origin.SERVICE)
    view.put(f"{FABRIC}/Connections", "ConnectionCollection", Origin.SERVICE)
    view.put(ZONE, "Zone", Origin.WANTED, Links={"Endpoints": []})
    view.put(f"{ZONES}/fixed", "Zone", Origin.INVENTORY)
    view.put(ENDPOINT, "Endpoint", Origin.INVENTORY)
    view.put(f"{FABRIC}/Endpoints/made", "Endpoint", Origin.WANTED)
    view.put(SWITCH, "Switch", Origin.INVENTORY)
    view.put(SYSTEM, "ComputerSystem", Origin.INVENTORY)
    view.put(f"{FABRIC}/Oem/Thing", "ContosoThing", Origin.INVENTORY)
    view.put(
        TASK, "Task", Origin.SERVICE, TaskState="Running",
        Messages=[{"MessageId": "Base.OperationTimeout", "MessageArgs": []}],
    )  # fmt: skip
    return view


def check_response(response: Response, method: str, *, challenged: bool = True) -> None:
    """Check what holds for every answer: headers, and one shape for every refusal."""
    assert response.headers["OData-Version"] == "4.0"
    assert response.headers["Cache-Control"] == "no-cache"
    if response.status == 405:
        assert response.headers["Allow"]
    if response.status == 401 and challenged:
        assert response.headers["WWW-Authenticate"].startswith("Basic")
    if method == "HEAD" or response.status in (204, 304):
        assert response.body == b""
        return
    if response.status >= 400:
        assert "Location" not in response.headers
        assert response.headers["Content-Type"] == "application/json"
        check_error(json.loads(response.body))


def check_error(body: Any) -> None:
    """Check the one shape of an error body."""
    assert set(body) == {"error"}
    error = body["error"]
    assert set(error) == {"code", "message", "@Message.ExtendedInfo"}
    entries = error["@Message.ExtendedInfo"]
    assert isinstance(entries, list)
    assert entries
    if len(entries) == 1:
        assert error["code"] == entries[0]["MessageId"]
    else:
        assert error["code"].endswith(".GeneralError")
    for entry in entries:
        prefix, major, minor, key = entry["MessageId"].split(".")
        info = REGISTRIES.info(f"{prefix}.{key}")
        version = REGISTRIES.registries[prefix].version
        assert version.startswith(f"{major}.{minor}.")
        assert len(entry["MessageArgs"]) == len(info.parameter_types)
        assert entry["MessageSeverity"] == entry["Severity"] == info.severity
        assert entry["Message"]
        assert entry["Resolution"]
        assert all(pointer.startswith("#/") for pointer in entry.get("RelatedProperties", []))


def keys(response: Response) -> list[str]:
    """Return the message keys of a refusal, "PropertyUnknown" style."""
    entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    return [entry["MessageId"].rsplit(".", 1)[-1] for entry in entries]


def related(response: Response) -> list[str]:
    """Return all RelatedProperties of a refusal."""
    entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    return [each for entry in entries for each in entry.get("RelatedProperties", [])]
