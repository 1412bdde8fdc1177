"""Parts, contents and devices outlive the service, and files of older versions still open."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from redfish_fm.drivers.virtual.capacity import Extent
from redfish_fm.drivers.virtual.oracle import Oracle
from redfish_fm.drivers.virtual.refusals import Forgets, Refused
from redfish_fm.drivers.virtual.state import VirtualState, virtual_db
from redfish_fm.drivers.virtual.tables import VERSION, StateError
from redfish_fm.fabric.model import Bind, BindTarget, Media, PartState, PortId, Step, VppbId
from tests.drivers import fabrics
from tests.drivers.virtual.physics import (
    FIRST,
    GIB,
    LD,
    NAMESPACE,
    NEXT,
    OTHER_LD,
    REGION,
    SECOND,
    TIB,
    allocate,
    bind,
    deallocate,
    part,
    sanitize,
    unbind,
    world,
)
from tests.virtual_time import in_virtual_time

CHILD = Path(__file__).with_name("parts_child.py")
OLD = Path(__file__).with_name("databases") / "schema_v1.sql"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return virtual_db(tmp_path)


@in_virtual_time
async def test_parts_contents_and_devices_outlive_the_service(file: Path) -> None:
    hardware = world(state=file)
    for step in (
        allocate(REGION, 4 * GIB, shareable=True),
        allocate(NAMESPACE, 8 * GIB),
        allocate(),
        bind(),
        bind(SECOND, REGION),
    ):
        hardware.execute(step)
    hardware.remove_device("nic")
    hardware.remove_device("dual")
    hardware.return_device("dual", "SN-another")
    hardware.set_device_health("multi", "Warning")
    hardware.set_port(PortId("cxl1", "D1"), gen=3)
    before = hardware.part_states("cxl1")
    hardware.close()
    again = world(state=file)
    assert again.part_states("cxl1") == before
    assert before[LD] == PartState(4 * GIB, Media.DIRTY, extents=((0, 4 * GIB),))
    assert again.extents(LD) == (Extent(0, 4 * GIB),)
    ports = again.port_states("cxl1")
    assert ports[PortId("cxl1", "D6")].serial_number == "SN-another"
    assert not ports[PortId("cxl1", "D7")].device_present
    assert ports[PortId("cxl1", "D4")].health == "Warning"
    assert (ports[PortId("cxl1", "D1")].speed_gbps, ports[PortId("cxl1", "D1")].training) == (
        128.0,
        False,
    )
    again.execute(bind(NEXT, REGION))
    with pytest.raises(Refused, match="it is bound"):
        again.execute(sanitize())
    again.execute(unbind())
    again.execute(bind(VppbId("cxl1", "2", 1), LD))
    assert [done.note for done in again.oracle().exposures()] == ["host1"]


@in_virtual_time
async def test_sanitizing_goes_on_while_nobody_looks(file: Path) -> None:
    hardware = world(state=file)
    for step in (bind(FIRST, part("D6")), unbind(FIRST, part("D6")), sanitize(part("D6"))):
        hardware.execute(step)
    hardware.close()
    again = world(state=file)
    assert again.part_states("cxl1")[part("D6")].media is Media.SANITIZING
    await asyncio.sleep(0.03)
    again.close()
    third = world(state=file)
    await asyncio.sleep(0.04)
    assert third.part_states("cxl1")[part("D6")].media is Media.CLEAN
    third.close()


@in_virtual_time
async def test_a_wall_clock_set_back_does_not_stretch_sanitizing(file: Path) -> None:
    hardware = world(state=file)
    for step in (allocate(), bind(), unbind(), sanitize()):
        hardware.execute(step)
    hardware.close()
    with sqlite3.connect(file) as db:
        db.execute("UPDATE part SET done_s = done_s + 3600 WHERE done_s IS NOT NULL")
    db.close()
    again = world(state=file)
    await asyncio.sleep(0.06)
    assert again.part_states("cxl1")[LD].media is Media.CLEAN
    again.close()


@in_virtual_time
async def test_what_was_left_in_free_addresses_is_remembered(file: Path) -> None:
    dirty = frozenset({Forgets.DEALLOCATE_DIRTY})
    hardware = world(state=file, forgets=dirty)
    for step in (allocate(), bind(), unbind(), deallocate()):
        hardware.execute(step)
    hardware.close()
    again = world(state=file, forgets=dirty)
    for step in (allocate(OTHER_LD), bind(SECOND, OTHER_LD)):
        again.execute(step)
    assert [done.note for done in again.oracle().exposures()] == ["host1"]
    again.close()


LATE: dict[str, Step] = {
    "allocate": allocate(OTHER_LD, 2 * GIB, shareable=True),
    "deallocate": deallocate(REGION),
    "sanitize": sanitize(LD),
}


@in_virtual_time
@pytest.mark.parametrize("step", LATE.values(), ids=LATE)
async def test_a_late_command_for_a_part_runs_in_the_next_process(file: Path, step: Step) -> None:
    hardware = world(state=file)
    for before in (allocate(), allocate(REGION), bind(), unbind()):
        hardware.execute(before)
    hardware.postpone(step, 1.0)
    hardware.close()
    again = world(state=file)
    assert OTHER_LD not in again.part_states("cxl1")
    await asyncio.sleep(1.5)
    seen = again.part_states("cxl1")
    match next(name for name, each in LATE.items() if each == step):
        case "allocate":
            assert seen[OTHER_LD] == PartState(2 * GIB, Media.CLEAN, True, ((4 * GIB, 2 * GIB),))
        case "deallocate":
            assert REGION not in seen
        case _:
            assert [d.what for d in again.oracle().actions()][-1] == "sanitize"
    again.close()


def test_parts_survive_kill_9_and_are_read_from_outside(file: Path) -> None:
    with subprocess.Popen(
        [sys.executable, str(CHILD), str(file.parent)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(CHILD.parents[3])},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "allocated\n"
        child.kill()
    assert child.returncode == -signal.SIGKILL
    with Oracle(file) as oracle:
        assert oracle.reach("World") == {"host1": {(("pool", ""), (("ld", 0),))}}
        (medium,) = oracle.media("World")
        assert (medium.media, medium.hosts, medium.size_mib) == (
            Media.DIRTY,
            {"host1"},
            4 * GIB,
        )
        pool = next(each for each in oracle.accounts("World") if each.device == "pool")
        assert (pool.allocated_mib, pool.free_mib) == (4 * GIB, TIB - 4 * GIB)


def old_file(file: Path) -> None:
    """Make a file as version 1 wrote it."""
    db = sqlite3.connect(file)
    db.executescript(OLD.read_text(encoding="utf-8"))
    db.close()


@in_virtual_time
async def test_a_file_of_version_1_still_opens_with_all_that_is_in_it(file: Path) -> None:
    old_file(file)
    powered = fabrics.power_up(state=file)
    assert powered.hardware.had_manager
    assert powered.hardware.bindings("cxl1") == {
        **dict.fromkeys(powered.hardware.bindings("cxl1")),
        fabrics.FIRST: fabrics.ld(0),
        fabrics.SECOND: fabrics.SLD,
        VppbId("cxl1", "2", 1): fabrics.ld(3),
    }
    port = powered.hardware.port_states("cxl1")[fabrics.MLD]
    assert (port.health, port.width) == ("Warning", 4)
    oracle = powered.hardware.oracle()
    assert [(done.n, done.what, done.target) for done in oracle.actions()] == [
        (1, "bind", fabrics.ld(2)),
        (2, "unbind", fabrics.ld(2)),
        (3, "bind", fabrics.SLD),
        (4, "bind", fabrics.ld(0)),
        (5, "port", None),
    ]
    await asyncio.sleep(2)
    assert powered.hardware.binding(fabrics.NEXT) == fabrics.ld(1), "it was to run late"
    assert oracle.actions()[-1].n == 6
    assert oracle.double_reach() == []
    powered.hardware.close()
    db = sqlite3.connect(file)
    assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
    db.close()


@in_virtual_time
async def test_a_base_of_version_1_still_counts(file: Path) -> None:
    old_file(file)
    powered = fabrics.power_up(state=file, permissive=True)
    powered.hardware.execute(Bind(fabrics.NEXT, BindTarget("cxl1", "D1", 3)))
    (double,) = powered.hardware.oracle().double_reach()
    assert double.first.vppb == VppbId("cxl1", "2", 1)
    powered.hardware.close()


def test_a_migration_that_fails_changes_nothing(file: Path) -> None:
    old_file(file)
    db = sqlite3.connect(file)
    db.execute("ALTER TABLE late RENAME COLUMN ld TO other")
    before = list(db.iterdump())
    db.close()
    with pytest.raises(StateError):
        VirtualState(file, "CXL")
    db = sqlite3.connect(file)
    assert list(db.iterdump()) == before
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()
