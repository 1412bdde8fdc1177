"""Bandwidth of LDs in the virtual hardware: what it gives, refuses and keeps."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from redfish_fm.drivers.virtual.faults import Pretend
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.refusals import Refusal, Refused
from redfish_fm.drivers.virtual.state import virtual_db
from redfish_fm.fabric.model import BindTarget, Inventory, Qos, SetQos
from tests.drivers.fabrics import CXL, power_up
from tests.virtual_time import VirtualClock, in_virtual_time

DEVICES = tuple(replace(device, qos=bool(device.lds)) for device in CXL.devices)
SHARING: Inventory = replace(CXL, devices=DEVICES)


def ld(number: int) -> BindTarget:
    return BindTarget("cxl1", "D1", number)


def give(number: int, allocated: int, limit: int = 100) -> SetQos:
    return SetQos(ld(number), Qos(allocated, limit))


@in_virtual_time
async def test_every_ld_begins_with_no_guarantee_and_no_limit() -> None:
    powered = power_up(SHARING)
    seen = (await powered.driver.observe()).qos
    assert seen == {ld(n): Qos(0, 100) for n in range(4)}
    await powered.driver.apply(give(1, 30, 60), powered.in_s())
    assert (await powered.driver.observe()).qos == seen | {ld(1): Qos(30, 60)}
    assert (await power_up(CXL).driver.observe()).qos == {}


REFUSED = {
    "more than is left": (give(1, 41), Refusal.BANDWIDTH),
    "more than all": (give(0, 101), Refusal.BANDWIDTH),
    "less than nothing": (give(1, -1), Refusal.BANDWIDTH),
    "a limit above all": (give(1, 0, 101), Refusal.BANDWIDTH),
    "an LD that is not there": (give(9, 1), Refusal.NO_SUCH_PART),
    "a port": (SetQos(BindTarget("cxl1", "D1"), Qos()), Refusal.NO_SUCH_PART),
    "an SLD": (SetQos(BindTarget("cxl1", "D2", 0), Qos()), Refusal.NO_QOS),
}


@in_virtual_time
@pytest.mark.parametrize(("step", "refusal"), REFUSED.values(), ids=REFUSED)
async def test_hardware_refuses(step: SetQos, refusal: Refusal) -> None:
    hardware = Hardware(SHARING, VirtualClock())
    hardware.execute(give(0, 60))
    with pytest.raises(Refused) as refused:
        hardware.execute(step)
    assert refused.value.refusal is refusal
    hardware.execute(give(1, 40))
    hardware.execute(give(0, 60))
    assert hardware.bandwidths("cxl1")[ld(0)] == Qos(60)


@in_virtual_time
async def test_it_is_kept_without_power_and_not_by_another_device() -> None:
    hardware = Hardware(SHARING, VirtualClock())
    hardware.execute(give(0, 60))
    device = next(d.id for d in SHARING.devices if d.qos)
    hardware.power_device(device, on=False)
    assert hardware.bandwidths("cxl1") == {}
    with pytest.raises(Refused, match="no power"):
        hardware.execute(give(0, 1))
    hardware.power_device(device, on=True)
    assert hardware.bandwidths("cxl1")[ld(0)] == Qos(60)
    hardware.remove_device(device)
    hardware.return_device(device, "ANOTHER")
    assert hardware.bandwidths("cxl1")[ld(0)] == Qos()


@in_virtual_time
async def test_it_is_kept_by_the_file_and_so_is_a_late_command(tmp_path: Path) -> None:
    file, clock = virtual_db(tmp_path), VirtualClock()
    hardware = Hardware(SHARING, clock, file)
    hardware.execute(give(3, 20, 30))
    hardware.postpone(give(0, 7, 70), 1.0)
    hardware.close()
    again = Hardware(SHARING, clock, file)
    assert again.bandwidths("cxl1")[ld(3)] == Qos(20, 30)
    assert again.bandwidths("cxl1")[ld(0)] == Qos()
    await clock.sleep(1.5)
    assert again.bandwidths("cxl1")[ld(0)] == Qos(7, 70)
    done = [(each.what, each.note) for each in again.oracle().actions("CXL")]
    assert done == [("setqos", "20 %, at most 30 %"), ("setqos", "7 %, at most 70 %")]
    again.close()


@in_virtual_time
async def test_a_file_from_before_there_was_bandwidth_gets_it(tmp_path: Path) -> None:
    file, clock = virtual_db(tmp_path), VirtualClock()
    Hardware(SHARING, clock, file).close()
    with sqlite3.connect(file) as db:
        db.execute("ALTER TABLE late DROP COLUMN qos")
        db.execute("ALTER TABLE device DROP COLUMN qos")
        db.execute("ALTER TABLE part DROP COLUMN owners")
        db.execute("DROP TABLE switch")
        db.execute("PRAGMA user_version = 2")
    db.close()
    hardware = Hardware(SHARING, clock, file)
    hardware.execute(give(3, 20))
    hardware.postpone(give(0, 7), 1.0)
    hardware.close()
    again = Hardware(SHARING, clock, file)
    assert again.bandwidths("cxl1")[ld(3)] == Qos(20)
    again.close()


@in_virtual_time
async def test_a_pretended_command_is_reported_until_the_truth_is_told() -> None:
    powered = power_up(SHARING)
    powered.faults.next_apply("cxl1", Pretend())
    await powered.driver.apply(give(0, 5), powered.in_s())
    assert (await powered.driver.observe()).qos[ld(0)] == Qos(5)
    powered.faults.tell_truth(ld(0))
    assert (await powered.driver.observe()).qos[ld(0)] == Qos()
