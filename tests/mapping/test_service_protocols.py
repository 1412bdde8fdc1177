"""PATCH of the service's own network protocols, judged on a tip."""

from typing import Any

import pytest

from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.service_manager import AboutService, OwnUris, add_service
from redfish_fm.mapping.service_protocols import ProtocolWishes, wishes_of
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.mapping.builders import MemoryTip

OWN = OwnUris.of("FabricManager")
OTHER = "/redfish/v1/Managers/host1-bmc/NetworkProtocol"


def a_tip(redirects: bool = False) -> MemoryTip:
    about = AboutService("11111111-2222-3333-4444-555555555555", "1", "host", https_port=8443)
    documents: dict[str, dict[str, Any]] = {}
    add_service(documents, about)
    documents[OTHER] = {**documents[OWN.protocols], "@odata.id": OTHER}
    facts = Facts()
    facts.own_protocols[OWN.protocols] = redirects
    return MemoryTip(documents, facts)


def patched(tip: MemoryTip, uri: str = OWN.protocols, **body: Any) -> OutcomeKind:
    write = Write(WriteKind.PATCH, uri, "ManagerNetworkProtocol", "admin", body)
    return tip.commit(prepare(write, tip)).kind


def refused(tip: MemoryTip, uri: str = OWN.protocols, **body: Any) -> list[tuple[str, str]]:
    with pytest.raises(RedfishError) as caught:
        patched(tip, uri, **body)
    assert caught.value.status == 400
    return [(each.key.removeprefix("Base."), each.related[0]) for each in caught.value.messages]


def wishes(tip: MemoryTip) -> ProtocolWishes:
    return wishes_of(tip.document(OWN.protocols) or {})


def test_nothing_is_wanted_of_discovery_unless_asked_for() -> None:
    assert wishes(a_tip()) == ProtocolWishes(False, False, False, 600, 2, "Link")


def test_discovery_is_switched_and_tuned() -> None:
    tip = a_tip()
    ssdp = {"ProtocolEnabled": True, "NotifyTTL": 4, "NotifyMulticastIntervalSeconds": 60}
    kind = patched(tip, SSDP={**ssdp, "NotifyIPv6Scope": "Site"}, mDNS={"ProtocolEnabled": True})
    assert kind is OutcomeKind.CHANGED
    assert wishes(tip) == ProtocolWishes(False, True, True, 60, 4, "Site")


def test_the_same_again_is_no_operation() -> None:
    assert patched(a_tip(), SSDP={"ProtocolEnabled": False}) is OutcomeKind.NO_OPERATION


def test_what_is_to_be_is_never_unknown() -> None:
    told = refused(a_tip(), SSDP={"ProtocolEnabled": None, "NotifyTTL": None})
    assert told == [
        ("PropertyValueTypeError", "#/SSDP/ProtocolEnabled"),
        ("PropertyValueTypeError", "#/SSDP/NotifyTTL"),
    ]


def test_numbers_have_bounds() -> None:
    told = refused(a_tip(), SSDP={"NotifyTTL": 256, "NotifyMulticastIntervalSeconds": 86401})
    assert {key for key, _ in told} == {"PropertyValueOutOfRange"}
    assert len(told) == 2


def test_plain_http_is_switched_only_where_it_has_a_port() -> None:
    told = refused(a_tip(), HTTP={"ProtocolEnabled": True})
    assert told == [("PropertyNotWritable", "#/HTTP/ProtocolEnabled")]
    tip = a_tip(redirects=True)
    assert patched(tip, HTTP={"ProtocolEnabled": True}) is OutcomeKind.CHANGED
    assert wishes(tip).redirect


def test_protocols_of_another_manager_are_not_ours_to_switch() -> None:
    told = refused(a_tip(), OTHER, SSDP={"ProtocolEnabled": True})
    assert told == [("PropertyNotWritable", "#/SSDP/ProtocolEnabled")]


def test_a_protocol_of_which_nothing_is_said_is_named_itself() -> None:
    assert refused(a_tip(), OTHER, HTTP={}) == [("PropertyNotWritable", "#/HTTP")]
