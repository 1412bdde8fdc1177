"""No write that is accepted makes anything worse, whatever was there before.

Random imports that nobody judged, then random writes that zoning judges; a second, naive reading
of the rules (tests.fabric.naive) looks at what became of it.
"""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from redfish_fm.fabric import zoning
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import (
    Chunk,
    Connection,
    Endpoint,
    EndpointGroup,
    Role,
    Violation,
    VppbGrant,
    Zone,
    ZoneType,
)
from tests.fabric.builders import a_fabric, vppb
from tests.fabric.devices import (
    a_region,
    a_volume,
    dual_ported,
    dynamic_ld,
    functions,
    granting,
    shared_nic,
    subsystem,
)
from tests.fabric.naive import problems
from tests.fabric.scenario import known

INITIATORS = ("I1", "I2", "I3", "I1.2")
TARGETS = (
    "T-D1", "T-D2", "T-M1.0", "T-M1.1", "T-NIC.1", "T-W", "T-W.b", "T-G.0", "T-G.2", "T-Y.0", "T-N",
)  # fmt: skip
SOME_INITIATORS = st.lists(st.sampled_from(INITIATORS), max_size=2, unique=True).map(tuple)
SOME_TARGETS = st.lists(st.sampled_from(TARGETS), max_size=2, unique=True).map(tuple)
MEMBERS = st.tuples(SOME_INITIATORS, SOME_TARGETS).map(
    lambda both: (
        *both[0],
        *both[1],
    )
)
ZONES = st.sampled_from(["z1", "z2", "z3"])
GROUPS = st.sampled_from(["g1", "g2"])
SOME_GROUPS = st.lists(GROUPS, max_size=1).map(tuple)
CONNECTIONS = st.sampled_from(["k1", "k2", "k3"])
CHUNKS = ("C-M1.0", "C-M1.1", "C-D2")
REGIONS = ("r1", "r2")
VOLUMES = ("v1", "v2")


FITTING = (
    ("T-D1", {}),
    ("T-D2", {}),
    ("T-D2", {"chunks": ("C-D2",)}),
    ("T-M1.0", {"chunks": ("C-M1.0",)}),
    ("T-NIC.1", {}),
    ("T-W.b", {}),
    ("T-Y.0", {"regions": ("r1",)}),
    ("T-Y.0", {"regions": ("r2",)}),
    ("T-N", {"volumes": ("v1",)}),
    ("T-N", {}),
    (None, {"volumes": ("v1",)}),
    ("T-M1.1", {"chunks": ("C-M1.0",)}),
)
"""Targets and what may be granted of them; the last pair does not fit."""


@st.composite
def connections(draw: st.DrawFn) -> Connection:
    """A connection to one target, by itself or by groups."""
    target, parts = draw(st.sampled_from(FITTING))
    from_groups, to_groups = draw(SOME_GROUPS), draw(st.just(()) | SOME_GROUPS)
    return granting(
        draw(CONNECTIONS),
        () if from_groups else draw(SOME_INITIATORS),
        () if to_groups or target is None else (target,),
        from_groups=from_groups,
        to_groups=to_groups,
        **parts,
    )


@st.composite
def zones(draw: st.DrawFn) -> Zone:
    if draw(st.integers(0, 4)) == 0:
        return Zone("default", "F", ZoneType.DEFAULT, draw(MEMBERS), (), draw(st.booleans()))
    return Zone(draw(ZONES), "F", ZoneType.ENDPOINTS, draw(MEMBERS))


