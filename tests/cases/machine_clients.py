"""The clients of the machine: every kind of write, in any order, on one device of each kind.

`machine` says what must hold after each; at the end all that was made is deleted.
"""

import asyncio
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from tests.cases.machine import Run
from tests.cases.small_world import CXL, ENDS, NVME, PCIE, ends, fabric_of
from tests.cases.stack import ROOT
from tests.control.builders import links

FIXED = [f"{ROOT}/Chassis/fixed1/MemoryDomains/{n}/MemoryChunks/1" for n in (0, 1)]
CHUNKS = f"{ROOT}/Chassis/pooled1/MemoryDomains/1/MemoryChunks"
LD = f"{ROOT}/Chassis/dynamic1/PCIeDevices/dynamic1/CXLLogicalDevices/0"
LDS = f"{ROOT}/Chassis/fixed1/PCIeDevices/fixed1/CXLLogicalDevices"
STORAGE = f"{ROOT}/Storage/jbof1"
ACCESS = {"AccessCapabilities": ["Read", "Write"]}

HOSTS = st.sampled_from([(0,), (1,), (0,), (1,), (), (0, 1)])
"""Which hosts: mostly one."""
UNIT = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6])
"""Which target: mostly one of the first, so that several want it."""
UNITS = st.lists(UNIT, max_size=2, unique=True)
FABRIC = st.sampled_from([PCIE, CXL, NVME])
HOST = st.integers(0, 1)
SIZES_MIB = st.sampled_from([256, 256, 512, 1024, 300])
WAYS = st.sampled_from(["zoned", "zoned", "zoned", "met", "met", "any"])
"""How those who are to be connected come together: see `_together`."""
ELSEWHERE = st.sampled_from([None, None, None, 3, 3])
"""Another target than the part's own; 3 needs no part itself, so only that is wrong with it."""
LUN = st.sampled_from([None, None, None, 1, 2])
NUMBER = st.integers(0, 7)


