"""Hosts of a mockup: which manager is the BMC of which, and who of them can be reset."""

from typing import Any

import pytest

from redfish_fm.mapping.imported import analyse
from tests.mapping.builders import links

SYSTEM, MANAGER = "/redfish/v1/Systems/{}", "/redfish/v1/Managers/{}"


def bmcs(*managers: tuple[str, str, list[str]]) -> dict[str, str]:
    """Return what is known of two systems with these managers: Id, type, systems by Id."""
    documents: dict[str, dict[str, Any]] = {
        SYSTEM.format(name): {"@odata.type": "#ComputerSystem.v1_27_0.ComputerSystem"}
        for name in ("1", "2")
    }
    for name, kind, systems in managers:
        documents[MANAGER.format(name)] = {
            "@odata.type": "#Manager.v1_24_0.Manager",
            "ManagerType": kind,
            "Links": {"ManagerForServers": links(*(SYSTEM.format(each) for each in systems))},
        }
    return analyse(documents).facts.bmcs


def test_a_bmc_is_that_of_the_one_host_that_it_names() -> None:
    found = bmcs(("A", "BMC", ["1"]), ("B", "BMC", ["2"]))
    assert found == {
        SYSTEM.format(1): MANAGER.format("A"),
        SYSTEM.format(2): MANAGER.format("B"),
    }


def test_a_manager_of_several_hosts_is_no_bmc_of_one() -> None:
    assert bmcs(("A", "BMC", ["1", "2"])) == {}


def test_of_two_bmcs_of_one_host_none_is_taken() -> None:
    assert bmcs(("A", "BMC", ["1"]), ("B", "BMC", ["1"])) == {}


def test_a_manager_of_another_kind_or_of_no_known_host_is_no_bmc() -> None:
    assert bmcs(("A", "EnclosureManager", ["1"]), ("B", "BMC", ["9"])) == {}


def resettable(system: dict[str, Any], further: dict[str, dict[str, Any]] | None = None) -> Any:
    """Return the hosts that are driven beside the fabrics, of a mockup with one system."""
    actions = {"#ComputerSystem.Reset": {"target": f"{SYSTEM.format(1)}/Actions/x"}}
    document = {"@odata.type": "#ComputerSystem.v1_27_0.ComputerSystem", "Actions": actions}
    return analyse({SYSTEM.format(1): {**document, **system}, **(further or {})}).hosts


def test_a_host_in_no_driven_fabric_can_be_reset_where_the_recorded_one_could() -> None:
    (host,) = resettable({"Name": "One", "PowerState": "Off"})
    assert (host.id, host.name, host.powered) == (SYSTEM.format(1), "One", False)


@pytest.mark.parametrize(
    "system",
    [{"Actions": {}}, {"Actions": None}, {"SystemType": "Composed"}, {"SystemType": "Virtual"}],
)
def test_a_system_without_reset_or_without_hardware_of_its_own_is_not(system: Any) -> None:
    assert resettable(system) == []


def test_a_host_in_a_driven_fabric_is_that_fabrics() -> None:
    fabric = "/redfish/v1/Fabrics/F"
    entity = {"EntityRole": "Initiator", "EntityLink": links(SYSTEM.format(1))[0]}
    further: dict[str, dict[str, Any]] = {
        fabric: {"@odata.type": "#Fabric.v1_3_2.Fabric", "FabricType": "PCIe"},
        f"{fabric}/Switches/1": {"@odata.type": "#Switch.v1_10_0.Switch"},
        f"{fabric}/Endpoints/1": {
            "@odata.type": "#Endpoint.v1_8_2.Endpoint",
            "ConnectedEntities": [entity],
        },
    }
    assert resettable({}, further) == []
    del further[f"{fabric}/Switches/1"]
    assert [host.id for host in resettable({}, further)] == [SYSTEM.format(1)]
