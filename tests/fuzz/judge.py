"""What must hold for every answer, whatever was asked; returns what is wrong as text."""

import json
from dataclasses import dataclass, replace
from typing import Any

from redfish_fm.redfish.requests import Response
from redfish_fm.redfish.service import METHODS
from tests.fuzz.plan import Case
from tests.fuzz.surface import ROOT
from tests.redfish.builders import check_response

STATUSES = frozenset(
    {200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 428, 431}
)
EXPLAINED = frozenset({422, 501, 503})
LOGINS = f"{ROOT}/SessionService/Sessions"
EVENT_SERVICE = f"{ROOT}/EventService"
_EVALUATED = frozenset(
    {"$expand", "$filter", "$select", "$skip", "$skiptoken", "$top", "only", "excerpt"}
)
_POWERFUL = frozenset({"admin"})


@dataclass(frozen=True)
class Seen:
    """What the judge may know of the service at a request."""

    query: tuple[tuple[str, str], ...]
    sessions: int
    sessions_max: int
    basic: bool = True
    """Whether HTTPBasicAuth says that Basic is offered; otherwise no 401 names it."""
    events: bool = True
    """Whether the EventService is enabled."""


def wrong(case: Case, response: Response, seen: Seen) -> list[str]:
    """Return everything that is wrong with an answer."""
    found = []
    checked = response
    if response.status == 401 and not seen.basic:
        checked = replace(response, headers={**response.headers, "WWW-Authenticate": "Basic"})
    try:
        check_response(checked, case.method)
    except (AssertionError, KeyError, ValueError) as error:
        found.append(f"not the shape of an answer: {error!r}")
    status = response.status
    if status in EXPLAINED:
        if not _explained(case, response, seen):
            found.append(f"a {status} that no rule explains")
    elif status not in STATUSES:
        found.append(f"status {status}")
    if status == 304 and (case.method not in ("GET", "HEAD") or not _asks(case, "if-none-match")):
        found.append("a 304 that nobody asked for")
    if status == 401 and _may_in(case):
        found.append("a session that is good was refused")
    if status == 403 and case.user in _POWERFUL:
        found.append("the administrator was forbidden something")
    if status == 405 and case.method in response.headers.get("Allow", "").split(", "):
        found.append("a method that is allowed was refused as one that is not")
    if status in (201, 202) and "Location" not in response.headers:
        found.append("no Location")
    if case.method == "GET" and status == 200:
        found += _read_wrong(case, response, seen)
    return found


def keys_of(response: Response) -> set[str]:
    """Return the keys of the messages of a refusal."""
    try:
        entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
        return {each["MessageId"].rpartition(".")[2] for each in entries}
    except (ValueError, KeyError, TypeError):
        return set()


def _explained(case: Case, response: Response, seen: Seen) -> bool:
    """Whether a rule lets an answer be 422, 501 or 503 (docs/idempotency.md, DESIGN section 10)."""
    if response.status == 422:
        return _asks(case, "idempotency-key")
    if response.status == 501:
        named = any(name[:1] == "$" and name not in _EVALUATED for name, _ in seen.query)
        filters = any(name == "$filter" for name, _ in seen.query)
        return case.method not in METHODS or named or filters
    keys = keys_of(response)
    if keys == {"ServiceDisabled"}:
        # No Retry-After: only a client knows when events are switched on again.
        return case.uri.startswith(EVENT_SERVICE) and not seen.events
    if "Retry-After" not in response.headers:
        return False
    if keys == {"SessionLimitExceeded"}:
        full = seen.sessions >= seen.sessions_max
        return case.method == "POST" and case.uri == LOGINS and full
    # The management controller of a host restarts: it is not ready to be told anything.
    return "ServiceTemporarilyUnavailable" in keys and ".Reset" in case.target


def _asks(case: Case, header: str) -> bool:
    return header in case.headers


def _may_in(case: Case) -> bool:
    """Whether the credentials of a case are good."""
    known = case.user not in (None, "stranger", "nothing")
    return known and not (case.method == "POST" and LOGINS in case.uri)


def _read_wrong(case: Case, response: Response, seen: Seen) -> list[str]:
    if response.headers.get("Content-Type") != "application/json":
        return []
    document: Any = json.loads(response.body)
    if not isinstance(document, dict):
        return ["a body that is no object"]
    said = document.get("@odata.etag")
    if said is not None and not seen.query and said != response.headers.get("ETag"):
        return ["ETag and @odata.etag differ"]
    same = str(document.get("@odata.id", case.uri)).rstrip("/") == case.uri.rstrip("/")
    if case.uri and not seen.query and not same:
        return [f"another resource: {document['@odata.id']}"]
    return []
