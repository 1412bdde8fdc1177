"""A first look goes in parts of bounded work, however big the fabric is (decision 0011)."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import redfish_fm
from redfish_fm.drivers.virtual.topology import load
from redfish_fm.fabric.model import Observation
from redfish_fm.mapping import observed
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.mapping.observed import ObservedFabric
from redfish_fm.mapping.sights import FabricSight
from redfish_fm.mapping.statuses import Statuses
from redfish_fm.redfish.changes import Edit, Space
from tests.drivers.fabrics import MOCKUPS
from tests.mapping.builders import MemoryTip, a_tip, zone_body
from tests.mapping.manifest import look
from tests.mapping.test_observed import GPU, H1, POD, ZONE, Watcher, seen

PACKAGE = str(Path(redfish_fm.__file__).parent)


@cache
def a_fabric(gpus: int) -> tuple[MemoryTip, Observation]:
    """Return a PCIe fabric of so many GPUs, and a look at it."""
    name = f"scale:hosts=4,gpus={gpus},switches=4,memory=4"
    inventories = load(name, MOCKUPS).inventories()
    found = render_inventories(inventories)
    (pcie,) = (each for each in inventories if each.fabric == "PCIe")
    return MemoryTip(found.documents, found.facts), look(pcie)


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count the lines of ours that run: work in a unit that no other process disturbs."""
    lines = [0]

    def line(frame: FrameType, event: str, _: object) -> Any:
        lines[0] += event == "line"
        return line

    def call(frame: FrameType, event: str, _: object) -> Any:
        return line if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield lines
    finally:
        sys.settrace(before)


def work_of_parts(gpus: int) -> list[int]:
    """Return the lines that ran for each part of the first look."""
    tip, seen = a_fabric(gpus)
    fabric, work = ObservedFabric("PCIe", Statuses()), []
    with counted() as lines:
        for _ in fabric.look_in_parts(tip.facts, tip.index, FabricSight("PCIe", seen)):
            work.append(lines[0])
            lines[0] = 0
    return work


def test_no_part_of_a_first_look_grows_with_the_fabric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observed, "LEARNED", 200)
    monkeypatch.setattr(observed, "PART", 20)
    small, big = work_of_parts(400), work_of_parts(800)
    assert sum(big) > 1.9 * sum(small)
    assert max(big) < 1.1 * max(small)


def test_a_look_without_news_is_one_part() -> None:
    tip, seen = a_fabric(100)
    fabric, sight = ObservedFabric("PCIe", Statuses()), FabricSight("PCIe", seen)
    assert fabric.look(tip.facts, tip.index, sight)
    assert len(list(fabric.look_in_parts(tip.facts, tip.index, sight))) == 1


def test_what_is_changed_during_a_look_is_left_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(observed, "LEARNED", 1)
    tip = a_tip()
    tip.post(f"{POD}/Zones", zone_body(H1, GPU))
    watcher, sight = Watcher(tip), FabricSight("pod", seen(tip))
    parts = watcher.fabric.look_in_parts(tip.facts, tip.index, sight)
    assert next(parts) == {}
    watcher.fabric.touched([Edit(Space.DOCUMENT, ZONE, b"{}", b"{}")])
    # Also not with a HealthRollup alone, which would hide that nothing is known of its State.
    assert ZONE not in {uri for part in parts for uri in part}
    watcher.look(sight)
    assert watcher.status(ZONE)["State"] == "Enabled"
