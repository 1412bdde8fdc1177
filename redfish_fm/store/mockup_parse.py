"""Text of a mockup's files to JSON documents, forgiving what can be forgiven.

Pure: bytes in, a document and its defects out. Knows JSON and encodings, not Redfish.
"""

import codecs
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

DEPTH_MAX = 100
"""Nesting of real documents stays below 20; deeper ones would exhaust recursive readers."""


class DefectKind(Enum):
    """What is wrong; each kind is one row of a report."""

    REFUSED = "refused"
    """A file that was not read: too large, a link out of the tree, damaged."""
    ENCODING = "encoding"
    """Not plain UTF-8; read all the same."""
    SYNTAX = "syntax"
    """Not JSON; the document is left out."""
    DUPLICATE_NAME = "duplicate-name"
    """One property twice in an object; the last one counts."""
    MISSING_ID = "missing-id"
    """No @odata.id where one belongs."""
    WRONG_ID = "wrong-id"
    """An @odata.id that is not the file's place; the place counts."""
    DUPLICATE_ID = "duplicate-id"
    """One @odata.id in two documents, or one member twice in a collection."""
    FOREIGN_PREFIX = "foreign-prefix"
    """A reference that does not begin with the service root's URI."""
    DANGLING = "dangling"
    """A reference to a resource, or a place in one, that the mockup does not have."""
    COUNT = "count"
    """A count that is absent, no integer, or not the number of elements."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing wrong in one file. Lines and columns count from 1; None where a pointer is meant.

    `file` is relative to the mockup's root; `pointer` a JSON pointer, "" for the whole document.
    """

    kind: DefectKind
    file: str
    pointer: str
    line: int | None
    column: int | None
    text: str

    def __str__(self) -> str:
        place = f":{self.line}:{self.column}" if self.line is not None else f"#{self.pointer}"
        return f"{self.file}{place}: {self.text}"


@dataclass(slots=True)
class Parsed:
    """A document (None where there is none to be had) and what was wrong with its text."""

    document: dict[str, Any] | None = None
    defects: list[Defect] = field(default_factory=list)


def parse_document(file: str, content: bytes) -> Parsed:
    """Return the JSON object in `content`. Never raises."""
    parsed = Parsed()
    text = _decoded(file, content, parsed.defects)
    repeated: list[str] = []
    try:
        value = json.loads(text, object_pairs_hook=_Pairs(repeated), parse_constant=_no_constant)
        fault = _unusable(value)
        if fault is not None:
            raise ValueError(fault)
    except json.JSONDecodeError as error:
        parsed.defects.append(
            Defect(DefectKind.SYNTAX, file, "", error.lineno, error.colno, error.msg)
        )
    except (ValueError, RecursionError) as error:
        parsed.defects.append(Defect(DefectKind.SYNTAX, file, "", 1, 1, str(error)))
    else:
        parsed.document = value
        parsed.defects += [
            Defect(DefectKind.DUPLICATE_NAME, file, "", None, None, f"property {name!r} twice")
            for name in repeated
        ]
    return parsed


def objects(document: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every JSON object in `document` with its JSON pointer, outermost first, in order."""
    stack = [("", document)]
    while stack:
        pointer, value = stack.pop()
        if isinstance(value, dict):
            yield pointer, value
        children = _children(value)
        stack += [(f"{pointer}/{escaped(key)}", child) for key, child in reversed(children)]


def resolve(document: Any, pointer: str) -> bool:
    """Return whether the JSON pointer leads to something in `document`."""
    if pointer and not pointer.startswith("/"):
        return False
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and key in document:
            document = document[key]
        elif isinstance(document, list) and key.isascii() and key.isdigit():
            if int(key[:9]) >= len(document):
                return False
            document = document[int(key)]
        else:
            return False
    return True


class _Pairs:
    """Makes objects of pairs and notes the names that come twice."""

    def __init__(self, repeated: list[str]) -> None:
        self._repeated = repeated

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            self._repeated += [name for name, count in counts.items() if count > 1]
        return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _decoded(file: str, content: bytes, defects: list[Defect]) -> str:
    encoding = json.detect_encoding(content)
    if encoding != "utf-8":
        text = f"encoded as {encoding}; UTF-8 without a mark is expected"
        defects.append(Defect(DefectKind.ENCODING, file, "", 1, 1, text))
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        text = f"byte 0x{content[error.start]:02x} is not UTF-8; read as Latin-1"
        defects.append(Defect(DefectKind.ENCODING, file, "", line, column, text))
        return content.removeprefix(codecs.BOM_UTF8).decode("latin-1")


def _unusable(value: Any) -> str | None:
    """Return why `value` is no document that can be served, or None."""
    if not isinstance(value, dict):
        return "not a JSON object"
    level: list[Any] = [value]
    for _ in range(DEPTH_MAX):
        level = [child for each in level for _, child in _children(each)]
    if level:
        return f"nested deeper than {DEPTH_MAX}"
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair: no Unicode text"
    return None


def _children(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def escaped(key: object) -> str:
    """Return `key` as one token of a JSON pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")
