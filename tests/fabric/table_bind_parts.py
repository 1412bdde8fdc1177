"""What a `bind` fabric refuses of memory cut into parts: chunks, dynamic LDs, regions."""

from dataclasses import replace

from redfish_fm.fabric import zoning
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import (
    Access,
    Chunk,
    MemoryDomain,
    Region,
    Rule,
    Violation,
    Zone,
    ZoneType,
)
from tests.fabric.builders import a_fabric, connection, put_target, zone
from tests.fabric.devices import (
    a_chunk,
    a_region,
    by_address,
    dynamic_ld,
    granting,
    pooled_mld,
)
from tests.fabric.scenario import Table, post

PARTS = Table("bind, parts")


def _make(index: FabricIndex, chunk: Chunk) -> list[Violation]:
    return zoning.check_chunk(index, chunk, None)


def _region(index: FabricIndex, region: Region) -> list[Violation]:
    return zoning.check_region(index, region, None)


# -- chunks cut out by address ------------------------------------------------------------------


def _cut(offset: int | None, size: int) -> list[Violation]:
    """Into 0-512 taken, 512-1024 free, 1024-2048 taken, 2048-4096 free."""
    return _make(by_address(a_fabric()), Chunk("new", "D1", offset, size, domain="dom"))


@PARTS.legal
def a_chunk_between_two_others() -> list[Violation]:
    return _cut(512, 512)


@PARTS.illegal(Rule.PART_OVERLAP)
def a_chunk_that_reaches_into_the_next() -> list[Violation]:
    return _cut(512, 768)


@PARTS.illegal(Rule.PART_OVERLAP)
def a_chunk_around_another() -> list[Violation]:
    return _cut(0, 4096)


@PARTS.legal
def a_chunk_that_ends_with_its_domain() -> list[Violation]:
    return _cut(2048, 2048)


@PARTS.illegal(Rule.PART_RANGE)
def a_chunk_that_ends_behind_its_domain() -> list[Violation]:
    return _cut(3840, 512)


@PARTS.illegal(Rule.PART_RANGE)
def a_chunk_that_begins_before_its_domain() -> list[Violation]:
    return _cut(-256, 256)


@PARTS.illegal(Rule.PART_RANGE)
def a_chunk_at_an_odd_offset() -> list[Violation]:
    return _cut(600, 256)


@PARTS.illegal(Rule.PART_RANGE)
def a_chunk_bigger_than_its_domain() -> list[Violation]:
    return _cut(None, 8192)


@PARTS.illegal(Rule.PART_SIZE)
def a_chunk_of_an_odd_size() -> list[Violation]:
    return _cut(512, 300)


@PARTS.illegal(Rule.PART_SIZE)
def a_chunk_of_nothing() -> list[Violation]:
    return _cut(512, 0)


@PARTS.legal
def a_chunk_wherever_it_fits() -> list[Violation]:
    return _cut(None, 2048)


@PARTS.illegal(Rule.POOL_EXHAUSTED)
def a_chunk_for_which_no_gap_is_big_enough() -> list[Violation]:
    """2560 MiB are free, but not in one piece."""
    return _cut(None, 2304)


@PARTS.illegal(Rule.NOT_CARVABLE)
def a_chunk_of_a_domain_that_is_not_cut() -> list[Violation]:
    index = a_fabric()
    index.put_domain(MemoryDomain("fixed", 4096))
    return _make(index, Chunk("new", "D1", 0, 256, domain="fixed"))


@PARTS.illegal(Rule.NOT_CARVABLE)
def a_chunk_of_an_unknown_domain() -> list[Violation]:
    return _make(a_fabric(), Chunk("new", "D1", 0, 256, domain="none"))


@PARTS.illegal(Rule.NOT_CARVABLE)
def a_chunk_of_a_pool_that_nobody_can_allocate_from() -> list[Violation]:
    index = pooled_mld(a_fabric())
    index.put_pool(replace(index.pools["pool-P"], port=None))
    return _make(index, Chunk("new", "P.0", None, 256, domain="dom-P"))


# -- chunks of a pool ---------------------------------------------------------------------------


