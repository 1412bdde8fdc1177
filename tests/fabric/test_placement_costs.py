"""What placement looks at does not grow with the fabric; big pools stay fast."""

from dataclasses import replace

import pytest

from redfish_fm.fabric import placement_search
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.placement_values import MemoryPolicy, MemoryWish, Placement, Rejections, Wish
from redfish_fm.fabric.stocktaking import settle
from tests.fabric.pods import GIB, Pod

DRAWER = 10 * 1024 * GIB
STEP = 8 * GIB


def racks(count: int) -> Pod:
    """So many racks: each with a switch, 2 hosts, 16 GPUs, 4 drives and an appliance."""
    pod = Pod()
    for number in range(count):
        switch = f"s{number}"
        for host in range(2):
            pod.host(f"H{number}-{host}", switch, vppbs=32)
        pod.devices(switch, *(f"g{number}-{each}" for each in range(16)))
        pod.devices(switch, *(f"n{number}-{each}" for each in range(4)), kind="NVMe")
        pod.appliance(switch, f"m{number}", 64 * GIB, parts=4, domain=f"d{number % 4}")
    settle(pod.index)
    return pod


def costs(count: int) -> dict[str, int]:
    """Return the work of each kind of request, with some of the racks in use."""
    pod = racks(count)
    pod.composed("S1", "H0-0", "g0-0", "g0-1").zoned("z", "T-g0-2").carved("m0", 0, GIB)
    pod.reserved("r", "g0-3", "H1-0")
    found = {}
    for name, wishes in REQUESTS.items():
        settle(pod.index)
        before = pod.index.work
        pod.ask(*wishes)
        found[name] = pod.index.work - before
    before = pod.index.work
    pod.composed("S2", "H1-1", *(f"g1-{each}" for each in range(8)))
    settle(pod.index)
    found["keeping the shelves"] = pod.index.work - before
    return found


REQUESTS: dict[str, tuple[Wish | MemoryWish, ...]] = {
    "one device": (Wish("GPU"),),
    "eight of one switch": (Wish("GPU", 8, same_switch=True),),
    "devices and memory": (Wish("GPU", 8), Wish("NVMe", 2), MemoryWish(16 * GIB, 2)),
    "too many": (Wish("GPU", 17),),
    "no such model": (Wish("GPU", 1, model="Z"),),
    "too much memory": (MemoryWish(65 * GIB),),
    "mirrors that no host reaches": (MemoryWish(GIB, policy=MemoryPolicy.MIRRORED),),
}


def test_every_request_costs_the_same_at_any_size() -> None:
    small, big = costs(40), costs(320)
    assert small == big
    assert min(small.values()) > 0


@pytest.mark.soak
def test_every_request_costs_the_same_at_100_000_endpoints() -> None:
    assert costs(40) == costs(3_900)


def test_endpoints_of_the_cost_tests_are_as_many_as_they_say() -> None:
    each = len(racks(2).index.endpoints) - len(racks(1).index.endpoints)
    assert each * 40 >= 1_000
    assert each * 3_900 >= 100_000


def test_a_refusal_does_not_try_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    # Three pairs fit on no two switches of three devices each, but the flow does not see that.
    pod = Pod().host("H", "s1", "s2")
    for number in range(3):
        pod.devices("s1", f"a{number}", model=f"A{number}")
        pod.devices("s2", f"b{number}", model=f"B{number}")
    tries: list[object] = []
    real = placement_search.take
    monkeypatch.setattr(placement_search, "take", lambda *args: tries.append(real(*args)))
    pair = Wish("GPU", 2, same_switch=True)
    every = len(pod.refused(pair, pair, pair).unmet), len(tries)
    tries.clear()
    monkeypatch.setattr(placement_search, "TRIES_MAX", 7)
    assert every[0] == len(pod.refused(pair, pair, pair).unmet) == 1
    assert len(tries) == 7 < every[1]


def a_pool_of_100_tb(parts: int) -> Pod:
    pod = Pod().host("H", "s1", "s2", vppbs=20_000)
    for number in range(10):
        pod.dynamic(f"s{1 + number % 2}", f"A{number}", DRAWER, lds=1, regions=parts)
    return pod


def test_a_pool_of_100_tb_is_given_out_in_steps_of_8_gib_to_the_last() -> None:
    # 12,800 parts: each request looks at the drawers, not at what was cut out of them.
    pod = a_pool_of_100_tb(DRAWER // STEP)
    last, most = _fill(pod, 10 * DRAWER // (64 * STEP)), 0
    assert last
    settle(pod.index)
    before = pod.index.work
    assert not isinstance(pod.ask(MemoryWish(STEP, 1)), Placement)
    most = pod.index.work - before
    fresh = a_pool_of_100_tb(DRAWER // STEP)
    settle(fresh.index)
    before = fresh.index.work
    assert isinstance(fresh.ask(MemoryWish(STEP, 1)), Placement)
    assert most < 3 * (fresh.index.work - before)


def _fill(pod: Pod, requests: int) -> bool:
    """Take 64 steps at a time until nothing is left; return whether all could be had."""
    numbers: dict[str, int] = {}
    for _ in range(requests):
        found = pod.ask(MemoryWish(STEP, 64))
        if not isinstance(found, Placement):
            return False
        for cut in found.cuts:
            number = numbers[cut.pool] = numbers.get(cut.pool, -1) + 1
            pod.region(cut.pool, 0, number, cut.size_mib)
    return True


def test_a_look_is_shared_by_what_is_alike() -> None:
    pod = racks(12)
    assert len(_looks(pod.index)) == 4  # One for each failure domain.
    pod.composed("S", "X", "g0-0")
    settle(pod.index)
    assert len(_looks(pod.index)) == 5


def _looks(index: FabricIndex) -> list[object]:
    return list(index.shelves.looks())


@pytest.mark.parametrize(
    ("name", "parts", "pool", "wish"),
    [
        ("more parts than there are", 16, 64 * GIB, MemoryWish(GIB)),
        ("more capacity than there is", 32, 36 * GIB, MemoryWish(2 * GIB)),
    ],
)
def test_many_wishes_that_can_not_be_met_together_are_refused_at_once(
    name: str, parts: int, pool: int, wish: MemoryWish
) -> None:
    pod = Pod().host("H", "s1", vppbs=64)
    for number in range(2):
        pod.appliance("s1", f"A{number}", pool // 2, parts=parts // 2, domain=f"d{number}")
    asked = [replace(wish, name=str(number)) for number in range(20)]
    settle(pod.index)
    before = pod.index.work
    assert isinstance(pod.ask(*asked), Rejections), name
    # Trying every way would be thousands of looks at the appliances.
    assert pod.index.work - before < 500
