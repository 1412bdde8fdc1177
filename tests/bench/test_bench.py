"""Tests of the bench harness, against the stand-in service. No figure is judged."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from .__main__ import main
from .baseline import record
from .children import Child, ChildFailed, Launcher
from .document import PEERS, document
from .load import NUMBER, Load, measure
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
