"""What `uplinks` of a topology become: ports at both ends, and a virtual switch for each host."""

import pytest
from hypothesis import given

from redfish_fm.drivers.virtual import chain_layout
from redfish_fm.drivers.virtual.topology import TopologyError, read
from redfish_fm.fabric.inventory import defects
from redfish_fm.fabric.model import Inventory, PortRole
from tests.drivers.chains import CHAIN, PEERS, cables, inventory, joined_fabrics


def ends(fabric: Inventory) -> dict[str, str]:
    return {
        f"{port.id.switch}/{port.id.port}": f"{port.peer.switch}/{port.peer.port}"
        for switch in fabric.switches
        for port in switch.ports
        if port.peer is not None
    }


def ways(fabric: Inventory, switch: str) -> dict[str | None, tuple[str, str | None]]:
    """Return host -> the port by which it comes in at a switch, and through which other one."""
    (found,) = [each for each in fabric.switches if each.id == switch]
    return {vcs.host: (vcs.upstream_port, vcs.through) for vcs in found.virtual_switches}


def problems(text: str) -> list[tuple[str, int | None, str]]:
    with pytest.raises(TopologyError) as error:
        read(text, "test")
    return [(each.path, each.line, each.text) for each in error.value.problems]


def fabric_of(*switches: str, protocol: str = "PCIe") -> str:
    head = f"name: t\nhosts: [{{id: h1}}]\nfabrics:\n- id: F\n  protocol: {protocol}\n  switches:\n"
    return head + "".join(f"  - {{{each}}}\n" for each in switches)


def test_a_link_has_a_port_at_either_end() -> None:
    fabric = inventory()
    found = ends(fabric)
    assert found["leaf1/F1"] == "top/F1"
    assert found["deep/F1"] == "leaf1/F3"
    assert all(found[there] == here for here, there in found.items())
    assert len(found) == 10


def test_a_port_to_another_switch_is_of_a_role_of_its_own() -> None:
    ports = [port for switch in inventory().switches for port in switch.ports]
    joins = [port for port in ports if port.role is PortRole.INTERSWITCH]
    assert joins == [port for port in ports if port.peer is not None]
    assert {(port.host, port.device) for port in joins} == {(None, None)}


def test_a_link_is_what_the_file_says_at_both_ends() -> None:
    (top, leaf, *_) = inventory().switches
    by_name = {port.id.port: port.link for switch in (top, leaf) for port in switch.ports}
    assert (by_name["F1"].gen, by_name["F1"].lanes, by_name["F1"].latency_ns) == (5, 8, 120)


def test_one_cable_leads_from_switch_to_switch() -> None:
    ports = [port for switch in inventory().switches for port in switch.ports if port.peer]
    assert [port.cable is not None for port in ports].count(True) == len(ports) // 2
    assert all(port.cable is None for port in ports if port.id.switch == "top")


def test_a_host_comes_in_at_a_switch_below_by_way_of_its_own() -> None:
    assert ways(inventory(), "top") == {"host1": ("U1", None), "host2": ("U2", None)}
    assert ways(inventory(), "deep") == {"host1": ("F1", "leaf1"), "host2": ("F1", "leaf1")}


def test_links_side_by_side_have_their_hosts_dealt() -> None:
    assert ways(inventory(), "leaf1") == {"host1": ("F1", "top"), "host2": ("F2", "top")}


def test_a_host_has_as_many_vppbs_as_the_switch_says_wherever_it_comes_in() -> None:
    counts = {
        switch.id: {vcs.vppb_count for vcs in switch.virtual_switches}
        for switch in inventory().switches
    }
    assert counts == {"top": {16}, "leaf1": {4}, "leaf2": {4}, "deep": {16}}


def test_hosts_of_either_switch_reach_the_other() -> None:
    fabric = inventory(PEERS)
    assert ways(fabric, "left") == {"host1": ("U1", None), "host2": ("F1", "right")}
    assert ways(fabric, "right") == {"host2": ("U1", None), "host1": ("F1", "left")}


def test_a_host_that_is_cabled_itself_does_not_come_in_by_a_link() -> None:
    text = fabric_of("id: a", "id: b, uplinks: [{to: a}]")
    assert ways(inventory(text), "b") == {"h1": ("U1", None)}


@pytest.mark.parametrize(
    ("one", "other", "through"),
    [
        ("latency_ns: 100", "latency_ns: 90", "b"),
        ("latency_ns: 90", "latency_ns: 100", "a"),
        ("latency_ns: 100", "latency_ns: 100", "a"),
        ("gen: 5", "latency_ns: 116", "a"),
        ("gen: 5", "latency_ns: 114", "b"),
    ],
)
def test_of_two_ways_with_as_many_links_the_faster_is_taken(
    one: str, other: str, through: str
) -> None:
    below = f"id: c, hosts: [], uplinks: [{{to: a, link: {{{one}}}}}, {{to: b, link: {{{other}}}}}]"
    assert ways(inventory(fabric_of("id: a", "id: b", below)), "c")["h1"][1] == through


def test_of_two_ways_with_as_many_links_the_latency_of_the_host_s_own_counts() -> None:
    slow, fast = "host_link: {latency_ns: 90}", "host_link: {latency_ns: 80}"
    below = "id: c, hosts: [], uplinks: [{to: a}, {to: b}]"
    text = fabric_of(f"id: a, {slow}", f"id: b, {fast}", below)
    assert ways(inventory(text), "c")["h1"][1] == "b"


def test_the_way_with_fewer_links_is_taken_however_slow() -> None:
    text = fabric_of(
        "id: a", "id: b, hosts: [], uplinks: [{to: a, link: {latency_ns: 1}}]",
        "id: c, hosts: [], uplinks: [{to: b, link: {latency_ns: 1}}, {to: d}]",
        "id: d, host_link: {latency_ns: 900}",
    )  # fmt: skip
    assert ways(inventory(text), "c")["h1"][1] == "d"


