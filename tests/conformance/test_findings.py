"""What the validators wrote is read right, and too much of it is noticed."""

import pytest

from tests.conformance import packs, protocol_validator, runs, service_validator, use_cases
from tests.conformance.__main__ import main
from tests.conformance.findings import Bounds, Finding, Report, excess
from tests.conformance.items import ITEMS, UNTESTABLE, item_of
from tests.conformance.processes import ToolFailed

OUTPUT = """\
+--------------+--------------+--------------+--------------+
|     PASS     |     WARN     |     FAIL     |  NOT TESTED  |
+--------------+--------------+--------------+--------------+
|     3227     |      \x1b[33m1\x1b[0m       |      2       |     3583     |
+--------------+--------------+--------------+--------------+
"""
LOG = """\
2026-12-01 03:30:12,748 - redfish.rest.v1 - INFO - Attempt 1 of /redfish/v1/
2026-12-01 03:30:14,838 - redfish - INFO - Validating /redfish/v1/...
2026-12-01 03:30:14,838 - redfish - INFO - PASS - /Id (RootService): Pass
2026-12-01 03:30:15,571 - redfish - WARNING - WARN - /Name ([Empty String]): Empty String Warning: x
2026-12-01 03:30:15,838 - redfish - INFO - Validating /redfish/v1/Fabrics...
2026-12-01 03:30:15,838 - redfish - INFO - PASS - /TaskState (Running): Pass
2026-12-01 03:30:15,839 - redfish - ERROR - FAIL - /Members ([Not Present]): Required: missing
with a second line
2026-12-01 03:30:15,839 - redfish - ERROR - FAIL - Resource: unreadable
"""
TABLE = """\
Assertion\tMethod\tStatus code\tURI\tResult\tMessage\tRequirement
PROTO_JSON_RFC\tGET\t200\t/redfish/v1/\tPASS\tTest passed\tany
PROTO_ETAG_LOST_UPDATE\tPATCH\t200\t/a\tFAIL\tnot refused\tany
SERV_SSDP_ST_HEADER_FORMAT\t\t\t\tNOT_TESTED\tnot found\tany
"""


def test_totals_and_findings_of_the_service_validator_are_read() -> None:
    report = service_validator.read(OUTPUT, LOG)
    assert (report.passed, report.warned, report.failed, report.untested) == (3227, 1, 2, 3583)
    assert report.visited == {"/redfish/v1/", "/redfish/v1/Fabrics"}
    assert report.task_states == {"Running"}
    assert [(each.level, each.where) for each in report.findings] == [
        ("WARN", "/redfish/v1/"),
        ("FAIL", "/redfish/v1/Fabrics"),
        ("FAIL", "/redfish/v1/Fabrics"),
    ]
    assert report.findings[0].text.startswith("/Name ([Empty String])")


def test_a_validator_without_totals_has_failed() -> None:
    with pytest.raises(ToolFailed, match="Traceback"):
        service_validator.read("Traceback (most recent call last):", LOG)


def test_totals_and_failures_of_the_use_case_checkers_are_read() -> None:
    report = use_cases.read(OUTPUT, LOG)
    assert (report.passed, report.warned, report.failed, report.untested) == (3227, 1, 2, 3583)
    assert [each.level for each in report.findings] == ["WARN", "FAIL", "FAIL"]
    with pytest.raises(ToolFailed, match="Traceback"):
        use_cases.read("Traceback (most recent call last):", LOG)


def test_the_table_of_the_protocol_validator_is_read_with_item_numbers() -> None:
    report = protocol_validator.read(TABLE)
    assert (report.passed, report.warned, report.failed, report.untested) == (1, 0, 1, 1)
    first, second = report.findings
    assert first == Finding(
        "FAIL", "PROTO_ETAG_LOST_UPDATE (PROTOCOL.md 41)", "PATCH /a 200 not refused"
    )
    assert second.where == "SERV_SSDP_ST_HEADER_FORMAT (PROTOCOL.md 85)"


