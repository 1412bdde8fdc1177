"""What a change of wanted documents tells the world.

Pure. Only that something changed is told, never a content: who may read it reads the resource.
What a document says of others (a system of its resource blocks) is told of those too.
"""

from collections.abc import Callable, Iterator

import msgspec

from redfish_fm.mapping.event_messages import (
    BLOCK_CHANGED,
    BLOCK_COMPOSITION,
    GENERIC,
    MEMBERSHIP,
    Told,
    in_fabric,
    name_of,
)
from redfish_fm.redfish.changes import FeedEntry, FeedOp
from redfish_fm.redfish.errors import Message


class _Link(msgspec.Struct):
    uri: str = msgspec.field(name="@odata.id", default="")


class _Links(msgspec.Struct):
    blocks: list[_Link] = msgspec.field(name="ResourceBlocks", default_factory=list)


class _Document(msgspec.Struct):
    """What has to be known of a document; the rest is not parsed."""

    odata_type: str = msgspec.field(name="@odata.type", default="")
    links: _Links | None = msgspec.field(name="Links", default=None)
    reserved: list[_Link] = msgspec.field(name="ReservedResourceBlocks", default_factory=list)


_decode = msgspec.json.Decoder(_Document).decode
_NOTHING = _Document()

_BLOCK_TYPE = "ResourceBlock"
_OF_BLOCKS = {"ComputerSystem": BLOCK_COMPOSITION, "CompositionReservation": BLOCK_CHANGED}
"""What is told of each resource block that a document of this type names from now on, or not."""


def documents_told(entry: FeedEntry, type_of: Callable[[str], str | None]) -> Iterator[Told]:
    """Yield what one changed document, or what was laid over inventory, tells.

    `type_of` gives the type of inventory at a URI.
    """
    pre, post = _read(entry.pre), _read(entry.post)
    name = _type_name(post.odata_type or pre.odata_type) or type_of(entry.uri)
    gone = entry.op is FeedOp.DELETED
    more = _said_exactly(entry, name, pre, post)
    generic = Message(GENERIC[entry.op])
    yield Told(generic, entry.uri, name, specific=more is not None, gone=gone)
    if more is not None:
        yield Told(more, entry.uri, name, gone=gone)
    key = _OF_BLOCKS.get(name or "")
    for block in sorted(_blocks(pre) ^ _blocks(post)) if key is not None else ():
        yield Told(Message(key or "", (name_of(block),)), block, _BLOCK_TYPE)


def _said_exactly(
    entry: FeedEntry, name: str | None, pre: _Document, post: _Document
) -> Message | None:
    """Return what the registry that knows the type says of it."""
    if name == _BLOCK_TYPE and entry.op is FeedOp.CHANGED:
        return Message(BLOCK_CHANGED, (name_of(entry.uri),))
    found = in_fabric(name, entry.op, entry.uri)
    if found is None and name == "Zone" and _blocks(pre) != _blocks(post):
        return Message(MEMBERSHIP, (name_of(entry.uri),))
    return found


def _read(raw: bytes | None) -> _Document:
    if raw is None:
        return _NOTHING
    try:
        return _decode(raw)
    except msgspec.MsgspecError:
        # A stored document of odd shape (an import keeps what it finds): that it changed is told.
        return _NOTHING


def _blocks(document: _Document) -> set[str]:
    linked = [] if document.links is None else document.links.blocks
    return {each.uri for each in (*linked, *document.reserved) if each.uri}


def _type_name(odata_type: str) -> str | None:
    """Return "Zone" for "#Zone.v1_6_3.Zone"."""
    return odata_type.rpartition(".")[2] or None
