"""Actions: what a published action definition says about its body and its answer.

Pure. Published schemas describe the action's object in a resource (target, title) and, beside
it, the parameters; ours give the request body a schema of its own.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.redfish.schema_build.bundle import JsonObject
from redfish_fm.redfish.schema_build.errors import SchemaBuildError
from redfish_fm.redfish.schema_build.facts import facts
from redfish_fm.redfish.schema_build.references import References

ACTION_FILE = "redfish-action"

_SHAPE = ("additionalProperties", "patternProperties", "properties", "type")


def is_action(definition: Mapping[str, Any]) -> bool:
    """Whether a published definition is that of an action."""
    return "parameters" in definition


def action_facts(
    name: str, definition: Mapping[str, Any], references: References
) -> dict[str, JsonObject]:
    """Return the definitions that an action becomes: itself and its request body."""
    if set(definition["properties"]) != {"target", "title"}:
        raise SchemaBuildError(f"{references.file}: action {name} is not of the usual shape")
    plain = facts(definition, references)
    action = {keyword: value for keyword, value in plain.items() if keyword not in _SHAPE}
    action["$ref"] = f"{ACTION_FILE}.json"
    action["x-request"] = {"$ref": f"#/$defs/{name}RequestBody"}
    if "actionResponse" in definition:
        action["x-response"] = facts(definition["actionResponse"], references)
    return {name: action, f"{name}RequestBody": _body(definition, references)}


def action_file(definition: Mapping[str, Any], references: References) -> JsonObject:
    """Return what all actions share in a resource: target, title and annotations."""
    plain = facts(definition, references)
    return {keyword: plain[keyword] for keyword in _SHAPE}


def _body(definition: Mapping[str, Any], references: References) -> JsonObject:
    parameters = definition["parameters"]
    plain = facts(
        {**{key: definition[key] for key in _SHAPE}, "properties": parameters}, references
    )
    required = [name for name, each in parameters.items() if each.get("requiredParameter")]
    return plain | ({"required": required} if required else {})
