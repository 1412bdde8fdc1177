"""Whose contents are where: behind a binding that outlives its device or its part, and in what
several hosts share."""

import asyncio
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest

from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.refusals import Forgets
from redfish_fm.drivers.virtual.state import virtual_db
from redfish_fm.drivers.virtual.tables import VERSION
from redfish_fm.fabric.model import BindTarget, Media, Step, VppbId
from tests.drivers.virtual.physics import (
    FAR,
    FIRST,
    FIXED,
    GIB,
    LD,
    NEXT,
    REGION,
    SECOND,
    allocate,
    bind,
    deallocate,
    part,
    sanitize,
    unbind,
    world,
)
from tests.virtual_time import in_virtual_time

HEAD, DRIVE, OTHER_WAY = part("D4"), part("D6"), part("D1", "cxl2")
AT = {LD: "pool", REGION: "dynamic", FIXED: "fixed", HEAD: "multi", DRIVE: "dual"}


def exposed(hardware: Hardware) -> list[str | None]:
    return [done.note for done in hardware.oracle().exposures()]


def media(hardware: Hardware, target: BindTarget) -> Media:
    return hardware.part_states(target.switch)[target].media


def swap(hardware: Hardware, target: BindTarget) -> None:
    """Pull the device of a target out and put another one in."""
    hardware.remove_device(AT[target])
    hardware.return_device(AT[target], "SN-another")


# -- a binding outlives what it was made for ----------------------------------------------------


@in_virtual_time
@pytest.mark.parametrize("target", [FIXED, HEAD, DRIVE])
async def test_who_is_still_bound_to_another_device_writes_into_that_too(
    target: BindTarget,
) -> None:
    hardware = world()
    hardware.execute(bind(FIRST, target))
    swap(hardware, target)
    assert media(hardware, target) is Media.DIRTY
    hardware.execute(unbind(FIRST, target))
    hardware.execute(bind(SECOND, target))
    assert exposed(hardware) == ["host1"]


@in_virtual_time
async def test_what_was_written_into_another_device_can_be_sanitized() -> None:
    hardware = world()
    hardware.execute(bind(FIRST, FIXED))
    swap(hardware, FIXED)
    hardware.execute(unbind(FIRST, FIXED))
    hardware.execute(sanitize(FIXED))
    await asyncio.sleep(1)
    assert media(hardware, FIXED) is Media.CLEAN
    hardware.execute(bind(SECOND, FIXED))
    assert exposed(hardware) == []


@in_virtual_time
async def test_another_device_is_blank_where_nobody_is_bound() -> None:
    hardware = world()
    for step in (bind(FIRST, FIXED), bind(SECOND, part("D5"))):
        hardware.execute(step)
    hardware.execute(unbind(FIRST, FIXED))
    swap(hardware, FIXED)
    swap(hardware, HEAD)
    assert media(hardware, FIXED) is Media.CLEAN
    assert media(hardware, HEAD) is Media.CLEAN, "the other head is bound"
    assert media(hardware, part("D5")) is Media.DIRTY


@in_virtual_time
async def test_another_device_is_written_through_each_of_its_ports() -> None:
    hardware = world()
    hardware.execute(bind(FAR, OTHER_WAY))
    swap(hardware, DRIVE)
    hardware.execute(unbind(FAR, OTHER_WAY))
    hardware.execute(bind(FIRST, DRIVE))
    assert exposed(hardware) == ["host2"]


@in_virtual_time
async def test_what_is_bound_to_another_device_outlives_the_service(tmp_path: Path) -> None:
    hardware = world(state=virtual_db(tmp_path))
    hardware.execute(bind(FIRST, FIXED))
    hardware.close()
    hardware = world(state=virtual_db(tmp_path))
    swap(hardware, FIXED)
    hardware.close()
    again = world(state=virtual_db(tmp_path))
    assert media(again, FIXED) is Media.DIRTY
    again.execute(unbind(FIRST, FIXED))
    again.execute(bind(SECOND, FIXED))
    assert exposed(again) == ["host1"]
    again.close()


