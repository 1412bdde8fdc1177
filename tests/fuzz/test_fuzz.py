"""Fuzzed requests: no answer that no rule explains, nothing changed by what was refused.

A failing run is repeated, with all that was asked, by `python -m tests.fuzz SEED --trace`.
"""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from redfish_fm.redfish.requests import Request, Response
from tests.cases.stack import a_stack, imported
from tests.e2e.service import unpacked_mockup
from tests.fuzz import run as runs
from tests.fuzz.judge import Seen, wrong
from tests.fuzz.plan import Case
from tests.fuzz.report import Report
from tests.fuzz.run import fuzz, topology_world
from tests.fuzz.surroundings import misread
from tests.fuzz.wire import Wire, WireReport
from tests.virtual_time import run

SHORT, LONG = 2_000, 100_000
SHORT_WIRE, LONG_WIRE = 300, 10_000
SHORT_MOCKUP, LONG_MOCKUP = 500, 10_000
MOCKUP = "public-cxl"
MOST = 0.1
"""Share of a run that one write may take: what can not be made is not tried for ever."""
EACH_MIN = 100
"""How often the long run sends each write that there is."""


def _clean(report: Report | WireReport) -> None:
    assert not report.problems, "\n".join([f"{len(report.problems)}", *report.problems[:10]])


def _over_mockup(seed: int, requests: int, shared: Path, place: Path) -> Report:
    world = imported(unpacked_mockup(shared, place, MOCKUP))
    return run(fuzz(seed, requests, world))


async def _on_the_wire(seed: int, requests: int) -> WireReport:
    async with a_stack(topology_world("mixed")) as stack:
        return await Wire(stack, seed).run(requests)


def test_fuzzed_requests_meet_no_answer_without_a_rule(seed_base: int) -> None:
    report = run(fuzz(seed_base, SHORT, topology_world("mixed")))
    _clean(report)
    assert report.existing >= 0.6 * report.requests
    assert report.succeeded >= 0.1 * report.requests
    assert report.compared > 0.9 * report.refused_writes
    assert report.compared_fully > 1
    assert max(row["sent"] for row in map(report.table.get, report.writable) if row) < MOST * SHORT
    assert report.streams


def test_fuzzed_requests_do_no_harm_to_a_raw_import(
    seed_base: int, shared: Path, tmp_path: Path
) -> None:
    report = _over_mockup(seed_base, SHORT_MOCKUP, shared, tmp_path)
    _clean(report)
    assert report.succeeded >= 0.1 * report.requests


def test_bytes_that_are_no_http_end_in_an_answer_or_a_closed_connection(seed_base: int) -> None:
    report = asyncio.run(_on_the_wire(seed_base, SHORT_WIRE))
    _clean(report)
    assert {"200", "400", "401"} <= set(report.statuses)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_hundred_thousand_requests_meet_no_answer_without_a_rule(
    seed_base: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run(fuzz(seed_base, LONG, topology_world("mixed")))
    with capsys.disabled():
        print("\n" + "\n".join(report.lines()))
    _clean(report)
    assert report.existing >= 0.6 * report.requests
    assert report.succeeded >= 0.1 * report.requests
    rare = {each for each in report.writable if report.table[each]["sent"] < EACH_MIN}
    assert not rare
    assert not {each for each in report.writable if not report.table[each]["2xx"]}
    assert report.told == report.writable
    assert report.streams
    assert report.delivered


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_many_requests_do_no_harm_to_a_raw_import(
    seed_base: int, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = _over_mockup(seed_base, LONG_MOCKUP, shared, tmp_path)
    with capsys.disabled():
        print("\n" + "\n".join(report.lines()))
    _clean(report)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_much_that_is_no_http_leaves_the_server_alive(
    seed_base: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report = asyncio.run(_on_the_wire(seed_base, LONG_WIRE))
    with capsys.disabled():
        print(f"\nwire: {report.requests} requests, {dict(sorted(report.statuses.items()))}")
    _clean(report)


# -- what would be seen ----------------------------------------------------------------------

SEEN = Seen((), 0, 64)
ERROR_HEADERS = {
    "OData-Version": "4.0",
    "Cache-Control": "no-cache",
    "Content-Type": "application/json",
}


@pytest.mark.parametrize("status", [500, 501, 502, 503, 507, 422, 418, 304])
def test_an_answer_without_a_rule_does_not_stay_unseen(status: int) -> None:
    response = Response(status, ERROR_HEADERS, b"" if status == 304 else b"{}")
    case = Case("PATCH", "/redfish/v1/Systems/x")
    assert [each for each in wrong(case, response, SEEN) if "shape" not in each]


def test_events_that_are_switched_off_explain_no_503_elsewhere_or_once_they_are_on() -> None:
    entry = {"MessageId": "Base.1.22.ServiceDisabled"}
    body = json.dumps({"error": {"@Message.ExtendedInfo": [entry]}}).encode()
    response = Response(503, ERROR_HEADERS, body)
    stream = Case("GET", "/redfish/v1/EventService/SSE", uri="/redfish/v1/EventService/SSE")
    off = replace(SEEN, events=False)
    elsewhere = Case("GET", "/redfish/v1/Systems", uri="/redfish/v1/Systems")
    unexplained = [
        any("no rule explains" in each for each in wrong(case, response, seen))
        for case, seen in ((stream, off), (stream, SEEN), (elsewhere, off))
    ]
    assert unexplained == [False, True, True]


@pytest.mark.parametrize("text", [b"data: {}\n\n", b'data: {"Events": []}\nnonsense\n\n'])
def test_an_event_stream_in_another_form_does_not_stay_unseen(text: bytes) -> None:
    assert not misread(b'retry: 3000\n: events follow\n\nid: 7.0\ndata: {"Events": []}\n\n')
    assert misread(text)


def test_a_body_in_another_shape_does_not_stay_unseen() -> None:
    case = Case("GET", "/redfish/v1/x")
    response = Response(404, ERROR_HEADERS, b'{"error": "gone"}')
    assert any("shape" in each for each in wrong(case, response, SEEN))


@pytest.mark.parametrize("fault", ["raises", "changes", "hangs"])
def test_a_service_that_does_harm_does_not_stay_unseen(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler that breaks, waits for ever, or does what it then refuses."""

    async def spoil() -> Report:
        async with a_stack(topology_world("two-hosts")) as stack:
            handle = stack.service.handle

            async def faulty(request: Request) -> Response:
                response = await handle(request)
                writes = request.method == "PATCH" and response.status == 200
                if not writes:
                    return response
                if fault == "raises":
                    raise ValueError("broken")
                if fault == "hangs":
                    await asyncio.sleep(1e6)
                headers = {**response.headers, "Content-Type": "application/json"}
                return Response(404, headers, (await handle(_NOWHERE)).body)

            monkeypatch.setattr(stack.service, "handle", faulty)
            fuzzed = runs.Run(stack, 1, await runs.surface_of(stack), None)
            for _ in range(100):
                await fuzzed.step()
            return fuzzed.report

    found = {"raises": "raised", "changes": "this has changed", "hangs": "no answer"}
    assert any(found[fault] in each for each in run(spoil()).problems)


_NOWHERE = Request("GET", "/redfish/v1/nowhere", (), {"x-auth-token": "0"})
