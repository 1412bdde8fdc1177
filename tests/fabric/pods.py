"""Small pods for placement: hosts, switches, devices and appliances with blocks, by few words.

Host H is the system "H" with block "b-H" and initiator "I-H"; device D is unit "D" with block "b-D"
and endpoint "T-D"; appliance A is the MLD "A" with block "b-A": its pool and domain are "A/1", its
LDs "A.0"…; a fixed LD of it has the domain "A/f0" and the chunk "A/f0/c". All in fabric "F".
"""

from collections.abc import Mapping, Sequence

from redfish_fm.fabric.composition import Block, BlockType, Composition, Reservation
from redfish_fm.fabric.index import FabricFacts, FabricIndex, VcsFact
from redfish_fm.fabric.model import BindTarget, FabricKind, PartKind, PortId, VppbId
from redfish_fm.fabric.placement import place
from redfish_fm.fabric.placement_values import (
    MemoryWish,
    Placement,
    Rejections,
    Request,
    Wish,
)
from redfish_fm.fabric.values import (
    Allocation,
    Binder,
    Binding,
    CapacityPool,
    Chunk,
    Endpoint,
    MemoryDomain,
    Region,
    Role,
    Unit,
)
from tests.fabric.builders import put_target, zone

X16_MB_S = 63008
GIB = 1024


