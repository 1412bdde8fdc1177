"""Redfish Service Validator: the whole tree of a service against the CSDL."""

import re
import subprocess
import threading
from pathlib import Path

from tests.conformance.findings import Finding, Report
from tests.conformance.packs import tool
from tests.conformance.processes import ToolFailed, tool_environment
from tests.e2e.service import PASSWORD, USER

TIMEOUT_S = 900.0
_TOTALS = re.compile(r"^\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s*$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_RECORD = re.compile(r"^[-\d]+ [:,\d]+ - redfish - (\w+) - (.*)$")
_VISIT = re.compile(r"^Validating (\S+)\.\.\.$")
_TASK_STATE = re.compile(r"^PASS - /TaskState \((\w+)\)")
_LEVELS = {"WARNING": "WARN", "ERROR": "FAIL"}


def validate(url: str, csdl: Path, place: Path) -> Report:
    """Run the validator; `place` is a folder of its own. Raises ToolFailed."""
    place.mkdir(parents=True)
    output = _output(
        [
            tool("rf_service_validator"),
            *("--skipschema", "--schema_directory", str(csdl), "--logdir", str(place)),
            *("--rhost", url, "--user", USER, "--password", PASSWORD, "--authtype", "Session"),
        ],
        place,
    )
    logs = list(place.glob("*/RedfishServiceValidatorDebug_*.log"))
    if len(logs) != 1:
        raise ToolFailed(f"no log of the service validator: {output[-500:]}")
    return read(output, logs[0].read_text(encoding="utf-8"))


def _output(command: list[str], place: Path) -> str:
    """Return what a validator prints up to its totals, and end it there.

    All is judged and logged by then; the spreadsheet that it writes next, which nobody reads
    here, takes four times as long as everything before.
    """
    lines: list[str] = []
    with subprocess.Popen(
        command,
        cwd=place,
        env={**tool_environment(), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        watchdog = threading.Timer(TIMEOUT_S, process.kill)
        watchdog.start()
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if _TOTALS.search(_COLOUR.sub("", line)):
                break
        watchdog.cancel()
        process.kill()
    return "".join(lines)


def read(output: str, log: str) -> Report:
    """Return what the validator's output and debug log say. Raises ToolFailed without totals."""
    totals = _TOTALS.search(_COLOUR.sub("", output))
    if totals is None:
        raise ToolFailed(f"the service validator gave no totals: {output[-500:]}")
    findings: list[Finding] = []
    visited: set[str] = set()
    states: set[str] = set()
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
        elif state := _TASK_STATE.match(text):
            states.add(state.group(1))
    counts = map(int, totals.groups())
    return Report(*counts, tuple(findings), frozenset(visited), frozenset(states))
