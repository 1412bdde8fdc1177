"""Error counts and cables as a switch tells them: shown where it does, absent where it does not."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.fabric.link_errors import NO_ERRORS, LinkErrors
from redfish_fm.fabric.model import CableState, PortState
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.metrics_ports import switch_metrics
from tests.mapping.schemas import SchemaPack
from tests.mapping.test_rich_tree import CHASSIS, UP, Documents, Shown, kind, of_kind, world

SWITCH = "/redfish/v1/Fabrics/PCIe/Switches/sw1"
METRICS, OTHER = f"{SWITCH}/Ports/D1/Metrics", f"{SWITCH}/Ports/D2/Metrics"
SUMS = f"{SWITCH}/SwitchMetrics"
CABLE, OTHER_CABLE = "/redfish/v1/Cables/sw1-U1", "/redfish/v1/Cables/sw1-U2"
WELL = replace(UP, errors=NO_ERRORS, cable=CableState.NORMAL)
ALL = LinkErrors(*range(20, 9, -1))
"""A different number for each."""


def told(**cable_or_errors: Any) -> PortState:
    return replace(WELL, **cable_or_errors)


def numbers(document: Any, path: str = "") -> Iterator[str]:
    """Yield the path of everything in a document whose name says that it counts or is worn."""
    for name, value in document.items() if isinstance(document, dict) else ():
        words = ("ErrorCount", "Errors", "MediaLife", "SMARTCritical", "SparePercent")
        if any(word in name for word in words):
            yield f"{path}{name}"
        yield from numbers(value, f"{path}{name}.")


@pytest.mark.parametrize("detail", ["full", "core"])
def test_nothing_counts_before_anybody_has_looked(detail: str) -> None:
    found = [(uri, each) for uri, doc in world(detail).documents.items() for each in numbers(doc)]
    assert found == []


def test_a_port_shows_every_count_that_its_switch_tells() -> None:
    shown = Shown().look("PCIe", sw1_D1=told(errors=ALL), sw1_D2=WELL)
    assert shown[METRICS]["PCIeErrors"] == {
        "CorrectableErrorCount": 20,
        "NonFatalErrorCount": 19,
        "FatalErrorCount": 18,
        "L0ToRecoveryCount": 17,
        "ReplayCount": 16,
        "ReplayRolloverCount": 15,
        "NAKSentCount": 14,
        "NAKReceivedCount": 13,
        "BadTLPCount": 12,
        "BadDLLPCount": 11,
        "UnsupportedRequestCount": 10,
    }
    assert (shown[METRICS]["RXErrors"], shown[METRICS]["TXErrors"]) == (20 - 15, 13 + 15)
    assert set(shown[OTHER]["PCIeErrors"].values()) == {0}
    assert "Status" not in shown[METRICS]


def test_of_a_switch_that_does_not_tell_no_number_is_shown() -> None:
    shown = Shown().look("PCIe")
    for uri, document in {**of_kind(shown, "PortMetrics"), SUMS: shown[SUMS]}.items():
        assert set(document) == {"@odata.id", "@odata.type", "Id", "Name"}, uri
    assert "CableStatus" not in shown[CABLE]


def test_a_switch_shows_the_sums_of_its_ports_as_they_change() -> None:
    shown, some = Shown(), LinkErrors(correctable=3, fatal=1)
    for one, two in ((some, some), (ALL, some), (NO_ERRORS, some), (None, some), (ALL, NO_ERRORS)):
        documents = shown.look("PCIe", sw1_D1=told(errors=one), sw1_U1=told(errors=two))
        total = (one or NO_ERRORS) + two
        assert {"PCIeErrors": documents[SUMS]["PCIeErrors"]} == switch_metrics(total)
    assert "PCIeErrors" not in documents["/redfish/v1/Fabrics/CXL/Switches/sw2/SwitchMetrics"]


@pytest.mark.parametrize(
    ("cable", "status", "health"),
    [
        (CableState.NORMAL, "Normal", "OK"),
        (CableState.DEGRADED, "Degraded", "Warning"),
        (CableState.FAILED, "Failed", "Critical"),
    ],
)
def test_a_cable_is_as_its_switch_says_and_its_status_as_the_schema_says(
    cable: CableState, status: str, health: str
) -> None:
    shown = Shown()
    documents = shown.look("PCIe", sw1_U1=told(cable=cable), sw1_U2=WELL)
    assert documents[CABLE]["CableStatus"] == status
    assert documents[CABLE]["Status"]["State"] == "Enabled"
    assert documents[CABLE]["Status"]["Health"] == health
    origins = [c["OriginOfCondition"]["@odata.id"] for c in
               documents[CABLE]["Status"].get("Conditions", ())]  # fmt: skip
    assert origins == ([] if health == "OK" else [CABLE])
    assert documents[OTHER_CABLE]["CableStatus"] == "Normal"
    for uri in (SWITCH, f"{CHASSIS}/sw1", f"{SWITCH}/Ports/U1"):
        # The link says what is wrong with it; a cable says it of itself only.
        assert documents[uri]["Status"].get("HealthRollup", "OK") == "OK"
    well = shown.look("PCIe", sw1_U1=WELL)
    assert well[CABLE]["CableStatus"] == "Normal"
    assert well[CABLE]["Status"] == {"State": "Enabled", "Health": "OK"}


def test_a_cable_that_is_pulled_is_absent_and_has_no_status_of_its_own() -> None:
    documents = Shown().look("PCIe", sw1_U1=told(cable=CableState.UNPLUGGED))
    assert documents[CABLE]["Status"] == {"State": "Absent"}
    assert "CableStatus" not in documents[CABLE]


def test_a_look_says_anew_only_what_a_changed_port_tells() -> None:
    shown = Shown()
    shown.look("PCIe", sw1_U1=WELL, sw1_D1=WELL)
    fabric = shown.fabrics["PCIe"]
    before, fabric.rendered = fabric.rendered, 0
    shown.laid.clear()
    shown.look("PCIe", sw1_U1=told(errors=ALL), sw1_D1=WELL)
    assert 0 < fabric.rendered < before / 10
    said = {uri for uri in shown.laid if "Metrics" in uri or "/Cables/" in uri}
    assert said == {f"{SWITCH}/Ports/U1/Metrics", SUMS, CABLE}
    shown.laid.clear()
    shown.look("PCIe", sw1_U1=told(errors=ALL), sw1_D1=WELL)
    assert set(shown.laid) == {"/redfish/v1/Fabrics/PCIe"}


def test_what_a_vanished_port_told_is_taken_away() -> None:
    shown = Shown()
    shown.look("PCIe", sw1_D1=told(errors=ALL), sw1_U1=WELL)
    shown.tip.facts = Facts()
    shown.look("PCIe")
    for uri in (METRICS, SUMS, CABLE):
        assert shown.laid[uri] == {}


def test_what_is_observed_is_what_the_schemas_know(shared: Path) -> None:
    pack = SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")
    documents = Shown().look("PCIe", sw1_D1=told(errors=ALL), sw1_U1=told(cable=CableState.FAILED))
    told_of: Documents = {uri: documents[uri] for uri in (METRICS, SUMS, CABLE)}
    assert {kind(each) for each in told_of.values()} == {"PortMetrics", "SwitchMetrics", "Cable"}
    assert [error for each in told_of.values() for error in pack.errors(each)] == []


DARK = replace(UP, link_up=False)
D1 = f"{SWITCH}/Ports/D1"


def rolled(documents: Documents, uri: str) -> tuple[str | None, str | None]:
    """Return Health and HealthRollup of a resource."""
    status = documents[uri].get("Status", {})
    return status.get("Health"), status.get("HealthRollup")


def test_a_device_without_its_link_is_a_fault_that_its_port_and_switch_show() -> None:
    shown = Shown()
    documents = shown.look("PCIe", sw1_D1=DARK)
    assert rolled(documents, D1)[0] == "Critical"
    assert rolled(documents, SWITCH) == ("OK", "Critical")
    (condition,) = documents[D1]["Status"]["Conditions"]
    # Said once of all who suffer: of the device, not of each.
    assert documents[SWITCH]["Status"]["Conditions"] == [condition]
    assert "/PCIeDevices/" in condition["OriginOfCondition"]["@odata.id"]
    documents = shown.look("PCIe")
    assert rolled(documents, D1)[0] == "OK"
    assert rolled(documents, SWITCH) == ("OK", "OK")


@pytest.mark.parametrize(
    "state",
    [
        replace(DARK, device_present=False),
        replace(DARK, powered=False),
        replace(DARK, training=True),
    ],
)
def test_an_empty_an_unpowered_and_a_training_slot_are_no_fault_of_the_switch(
    state: PortState,
) -> None:
    documents = Shown().look("PCIe", sw1_D1=state)
    assert rolled(documents, D1)[0] == "OK"
    assert rolled(documents, SWITCH) == ("OK", "OK")


def test_the_end_of_a_host_is_dark_for_reasons_of_its_own() -> None:
    documents = Shown().look("PCIe", sw1_U1=DARK)
    assert rolled(documents, f"{SWITCH}/Ports/U1")[0] == "OK"
    assert rolled(documents, SWITCH) == ("OK", "OK")
