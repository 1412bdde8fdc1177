"""What inventory means to the fabrics: who is a host, what is a unit, which URI is which port.

Pure values, made once per discovery by `inventory` or `imported`, read by everything in mapping
and by control. Keys named `uri` have no trailing slash; a fabric's id is the last segment of its
URI; a host's id is the URI of its ComputerSystem wherever there is one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.index import FabricFacts, FabricIndex, VcsFact
from redfish_fm.fabric.model import BindTarget, Host, PortId, VppbId
from redfish_fm.fabric.values import (
    CapacityPool,
    Chunk,
    Endpoint,
    MemoryDomain,
    Region,
    Unit,
    Volume,
)
from redfish_fm.mapping.metering import Meter
from redfish_fm.mapping.whereabouts import Whereabouts


class KnownEndpoint(NamedTuple):
    """An endpoint of a driver's inventory: what it means, and (URI, pointer) of what it links."""

    value: Endpoint
    links: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Facts:
    """Everything mapping knows of inventory beyond its documents. Filled once, then read only.

    `entity_units` and `entity_hosts` are keyed by what an EntityLink may name, `durable_*` by
    "FORMAT:NAME" in upper case; `port_units` and `port_hosts` by the switch port where units are
    plugged or hosts are cabled; `port_aliases` leads from the port at the far end of a cable to
    the switch port. `target_units` says which unit a driver's target is.
    """

    fabrics: list[FabricFacts] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    vcss: list[VcsFact] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    entity_units: dict[str, frozenset[str]] = field(default_factory=dict)
    entity_hosts: dict[str, str] = field(default_factory=dict)
    durable_units: dict[str, frozenset[str]] = field(default_factory=dict)
    durable_hosts: dict[str, str] = field(default_factory=dict)
    port_units: dict[str, frozenset[str]] = field(default_factory=dict)
    port_hosts: dict[str, str] = field(default_factory=dict)
    port_aliases: dict[str, str] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    """ComputerSystem to the host as its driver described it."""
    switch_uris: dict[tuple[str, str], str] = field(default_factory=dict)
    port_uris: dict[tuple[str, PortId], str] = field(default_factory=dict)
    link_resources: dict[str, str] = field(default_factory=dict)
    """PortMetrics or cable to the switch port whose link it tells of."""
    switch_metrics: dict[tuple[str, str], str] = field(default_factory=dict)
    """Fabric and switch to the SwitchMetrics that sum up what its ports count."""
    vppb_uris: dict[tuple[str, VppbId], str] = field(default_factory=dict)
    target_units: dict[tuple[str, BindTarget], str] = field(default_factory=dict)
    resource_ports: dict[str, str] = field(default_factory=dict)
    """Device, logical device or endpoint to the switch port whose state is its state."""
    path_ports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Resource with several ports that are ways to it: it shows the state of the best."""
    state_sources: dict[str, str] = field(default_factory=dict)
    """Resource in a module (drive, function, memory domain, chassis) to the unit it shares its
    state with."""
    port_serials: dict[str, str] = field(default_factory=dict)
    """Switch port to the serial number of the device that belongs there."""
    domains: dict[str, MemoryDomain] = field(default_factory=dict)
    """Every memory domain by its URI."""
    pools: dict[str, CapacityPool] = field(default_factory=dict)
    """Every pool that parts are cut out of, by its id (the URI of what has the capacity)."""
    regions: list[Region] = field(default_factory=list)
    """Dynamic-capacity regions that an import brought."""
    volumes: list[Volume] = field(default_factory=list)
    """Namespaces that an import brought."""
    ways: dict[str, dict[str, str]] = field(default_factory=dict)
    """Unit of a device on several switch ports -> switch port -> the unit that is meant there."""
    qos_targets: dict[str, tuple[str, BindTarget]] = field(default_factory=dict)
    """Logical device whose bandwidth a driver can set -> its fabric, and what that driver calls
    it."""
    own_protocols: dict[str, bool] = field(default_factory=dict)
    """ManagerNetworkProtocol of this service itself -> whether it can switch plain HTTP that leads
    to HTTPS."""
    containers: dict[str, str] = field(default_factory=dict)
    """Chassis to the chassis that it stands in (a rack, or what has slots for it)."""
    switch_chassis: dict[str, str] = field(default_factory=dict)
    """Switch, or storage that is one to its driver, to the chassis it is built into."""
    meters: dict[str, Meter] = field(default_factory=dict)
    """Chassis to what it draws and where that is shown."""
    idle_lds: list[str] = field(default_factory=list)
    """Logical devices of an import that have no memory, and no regions that could bring any."""
    bmcs: dict[str, str] = field(default_factory=dict)
    """ComputerSystem to the manager that is its BMC and nobody else's."""
    parts_of: dict[str, str] = field(default_factory=dict)
    """Resource outside of any chassis to the unit it is a part of, whose state it shares."""
    blocks: dict[str, Block] = field(default_factory=dict)
    """Every resource block that inventory brings, by its URI."""
    listed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Collection to those of its members that stand elsewhere."""
    endpoints: list[KnownEndpoint] = field(default_factory=list)
    """Endpoints whose documents need not be read, which says the same: a big fabric has many."""
    peer_ports: dict[str, str] = field(default_factory=dict)
    """Switch port to the port of another switch at the far end of its link."""
    beside: list[str] = field(default_factory=list)
    """What lies under a collection and is no member of it: it tells how members are made."""
    _vppbs_at: dict[str, tuple[str, VppbId]] = field(default_factory=dict, compare=False)
    _ports_at: dict[str, tuple[str, PortId]] = field(default_factory=dict, compare=False)
    _whereabouts: list[Whereabouts] = field(default_factory=list, compare=False)

    def target_uri(self, fabric: str, target: BindTarget) -> str | None:
        """Return the URI of the switch port that `target` is behind."""
        return self.port_uris.get((fabric, PortId(target.switch, target.port)))

    def vppb_at(self, uri: str) -> tuple[str, VppbId] | None:
        """Return fabric and vPPB of the resource at `uri`, or None where no driver has one."""
        if not self._vppbs_at:
            self._vppbs_at.update((where, key) for key, where in self.vppb_uris.items())
        return self._vppbs_at.get(uri)

    def port_at(self, uri: str) -> tuple[str, PortId] | None:
        """Return fabric and switch port of the resource at `uri`, or None."""
        if not self._ports_at:
            self._ports_at.update((where, key) for key, where in self.port_uris.items())
        return self._ports_at.get(uri)

    @property
    def whereabouts(self) -> Whereabouts:
        """What is where; made when it is first asked for."""
        if not self._whereabouts:
            self._whereabouts.append(Whereabouts(self))
        return self._whereabouts[0]

    def is_host(self, uri: str) -> bool:
        """Return whether the physical system of a host is at `uri`, which can be given blocks."""
        return self.entity_hosts.get(uri) == uri

    def switch_port(self, uri: str) -> str:
        """Return the switch port at the other end of the cable, or `uri` itself."""
        return self.port_aliases.get(uri, uri)

    def vcs_hosts(self, fabric: str) -> dict[tuple[str, str], str | None]:
        """Return the host of every (switch, vcs) of one fabric."""
        return {(v.switch, v.vcs): v.host for v in self.vcss if v.fabric == fabric}

    def fill(self, index: FabricIndex) -> None:
        """Put fabrics, units, virtual switches, pools and what is cut out of them into `index`."""
        for fabric in self.fabrics:
            index.put_fabric(fabric)
        for unit in self.units:
            index.put_unit(unit)
        for vcs in self.vcss:
            index.put_vcs(vcs)
        for domain in self.domains.values():
            index.put_domain(domain)
        for pool in self.pools.values():
            index.put_pool(pool)
        for chunk in self.chunks:
            index.put_chunk(chunk)
        for region in self.regions:
            index.put_region(region)
        for volume in self.volumes:
            index.put_volume(volume)
        for block in self.blocks.values():
            index.put_block(block)

    def take(self, other: "Facts") -> None:
        """Add everything that `other` knows to this; the newer wins on a common key."""
        self._whereabouts.clear()
        for each in fields(self):
            if each.name == "_whereabouts":
                continue
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            if isinstance(mine, dict):
                mine.update(theirs)
            else:
                mine.extend(theirs)


def merged(parts: Iterable[Facts]) -> Facts:
    """Return one Facts of several, the later winning on common keys."""
    result = Facts()
    for part in parts:
        result.take(part)
    return result


def enclosing(uri: str) -> Iterator[str]:
    """Yield `uri` and then every URI it lies under, innermost first."""
    while uri:
        yield uri
        uri = uri.rpartition("/")[0]
