"""What the operating system says of interfaces, read from a made-up /sys and /proc."""

import ipaddress
from pathlib import Path

from redfish_fm.mapping.service_interfaces import InterfaceIp
from redfish_fm.server.interfaces import InterfaceAddress
from redfish_fm.server.machine_interfaces import machine_interfaces

ANY = (ipaddress.ip_address("0.0.0.0"), ipaddress.ip_address("::"))  # noqa: S104 - no socket
V4, V6 = ipaddress.ip_address("192.0.2.7"), ipaddress.ip_address("2001:db8::7")
ADDRESSES = (
    InterfaceAddress("lo", 1, ipaddress.ip_address("127.0.0.1"), 8),
    InterfaceAddress("eth0", 2, V4, 24),
    InterfaceAddress("eth0", 2, V6, 64),
)


def a_root(place: Path, name: str = "eth0", **files: str) -> Path:
    folder = place / "sys/class/net" / name
    folder.mkdir(parents=True)
    for key, text in {"type": "1", **files}.items():
        (folder / key).write_text(f"{text}\n", encoding="ascii")
    (place / "proc/net").mkdir(parents=True, exist_ok=True)
    return place


def test_everything_that_linux_says_is_read(tmp_path: Path) -> None:
    root = a_root(
        tmp_path, address="02:00:00:00:00:01", mtu="9000", carrier="1", speed="25000",
        duplex="full", flags="0x1003",
    )  # fmt: skip
    (root / "sys/class/net/eth0/device").mkdir()
    (root / "proc/net/if_inet6").write_text(
        "20010db8000000000000000000000007 02 40 00 a0     eth0\n", encoding="ascii"
    )
    (root / "proc/net/route").write_text(
        "Iface\tDestination\tGateway\tFlags\n"
        "eth0\t000200C0\t00000000\t0001\n"
        f"eth0\t00000000\t{int.from_bytes(bytes((192, 0, 2, 1)), 'little'):08X}\t0003\n",
        encoding="ascii",
    )
    (found,) = machine_interfaces(ANY, root, lambda: ADDRESSES)
    assert found.ips == (InterfaceIp(V4, 24), InterfaceIp(V6, 64, "Deprecated"))
    assert (found.name, found.mac, found.physical) == ("eth0", "02:00:00:00:00:01", True)
    assert (found.enabled, found.link) == (True, True)
    assert (found.mtu_bytes, found.speed_mbps, found.full_duplex) == (9000, 25_000, True)
    assert found.gateway == "192.0.2.1"


def test_a_virtual_interface_without_link_and_speed(tmp_path: Path) -> None:
    root = a_root(tmp_path, carrier="0", speed="-1", duplex="unknown", flags="0x1002")
    (found,) = machine_interfaces(ANY, root, lambda: ADDRESSES)
    assert (found.physical, found.enabled, found.link) == (False, False, False)
    assert (found.speed_mbps, found.full_duplex, found.mac) == (None, None, None)


def test_where_there_is_no_sys_only_addresses_are_known(tmp_path: Path) -> None:
    (found,) = machine_interfaces(ANY, tmp_path, lambda: ADDRESSES)
    assert [each.ip for each in found.ips] == [V4, V6]
    assert (found.physical, found.enabled, found.link, found.mtu_bytes) == (None,) * 4


def test_what_is_no_ethernet_is_not_shown(tmp_path: Path) -> None:
    root = a_root(tmp_path, type="65534")
    assert machine_interfaces(ANY, root, lambda: ADDRESSES) == []


def test_only_what_the_service_is_reached_by_is_shown(tmp_path: Path) -> None:
    assert machine_interfaces((ADDRESSES[0].ip,), tmp_path, lambda: ADDRESSES) == []
    (found,) = machine_interfaces((V6,), tmp_path, lambda: ADDRESSES)
    assert [each.ip for each in found.ips] == [V6]
