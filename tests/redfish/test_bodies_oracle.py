"""Folded tables against jsonschema: for generated bodies both name the same wrong properties.

Bodies are made from the request schemas, some of them spoiled, for every type there is: whole,
as a POST, as a PATCH of either origin, as an action's parameters.
"""

import functools
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from redfish_fm.redfish.bodies import check_action, check_create, check_patch
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.properties import Kind, PropertyInfo
from redfish_fm.redfish.values import PropertyVoice, ValueCheck
from tests.redfish.builders import CATALOG
from tests.redfish.request_schemas import RequestSchemas, Schema, resources, verdict

POSTING, PATCHING = RequestSchemas(patching=False), RequestSchemas(patching=True)
CREATABLE = sorted(name for name, info in CATALOG.types.items() if info.create)
WRITABLE = sorted(name for name, info in CATALOG.types.items() if info.writable_here)
OVERLAID = sorted(name for name, info in CATALOG.types.items() if info.overlay_here)
ACTING = sorted(
    (name, action)
    for name, info in CATALOG.types.items()
    for action in info.actions
    # The oracle has the standard's schemas, which say nothing of actions of our own.
    if not action.startswith("Oem/")
)

STRINGS = (
    "", "x", "a b", "/redfish/v1/Chassis/1", "http://192.0.2.1/x", "a%zz", "0x1AF4", "0xZZ",
    "P1DT2H", "2024-01-02T03:04:05Z", "2024-01-02T03:04:05+01:00", "2024-01-02", "192.0.2.1",
    "00:11:22:33:44:55", "6a1b9c52-1f2e-4d3c-8b4a-000000000001", "1.0.0", "00-11", "é",
)  # fmt: skip
SPOILS = (
    None, True, -3, 10**7, 1.5, 1.0, "", "x", "Nonsense", [], [None], [{}], [[]], {}, {"Bogus": 1},
    {"@odata.id": "x"}, {"@odata.id": 1}, {"@odata.id": "/x", "Name": "n"}, {"@odata.type": 5},
)  # fmt: skip
VALUES = (
    None, "x", "a b", "0x1AF4", "2024-01-02T03:04:05Z", 1, -1, 10**7, 1.5, True, [], ["x"], [-1],
    {}, {"@odata.id": "/x"},
)  # fmt: skip
DEPTH_MAX = 4


class Maker:
    """Makes one value for a schema; about one in ten is something else."""

    def __init__(self, draw: Any, schemas: RequestSchemas) -> None:
        self._draw = draw
        self._schemas = schemas

    def value(self, schema: Any, depth: int = 0) -> Any:
        """Return a value that fits `schema`, or one that probably does not."""
        if depth and self._chance(10):
            return self._one(SPOILS)
        if schema is True or "not" in schema:
            return self._one(SPOILS)
        if "$ref" in schema:
            return self.value(self._schemas.definition(schema["$ref"]), depth)
        if "if" in schema:
            return self.value(schema["then" if self._chance(4) else "else"], depth)
        if "enum" in schema:
            return self._one(schema["enum"])
        kind = schema.get("type", "string")
        return self._of(self._one(kind) if isinstance(kind, list) else kind, schema, depth)

    def _of(self, kind: str, schema: Schema, depth: int) -> Any:
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                count = 0 if depth > DEPTH_MAX else self._number(0, 2)
                return [self.value(schema["items"], depth + 1) for _ in range(count)]
            case "integer":
                return self._one((0, 1, -1, 40, 70000, schema.get("minimum", 5)))
            case "number":
                return self._one((0, 0.5, -1, 101, schema.get("maximum", 5)))
            case "boolean":
                return self._one((True, False))
            case "null":
                return None
            case _:
                return self._one(STRINGS)

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        rows = schema.get("properties", {})
        names = sorted(rows)
        # What may be set comes first: it is drawn more often than what is refused anyway.
        names.sort(key=lambda name: "not" in (rows[name] if isinstance(rows[name], dict) else {}))
        allowed = [name for name in names if rows[name] != {"not": {}}]
        count = 0 if depth > DEPTH_MAX else self._number(0, 4)
        made = {}
        for _ in range(count):
            pool = allowed if allowed and not self._chance(5) else names
            if pool:
                name = self._one(pool)
                made[name] = self.value(rows[name], depth + 1)
        for name in schema.get("x-required", ()):
            if not self._chance(5):
                made[name] = self.value(rows[name], depth)
        for pattern in schema.get("patternProperties", {}):
            if self._chance(8):
                row = schema["patternProperties"][pattern]
                made[self._one(("Contoso", "X-Key", "9", "a:b"))] = self.value(row, depth + 1)
        if self._chance(12):
            made[self._one(("Bogus", "a/b~", "Name@odata.x", "@Redfish.Settings"))] = 1
        if made.get("Name") == "":
            made["Name"] = "x"  # an empty name is refused by us, not by the schemas
        return made

    def _one(self, choices: Any) -> Any:
        return choices[self._number(0, len(choices) - 1)]

    def _number(self, low: int, high: int) -> int:
        found: int = self._draw(st.integers(low, high))
        return found

    def _chance(self, of: int) -> bool:
        return self._number(1, of) == of


