"""Facts picked by hand from the standards, and tables that must agree with the packs as a whole."""

from typing import Any

import pytest


@pytest.fixture(scope="module")
def resources(types: dict[str, Any]) -> dict[str, Any]:
    return {
        name: row for file in types.values() for name, row in file.get("x-resources", {}).items()
    }


def test_a_zone_s_endpoints_are_read_only_and_its_contained_zones_are_not(types) -> None:
    links = types["Zone"]["$defs"]["Links"]["properties"]
    assert links["Endpoints"]["readOnly"] is True
    assert links["ContainsZones"]["readOnly"] is False
    assert links["Endpoints"]["items"] == {"$ref": "Endpoint.json#/$defs/Endpoint-link"}


def test_versions_are_exact_and_newest(types, resources) -> None:
    assert types["Zone"]["x-version"] == "v1_6_3"
    assert resources["Zone"]["odata_type"] == "#Zone.v1_6_3.Zone"
    assert resources["Volume"]["odata_type"] == "#Volume.v1_10_2.Volume"
    assert types["Zone"]["x-versions"]["v1_0"] == {
        "errata": [0, 1, 2, 3, 4, 5, 6, 7],
        "release": "2016.2",
    }
    assert types["Chassis"]["x-versions"]["v1_1"]["errata"][:3] == [0, 2, 3]


def test_connected_entities_name_their_kind_and_role(types) -> None:
    definitions = types["Endpoint"]["$defs"]
    assert {"Processor", "Drive", "MediaController", "FabricBridge"} <= {
        *definitions["EntityType"]["enum"]
    }
    assert definitions["EntityRole"]["enum"] == ["Initiator", "Target", "Both"]
    assert definitions["ConnectedEntity"]["properties"]["EntityRole"]["anyOf"][0] == {
        "$ref": "#/$defs/EntityRole"
    }


def test_uris_are_those_of_the_schemas_and_deprecated_ones_stand_apart(resources) -> None:
    assert resources["Switch"]["uris"] == ["/redfish/v1/Fabrics/{FabricId}/Switches/{SwitchId}"]
    endpoint = resources["Endpoint"]
    assert "/redfish/v1/Fabrics/{FabricId}/Endpoints/{EndpointId}" in endpoint["uris"]
    assert endpoint["uris_deprecated"]
    assert not set(endpoint["uris"]) & set(endpoint["uris_deprecated"])


@pytest.mark.parametrize(
    ("name", "verbs"),
    [
        ("Zone", (False, True, True)),
        ("ZoneCollection", (True, False, False)),
        ("FabricCollection", (False, False, False)),
        ("Connection", (False, True, True)),
        ("ServiceRoot", (False, False, False)),
    ],
)
def test_capabilities_are_those_of_the_csdl(resources, name: str, verbs) -> None:
    row = resources[name]
    assert (row["insertable"], row["updatable"], row["deletable"]) == verbs


def test_collections_name_the_type_of_their_members(resources) -> None:
    assert resources["ZoneCollection"]["member"] == "Zone"
    assert resources["CapacitySourceCollection"]["member"] == "Capacity.CapacitySource"
    assert resources["HostedStorageServices"]["member"] == "StorageService"
    assert "member" not in resources["Zone"]


def test_a_computer_system_s_actions_have_request_bodies(types) -> None:
    definitions = types["ComputerSystem"]["$defs"]
    actions = definitions["Actions"]["properties"]
    assert {"#ComputerSystem.Reset", "#ComputerSystem.AddResourceBlock"} <= actions.keys()
    assert actions["#ComputerSystem.Reset"] == {"$ref": "#/$defs/Reset"}
    assert definitions["Reset"]["x-request"] == {"$ref": "#/$defs/ResetRequestBody"}
    body = definitions["AddResourceBlockRequestBody"]
    assert body["required"] == ["ResourceBlock"]
    assert body["additionalProperties"] is False
    reset = definitions["ResetRequestBody"]["properties"]["ResetType"]
    assert reset["$ref"] == "Resource.json#/$defs/ResetType"


