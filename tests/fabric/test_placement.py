"""Placement as a whole: as good as trying everything, and never what it must not be."""

from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from redfish_fm.fabric.placement import place
from redfish_fm.fabric.placement_values import (
    ComputeWish,
    MemoryPolicy,
    MemoryWish,
    Placement,
    Request,
    Wish,
)
from tests.fabric.naive_placement import Naive, naive_place
from tests.fabric.pods import GIB, X16_MB_S, Pod

SWITCHES = ("s1", "s2", "s3")
NOW_S = 50.0


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """Up to three hosts, three switches (one may be chained), eight devices, three appliances."""
    pod = Pod()
    latencies = st.sampled_from([50, 100])
    widths = st.sampled_from([X16_MB_S, 2 * X16_MB_S])
    for number in range(draw(st.integers(1, 3))):
        name = f"H{number}"
        cores = draw(st.sampled_from([32, 64]))
        pod.host(name, cores=cores)
        for switch in draw(st.lists(st.sampled_from(SWITCHES), min_size=2, unique=True)):
            chained = switch == "s3" and draw(st.booleans())
            through = "s1" if chained and ("s1", f"V-{name}") in pod.index.vcss else None
            pod.way(
                name,
                switch,
                through=through,
                vppbs=draw(st.sampled_from([1, 4, 8, 8])),
                latency=draw(latencies),
                mb_s=draw(widths),
            )
    names = []
    for number in range(draw(st.integers(4, 8))):
        names.append(f"d{number}")
        pod.devices(
            draw(st.sampled_from(SWITCHES)),
            names[-1],
            kind=draw(st.sampled_from(["GPU", "GPU", "NVMe"])),
            model=draw(st.sampled_from(["A", "B"])),
            capacity=draw(st.sampled_from([40 * GIB, 80 * GIB])),
            latency=draw(st.sampled_from([0, 30])),
            mb_s=draw(st.sampled_from([X16_MB_S // 4, X16_MB_S])),
            domain=draw(st.sampled_from([None, "x", "y", "z"])),
        )
    for number in range(draw(st.integers(0, 3))):
        name = f"m{number}"
        pod.appliance(
            draw(st.sampled_from(SWITCHES)),
            name,
            draw(st.integers(2, 8)) * GIB,
            step=draw(st.sampled_from([GIB, 2 * GIB])),
            parts=draw(st.integers(1, 4)),
            latency=draw(st.sampled_from([100, 140])),
            domain=draw(st.sampled_from([None, "x", "y"])),
        )
    _happenings(draw, pod, names)
    return pod


def _happenings(draw: st.DrawFn, pod: Pod, names: list[str]) -> None:
    some = st.sets(st.sampled_from(names), max_size=2)
    composed = draw(some)
    pod.composed("other", draw(st.sampled_from(["H0", "X"])), *sorted(composed))
    if draw(st.booleans()):
        pod.index.remove_composition("other")
    pod.reserved("r", *sorted(draw(some)), until=draw(st.sampled_from([40.0, 60.0])))
    pod.zoned("z", *(f"T-{name}" for name in sorted(draw(some))))
    pod.lost(*sorted(draw(some)))
    pools = sorted(pod.index.pools)
    if pools and draw(st.booleans()):
        pod.carved(draw(st.sampled_from(pools)).partition("/")[0], 0, 2 * GIB)


WISHES = st.builds(
    Wish,
    kind=st.sampled_from(["GPU", "GPU", "NVMe"]),
    count=st.sampled_from([1, 1, 2, 3]),
    model=st.sampled_from([None, None, "A", "B"]),
    capacity_mib_min=st.sampled_from([0, 0, 60 * GIB]),
    latency_ns_max=st.sampled_from([None, None, 100]),
    same_switch=st.sampled_from([False, False, True]),
    spread=st.sampled_from([False, False, True]),
)
MEMORY = st.builds(
    MemoryWish,
    capacity_mib=st.sampled_from([GIB, 2 * GIB, 3 * GIB]),
    count=st.sampled_from([1, 1, 2]),
    policy=st.sampled_from(MemoryPolicy),
    latency_ns_max=st.sampled_from([None, None, 200]),
)
REQUESTS = st.builds(
    Request,
    compute=st.builds(ComputeWish, core_count_min=st.sampled_from([0, 0, 40])),
    devices=st.lists(WISHES, max_size=2).map(tuple),
    memory=st.lists(MEMORY, max_size=2).map(tuple),
    latency_ns_max=st.sampled_from([None, None, 250]),
    allow_overprovisioning=st.booleans(),
    reservation=st.sampled_from([None, "r"]),
    among=st.sampled_from(
        [
            None,
            None,
            None,
            frozenset({*(f"b-d{n}" for n in range(0, 8, 2)), "b-H0", "b-H1", "b-m0"}),
        ]
    ),
)


def _named(request: Request) -> Request:
    """Return the request with a name for each wish, to find its parts by."""
    devices = tuple(replace(each, name=f"d{n}") for n, each in enumerate(request.devices))
    memory = tuple(replace(each, name=f"m{n}") for n, each in enumerate(request.memory))
    return replace(request, devices=devices, memory=memory)


@given(pod=pods(), request=REQUESTS.map(_named))
def test_placement_finds_what_trying_everything_finds(pod: Pod, request: Request) -> None:
    _as_by_definition(pod, request)


@pytest.mark.soak
@pytest.mark.timeout(900)
@settings(max_examples=5_000)
@given(pod=pods(), request=REQUESTS.map(_named))
def test_placement_finds_it_in_thousands_of_pods(pod: Pod, request: Request) -> None:
    _as_by_definition(pod, request)


def _as_by_definition(pod: Pod, request: Request) -> None:
    expected = naive_place(pod, request, NOW_S)
    found = place(pod.index, request, now_s=NOW_S, status=pod.status)
    event("refused" if expected is None else "placed")
    if expected is None:
        assert not isinstance(found, Placement)
        return
    assert isinstance(found, Placement), found
    host, chosen = expected
    parts = [
        tuple((cut.block, cut.size_mib) for cut in found.cuts if cut.wish == wish.name)
        for wish in request.memory
    ]
    assert (found.host, [*found.devices, *parts]) == (host, chosen)


@given(pod=pods(), request=REQUESTS.map(_named))
def test_what_is_placed_can_be_had(pod: Pod, request: Request) -> None:
    found = place(pod.index, request, now_s=NOW_S, status=pod.status)
    if not isinstance(found, Placement):
        assert found.unmet
        return
    view = Naive(pod, request, found.host, NOW_S)
    blocks = [pod.index.blocks[name] for name in found.blocks]
    assert len({*found.blocks}) == len(found.blocks)
    for block in blocks:
        assert block.switches[0][1] in view.facts
        assert view.untouched(block) and (block.sharing or not view.held(block))
        assert view.far_ns(block) <= found.latency_ns
    if request.latency_ns_max is not None:
        assert found.latency_ns <= request.latency_ns_max
    assert [len(each) for each in found.devices] == [wish.count for wish in request.devices]


@given(pod=pods(), request=REQUESTS)
def test_a_preview_answers_as_the_request_itself_will(pod: Pod, request: Request) -> None:
    answers = [place(pod.index, request, now_s=NOW_S, status=pod.status) for _ in range(2)]
    assert answers[0] == answers[1]


@given(pod=pods(), request=REQUESTS)
def test_the_answer_does_not_depend_on_how_the_index_came_about(pod: Pod, request: Request) -> None:
    before = place(pod.index, request, now_s=NOW_S, status=pod.status)
    index = pod.index
    for name in sorted(index.blocks, reverse=True):
        block = index.blocks[name]
        index.remove_block(name)
        place(index, Request(), now_s=NOW_S, status=pod.status)
        index.put_block(block)
    pod.composed("late", "X", "d0", "d1").zoned("late", "T-d2").reserved("late", "d3")
    place(index, Request(), now_s=NOW_S, status=pod.status)
    index.remove_composition("late")
    index.remove_zone("late")
    index.remove_reservation("late")
    assert place(index, request, now_s=NOW_S, status=pod.status) == before
