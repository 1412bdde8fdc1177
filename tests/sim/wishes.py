"""What clients want besides zones: memory cut and given back, groups, Default zones, vPPBs by hand.

Each wish is one thing that a client may ask for; mostly sensible, sometimes what must be refused.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from redfish_fm.fabric.values import Chunk, Region, Role, ZoneType
from tests.sim.compose_wishes import Compositions
from tests.sim.process import Process
from tests.sim.storage_wishes import Storage
from tests.sim.wishing import Wishes, refs

if TYPE_CHECKING:
    from tests.sim.clients import Client

Wish = Callable[[Process], Awaitable[None]]


def of(client: "Client", focus: str) -> list[tuple[int, Wish]]:
    """Return what a client may want, with weights."""
    memory = Memory(client)
    groups = Groups(client)
    hands = Hands(client)
    storage = Storage(client)
    composed = Compositions(client)
    tables: dict[str, list[tuple[int, Wish]]] = {
        "zones": [
            (5, client.post_zone), (3, client.patch_zone), (4, client.add), (3, client.remove),
            (3, client.delete_zone), (4, client.move),
        ],
        "memory": [
            (4, memory.carve), (3, memory.give_back_chunk), (4, memory.make_region),
            (3, memory.give_back_region), (4, memory.zone_for), (9, memory.connect),
            (4, memory.disconnect), (1, memory.join_shared),
        ],
        "storage": [
            (5, storage.make), (2, storage.give_back), (5, storage.connect),
            (2, storage.disconnect), (12, storage.add), (9, storage.remove), (1, storage.zone),
        ],
        "groups": [
            (2, groups.post), (4, groups.edit), (1, groups.delete), (3, groups.connect),
            (2, groups.attach),
        ],
        "hands": [
            (3, hands.bind), (2, hands.free), (2, hands.default_members), (2, hands.route),
        ],
        "compose": [
            (6, composed.compose), (3, composed.give_back), (4, composed.add), (3, composed.remove),
            (3, composed.expand), (3, composed.patch), (5, composed.ask), (9, composed.reserve),
            (7, composed.forget), (1, composed.lasting),
        ],
        "others": [
            (2, client.delete_task), (1, client.read_task), (1, client.race), (1, client.describe),
            (2, client.odd_zone),
        ],
    }  # fmt: skip
    return [
        (weight * (6 if name == focus else 1), wish)
        for name, wishes in tables.items()
        for weight, wish in wishes
        if (name != "storage" or storage.exists)
        and (name != "compose" or client.checker.weather.composing)
    ]


FOCI = ("zones", "memory", "storage", "groups", "hands", "compose")


class Memory(Wishes):
    """Chunks of pooled devices, regions of dynamic-capacity ones, and who gets them."""

    async def carve(self, process: Process) -> None:
        domains = [d for d in self._index.domains.values() if d.carvable]
        every = domains if domains and self._often(0.97) else list(self._index.domains.values())
        domain = self._one(each.id for each in every)
        if domain is None:
            return
        size = self._rng.choice((256, 256, 512, 512, 1024, 2048, 300, 8192))
        size = 256 if self._often(0.5) else size
        body: dict[str, Any] = {"MemoryChunkSizeMiB": size}
        if self._often(0.15):
            pool = self._index.pools.get(self._index.domains[domain].pool or "")
            units = [] if pool is None else [
                unit.id for unit in self._index.units.values() if unit.target is not None
                and (unit.target.switch, unit.target.port) == (pool.port.switch, pool.port.port)
            ]  # fmt: skip
            if units:
                body["Links"] = {"CXLLogicalDevices": refs([self._rng.choice(sorted(units))])}
        await self._write(process, "POST", f"{domain}/MemoryChunks", body)

    async def give_back_chunk(self, process: Process) -> None:
        made = [each for each in self._index.chunks.values() if each.allocation is not None]
        await self._give_back(process, made, self._index.chunks)

    async def make_region(self, process: Process) -> None:
        pools = [pool for pool in self._index.pools.values() if pool.id.count("/PCIeDevices/")]
        lds = [unit for unit in self._index.units
               if any(unit.startswith(f"{pool.id}/CXLLogicalDevices/") for pool in pools)
               and unit not in self._index.regions]  # fmt: skip
        ld = self._one(lds)
        if ld is None:
            return
        size = 256 if self._often(0.6) else self._rng.choice((256, 512, 512, 1024, 2048, 300))
        body: dict[str, Any] = {"RegionType": "Dynamic", "RegionSizeMiB": size}
        if self._often(0.5):
            body["ShareableRegion"] = True
        if self._often(0.1):
            body["RegionNumber"] = self._rng.randrange(5)
        await self._write(process, "POST", f"{ld}/MemoryRegions", body)

    async def give_back_region(self, process: Process) -> None:
        made = [each for each in self._index.regions.values() if each.allocation is not None]
        await self._give_back(process, made, self._index.regions)

    async def _give_back(self, process: Process, made: list[Any], table: Any) -> None:
        free = [each for each in made if not self._index.connections_of_part(each.id)]
        part = self._one(each.id for each in (free if free and self._often(0.7) else made))
        if part is None:
            return
        for connection in sorted(self._index.connections_of_part(part)):
            if self._often(0.6):
                await self._write(process, "DELETE", connection)
        await self._write(process, "DELETE", part)

    def part(self) -> Chunk | Region | None:
        """Return something that a connection may grant, mostly what nobody has."""
        index = self._index
        parts = {**index.chunks, **index.regions}
        free = [uri for uri in parts if not index.connections_of_part(uri)]
        fresh = free and self._often(0.5)
        uri = self._one(free if fresh else parts)
        return None if uri is None else parts[uri]

    async def zone_for(self, process: Process) -> None:
        """Zone the LD of a part with a host, so that it can be connected."""
        part = self.part()
        if part is None:
            return
        ends = self._index.endpoints_of_unit(part.unit if isinstance(part, Chunk) else part.ld)
        target = self._one(ends)
        if target is None or (self._index.zones_of(target) and self._often(0.3)):
            return
        fabric = self._index.endpoints[target].fabric
        shared = isinstance(part, Region) and part.shareable and self._often(0.6)
        hosts = [each.id for each in self._client.population.of(fabric, Role.INITIATOR)]
        initiators = self._rng.sample(hosts, 2) if shared else self._client.initiators(fabric)
        body = {"Links": {"Endpoints": refs([*initiators, target])}}
        uri = f"/redfish/v1/Fabrics/{fabric}/Zones"
        await self._write(process, "POST", uri, body, (*initiators, target))

    async def connect(self, process: Process) -> None:
        part = self.part()
        if part is not None:
            await self._connect(process, part, 1)

    async def join_shared(self, process: Process) -> None:
        shared = [each for each in self._index.regions.values() if each.shareable]
        region = self._one(each.id for each in shared)
        if region is not None:
            await self._connect(process, self._index.regions[region], 2)

    async def _connect(self, process: Process, part: Chunk | Region, count: int) -> None:
        index = self._index
        targets = sorted(index.endpoints_of_unit(part.unit if isinstance(part, Chunk) else part.ld))
        if self._often(0.08):
            # Another target, that somebody could be connected to: the part is not its.
            ends = (end for zone in index.zones.values() for end in zone.endpoints)
            others = {end for end in ends if end in index.endpoints and index.endpoints[end].units}
            targets = sorted(others - set(targets)) or targets
        target = self._one(targets)
        if target is None:
            return
        initiators = self.meeting(target)
        if not initiators or self._often(0.1):
            initiators = self._client.initiators(index.endpoints[target].fabric)
        initiators = self._rng.sample(initiators, min(count, len(initiators)))
        name = "MemoryChunk" if isinstance(part, Chunk) else "MemoryRegion"
        row = {name: refs([part.id])[0], "AccessCapabilities": ["Read", "Write"]}
        body: dict[str, Any] = {
            "ConnectionType": "Memory",
            "Links": {"InitiatorEndpoints": refs(initiators), "TargetEndpoints": refs([target])},
        }
        adds = [*initiators, target]
        if not self._often(0.02):
            body[f"{name}Info"] = [row]
            adds.append(part.id)
        uri = f"/redfish/v1/Fabrics/{index.endpoints[target].fabric}/Connections"
        await self._write(process, "POST", uri, body, adds)

    def meeting(self, target: str) -> list[str]:
        """Return the initiators that share a zone with a target."""
        index = self._index
        zones = [index.zones[zone] for zone in sorted(index.zones_of(target))]
        if not zones:
            return []
        ends = self._rng.choice(zones).endpoints
        return [end for end in ends if end in index.endpoints and index.endpoints[end].host]

    async def disconnect(self, process: Process) -> None:
        connection = self._one(each.id for each in self._index.connections.values()
                               if not each.volumes)  # fmt: skip
        if connection is not None:
            await self._write(process, "DELETE", connection)


class Groups(Wishes):
    """Endpoint groups, and connections through them."""

    async def post(self, process: Process) -> None:
        fabric = self._rng.choice(self._client.population.fabrics)
        ends = self._some(fabric)
        body = {"Links": {"Endpoints": refs(ends)}}
        uri = f"/redfish/v1/Fabrics/{fabric}/EndpointGroups"
        await self._write(process, "POST", uri, body, ends)

    async def edit(self, process: Process) -> None:
        used = [g for g in self._index.groups if self._index.connections_of_group(g)]
        group = self._one(used if used and self._often(0.6) else self._index.groups)
        if group is None:
            return
        known = self._index.groups[group]
        ends = [each for each in known.endpoints if self._often(0.6)]
        initiates = any(self._index.endpoints[each].host for each in known.endpoints
                        if each in self._index.endpoints)  # fmt: skip
        role = Role.INITIATOR if initiates or not known.endpoints else Role.TARGET
        others = [each.id for each in self._client.population.of(known.fabric, role)
                  if each.id not in ends]  # fmt: skip
        connections = sorted(self._index.connections_of_group(group))
        if connections and self._often(0.8):
            # Who may join is who shares a zone with what the connection aims at; storage asks none.
            held = self._index.connections[connections[0]]
            meeting = Memory(self._client).meeting(held.targets[0]) if held.targets else []
            if not held.volumes:
                others = [each for each in meeting if each not in ends]
        if others and self._often(0.6 if ends else 0.9):
            ends.append(self._rng.choice(others))
        if set(ends) == set(known.endpoints) and ends and self._often(0.5):
            ends.remove(self._rng.choice(ends))
        await self._write(process, "PATCH", group, {"Links": {"Endpoints": refs(ends)}}, ends)

    async def delete(self, process: Process) -> None:
        group = self._one(self._index.groups)
        if group is not None:
            await self._write(process, "DELETE", group)

    async def connect(self, process: Process) -> None:
        """Grant a part to a group of initiators, that of a zone if there is any."""
        index, memory = self._index, Memory(self._client)
        shared = [each.id for each in index.regions.values() if each.shareable]
        region = self._one(shared) if self._often(0.4) else None
        part = memory.part() if region is None else index.regions[region]
        ends = index.endpoints_of_unit(part.unit if isinstance(part, Chunk) else part.ld) if (
            part is not None) else ()  # fmt: skip
        target = self._one(ends)
        if part is None or target is None:
            return
        fabric = index.endpoints[target].fabric
        group = self._one(self._initiating(fabric))
        if group is None:
            await self._gather(process, fabric)
            return
        if not any(set(index.groups[group].endpoints) <= set(index.zones[zone].endpoints)
                   for zone in index.zones_of(target)):  # fmt: skip
            met = memory.meeting(target)[:1]
            if met and self._often(0.8) and not index.connections_of_group(group):
                body = {"Links": {"Endpoints": refs(met)}}
                await self._write(process, "PATCH", group, body, met)
        name = "MemoryChunk" if isinstance(part, Chunk) else "MemoryRegion"
        links: dict[str, Any] = {
            "InitiatorEndpointGroups": refs([group]), "TargetEndpoints": refs([target])
        }  # fmt: skip
        if self._often(0.03):
            links["InitiatorEndpoints"] = refs(memory.meeting(target)[:1])
        row = {name: refs([part.id])[0], "AccessCapabilities": ["Read", "Write"]}
        body = {"ConnectionType": "Memory", f"{name}Info": [row], "Links": links}
        uri = f"/redfish/v1/Fabrics/{fabric}/Connections"
        await self._write(process, "POST", uri, body, (group, target, part.id))

    async def attach(self, process: Process) -> None:
        """Grant a volume to a group: who joins it later gains the volume, who leaves loses it."""
        index = self._index
        volume = self._one(index.volumes)
        if volume is None:
            return
        known = index.volumes[volume]
        fabric = known.allocation.fabric if known.allocation else known.fabric
        group = self._one(self._initiating(fabric))
        if group is None:
            await self._gather(process, fabric)
            return
        row = {"Volume": refs([volume])[0], "AccessCapabilities": ["Read", "Write"]}
        links = {"InitiatorEndpointGroups": refs([group])}
        body = {"ConnectionType": "Storage", "VolumeInfo": [row], "Links": links}
        uri = f"/redfish/v1/Fabrics/{fabric}/Connections"
        await self._write(process, "POST", uri, body, (group, volume))

    def _initiating(self, fabric: str) -> list[str]:
        """Return the groups that hosts are in, mostly those of a fabric."""
        index = self._index
        groups = [each for each in index.groups.values()
                  if any(index.endpoints[end].host for end in each.endpoints
                         if end in index.endpoints)]  # fmt: skip
        near = [each.id for each in groups if each.fabric == fabric]
        return near if self._often(0.9) else [each.id for each in groups]

    async def _gather(self, process: Process, fabric: str) -> None:
        """Make the group that is missing."""
        ends = self._client.initiators(fabric)
        uri = f"/redfish/v1/Fabrics/{fabric}/EndpointGroups"
        await self._write(process, "POST", uri, {"Links": {"Endpoints": refs(ends)}}, ends)

    def _some(self, fabric: str) -> list[str]:
        role = Role.INITIATOR if self._often(0.8) else Role.TARGET
        known = [each.id for each in self._client.population.of(fabric, role)]
        count = min(len(known), self._rng.choice((0, 1, 1, 2)))
        return self._rng.sample(known, count)


class Hands(Wishes):
    """What is set by hand: the port of a vPPB, and what the Default zones hold and route."""

    async def bind(self, process: Process) -> None:
        vppb = self._one(self._client.population.vppbs)
        if vppb is None:
            return
        switch = vppb.split("/VCSs/")[0]
        ports = [port for port in self._client.population.ports if port.startswith(f"{switch}/")]
        port = self._one(ports)
        if port is not None:
            body = {"Links": {"Port": refs([port])[0]}}
            await self._write(process, "PATCH", vppb, body)

    async def free(self, process: Process) -> None:
        held = self._one(self._index.vppb_grants)
        vppb = held if held and self._often(0.95) else self._one(self._client.population.vppbs)
        if vppb is not None:
            await self._write(process, "PATCH", vppb, {"Links": {"Port": None}})

    def _default(self) -> str | None:
        zones = self._index.zones.values()
        return self._one(each.id for each in zones if each.zone_type is ZoneType.DEFAULT)

    async def default_members(self, process: Process) -> None:
        zone = self._default()
        if zone is None:
            return
        known = self._index.zones[zone]
        ends = [each for each in known.endpoints if self._often(0.7)]
        ends += [each for each in [*self._client.initiators(known.fabric),
                                   *self._shareable(known.fabric)]
                 if each not in ends]  # fmt: skip
        if self._often(0.3):
            ends += [each for each in self._client.targets(known.fabric, 1) if each not in ends]
        await self._write(process, "PATCH", zone, {"Links": {"Endpoints": refs(ends)}}, ends)

    def _shareable(self, fabric: str) -> list[str]:
        """Return endpoints of LDs that hold nothing exclusive."""
        index = self._index
        ends = [end for end in sorted(index.endpoints) if index.endpoints[end].fabric == fabric
                and index.endpoints[end].units
                and not any(map(index.exclusive, index.endpoints[end].units))]  # fmt: skip
        return [self._rng.choice(ends)] if ends and self._often(0.7) else []

    async def route(self, process: Process) -> None:
        zone = self._default()
        if zone is not None:
            enabled = not self._index.zones[zone].routing
            enabled = enabled if self._often(0.8) else not enabled
            await self._write(process, "PATCH", zone, {"DefaultRoutingEnabled": enabled})
