"""$filter and excerpt over the service: on what, with what else, and who waits meanwhile."""

import asyncio
import json
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redfish_fm.redfish.excerpt import excerpt_of
from redfish_fm.redfish.paging import COUNT, NEXT
from redfish_fm.redfish.requests import Response
from redfish_fm.redfish.select import ALWAYS
from redfish_fm.redfish.view import Origin
from tests.redfish.builders import CATALOG, FABRIC, ZONE, ZONES, Bench, keys

ACCOUNTS = "/redfish/v1/AccountService/Accounts"
ROLES = "/redfish/v1/AccountService/Roles"
SENSORS = "/redfish/v1/Chassis/C/Sensors"
HEALTHS = ("OK", "Warning", "Critical")


def put_all(bench: Bench, uri: str, type_name: str, documents: dict[str, dict[str, Any]]) -> None:
    for name, properties in documents.items():
        bench.view.put(f"{uri}/{name}", type_name, Origin.WANTED, **properties)
    members = [{"@odata.id": f"{uri}/{name}"} for name in documents]
    collection = {"Members": members, COUNT: len(members)}
    bench.view.put(uri, f"{type_name}Collection", Origin.SERVICE, **collection)


def a_bench(count: int = 9, page_size: int | None = None, **further: Any) -> Bench:
    """Return a service with `count` zones of three healths, each with an endpoint."""
    bench = Bench(page_size=page_size, **further)
    zones = {
        str(number): {
            "Status": {"Health": HEALTHS[number % 3], "State": "Enabled"},
            "Links": {"Endpoints": [{"@odata.id": f"{FABRIC}/Endpoints/E{number}"}]},
        }
        for number in range(count)
    }
    put_all(bench, ZONES, "Zone", zones)
    return bench


async def ask(bench: Bench, uri: str, *query: tuple[str, str], user: str = "admin") -> Any:
    response = await bench.send("GET", uri, query=query, user=user)
    assert response.status == 200, response.body
    return json.loads(response.body)


def ids(document: Any) -> list[str]:
    return [member["@odata.id"].rsplit("/", 1)[-1] for member in document["Members"]]


async def test_a_filter_chooses_members_and_counts_them() -> None:
    bench = a_bench()
    found = await ask(bench, ZONES, ("$filter", "Status/Health eq 'OK'"))
    assert (ids(found), found[COUNT], NEXT in found) == (["0", "3", "6"], 3, False)
    assert found["Members"][0] == {"@odata.id": f"{ZONES}/0"}
    link = f"Links/Endpoints/@odata.id eq '{FABRIC}/Endpoints/E4'"
    assert ids(await ask(bench, ZONES, ("$filter", link))) == ["4"]
    nobody = await ask(bench, ZONES, ("$filter", "Id eq 'x'"))
    assert (nobody["Members"], nobody[COUNT]) == ([], 0)


async def test_a_filter_comes_before_skip_and_top_and_these_before_expand_and_select() -> None:
    bench = a_bench()
    query = [("$select", "Id"), ("$expand", "."), ("$top", "1"), ("$skip", "1")]
    found = await ask(bench, ZONES, *query, ("$filter", "Status/Health eq 'OK'"))
    assert found[COUNT] == 3
    [member] = found["Members"]
    assert {name: member[name] for name in member.keys() - ALWAYS} == {"Id": "3"}


async def test_pages_of_a_filtered_collection_keep_the_filter() -> None:
    bench, query, seen = a_bench(20, 2), (("$filter", "Status/Health ne 'OK'"),), []
    while True:
        found = await ask(bench, ZONES, *query)
        assert found[COUNT] == 13
        seen += ids(found)
        if NEXT not in found:
            break
        assert "$filter=Status/Health%20ne%20'OK'" in found[NEXT]
        query = (*query[:1], ("$skiptoken", seen[-1]))
    assert seen == [str(number) for number in range(20) if number % 3]


async def test_a_member_that_the_user_may_not_read_matches_nothing() -> None:
    bench = Bench()
    uris = [f"{ACCOUNTS}/{name}" for name in ("admin", "op", "ro")]
    bench.view.documents[ACCOUNTS]["Members"] = [{"@odata.id": uri} for uri in uris]
    for text in ("UserName eq 'admin'", "not (UserName eq 'admin')", "true"):
        found = await ask(bench, ACCOUNTS, ("$filter", text), user="ro")
        assert set(ids(found)) <= {"ro"}, text
    assert ids(await ask(bench, ACCOUNTS, ("$filter", "UserName eq 'admin'"))) == ["admin"]


async def test_a_member_that_is_gone_matches_nothing() -> None:
    bench = a_bench(3)
    del bench.view.documents[f"{ZONES}/1"]
    assert ids(await ask(bench, ZONES, ("$filter", "true"))) == ["0", "2"]