@PARTS.legal
def a_chunk_of_a_pool_that_has_room() -> list[Violation]:
    index = pooled_mld(a_fabric())
    index.put_chunk(a_chunk(index, "c1", 2048))
    return _make(index, a_chunk(index, "new", 2048))


@PARTS.illegal(Rule.POOL_EXHAUSTED)
def a_chunk_of_a_pool_that_has_less() -> list[Violation]:
    index = pooled_mld(a_fabric())
    index.put_chunk(a_chunk(index, "c1", 2048))
    return _make(index, a_chunk(index, "new", 2304))


@PARTS.illegal(Rule.POOL_EXHAUSTED)
def a_chunk_for_which_no_ld_is_left() -> list[Violation]:
    index = pooled_mld(a_fabric(), lds=1)
    index.put_chunk(a_chunk(index, "c1", 256))
    return _make(index, a_chunk(index, "new", 256))


@PARTS.illegal(Rule.PART_OVERLAP)
def a_chunk_in_an_ld_that_another_has() -> list[Violation]:
    index = pooled_mld(a_fabric())
    made = a_chunk(index, "new", 256)
    index.put_chunk(a_chunk(index, "c1", 256))
    return _make(index, made)


@PARTS.illegal(Rule.PART_RANGE)
def a_chunk_in_an_ld_that_the_device_does_not_have() -> list[Violation]:
    index = pooled_mld(a_fabric())
    made = a_chunk(index, "new", 256)
    assert made.allocation is not None
    target = replace(made.allocation.target, ld=9)
    return _make(index, replace(made, allocation=replace(made.allocation, target=target)))


# -- who has a chunk ----------------------------------------------------------------------------


def _carved() -> FabricIndex:
    """Chunk c is host 1's, in an LD of a pool; zone z1 holds it."""
    index = pooled_mld(a_fabric())
    index.put_chunk(a_chunk(index, "c", 1024))
    index.put_zone(zone("z1", "I1", "T-P.0"))
    index.put_connection(connection("k1", "I1", "T-P.0", "c"))
    return index


@PARTS.illegal(Rule.PART_IN_USE)
def deleting_a_granted_chunk() -> list[Violation]:
    return zoning.check_chunk_removal(_carved(), "c")


@PARTS.legal
def deleting_a_chunk_that_nobody_has() -> list[Violation]:
    index = _carved()
    index.remove_connection("k1")
    return zoning.check_chunk_removal(index, "c")


@PARTS.illegal(Rule.PART_IN_USE)
def resizing_a_granted_chunk() -> list[Violation]:
    index = _carved()
    held = index.chunks["c"]
    return zoning.check_chunk(index, replace(held, size_mib=512), held)


@PARTS.legal
def a_chunk_in_another_ld_for_another_host() -> list[Violation]:
    index = _carved()
    index.put_chunk(a_chunk(index, "d", 1024))
    index.put_zone(zone("z2", "I2", "T-P.1"))
    return post(index, connection("k2", "I2", "T-P.1", "d"))


def _shareable_memory() -> FabricIndex:
    """Memory that all hosts are told to share, with one chunk that host 1 has."""
    index = a_fabric()
    index.put_unit(replace(index.units["D1"], exclusive=False))
    index.put_chunk(Chunk("c", "D1", 0, 256))
    index.put_zone(zone("z1", "I1", "I2", "T-D1"))
    index.put_connection(connection("k1", "I1", "T-D1", "c"))
    return index


@PARTS.illegal(Rule.SHARING_NEEDS_REGION)
def one_chunk_for_two_hosts_by_two_connections() -> list[Violation]:
    return post(_shareable_memory(), connection("k2", "I2", "T-D1", "c"))


@PARTS.illegal(Rule.SHARING_NEEDS_REGION)
def one_chunk_for_two_hosts_by_one_connection() -> list[Violation]:
    index = _shareable_memory()
    index.remove_connection("k1")
    return post(index, connection("k2", ("I1", "I2"), "T-D1", "c"))


@PARTS.legal
def one_chunk_for_one_host_by_two_connections() -> list[Violation]:
    return post(_shareable_memory(), connection("k2", "I1", "T-D1", "c"))


