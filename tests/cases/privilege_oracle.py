"""What the published privilege map says, evaluated once more, without redfish/privileges.py.

Reads schemas/privilege_map.json and the URIs in schemas/types; our additions stand here as DESIGN
section 9 words them, not as schemas/service.json has them.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from redfish_fm.resources import schemas_dir

READING = frozenset({"GET", "HEAD", "OPTIONS"})
ROLES = {
    "Administrator": "Login ConfigureManager ConfigureUsers ConfigureComponents ConfigureSelf",
    "Operator": "Login ConfigureComponents ConfigureSelf",
    "ReadOnly": "Login ConfigureSelf",
}
"""DSP0266 "Roles"."""


@cache
def entities() -> dict[str, Any]:
    """Return the map by type."""
    found: dict[str, Any] = json.loads((schemas_dir() / "privilege_map.json").read_text())
    return found["entities"]  # type: ignore[no-any-return]


@cache
def templates() -> dict[str, tuple[str, ...]]:
    """Return the URI templates of every type."""
    found = {}
    for path in sorted((schemas_dir() / "types").glob("*.json")):
        for name, facts in json.loads(path.read_text()).get("x-resources", {}).items():
            uris = (*facts.get("uris", ()), *facts.get("uris_deprecated", ()))
            found[name] = tuple(dict.fromkeys(uri.rstrip("/") for uri in uris))
    return found


def bare(template: str) -> str:
    """Return a template without the names of what varies."""
    return re.sub(r"\{[^}]*\}", "{}", template)


@cache
def _types_at() -> dict[str, str]:
    return {bare(uri): name for name, uris in templates().items() for uri in uris}


@cache
def above(template: str) -> tuple[str, ...]:
    """Return the types that stand above a template, outermost first."""
    parts, places = bare(template).split("/"), _types_at()
    prefixes = ("/".join(parts[:end]) for end in range(2, len(parts)))
    return tuple(places[each] for each in prefixes if each in places)


AUDIT_LOG = re.compile(r"/redfish/v1/Managers/[^/]+/LogServices/AuditLog/Entries(/[^/]+)?")
"""Who did what is read by those who answer for the service or its users."""


def needed(type_name: str, method: str, template: str, uri: str = "") -> list[list[str]]:
    """Return the alternatives of which one must be held."""
    if method in READING and AUDIT_LOG.fullmatch(uri):
        return [["ConfigureManager"], ["ConfigureUsers"]]
    method = "GET" if method == "OPTIONS" else method
    entity = entities().get(type_name)
    if entity is None:
        return [["Login"]] if method in READING else [["ConfigureComponents"]]
    for row in entity.get("SubordinateOverrides", ()):
        applies = _in_order(row["Targets"], above(template))
        if applies and method in row["OperationMap"]:
            return row["OperationMap"][method]  # type: ignore[no-any-return]
    found = [list(each) for each in entity["OperationMap"][method]]
    if (type_name, method) == ("CompositionService", "POST"):
        found.append(["ConfigureComponents"])
    if type_name in ("CompositionReservation", "Task") and method == "DELETE":
        found.append(["ConfigureComponents", "ConfigureSelf"])
    return found


def may(
    privileges: Iterable[str],
    type_name: str,
    method: str,
    template: str,
    *,
    own: bool = False,
    uri: str = "",
) -> bool:
    """Return whether `privileges` are enough; ConfigureSelf is worth something for `own` only."""
    held = set(privileges) if own else set(privileges) - {"ConfigureSelf"}
    return any(held >= set(each) for each in needed(type_name, method, template, uri))


def _in_order(targets: list[str], ancestors: tuple[str, ...]) -> bool:
    found = " ".join(ancestors)
    wanted = r"\b.*\b".join(map(re.escape, targets))
    return re.search(rf"\b{wanted}\b", found) is not None
