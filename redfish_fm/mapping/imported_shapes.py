"""Documents of a mockup with objects and lists only where the schemas have them.

Pure. Everything that reads documents later may rely on it: a link is an object, a list is a list,
what has a text or number is neither. Whether a text should be a number is not looked at: such
values are served as they were recorded. Redfish: the types of redfish.catalog.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from redfish_fm.mapping.domain import type_name
from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.redfish.catalog import Catalog, TypeInfo
from redfish_fm.redfish.properties import Kind, ObjectInfo, PropertyInfo

_FREE = frozenset({Kind.ANY, Kind.OEM, Kind.MIXED})
_ID = "@odata.id"
_TYPE = "@odata.type"
_LINKS = "Links"
"""Derived links are put there whatever the type, so it is an object or absent."""


def well_shaped(
    documents: Mapping[str, Mapping[str, Any]], catalog: Catalog
) -> tuple[dict[str, dict[str, Any]], list[Finding]]:
    """Return the documents by URI, without what can not stand where it stands, and what that was.

    What is wrong is told FINDINGS_MAX times at most; it is left out all the same.
    """
    shaped: dict[str, dict[str, Any]] = {}
    findings: list[Finding] = []
    for uri, document in documents.items():
        shaper = _Shaper(uri, findings)
        info, document = _typed(uri, document, catalog, shaper)
        if not isinstance(document.get(_LINKS, {}), dict):
            shaper.tell(f"/{_LINKS}", document[_LINKS], "an object")
            document = {name: value for name, value in document.items() if name != _LINKS}
        kept = document if info is None else shaper.object(document, info.object, "")
        shaped[uri] = dict(kept)
    return shaped, findings


FINDINGS_MAX = 10_000
"""More than anybody reads; a hostile tree could have millions."""


def _typed(
    uri: str, document: Mapping[str, Any], catalog: Catalog, shaper: "_Shaper"
) -> tuple[TypeInfo | None, Mapping[str, Any]]:
    """Return what is known of the document's type; an unknown one at a known place is replaced."""
    info, told = catalog.types.get(type_name(document)), document.get(_TYPE)
    expected = catalog.type_of(uri) if info is None else None
    if expected is not None:
        text = f"{told!r} is no type; {expected.name} is assumed"
        shaper.note(FindingKind.TYPE, f"/{_TYPE}", text)
        return expected, {**document, _TYPE: expected.odata_type}
    if info is None and not isinstance(told, str):
        shaper.note(FindingKind.TYPE, "", "no @odata.type, and none is known for this place")
    return info, document


class _Gone(Enum):
    """Stands for a value that is left out."""

    GONE = "gone"


class _Shaper:
    """Goes through one document. What is right is returned as the same object."""

    def __init__(self, uri: str, findings: list[Finding]) -> None:
        self._uri = uri
        self._findings = findings

    def tell(self, pointer: str, value: object, wanted: str) -> None:
        """Note a value that is left out."""
        self.note(FindingKind.SHAPE, pointer, f"{_named(value)} where {wanted} belongs; left out")

    def note(self, kind: FindingKind, pointer: str, text: str) -> None:
        """Note something."""
        if len(self._findings) < FINDINGS_MAX:
            self._findings.append(Finding(kind, self._uri, text, pointer))

    def object(self, value: Mapping[str, Any], info: ObjectInfo, pointer: str) -> Mapping[str, Any]:
        """Return the object without what is wrong in it."""
        changed = {
            name: shaped
            for name, inner in value.items()
            if (shaped := self._value(inner, info.find(name), pointer, name)) is not inner
        }
        if not changed:
            return value
        result = {**value, **changed}
        return {name: inner for name, inner in result.items() if inner is not _Gone.GONE}

    def _value(self, value: Any, info: PropertyInfo | None, above: str, name: str | int) -> Any:
        if info is None or value is None:
            return value
        # Compared one by one: an Enum's hash is made in Python, and this is asked of every value.
        kind = info.kind
        if kind is Kind.ARRAY:
            return self._array(value, info, f"{above}/{_token(name)}")
        if kind is Kind.LINK or kind is Kind.OBJECT:
            return self._link_or_object(value, info, f"{above}/{_token(name)}")
        if not isinstance(value, dict | list) or kind in _FREE:
            return value
        pointer = f"{above}/{_token(name)}"
        self.tell(pointer, value, "a single value")
        return _Gone.GONE

    def _array(self, value: Any, info: PropertyInfo, pointer: str) -> Any:
        if not isinstance(value, list):
            self.tell(pointer, value, "a list")
            return _Gone.GONE
        shaped = [self._value(each, info.items, pointer, place) for place, each in enumerate(value)]
        if all(new is old for new, old in zip(shaped, value, strict=True)):
            return value
        return [each for each in shaped if each is not _Gone.GONE]

    def _link_or_object(self, value: Any, info: PropertyInfo, pointer: str) -> Any:
        if info.kind is Kind.LINK and isinstance(value, str) and value.startswith("/"):
            self.note(FindingKind.SHAPE, pointer, "a text where a link belongs; read as a link")
            return {_ID: value}
        if not isinstance(value, dict):
            self.tell(pointer, value, "an object")
            return _Gone.GONE
        if not isinstance(value.get(_ID, ""), str):
            self.tell(f"{pointer}/{_ID}", value[_ID], "a URI")
            value = {name: inner for name, inner in value.items() if name != _ID}
        if info.kind is Kind.OBJECT and info.object is not None:
            return self.object(value, info.object, pointer)
        return value


def _token(name: str | int) -> str:
    return name.replace("~", "~0").replace("/", "~1") if isinstance(name, str) else str(name)


def _named(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case None:
            return "null"
        case _:
            return "a number"
