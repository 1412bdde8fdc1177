"""Two services and the wire between them: one manages the CXL switch that the other simulates.

    with paired(tmp_path) as pair:
        pair.manager("POST", …)             the service that drives the switch
        pair.there.get(…)                   the service that simulates it: what the hardware says
        pair.tap.changes()                  what went over the wire

On the wire, ports are numbered from 0: hosts at 0 and 1, then the devices, in order.
"""

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.fmapi_tap import Tap, tapped
from tests.e2e.service import Answer, Client, Service, links, serving, zone_body
from tests.e2e.test_fmapi_wire import port_of

FABRIC = "/redfish/v1/Fabrics/REAL"
SWITCH = f"{FABRIC}/Switches/real1"
HOSTS = (f"{FABRIC}/Endpoints/a-real1-0", f"{FABRIC}/Endpoints/b-real1-1")
FIXED, POOLED, DYNAMIC = 2, 3, 4
"""Ports: four fixed LDs with bandwidth, four LDs out of a pool, two LDs with dynamic capacity."""

NAMES = {FIXED: "fixed1", POOLED: "pooled1", DYNAMIC: "dynamic1"}
WAIT_S = 30.0
TOPOLOGY = """
name: wire
description: A CXL switch with each kind of memory that is cut.
hosts:
  - {id: "host{n}", count: 2, cpus: 1, cores: 32, memory: 256 GiB}
fabrics:
  - id: CXL
    name: CXL fabric
    protocol: CXL
    switches:
      - id: cxl1
        model: Virtual CXL switch
        host_link: {gen: 5, lanes: 16, latency_ns: 80}
        vppbs: 12
        devices:
          - {id: fixed1, kind: Memory, model: Virtual MLD, capacity: 64 GiB,
             lds: {count: 4}, qos: true, link: {gen: 5, lanes: 16, latency_ns: 80}}
          - {id: pooled1, kind: Memory, model: Virtual appliance, capacity: 8 GiB,
             lds: {count: 4, pooled: true, granularity: 256 MiB},
             link: {gen: 5, lanes: 16, latency_ns: 80}}
          - {id: dynamic1, kind: Memory, model: Virtual DCD, capacity: 8 GiB,
             dynamic: {count: 2, regions: 4, granularity: 512 MiB},
             link: {gen: 5, lanes: 16, latency_ns: 80}}
"""