@pytest.mark.parametrize(
    ("text", "status", "key", "arguments"),
    [
        ("", 400, "QueryParameterValueFormatError", ["end (at character 1)", "$filter"]),
        ("Id = '1'", 400, "QueryParameterValueFormatError", ["= '1' (at character 4)", "$filter"]),
        ("Id eq 1", 400, "QueryParameterValueTypeError", ["Id eq 1 (at character 1)", "$filter"]),
        (
            "Id ne 'x' and Colour eq 'red'",
            400,
            "QueryParameterOutOfRange",
            ["Colour eq 'red' (at character 15)", "$filter", "the properties of Zone"],
        ),
        (
            "(" * 99,
            400,
            "QueryParameterOutOfRange",
            [f"{'(' * 40}… (at character 33)", "$filter", "nested 32 deep at most"],
        ),
        (
            "contains(Id,'1')",
            501,
            "QueryParameterUnsupported",
            ["$filter=contains(Id,'1') (at character 1)"],
        ),
    ],
)
async def test_a_wrong_filter_is_refused_with_its_place(
    text: str, status: int, key: str, arguments: list[str]
) -> None:
    response = await a_bench(1).send("GET", ZONES, query=(("$filter", text),))
    assert (response.status, keys(response)) == (status, [key])
    [info] = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    assert info["MessageArgs"] == arguments


async def test_a_collection_of_an_unknown_type_is_filtered_as_it_is() -> None:
    bench = Bench()
    put_all(bench, f"{FABRIC}/Things", "Thing", {"a": {"Size": 1}, "b": {"Size": 2}})
    assert ids(await ask(bench, f"{FABRIC}/Things", ("$filter", "Size gt 1"))) == ["b"]


async def test_others_are_answered_while_a_large_collection_is_filtered() -> None:
    bench = a_bench(300)
    token = await bench.token()
    order: list[str] = []

    async def get(name: str, **query: Any) -> Response:
        response = await bench.send("GET", ZONES, user=None, x_auth_token=token, **query)
        order.append(name)
        return response

    large, _ = await asyncio.gather(get("large", query=(("$filter", "true"),)), get("small"))
    assert json.loads(large.body)[COUNT] == 300
    assert order == ["small", "large"]


async def test_a_member_of_thousands_of_links_is_left_to_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    links = {"Endpoints": [{"@odata.id": f"{FABRIC}/Endpoints/{n}"} for n in range(30_000)]}
    put_all(bench, ZONES, "Zone", {"few": {"Links": {"Endpoints": []}}, "many": {"Links": links}})
    left: list[Any] = []
    to_thread = asyncio.to_thread

    async def noting(*call: Any) -> Any:
        left.append(call)
        return await to_thread(*call)

    monkeypatch.setattr(asyncio, "to_thread", noting)
    last = f"Links/Endpoints/@odata.id eq '{FABRIC}/Endpoints/29999'"
    assert ids(await ask(bench, ZONES, ("$filter", last))) == ["many"]
    assert len(left) == 1
    both = f"Links/Endpoints/@odata.id eq Links/Endpoints/@odata.id and {last}"
    assert ids(await ask(bench, ZONES, ("$filter", both))) == ["many"]


# -- excerpt -------------------------------------------------------------------------------------

SENSOR = {"Reading": 21.5, "ReadingUnits": "Cel", "SpeedRPM": 7, "Status": {"State": "Enabled"}}


def with_sensors() -> Bench:
    bench = Bench()
    put_all(bench, SENSORS, "Sensor", {"a": SENSOR, "b": SENSOR})
    return bench


async def test_an_excerpt_is_what_the_schema_marks() -> None:
    bench = with_sensors()
    whole = await ask(bench, f"{SENSORS}/a")
    found = await ask(bench, f"{SENSORS}/a", ("excerpt", ""))
    kept = {"@odata.id", "@odata.type", "@odata.etag", "Reading", "SpeedRPM"}
    assert found == {name: whole[name] for name in kept}


async def test_a_resource_without_excerpt_is_shown_whole() -> None:
    bench = with_sensors()
    for uri in (ZONE, SENSORS):
        assert await ask(bench, uri, ("excerpt", "")) == await ask(bench, uri)


async def test_members_are_expanded_to_excerpts_and_select_cuts_them() -> None:
    bench = with_sensors()
    found = await ask(bench, SENSORS, ("$expand", "."), ("excerpt", ""))
    assert found["Members"] == [
        await ask(bench, f"{SENSORS}/{name}", ("excerpt", "")) for name in "ab"
    ]
    found = await ask(bench, SENSORS, ("$expand", "."), ("excerpt", ""), ("$select", "Reading"))
    assert [member.keys() - ALWAYS for member in found["Members"]] == [{"Reading"}] * 2


def test_a_part_of_an_excerpt_is_cut_where_something_in_it_is_marked() -> None:
    selection = excerpt_of(CATALOG.types["Control"])
    assert selection is not None
    assert selection["ControlLoop"] == {
        "Differential": None,
        "Integral": None,
        "Proportional": None,
    }
    assert selection["SetPoint"] is None
    assert excerpt_of(CATALOG.types["Zone"]) is None


