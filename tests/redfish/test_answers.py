"""Tests of redfish_fm.redfish.answers: what a GET is answered with, again and again."""

import pytest

from redfish_fm.redfish import answers, messages
from redfish_fm.redfish.audit import AuditRecord
from redfish_fm.redfish.bodies import MESSAGES_MAX
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.view import Origin
from redfish_fm.redfish.writes import Outcome, Write
from tests.redfish.builders import ENDPOINT, FABRIC, ZONE, ZONES, Bench, keys


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_the_headers_of_an_unchanged_resource_are_one_map(bench: Bench) -> None:
    first, second = [await bench.send("GET", ENDPOINT) for _ in range(2)]
    assert first.headers is second.headers


async def test_a_refusal_for_very_many_reasons_names_some_and_says_that_there_are_more(
    bench: Bench,
) -> None:
    """Whoever finds them, a body of a mebibyte must not make an answer of many."""
    many = tuple(messages.resource_missing_at_uri(f"/x/{number}") for number in range(5000))

    def refuse(write: Write) -> Outcome:
        raise RedfishError(400, many)

    records: list[AuditRecord] = []
    bench.service.on_audit.append(records.append)
    bench.commit = refuse
    response = await bench.send("POST", ZONES, {})
    assert keys(response) == ["ResourceMissingAtURI"] * MESSAGES_MAX + ["MaximumErrorsExceeded"]
    assert len(records[0].message_ids) == MESSAGES_MAX


async def test_kept_headers_can_not_be_changed(bench: Bench) -> None:
    headers = (await bench.send("GET", ENDPOINT)).headers
    with pytest.raises(TypeError):
        headers["ETag"] = "another"  # type: ignore[index]


async def test_a_query_is_answered_with_a_tag_of_its_own_and_the_resource_with_its_own_again(
    bench: Bench,
) -> None:
    tags = []
    for query in ((), (("$select", "Id"),), ()):
        tags.append((await bench.send("GET", ENDPOINT, query=query)).headers["ETag"])
    assert tags[0] == tags[2] != tags[1]


async def test_headers_are_kept_up_to_a_number(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_READ_MAX", 2)
    first = (await bench.send("GET", ENDPOINT)).headers
    for uri in (FABRIC, ZONES):
        await bench.send("GET", uri)
    again = (await bench.send("GET", ENDPOINT)).headers
    assert again == first
    assert again is not first


async def test_methods_that_an_unchanged_resource_takes_no_more_are_not_told(bench: Bench) -> None:
    first = (await bench.send("GET", ZONE)).headers
    bench.view.origins[ZONE] = Origin.INVENTORY
    second = (await bench.send("GET", ZONE)).headers
    assert first["ETag"] == second["ETag"]
    assert ("DELETE" in first["Allow"], "DELETE" in second["Allow"]) == (True, False)
