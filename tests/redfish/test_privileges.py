"""The privilege map: facts as published, our additions, and what ConfigureSelf is worth."""

from tests.redfish.builders import CATALOG, PRIVILEGES
from tests.redfish.packs import pack

ADMIN, OPERATOR, READER = (
    CATALOG.roles[name] for name in ("Administrator", "Operator", "ReadOnly")
)


def test_the_map_equals_the_published_one_for_every_type_served() -> None:
    registry = pack("dmtf-2025.4-registries-latest")["Redfish_1.8.0_PrivilegeRegistry"]
    entities = {each["Entity"]: each["OperationMap"] for each in registry["Mappings"]}
    assert set(CATALOG.types) <= set(entities)
    every = {"Login", "ConfigureManager", "ConfigureUsers", "ConfigureComponents", "NoAuth"}
    for name in CATALOG.types:
        for method, alternatives in entities[name].items():
            for privilege in every:
                official = any(set(each["Privilege"]) <= {privilege} for each in alternatives)
                assert PRIVILEGES.allows(name, method, frozenset({privilege})) == official


def test_self_counts_only_for_ones_own() -> None:
    assert not PRIVILEGES.allows("Session", "DELETE", READER)
    assert PRIVILEGES.allows("Session", "DELETE", READER, own=True)
    assert PRIVILEGES.allows("Session", "DELETE", ADMIN)


def test_an_operator_may_cancel_its_own_task_only() -> None:
    assert not PRIVILEGES.allows("Task", "DELETE", OPERATOR)
    assert PRIVILEGES.allows("Task", "DELETE", OPERATOR, own=True)
    assert not PRIVILEGES.allows("Task", "DELETE", READER, own=True)


def test_an_unknown_type_is_read_with_login_and_written_with_configure_components() -> None:
    assert PRIVILEGES.allows("Contoso", "GET", READER)
    assert not PRIVILEGES.allows("Contoso", "PATCH", READER)
    assert PRIVILEGES.allows("Contoso", "PATCH", OPERATOR)


def test_what_stands_above_can_change_what_is_needed() -> None:
    above = ("ServiceRoot", "ManagerCollection", "Manager", "LogServiceCollection")
    assert not PRIVILEGES.allows("LogService", "PATCH", OPERATOR, ancestors=above)
    above = ("ServiceRoot", "ComputerSystemCollection", "ComputerSystem", "LogServiceCollection")
    assert PRIVILEGES.allows("LogService", "PATCH", OPERATOR, ancestors=above)
