"""How our JSON files are laid out: short enough to read, one fact per line where it counts.

Pure and deterministic: equal values give equal text. Objects keep the order they are given in.
"""

import json
from typing import Any

WIDTH = 100

_RANK = {
    word: rank
    for rank, word in enumerate(
        ("$schema", "$id", "$ref", "type", "format", "enum", "pattern", "minimum", "maximum")
    )
}
_LAST = ("properties", "patternProperties", "additionalProperties", "required")


def schema_order(value: Any, names: bool = False) -> Any:
    """Return `value` with keywords in reading order and names (of properties …) sorted."""
    if isinstance(value, list):
        return [schema_order(each) for each in value]
    if not isinstance(value, dict):
        return value
    keys = sorted(value) if names else sorted(value, key=_keyword_rank)
    return {key: schema_order(value[key], not names and _holds_names(key)) for key in keys}


def _holds_names(keyword: str) -> bool:
    return keyword in ("properties", "patternProperties", "$defs", "x-versions", "x-resources")


def _keyword_rank(keyword: str) -> tuple[int, int, str]:
    if keyword == "$defs":
        return 3, 0, keyword
    if keyword in _LAST:
        return 2, _LAST.index(keyword), keyword
    return (0, _RANK[keyword], keyword) if keyword in _RANK else (1, 0, keyword)


def dumps(value: Any) -> str:
    """Return `value` as JSON text: what fits in a line stands in one, the rest is broken up."""
    return _render(value, 0, 0) + "\n"


def _render(value: Any, indent: int, before: int) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or indent + before + len(line) < WIDTH:
        return line
    pad = " " * (indent + 1)
    if isinstance(value, list):
        rows = [_render(each, indent + 1, 0) for each in value]
        opened, closed = "[]"
    else:
        labels = {key: f"{json.dumps(key, ensure_ascii=False)}: " for key in value}
        rows = [
            labels[key] + _render(each, indent + 1, len(labels[key])) for key, each in value.items()
        ]
        opened, closed = "{}"
    return f"{opened}\n" + ",\n".join(pad + row for row in rows) + f"\n{' ' * indent}{closed}"
