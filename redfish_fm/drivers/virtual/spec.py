"""What a topology file may say, as types; unknown words are errors.

Pure declarations. Capacities are texts with a unit ("8 TiB", binary and decimal units alike),
links are generation, lanes and added latency in ns. Every group (`hosts`, `switches`,
`devices`) may carry `count:`; its `id` then holds `{n}`, which counts from `first`. A device
group is repeated on each switch of its group and `{n}` runs on from switch to switch.
"""

import re
from typing import Annotated, Literal

import msgspec

from redfish_fm.fabric.model import Attachment, DeviceKind

Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Capacity = Annotated[str, msgspec.Meta(pattern=r"^[0-9]+ ?([MGT]i?B)$")]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]
Template = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9{][A-Za-z0-9._{}-]*$", max_length=64)]
"""A Name in which `{n}` (and, for devices, `{switch}`) is filled in."""

LD_COUNT_MAX = 16
"""Logical devices of one MLD, CXL 2.0 §8.1 (LD ids 0 to 15)."""

PORT_COUNT_MAX = 256
"""Physical ports of one switch: the FM API counts them in one byte."""

_MIB = {"MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def mib(capacity: str) -> int:
    """Return a Capacity in MiB, rounded down."""
    number, unit = re.findall(r"[0-9]+|[A-Za-z]+", capacity)
    return int(number) * _MIB[unit] // 2**20


class _Strict(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    pass


class LinkSpec(_Strict, frozen=True):
    """A PCIe or CXL link."""

    gen: Annotated[int, msgspec.Meta(ge=1, le=6)] = 5
    lanes: Literal[1, 2, 4, 8, 16] = 16
    latency_ns: Annotated[int, msgspec.Meta(ge=0)] = 0


class HostSpec(_Strict, frozen=True):
    """One host, or `count` of them. `cores` counts all CPUs; `domain` lists are dealt in turn."""

    id: Template
    count: Count = 1
    first: int = 1
    cpus: Count = 2
    cores: Count = 64
    memory: Capacity = "512 GiB"
    domain: Name | tuple[Name, ...] | None = None
    uuid: str | None = None


class LdsSpec(_Strict, frozen=True):
    """How an MLD is cut: `count` LDs of `capacity` each (its even share where not given)."""

    count: Annotated[int, msgspec.Meta(ge=1, le=LD_COUNT_MAX)]
    capacity: Capacity | None = None


class DeviceSpec(_Strict, frozen=True):
    """One device on its own downstream port, or `count` of them."""

    id: Template
    kind: DeviceKind
    attachment: Attachment | None = None
    """None: PCIe on a PCIe fabric, else SLD (MLD where `lds` is given)."""
    count: Count = 1
    first: int = 1
    model: str | None = None
    manufacturer: str = "redfish_fm"
    link: LinkSpec = LinkSpec()
    capacity: Capacity | None = None
    lds: LdsSpec | None = None
    domain: Name | tuple[Name, ...] | None = None


class EachSpec(_Strict, frozen=True):
    """Hosts dealt to the switches of a group: the next `each` hosts for every switch."""

    each: Count


class SwitchSpec(_Strict, frozen=True):
    """One switch, or `count` of them.

    Each attached host gets `host_ports` upstream ports and, above each, one virtual switch (a
    PCIe partition) with `vppbs` bridges.
    """

    id: Template
    count: Count = 1
    first: int = 1
    model: str | None = None
    domain: Name | tuple[Name, ...] | None = None
    hosts: Literal["all"] | EachSpec | tuple[Name, ...] = "all"
    host_ports: Annotated[int, msgspec.Meta(ge=1, le=4)] = 1
    host_link: LinkSpec = LinkSpec()
    vppbs: Annotated[int, msgspec.Meta(ge=1, le=256)] = 16
    devices: tuple[DeviceSpec, ...] = ()
    spare_ports: Annotated[int, msgspec.Meta(ge=0, le=PORT_COUNT_MAX)] = 0
    """Downstream ports with nothing in them."""


class FabricSpec(_Strict, frozen=True):
    """One fabric; a topology may have several, over the same hosts."""

    id: Name
    protocol: Literal["PCIe", "CXL"]
    switches: tuple[SwitchSpec, ...]
    name: str | None = None
    max_zones: Count | None = None


class TopologySpec(_Strict, frozen=True):
    """A whole topology file."""

    name: Name
    hosts: tuple[HostSpec, ...]
    fabrics: tuple[FabricSpec, ...]
    description: str = ""
    domains: tuple[Name, ...] = ()
    """Failure domains (power, chassis, rack) that hosts, switches and devices may name."""
