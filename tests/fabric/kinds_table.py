"""The same request on three kinds of fabric, as a table for the guide.

    python -m tests.fabric.kinds_table > docs/isolation-by-kind.md

Each row is one fabric and one request; the cells are what the rules say, never written by hand.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from redfish_fm.fabric import zoning
from redfish_fm.fabric.binding import wanted_by_connection, wanted_by_zone
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, FabricKind
from redfish_fm.fabric.values import (
    Binder,
    Connection,
    EndpointGroup,
    Unit,
    Violation,
    VolumeGrant,
    Zone,
    ZoneType,
)
from redfish_fm.mapping.violations import TABLE
from tests.fabric.builders import BOTH_WAYS, a_fabric, connection, put_target, vppb, zone
from tests.fabric.devices import a_volume, granting, subsystem
from tests.fabric.scenario import known, patch

KINDS = (FabricKind.BIND, FabricKind.ZONE_GRANTS, FabricKind.CONNECTION_GRANTS)

HEAD = """# The same request on fabrics of different kinds

Made by `python -m tests.fabric.kinds_table` from what the rules answer; not edited by hand.
Fabrics are `bind` (PCIe, CXL), `zone-grants` (SAS, FC) or `connection-grants` (NVMe over Fabrics);
on `reach` fabrics (Ethernet, InfiniBand) nothing is refused for sharing.

H1 and H2 are hosts, D is for one host, S is shareable: devices, or on `connection-grants`
namespaces of a subsystem, which a Connection names in VolumeInfo. A refusal names its rules, which
[isolation.md](isolation.md) explains; *binds* means that hardware is told to give it to the host.

| given | request | bind | zone-grants | connection-grants |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Outcome:
    """What the rules say, and what hardware is told to bind."""

    violations: list[Violation]
    binds: frozenset[tuple[str, str]] = frozenset()

    def __str__(self) -> str:
        if not self.violations:
            return "accepted, binds" if self.binds else "accepted"
        rules = dict.fromkeys(violation.rule for violation in self.violations)
        status = min(TABLE[rule].status for rule in rules)
        return f"{status} " + ", ".join(rule.name for rule in rules)


Judge = Callable[[FabricIndex], Outcome]


@dataclass(frozen=True)
class Row:
    """One fabric (made by `given`) and one request."""

    words: str
    request: str
    given: Callable[[FabricIndex], None]
    judge: Judge


def _fabric(kind: FabricKind) -> FabricIndex:
    """D is exclusive and S is not; each has an endpoint, T-D and T-S."""
    index = a_fabric(slds=0, mlds=0, kind=kind)
    for name in ("D", "S"):
        if kind is FabricKind.CONNECTION_GRANTS:
            subsystem(index, f"{name}-subsystem")
            made = a_volume(index, name, shareable=name == "S", name=f"{name}-subsystem")
            index.put_volume(made)
            index.put_endpoint(replace(index.endpoints[f"T-{name}-subsystem"], id=f"T-{name}"))
        else:
            binder = Binder.ZONE if kind is FabricKind.BIND else Binder.NOTHING
            target = BindTarget("SW", name)
            put_target(index, Unit(name, "F", binder, name == "D", target))
    return index


def _as_asked_of(index: FabricIndex, item: Connection) -> Connection:
    """Name the namespace where there are namespaces."""
    if index.facts("F").kind is not FabricKind.CONNECTION_GRANTS:
        return item
    rows = tuple(VolumeGrant(target.removeprefix("T-"), BOTH_WAYS) for target in item.targets)
    return replace(item, volumes=rows)


def _post(item: Zone | Connection) -> Judge:
    def judge(index: FabricIndex) -> Outcome:
        if isinstance(item, Zone):
            refused = zoning.check_zone(index, item, index.zones.get(item.id), known)
            return Outcome(refused, wanted_by_zone(index, item))
        asked = _as_asked_of(index, item)
        refused = zoning.check_connection(index, asked, None, known)
        return Outcome(refused, wanted_by_connection(index, asked))

    return judge


def _given(*items: Zone | Connection | EndpointGroup) -> Callable[[FabricIndex], None]:
    def give(index: FabricIndex) -> None:
        for item in items:
            if isinstance(item, Zone):
                index.put_zone(item)
            elif isinstance(item, Connection):
                index.put_connection(_as_asked_of(index, item))
            else:
                index.put_group(item)

    return give


