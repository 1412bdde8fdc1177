"""What a topology file may say, as types; unknown words are errors.

Pure declarations: the type of a word is its rule, the text below it is what an editor shows (the
JSON Schema of the format is made of both). Capacities are texts with a unit ("8 TiB", binary and
decimal units alike), links are generation, lanes and added latency in ns. Every group (`hosts`,
`switches`, `devices`, `subsystems`) may carry `count:`; its `id` then holds `{n}`, which counts
from `first`. A device group of a switch is repeated on each switch of its group and `{n}` runs on
from switch to switch; with `total:` instead of `count:` so many are dealt to all of them together.
"""

import re
from functools import lru_cache
from typing import Annotated, Literal

import msgspec

from redfish_fm.fabric.model import DeviceKind

COUNT_MAX = 100_000
"""Members of one group."""

Count = Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)]
Capacity = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,12} ?([MGT]i?B)$")]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]
Template = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9{][A-Za-z0-9._{}-]*$", max_length=64)]
"""A Name in which `{n}` (and, for devices, `{switch}`) is filled in."""

Nqn = Annotated[str, msgspec.Meta(pattern=r"^nqn\.[0-9]{4}-[0-9]{2}\.[^ ]+$", max_length=223)]
Heads = Annotated[int, msgspec.Meta(ge=1, le=16)]

LD_COUNT_MAX = 16
"""Logical devices of one MLD, CXL 2.0 §8.1 (LD ids 0 to 15)."""

PORT_COUNT_MAX = 256
"""Physical ports of one switch: the FM API counts them in one byte."""

FUNCTION_COUNT_MAX = 256
"""Functions of one device: eight bits of a routing id number them (ARI)."""

REGION_COUNT_MAX = 8
"""Dynamic-capacity regions of one LD: the FM API describes eight."""

LdCount = Annotated[int, msgspec.Meta(ge=1, le=LD_COUNT_MAX)]

