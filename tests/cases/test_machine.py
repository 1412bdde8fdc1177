"""Anything in any order: every kind of write and of hardware event, on one device of each kind.

`machine` says what must hold after each; at the end all that broke is mended, all that was made is
deleted, and nothing may be left.
"""

import asyncio
import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from redfish_fm.drivers.virtual.faults import Dropped, Fault, Late, Lost, Refuse, Restart, Slow
from redfish_fm.drivers.virtual.refusals import Refused
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    PortId,
    Sanitize,
    Step,
    Unbind,
    VppbId,
)
from tests.cases.machine import Run
from tests.cases.small_world import CXL, ENDS, NVME, PCIE, ends, fabric_of, small_world
from tests.cases.stack import ROOT
from tests.control.builders import links

FIXED = [f"{ROOT}/Chassis/fixed1/MemoryDomains/{n}/MemoryChunks/1" for n in (0, 1)]
CHUNKS = f"{ROOT}/Chassis/pooled1/MemoryDomains/1/MemoryChunks"
LD = f"{ROOT}/Chassis/dynamic1/PCIeDevices/dynamic1/CXLLogicalDevices/0"
LDS = f"{ROOT}/Chassis/fixed1/PCIeDevices/fixed1/CXLLogicalDevices"
STORAGE = f"{ROOT}/Storage/jbof1"
DEVICES = {each.id: each for inv in small_world().inventories for each in inv.devices}
FABRIC_OF = {each.id: inv.fabric for inv in small_world().inventories for each in inv.devices}
SWITCHES = {each.id: inv.fabric for inv in small_world().inventories for each in inv.switches}
BINDABLE = {
    name: sorted((t for f, t in small_world().facts.target_units if f == name), key=repr)
    for name in ("PCIe", "CXL", "NVMeoF")
}
BINDABLE["NVMeoF"] = [BindTarget("jbof1", "D1", namespace=number) for number in (1, 2)]
ACCESS = {"AccessCapabilities": ["Read", "Write"]}

HOSTS = st.sampled_from([(0,), (1,), (0,), (1,), (), (0, 1)])
"""Which hosts: mostly one."""
UNIT = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6])
"""Which target: mostly one of the first, so that several want it."""
UNITS = st.lists(UNIT, max_size=2, unique=True)
STEPS, SOAK = 40, 40
FABRIC = st.sampled_from([PCIE, CXL, NVME])
HOST = st.integers(0, 1)
SIZES_MIB = st.sampled_from([256, 256, 512, 1024, 300])
FAULTS = st.sampled_from(
    [Refuse("bay is locked"), Slow(1.0), Slow(20.0), Lost(), Dropped(), Late(), Restart()]
)


def _strike(plant: Any, step: Step) -> None:
    with contextlib.suppress(Refused):
        plant.execute(step, "outside")


