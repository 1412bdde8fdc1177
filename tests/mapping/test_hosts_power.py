"""What hosts read: a function of who they are and of power, exact in its sums."""

import json
from functools import cache
from math import inf
from typing import Any

import pytest

from redfish_fm.control.published import lay_over
from redfish_fm.drivers.virtual.topology import read
from redfish_fm.fabric.model import Host
from redfish_fm.mapping.host_readings import HostReadings, host_readings
from redfish_fm.mapping.host_states import draw_w, power_patches
from redfish_fm.mapping.hosts import put_host
from redfish_fm.mapping.rendering import Rendering

Documents = dict[str, dict[str, Any]]
CHASSIS = "/redfish/v1/Chassis/host1"
FILE = """
name: rack
hosts:
  - {id: "host{n}", count: 8, cpus: 2, cores: 64, memory: 512 GiB}
  - {id: node, detail: core}
fabrics:
  - id: PCIe
    protocol: PCIe
    switches:
      - {id: pcie1, devices: [{id: gpu1, kind: GPU}]}
"""


@cache
def hosts() -> dict[str, Host]:
    return {host.id: host for host in read(FILE, "test").fabrics[0].hosts}


def read_of(name: str, powered: bool = True) -> HostReadings:
    host = hosts()[name]
    assert host.hardware is not None
    return host_readings(host, host.hardware, powered)


@cache
def documents(name: str = "host1", powered: bool = True) -> Documents:
    out = Rendering()
    put_host(out, hosts()[name], powered)
    return dict(out.documents)


def reading(found: Documents, sensor: str) -> Any:
    return found[f"{CHASSIS}/Sensors/{sensor}"].get("Reading")


def excerpts(value: object) -> list[dict[str, Any]]:
    """Return all excerpts of sensors within a value."""
    if isinstance(value, dict):
        own = [value] if "DataSourceUri" in value else []
        return own + [each for inner in value.values() for each in excerpts(inner)]
    if isinstance(value, list):
        return [each for inner in value for each in excerpts(inner)]
    return []


def loaded(sensor: str) -> bool:
    """Say whether a sensor measures what one of the parts draws."""
    return sensor.endswith("Power") and not sensor.startswith("PSU") and sensor != "TotalPower"


@pytest.mark.parametrize("powered", [True, False])
def test_what_the_parts_draw_is_what_the_power_supplies_give(powered: bool) -> None:
    found = documents(powered=powered)
    sensors = [uri.rpartition("/")[2] for uri in found if uri.startswith(f"{CHASSIS}/Sensors/")]
    drawn = sum(reading(found, each) for each in sensors if loaded(each))
    given = sum(reading(found, f"PSU{number}OutputPower") for number in (1, 2))
    assert drawn == given > 0


@pytest.mark.parametrize("powered", [True, False])
def test_what_the_chassis_draws_is_what_its_power_supplies_take_in(powered: bool) -> None:
    found = documents(powered=powered)
    taken = sum(reading(found, f"PSU{number}InputPower") for number in (1, 2))
    shown = found[f"{CHASSIS}/EnvironmentMetrics"]["PowerWatts"]["Reading"]
    assert shown == reading(found, "TotalPower") == taken == draw_w(hosts()["host1"], powered)


@pytest.mark.parametrize("powered", [True, False])
def test_power_supplies_lose_some_of_what_they_take_in(powered: bool) -> None:
    for supply in read_of("host1", powered).supplies:
        assert supply.output_w < supply.input_w <= supply.output_w * 1.1 + 2


@pytest.mark.parametrize("powered", [True, False])
def test_an_excerpt_reads_what_its_sensor_reads(powered: bool) -> None:
    found = documents(powered=powered)
    shown = [each for document in found.values() for each in excerpts(document)]
    assert len(shown) > 25
    for each in shown:
        sensor = found[each["DataSourceUri"]]
        assert each.get("Reading") == sensor.get("Reading")
        assert each.get("SpeedRPM") == sensor.get("SpeedRPM")


