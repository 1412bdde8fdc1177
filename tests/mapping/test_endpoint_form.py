"""Endpoints that say two things at once: two hosts, a host that is a device, a whole device."""

import json
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric.model import DeviceKind, Function
from redfish_fm.mapping.uris import SYSTEM
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import MemoryTip, a_device, a_tip, links
from tests.mapping.test_devices import device_uri, plugged
from tests.mapping.test_volumes import FABRIC as NET
from tests.mapping.test_volumes import a_network
from tests.mapping.test_writes import ENDPOINTS, H1, POD, ZONES, refusal

HOST1, HOST2 = (SYSTEM.format(system=name) for name in ("h1", "h2"))
CONFLICT = "Base.PropertyValueConflict"


def entity(link: str | None = None, *nqns: str, role: str = "Initiator") -> dict[str, Any]:
    found: dict[str, Any] = {"EntityType": "RootComplex", "EntityRole": role}
    if link is not None:
        found["EntityLink"] = {"@odata.id": link}
    if nqns:
        found["Identifiers"] = names(*nqns)
    return found


def names(*nqns: str) -> list[dict[str, str]]:
    return [{"DurableName": nqn, "DurableNameFormat": "NQN"} for nqn in nqns]


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip()


@pytest.fixture
def network() -> MemoryTip:
    return a_tip(a_network())


def test_two_hosts_are_refused_naming_both_entities(tip: MemoryTip) -> None:
    body = {"ConnectedEntities": [entity(HOST1), entity(HOST2)]}
    with refusal(400, CONFLICT, "#/ConnectedEntities/1", "#/ConnectedEntities/0"):
        tip.post(ENDPOINTS, body)


def test_an_endpoint_does_not_get_a_second_host(tip: MemoryTip) -> None:
    made = tip.post(ENDPOINTS, {"ConnectedEntities": [entity(HOST1)]}).uri
    with refusal(400, CONFLICT, "#/ConnectedEntities/1"):
        tip.patch(made, {"ConnectedEntities": [{}, entity(HOST2)]})


def test_two_entities_of_one_host_are_one_host(tip: MemoryTip) -> None:
    body = {"ConnectedEntities": [entity(HOST1), entity(f"{HOST1}/"), entity()]}
    assert tip.post(ENDPOINTS, body).kind is OutcomeKind.CREATED


@pytest.mark.parametrize(
    "body",
    [
        {"ConnectedEntities": [entity(None, "nqn.h1"), entity(None, "nqn.h2")]},
        {"ConnectedEntities": [entity(None, "nqn.x"), entity(None, "nqn.y")]},
        {"ConnectedEntities": [entity(None, "nqn.h1", "nqn.h2")]},
        {"ConnectedEntities": [entity(None, "nqn.h1", "nqn.x")]},
        {"ConnectedEntities": [entity()], "Identifiers": names("nqn.x", "nqn.y")},
    ],
)
def test_two_nqns_are_two_hosts(network: MemoryTip, body: dict[str, Any]) -> None:
    with refusal(400, CONFLICT):
        network.post(f"{NET}/Endpoints", body)


def test_a_host_may_be_named_in_several_forms(network: MemoryTip) -> None:
    one = entity(HOST1, "nqn.h1")
    one["Identifiers"].append({"DurableName": "anything", "DurableNameFormat": "UUID"})
    body = {"ConnectedEntities": [one], "Identifiers": names("nqn.h1")}
    assert network.post(f"{NET}/Endpoints", body).kind is OutcomeKind.CREATED


def test_what_was_imported_with_two_hosts_stays(tip: MemoryTip) -> None:
    made = tip.post(ENDPOINTS, {"ConnectedEntities": [entity(HOST1)]}).uri
    document = json.loads(tip.documents[made])
    document["ConnectedEntities"].append(entity(HOST2))
    tip.documents[made] = json.dumps(document).encode()
    assert tip.patch(made, {"Name": "old"}).kind is OutcomeKind.CHANGED


def test_a_host_that_is_no_device_is_not_both(tip: MemoryTip) -> None:
    place = "#/ConnectedEntities/0"
    with refusal(400, CONFLICT, f"{place}/EntityRole", f"{place}/EntityLink"):
        tip.post(ENDPOINTS, {"ConnectedEntities": [entity(HOST1, role="Both")]})


def test_a_whole_device_that_is_bound_by_its_functions_is_told_by_its_endpoint() -> None:
    nic = replace(
        a_device("nic1", DeviceKind.NIC), functions=(Function(0), Function(1)), binds_functions=True
    )
    tip = a_tip(plugged(nic))
    whole = device_uri("nic1")
    end = tip.post(ENDPOINTS, {"ConnectedEntities": [entity(whole, role="Target")]}).uri
    with refusal(400, "Base.PropertyValueResourceConflict", end, whole, "#/Links/Endpoints/1"):
        tip.post(ZONES, {"Links": {"Endpoints": links(H1, end)}})
    parts = links(H1, f"{POD}/Endpoints/nic1-f0")
    assert tip.post(ZONES, {"Links": {"Endpoints": parts}}).operation is not None