_MIB = {"MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@lru_cache(maxsize=64)
def mib(capacity: str) -> int:
    """Return a Capacity in MiB, rounded down."""
    number, unit = re.findall(r"[0-9]+|[A-Za-z]+", capacity)
    return int(number) * _MIB[unit] // 2**20


class _Strict(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    pass


class LinkSpec(_Strict, frozen=True):
    """A PCIe or CXL link."""

    gen: Annotated[int, msgspec.Meta(ge=1, le=6)] = 5
    """PCIe generation."""
    lanes: Literal[1, 2, 4, 8, 16] = 16
    latency_ns: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Latency that this link adds, in nanoseconds."""


class HostSpec(_Strict, frozen=True):
    """One host, or `count` of them."""

    id: Template
    """Its name; with {n} where there are several."""
    count: Count = 1
    """How many there are."""
    first: int = 1
    """What {n} counts from."""
    cpus: Count = 2
    cores: Count = 64
    """Cores of all CPUs together."""
    memory: Capacity = "512 GiB"
    domain: Name | tuple[Name, ...] | None = None
    """Its failure domain; a list is dealt in turn."""
    uuid: str | None = None
    """Of a single host; without it one is derived from the names."""
    nqn: Nqn | None = None
    """NVMe Qualified Name of a single host; without it one is made of its UUID."""
    model: str | None = None
    manufacturer: str = "redfish_fm"
    detail: Literal["full", "core"] = "full"
    """How much of it is shown: everything in it, or only system, processors, chassis and BMC."""
    hot_plug: bool = True
    """Whether devices may come and go while it has power; else its blocks change only while it is
    off."""


class LdsSpec(_Strict, frozen=True):
    """How an MLD is cut into logical devices: now and for good, or on demand (`pooled`)."""

    count: LdCount
    """How many; pooled: how many at most."""
    capacity: Capacity | None = None
    """Of each; without it the even share. A pooled LD has none before it is allocated."""
    pooled: bool = False
    """Whether clients cut LDs out of the device's capacity, each as large as they want it."""
    granularity: Capacity | None = None
    """Pooled: an LD is a multiple of this (256 MiB without it, 512 MiB or 1 GiB)."""


class DynamicSpec(_Strict, frozen=True):
    """Dynamic capacity: `count` LDs in which clients make regions on demand."""

    count: LdCount = 1
    """How many LDs."""
    regions: Annotated[int, msgspec.Meta(ge=1, le=REGION_COUNT_MAX)] = REGION_COUNT_MAX
    """How many regions one LD holds at most."""
    granularity: Capacity = "256 MiB"
    """A region is a multiple of this, and this a multiple of 256 MiB."""


class PluggedSpec(_Strict, frozen=True):
    """What all devices have in common, however they are plugged in."""

    id: Template
    """Its name; with {n} where there are several, and {switch} on a switch."""
    kind: DeviceKind
    attachment: Literal["PCIe", "SLD", "MLD"] | None = None
    """Without it PCIe on a PCIe fabric, else MLD where it has LDs, else SLD."""
    count: Count = 1
    """How many there are (on each switch)."""
    first: int = 1
    """What {n} counts from."""
    model: str | None = None
    manufacturer: str = "redfish_fm"
    link: LinkSpec = LinkSpec()
    """Of each of its ports."""
    capacity: Capacity | None = None
    lds: LdsSpec | None = None
    """Makes it an MLD: each LD is bound on its own."""
    dynamic: DynamicSpec | None = None
    """Makes it an MLD with dynamic capacity: regions are made on demand."""
    functions: Annotated[int, msgspec.Meta(ge=1, le=FUNCTION_COUNT_MAX)] = 1
    """Physical PCIe functions."""
    virtual_functions: Annotated[int, msgspec.Meta(ge=0, le=FUNCTION_COUNT_MAX)] = 0
    """Virtual functions (SR-IOV) of each physical one."""
    bind: Literal["device", "functions"] = "device"
    """What the switch binds: the device with all its functions, or each function alone."""
    shared: bool | None = None
    """Of a device with several heads: whether each serves a host of its own (multi-host NIC) or
    all are ways to one exclusive device (dual-ported drive)."""
    sanitizes: bool | None = None
    """Whether contents are kept track of and can be overwritten; without it CXL memory does."""
    qos: bool = False
    """Of an MLD: whether bandwidth of its LDs can be set."""
    detail: Literal["full", "core"] = "full"
    """How much of it is shown: everything in it, or no modules and no sensors."""
    domain: Name | tuple[Name, ...] | None = None
    """Its failure domain; a list is dealt in turn."""


class DeviceSpec(PluggedSpec, frozen=True):
    """One device of a switch, or `count` of them, each on downstream ports of its own."""

    heads: Heads = 1
    """How many ports of this switch it is plugged into."""
    total: Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)] | None = None
    """How many there are on all switches of the group together, dealt evenly; instead of count."""

    def on_switch(self, n: int, switch_count: int) -> int:
        """Return how many of them switch `n` (from 0) of a group has; the first ones the odd."""
        if self.total is None:
            return self.count
        return self.total // switch_count + (n < self.total % switch_count)

    def in_all(self, switch_count: int) -> int:
        """Return how many there are on all switches of a group."""
        return self.count * switch_count if self.total is None else self.total


class SpanningSpec(PluggedSpec, frozen=True, kw_only=True):
    """One device on ports of several switches, or `count` of them."""

    ports: Literal["all"] | Annotated[tuple[Name, ...], msgspec.Meta(min_length=2)]
    """The switch of each of its ports, or `all`: one port of every switch of the fabric."""


class EachSpec(_Strict, frozen=True):
    """Hosts dealt to the switches of a group: the next `each` hosts for every switch."""

    each: Count


Hosts = Literal["all", "dealt"] | EachSpec | tuple[Name, ...]


class UplinkSpec(_Strict, frozen=True):
    """Links from a switch to another one, side by side: hosts come in by them from either end."""

    to: Name
    """The switch at the other end."""
    count: Annotated[int, msgspec.Meta(ge=1, le=16)] = 1
    """How many there are; hosts are dealt to them in turn."""
    link: LinkSpec = LinkSpec()
    """Each of them."""


