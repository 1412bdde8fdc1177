"""How far switches are from a host."""

from redfish_fm.fabric.binding_index import VcsFact
from redfish_fm.fabric.paths import HOP_NS, by_id, link_mb_s, ways_of


def vcs(
    switch: str,
    *,
    name: str = "V",
    hops: int = 1,
    latency: int | None = 100,
    through: str | None = None,
    mb_s: int | None = 1000,
) -> VcsFact:
    return VcsFact(
        "F", switch, name, "H", 4, hops, latency_ns=latency, bandwidth_mb_s=mb_s, through=through
    )


def test_a_link_carries_what_its_lanes_do() -> None:
    assert link_mb_s(5, 16) == 63_008
    assert link_mb_s(4, 4) == 7_876
    assert link_mb_s(9, 16) is None


def test_a_host_comes_in_at_its_own_switch() -> None:
    way = ways_of([vcs("s1")])["F", "s1"]
    assert (way.root, way.hops, way.latency_ns) == (("F", "s1"), 1, 100)
    assert way.uplinks == (("F", "s1"),)


def test_a_chain_adds_up_and_uses_every_link() -> None:
    facts = [vcs("s3", hops=3, through="s2"), vcs("s1"), vcs("s2", hops=2, through="s1")]
    way = ways_of(facts)["F", "s3"]
    assert (way.root, way.hops, way.latency_ns) == (("F", "s1"), 3, 300)
    assert way.uplinks == (("F", "s1"), ("F", "s2"), ("F", "s3"))


def test_a_link_between_switches_has_one_name_from_both_ends() -> None:
    down = ways_of([vcs("s1"), vcs("s2", hops=2, through="s1")])["F", "s2"]
    up = ways_of([vcs("s2"), vcs("s1", hops=2, through="s2")])["F", "s1"]
    assert down.link == up.link is not None


def test_the_link_of_a_host_is_shared_with_nobody() -> None:
    assert ways_of([vcs("s1"), vcs("s2", hops=2, through="s1")])["F", "s1"].link is None
    assert ways_of([vcs("s2", hops=2, through="s1")])["F", "s2"].link is None


def test_a_hop_that_nobody_tells_of_counts_as_a_switch() -> None:
    assert ways_of([vcs("s1", latency=None)])["F", "s1"].latency_ns == HOP_NS
    assert ways_of([vcs("s1", hops=2)])["F", "s1"].latency_ns == 100 + HOP_NS


def test_of_two_ways_to_a_switch_the_shorter_is_taken() -> None:
    far, near = vcs("s1", name="A", hops=2), vcs("s1", name="B", latency=90)
    assert ways_of([far, near])["F", "s1"].latency_ns == 90


def test_switches_that_name_each_other_do_not_go_on_for_ever() -> None:
    ways = ways_of([vcs("s1", through="s2"), vcs("s2", through="s1")])
    assert ways["F", "s1"].latency_ns == 200


def test_switches_come_in_the_order_of_their_numbers() -> None:
    assert [switch for _, switch in ways_of([vcs("s10"), vcs("s9")])] == ["s9", "s10"]
    assert sorted(["g10", "g9"], key=by_id) == ["g9", "g10"]
