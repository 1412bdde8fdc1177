"""The addresses of this machine, and those among them that a service is reached by.

Knows what the operating system says (by `ifaddr`, which zeroconf brings), nothing of protocols.
"""

import ipaddress
import socket
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import ifaddr

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class InterfaceAddress:
    """One address of one interface, with the network that is on the link behind it.

    `index` is the interface's number in the operating system.
    """

    interface: str
    index: int
    ip: IpAddress
    prefix_length: int

    @property
    def is_link_local(self) -> bool:
        """Whether the address means something on its own link only."""
        return self.ip.is_link_local

    def is_on_link(self, other: IpAddress) -> bool:
        """Return whether `other` is in the network of this address."""
        network = ipaddress.ip_network((self.ip, self.prefix_length), strict=False)
        return other in network


def interface_addresses() -> tuple[InterfaceAddress, ...]:
    """Return every address of every interface, in the order the operating system names them."""
    found = []
    for adapter in ifaddr.get_adapters():
        # Linux names an address with a label, "eth0:1", which is of the interface eth0.
        name = adapter.name.partition(":")[0]
        try:
            index = socket.if_nametoindex(name)
        except OSError:
            continue  # gone since it was named
        for entry in adapter.ips:
            # IPv6: (address, flow, scope); the scope is the interface, which is known.
            text = entry.ip if isinstance(entry.ip, str) else entry.ip[0]
            ip = ipaddress.ip_address(text.partition("%")[0])
            found.append(InterfaceAddress(name, index, ip, entry.network_prefix))
    return tuple(found)


def listened_on(sockets: Iterable[socket.socket]) -> frozenset[IpAddress]:
    """Return the addresses that sockets are bound to."""
    names = (str(sock.getsockname()[0]) for sock in sockets)
    return frozenset(ipaddress.ip_address(name.partition("%")[0]) for name in names)


def reached_by(
    addresses: Iterable[InterfaceAddress], bound: Collection[IpAddress], chosen: Collection[str]
) -> tuple[InterfaceAddress, ...]:
    """Return the addresses that a service listening on `bound` is reached by from elsewhere.

    An unspecified address among `bound` means all of its family. `chosen` names interfaces; empty
    means all but loopback, which only this machine reaches: it counts where it is chosen by name.
    """
    return tuple(
        address
        for address in addresses
        if _is_bound(address.ip, bound)
        and (address.interface in chosen if chosen else not address.ip.is_loopback)
    )


def announced_addresses(bound: Collection[IpAddress]) -> tuple[str, ...]:
    """Return the addresses that a service listening on `bound` is announced by, in text form."""
    return tuple(str(each.ip) for each in reached_by(interface_addresses(), bound, ()))


def _is_bound(ip: IpAddress, bound: Collection[IpAddress]) -> bool:
    return any(each == ip or (each.is_unspecified and each.version == ip.version) for each in bound)