# -- what the service root promises, asked for ---------------------------------------------------

FEATURES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "ExcerptQuery": (f"{SENSORS}/a", (("excerpt", ""),)),
    "ExpandQuery/ExpandAll": (SENSORS, (("$expand", "*"),)),
    "ExpandQuery/Levels": (SENSORS, (("$expand", ".($levels=1)"),)),
    "ExpandQuery/Links": ("/redfish/v1/", (("$expand", "~"),)),
    "ExpandQuery/NoLinks": (SENSORS, (("$expand", "."),)),
    "FilterQuery": (SENSORS, (("$filter", "Id eq 'a'"),)),
    "FilterQueryComparisonOperations": (
        SENSORS,
        (("$filter", "Reading ge 1 eq (Reading gt 1) and Reading lt 30 and Id le 'a'"),),
    ),
    "FilterQueryCompoundOperations": (
        SENSORS,
        (("$filter", "not (Id eq 'b') and (Id eq 'a' or Id ne 'a')"),),
    ),
    "OnlyMemberQuery": (f"{FABRIC}/One", (("only", ""),)),
    "SelectQuery": (f"{SENSORS}/a", (("$select", "Id"),)),
    "TopSkipQuery": (SENSORS, (("$top", "1"), ("$skip", "1"))),
}
NOT_QUERIES = {"MultipleHTTPRequests", "DeepOperations/DeepPATCH", "DeepOperations/DeepPOST"}


def leaves(features: dict[str, Any], above: str = "") -> dict[str, Any]:
    found = {}
    for name, value in features.items():
        below = leaves(value, f"{name}/") if isinstance(value, dict) else {above + name: value}
        found.update(below)
    return found


async def test_every_promised_query_works_and_every_query_that_works_is_promised() -> None:
    bench = with_sensors()
    put_all(bench, f"{FABRIC}/One", "Endpoint", {"e": {}})
    root = await ask(bench, "/redfish/v1/")
    promised = leaves(root["ProtocolFeaturesSupported"])
    deepest = promised.pop("ExpandQuery/MaxLevels")
    assert {name for name, value in promised.items() if value} - NOT_QUERIES == FEATURES.keys()
    for name, (uri, query) in FEATURES.items():
        assert await ask(bench, uri, *query) != await ask(bench, uri), name
    await ask(bench, SENSORS, ("$expand", f".($levels={deepest})"))
    wrong = (("$expand", f".($levels={deepest + 1})"),)
    assert (await bench.send("GET", SENSORS, query=wrong)).status == 400


# -- anything with anything ----------------------------------------------------------------------

TEXTS = st.sampled_from(
    ["Id eq '1'", "not (Id eq '1')", "Status/Health ne 'OK'", "Id gt 1", "Colour", "((", "in(1)"]
)
PARAMETERS = st.one_of(
    st.tuples(st.just("$filter"), TEXTS | st.text(max_size=20)),
    st.tuples(st.just("$expand"), st.sampled_from([".", "*", "~", "*($levels=3)", "x"])),
    st.tuples(st.just("$select"), st.sampled_from(["Id", "Members/Id", "Status/Health", "", "*"])),
    st.tuples(st.sampled_from(["$top", "$skip"]), st.integers(-1, 12).map(str) | st.text()),
    st.tuples(st.just("$skiptoken"), st.sampled_from(["3", "x"]) | st.text()),
    st.tuples(st.sampled_from(["excerpt", "only"]), st.sampled_from(["", "", "x"])),
    st.tuples(st.text() | st.sampled_from(["$x", "rnd"]), st.text()),
)
URIS = st.sampled_from(
    [ZONES, f"{ZONES}/1", ROLES, ACCOUNTS, SENSORS, f"{SENSORS}/a", "/redfish/v1/"]
)


@cache
def kept(page_size: int | None) -> Bench:
    """Return a service that all examples share: one costs 60 ms to make."""
    bench = a_bench(7, page_size, limit=1_000_000)
    put_all(bench, SENSORS, "Sensor", {"a": SENSOR, "b": SENSOR})
    return bench


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(URIS, st.lists(PARAMETERS, max_size=4).map(tuple), st.sampled_from([None, 1, 3]))
async def test_any_combination_is_answered_or_refused_for_a_reason(
    uri: str, query: tuple[tuple[str, str], ...], page_size: int | None
) -> None:
    response = await kept(page_size).send("GET", uri, query=query)
    assert response.status in (200, 400, 501)
    if response.status == 200:
        document = json.loads(response.body)
        assert "@odata.id" in document
        members = document.get("Members")
        if members is not None and COUNT in document:
            whole = NEXT not in document and not {"$top", "$skip", "$skiptoken"} & {
                name for name, _ in query
            }
            assert len(members) == document[COUNT] if whole else len(members) <= document[COUNT]
        return
    assert keys(response)
    if response.status == 501:
        assert set(keys(response)) == {"QueryParameterUnsupported"}