def named(found: list[Message]) -> set[str]:
    return {pointer for message in found for pointer in message.related}


def missing(required: frozenset[str], body: Mapping[str, Any]) -> set[str]:
    """Return the pointers of required properties that are not there, or empty."""
    found = set()
    for path in required:
        value: Any = body
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value is None or value == []:
            found.add("#/" + path.replace(".", "/"))
    return found


def no_id(body: Mapping[str, Any]) -> set[str]:
    """Return the pointer of an Id that no URI could end with; the schemas do not say it."""
    wished = body.get("Id")
    fits = not isinstance(wished, str) or re.fullmatch("[A-Za-z0-9._~-]{1,128}", wished)
    return set() if fits else {"#/Id"}


def require(schema: Schema, path: list[str]) -> None:
    """Mark what a body is mostly to have, so that enough of them are good."""
    schema.setdefault("x-required", []).append(path[0])
    if path[1:]:
        require(schema["properties"][path[0]], path[1:])


@functools.cache
def validator(mode: str, name: str, action: str = "") -> tuple[Schema, Any]:
    """Return request schema and validator of one mode and type."""
    info = CATALOG.types[name]
    if mode == "whole":
        schema = POSTING.whole(name)
    elif mode == "create":
        assert info.create is not None
        schema = POSTING.only(name, info.create.required | info.create.optional)
        for path in sorted(info.create.required):
            require(schema, path.split("."))
    elif mode == "action":
        schema = POSTING.request(resources()[name], action.rpartition(".")[2])
    else:
        schema = PATCHING.only(name, info.writable_here if mode == "wanted" else info.overlay_here)
    return schema, schemas_of(mode).validator(schema)


def schemas_of(mode: str) -> RequestSchemas:
    return PATCHING if mode in ("wanted", "overlay") else POSTING


def ours(mode: str, name: str, action: str, body: dict[str, Any]) -> set[str]:
    info = CATALOG.types[name]
    match mode:
        case "create":
            return named(check_create(info, body))
        case "wanted" | "overlay":
            return named(check_patch(info, body, wanted=mode == "wanted"))
        case "action":
            return named(check_action(info.actions[action], body))
        case _:
            check = ValueCheck(PropertyVoice(), patching=False)
            check.value(PropertyInfo(Kind.OBJECT, object=info.object), body, "", "#")
            return named(check.told)


def theirs(mode: str, name: str, action: str, body: dict[str, Any]) -> set[str]:
    _, judge = validator(mode, name, action)
    found = verdict(judge, body)
    if mode == "create":
        table = CATALOG.types[name].create
        assert table is not None
        found |= missing(table.required, body)
        found |= no_id(body)
    if mode == "action":
        # Our table asks for more than the schema does.
        limits = CATALOG.types[name].row.values.get(action, {})
        found |= {f"#/{each}" for each, values in limits.items() if _other(body, each, values)}
    return found


def _other(body: Mapping[str, Any], name: str, values: frozenset[str]) -> bool:
    given = body.get(name)
    return not isinstance(given, str) or given not in values


CASES = st.one_of(
    st.tuples(st.just("whole"), st.sampled_from(sorted(CATALOG.types)), st.just("")),
    st.tuples(st.just("create"), st.sampled_from(CREATABLE), st.just("")),
    st.tuples(st.just("wanted"), st.sampled_from(WRITABLE), st.just("")),
    st.tuples(st.just("overlay"), st.sampled_from(OVERLAID), st.just("")),
    st.sampled_from(ACTING).map(lambda row: ("action", *row)),
)


def test_both_verdicts_name_the_same_properties() -> None:
    verdicts: Counter[tuple[str, bool]] = Counter()

    @settings(max_examples=700)
    @given(CASES, st.data())
    def compare(case: tuple[str, str, str], data: st.DataObject) -> None:
        mode, name, action = case
        schema, _ = validator(mode, name, action)
        body = Maker(data.draw, schemas_of(mode)).value(schema)
        expected = theirs(mode, name, action, body)
        verdicts[mode, not expected] += 1
        assert ours(mode, name, action, body) == expected, (mode, name, action, body)

    compare()
    for mode in ("whole", "create", "wanted", "overlay", "action"):
        assert verdicts[mode, True] > 5, verdicts
        assert verdicts[mode, False] > 5, verdicts


def test_one_body_of_every_type_is_judged_alike() -> None:
    """Every property of every type once with each kind of value: wrong for most, right for some."""
    for name, info in CATALOG.types.items():
        _, judge = validator("whole", name)
        for value in VALUES:
            body = dict.fromkeys(info.properties, value)
            check = ValueCheck(PropertyVoice(), patching=False)
            check.value(PropertyInfo(Kind.OBJECT, object=info.object), body, "", "#")
            assert named(check.told) == verdict(judge, body), (name, value)
