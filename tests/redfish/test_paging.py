"""Pages: $top, $skip, page_size and the links from one page to the next."""

import json
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redfish_fm.redfish.paging import COUNT, NEXT, next_link
from redfish_fm.redfish.view import Origin
from tests.redfish.builders import SESSIONS, ZONES, Bench

Query = tuple[tuple[str, str], ...]


@cache
def kept(page_size: int | None) -> Bench:
    """Return a service that any number of examples may share: one costs 60 ms to make."""
    return Bench(page_size=page_size, limit=1_000_000)


def a_bench(count: int, page_size: int | None = None) -> Bench:
    """Return a service with `count` zones in one collection."""
    return filled(Bench(page_size=page_size), count)


def filled(bench: Bench, count: int) -> Bench:
    members = [f"{ZONES}/{number}" for number in range(count)]
    for uri in members:
        bench.view.put(uri, "Zone", Origin.WANTED)
    bench.view.put(
        ZONES, "ZoneCollection", Origin.SERVICE,
        **{"Members": [{"@odata.id": uri} for uri in members], COUNT: count},
    )  # fmt: skip
    return bench


def numbers(document: Any) -> list[int]:
    return [int(member["@odata.id"].rsplit("/", 1)[-1]) for member in document["Members"]]


async def page(bench: Bench, query: Query = ()) -> Any:
    response = await bench.send("GET", ZONES, query=query)
    assert response.status == 200
    return json.loads(response.body)


async def pages(bench: Bench, query: Query = ()) -> list[Any]:
    """Return an answer and all that follow it by its next links."""
    found = [await page(bench, query)]
    while NEXT in found[-1]:
        path, _, text = found[-1][NEXT].partition("?")
        assert path == ZONES
        found.append(await page(bench, tuple(parse_qsl(text, keep_blank_values=True))))
        assert len(found) < 100
    return found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ((("$top", "2"),), [0, 1]),
        ((("$skip", "3"),), [3, 4]),
        ((("$top", "2"), ("$skip", "1")), [1, 2]),
        ((("$skip", "1"), ("$top", "99")), [1, 2, 3, 4]),
        ((("$top", "0"),), []),
        ((("$skip", "5"),), []),
        ((("$skip", "500"), ("$top", "1")), []),
    ],
)
async def test_skip_and_top_choose_members_and_leave_the_count(
    query: Query, expected: list[int]
) -> None:
    document = await page(a_bench(5), query)
    assert (numbers(document), document[COUNT]) == (expected, 5)
    assert NEXT not in document


async def test_without_a_page_size_all_members_come_at_once() -> None:
    document = await page(a_bench(300))
    assert (len(document["Members"]), NEXT in document) == (300, False)


async def test_a_page_size_cuts_every_answer_and_links_lead_through_the_rest() -> None:
    bench = a_bench(7, page_size=3)
    found = await pages(bench)
    assert [numbers(each) for each in found] == [[0, 1, 2], [3, 4, 5], [6]]
    assert {each[COUNT] for each in found} == {7}
    assert found[0][NEXT] == f"{ZONES}?$skiptoken=2"


@pytest.mark.parametrize("size", [7, 8])
async def test_a_collection_that_fits_into_a_page_stays_as_it_is(size: int) -> None:
    whole = await a_bench(7).send("GET", ZONES)
    assert await a_bench(7, page_size=size).send("GET", ZONES) == whole


async def test_header_and_body_of_a_first_page_have_the_same_tag() -> None:
    bench = a_bench(7, page_size=3)
    response = await bench.send("GET", ZONES)
    tag = response.headers["ETag"]
    assert json.loads(response.body)["@odata.etag"] == tag
    assert (await bench.send("GET", ZONES, if_none_match=tag)).status == 304
    del bench.view.documents[ZONES]["Members"][6]
    assert (await bench.send("GET", ZONES, if_none_match=tag)).status == 200


async def test_the_next_link_counts_top_down() -> None:
    found = await pages(a_bench(9, page_size=2), (("$top", "5"), ("$skip", "1")))
    assert [numbers(each) for each in found] == [[1, 2], [3, 4], [5]]


async def test_the_next_link_keeps_the_other_parameters() -> None:
    query = (("$select", "Id, Members"), ("rnd", "a b&c"), ("$expand", ".($levels=1)"))
    document = await page(a_bench(5, page_size=2), query)
    assert document[NEXT] == (
        f"{ZONES}?$select=Id,Members&rnd=a%20b%26c&$expand=.($levels=1)&$skiptoken=1"
    )


async def test_only_is_not_repeated_in_the_next_link() -> None:
    found = await pages(a_bench(5, page_size=2), (("only", ""),))
    assert sum(len(each["Members"]) for each in found) == 5


async def test_a_resource_is_never_cut() -> None:
    response = await a_bench(1, page_size=1).send("GET", f"{ZONES}/0", query=(("rnd", "1"),))
    assert json.loads(response.body)["@odata.etag"] == response.headers["ETag"]


async def test_a_collection_without_members_is_served_as_it_is() -> None:
    bench = a_bench(0, page_size=1)
    del bench.view.documents[ZONES]["Members"]
    assert "Members" not in await page(bench)
    assert (await page(bench, (("$top", "1"),)))["Members"] == []


NAMES = st.text(min_size=1) | st.sampled_from(["$filter", "$skip", "$top", "$skiptoken", "only"])


