"""Cases QUERY of shared/cases.jsonl: $expand, and pages of a large collection."""

import json
import re
import tarfile
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.control.state import member_order
from redfish_fm.redfish.filter import matcher
from redfish_fm.redfish.filter_syntax import FilterError, parse_filter
from redfish_fm.redfish.filter_types import checked
from redfish_fm.redfish.paging import after
from redfish_fm.redfish.query import LEVELS_MAX
from redfish_fm.redfish.view import Origin
from tests.cases.conftest import Tree
from tests.conformance.packs import REPOSITORY
from tests.redfish.builders import CATALOG, FABRIC, Bench, keys
from tests.redfish.packs import SHARED

FABRICS = "/redfish/v1/Fabrics"
ENDPOINTS = f"{FABRIC}/Endpoints"
NEXT = "Members@odata.nextLink"


@cache
def mockup(name: str) -> dict[str, Any]:
    """Return a published mockup's documents by URI; skip where the pack is absent."""
    path = SHARED / "data" / "mockups-dmtf-2025.4.tar.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not here; set REDFISH_FM_SHARED")
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            folder, _, rest = member.name.partition(f"/{name}/")
            file = archive.extractfile(member) if rest.endswith("index.json") else None
            if file is not None and folder:
                uri = f"/redfish/v1/{rest.removesuffix('index.json')}".rstrip("/")
                found[uri] = json.load(file)
    return {uri: each for uri, each in found.items() if "@odata.type" in each}


def a_tree() -> Bench:
    """Return a service over the multi-switch CXL mockup, with our own service root."""
    bench = Bench()
    documents = mockup("public-cxl-multiswitch")
    bench.view.documents.update(
        {uri: each for uri, each in documents.items() if uri != "/redfish/v1"}
    )
    for name in documents["/redfish/v1"].keys() & {"Chassis", "Fabrics", "Systems", "Managers"}:
        link = documents["/redfish/v1"][name]
        bench.view.documents["/redfish/v1"][name] = link
    bench.view.origins.update(dict.fromkeys(bench.view.documents, Origin.INVENTORY))
    return bench


async def get(bench: Bench, target: str) -> Any:
    path, _, text = target.partition("?")
    query = tuple(parse_qsl(text, keep_blank_values=True))
    response = await bench.send("GET", path, query=query)
    assert response.status == 200, (target, response.body)
    return json.loads(response.body)


async def refused(bench: Bench, target: str) -> list[str]:
    path, _, text = target.partition("?")
    response = await bench.send("GET", path, query=tuple(parse_qsl(text)))
    assert response.status == 400
    return keys(response)


def is_link(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"@odata.id"}


async def test_qu_01_expand_shows_what_each_get_shows_and_no_deeper_than_announced() -> None:
    bench = a_tree()
    plain = await get(bench, FABRICS)
    uris = [member["@odata.id"] for member in plain["Members"]]
    assert uris

    expanded = await get(bench, f"{FABRICS}?$expand=.($levels=1)")
    assert expanded["Members"] == [await get(bench, uri) for uri in uris]

    deeper = await get(bench, f"{FABRICS}?$expand=*($levels=2)")
    assert deeper["Members"] == [await get(bench, f"{uri}?$expand=*") for uri in uris]

    fabric = await get(bench, f"{uris[0]}?$expand=~")
    for name, value in (await get(bench, uris[0])).items():
        if name != "Links":
            assert fabric[name] == value

    features = (await get(bench, "/redfish/v1"))["ProtocolFeaturesSupported"]
    assert features["ExpandQuery"]["MaxLevels"] == LEVELS_MAX
    assert await refused(bench, f"{FABRICS}?$expand=.($levels=999)") == ["QueryParameterOutOfRange"]
    bogus = await refused(bench, f"{FABRICS}?$expand=bogus")
    assert bogus == ["QueryParameterValueFormatError"]

    root = await get(bench, f"/redfish/v1?$expand=*($levels={LEVELS_MAX})")
    assert not is_link(root["Fabrics"])
    assert not is_link(root["Links"]["Sessions"])


