"""The requests in a manifest's stanzas: checked and cleaned as if each came alone. Pure.

Manifest.v1_1_2 leaves open what a stanza's Request holds; its StanzaType says which resource that
is, and that resource's own POST says what it may name. What a stanza means is judged elsewhere.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.bodies import check_create, limited
from redfish_fm.redfish.catalog import Catalog, TypeInfo
from redfish_fm.redfish.cleaning import cleaned
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.values import pointer_to, quoted

MADE = {
    "ComposeSystem": "ComputerSystem",
    "ComposeResource": "ResourceBlock",
    "RegisterResourceBlock": "ResourceBlock",
}
"""StanzaType -> the type of resource that its Request is like."""
REFERENCES = frozenset({"DecomposeSystem", "DecomposeResource"})
"""StanzaTypes whose Request refers to a resource."""
STANZAS_MAX = 64
"""In one manifest: they are judged together, in one step that nobody interrupts."""
PLACE = "#/Manifest/Stanzas"


def check_stanzas(catalog: Catalog, body: Mapping[str, Any]) -> list[Message]:
    """Return what is wrong with the stanzas of a body whose form is otherwise good."""
    stanzas = (body.get("Manifest") or {}).get("Stanzas")
    if stanzas is None:
        return []
    if not 0 < len(stanzas) <= STANZAS_MAX:
        told = messages.property_value_out_of_range
        return [told(f"{len(stanzas)} members", "Stanzas", PLACE)]
    found: list[Message] = []
    known: set[str] = set()
    for position, stanza in enumerate(stanzas):
        place = f"{PLACE}/{position}"
        if stanza is None:
            found.append(messages.property_value_type_error("null", "Stanzas", place))
            continue
        found += _check_stanza(catalog, stanza, place)
        name = stanza.get("StanzaId")
        if name is not None and name in known:
            found.append(messages.property_value_incorrect("StanzaId", name, f"{place}/StanzaId"))
        known.add(name or "")
    return limited(found)


def _check_stanza(catalog: Catalog, stanza: Mapping[str, Any], place: str) -> list[Message]:
    kind, request = stanza.get("StanzaType"), stanza.get("Request")
    found = [
        messages.property_missing(name, f"{place}/{name}")
        for name in ("StanzaType", "Request")
        if stanza.get(name) is None
    ]
    if found:
        return found
    here = f"{place}/Request"
    if kind in REFERENCES:
        return _check_reference(request, here)
    if kind in MADE:
        info = catalog.types[MADE[kind]]
        return [] if info.create is None else moved(check_create(info, request or {}), here)
    return [messages.property_value_not_in_list(str(kind), "StanzaType", f"{place}/StanzaType")]


def _check_reference(request: Any, place: str) -> list[Message]:
    uri, where = request.get("@odata.id"), pointer_to(place, "@odata.id")
    if uri is None:
        return [messages.property_missing("@odata.id", where)]
    if not isinstance(uri, str):
        return [messages.property_value_type_error(quoted(uri), "@odata.id", where)]
    return [
        messages.property_unknown(name, pointer_to(place, name))
        for name in request
        if "@odata." not in name
    ]


def moved(told: list[Message], place: str) -> list[Message]:
    """Return messages about one request with the pointers that they have in the whole body."""
    return [
        replace(each, related=tuple(place + pointer.removeprefix("#") for pointer in each.related))
        for each in told
    ]


def cleaned_stanzas(catalog: Catalog, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body, found good, with what is kept of the requests; no response of a client's."""
    manifest = body.get("Manifest")
    if not manifest or not manifest.get("Stanzas"):
        return dict(body)
    stanzas = [_cleaned(catalog.types, stanza) for stanza in manifest["Stanzas"]]
    return {**body, "Manifest": {**manifest, "Stanzas": stanzas}}


def _cleaned(types: Mapping[str, TypeInfo], stanza: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in stanza.items() if name != "Response"}
    kind = stanza["StanzaType"]
    if kind in MADE:
        kept["Request"] = cleaned(types[MADE[kind]].properties, stanza["Request"])
    else:
        kept["Request"] = {"@odata.id": stanza["Request"]["@odata.id"].rstrip("/")}
    return kept