@in_virtual_time
@pytest.mark.parametrize("target", [LD, REGION])
async def test_a_part_made_anew_under_a_binding_belongs_to_who_is_bound(
    target: BindTarget,
) -> None:
    hardware = world()
    hardware.execute(allocate(target))
    hardware.execute(bind(FIRST, target))
    swap(hardware, target)
    hardware.execute(allocate(target))
    assert media(hardware, target) is Media.DIRTY
    hardware.execute(unbind(FIRST, target))
    hardware.execute(bind(SECOND, target))
    assert exposed(hardware) == ["host1"]


@in_virtual_time
async def test_a_part_that_was_given_back_while_bound_and_made_anew_is_dirty() -> None:
    careless = frozenset({Forgets.DEALLOCATE_BOUND, Forgets.DEALLOCATE_DIRTY})
    hardware = world(forgets=careless)
    for step in (allocate(part(ld=5)), allocate(), bind(), deallocate(part(ld=5)), deallocate()):
        hardware.execute(step)
    hardware.execute(allocate(LD, GIB))
    assert hardware.part_states("cxl1")[LD].media is Media.DIRTY


@in_virtual_time
async def test_what_is_overwritten_while_bound_holds_what_the_bound_host_writes() -> None:
    hardware = world(forgets=frozenset({Forgets.SANITIZE_BOUND}))
    for step in (bind(FIRST, FIXED), unbind(FIRST, FIXED), bind(SECOND, FIXED), sanitize(FIXED)):
        hardware.execute(step)
    await asyncio.sleep(1)
    assert media(hardware, FIXED) is Media.DIRTY
    (medium,) = (each for each in hardware.oracle().media("World") if each.device == "fixed")
    assert medium.hosts == {"host2"}


# -- what several hosts share -------------------------------------------------------------------


def shared(*steps: Step, **how: object) -> Hardware:
    """Return hardware with a region for several hosts, and what was done with it."""
    hardware = world(**how)
    return after(hardware, allocate(REGION, shareable=True), *steps)


def after(hardware: Hardware, *steps: Step) -> Hardware:
    for step in steps:
        hardware.execute(step)
    return hardware


def on(vppb: object) -> Step:
    return bind(vppb, REGION)  # type: ignore[arg-type]


def off(vppb: object) -> Step:
    return unbind(vppb, REGION)  # type: ignore[arg-type]


EXPOSED: dict[str, tuple[tuple[Step, ...], list[str]]] = {
    "the next owner sees the last": ((on(FIRST), off(FIRST), on(SECOND)), ["host1"]),
    "so does who comes to him": (
        (on(FIRST), off(FIRST), on(SECOND), off(SECOND), on(FIRST)),
        ["host1", "host2"],
    ),
    "who comes back after all have left sees what another wrote meanwhile": (
        (on(FIRST), on(SECOND), off(FIRST), off(SECOND), on(FIRST)),
        ["host2"],
    ),
    "one of two vPPBs given up, then the other": (
        (on(FIRST), on(NEXT), off(FIRST), off(NEXT), on(SECOND)),
        ["host1"],
    ),
}
LEGAL: dict[str, tuple[Step, ...]] = {
    "at once": (on(FIRST), on(SECOND)),
    "with who is left of those who share": (on(FIRST), on(SECOND), off(FIRST), on(FIRST)),
    "alone with one's own": (on(FIRST), off(FIRST), on(FIRST)),
    "given twice": (on(FIRST), on(FIRST), on(SECOND)),
    "one of two vPPBs given up": (on(FIRST), on(NEXT), off(FIRST), on(SECOND)),
}


@in_virtual_time
@pytest.mark.parametrize("story", EXPOSED)
async def test_a_shared_part_that_nobody_owned_meanwhile_shows_what_was_left(story: str) -> None:
    steps, notes = EXPOSED[story]
    assert exposed(shared(*steps)) == notes


