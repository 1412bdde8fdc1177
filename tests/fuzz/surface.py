"""What there is to ask: the templates of the OpenAPI document, and which resources fit them now.

Knows only what a client can read. Needs nothing but the standard library: the hooks of
schemathesis use it too, in an environment of their own.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

ROOT = "/redfish/v1"
VERBS = ("GET", "HEAD", "POST", "PATCH", "DELETE")
WRITING = ("POST", "PATCH", "DELETE")
_PARAMETER = re.compile(r"\{\w+\}")
_CAPABILITIES = re.compile(r"/\w*Capabilities$")
"""What says how members are made has their type, and is none."""

Tree = dict[str, dict[str, Any]]


class Surface:
    """Templates by URI and back, and the documents as they were last read."""

    def __init__(self, openapi: dict[str, Any]) -> None:
        self.schemas: dict[str, Any] = openapi["components"]["schemas"]
        self.paths: dict[str, Any] = openapi["paths"]
        self.tree: Tree = {}
        self.allow: dict[str, tuple[str, ...]] = {}
        self.at: dict[str, dict[str, None]] = {}
        """Template -> what fits it, in the order in which it came."""
        self._takers: Counter[tuple[str, str]] = Counter()
        """(method, template) -> how many resources take it."""
        self._types: dict[str, dict[str, None]] = {}
        self.made: set[str] = set()
        """What this run has created; it may be deleted."""
        fixed = [path for path in self.paths if "{" not in path]
        self._fixed = set(fixed)
        self._patterns = [
            (re.compile(_pattern(path)), path) for path in self.paths if path not in self._fixed
        ]
        self._known: dict[str, str | None] = {}

    def template_of(self, uri: str) -> str | None:
        """Return the template that `uri` fits, or None."""
        if uri not in self._known:
            found = uri if uri in self._fixed else None
            if found is None:
                fits = (path for pattern, path in self._patterns if pattern.fullmatch(uri))
                found = next(fits, None)
            self._known[uri] = found
        return self._known[uri]

    def learn(self, uri: str, document: dict[str, Any], allow: tuple[str, ...]) -> None:
        """Take in a resource as it is now, and the actions that it names."""
        self.tree[uri] = document
        self._types.setdefault(_type_of(document), {})[uri] = None
        self.place(uri, allow)
        for target in targets_of(document):
            self.place(target, ("POST",))

    def place(self, uri: str, allow: tuple[str, ...]) -> None:
        """Take in that something takes these methods."""
        template = self.template_of(uri)
        if template is not None:
            self._unplace(uri, template)
            self.allow[uri] = allow
            self.at.setdefault(template, {})[uri] = None
            self._takers.update((method, template) for method in allow)

    def _unplace(self, uri: str, template: str) -> None:
        self._takers.subtract((method, template) for method in self.allow.pop(uri, ()))
        self.at.get(template, {}).pop(uri, None)

    def forget(self, uri: str) -> None:
        """Drop a resource that is gone, and what is below it."""
        below = f"{uri}/"
        for known in [each for each in self.allow if each == uri or each.startswith(below)]:
            document = self.tree.pop(known, None)
            if document is not None:
                self._types[_type_of(document)].pop(known, None)
            self.made.discard(known)
            self._unplace(known, str(self.template_of(known)))

    def members(self, template: str, method: str) -> list[str]:
        """Return the URIs that fit a template and take a method now."""
        return [uri for uri in self.at.get(template, ()) if method in self.allow[uri]]

    def writable(self) -> set[tuple[str, str]]:
        """Return (method, template) of every write that something there takes now."""
        return {each for each, count in self._takers.items() if count and each[0] in WRITING}

    def told(self) -> set[tuple[str, str]]:
        """Return (method, template) of every write in the OpenAPI document."""
        rows = self.paths.items()
        return {(name, path) for path, row in rows for name in WRITING if name.lower() in row}

    def body_name(self, method: str, template: str) -> str | None:
        """Return the name of the schema of the body that an operation takes."""
        operation = self.paths.get(template, {}).get(method.lower(), {})
        content = operation.get("requestBody", {}).get("content", {})
        reference = content.get("application/json", {}).get("schema", {}).get("$ref")
        return None if reference is None else str(reference).rpartition("/")[2]

    def of_type(self, name: str, under: str = "") -> list[str]:
        """Return the URIs of all resources of a type, "Zone" style, below a URI."""
        known = self._types.get(name, ())
        return [uri for uri in known if uri.startswith(under) and not _CAPABILITIES.search(uri)]


def _type_of(document: dict[str, Any]) -> str:
    return str(document.get("@odata.type", "")).rpartition(".")[2]


def _pattern(template: str) -> str:
    return "[^/]+".join(re.escape(part) for part in _PARAMETER.split(template))


def targets_of(document: dict[str, Any]) -> Iterator[str]:
    """Yield the targets of the actions that a document names."""
    actions = document.get("Actions")
    actions = actions if isinstance(actions, dict) else {}
    for name, action in (*actions.items(), *actions.get("Oem", {}).items()):
        if name.startswith("#") and isinstance(action, dict) and "target" in action:
            yield str(action["target"])


def links_in(value: object) -> Iterator[str]:
    """Yield the URIs of all links in a document, without fragment and trailing slash."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "@odata.id" and isinstance(inner, str) and inner.startswith(ROOT):
                yield inner.partition("#")[0].rstrip("/")
            else:
                yield from links_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from links_in(inner)
