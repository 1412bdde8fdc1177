"""What a path names, and which methods it takes.

A path names a resource, an action below one, a task monitor, or one of the OData documents. The
methods follow from three tables: what the schema allows, what this service does, whose the
resource is.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from redfish_fm.redfish import messages
from redfish_fm.redfish.action_documents import actions_in
from redfish_fm.redfish.catalog import ActionInfo, Catalog, TypeInfo
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.etag import content_tag, join
from redfish_fm.redfish.headers import EVENT_STREAM, JSON, XML, YAML
from redfish_fm.redfish.metadata import VERSIONS, service_document
from redfish_fm.redfish.resources import Resources
from redfish_fm.redfish.view import Description, Origin, Representation
from redfish_fm.values import value_class

READING = ("GET", "HEAD", "OPTIONS")
_ALL = (*READING, "POST", "PATCH", "DELETE")
ROOT = "/redfish/v1"
VERSION_DOCUMENT = "/redfish"
SERVICE_DOCUMENT = "/redfish/v1/odata"
METADATA = "/redfish/v1/$metadata"
OPENAPI = "/redfish/v1/openapi.yaml"
SERVER = "*"
"""What OPTIONS names when it means no resource (RFC 9110 "OPTIONS")."""
PUBLIC = frozenset({ROOT, VERSION_DOCUMENT, SERVICE_DOCUMENT, METADATA})
"""Readable without credentials (DSP0266 "Authentication requirements")."""

_MEMBERS = "/Members"
_ACTIONS = "/Actions/"


class TargetKind(Enum):
    """What a path can name."""

    RESOURCE = "resource"
    ACTION = "action"
    MONITOR = "monitor"
    DOCUMENT = "document"
    STREAM = "stream"


@value_class
class Target:
    """What one request is about. Of an action, a monitor or a stream, `found` is what is behind it.

    `info` is None for types the catalog does not know; such resources can only be read.
    """

    kind: TargetKind
    found: Description
    allow: tuple[str, ...]
    info: TypeInfo | None = None
    action: ActionInfo | None = None
    media: str = JSON

    @property
    def shown(self) -> Representation:
        """The resource as it is read; what is only written to is not rendered."""
        if not isinstance(self.found, Representation):
            raise TypeError(f"{self.found.uri} was looked up for a write")
        return self.found


@dataclass(frozen=True, slots=True)
class Offer:
    """What one resource takes: methods, and actions by what stands behind /Actions/."""

    info: TypeInfo
    methods: tuple[str, ...]
    actions: frozenset[str] = frozenset()


def normal(path: str) -> str:
    """Return `path` without the one trailing slash that is tolerated."""
    return path[:-1] if path.endswith("/") else path


class Targets:
    """Looks paths up."""

    def __init__(
        self,
        catalog: Catalog,
        resources: Resources,
        metadata: bytes,
        xml: Mapping[str, bytes],
        streams: Mapping[str, str] | None = None,
    ) -> None:
        """`streams` are the services that streams are of, by the URIs of the streams."""
        self._streams = streams or {}
        self._catalog = catalog
        self._resources = resources
        self._allow: dict[tuple[str, Origin], tuple[str, ...]] = {}
        self._collection_allow: dict[str, tuple[str, ...]] = {}
        self._documents = {
            **{uri: _document(uri, content, XML) for uri, content in xml.items()},
            VERSION_DOCUMENT: _document(VERSION_DOCUMENT, VERSIONS, JSON),
            METADATA: _document(METADATA, metadata, XML),
            **{uri: _document(uri, csdl, XML) for uri, csdl in catalog.oem_csdl.items()},
        }
        self._service_document: tuple[str, Target] | None = None

    @property
    def documents(self) -> list[tuple[str, str]]:
        """URI and media type of everything that is served besides resources, by URI."""
        fixed = {uri: target.media for uri, target in self._documents.items()}
        streams = {
            uri: EVENT_STREAM
            for uri, service in self._streams.items()
            if self._resources.exists(service)
        }
        return sorted({**fixed, **streams, SERVICE_DOCUMENT: JSON, OPENAPI: YAML}.items())

    def offer_at(self, uri: str) -> Offer | None:
        """Return what the resource at `uri` takes, or None where none of a known type is."""
        found = self._resources.describe(uri)
        info = None if found is None else self._catalog.types.get(found.type_name)
        if found is None or info is None:
            return None
        shown = self._resources.get(uri) if info.row.actions else None
        actions = frozenset() if shown is None else actions_in(shown, info)
        return Offer(info, self._methods(found, info), actions)

    def offer_of_member(self, collection: str) -> Offer | None:
        """Return what a member will take that comes to a collection; None where none will come.

        Members come by POST, from a table, or, like Tasks, as something else asks for them.
        """
        found = self._resources.describe(collection)
        info = None if found is None else self._catalog.types.get(found.type_name)
        member = self._catalog.types.get(str(info.member)) if info is not None else None
        if found is None or info is None or member is None:
            return None
        if self._resources.is_table(collection):
            return Offer(member, _resource_methods(member, Origin.SERVICE))
        if "POST" in self._methods(found, info):
            if member.create and self._catalog.template_of(collection) in member.create.elsewhere:
                return None
            supported = (action.path for action in member.actions.values() if action.supported)
            return Offer(member, _resource_methods(member, Origin.WANTED), frozenset(supported))
        if member.deletable_here and member.create is None:
            return Offer(member, _resource_methods(member, Origin.SERVICE))
        return None

    def describe_by(self, openapi: bytes) -> None:
        """Serve `openapi` as the OpenAPI document."""
        self._documents[OPENAPI] = _document(OPENAPI, openapi, YAML)

    def find(self, uri: str, method: str) -> Target:
        """Return what `uri` names. Raises RedfishError (404) where that is nothing."""
        found = self._resources.get(uri) if method in READING else self._resources.describe(uri)
        if found is not None:
            info = self._catalog.types.get(found.type_name)
            return Target(TargetKind.RESOURCE, found, self._methods(found, info), info)
        target = self._special(uri, method)
        if target is None:
            raise RedfishError(404, (messages.resource_missing_at_uri(uri),))
        return target

    def _special(self, uri: str, method: str) -> Target | None:
        if uri in self._documents:
            return self._documents[uri]
        if uri == SERVICE_DOCUMENT:
            return self._odata()
        if uri in self._streams:
            return self._stream(self._streams[uri])
        if uri == SERVER and method == "OPTIONS":
            return replace(_document(SERVER, b"", JSON), allow=_ALL)
        if _ACTIONS in uri:
            return self._action(uri)
        if method == "POST" and uri.endswith(_MEMBERS):
            return self._collection(uri.removesuffix(_MEMBERS))
        return self._monitor(uri)

    def _stream(self, service: str) -> Target | None:
        found = self._resources.get(service)
        if found is None:
            return None
        return Target(TargetKind.STREAM, found, ("GET", "HEAD", "OPTIONS"), media=EVENT_STREAM)

    def _action(self, uri: str) -> Target | None:
        resource, _, name = uri.rpartition(_ACTIONS)
        found = self._resources.describe(resource)
        info = None if found is None else self._catalog.types.get(found.type_name)
        if found is None or info is None or name not in info.actions:
            return None
        return Target(TargetKind.ACTION, found, ("POST", "OPTIONS"), info, info.actions[name])

    def _collection(self, uri: str) -> Target | None:
        """Return the collection whose Members were named; POST there means the same (DSP0266)."""
        found = self._resources.describe(uri)
        info = None if found is None else self._catalog.types.get(found.type_name)
        if found is None or info is None or not info.collection:
            return None
        return Target(TargetKind.RESOURCE, found, self._methods(found, info), info)

    def _monitor(self, uri: str) -> Target | None:
        task = self._catalog.task_of(uri)
        found = None if task is None else self._resources.get(task)
        if found is None or found.type_name != "Task":
            return None
        if "TaskMonitor" not in json.loads(found.body):
            return None
        allow = self._methods(found, self._catalog.types["Task"])
        return Target(TargetKind.MONITOR, found, allow, self._catalog.types["Task"])

    def _odata(self) -> Target | None:
        root = self._resources.get(ROOT)
        if root is None:
            return None
        if self._service_document is None or self._service_document[0] != root.etag:
            body = service_document(json.loads(root.body))
            self._service_document = (root.etag, _document(SERVICE_DOCUMENT, body, JSON))
        return self._service_document[1]

    def _methods(self, found: Description, info: TypeInfo | None) -> tuple[str, ...]:
        if info is None:
            return READING
        if info.collection:
            return self._collection_methods(found.uri, info)
        key = (info.name, found.origin)
        if key not in self._allow:
            self._allow[key] = _resource_methods(info, found.origin)
        return self._allow[key]

    def _collection_methods(self, uri: str, info: TypeInfo) -> tuple[str, ...]:
        member = self._catalog.types.get(info.member or "")
        if not info.insertable or member is None or member.create is None:
            return READING
        methods = self._collection_allow.get(uri)
        if methods is None:
            fits = self._catalog.template_of(uri) in member.create.collections and (
                member.create.only_where is None or self._says(uri, member.create.only_where)
            )
            methods = self._collection_allow[uri] = (*READING, "POST") if fits else READING
        return methods

    def _says(self, collection: str, name: str) -> bool:
        """Return whether the resource that has the collection says true to a property."""
        owner = self._resources.get(collection.rpartition("/")[0])
        return owner is not None and json.loads(owner.body).get(name) is True


def _resource_methods(info: TypeInfo, origin: Origin) -> tuple[str, ...]:
    if origin is Origin.FIXED:
        return READING
    paths = info.writable_here if origin.changeable else info.overlay_here
    methods = [*READING]
    if info.updatable and paths:
        methods.append("PATCH")
    if info.deletable_here and origin not in (Origin.INVENTORY, Origin.KEPT):
        methods.append("DELETE")
    return tuple(methods)


def _document(uri: str, body: bytes, media: str) -> Target:
    tag = content_tag(body)
    found = Representation(uri, "", Origin.SERVICE, tag, body, join(tag, tag))
    return Target(TargetKind.DOCUMENT, found, READING, None, None, media)