class Writes(RuleBasedStateMachine):
    """One fabric that clients write to; `kind` is what it is."""

    kind = FabricKind.BIND

    def __init__(self) -> None:
        super().__init__()
        index = a_fabric(hosts=3, mlds=1, lds=2, slds=2, kind=self.kind)
        second = index.endpoints["I1"]
        index.put_endpoint(replace(second, id="I1.2", ports=frozenset()))
        index.put_unit(replace(index.units["D2"], exclusive=False))
        index.put_chunk(Chunk("C-D2", "D2", 0, 256))
        index.put_zone(Zone("default", "F", ZoneType.DEFAULT))
        for add in (shared_nic, dual_ported, functions, dynamic_ld, subsystem):
            add(index)
        self.index = index

    @initialize(
        imported=st.lists(zones() | connections(), max_size=4),
        groups=st.lists(st.tuples(GROUPS, MEMBERS), max_size=2),
    )
    def import_anything(
        self, imported: list[Zone | Connection], groups: list[tuple[str, tuple[str, ...]]]
    ) -> None:
        for name, members in groups:
            self.index.put_group(EndpointGroup(name, "F", members))
        for item in imported:
            if isinstance(item, Zone):
                self.index.put_zone(item)
            else:
                self.index.put_connection(item)

    def write(self, refused: list[Violation], change: Callable[[], None]) -> None:
        """Make the change if nothing speaks against it; nothing may have become worse."""
        before = problems(self.index)
        if not refused:
            change()
            assert problems(self.index) - before == set()

    @rule(item=zones())
    def put_zone(self, item: Zone) -> None:
        index = self.index
        refused = zoning.check_zone(index, item, index.zones.get(item.id), known)
        self.write(refused, lambda: index.put_zone(item))

    @rule(id_=ZONES)
    def remove_zone(self, id_: str) -> None:
        refused = zoning.check_zone_removal(self.index, id_)
        self.write(refused, lambda: self.index.remove_zone(id_))

    @rule(item=connections())
    def put_connection(self, item: Connection) -> None:
        index = self.index
        refused = zoning.check_connection(index, item, index.connections.get(item.id), known)
        self.write(refused, lambda: index.put_connection(item))

    @rule(id_=CONNECTIONS)
    def remove_connection(self, id_: str) -> None:
        refused = zoning.check_connection_removal(self.index, id_)
        self.write(refused, lambda: self.index.remove_connection(id_))

    @rule(id_=GROUPS, members=MEMBERS)
    def put_group(self, id_: str, members: tuple[str, ...]) -> None:
        index, item = self.index, EndpointGroup(id_, "F", members)
        before = index.snapshot()
        refused = zoning.check_group(index, item, index.groups.get(id_), known)
        assert index.snapshot() == before
        self.write(refused, lambda: index.put_group(item))

    @rule(id_=GROUPS)
    def remove_group(self, id_: str) -> None:
        refused = zoning.check_group_removal(self.index, id_)
        self.write(refused, lambda: self.index.remove_group(id_))

    @rule(id_=st.sampled_from(REGIONS), shareable=st.booleans())
    def make_region(self, id_: str, shareable: bool) -> None:
        index = self.index
        held = index.regions.get(id_)
        item = replace(held or a_region(index, id_), shareable=shareable)
        before = index.snapshot()
        refused = zoning.check_region(index, item, held)
        assert index.snapshot() == before
        self.write(refused, lambda: index.put_region(item))

    @rule(id_=st.sampled_from(REGIONS))
    def remove_region(self, id_: str) -> None:
        refused = zoning.check_region_removal(self.index, id_)
        self.write(refused, lambda: self.index.remove_region(id_))

    @rule(id_=st.sampled_from(VOLUMES), shareable=st.booleans())
    def make_volume(self, id_: str, shareable: bool) -> None:
        index = self.index
        held = index.volumes.get(id_)
        item = replace(held or a_volume(index, id_), shareable=shareable)
        refused = zoning.check_volume(index, item, held)
        self.write(refused, lambda: index.put_volume(item))

    @rule(id_=st.sampled_from(VOLUMES))
    def remove_volume(self, id_: str) -> None:
        refused = zoning.check_volume_removal(self.index, id_)
        self.write(refused, lambda: self.index.remove_volume(id_))

    @rule(id_=st.sampled_from(INITIATORS), host=st.sampled_from(["H1", "H2"]))
    def change_initiator(self, id_: str, host: str) -> None:
        index = self.index
        item = Endpoint(id_, "F", Role.INITIATOR, host)
        refused = zoning.check_endpoint(index, item, index.endpoints.get(id_), True)
        self.write(refused, lambda: index.put_endpoint(item))

    @rule(
        id_=st.sampled_from(TARGETS),
        unit=st.sampled_from(["D1", "D2", "NIC.1"]),
        excludes=st.frozensets(st.sampled_from(TARGETS), max_size=1),
    )
    def change_target(self, id_: str, unit: str, excludes: frozenset[str]) -> None:
        index = self.index
        item = Endpoint(id_, "F", Role.TARGET, None, frozenset({unit}), excludes=excludes)
        refused = zoning.check_endpoint(index, item, index.endpoints.get(id_), True)
        self.write(refused, lambda: index.put_endpoint(item))

    @rule(id_=st.sampled_from((*INITIATORS, *TARGETS)))
    def remove_endpoint(self, id_: str) -> None:
        refused = zoning.check_endpoint_removal(self.index, id_)
        self.write(refused, lambda: self.index.remove_endpoint(id_))

    @rule(host=st.integers(1, 2), unit=st.sampled_from(["D1", "D2", "W.b", "G.2", "M1"]))
    def bind_by_hand(self, host: int, unit: str) -> None:
        index, name = self.index, f"b{host}"
        grant = VppbGrant(name, "F", vppb(host), unit, f"H{host}")
        refused = zoning.check_vppb(index, grant.vppb, unit, grant.host, holder=name)
        self.write(refused, lambda: index.put_vppb_grant(grant))

    @rule(host=st.integers(1, 2))
    def free_by_hand(self, host: int) -> None:
        refused = zoning.check_vppb(self.index, vppb(host), None, f"H{host}", holder=f"b{host}")
        self.write(refused, lambda: self.index.remove_vppb_grant(f"b{host}"))


class WritesToConnections(Writes):
    kind = FabricKind.CONNECTION_GRANTS


class WritesToDisks(Writes):
    kind = FabricKind.ZONE_GRANTS


OFTEN = settings(settings.get_profile("redfish_fm"), max_examples=80, stateful_step_count=30)

TestWrites = Writes.TestCase
TestWrites.settings = OFTEN
TestWritesToConnections = WritesToConnections.TestCase
TestWritesToConnections.settings = OFTEN
TestWritesToDisks = WritesToDisks.TestCase
TestWritesToDisks.settings = OFTEN
