"""Headers that decide whether and how a request is carried out: conditions, codings, Prefer."""

import json
from typing import Any

import pytest

from redfish_fm.redfish.headers import preferred
from redfish_fm.redfish.parse import NAMES_MAX
from redfish_fm.redfish.requests import Response
from redfish_fm.redfish.writes import Outcome, OutcomeKind
from tests.redfish.builders import TASK, ZONE, ZONES, Bench, keys

BODY = {"Name": "x"}


async def tag_of(bench: Bench, uri: str = ZONE) -> str:
    return (await bench.send("GET", uri)).headers["ETag"]


# -- If-Match and If-None-Match -------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_reading_obeys_if_match_too(method: str) -> None:
    bench = Bench()
    tag = await tag_of(bench)
    for header, status in (
        (tag, 200),
        ("*", 200),
        (f'"x", {tag}', 200),
        ('"never.never"', 412),
        ("", 412),
    ):
        assert (await bench.send(method, ZONE, if_match=header)).status == status, header


async def test_if_match_is_looked_at_before_if_none_match() -> None:
    bench = Bench()
    tag = await tag_of(bench)
    both = await bench.send("GET", ZONE, if_match='"old.old"', if_none_match=tag)
    assert (both.status, keys(both)) == (412, ["PreconditionFailed"])
    assert (await bench.send("GET", ZONE, if_match=tag, if_none_match=tag)).status == 304


@pytest.mark.parametrize("form", ["{}", "W/{}", '"a.b", {}', "*", " * "])
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_a_write_that_must_not_meet_this_state_is_412(method: str, form: str) -> None:
    bench = Bench()
    tag = await tag_of(bench)
    body = BODY if method == "PATCH" else None
    refused = await bench.send(method, ZONE, body, if_none_match=form.format(tag))
    assert (refused.status, keys(refused)) == (412, ["PreconditionFailed"])
    assert bench.writes == []


async def test_a_write_that_meets_another_state_than_the_forbidden_one_is_done() -> None:
    bench = Bench()
    done = await bench.send("PATCH", ZONE, BODY, if_none_match='"other.other"')
    assert done.status == 200
    assert len(bench.writes) == 1


async def test_a_collection_is_there_so_if_none_match_any_creates_nothing() -> None:
    bench = Bench()
    assert (await bench.send("POST", ZONES, BODY, if_none_match="*")).status == 412
    assert bench.writes == []


@pytest.mark.parametrize("form", ["{}", "W/{}", '"a.b",{} , "c.d"', "*"])
async def test_every_form_of_the_known_copy_is_304(form: str) -> None:
    bench = Bench()
    tag = await tag_of(bench)
    known = await bench.send("GET", ZONE, if_none_match=form.format(tag))
    assert (known.status, known.body, known.headers["ETag"]) == (304, b"", tag)
    assert known.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("header", ['"a.b"', 'W/"a.b"', "", '"', '"a.b'])
async def test_every_other_form_is_a_copy_we_do_not_know(header: str) -> None:
    bench = Bench()
    assert (await bench.send("GET", ZONE, if_none_match=header)).status == 200


async def test_conditions_come_after_credentials_and_form() -> None:
    bench = Bench()
    tag = await tag_of(bench)
    assert (await bench.send("GET", ZONE, user=None, if_none_match=tag)).status == 401
    assert (await bench.send("PATCH", ZONE, BODY, user="ro", if_match='"x.y"')).status == 403
    assert (await bench.send("GET", ZONE, accept="text/html", if_none_match=tag)).status == 406
    assert (
        await bench.send("PATCH", ZONE, b"<a/>", content_type="text/xml", if_match="x")
    ).status == 415


# -- codings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip", "x"])
async def test_a_coded_body_is_415_and_told_what_would_do(coding: str) -> None:
    bench = Bench()
    refused = await bench.send("PATCH", ZONE, b"\x1f\x8b", content_encoding=coding)
    assert (refused.status, keys(refused)) == (415, ["HeaderInvalid"])
    assert refused.headers["Accept-Encoding"] == "identity"
    assert bench.writes == []


async def test_the_identity_coding_is_none() -> None:
    assert (await Bench().send("PATCH", ZONE, BODY, content_encoding="Identity")).status == 200


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("gzip, deflate, br", 200),
        ("identity", 200),
        ("", 200),
        ("gzip;q=1.0, identity;q=0.5", 200),
        ("*;q=0.1", 200),
        ("gzip;q=0", 200),
        ("*;q=0, identity", 200),
        ("identity;q=0", 406),
        ("gzip, *;q=0", 406),
        ("gzip, identity; q=0.000", 406),
    ],
)
async def test_answers_are_not_coded_and_406_for_whom_that_will_not_do(
    header: str, status: int
) -> None:
    answer = await Bench().send("GET", ZONE, accept_encoding=header)
    assert answer.status == status
    assert "Content-Encoding" not in answer.headers


