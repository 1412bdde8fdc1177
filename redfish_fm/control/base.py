"""The inventory layer as documents: what drivers or a mockup said, fixed while it lives.

Shared, read-only, by the tip and the published state. Documents are kept as bytes and parsed
when needed (DESIGN section 3). Knows URIs and members, nothing of fabrics beyond the Facts that
mapping made of the same inventory.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.mapping.documents import Finished
from redfish_fm.mapping.domain import Value, apply_value, read_value
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
    """What a wanted document says: links it causes, collections it is in, what it means."""

    links: frozenset[Link]
    collections: tuple[str, ...]
    value: Value | None


NOTHING = Reading(frozenset(), (), None)
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
    return str(document.get("@odata.type", "")).rsplit(".", 1)[-1].lstrip("#")


def parent_of(uri: str) -> str:
    """Return the URI one segment up."""
    return uri.rsplit("/", 1)[0]


class Base:
    """Inventory documents by URI, the collections among them, their fixed members and links.

    `collections` gives each one's type; `links` has, by URI and JSON pointer, what inventory
    itself links there (discovered endpoints). `documents` may come one by one, so that each can be
    let go of as soon as it is bytes: of a big inventory they are most of what a start holds.
    """

    def __init__(
        self,
        documents: Mapping[str, Mapping[str, Any]]
        | Iterable[tuple[str, Mapping[str, Any] | Finished]],
        facts: Facts,
    ) -> None:
        self.facts = facts
        self.documents: dict[str, bytes] = {}
        self.odata_types: set[str] = set()
        self.collections: dict[str, str] = {}
        self.members: dict[str, set[str]] = {}
        self.links: dict[str, dict[str, set[str]]] = {}
        self._endpoints: list[Value] = []
        self._recently_read: dict[tuple[str, bytes], Reading] = {}
        names: dict[str, str] = {}
        for uri, document in documents.items() if isinstance(documents, Mapping) else documents:
            if isinstance(document, Finished):
                odata_type, raw = document
            else:
                odata_type = str(document.get("@odata.type", ""))
                raw = _encoder.encode(document)
            self.documents[uri] = raw
            name = names.get(odata_type)
            if name is None:
                name = names[odata_type] = type_name_of({"@odata.type": odata_type})
            if name.endswith("Collection"):
                self.collections[uri] = name
            elif name in _READ:
                known = decode_document(raw) if isinstance(document, Finished) else document
                self._read_in(uri, name, known)
        self.odata_types.update(names)
        if facts.blocks:
            self.odata_types |= types_shown(self.odata_types)
        beside = frozenset(facts.beside)
        for uri in self.documents:
            parent = parent_of(uri)
            if parent in self.collections and uri not in beside:
                found = self.members.get(parent)
                if found is None:
                    found = self.members[parent] = set()
                found.add(uri)
        for collection, listed in facts.listed.items():
            self.members.setdefault(collection, set()).update(listed)

    def _read_in(self, uri: str, name: str, document: Mapping[str, Any]) -> None:
        if name == "Endpoint":
            value = read_value(uri, document, self.facts)
            if value is not None:
                self._endpoints.append(value)
        for collection in further_collections(name, document):
            self.members.setdefault(collection, set()).add(uri)
        for target, pointer in forward_links(name, document, self.facts.port_aliases):
            self.links.setdefault(target, {}).setdefault(pointer, set()).add(uri)

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
            found = Reading(
                frozenset(forward_links(name, document, self.facts.port_aliases)),
                (parent_of(uri), *further_collections(name, document)),
                read_value(uri, document, self.facts),
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
