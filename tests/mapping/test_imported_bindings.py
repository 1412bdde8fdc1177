"""What a mockup's own zones bind: one thing to one host, whichever way zones name it."""

from typing import Any

import pytest

from redfish_fm.drivers.virtual.topology import load
from redfish_fm.mapping.imported import Imported, analyse
from redfish_fm.mapping.imported_findings import FindingKind
from redfish_fm.mapping.inventory import render_inventories
from tests.drivers.fabrics import MOCKUPS
from tests.mapping.builders import imported_tip, zone_body

PCIE = "/redfish/v1/Fabrics/PCIe"
HOST = "/redfish/v1/Systems/host{}"


def imported(*zones: tuple[str, ...]) -> Imported:
    return analyse(with_zones(*zones))


def with_zones(*zones: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return our own `mixed` as a mockup, with zones of these endpoints, called Z1, Z2, …"""
    documents: dict[str, dict[str, Any]] = {
        **render_inventories(list(load("mixed", MOCKUPS).inventories())).documents
    }
    for number, ends in enumerate(zones, 1):
        uri = f"{PCIE}/Zones/Z{number}"
        documents[uri] = {
            "@odata.id": uri,
            "@odata.type": "#Zone.v1_6_3.Zone",
            "Id": f"Z{number}",
            "Name": "Zone",
            "ZoneType": "ZoneOfEndpoints",
            **zone_body(*(f"{PCIE}/Endpoints/{end}" for end in ends)),
        }
    return documents


def contradictions(found: Imported) -> list[str]:
    kind = FindingKind.CONTRADICTION
    return [each.uri.rsplit("/", 1)[-1] for each in found.findings if each.kind is kind]


@pytest.mark.parametrize("ways", [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_a_drive_that_zones_give_to_two_hosts_is_bound_for_the_first(ways: tuple[int, int]) -> None:
    first, second = ways
    found = imported(("host1-1", f"dpnvme1-p{first}"), ("host2-1", f"dpnvme1-p{second}"))
    assert [each.host for each in found.bindings] == [HOST.format(1)]
    assert contradictions(found) == ["Z2"]


def test_a_host_that_zones_give_both_ways_has_both_bound() -> None:
    found = imported(("host1-1", "dpnvme1-p1"), ("host1-1", "dpnvme1-p2"))
    assert [each.host for each in found.bindings] == [HOST.format(1)] * 2
    assert contradictions(found) == []


def test_heads_of_one_device_are_bound_for_a_host_each() -> None:
    found = imported(("host1-1", "mhnic1-h1"), ("host2-1", "mhnic1-h2"))
    assert {each.host for each in found.bindings} == {HOST.format(1), HOST.format(2)}
    assert contradictions(found) == []


@pytest.mark.parametrize("ways", [(1, 1), (1, 2), (2, 1)])
def test_no_change_to_a_zone_that_was_too_late_binds_what_the_first_one_has(
    ways: tuple[int, int],
) -> None:
    first, second = ways
    documents = with_zones(("host1-1", f"dpnvme1-p{first}"), ("host2-1", f"dpnvme1-p{second}"))
    tip = imported_tip(documents)
    before = dict(tip.index.bindings)
    tip.patch(f"{PCIE}/Zones/Z2", {"Name": "renamed"})
    assert tip.index.bindings == before
