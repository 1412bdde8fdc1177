"""The privilege map: facts as published, our additions, and what ConfigureSelf is worth."""

from typing import Any

import pytest

from redfish_fm.redfish.privileges import Privileges
from tests.redfish.builders import CATALOG, PRIVILEGES
from tests.redfish.packs import pack

ADMIN, OPERATOR, READER = (
    CATALOG.roles[name] for name in ("Administrator", "Operator", "ReadOnly")
)
EVERY = ("Login", "ConfigureManager", "ConfigureUsers", "ConfigureComponents", "ConfigureSelf")
METHODS = ("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE")
OURS = {("CompositionService", "POST"), ("CompositionReservation", "DELETE"), ("Task", "DELETE")}


def published() -> dict[str, dict[str, Any]]:
    registry = pack("dmtf-2025.4-registries-latest")["Redfish_1.8.0_PrivilegeRegistry"]
    return {each["Entity"]: each for each in registry["Mappings"]}


def enough(alternatives: list[dict[str, list[str]]], granted: set[str]) -> bool:
    return any(set(each["Privilege"]) <= granted for each in alternatives)


def test_the_map_equals_the_published_one_but_for_our_additions() -> None:
    entities = published()
    assert len(entities) > 250
    for name, entity in entities.items():
        for method, alternatives in entity["OperationMap"].items():
            for privilege in EVERY:
                official = enough(alternatives, {privilege})
                ours = PRIVILEGES.allows(name, method, frozenset({privilege}), own=True)
                if (name, method) not in OURS:
                    assert ours == official, (name, method, privilege)
                else:
                    assert ours or not official


def test_every_override_of_the_published_map_counts_where_it_applies() -> None:
    counted = 0
    for name, entity in published().items():
        for row in entity.get("SubordinateOverrides", ()):
            above = ("ServiceRoot", *row["Targets"])
            for method, alternatives in row["OperationMap"].items():
                for privilege in EVERY[:-1]:
                    found = PRIVILEGES.allows(name, method, frozenset({privilege}), ancestors=above)
                    first = PRIVILEGES.overridden(name)
                    assert first
                    assert found == enough(alternatives, {privilege}), (name, row["Targets"])
                    counted += 1
    assert counted > 100


def test_of_ones_own_account_the_password_alone_is_ones_own_to_change() -> None:
    assert PRIVILEGES.own_properties("ManagerAccount") == {"Password"}
    assert PRIVILEGES.own_properties("Zone") == frozenset()


def test_a_rule_for_one_uri_stands_before_all_others() -> None:
    everyone: dict[str, Any] = {method: [["Login"]] for method in METHODS}
    entity = {
        "OperationMap": everyone,
        "ResourceURIOverrides": [
            {"Targets": ["/redfish/v1/Chassis/1"], "OperationMap": {"GET": [["ConfigureUsers"]]}}
        ],
    }
    made = Privileges(
        {"privileges": list(EVERY), "entities": {"Chassis": entity}},
        {"also": {}, "absent": {"map": everyone}},
    )
    assert made.overridden("Chassis")
    assert made.allows("Chassis", "GET", READER, uri="/redfish/v1/Chassis/2")
    assert not made.allows("Chassis", "GET", READER, uri="/redfish/v1/Chassis/1")
    assert made.allows("Chassis", "PATCH", READER, uri="/redfish/v1/Chassis/1")


def test_an_addition_to_an_unknown_type_stops_the_start() -> None:
    with pytest.raises(ValueError, match="Zine"):
        Privileges({"privileges": [], "entities": {}}, {"also": {"Zine": {}}, "absent": {}})


def test_self_counts_only_for_ones_own() -> None:
    assert not PRIVILEGES.allows("Session", "DELETE", READER)
    assert PRIVILEGES.allows("Session", "DELETE", READER, own=True)
    assert PRIVILEGES.allows("Session", "DELETE", ADMIN)


