"""Redfish Protocol Validator: a service and the tool alone in a network namespace.

Alone, because the tool searches by SSDP, and what else is in the network is not ours.
"""

import contextlib
import csv
import subprocess
from pathlib import Path

from tests.conformance.findings import Bounds, Finding, Report, excess
from tests.conformance.items import item_of, must_be_tested
from tests.conformance.packs import tool
from tests.conformance.processes import ToolFailed, tool_environment
from tests.e2e import namespaces
from tests.e2e.service import PASSWORD, USER, serving

TIMEOUT_S = 600.0


def validate(place: Path, *arguments: str) -> Report:
    """Serve with `arguments` and run the validator; `place` is a folder of its own."""
    place.mkdir(parents=True)
    state = ("--state", str(place / "state"))
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(namespaces.alone())
        reached = ("--host", network.ipv4, "--ssdp")
        _, url = stack.enter_context(
            serving(*state, *reached, *arguments, tls=True, wrapper=network.enter)
        )
        command = [
            *network.enter,
            tool("rf_protocol_validator"),
            *("--user", USER, "--password", PASSWORD, "--rhost", url),
            *("--ca-bundle", str(place / "state" / "tls" / "ca.pem")),
            *("--report-dir", str(place), "--report-type", "tsv"),
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
    tables = list(place.glob("*.tsv"))
    if len(tables) != 1:
        raise ToolFailed(
            f"no report of the protocol validator: {(done.stdout + done.stderr)[-500:]}"
        )
    return read(tables[0].read_text(encoding="utf-8"))


def problems_of(report: Report) -> list[str]:
    """Return what is out of bounds: any FAIL or WARN, and what was left untested without need."""
    untested = (each.where.split()[0] for each in report.findings if each.level == "NOT_TESTED")
    left = sorted({name for name in untested if must_be_tested(name)})
    return excess(report, Bounds(failed=0, warned=0)) + [f"{name} was not tested" for name in left]


def read(table: str) -> Report:
    """Return what the validator's tab-separated report says."""
    counts = dict.fromkeys(("PASS", "WARN", "FAIL", "NOT_TESTED"), 0)
    findings = []
    for row in csv.DictReader(table.splitlines(), delimiter="\t"):
        result = row["Result"]
        counts[result] += 1
        if result != "PASS":
            item = item_of(row["Assertion"])
            where = f"{row['Assertion']} (PROTOCOL.md {item})"
            about = (row[name] for name in ("Method", "URI", "Status code", "Message"))
            findings.append(Finding(result, where, " ".join(filter(None, about))))
    return Report(*counts.values(), findings=tuple(findings))
