"""Hooks of schemathesis: live URIs in the place of invented ones, bodies that name what there is.

Loaded by schemathesis (SCHEMATHESIS_HOOKS) in its own environment, never by pytest. The login is
in FUZZ_URL, FUZZ_USER and FUZZ_PASSWORD.
"""

import os
import random
import re
from collections import Counter
from typing import Any

import requests
import schemathesis
import yaml

from tests.fuzz.bodies import Bodies
from tests.fuzz.choices import likely
from tests.fuzz.surface import ROOT, Surface, links_in

_NAME = re.compile(r"\{(\w+)\}")
_URL = os.environ["FUZZ_URL"]
_GOOD = 0.7
"""Share of bodies that name what there is; the others are as schemathesis makes them."""
_ITSELF = (
    "/Managers/FabricManager/Actions/",
    f"/AccountService/Accounts/{os.environ['FUZZ_USER']}",
)
"""What is left alone: actions that restart the service, and the account that all is asked by."""
_SETTINGS = {
    f"{ROOT}/AccountService": {"AccountLockoutThreshold": 5},
    f"{ROOT}/SessionService": {"SessionTimeout": 600},
}
"""Bodies for what could lock everybody out, this client too."""
_ROOM = 0.2
"""Chance that room is made before hosts are asked for: what others hold is refused for ever."""
_FILTERS = ("Id eq 'x'", "not (Name eq 'a')", "Name ne 'b' or Id gt '1'")
_TRIES = 6
_FIRST = (
    f"{ROOT}/Fabrics/{{FabricId}}/Zones/{{ZoneId}}",
    f"{ROOT}/Storage/{{StorageId}}/Volumes/{{VolumeId}}",
)
"""What others need: without them no connection can be made."""
_RELEARN = 1000
"""After so many requests all is read anew: much has come and gone meanwhile."""
_ALIKE, _READ_ONLY = 200, 40
"""So many of all that fits one template are read, and of what nobody writes to: logs are long."""
_COMPOSE = f"{ROOT}/CompositionService/Actions/CompositionService.Compose"
_RESERVATIONS = f"{ROOT}/CompositionService/CompositionReservations"
_TAKES_HOSTS = (_COMPOSE, f"{ROOT}/Systems")
_HOLDING = ("CompositionReservation", "ComputerSystem", "Connection", "Zone")
"""Types whose resources hold hosts and devices, in the order in which they can be deleted."""
_MADE_BY = {
    _RESERVATIONS: _COMPOSE,
    f"{ROOT}/TaskService/Tasks": f"{ROOT}/Fabrics/{{FabricId}}/Zones",
    f"{ROOT}/TaskService/TaskMonitors": f"{ROOT}/Fabrics/{{FabricId}}/Zones",
}
"""Collections whose members no POST to them makes, and what does."""


