"""Which addresses others reach a service by."""

import ipaddress
import socket

import pytest

from redfish_fm.server.interfaces import (
    InterfaceAddress,
    interface_addresses,
    listened_on,
    reached_by,
)

MACHINE = tuple(
    InterfaceAddress(name, index, ipaddress.ip_address(ip), length)
    for name, index, ip, length in (
        ("lo", 1, "127.0.0.1", 8),
        ("lo", 1, "::1", 128),
        ("eth0", 2, "192.0.2.1", 24),
        ("eth0", 2, "2001:db8::1", 64),
        ("eth0", 2, "fe80::1", 64),
        ("eth1", 3, "198.51.100.1", 24),
    )
)


@pytest.mark.parametrize(
    ("bound", "chosen", "found"),
    [
        (["0.0.0.0"], (), ["192.0.2.1", "198.51.100.1"]),  # noqa: S104
        (["::"], (), ["2001:db8::1", "fe80::1"]),
        (["0.0.0.0", "::"], ("eth1",), ["198.51.100.1"]),  # noqa: S104
        (["192.0.2.1"], (), ["192.0.2.1"]),
        (["192.0.2.1"], ("eth1",), []),
        (["127.0.0.1"], (), []),
        (["127.0.0.1", "::1"], (), []),
        (["127.0.0.1"], ("lo",), ["127.0.0.1"]),
        (["203.0.113.5"], (), []),
    ],
)
def test_a_service_is_reached_by_what_it_listens_on_loopback_aside(bound, chosen, found) -> None:
    addresses = [ipaddress.ip_address(each) for each in bound]
    assert [str(each.ip) for each in reached_by(MACHINE, addresses, chosen)] == found


def test_this_machine_has_a_loopback_address() -> None:
    assert any(each.ip.is_loopback and each.index for each in interface_addresses())


def test_a_socket_says_what_it_listens_on() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        assert listened_on([sock]) == {ipaddress.ip_address("127.0.0.1")}


def test_an_address_knows_what_is_on_its_link() -> None:
    (eth1,) = (each for each in MACHINE if each.interface == "eth1")
    assert eth1.is_on_link(ipaddress.ip_address("198.51.100.200"))
    assert not eth1.is_on_link(ipaddress.ip_address("192.0.2.1"))
    assert not eth1.is_on_link(ipaddress.ip_address("fe80::1"))
