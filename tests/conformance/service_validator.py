"""Redfish Service Validator: the whole tree of a service against the CSDL."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.findings import Finding, Report
from tests.conformance.packs import tool
from tests.conformance.processes import ToolFailed, tool_environment
from tests.e2e.service import PASSWORD, USER

TIMEOUT_S = 1800.0
_TOTALS = re.compile(r"^\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s*$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_RECORD = re.compile(r"^[-\d]+ [:,\d]+ - redfish - (\w+) - (.*)$")
_VISIT = re.compile(r"^Validating (\S+)\.\.\.$")
_LEVELS = {"WARNING": "WARN", "ERROR": "FAIL"}


def validate(url: str, csdl: Path, place: Path, limits: Sequence[str] = ()) -> Report:
    """Run the validator; `place` is a folder of its own. Raises ToolFailed.

    `limits`: types and how many members of their collections are read, as LogEntry, 20.
    """
    place.mkdir(parents=True)
    command = [
        tool("rf_service_validator"),
        *("--skipschema", "--schema_directory", str(csdl), "--logdir", str(place)),
        *("--rhost", url, "--user", USER, "--password", PASSWORD, "--authtype", "Session"),
        *(("--collectionlimit", *limits) if limits else ()),
    ]
    done = subprocess.run(
        command,
        cwd=place,
        env=tool_environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    logs = list(place.glob("*/RedfishServiceValidatorDebug_*.log"))
    if len(logs) != 1:
        raise ToolFailed(f"no log of the service validator: {done.stdout[-500:]}{done.stderr}")
    return read(done.stdout, logs[0].read_text(encoding="utf-8"))


def read(output: str, log: str) -> Report:
    """Return what the validator's output and debug log say. Raises ToolFailed without totals."""
    totals = _TOTALS.search(_COLOUR.sub("", output))
    if totals is None:
        raise ToolFailed(f"the service validator gave no totals: {output[-500:]}")
    findings: list[Finding] = []
    visited: set[str] = set()
    uri = ""
    for line in log.splitlines():
        record = _RECORD.match(line)
        if record is None:
            continue
        level, text = record.groups()
        visit = _VISIT.match(text)
        if visit is not None:
            uri = visit.group(1)
            visited.add(uri)
        elif level in _LEVELS:
            found = _LEVELS[level]
            findings.append(Finding(found, uri, text.removeprefix(f"{found} - ")))
    passed, warned, failed, untested = map(int, totals.groups())
    return Report(passed, warned, failed, untested, tuple(findings), frozenset(visited))