class SwitchSpec(_Strict, frozen=True):
    """One switch, or `count` of them.

    Each attached host gets `host_ports` upstream ports and, above each, one virtual switch (a
    PCIe partition) with `vppbs` bridges.
    """

    id: Template
    """Its name; with {n} where there are several."""
    count: Count = 1
    """How many there are."""
    first: int = 1
    """What {n} counts from."""
    model: str | None = None
    domain: Name | tuple[Name, ...] | None = None
    """Its failure domain; a list is dealt in turn."""
    hosts: Hosts = "all"
    """Which hosts are cabled to it: all, a list of ids, the next so many for every switch, or
    `dealt`: each host to one switch of the group, evenly."""
    host_ports: Annotated[int, msgspec.Meta(ge=1, le=4)] = 1
    """Ports for each host."""
    host_link: LinkSpec = LinkSpec()
    """Link of each host."""
    vppbs: Annotated[int, msgspec.Meta(ge=1, le=256)] = 16
    """Bridges of each host's virtual switch: how many things one host can bind here."""
    uplinks: tuple[UplinkSpec, ...] = ()
    """Of a PCIe switch: its links to other switches of the fabric, in which there are no loops."""
    devices: tuple[DeviceSpec, ...] = ()
    """Devices on downstream ports of each switch of the group."""
    spare_ports: Annotated[int, msgspec.Meta(ge=0, le=PORT_COUNT_MAX)] = 0
    """Downstream ports with nothing in them."""
    manufacturer: str = "redfish_fm"
    detail: Literal["full", "core"] = "full"
    """How much of it is shown: everything in it, or no power supplies, fans, sensors, counters of
    ports and cables."""


class SubsystemSpec(_Strict, frozen=True):
    """One NVMe subsystem reached over a network, or `count` of them."""

    id: Template
    """Its name; with {n} where there are several."""
    capacity: Capacity
    """What namespaces are cut out of."""
    count: Count = 1
    """How many there are."""
    first: int = 1
    """What {n} counts from."""
    model: str | None = None
    manufacturer: str = "redfish_fm"
    domain: Name | tuple[Name, ...] | None = None
    """Its failure domain; a list is dealt in turn."""
    hosts: Hosts = "all"
    """Which hosts reach it: all, a list of ids, the next so many for every subsystem, or `dealt`:
    each host to one subsystem of the group, evenly."""
    ports: Annotated[int, msgspec.Meta(ge=1, le=16)] = 1
    """Network ports; every host reaches it through each of them."""
    namespaces: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 128
    """How many namespaces it holds at most."""
    attachments: Annotated[int, msgspec.Meta(ge=1, le=256)] = 32
    """How many namespaces one host can have attached."""
    granularity: Capacity = "1 GiB"
    """A namespace is a multiple of this."""
    detail: Literal["full", "core"] = "full"
    """How much of it is shown: everything in it, or no drives, power supplies, fans and sensors."""


class FabricSpec(_Strict, frozen=True):
    """One fabric; a topology may have several, over the same hosts."""

    id: Name
    protocol: Literal["PCIe", "CXL", "NVMeOverFabrics"]
    name: str | None = None
    """A line for people."""
    switches: tuple[SwitchSpec, ...] | None = None
    """Of a PCIe or CXL fabric."""
    devices: tuple[SpanningSpec, ...] = ()
    """Devices on ports of several switches, or of one by its name."""
    subsystems: tuple[SubsystemSpec, ...] | None = None
    """Of an NVMeOverFabrics fabric, which has no switches."""
    max_zones: Count | None = None
    """How many zones the fabric holds; without it any number."""


class ParameterSpec(_Strict, frozen=True):
    """A number that is chosen when the topology is served, as in `NAME:hosts=4`.

    `$name` stands for it wherever a number may stand.
    """

    default: Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]
    """What it is when nobody chooses."""
    min: Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)] = 1
    """The least that may be chosen."""
    max: Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)] = COUNT_MAX
    """The most that may be chosen."""
    description: str = ""
    """A line for people."""


class TopologySpec(_Strict, frozen=True):
    """A topology of redfish_fm: hosts, and the fabrics that connect devices to them."""

    name: Name
    hosts: tuple[HostSpec, ...]
    fabrics: tuple[FabricSpec, ...]
    description: str = ""
    """A line for people."""
    domains: tuple[Name, ...] = ()
    """Failure domains (power, chassis, rack) that hosts, switches and devices may name."""
    parameters: dict[Name, ParameterSpec] = {}
    """Numbers to choose when it is served, by name."""
