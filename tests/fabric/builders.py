"""Small fabrics for tests, by numbers instead of by hand.

Ids of `a_fabric`: fabric F; switch SW with one VCS V1… per host H1…, initiator endpoints I1…
(and I1.2… where a host has several); SLDs are units D1… with target endpoints T-D1…; an MLD is
unit M1 with LD units M1.0…, target endpoints T-M1.0… and chunks C-M1.0…; S is the switch's own
(exempt) endpoint.
"""

from collections.abc import Iterable

from redfish_fm.fabric.index import FabricFacts, FabricIndex, VcsFact
from redfish_fm.fabric.model import (
    Attachment,
    BindTarget,
    Device,
    DeviceKind,
    FabricKind,
    Host,
    Inventory,
    Link,
    LogicalDevice,
    Observation,
    Port,
    PortId,
    PortRole,
    Switch,
    VirtualSwitch,
    VppbId,
)
from redfish_fm.fabric.values import (
    Access,
    Binder,
    Binding,
    Chunk,
    ChunkGrant,
    Connection,
    Endpoint,
    Role,
    Unit,
    Zone,
    ZoneType,
)

BOTH_WAYS = frozenset({Access.READ, Access.WRITE})


def a_fabric(
    hosts: int = 2,
    mlds: int = 1,
    lds: int = 4,
    slds: int = 1,
    *,
    initiators: int = 1,
    vppbs: int = 8,
    fabric: str = "F",
    prefix: str = "",
    kind: FabricKind = FabricKind.BIND,
    zoned: bool = True,
    max_zones: int | None = None,
    into: FabricIndex | None = None,
) -> FabricIndex:
    """Return an index of one switch's fabric; `prefix` keeps the ids of a second one apart."""
    index = into or FabricIndex()
    index.put_fabric(FabricFacts(fabric, kind, zoned, max_zones))
    index.put_endpoint(Endpoint(f"{prefix}S", fabric, Role.EXEMPT))
    for number in range(1, hosts + 1):
        _put_host(index, fabric, prefix, number, initiators, vppbs)
    bind = kind is FabricKind.BIND
    for number in range(1, slds + 1):
        binder = Binder.ZONE if bind else Binder.NOTHING
        target = BindTarget(f"{prefix}SW", f"D{number}")
        put_target(index, Unit(f"{prefix}D{number}", fabric, binder, target=target))
    for number in range(1, mlds + 1):
        _put_mld(index, fabric, prefix, number, lds, bind)
    return index


def _put_host(
    index: FabricIndex, fabric: str, prefix: str, number: int, initiators: int, vppbs: int
) -> None:
    host = f"{prefix}H{number}"
    index.put_vcs(VcsFact(fabric, f"{prefix}SW", f"V{number}", host, vppbs))
    for nth in range(1, initiators + 1):
        name = f"I{number}" if nth == 1 else f"I{number}.{nth}"
        ports = frozenset({f"{prefix}SW/U{number}.{nth}"})
        index.put_endpoint(
            Endpoint(f"{prefix}{name}", fabric, Role.INITIATOR, host=host, ports=ports)
        )


def _put_mld(
    index: FabricIndex, fabric: str, prefix: str, number: int, lds: int, bind: bool
) -> None:
    mld = f"{prefix}M{number}"
    index.put_unit(Unit(mld, fabric, Binder.NOTHING, target=BindTarget(f"{prefix}SW", mld)))
    for ld in range(lds):
        target = BindTarget(f"{prefix}SW", mld, ld)
        binder = Binder.CONNECTION if bind else Binder.NOTHING
        put_target(index, Unit(f"{mld}.{ld}", fabric, binder, target=target, within=mld))
        index.put_chunk(Chunk(f"{prefix}C-M{number}.{ld}", f"{mld}.{ld}", 0, 1024))


def put_target(index: FabricIndex, unit: Unit, endpoint: str | None = None) -> str:
    """Add a unit and an endpoint for it, named T-<unit> (after the prefix, if the unit has one)."""
    index.put_unit(unit)
    name = endpoint or target_of(unit.id)
    index.put_endpoint(Endpoint(name, unit.fabric, Role.TARGET, units=frozenset({unit.id})))
    return name