# -- Prefer ---------------------------------------------------------------------------------------


async def test_who_prefers_little_gets_204_with_the_new_tag() -> None:
    bench = Bench()
    answer = await bench.send("PATCH", ZONE, BODY, prefer="return=minimal")
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["Preference-Applied"] == "return=minimal"
    assert answer.headers["ETag"] == await tag_of(bench)
    assert "Content-Type" not in answer.headers


async def test_a_creation_that_prefers_little_still_says_where() -> None:
    bench = Bench()
    answer = await bench.send("POST", ZONES, BODY, prefer="return=minimal")
    assert (answer.status, answer.body) == (201, b"")
    assert answer.headers["Location"] == f"{ZONES}/new"


@pytest.mark.parametrize(
    ("header", "applied"),
    [
        ("return=representation", "return=representation"),
        ('respond-async, RETURN="representation"; foo', "return=representation"),
        ("return=representation, return=minimal", "return=representation"),
        ("return=something", None),
        ("respond-async, wait=10", None),
        ("handling=strict", None),
        ("", None),
        (",;=", None),
    ],
)
async def test_other_preferences_change_nothing(header: str, applied: str | None) -> None:
    answer = await Bench().send("PATCH", ZONE, BODY, prefer=header)
    assert answer.status == 200
    assert answer.headers.get("Preference-Applied") == applied
    assert json.loads(answer.body)["@odata.id"] == ZONE


async def test_a_preference_means_nothing_to_reading_and_to_a_refusal() -> None:
    bench = Bench()
    assert (await bench.send("GET", ZONE, prefer="return=minimal")).body
    refused = await bench.send("PATCH", ZONE, {"Bogus": 1}, prefer="return=minimal")
    assert refused.status == 400
    assert keys(refused) == ["PropertyUnknown"]


def test_an_answer_that_tells_something_keeps_its_body() -> None:
    told = Response(201, {}, b'{"@Message.ExtendedInfo":[]}')
    assert preferred({"prefer": "return=minimal"}, told) == told


# -- OPTIONS, and names in one object -------------------------------------------------------------


async def test_options_of_the_server_names_every_method_that_is_anywhere() -> None:
    bench = Bench()
    answer = await bench.send("OPTIONS", "*")
    assert answer.status == 204
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS, POST, PATCH, DELETE"
    assert (await bench.send("OPTIONS", "*", user=None)).status == 401
    for method in ("GET", "POST", "DELETE"):
        assert (await bench.send(method, "*", {} if method == "POST" else None)).status == 404


@pytest.mark.parametrize(
    ("make", "status"),
    [
        (lambda count: {"Oem": {"Contoso": {f"P{n}": n for n in range(count)}}}, 200),
        (lambda count: {f"P{n}": n for n in range(count)}, 400),
    ],
)
async def test_an_object_has_a_bounded_number_of_names(make: Any, status: int) -> None:
    bench = Bench()
    at_limit = await bench.send("PATCH", ZONE, {"Name": "x", **make(NAMES_MAX - 1)})
    assert at_limit.status == status
    over = await bench.send("PATCH", ZONE, {"Name": "x", **make(NAMES_MAX + 1)})
    assert (over.status, keys(over)) == (400, ["MalformedJSON"])


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        (None, None),
        ("return=minimal", None),
        ("respond-async", 0.0),
        ("Respond-Async ; foo=bar", 0.0),
        ("respond-async, wait=10", 10.0),
        ("wait=2, wait=10", 2.0),
        ("wait=soon", None),
        ("wait=-1", None),
        ("respond-async=no", None),
    ],
)
async def test_how_long_a_client_waits_is_what_it_says(
    header: str | None, wait: float | None
) -> None:
    bench = Bench()
    prefer = {} if header is None else {"prefer": header}
    await bench.send("PATCH", ZONE, BODY, **prefer)
    assert bench.writes[-1].wait_s == wait


async def test_who_wants_no_answer_yet_is_told_that_it_was_heard() -> None:
    bench = Bench()
    bench.commit = lambda write: Outcome(OutcomeKind.ACCEPTED, write.uri, TASK)
    answer = await bench.send("PATCH", ZONE, BODY, prefer="return=minimal, respond-async")
    assert answer.status == 202
    assert answer.headers["Preference-Applied"] == "respond-async"
    answer = await bench.send("PATCH", ZONE, BODY)
    assert "Preference-Applied" not in answer.headers
