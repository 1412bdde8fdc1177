"""$select: from the text to the properties it names, and a resource cut down to them. Pure.

Paths are relative to the asked resource ("Status/State") and lead on into arrays and into what
$expand put in place of a link ("Links/Endpoints/Name"). A name that a resource does not have is
simply absent from the answer: what is asked for is a subset (DSP0266 "$select").
"""

import re
from collections.abc import Mapping
from typing import Any

Selection = Mapping[str, Any]
"""Property -> None where all of it is wanted, else the Selection below it. Never empty."""

ALWAYS = frozenset({"@odata.context", "@odata.etag", "@odata.id", "@odata.type"})
"""What every resource and link keeps, with its value unchanged (DSP0266 "$select")."""

_NAME = re.compile(r"[A-Za-z0-9_@#.:-]+")
_PATH = rf" *{_NAME.pattern}(/{_NAME.pattern})* *"
PATTERN = f"{_PATH}(,{_PATH})*"
"""What `parse_select` takes, for the OpenAPI document."""


def parse_select(text: str) -> Selection | None:
    """Return the selection a $select value describes, or None where it is malformed.

    Blanks around commas do not matter. A property named whole wins over a path into it.
    """
    selection: dict[str, Any] = {}
    for clause in text.split(","):
        *path, last = clause.strip(" ").split("/")
        if not all(_NAME.fullmatch(name) for name in (*path, last)):
            return None
        place: dict[str, Any] | None = selection
        for name in path:
            place = None if place is None else place.setdefault(name, {})
        if place is not None:
            place[last] = None
    return selection


def selected(resource: Mapping[str, Any], selection: Selection) -> dict[str, Any]:
    """Return the selected part of a resource, or of an object in one.

    A property named whole keeps its annotations ("Members@odata.count" goes with "Members").
    """
    found: dict[str, Any] = {}
    for name, value in resource.items():
        key = name if name in selection else name.partition("@")[0]
        if name in ALWAYS or (key in selection and selection[key] is None):
            found[name] = value
        elif name in selection and isinstance(value, dict | list):
            found[name] = _inside(value, selection[name])
    return found


def selected_collection(collection: Mapping[str, Any], selection: Selection) -> dict[str, Any]:
    """Return the selected part of a collection whose members were expanded.

    The selection means the members, which stay with their count and next link
    (`$select=UUID&$expand=.` is the standard's own example); where it has a path "Members/…",
    only that one means the members. The collection's own properties follow it too.
    """
    found = selected(collection, {**selection, "Members": None})
    below = selection.get("Members", selection)
    if below is not None:
        found["Members"] = _inside(found["Members"], below)
    return found


def _inside(value: Any, selection: Selection) -> Any:
    if isinstance(value, dict):
        return selected(value, selection)
    return [_inside(each, selection) for each in value if isinstance(each, dict | list)]
