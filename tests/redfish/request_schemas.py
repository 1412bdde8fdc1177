"""Request schemas: what a body may hold, derived from schemas/types as JSON Schema.

The oracle of redfish.bodies, which decides by folded tables. Made from the files alone, by other
code than the catalog's, and evaluated by jsonschema. `verdict` gives the pointers that are wrong.
"""

import functools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from redfish_fm.resources import schemas_dir

Schema = dict[str, Any]

ANNOTATIONS: Schema = {
    r"@odata\.": True,
    r"^@odata\.(id|type|etag|context)\Z": {"type": "string"},
}
LINK: Schema = {
    "type": "object",
    "properties": {"@odata.id": {"type": "string", "pattern": "^/"}},
    "patternProperties": ANNOTATIONS,
    "additionalProperties": False,
    "required": ["@odata.id"],
}
REFUSED: Schema = {"not": {}}
_ANNOTATION = r"^([a-zA-Z_]"

formats = FormatChecker(())


@formats.checks("date-time")
def is_date_time(value: object) -> bool:
    """Date, time with seconds, zone."""
    if not isinstance(value, str):
        return True
    date, _, time = value.partition("T")
    zone = re.fullmatch(r"([0-9:.]+)(Z|[+-][0-9]{2}:[0-9]{2})", time)
    return (
        re.fullmatch(r"[0-9]{4}(-[0-9]{2}){2}", date) is not None
        and zone is not None
        and re.fullmatch(r"[0-9]{2}(:[0-9]{2}){2}(\.[0-9]+)?", zone[1]) is not None
    )


@formats.checks("uri-reference")
def is_uri_reference(value: object) -> bool:
    """The characters that RFC 3986 allows, percent signs before two hexadecimal digits."""
    if not isinstance(value, str):
        return True
    plain = re.sub("%[0-9A-Fa-f]{2}", "", value)
    marks = "-._~:/?#[]@!$&'()*+,;="
    return all((each.isascii() and each.isalnum()) or each in marks for each in plain)


def _is_integer(_: object, value: object) -> bool:
    # JSON Schema takes 1.0 for an integer; this service does not.
    return isinstance(value, int) and not isinstance(value, bool)


Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


@functools.cache
def published(file: str) -> Schema:
    """Return a file of schemas/types."""
    read: Schema = json.loads((schemas_dir() / "types" / f"{file}.json").read_text("utf-8"))
    return read


@functools.cache
def resources() -> dict[str, str]:
    """Return the file of every resource type."""
    names = sorted(path.stem for path in (schemas_dir() / "types").glob("*.json"))
    return {name: file for file in names for name in published(file).get("x-resources", {})}


