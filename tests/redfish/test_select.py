"""$select: what stays of a resource."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.select import ALWAYS, parse_select, selected, selected_collection
from redfish_fm.redfish.view import Origin
from tests.redfish.builders import FABRIC, ZONE, ZONES, Bench

ROLE = "/redfish/v1/AccountService/Roles/Operator"
RESOURCE = {
    "@odata.id": "/r",
    "@odata.type": "#R.R",
    "Name": "n",
    "Status": {"State": "Enabled", "Health": "OK"},
    "Links": {
        "Ports": [{"@odata.id": "/p", "Id": "p"}, {"@odata.id": "/q"}],
        "Ports@odata.count": 2,
    },
    "Values": [1, 2],
    "Values@odata.count": 2,
}


def cut(text: str, resource: dict[str, Any] = RESOURCE) -> dict[str, Any]:
    selection = parse_select(text)
    assert selection is not None
    found = selected(resource, selection)
    return {name: value for name, value in found.items() if name not in ALWAYS}


def test_the_annotations_that_name_a_resource_stay() -> None:
    assert selected(RESOURCE, {"Name": None}) == {
        "@odata.id": "/r",
        "@odata.type": "#R.R",
        "Name": "n",
    }


def test_a_path_leads_into_objects_and_arrays() -> None:
    assert cut("Status/State,Links/Ports/Id") == {
        "Status": {"State": "Enabled"},
        "Links": {"Ports": [{"@odata.id": "/p", "Id": "p"}, {"@odata.id": "/q"}]},
    }


def test_a_property_brings_its_own_annotations() -> None:
    assert cut("Values") == {"Values": [1, 2], "Values@odata.count": 2}
    assert cut("Values@odata.count") == {"Values@odata.count": 2}


@pytest.mark.parametrize("text", ["Status/State,Status", "Status,Status/State", " Status , Status"])
def test_the_whole_property_wins_over_a_path_into_it(text: str) -> None:
    assert cut(text) == {"Status": RESOURCE["Status"]}


def test_what_a_resource_does_not_have_is_absent() -> None:
    assert cut("Colour") == {}
    assert cut("Name/Colour,Status/Colour,Values/Colour") == {"Status": {}, "Values": []}


@pytest.mark.parametrize("text", ["", ",", "A,", "A//B", "/A", "A/", "*", "A B", "A(B)", "A\n"])
def test_what_is_no_list_of_paths_is_malformed(text: str) -> None:
    assert parse_select(text) is None


def test_the_selection_of_an_expanded_collection_means_its_members() -> None:
    member = {"@odata.id": "/m", "Id": "1", "Name": "m"}
    collection = {"@odata.id": "/c", "Name": "c", "Members": [member], "Members@odata.count": 1}
    kept = {"@odata.id": "/c", "Members@odata.count": 1}
    for text, members, further in (
        ("Id", [{"@odata.id": "/m", "Id": "1"}], {}),
        ("Members/Id", [{"@odata.id": "/m", "Id": "1"}], {}),
        ("Members/Id,Name", [{"@odata.id": "/m", "Id": "1"}], {"Name": "c"}),
        ("Name", [{"@odata.id": "/m", "Name": "m"}], {"Name": "c"}),
        ("Members", [member], {}),
    ):
        found = selected_collection(collection, parse_select(text) or {})
        assert found == {**kept, **further, "Members": members}, text


async def test_a_role_shows_what_was_selected_and_nothing_else() -> None:
    bench = Bench()
    whole = json.loads((await bench.send("GET", ROLE)).body)
    response = await bench.send("GET", ROLE, query=(("$select", "Name,AssignedPrivileges"),))
    names = {"@odata.id", "@odata.type", "@odata.etag", "Name", "AssignedPrivileges"}
    assert json.loads(response.body) == {name: whole[name] for name in names}


async def test_a_collection_that_is_not_expanded_is_a_resource_like_others() -> None:
    bench = Bench()
    bench.view.documents[ZONES].update(
        {"Members": [{"@odata.id": ZONE}], "Members@odata.count": 1, "Description": "d"}
    )
    for text, names in (("Members", {"Members", "Members@odata.count"}), ("Name", {"Name"})):
        response = await bench.send("GET", ZONES, query=(("$select", text),))
        assert json.loads(response.body).keys() - ALWAYS == names


async def test_a_path_leads_on_into_what_was_expanded() -> None:
    bench = Bench()
    bench.view.put(
        FABRIC, "Fabric", Origin.INVENTORY, Zones={"@odata.id": ZONES}, Endpoints={"@odata.id": "/"}
    )
    bench.view.documents[ZONES]["Members"] = [{"@odata.id": ZONE}]
    query = (("$select", "Zones/Members/Name"), ("$expand", ".($levels=2)"))
    found = json.loads((await bench.send("GET", FABRIC, query=query)).body)
    assert found.keys() - ALWAYS == {"Zones"}
    assert found["Zones"].keys() - ALWAYS == {"Members"}
    [member] = found["Zones"]["Members"]
    assert member.keys() == {"@odata.id", "@odata.type", "@odata.etag", "Name"}


NAMES = st.sampled_from(["A", "B", "C", "@odata.id", "A@odata.count"])
TREES = st.recursive(
    st.integers(0, 3) | st.none(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=4),
    max_leaves=20,
)
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=3), min_size=1, max_size=4)


def reference(value: Any, paths: list[list[str]]) -> Any:
    """Return what lists of names, instead of a tree of them, leave of a value."""
    if isinstance(value, list):
        return [reference(each, paths) for each in value if isinstance(each, dict | list)]
    found = {}
    for name, each in value.items():
        own = [path[1:] for path in paths if path[0] == name]
        bare = [path for path in paths if path == [name.split("@")[0]]]
        if name in ALWAYS or [] in own or (bare and not own):
            found[name] = each
        elif own and isinstance(each, dict | list):
            found[name] = reference(each, own)
    return found


@given(st.dictionaries(NAMES, TREES), PATHS)
def test_any_selection_equals_the_reference(resource: Any, paths: list[list[str]]) -> None:
    selection = parse_select(",".join("/".join(path) for path in paths))
    assert selection is not None
    assert selected(resource, selection) == reference(resource, paths)
