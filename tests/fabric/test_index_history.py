"""The index equals one rebuilt from scratch, and says what a naive reading says, after any history.

Random puts and removes in any order, unknown names included.
"""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from redfish_fm.fabric.index import FabricFacts, FabricIndex, VcsFact
from redfish_fm.fabric.model import BindTarget, FabricKind, PartKind, PortId
from redfish_fm.fabric.values import (
    Allocation,
    Binder,
    CapacityPool,
    Chunk,
    ChunkGrant,
    Connection,
    Endpoint,
    EndpointGroup,
    MemoryDomain,
    Region,
    RegionGrant,
    Role,
    Unit,
    Volume,
    VolumeGrant,
    VppbGrant,
    Zone,
    ZoneType,
)
from tests.fabric.builders import binding, vppb
from tests.fabric.naive import hosts_of, rebuilt

ENDPOINTS = st.sampled_from([f"e{number}" for number in range(6)])
UNITS = st.sampled_from([f"u{number}" for number in range(5)])
HOLDERS = st.sampled_from(["h0", "h1", "h2"])
FABRICS = st.sampled_from(["F", "G"])
SOME_ENDPOINTS = st.lists(ENDPOINTS, max_size=5).map(tuple)
SOME_GROUPS = st.lists(st.sampled_from(["g0", "g1"]), max_size=2).map(tuple)
CHUNKS = st.sampled_from(["c0", "c1"])
PARTS = st.sampled_from(["p0", "p1"])
NUMBERS = st.integers(0, 1)
SIZES = st.integers(0, 2)


def allocated(holder: str, number: int, size: int, fabric: str) -> Allocation:
    return Allocation(fabric, BindTarget("SW", "x", number), size, holder)


