"""One request after the other, by one seed: who asks what, how, and how it is spoilt."""

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from tests.fuzz import mutations
from tests.fuzz.bodies import Bodies
from tests.fuzz.choices import likely
from tests.fuzz.events import Events
from tests.fuzz.surface import ROOT, WRITING, Surface

READERS = ("admin", "admin", "admin", "op", "ro")
POWERLESS = (None, "nothing", "due", "ro", "reader", "personnel", "builder", "keeper", "stranger")
METHODS = ("PUT", "OPTIONS", "TRACE", "PROPFIND", "BREW", "get", "CONNECT", "M-SEARCH", "LOCK")
_LOGINS = ("Basic", "Basic x", "Basic " + "A" * 3_000, "Bearer x", "Basic Og==", "Basic \xff",
           "Digest username=a")  # fmt: skip
ADMIN = f"{ROOT}/AccountService/Accounts/admin"
MISSES = 20
"""So many failed tries to make what a write needs count as much as the write itself."""
CROWDED = 5
"""After so many tries in a row, what others hold is in the way."""
DONE_MIN = 20
"""So often a write is to succeed before it is spoilt as often as not."""
GOOD, GOOD_AT_FIRST = 0.5, 0.85
"""Share of writes in which nothing is spoilt on purpose: later, and before DONE_MIN of its kind."""
INSISTS = 0.3
"""Chance that something is asked of those who will refuse, where others could be made."""
ASYNC = 0.15
"""Share of good writes that do not wait to be carried out."""
_COMPOSE = "POST", f"{ROOT}/CompositionService/Actions/CompositionService.Compose"
_CONNECTIONS = "POST", f"{ROOT}/Fabrics/{{FabricId}}/Connections"
_ZONES = "POST", f"{ROOT}/Fabrics/{{FabricId}}/Zones"
_TAKES_HOSTS = (_COMPOSE, ("POST", f"{ROOT}/Systems"))
_MADE_BY = {
    f"{ROOT}/CompositionService/CompositionReservations": _COMPOSE,
    f"{ROOT}/TaskService/Tasks": _ZONES,
}
"""Collections whose members no POST to them makes, and what does."""


