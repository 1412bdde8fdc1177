"""Hooks of schemathesis: live URIs in the place of invented ones, bodies that name what there is.

Loaded by schemathesis (SCHEMATHESIS_HOOKS) in its own environment, never by pytest. The login is
in FUZZ_URL, FUZZ_USER and FUZZ_PASSWORD.
"""

import os
import random
import re
from typing import Any

import requests
import schemathesis
import yaml

from tests.fuzz.bodies import Bodies
from tests.fuzz.surface import ROOT, Surface, links_in

_NAME = re.compile(r"\{(\w+)\}")
_URL = os.environ["FUZZ_URL"]
_RELEARN = 200
"""After so many requests everything is read anew: much has come and gone meanwhile."""


class World:
    """What is served now, and chance."""

    def __init__(self) -> None:
        self.rng = random.Random(int(os.environ.get("FUZZ_SEED", "1")))  # noqa: S311
        self.client = requests.Session()
        self.client.auth = (os.environ["FUZZ_USER"], os.environ["FUZZ_PASSWORD"])
        self.surface = Surface(yaml.safe_load(self.get(f"{ROOT}/openapi.yaml").text))
        self.bodies = Bodies(self.rng, self.surface)
        self.asked = 0
        self.crawl()

    def get(self, uri: str) -> Any:
        """GET as the admin."""
        return self.client.get(f"{_URL}{uri}", timeout=60)

    def crawl(self) -> None:
        """Read everything that there is."""
        todo, seen = [ROOT], set()
        while todo:
            uri = todo.pop()
            if uri in seen:
                continue
            seen.add(uri)
            todo += self.learn(uri)
        for uri in [uri for uri in self.surface.tree if uri not in seen]:
            self.surface.forget(uri)

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
        if template == f"{ROOT}/TaskService/TaskMonitors/{{TaskId}}":
            return None
        known = self.surface.members(template, method)
        if method == "DELETE" or not known:
            made = self.make(template, method)
            if made is not None:
                return made
        return self.rng.choice(known) if known else None

    def make(self, template: str, method: str) -> str | None:
        """Create a member that fits `template`; return its URI."""
        below, _, rest = template.partition("/Actions/")
        collection = below.rpartition("/")[0]
        for _ in range(4):
            for parent in self.surface.members(collection, "POST")[:1]:
                parents = self.surface.members(collection, "POST")
                parent = self.rng.choice(parents)
                body = self.bodies.good("POST", parent)
                answer = self.client.post(f"{_URL}{parent}", json=body, timeout=60)
                if answer.status_code == 201:
                    made = answer.headers["Location"]
                    self.learn(made)
                    return f"{made}/Actions/{rest}" if rest else made
        return None


_world: World | None = None


def world() -> World:
    """Return the one world, made when it is first needed."""
    global _world
    if _world is None:
        _world = World()
    return _world


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """Aim a positive case at what is there, and give it a body that may be taken."""
    mode = getattr(getattr(case.meta, "generation", None), "mode", None)
    template, method = case.operation.path, case.method.upper()
    if mode is None or mode.name != "POSITIVE" or _NAME.search(template) is None:
        if mode is not None and mode.name == "POSITIVE" and method in ("POST", "PATCH"):
            case.body = world().bodies.good(method, template)
        return case
    uri = world().path(method, template)
    if uri is not None:
        pattern = "([^/]+)".join(re.escape(part) for part in re.split(r"\{\w+\}", template))
        found = re.fullmatch(pattern, uri)
        if found is not None:
            case.path_parameters = dict(zip(_NAME.findall(template), found.groups(), strict=True))
            if method in ("POST", "PATCH"):
                case.body = world().bodies.good(method, uri)
    return case
