"""Which privileges a method on a type needs (DSP0266 "Privilege model"), from a table.

Reads schemas/privilege_map.json (the standard's map) and schemas/service.json (our additions).
Decides, and shows the map it decides by; knows no request.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from redfish_fm.redfish.uri_tree import UriTree

Alternatives = tuple[frozenset[str], ...]
"""Any one of these sets is enough; all privileges of that set are needed."""

_Operations = Mapping[str, Alternatives]
_RawOperations = Mapping[str, list[list[str]]]

_SELF = "ConfigureSelf"
_MAP = "OperationMap"
_SUBORDINATE = "SubordinateOverrides"
_PROPERTY = "PropertyOverrides"
_URI = "ResourceURIOverrides"
_OVERRIDES = (_PROPERTY, _SUBORDINATE, _URI)


class Privileges:
    """The privilege map. Immutable once made."""

    def __init__(self, published: Mapping[str, Any], own: Mapping[str, Any]) -> None:
        self.used: tuple[str, ...] = tuple(published["privileges"])
        also, at_uris = own["also"], own.get("at_uris", {})
        self._raw = {
            name: {
                **rules,
                _MAP: _joined(rules[_MAP], also.get(name, {})),
                **_overrides_at(rules, at_uris.get(name, [])),
            }
            for name, rules in published["entities"].items()
        }
        unknown = (also.keys() | at_uris.keys()) - self._raw.keys()
        if unknown:
            raise ValueError(f"service.json gives privileges for unknown types: {sorted(unknown)}")
        self._absent: _RawOperations = own["absent"]["map"]
        self._default = _operations(self._absent)
        self._map = {name: _operations(rules[_MAP]) for name, rules in self._raw.items()}
        self._subordinate = {
            name: [(tuple(row["Targets"]), _operations(row[_MAP])) for row in rules[_SUBORDINATE]]
            for name, rules in self._raw.items()
            if _SUBORDINATE in rules
        }
        self._uris: dict[str, UriTree[_Operations]] = {}
        for name, rules in self._raw.items():
            for row in rules.get(_URI, ()):
                for target in row["Targets"]:
                    tree = self._uris.setdefault(name, UriTree())
                    tree.plant(target.rstrip("/"), _operations(row[_MAP]))

    @classmethod
    def load(cls, directory: Path) -> "Privileges":
        """Read the two files in `directory`. Raises OSError, KeyError or ValueError."""
        published, service = (
            json.loads((directory / name).read_text("utf-8"))
            for name in ("privilege_map.json", "service.json")
        )
        return cls(published, service["privileges"])

    def overridden(self, type_name: str) -> bool:
        """Return whether the place of a resource of this type matters to `allows`."""
        return type_name in self._subordinate or type_name in self._uris

    def allows(
        self,
        type_name: str,
        method: str,
        granted: frozenset[str],
        *,
        own: bool = False,
        ancestors: tuple[str, ...] = (),
        uri: str = "",
    ) -> bool:
        """Return whether `granted` is enough for `method` on a resource of `type_name`.

        ConfigureSelf counts only where the resource is the user's `own`. `ancestors` are the
        types above the resource, outermost first; `uri` is where it is. Types absent from the
        map: reading needs Login, everything else ConfigureComponents.
        """
        needed = self._needed(type_name, method, ancestors, uri)
        if not own:
            granted = granted - {_SELF}
        return any(each <= granted for each in needed)

    def own_properties(self, type_name: str) -> frozenset[str]:
        """Return the properties of one's own resource that ConfigureSelf is enough to PATCH."""
        return frozenset(
            target
            for row in self._raw.get(type_name, {}).get(_PROPERTY, ())
            if [_SELF] in row[_MAP].get("PATCH", ())
            for target in row["Targets"]
        )

    def mappings(self, type_names: Iterable[str]) -> list[dict[str, Any]]:
        """Return the map as PrivilegeRegistry.Mappings, for these types and all published ones."""
        names = sorted(self._raw.keys() | set(type_names))
        return [
            {"Entity": name, **_published(self._raw.get(name, {_MAP: self._absent}))}
            for name in names
        ]

    def _needed(
        self, type_name: str, method: str, ancestors: tuple[str, ...], uri: str
    ) -> Alternatives:
        method = "GET" if method == "OPTIONS" else method
        for operations in self._overriding(type_name, ancestors, uri):
            if method in operations:
                return operations[method]
        operations = self._map.get(type_name, self._default)
        return operations.get(method, self._default.get(method, ()))

    def _overriding(
        self, type_name: str, ancestors: tuple[str, ...], uri: str
    ) -> Iterator[_Operations]:
        """Yield what stands before the type's own map: the URI's rule, then its surroundings'."""
        if type_name in self._uris:
            found = self._uris[type_name].match(uri)
            if found is not None:
                yield found[0]
        for targets, operations in self._subordinate.get(type_name, ()):
            if _stands_below(ancestors, targets):
                yield operations


def _stands_below(ancestors: tuple[str, ...], targets: tuple[str, ...]) -> bool:
    """Return whether all `targets` are among `ancestors`, in that order, others in between."""
    left = iter(ancestors)
    return all(target in left for target in targets)


def _joined(base: _RawOperations, also: _RawOperations) -> dict[str, list[list[str]]]:
    return {method: [*needed, *also.get(method, ())] for method, needed in base.items()}


def _overrides_at(rules: Mapping[str, Any], ours: list[Any]) -> dict[str, list[Any]]:
    """Return the ResourceURIOverrides of one type, ours among them; nothing where there is none."""
    rows = [*ours, *rules.get(_URI, ())]
    return {_URI: rows} if rows else {}


def _operations(raw: _RawOperations) -> dict[str, Alternatives]:
    return {
        method: tuple(frozenset(each) for each in alternatives)
        for method, alternatives in raw.items()
    }


def _published(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return one type's rules in the form of the PrivilegeRegistry schema."""
    result: dict[str, Any] = {_MAP: _wrapped(rules[_MAP])}
    for kind in _OVERRIDES:
        if kind in rules:
            result[kind] = [
                {"Targets": row["Targets"], _MAP: _wrapped(row[_MAP])} for row in rules[kind]
            ]
    return result


def _wrapped(operations: _RawOperations) -> dict[str, list[dict[str, list[str]]]]:
    return {
        method: [{"Privilege": list(each)} for each in alternatives]
        for method, alternatives in operations.items()
    }
