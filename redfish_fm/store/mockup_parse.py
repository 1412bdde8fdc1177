"""Text of a mockup's files to JSON documents, forgiving what can be forgiven.

Pure: bytes in, a document and its defects out. Knows JSON and encodings, not Redfish.
"""

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

DEPTH_MAX = 100
"""Nesting of real documents stays below 20; deeper ones would exhaust recursive readers."""
VALUES_MAX = 500_000
"""Values in one document: a value costs up to 100 bytes of memory, however short its text."""
_INTEGERS = range(-(2**63), 2**64)
"""What a client with 64 bits can hold, and what our own JSON encoder writes."""


class Severity(Enum):
    """How bad a defect is."""

    ERROR = "error"
    """Something of the mockup is not served."""
    WARNING = "warning"
    """Wrong, and served all the same: as it is, or put right."""
    NOTE = "note"
    """Nothing wrong with the files; what was assumed where they say nothing."""


class DefectKind(Enum):
    """What is wrong; each kind is one row of docs/mockups.md."""

    REFUSED = "refused"
    """A file that was not read: too large, a link out of the tree, damaged."""
    ENCODING = "encoding"
    """Not plain UTF-8; read all the same."""
    SYNTAX = "syntax"
    """Not JSON, or no document; it is left out."""
    NUMBER = "number"
    """NaN, infinite, or beyond 64 bits; null stands in its place."""
    DUPLICATE_NAME = "duplicate-name"
    """One property twice in an object; the last one counts."""
    MISSING_ID = "missing-id"
    """No @odata.id where one belongs."""
    WRONG_ID = "wrong-id"
    """An @odata.id that is not the file's place; the place counts."""
    DUPLICATE_ID = "duplicate-id"
    """One @odata.id in two documents, or one member twice in a collection."""
    OTHER_ID = "other-id"
    """An Id of a collection's member that is not the last segment of its URI."""
    FOREIGN_PREFIX = "foreign-prefix"
    """A reference that does not begin with the service root's URI."""
    DANGLING = "dangling"
    """A reference to a resource, or a place in one, that the mockup does not have."""
    COUNT = "count"
    """A count that is absent, no integer, or not the number of elements."""
    HEADER = "header"
    """A headers.json, or one header in it, that can not be sent."""
    UNLISTED = "unlisted"
    """So much is wrong that not all of it is listed."""

    @property
    def severity(self) -> Severity:
        """How bad defects of this kind are."""
        return Severity.ERROR if self in _ERRORS else Severity.WARNING


_ERRORS = frozenset({DefectKind.REFUSED, DefectKind.SYNTAX})


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
    pairs = _Pairs()
    try:
        if text.count(",") + text.count("[") + text.count("{") > VALUES_MAX:
            raise _Unusable(f"more than {VALUES_MAX} values")
        value = json.loads(text, object_pairs_hook=pairs)
        wild = _check_usable(value, text)
    except json.JSONDecodeError as error:
        parsed.defects.append(_at(file, error.lineno, error.colno, error.msg))
    except _Unusable as error:
        parsed.defects.append(_at(file, *_line_and_column(text, error.place), str(error)))
    except RecursionError:
        place = _too_deep_at(text)
        parsed.defects.append(_at(file, *_line_and_column(text, place), _TOO_DEEP))
    except ValueError:  # Python's own limit on digits (PYTHONINTMAXSTRDIGITS)
        place = _outside_strings(text, r"\d{4000}")
        told = "an integer of thousands of digits"
        parsed.defects.append(_at(file, *_line_and_column(text, place), told))
    else:
        parsed.document = value
        parsed.defects += _named_twice(file, value, pairs.repeated)
        if wild:
            parsed.defects += _without_wild_numbers(file, value)
    return parsed


