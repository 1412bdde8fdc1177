"""Faults ordered beforehand: in their time, all mistakes at once; and the page that lists them."""

import re
from pathlib import Path

import pytest

from redfish_fm.drivers.virtual.driver import create
from redfish_fm.drivers.virtual.orders import FaultDesk
from redfish_fm.drivers.virtual.schedule import Schedule, ScheduleError, load, read
from redfish_fm.drivers.virtual.topology import load as load_topology
from redfish_fm.fabric.model import PortId
from tests.drivers.fabrics import MOCKUPS, Powered, machines_of
from tests.drivers.virtual.fault_page import page
from tests.drivers.virtual.physics import session, world
from tests.virtual_time import VirtualClock, in_virtual_time

PORT = PortId("cxl1", "D1")


def scheduled(powered: Powered, *lines: str) -> Schedule:
    desk = FaultDesk(powered.hardware, powered.faults, powered.clock, machines_of(powered.hardware))
    text = "\n".join(("faults:", *(f"  - {{{line}}}" for line in lines)))
    return read(text, "test.yaml", [desk], powered.clock)


@in_virtual_time
async def test_each_fault_comes_in_its_time_whatever_the_order_of_the_file() -> None:
    powered = session(world())
    begin_s = powered.clock.now_s()
    noted: list[tuple[float, str]] = []
    powered.hardware.set_port = (  # type: ignore[method-assign]
        lambda port, **given: noted.append((powered.clock.now_s() - begin_s, str(given)))
    )
    schedule = scheduled(
        powered,
        "at_s: 7.5, fault: link-up, object: cxl1/D1",
        "at_s: 2, fault: link-down, object: cxl1/D1",
        "at_s: 7.5, fault: health, object: cxl1/D1, parameters: {health: Warning}",
    )
    await schedule.run()
    assert [at_s for at_s, _given in noted] == pytest.approx([2.0, 7.5, 7.5])
    assert ["link_up" in given for _at_s, given in noted] == [True, True, False]


@in_virtual_time
async def test_all_that_is_wrong_is_told_at_once_with_its_line() -> None:
    powered = session(world())
    with pytest.raises(ScheduleError) as told:
        scheduled(
            powered,
            "at_s: 1, fault: link-down, object: cxl1/D1",
            "at_s: 1, fault: nope, object: cxl1/D1",
            "at_s: 1, fault: slow, object: nowhere, parameters: {times: -1, colour: red}",
            "at_s: 1, fault: link-up, object: cxl9/D1",
        )
    lines = [(problem.line, problem.text) for problem in told.value.problems]
    assert [line for line, _text in lines] == [3, 4, 4, 4, 4, 5]
    assert re.match("there is no fault 'nope'; there are: ", lines[0][1])
    assert lines[-1][1] == "there is no port 'cxl9/D1'"
    with pytest.raises(ScheduleError) as untyped:
        scheduled(powered, "at_s: -1, fault: 3, object: cxl1, when: now", "at_s: soon")
    assert {problem.line for problem in untyped.value.problems} == {2, 3}
    assert len(untyped.value.problems) == 6


@in_virtual_time
async def test_a_file_that_is_no_schedule_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "faults.yaml"
    for text in ("", "faults: []", "- 1", "faults: [", b"\xff"):
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ScheduleError, match=re.escape(str(file))):
            load(file, [], VirtualClock())
    with pytest.raises(ScheduleError, match="can not be read"):
        load(tmp_path, [], VirtualClock())


def test_the_page_of_faults_is_the_table_of_the_driver(repository: Path) -> None:
    guide = (repository / "docs" / "faults.md").read_text(encoding="utf-8")
    assert guide == page(), "python -m tests.drivers.virtual.fault_page > docs/faults.md"


@in_virtual_time
async def test_the_example_and_the_objects_of_the_page_are_those_of_mixed() -> None:
    clock, desks, drivers = VirtualClock(), [], []
    for inventory in load_topology("mixed", MOCKUPS).inventories():
        drivers.append(create(inventory, clock, clock))
        hardware = drivers[-1].hardware
        desks.append(FaultDesk(hardware, drivers[-1].faults, clock, machines_of(hardware)))
    (example,) = re.findall(r"```yaml\n(.*?)```", page(), re.DOTALL)
    read(example, "docs/faults.md", desks, clock)
    objects = page().split("## Objects")[1].split("## All")[0]
    befalls = {"fabric": "calm", "switch": "cut", "port": "link-up", "device": "back",
               "domain": "lost", "vppb": "truth", "part": "truth", "host": "bmc-lost"}  # fmt: skip
    rows = [line.strip("| ").split(" | ") for line in objects.splitlines()[4:] if "|" in line]
    assert {row[0] for row in rows} == {*befalls}
    for kind, _text, examples in rows:
        for example in re.findall(r"`([^`]+)`", examples):
            assert any(desk.knows(befalls[kind], example) for desk in desks), example
    for driver in drivers:
        await driver.close()