@dataclass
class Pair:
    """What was started."""

    manager: Client
    there: Client
    tap: Tap
    service: Service
    switch_port: int

    def device(self, port: int) -> str:
        """Return the chassis of the device at a port, as the manager names it."""
        members = self.manager.get("/redfish/v1/Chassis")["Members"]
        found = [each["@odata.id"] for each in members if f"real1-P{port}-" in each["@odata.id"]]
        return found[0]

    def ld(self, port: int, number: int) -> str:
        """Return an LD of a device, as the manager names it."""
        chassis = self.device(port)
        return f"{chassis}/PCIeDevices/{chassis.rsplit('/', 1)[-1]}/CXLLogicalDevices/{number}"

    def endpoint(self, port: int, number: int) -> str:
        """Return the endpoint that an LD is."""
        return f"{FABRIC}/Endpoints/{self.device(port).rsplit('/', 1)[-1]}-ld{number}"

    def ld_there(self, port: int, number: int) -> dict[str, Any]:
        """Return an LD as the service says that simulates it."""
        place = f"/redfish/v1/Chassis/{NAMES[port]}/PCIeDevices/{NAMES[port]}"
        found: dict[str, Any] = self.there.get(f"{place}/CXLLogicalDevices/{number}")
        return found

    def bound_there(self) -> dict[str, tuple[str, int | None]]:
        """Return status and LD of what the simulated vPPBs have bound."""
        found = {}
        for vcs in (1, 2):
            place = f"/redfish/v1/Fabrics/CXL/Switches/cxl1/VCSs/{vcs}/VPPBs"
            for member in self.there.get(place)["Members"]:
                vppb = self.there.get(member["@odata.id"])
                if vppb["BindingStatus"] != "Unbound":
                    name = f"{vcs}/{vppb['Id']}"
                    found[name] = (vppb["BindingStatus"], vppb.get("BoundLDId"))
        return found

    def write(self, method: str, uri: str, body: object = None) -> Answer:
        """Send a request that is to be carried out, and wait for its Task where it has one."""
        answer = self.manager(method, uri, body)
        if answer.status == 202:
            answer = self.end_of(answer.headers["location"])
        assert answer.status in (200, 201, 204), answer
        return answer

    def end_of(self, monitor: str) -> Answer:
        """Wait for a Task to end; return the answer of what it is for."""
        until_s = time.monotonic() + WAIT_S
        while (answer := self.manager("GET", monitor)).status == 202:
            assert time.monotonic() < until_s, answer
            time.sleep(0.05)
        return answer

    def made(self, place: str, body: object) -> str:
        """Make a member of a collection; return its URI."""
        return self.write("POST", place, body).headers["location"]

    def zone(self, host: int, port: int, ld: int) -> str:
        """Let a host and an LD reach each other."""
        return self.made(f"{FABRIC}/Zones", zone_body(HOSTS[host], self.endpoint(port, ld)))

    def connection(
        self, host: int, port: int, ld: int, *, chunk: str = "", region: str = ""
    ) -> str:
        """Grant a chunk or region to a host."""
        granted: dict[str, Any] = {"AccessCapabilities": ["Read", "Write"]}
        granted["MemoryChunk" if chunk else "MemoryRegion"] = {"@odata.id": chunk or region}
        ends = {
            "InitiatorEndpoints": links(HOSTS[host]),
            "TargetEndpoints": links(self.endpoint(port, ld)),
        }
        info = "MemoryChunkInfo" if chunk else "MemoryRegionInfo"
        body = {"ConnectionType": "Memory", "Links": ends, info: [granted]}
        return self.made(f"{FABRIC}/Connections", body)

    def until(self, asked: Callable[[], object], wanted: object) -> None:
        """Ask until the answer is as wanted."""
        until_s = time.monotonic() + WAIT_S
        while (seen := asked()) != wanted:
            assert time.monotonic() < until_s, f"{seen} instead of {wanted}"
            time.sleep(0.05)

    def wire(self, since: int) -> list[str]:
        """Return the commands that changed something since `since`, as `opcode [port [LD]]`."""
        return [str(told).split(" -> ")[0] for told in self.tap.changes(since)]


@contextlib.contextmanager
def paired(place: Path) -> Iterator[Pair]:
    """Yield two services that are connected."""
    topology, config = place / "wire.yaml", place / "switches.toml"
    topology.write_text(TOPOLOGY, encoding="utf-8")
    flags = ("--topology", str(topology), "--ephemeral", "--fmapi-listen", "127.0.0.1:0")
    with serving(*flags) as (simulator, there_url), tapped(port_of(simulator)) as tap:
        config.write_text(
            '[[switches]]\nid = "real1"\nfabric = "REAL"\nlink = "mctp-tcp"\n'
            f'address = "127.0.0.1:{tap.port}"\nhosts = {{ "0" = "a", "1" = "b" }}\n',
            encoding="utf-8",
        )
        with (
            serving("--config", str(config), "--ephemeral") as (service, url),
            contextlib.closing(Client(url)) as manager,
            contextlib.closing(Client(there_url)) as there,
        ):
            pair = Pair(manager, there, tap, service, port_of(simulator))
            pair.until(lambda: manager.get(FABRIC)["Status"]["State"], "Enabled")
            yield pair
            assert not [
                line for line in service.complaints if re.search(" (ERROR|CRITICAL) ", line)
            ]
