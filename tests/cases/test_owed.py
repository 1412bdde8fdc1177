"""Every case of these classes is a test named after its id, or owed to an issue by name."""

import ast
import json
import re
from pathlib import Path

import pytest

CLASSES = {
    "COLLECTION",
    "COMPOSE",
    "SCHEMA",
    "PATCH",
    "HTTP-STATUS",
    "ETAG",
    "ZONE",
    "DRIVER",
    "HEALTH",
    "IMPORT",
    "QUERY",
    "TRANSPORT",
    "DISCOVERY",
    "SESSION",
    "EVENT",
    "SSE",
    "TASK",
}
NOT_YET = {"EV-01", "EV-08"}
"""EVENT cases that need somebody else's events: of these alone OWED.md may say that they wait."""
HERE = Path(__file__).parent
FOLDERS = (HERE, HERE.parent / "e2e")
"""Where cases are tests: some can only be seen over real sockets."""
ROW = re.compile(r"^\| ([A-Z]{2}-\d{2}) \| (\S.*) \| (\S.*) \|$", re.MULTILINE)
PAYER = re.compile(r"issue (4|5|6|7|8|9|10) \(\w[\w ]*\)|.* not filed yet")


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, str]:
    """Return the class of every case by its id."""
    lines = (shared / "cases.jsonl").read_text().splitlines()
    return {case["id"]: case["class"] for case in map(json.loads, lines)}


def ids_in_names() -> set[str]:
    """Return the ids that tests of cases are named after."""
    found = set()
    for path in (path for folder in FOLDERS for path in folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                match = re.match(r"test_([a-z]{2})_(\d{2})_[a-z]", node.name)
                if match:
                    found.add(f"{match[1].upper()}-{match[2]}")
    return found


def owed() -> list[tuple[str, ...]]:
    return ROW.findall((HERE.parent / "OWED.md").read_text())


def test_every_case_is_a_test_or_owed(cases: dict[str, str]) -> None:
    ours = {case for case, kind in cases.items() if kind in CLASSES}
    assert len(ours) > 30
    assert sorted(ours - ids_in_names() - {row[0] for row in owed()}) == []


def test_of_events_streams_and_tasks_only_what_others_send_is_owed(cases: dict[str, str]) -> None:
    ours = {case for case, kind in cases.items() if kind in {"EVENT", "SSE", "TASK"}}
    assert len(ours) == 9
    assert {row[0] for row in owed()} & ours == NOT_YET
    assert sorted(ours - ids_in_names()) == ["EV-08"]


def test_every_test_named_after_a_case_is_about_a_real_one(cases: dict[str, str]) -> None:
    assert ids_in_names() <= set(cases)


def test_every_debt_names_a_real_case_and_who_pays(cases: dict[str, str]) -> None:
    rows = owed()
    lines = (HERE.parent / "OWED.md").read_text().splitlines()
    assert len(rows) == sum(line.startswith("| ") for line in lines) - 1
    for case, what, payer in rows:
        assert case in cases
        assert what
        assert PAYER.fullmatch(payer), payer