class Clients(RuleBasedStateMachine):
    """Everything that clients write; hardware does as it is told."""

    zones = Bundle("zones")
    groups = Bundle("groups")
    chunks = Bundle("chunks")
    regions = Bundle("regions")
    volumes = Bundle("volumes")
    connections = Bundle("connections")
    pools = Bundle("pools")

    def __init__(self) -> None:
        super().__init__()
        self.run_ = Run()

    def write(self, method: str, uri: str, body: Any = None) -> Any:
        """Send a write; return what it made, for a bundle."""
        response = self.run_.do(self.run_.write(method, uri, body))
        return response.headers["Location"] if response.status == 201 else multiple()

    def delete(self, uri: str) -> Any:
        """Send a DELETE; return the URI if it is still there, for its bundle."""
        response = self.run_.do(self.run_.write("DELETE", uri))
        return uri if response.status >= 400 and response.status != 404 else multiple()

    @initialize(target=zones)
    def first_zones(self) -> Any:
        """Give the first device of each fabric to the first host."""
        made = []
        for fabric in (PCIE, CXL):
            body = {"Links": {"Endpoints": links(*ends(fabric, (0,), (0,)))}}
            made.append(self.write("POST", f"{fabric}/Zones", body))
        return multiple(*made)

    @initialize(target=chunks)
    def first_chunk(self) -> Any:
        return self.write("POST", CHUNKS, {"MemoryChunkSizeMiB": 256})

    @initialize(target=regions, shareable=st.booleans())
    def first_region(self, shareable: bool) -> Any:
        body = {"RegionType": "Dynamic", "RegionSizeMiB": 256, "ShareableRegion": shareable}
        return self.write("POST", f"{LD}/MemoryRegions", body)

    @initialize(target=volumes)
    def first_volume(self) -> Any:
        return self.write("POST", f"{STORAGE}/Volumes", {"CapacityBytes": 1 << 30})

    # -- zones -------------------------------------------------------------------------------

    @rule(target=zones, fabric=FABRIC, hosts=HOSTS, units=UNITS)
    def post_zone(self, fabric: str, hosts: Any, units: Any) -> Any:
        body = {"Links": {"Endpoints": links(*ends(fabric, hosts, units))}}
        return self.write("POST", f"{fabric}/Zones", body)

    @rule(zone=zones, hosts=HOSTS, units=UNITS)
    def patch_zone(self, zone: str, hosts: Any, units: Any) -> None:
        members = ends(fabric_of(zone), hosts, units)
        self.write("PATCH", zone, {"Links": {"Endpoints": links(*members)}})

    @rule(zone=zones, unit=UNIT, adds=st.booleans())
    def move_target(self, zone: str, unit: int, adds: bool) -> None:
        (end,) = ends(fabric_of(zone), (), (unit,))
        self._act(zone, "AddEndpoint" if adds else "RemoveEndpoint", end)

    @rule(zone=zones, host=HOST, adds=st.booleans())
    def move_host(self, zone: str, host: int, adds: bool) -> None:
        (end,) = ends(fabric_of(zone), (host,), ())
        self._act(zone, "AddEndpoint" if adds else "RemoveEndpoint", end)

    def _act(self, zone: str, action: str, end: str) -> None:
        body = {"Endpoint": {"@odata.id": end}}
        self.write("POST", f"{zone}/Actions/Zone.{action}", body)

    @rule(target=zones, zone=consumes(zones))
    def delete_zone(self, zone: str) -> Any:
        return self.delete(zone)

    @rule(fabric=FABRIC, hosts=HOSTS, units=UNITS)
    def fill_default_zone(self, fabric: str, hosts: Any, units: Any) -> None:
        members = ends(fabric, hosts, units)
        self.write("PATCH", f"{fabric}/Zones/Default", {"Links": {"Endpoints": links(*members)}})

    @rule(fabric=FABRIC, enabled=st.booleans())
    def route_default_zone(self, fabric: str, enabled: bool) -> None:
        self.write("PATCH", f"{fabric}/Zones/Default", {"DefaultRoutingEnabled": enabled})

    # -- groups ------------------------------------------------------------------------------

    @rule(target=groups, fabric=FABRIC, hosts=HOSTS)
    def post_group(self, fabric: str, hosts: Any) -> Any:
        body = {"Links": {"Endpoints": links(*ends(fabric, hosts, ()))}}
        return self.write("POST", f"{fabric}/EndpointGroups", body)

    @rule(group=groups, hosts=HOSTS)
    def patch_group(self, group: str, hosts: Any) -> None:
        body = {"Links": {"Endpoints": links(*ends(fabric_of(group), hosts, ()))}}
        self.write("PATCH", group, body)

    @rule(target=groups, group=consumes(groups))
    def delete_group(self, group: str) -> Any:
        return self.delete(group)

    # -- parts -------------------------------------------------------------------------------

    @rule(target=chunks, size_mib=SIZES_MIB)
    def post_chunk(self, size_mib: int) -> Any:
        return self.write("POST", CHUNKS, {"MemoryChunkSizeMiB": size_mib})

    @rule(target=regions, size_mib=SIZES_MIB, shareable=st.booleans())
    def post_region(self, size_mib: int, shareable: bool) -> Any:
        body = {"RegionType": "Dynamic", "RegionSizeMiB": size_mib, "ShareableRegion": shareable}
        return self.write("POST", f"{LD}/MemoryRegions", body)

    @rule(target=volumes, gib=st.sampled_from([1, 1, 2, 3, 8]), shareable=st.booleans())
    def post_volume(self, gib: int, shareable: bool) -> Any:
        body: dict[str, Any] = {"CapacityBytes": gib << 30}
        if shareable:
            body["NVMeNamespaceProperties"] = {"IsShareable": True}
        return self.write("POST", f"{STORAGE}/Volumes", body)

    @rule(target=chunks, chunk=consumes(chunks))
    def delete_chunk(self, chunk: str) -> Any:
        return self.delete(chunk)

    @rule(target=regions, region=consumes(regions))
    def delete_region(self, region: str) -> Any:
        return self.delete(region)

    @rule(target=volumes, volume=consumes(volumes))
    def delete_volume(self, volume: str) -> Any:
        return self.delete(volume)

    # -- connections -------------------------------------------------------------------------

    def _target_of(self, part: str) -> list[str]:
        index = self.run_.stack.kernel.published.state.index
        chunk, region = index.chunks.get(part), index.regions.get(part)
        unit = chunk.unit if chunk else region.ld if region else None
        return sorted(index.endpoints_of_unit(unit)) if unit else [ENDS[CXL]["targets"][0]]

    @rule(target=zones, part=chunks | regions | st.sampled_from(FIXED), hosts=HOSTS)
    def zone_part(self, part: str, hosts: Any) -> Any:
        members = [*ends(CXL, hosts, ()), *self._target_of(part)]
        return self.write("POST", f"{CXL}/Zones", {"Links": {"Endpoints": links(*members)}})

    def _connect(self, part: str, sources: dict[str, Any], ends_at: list[str]) -> Any:
        name = "MemoryRegion" if "/MemoryRegions/" in part else "MemoryChunk"
        row = {name: {"@odata.id": part}, **ACCESS}
        body = {
            "ConnectionType": "Memory",
            f"{name}Info": [row],
            "Links": {**sources, "TargetEndpoints": links(*ends_at)},
        }
        return self.write("POST", f"{CXL}/Connections", body)

    @rule(
        target=connections,
        part=chunks | regions | st.sampled_from(FIXED),
        host=HOST,
        zoned=st.sampled_from([True, True, False]),
    )
    def connect_part(self, part: str, host: int, zoned: bool) -> Any:
        """Grant a part to a host; `zoned`: after they have been zoned, if that is needed."""
        (initiator,), targets = ends(CXL, (host,), ()), self._target_of(part)
        if zoned and not self._meet(initiator, targets[0]):
            body = {"Links": {"Endpoints": links(initiator, *targets)}}
            self.write("POST", f"{CXL}/Zones", body)
        return self._connect(part, {"InitiatorEndpoints": links(initiator)}, targets)

    def _meet(self, one: str, other: str) -> bool:
        index = self.run_.stack.kernel.published.state.index
        return bool(set(index.zones_of(one)) & set(index.zones_of(other)))

    @rule(target=connections, part=chunks | regions, host=HOST, at=st.integers(0, 5))
    def connect_part_of_another(self, part: str, host: int, at: int) -> Any:
        sources = {"InitiatorEndpoints": links(*ends(CXL, (host,), ()))}
        return self._connect(part, sources, ends(CXL, (), (at,)))

    @rule(target=connections, part=chunks | regions | st.sampled_from(FIXED), group=groups)
    def connect_group(self, part: str, group: str) -> Any:
        sources = {"InitiatorEndpointGroups": links(group)}
        return self._connect(part, sources, self._target_of(part))

    @rule(target=connections, host=HOST, at=UNIT)
    def connect_device(self, host: int, at: int) -> Any:
        sides = {
            "InitiatorEndpoints": links(*ends(PCIE, (host,), ())),
            "TargetEndpoints": links(*ends(PCIE, (), (at,))),
        }
        return self.write("POST", f"{PCIE}/Connections", {"Links": sides})

    @rule(
        target=connections, volume=volumes, host=HOST,
        lun=st.none() | st.integers(0, 2), group=st.none() | groups,
    )  # fmt: skip
    def connect_volume(self, volume: str, host: int, lun: int | None, group: str | None) -> Any:
        row = {"Volume": {"@odata.id": volume}, **ACCESS}
        row |= {} if lun is None else {"LUN": lun}
        side = {"InitiatorEndpoints": links(*ends(NVME, (host,), ()))}
        side = side if group is None else {"InitiatorEndpointGroups": links(group)}
        body = {
            "ConnectionType": "Storage",
            "VolumeInfo": [row],
            "Links": {**side, "TargetEndpoints": links(*ends(NVME, (), (0,)))},
        }
        return self.write("POST", f"{NVME}/Connections", body)

    @rule(connection=connections, volume=volumes, adds=st.booleans())
    def act_on_volumes(self, connection: str, volume: str, adds: bool) -> None:
        body: dict[str, Any] = {"Volume": {"@odata.id": volume}}
        body |= ACCESS if adds else {}
        verb = "Add" if adds else "Remove"
        self.write("POST", f"{connection}/Actions/Connection.{verb}VolumeInfo", body)

    @rule(connection=connections, host=HOST)
    def patch_connection(self, connection: str, host: int) -> None:
        side = links(*ends(fabric_of(connection), (host,), ()))
        self.write("PATCH", connection, {"Links": {"InitiatorEndpoints": side}})

    @rule(target=connections, connection=consumes(connections))
    def delete_connection(self, connection: str) -> Any:
        return self.delete(connection)

    # -- what else is written ----------------------------------------------------------------

    @rule(vcs=st.integers(1, 2), vppb=st.integers(0, 3), at=st.none() | st.integers(1, 4))
    def set_vppb(self, vcs: int, vppb: int, at: int | None) -> None:
        switch = f"{CXL}/Switches/cxl1"
        port = None if at is None else {"@odata.id": f"{switch}/Ports/D{at}"}
        self.write("PATCH", f"{switch}/VCSs/{vcs}/VPPBs/{vppb}", {"Links": {"Port": port}})

    @rule(target=pools, fabric=FABRIC, hosts=HOSTS)
    def post_pool(self, fabric: str, hosts: Any) -> Any:
        body = {"Links": {"Endpoints": links(*ends(fabric, hosts, ()))}}
        return self.write("POST", f"{fabric}/AddressPools", body)

    @rule(pool=pools, hosts=HOSTS, vlan=st.integers(4093, 4096))
    def patch_pool(self, pool: str, hosts: Any, vlan: int) -> None:
        members = links(*ends(fabric_of(pool), hosts, ()))
        ethernet = {"IPv4": {"NativeVLAN": vlan}}
        self.write("PATCH", pool, {"Links": {"Endpoints": members}, "Ethernet": ethernet})

    @rule(target=pools, pool=consumes(pools))
    def delete_pool(self, pool: str) -> Any:
        return self.delete(pool)

    @rule(ld=st.integers(0, 1), share=st.sampled_from([0, 30, 60, 101]))
    def set_qos(self, ld: int, share: int) -> None:
        qos = {"AllocatedBandwidth": share, "LimitPercent": 90}
        self.write("PATCH", f"{LDS}/{ld}", {"QoS": qos})

    # -- always ------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.01, 1.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.run_.do(asyncio.sleep(seconds))

    @invariant()
    def nothing_is_wrong(self) -> None:
        self.run_.do(self.run_.check())

    def teardown(self) -> None:
        try:
            self.run_.do(self.run_.undo())
        finally:
            self.run_.close()