class World:
    """What is served now, and chance."""

    def __init__(self) -> None:
        self.rng = random.Random(int(os.environ.get("FUZZ_SEED", "1")))  # noqa: S311
        self.client = requests.Session()
        self.client.auth = (os.environ["FUZZ_USER"], os.environ["FUZZ_PASSWORD"])
        self.surface = Surface(yaml.safe_load(self.get(f"{ROOT}/openapi.yaml").text))
        self.bodies = Bodies(self.rng, self.surface)
        self.asked = 0
        self._vain: Counter[str] = Counter()
        """Template -> how often nothing of it could be made, since all was read."""
        self.crawl()
        for template in _FIRST:
            for _ in range(_TRIES):
                self.make(template)

    def get(self, uri: str) -> Any:
        """GET as the admin."""
        return self.client.get(f"{_URL}{uri}", timeout=60)

    def crawl(self) -> None:
        """Read what there is, a few of each kind."""
        self._vain.clear()
        todo, seen = [ROOT], set()
        kinds: Counter[str | None] = Counter()
        while todo:
            uri = todo.pop()
            kind = self.surface.template_of(uri)
            if uri in seen or kinds[kind] >= self._most(kind):
                continue
            seen.add(uri)
            kinds[kind] += 1
            todo += self.learn(uri)
        for uri in [uri for uri in self.surface.tree if uri not in seen]:
            self.surface.forget(uri)

    def _most(self, template: str | None) -> int:
        offered = self.surface.paths.get(template or "", {})
        leaf = str(template).endswith("}") and not {"patch", "delete"} & offered.keys()
        return _READ_ONLY if leaf else _ALIKE

    def learn(self, uri: str) -> list[str]:
        """Read one resource; return what it leads to."""
        response = self.get(uri)
        if response.status_code != 200:
            return []
        document = response.json()
        self.surface.learn(uri, document, tuple(response.headers["Allow"].split(", ")))
        return list(links_in(document))

    def path(self, method: str, template: str) -> str | None:
        """Return a live URI for an operation; what can be deleted is made first."""
        self.asked += 1
        if self.asked % _RELEARN == 0:
            self.crawl()
        known = self.surface.members(template, method)
        if method not in ("GET", "HEAD"):
            known = [uri for uri in known if not any(part in uri for part in _ITSELF)]
        known = likely(self.surface, method, template, known) or known
        if (method == "DELETE" or not known) and self._vain[template] < _TRIES:
            made = self.make(template)
            if made is not None:
                return made
            self._vain[template] += 1
        return self.rng.choice(known) if known else None

    def make(self, template: str) -> str | None:
        """Create a member that fits `template`; return its URI."""
        below, _, rest = template.partition("/Actions/")
        collection = below.rpartition("/")[0]
        source = _MADE_BY.get(collection, collection)
        headers = {"prefer": "respond-async"} if "/Task" in collection else {}
        parents = self.surface.members(source, "POST")
        for tried in range(_TRIES if parents else 0):
            if source in _TAKES_HOSTS and tried == _TRIES // 2:
                self.make_room()
            parent = self.rng.choice(parents)
            self.bodies.composed.reserving = source == _COMPOSE
            body = self.bodies.good("POST", parent)
            answer = self.client.post(f"{_URL}{parent}", json=body, headers=headers, timeout=60)
            made = _made(answer, collection)
            if made is not None:
                self.learn(made)
                return f"{made}/Actions/{rest}" if rest else made
        return None

    def make_room(self) -> None:
        """Delete what holds hosts and devices, and read anew which are free."""
        for kind in _HOLDING:
            for uri in self.surface.of_type(kind):
                if "DELETE" in self.surface.allow.get(uri, ()):
                    self.client.delete(f"{_URL}{uri}", timeout=60)
        self.crawl()


def _made(answer: Any, collection: str) -> str | None:
    """Return the URI in `collection` of what a POST has made, the Task of it too."""
    found = [str(answer.headers.get("Location", ""))]
    told = answer.json() if answer.content and answer.status_code in (200, 202) else {}
    if answer.status_code == 202:
        found.append(str(told.get("@odata.id", "")))
    if "ReservationId" in told:
        found.append(f"{_RESERVATIONS}/{told['ReservationId']}")
    # Of a collection below another one, only the member that was made is known.
    name = collection.rpartition("/")[2]
    return next((each for each in found if each.rpartition("/")[0].endswith(f"/{name}")), None)


_world: World | None = None


def world() -> World:
    """Return the one world, made when it is first needed."""
    global _world
    if _world is None:
        _world = World()
    return _world


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """Aim a good case at what is there; give most of them a body that may be taken."""
    mode = getattr(getattr(case.meta, "generation", None), "mode", None)
    if mode is None or mode.name != "POSITIVE":
        return case
    template, method = case.operation.path, case.method.upper()
    uri = world().path(method, template) if _NAME.search(template) else template
    if method in ("GET", "HEAD") and case.query:
        case.query = _allowed(dict(case.query))
    if uri is None:
        return case
    if uri != template:
        fitting = "([^/]+)".join(re.escape(part) for part in re.split(r"\{\w+\}", template))
        values = re.fullmatch(fitting, uri)
        if values is None:
            return case
        case.path_parameters = dict(zip(_NAME.findall(template), values.groups(), strict=True))
    if template in _SETTINGS and method == "PATCH":
        case.body = _SETTINGS[template]
    elif method in ("POST", "PATCH") and world().rng.random() < _GOOD:
        if template in _TAKES_HOSTS and world().rng.random() < _ROOM:
            world().make_room()
        case.body = world().bodies.good(method, uri)
    return case


def _allowed(query: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters without what a schema can not exclude, with a filter that is one."""
    if "only" in query:
        return {"only": query["only"]}
    if "$filter" in query:
        query["$filter"] = world().rng.choice(_FILTERS)
    return query
