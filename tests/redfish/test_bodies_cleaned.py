"""What is kept of a body: no annotations but those of references and in Oem, nothing twice."""

from typing import Any

import pytest

from redfish_fm.redfish.cleaning import cleaned
from redfish_fm.redfish.patch import merge
from redfish_fm.redfish.properties import Kind, PropertyInfo
from tests.redfish.builders import CATALOG, ENDPOINT, ZONE, ZONES, Bench, keys

ZONE_HAS = CATALOG.types["Zone"].properties
CONNECTION_HAS = CATALOG.types["Connection"].properties
ACCOUNT = "/redfish/v1/AccountService/Accounts/admin"
LINK = {"@odata.id": ENDPOINT}


def test_annotations_stay_in_references_and_in_oem_only() -> None:
    body = {
        "@odata.id": "/x",
        "Name@odata.x": 1,
        "Identifiers": [{"@odata.id": ACCOUNT, "DurableName": "n"}],
        "Links": {"@odata.id": ACCOUNT, "Endpoints": [{**LINK, "@odata.type": "t"}]},
        "Oem": {"C": {"@odata.type": "#C.C", "x@odata.count": 1}},
    }
    assert cleaned(ZONE_HAS, body) == {
        "Identifiers": [{"DurableName": "n"}],
        "Links": {"Endpoints": [LINK]},
        "Oem": {"C": {"@odata.type": "#C.C", "x@odata.count": 1}},
    }


def test_only_the_oem_of_the_schema_is_the_clients_own() -> None:
    odd = {"Name": {"Oem": {"@odata.id": "/x", "y": [{"@odata.id": "/x"}]}}}
    assert cleaned(ZONE_HAS, odd) == {"Name": {"Oem": {"y": [{}]}}}


def test_members_that_are_described_keep_their_oem_and_no_annotation() -> None:
    has = CATALOG.types["ComputerSystem"].properties
    link = {"@odata.id": "/x"}
    member = {"Model": "m", "@odata.id": "/x", "Oem": {"C": {"Region": link}}, "More": link}
    assert cleaned(has, {"Memory": {"@odata.id@x": 1, "Members": [member, 7]}}) == {
        "Memory": {"Members": [{"Model": "m", "Oem": {"C": {"Region": link}}, "More": {}}, 7]}
    }


def test_a_thing_in_place_of_a_link_is_cleaned_like_any_object() -> None:
    has = CATALOG.types["Volume"].properties
    source = {"ProvidedCapacity": {"@odata.id": "/x", "Data": {"AllocatedBytes": 1}}}
    assert cleaned(has, {"CapacitySources": [source, LINK]}) == {
        "CapacitySources": [{"ProvidedCapacity": {"Data": {"AllocatedBytes": 1}}}, LINK]
    }


def test_an_enumeration_value_counts_once_in_an_array() -> None:
    body = {"VolumeInfo": [{"AccessCapabilities": ["Read", "Write", "Read", "Read"]}]}
    assert cleaned(CONNECTION_HAS, body) == {
        "VolumeInfo": [{"AccessCapabilities": ["Read", "Write"]}]
    }


def test_texts_that_are_no_enumeration_may_be_repeated() -> None:
    has = {"Texts": PropertyInfo(Kind.ARRAY, items=PropertyInfo(Kind.STRING))}
    assert cleaned(has, {"Texts": ["a", "a"]}) == {"Texts": ["a", "a"]}


def test_a_patch_folds_without_moving_what_it_keeps() -> None:
    before = {"Set": ["Read", "Write", "Execute"]}
    has = {"Set": PropertyInfo(Kind.ARRAY, items=PropertyInfo(Kind.ENUM))}
    patch = cleaned(has, {"Set": ["Read", "Read", {}]}, patching=True)
    assert merge(before, patch) == {"Set": ["Read", "Execute"]}


@pytest.mark.parametrize("method", ["PATCH", "POST"])
@pytest.mark.parametrize(
    "body",
    [
        {"Links": {"@odata.id": []}},
        {"Oem": {"@odata.id": []}},
        {"Identifiers": [{"@odata.id": 1}]},
        {"Oem": {"a": {"@odata.type": 7}}},
    ],
)
async def test_no_odd_annotation_reaches_the_writer(method: str, body: dict[str, Any]) -> None:
    bench = Bench()
    answer = await bench.send(method, ZONE if method == "PATCH" else ZONES, body)
    assert answer.status == 400
    assert keys(answer) == ["PropertyValueTypeError"]
    assert bench.writes == []


async def test_a_planted_link_is_not_written() -> None:
    for method, uri in (("PATCH", ZONE), ("POST", ZONES)):
        bench = Bench()
        body = {"Identifiers": [{"@odata.id": ACCOUNT}], "Links": {"@odata.id": ACCOUNT}}
        assert (await bench.send(method, uri, body)).status in (200, 201)
        assert bench.writes[0].body == {"Identifiers": [{}], "Links": {}}