@pytest.mark.parametrize("name", ["Task", "CompositionReservation"])
def test_an_operator_may_give_back_only_its_own(name: str) -> None:
    assert not PRIVILEGES.allows(name, "DELETE", OPERATOR)
    assert PRIVILEGES.allows(name, "DELETE", OPERATOR, own=True)
    assert not PRIVILEGES.allows(name, "DELETE", READER, own=True)


def test_an_operator_may_compose() -> None:
    assert PRIVILEGES.allows("CompositionService", "POST", OPERATOR)
    assert not PRIVILEGES.allows("CompositionService", "PATCH", OPERATOR)
    assert not PRIVILEGES.allows("CompositionService", "POST", READER)


@pytest.mark.parametrize("name", ["Contoso", "StorageReplicaInfo"])
def test_an_unknown_type_is_read_with_login_and_written_with_configure_components(
    name: str,
) -> None:
    assert name not in published()
    assert PRIVILEGES.allows(name, "GET", READER)
    assert not PRIVILEGES.allows(name, "PATCH", READER)
    assert PRIVILEGES.allows(name, "PATCH", OPERATOR)


def test_what_stands_above_can_change_what_is_needed() -> None:
    above = ("ServiceRoot", "ManagerCollection", "Manager", "LogServiceCollection")
    assert not PRIVILEGES.allows("LogService", "PATCH", OPERATOR, ancestors=above)
    above = ("ServiceRoot", "ComputerSystemCollection", "ComputerSystem", "LogServiceCollection")
    assert PRIVILEGES.allows("LogService", "PATCH", OPERATOR, ancestors=above)


def test_the_map_we_publish_is_the_map_we_go_by() -> None:
    rows = {each["Entity"]: each for each in PRIVILEGES.mappings(CATALOG.types)}
    assert set(rows) == set(published()) | set(CATALOG.types)
    for name, row in rows.items():
        assert set(row["OperationMap"]) == set(METHODS)
        for method, alternatives in row["OperationMap"].items():
            for granted in (ADMIN, OPERATOR, READER):
                told = enough(alternatives, set(granted))
                assert told == PRIVILEGES.allows(name, method, granted, own=True)


AUDIT_LOG = "/redfish/v1/Managers/FabricManager2/LogServices/AuditLog/Entries"
LOG_ABOVE = ("ServiceRoot", "ManagerCollection", "Manager", "LogServiceCollection", "LogService")


@pytest.mark.parametrize(
    ("type_name", "uri"), [("LogEntryCollection", AUDIT_LOG), ("LogEntry", f"{AUDIT_LOG}/7")]
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_the_audit_log_is_for_those_who_answer_for_the_service(
    type_name: str, uri: str, method: str
) -> None:
    allowed = {
        privilege: PRIVILEGES.allows(
            type_name, method, frozenset({privilege}), ancestors=LOG_ABOVE, uri=uri
        )
        for privilege in EVERY[:-1]
    }
    assert allowed == {
        "Login": False,
        "ConfigureManager": True,
        "ConfigureUsers": True,
        "ConfigureComponents": False,
    }


@pytest.mark.parametrize("log", ["Log", "AuditLogs"])
def test_other_logs_are_read_by_whoever_is_logged_in(log: str) -> None:
    uri = AUDIT_LOG.replace("AuditLog", log)
    login = frozenset({"Login"})
    assert PRIVILEGES.allows("LogEntryCollection", "GET", login, ancestors=LOG_ABOVE, uri=uri)


def test_what_counts_for_the_audit_log_is_published() -> None:
    rows = {each["Entity"]: each for each in PRIVILEGES.mappings([])}
    for name in ("LogEntry", "LogEntryCollection"):
        (row,) = rows[name]["ResourceURIOverrides"]
        assert row["Targets"][0].startswith("/redfish/v1/Managers/{ManagerId}/LogServices/AuditLog")
        assert row["OperationMap"]["GET"] == [
            {"Privilege": ["ConfigureManager"]},
            {"Privilege": ["ConfigureUsers"]},
        ]
