"""Turns one published schema into facts: no prose, references of ours, draft 2020-12 keywords.

Pure. An unknown keyword is an error: a bundle of the future must not lose facts in silence.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.redfish.schema_build.bundle import JsonObject
from redfish_fm.redfish.schema_build.errors import SchemaBuildError
from redfish_fm.redfish.schema_build.keywords import ALL_TYPES, COPIED, HANDLED, PROSE, RENAMED
from redfish_fm.redfish.schema_build.references import References


def facts(schema: Mapping[str, Any], references: References) -> JsonObject:
    """Return the facts of a schema and of all schemas in it. Raises SchemaBuildError."""
    result: JsonObject = {}
    for keyword, value in schema.items():
        if keyword in COPIED:
            result[keyword] = value
        elif keyword in RENAMED:
            result[RENAMED[keyword]] = value
        elif keyword == "$ref":
            result["$ref"] = references.convert(value)
        elif keyword in ("properties", "patternProperties"):
            result |= _members(keyword, value, references)
        elif keyword == "anyOf":
            # No alternatives at all is how an abstract type without heirs is published: unknown.
            result |= {"anyOf": [facts(each, references) for each in value]} if value else {}
        elif keyword in ("items", "additionalProperties"):
            result[keyword] = value if isinstance(value, bool) else facts(value, references)
        elif keyword not in PROSE and keyword not in HANDLED:
            raise SchemaBuildError(f"{references.file}: keyword {keyword} is not known")
    return result | _deprecation(schema) | _excerpt(schema)


def _members(keyword: str, members: Mapping[str, Any], references: References) -> JsonObject:
    converted = {name: _or_anything(facts(each, references)) for name, each in members.items()}
    return {keyword: converted} if converted else {}


def _or_anything(schema: JsonObject) -> JsonObject | bool:
    # The published schemas spell "anything" as the list of all types, once per object.
    kinds = schema.get("type")
    anything = len(schema) == 1 and isinstance(kinds, list) and ALL_TYPES.issubset(kinds)
    return True if anything else schema


def _deprecation(schema: Mapping[str, Any]) -> JsonObject:
    result: JsonObject = {}
    if "deprecated" in schema or "versionDeprecated" in schema:
        result["deprecated"] = True
    values = {
        name: schema.get("enumVersionDeprecated", {}).get(name, True)
        for name in {**schema.get("enumDeprecated", {}), **schema.get("enumVersionDeprecated", {})}
    }
    if values:
        result["x-enum-deprecated"] = values
    return result


def _excerpt(schema: Mapping[str, Any]) -> JsonObject:
    return {"x-excerpt": schema["excerpt"].split(",")} if "excerpt" in schema else {}