@dataclass(frozen=True)
class Case:
    """One request, and what was meant by it."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    user: str | None = "admin"
    """Whose session it is sent by; "stranger": a token that nobody has."""
    uri: str = ""
    """What is asked, where that is there."""
    template: str = ""
    good: bool = False
    """Whether nothing was spoilt on purpose."""


class Plan:
    """Draws cases; `sent` counts them by (method, template), to send each often enough.

    Without `streams`, no event stream is asked for, which ends when its reader does.
    """

    def __init__(self, seed: int, surface: Surface, login: str, *, streams: bool = True) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - chance, not secrets
        self.surface = surface
        self.bodies = Bodies(self.rng, surface, login)
        self.events = Events(self.rng, surface)
        self._streams = streams
        self.sent: Counter[tuple[str, str]] = Counter()
        self._done: Counter[tuple[str, str]] = Counter()
        self.crowded = False
        """Whether what is needed can not be made; whoever makes room sets it back."""
        self._held: set[str] = set()
        """What something else keeps from being changed, as a refusal has told."""
        self._ever: set[tuple[str, str]] = set()
        self._missed: Counter[tuple[str, str]] = Counter()

    def next(self) -> Case:
        """Return the next request."""
        draw = self.rng.random()
        if draw < 0.52:
            case = self._write()
        elif draw < 0.78:
            case = self._read()
        elif draw < 0.86:
            case = self._elsewhere()
        elif draw < 0.96:
            case = self._by_others()
        else:
            case = self._odd_method()
        if case.template:
            self.sent[case.method, case.template] += 1
        return case

    def came(self, case: Case, status: int) -> None:
        """Learn what came of a case."""
        done, owner = 200 <= status < 300, case.uri.partition("/Actions/")[0]
        self._done[case.method, case.template] += done
        if done:
            self._held.discard(owner)
        elif case.good and status == 409:
            self._held.add(owner)

    # -- writes ------------------------------------------------------------------------------

    def _operation(self) -> tuple[str, str]:
        """Return a write: half the time the one that was sent least so far.

        Where nothing takes that one now, the write that makes something of the kind.
        """
        known = self.surface.writable()
        self._ever |= known
        if self.rng.random() < 0.5:
            least = min(self._ever, key=lambda each: (self._effort(each), each))
            above = self._maker(least[1])
            if least in known and (self._willing(*least) or above not in known or self._insists()):
                # What takes hosts is refused for ever where nobody gives any back.
                self.crowded |= least in _TAKES_HOSTS and self.sent[least] % CROWDED == 0
                return least
            self._missed[least] += 1
            if above in _TAKES_HOSTS:
                self.crowded |= self._missed[least] % CROWDED == 0
            if above == _CONNECTIONS and self.rng.random() < 0.5:
                above = _ZONES
            if above in known:
                self.bodies.composed.reserving = above == _COMPOSE
                return above
        cheap = [each for each in sorted(known) if not self._costs(*each)]
        return self.rng.choice(cheap)

    def _maker(self, template: str) -> tuple[str, str]:
        """Return the write that makes something of the kind that an operation is on."""
        collection = template.partition("/Actions/")[0].rpartition("/")[0]
        return _MADE_BY.get(collection, ("POST", collection))

    def _willing(self, method: str, template: str) -> list[str]:
        """Return those who most probably do what is asked of them."""
        members = self.surface.members(template, method)
        fit = likely(self.surface, method, template, members)
        return [uri for uri in fit if uri.partition("/Actions/")[0] not in self._held]

    def _insists(self) -> bool:
        return self.rng.random() < INSISTS

    def _effort(self, write: tuple[str, str]) -> float:
        return self.sent[write] + self._missed[write] / MISSES

    def _costs(self, method: str, template: str) -> bool:
        """Whether a write hashes a password, or takes away what other writes need."""
        return method == "DELETE" or any(word in template for word in ("/Accounts", "/Sessions"))

    def _write(self, user: str | None = "admin") -> Case:
        method, template = self._operation()
        members = self.surface.members(template, method)
        # What clients made changes and goes; what the service came with is there for ever.
        made = [uri for uri in members if uri.partition("/Actions/")[0] in self.surface.made]
        willing = self._willing(method, template)
        preferred = willing if len(willing) < len(members) else made
        uri = self.rng.choice(preferred if preferred and self.rng.random() < 0.8 else members)
        if uri == ADMIN and method == "DELETE" and len(members) > 1:
            uri = self.rng.choice([each for each in members if each != ADMIN])
        return self._filled(method, uri, template, user)

    def _filled(self, method: str, uri: str, template: str, user: str | None) -> Case:
        headers: dict[str, str] = {}
        body = b""
        share = GOOD if self._done[method, template] >= DONE_MIN else GOOD_AT_FIRST
        good = self.rng.random() < share
        if method in ("POST", "PATCH"):
            headers["content-type"] = "application/json"
            value = self.bodies.good(method, uri)
            kept = good or self.rng.random() < 0.25
            body = json.dumps(value).encode() if kept else mutations.spoilt(self.rng, value)
        target = quote(uri, safe="/$.*~")
        if good:
            headers |= self._condition(uri)
            if self.rng.random() < ASYNC:
                headers["prefer"] = "respond-async"
        elif self.rng.random() < 0.4:
            headers |= mutations.odd_headers(self.rng)
        if not good and self.rng.random() < 0.1:
            target += _query(mutations.odd_query(self.rng), self.rng)
        return Case(method, target, headers, body, user, uri, template, good)

    def _condition(self, uri: str) -> dict[str, str]:
        """Return a condition that holds, or none."""
        tag = self.surface.tree.get(uri, {}).get("@odata.etag")
        return {"if-match": str(tag)} if tag and self.rng.random() < 0.1 else {}

    # -- everything else ---------------------------------------------------------------------

    def _read(self, user: str | None = None) -> Case:
        if self.rng.random() < 0.03:
            streamed = self._stream(user)
            if streamed is not None:
                return streamed
        template = self.rng.choice(sorted(self.surface.at))
        known = self.surface.members(template, "GET")
        uri = self.rng.choice(known) if known else ROOT
        method = self.rng.choice(("GET", "GET", "GET", "HEAD"))
        headers: dict[str, str] = {}
        target = quote(uri, safe="/$.*~")
        spoils = self.rng.random()
        if spoils < 0.4:
            target += _query(mutations.odd_query(self.rng), self.rng)
        if spoils > 0.3:
            headers |= mutations.odd_headers(self.rng)
        if self.rng.random() < 0.1:
            headers["if-none-match"] = str(self.surface.tree[uri].get("@odata.etag", "*"))
        asks = user or self.rng.choice(READERS)
        return Case(method, target, headers, b"", asks, uri, template if known else ROOT)

    def _stream(self, user: str | None) -> Case | None:
        """Return a request to read events as they come."""
        asked = self.events.stream() if self._streams else None
        if asked is None:
            return None
        uri, query, headers = asked
        target = uri + (_query(query, self.rng) if query else "")
        return Case("GET", target, headers, b"", user or self.rng.choice(READERS), uri, uri)

    def _elsewhere(self) -> Case:
        """Return a request for what is not there, or for what is in another notation."""
        uri = self.rng.choice(sorted(self.surface.tree))
        method = self.rng.choice(("GET", "GET", *WRITING))
        body = b'{"Name": "x"}' if method in ("POST", "PATCH") else b""
        headers = {"content-type": "application/json"} if body else {}
        return Case(method, mutations.odd_path(self.rng, uri), headers, body)

    def _by_others(self) -> Case:
        """Return a request by somebody who may do little or nothing."""
        user = self.rng.choice(POWERLESS)
        case = self._write(user) if self.rng.random() < 0.6 else self._read(user or "stranger")
        if user is not None or self.rng.random() < 0.6:
            return Case(**{**vars(case), "user": user})
        headers = {**case.headers, "authorization": self.rng.choice(_LOGINS)}
        return Case(**{**vars(case), "user": None, "headers": headers})

    def _odd_method(self) -> Case:
        uri = self.rng.choice(sorted(self.surface.allow))
        method = self.rng.choice(METHODS)
        return Case(method, quote(uri, safe="/$.*~"), {}, self.rng.choice((b"", b"{}")))


def _query(pairs: list[tuple[str, str]], rng: random.Random) -> str:
    """Return a query, most of it escaped."""
    parts = []
    for name, value in pairs:
        raw = rng.random() < 0.15
        text = value if raw else quote(value, safe="")
        parts.append(f"{name}={text}" if value or rng.random() < 0.5 else name)
    return "?" + rng.choice(("&", "&", "&", "&&", ";")).join(parts)


def shown(case: Case) -> dict[str, Any]:
    """Return a case as it is traced."""
    body = case.body if len(case.body) < 400 else case.body[:400] + b"..."
    return {
        "method": case.method,
        "target": case.target[:300],
        "user": case.user,
        "headers": {name: value[:100] for name, value in case.headers.items()},
        "body": body.decode("utf-8", "backslashreplace"),
    }
