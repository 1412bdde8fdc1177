"""The OpenAPI document (3.1) of what is served. Pure.

Made from the routes that are really taken (redfish.served_routes) and the tables that answer
requests: creatable and writable properties, parameters of actions. Resources are described by
their type and a reference to its published schema; that schema is not repeated.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from redfish_fm import __version__
from redfish_fm.redfish.catalog import Catalog, TypeInfo
from redfish_fm.redfish.excerpt import excerpt_of
from redfish_fm.redfish.headers import EVENT_STREAM, JSON, YAML
from redfish_fm.redfish.query import LEVELS_MAX, NUMBER_MAX
from redfish_fm.redfish.request_schemas import action_schema, create_schema, patch_schema
from redfish_fm.redfish.routes import Route
from redfish_fm.redfish.select import PATTERN as SELECT
from redfish_fm.redfish.targets import PUBLIC

OPENAPI_VERSION = "3.1.0"

Document = dict[str, Any]

_PARAMETER = re.compile(r"\{(\w+)\}")
_PLAIN = re.compile(r"[A-Za-z]\w{3,}")
_NO_PLAIN = frozenset({"true", "false", "null"})
_ERROR = {"$ref": "#/components/responses/Error"}
_COLLECTION_QUERY = ("filter", "top", "skip", "only")
_NUMBER = {"type": "integer", "minimum": 0, "maximum": NUMBER_MAX}
_QUERY: Document = {
    "expand": {
        "name": "$expand",
        "schema": {"type": "string", "pattern": rf"^[.*~](\(\$levels=[1-{LEVELS_MAX}]\))?$"},
    },
    "excerpt": {"name": "excerpt", "allowEmptyValue": True, "schema": {"const": ""}},
    "filter": {"name": "$filter", "schema": {"type": "string", "minLength": 1}},
    "select": {"name": "$select", "schema": {"type": "string", "pattern": f"^{SELECT}$"}},
    "top": {"name": "$top", "schema": _NUMBER},
    "skip": {"name": "$skip", "schema": _NUMBER},
    "only": {"name": "only", "allowEmptyValue": True, "schema": {"const": ""}},
}
_SUMMARIES = {
    "get": "Read",
    "head": "Read the headers of",
    "post": "Create in",
    "patch": "Change",
    "delete": "Delete",
}


def openapi(
    catalog: Catalog, routes: Iterable[Route], documents: Iterable[tuple[str, str]]
) -> bytes:
    """Return the document as YAML, of a service that takes `routes` and no other.

    `documents` are URI and media type of what is served besides resources.
    """
    return _Maker(catalog).make(routes, documents)


class _Maker:
    """Collects the components that the paths refer to."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._schemas: Document = dict(_SCHEMAS)
        self._parameters: Document = {name: {"in": "query", **row} for name, row in _QUERY.items()}

    def make(self, routes: Iterable[Route], documents: Iterable[tuple[str, str]]) -> bytes:
        """Return the whole document."""
        paths: Document = {uri: _plain_document(uri, media) for uri, media in documents}
        for route in routes:
            paths[route.uri] = self._path(route)
        monitor = self._catalog.task_monitor
        if self._catalog.uri_of("TaskCollection") in paths:
            paths[monitor] = self._monitor(monitor)
        return as_yaml(
            {
                "openapi": OPENAPI_VERSION,
                "info": {"title": "redfish-fm", "version": __version__},
                "servers": [{"url": "/"}],
                "security": [{"basic": []}, {"token": []}],
                "paths": dict(sorted(paths.items())),
                "components": {
                    "securitySchemes": _SECURITY,
                    "parameters": dict(sorted(self._parameters.items())),
                    "responses": _RESPONSES,
                    "schemas": dict(sorted(self._schemas.items())),
                },
            }
        )

    def _path(self, route: Route) -> Document:
        item = self._parameters_of(route.uri)
        for method in route.methods:
            name = method.lower()
            item[name] = {
                "operationId": _operation_id(name, route.uri),
                "summary": f"{_SUMMARIES[name]} {route.info.name}",
                "tags": [route.info.name],
                **self._operation(name, route),
            }
            if route.deprecated:
                item[name]["deprecated"] = True
            if route.action is not None:
                item[name]["summary"] = route.action.name
        return item

    def _operation(self, method: str, route: Route) -> Document:
        info = route.info
        if route.action is not None:
            needed = any(each.required for each in route.action.parameters.values())
            body = self._body(
                f"{route.action.name}.Parameters", action_schema(route.action), needed
            )
            statuses = ("200",) if route.action.answers else ()
            return {"requestBody": body, "responses": _answers(*statuses, "204", "202")}
        match method:
            case "get" | "head":
                names = ("expand", "select", *_more_query(info))
                query = [{"$ref": f"#/components/parameters/{name}"} for name in names]
                public: Document = {"security": []} if route.uri in PUBLIC else {}
                responses = {**self._shown("200", info, method), **_answers("304")}
                return {**public, "parameters": query, "responses": responses}
            case "post":
                member = self._catalog.types[str(info.member)]
                public = {"security": []} if member.name == "Session" else {}
                body = self._body(f"{member.name}.Create", create_schema(member), True)
                responses = {**self._shown("201", member, method), **_answers("202")}
                return {**public, "requestBody": body, "responses": responses}
            case "patch":
                body = self._body(f"{info.name}.Update", patch_schema(info), True)
                responses = {**self._shown("200", info, method), **_answers("202", "204")}
                return {"requestBody": body, "responses": responses}
            case _:
                return {"responses": _answers("204", "202")}

    def _monitor(self, uri: str) -> Document:
        read = {**_answers("202", "204"), "200": _RESOURCE, "201": _RESOURCE}
        unread = {status: {"description": "Only headers"} for status in ("200", "201")}
        summary, tags = "how a write ended", ["Task"]
        return {
            **self._parameters_of(uri),
            "get": {
                "operationId": _operation_id("get", uri),
                "summary": f"Read {summary}",
                "tags": tags,
                "responses": read,
            },
            "head": {
                "operationId": _operation_id("head", uri),
                "summary": f"Read the headers of {summary}",
                "tags": tags,
                "responses": {**read, **unread},
            },
            "delete": {
                "operationId": _operation_id("delete", uri),
                "summary": "Call a write off that has not ended, or forget how it ended",
                "tags": tags,
                "responses": _answers("204", "202"),
            },
        }

    def _body(self, name: str, schema: Document, required: bool) -> Document:
        self._schemas[name] = schema
        content = {JSON: {"schema": {"$ref": f"#/components/schemas/{name}"}}}
        return {"required": required, "content": content}

    def _shown(self, status: str, info: TypeInfo, method: str) -> Document:
        """Return the response that holds a resource; that of a HEAD has no body."""
        response: Document = {"description": info.name}
        if method != "head":
            shown = self._type(info)
            if info.collection:
                # `only` puts a single member in the place of its collection.
                shown = {"anyOf": [shown, self._type(self._catalog.types[str(info.member)])]}
            response["content"] = {JSON: {"schema": shown}}
        return {status: response}

    def _type(self, info: TypeInfo) -> Document:
        self._schemas.setdefault(info.name, _type_schema(info))
        return {"$ref": f"#/components/schemas/{info.name}"}

    def _parameters_of(self, uri: str) -> Document:
        names = _PARAMETER.findall(uri)
        for name in names:
            self._parameters[name] = {
                "in": "path",
                "name": name,
                "required": True,
                "schema": {"type": "string"},
            }
        found = [{"$ref": f"#/components/parameters/{name}"} for name in names]
        return {"parameters": found} if found else {}


