"""What a client reads about actions: the Actions property, and the ActionInfo resources behind it.

Pure. Only actions that are carried out are advertised (DESIGN section 10).
"""

from typing import Any

import msgspec

from redfish_fm.redfish.catalog import ActionInfo, Catalog, TypeInfo
from redfish_fm.redfish.properties import Kind, PropertyInfo
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.view import Representation

_DATA_TYPES = {
    Kind.STRING: "String",
    Kind.ENUM: "String",
    Kind.INTEGER: "Number",
    Kind.NUMBER: "Number",
    Kind.BOOLEAN: "Boolean",
}


def actions_property(catalog: Catalog, info: TypeInfo, uri: str) -> dict[str, Any]:
    """Return the Actions of a resource at `uri` on which all supported actions can be asked for."""
    found: dict[str, Any] = {}
    for action in info.actions.values():
        if action.supported:
            place = found.setdefault("Oem", {}) if action.oem else found
            place[f"#{action.name}"] = {
                "target": f"{uri}/Actions/{action.path}",
                "@Redfish.ActionInfo": action_info_uri(catalog, action.name),
            }
    return found


def action_info_uri(catalog: Catalog, action: str) -> str:
    """Return where the parameters of an action are described, the same for every resource."""
    return catalog.action_info.replace("{Action}", action)


def actions_in(found: Representation, info: TypeInfo) -> frozenset[str]:
    """Return the paths of the actions of its type that a resource says it has."""
    named = msgspec.json.decode(found.body).get("Actions", {})
    makers = named.get("Oem", {})
    return frozenset(
        action.path
        for action in info.actions.values()
        if f"#{action.name}" in (makers if action.oem else named)
    )


def action_info_documents(catalog: Catalog) -> dict[str, dict[str, Any]]:
    """Return the ActionInfo of every action that is carried out, by URI."""
    found = {}
    for info in catalog.types.values():
        supported = {each.name: each for each in info.actions.values() if each.supported}
        for name, action in sorted(supported.items()):
            uri = action_info_uri(catalog, name)
            found[uri] = {
                "@odata.id": uri,
                "@odata.type": catalog.types["ActionInfo"].odata_type,
                "Id": name,
                "Name": f"Parameters of {name}",
                "Parameters": _parameters(catalog, action),
            }
    return found


def _parameters(catalog: Catalog, action: ActionInfo) -> list[dict[str, Any]]:
    return [
        {"Name": name, "Required": info.required, **_data_type(catalog, info)}
        for name, info in sorted(action.parameters.items())
    ]


def _data_type(catalog: Catalog, info: PropertyInfo) -> dict[str, Any]:
    if info.kind is Kind.ARRAY and info.items is not None:
        inner = _data_type(catalog, info.items)
        return {**inner, "DataType": f"{inner['DataType']}Array"}
    row: dict[str, Any] = {"DataType": _DATA_TYPES.get(info.kind, "Object")}
    if info.kind is Kind.ENUM:
        row["AllowableValues"] = sorted(info.enum)
    if info.minimum is not None:
        row["MinimumValue"] = info.minimum
    if info.maximum is not None:
        row["MaximumValue"] = info.maximum
    target = catalog.types.get(info.link_to or "")
    if target is not None:
        row["ObjectDataType"] = target.odata_type
    return row


class Advertised:
    """Lays the Actions of client-made resources over their representations; remembers the newest.

    The tags stay: what is laid over depends on nothing but the type and the URI.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._acting = frozenset(name for name, info in catalog.types.items() if info.row.actions)
        self._rendered: dict[str, Representation] = {}
        self._templates: dict[str, bytes] = {}

    def render(self, found: Representation) -> Representation:
        """Return `found` with the actions that can be asked for, or as it is without any."""
        if not found.origin.changeable or found.type_name not in self._acting:
            return found
        rendered = self._rendered.get(found.uri)
        if rendered is None or rendered.etag != found.etag:
            body = self._with_actions(found)
            rendered = Representation(
                found.uri, found.type_name, found.origin, found.wanted_tag, body, found.etag
            )
            if len(self._rendered) >= _RENDERED_MAX:
                self._rendered.clear()
            self._rendered[found.uri] = rendered
        return rendered

    def _with_actions(self, found: Representation) -> bytes:
        """Return the JSON object in the body with the actions as its last property."""
        actions = self._actions(found.type_name, found.uri)
        if b'"Actions"' not in found.body:
            # What clients made through us has none, so nothing needs to be read for it.
            return found.body[:-1] + b',"Actions":' + actions + b"}"
        document = msgspec.json.decode(found.body)
        own = document.get("Actions")
        if own == {}:
            # Made so that it has none: what its type can do, it can not.
            del document["Actions"]
        elif not isinstance(own, dict) or not any(name.startswith("#") for name in own):
            # What a resource says of its own actions is truer than what its type can do.
            document["Actions"] = msgspec.Raw(actions)
        return encode(document)

    def _actions(self, type_name: str, uri: str) -> bytes:
        """Return the JSON of Actions; only the URI differs between resources of one type."""
        template = self._templates.get(type_name)
        if template is None:
            info = self._catalog.types[type_name]
            template = encode(actions_property(self._catalog, info, _URI))
            self._templates[type_name] = template
        return template.replace(_URI.encode(), encode(uri)[1:-1])


_URI = "{uri}"
"""Stands for the URI in a template."""

_RENDERED_MAX = 1024
"""Enough for the zones that clients look at again and again; 2 kB each."""