def test_a_switch_may_be_named_before_it_is_described() -> None:
    text = fabric_of("id: b, hosts: [], uplinks: [{to: a}]", "id: a")
    assert ways(inventory(text), "b") == {"h1": ("F1", "a")}


def test_what_no_host_is_joined_to_is_reached_by_nobody() -> None:
    text = fabric_of("id: a", "id: b, hosts: []", "id: c, hosts: [], uplinks: [{to: b}]")
    assert ways(inventory(text), "c") == {}


@given(joined_fabrics())
def test_a_drawn_chain_is_sound_and_everybody_reaches_all_that_is_joined(text: str) -> None:
    fabric = inventory(text)
    assert defects(fabric) == []
    tree = {switch.id: {switch.id} for switch in fabric.switches}
    for here, there in ends(fabric).items():
        both = tree[here.partition("/")[0]] | tree[there.partition("/")[0]]
        tree.update(dict.fromkeys(both, both))
    cabled = {
        switch.id: {port.host for port in switch.ports if port.host} for switch in fabric.switches
    }
    for name, members in tree.items():
        assert ways(fabric, name).keys() == set().union(*(cabled[each] for each in members))
    for vcs in (vcs for switch in fabric.switches for vcs in switch.virtual_switches):
        assert cables(fabric, vcs)[-1].host == vcs.host


# -- what can not be -----------------------------------------------------------------------------

WRONG = [
    ("to: z", "fabrics[0].switches[1].uplinks[0].to", "there is no switch z in this fabric"),
    ("to: b", "fabrics[0].switches[1].uplinks[0].to", "b can not be joined to itself"),
    ("to: a, count: 0", "fabrics[0].switches[1].uplinks[0].count", "Expected `int` >= 1"),
    ("to: a, count: 17", "fabrics[0].switches[1].uplinks[0].count", "Expected `int` <= 16"),
    ("count: 1", "fabrics[0].switches[1].uplinks[0].to", "missing"),
    ("to: a, wat: 1", "fabrics[0].switches[1].uplinks[0].wat",
     "unknown; known here: count, link, to"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "path", "text"), WRONG)
def test_a_link_that_can_not_be_is_refused_at_its_word(words: str, path: str, text: str) -> None:
    found = problems(fabric_of("id: a", f"id: b, uplinks: [{{{words}}}]"))
    assert found == [(path, 8, text)]


def test_two_switches_are_joined_once() -> None:
    twice = "a and b are joined already; count says how many links there are"
    found = problems(fabric_of("id: a, uplinks: [{to: b}]", "id: b, uplinks: [{to: a}]"))
    assert found == [
        ("fabrics[0].switches[1].uplinks[0].to", 8, twice.replace("a and b", "b and a"))
    ]
    found = problems(fabric_of("id: b", "id: a, uplinks: [{to: b}, {to: b}]"))
    assert found == [("fabrics[0].switches[1].uplinks[1].to", 8, twice)]


def test_a_loop_is_refused_with_the_way_that_there_is_already() -> None:
    found = problems(
        fabric_of("id: a", "id: b, uplinks: [{to: a}]", "id: c, uplinks: [{to: b}, {to: a}]")
    )
    told = "c and a would close a loop: c - b - a"
    assert found == [("fabrics[0].switches[2].uplinks[1].to", 9, told)]


def test_a_ring_of_a_group_is_refused() -> None:
    found = problems(
        fabric_of("id: 'r{n}', count: 2, uplinks: [{to: a}, {to: b}]", "id: a", "id: b")
    )
    assert [text for *_, text in found] == ["r2 and b would close a loop: r2 - a - r1 - b"]


def test_every_wrong_link_is_told_at_once() -> None:
    found = problems(
        fabric_of(
            "id: a, uplinks: [{to: z}]",
            "id: b, uplinks: [{to: b}, {to: a}]",
            "id: c, uplinks: [{to: a}, {to: b}]",
        )
    )
    assert [(path, line) for path, line, _ in found] == [
        ("fabrics[0].switches[0].uplinks[0].to", 7),
        ("fabrics[0].switches[1].uplinks[0].to", 8),
        ("fabrics[0].switches[2].uplinks[1].to", 9),
    ]


def test_switches_of_a_cxl_fabric_can_not_be_joined() -> None:
    ((path, line, text),) = problems(
        fabric_of("id: a", "id: b, uplinks: [{to: a}]", protocol="CXL")
    )
    assert (path, line) == ("fabrics[0].switches[1].uplinks[0]", 8)
    assert text.startswith("a CXL 2.0 switch has none below it, and CXL 3 fabrics (PBR)")


def test_a_switch_with_too_many_links_is_refused() -> None:
    found = problems(fabric_of("id: a", "id: 'b{n}', count: 17, uplinks: [{to: a, count: 16}]"))
    assert found == [
        ("fabrics[0].switches[1].uplinks[0]", 8, "a would get 272 ports; a switch has 256 at most")
    ]


def test_links_that_are_too_many_with_all_else_are_refused() -> None:
    found = problems(
        fabric_of("id: a, spare_ports: 200", "id: 'b{n}', count: 4, uplinks: [{to: a, count: 15}]")
    )
    assert [text for *_, text in found] == ["a would have 261 ports; a switch has 256 at most"]


def test_more_virtual_switches_than_can_be_are_not_laid_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chain_layout, "SIZE_MAX", 7)
    assert [text for *_, text in problems(CHAIN)] == ["8 virtual switches; there are 7 at most"]
    monkeypatch.setattr(chain_layout, "SIZE_MAX", 8)
    assert inventory()