async def test_qu_03_next_links_lead_through_every_member_once() -> None:
    bench = Bench(page_size=50)
    uris = [f"{ENDPOINTS}/{number}" for number in range(130)]
    for uri in uris:
        bench.view.put(uri, "Endpoint", Origin.INVENTORY)
    members = {"Members": [{"@odata.id": uri} for uri in uris], "Members@odata.count": 130}
    bench.view.put(ENDPOINTS, "EndpointCollection", Origin.SERVICE, **members)

    found, target = [], f"{ENDPOINTS}?$select=Members"
    while target:
        page = await get(bench, target)
        assert page["Members@odata.count"] == 130
        found += [member["@odata.id"] for member in page["Members"]]
        target = page.get(NEXT, "")
        assert not target or "$select=Members" in target
    assert found == uris

    first = await get(bench, ENDPOINTS)
    assert (len(first["Members"]), len((await get(bench, first[NEXT]))["Members"])) == (50, 50)
    last = await get(bench, f"{ENDPOINTS}?$top=10&$skip=125")
    assert (len(last["Members"]), NEXT in last) == (5, False)
    for query in ("$skip=500", "$top=0"):
        page = await get(bench, f"{ENDPOINTS}?{query}")
        assert (page["Members"], page["Members@odata.count"], NEXT in page) == ([], 130, False)
    assert await refused(bench, f"{ENDPOINTS}?$top=-1") == ["QueryParameterOutOfRange"]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every scalar in a document with the path that $filter has for it."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, f"{path}/{name}" if path else name)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, path)
    else:
        yield path, value


def literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value)


def unfiltered(tree: dict[str, dict[str, Any]]) -> tuple[int, list[str]]:
    """Return how much in all members was looked for by $filter, and what was not found."""
    tried, missed = 0, set()
    for collection in tree.values():
        info = CATALOG.types.get(type_of(collection))
        if info is None or info.member is None:
            continue
        for link in collection["Members"]:
            member = tree[link["@odata.id"]]
            for path, value in leaves(member):
                tried += 1
                try:
                    text = f"{path} eq {literal(value)}"
                    expression = checked(parse_filter(text), CATALOG.types.get(info.member))
                    found = matcher(expression)(member)
                except FilterError as error:
                    missed.add(f"{info.member}: {text}: {error}")
                else:
                    if not found:
                        missed.add(f"{info.member}: {text}")
    return tried, sorted(missed)


def type_of(document: dict[str, Any]) -> str:
    return str(document["@odata.type"]).rpartition(".")[2]


def test_whatever_a_member_shows_can_be_filtered_for(own_tree: Tree) -> None:
    tried, missed = unfiltered(own_tree)
    assert missed == []
    assert tried > 1000


def test_whatever_an_imported_member_shows_can_be_filtered_for(
    imported_trees: dict[str, Tree],
) -> None:
    for tree in imported_trees.values():
        tried, missed = unfiltered(tree)
        assert missed == []
        assert tried > 100


@given(st.sets(st.text("ab019-", min_size=1, max_size=4), min_size=1))
def test_a_next_link_knows_the_order_in_which_collections_are_served(names: set[str]) -> None:
    served = sorted((f"{ENDPOINTS}/{name}" for name in names), key=member_order)
    for index, uri in enumerate(served):
        rest = [{"@odata.id": each} for each in served if each != uri]
        assert after(rest, ENDPOINTS, uri.rpartition("/")[2]) == index


def test_the_examples_of_the_documentation_are_filters() -> None:
    text = (REPOSITORY / "docs" / "queries.md").read_text(encoding="utf-8")
    examples = re.findall(r"^GET \S+/(\w+)\?\$filter=(.*)$", text, re.MULTILINE)
    assert len(examples) == 3
    types = {"Systems": "ComputerSystem", "Zones": "Zone", "Tasks": "Task"}
    for collection, example in examples:
        checked(parse_filter(example), CATALOG.types[types[collection]])
