"""What the operating system says of this machine's network interfaces.

Addresses come from `interfaces`, which works everywhere; what else there is stands in Linux's
/sys/class/net and /proc/net, and is not known on other systems. Reads only; knows no protocol.
"""

import ipaddress
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from redfish_fm.mapping.service_interfaces import Interface, InterfaceIp
from redfish_fm.server.interfaces import (
    InterfaceAddress,
    IpAddress,
    interface_addresses,
    reached_by,
)

_ETHERNET = "1"
_UP = 0x1
"""IFF_UP."""
_TENTATIVE, _DEPRECATED, _FAILED = 0x40, 0x20, 0x08
"""IFA_F_TENTATIVE, IFA_F_DEPRECATED and IFA_F_DADFAILED, as /proc/net/if_inet6 shows them."""


def machine_interfaces(
    bound: Collection[IpAddress],
    root: Path = Path("/"),
    look: Callable[[], Iterable[InterfaceAddress]] = interface_addresses,
) -> Sequence[Interface]:
    """Return the Ethernet interfaces by which a service that listens on `bound` is reached.

    `root` is where sys and proc are.
    """
    found: dict[str, list[InterfaceAddress]] = {}
    for address in reached_by(look(), bound, ()):
        found.setdefault(address.interface, []).append(address)
    states, gateways = _ipv6_states(root), _gateways(root)
    return [
        _interface(root / "sys/class/net" / name, addresses, states, gateways.get(name))
        for name, addresses in found.items()
        if _text(root / "sys/class/net" / name / "type") in (_ETHERNET, None)
    ]


def _interface(
    folder: Path,
    addresses: Sequence[InterfaceAddress],
    states: dict[str, str],
    gateway: str | None,
) -> Interface:
    enabled = _enabled(folder)
    carrier = _number(folder / "carrier")
    speed_mbps = _number(folder / "speed")
    duplex = _text(folder / "duplex")
    return Interface(
        folder.name,
        tuple(
            InterfaceIp(each.ip, each.prefix_length, states.get(str(each.ip))) for each in addresses
        ),
        mac=_text(folder / "address"),
        physical=(folder / "device").exists() if folder.exists() else None,
        enabled=enabled,
        link=None if carrier is None else carrier == 1,
        mtu_bytes=_number(folder / "mtu"),
        # -1: there is a link, and nobody knows how fast it is.
        speed_mbps=speed_mbps if speed_mbps is not None and speed_mbps > 0 else None,
        full_duplex=None if duplex not in ("full", "half") else duplex == "full",
        gateway=gateway,
    )


def _enabled(folder: Path) -> bool | None:
    flags = _text(folder / "flags")
    return None if flags is None else bool(int(flags, 16) & _UP)


def _ipv6_states(root: Path) -> dict[str, str]:
    """Return the state of each IPv6 address: address, index, prefix, scope, flags, name a line."""
    found = {}
    for line in (_text(root / "proc/net/if_inet6") or "").splitlines():
        digits, _, _, _, flags, _ = line.split()
        found[str(ipaddress.IPv6Address(bytes.fromhex(digits)))] = _state(int(flags, 16))
    return found


def _state(flags: int) -> str:
    if flags & _FAILED:
        return "Failed"
    if flags & _TENTATIVE:
        return "Tentative"
    return "Deprecated" if flags & _DEPRECATED else "Preferred"


def _gateways(root: Path) -> dict[str, str]:
    """Return the IPv4 default gateway of each interface that has one."""
    found: dict[str, str] = {}
    for line in (_text(root / "proc/net/route") or "").splitlines()[1:]:
        name, destination, gateway, *_ = line.split()
        if int(destination, 16) == 0 and int(gateway, 16) != 0:
            # The kernel shows a number whose bytes in memory are the address.
            octets = int(gateway, 16).to_bytes(4, sys.byteorder)
            found.setdefault(name, str(ipaddress.IPv4Address(octets)))
    return found


def _number(path: Path) -> int | None:
    text = _text(path)
    return None if text is None else int(text)


def _text(path: Path) -> str | None:
    """Return the text of a file of the kernel; None where it has none to give."""
    try:
        return path.read_text("ascii").strip() or None
    except OSError:
        return None
