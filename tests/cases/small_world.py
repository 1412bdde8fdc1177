"""A small world with one device of every kind, for tests that do many things to all of it."""

from functools import cache
from typing import Any

from redfish_fm import worlds
from redfish_fm.drivers.virtual.topology import read
from redfish_fm.mapping.inventory import render_inventories
from tests.cases.stack import ROOT

TOPOLOGY = """\
name: small
description: One device of every kind, and two hosts that reach all of it.
hosts:
  - {id: "host{n}", count: 2, cpus: 1, cores: 8, memory: 64 GiB}
fabrics:
  - id: PCIe
    name: PCIe fabric
    protocol: PCIe
    switches:
      - id: pcie1
        model: small
        host_link: {gen: 5, lanes: 16, latency_ns: 110}
        vppbs: 4
        devices:
          - {id: gpu1, kind: GPU, capacity: 80 GiB,
             link: {gen: 5, lanes: 16, latency_ns: 110}}
          - {id: nic1, kind: NIC, functions: 1, virtual_functions: 1, bind: functions,
             link: {gen: 5, lanes: 16, latency_ns: 110}}
    devices:
      - {id: mhnic1, kind: NIC, ports: [pcie1, pcie1], shared: true,
         link: {gen: 5, lanes: 4, latency_ns: 110}}
      - {id: drive1, kind: NVMe, capacity: 1 TiB, ports: [pcie1, pcie1], shared: false,
         sanitizes: true, link: {gen: 5, lanes: 2, latency_ns: 110}}
  - id: CXL
    name: CXL fabric
    protocol: CXL
    switches:
      - id: cxl1
        model: small
        host_link: {gen: 5, lanes: 16, latency_ns: 80}
        vppbs: 4
        devices:
          - {id: mem1, kind: Memory, model: small, capacity: 64 GiB,
             link: {gen: 5, lanes: 8, latency_ns: 80}}
          - {id: fixed1, kind: Memory, model: small, capacity: 128 GiB, lds: {count: 2},
             qos: true, link: {gen: 5, lanes: 16, latency_ns: 80}}
          - {id: pooled1, kind: Memory, model: small, capacity: 1 GiB,
             lds: {count: 2, pooled: true, granularity: 256 MiB},
             link: {gen: 5, lanes: 16, latency_ns: 80}}
          - {id: dynamic1, kind: Memory, model: small, capacity: 1 GiB,
             dynamic: {count: 1, regions: 2, granularity: 256 MiB},
             link: {gen: 5, lanes: 16, latency_ns: 80}}
  - id: NVMeoF
    name: Storage fabric
    protocol: NVMeOverFabrics
    subsystems:
      - {id: jbof1, capacity: 4 GiB, namespaces: 2, attachments: 4, granularity: 1 GiB}
"""


@cache
def small_world() -> worlds.World:
    """Return what the service serves of it."""
    inventories = read(TOPOLOGY, "small").inventories()
    rendered = render_inventories(list(inventories))
    fabrics = tuple(inventory.fabric for inventory in inventories)
    return worlds.World(rendered.documents, rendered.facts, inventories, default_zones=fabrics)


FABRICS = f"{ROOT}/Fabrics"
PCIE, CXL, NVME = (f"{FABRICS}/{name}" for name in ("PCIe", "CXL", "NVMeoF"))
ENDS = {
    fabric: {
        "hosts": [f"{fabric}/Endpoints/{name}" for name in hosts],
        "targets": [f"{fabric}/Endpoints/{name}" for name in units],
    }
    for fabric, hosts, units in (
        (PCIE, ("host1-1", "host2-1"),
         ("gpu1", "drive1-p1", "drive1-p2", "nic1-f0", "nic1-f1", "mhnic1-h1", "mhnic1-h2")),
        (CXL, ("host1-2", "host2-2"),
         ("fixed1-ld0", "pooled1-ld0", "dynamic1-ld0", "mem1", "fixed1-ld1", "pooled1-ld1")),
        (NVME, ("host1", "host2"), ("jbof1",)),
    )
}  # fmt: skip
"""By fabric: whose numbers `ends` takes. What is first is what several hosts want."""


def ends(fabric: str, hosts: Any, units: Any) -> list[str]:
    """Return endpoints by number."""
    known = ENDS[fabric]["targets"]
    found = [ENDS[fabric]["hosts"][host] for host in hosts]
    return list(dict.fromkeys([*found, *(known[each % len(known)] for each in units)]))


def fabric_of(uri: str) -> str:
    return "/".join(uri.split("/")[:5])
