"""Which query parameters are evaluated, which are refused, and on what."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.query import LEVELS_MAX, Expand, Query, check_query, read_query
from tests.redfish.builders import FABRIC, METADATA, MONITOR, SESSIONS, ZONE, ZONES, Bench, keys

ACCOUNTS = "/redfish/v1/AccountService/Accounts"
ROLES = "/redfish/v1/AccountService/Roles"
NAMES = ["$expand", "$select", "$filter", "$top", "$skip", "$skiptoken", "only", "$x", "rnd"]
VALUES = st.sampled_from([*NAMES, "excerpt"])


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    members = [{"@odata.id": ZONE}, {"@odata.id": f"{ZONES}/fixed"}]
    bench.view.documents[ZONES].update({"Members": members, "Members@odata.count": 2})
    return bench


def test_values_are_read_once() -> None:
    query = read_query([("$expand", "*($levels=2)"), ("$top", "3"), ("$skip", "0"), ("rnd", "1")])
    assert query == Query(expand=Expand(True, True, 2), skip=0, top=3)
    assert read_query([("rnd", "1")]) is None


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("$expand", "", "QueryParameterValueFormatError"),
        ("$expand", "Members", "QueryParameterValueFormatError"),
        ("$expand", ".~", "QueryParameterValueFormatError"),
        ("$expand", ".($levels=)", "QueryParameterValueFormatError"),
        ("$expand", ".($levels=max)", "QueryParameterValueFormatError"),
        ("$expand", ".($levels=-1)", "QueryParameterValueFormatError"),
        ("$expand", ".($levels=1)\n", "QueryParameterValueFormatError"),
        ("$expand", ".($levels=0)", "QueryParameterOutOfRange"),
        ("$expand", f".($levels={LEVELS_MAX + 1})", "QueryParameterOutOfRange"),
        ("$expand", f".($levels={'9' * 5000})", "QueryParameterOutOfRange"),
        ("$select", "", "QueryParameterValueFormatError"),
        ("$select", "A,,B", "QueryParameterValueFormatError"),
        ("$select", "Name/", "QueryParameterValueFormatError"),
        ("$select", "Members($select=Name)", "QueryParameterValueFormatError"),
        ("$top", "", "QueryParameterValueTypeError"),
        ("$top", "ten", "QueryParameterValueTypeError"),
        ("$top", "1.0", "QueryParameterValueTypeError"),
        ("$top", " 1", "QueryParameterValueTypeError"),
        ("$top", "1\n", "QueryParameterValueTypeError"),
        ("$top", "\u0661", "QueryParameterValueTypeError"),
        ("$top", "-1", "QueryParameterOutOfRange"),
        ("$skip", "-0", "QueryParameterOutOfRange"),
        ("$skip", "9" * 5000, "QueryParameterOutOfRange"),
        ("only", "foo", "QueryParameterValueFormatError"),
        ("excerpt", "foo", "QueryParameterValueFormatError"),
    ],
)
async def test_a_wrong_value_is_400(bench: Bench, name: str, value: str, key: str) -> None:
    response = await bench.send("GET", ZONES, query=((name, value),))
    assert (response.status, keys(response)) == (400, [key])
    arguments = json.loads(response.body)["error"]["@Message.ExtendedInfo"][0]["MessageArgs"]
    assert arguments[:2] == [value, name]


async def test_all_wrong_values_are_named(bench: Bench) -> None:
    query = (("$top", "x"), ("$skip", "-1"), ("$expand", "?"))
    response = await bench.send("GET", ZONES, query=query)
    assert response.status == 400
    assert keys(response) == [
        "QueryParameterValueTypeError",
        "QueryParameterOutOfRange",
        "QueryParameterValueFormatError",
    ]


@pytest.mark.parametrize(
    "query",
    [
        (("$top", "1"), ("$top", "1")),
        (("only", ""), ("$top", "1")),
        (("only", ""), ("$expand", ".")),
        (("$select", "Id"), ("only", "")),
        (("$filter", "Id eq '1'"), ("only", "")),
        (("excerpt", ""), ("only", "")),
        (("$skip", "1"), ("$skiptoken", "1")),
    ],
)
async def test_what_can_not_be_combined_is_400(bench: Bench, query: Any) -> None:
    response = await bench.send("GET", ZONES, query=query)
    assert (response.status, keys(response)) == (400, ["QueryCombinationInvalid"])


@pytest.mark.parametrize("name", ["$orderby", "$x", "$", "$Top", "$Filter"])
async def test_a_parameter_that_is_not_evaluated_is_501(bench: Bench, name: str) -> None:
    response = await bench.send("GET", ZONES, query=((name, "1"), ("$top", "wrong")))
    assert (response.status, keys(response)) == (501, ["QueryParameterUnsupported"])


@pytest.mark.parametrize(
    "query",
    [
        (("rnd", "1"),),
        (("Only", "x"), ("top", "-1")),
        (("includeoriginofcondition", ""), ("filter", "x")),
    ],
)
async def test_a_plain_name_that_nobody_knows_changes_nothing(bench: Bench, query: Any) -> None:
    plain = await bench.send("GET", ZONES)
    assert await bench.send("GET", ZONES, query=query) == plain


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("name", ["$expand", "$x", "only"])
async def test_a_query_belongs_to_get_and_head(bench: Bench, method: str, name: str) -> None:
    uri = ZONES if method == "POST" else ZONE
    response = await bench.send(method, uri, {"Name": "z"}, query=((name, "."),))
    assert (response.status, keys(response)) == (400, ["QueryNotSupportedOnOperation"])
    assert bench.writes == []


@pytest.mark.parametrize(
    "query",
    [
        ("$top", "1"),
        ("$skip", "0"),
        ("only", ""),
        ("$filter", "Id eq '1'"),
        ("$skiptoken", "1"),
    ],
)
@pytest.mark.parametrize("path", [ZONE, FABRIC, "/redfish/v1/"])
async def test_members_are_asked_of_collections_only(bench: Bench, path: str, query: Any) -> None:
    response = await bench.send("GET", path, query=(query,))
    assert (response.status, keys(response)) == (400, ["QueryNotSupportedOnResource"])


@pytest.mark.parametrize(
    "query",
    [("$select", "Id"), ("$expand", "."), ("$top", "1"), ("$filter", "Id eq '1'"), ("excerpt", "")],
)
@pytest.mark.parametrize("path", [METADATA, "/redfish", "/redfish/v1/odata", MONITOR])
async def test_documents_that_are_no_resources_take_no_query(
    bench: Bench, path: str, query: Any
) -> None:
    response = await bench.send("GET", path, query=(query,))
    assert (response.status, keys(response)) == (400, ["QueryNotSupportedOnResource"])


async def test_only_gives_the_only_member(bench: Bench) -> None:
    del bench.view.documents[ZONES]["Members"][1]
    member = await bench.send("GET", ZONE)
    response = await bench.send("GET", ZONES, query=(("only", ""),))
    assert response.body == member.body
    assert response.headers["Link"] == member.headers["Link"]
    assert response.headers["Allow"] == (await bench.send("GET", ZONES)).headers["Allow"]


async def test_only_gives_the_collection_where_there_are_more(bench: Bench) -> None:
    response = await bench.send("GET", ZONES, query=(("only", ""),))
    assert response.body == (await bench.send("GET", ZONES)).body
    bench.view.documents[ZONES]["Members"].clear()
    response = await bench.send("GET", ZONES, query=(("only", ""),))
    assert json.loads(response.body)["@odata.id"] == ZONES


async def test_only_shows_no_member_that_the_user_may_not_read(bench: Bench) -> None:
    uri = f"{ACCOUNTS}/admin"
    bench.view.documents[ACCOUNTS]["Members"] = [{"@odata.id": uri}]
    response = await bench.send("GET", ACCOUNTS, user="ro", query=(("only", ""),))
    assert (response.status, keys(response)) == (403, ["InsufficientPrivilege"])
    assert (await bench.send("GET", ACCOUNTS, query=(("only", ""),))).status == 200


async def test_each_answer_has_a_tag_of_its_own_that_is_good_for_a_write(bench: Bench) -> None:
    plain = await bench.send("GET", ROLES)
    queries = [
        (("$select", "Name"),),
        (("$expand", "."),),
        (("$top", "1"),),
        (("$skip", "1"),),
        (("$filter", "Id eq 'Operator'"),),
    ]
    tags = {plain.headers["ETag"]}
    for query in queries:
        response = await bench.send("GET", ROLES, query=query)
        tags.add(response.headers["ETag"])
        assert json.loads(response.body)["@odata.etag"] == plain.headers["ETag"]
    assert len(tags) == len(queries) + 1
    answer = await bench.send("GET", ZONE, query=(("$expand", "*"),))
    tag = answer.headers["ETag"]
    assert (await bench.send("PATCH", ZONE, {"Name": "n"}, if_match=tag)).status == 200
    bench.view.documents[ZONE]["Name"] = "other"
    assert (await bench.send("PATCH", ZONE, {"Name": "n"}, if_match=tag)).status == 412


async def test_304_answers_the_same_query_only(bench: Bench) -> None:
    plain = (await bench.send("GET", ZONES)).headers["ETag"]
    expanded = (("$expand", "."),)
    tag = (await bench.send("GET", ZONES, query=expanded)).headers["ETag"]
    same = await bench.send("GET", ZONES, query=expanded, if_none_match=tag)
    assert (same.status, same.headers["ETag"]) == (304, tag)
    for query, seen in ((expanded, plain), ((), tag), ((("$select", "Name"),), plain)):
        assert (await bench.send("GET", ZONES, query=query, if_none_match=seen)).status == 200
    bench.view.documents[ZONE]["Name"] = "changed below"
    assert (await bench.send("GET", ZONES, query=expanded, if_none_match=tag)).status == 200


@pytest.mark.parametrize("query", [("$expand", "."), ("$select", "Name"), ("$top", "1")])
async def test_head_has_the_headers_of_get(bench: Bench, query: Any) -> None:
    get = await bench.send("GET", ZONES, query=(query,))
    head = await bench.send("HEAD", ZONES, query=(query,))
    length = {"Content-Length": str(len(get.body))}
    assert (head.status, dict(head.headers)) == (200, {**get.headers, **length})


async def test_a_session_is_asked_for_before_anything_of_the_query(bench: Bench) -> None:
    for query in ((("$x", "1"),), (("$top", "x"),), (("$expand", "."),)):
        assert (await bench.send("GET", SESSIONS, user=None, query=query)).status == 401


@given(st.lists(st.tuples(VALUES | st.text(), st.text() | st.sampled_from([".", "1", "A"]))))
def test_no_query_raises_anything_but_a_refusal(query: list[tuple[str, str]]) -> None:
    try:
        check_query(query, reading=True)
        read_query(query)
    except RedfishError as error:
        assert error.status in (400, 501)
        assert error.messages