class Pod:
    """An index under construction, and requests to it."""

    def __init__(self) -> None:
        self.index = FabricIndex()
        self.index.put_fabric(FabricFacts("F", FabricKind.BIND, zoned=True))
        self.states: dict[str, tuple[str | None, str | None]] = {}
        self.elsewhere: set[BindTarget] = set()

    # -- what there is -------------------------------------------------------------------------

    def host(
        self,
        name: str,
        *switches: str,
        cores: int = 64,
        memory: int = 512 * GIB,
        vppbs: int = 16,
        latency: int | None = 100,
        mb_s: int | None = X16_MB_S,
        model: str = "",
    ) -> "Pod":
        """A host with a port on each of the switches."""
        self.index.put_endpoint(Endpoint(f"I-{name}", "F", Role.INITIATOR, host=name))
        for switch in switches:
            self.way(name, switch, vppbs=vppbs, latency=latency, mb_s=mb_s)
        types = frozenset({BlockType.COMPUTE})
        block = Block(f"b-{name}", types, name, kind="Host", model=model, capacity_mib=memory)
        self.index.put_block(_with_cores(block, cores))
        return self

    def way(
        self,
        host: str,
        switch: str,
        *,
        through: str | None = None,
        vppbs: int = 16,
        latency: int | None = 100,
        mb_s: int | None = X16_MB_S,
        link: str | None = None,
    ) -> "Pod":
        """A way of the host to one switch; `through` the switch that it is chained to."""
        near = self.index.vcss.get((through or "", f"V-{host}"))
        hops = 1 if through is None else 2 if near is None else near.hops + 1
        fact = VcsFact(
            "F",
            switch,
            f"V-{host}",
            host,
            vppbs,
            hops,
            latency_ns=latency,
            bandwidth_mb_s=mb_s,
            through=through,
            link=link,
        )
        self.index.put_vcs(fact)
        return self

    def devices(
        self,
        switch: str,
        *names: str,
        kind: str = "GPU",
        model: str = "A",
        capacity: int = 80 * GIB,
        latency: int | None = 0,
        mb_s: int | None = X16_MB_S,
        domain: str | None = None,
        manufacturer: str = "",
    ) -> "Pod":
        """Devices behind one switch, all alike."""
        for name in names:
            put_target(
                self.index,
                Unit(name, "F", Binder.ZONE, target=BindTarget(switch, name)),
                f"T-{name}",
            )
            self.index.put_block(
                Block(
                    f"b-{name}",
                    frozenset({BlockType.PROCESSOR}),
                    units=frozenset({name}),
                    kind=kind,
                    model=model,
                    manufacturer=manufacturer,
                    capacity_mib=capacity,
                    switches=(("F", switch),),
                    domain=domain,
                    latency_ns=latency,
                    bandwidth_mb_s=mb_s,
                )
            )
        return self

    def appliance(
        self,
        switch: str,
        name: str,
        pool: int = 0,
        *,
        step: int = GIB,
        parts: int = 8,
        fixed: Sequence[int] = (),
        latency: int = 100,
        domain: str | None = None,
    ) -> "Pod":
        """A memory appliance: a pool of LDs, or LDs that are there already."""
        index = self.index
        index.put_unit(Unit(name, "F", Binder.NOTHING, exclusive=False))
        pools = []
        for ld in range(parts if pool else 0):
            self._ld(name, ld, switch)
        if pool:
            numbers = tuple(range(parts))
            index.put_pool(
                CapacityPool(
                    f"{name}/1", "F", PartKind.LD, pool, step, numbers, PortId(switch, name)
                )
            )
            index.put_domain(MemoryDomain(f"{name}/1", pool, step, True, f"{name}/1"))
            pools.append(f"{name}/1")
        for ld, size in enumerate(fixed, 32):
            self._ld(name, ld, switch)
            domain_id = f"{name}/f{ld - 32}"
            index.put_domain(MemoryDomain(domain_id, size))
            index.put_chunk(Chunk(f"{domain_id}/c", f"{name}.{ld}", 0, size, domain=domain_id))
            pools.append(domain_id)
        self._shared(name, switch, pools, pool + sum(fixed), latency, domain)
        return self

    def dynamic(
        self, switch: str, name: str, pool: int, *, lds: int = 2, regions: int = 2
    ) -> "Pod":
        """An appliance of dynamic capacity: regions in its LDs."""
        self.index.put_unit(Unit(name, "F", Binder.NOTHING, exclusive=False))
        for ld in range(lds):
            target = BindTarget(switch, name, ld)
            self.index.put_unit(Unit(f"{name}.{ld}", "F", Binder.NOTHING, False, target, name))
        numbers = tuple(range(regions))
        port = PortId(switch, name)
        self.index.put_pool(CapacityPool(name, "F", PartKind.REGION, pool, GIB, numbers, port))
        self._shared(name, switch, [name], pool, 100, None)
        return self

    def _ld(self, name: str, ld: int, switch: str) -> None:
        target = BindTarget(switch, name, ld)
        put_target(self.index, Unit(f"{name}.{ld}", "F", Binder.CONNECTION, True, target, name))

    def _shared(
        self,
        name: str,
        switch: str,
        pools: Sequence[str],
        capacity: int,
        latency: int,
        domain: str | None,
    ) -> None:
        self.index.put_block(
            Block(
                f"b-{name}",
                frozenset({BlockType.MEMORY}),
                units=frozenset({name}),
                pools=frozenset(pools),
                sharing=True,
                compositions_max=None,
                kind="Memory",
                capacity_mib=capacity,
                switches=(("F", switch),),
                domain=domain,
                latency_ns=latency,
            )
        )

    # -- what happens to it ----------------------------------------------------------------------

    def composed(self, system: str, host: str, *names: str, expands: bool = False) -> "Pod":
        """A system made of the devices (and of the host's block, unless it is expanded)."""
        blocks = tuple(f"b-{name}" for name in names)
        blocks = blocks if expands else (f"b-{host}", *blocks)
        self.index.put_composition(Composition(system, host, blocks, expands=expands))
        return self

    def put_together(self, id_: str, *names: str) -> "Pod":
        """A block that a client made of devices."""
        blocks = tuple(f"b-{name}" for name in names)
        units = frozenset().union(*(self.index.blocks[block].units for block in blocks))
        types = frozenset({BlockType.PROCESSOR})
        self.index.put_block(Block(f"b-{id_}", types, units=units, supplying=blocks))
        return self

    def reserved(self, id_: str, *names: str, until: float = 100.0) -> "Pod":
        """A reservation of blocks."""
        self.index.put_reservation(Reservation(id_, tuple(f"b-{name}" for name in names), until))
        return self

    def zoned(self, id_: str, *endpoints: str) -> "Pod":
        """A zone that somebody made by hand."""
        self.index.put_zone(zone(id_, *endpoints))
        return self

    def carved(self, appliance: str, number: int, size: int) -> "Pod":
        """A chunk in the pool of an appliance."""
        unit = f"{appliance}.{number}"
        target = self.index.units[unit].target
        assert target is not None
        made = Allocation("F", target, size, f"c-{unit}")
        domain = f"{appliance}/1"
        self.index.put_chunk(Chunk(f"c-{unit}", unit, 0, size, domain=domain, allocation=made))
        return self

    def region(self, appliance: str, ld: int, number: int, size: int) -> "Pod":
        """A region in an LD of dynamic capacity."""
        unit = f"{appliance}.{ld}"
        made = Region(f"r-{unit}-{number}", unit, appliance, number, size)
        self.index.put_region(made)
        return self

    def bound(self, host: str, switch: str, count: int = 1) -> "Pod":
        """So many vPPBs of a host in use, for something that is not part of this."""
        for number in range(count):
            vppb = VppbId(switch, f"V-{host}", number)
            target = BindTarget(switch, f"else-{number}")
            made = Binding("F", f"else-{host}-{number}", host, vppb, target, frozenset({"z"}))
            self.index.put_binding(made)
        return self

    def lost(self, *names: str) -> "Pod":
        """Devices that are not there any more."""
        self.states |= {f"T-{name}": ("Absent", None) for name in names}
        return self

    def bound_elsewhere(self, *names: str) -> "Pod":
        """Devices that another manager has bound."""
        targets = (self.index.units[name].target for name in names)
        self.elsewhere |= {target for target in targets if target is not None}
        return self

    # -- questions -------------------------------------------------------------------------------

    def status(self, endpoint: str) -> tuple[str | None, str | None]:
        """Return what is observed: everything feels well unless it was lost."""
        return self.states.get(endpoint, ("Enabled", "OK"))

    def ask(self, *wishes: Wish | MemoryWish, now_s: float = 50.0, **more: object) -> object:
        """Place wishes; return the Placement or the Rejections."""
        devices = tuple(wish for wish in wishes if isinstance(wish, Wish))
        memory = tuple(wish for wish in wishes if isinstance(wish, MemoryWish))
        request = Request(devices=devices, memory=memory, **more)  # type: ignore[arg-type]
        return place(self.index, request, now_s=now_s, status=self.status, elsewhere=self.elsewhere)

    def placed(self, *wishes: Wish | MemoryWish, **more: object) -> Placement:
        """Place wishes that can be met."""
        found = self.ask(*wishes, **more)  # type: ignore[arg-type]
        assert isinstance(found, Placement), found
        return found

    def refused(self, *wishes: Wish | MemoryWish, **more: object) -> Rejections:
        """Place wishes that can not be met."""
        found = self.ask(*wishes, **more)  # type: ignore[arg-type]
        assert isinstance(found, Rejections), found
        return found


def chosen(found: Placement) -> list[str]:
    """Return the names of the devices and appliances of a placement, in order."""
    return [block.removeprefix("b-") for block in found.blocks]


def told(found: Rejections) -> list[tuple[str, int | None, int | None]]:
    """Return reason, requested and available of each unmet wish."""
    return [(row.reason.name, row.requested, row.available) for row in found.unmet]


def reasons(found: Rejections) -> Mapping[str, str]:
    """Return candidate -> the reason why it was rejected."""
    return {row.candidate: row.reason.name for row in found.candidates}


def _with_cores(block: Block, cores: int) -> Block:
    return Block(
        block.id,
        block.types,
        block.host,
        kind=block.kind,
        model=block.model,
        capacity_mib=block.capacity_mib,
        core_count=cores,
    )
