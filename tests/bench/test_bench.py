"""Tests of the bench harness, against the stand-in service. No figure is judged."""

import asyncio
import contextlib
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from .__main__ import main
from .api import Api
from .baseline import record
from .children import Child, ChildFailed, Launcher
from .composing import commits_of
from .document import PEERS, document
from .load import NUMBER, Connection, Load, measure
from .peers import Peer, compared
from .report import Figure, about, missing, ratio, read_json, table
from .rows import ROWS, Bench, run

STUB = f"{__package__}.stub"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(Launcher(STUB), 1, 50, "scale", tmp_path)


@pytest.mark.parametrize("name", ROWS)
def test_every_row_gives_figures_against_the_stub(bench: Bench, name: str) -> None:
    figures = run(bench, name)
    assert figures
    assert [figure for figure in figures if figure.value is None] == []
    errors = [figure.value for figure in figures if figure.what == "errors"]
    assert set(errors) <= {0}


def test_commits_of_a_composition_leave_out_what_was_only_seen(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "state.db")) as db:
        db.execute("CREATE TABLE feed (actor)")
        db.executemany("INSERT INTO feed VALUES (?)", [("admin",), ("observe",), ("reconcile",)])
        db.commit()
    with Launcher(STUB).serve() as child:
        assert commits_of(Api(child), tmp_path) == 2


def test_load_counts_what_came_back_and_numbers_its_bodies() -> None:
    with Launcher(STUB).serve() as child:
        uri = "/redfish/v1/Fabrics/Stub/Zones"
        body = json.dumps({"Name": NUMBER.decode()})
        cpu_s, outcome = measure(child, Load(child.port, False, 32, 4, "POST", uri, {}, body))
        assert outcome.statuses == {"201": 32}
        assert cpu_s > 0
        _, outcome = measure(child, Load(child.port, False, 8, 2, path="/redfish/v1/none"))
        assert (outcome.statuses, outcome.errors) == ({"401": 8}, 8)


def test_service_that_does_not_start_is_a_line_with_its_reason(tmp_path: Path) -> None:
    bench = Bench(Launcher("tests.bench.no_such_module"), 1, 1, "scale", tmp_path)
    (figure,) = run(bench, "get")
    assert figure.value is None
    assert "no_such_module" in figure.note


def test_child_that_says_nothing_ready_fails_with_its_last_words() -> None:
    with pytest.raises(ChildFailed, match="unrecognized arguments"):
        Child(STUB, "serve", "--no-such-flag")


def test_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    figures = ratio("r", [1.0, 4.0, 30.0], [1.0, 2.0, 10.0], "t")
    assert [figure.value for figure in figures] == [4e6, 2e6, 2.0]


def test_table_shows_targets_and_what_is_missing() -> None:
    text = table([Figure("a", "b", 1.5, "x", "<= 2"), missing("c", "d", "why", "<= 3")])
    assert text.splitlines()[1].split() == ["a", "b", "1.5", "x", "<=", "2"]
    assert "not available" in text
    assert text.splitlines()[2].endswith("why")


def test_command_prints_the_table_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bench.json"
    arguments = ["--stub", "--row", "idle", "--rounds", "1", "--requests", "50"]
    assert main([*arguments, "--json", str(out)]) == 0
    assert "idle plain" in capsys.readouterr().out
    run_of, figures = read_json(out)
    assert {figure.what for figure in figures} == {"idle plain", "idle tls"}
    assert (run_of["rounds"], run_of["requests"]) == (1, 50)


@pytest.mark.parametrize(
    ("target", "held"),
    [
        ("<= 2 x", True),
        ("< 2 KiB", False),
        ("<= 1.9", False),
        ("2", True),
        ("3", False),
        (">= 2", True),
    ],
)
def test_a_figure_says_whether_its_target_is_held(target: str, held: bool) -> None:
    assert Figure("r", "w", 2.0, "x", target).held is held


def test_a_figure_without_value_or_target_says_nothing_of_a_target() -> None:
    assert missing("r", "w", "why", "<= 3").held is None
    assert Figure("r", "w", 2.0, "x").held is None


def test_a_run_is_described_with_when_and_how_it_was() -> None:
    told = about(datetime(2026, 1, 2, 3, 4, tzinfo=UTC), rounds=5)
    assert (told["date"], told["rounds"]) == ("2026-01-02 03:04 UTC", 5)
    assert {"machine", "python", "aiohttp", "redfish_fm", "load"} <= told.keys()


def rows_of(page: str) -> list[list[str]]:
    """Return the cells of all tables of a page."""
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]


