"""The network interfaces of the machine that the service runs on, as it is reached by them.

What the operating system says is read at each GET, at most once in LOOK_S, and nothing of it can
be set here. Whether an address was given by hand or by DHCP is not known, so it is null.
Redfish: EthernetInterface.v1_12_4.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.mapping.types import ODATA_TYPES, collection_type
from redfish_fm.redfish.representations import represent
from redfish_fm.redfish.view import Representation

LOOK_S = 1.0
_ID = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class InterfaceIp:
    """One address. `state` is that of IPv6 duplicate detection, in the words of Redfish."""

    ip: ipaddress.IPv4Address | ipaddress.IPv6Address
    prefix_length: int
    state: str | None = None


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface; None is what the operating system does not say."""

    name: str
    ips: Sequence[InterfaceIp]
    mac: str | None = None
    physical: bool | None = None
    enabled: bool | None = None
    link: bool | None = None
    mtu_bytes: int | None = None
    speed_mbps: int | None = None
    full_duplex: bool | None = None
    gateway: str | None = None


class InterfaceTable:
    """Satisfies redfish.tables.Table. `look` returns what there is now."""

    def __init__(
        self, collection_uri: str, look: Callable[[], Sequence[Interface]], clock: Clock
    ) -> None:
        self._uri = collection_uri
        self._look = look
        self._clock = clock
        self._seen_s = float("-inf")
        self._seen: dict[str, Interface] = {}

    @property
    def collection_uri(self) -> str:
        """The URI of the interfaces."""
        return self._uri

    def get(self, uri: str) -> Representation | None:
        """Return the collection or one interface as it is now, or None."""
        self._look_again()
        if uri == self._uri:
            return self._collection()
        collection, _, name = uri.rpartition("/")
        found = self._seen.get(name)
        if collection != self._uri or found is None:
            return None
        return represent(uri, "EthernetInterface", interface_document(uri, found))

    def _look_again(self) -> None:
        now_s = self._clock.now_s()
        if now_s - self._seen_s >= LOOK_S:
            found = {each.name: each for each in self._look() if _ID.fullmatch(each.name)}
            self._seen = {name: found[name] for name in sorted(found, key=_order)}
            self._seen_s = now_s

    def _collection(self) -> Representation:
        document = {
            "@odata.id": self._uri,
            "@odata.type": collection_type("EthernetInterface"),
            "Name": "Network interfaces of the fabric manager",
            "Members": [{"@odata.id": f"{self._uri}/{name}"} for name in self._seen],
            "Members@odata.count": len(self._seen),
        }
        return represent(self._uri, "EthernetInterfaceCollection", document)


def interface_document(uri: str, interface: Interface) -> dict[str, Any]:
    """Return an interface as its resource; what is not known is left out."""
    document = {
        "@odata.id": uri,
        "@odata.type": ODATA_TYPES["EthernetInterface"],
        "Id": interface.name,
        "Name": f"Network interface {interface.name}",
        "EthernetInterfaceType": _word(interface.physical, "Physical", "Virtual"),
        "InterfaceEnabled": interface.enabled,
        "LinkStatus": _word(interface.link, "LinkUp", "NoLink"),
        "MACAddress": interface.mac,
        "MTUSize": interface.mtu_bytes,
        "SpeedMbps": interface.speed_mbps,
        "FullDuplex": interface.full_duplex,
        "IPv4Addresses": [*_ipv4(interface)] or None,
        "IPv6Addresses": [*_ipv6(interface)] or None,
        "Status": _status(interface),
    }
    return {name: value for name, value in document.items() if value is not None}


def _order(name: str) -> tuple[int, str]:
    return len(name), name


def _word(value: bool | None, yes: str, no: str) -> str | None:
    return None if value is None else yes if value else no


def _status(interface: Interface) -> Mapping[str, str]:
    if interface.enabled is False:
        return {"State": "Disabled"}
    if interface.link is False:
        return {"State": "Enabled", "Health": "Warning"}
    return {"State": "Enabled", "Health": "OK"}


def _ipv4(interface: Interface) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for each in interface.ips:
        if each.ip.version == 4:
            network = ipaddress.ip_network((each.ip, each.prefix_length), strict=False)
            row: dict[str, Any] = {
                "Address": str(each.ip),
                "SubnetMask": str(network.netmask),
                "AddressOrigin": "IPv4LinkLocal" if each.ip.is_link_local else None,
            }
            if not found:
                # One gateway for all addresses; it stands with the first.
                row["Gateway"] = interface.gateway
            found.append(row)
    return found


def _ipv6(interface: Interface) -> list[dict[str, Any]]:
    return [
        {
            "Address": str(each.ip),
            "PrefixLength": each.prefix_length,
            "AddressOrigin": "LinkLocal" if each.ip.is_link_local else None,
            "AddressState": each.state,
        }
        for each in interface.ips
        if each.ip.version == 6
    ]
