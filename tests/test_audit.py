"""Tests of tests.audit, and of the reasons that every exception from the security lint has."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from tests.audit import CANARY, audited, installed

PINS = [("aiohttp", "3.0"), ("click", "8.0")]


def knowing(*vulnerable: str):
    def audit(pins: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
        return [(name, version, "CVE-1") for name, version in pins if name in vulnerable]

    return audit


def test_what_is_found_fails_and_is_named() -> None:
    said, code = audited(knowing(CANARY[0], "aiohttp"), PINS)
    assert (said, code) == ("audit: aiohttp 3.0 has CVE-1", 1)


def test_nothing_found_is_believed_only_of_who_knows_the_known() -> None:
    assert audited(knowing(CANARY[0]), PINS) == ("audit: nothing known of 2 packages", 0)
    said, code = audited(knowing(), PINS)
    assert code == 0
    assert "NOT DONE" in said


def test_all_that_the_service_runs_on_is_audited() -> None:
    names = {name for name, _ in installed("redfish-fm")}
    # Ours, and what comes with it; nothing of the extras.
    assert {"aiohttp", "cryptography", "multidict", "yarl", "zeroconf"} <= names
    assert names.isdisjoint({"redfish-fm", "pytest", "ruff", "uvloop"})


def test_every_exception_from_the_security_lint_gives_its_reason(repository: Path) -> None:
    silent = [
        f"{path.relative_to(repository)}:{number}"
        for path in sorted((repository / "redfish_fm").rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(r"# noqa:.*\bS\d", line) and not re.search(r"# noqa: [A-Z0-9, ]+ - \w", line)
    ]
    assert silent == []


def test_no_module_of_the_package_is_excepted_from_the_security_lint(repository: Path) -> None:
    text = (repository / "pyproject.toml").read_text("utf-8")
    lint = tomllib.loads(text)["tool"]["ruff"]["lint"]
    assert "S" in lint["select"]
    assert not any(each.startswith("S") for each in lint["ignore"])
    assert set(lint["per-file-ignores"]) == {"tests/**"}