class IndexMachine(RuleBasedStateMachine):
    """Every put and remove that the index has."""

    def __init__(self) -> None:
        super().__init__()
        self.index = FabricIndex()
        self.index.put_fabric(FabricFacts("F", FabricKind.BIND, zoned=True))
        self._begin()

    def _begin(self) -> None:
        """Begin with things that name each other, so that most changes change what others mean."""
        index = self.index
        for number, host in enumerate(("A", "B", "A")):
            index.put_endpoint(Endpoint(f"e{number}", "F", Role.INITIATOR, host))
        for number in range(3, 6):
            unit = frozenset({f"u{number - 3}"})
            index.put_endpoint(Endpoint(f"e{number}", "F", Role.TARGET, None, unit))
        index.put_group(EndpointGroup("g0", "F", ("e0", "e1")))
        index.put_group(EndpointGroup("g1", "F", ("e3", "e4")))
        index.put_chunk(Chunk("c0", "u3", 0, 1, domain="d0"))
        region = RegionGrant("rp0", frozenset())
        volume = VolumeGrant("vp0", frozenset())
        groups = {"initiator_groups": ("g0",), "target_groups": ("g1",)}
        index.put_connection(Connection("ch0", "F", **groups))
        index.put_connection(Connection("ch1", "F", ("e0",), regions=(region,)))
        index.put_connection(Connection("ch2", "F", volumes=(volume,), initiator_groups=("g0",)))

    @rule(fabric=FABRICS, kind=st.sampled_from(FabricKind))
    def put_fabric(self, fabric: str, kind: FabricKind) -> None:
        self.index.put_fabric(FabricFacts(fabric, kind, zoned=True))

    @rule(number=st.integers(0, 4), exclusive=st.booleans(), within=st.none() | st.integers(1, 4))
    def put_unit(self, number: int, exclusive: bool, within: int | None) -> None:
        outer = None if within is None or number + within > 4 else f"u{number + within}"
        target = BindTarget("SW", f"p{number}")
        self.index.put_unit(Unit(f"u{number}", "F", Binder.ZONE, exclusive, target, outer))

    @rule(unit=UNITS)
    def remove_unit(self, unit: str) -> None:
        self.index.remove_unit(unit)

    @rule(
        id_=ENDPOINTS,
        host=st.sampled_from([None, "A", "B"]),
        units=st.frozensets(UNITS | st.sampled_from(["rp0", "vp0"]), max_size=3),
        port=st.sampled_from(["p", "q"]),
    )
    def put_endpoint(self, id_: str, host: str | None, units: frozenset[str], port: str) -> None:
        role = Role.TARGET if host is None else Role.BOTH if units else Role.INITIATOR
        self.index.put_endpoint(Endpoint(id_, "F", role, host, units, frozenset({port})))

    @rule(id_=ENDPOINTS)
    def remove_endpoint(self, id_: str) -> None:
        self.index.remove_endpoint(id_)

    @rule(id_=st.sampled_from(["g0", "g1"]), members=SOME_ENDPOINTS)
    def put_group(self, id_: str, members: tuple[str, ...]) -> None:
        self.index.put_group(EndpointGroup(id_, "F", members))

    @rule(id_=st.sampled_from(["g0", "g1"]))
    def remove_group(self, id_: str) -> None:
        self.index.remove_group(id_)

    @rule(
        id_=HOLDERS,
        fabric=FABRICS,
        members=SOME_ENDPOINTS,
        kind=st.sampled_from([ZoneType.ENDPOINTS, ZoneType.ENDPOINTS, ZoneType.DEFAULT]),
        routing=st.booleans(),
    )
    def put_zone(
        self, id_: str, fabric: str, members: tuple[str, ...], kind: ZoneType, routing: bool
    ) -> None:
        self.index.put_zone(Zone(f"z{id_}", fabric, kind, members, (), routing))

    @rule(id_=HOLDERS)
    def remove_zone(self, id_: str) -> None:
        self.index.remove_zone(f"z{id_}")

    @rule(
        id_=HOLDERS,
        fabric=FABRICS,
        sides=st.tuples(SOME_ENDPOINTS, SOME_ENDPOINTS),
        groups=st.tuples(SOME_GROUPS, SOME_GROUPS),
        chunks=st.lists(CHUNKS, max_size=2),
        regions=st.lists(PARTS, max_size=1),
        volumes=st.lists(PARTS, max_size=1),
    )
    def put_connection(
        self,
        id_: str,
        fabric: str,
        sides: tuple[tuple[str, ...], tuple[str, ...]],
        groups: tuple[tuple[str, ...], tuple[str, ...]],
        chunks: list[str],
        regions: list[str],
        volumes: list[str],
    ) -> None:
        self.index.put_connection(
            Connection(
                f"c{id_}",
                fabric,
                *sides,
                tuple(ChunkGrant(chunk, frozenset()) for chunk in chunks),
                tuple(RegionGrant(f"r{region}", frozenset()) for region in regions),
                tuple(VolumeGrant(f"v{volume}", frozenset()) for volume in volumes),
                *groups,
            )
        )

    @rule(id_=HOLDERS)
    def remove_connection(self, id_: str) -> None:
        self.index.remove_connection(f"c{id_}")

    @rule(id_=CHUNKS, unit=UNITS, size=SIZES, domain=st.sampled_from([None, "d0", "d1"]),
          number=st.none() | NUMBERS, fabric=FABRICS)  # fmt: skip
    def put_chunk(
        self, id_: str, unit: str, size: int, domain: str | None, number: int | None, fabric: str
    ) -> None:
        made = None if number is None else allocated(id_, number, size, fabric)
        self.index.put_chunk(Chunk(id_, unit, 0, size, domain=domain, allocation=made))

    @rule(id_=CHUNKS)
    def remove_chunk(self, id_: str) -> None:
        self.index.remove_chunk(id_)

    @rule(id_=PARTS, ld=UNITS, size=SIZES, shareable=st.booleans(), number=NUMBERS, fabric=FABRICS)
    def put_region(
        self, id_: str, ld: str, size: int, shareable: bool, number: int, fabric: str
    ) -> None:
        made = allocated(f"r{id_}", number, size, fabric)
        region = Region(f"r{id_}", ld, "pool", number, size, 1, shareable, allocation=made)
        self.index.put_region(region)

    @rule(id_=PARTS)
    def remove_region(self, id_: str) -> None:
        self.index.remove_region(f"r{id_}")

    @rule(id_=PARTS, unit=UNITS, size=SIZES, shareable=st.booleans())
    def put_volume(self, id_: str, unit: str, size: int, shareable: bool) -> None:
        self.index.put_volume(Volume(f"v{id_}", unit, "pool", size, shareable))

    @rule(id_=PARTS)
    def remove_volume(self, id_: str) -> None:
        self.index.remove_volume(f"v{id_}")

    @rule(id_=st.sampled_from(["d0", "d1"]), pool=st.sampled_from([None, "pool", "other"]))
    def put_domain(self, id_: str, pool: str | None) -> None:
        self.index.put_domain(MemoryDomain(id_, 4, 1, True, pool))

    @rule(id_=st.sampled_from(["d0", "d1"]))
    def remove_domain(self, id_: str) -> None:
        self.index.remove_domain(id_)

    @rule(capacity=SIZES)
    def put_pool(self, capacity: int) -> None:
        port = PortId("SW", "x")
        self.index.put_pool(CapacityPool("pool", "F", PartKind.LD, capacity, 1, (0, 1), port))

    @rule()
    def remove_pool(self) -> None:
        self.index.remove_pool("pool")

    @rule(number=st.integers(0, 1), unit=UNITS, host=st.sampled_from(["A", "B"]))
    def put_vppb_grant(self, number: int, unit: str, host: str) -> None:
        self.index.put_vppb_grant(VppbGrant(f"b{number}", "F", vppb(1, number), unit, host))

    @rule(number=st.integers(0, 1))
    def remove_vppb_grant(self, number: int) -> None:
        self.index.remove_vppb_grant(f"b{number}")

    @rule(
        host=st.integers(1, 2), number=st.integers(0, 1), unit=st.sampled_from(["D1", "D2"]),
        holders=st.frozensets(HOLDERS, min_size=1),
    )  # fmt: skip
    def put_binding(self, host: int, number: int, unit: str, holders: frozenset[str]) -> None:
        self.index.put_binding(replace(binding(unit, host, number), holders=holders))

    @rule(host=st.integers(1, 2), number=st.integers(0, 1))
    def remove_binding(self, host: int, number: int) -> None:
        self.index.remove_binding(vppb(host, number))

    @rule(host=st.sampled_from([None, "A", "B"]), number=st.integers(0, 2))
    def put_vcs(self, host: str | None, number: int) -> None:
        self.index.put_vcs(VcsFact("F", "SW", f"V{number}", host, 2))

    @rule(number=st.integers(0, 2))
    def remove_vcs(self, number: int) -> None:
        self.index.remove_vcs("SW", f"V{number}")

    @invariant()
    def equals_one_rebuilt_from_scratch(self) -> None:
        assert self.index.snapshot() == rebuilt(self.index).snapshot()

    @invariant()
    def reach_is_what_its_holders_say(self) -> None:
        for unit in ("u0", "u1", "u2", "u3", "u4", "rp0", "vp0"):
            assert dict(self.index.hosts_of(unit)) == hosts_of(self.index, unit)

    @invariant()
    def sums_are_what_the_parts_say(self) -> None:
        index = self.index
        parts = [*index.regions.values(), *index.volumes.values()]
        pooled = [each for each in index.domains.values() if each.pool == "pool"]
        for domain in index.domains:
            sizes = [each.size_mib for each in index.chunks.values() if each.domain == domain]
            assert index.cut_mib(domain) == sum(sizes)
        chunks = sum(index.cut_mib(domain.id) for domain in pooled)
        assert index.cut_mib("pool") == chunks + sum(each.size_mib for each in parts)

    @invariant()
    def every_target_is_allocated_for_the_first_that_claims_it(self) -> None:
        index = self.index
        found: dict[BindTarget, str] = {}
        parts = (*index.chunks.values(), *index.regions.values(), *index.volumes.values())
        for part in sorted(parts, key=lambda each: each.id):
            if part.allocation is not None:
                found.setdefault(part.allocation.target, part.id)
        assert {each.target: each.holder for each in index.allocations.values()} == found
        both = [*index.allocations_in("F"), *index.allocations_in("G")]
        assert {each.target: each.holder for each in both} == found


TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = settings(
    settings.get_profile("redfish_fm"), max_examples=60, stateful_step_count=40
)