class Everything(Clients):
    """Clients, hardware, strangers and crashes, one at a time."""

    pulled = Bundle("pulled")

    def plant(self, name: str) -> Any:
        self.run_.strange = True
        return self.run_.plants[FABRIC_OF.get(name) or SWITCHES[name]]

    @rule(target=pulled, device=st.sampled_from(sorted(DEVICES)))
    def pull_device(self, device: str) -> str:
        self._happens(lambda plant: plant.remove_device(device), device)
        return device

    @rule(device=consumes(pulled), another=st.booleans())
    def return_device(self, device: str, another: bool) -> None:
        number = "SN-another" if another else None
        self._happens(lambda plant: plant.return_device(device, number), device)

    @rule(device=st.sampled_from(sorted(DEVICES)), on=st.booleans())
    def power_device(self, device: str, on: bool) -> None:
        self._happens(lambda plant: plant.power_device(device, on), device)

    @rule(device=st.sampled_from(sorted(DEVICES)), health=st.sampled_from(["OK", "Critical"]))
    def change_health(self, device: str, health: str) -> None:
        self._happens(lambda plant: plant.set_device_health(device, health), device)

    @rule(
        switch=st.sampled_from(sorted(SWITCHES)), port=st.integers(0, 7),
        link_up=st.booleans(), present=st.booleans(),
    )  # fmt: skip
    def change_link(self, switch: str, port: int, link_up: bool, present: bool) -> None:
        def change(plant: Any) -> None:
            ports: list[PortId] = [each.id for each in plant.switches[switch].facts.ports]
            plant.set_port(ports[port % len(ports)], link_up=link_up, present=present)

        self._happens(change, switch)

    @rule(switch=st.sampled_from(sorted(SWITCHES)), keeps=st.booleans(),
          down_s=st.sampled_from([0.0, 4.0]))  # fmt: skip
    def restart_switch(self, switch: str, keeps: bool, down_s: float) -> None:
        self._happens(lambda plant: plant.restart(switch, down_s, keeps_bindings=keeps), switch)

    @rule(switch=st.sampled_from(sorted(SWITCHES)), down_s=st.sampled_from([0.0, 4.0, 60.0]))
    def cut_switch(self, switch: str, down_s: float) -> None:
        self._happens(lambda plant: plant.cut(switch, down_s), switch)

    @rule(switch=st.sampled_from(sorted(SWITCHES)), fault=FAULTS)
    def strike_next_command(self, switch: str, fault: Fault) -> None:
        self.run_.strange = True
        self.run_.stack.rig.faults(SWITCHES[switch]).next_apply(switch, fault)

    @rule(switch=st.sampled_from(sorted(SWITCHES)), vppb=st.integers(0, 7),
          unit=st.integers(0, 7))  # fmt: skip
    def bind_behind_our_back(self, switch: str, vppb: int, unit: int) -> None:
        def change(plant: Any) -> None:
            place: VppbId = sorted(plant.switches[switch].vppbs())[vppb % 8]
            known = BINDABLE[SWITCHES[switch]]
            _strike(plant, Bind(place, known[unit % len(known)]))

        self._happens(change, switch)

    @rule(switch=st.sampled_from(sorted(SWITCHES)), number=st.integers(0, 7))
    def unbind_behind_our_back(self, switch: str, number: int) -> None:
        def change(plant: Any) -> None:
            bound = sorted(plant.bound().items())
            for vppb, target in bound[number % len(bound) :][:1] if bound else ():
                _strike(plant, Unbind(vppb, target))

        self._happens(change, switch)

    @rule(step=st.sampled_from([Allocate, Sanitize, Deallocate]), number=st.integers(0, 1))
    def carve_behind_our_back(self, step: Any, number: int) -> None:
        def change(plant: Any) -> None:
            at = plant.devices["pooled1"].ports[0]
            part = BindTarget(at.switch, at.port, ld=number)
            _strike(plant, Allocate(part, 256, False) if step is Allocate else step(part))

        self._happens(change, "pooled1")

    def _happens(self, what: Any, name: str) -> None:
        plant = self.plant(name)

        async def happen() -> None:
            what(plant)

        self.run_.do(happen())

    @rule()
    def wait_until_operations_have_expired(self) -> None:
        self.run_.do(asyncio.sleep(400.0))

    @rule()
    def mend(self) -> None:
        """Bring everything in order and wait; then hardware is as wanted again."""
        self.run_.do(self.run_.mend())

    # -- crashes -----------------------------------------------------------------------------

    @rule()
    def crash(self) -> None:
        self.run_.do(self.run_.crash())

    @rule(fabric=FABRIC, hosts=HOSTS, units=UNITS,
          after_s=st.sampled_from([0.0, 0.001, 0.003, 0.1]))  # fmt: skip
    def crash_while_zoning(self, fabric: str, hosts: Any, units: Any, after_s: float) -> None:
        body = {"Links": {"Endpoints": links(*ends(fabric, hosts, units))}}
        self.run_.do(self.run_.crash_within("POST", f"{fabric}/Zones", body, after_s))


def _often(examples: int, steps: int) -> settings:
    return settings(
        settings.get_profile("redfish_fm"),
        max_examples=examples,
        stateful_step_count=steps,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


ERRORS = pytest.mark.expects_errors
"""A violation that a stranger causes is logged as an ERROR; `Run` looks at all others itself."""

TestClients = Clients.TestCase
TestClients.settings = _often(20, STEPS)
TestEverything = ERRORS(Everything.TestCase)
TestEverything.settings = _often(10, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(7200)
class TestClientsForLong(Clients.TestCase):
    settings = _often(20 * SOAK, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.expects_errors
class TestEverythingForLong(Everything.TestCase):
    settings = _often(10 * SOAK, STEPS)


@pytest.mark.expects_errors
def test_two_hosts_at_one_device_do_not_stay_unseen() -> None:
    run = Run()

    async def bind_twice() -> None:
        plant = run.plants["PCIe"]
        for vcs in ("1", "2"):
            plant.execute(Bind(VppbId("pcie1", vcs, 0), BindTarget("pcie1", "D1")))

    try:
        run.do(run.check())
        run.do(bind_twice())
        with pytest.raises(AssertionError, match="Double"):
            run.do(run.check())
    finally:
        run.close()
