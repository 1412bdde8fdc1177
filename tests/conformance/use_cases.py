"""Redfish Use Case Checkers: what clients come for, done step by step."""

import re
import subprocess
from pathlib import Path

from tests.conformance.findings import Finding, Report
from tests.conformance.packs import tool
from tests.conformance.processes import ToolFailed, tool_environment
from tests.e2e.service import PASSWORD, USER

TIMEOUT_S = 600.0
_TOTALS = re.compile(r"^\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s*$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_RECORD = re.compile(r"^[-\d]+ [:,\d]+ - \S+ - (WARNING|ERROR) - (.*)$", re.MULTILINE)
_LEVELS = {"WARNING": "WARN", "ERROR": "FAIL"}


def check(url: str, place: Path, cases: tuple[str, ...]) -> Report:
    """Run some of the tool's test lists, "QueryParameters"; `place` is a folder of its own."""
    place.mkdir(parents=True)
    done = subprocess.run(
        [
            tool("rf_use_case_checkers"),
            *("--rhost", url, "--user", USER, "--password", PASSWORD),
            *("--report-dir", str(place), "--test-list", *cases),
        ],
        cwd=place,
        env=tool_environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    logs = list(place.glob("*/RedfishUseCaseCheckersDebug_*.log"))
    if len(logs) != 1:
        raise ToolFailed(f"no log of the use case checkers: {(done.stdout + done.stderr)[-500:]}")
    return read(done.stdout, logs[0].read_text(encoding="utf-8"))


def read(output: str, log: str) -> Report:
    """Return what the tool's output and debug log say. Raises ToolFailed without totals."""
    totals = _TOTALS.search(_COLOUR.sub("", output))
    if totals is None:
        raise ToolFailed(f"the use case checkers gave no totals: {output[-500:]}")
    found = (Finding(_LEVELS[level], "use cases", text) for level, text in _RECORD.findall(log))
    return Report(*map(int, totals.groups()), findings=tuple(found))