# -- regions of a dynamic LD --------------------------------------------------------------------


def _regions(*shareable: bool) -> FabricIndex:
    """Regions r0, r1 … in a dynamic LD that hosts 1 and 2 are zoned with, each in its own zone."""
    index = dynamic_ld(a_fabric(hosts=3))
    for number, each in enumerate(shareable):
        index.put_region(a_region(index, f"r{number}", shareable=each))
    return index


def _zoned_twice(*shareable: bool) -> FabricIndex:
    index = _regions(*shareable)
    index.put_zone(zone("z1", "I1", "T-Y.0"))
    index.put_zone(zone("z2", "I2", "T-Y.0"))
    index.put_connection(granting("k1", ("I1",), ("T-Y.0",), regions=("r0",)))
    return index


@PARTS.legal
def a_shareable_region_for_a_second_host() -> list[Violation]:
    return post(_zoned_twice(True), granting("k2", ("I2",), ("T-Y.0",), regions=("r0",)))


@PARTS.legal
def a_shareable_region_read_only_for_the_second_host() -> list[Violation]:
    read = frozenset({Access.READ})
    wanted = granting("k2", ("I2",), ("T-Y.0",), regions=("r0",), access=read)
    return post(_zoned_twice(True), wanted)


@PARTS.legal
def a_shareable_region_for_two_hosts_in_one_connection() -> list[Violation]:
    index = _regions(True)
    index.put_zone(zone("z1", "I1", "I2", "T-Y.0"))
    return post(index, granting("k1", ("I1", "I2"), ("T-Y.0",), regions=("r0",)))


@PARTS.illegal(Rule.HOST_SHARING)
def an_exclusive_region_for_a_second_host() -> list[Violation]:
    index = _regions(False)
    index.put_fabric(replace(index.fabrics["F"], zoned=False))
    index.put_connection(granting("k1", ("I1",), ("T-Y.0",), regions=("r0",)))
    return post(index, granting("k2", ("I2",), ("T-Y.0",), regions=("r0",)))


@PARTS.illegal(Rule.HOST_SHARING)
def an_ld_with_an_exclusive_region_in_the_zone_of_a_second_host() -> list[Violation]:
    index = _regions(True, False)
    index.put_zone(zone("z1", "I1", "T-Y.0"))
    return post(index, zone("z2", "I2", "T-Y.0"))


@PARTS.legal
def an_ld_with_shareable_regions_in_the_zone_of_a_second_host() -> list[Violation]:
    index = _regions(True, True)
    index.put_zone(zone("z1", "I1", "T-Y.0"))
    return post(index, zone("z2", "I2", "T-Y.0"))


@PARTS.illegal(Rule.HOST_SHARING)
def an_exclusive_region_in_an_ld_that_two_hosts_reach() -> list[Violation]:
    index = _zoned_twice(True)
    return _region(index, a_region(index, "new"))


@PARTS.legal
def a_shareable_region_in_an_ld_that_two_hosts_reach() -> list[Violation]:
    index = _zoned_twice(True)
    return _region(index, a_region(index, "new", shareable=True))


@PARTS.legal
def an_exclusive_region_in_an_ld_of_one_host() -> list[Violation]:
    index = _regions(True)
    index.put_zone(zone("z1", "I1", "T-Y.0"))
    return _region(index, a_region(index, "new"))


@PARTS.illegal(Rule.DEFAULT_ROUTING)
def an_exclusive_region_in_an_ld_of_a_routing_default_zone() -> list[Violation]:
    index = _regions(True)
    index.put_zone(Zone("default", "F", ZoneType.DEFAULT, ("I1", "T-Y.0"), (), True))
    return _region(index, a_region(index, "new"))


@PARTS.legal
def a_shareable_region_in_an_ld_of_a_routing_default_zone() -> list[Violation]:
    index = _regions(True)
    index.put_zone(Zone("default", "F", ZoneType.DEFAULT, ("I1", "I2", "T-Y.0"), (), True))
    return _region(index, a_region(index, "new", shareable=True))


