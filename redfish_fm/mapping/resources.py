"""How a client-made resource becomes a document, and a changed document becomes an edit.

Pure. Knows the form of resources (Id, Name, @odata.*), not what any type means.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Tip
from redfish_fm.mapping.links import strip_inverse
from redfish_fm.mapping.types import ODATA_TYPES
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.patch import merge
from redfish_fm.redfish.values import is_id

SERVICE_MADE = frozenset({"Status", "Actions", "Id", "Name"})
"""Top-level names of a POST body that are not taken over as they stand."""


def stored(tip: Tip, uri: str) -> Mapping[str, Any]:
    """Return the document at `uri`; raises RedfishError 404 where there is none."""
    document = tip.document(uri)
    if document is None:
        raise refusals.missing(uri)
    return document


def new_document(
    type_name: str, collection: str, body: Mapping[str, Any], tip: Tip
) -> tuple[str, dict[str, Any]]:
    """Return URI and document of a resource to create from a POST body.

    A free Id of the client's is honoured. Raises RedfishError 400 for an Id that is no URI
    segment, 409 for one that is taken or still under change.
    """
    refused = id_refusal(type_name, collection, body, tip)
    if refused is not None:
        raise refused
    return wished_document(type_name, collection, body, tip)


def wished_document(
    type_name: str, collection: str, body: Mapping[str, Any], tip: Tip
) -> tuple[str, dict[str, Any]]:
    """Return URI and document of what a POST body wishes for, whoever has its Id."""
    wished = body.get("Id")
    resource_id = _free_id(collection, tip) if wished is None else str(wished)
    uri = f"{collection}/{resource_id}"
    document: dict[str, Any] = {
        "@odata.id": uri,
        "@odata.type": ODATA_TYPES[type_name],
        "Id": resource_id,
        "Name": body.get("Name") or f"{type_name} {resource_id}",
    }
    for name, value in strip_inverse(type_name, body).items():
        if name not in SERVICE_MADE and not name.startswith("@odata."):
            document[name] = without_trailing_slashes(value)
    return uri, document


def id_refusal(
    type_name: str, collection: str, body: Mapping[str, Any], tip: Tip
) -> RedfishError | None:
    """Return why a new resource can not have the Id that a POST body wishes for, if it can not."""
    wished = body.get("Id")
    if wished is None:
        return None
    if not isinstance(wished, str) or not is_id(wished):
        told = messages.property_value_format_error(str(wished), "Id", "#/Id")
        return refusals.bad_content(told)
    if tip.exists(f"{collection}/{wished}"):
        return refusals.already_exists(type_name, wished)
    # Deleted, but its operation may still have something to take back from that URI.
    task = tip.busy(f"{collection}/{wished}")
    return None if task is None else refusals.busy(task)


def _free_id(collection: str, tip: Tip) -> str:
    # A client may have taken the very Id that the sequence number gives.
    n, candidate = 0, tip.next_id
    while tip.exists(f"{collection}/{candidate}"):
        n += 1
        candidate = tip.new_id(n)
    return candidate


def without_trailing_slashes(value: Any) -> Any:
    """Return a copy in which every @odata.id of a link has the service's own spelling."""
    if isinstance(value, str):
        return value  # most values are; to ask an abstract class about them takes long
    if isinstance(value, dict | Mapping):
        return {
            name: (inner.rstrip("/") if name == "@odata.id" else inner)
            if isinstance(inner, str)
            else without_trailing_slashes(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_trailing_slashes(inner) for inner in value]
    return value


def patched(type_name: str, before: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document after a PATCH; annotations and derived links in it are ignored."""
    wishes = {name: value for name, value in body.items() if not name.startswith("@odata.")}
    wishes = without_trailing_slashes(strip_inverse(type_name, wishes))
    return merge(dict(before), wishes)


def document_edit(tip: Tip, uri: str, document: Mapping[str, Any] | None) -> Edit:
    """Return the edit that stores `document` at `uri`; None deletes it."""
    post = None if document is None else msgspec.json.encode(document)
    return Edit(Space.DOCUMENT, uri, tip.wanted(uri), post)
