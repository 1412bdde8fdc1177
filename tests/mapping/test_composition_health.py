"""How systems of blocks are when something that they have fails, and that nobody else minds."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from redfish_fm.fabric.composition import Block, BlockType, Composition
from redfish_fm.fabric.health import Condition, Health, HealthGraph
from redfish_fm.fabric.index import FabricIndex, VcsFact
from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.values import Binder, Binding, Endpoint, Role, Unit
from redfish_fm.mapping import conditions
from redfish_fm.mapping.block_status import block_shown, blocks_of_endpoints
from redfish_fm.mapping.composition_health import CompositionHealth, Judged
from tests.fabric.builders import a_fabric, connection, put_target, zone
from tests.fabric.test_blast_radius import Unlisted, a_pod, bound, mirrored, sharing_a_region


class Bench:
    """The systems A and B of a_pod, what is seen of what they have, and how they are."""

    def __init__(self, index: FabricIndex | None = None) -> None:
        self.index = a_pod() if index is None else index
        self.graph = HealthGraph()
        self.states: dict[str, str] = {}
        self.health = CompositionHealth(self.graph, self.states.get)
        self.health.look(self.index)
        self.first = self.judged()

    def judged(self, *changed: str) -> dict[str, Judged]:
        return {each.uri: each for each in self.health.judge(frozenset(changed))}

    def fails(self, state: str, *things: str, **own: Condition) -> dict[str, Judged]:
        """Let units or parts show a state, with the condition that says why."""
        for thing in things:
            self.states[thing] = state
            self.graph.set_own(thing, [own.get(thing, conditions.absent(thing))])
        return self.judged(*things, *self.graph.take_changed())


def test_a_block_is_said_anew_with_what_lies_in_it_and_around_it() -> None:
    assert blocks_of_endpoints(a_pod(), {"T-M1.0"}) == {"b-M1"}


def test_a_system_is_judged_when_it_is_first_seen_and_feels_well() -> None:
    bench = Bench()
    assert bench.first.keys() == {"A", "B"}
    assert {(each.state, each.conditions) for each in bench.first.values()} == {(None, ())}


def test_a_device_that_is_gone_degrades_its_system_and_nobody_else_is_judged() -> None:
    judged = Bench().fails("Absent", "D1")
    assert judged == {"A": Judged("A", "Degraded", (conditions.absent("D1"),))}


def test_memory_that_is_gone_takes_its_system_along() -> None:
    judged = Bench().fails("Absent", "C-M1.1")
    assert judged.keys() == {"B"}
    assert judged["B"].state == "UnavailableOffline"
    assert [each.severity for each in judged["B"].conditions] == [Health.CRITICAL]


def test_a_region_that_systems_share_takes_both_along() -> None:
    judged = Bench(sharing_a_region(a_pod())).fails("Absent", "r")
    assert {uri: each.state for uri, each in judged.items()} == {
        "A": "UnavailableOffline",
        "B": "UnavailableOffline",
    }


def test_nobody_asks_for_all_parts_that_there_are() -> None:
    index = a_pod()
    index.chunks, index.volumes = Unlisted(index.chunks), Unlisted(index.volumes)
    index.regions = Unlisted(index.regions)
    assert Bench(index).fails("Absent", "C-M1.1").keys() == {"B"}


def test_of_mirrored_memory_one_copy_keeps_the_system_going_with_a_warning() -> None:
    judged = Bench(mirrored(a_pod())).fails("Absent", "C-M2.0")["A"]
    assert judged.state is None
    assert [(each.severity, each.origin) for each in judged.conditions] == [
        (Health.WARNING, "C-M2.0")
    ]


def test_what_is_merely_without_power_is_as_bad_to_who_needs_it() -> None:
    judged = Bench().fails("StandbyOffline", "D2", D2=conditions.unpowered("D2"))["B"]
    assert judged.state == "Degraded"
    assert [each.severity for each in judged.conditions] == [Health.CRITICAL]


def test_a_device_that_ails_and_works_is_told_as_it_is() -> None:
    own = conditions.ailing("D1", Health.WARNING)
    judged = Bench().fails("Enabled", "D1", D1=own)
    assert judged == {"A": Judged("A", None, (own,))}


def test_what_is_repaired_is_forgotten() -> None:
    bench = Bench()
    bench.fails("Absent", "D1")
    del bench.states["D1"]
    bench.graph.set_own("D1")
    assert bench.judged("D1") == {"A": Judged("A", None, ())}
    assert bench.graph.rollup("A") is Health.OK


def test_a_host_whose_way_is_gone_is_told_by_its_endpoint() -> None:
    index = a_pod()
    index.put_vcs(replace(index.vcss["SW", "V1"], port="SW/U1.1"))
    port = frozenset({"SW/U1.1"})
    index.put_endpoint(Endpoint("I1", "F", Role.INITIATOR, host="H1", ports=port))
    bench = Bench(index)
    bench.states["I1"] = "UnavailableOffline"
    judged = bench.judged("I1")
    assert judged.keys() == {"A"}
    assert judged["A"].state == "UnavailableOffline"
    assert judged["A"].conditions == (conditions.link_down("I1"),)


def test_a_system_that_is_given_back_is_spoken_of_no_more() -> None:
    bench = Bench()
    bench.fails("Absent", "D1")
    bench.index.remove_composition("A")
    bench.health.touched("A")
    assert bench.judged() == {"A": Judged("A", None, (), there=False)}
    assert bench.graph.rollup("A") is Health.OK
    assert bench.fails("Absent", "C-M1.0") == {}


def test_a_system_that_gives_a_block_back_does_not_suffer_from_it_any_more() -> None:
    bench = Bench()
    bench.fails("Absent", "D1")
    a = bench.index.compositions["A"]
    blocks = tuple(each for each in a.blocks if each != "b-D1")
    bench.index.put_composition(Composition("A", a.host, blocks, a.holdings))
    bench.health.touched("A")
    assert bench.judged() == {"A": Judged("A", None, ())}


def test_a_physical_host_that_was_given_more_keeps_its_own_state() -> None:
    index = a_fabric(hosts=1, slds=1)
    index.put_block(Block("b-D1", frozenset({BlockType.PROCESSOR}), units=frozenset({"D1"})))
    index.put_zone(zone("z", "I1", "T-D1"))
    bound(index, "z", 1, "D1", 0)
    index.put_composition(Composition("H1", "H1", ("b-D1",), frozenset({"z"}), expands=True))
    judged = Bench(index).fails("Absent", "D1")
    assert judged == {"H1": Judged("H1", None, (conditions.absent("D1"),))}


def expanded(index: FabricIndex) -> FabricIndex:
    """Let what A has be given to its host in place."""
    system = index.compositions["A"]
    index.remove_composition("A")
    blocks = tuple(each for each in system.blocks if not index.blocks[each].computes)
    index.put_composition(replace(system, id="H1", host="H1", blocks=blocks, expands=True))
    return index


def test_a_physical_host_with_a_copy_left_is_warned_and_no_more() -> None:
    bench = Bench(expanded(mirrored(a_pod())))
    assert bench.fails("Absent", "C-M2.0") == {"H1": Judged("H1", None, ())}
    assert bench.graph.rollup("H1") is Health.WARNING
    assert bench.fails("Absent", "C-M1.0")["H1"].conditions
    assert bench.graph.rollup("H1") is Health.CRITICAL


def test_the_host_of_a_composed_system_feels_what_that_feels() -> None:
    bench = Bench(mirrored(a_pod()))
    bench.fails("Absent", "C-M2.0")
    assert bench.graph.rollup("H1") is Health.WARNING
    bench.index.remove_composition("A")
    bench.health.touched("A")
    bench.judged()
    assert bench.graph.rollup("H1") is Health.OK
    assert not bench.graph.depends("H1")


@pytest.mark.parametrize("others", [2, 40])
def test_what_fails_costs_who_has_it_and_not_who_there_is(others: int) -> None:
    index = a_pod()
    for number in range(others):
        name = f"X{number}"
        index.put_connection(connection(f"c-{name}", "I3", ["T-M1.3"], "C-M1.3"))
        index.put_composition(Composition(name, "H3", (), frozenset({f"c-{name}"})))
    bench = Bench(index)
    work = bench.graph.work
    assert bench.fails("Absent", "D1").keys() == {"A"}
    assert bench.graph.work - work < 20


def told(judged: Mapping[str, Judged]) -> dict[str, str | None]:
    return {uri: each.state for uri, each in judged.items()}


def test_an_appliance_that_fails_is_felt_by_all_who_have_a_part_of_it_and_by_no_other() -> None:
    bench = Bench()
    for part in ("C-M1.0", "C-M1.1"):
        bench.states[part] = "Absent"
        bench.graph.set_own(part, [conditions.absent("M1")])
    judged = bench.judged(*bench.graph.take_changed())
    assert told(judged) == {"A": "UnavailableOffline", "B": "UnavailableOffline"}
    assert {c.origin for each in judged.values() for c in each.conditions} == {"M1"}


@pytest.mark.parametrize(
    ("block", "shown"), [("b-H3", "Unused"), ("b-D3", "Unavailable"), ("b-M2", "Unavailable")]
)
def test_a_host_that_is_off_is_there_to_be_composed_and_a_device_is_not(
    block: str, shown: str
) -> None:
    index = a_pod()
    index.remove_composition("A")
    found = block_shown(index, block, {"State": "StandbyOffline"}, lambda _: None)
    assert found is not None
    assert found["CompositionStatus"]["CompositionState"] == shown


def over_a_chain() -> FabricIndex:
    """System A has D9 on a switch below SW as well, by the port "far/F1"; system B is elsewhere."""
    index = a_pod()
    for host in ("H1", "H2"):
        fact = VcsFact("F", "far", f"V-{host}", host, 4, 2, f"far/{host}", through="SW")
        index.put_vcs(fact)
    target = BindTarget("far", "p")
    put_target(index, Unit("D9", "F", Binder.ZONE, target=target))
    processor = frozenset({BlockType.PROCESSOR})
    switches = (("F", "far"),)
    index.put_block(Block("b-D9", processor, units=frozenset({"D9"}), switches=switches))
    a = index.compositions["A"]
    index.put_composition(replace(a, blocks=(*a.blocks, "b-D9")))
    vppb = VppbId("far", "V-H1", 0)
    index.put_binding(Binding("F", "D9", "H1", vppb, target, frozenset({"zA"})))
    return index


def cut(bench: Bench, port: str) -> dict[str, Judged]:
    return bench.fails("UnavailableOffline", port, **{port: conditions.link_down(port)})


def test_a_link_that_is_cut_degrades_who_has_something_behind_it() -> None:
    judged = cut(Bench(over_a_chain()), "far/H1")
    assert judged == {"A": Judged("A", "Degraded", (conditions.link_down("far/H1"),))}


def test_a_link_by_which_others_come_in_is_nothing_to_a_system() -> None:
    assert cut(Bench(over_a_chain()), "far/H2") == {}


def test_a_link_that_is_cut_and_costs_nothing_is_not_told() -> None:
    index = over_a_chain()
    index.remove_binding(VppbId("far", "V-H1", 0))
    assert cut(Bench(index), "far/H1") == {"A": Judged("A", None, ())}


def test_a_link_that_is_back_is_not_told_any_more() -> None:
    bench = Bench(over_a_chain())
    cut(bench, "far/H1")
    bench.states["far/H1"] = "Enabled"
    bench.graph.set_own("far/H1")
    assert bench.judged("far/H1") == {"A": Judged("A", None, ())}


def test_a_link_behind_which_a_system_has_nothing_any_more_is_not_its_own() -> None:
    bench = Bench(over_a_chain())
    a = bench.index.compositions["A"]
    bench.index.put_composition(replace(a, blocks=a.blocks[:-1]))
    bench.index.remove_binding(VppbId("far", "V-H1", 0))
    bench.health.touched("A")
    bench.judged()
    assert cut(bench, "far/H1") == {}