@given(st.lists(st.tuples(NAMES, st.text())), st.text())
def test_a_next_link_carries_any_parameter(pairs: list[tuple[str, str]], token: str) -> None:
    replaced = ("$skip", "$skiptoken", "$top", "only")
    kept = [pair for pair in pairs if pair[0] not in replaced]
    text = next_link("/r", pairs, token).removeprefix("/r?")
    assert text.isascii()
    found = parse_qsl(text, keep_blank_values=True)
    assert found == [*kept, ("$skiptoken", token)]


def test_a_next_link_keeps_the_text_in_a_filter() -> None:
    pairs = (("$filter", "Name eq 'a, b'"), ("$select", "Id, Name"))
    found = parse_qsl(next_link("/r", pairs, "1").removeprefix("/r?"))
    assert found[:2] == [("$filter", "Name eq 'a, b'"), ("$select", "Id,Name")]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    count=st.integers(0, 12),
    size=st.none() | st.integers(1, 5),
    skip=st.none() | st.integers(0, 14),
    top=st.none() | st.integers(0, 14),
    expand=st.booleans(),
)
async def test_any_walk_gives_what_was_asked_for_once(
    count: int, size: int | None, skip: int | None, top: int | None, expand: bool
) -> None:
    query = [("$expand", ".")] if expand else []
    query += [] if skip is None else [("$skip", str(skip))]
    query += [] if top is None else [("$top", str(top))]
    found = await pages(filled(kept(size), count), tuple(query))
    walked = [number for each in found for number in numbers(each)]
    asked = list(range(count))[skip or 0 :]
    assert walked == (asked if top is None else asked[:top])
    assert all(each[COUNT] == count for each in found)
    assert all(len(each["Members"]) <= (size or count) for each in found)


class Changing:
    """A walk through a collection whose members come and go between the pages."""

    def __init__(self, names: set[str], size: int) -> None:
        self.bench = kept(size)
        self.names = names
        self.publish()

    def publish(self) -> None:
        ordered = sorted(self.names, key=lambda name: (len(name), name))
        for name in ordered:
            self.bench.view.put(f"{ZONES}/{name}", "Zone", Origin.WANTED)
        members = [{"@odata.id": f"{ZONES}/{name}"} for name in ordered]
        self.bench.view.put(
            ZONES, "ZoneCollection", Origin.SERVICE, Members=members, **{COUNT: len(members)}
        )

    async def walk(self, query: Query, changes: list[tuple[set[str], set[str]]]) -> list[str]:
        """Return the ids that are shown; after each page one change happens."""
        shown, waiting = [], list(changes)
        while True:
            document = await page(self.bench, query)
            shown += [member["@odata.id"].rsplit("/", 1)[-1] for member in document["Members"]]
            if NEXT not in document:
                return shown
            if waiting:
                come, go = waiting.pop(0)
                self.names = (self.names | come) - go
                self.publish()
            text = document[NEXT].partition("?")[2]
            query = tuple(parse_qsl(text, keep_blank_values=True))


IDS = st.sampled_from([str(number) for number in range(30)] + ["a", "bb", "x=y", "a b", "é"])


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    names=st.sets(IDS, max_size=20),
    size=st.integers(1, 4),
    changes=st.lists(st.tuples(st.sets(IDS, max_size=4), st.sets(IDS, max_size=4)), max_size=8),
    query=st.sampled_from([(), (("$expand", "."),), (("$filter", "Name ne 'nobody'"),)]),
)
async def test_a_member_that_stays_is_shown_once_whatever_comes_and_goes(
    names: set[str], size: int, changes: list[tuple[set[str], set[str]]], query: Query
) -> None:
    gone = set().union(*(go for _, go in changes))
    shown = await Changing(names, size).walk(query, changes)
    assert len([name for name in shown if name in names - gone]) == len(names - gone)
    stayed = [name for name in shown if name in names - gone]
    assert sorted(stayed) == sorted(names - gone)


async def test_the_page_after_a_member_that_is_gone_begins_where_it_was() -> None:
    shown = await Changing({"1", "2", "3", "4"}, 2).walk((), [(set(), {"1", "2"})])
    assert shown == ["1", "2", "3", "4"]


async def test_top_is_counted_down_while_members_go() -> None:
    walk = Changing({"1", "2", "3", "4", "5"}, 2).walk
    assert await walk((("$top", "4"),), [(set(), {"1"})]) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("token", ["", "nobody", "%", "/", "9" * 5000])
async def test_any_token_is_a_place_in_the_collection(token: str) -> None:
    document = await page(a_bench(5), (("$skiptoken", token),))
    assert document[COUNT] == 5


async def test_sessions_that_stay_are_shown_once_while_others_end() -> None:
    bench = Bench(page_size=2)
    opened = [(await bench.sessions.create("op", "192.0.2.1"))[1].id for _ in range(8)]
    shown: list[str] = []
    query: Query = ()
    ended: set[str] = set()
    while True:
        response = await bench.send("GET", SESSIONS, query=query)
        document = json.loads(response.body)
        last = [member["@odata.id"].rsplit("/", 1)[-1] for member in document["Members"]]
        shown += last
        if NEXT not in document:
            break
        if last[-1] in opened:
            await bench.sessions.delete(last[-1])
            ended.add(last[-1])
        query = tuple(parse_qsl(document[NEXT].partition("?")[2], keep_blank_values=True))
    assert ended
    assert sorted(each for each in shown if each in opened) == sorted(opened)
