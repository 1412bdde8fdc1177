"""One schema at a time: keywords, references, actions, layout."""

import json

import pytest

from redfish_fm.redfish.schema_build.actions import action_facts
from redfish_fm.redfish.schema_build.errors import SchemaBuildError
from redfish_fm.redfish.schema_build.facts import facts
from redfish_fm.redfish.schema_build.layout import dumps, schema_order
from redfish_fm.redfish.schema_build.references import References

HERE = "http://redfish.dmtf.org/schemas/v1/"
LINKABLE = frozenset({("Zone", "Zone"), ("Resource", "ReferenceableMember")})
VERSIONED = References("Zone", True, LINKABLE)
UNVERSIONED = References("Resource", False, LINKABLE)


def test_prose_is_dropped_and_facts_are_renamed() -> None:
    schema = {
        "description": "Words.",
        "type": ["string", "null"],
        "readonly": True,
        "versionAdded": "v1_1_0",
        "units": "W",
    }
    assert facts(schema, VERSIONED) == {
        "type": ["string", "null"],
        "readOnly": True,
        "x-added": "v1_1_0",
        "x-units": "W",
    }


def test_an_unknown_keyword_is_refused() -> None:
    with pytest.raises(SchemaBuildError, match="Zone: keyword shade is not known"):
        facts({"properties": {"A": {"shade": "blue"}}}, VERSIONED)


def test_an_abstract_type_without_heirs_says_nothing() -> None:
    assert facts({"description": "Words.", "anyOf": []}, VERSIONED) == {}


def test_values_deprecated_without_a_version_are_marked() -> None:
    schema = {"enum": ["A", "B"], "enumDeprecated": {"A": "Words.", "B": "Words."}}
    found = facts(schema | {"enumVersionDeprecated": {"B": "v1_2_0"}}, VERSIONED)
    assert found == {"enum": ["A", "B"], "x-enum-deprecated": {"A": True, "B": "v1_2_0"}}


@pytest.mark.parametrize(
    ("references", "reference", "ours"),
    [
        (VERSIONED, "#/definitions/Zone", "#/$defs/Zone"),
        (VERSIONED, f"{HERE}Zone.json#/definitions/Zone", "#/$defs/Zone-link"),
        (UNVERSIONED, f"{HERE}Zone.json#/definitions/Zone", "Zone.json#/$defs/Zone-link"),
        (UNVERSIONED, "#/definitions/ReferenceableMember", "#/$defs/ReferenceableMember-link"),
        (VERSIONED, f"{HERE}Resource.v1_3_0.json#/definitions/Id", "Resource.json#/$defs/Id"),
        (VERSIONED, f"{HERE}odata-v4.json#/definitions/idRef", "odata-v4.json#/$defs/idRef"),
    ],
)
def test_references_lead_to_our_files(references: References, reference: str, ours: str) -> None:
    assert references.convert(reference) == ours


def test_a_reference_of_another_form_is_refused() -> None:
    with pytest.raises(SchemaBuildError, match="not understood"):
        VERSIONED.convert("#/properties/Zone")


def test_an_action_of_another_shape_is_refused() -> None:
    with pytest.raises(SchemaBuildError, match="AddEndpoint"):
        action_facts("AddEndpoint", {"properties": {"goal": {}}, "parameters": {}}, VERSIONED)


def test_keywords_stand_in_reading_order_and_names_sorted() -> None:
    schema = {"$defs": {}, "x-b": 1, "properties": {"type": {}, "Id": {}}, "type": "object"}
    ordered = schema_order(schema)
    assert list(ordered) == ["type", "x-b", "properties", "$defs"]
    assert list(ordered["properties"]) == ["Id", "type"]


def test_short_values_stand_in_one_line_and_long_ones_do_not() -> None:
    value = {"short": [1, 2], "long": ["x" * 60, "y" * 60]}
    assert dumps(value).splitlines() == [
        "{",
        ' "short": [1, 2],',
        ' "long": [',
        f'  "{"x" * 60}",',
        f'  "{"y" * 60}"',
        " ]",
        "}",
    ]
    assert json.loads(dumps(value)) == value
