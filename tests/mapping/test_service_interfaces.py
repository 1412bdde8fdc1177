"""Network interfaces of the machine as resources."""

import ipaddress
import json
from collections.abc import Sequence
from typing import Any

import pytest

from redfish_fm.mapping.service_interfaces import (
    LOOK_S,
    Interface,
    InterfaceIp,
    InterfaceTable,
    interface_document,
)
from tests.redfish.builders import CATALOG
from tests.store.contract import StillClock

URI = "/redfish/v1/Managers/FabricManager/EthernetInterfaces"
KNOWN = Interface(
    "eth0",
    (
        InterfaceIp(ipaddress.ip_address("192.0.2.7"), 24),
        InterfaceIp(ipaddress.ip_address("169.254.1.1"), 16),
        InterfaceIp(ipaddress.ip_address("2001:db8::7"), 64, "Preferred"),
        InterfaceIp(ipaddress.ip_address("fe80::1"), 64, "Tentative"),
    ),
    mac="02:00:00:00:00:01",
    physical=True,
    enabled=True,
    link=True,
    mtu_bytes=1500,
    speed_mbps=10_000,
    full_duplex=True,
    gateway="192.0.2.1",
)


class Machine:
    """A machine whose interfaces can change; counts looks."""

    def __init__(self, *interfaces: Interface) -> None:
        self.interfaces: Sequence[Interface] = interfaces
        self.looks = 0
        self.clock = StillClock()
        self.table = InterfaceTable(URI, self.look, self.clock)

    def look(self) -> Sequence[Interface]:
        self.looks += 1
        return self.interfaces

    def get(self, uri: str) -> dict[str, Any] | None:
        found = self.table.get(uri)
        return None if found is None else json.loads(found.body)


def members(machine: Machine) -> list[str]:
    document = machine.get(URI) or {}
    assert document["Members@odata.count"] == len(document["Members"])
    return [each["@odata.id"] for each in document["Members"]]


def test_an_interface_shows_what_is_known() -> None:
    document = interface_document(f"{URI}/eth0", KNOWN)
    assert (
        document.keys() - {"@odata.id", "@odata.type"}
        <= CATALOG.types["EthernetInterface"].properties.keys()
    )
    assert document["MACAddress"] == "02:00:00:00:00:01"
    assert (document["LinkStatus"], document["EthernetInterfaceType"]) == ("LinkUp", "Physical")
    assert (document["MTUSize"], document["SpeedMbps"]) == (1500, 10_000)


def test_addresses_say_their_origin_only_where_it_follows_from_them() -> None:
    document = interface_document(f"{URI}/eth0", KNOWN)
    assert document["IPv4Addresses"] == [
        {
            "Address": "192.0.2.7",
            "SubnetMask": "255.255.255.0",
            "AddressOrigin": None,
            "Gateway": "192.0.2.1",
        },
        {
            "Address": "169.254.1.1",
            "SubnetMask": "255.255.0.0",
            "AddressOrigin": "IPv4LinkLocal",
        },
    ]
    assert document["IPv6Addresses"] == [
        {
            "Address": "2001:db8::7",
            "PrefixLength": 64,
            "AddressOrigin": None,
            "AddressState": "Preferred",
        },
        {
            "Address": "fe80::1",
            "PrefixLength": 64,
            "AddressOrigin": "LinkLocal",
            "AddressState": "Tentative",
        },
    ]


def test_what_is_not_known_is_left_out() -> None:
    document = interface_document(f"{URI}/x", Interface("x", ()))
    assert document.keys() == {"@odata.id", "@odata.type", "Id", "Name", "Status"}


@pytest.mark.parametrize(
    ("enabled", "link", "status"),
    [
        (True, True, {"State": "Enabled", "Health": "OK"}),
        (True, False, {"State": "Enabled", "Health": "Warning"}),
        (False, None, {"State": "Disabled"}),
    ],
)
def test_status_follows_switch_and_link(enabled: bool, link: bool | None, status: Any) -> None:
    assert interface_document(URI, Interface("x", (), enabled=enabled, link=link))["Status"] == (
        status
    )


def test_members_are_in_the_order_of_all_collections() -> None:
    machine = Machine(*(Interface(name, ()) for name in ("eth10", "wlan", "eth2", "br-1")))
    assert members(machine) == [f"{URI}/{name}" for name in ("br-1", "eth2", "wlan", "eth10")]


def test_a_name_that_is_no_segment_of_a_uri_is_not_served() -> None:
    machine = Machine(Interface("eth0", ()), Interface("a/b", ()), Interface("ü", ()))
    assert members(machine) == [f"{URI}/eth0"]
    assert machine.get(f"{URI}/ü") is None


def test_interfaces_come_and_go_at_the_next_look() -> None:
    machine = Machine(Interface("eth0", ()))
    assert machine.get(f"{URI}/eth0") is not None
    machine.interfaces = (Interface("eth1", ()),)
    assert members(machine) == [f"{URI}/eth0"]
    assert machine.looks == 1
    machine.clock.time_s += LOOK_S
    assert members(machine) == [f"{URI}/eth1"]
    assert machine.get(f"{URI}/eth0") is None
    assert machine.looks == 2