def target_of(unit: str) -> str:
    """Return the target endpoint's id of a unit of `a_fabric`."""
    prefix, _, name = unit.rpartition("/")
    return f"{prefix}/T-{name}" if prefix else f"T-{name}"


def zone(id_: str, *members: str, fabric: str = "F") -> Zone:
    """Return a zone of endpoints."""
    return Zone(id_, fabric, ZoneType.ENDPOINTS, members)


def connection(
    id_: str,
    initiators: Iterable[str] | str,
    targets: Iterable[str] | str,
    *chunks: str,
    access: frozenset[Access] = BOTH_WAYS,
    fabric: str = "F",
) -> Connection:
    """Return a connection; a single id may be given as a plain string."""
    return Connection(
        id_,
        fabric,
        (initiators,) if isinstance(initiators, str) else tuple(initiators),
        (targets,) if isinstance(targets, str) else tuple(targets),
        tuple(ChunkGrant(chunk, access) for chunk in chunks),
    )


def vppb(host: int, number: int = 0, switch: str = "SW") -> VppbId:
    """Return a vPPB of host H<host> of `a_fabric`."""
    return VppbId(switch, f"V{host}", number)


def binding(
    unit: str, host: int, number: int = 0, holder: str = "z", target: BindTarget | None = None
) -> Binding:
    """Return a binding of a unit of `a_fabric` ("D1", "M1.0") to a vPPB of H<host>."""
    port, _, ld = unit.partition(".")
    found = target or BindTarget("SW", port, int(ld) if ld else None)
    return Binding("F", unit, f"H{host}", vppb(host, number), found, frozenset({holder}))


def observation(
    *bindings: Binding,
    hosts: int = 2,
    vppbs: int = 8,
    unreachable: frozenset[str] = frozenset(),
) -> Observation:
    """Return a look at `a_fabric` that sees exactly these bindings; a dark switch shows none."""
    seen: dict[VppbId, BindTarget | None] = {
        vppb(host, number): None for host in range(1, hosts + 1) for number in range(vppbs)
    }
    seen.update({item.vppb: item.target for item in bindings})
    seen = {key: value for key, value in seen.items() if key.switch not in unreachable}
    return Observation("F", 0.0, 0.0, seen, unreachable=unreachable)


def an_inventory(hosts: int = 2, mlds: int = 1, lds: int = 4, slds: int = 1) -> Inventory:
    """Return the Inventory of the same fabric, for drivers and mapping."""
    names = [f"D{number}" for number in range(1, slds + 1)]
    names += [f"M{number}" for number in range(1, mlds + 1)]
    upstream = [f"H{number}" for number in range(1, hosts + 1)]
    link = Link(5, 8)
    ports = [
        Port(PortId("SW", f"U{host[1:]}"), PortRole.UPSTREAM, link, host=host, host_port=1)
        for host in upstream
    ]
    ports += [Port(PortId("SW", name), PortRole.DOWNSTREAM, link, device=name) for name in names]
    switches = tuple(
        VirtualSwitch(f"V{host[1:]}", "SW", f"U{host[1:]}", host, 8) for host in upstream
    )
    return Inventory(
        "F",
        "Fabric F",
        FabricKind.BIND,
        "CXL",
        (Switch("SW", "Switch", "CXL", "Model", "1", tuple(ports), switches),),
        tuple(_host(name) for name in upstream),
        tuple(_device(name, lds) for name in names),
    )


def _host(name: str) -> Host:
    uuid = f"00000000-0000-4000-8000-{int(name[1:]):012d}"
    return Host(name, f"Host {name}", uuid, 2, 64, 262144)


def _device(name: str, lds: int) -> Device:
    mld = name.startswith("M")
    return Device(
        name,
        f"Device {name}",
        DeviceKind.MEMORY,
        Attachment.MLD if mld else Attachment.SLD,
        "Model",
        "Maker",
        f"SN-{name}",
        Link(5, 8),
        1024 * lds if mld else 1024,
        tuple(LogicalDevice(number, 1024) for number in range(lds)) if mld else (),
    )