def as_yaml(value: Any) -> bytes:
    """Return a JSON value as YAML in block style, every scalar spelled as in JSON."""
    return "\n".join([*_lines(value, ""), ""]).encode()


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, below in value.items():
            yield from _entry(f"{indent}{_key(name)}:", below, f"{indent}  ")
    elif isinstance(value, list) and value:
        for below in value:
            yield from _entry(f"{indent}-", below, f"{indent}  ")
    else:
        yield f"{indent}{json.dumps(value)}"


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield head
        yield from _lines(value, indent)
    else:
        yield f"{head} {json.dumps(value)}"


def _key(name: str) -> str:
    # Four letters and more: shorter ones could be the booleans of YAML 1.1 ("on", "no").
    plain = _PLAIN.fullmatch(name) and name.lower() not in _NO_PLAIN
    return name if plain else json.dumps(name)


def _more_query(info: TypeInfo) -> tuple[str, ...]:
    """Return which parameters only some types take."""
    if info.collection:
        return _COLLECTION_QUERY
    return () if excerpt_of(info) is None else ("excerpt",)


def _operation_id(method: str, uri: str) -> str:
    return "_".join([method, *re.findall(r"[\w.]+", uri)]).replace(".", "_")


def _plain_document(uri: str, media: str) -> Document:
    public: Document = {"security": []} if uri in PUBLIC else {}
    shape = {"schema": {"type": "object" if media in (JSON, YAML) else "string"}}
    # What goes on and on has no tag to ask again by.
    unchanged = () if media == EVENT_STREAM else ("304",)
    found: Document = {}
    for method in ("get", "head"):
        response: Document = {"description": "The document"}
        if method == "get":
            response["content"] = {media: shape}
        found[method] = {
            "operationId": _operation_id(method, uri.replace("$", "")),
            "summary": _SUMMARIES[method].removesuffix(" of"),
            "tags": ["Service"],
            **public,
            "responses": {"200": response, **_answers(*unchanged)},
        }
    return found


