"""Message registries and the privilege registry as facts.

Pure. Knows the keywords of both; texts are left behind, ours stand in schemas/texts.json.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.redfish.schema_build.bundle import JsonObject
from redfish_fm.redfish.schema_build.errors import SchemaBuildError

PREFIXES = (
    "Base",
    "Composition",
    "Fabric",
    "HeartbeatEvent",
    "LogService",
    "Platform",
    "ResourceEvent",
    "StorageDevice",
    "TaskEvent",
    "Telemetry",
)
"""The registries the service publishes or reads."""

_FACTS = (
    "NumberOfArgs",
    "ParamTypes",
    "Severity",
    "MessageSeverity",
    "ClearingLogic",
    "MapsToGeneralMessages",
    "VersionAdded",
    "VersionDeprecated",
)
_PROSE = frozenset(
    {
        "Description",
        "LongDescription",
        "Message",
        "Resolution",
        "ArgDescriptions",
        "ArgLongDescriptions",
        "Deprecated",
        "Oem",
    }
)
_OVERRIDES = ("SubordinateOverrides", "PropertyOverrides", "ResourceURIOverrides")


def registry_file(registry: Mapping[str, Any]) -> JsonObject:
    """Return the facts of a message registry. Raises SchemaBuildError for an unknown keyword."""
    prefix = registry["RegistryPrefix"]
    return {
        "prefix": prefix,
        "version": registry["RegistryVersion"],
        "release": registry.get("Release"),
        "owner": registry["OwningEntity"],
        "messages": {
            key: _message(f"{prefix}.{key}", message)
            for key, message in sorted(registry["Messages"].items())
        },
    }


def _message(key: str, message: Mapping[str, Any]) -> JsonObject:
    unknown = message.keys() - set(_FACTS) - _PROSE
    if unknown:
        raise SchemaBuildError(f"{key}: {', '.join(sorted(unknown))} is not known")
    if len(message.get("ParamTypes", ())) != message["NumberOfArgs"]:
        raise SchemaBuildError(f"{key}: NumberOfArgs and ParamTypes disagree")
    return {fact: message[fact] for fact in _FACTS if fact in message}


def privilege_file(registry: Mapping[str, Any]) -> JsonObject:
    """Return the privilege map: entity -> operation -> alternatives, each a list to have all of."""
    return {
        "id": registry["Id"],
        "privileges": registry["PrivilegesUsed"],
        "entities": {
            mapping["Entity"]: _mapping(mapping)
            for mapping in sorted(registry["Mappings"], key=lambda each: str(each["Entity"]))
        },
    }


def _mapping(mapping: Mapping[str, Any]) -> JsonObject:
    unknown = mapping.keys() - {"Entity", "OperationMap", *_OVERRIDES}
    if unknown:
        raise SchemaBuildError(f"{mapping['Entity']}: {', '.join(sorted(unknown))} is not known")
    result: JsonObject = {"OperationMap": _operations(mapping["OperationMap"])}
    for kind in _OVERRIDES:
        if kind in mapping:
            result[kind] = [
                {"Targets": each["Targets"], "OperationMap": _operations(each["OperationMap"])}
                for each in mapping[kind]
            ]
    return result


def _operations(operations: Mapping[str, Any]) -> JsonObject:
    return {
        verb: [alternative["Privilege"] for alternative in alternatives]
        for verb, alternatives in sorted(operations.items())
    }
