"""Form of bodies: everything wrong is told at once, each with its pointer."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from redfish_fm.redfish.bodies import MESSAGES_MAX, check_action, check_create, check_patch
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.properties import Kind, PropertyInfo
from redfish_fm.redfish.values import PropertyVoice, ValueCheck
from tests.redfish.builders import CATALOG
from tests.redfish.packs import pack

ZONE = CATALOG.types["Zone"]
ENDPOINT = CATALOG.types["Endpoint"]
CONNECTION = CATALOG.types["Connection"]
LINK = {"@odata.id": "/redfish/v1/Fabrics/F/Endpoints/1"}


def told(found: list[Message]) -> list[tuple[str, str]]:
    return [(each.key.removeprefix("Base."), *each.related) for each in found]  # type: ignore[misc]


def test_a_plain_zone_and_an_empty_one_can_be_created() -> None:
    body = {
        "Name": "z",
        "ZoneType": "ZoneOfEndpoints",
        "Id": "mine",
        "Links": {"Endpoints": [LINK]},
    }
    assert check_create(ZONE, body) == []
    assert check_create(ZONE, {}) == []


def test_annotations_in_a_body_are_ignored() -> None:
    body = {"@odata.id": "/x", "@odata.type": 5, "Links": {"Endpoints@odata.count": "x"}}
    assert check_create(ZONE, body) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"Status": {}}, [("PropertyNotWritable", "#/Status")]),
        ({"Links": {"InvolvedSwitches": []}},
         [("PropertyNotWritable", "#/Links/InvolvedSwitches")]),
        ({"Links": []}, [("PropertyValueTypeError", "#/Links")]),
        ({"Links": {"Endpoints": [None]}}, [("PropertyValueTypeError", "#/Links/Endpoints/0")]),
        ({"Links": {"Endpoints": [{}]}},
         [("PropertyMissing", "#/Links/Endpoints/0/@odata.id")]),
        ({"Links": {"Endpoints": [{"@odata.id": "x"}]}},
         [("PropertyValueFormatError", "#/Links/Endpoints/0/@odata.id")]),
        ({"Name": None}, [("PropertyValueTypeError", "#/Name")]),
        ({"Description": None}, []),
        ({"DefaultRoutingEnabled": 1}, [("PropertyValueTypeError", "#/DefaultRoutingEnabled")]),
        ({"a/b~": 1}, [("PropertyUnknown", "#/a~1b~0")]),
        ({"@Redfish.OperationApplyTime": "x"},
         [("PropertyUnknown", "#/@Redfish.OperationApplyTime")]),
        ({"Oem": {"Contoso": {"x": [1]}}}, []),
        ({"Oem": {"Contoso": 1}}, [("PropertyValueTypeError", "#/Oem/Contoso")]),
        ({"Identifiers": [{"DurableName": "x", "DurableNameFormat": "UUID", "Z": 1}]},
         [("PropertyUnknown", "#/Identifiers/0/Z")]),
    ],
)  # fmt: skip
def test_zone_bodies(body: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert told(check_create(ZONE, body)) == expected


def test_required_properties_are_missed_also_when_empty() -> None:
    assert told(check_create(ENDPOINT, {})) == [("PropertyMissing", "#/ConnectedEntities")]
    body = {"ConnectedEntities": []}
    assert told(check_create(ENDPOINT, body)) == [("PropertyMissing", "#/ConnectedEntities")]
    body = {"Links": {"InitiatorEndpoints": [LINK]}, "ConnectionType": "Tape"}  # type: ignore[dict-item]
    assert told(check_create(CONNECTION, body)) == [
        ("PropertyValueNotInList", "#/ConnectionType"),
        ("PropertyMissing", "#/Links/TargetEndpoints"),
    ]


def test_read_only_properties_may_be_given_at_creation() -> None:
    body = {
        "EndpointProtocol": "PCIe",
        "ConnectedEntities": [
            {"EntityRole": "Target", "EntityLink": LINK, "EntityPciId": {"VendorId": "0x1AF4"}}
        ],
    }
    assert check_create(ENDPOINT, body) == []
    body["ConnectedEntities"][0]["EntityRole"] = "Boss"  # type: ignore[index]
    body["ConnectedEntities"][0]["EntityPciId"]["VendorId"] = "6900"  # type: ignore[index]
    assert told(check_create(ENDPOINT, body)) == [
        ("PropertyValueNotInList", "#/ConnectedEntities/0/EntityRole"),
        ("PropertyValueFormatError", "#/ConnectedEntities/0/EntityPciId/VendorId"),
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("NoOperation",)]),
        ({"@odata.id": "/x", "Name@odata.x": 1}, [("NoOperation",)]),
        ({"Name": "n"}, []),
        ({"Links": {"Endpoints": [LINK, {}, None]}}, []),
        ({"Links": {"Endpoints": None}}, [("PropertyValueTypeError", "#/Links/Endpoints")]),
        ({"Id": "n"}, [("PropertyNotWritable", "#/Id")]),
        ({"Actions": {}}, [("PropertyNotWritable", "#/Actions")]),
    ],
)
def test_zone_patches(body: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert told(check_patch(ZONE, body, wanted=True)) == expected


def test_the_origin_decides_what_can_be_patched() -> None:
    system = CATALOG.types["ComputerSystem"]
    assert check_patch(system, {"AssetTag": "x"}, wanted=False) == []
    assert told(check_patch(system, {"AssetTag": "x"}, wanted=True)) == [
        ("PropertyNotWritable", "#/AssetTag")
    ]


def test_an_integer_is_not_a_boolean_nor_a_float() -> None:
    for value in (True, 1.0, "1"):
        check = ValueCheck(PropertyVoice(), patching=False)
        check.value(PropertyInfo(Kind.INTEGER), value, "N", "#/N")
        assert told(check.told) == [("PropertyValueTypeError", "#/N")]


def test_a_number_out_of_range_is_told() -> None:
    check = ValueCheck(PropertyVoice(), patching=False)
    check.value(PropertyInfo(Kind.INTEGER, minimum=30, maximum=86400), 20, "N", "#/N")
    assert told(check.told) == [("PropertyValueOutOfRange", "#/N")]


def test_a_date_time_has_seconds_and_a_zone() -> None:
    info = PropertyInfo(Kind.STRING, format="date-time")
    for text, good in (("2024-01-02T03:04:05Z", True), ("2024-01-02T03:04:05+01:00", True),
                       ("2024-01-02", False), ("2024-01-02T03:04:05", False),
                       ("2024-01-02T03:04:05Z\n", False)):  # fmt: skip
        check = ValueCheck(PropertyVoice(), patching=False)
        check.value(info, text, "N", "#/N")
        assert (check.told == []) == good


def test_a_hostile_body_gets_a_bounded_answer() -> None:
    found = check_create(ZONE, {f"x{n}": 1 for n in range(10_000)})
    assert len(found) == MESSAGES_MAX + 1
    assert found[-1].key == "Base.MaximumErrorsExceeded"
    long = check_create(ZONE, {"ZoneType": "x" * 10_000})
    assert len(long[0].args[0]) < 300


def test_an_action_takes_a_link_in_both_forms() -> None:
    action = ZONE.actions["Zone.AddEndpoint"]
    assert check_action(action, {"Endpoint": LINK}) == []
    assert check_action(action, {"Endpoint": LINK["@odata.id"], "ZoneETag": ""}) == []
    assert told(check_action(action, {"Endpoint": 5})) == [
        ("ActionParameterValueTypeError", "#/Endpoint")
    ]


# The oracle: the official schema of the same version, with `required` left out, because a
# request does not carry everything that a response must.


def oracle(name: str) -> jsonschema.Draft7Validator:
    bundle = pack("dmtf-2025.4-json-schema-latest")

    def retrieve(uri: str) -> Resource[Any]:
        file = uri.rsplit("/", 1)[-1].removesuffix(".json")
        if file not in bundle:  # an older version: the newest says the same or more
            name = file.partition(".")[0]
            file = max(
                (each for each in bundle if each.startswith(f"{name}.v")),
                key=lambda each: [int(n) for n in each.partition(".v")[2].split("_")],
            )
        schema = bundle[file]
        return Resource.from_contents(_without_required(schema), default_specification=DRAFT7)

    registry: Registry[Any] = Registry(retrieve=retrieve)  # type: ignore[call-arg]
    file = f"{name}.{CATALOG.types[name].version}"
    schema = _without_required(bundle[file])
    return jsonschema.Draft7Validator(schema, registry=registry)


def _without_required(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_required(below)
            for key, below in value.items()
            if key not in ("required", "$schema")
        }
    return [_without_required(each) for each in value] if isinstance(value, list) else value


SCALARS = st.sampled_from([None, True, 1, -3, 1.5, "", "x", "ZoneOfEndpoints", "Target", "UUID",
                           "0x1AF4", "Memory", "Read", "PCIe"])  # fmt: skip
KEYS = st.sampled_from(
    ["Name", "Description", "ZoneType", "DefaultRoutingEnabled", "Identifiers", "DurableName",
     "DurableNameFormat", "ExternalAccessibility", "Bogus", "EntityRole", "EntityPciId",
     "VendorId", "AccessCapabilities"]
)  # fmt: skip
BODIES = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda below: st.lists(below, max_size=2) | st.dictionaries(KEYS, below, max_size=2),
        max_leaves=5,
    ),
    max_size=3,
)


def test_our_verdict_equals_that_of_the_official_schema() -> None:
    validators = {name: oracle(name) for name in ("Zone", "Endpoint", "Connection")}
    verdicts = set()

    @given(st.sampled_from(sorted(validators)), BODIES)
    def compare(name: str, body: dict[str, Any]) -> None:
        found = check_create(CATALOG.types[name], body)
        ours = not [each for each in found if each.key != "Base.PropertyMissing"]
        theirs = validators[name].is_valid(body)
        verdicts.add((ours, theirs))
        assert ours == theirs, (name, body, found)

    compare()
    assert verdicts == {(True, True), (False, False)}
