"""Which privileges a method on a type needs (DSP0266 "Privilege model"), from a table.

Reads schemas/privileges.json: the standard's map for the types served, and our additions
("own": alternatives open to the owner of a resource). Decides; knows no request.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Alternatives = tuple[frozenset[str], ...]
"""Any one of these sets is enough; all privileges of that set are needed."""

_SELF = "ConfigureSelf"


class Privileges:
    """The privilege map. Immutable once made."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._map = {name: _operations(operations) for name, operations in raw["map"].items()}
        self._default = _operations(raw["default"])
        self._own = {name: _operations(operations) for name, operations in raw["own"].items()}
        self._overrides = {
            name: [(tuple(row["targets"]), _operations(row["map"])) for row in rows]
            for name, rows in raw["overrides"].items()
        }

    @classmethod
    def load(cls, directory: Path) -> "Privileges":
        """Read privileges.json in `directory`. Raises OSError, KeyError or ValueError."""
        return cls(json.loads((directory / "privileges.json").read_text("utf-8")))

    def overridden(self, type_name: str) -> bool:
        """Return whether the types above a resource of this type matter to `allows`."""
        return type_name in self._overrides

    def allows(
        self,
        type_name: str,
        method: str,
        granted: frozenset[str],
        *,
        own: bool = False,
        ancestors: tuple[str, ...] = (),
    ) -> bool:
        """Return whether `granted` is enough for `method` on a resource of `type_name`.

        ConfigureSelf counts only where the resource is the user's `own`. `ancestors` are the
        types above the resource, outermost first. Types absent from the map: reading needs Login,
        everything else ConfigureComponents.
        """
        needed = self._needed(type_name, method, ancestors)
        if own:
            needed += self._own.get(type_name, {}).get(method, ())
        else:
            granted = granted - {_SELF}
        return any(each <= granted for each in needed)

    def _needed(self, type_name: str, method: str, ancestors: tuple[str, ...]) -> Alternatives:
        method = "GET" if method == "OPTIONS" else method
        for targets, operations in self._overrides.get(type_name, ()):
            if method in operations and _stands_below(ancestors, targets):
                return operations[method]
        operations = self._map.get(type_name, self._default)
        return operations.get(method, self._default.get(method, ()))


def _stands_below(ancestors: tuple[str, ...], targets: tuple[str, ...]) -> bool:
    """Return whether all `targets` are among `ancestors`, in that order, others in between."""
    left = iter(ancestors)
    return all(target in left for target in targets)


def _operations(raw: Mapping[str, list[list[str]]]) -> dict[str, Alternatives]:
    return {
        method: tuple(frozenset(each) for each in alternatives)
        for method, alternatives in raw.items()
    }
