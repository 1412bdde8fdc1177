"""Health from the bottom up: one change equals everything computed anew, and costs its depth."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.fabric.health import Condition, Health, HealthGraph, worst

CRITICAL = Condition(Health.CRITICAL, "port1", "R.1.0.Lost", ("port1", "Critical"), "port1 is lost")
WARNING = replace(CRITICAL, severity=Health.WARNING, told="port1 is slow")


def a_graph(*links: tuple[str, str]) -> HealthGraph:
    graph = HealthGraph()
    for child, parent in links:
        graph.link(child, parent)
    graph.take_changed()
    return graph


def test_the_worst_of_what_a_node_depends_on_counts() -> None:
    graph = a_graph(("port1", "switch"), ("port2", "switch"), ("switch", "fabric"))
    graph.set_own("port1", [WARNING])
    assert graph.rollup("fabric") is Health.WARNING
    graph.set_own("port2", [replace(CRITICAL, origin="port2")])
    assert (graph.own("fabric"), graph.rollup("fabric")) == (Health.OK, Health.CRITICAL)
    graph.set_own("port2")
    assert graph.rollup("fabric") is Health.WARNING
    graph.set_own("port1")
    assert graph.rollup("fabric") is Health.OK
    assert graph.conditions("fabric", 10) == ()


def test_who_does_not_depend_on_a_failed_node_is_ok() -> None:
    graph = a_graph(("dev1", "zone1"), ("zone1", "host1"), ("dev2", "zone2"), ("zone2", "host2"))
    graph.set_own("dev1", [CRITICAL])
    assert graph.rollup("host1") is Health.CRITICAL
    assert graph.rollup("host2") is graph.rollup("zone2") is Health.OK


def test_conditions_tell_the_origin_once_although_two_ways_lead_to_it() -> None:
    graph = a_graph(("dev", "zone"), ("dev", "chassis"), ("zone", "host"), ("chassis", "host"))
    graph.set_own("dev", [CRITICAL])
    assert graph.conditions("host", 10) == (CRITICAL,)


def test_the_worst_conditions_come_first_and_the_rest_is_cut() -> None:
    graph = a_graph(*((f"p{n}", "switch") for n in range(9)))
    for n in range(8):
        graph.set_own(f"p{n}", [replace(WARNING, origin=f"p{n}")])
    graph.set_own("p8", [replace(CRITICAL, origin="p8")])
    shown = graph.conditions("switch", 3)
    assert shown[0].origin == "p8"
    assert len(shown) == 3


def test_a_second_failure_is_news_above_although_no_severity_changes() -> None:
    graph = a_graph(("p1", "switch"), ("p2", "switch"), ("switch", "fabric"))
    graph.set_own("p1", [CRITICAL])
    graph.take_changed()
    graph.set_own("p2", [replace(CRITICAL, origin="p2")])
    assert graph.take_changed() == {"p2", "switch", "fabric"}


def test_a_link_counts_as_often_as_it_was_made() -> None:
    graph = a_graph(("dev", "host"), ("dev", "host"))
    graph.set_own("dev", [CRITICAL])
    graph.unlink("dev", "host")
    assert graph.rollup("host") is Health.CRITICAL
    graph.unlink("dev", "host")
    assert graph.rollup("host") is Health.OK
    assert not graph.depends("host")
    with pytest.raises(KeyError):
        graph.unlink("dev", "host")


def test_a_node_can_not_depend_on_itself() -> None:
    with pytest.raises(ValueError, match="itself"):
        HealthGraph().link("a", "a")


@pytest.mark.parametrize("length", [2, 3, 6])
def test_a_node_can_not_depend_on_itself_by_way_of_others(length: int) -> None:
    names = [f"n{n}" for n in range(length)]
    graph = a_graph(*pairwise(names))
    before = graph.plain()
    with pytest.raises(ValueError, match="itself"):
        graph.link(names[-1], names[0])
    assert (graph.plain(), graph.take_changed()) == (before, set())
    graph.set_own("n0", [CRITICAL])
    graph.set_own("n0")
    assert {graph.rollup(name) for name in names} == {Health.OK}


def test_a_link_in_the_other_direction_is_possible_once_the_first_is_gone() -> None:
    graph = a_graph(("a", "b"))
    graph.unlink("a", "b")
    graph.link("b", "a")
    graph.set_own("b", [CRITICAL])
    assert graph.rollup("a") is Health.CRITICAL


def test_a_condition_is_active_until_the_last_node_lost_it() -> None:
    graph = a_graph()
    graph.set_own("a", [CRITICAL])
    graph.set_own("b", [CRITICAL])
    graph.set_own("a")
    assert graph.active(CRITICAL)
    graph.set_own("b")
    assert not graph.active(CRITICAL)


def test_one_changed_port_costs_the_same_in_a_small_and_in_a_large_fabric() -> None:
    def cost(ports: int) -> int:
        graph = a_graph(
            *((f"p{n}", f"s{n // 20}") for n in range(ports)),
            *((f"s{n}", "fabric") for n in range(ports // 20)),
        )
        before = graph.work
        graph.set_own("p7", [CRITICAL])
        graph.conditions("fabric", 32)
        graph.set_own("p7")
        return graph.work - before

    assert cost(100) == cost(20_000)


def test_many_ways_to_one_failure_are_walked_once() -> None:
    steps = range(20)
    graph = a_graph(*((f"{a}{n}", f"{b}{n + 1}") for n in steps for a in "xy" for b in "xy"))
    graph.set_own("x0", [CRITICAL])
    before = graph.work
    assert graph.conditions("x20", 32) == (CRITICAL,)
    assert graph.work - before < 3 * len(steps)


NODES = [f"n{n}" for n in range(8)]
CONDITIONS = [replace(one, origin=name) for one in (CRITICAL, WARNING) for name in "ab"]
EDGES = [(NODES[a], NODES[b]) for a in range(8) for b in range(a + 1, 8)]
"""Any graph without circles: every link leads to a higher number."""

steps = st.lists(
    st.one_of(
        st.tuples(st.just("own"), st.sampled_from(NODES), st.sets(st.sampled_from(CONDITIONS))),
        st.tuples(st.just("link"), st.sampled_from(EDGES), st.booleans()),
    ),
    max_size=40,
)


def recomputed(own: dict[str, set[Condition]], links: dict[tuple[str, str], int]) -> HealthGraph:
    graph = HealthGraph()
    for node, conditions in own.items():
        graph.set_own(node, conditions)
    for (child, parent), count in links.items():
        for _ in range(count):
            graph.link(child, parent)
    return graph


def below(node: str, links: dict[tuple[str, str], int]) -> set[str]:
    found = {node}
    for child, parent in reversed(EDGES):
        if links.get((child, parent)) and parent in found:
            found.add(child)
    return found if found == {node} else found.union(*(below(n, links) for n in found - {node}))


@given(steps)
def test_change_by_change_equals_computed_anew(script: list[tuple[str, object, object]]) -> None:
    graph = HealthGraph()
    own: dict[str, set[Condition]] = {}
    links: dict[tuple[str, str], int] = {}
    for kind, what, value in script:
        shown = {node: (graph.rollup(node), graph.conditions(node, 99)) for node in NODES}
        graph.take_changed()
        if kind == "own":
            own[what] = value  # type: ignore[index,assignment]
            graph.set_own(what, value)  # type: ignore[arg-type]
        elif value or not links.get(what):  # type: ignore[call-overload]
            links[what] = links.get(what, 0) + 1  # type: ignore[index,call-overload]
            graph.link(*what)  # type: ignore[misc]
        else:
            links[what] -= 1  # type: ignore[index]
            graph.unlink(*what)  # type: ignore[misc]
        changed = graph.take_changed()
        for node in NODES:
            now = (graph.rollup(node), graph.conditions(node, 99))
            assert now == shown[node] or node in changed
    assert graph.plain() == recomputed(own, links).plain()
    for node in NODES:
        all_below = [each for name in below(node, links) for each in own.get(name, ())]
        assert graph.rollup(node) is worst(each.severity for each in all_below)
        assert set(graph.conditions(node, 99)) == set(all_below)