def test_the_page_has_every_figure_with_its_target_and_whether_it_is_held() -> None:
    figures = [
        Figure("get", "ratio", 1.05, "x", "<= 1.1 x", "9 rounds"),
        Figure("idle", "plain", 17, "KiB", "< 16 KiB"),
        missing("start", "RSS", "why", "<= 4"),
    ]
    rows = rows_of(document({"date": "today"}, figures))
    assert ["date", "today"] in rows
    assert ["get", "ratio", "1.05 x", "<= 1.1 x", "yes", "9 rounds"] in rows
    assert ["idle", "plain", "17 KiB", "< 16 KiB", "**no**", ""] in rows
    assert ["start", "RSS", "not measured here", "<= 4", "", "why"] in rows


def test_the_page_says_of_which_services_nothing_is_known() -> None:
    figures = [
        Figure("client A", "requests per second", 900, "/s", "", "/x, plain"),
        Figure("client A", "latency p50", 1.5, "ms"),
        Figure("client A", "latency p99", 3, "ms"),
        missing("client bmcweb", "requests per second", "down"),
    ]
    rows = rows_of(document({}, figures))
    assert ["A", "900 /s", "1.5 ms", "3 ms", "/x, plain"] in rows
    told = {row[0]: (row[1], row[-1]) for row in rows if row[0] in PEERS}
    known = {name: ("not measured here", "") for name in PEERS}
    assert told == {**known, "bmcweb": ("not measured here", "down")}


def test_the_page_in_the_docs_is_what_the_kept_figures_give(repository: Path) -> None:
    kept = read_json(repository / "docs" / "performance.json")
    page = (repository / "docs" / "performance.md").read_text(encoding="utf-8")
    assert page == document(*kept)


def test_tests_that_the_page_names_exist(repository: Path) -> None:
    named = [row[1].strip("`") for row in rows_of(document({}, [])) if "`tests/" in row[1]]
    assert [each for each in named if not (repository / each).is_file()] == []
    assert len(named) == 5


def test_a_peer_is_a_name_and_a_url_with_credentials_for_basic() -> None:
    peer = Peer.parse("a b=https://u:p%40@127.0.0.1:8443/redfish/v1/")
    load = peer.load
    assert (peer.name, load.host, load.port, load.tls) == ("a b", "127.0.0.1", 8443, True)
    assert load.path == "/redfish/v1/"
    assert load.headers["Authorization"] == "Basic dTpwQA=="


@pytest.mark.parametrize("text", ["", "a", "=http://127.0.0.1/", "a=ftp://127.0.0.1/", "a=http://"])
def test_what_is_no_peer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NAME=URL"):
        Peer.parse(text)


def test_services_are_compared_as_a_client_sees_them(tmp_path: Path) -> None:
    def a_peer(name: str, status: int) -> tuple[Child, Peer]:
        record(tmp_path / name, status, {}, b"{}")
        child = Child(f"{__package__}.baseline", str(tmp_path / name))
        return child, Peer.parse(f"{name}=http://127.0.0.1:{child.port}/redfish/v1")

    good, bad = a_peer("good", 200), a_peer("bad", 404)
    with good[0], bad[0]:
        figures = compared(Launcher(STUB), [good[1], bad[1]], 1, 40)
    assert {figure.row for figure in figures} == {"client redfish-fm", "client good", "client bad"}
    assert None not in {figure.value for figure in figures if figure.row != "client bad"}
    (failed,) = (figure for figure in figures if figure.row == "client bad")
    assert failed.note == "0 of 40 requests were answered with 200"


def test_a_peer_that_does_not_run_is_a_line_that_says_so() -> None:
    figures = compared(Launcher(STUB), [Peer.parse("gone=http://127.0.0.1:1/redfish/v1")], 1, 10)
    (gone,) = (figure for figure in figures if figure.row == "client gone")
    assert gone.value is None
    assert "connect" in gone.note


class Asked(asyncio.Transport):
    """A transport that notes what is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.asked.append(bytes(data))


async def test_an_answer_in_chunks_is_read_to_its_last_one() -> None:
    requests, transport = iter([b"1", b"2"]), Asked()
    connection = Connection(lambda: next(requests, None))
    connection.connection_made(transport)
    connection.ask()
    connection.data_received(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    connection.data_received(b"2\r\n{}\r\n")
    assert transport.asked == [b"1"]
    connection.data_received(b"0\r\n\r\n")
    assert transport.asked == [b"1", b"2"]
    connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    assert connection.statuses == {"200": 2}
