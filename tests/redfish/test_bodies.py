"""Form of bodies: everything wrong is told at once, each with its pointer."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from redfish_fm.redfish.bodies import MESSAGES_MAX, check_action, check_create, check_patch
from redfish_fm.redfish.catalog import TypeInfo
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.properties import Kind, PropertyInfo
from redfish_fm.redfish.values import PropertyVoice, ValueCheck
from tests.redfish.builders import CATALOG

ZONE = CATALOG.types["Zone"]
ENDPOINT = CATALOG.types["Endpoint"]
GROUP = CATALOG.types["EndpointGroup"]
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
    body = {"@odata.id": "/x", "@odata.count": 5, "Links": {"Endpoints@odata.count": "x"}}
    assert check_create(ZONE, body) == []


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"@odata.type": 5}, "#/@odata.type"),
        ({"@odata.etag": None}, "#/@odata.etag"),
        ({"Links": {"@odata.id": []}}, "#/Links/@odata.id"),
        ({"Links": {"Endpoints": [{**LINK, "@odata.type": {}}]}},
         "#/Links/Endpoints/0/@odata.type"),
        ({"Identifiers": [{"@odata.id": 1}]}, "#/Identifiers/0/@odata.id"),
        ({"Oem": {"@odata.id": []}}, "#/Oem/@odata.id"),
        ({"Oem": {"a": {"@odata.type": 7}}}, "#/Oem/a/@odata.type"),
        ({"Oem": {"a": {"b": [[{"c": {"@odata.id": True}}]]}}}, "#/Oem/a/b/0/0/c/@odata.id"),
    ],
)  # fmt: skip
def test_an_annotation_that_is_no_string_is_refused_wherever_it_stands(
    body: dict[str, Any], place: str
) -> None:
    assert told(check_create(ZONE, body)) == [("PropertyValueTypeError", place)]
    assert told(check_patch(ZONE, body, wanted=True)) == [("PropertyValueTypeError", place)]


def test_a_parameter_can_not_have_an_odd_annotation_either() -> None:
    action = ZONE.actions["Zone.AddEndpoint"]
    for body, place in (
        ({"Endpoint": {**LINK, "@odata.type": 1}}, "#/Endpoint/@odata.type"),
        ({"Endpoint": LINK, "@odata.id": 1}, "#/@odata.id"),
    ):
        assert told(check_action(action, body)) == [("ActionParameterValueTypeError", place)]


REPLACE = "CertificateService.ReplaceCertificate"


@pytest.mark.parametrize("name", ["CertificateString", "Password"])
@pytest.mark.parametrize(
    "value",
    ["KEY\0", "KEY" * 40_000, ["KEY"], {"KEY": "KEY"}, 1234567, "-----BEGIN PRIVATE KEY\x1b"],
)
def test_a_secret_is_never_quoted_however_it_is_wrong(name: str, value: object) -> None:
    """Who mixes certificate and key up must not find the key in an answer, and then in a log."""
    action = CATALOG.types["CertificateService"].actions[REPLACE]
    refused = [each for each in check_action(action, {name: value}) if name in each.args]
    assert refused
    for message in refused:
        assert not any("KEY" in str(each) or "1234567" in str(each) for each in message.args)


def test_null_removes_what_a_client_has_put_into_oem() -> None:
    body = {"Oem": {"a": {"@odata.type": None}}}
    assert check_patch(ZONE, body, wanted=True) == []
    assert told(check_create(ZONE, body)) == [("PropertyValueTypeError", "#/Oem/a/@odata.type")]


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
    body = {"Links": {"Endpoints": []}, "GroupType": "Tape"}  # type: ignore[dict-item]
    assert told(check_create(GROUP, body)) == [
        ("PropertyValueNotInList", "#/GroupType"),
        ("PropertyMissing", "#/Links/Endpoints"),
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
    assert check_patch(system, {"HostName": "x"}, wanted=True) == []
    assert told(check_patch(system, {"HostName": "x"}, wanted=False)) == [
        ("PropertyNotWritable", "#/HostName")
    ]
    assert check_patch(system, {"AssetTag": "x"}, wanted=False) == []


def test_an_integer_is_not_a_boolean_nor_a_float() -> None:
    for value in (True, 1.0, "1"):
        check = ValueCheck(PropertyVoice(), patching=False)
        check.value(PropertyInfo(Kind.INTEGER), value, "N", "#/N")
        assert told(check.told) == [("PropertyValueTypeError", "#/N")]


def test_a_number_out_of_range_is_told() -> None:
    check = ValueCheck(PropertyVoice(), patching=False)
    check.value(PropertyInfo(Kind.INTEGER, minimum=30, maximum=86400), 20, "N", "#/N")
    assert told(check.told) == [("PropertyValueOutOfRange", "#/N")]


def test_a_text_and_a_link_have_a_bound() -> None:
    for kept, body in (
        (4096, {"Description": "x" * 4096}),
        (256, {"Name": "x" * 256}),
        (4096, {"Links": {"Endpoints": [{"@odata.id": "/" + "x" * 4095}]}}),
    ):
        assert check_create(ZONE, body) == []
        longer = msgspec.json.decode(msgspec.json.encode(body).replace(b"xx", b"xxx", 1))
        (message,) = check_create(ZONE, longer)
        assert message.key == "Base.StringValueTooLong"
        assert (message.args[1], len(message.args[0]) < 300) == (str(kept), True)
    chassis = CATALOG.types["Chassis"]
    assert told(check_patch(chassis, {"AssetTag": "x" * 5000}, wanted=False)) == [
        ("StringValueTooLong", "#/AssetTag")
    ]
    chain = {"CertificateString": "x" * 65_536, "CertificateType": "PEM"}
    assert check_create(CATALOG.types["Certificate"], chain) == []


def test_a_text_of_several_types_has_a_bound_too() -> None:
    mixed = PropertyInfo(Kind.MIXED, types=frozenset({"string", "integer"}))
    for value, expected in (("x" * 4096, 0), ("x" * 4097, 1), ("a\x00", 1), (5, 0)):
        check = ValueCheck(PropertyVoice(), patching=False)
        check.value(mixed, value, "V", "#/V")
        assert len(check.told) == expected


def test_a_wished_id_is_told_with_everything_else() -> None:
    for wished in ("", "a/b", "..", "Members", "é", "x" * 129, "a\x00", "x" * 5000):
        found = told(check_create(GROUP, {"Id": wished, "Bogus": 1}))
        assert sorted(place for _key, place in found) == ["#/Bogus", "#/Id", "#/Links/Endpoints"]
    assert check_create(ZONE, {"Id": "Mine-1.0_~"}) == []


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


def test_where_people_put_a_thing_can_be_laid_over_it_and_where_its_parts_are_can_not() -> None:
    chassis = CATALOG.types["Chassis"]
    body: dict[str, Any] = {
        "AssetTag": "a",
        "LocationIndicatorActive": True,
        "Location": {"Placement": {"Rack": "7"}, "Contacts": [{"ContactName": "Ada"}, None]},
    }
    assert check_patch(chassis, body, wanted=False) == []
    body["Location"]["PartLocation"] = {"ServiceLabel": "x"}
    body["Location"]["Placement"]["Shelf"] = 1
    assert told(check_patch(chassis, body, wanted=False)) == [
        ("PropertyUnknown", "#/Location/Placement/Shelf"),
        ("PropertyNotWritable", "#/Location/PartLocation"),
    ]


def taking(name: str, path: str) -> TypeInfo:
    """Return a type as it were if a POST could name `path` too."""
    info = CATALOG.types[name]
    assert info.create is not None
    table = replace(info.create, allowed=info.create.allowed | {path})
    return replace(info, row=replace(info.row, create=table))


def test_a_thing_without_a_uri_may_be_given_in_place_of_a_link() -> None:
    volume = taking("Volume", "CapacitySources")
    sources = [{"ProvidedCapacity": {"Data": {"AllocatedBytes": 4096}}}, LINK]
    assert check_create(volume, {"CapacitySources": sources}) == []
    sources[0]["ProvidedCapacity"]["Data"]["AllocatedBytes"] = "4096"  # type: ignore[index]
    assert told(check_create(volume, {"CapacitySources": sources})) == [
        ("PropertyValueTypeError",
         "#/CapacitySources/0/ProvidedCapacity/Data/AllocatedBytes")
    ]  # fmt: skip


def test_names_by_pattern_are_checked_like_others() -> None:
    subscription = CATALOG.types["EventDestination"]
    body: dict[str, Any] = {
        "Destination": "https://192.0.2.1/x",
        "Protocol": "Redfish",
        "HttpHeaders": [{"X-Session": "s"}],
    }
    assert check_create(subscription, body) == []
    body["HttpHeaders"] = [{"X-Session": 1, "a b": "x"}]
    assert told(check_create(subscription, body)) == [
        ("PropertyValueTypeError", "#/HttpHeaders/0/X-Session"),
        ("PropertyUnknown", "#/HttpHeaders/0/a b"),
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"Name": ""}, [("StringValueTooShort", "#/Name")]),
        ({"Name": "x" * 257}, [("StringValueTooLong", "#/Name")]),
        ({"Name": "x" * 256}, []),
        ({"Name": "a\x00b"}, [("PropertyValueFormatError", "#/Name")]),
        ({"Name": "a\x7fb"}, [("PropertyValueFormatError", "#/Name")]),
        ({"Description": "two\nlines\tof text"}, []),
        ({"Description": ""}, []),
        ({"Description": "x" * 4097}, [("StringValueTooLong", "#/Description")]),
        ({"Identifiers": [{"DurableName": "a\x00"}]},
         [("PropertyValueFormatError", "#/Identifiers/0/DurableName")]),
        ({"Identifiers": [{"DurableName": "x" * 65_537}]},
         [("StringValueTooLong", "#/Identifiers/0/DurableName")]),
    ],
)  # fmt: skip
def test_strings_have_sensible_lengths_and_no_control_characters(
    body: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert told(check_create(ZONE, body)) == expected
    assert told(check_patch(ZONE, body, True)) == expected


def test_a_refused_long_string_is_quoted_shortly_and_a_secret_never() -> None:
    (message,) = check_create(ZONE, {"Name": "x" * 100_000})
    assert message.args[1] == "256"
    assert len(message.args[0]) < 300
    account = CATALOG.types["ManagerAccount"]
    body = {"UserName": "u", "RoleId": "ReadOnly", "Password": "tell\x00me"}
    assert "tell" not in str(check_create(account, body))


def test_strings_of_parameters_are_held_to_the_same_limits() -> None:
    action = CATALOG.types["Zone"].actions["Zone.AddEndpoint"]
    for tag in ("a\x00", "x" * 65_537):
        body = {"Endpoint": LINK, "ZoneETag": tag}
        assert told(check_action(action, body)) == [
            ("ActionParameterValueFormatError", "#/ZoneETag")
        ]
