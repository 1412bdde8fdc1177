"""PATCH of the QoS of a logical device: what makes no sense, and what others leave."""

from dataclasses import replace

import pytest

from redfish_fm.fabric.model import BindTarget
from tests.mapping.builders import MemoryTip, a_tip
from tests.mapping.test_writes import refusal

LDS = "/redfish/v1/Chassis/mem2/PCIeDevices/mem2/CXLLogicalDevices"
LD0, LD1 = f"{LDS}/0", f"{LDS}/1"


@pytest.fixture
def tip() -> MemoryTip:
    tip = a_tip()
    for number, uri in enumerate((LD0, LD1)):
        tip.facts.qos_targets[uri] = ("pod", BindTarget("pod-sw", "37", number))
    return tip


def give(tip: MemoryTip, uri: str, **qos: int | None) -> None:
    tip.patch(uri, {"QoS": qos})


BOTH = ("Base.PropertyValueConflict", "QoS/LimitPercent", "QoS/AllocatedBandwidth",
        "#/QoS/LimitPercent", "#/QoS/AllocatedBandwidth")  # fmt: skip


def test_nothing_is_guaranteed_beyond_its_own_limit(tip: MemoryTip) -> None:
    with refusal(400, *BOTH):
        give(tip, LD0, AllocatedBandwidth=50, LimitPercent=20)
    with refusal(400, *BOTH):
        give(tip, LD0, AllocatedBandwidth=1, LimitPercent=0)
    assert tip.overlays == {}
    for allocated, limit in ((50, 50), (0, 0), (100, 100), (20, 80)):
        give(tip, LD0, AllocatedBandwidth=allocated, LimitPercent=limit)


def test_what_an_earlier_request_said_counts(tip: MemoryTip) -> None:
    give(tip, LD0, AllocatedBandwidth=50)
    before = dict(tip.overlays)
    with refusal(400, *BOTH):
        give(tip, LD0, LimitPercent=49)
    assert tip.overlays == before
    give(tip, LD0, LimitPercent=60)
    with refusal(400, *BOTH):
        give(tip, LD0, AllocatedBandwidth=61)
    give(tip, LD0, AllocatedBandwidth=61, LimitPercent=None)


def test_a_guarantee_beyond_its_limit_and_beyond_the_device_are_told_together(
    tip: MemoryTip,
) -> None:
    give(tip, LD0, AllocatedBandwidth=60)
    with refusal(400, *BOTH, "Base.PropertyValueResourceConflict", LD0):
        give(tip, LD1, AllocatedBandwidth=50, LimitPercent=20)
    with refusal(409, "Base.PropertyValueResourceConflict", LD0):
        give(tip, LD1, AllocatedBandwidth=50, LimitPercent=70)


def test_an_old_wish_that_makes_no_sense_can_be_repeated_and_mended(tip: MemoryTip) -> None:
    give(tip, LD0, AllocatedBandwidth=50, LimitPercent=80)
    wish = tip.index.bandwidth.wishes[LD0]
    tip.overlays[LD0] = b'{"QoS":{"AllocatedBandwidth":50,"LimitPercent":20}}'
    tip.index.bandwidth.put(replace(wish, qos=replace(wish.qos, limit=20)))
    give(tip, LD0, LimitPercent=20)
    give(tip, LD0, LimitPercent=50)