def _type_schema(info: TypeInfo) -> Document:
    name = re.escape(info.odata_type.lstrip("#").partition(".")[0])
    said = {
        "@odata.type": {"type": "string", "pattern": rf"^#{name}\.(v\d+_\d+_\d+\.)?{info.name}$"}
    }
    shape = "Collection" if info.collection else "Resource"
    return {
        "allOf": [{"$ref": f"#/components/schemas/{shape}"}],
        "properties": said,
        "externalDocs": {"url": info.publication_uri},
    }


def _answers(*statuses: str) -> Document:
    return {
        **{each: {"$ref": f"#/components/responses/{_SHARED[each]}"} for each in statuses},
        "default": _ERROR,
    }


_SHARED = {"200": "Answered", "202": "Accepted", "204": "Done", "304": "NotModified"}
_TEXT: Document = {"type": "string"}
_RESOURCE: Document = {
    "description": "The resource",
    "content": {JSON: {"schema": {"$ref": "#/components/schemas/Resource"}}},
}
_SECURITY: Document = {
    "basic": {"type": "http", "scheme": "basic"},
    "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"},
}
_RESPONSES: Document = {
    "Accepted": {
        "description": "Not done yet; Location is the task monitor",
        "headers": {"Location": {"schema": _TEXT}, "Retry-After": {"schema": {"type": "integer"}}},
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Resource"}}},
    },
    "Answered": {
        "description": "Done; what the action answers",
        "content": {JSON: {"schema": {"type": "object"}}},
    },
    "Done": {"description": "Done"},
    "NotModified": {"description": "The client's copy is still good"},
    "Error": {
        "description": "Refused, with every reason",
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    },
}
_SCHEMAS: Document = {
    "Resource": {
        "type": "object",
        "properties": {
            "@odata.id": {"type": "string", "pattern": "^/redfish/"},
            "@odata.type": {"type": "string", "pattern": "^#"},
            "@odata.etag": _TEXT,
            "Id": _TEXT,
            "Name": _TEXT,
        },
        "required": ["@odata.id", "@odata.type"],
    },
    "Collection": {
        "allOf": [{"$ref": "#/components/schemas/Resource"}],
        "properties": {
            "Members": {"type": "array", "items": {"type": "object"}},
            "Members@odata.count": {"type": "integer", "minimum": 0},
            "Members@odata.nextLink": _TEXT,
        },
    },
    "Error": {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "code": _TEXT,
                    "message": _TEXT,
                    "@Message.ExtendedInfo": {"type": "array", "items": {"type": "object"}},
                },
                "required": ["code", "message", "@Message.ExtendedInfo"],
            }
        },
        "required": ["error"],
    },
}