@PARTS.illegal(Rule.CONNECTION_CHUNK_MISSING)
def a_dynamic_ld_without_naming_a_region() -> list[Violation]:
    index = _regions(True)
    index.put_zone(zone("z1", "I1", "T-Y.0"))
    return post(index, granting("k1", ("I1",), ("T-Y.0",)))


@PARTS.illegal(Rule.CONNECTION_CHUNK_MISSING)
def a_whole_mld_without_naming_a_chunk() -> list[Violation]:
    index = a_fabric()
    put_target(index, index.units["M1"])
    index.put_zone(zone("z1", "I1", "T-M1"))
    return post(index, granting("k1", ("I1",), ("T-M1",)))


@PARTS.illegal(Rule.CONNECTION_REGION_FOREIGN, Rule.CONNECTION_CHUNK_MISSING)
def a_region_of_another_ld() -> list[Violation]:
    index = dynamic_ld(_regions(True), "X")
    index.put_zone(zone("z1", "I1", "T-X.0"))
    return post(index, granting("k1", ("I1",), ("T-X.0",), regions=("r0",)))


@PARTS.illegal(Rule.CONNECTION_REGION_FOREIGN)
def a_region_of_its_own_ld_and_one_of_another() -> list[Violation]:
    index = dynamic_ld(_regions(True), "X")
    index.put_region(a_region(index, "x0", name="X"))
    index.put_zone(zone("z1", "I1", "T-X.0"))
    return post(index, granting("k1", ("I1",), ("T-X.0",), regions=("x0", "r0")))


@PARTS.illegal(Rule.UNKNOWN_MEMBER)
def a_region_that_does_not_exist() -> list[Violation]:
    index = _regions(True)
    index.put_zone(zone("z1", "I1", "T-Y.0"))
    return post(index, granting("k1", ("I1",), ("T-Y.0",), regions=("none",)))


@PARTS.illegal(Rule.CONNECTION_ACCESS)
def more_access_than_the_region_has() -> list[Violation]:
    index = _regions(True)
    index.put_region(replace(index.regions["r0"], access=frozenset({Access.READ})))
    index.put_zone(zone("z1", "I1", "T-Y.0"))
    return post(index, granting("k1", ("I1",), ("T-Y.0",), regions=("r0",)))


@PARTS.illegal(Rule.POOL_EXHAUSTED)
def a_region_bigger_than_what_is_left() -> list[Violation]:
    index = _regions(True)
    return _region(index, a_region(index, "new", 4096))


@PARTS.illegal(Rule.POOL_EXHAUSTED)
def a_fifth_of_four_regions() -> list[Violation]:
    index = _regions(True, True, True, True)
    return _region(index, a_region(index, "new"))


@PARTS.illegal(Rule.PART_SIZE)
def a_region_that_is_no_multiple_of_its_blocks() -> list[Violation]:
    index = _regions()
    return _region(index, replace(a_region(index, "new", 256), block_mib=512))


@PARTS.illegal(Rule.PART_OVERLAP)
def a_region_with_the_number_of_another() -> list[Violation]:
    index = _regions()
    made = a_region(index, "new")
    index.put_region(a_region(index, "r0"))
    return _region(index, made)


@PARTS.illegal(Rule.NOT_CARVABLE)
def a_region_of_an_ld_without_a_pool() -> list[Violation]:
    return _region(a_fabric(), Region("new", "M1.0", "none", 0, 256))


@PARTS.illegal(Rule.PART_IN_USE)
def deleting_a_granted_region() -> list[Violation]:
    return zoning.check_region_removal(_zoned_twice(True), "r0")


@PARTS.legal
def deleting_a_region_that_nobody_has() -> list[Violation]:
    return zoning.check_region_removal(_zoned_twice(True, True), "r1")


@PARTS.illegal(Rule.HOST_SHARING, Rule.PART_IN_USE)
def a_region_of_two_hosts_that_stops_being_shareable() -> list[Violation]:
    index = _zoned_twice(True)
    held = index.regions["r0"]
    return zoning.check_region(index, replace(held, shareable=False), held)