def _default(*members: str, routing: bool = False) -> Zone:
    return Zone("default", "F", ZoneType.DEFAULT, members, (), routing)


def _second_member(index: FabricIndex) -> Outcome:
    group = index.groups["g"]
    both = replace(group, endpoints=("I1", "I2"))
    return Outcome(zoning.check_group(index, both, group, known))


GROUP = EndpointGroup("g", "F", ("I1",))
ROUTED = _default("I1", "I2", "T-D", routing=True)

ROWS = (
    Row("nothing", "zone with H1 and D", _given(), _post(zone("z", "I1", "T-D"))),
    Row("nothing", "zone with H1, H2 and D", _given(), _post(zone("z", "I1", "I2", "T-D"))),
    Row("nothing", "zone with H1, H2 and S", _given(), _post(zone("z", "I1", "I2", "T-S"))),
    Row(
        "zone with H1 and D",
        "second zone with H1 and D",
        _given(zone("z1", "I1", "T-D")),
        _post(zone("z2", "I1", "T-D")),
    ),
    Row(
        "zone with H1 and D",
        "zone with H2 and D",
        _given(zone("z1", "I1", "T-D")),
        _post(zone("z2", "I2", "T-D")),
    ),
    Row(
        "zone with H1 and D",
        "Connection of H1 to D",
        _given(zone("z1", "I1", "T-D")),
        _post(connection("c", "I1", "T-D")),
    ),
    Row("nothing", "Connection of H1 to D", _given(), _post(connection("c", "I1", "T-D"))),
    Row(
        "zone with H1 alone",
        "Connection of H1 to D",
        _given(zone("z1", "I1")),
        _post(connection("c", "I1", "T-D")),
    ),
    Row(
        "zone with H1, H2, D; Connection of H1 to D",
        "Connection of H2 to D",
        _given(zone("z1", "I1", "I2", "T-D"), connection("c1", "I1", "T-D")),
        _post(connection("c2", "I2", "T-D")),
    ),
    Row(
        "zone with H1, H2, S; Connection of H1 to S",
        "Connection of H2 to S",
        _given(zone("z1", "I1", "I2", "T-S"), connection("c1", "I1", "T-S")),
        _post(connection("c2", "I2", "T-S")),
    ),
    Row(
        "Connection of H1 to D",
        "zone with H1 alone",
        _given(connection("c1", "I1", "T-D")),
        _post(zone("z1", "I1")),
    ),
    Row(
        "zone with H1, D; Connection of H1 to D",
        "DELETE of the zone",
        _given(zone("z1", "I1", "T-D"), connection("c1", "I1", "T-D")),
        lambda index: Outcome(zoning.check_zone_removal(index, "z1")),
    ),
    Row(
        "zone with H1, H2, D; Connection of group (H1) to D",
        "H2 into the group",
        _given(
            zone("z1", "I1", "I2", "T-D"),
            GROUP,
            granting("c1", targets=("T-D",), from_groups=("g",)),
        ),
        _second_member,
    ),
    Row(
        "Default zone with H1, H2, D",
        "DefaultRoutingEnabled true",
        _given(_default("I1", "I2", "T-D")),
        lambda index: Outcome(patch(index, ROUTED)),
    ),
    Row(
        "Default zone with H1, H2, S",
        "DefaultRoutingEnabled true",
        _given(_default("I1", "I2", "T-S")),
        lambda index: Outcome(patch(index, _default("I1", "I2", "T-S", routing=True))),
    ),
    Row(
        "nothing",
        "PATCH of a vPPB of H1: Links.Port of D",
        _given(),
        lambda index: Outcome(zoning.check_vppb(index, vppb(1), "D", "H1", holder="v")),
    ),
)


def outcomes(row: Row) -> list[str]:
    """Return the answers of all kinds, in the order of `KINDS`."""
    found = []
    for kind in KINDS:
        index = _fabric(kind)
        row.given(index)
        found.append(str(row.judge(index)))
    return found


def table() -> str:
    """Return the whole document."""
    rows = ["| " + " | ".join([row.words, row.request, *outcomes(row)]) + " |\n" for row in ROWS]
    return HEAD + "".join(rows)


if __name__ == "__main__":
    print(table(), end="")
