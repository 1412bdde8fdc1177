"""docs/protocol.md names every item once, and modules and tests that exist."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from redfish_fm.redfish.bodies import MESSAGES_MAX
from redfish_fm.redfish.parse import DEPTH_MAX, NAMES_MAX
from redfish_fm.redfish.service import LOGIN_BODY_BYTES_MAX
from redfish_fm.server.handshakes import HANDSHAKES_MAX
from redfish_fm.server.limits import Limits

ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.*?) ?\|$", re.MULTILINE)
TEST = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
OPEN = re.compile(r"open: .+")
ITEMS = 91


@pytest.fixture(scope="module")
def rows(repository: Path) -> list[tuple[str, ...]]:
    return ROW.findall((repository / "docs" / "protocol.md").read_text(encoding="utf-8"))


def names_of_tests(repository: Path) -> set[tuple[str, str]]:
    """Return file name and function name of every test there is."""
    return {
        (path.name, node.name)
        for path in (repository / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_item_stands_there_once(rows: list[tuple[str, ...]]) -> None:
    assert [int(row[0]) for row in rows] == list(range(1, ITEMS + 1))


def test_the_checklist_has_as_many_items(shared: Path) -> None:
    text = (shared / "PROTOCOL.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\d+\. ", text, re.MULTILINE)) == ITEMS


def test_every_item_is_kept_in_a_module_and_held_by_a_test(
    rows: list[tuple[str, ...]], repository: Path
) -> None:
    known = names_of_tests(repository)
    wrong = []
    for item, _, place, test in rows:
        if OPEN.fullmatch(place):
            if test:
                wrong.append(f"{item}: open, yet tested")
            continue
        if not (repository / "redfish_fm" / place.strip("`")).is_file():
            wrong.append(f"{item}: no module {place}")
        named = TEST.fullmatch(test)
        if named is None or named.groups() not in known:
            wrong.append(f"{item}: no test {test}")
    assert wrong == []


def test_the_limits_are_those_of_the_code(repository: Path) -> None:
    text = (repository / "docs" / "protocol.md").read_text(encoding="utf-8")
    table = text.split("## Limits")[1].split("## OpenAPI")[0]
    limits = Limits()
    told = {
        "body_bytes": "1 MiB",
        "uri_bytes": f"{limits.uri_bytes:,} bytes",
        "header_field_bytes": f"{limits.header_field_bytes >> 10} KiB",
        "header_count": f" {limits.header_count} |",
        "head_bytes": f", {limits.head_bytes >> 10} KiB | 431",
        "small_body_bytes": f"more than {limits.small_body_bytes >> 10} KiB",
        "bodies_bytes": f"{limits.bodies_bytes >> 20} MiB | 503",
        "connections": f"{limits.connections:,}, {limits.connections_per_peer} |",
        "connections_per_peer": f" {limits.connections_per_peer} |",
        "read_timeout_s": f"its body, each | {limits.read_timeout_s:g} s",
        "write_timeout_s": f"its answer | {limits.write_timeout_s:g} s",
        "idle_timeout_s": f"{limits.idle_timeout_s:g} s",
    }
    assert limits.body_bytes == 1 << 20
    assert {field.name for field in fields(Limits)} - {"linger_s", "linger_bytes"} == set(told)
    assert [name for name, words in told.items() if words not in table] == []
    assert f"{DEPTH_MAX}, {NAMES_MAX:,} |" in table
    assert f"(a login) | {LOGIN_BODY_BYTES_MAX >> 10} KiB | 413" in table
    assert f"names | {MESSAGES_MAX} |" in table
    assert f"under way | {HANDSHAKES_MAX} |" in table
