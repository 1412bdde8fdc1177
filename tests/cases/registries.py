"""Whether an error body is what a generic client can read, by the registries the service lists."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redfish_fm.redfish.requests import Response
from redfish_fm.resources import schemas_dir
from tests.cases.stack import ROOT, Stack

SEVERITIES = {"OK", "Warning", "Critical"}


@dataclass(frozen=True)
class Listed:
    """One registry under /Registries: how many arguments each of its messages takes."""

    version: str
    arguments: dict[str, int]


async def listed(stack: Stack) -> dict[str, Listed]:
    """Return the registries that the service lists, by prefix.

    Its own by what it serves; the standard ones, which it only refers to, by the committed facts.
    """
    found = {}
    for member in (await stack.get(f"{ROOT}/Registries"))["Members"]:
        file = await stack.get(member["@odata.id"])
        prefix, _, version = file["Registry"].partition(".")
        (location,) = file["Location"]
        if "Uri" in location:
            rows = (await stack.get(location["Uri"]))["Messages"]
            arguments = {key: row["NumberOfArgs"] for key, row in rows.items()}
        else:
            arguments = _facts(schemas_dir() / "registries" / f"{prefix}.json")
        found[prefix] = Listed(version, arguments)
    return found


def _facts(path: Path) -> dict[str, int]:
    rows = json.loads(path.read_text())["messages"]
    return {key: len(row.get("ParamTypes", ())) for key, row in rows.items()}


def check_error_body(response: Response, registries: dict[str, Listed]) -> None:
    """Check the shape of a refusal, and that each message is one its registry has."""
    assert response.status >= 400
    assert response.headers["Content-Type"] == "application/json"
    assert "Location" not in response.headers
    body = json.loads(response.body)
    assert list(body) == ["error"]
    error = body["error"]
    assert isinstance(error["code"], str)
    assert isinstance(error["message"], str)
    entries = error["@Message.ExtendedInfo"]
    assert isinstance(entries, list)
    assert entries
    for entry in entries:
        check_entry(entry, registries)


def check_entry(entry: dict[str, Any], registries: dict[str, Listed]) -> None:
    prefix, major, minor, key = entry["MessageId"].split(".")
    registry = registries[prefix]
    assert registry.version.startswith(f"{major}.{minor}."), entry
    assert len(entry["MessageArgs"]) == registry.arguments[key], entry
    assert all(isinstance(each, str) for each in entry["MessageArgs"]), entry
    assert "%" not in entry["Message"].replace("%".join(entry["MessageArgs"]), ""), entry
    assert entry["Message"], entry
    assert entry["Resolution"], entry
    assert entry["Severity"] == entry["MessageSeverity"], entry
    assert entry["MessageSeverity"] in SEVERITIES, entry
