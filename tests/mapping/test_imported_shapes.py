"""Documents come out with objects, lists and links where the schemas have them."""

from typing import Any

import pytest

from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.mapping.imported_shapes import FINDINGS_MAX, well_shaped
from tests.redfish.builders import CATALOG

ENDPOINT = "/redfish/v1/Fabrics/F/Endpoints/1"


def shaped(document: dict[str, Any], uri: str = ENDPOINT) -> tuple[dict[str, Any], list[Finding]]:
    documents, findings = well_shaped({uri: document}, CATALOG)
    return documents[uri], findings


def an_endpoint(**properties: Any) -> dict[str, Any]:
    return {"@odata.id": ENDPOINT, "@odata.type": "#Endpoint.v1_8_2.Endpoint", **properties}


@pytest.mark.parametrize(
    ("given", "kept", "pointer"),
    [
        ({"Links": 5}, {}, "/Links"),
        ({"Links": None}, {}, "/Links"),
        ({"Links": {"Zones": {}}}, {"Links": {}}, "/Links/Zones"),
        ({"Links": {"Zones": [5, {}]}}, {"Links": {"Zones": [{}]}}, "/Links/Zones/0"),
        (
            {"Links": {"Zones": ["/redfish/v1/a"]}},
            {"Links": {"Zones": [{"@odata.id": "/redfish/v1/a"}]}},
            "/Links/Zones/0",
        ),
        (
            {"Links": {"Zones": [{"@odata.id": 5}]}},
            {"Links": {"Zones": [{}]}},
            "/Links/Zones/0/@odata.id",
        ),
        ({"Name": ["x"]}, {}, "/Name"),
        ({"ConnectedEntities": {}}, {}, "/ConnectedEntities"),
        (
            {"ConnectedEntities": [{"EntityType": ["x"], "EntityRole": "Target"}]},
            {"ConnectedEntities": [{"EntityRole": "Target"}]},
            "/ConnectedEntities/0/EntityType",
        ),
    ],
)
def test_what_can_not_stand_there_is_left_out_and_told(
    given: dict[str, Any], kept: dict[str, Any], pointer: str
) -> None:
    document, findings = shaped(an_endpoint(**given))
    assert document == an_endpoint(**kept)
    assert [(each.kind, each.uri, each.pointer) for each in findings] == [
        (FindingKind.SHAPE, ENDPOINT, pointer)
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"Oem": {"Contoso": [{"a": {"b": [[]]}}]}},
        {"Unknown": {"a": [1]}},
        {"Name": 5},
        {"HostReservationMemoryBytes": "12"},
        {"ConnectedEntities": [{"EntityLink": None}], "Links": {"Zones": []}},
        {"Links": {"Zones@odata.count": "5"}},
    ],
)
def test_what_can_stand_there_or_is_unknown_is_the_same_object(given: dict[str, Any]) -> None:
    document, findings = shaped(an_endpoint(**given))
    assert (document, findings) == (an_endpoint(**given), [])


@pytest.mark.parametrize("told", [None, "", 5, "#Fabrics/CXL.Endpoints"])
def test_a_type_that_is_no_type_is_taken_from_the_place(told: Any) -> None:
    document, findings = shaped({"@odata.type": told, "Links": 5})
    assert document == {"@odata.type": CATALOG.types["Endpoint"].odata_type}
    assert [each.kind for each in findings] == [FindingKind.TYPE, FindingKind.SHAPE]


def test_a_type_of_a_maker_at_a_place_of_its_own_stays() -> None:
    document = {"@odata.type": "#Contoso.v1_0_0.Contoso", "Links": {}}
    assert shaped(document, "/redfish/v1/Oem/Contoso") == (document, [])


def test_a_document_without_a_type_at_an_unknown_place_is_told() -> None:
    document, findings = shaped({"Links": []}, "/redfish/v1/Oem/Contoso")
    assert document == {}
    assert [each.kind for each in findings] == [FindingKind.TYPE, FindingKind.SHAPE]


def test_findings_without_end_are_not_kept_but_all_is_left_out() -> None:
    document, findings = shaped(an_endpoint(ConnectedEntities=[5] * (FINDINGS_MAX + 5)))
    assert document["ConnectedEntities"] == []
    assert len(findings) == FINDINGS_MAX
