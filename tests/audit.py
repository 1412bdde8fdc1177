"""Known vulnerabilities of what the service runs on: `python -m tests.audit`, `make audit`.

Asks pip-audit about the installed version of every runtime dependency, and theirs. Where an index
has no such database, pip-audit finds nothing and says that all is well; so it is first asked about
a release that is known to be vulnerable.

Exit codes: 0 nothing found, or nobody could be asked, which is said; 1 something was found.
"""

import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from packaging.requirements import Requirement

CANARY = ("requests", "2.19.0")
"""CVE-2018-18074, and more since."""

IGNORED: Mapping[str, str] = {}
"""Vulnerabilities that do not concern us: id -> why."""

TIMEOUT_S = 120

Audit = Callable[[Iterable[tuple[str, str]]], list[tuple[str, str, str]]]
"""Gives (package, version, vulnerability) for each that is found."""


def installed(name: str, seen: set[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield name and version of what is installed for a distribution, itself left out."""
    seen = {_plain(name)} if seen is None else seen
    for text in importlib.metadata.requires(name) or ():
        wanted = Requirement(text)
        known = _plain(wanted.name)
        if known in seen or (wanted.marker is not None and not wanted.marker.evaluate()):
            continue
        seen.add(known)
        yield known, importlib.metadata.version(known)
        yield from installed(known, seen)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pip_audit(pins: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Ask pip-audit. Returns nothing where it could not ask anybody."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pins.txt")
        file.write_text("".join(f"{name}=={version}\n" for name, version in pins))
        asked = subprocess.run(
            [
                *(sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--no-deps"),
                *("--disable-pip", "--timeout", "10", "--format", "json", "-r", str(file)),
            ],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    try:
        answer = json.loads(asked.stdout)
    except ValueError:
        return []
    return [
        (each["name"], each["version"], vulnerability["id"])
        for each in answer["dependencies"]
        for vulnerability in each.get("vulns", ())
    ]


def audited(audit: Audit, pins: list[tuple[str, str]]) -> tuple[str, int]:
    """Return what to say about `pins`, and the exit code."""
    if not audit([CANARY]):
        return "audit: NOT DONE, no database of vulnerabilities is reachable from here", 0
    found = [each for each in audit(pins) if each[2] not in IGNORED]
    if not found:
        return f"audit: nothing known of {len(pins)} packages", 0
    return "\n".join(f"audit: {name} {version} has {which}" for name, version, which in found), 1


def main() -> int:
    """Audit what is installed."""
    try:
        said, code = audited(pip_audit, sorted(installed("redfish-fm")))
    except subprocess.TimeoutExpired:
        said, code = "audit: NOT DONE, the database of vulnerabilities does not answer", 0
    print(said)
    return code


if __name__ == "__main__":
    sys.exit(main())
