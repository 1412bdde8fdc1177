"""Address pools: ranges, addresses and links that can not be right are refused, all at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.mapping.imported import analyse
from redfish_fm.redfish.errors import RedfishError
from tests.mapping.builders import MemoryTip, a_tip, imported_tip, links, mockup, zone_body
from tests.mapping.test_writes import GPU, H1, POD, ZONES, refusal

POOLS = f"{POD}/AddressPools"
SMARTNIC = "/redfish/v1/Fabrics/Ethernet"


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip()


def between(lower: Any, upper: Any) -> dict[str, Any]:
    return {"Lower": lower, "Upper": upper}


def ipv4(**properties: Any) -> dict[str, Any]:
    return {"Ethernet": {"IPv4": properties}}


def told(tip: MemoryTip, body: dict[str, Any]) -> list[tuple[str, ...]]:
    """POST a pool that is refused with 400; return (key, pointers) of every message."""
    with pytest.raises(RedfishError) as caught:
        tip.post(POOLS, body)
    assert caught.value.status == 400
    assert tip.documents == {}
    return [(each.key.removeprefix("Base."), *each.related) for each in caught.value.messages]


def test_a_pool_in_order_is_kept_and_shown_by_whom_it_serves(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body()).uri
    body = ipv4(
        VLANIdentifierAddressRange=between(1, 4094),
        HostAddressRange=between("10.0.0.1", "10.0.0.254"),
        LoopbackAddressRange=between("10.0.1.1", "10.0.1.1"),
        EBGPAddressRange=between("10.0.1.1", "10.0.1.9"),
        SystemMACRange=between("00:11:22:33:44:55", "00-11-22-33-44-56"),
        NTPOffsetHoursMinutes=-500,
        DNSServer=["10.0.0.3", None],
    )
    body |= {"GenZ": {"MinCID": 0, "MaxCID": 4095, "MinSID": 1, "MaxSID": 1}}
    body["Links"] = {"Endpoints": links(H1), "Zones": links(zone)}
    pool = tip.post(POOLS, body).uri
    assert tip.document(pool)["Ethernet"] == body["Ethernet"]  # type: ignore[index]
    assert tip.linked_by(zone, "/Links/AddressPools") == [pool]
    assert tip.linked_by(H1, "/Links/AddressPools") == [pool]


IPV4 = "#/Ethernet/IPv4"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ipv4(HostAddressRange=between("10.0.0.9", "10.0.0.1")),
         [("PropertyValueConflict", f"{IPV4}/HostAddressRange/Lower",
           f"{IPV4}/HostAddressRange/Upper")]),
        (ipv4(HostAddressRange=between("10.0.0.9", "10.0.0.10")), None),
        (ipv4(VLANIdentifierAddressRange=between(200, 20)),
         [("PropertyValueConflict", f"{IPV4}/VLANIdentifierAddressRange/Lower",
           f"{IPV4}/VLANIdentifierAddressRange/Upper")]),
        (ipv4(SystemMACRange=between("00:00:00:00:00:02", "00:00:00:00:00:01")),
         [("PropertyValueConflict", f"{IPV4}/SystemMACRange/Lower",
           f"{IPV4}/SystemMACRange/Upper")]),
        (ipv4(HostAddressRange={"Lower": "10.0.0.1"}),
         [("PropertyMissing", f"{IPV4}/HostAddressRange/Upper")]),
        (ipv4(HostAddressRange=between(None, None)), None),
        (ipv4(HostAddressRange=between("10.0.0.300", "10.0.1.1")),
         [("PropertyValueFormatError", f"{IPV4}/HostAddressRange/Lower")]),
        (ipv4(GatewayIPAddress="999.0.0.1", DNSServer=["10.0.0.1", "10.0.0"]),
         [("PropertyValueFormatError", f"{IPV4}/GatewayIPAddress"),
          ("PropertyValueFormatError", f"{IPV4}/DNSServer/1")]),
        (ipv4(HostAddressRange=between("10.0.0.1", "10.0.0.9"),
              ManagementAddressRange=between("10.0.0.9", "10.0.0.20")),
         [("PropertyValueConflict", f"{IPV4}/HostAddressRange",
           f"{IPV4}/ManagementAddressRange")]),
        (ipv4(IBGPAddressRange=between("10.0.0.1", "10.0.0.9"),
              EBGPAddressRange=between("10.0.0.0", "10.0.0.20")),
         [("PropertyValueConflict", f"{IPV4}/IBGPAddressRange", f"{IPV4}/EBGPAddressRange")]),
        ({"Ethernet": {"EBGP": {"ASNumberRange": between(9, 3), "MultihopTTL": 256}}},
         [("PropertyValueConflict", "#/Ethernet/EBGP/ASNumberRange/Lower",
           "#/Ethernet/EBGP/ASNumberRange/Upper"),
          ("PropertyValueOutOfRange", "#/Ethernet/EBGP/MultihopTTL")]),
        ({"Ethernet": {"EBGP": {"BGPNeighbor": {"CIDR": 33, "HoldTimeSeconds": -1,
                                                "Address": "10.1"}}}},
         [("PropertyValueOutOfRange", "#/Ethernet/EBGP/BGPNeighbor/CIDR"),
          ("PropertyValueOutOfRange", "#/Ethernet/EBGP/BGPNeighbor/HoldTimeSeconds"),
          ("PropertyValueFormatError", "#/Ethernet/EBGP/BGPNeighbor/Address")]),
        ({"Ethernet": {"BGPEvpn": {"RouteTargetRange": between(-1, 5)}}},
         [("PropertyValueOutOfRange", "#/Ethernet/BGPEvpn/RouteTargetRange/Lower")]),
        ({"GenZ": {"MinCID": 5, "MaxCID": 4}},
         [("PropertyValueConflict", "#/GenZ/MinCID", "#/GenZ/MaxCID")]),
        ({"GenZ": {"MaxCID": 4096}},
         [("PropertyValueOutOfRange", "#/GenZ/MaxCID"), ("PropertyMissing", "#/GenZ/MinCID")]),
        ({"GenZ": {"MinSID": 0, "MaxSID": 65_536}},
         [("PropertyValueOutOfRange", "#/GenZ/MaxSID")]),
    ],
)  # fmt: skip
def test_ranges_and_addresses_of_a_pool(
    tip: MemoryTip, body: dict[str, Any], expected: list[tuple[str, ...]] | None
) -> None:
    if expected is None:
        tip.post(POOLS, body)
    else:
        assert told(tip, body) == expected


def test_everything_wrong_with_a_pool_is_told_at_once(tip: MemoryTip) -> None:
    body = ipv4(HostAddressRange=between("10.0.0.9", "10.0.0.1"), GatewayIPAddress="1.2.3.400")
    body |= {"GenZ": {"MinCID": 1}}
    body["Links"] = {"Endpoints": links(H1, f"{POD}/Endpoints/none", H1), "Zones": links(GPU)}
    assert [row[0] for row in told(tip, body)] == [
        "PropertyValueConflict", "PropertyValueFormatError", "PropertyMissing",
        "ResourceMissingAtURI", "PropertyValueIncorrect", "ResourceMissingAtURI",
    ]  # fmt: skip


def test_a_pool_names_what_is_of_its_own_fabric(tip: MemoryTip) -> None:
    with refusal(400, "Base.ResourceMissingAtURI", "/Links/Zones/0"):
        tip.post(POOLS, {"Links": {"Zones": links("/redfish/v1/Fabrics/other/Zones/1")}})


def test_a_patch_is_judged_by_what_comes_out_of_it(tip: MemoryTip) -> None:
    pool = tip.post(POOLS, ipv4(HostAddressRange=between("10.0.0.1", "10.0.0.9"))).uri
    with refusal(400, "Base.PropertyValueConflict", "HostAddressRange/Upper"):
        tip.patch(pool, ipv4(HostAddressRange={"Upper": "10.0.0.0"}))
    tip.patch(pool, ipv4(HostAddressRange={"Upper": "10.0.0.5"}))
    tip.patch(pool, ipv4(HostAddressRange=None))
    assert tip.document(pool)["Ethernet"] == {"IPv4": {}}  # type: ignore[index]


def test_a_pool_lets_go_of_a_zone_and_an_endpoint_that_are_deleted(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body()).uri
    entity = {"EntityType": "Switch", "EntityRole": "Both"}
    end = tip.post(f"{POD}/Endpoints", {"ConnectedEntities": [entity]}).uri
    pool = tip.post(POOLS, {"Links": {"Endpoints": links(H1, end), "Zones": links(zone)}}).uri
    tip.delete(zone)
    tip.delete(end)
    assert tip.document(pool)["Links"] == {"Endpoints": links(H1), "Zones": []}  # type: ignore[index]
    tip.delete(pool)
    assert tip.document(pool) is None


def test_an_imported_pool_lives_and_what_was_wrong_in_it_may_stay(shared: Path) -> None:
    tip = imported_tip(mockup(shared, "public-smartnic"))
    pool = f"{SMARTNIC}/AddressPools/AddressPool1"
    # Loopbacks and links overlap in the published pool; nobody may add to that.
    tip.patch(pool, {"Description": "ours now"})
    with refusal(400, "Base.PropertyValueConflict", "ManagementAddressRange"):
        tip.patch(pool, ipv4(ManagementAddressRange=between("192.164.158.1", "192.164.158.2")))
    tip.delete(pool)


def test_an_imports_endpoints_name_their_pool_and_the_pool_names_them(shared: Path) -> None:
    found = analyse(mockup(shared, "public-smartnic"))
    pool = found.wanted[f"{SMARTNIC}/AddressPools/AddressPool1"]
    named = [each["@odata.id"].rsplit("/", 1)[-1] for each in pool["Links"]["Endpoints"]]
    assert sorted(named) == ["EP1", "EP2"]
    assert "AddressPools" not in json.dumps(found.wanted[f"{SMARTNIC}/Endpoints/EP1"])