def test_every_sensor_is_in_its_range_and_below_its_thresholds() -> None:
    for name in hosts():
        for uri, document in documents(name).items():
            if "/Sensors/" in uri:
                low, high = document["ReadingRangeMin"], document.get("ReadingRangeMax", inf)
                assert low <= document["Reading"] <= high
                for threshold in document.get("Thresholds", {}).values():
                    assert document["Reading"] < threshold["Reading"]


def test_load_and_power_of_every_host_are_plausible() -> None:
    for host in (each for each in hosts().values() if each.hardware is not None):
        found = read_of(host.id)
        assert host.hardware is not None
        assert found.input_w < host.hardware.power_supply_w
        for cpu, reads in zip(host.hardware.processors, found.processors, strict=True):
            assert reads.power_w <= cpu.tdp_w
            assert reads.mhz is not None
            assert cpu.base_mhz <= reads.mhz <= cpu.max_mhz


def test_hosts_read_the_same_each_time_and_not_all_alike() -> None:
    assert read_of("host1") == read_of("host1")
    several = [read_of(f"host{number}") for number in range(1, 9)]
    assert len({each.input_w for each in several}) > 4
    assert len({each.processors[0].load_percent for each in several}) > 4
    assert len({each.load_percent for each in several[0].processors}) == 2


def test_air_leaves_a_host_warmer_than_it_enters() -> None:
    assert read_of("host1").exhaust_celsius > read_of("host1").inlet_celsius
    off = read_of("host1", powered=False)
    assert off.exhaust_celsius == off.inlet_celsius == read_of("host1").inlet_celsius


# -- without power -----------------------------------------------------------------------------


def test_a_host_without_power_draws_little_and_its_fans_stand() -> None:
    off = read_of("host1", powered=False)
    assert 0 < off.input_w < 25
    assert {fan.rpm for fan in off.fans} == {0}


def test_what_can_not_be_read_without_power_reads_nothing() -> None:
    off = documents(powered=False)
    for sensor in ("CPU1Temp", "Disk1Temp", "NIC1Temp"):
        assert reading(off, sensor) is None
        assert off[f"{CHASSIS}/Sensors/{sensor}"]["Status"]["State"] == "UnavailableOffline"
    assert reading(off, "InletTemp") == reading(documents(), "InletTemp")


def test_parts_lose_power_with_their_host_and_its_bmc_does_not() -> None:
    off = documents(powered=False)
    system = "/redfish/v1/Systems/host1"
    for uri in (
        system,
        f"{system}/Processors/CPU2",
        f"{system}/Storage/1",
        f"{CHASSIS}/Drives/Disk1",
    ):
        assert off[uri]["Status"]["State"] == "StandbyOffline"
    assert off[system]["PowerState"] == off[CHASSIS]["PowerState"] == "Off"
    bmc = [uri for uri in off if uri.startswith("/redfish/v1/Managers/")]
    assert bmc
    assert [off[uri] for uri in bmc] == [documents()[uri] for uri in bmc]


def test_patches_over_a_host_with_power_show_it_without() -> None:
    shown: Documents = json.loads(json.dumps(documents()))
    patches = power_patches(hosts()["host1"], powered=False)
    for uri, patch in patches.items():
        lay_over(shown[uri], patch)
    assert shown == documents(powered=False)
    assert patches.keys() == {u for u, d in documents().items() if d != shown[u]}


def test_nothing_is_laid_over_a_host_that_has_power() -> None:
    assert power_patches(hosts()["host1"], powered=True) == {}


def test_a_host_of_core_detail_loses_power_too() -> None:
    patches = power_patches(hosts()["node"], powered=False)
    assert patches["/redfish/v1/Systems/node"]["PowerState"] == "Off"
    assert draw_w(hosts()["node"], powered=False) is None


def test_no_reading_depends_on_when_it_is_taken() -> None:
    texts = json.dumps(documents())
    for word in ("DateTime", "ReadingTime", "EnergykWh", "PowerOnHours"):
        assert word not in texts
