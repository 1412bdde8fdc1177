"""Hosts of a mockup: which manager is the BMC of which, and of nobody else."""

from typing import Any

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
