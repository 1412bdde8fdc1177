"""PCIe fabrics whose switches are joined, and who gets through to what: physics, by cables alone.

CHAIN   host1 and host2 on top; leaf1 and leaf2 below it, two links each; deep below leaf1. Each
        switch has devices of its own.
PEERS   host1 on left, host2 on right, one link between them.
"""

from typing import Any

import yaml
from hypothesis import strategies as st

from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.topology import read
from redfish_fm.fabric.model import Inventory, Port, PortId, VirtualSwitch

CHAIN = """
name: chain
hosts: [{id: "host{n}", count: 2, cpus: 1, cores: 8, memory: 64 GiB}]
fabrics:
  - id: PCIe
    protocol: PCIe
    switches:
      - id: top
        host_link: {latency_ns: 110}
        devices: [{id: "near{n}", count: 2, kind: GPU, link: {latency_ns: 50}}]
      - id: leaf{n}
        count: 2
        hosts: []
        vppbs: 4
        uplinks: [{to: top, count: 2, link: {gen: 5, lanes: 8, latency_ns: 120}}]
        devices: [{id: "far{n}", count: 2, kind: GPU, link: {latency_ns: 50}}]
      - id: deep
        hosts: []
        uplinks: [{to: leaf1, link: {latency_ns: 130}}]
        devices: [{id: "drive{n}", count: 2, kind: NVMe, capacity: 1 TiB}]
"""
PEERS = """
name: peers
hosts: [{id: "host{n}", count: 2, cpus: 1, cores: 8, memory: 64 GiB}]
fabrics:
  - id: PCIe
    protocol: PCIe
    switches:
      - id: left
        hosts: [host1]
        devices: [{id: gpu1, kind: GPU}]
      - id: right
        hosts: [host2]
        uplinks: [{to: left, link: {latency_ns: 120}}]
        devices: [{id: gpu2, kind: GPU}]
"""


def inventory(text: str = CHAIN) -> Inventory:
    """Return the only fabric of a topology."""
    (found,) = read(text, "chains").inventories()
    return found


@st.composite
def joined_fabrics(draw: st.DrawFn) -> str:
    """Return a topology of up to six switches in one tree or several, hosts anywhere."""
    count = draw(st.integers(2, 6))
    hosts = [f"h{number}" for number in range(draw(st.integers(1, 4)))]
    switches: list[dict[str, Any]] = []
    for number in range(count):
        own = draw(st.lists(st.sampled_from(hosts), unique=True, max_size=len(hosts)))
        switch: dict[str, Any] = {"id": f"s{number}", "hosts": own, "vppbs": 4, "detail": "core"}
        switch["host_ports"] = draw(st.integers(1, 2))
        switch["devices"] = [{"id": f"d{number}", "kind": "GPU"}]
        if number and draw(st.integers(0, 4)):
            link = {"latency_ns": draw(st.sampled_from([0, 100, 115, 200]))}
            to = f"s{draw(st.integers(0, number - 1))}"
            uplink = {"to": to, "count": draw(st.integers(1, 3)), "link": link}
            switch["uplinks"] = [uplink]
        switches.append(switch)
    order = draw(st.permutations(switches))
    fabric = {"id": "PCIe", "protocol": "PCIe", "switches": list(order)}
    value = {
        "name": "drawn",
        "hosts": [{"id": each, "detail": "core"} for each in hosts],
        "fabrics": [fabric],
    }
    return str(yaml.safe_dump(value))


def cables(fabric: Inventory, vcs: VirtualSwitch) -> list[Port]:
    """Return the ports on the way to a virtual switch: from itself to its host's own port.

    By what is plugged in where and whose virtual switch it is, and by nothing that anybody planned.
    """
    ports = {port.id: port for each in fabric.switches for port in each.ports}
    owned = {
        (each.switch, each.host): each
        for switch in reversed(fabric.switches)
        for each in reversed(switch.virtual_switches)
    }
    way: list[Port] = []
    while True:
        way.append(port := ports[PortId(vcs.switch, vcs.upstream_port)])
        if port.peer is None:
            return way
        way.append(ports[port.peer])
        vcs = owned[port.peer.switch, vcs.host]


def gets_through(hardware: Hardware, vcs: VirtualSwitch) -> bool:
    """Whether every link between a virtual switch and its host is up."""
    states = {
        port: state
        for switch in hardware.inventory.switches
        for port, state in hardware.port_states(switch.id).items()
    }
    return all(states[port.id].link_up for port in cables(hardware.inventory, vcs))