@in_virtual_time
@pytest.mark.parametrize("story", LEGAL)
async def test_who_shares_a_part_with_its_owners_sees_nothing_of_others(story: str) -> None:
    assert exposed(shared(*LEGAL[story])) == []


@in_virtual_time
async def test_a_shared_part_that_was_scrubbed_shows_nothing() -> None:
    hardware = shared(on(FIRST), on(SECOND), off(FIRST), off(SECOND), sanitize(REGION))
    await asyncio.sleep(1)
    assert exposed(after(hardware, on(SECOND), on(FIRST))) == []


@in_virtual_time
async def test_a_shared_part_that_was_scrubbed_in_words_only_shows_all() -> None:
    careless = frozenset({Forgets.SANITIZE})
    hardware = shared(on(FIRST), off(FIRST), sanitize(REGION), forgets=careless)
    await asyncio.sleep(1)
    assert media(hardware, REGION) is Media.CLEAN, "so it says"
    assert exposed(after(hardware, on(SECOND))) == ["host1"]


@in_virtual_time
@pytest.mark.parametrize("order", [(FIRST, SECOND), (SECOND, FIRST)], ids=["same", "turned"])
@pytest.mark.parametrize("had", [(FIRST,), (FIRST, SECOND)], ids=["one", "both"])
async def test_what_a_restarted_switch_lost_is_shared_as_before(
    had: Iterable[object], order: Iterable[object]
) -> None:
    hardware = shared(*map(on, had), keeps_bindings=False)
    hardware.restart("cxl1")
    assert exposed(after(hardware, *map(on, order))) == []


@in_virtual_time
async def test_what_a_stranger_unbound_is_shared_as_before() -> None:
    hardware = shared(on(FIRST), on(SECOND))
    for vppb in (FIRST, SECOND):
        hardware.execute(off(vppb), "outside")
    assert exposed(after(hardware, on(FIRST), on(SECOND))) == []


@in_virtual_time
async def test_who_shares_a_part_is_still_known_to_the_next_process(tmp_path: Path) -> None:
    file = virtual_db(tmp_path)
    hardware = shared(on(FIRST), state=file, keeps_bindings=False)
    hardware.restart("cxl1")
    hardware.close()
    again = after(world(state=file), on(SECOND))
    assert exposed(again) == [], "host1 has only lost it"
    after(again, off(SECOND)).close()
    third = after(world(state=file), on(FIRST))
    assert exposed(third) == []
    after(third, off(FIRST)).close()
    last = after(world(state=file), on(SECOND))
    assert exposed(last) == ["host1"]
    last.close()


@in_virtual_time
async def test_a_part_given_up_by_binding_its_vppb_anew_is_given_up(tmp_path: Path) -> None:
    file = virtual_db(tmp_path)
    careless = frozenset({Forgets.VPPB_BOUND})
    shared(on(FIRST), bind(FIRST, FIXED), state=file, forgets=careless).close()
    again = after(world(state=file), on(SECOND))
    assert exposed(again) == ["host1"]
    again.close()


# -- files of the version before ----------------------------------------------------------------


@in_virtual_time
async def test_a_file_from_before_owners_were_known_takes_all_for_owners(tmp_path: Path) -> None:
    file = virtual_db(tmp_path)
    shared(on(FIRST), off(FIRST), bind(FIRST, FIXED), state=file).close()
    with sqlite3.connect(file) as db:
        db.execute("ALTER TABLE part DROP COLUMN owners")
        db.execute("DROP TABLE switch")
        db.execute("PRAGMA user_version = 3")
    db.close()
    again = after(world(state=file), on(SECOND))
    assert exposed(again) == [], "whether host1 gave it up is not known"
    again.execute(unbind(FIRST, FIXED))
    again.execute(bind(VppbId("cxl1", "2", 1), FIXED))
    assert exposed(again) == ["host1"]
    again.set_switch_health("cxl1", "Warning")
    again.close()
    with sqlite3.connect(file) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
    db.close()
