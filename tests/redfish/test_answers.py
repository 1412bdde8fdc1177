"""Tests of redfish_fm.redfish.answers: what a GET is answered with, again and again."""

import pytest

from redfish_fm.redfish import answers
from redfish_fm.redfish.view import Origin
from tests.redfish.builders import ENDPOINT, FABRIC, ZONE, ZONES, Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_the_headers_of_an_unchanged_resource_are_one_map(bench: Bench) -> None:
    first, second = [await bench.send("GET", ENDPOINT) for _ in range(2)]
    assert first.headers is second.headers


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
