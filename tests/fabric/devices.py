"""Devices that are more than one unit, put into an index of `a_fabric` as inventory would.

Every function adds one device behind switch SW and returns the index; parts are made by `a_chunk`,
`a_region` and `a_volume` as the service makes them, with the lowest free number.
"""

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, PartKind, PortId
from redfish_fm.fabric.values import (
    Access,
    Allocation,
    Binder,
    CapacityPool,
    Chunk,
    ChunkGrant,
    Connection,
    MemoryDomain,
    Region,
    RegionGrant,
    Unit,
    Volume,
    VolumeGrant,
)
from tests.fabric.builders import BOTH_WAYS, put_target


def pooled_mld(index: FabricIndex, name: str = "P", lds: int = 4, fabric: str = "F") -> FabricIndex:
    """An MLD of 4 GiB whose LDs are carved in 256 MiB: domain `dom-P`, pool `pool-P`."""
    index.put_unit(Unit(name, fabric, Binder.NOTHING, exclusive=False))
    for ld in range(lds):
        target = BindTarget("SW", name, ld)
        put_target(index, Unit(f"{name}.{ld}", fabric, Binder.CONNECTION, True, target, name))
    _pool(index, name, PartKind.LD, tuple(range(lds)), fabric)
    index.put_domain(MemoryDomain(f"dom-{name}", 4096, 256, carvable=True, pool=f"pool-{name}"))
    return index


def dynamic_ld(index: FabricIndex, name: str = "Y", fabric: str = "F") -> FabricIndex:
    """An MLD with one dynamic LD, `Y.0`; its regions 0-3 come from `pool-Y` (4 GiB)."""
    index.put_unit(Unit(name, fabric, Binder.NOTHING, exclusive=False))
    target = BindTarget("SW", name, 0)
    put_target(index, Unit(f"{name}.0", fabric, Binder.NOTHING, False, target, name))
    _pool(index, name, PartKind.REGION, (0, 1, 2, 3), fabric)
    return index


def subsystem(index: FabricIndex, name: str = "N", fabric: str = "F") -> FabricIndex:
    """An NVMe subsystem whose namespaces 1-4 come from `pool-N` (4 GiB)."""
    target = BindTarget(name, name)
    put_target(index, Unit(name, fabric, Binder.NOTHING, exclusive=False, target=target))
    index.put_pool(
        CapacityPool(
            f"pool-{name}", fabric, PartKind.NAMESPACE, 4096, 256, (1, 2, 3, 4), PortId(name, name)
        )
    )
    return index


def _pool(
    index: FabricIndex, name: str, kind: PartKind, parts: tuple[int, ...], fabric: str
) -> None:
    pool = CapacityPool(f"pool-{name}", fabric, kind, 4096, 256, parts, PortId("SW", name))
    index.put_pool(pool)


def shared_nic(index: FabricIndex, heads: int = 2) -> FabricIndex:
    """A multi-host NIC: units `NIC.1`, `NIC.2`, each with a port of its own."""
    index.put_unit(Unit("NIC", "F", Binder.NOTHING, exclusive=False))
    for head in range(1, heads + 1):
        target = BindTarget("SW", f"NIC{head}")
        put_target(index, Unit(f"NIC.{head}", "F", Binder.ZONE, True, target, "NIC"))
    return index


def dual_ported(index: FabricIndex) -> FabricIndex:
    """A dual-ported NVMe drive: one exclusiveness, units `W` (port A) and `W.b` within it."""
    put_target(index, Unit("W", "F", Binder.ZONE, target=BindTarget("SW", "WA")))
    target = BindTarget("SW", "WB")
    put_target(index, Unit("W.b", "F", Binder.ZONE, target=target, within="W"))
    return index


def functions(index: FabricIndex) -> FabricIndex:
    """A device bound by function: physical ones `G.0` and `G.1`, virtual `G.2`, `G.3` of `G.0`."""
    index.put_unit(Unit("G", "F", Binder.NOTHING, exclusive=False))
    for number, within in ((0, "G"), (1, "G"), (2, "G.0"), (3, "G.0")):
        target = BindTarget("SW", "G", function=number)
        put_target(index, Unit(f"G.{number}", "F", Binder.ZONE, True, target, within))
    return index


def by_address(index: FabricIndex, unit: str = "D1") -> FabricIndex:
    """A domain of 4 GiB, `dom`, whose chunks are cut out of one unit by address."""
    index.put_domain(MemoryDomain("dom", 4096, 256, carvable=True))
    index.put_chunk(Chunk("first", unit, 0, 512, domain="dom"))
    index.put_chunk(Chunk("second", unit, 1024, 1024, domain="dom"))
    return index


def a_chunk(index: FabricIndex, id_: str, size: int, name: str = "P") -> Chunk:
    """Return a chunk of a pooled MLD, in the lowest free LD."""
    number = index.free_part(f"pool-{name}", ())
    target = None if number is None else index.part_target(f"pool-{name}", number)
    made = None if target is None else Allocation("F", target, size, id_)
    unit = f"{name}.{number or 0}"
    return Chunk(id_, unit, None, size, domain=f"dom-{name}", allocation=made)


def a_region(
    index: FabricIndex, id_: str, size: int = 256, *, shareable: bool = False, name: str = "Y"
) -> Region:
    """Return a region of a dynamic LD, with the lowest free number."""
    ld, pool = f"{name}.0", f"pool-{name}"
    number = index.free_part(pool, (), ld)
    target = None if number is None else index.part_target(pool, number, ld)
    made = None if target is None else Allocation("F", target, size, id_, shareable)
    found = -1 if number is None else number
    return Region(id_, ld, pool, found, size, shareable=shareable, allocation=made)


def a_volume(
    index: FabricIndex, id_: str, size: int = 256, *, shareable: bool = False, name: str = "N"
) -> Volume:
    """Return a namespace of a subsystem, with the lowest free number."""
    pool = f"pool-{name}"
    number = index.free_part(pool, ())
    target = None if number is None else index.part_target(pool, number)
    fabric = index.units[name].fabric
    made = None if target is None else Allocation(fabric, target, size, id_, shareable)
    return Volume(id_, name, pool, size, shareable, number, allocation=made)


def granting(
    id_: str,
    initiators: tuple[str, ...] = (),
    targets: tuple[str, ...] = (),
    *,
    chunks: tuple[str, ...] = (),
    regions: tuple[str, ...] = (),
    volumes: tuple[str, ...] = (),
    luns: tuple[int | None, ...] = (),
    access: frozenset[Access] = BOTH_WAYS,
    from_groups: tuple[str, ...] = (),
    to_groups: tuple[str, ...] = (),
) -> Connection:
    """Return a connection of fabric F that names whatever is given."""
    numbers = (*luns, *([None] * (len(volumes) - len(luns))))
    return Connection(
        id_,
        "F",
        initiators,
        targets,
        tuple(ChunkGrant(chunk, access) for chunk in chunks),
        tuple(RegionGrant(region, access) for region in regions),
        tuple(
            VolumeGrant(volume, access, lun) for volume, lun in zip(volumes, numbers, strict=True)
        ),
        from_groups,
        to_groups,
    )
