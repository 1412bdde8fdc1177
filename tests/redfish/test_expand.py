"""$expand: which links become resources, how many of them, and who waits meanwhile."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.expand import EXPANDED_MAX, Expansion
from redfish_fm.redfish.paging import COUNT, NEXT
from redfish_fm.redfish.query import LEVELS_MAX, Expand
from redfish_fm.redfish.reading import Reader
from redfish_fm.redfish.requests import Response
from redfish_fm.redfish.targets import Target, TargetKind
from redfish_fm.redfish.view import Origin, Representation
from tests.redfish.builders import CATALOG, ENDPOINT, FABRIC, ZONE, ZONES, Bench, FakeView

ROOT = "/redfish/v1"
ACCOUNTS = "/redfish/v1/AccountService/Accounts"
ENDPOINTS = f"{FABRIC}/Endpoints"
ALL, SUBORDINATE, LINKS = Expand(True, True), Expand(True, False), Expand(False, True)


def link(uri: str) -> dict[str, str]:
    return {"@odata.id": uri}


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    put = bench.view.put
    collection = {"Members": [link(ZONE)], COUNT: 1}
    put(FABRIC, "Fabric", Origin.INVENTORY, Zones=link(ZONES), Endpoints=link(ENDPOINTS))
    put(ZONES, "ZoneCollection", Origin.SERVICE, **collection)
    put(ENDPOINTS, "EndpointCollection", Origin.SERVICE, Members=[link(ENDPOINT)])
    put(ZONE, "Zone", Origin.WANTED, Links={"Endpoints": [link(ENDPOINT)]})
    put(ENDPOINT, "Endpoint", Origin.INVENTORY, Links={"Zones": [link(ZONE)]})
    return bench


async def get(bench: Bench, uri: str, expand: str = "", **how: Any) -> Any:
    query = (("$expand", expand),) if expand else ()
    response = await bench.send("GET", uri, query=query, **how)
    assert response.status == 200, response.body
    return json.loads(response.body)


async def test_a_subordinate_resource_is_what_its_own_get_gives(bench: Bench) -> None:
    document = await get(bench, ZONES, ".")
    assert document["Members"] == [await get(bench, ZONE)]
    assert document[COUNT] == 1
    assert {**document, "Members": [link(ZONE)]} == await get(bench, ZONES)


async def test_a_dot_leaves_links_and_a_tilde_takes_only_them(bench: Bench) -> None:
    plain = await get(bench, ZONE)
    assert await get(bench, ZONE, ".") == plain
    assert await get(bench, FABRIC, "~") == await get(bench, FABRIC)
    expanded = await get(bench, ZONE, "~")
    assert expanded["Links"]["Endpoints"] == [await get(bench, ENDPOINT)]
    assert await get(bench, ZONE, "*") == expanded


async def test_levels_count_resources_downwards(bench: Bench) -> None:
    one = await get(bench, FABRIC, ".($levels=1)")
    assert one == await get(bench, FABRIC, ".")
    assert one["Zones"] == await get(bench, ZONES)
    two = await get(bench, FABRIC, ".($levels=2)")
    assert two["Zones"] == await get(bench, ZONES, ".")
    three = await get(bench, FABRIC, "*($levels=3)")
    assert three["Zones"]["Members"][0] == await get(bench, ZONE, "~")


async def test_a_cycle_of_links_ends_with_the_levels(bench: Bench) -> None:
    document = await get(bench, ZONE, f"*($levels={LEVELS_MAX})")
    for level in range(LEVELS_MAX):
        name = "Zones" if level % 2 else "Endpoints"
        [document] = document["Links"][name]
    assert document == await get(bench, ZONE)


async def test_a_link_to_nothing_and_to_elsewhere_stays(bench: Bench) -> None:
    links = [link(f"{FABRIC}/Gone"), link("//other/redfish/v1/Systems"), link("")]
    bench.view.put(FABRIC, "Fabric", Origin.INVENTORY, Zones=links)
    assert (await get(bench, FABRIC, "*"))["Zones"] == links


async def test_an_object_with_more_than_its_uri_is_no_link(bench: Bench) -> None:
    embedded = {"@odata.id": ENDPOINT, "MemberId": "0", "Links": {"Zones": [link(ZONE)]}}
    bench.view.put(FABRIC, "Fabric", Origin.INVENTORY, Redundancy=[embedded])
    assert (await get(bench, FABRIC, "."))["Redundancy"] == [embedded]
    [found] = (await get(bench, FABRIC, "~"))["Redundancy"]
    assert found["Links"]["Zones"] == [await get(bench, ZONE)]


async def test_what_stands_in_oem_is_never_followed(bench: Bench) -> None:
    own = {"V": link(ENDPOINT), "W": [link(ENDPOINT)], "Links": {"X": link(ENDPOINT)}}
    bench.view.put(ZONE, "Zone", Origin.WANTED, Oem=own, Links={"Oem": link(ENDPOINT)})
    assert await get(bench, ZONE, "*") == await get(bench, ZONE)


async def test_a_link_into_a_resource_gives_the_object_there(bench: Bench) -> None:
    sensors = [{"@odata.id": f"{FABRIC}/T#/a~1b/0", "Reading": 1}]
    bench.view.put(f"{FABRIC}/T", "Thermal", Origin.INVENTORY, **{"a/b": sensors})
    links = [link(f"{FABRIC}/T#/{rest}") for rest in ("a~1b/0", "a~1b/1", "a~1b/x", "Name", "x")]
    bench.view.put(FABRIC, "Fabric", Origin.INVENTORY, RelatedItem=links)
    assert (await get(bench, FABRIC, "."))["RelatedItem"] == [sensors[0], *links[1:]]


async def test_what_the_user_may_not_read_stays_a_link(bench: Bench) -> None:
    uris = [f"{ACCOUNTS}/{name}" for name in ("admin", "ro")]
    bench.view.documents[ACCOUNTS]["Members"] = [link(uri) for uri in uris]
    admins = await get(bench, ACCOUNTS, ".")
    assert [member["UserName"] for member in admins["Members"]] == ["admin", "ro"]
    own = await get(bench, ACCOUNTS, ".", user="ro")
    assert own["Members"] == [link(uris[0]), admins["Members"][1]]


async def test_who_must_change_the_password_sees_the_own_account_only(bench: Bench) -> None:
    uri = bench.add_user("new", "Administrator", PasswordChangeRequired=True)
    assert await get(bench, uri, "*", user="new") == await get(bench, uri, user="new")
    assert "Id" in (await get(bench, uri, "~"))["Links"]["Role"]


async def test_the_root_shows_what_is_below_it_to_whom_it_may(bench: Bench) -> None:
    plain = await get(bench, ROOT, user=None)
    assert await get(bench, ROOT, "*", user=None) == plain
    seen = await get(bench, ROOT, "*")
    assert seen["Fabrics"] == await get(bench, "/redfish/v1/Fabrics")
    assert "Members" in seen["Links"]["Sessions"]
    query = (("$expand", "."),)
    bad = await bench.send("GET", ROOT, user=None, query=query, x_auth_token="0" * 64)
    assert bad.status == 401
    ignored = await bench.send("GET", ROOT, user=None, x_auth_token="0" * 64)
    assert ignored.status == 200


async def test_an_expanded_collection_is_cut_into_pages_like_any(bench: Bench) -> None:
    bench = Bench(page_size=1)
    bench.view.put(FABRIC, "Fabric", Origin.INVENTORY, Zones=link(ZONES))
    members = [link(ZONE), link(f"{ZONES}/fixed")]
    bench.view.put(ZONES, "ZoneCollection", Origin.SERVICE, **{"Members": members, COUNT: 2})
    one = await get(bench, FABRIC, ".")
    assert one["Zones"] == await get(bench, ZONES)
    two = await get(bench, FABRIC, ".($levels=2)")
    assert two["Zones"]["Members"] == [await get(bench, ZONE)]
    assert two["Zones"][NEXT] == f"{ZONES}?$expand=.($levels=1)&$skiptoken=1"


# -- how much fits into one answer -------------------------------------------------------------


def a_tree(members: int, below: int) -> FakeView:
    """Return zones in a collection, each with links to as many endpoints."""
    view = FakeView()
    for number in range(members):
        uris = [f"{ENDPOINTS}/{number}-{each}" for each in range(below)]
        for uri in uris:
            view.put(uri, "Endpoint", Origin.INVENTORY)
        links = {"Endpoints": [link(uri) for uri in uris]}
        view.put(f"{ZONES}/{number}", "Zone", Origin.INVENTORY, Links=links)
    links_to = [link(f"{ZONES}/{number}") for number in range(members)]
    view.put(ZONES, "ZoneCollection", Origin.SERVICE, **{"Members": links_to, COUNT: members})
    return view


async def answer(
    view: FakeView, expand: str, after: str | None = None, most: int = EXPANDED_MAX
) -> Any:
    found = view.get(ZONES)
    assert found is not None
    target = Target(TargetKind.RESOURCE, found, ("GET",), CATALOG.types["ZoneCollection"])
    pairs: tuple[tuple[str, str], ...] = (("$expand", expand),)
    pairs += () if after is None else (("$skiptoken", after),)
    reader = Reader(CATALOG, view, expanded_max=most)
    return json.loads((await reader.read(target, pairs, lambda _: True)).found.body)


async def test_an_answer_holds_so_many_expanded_resources_and_links_to_more() -> None:
    view = a_tree(EXPANDED_MAX + 1, 0)
    first = await answer(view, ".")
    assert (len(first["Members"]), first[COUNT]) == (EXPANDED_MAX, EXPANDED_MAX + 1)
    assert all("Id" in member for member in first["Members"])
    assert first[NEXT] == f"{ZONES}?$expand=.&$skiptoken={EXPANDED_MAX - 1}"
    last = await answer(view, ".", str(EXPANDED_MAX - 1))
    assert (len(last["Members"]), NEXT in last) == (1, False)


@pytest.mark.parametrize("most", [1, 2, 4, 5, 8, 9, 12, 13])
async def test_no_member_is_cut_that_would_fit_into_the_next_answer(most: int) -> None:
    view, token, seen = a_tree(3, 3), None, 0
    while True:
        document = await answer(view, "*($levels=2)", token, most)
        members = document["Members"]
        assert members
        seen += len(members)
        whole = [all("Id" in each for each in member["Links"]["Endpoints"]) for member in members]
        assert all(whole) or (most < 4 and len(members) == 1)
        if NEXT not in document:
            break
        token = document[NEXT].rsplit("=", 1)[-1]
    assert seen == 3


async def test_what_does_not_fit_into_one_resource_stays_a_link_nearest_first() -> None:
    docs: dict[str, Any] = {f"/{name}": {"@odata.id": f"/{name}", "Id": name} for name in "abcd"}
    docs["/a"]["Next"] = link("/d")
    top = {"One": link("/a"), "Two": link("/b"), "Three": link("/c")}
    expansion = Expansion(Expand(True, False, 2), found_in(docs), body_in(docs), 3)
    assert sum(1 for _ in expansion.grow(top)) < 3
    assert [top[name].get("Id") for name in top] == ["a", "b", "c"]
    assert top["One"]["Next"] == link("/d")  # type: ignore[comparison-overlap]
    assert expansion.left == 0


async def test_an_answer_grows_no_further_once_it_is_large() -> None:
    docs = {f"/{name}": {"@odata.id": f"/{name}", "Id": name} for name in "abc"}
    members: list[Any] = [link(uri) for uri in docs]
    shown: list[Any] = []
    body = b"x" * 100
    one = Representation("/a", "", Origin.SERVICE, "", body, "")
    expansion = Expansion(SUBORDINATE, lambda _: one, body_in(docs), left_bytes=101)
    list(expansion.grow_members(members, shown))
    assert (len(shown), expansion.left_bytes) == (2, 101 - 2 * len(body))


async def test_others_are_answered_while_a_large_answer_is_made() -> None:
    bench = Bench()
    bench.view.documents.update(a_tree(EXPANDED_MAX, 0).documents)
    bench.view.origins.update(dict.fromkeys(bench.view.documents, Origin.INVENTORY))
    token = await bench.token()
    order: list[str] = []

    async def ask(name: str, **query: Any) -> Response:
        response = await bench.send("GET", ZONES, user=None, x_auth_token=token, **query)
        order.append(name)
        return response

    large, _ = await asyncio.gather(ask("large", query=(("$expand", "."),)), ask("small"))
    assert large.status == 200
    assert order == ["small", "large"]


# -- any tree, against a reference -------------------------------------------------------------


def found_in(docs: dict[str, Any]) -> Any:
    def find(uri: str) -> Representation | None:
        return Representation(uri, "", Origin.SERVICE, "", b"", "") if uri in docs else None

    return find


def body_in(docs: dict[str, Any]) -> Any:
    return lambda found, levels: json.loads(json.dumps(docs[found.uri]))


def reference(value: Any, docs: dict[str, Any], expand: Expand, levels: int, inside: bool) -> Any:
    """Return `value` with its links expanded, by plain recursion."""
    if isinstance(value, list):
        return [reference(each, docs, expand, levels, inside) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"@odata.id"}:
        wanted = expand.links if inside else expand.subordinate
        below = docs.get(value["@odata.id"])
        if not wanted or not levels or below is None:
            return value
        return properties(below, docs, expand, levels - 1, False)
    return properties(value, docs, expand, levels, inside)


def properties(
    value: Any, docs: dict[str, Any], expand: Expand, levels: int, inside: bool
) -> dict[str, Any]:
    return {
        name: reference(each, docs, expand, levels, inside or name == "Links")
        for name, each in value.items()
    }


URIS = ["/a", "/b", "/c", "/gone"]
VALUES = st.recursive(
    st.sampled_from(URIS).map(link) | st.integers(0, 9),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["Links", "X", "Y"]), below, max_size=3)
    ),
    max_leaves=8,
)
DOCUMENTS = st.fixed_dictionaries(
    {
        uri: st.dictionaries(st.sampled_from(["Links", "P", "Q"]), VALUES, max_size=3).map(
            lambda rest, uri=uri: {"@odata.id": uri, "Id": uri, **rest}
        )
        for uri in URIS[:3]
    }
)


@given(DOCUMENTS, st.sampled_from([ALL, SUBORDINATE, LINKS]), st.integers(1, 4))
def test_any_tree_is_expanded_like_the_reference(
    docs: dict[str, Any], option: Expand, levels: int
) -> None:
    expand = Expand(option.subordinate, option.links, levels)
    document = json.loads(json.dumps(docs["/a"]))
    expansion = Expansion(expand, found_in(docs), body_in(docs), 1 << 30)
    for _ in expansion.grow(document):
        pass
    assert document == properties(docs["/a"], docs, expand, levels, False)


@given(DOCUMENTS, st.integers(1, LEVELS_MAX), st.integers(0, 20))
def test_no_tree_makes_more_look_ups_than_allowed(
    docs: dict[str, Any], levels: int, most: int
) -> None:
    asked: list[str] = []

    def find(uri: str) -> Representation | None:
        asked.append(uri)
        found: Representation | None = found_in(docs)(uri)
        return found

    expansion = Expansion(Expand(True, True, levels), find, body_in(docs), most)
    list(expansion.grow(json.loads(json.dumps(docs["/a"]))))
    assert len(asked) == most - expansion.left <= most