def test_a_failure_and_what_was_left_untested_are_problems_of_the_protocol_run() -> None:
    problems = protocol_validator.problems_of(protocol_validator.read(TABLE))
    assert problems == [
        "1 FAIL, at most 0 allowed",
        "SERV_SSDP_ST_HEADER_FORMAT was not tested",
    ]


def test_what_the_tool_can_not_test_is_no_problem() -> None:
    table = TABLE.replace("SERV_SSDP_ST_HEADER_FORMAT", "SERV_SSE_SUCCESSFUL_RESPONSE")
    report = protocol_validator.read(table.replace("FAIL", "PASS"))
    assert protocol_validator.problems_of(report) == []


def test_every_assertion_of_the_tool_has_its_item() -> None:
    constants = pytest.importorskip("redfish_protocol_validator.constants")
    names = [assertion.name for assertion in constants.Assertion]
    assert [name for name in names if item_of(name) is None] == []
    for start in (*ITEMS, *UNTESTABLE):
        assert any(name.startswith(start) for name in names), start


@pytest.mark.parametrize(
    ("passed", "warned", "failed", "made", "reasons"),
    [
        (1, 0, 0, (), []),
        (1, 2, 0, (), ["2 WARN, at most 1 allowed"]),
        (1, 0, 1, (), ["1 FAIL, at most 0 allowed"]),
        (0, 0, 0, (), ["nothing passed"]),
        (1, 0, 0, ("/a", "/b"), ["/b was not looked at"]),
    ],
)
def test_what_is_out_of_bounds_is_named(passed, warned, failed, made, reasons) -> None:
    report = Report(passed, warned, failed, 0, visited=frozenset({"/a"}))
    assert excess(report, Bounds(failed=0, warned=1), made) == reasons


def test_a_task_state_that_was_not_seen_is_named() -> None:
    report = Report(1, 0, 0, 0, task_states=frozenset({"Completed"}))
    assert excess(report, Bounds(), (), ("Completed", "Running")) == ["no Task was seen Running"]


def test_a_bound_of_none_allows_any_number() -> None:
    assert excess(Report(1, 99, 99, 0), Bounds(failed=None, warned=None)) == []


def test_absent_packs_are_said_and_no_failure(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setenv("REDFISH_FM_SHARED", str(tmp_path))
    assert main([]) == 0
    assert "SKIPPED, nothing was checked" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("names", [["two-host"], ["two-hosts", "no-such"]])
def test_a_run_that_does_not_exist_is_wrong_usage(names, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(names)
    assert ended.value.code == 2
    assert names[-1] in capsys.readouterr().err


@pytest.fixture
def one_run(monkeypatch) -> Report:
    """Make all there is to perform one run that finds a FAIL, and everything it needs present."""
    report = Report(5, 0, 1, 0, (Finding("FAIL", "/a", "bad"),))
    monkeypatch.setattr(packs, "absent", lambda: None)
    monkeypatch.setattr(packs, "unpack_csdl", lambda place: place)
    monkeypatch.setattr(packs, "unpack_mockups", lambda _place: {})
    return report


def performing(report: Report):
    def perform(run, *_places):
        yield runs.Result(run.name, report, 0.0, excess(report, run.bounds))

    return perform


def test_an_exceeded_bound_is_exit_code_1_and_its_lines_are_printed(
    monkeypatch, one_run, capsys
) -> None:
    monkeypatch.setattr("tests.conformance.__main__.perform", performing(one_run))
    assert main(["two-hosts"]) == 1
    output = capsys.readouterr().out
    assert "1 FAIL, at most 0 allowed" in output
    assert "FAIL /a bad" in output


def test_a_tool_that_fails_is_exit_code_1_and_does_not_stop_the_others(
    monkeypatch, one_run, capsys
) -> None:
    def perform(run, *_places):
        if run.name == "two-hosts":
            raise ToolFailed("no totals")
        yield runs.Result(run.name, Report(1, 0, 0, 0), 0.0)

    monkeypatch.setattr("tests.conformance.__main__.perform", perform)
    assert main(["two-hosts", "ai-pod"]) == 1
    output = capsys.readouterr().out
    assert "two-hosts: no totals" in output
    assert "ai-pod " in output
