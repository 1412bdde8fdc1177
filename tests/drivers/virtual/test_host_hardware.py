"""What is inside virtual hosts: it adds up, it is the same at every start, it is nobody's."""

from itertools import chain

import pytest

from redfish_fm.drivers.virtual.host_hardware import module_sizes
from redfish_fm.drivers.virtual.topology import Topology, TopologyError, read
from redfish_fm.fabric.hardware import HostHardware, Part
from redfish_fm.fabric.model import Host

MIB_PER_GIB = 1024
FILE = """
name: {name}
hosts:
  - {{id: "host{{n}}", count: 2, cpus: 3, cores: 64, memory: 768 GiB}}
  - {{id: node, memory: 64 GiB, detail: {detail}}}
fabrics:
  - id: PCIe
    protocol: PCIe
    switches:
      - {{id: pcie1, devices: [{{id: gpu1, kind: GPU}}]}}
  - id: CXL
    protocol: CXL
    switches:
      - {{id: cxl1, hosts: [host1], devices: [{{id: mem1, kind: Memory, capacity: 64 GiB}}]}}
  - id: NVMeoF
    protocol: NVMeOverFabrics
    subsystems:
      - {{id: jbof1, capacity: 30 TB}}
"""


def laid_out(name: str = "rack", detail: str = "full") -> Topology:
    return read(FILE.format(name=name, detail=detail), "test")


def hosts(topology: Topology) -> dict[str, Host]:
    return {host.id: host for fabric in topology.fabrics for host in fabric.hosts}


def inside(host: Host) -> HostHardware:
    assert host.hardware is not None
    return host.hardware


def parts(host: Host) -> list[Part]:
    hardware = inside(host)
    processors = [each.part for each in hardware.processors]
    modules = [each.part for each in hardware.memory]
    cards = [each.part for each in hardware.fabric_cards]
    single = [hardware.board, hardware.drive.part, hardware.network.part, host.part]
    assert host.bmc is not None
    return [
        *processors,
        *modules,
        *cards,
        *(each for each in single if each is not None),
        host.bmc.part,
        *hardware.power_supplies,
        *hardware.fans,
    ]


def macs(host: Host) -> list[str]:
    assert host.bmc is not None
    return [*inside(host).network.macs, host.bmc.mac]


def test_memory_modules_add_up_to_the_memory_of_the_host() -> None:
    for host in hosts(laid_out()).values():
        assert sum(each.capacity_mib for each in inside(host).memory) == host.memory_mib


@pytest.mark.parametrize(
    ("memory_gib", "cpus", "count"), [(512, 2, 16), (1536, 2, 16), (3072, 1, 12), (64, 4, 8)]
)
def test_modules_have_sizes_that_are_sold(memory_gib: int, cpus: int, count: int) -> None:
    sizes = module_sizes(memory_gib * MIB_PER_GIB, cpus)
    assert len(sizes) == count
    assert set(sizes) == {memory_gib * MIB_PER_GIB // count}


def test_memory_that_no_modules_make_up_is_one_module_for_each_cpu() -> None:
    assert module_sizes(1000, 3) == [334, 333, 333]
    assert module_sizes(1, 3) == [1]


def test_no_two_modules_are_in_one_slot() -> None:
    for host in hosts(laid_out()).values():
        labels = [each.label for each in inside(host).memory]
        assert len(set(labels)) == len(labels)


def test_cores_of_all_cpus_add_up_even_where_they_do_not_share_out_evenly() -> None:
    host = hosts(laid_out())["host1"]
    assert [each.core_count for each in inside(host).processors] == [22, 21, 21]
    assert host.core_count == 64


def test_a_host_has_a_card_for_each_fabric_whose_switches_it_is_cabled_to() -> None:
    found = hosts(laid_out())
    cards = {name: [each.fabric for each in inside(host).fabric_cards]
             for name, host in found.items()}  # fmt: skip
    assert cards == {"host1": ["PCIe", "CXL"], "host2": ["PCIe"], "node": ["PCIe"]}


def test_all_fabrics_know_a_host_as_the_same() -> None:
    topology = laid_out()
    for fabric in topology.fabrics:
        for host in fabric.hosts:
            assert host == hosts(topology)[host.id]


def test_serial_numbers_and_mac_addresses_are_unique() -> None:
    found = hosts(laid_out()).values()
    serials = [part.serial_number for host in found for part in parts(host)]
    assert len(set(serials)) == len(serials) > 60
    addresses = [*chain.from_iterable(map(macs, found))]
    assert len(set(addresses)) == len(addresses)


def test_mac_addresses_and_the_eui_are_locally_administered() -> None:
    for host in hosts(laid_out()).values():
        for mac in macs(host):
            assert int(mac[:2], 16) & 0b11 == 0b10
        assert int(inside(host).drive.eui64[:2], 16) & 0b11 == 0b10


def test_equal_topologies_have_equal_hardware_and_others_do_not() -> None:
    assert laid_out() == laid_out()
    here, there = hosts(laid_out())["host1"], hosts(laid_out("other"))["host1"]
    assert not {p.serial_number for p in parts(here)} & {p.serial_number for p in parts(there)}
    assert {p.part_number for p in parts(here)} == {p.part_number for p in parts(there)}


def test_power_supplies_can_feed_all_that_is_in_the_host() -> None:
    for host in hosts(laid_out()).values():
        hardware = inside(host)
        assert hardware.power_supply_w > sum(each.tdp_w for each in hardware.processors)


def test_a_host_of_core_detail_says_who_it_is_and_not_what_is_inside() -> None:
    host = hosts(laid_out(detail="core"))["node"]
    assert host.hardware is None
    assert host.part is not None
    assert host.bmc is not None


def test_another_detail_is_refused() -> None:
    with pytest.raises(TopologyError, match=r"hosts\[1\].detail"):
        laid_out(detail="rich")
