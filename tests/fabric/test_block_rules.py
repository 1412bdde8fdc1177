"""Which blocks a system can be made of: for each rule a request it refuses, a twin, a mutant."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from redfish_fm.fabric import block_rules
from redfish_fm.fabric.block_rules import check_blocks
from redfish_fm.fabric.composition import Block, BlockType, Composition, Reservation
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import VppbId
from redfish_fm.fabric.values import Rule, Violation, VppbGrant, Zone, ZoneType
from tests.fabric.builders import a_fabric, zone

NOW_S = 1000.0


def a_pod() -> FabricIndex:
    """Two hosts, two whole devices and an appliance that is shared, with a block each."""
    index = a_fabric(hosts=2, slds=2)
    for host in ("H1", "H2"):
        index.put_block(Block(f"b-{host}", frozenset({BlockType.COMPUTE}), host=host))
    for device in ("D1", "D2"):
        types, units = frozenset({BlockType.PROCESSOR}), frozenset({device})
        index.put_block(Block(f"b-{device}", types, units=units))
    index.put_block(
        Block(
            "b-M1",
            frozenset({BlockType.MEMORY}),
            units=frozenset({"M1"}),
            sharing=True,
            compositions_max=2,
        )
    )
    return index


def compose(
    index: FabricIndex,
    *blocks: str,
    system: str = "new",
    expands: bool = False,
    now_s: float = NOW_S,
    reservation: str | None = None,
    absent: frozenset[str] = frozenset(),
) -> list[Violation]:
    return check_blocks(
        index,
        system,
        blocks,
        blocks,
        expands=expands,
        now_s=now_s,
        reservation=reservation,
        status=lambda uri: ("Absent", "OK") if uri in absent else ("Enabled", "OK"),
    )


def held(index: FabricIndex, *blocks: str, system: str = "old", expands: bool = False) -> None:
    host = next((index.blocks[each].host for each in blocks if index.blocks[each].host), "H2")
    index.put_composition(Composition(system, host, blocks, expands=expands))


@dataclass(frozen=True)
class Row:
    """One request and the rule that refuses it; None: it is legal."""

    name: str
    ask: Callable[[FabricIndex], list[Violation]]
    rule: Rule | None


def _reserved(index: FabricIndex) -> None:
    index.put_reservation(Reservation("r", ("b-D1",), NOW_S + 60))


def _taken(index: FabricIndex) -> list[Violation]:
    held(index, "b-H2", "b-D1")
    return compose(index, "b-H1", "b-D1")


def _free_beside(index: FabricIndex) -> list[Violation]:
    held(index, "b-H2", "b-D1")
    return compose(index, "b-H1", "b-D2")


def _shared_once_more(index: FabricIndex) -> list[Violation]:
    held(index, "b-H2", "b-M1")
    return compose(index, "b-H1", "b-M1")


def _shared_once_too_often(index: FabricIndex) -> list[Violation]:
    held(index, "b-H2", "b-M1")
    held(index, "b-M1", system="third")
    return compose(index, "b-H1", "b-M1")


def _expanded_host(index: FabricIndex) -> list[Violation]:
    held(index, "b-D2", system="H1", expands=True)
    index.put_composition(Composition("H1", "H1", ("b-D2",), expands=True))
    return compose(index, "b-H1", "b-D1")


def _used_up_host(index: FabricIndex) -> list[Violation]:
    held(index, "b-H1", "b-D2")
    return compose(index, "b-D1", system="H1", expands=True)


def _reserved_for_another(index: FabricIndex) -> list[Violation]:
    _reserved(index)
    return compose(index, "b-H1", "b-D1")


def _reserved_for_me(index: FabricIndex) -> list[Violation]:
    _reserved(index)
    return compose(index, "b-H1", "b-D1", reservation="r")


def _reserved_until_now(index: FabricIndex) -> list[Violation]:
    _reserved(index)
    return compose(index, "b-H1", "b-D1", now_s=NOW_S + 60)


def _zoned(index: FabricIndex) -> list[Violation]:
    index.put_zone(zone("z", "I2", "T-D1"))
    return compose(index, "b-H1", "b-D1")


def _host_zoned(index: FabricIndex) -> list[Violation]:
    index.put_zone(zone("z", "I1", "T-D2"))
    return compose(index, "b-H1", "b-D1")


def _host_in_an_empty_zone(index: FabricIndex) -> list[Violation]:
    index.put_zone(zone("z", "I1"))
    return compose(index, "b-H1", "b-D1")


def _host_in_a_default_zone(index: FabricIndex) -> list[Violation]:
    index.put_zone(Zone("default", "F", ZoneType.DEFAULT, ("I1",)))
    return compose(index, "b-H1", "b-D1")


def _host_bound_by_hand(index: FabricIndex) -> list[Violation]:
    vppb = VppbId("S1", "1", 0)
    index.put_vppb_grant(VppbGrant("v", "F", vppb, "D2", "H1"))
    return compose(index, "b-H1", "b-D1")


def _zoned_host_given_more(index: FabricIndex) -> list[Violation]:
    index.put_zone(zone("z", "I1", "T-D2"))
    return compose(index, "b-D1", system="H1", expands=True)


def _zone_of_a_host_that_is_gone(index: FabricIndex) -> list[Violation]:
    _host_zoned(index)
    index.remove_zone("z")
    return compose(index, "b-H1", "b-D1")


def _zoned_by_itself(index: FabricIndex) -> list[Violation]:
    index.put_composition(Composition("new", "H1", ("b-H1", "b-D1"), frozenset({"z"})))
    index.put_zone(zone("z", "I1", "T-D1"))
    return compose(index, "b-H1", "b-D1")


def _on_another_host(index: FabricIndex) -> list[Violation]:
    held(index, "b-H2", "b-D1", system="new")
    return compose(index, "b-H1", "b-D1")


def _on_the_same_host(index: FabricIndex) -> list[Violation]:
    held(index, "b-H1", "b-D1", system="new")
    return compose(index, "b-H1", "b-D1", "b-D2")


ROWS = [
    Row("whole blocks that are free", lambda index: compose(index, "b-H1", "b-D1"), None),
    Row("unknown", lambda index: compose(index, "b-H1", "b-D9"), Rule.BLOCK_UNKNOWN),
    Row("named twice", lambda index: compose(index, "b-H1", "b-D1", "b-D1"), Rule.BLOCK_TWICE),
    Row("no host", lambda index: compose(index, "b-D1"), Rule.BLOCK_COMPUTE),
    Row("two hosts", lambda index: compose(index, "b-H1", "b-H2"), Rule.BLOCK_COMPUTE),
    Row("another host than it runs on", _on_another_host, Rule.BLOCK_COMPUTE),
    Row("one device more where it runs", _on_the_same_host, None),
    Row(
        "a second host for a physical one",
        lambda index: compose(index, "b-H1", system="H2", expands=True),
        Rule.BLOCK_COMPUTE,
    ),
    Row(
        "a device for a physical host",
        lambda index: compose(index, "b-D1", system="H2", expands=True),
        None,
    ),
    Row("in another composition", _taken, Rule.BLOCK_TAKEN),
    Row("another one is composed", _free_beside, None),
    Row("shared with another", _shared_once_more, None),
    Row("shared by too many", _shared_once_too_often, Rule.BLOCK_TAKEN),
    Row("its host was expanded in place", _expanded_host, Rule.BLOCK_TAKEN),
    Row("more for a host that is used up", _used_up_host, Rule.BLOCK_TAKEN),
    Row("reserved for another", _reserved_for_another, Rule.BLOCK_TAKEN),
    Row("reserved for whoever asks", _reserved_for_me, None),
    Row("reserved until now", _reserved_until_now, None),
    Row("in a zone of others", _zoned, Rule.BLOCK_IN_USE),
    Row("in its own zone", _zoned_by_itself, None),
    Row("its host in a zone of others", _host_zoned, Rule.BLOCK_IN_USE),
    Row("its host alone in a zone", _host_in_an_empty_zone, Rule.BLOCK_IN_USE),
    Row("its host in a Default zone that routes nothing", _host_in_a_default_zone, None),
    Row("its host has something by hand", _host_bound_by_hand, Rule.BLOCK_IN_USE),
    Row("a host in a zone is given more", _zoned_host_given_more, None),
    Row("its host was in a zone", _zone_of_a_host_that_is_gone, None),
    Row(
        "not there",
        lambda index: compose(index, "b-H1", "b-D1", absent=frozenset({"T-D1"})),
        Rule.BLOCK_UNAVAILABLE,
    ),
    Row(
        "another one is not there",
        lambda index: compose(index, "b-H1", "b-D1", absent=frozenset({"T-D2"})),
        None,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_request_is_refused_by_exactly_the_rule_it_breaks(row: Row) -> None:
    assert {each.rule for each in row.ask(a_pod())} == ({row.rule} if row.rule else set())


@pytest.mark.parametrize(
    "name", ["_twice", "_computes", "_consumed", "_taken", "_reserved", "_in_use", "_unavailable"]
)
def test_without_a_rule_some_illegal_request_is_accepted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_rules, name, lambda *_: ())
    assert any(row.rule is not None and not row.ask(a_pod()) for row in ROWS)


def test_a_refusal_says_which_block_where_and_who_has_it() -> None:
    index = a_pod()
    held(index, "b-H2", "b-D1")
    assert compose(index, "b-H1", "b-D1") == [
        Violation(Rule.BLOCK_TAKEN, "b-D1", "old", "/Links/ResourceBlocks/1")
    ]