class RequestSchemas:
    """Derives schemas; `patching`: null removes a link, null and {} are elements of an array."""

    def __init__(self, patching: bool) -> None:
        self.patching = patching
        self.registry: Registry[Any] = Registry(retrieve=self._retrieve)  # type: ignore[call-arg]
        self._derived: dict[str, Schema] = {}

    def whole(self, type_name: str) -> Schema:
        """Everything the type knows, whoever may set it."""
        return {"$ref": f"{resources()[type_name]}.json#/$defs/{type_name}"}

    def only(self, type_name: str, paths: Iterable[str]) -> Schema:
        """The type with nothing but the dotted `paths` allowed."""
        file = resources()[type_name]
        return self._only(file, published(file)["$defs"][type_name], frozenset(paths), "")

    def request(self, file: str, action: str) -> Schema:
        """The parameters of an action; links may be given as strings."""
        definition = published(file)["$defs"].get(f"{action}RequestBody", {"type": "object"})
        derived = self.derive(file, definition)
        for name, row in derived.get("properties", {}).items():
            if self._is_link(file, definition["properties"][name]):
                bare = {"if": {"type": "string"}, "then": {"pattern": "^/"}, "else": row}
                derived["properties"][name] = bare
        derived["required"] = definition.get("required", [])
        derived.setdefault("additionalProperties", False)
        derived["patternProperties"] = ANNOTATIONS
        return derived

    def definition(self, reference: str) -> Schema:
        """Return the derived definition behind an absolute reference."""
        file, _, name = reference.partition(".json#/$defs/")
        return dict(self._file(file)[name])

    def validator(self, schema: Schema) -> Any:
        """Return a validator for a schema made here."""
        return Validator(schema, registry=self.registry, format_checker=formats)

    def derive(self, file: str, schema: Any, in_place: bool = False) -> Any:
        """Return `schema` as a request may follow it: nothing required, no annotations."""
        if not isinstance(schema, dict):
            return schema
        in_place = in_place or "x-auto-expand" in schema or "x-excerpt-copy" in schema
        if "anyOf" in schema:
            return self._alternatives(file, schema["anyOf"], in_place)
        if "$ref" in schema:
            return self._reference(file, schema["$ref"], in_place)
        kept = {key: schema[key] for key in ("type", "enum", "format") if key in schema}
        if "array" not in kept.get("type", ()):
            kept |= {key: schema[key] for key in ("minimum", "maximum") if key in schema}
        if "pattern" in schema:
            kept["pattern"] = schema["pattern"]
        if "items" in schema:
            items = self.derive(file, schema["items"], in_place)
            if self.patching:
                items = {"if": {"enum": [None, {}]}, "then": True, "else": items}
            kept["items"] = items
        return kept | self._members(file, schema)

    def _members(self, file: str, schema: Schema) -> Schema:
        kept: Schema = {}
        if "properties" in schema or "patternProperties" in schema:
            kept["properties"] = {
                name: self.derive(file, row)
                for name, row in schema.get("properties", {}).items()
                if "@" not in name
            }
            kept["patternProperties"] = ANNOTATIONS | {
                _anchored(pattern.replace(r"\\s", r"\s")): self.derive(file, row)
                for pattern, row in schema.get("patternProperties", {}).items()
                if not pattern.startswith(_ANNOTATION)
            }
        if "additionalProperties" in schema:
            kept["additionalProperties"] = schema["additionalProperties"]
        return kept

    def _alternatives(self, file: str, alternatives: list[Schema], in_place: bool) -> Any:
        others = [each for each in alternatives if each != {"type": "null"}]
        derived = self.derive(file, others[0], in_place) if len(others) == 1 else self._link()
        if len(others) == len(alternatives):
            return derived
        return {"if": {"type": "null"}, "then": True, "else": derived}

    def _reference(self, file: str, reference: str, in_place: bool) -> Any:
        if reference == "odata-v4.json#/$defs/idRef":
            return self._link()
        other, _, name = reference.partition("#/$defs/")
        file = other.removesuffix(".json") or file
        if name.endswith("-link"):
            target = name.removesuffix("-link")
            if target in resources() and not in_place:
                return self._link()
            whole = {"$ref": f"{file}.json#/$defs/{target}"}
            named = {"type": "object", "required": ["@odata.id"]}
            either = {"if": {"type": "object"}, "then": {"if": named, "then": LINK, "else": whole},
                      "else": LINK}  # fmt: skip
            return self._null_removes(either)
        if (file, name) == ("Resource", "Oem"):
            makers = ["object", "null"] if self.patching else ["object"]
            free = self._free()
            return {**free, "type": "object", "additionalProperties": {**free, "type": makers}}
        if not name:
            return {"type": "object"}
        return {"$ref": f"{file}.json#/$defs/{name}"}

    def _free(self) -> Schema:
        """Anything; what looks like an annotation of an object is a string."""
        text = ["string", "null"] if self.patching else ["string"]
        named = {name: {"type": text} if name.startswith("^") else True for name in ANNOTATIONS}
        below = {"$ref": "oem.json#/$defs/free"}
        self._derived["oem"] = {
            "free": {"patternProperties": named, "additionalProperties": below, "items": below}
        }
        return {**self._derived["oem"]["free"]}

    def _link(self) -> Schema:
        return self._null_removes(LINK)

    def _null_removes(self, schema: Schema) -> Schema:
        if not self.patching:
            return schema
        return {"if": {"type": "null"}, "then": True, "else": schema}

    def _is_link(self, file: str, row: Schema) -> bool:
        return "-link" in row.get("$ref", "") or row.get("$ref", "").endswith("/idRef")

    def _only(self, file: str, definition: Schema, paths: frozenset[str], above: str) -> Schema:
        properties = {}
        for name, row in definition["properties"].items():
            path = f"{above}{name}"
            if "@" in name:
                continue
            if path in paths:
                properties[name] = self.derive(file, row)
            elif any(each.startswith(f"{path}.") for each in paths):
                properties[name] = self._only(*self._object(file, row), paths, f"{path}.")
            else:
                properties[name] = REFUSED
        return {
            "type": "object",
            "properties": properties,
            "patternProperties": ANNOTATIONS,
            "additionalProperties": False,
        }

    def _object(self, file: str, row: Schema) -> tuple[str, Schema]:
        reference = row.get("$ref") or next(each["$ref"] for each in row["anyOf"] if "$ref" in each)
        other, _, name = reference.partition("#/$defs/")
        file = other.removesuffix(".json") or file
        return file, published(file)["$defs"][name]

    def _file(self, file: str) -> Schema:
        if file not in self._derived:
            definitions = published(file).get("$defs", {})
            self._derived[file] = {
                name: self.derive(file, each) for name, each in definitions.items()
            }
        return self._derived[file]

    def _retrieve(self, uri: str) -> Resource[Any]:
        contents = {"$defs": self._file(uri.removesuffix(".json"))}
        return Resource.from_contents(contents, default_specification=DRAFT202012)


def _anchored(pattern: str) -> str:
    # Annotations are never names by pattern, whatever else a pattern lets through.
    return pattern if pattern.startswith("^") else rf"^(?!.*@odata\.)(?=.*{pattern})"


def verdict(validator: Any, body: object) -> set[str]:
    """Return the JSON pointers of everything in `body` that the schema does not allow."""
    return {pointer for error in validator.iter_errors(body) for pointer in _pointers(error)}


def _pointers(error: Any) -> Iterator[str]:
    place = "#" + "".join(f"/{_escaped(each)}" for each in error.absolute_path)
    if error.validator == "additionalProperties":
        known, patterns = error.schema["properties"], error.schema.get("patternProperties", {})
        for name in error.instance:
            if name not in known and not any(re.search(each, name) for each in patterns):
                yield f"{place}/{_escaped(name)}"
    elif error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance:
                yield f"{place}/{_escaped(name)}"
    else:
        yield place


def _escaped(name: object) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