def objects(document: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every JSON object in `document` with its JSON pointer, outermost first, in order."""
    for pointer, value in _containers(document):
        if isinstance(value, dict):
            yield pointer, value


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


def escaped(key: object) -> str:
    """Return `key` as one token of a JSON pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")


class _Unusable(ValueError):
    """Valid JSON, and yet no document that can be served; `place` is an index into the text."""

    def __init__(self, told: str, place: int = 0) -> None:
        super().__init__(told)
        self.place = place


_TOO_DEEP = f"nested deeper than {DEPTH_MAX}"


class _Pairs:
    """Makes objects of pairs and keeps those in which a name comes twice, with these names."""

    def __init__(self) -> None:
        self.repeated: list[tuple[dict[str, Any], list[str]]] = []

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.repeated.append((made, [name for name, count in counts.items() if count > 1]))
        return made


def _named_twice(
    file: str, document: Any, repeated: list[tuple[dict[str, Any], list[str]]]
) -> Iterator[Defect]:
    if not repeated:
        return
    found = {id(made): names for made, names in repeated}
    for pointer, value in objects(document):
        for name in found.get(id(value), ()):
            place = f"{pointer}/{escaped(name)}"
            text = f"property {name!r} twice"
            yield Defect(DefectKind.DUPLICATE_NAME, file, place, None, None, text)


def _without_wild_numbers(file: str, document: Any) -> Iterator[Defect]:
    """Put null where a number is that no client can read, and say so."""
    for pointer, container in _containers(document):
        for key, value in _children(container):
            if type(value) in _NUMBERS and not _is_readable(value):
                container[key] = None
                text = "no number that clients can read; null is served"
                place = f"{pointer}/{escaped(key)}"
                yield Defect(DefectKind.NUMBER, file, place, None, None, text)


def _is_readable(number: int | float) -> bool:
    return number in _INTEGERS if isinstance(number, int) else math.isfinite(number)


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


def _check_usable(value: Any, text: str) -> bool:
    """Return whether numbers are in it that no client can read.

    Raises _Unusable where `value` is no document that can be served.
    """
    if not isinstance(value, dict):
        raise _Unusable("not a JSON object")
    wild = False
    level: list[Any] = [value]
    for _ in range(DEPTH_MAX):
        below: list[Any] = []
        for each in level:
            for child in each.values() if isinstance(each, dict) else each:
                if isinstance(child, dict | list):
                    below.append(child)
                elif type(child) in _NUMBERS and not _is_readable(child):
                    wild = True
        level = below
        if not level:
            break
    else:
        raise _Unusable(_TOO_DEEP, _too_deep_at(text))
    half = _HALF.search(text)
    if half is not None:  # of a pair, perhaps: only then is it worth encoding all to know
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise _Unusable("half of a surrogate pair: no Unicode text", half.start()) from error
    return wild


_NUMBERS = (int, float)
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def _containers(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield every object and array with its JSON pointer, outermost first, in order."""
    stack = [("", document)]
    while stack:
        pointer, value = stack.pop()
        yield pointer, value
        stack += [
            (f"{pointer}/{escaped(key)}", child)
            for key, child in reversed(_children(value))
            if isinstance(child, dict | list)
        ]


def _children(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


_STRING = r'"(?:[^"\\]|\\.)*"'


def _outside_strings(text: str, pattern: str) -> int:
    """Return where `pattern` first is outside of string literals; 0 where it is not."""
    for found in re.finditer(f"{_STRING}|({pattern})", text, re.DOTALL):
        if found[1] is not None:
            return found.start()
    return 0


def _too_deep_at(text: str) -> int:
    depth = 0
    for found in re.finditer(rf"{_STRING}|([\[{{])|([\]}}])", text, re.DOTALL):
        depth += (found[1] is not None) - (found[2] is not None)
        if depth > DEPTH_MAX:
            return found.start()
    return 0


def _line_and_column(text: str, place: int) -> tuple[int, int]:
    return text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)


def _at(file: str, line: int, column: int, text: str) -> Defect:
    return Defect(DefectKind.SYNTAX, file, "", line, column, text)
