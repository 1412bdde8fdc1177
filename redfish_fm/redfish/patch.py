"""How a PATCH body changes a document (DSP0266 "PATCH (update)": objects and arrays).

Pure. Objects merge property by property; null removes. In an array null removes an element, {}
keeps the one at its place, an object merges into it, a shorter array truncates, a longer appends.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def merge(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return `document` as `patch` makes it; both stay as they are."""
    merged = dict(document)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _value(merged.get(name), value)
    return merged


def _value(before: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        return merge(before if isinstance(before, Mapping) else {}, value)
    if isinstance(value, list):
        return _array(before if isinstance(before, list) else [], value)
    return value


def _array(before: Sequence[Any], patch: Sequence[Any]) -> list[Any]:
    after: list[Any] = []
    for position, value in enumerate(patch):
        old = before[position] if position < len(before) else None
        if value is None:
            continue
        if value == {} and isinstance(value, Mapping):
            if old is not None:
                after.append(old)
        else:
            after.append(_value(old, value))
    return after
