"""The inventory layer as documents: what drivers or a mockup said, fixed while it lives.

Shared, read-only, by the tip and the published state. Documents are kept as bytes (those that a
recipe makes, from when they were asked for first) and parsed when needed (DESIGN section 3). Knows
URIs and members, nothing of fabrics beyond the Facts that mapping made of the same inventory.
"""

from collections.abc import Iterable, Mapping, Set
from typing import Any, NamedTuple

import msgspec

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import Zone
from redfish_fm.mapping.documents import Handed, RawDocuments
from redfish_fm.mapping.domain import Value, apply_value, read_value, type_name
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.links import (
    FORWARD,
    IN_FURTHER_COLLECTIONS,
    forward_links,
    further_collections,
)
from redfish_fm.mapping.systems_shown import types_shown

Link = tuple[str, str]
"""(URI, JSON pointer in it) of a derived property."""


class Reading(NamedTuple):
    """What a wanted document says: links it causes, collections it is in, what it means.

    `alone`: nothing but itself and its collections shows anything else because of it.
    """

    links: frozenset[Link]
    collections: tuple[str, ...]
    value: Value | None
    alone: bool = False


NOTHING = Reading(frozenset(), (), None, alone=True)
"""What a document says that is not there."""

decode_document = msgspec.json.Decoder(dict[str, Any]).decode
"""Parse a stored document. Made once: naming the type at each call costs more than parsing."""

_encoder = msgspec.json.Encoder()

_READ = IN_FURTHER_COLLECTIONS.union(FORWARD)
"""Types whose documents say more than that they are there."""

_READINGS_MAX = 256
"""More than a batch of commits holds; about 5 kB each."""


def type_name_of(document: Mapping[str, Any]) -> str:
    """Return the unversioned type of a document: "Zone" for "#Zone.v1_6_3.Zone"."""
    return type_name(document)


def parent_of(uri: str) -> str:
    """Return the URI one segment up."""
    return uri.rsplit("/", 1)[0]


class Base:
    """Inventory documents by URI, the collections among them, their fixed members and links.

    `collections` gives each one's type; `links` has, by URI and JSON pointer, what inventory
    itself links there (discovered endpoints). `documents` may be handed over: those that are made
    when they are asked for then stay so, and each of the others goes as soon as it is bytes.
    """

    def __init__(self, documents: Mapping[str, Mapping[str, Any]] | Handed, facts: Facts) -> None:
        self.facts = facts
        self.odata_types: set[str] = set()
        self.collections: dict[str, str] = {}
        self.members: dict[str, set[str]] = {}
        self.links: dict[str, dict[str, set[str]]] = {}
        self._endpoints: list[Value] = []
        self._recently_read: dict[tuple[str, bytes], Reading] = {}
        if not isinstance(documents, Handed):
            unfinished = {uri: dict(document) for uri, document in documents.items()}
            documents = Handed(dict.fromkeys(documents, b""), {}, unfinished)
        self.documents = RawDocuments(documents.kept)
        known = self._take_endpoints()
        self._take_finished(documents.finished, known)
        self._take_unfinished(documents, known)
        if facts.blocks:
            self.odata_types |= types_shown(self.odata_types)
        self._find_members()

    def _take_endpoints(self) -> set[str]:
        """Take over the endpoints that Facts knows; return those whose documents say no more."""
        known = [each for each in self.facts.endpoints if each.value.id in self.documents]
        for value, links in known:
            self._endpoints.append(value)
            self._link(value.id, links)
        return {each.value.id for each in known}

    def _take_finished(self, by_type: Mapping[str, list[str]], known: Set[str]) -> None:
        for odata_type, uris in by_type.items():
            name = type_name_of({"@odata.type": odata_type})
            self.odata_types.update([odata_type] if uris else ())
            if name.endswith("Collection"):
                self.collections.update(dict.fromkeys(uris, name))
            elif name in _READ:
                for uri in uris:
                    if uri not in known:
                        self._read_in(uri, name, decode_document(self.documents[uri]))

    def _take_unfinished(self, documents: Handed, known: Set[str]) -> None:
        names: dict[str, str] = {}
        for uri in [*documents.unfinished]:
            document = documents.unfinished.pop(uri)
            documents.kept[uri] = _encoder.encode(document)
            odata_type = str(document.get("@odata.type", ""))
            name = names.get(odata_type)
            if name is None:
                name = names[odata_type] = type_name_of({"@odata.type": odata_type})
            if name.endswith("Collection"):
                self.collections[uri] = name
            elif name in _READ and uri not in known:
                self._read_in(uri, name, document)
        self.odata_types.update(names)

    def _find_members(self) -> None:
        beside, members = frozenset(self.facts.beside), self.members
        inside: dict[str, set[str]] = {uri: set() for uri in self.collections}
        for uri in self.documents:
            found = inside.get(uri[: uri.rfind("/")])
            if found is not None and uri not in beside:
                found.add(uri)
        for collection, found in inside.items():
            if found:
                found.update(members.get(collection, ()))
                members[collection] = found
        for collection, listed in self.facts.listed.items():
            members.setdefault(collection, set()).update(listed)

    def _read_in(self, uri: str, name: str, document: Mapping[str, Any]) -> None:
        if name == "Endpoint":
            value = read_value(uri, document, self.facts)
            if value is not None:
                self._endpoints.append(value)
        for collection in further_collections(name, document):
            self.members.setdefault(collection, set()).add(uri)
        self._link(uri, forward_links(name, document, self.facts.port_aliases))

    def _link(self, uri: str, links: Iterable[Link]) -> None:
        for target, pointer in links:
            self.links.setdefault(target, {}).setdefault(pointer, set()).add(uri)

    def become(self, other: "Base") -> None:
        """Be another inventory from now on, for all who hold this one.

        What was derived of the one before is void: the writer makes that anew.
        """
        self.__dict__.update(other.__dict__)

    def resources(self) -> set[str]:
        """Return the URIs of all that is no collection."""
        return self.documents.keys() - self.collections.keys()

    def parsed(self, uri: str) -> dict[str, Any] | None:
        """Return the inventory document at `uri`, parsed anew."""
        raw = self.documents.get(uri)
        return None if raw is None else msgspec.json.decode(raw)

    def read(self, uri: str, raw: bytes) -> Reading:
        """Return what the wanted document at `uri` says.

        The tip and the published state read the same bytes one after the other; the newest
        readings are kept so that each document is read once.
        """
        found = self._recently_read.get((uri, raw))
        if found is None:
            document = decode_document(raw)
            name = type_name_of(document)
            links = frozenset(forward_links(name, document, self.facts.port_aliases))
            value = read_value(uri, document, self.facts)
            found = Reading(
                links,
                (parent_of(uri), *further_collections(name, document)),
                value,
                not links and (value is None or isinstance(value, Zone)),
            )
            if len(self._recently_read) >= _READINGS_MAX:
                self._recently_read.clear()
            self._recently_read[uri, raw] = found
        return found

    def new_index(self) -> FabricIndex:
        """Return an index that knows the facts and the discovered endpoints, nothing wanted."""
        index = FabricIndex()
        self.facts.fill(index)
        for endpoint in self._endpoints:
            apply_value(index, None, endpoint)
        return index
