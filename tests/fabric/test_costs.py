"""What a creation costs, its rules included, is the size of the change and not of the fabric."""

from collections.abc import Callable

import pytest

from redfish_fm.fabric import zoning
from redfish_fm.fabric.accounting import free_offset
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import Chunk, Connection, EndpointGroup, VppbGrant, Zone
from tests.fabric.builders import a_fabric, connection, vppb, zone
from tests.fabric.devices import (
    a_chunk,
    a_region,
    a_volume,
    by_address,
    dynamic_ld,
    granting,
    pooled_mld,
    subsystem,
)
from tests.fabric.scenario import known


def a_busy_fabric(endpoints: int, kind: FabricKind) -> FabricIndex:
    """As many devices as asked for, a quarter of them zoned and connected."""
    index = a_fabric(hosts=4, slds=endpoints, vppbs=4, kind=kind)
    for number in range(4, endpoints + 1, 4):
        host = f"I{1 + number % 4}"
        index.put_zone(zone(f"z{number}", host, f"T-D{number}", "S"))
        index.put_connection(connection(f"c{number}", host, f"T-D{number}"))
    for add in (pooled_mld, dynamic_ld, subsystem, by_address):
        add(index)
    index.put_group(EndpointGroup("g", "F", ("I1",)))
    return index


def _zone(index: FabricIndex, item: Zone) -> None:
    assert zoning.check_zone(index, item, None, known) == []
    index.put_zone(item)


def _connection(index: FabricIndex, item: Connection) -> None:
    assert zoning.check_connection(index, item, None, known) == []
    index.put_connection(item)


def _chunk(index: FabricIndex, chunk: Chunk) -> None:
    assert zoning.check_chunk(index, chunk, None) == []
    index.put_chunk(chunk)


def _region(index: FabricIndex) -> None:
    region = a_region(index, "r", shareable=True)
    assert zoning.check_region(index, region, None) == []
    index.put_region(region)


def _volume(index: FabricIndex) -> None:
    volume = a_volume(index, "v")
    assert zoning.check_volume(index, volume, None) == []
    index.put_volume(volume)


def _group(index: FabricIndex) -> None:
    group = EndpointGroup("g", "F", ())
    assert zoning.check_group(index, group, index.groups["g"], known) == []
    index.put_group(group)


def _vppb(index: FabricIndex) -> None:
    assert zoning.check_vppb(index, vppb(1), "D3", "H1", holder="v1") == []
    index.put_vppb_grant(VppbGrant("v1", "F", vppb(1), "D3", "H1"))


COMMON: dict[str, Callable[[FabricIndex], None]] = {
    "chunk of a pool": lambda index: _chunk(index, a_chunk(index, "pc", 256)),
    "chunk by address": lambda index: _chunk(
        index, Chunk("ac", "D1", free_offset(index, "dom", 256), 256, domain="dom")
    ),
    "region": _region,
    "volume": _volume,
    "zone": lambda index: _zone(index, zone("new", "I1", "T-D1", "T-P.0", "T-Y.0", "T-N", "S")),
    "connection to a chunk": lambda index: _connection(
        index, granting("k1", ("I1",), ("T-P.0",), chunks=("pc",))
    ),
    "connection to a region": lambda index: _connection(
        index, granting("k2", ("I1",), ("T-Y.0",), regions=("r",))
    ),
    "connection to a volume": lambda index: _connection(
        index, granting("k3", ("I1",), volumes=("v",))
    ),
    "connection of a group": lambda index: _connection(
        index, granting("k4", targets=("T-P.0",), chunks=("pc",), from_groups=("g",))
    ),
    "group edit": _group,
}
BY_HAND: dict[str, Callable[[FabricIndex], None]] = {**COMMON, "vppb": _vppb}


def costs(endpoints: int, kind: FabricKind) -> dict[str, int]:
    """Return the work of each creation, one after the other."""
    index = a_busy_fabric(endpoints, kind)
    found = {}
    for name, create in (BY_HAND if kind is FabricKind.BIND else COMMON).items():
        before = index.work
        create(index)
        found[name] = index.work - before
    return found


@pytest.mark.parametrize("kind", [FabricKind.BIND, FabricKind.CONNECTION_GRANTS])
def test_every_creation_costs_the_same_at_any_size(kind: FabricKind) -> None:
    small, big = costs(1_000, kind), costs(8_000, kind)
    assert small == big
    assert min(small.values()) > 0


@pytest.mark.soak
@pytest.mark.parametrize("kind", [FabricKind.BIND, FabricKind.CONNECTION_GRANTS])
def test_every_creation_costs_the_same_at_100_000_endpoints(kind: FabricKind) -> None:
    assert costs(1_000, kind) == costs(100_000, kind)
