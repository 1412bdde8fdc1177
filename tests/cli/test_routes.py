"""The catalog as a table that grep likes."""

import json


def test_routes_shows_templates_verbs_and_types(command) -> None:
    result = command("routes")
    assert result.exit_code == 0, result.stderr
    line = next(
        line
        for line in result.stdout.splitlines()
        if line.startswith("/redfish/v1/Fabrics/{FabricId}/Zones/{ZoneId}\t")
    )
    assert "PATCH DELETE" in line
    assert "#Zone.v" in line


def test_routes_in_json_has_the_same_rows(command) -> None:
    rows = json.loads(command("routes", "--json").stdout)
    zones = next(row for row in rows if row["uri"] == "/redfish/v1/Fabrics/{FabricId}/Zones")
    assert zones["verbs"] == "GET HEAD POST"
    assert zones["type"] == "#ZoneCollection.ZoneCollection"


def test_a_collection_that_nobody_may_add_to_has_no_post(command) -> None:
    rows = {row["uri"]: row for row in json.loads(command("routes", "--json").stdout)}
    assert rows["/redfish/v1/Chassis"]["verbs"] == "GET HEAD"


def test_supported_actions_are_listed_and_others_are_not(command) -> None:
    rows = {row["uri"]: row for row in json.loads(command("routes", "--json").stdout)}
    zone = "/redfish/v1/Fabrics/{FabricId}/Zones/{ZoneId}"
    assert rows[f"{zone}/Actions/Zone.AddEndpoint"]["verbs"] == "POST"
    assert not any("Chassis.Reset" in uri for uri in rows)
