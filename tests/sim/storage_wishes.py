"""What clients want of storage: volumes, the connections that grant them, and rows of these."""

from collections.abc import Iterable
from typing import Any

from redfish_fm.fabric.model import PartKind
from tests.sim.process import Process
from tests.sim.wishing import Wishes, refs


class Storage(Wishes):
    """Namespaces of NVMe-oF subsystems, and the hosts that they are attached to."""

    @property
    def exists(self) -> bool:
        return any(pool.kind is PartKind.NAMESPACE for pool in self._index.pools.values())

    async def make(self, process: Process) -> None:
        pools = [p for p in self._index.pools.values() if p.kind is PartKind.NAMESPACE]
        pool = self._one(each.id for each in pools)
        if pool is None:
            return
        gib = self._rng.choice((1, 1, 1, 2, 3, 16))
        body: dict[str, Any] = {"CapacityBytes": (gib << 30) + self._often(0.05)}
        if self._often(0.5):
            body["NVMeNamespaceProperties"] = {"IsShareable": True}
        storage = pool.split("/StoragePools/")[0]
        path = f"{pool}/AllocatedVolumes" if self._often(0.2) else f"{storage}/Volumes"
        await self._write(process, "POST", path, body)

    async def give_back(self, process: Process) -> None:
        volume = self._one(self._index.volumes)
        if volume is None:
            return
        for connection in sorted(self._index.connections_of_part(volume)):
            if self._often(0.6):
                await self._write(process, "DELETE", connection)
        await self._write(process, "DELETE", volume)

    def _rows(self, count: int) -> list[str]:
        index = self._index
        free = [v for v in sorted(index.volumes) if not index.connections_of_part(v)]
        volumes = free if free and self._often(0.8) else sorted(index.volumes)
        return self._rng.sample(volumes, min(count, len(volumes)))

    async def connect(self, process: Process) -> None:
        index, volumes = self._index, self._rows(self._rng.choice((1, 2, 2)))
        if not volumes:
            return
        volume = index.volumes[volumes[0]]
        target = self._one(index.endpoints_of_unit(volume.subsystem))
        fabric = volume.allocation.fabric if volume.allocation else volume.fabric
        if target is None or fabric not in self._client.population.fabrics:
            return
        initiators = self._client.initiators(fabric)
        rows = [{"Volume": refs([each])[0], "AccessCapabilities": ["Read", "Write"]}
                for each in volumes]  # fmt: skip
        if self._often(0.4):
            for row in rows:
                row["LUN"] = self._rng.randrange(3)
        links = {"InitiatorEndpoints": refs(initiators)}
        if self._often(0.7):
            links["TargetEndpoints"] = refs([target])
        body = {"ConnectionType": "Storage", "VolumeInfo": rows, "Links": links}
        uri = f"/redfish/v1/Fabrics/{fabric}/Connections"
        await self._write(process, "POST", uri, body, (*initiators, *volumes))

    def _some_connection(self) -> str | None:
        known = self._index.connections.values()
        return self._one(each.id for each in known if each.volumes)

    async def disconnect(self, process: Process) -> None:
        connection = self._some_connection()
        if connection is not None:
            await self._write(process, "DELETE", connection)

    async def add(self, process: Process) -> None:
        """Add a volume that a connection lacks; one is made where there is none."""
        storing = [each.id for each in self._index.connections.values() if each.volumes]
        if storing and not any(map(self._lacking, storing)) and self._often(0.7):
            await self.make(process)
            storing = [each for each in storing if each in self._index.connections]
        lacking = self._calm(each for each in storing if self._lacking(each))
        if not lacking and self._often(0.75):
            await (self.remove if self._several() else self.connect)(process)
            return
        connection = self._one(lacking if lacking and self._often(0.9) else storing)
        if connection is None:
            return
        free = self._calm(self._lacking(connection))
        volumes = [self._rng.choice(free)] if free and self._often(0.85) else self._rows(1)
        if volumes:
            path = f"{connection}/Actions/Connection.AddVolumeInfo"
            body: dict[str, Any] = {"Volume": refs(volumes)[0], "AccessCapabilities": ["Read"]}
            if self._often(0.2):
                body["LUN"] = self._rng.randrange(3)
            await self._write(process, "POST", path, body, volumes)

    def _lacking(self, connection: str) -> list[str]:
        """Return what a connection does not have yet and could have."""
        index = self._index
        held = {row.volume for row in index.connections[connection].volumes}
        near = {index.volumes[each].subsystem for each in held & index.volumes.keys()}
        return [each.id for _, each in sorted(index.volumes.items())
                if each.id not in held and each.subsystem in near
                and (each.shareable or not index.connections_of_part(each.id))]  # fmt: skip

    async def remove(self, process: Process) -> None:
        """Take away one row of several; the last one stays, whoever asks for it."""
        several = self._several()
        if not several and self._often(0.8):
            await self.add(process)
            return
        calm = self._calm(several)
        connection = self._one(calm) if calm and self._often(0.9) else self._some_connection()
        if connection is not None:
            row = self._rng.choice(self._index.connections[connection].volumes)
            path = f"{connection}/Actions/Connection.RemoveVolumeInfo"
            await self._write(process, "POST", path, {"Volume": refs([row.volume])[0]})

    def _several(self) -> list[str]:
        """Return the connections that have a row to spare."""
        return [each.id for each in self._index.connections.values() if len(each.volumes) > 1]

    def _calm(self, uris: Iterable[str]) -> list[str]:
        """Return those that no Task is about, as far as a client can see."""
        busy = {each.uri for each in self._client.checker.open_operations()}
        return sorted(uri for uri in uris if uri not in busy)

    async def zone(self, process: Process) -> None:
        """Limit somebody to a zone: here zones grant nothing."""
        volumes = self._index.volumes.values()
        fabric = self._one(each.allocation.fabric for each in volumes if each.allocation)
        if fabric is None:
            return
        ends = [*self._client.initiators(fabric), *self._client.targets(fabric, 1)]
        body = {"Links": {"Endpoints": refs(ends)}}
        await self._write(process, "POST", f"/redfish/v1/Fabrics/{fabric}/Zones", body, ends)
