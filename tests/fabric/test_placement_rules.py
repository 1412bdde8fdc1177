"""Each preference and each refusal of placement, by the table; and each of them broken once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric import (
    memory_policy,
    paths,
    placement,
    placement_devices,
    placement_held,
    placement_market,
    placement_reach,
    stock,
    stocktaking,
)
from tests.fabric import (
    table_placement_devices,
    table_placement_held,
    table_placement_hosts,
    table_placement_memory,
)
from tests.fabric.table_placement import ROWS, Row

TABLES = (
    table_placement_devices,
    table_placement_held,
    table_placement_hosts,
    table_placement_memory,
)


def test_no_table_is_forgotten() -> None:
    assert {row.ask.__module__ for row in ROWS} == {table.__name__ for table in TABLES}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_placement_answers_as_the_table_says(row: Row) -> None:
    assert row.ask() == row.expected


# -- every rule broken once ----------------------------------------------------------------------

Broken = Callable[..., Any]


def blinded(rule: Broken, position: int) -> Broken:
    """Return the rule with one place of its score always the same."""

    def score(*args: Any, **more: Any) -> tuple[int, ...]:
        found = [*rule(*args, **more)]
        found[position] = 0
        return tuple(found)

    return score


def reversed_order(rule: Broken, position: int) -> Broken:
    """Return the rule with one place of its score the other way round."""

    def score(*args: Any, **more: Any) -> tuple[int, ...]:
        found = [*rule(*args, **more)]
        found[position] = -found[position]
        return tuple(found)

    return score


def worst_tier_first(*args: Any) -> Any:
    return reversed([*LEVELS(*args)])


def only_one_root(*args: Any) -> Any:
    return (level for level in LEVELS(*args) if level[0] != placement_devices.CHAINED)


def most_switches_first(*args: Any) -> Any:
    return sorted(LEVELS(*args), key=lambda level: (level[0], -level[1]))


def deaf_to(name: str, heard: object) -> Broken:
    """Return the question whether a device suits, asked without one property of the wish."""

    def suits(sort: Any, wish: Any) -> bool:
        return SUITS(sort, replace(wish, **{name: heard}))

    return suits


def in_order(things: Any, able: Any, counts: Any) -> Any:
    """Return for each wish in turn the first things that would do."""
    left, rows = [*things], []
    for row, count in zip(able, counts, strict=True):
        rows.append([thing for thing in row if thing in left][:count])
        left = [thing for thing in left if thing not in rows[-1]]
    return rows


def as_often_as_it_would_do(_: Any, able: Any, counts: Any) -> Any:
    return [[*row][:count] for row, count in zip(able, counts, strict=True)]


HOLDS = placement_held._holds  # noqa: SLF001
LEVELS = placement_devices._levels  # noqa: SLF001
SET_SCORE = placement_devices._set_score  # noqa: SLF001
FIT = placement_reach._fit  # noqa: SLF001
MEMORY_SCORE = memory_policy._score  # noqa: SLF001
SUITS = placement_reach.suits
LEGS = memory_policy.legs_of
PARTS = memory_policy.Room.parts
CARRY = placement_reach.Reach._carry  # noqa: SLF001
WAYS = paths.ways_of
CHECK = placement_market.check_blocks

MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "several switches first": (placement_devices, "_levels", worst_tier_first),
    "chained is not better": (placement_devices, "_levels", only_one_root),
    "more switches first": (placement_devices, "_levels", most_switches_first),
    "where the system has some": (placement_devices, "_set_score", blinded(SET_SCORE, 0)),
    "oversubscription": (placement_devices, "_set_score", blinded(SET_SCORE, 1)),
    "latency of devices": (placement_devices, "_set_score", blinded(SET_SCORE, 2)),
    "the fullest switch": (placement_devices, "_set_score", blinded(SET_SCORE, 3)),
    "the emptiest switch": (placement_devices, "_set_score", reversed_order(SET_SCORE, 3)),
    "the fullest is emptied": (
        placement_devices,
        "_emptiest_first",
        lambda chosen: sorted(chosen, key=lambda each: (-each.most, each.position)),
    ),
    "nobody else's load": (stock.Shelves, "load_mb_s", lambda *_: 0),
    "what is chosen does not load": (placement_reach.Reach, "_carry", lambda *_, **__: None),
    "own load counts twice": (
        placement_reach.Reach,
        "_carry",
        lambda reach, sort, count, **_: CARRY(reach, sort, count),
    ),
    "nothing loads a link": (stocktaking, "_links_used", lambda *_: ()),
    "everybody loads every link": (stocktaking, "_links_used", lambda *_: ("F/s1 - F/s2",)),
    "links have no names": (
        stocktaking,
        "ways_of",
        lambda vcss: WAYS(replace(vcs, link=None) for vcs in vcss),
    ),
    "links lead one way": (paths, "_unnamed", lambda one, other: f"{one} from {other}"),
    "only the last link": (
        stocktaking,
        "ways_of",
        lambda vcss: {
            switch: replace(way, uplinks=way.uplinks[-1:]) for switch, way in WAYS(vcss).items()
        },
    ),
    "the smallest device": (placement_reach, "_fit", blinded(FIT, 0)),
    "the slowest device": (placement_reach, "_fit", reversed_order(FIT, 1)),
    "the whole device": (placement_reach, "_fit", reversed_order(FIT, 2)),
    "big groups are whole": (placement_reach, "_fit", blinded(FIT, 3)),
    "model": (placement_reach, "suits", deaf_to("model", None)),
    "manufacturer": (placement_reach, "suits", deaf_to("manufacturer", None)),
    "capacity": (placement_reach, "suits", deaf_to("capacity_mib_min", 0)),
    "bandwidth": (placement_reach, "suits", deaf_to("bandwidth_mb_s_min", 0)),
    "no budget": (placement_reach.Reach, "budget_ns", lambda *_: None),
    "vPPBs": (placement_market.Market, "free_vppbs", lambda *_: 99),
    "whatever the rules say": (placement_market, "check_blocks", lambda *_, **__: []),
    "own reservation": (
        placement_market,
        "check_blocks",
        lambda *args, **more: CHECK(*args, **{**more, "reservation": None}),
    ),
    "never expires": (
        placement_market,
        "check_blocks",
        lambda *args, **more: CHECK(*args, **{**more, "now_s": 0.0}),
    ),
    "hosts of any size": (placement, "_lack", lambda *_: None),
    "new appliances first": (memory_policy, "_score", reversed_order(MEMORY_SCORE, 1)),
    "latency of memory": (memory_policy, "_score", blinded(MEMORY_SCORE, 2)),
    "the fullest appliance": (memory_policy, "_score", blinded(MEMORY_SCORE, 3)),
    "one appliance": (
        memory_policy,
        "legs_of",
        lambda wish: (wish.count, 1) if wish.policy.name == "ONE_APPLIANCE" else LEGS(wish),
    ),
    "no spreading": (
        memory_policy,
        "legs_of",
        lambda wish: (1, wish.count) if wish.policy.name == "SPREAD" else LEGS(wish),
    ),
    "no mirrors": (memory_policy, "legs_of", lambda wish: (1, wish.count)),
    "larger parts": (
        memory_policy.Room,
        "parts",
        lambda room, wish, count, more: PARTS(room, wish, count, more=True),
    ),
    "smaller parts only": (
        memory_policy.Room,
        "parts",
        lambda room, wish, count, more: PARTS(room, wish, count, more=False),
    ),
    "nothing counts": (placement_held, "matched", lambda _, able, __: [[] for _ in able]),
    "the first wish has it": (placement_held, "matched", in_order),
    "a device counts twice": (placement_held, "matched", as_often_as_it_would_do),
    "any switch will do": (placement_held, "_in_one_place", lambda _: False),
    "any domain will do": (placement_held, "_is_spread", lambda _: False),
    "single parts are copies": (
        placement_held,
        "_holds",
        lambda reach: (
            lambda thing, wish: HOLDS(reach)(
                replace(thing, copied=wish.policy.name == "MIRRORED"), wish
            )
        ),
    ),
    "larger parts never count": (
        placement_held,
        "fits",
        lambda size, asked, **_: size == asked,
    ),
    "larger parts always count": (
        placement_held,
        "fits",
        lambda size, asked, **_: size >= asked,
    ),
    "nothing is carved": (stocktaking.FabricIndex, "cut_mib", lambda *_: 0),
    "parts without number": (stocktaking.FabricIndex, "part_count", lambda *_: 0),
    "fixed parts are always free": (stocktaking.FabricIndex, "holders_of_units", lambda *_: set()),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_rule_is_noticed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, broken = MUTANTS[mutant]
    monkeypatch.setattr(owner, name, broken)
    assert any(_differs(row) for row in ROWS)


def _differs(row: Row) -> bool:
    try:
        return bool(row.ask() != row.expected)
    except AssertionError:
        return True
