"""Redfish Protocol Validator: a service and the tool alone in a network namespace.

Alone, because the tool searches by SSDP, and what else is in the network is not ours.
"""

import csv
import os
import shutil
import subprocess
from pathlib import Path

from tests.conformance.findings import Finding, Report
from tests.conformance.items import item_of
from tests.conformance.packs import tool
from tests.conformance.processes import ToolFailed, tool_environment
from tests.e2e.service import PASSWORD, USER, serving

TIMEOUT_S = 600.0
# Multicast on loopback needs a route; the tool's search must not fail for want of one.
_NETWORK = (
    'ip link set lo up && ip link set lo multicast on && ip route add default dev lo && exec "$@"'
)


def no_namespace() -> str | None:
    """Return why no network namespace can be made here, or None."""
    for command in ("unshare", "nsenter", "ip"):
        if shutil.which(command) is None:
            return f"no command {command}: no network namespace can be made"
    tried = subprocess.run(
        [*_wrapper(), "true"], capture_output=True, text=True, timeout=30, check=False
    )
    reason = tried.stderr.strip()
    return f"no network namespace can be made: {reason}" if tried.returncode else None


def validate(place: Path, *arguments: str) -> Report:
    """Serve with `arguments` and run the validator; `place` is a folder of its own."""
    place.mkdir(parents=True)
    state = ("--state", str(place / "state"))
    with serving(*state, *arguments, tls=True, wrapper=_wrapper()) as (service, url):
        command = [
            *_beside(service.process.pid),
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


def _wrapper() -> tuple[str, ...]:
    root = () if os.geteuid() == 0 else ("--map-root-user",)
    return ("unshare", *root, "--net", "sh", "-c", _NETWORK, "sh")


def _beside(process: int) -> tuple[str, ...]:
    root = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
    return ("nsenter", "--target", str(process), *root, "--net")
