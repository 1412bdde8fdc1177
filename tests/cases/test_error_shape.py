"""Every route x method x user: the right refusal, in the one shape, and nothing changed by it.

A request carries every fault from some point of DESIGN section 10's order on; the earliest one
that applies must win. What applies comes from tables here and from tests.cases.privilege_oracle.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from redfish_fm.redfish.requests import Request, Response
from redfish_fm.redfish.roles import ROLES as ROLES_URI
from tests.cases import privilege_oracle
from tests.cases.life import CHUNK0, CXL_CONNECTIONS, GPU1, PCIE_ENDPOINTS, PCIE_PORTS, lived
from tests.cases.privilege_oracle import READING, bare, templates
from tests.cases.registries import Listed, check_error_body, listed
from tests.cases.stack import CATALOG, CUSTOM_ROLES, ROOT, USERS, Stack, a_stack
from tests.control.builders import PCIE_FABRIC, PCIE_ZONES
from tests.redfish.house import ACCOUNTS, SESSIONS
from tests.virtual_time import in_virtual_time

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PATCH", "PUT", "DELETE", "BREW")
PUBLIC = frozenset({ROOT, "/redfish", f"{ROOT}/odata", f"{ROOT}/$metadata"})
PRIVILEGES = {name: words.split() for name, words in privilege_oracle.ROLES.items()} | {
    name: list(privileges) for name, privileges in CUSTOM_ROLES.items()
}
FORM = (413, 415, 406, 412, 400)
"""What can be wrong with the form, in the order in which it is told (DESIGN section 10)."""
HUGE = b'{"Bogus": "' + b"x" * (1 << 20) + b'"}'
BOGUS = b'{"Bogus": 1}'
KEYS = {
    401: {"NoValidSession"},
    403: {"InsufficientPrivilege", "PasswordChangeRequired"},
    404: {"ResourceMissingAtURI"},
    405: {"OperationNotAllowed"},
    406: {"HeaderInvalid"},
    412: {"PreconditionFailed"},
    413: {"PayloadTooLarge"},
    415: {"HeaderInvalid"},
    501: {"OperationNotAllowed"},
}


@dataclass(frozen=True)
class Route:
    """One path to ask; `type_name` is empty where nothing is there or no type decides."""

    uri: str
    type_name: str = ""
    template: str = ""
    allow: tuple[str, ...] = ()
    exists: bool = True
    owner: str | None = None


@dataclass
class Asked:
    """What has been asked so far."""

    stack: Stack
    registries: dict[str, Listed]
    statuses: Counter[int] = field(default_factory=Counter)


async def routes(stack: Stack, made: dict[str, str]) -> list[Route]:
    """Return one route of every kind: template, type and methods; and every kind of nothing."""
    kinds: dict[Any, Route] = {}
    for uri, document in (await stack.crawl()).items():
        route = await _route(stack, uri, document, made)
        kinds.setdefault((route.template, route.type_name, route.allow, route.owner), route)
    found = [*kinds.values(), *(Route(uri, exists=False) for uri in _nothing(kinds.values()))]
    for route in list(kinds.values()):
        if "POST" in route.allow:
            found.append(Route(f"{route.uri}/Members", route.type_name, route.template, ("POST",)))
    for name in ("Zone.AddEndpoint", "Zone.RemoveEndpoint"):
        target = f"{made['zone']}/Actions/{name}"
        found.append(Route(target, "Zone", "", ("POST", "OPTIONS")))
    reset = f"{ROOT}/Systems/host1/Actions/ComputerSystem.Reset"
    found.append(Route(reset, "ComputerSystem", "", ("POST", "OPTIONS")))
    reading = ("GET", "HEAD", "OPTIONS")
    found += [Route(uri, allow=reading) for uri in PUBLIC - {ROOT}]
    task = (*reading, "DELETE")
    return [*found, Route(made["monitor"], "Task", "", task, owner="admin")]


async def _route(stack: Stack, uri: str, document: dict[str, Any], made: dict[str, str]) -> Route:
    type_name = str(document["@odata.type"]).rpartition(".")[2]
    template = next((each for each in templates()[type_name] if _fits(each, uri)), "")
    allow = (await stack.ask("OPTIONS", uri)).headers["Allow"].split(", ")
    owner = None
    if type_name == "Task":
        owner = "admin"
    elif type_name == "Session" or uri.startswith(f"{ACCOUNTS}/"):
        owner = str(document["UserName"])
    return Route(uri, type_name, template, tuple(allow), owner=owner)


def _fits(template: str, uri: str) -> bool:
    parts, have = bare(template).split("/"), uri.split("/")
    return len(parts) == len(have) and all(
        part in ("{}", one) for part, one in zip(parts, have, strict=True)
    )


def _nothing(known: Any) -> list[str]:
    """Return paths where nothing is: below, beside and far from what there is."""
    beside = {f"{route.uri.rpartition('/')[0]}/no-such" for route in known if route.uri != ROOT}
    below = {f"{route.uri}/no-such" for route in known if route.uri != ROOT}
    actions = {f"{route.uri}/Actions/No.Such" for route in known if route.uri != ROOT}
    return sorted({*beside, *below, *actions, "/", "/nowhere", f"{ROOT}/no-such"})


def refusal(route: Route, method: str, user: str | None) -> int | None:
    """Return what who asks and what about decide, before the form of the request is looked at."""
    if method == "BREW":
        return 501
    opens = method == "POST" and route.uri in (SESSIONS, f"{SESSIONS}/Members")
    public = opens or (method in READING and route.uri in PUBLIC)
    if user is None and not public:
        return 401
    if not route.exists or (route.uri.endswith("/Members") and method != "POST"):
        return 404
    if method not in route.allow:
        return 405
    if user is None or public:
        return None
    return None if allowed(route, method, user) else 403


def allowed(route: Route, method: str, user: str) -> bool:
    """Return whether the user may try, with any body."""
    role, due = USERS[user]
    own_account = route.uri == f"{ACCOUNTS}/{user}"
    if due:
        return own_account and method in ("GET", "HEAD", "PATCH")
    if not route.type_name:
        return "Login" in PRIVILEGES[role]
    if own_account and method == "PATCH" and "ConfigureSelf" in PRIVILEGES[role]:
        return True
    own = route.owner == user
    return privilege_oracle.may(
        PRIVILEGES[role], route.type_name, method, route.template, own=own, uri=route.uri
    )


def form_fault(method: str, route: Route, user: str | None, first: int) -> int | None:
    """Return which fault a request must be refused for that has all of FORM from `first` on."""
    faults = FORM[FORM.index(first) :]
    if method not in ("POST", "PATCH"):
        faults = tuple(each for each in faults if each in (406, 412))
    if method == "DELETE" and not faults:
        return None
    if faults[:1] == (400,) and named_too_much(route, method, user):
        return 403
    return faults[0] if faults else None


def named_too_much(route: Route, method: str, user: str | None) -> bool:
    """Return whether the body names what the user may not change in its own account."""
    if user is None or method != "PATCH" or route.uri != f"{ACCOUNTS}/{user}":
        return False
    role, due = USERS[user]
    return due or "ConfigureUsers" not in PRIVILEGES[role]


def request(method: str, route: Route, token: str | None, first: int) -> Request:
    """Return a request with all faults of form from `first` on."""
    place = FORM.index(first)
    headers = {"content-type": "application/xml" if place <= 1 else "application/json"}
    if place <= 2:
        headers["accept"] = "text/html"
    if place <= 3:
        headers["odata-version" if method in READING else "if-match"] = '"4.1"'
    if token is not None:
        headers["x-auth-token"] = token
    body = b""
    if method in ("POST", "PATCH"):
        body = HUGE if place == 0 else BOGUS
    return Request(method, route.uri, (), headers, body, "192.0.2.1")


async def check(asked: Asked, route: Route, method: str, user: str | None, first: int) -> None:
    stack = asked.stack
    token = None if user is None else stack.tokens[user]
    expected = refusal(route, method, user) or form_fault(method, route, user, first)
    if expected is None and method == "DELETE":
        return
    response = await stack.service.handle(request(method, route, token, first))
    where = (method, route.uri, user, first)
    if expected is None:
        assert response.status in (200, 202, 204), where
        return
    assert response.status == expected, (*where, response.body)
    asked.statuses[expected] += 1
    if expected == 405:
        assert response.headers["Allow"].split(", ") == list(route.allow), where
    if expected == 401:
        assert response.headers["WWW-Authenticate"].startswith("Basic"), where
    check_told(response, method, asked.registries)


def check_told(response: Response, method: str, registries: dict[str, Listed]) -> None:
    assert response.headers["OData-Version"] == "4.0"
    assert response.headers["Cache-Control"] == "no-cache"
    if method == "HEAD":
        assert response.body == b""
        assert response.headers["Content-Type"] == "application/json"
        return
    check_error_body(response, registries)
    entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    told = {entry["MessageId"].rpartition(".")[2] for entry in entries}
    assert told <= KEYS.get(response.status, told)


PLAIN = {"ro", "op", "admin", "due", "nothing", "personnel"}


@pytest.mark.parametrize("user", [None, *sorted(PLAIN)])
@in_virtual_time
async def test_every_route_by_every_method_is_refused_rightly_and_changes_nothing(
    user: str | None,
) -> None:
    async with a_stack() as stack:
        made = await lived(stack)
        every = await routes(stack, made)
        asked = Asked(stack, await listed(stack))
        for route in every:
            before, commands = stack.tags(), stack.commands()
            for method in METHODS:
                for first in FORM:
                    await check(asked, route, method, user, first)
                assert stack.kernel.writer.tip.seq == int(str(before["seq"])), (method, route.uri)
            assert (stack.tags(), stack.commands()) == (before, commands), route.uri
        assert len(every) > 150
        assert sum(asked.statuses.values()) > 3000
        expected = {401, 501} if user is None else {403, 404, 405, 501}
        if user == "admin":
            expected = {404, 405, 501, *FORM}
        assert expected <= set(asked.statuses)


@in_virtual_time
async def test_a_wrong_token_is_refused_like_none_even_where_nothing_is() -> None:
    async with a_stack() as stack:
        every = await routes(stack, await lived(stack))
        stack.tokens["admin"] = "0" * 64
        registries = await _listed_by(stack, "op")
        for route in every:
            if route.uri in (*PUBLIC, SESSIONS, f"{SESSIONS}/Members"):
                continue
            for method in METHODS[:-1]:
                sent = request(method, route, stack.tokens["admin"], 400)
                response = await stack.service.handle(sent)
                assert response.status == 401, (method, route.uri)
                assert response.headers["WWW-Authenticate"].startswith("Basic")
                check_told(response, method, registries)


async def _listed_by(stack: Stack, user: str) -> dict[str, Listed]:
    kept, stack.tokens["admin"] = stack.tokens["admin"], stack.tokens[user]
    try:
        return await listed(stack)
    finally:
        stack.tokens["admin"] = kept


@in_virtual_time
async def test_who_needs_a_new_password_is_told_so_and_may_do_just_that() -> None:
    async with a_stack() as stack:
        every = await routes(stack, await lived(stack))
        uri = f"{ACCOUNTS}/due"
        for route in every:
            for method in route.allow:
                public = method in READING and route.uri in PUBLIC
                if public or route.uri in (uri, SESSIONS, f"{SESSIONS}/Members"):
                    continue
                sent = request(method, route, stack.tokens["due"], 400)
                response = await stack.service.handle(sent)
                assert response.status == 403, (method, route.uri)
                if method != "HEAD":
                    (entry,) = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
                    assert entry["MessageId"].endswith(".PasswordChangeRequired")
                    assert entry["MessageArgs"] == [uri]
        assert (await stack.ask("GET", uri, user="due")).status == 200
        body = {"Password": "a-new-password"}
        assert (await stack.ask("PATCH", uri, body, user="due")).status == 200
        assert (await stack.ask("GET", f"{ROOT}/Systems", user="due")).status == 200


CHANGES: dict[str, set[str]] = {
    PCIE_ZONES: {"POST"},
    PCIE_ENDPOINTS: {"POST"},
    CXL_CONNECTIONS: {"POST"},
    ACCOUNTS: {"POST"},
    ROLES_URI: {"POST"},
    SESSIONS: {"POST"},
    "zone": {"PATCH", "DELETE"},
    "endpoint": {"PATCH", "DELETE"},
    "connection": {"PATCH", "DELETE"},
    "system": {"PATCH", "DELETE"},
    "account": {"PATCH", "DELETE"},
    "role": {"PATCH", "DELETE"},
    "session": {"DELETE"},
    "task": {"DELETE"},
    f"{ROOT}/SessionService": {"PATCH"},
    f"{ROOT}/Systems/host1": {"PATCH"},
    f"{PCIE_FABRIC}/Switches/pcie1": {"PATCH"},
    f"{PCIE_PORTS}/D1": {"PATCH"},
    GPU1: set(),
    ROOT: set(),
    PCIE_FABRIC: set(),
    f"{ROOT}/Systems": {"POST"},
    f"{ROOT}/Chassis/mem1/MemoryDomains/0/MemoryChunks": set(),
    CHUNK0: set(),
    f"{ROLES_URI}/Administrator": set(),
    f"{ROOT}/TaskService/Tasks": set(),
    f"{ROOT}/Registries": set(),
}
"""Which changes each resource takes now; what is discovered can only be annotated."""


@in_virtual_time
async def test_allow_says_what_can_be_changed() -> None:
    async with a_stack() as stack:
        made, told = await lived(stack), {}
        for name in CHANGES:
            response = await stack.ask("GET", made.get(name, name))
            told[name] = set(response.headers["Allow"].split(", ")) - READING
        assert told == CHANGES


@in_virtual_time
async def test_allow_never_says_more_than_the_schemas_do() -> None:
    verbs = {"PATCH": "updatable", "DELETE": "deletable", "POST": "insertable"}
    async with a_stack() as stack:
        every = await routes(stack, await lived(stack))
        tried: Counter[str] = Counter()
        for route in every:
            info = CATALOG.types.get(route.type_name)
            if info is None or "/Actions/" in route.uri:
                continue
            for method, capability in verbs.items():
                if method in route.allow:
                    assert getattr(info, capability), (method, route.uri)
                    tried[method] += 1
            assert "PUT" not in route.allow
            response = await stack.ask("GET", route.uri.removesuffix("/Members"))
            if not route.uri.endswith("/Members") and response.status == 200:
                assert response.headers["Allow"].split(", ") == list(route.allow)
        assert set(tried) == set(verbs)
