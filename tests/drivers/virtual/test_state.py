"""What powered hardware keeps, who can read it, and what the oracle finds in it."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.drivers.virtual.driver import create
from redfish_fm.drivers.virtual.faults import Late
from redfish_fm.drivers.virtual.oracle import Oracle
from redfish_fm.drivers.virtual.state import VirtualState, virtual_db
from redfish_fm.drivers.virtual.tables import StateError
from redfish_fm.fabric.model import Bind, BindTarget, VppbId
from tests.drivers.fabrics import (
    CXL,
    FIRST,
    MLD,
    NEXT,
    PCIE,
    SECOND,
    bind,
    ld,
    power_up,
    unbind,
)
from tests.virtual_time import VirtualClock, in_virtual_time

CHILD = Path(__file__).with_name("powered_child.py")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return virtual_db(tmp_path)


@in_virtual_time
async def test_bindings_and_ports_outlive_the_service(file: Path) -> None:
    powered = power_up(state=file)
    await powered.driver.apply(bind(), powered.in_s())
    powered.hardware.set_port(MLD, health="Warning", width=4)
    await powered.driver.close()
    powered.hardware.close()
    again = power_up(state=file)
    seen = await again.driver.observe()
    assert seen.bindings[FIRST] == ld(0)
    assert (seen.ports[MLD].health, seen.ports[MLD].width) == ("Warning", 4)
    again.hardware.close()


@in_virtual_time
async def test_the_health_of_a_switch_is_journaled_and_outlives_the_service(file: Path) -> None:
    powered = power_up(state=file)
    for health in ("Critical", "Critical", "Warning"):
        powered.hardware.set_switch_health("cxl1", health)
    told = [(a.what, a.cause, a.switch, a.note) for a in powered.hardware.oracle().actions()]
    assert told == [
        ("switch", "outside", "cxl1", "health=Critical"),
        ("switch", "outside", "cxl1", "health=Warning"),
    ]
    powered.hardware.close()
    again = power_up(state=file)
    assert (await again.driver.observe()).switch_health["cxl1"] == "Warning"
    again.hardware.set_switch_health("cxl1", "OK")
    again.hardware.close()
    third = power_up(state=file)
    assert (await third.driver.observe()).switch_health["cxl1"] == "OK"
    third.hardware.close()


@in_virtual_time
async def test_a_late_command_runs_in_the_next_process_within_its_bound(file: Path) -> None:
    powered = power_up(state=file)
    powered.faults.next_apply(None, Late(1.5))
    with pytest.raises(DriverUnavailable):
        await powered.driver.apply(bind(), powered.in_s())
    powered.hardware.close()
    again = power_up(state=file)
    hints = again.driver.watch()
    assert await again.seen() is None
    await anext(hints)
    assert again.clock.now_s() == pytest.approx(1.502)
    assert await again.seen() == ld(0)
    assert (await again.driver.observe()).barrier_s < 0
    await asyncio.sleep(2.0)
    assert (await again.driver.observe()).barrier_s > 2
    await again.driver.apply(unbind(), again.in_s())
    again.hardware.close()
    third = power_up(state=file)
    await asyncio.sleep(5)
    assert await third.seen() is None, "it ran once"
    third.hardware.close()


@in_virtual_time
async def test_a_wall_clock_set_back_does_not_stretch_lateness(file: Path) -> None:
    powered = power_up(state=file)
    powered.faults.next_apply(None, Late(1.5))
    with pytest.raises(DriverUnavailable):
        await powered.driver.apply(bind(), powered.in_s())
    powered.hardware.close()
    with sqlite3.connect(file) as db:
        db.execute("UPDATE late SET due_s = due_s + 3600")
    db.close()
    again = power_up(state=file)
    await asyncio.sleep(again.hardware.late_max_s)
    assert await again.seen() == ld(0)
    again.hardware.close()


@in_virtual_time
async def test_a_second_start_does_not_trust_the_first_session(file: Path) -> None:
    powered = power_up(state=file)
    powered.hardware.close()
    again = power_up(state=file)
    await asyncio.sleep(0.5)
    assert (await again.driver.observe()).barrier_s < 0
    again.hardware.close()


@in_virtual_time
async def test_several_fabrics_share_one_file(tmp_path: Path) -> None:
    clock = VirtualClock()
    drivers = [create(fabric, clock, clock, tmp_path) for fabric in (PCIE, CXL)]
    await drivers[0].apply(Bind(VppbId("pcie1", "1", 0), BindTarget("pcie1", "D1")), 60.0)
    await drivers[1].apply(bind(), 60.0)
    for driver in drivers:
        await driver.close()
    with Oracle(virtual_db(tmp_path)) as oracle:
        assert list(oracle.bindings("PCIe").values()) == [BindTarget("pcie1", "D1")]
        assert list(oracle.bindings("CXL").values()) == [ld(0)]
        assert [done.fabric for done in oracle.actions()] == ["PCIe", "CXL"]
        assert [done.n for done in oracle.actions("CXL")] == [2]


@in_virtual_time
async def test_the_oracle_reads_while_the_service_writes(file: Path) -> None:
    powered = power_up(state=file)
    with Oracle(file) as oracle:
        await powered.driver.apply(bind(), powered.in_s())
        assert oracle.bindings("CXL") == {FIRST: ld(0)}
        await powered.driver.apply(unbind(), powered.in_s())
        assert oracle.bindings("CXL") == {}
        assert [(a.what, a.vppb) for a in oracle.actions(after=1)] == [("unbind", FIRST)]
    powered.hardware.close()


@in_virtual_time
async def test_the_oracle_can_not_write(file: Path) -> None:
    power_up(state=file).hardware.close()
    with Oracle(file) as oracle, pytest.raises(sqlite3.OperationalError, match="readonly"):
        oracle._db.execute("DELETE FROM action")  # noqa: SLF001


@in_virtual_time
async def test_double_reach_is_found_although_it_was_undone() -> None:
    powered = power_up(permissive=True)
    hardware = powered.hardware
    hardware.execute(bind(FIRST, ld(0)))
    hardware.execute(bind(SECOND, ld(0)))
    hardware.execute(unbind(SECOND, ld(0)))
    (double,) = hardware.oracle().double_reach()
    assert (double.n, double.first.vppb, double.second.vppb) == (2, FIRST, SECOND)
    assert (double.first.host, double.second.host) == ("host1", "host2")


@in_virtual_time
async def test_a_whole_port_and_its_ld_are_a_double_reach() -> None:
    hardware = power_up(permissive=True).hardware
    hardware.execute(bind(FIRST, ld(0)))
    hardware.execute(bind(SECOND, BindTarget("cxl1", "D1")))
    assert len(hardware.oracle().double_reach()) == 1


@in_virtual_time
async def test_what_one_host_reaches_twice_is_no_double_reach() -> None:
    hardware = power_up(permissive=True).hardware
    hardware.execute(bind(FIRST, ld(0)))
    hardware.execute(bind(NEXT, ld(0)))
    hardware.execute(bind(SECOND, ld(1)))
    assert hardware.oracle().double_reach() == []


@in_virtual_time
async def test_one_thing_after_another_is_no_double_reach() -> None:
    hardware = power_up().hardware
    for vppb in (FIRST, SECOND, FIRST):
        hardware.execute(bind(vppb, ld(0)))
        hardware.execute(unbind(vppb, ld(0)))
    assert hardware.oracle().double_reach() == []


@in_virtual_time
async def test_a_rebound_vppb_no_longer_reaches_its_old_target() -> None:
    hardware = power_up(permissive=True).hardware
    hardware.execute(bind(FIRST, ld(0)))
    hardware.execute(bind(FIRST, ld(1)))
    hardware.execute(bind(SECOND, ld(0)))
    assert hardware.oracle().double_reach() == []


@in_virtual_time
async def test_the_journal_stays_bounded_and_still_leads_to_what_is_bound() -> None:
    powered = power_up(permissive=True, journal_max=100)
    hardware = powered.hardware
    hardware.execute(bind(NEXT, ld(3)))
    for turn in range(1_200):
        hardware.execute(bind(FIRST, ld(turn % 2)))
    oracle = hardware.oracle()
    actions = oracle.actions()
    assert 100 <= len(actions) <= 1_100
    assert actions[-1].n == 1_201
    hardware.execute(bind(SECOND, ld(3)))
    (double,) = oracle.double_reach()
    assert double.first.vppb == NEXT, "bound by an action that has left the journal"


@in_virtual_time
async def test_a_refusal_is_journaled_with_its_reason() -> None:
    powered = power_up()
    await powered.driver.apply(bind(), powered.in_s())
    with pytest.raises(Exception, match="already bound"):
        await powered.driver.apply(bind(SECOND), powered.in_s())
    assert powered.hardware.oracle().actions()[-1].note == "LD_BOUND"


def test_a_file_of_another_kind_is_refused(file: Path) -> None:
    file.write_bytes(b"not a database, but long enough to look at" * 40)
    with pytest.raises(StateError, match=r"virtual\.db"):
        VirtualState(file, "CXL")


def test_a_file_of_a_later_version_is_refused(file: Path) -> None:
    VirtualState(file, "CXL").close()
    db = sqlite3.connect(file)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StateError, match="version 99"):
        VirtualState(file, "CXL")


@in_virtual_time
async def test_a_restarted_switch_has_forgotten_for_good(file: Path) -> None:
    powered = power_up(state=file)
    powered.faults.next_apply(None, Late(1.5))
    with pytest.raises(DriverUnavailable):
        await powered.driver.apply(bind(), powered.in_s())
    powered.hardware.restart("cxl1")
    powered.hardware.close()
    again = power_up(state=file)
    await asyncio.sleep(5)
    assert await again.seen() is None
    again.hardware.close()


def run_and_kill(file: Path) -> None:
    """Run a service with one bind done and one to run late, look into its file, kill it."""
    with subprocess.Popen(
        [sys.executable, str(CHILD), str(file.parent)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(CHILD.parents[3])},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "bound\n"
        with Oracle(file) as oracle:
            assert oracle.bindings("CXL") == {FIRST: ld(0)}, "read while it runs"
        child.kill()
    assert child.returncode == -signal.SIGKILL


def test_bindings_survive_kill_9_and_are_read_from_outside(file: Path) -> None:
    run_and_kill(file)
    with Oracle(file) as oracle:
        assert oracle.bindings("CXL") == {FIRST: ld(0)}
        assert [(a.what, a.cause) for a in oracle.actions()] == [("bind", "command")]
        assert oracle.double_reach() == []


@in_virtual_time
async def test_what_a_killed_service_had_sent_late_runs_after_the_restart(file: Path) -> None:
    run_and_kill(file)
    again = power_up(state=file)
    await asyncio.sleep(again.hardware.late_max_s)
    assert await again.seen(SECOND) == ld(1)
    again.hardware.close()