class Clients(RuleBasedStateMachine):
    """Everything that clients write; hardware does as it is told."""

    zones = Bundle("zones")
    groups = Bundle("groups")
    chunks = Bundle("chunks")
    regions = Bundle("regions")
    volumes = Bundle("volumes")
    pools = Bundle("pools")
    parts = chunks | regions | st.sampled_from(FIXED)

    def __init__(self) -> None:
        super().__init__()
        self.run_ = Run()

    def write(self, method: str, uri: str, body: Any = None) -> Any:
        """Send a write; return what it made, for a bundle."""
        response = self.run_.do(self.run_.write(method, uri, body))
        return response.headers["Location"] if response.status == 201 else multiple()

    def delete(self, uri: str) -> Any:
        """Send a DELETE; return the URI if it is still there, for its bundle."""
        response = self.run_.do(self.run_.write("DELETE", uri))
        return uri if response.status >= 400 and response.status != 404 else multiple()

    @initialize(target=zones)
    def first_zones(self) -> Any:
        """Give the first device of each fabric to the first host."""
        made = []
        for fabric in (PCIE, CXL):
            body = {"Links": {"Endpoints": links(*ends(fabric, (0,), (0,)))}}
            made.append(self.write("POST", f"{fabric}/Zones", body))
        return multiple(*made)

    @initialize(target=chunks, host=HOST)
    def first_chunk(self, host: int) -> Any:
        chunk = self.write("POST", CHUNKS, {"MemoryChunkSizeMiB": 256})
        self.connect_part(chunk, host, "zoned", None)
        return chunk

    @initialize(target=regions, host=HOST, shareable=st.booleans())
    def first_region(self, host: int, shareable: bool) -> Any:
        body = {"RegionType": "Dynamic", "RegionSizeMiB": 256, "ShareableRegion": shareable}
        region = self.write("POST", f"{LD}/MemoryRegions", body)
        self.connect_part(region, host, "zoned", None)
        return region

    @initialize(target=volumes, host=HOST, shareable=st.booleans())
    def first_volume(self, host: int, shareable: bool) -> Any:
        volume = self.post_volume(1, shareable)
        self.connect_volume(volume, None, host, None, True)
        return volume

    # -- zones -------------------------------------------------------------------------------

    @rule(target=zones, fabric=FABRIC, hosts=HOSTS, units=UNITS)
    def post_zone(self, fabric: str, hosts: Any, units: Any) -> Any:
        body = {"Links": {"Endpoints": links(*ends(fabric, hosts, units))}}
        return self.write("POST", f"{fabric}/Zones", body)

    @rule(zone=zones, hosts=HOSTS, units=UNITS)
    def patch_zone(self, zone: str, hosts: Any, units: Any) -> None:
        members = ends(fabric_of(zone), hosts, units)
        self.write("PATCH", zone, {"Links": {"Endpoints": links(*members)}})

    @rule(zone=zones, unit=UNIT, adds=st.booleans())
    def move_target(self, zone: str, unit: int, adds: bool) -> None:
        (end,) = ends(fabric_of(zone), (), (unit,))
        self._act(zone, "AddEndpoint" if adds else "RemoveEndpoint", end)

    @rule(zone=zones, host=HOST, adds=st.booleans())
    def move_host(self, zone: str, host: int, adds: bool) -> None:
        (end,) = ends(fabric_of(zone), (host,), ())
        self._act(zone, "AddEndpoint" if adds else "RemoveEndpoint", end)

    def _act(self, zone: str, action: str, end: str) -> None:
        body = {"Endpoint": {"@odata.id": end}}
        self.write("POST", f"{zone}/Actions/Zone.{action}", body)

    @rule(target=zones, zone=consumes(zones))
    def delete_zone(self, zone: str) -> Any:
        return self.delete(zone)

    @rule(fabric=FABRIC, hosts=HOSTS, units=UNITS)
    def fill_default_zone(self, fabric: str, hosts: Any, units: Any) -> None:
        members = ends(fabric, hosts, units)
        self.write("PATCH", f"{fabric}/Zones/Default", {"Links": {"Endpoints": links(*members)}})

    @rule(fabric=FABRIC, enabled=st.booleans())
    def route_default_zone(self, fabric: str, enabled: bool) -> None:
        self.write("PATCH", f"{fabric}/Zones/Default", {"DefaultRoutingEnabled": enabled})

    # -- groups ------------------------------------------------------------------------------

    @rule(target=groups, fabric=FABRIC, hosts=HOSTS)
    def post_group(self, fabric: str, hosts: Any) -> Any:
        body = {"Links": {"Endpoints": links(*ends(fabric, hosts, ()))}}
        return self.write("POST", f"{fabric}/EndpointGroups", body)

    @rule(group=groups, hosts=HOSTS)
    def patch_group(self, group: str, hosts: Any) -> None:
        body = {"Links": {"Endpoints": links(*ends(fabric_of(group), hosts, ()))}}
        self.write("PATCH", group, body)

    @rule(target=groups, group=consumes(groups))
    def delete_group(self, group: str) -> Any:
        return self.delete(group)

    # -- parts -------------------------------------------------------------------------------

    @rule(target=chunks, size_mib=SIZES_MIB)
    def post_chunk(self, size_mib: int) -> Any:
        return self.write("POST", CHUNKS, {"MemoryChunkSizeMiB": size_mib})

    @rule(target=regions, size_mib=SIZES_MIB, shareable=st.booleans())
    def post_region(self, size_mib: int, shareable: bool) -> Any:
        body = {"RegionType": "Dynamic", "RegionSizeMiB": size_mib, "ShareableRegion": shareable}
        return self.write("POST", f"{LD}/MemoryRegions", body)

    @rule(target=volumes, gib=st.sampled_from([1, 1, 2, 3, 8]), shareable=st.booleans())
    def post_volume(self, gib: int, shareable: bool) -> Any:
        body: dict[str, Any] = {"CapacityBytes": gib << 30}
        if shareable:
            body["NVMeNamespaceProperties"] = {"IsShareable": True}
        return self.write("POST", f"{STORAGE}/Volumes", body)

    @rule(target=chunks, chunk=consumes(chunks))
    def delete_chunk(self, chunk: str) -> Any:
        return self.delete(chunk)

    @rule(target=regions, region=consumes(regions))
    def delete_region(self, region: str) -> Any:
        return self.delete(region)

    @rule(target=volumes, volume=consumes(volumes))
    def delete_volume(self, volume: str) -> Any:
        return self.delete(volume)

    # -- connections -------------------------------------------------------------------------

    @property
    def _index(self) -> Any:
        return self.run_.stack.kernel.published.state.index

    def _target_of(self, part: str) -> list[str]:
        index = self._index
        chunk, region = index.chunks.get(part), index.regions.get(part)
        unit = chunk.unit if chunk else region.ld if region else None
        return sorted(index.endpoints_of_unit(unit)) if unit else [ENDS[CXL]["targets"][0]]

    def _together(self, way: str, sources: list[str], targets: list[str]) -> list[str]:
        """Return who is to be connected: "zoned": after they were zoned with the targets, "met":
        whoever has a zone with them already, "any": as they are.
        """
        index = self._index
        met = {end for target in targets for zone in index.zones_of(target)
               for end in index.zones[zone].endpoints}  # fmt: skip
        if way == "met":
            return sorted(met & set(ENDS[fabric_of(targets[0])]["hosts"]))[:1] or sources
        if way == "zoned" and not met.issuperset(sources):
            members = {"Links": {"Endpoints": links(*sources, *targets)}}
            self.write("POST", f"{fabric_of(targets[0])}/Zones", members)
        return sources

    def _connect(self, part: str, sources: dict[str, Any], targets: list[str]) -> None:
        name = "MemoryRegion" if "/MemoryRegions/" in part else "MemoryChunk"
        row = {name: {"@odata.id": part}, **ACCESS}
        body = {
            "ConnectionType": "Memory",
            f"{name}Info": [row],
            "Links": {**sources, "TargetEndpoints": links(*targets)},
        }
        self.write("POST", f"{CXL}/Connections", body)

    @rule(target=zones, part=parts, hosts=HOSTS)
    def zone_part(self, part: str, hosts: Any) -> Any:
        members = [*ends(CXL, hosts, ()), *self._target_of(part)]
        return self.write("POST", f"{CXL}/Zones", {"Links": {"Endpoints": links(*members)}})

    @rule(part=parts, host=HOST, way=WAYS, at=ELSEWHERE)
    def connect_part(self, part: str, host: int, way: str, at: int | None) -> None:
        """Grant a part to a host; `at`: in the name of another target, whose it may not be."""
        targets = self._target_of(part) if at is None else ends(CXL, (), (at,))
        sources = self._together(way, ends(CXL, (host,), ()), targets)
        self._connect(part, {"InitiatorEndpoints": links(*sources)}, targets)

    @rule(group=groups, part=parts, volume=volumes, at=UNIT, way=WAYS)
    def connect_group(self, group: str, part: str, volume: str, at: int, way: str) -> None:
        """Grant something of its fabric to whoever is in a group."""
        fabric, side = fabric_of(group), {"InitiatorEndpointGroups": links(group)}
        known = self._index.groups.get(group)
        members = list(known.endpoints) if known else []
        if fabric == NVME:
            self._attach([volume], side, None)
            return
        targets = self._target_of(part) if fabric == CXL else ends(PCIE, (), (at,))
        if members and way == "zoned":
            self._together(way, members, targets)
        if fabric == CXL:
            self._connect(part, side, targets)
        else:
            body = {"Links": {**side, "TargetEndpoints": links(*targets)}}
            self.write("POST", f"{PCIE}/Connections", body)

    @rule(host=HOST, at=UNIT, way=WAYS)
    def connect_device(self, host: int, at: int, way: str) -> None:
        targets = ends(PCIE, (), (at,))
        sources = self._together(way, ends(PCIE, (host,), ()), targets)
        sides = {"InitiatorEndpoints": links(*sources), "TargetEndpoints": links(*targets)}
        self.write("POST", f"{PCIE}/Connections", {"Links": sides})

    def _attach(
        self, attached: list[str], side: dict[str, Any], lun: int | None, aims: bool = False
    ) -> None:
        rows = [{"Volume": {"@odata.id": volume}, **ACCESS} for volume in attached]
        rows = rows if lun is None else [{**row, "LUN": lun} for row in rows]
        sides = {**side, "TargetEndpoints": links(*ends(NVME, (), (0,)))} if aims else side
        body = {"ConnectionType": "Storage", "VolumeInfo": rows, "Links": sides}
        self.write("POST", f"{NVME}/Connections", body)

    @rule(volume=volumes, also=st.none() | volumes, host=HOST, lun=LUN, aims=st.booleans())
    def connect_volume(
        self, volume: str, also: str | None, host: int, lun: int | None, aims: bool
    ) -> None:
        attached = [volume] if also is None else [volume, also]
        side = {"InitiatorEndpoints": links(*ends(NVME, (host,), ()))}
        self._attach(attached, side, lun, aims)

    def _some(self, number: int, fabric: str = "") -> str | None:
        """Return a connection by number, where there is any."""
        known = sorted(each for each in self._index.connections if each.startswith(fabric))
        return known[number % len(known)] if known else None

    @rule(number=NUMBER, volume=volumes, adds=st.booleans())
    def act_on_volumes(self, number: int, volume: str, adds: bool) -> None:
        connection = self._some(number, NVME if number else "")
        if connection is None:
            return
        granted = [each.volume for each in self._index.connections[connection].volumes]
        if granted and not adds and number % 4:
            volume = granted[number % len(granted)]
        body: dict[str, Any] = {"Volume": {"@odata.id": volume}}
        body |= ACCESS if adds else {}
        verb = "Add" if adds else "Remove"
        self.write("POST", f"{connection}/Actions/Connection.{verb}VolumeInfo", body)

    @rule(number=NUMBER, host=HOST, way=WAYS)
    def patch_connection(self, number: int, host: int, way: str) -> None:
        """Let another host initiate what one has."""
        connection = self._some(number)
        if connection is None:
            return
        sources = ends(fabric_of(connection), (host,), ())
        targets = self._index.connections[connection].targets
        if targets and fabric_of(connection) != NVME:
            sources = self._together(way, sources, list(targets))
        self.write("PATCH", connection, {"Links": {"InitiatorEndpoints": links(*sources)}})

    @rule(number=NUMBER)
    def delete_connection(self, number: int) -> None:
        connection = self._some(number)
        if connection is not None:
            self.delete(connection)

    def _granting(self, part: str) -> list[str]:
        """Return the connections that grant a chunk, a region or a volume."""
        return sorted(
            name
            for name, each in self._index.connections.items()
            if part
            in {
                *(grant.chunk for grant in each.chunks),
                *(grant.region for grant in each.regions),
                *(grant.volume for grant in each.volumes),
            }
        )

    def _take_back(self, part: str) -> Any:
        """Delete a part after all connections that grant it; most parts are granted."""
        for connection in self._granting(part):
            self.delete(connection)
        return self.delete(part)

    @rule(target=chunks, chunk=consumes(chunks))
    def take_chunk_back(self, chunk: str) -> Any:
        return self._take_back(chunk)

    @rule(target=regions, region=consumes(regions))
    def take_region_back(self, region: str) -> Any:
        return self._take_back(region)

    @rule(target=volumes, volume=consumes(volumes))
    def take_volume_back(self, volume: str) -> Any:
        return self._take_back(volume)

    # -- what else is written ----------------------------------------------------------------

    @rule(vcs=st.integers(1, 2), vppb=st.integers(0, 3), at=st.none() | st.integers(1, 4))
    def set_vppb(self, vcs: int, vppb: int, at: int | None) -> None:
        switch = f"{CXL}/Switches/cxl1"
        port = None if at is None else {"@odata.id": f"{switch}/Ports/D{at}"}
        self.write("PATCH", f"{switch}/VCSs/{vcs}/VPPBs/{vppb}", {"Links": {"Port": port}})

    @rule(target=pools, fabric=FABRIC, hosts=HOSTS)
    def post_pool(self, fabric: str, hosts: Any) -> Any:
        body = {"Links": {"Endpoints": links(*ends(fabric, hosts, ()))}}
        return self.write("POST", f"{fabric}/AddressPools", body)

    @rule(pool=pools, hosts=HOSTS, vlan=st.integers(4093, 4096))
    def patch_pool(self, pool: str, hosts: Any, vlan: int) -> None:
        members = links(*ends(fabric_of(pool), hosts, ()))
        ethernet = {"IPv4": {"NativeVLAN": vlan}}
        self.write("PATCH", pool, {"Links": {"Endpoints": members}, "Ethernet": ethernet})

    @rule(target=pools, pool=consumes(pools))
    def delete_pool(self, pool: str) -> Any:
        return self.delete(pool)

    @rule(ld=st.integers(0, 1), share=st.sampled_from([0, 30, 60, 101]))
    def set_qos(self, ld: int, share: int) -> None:
        qos = {"AllocatedBandwidth": share, "LimitPercent": 90}
        self.write("PATCH", f"{LDS}/{ld}", {"QoS": qos})

    # -- always ------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.01, 1.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.run_.do(asyncio.sleep(seconds))

    @invariant()
    def nothing_is_wrong(self) -> None:
        self.run_.do(self.run_.check())

    def teardown(self) -> None:
        try:
            self.run_.do(self.run_.undo())
        finally:
            self.run_.close()