def test_an_action_s_answer_is_described_where_there_is_one(types) -> None:
    definitions = types["CertificateService"]["$defs"]
    assert definitions["GenerateCSR"]["x-response"] == {"$ref": "#/$defs/GenerateCSRResponse"}
    assert "x-response" not in definitions["ReplaceCertificate"]


def test_units_limits_and_patterns_are_kept(types) -> None:
    memory = types["Memory"]["$defs"]["Memory"]["properties"]
    assert memory["CapacityMiB"]["x-units"] == "MiBy"
    assert types["Resource"]["$defs"]["UUID"]["pattern"].startswith("^[0-9a-fA-F]{8}-")
    location = types["Resource"]["$defs"]["Location"]["properties"]
    assert location["Latitude"]["x-units"] == "deg"
    lanes = types["PCIeDevice"]["$defs"]["PCIeInterface"]["properties"]["LanesInUse"]
    assert lanes["maximum"] == 32


def test_what_is_deprecated_says_since_when(types) -> None:
    location = types["Resource"]["$defs"]["Location"]["properties"]["Info"]
    assert (location["deprecated"], location["x-deprecated"]) == (True, "v1_5_0")
    assert types["Power"]["deprecated"] is True
    assert types["Resource"]["$defs"]["State"]["x-enum-deprecated"] == {"Qualified": "v1_19_0"}


def test_passwords_are_write_only_and_needed_on_create(types) -> None:
    account = types["ManagerAccount"]["$defs"]["ManagerAccount"]
    assert {"Password", "UserName", "RoleId"} <= {*account["x-required-on-create"]}
    source = types["AggregationSource"]["$defs"]["AggregationSource"]["properties"]
    assert source["Password"]["writeOnly"] is True


def test_contained_resources_differ_from_related_ones(types) -> None:
    fabric = types["Fabric"]["$defs"]["Fabric"]["properties"]
    assert fabric["Zones"]["x-contained"] is True
    assert "x-contained" not in types["Zone"]["$defs"]["Links"]["properties"]["Endpoints"]


def test_excerpts_name_their_source(types) -> None:
    assert types["Sensor"]["$defs"]["SensorPowerExcerpt"]["x-excerpt"] == ["SensorPower"]
    metrics = types["EnvironmentMetrics"]["$defs"]["EnvironmentMetrics"]["properties"]
    assert metrics["PowerWatts"]["x-excerpt-copy"] == "SensorPowerExcerpt"


def test_open_types_take_any_property_and_dynamic_ones_keep_their_pattern(types) -> None:
    definitions = types["Resource"]["$defs"]
    assert definitions["Oem"]["additionalProperties"] is True
    assert {"$ref": "#/$defs/OemObject"} in definitions["Oem"]["patternProperties"].values()
    assert "^[A-Za-z][A-Za-z0-9_]+$" in types["Bios"]["$defs"]["Attributes"]["patternProperties"]


def test_every_action_of_the_packs_has_its_parameters(types, published) -> None:
    checked = 0
    for file, ours in types.items():
        place = f"{file}.{ours.get('x-version')}.json"
        for name, theirs in published.get(place, {}).get("definitions", {}).items():
            if "parameters" not in theirs:
                continue
            body = ours["$defs"][f"{name}RequestBody"]
            parameters = theirs["parameters"]
            required = {key for key, each in parameters.items() if each.get("requiredParameter")}
            assert body.get("properties", {}).keys() == parameters.keys(), f"{file} {name}"
            assert set(body.get("required", ())) == required, f"{file} {name}"
            checked += 1
    assert checked > 150


def test_every_uri_of_the_packs_is_there_once(resources, published) -> None:
    for place, schema in published.items():
        for name, definition in schema.get("definitions", {}).items():
            if "uris" in definition:
                row = resources[name]
                found = [*row["uris"], *row.get("uris_deprecated", ())]
                assert sorted(found) == sorted(definition["uris"]), place
