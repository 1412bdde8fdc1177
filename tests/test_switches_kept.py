"""What clients made in the fabric of a switch, while that is away or other things are there."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from redfish_fm.config import Config
from redfish_fm.config_switches import SwitchStanza
from redfish_fm.control.base import Base
from redfish_fm.control.kernel import Kernel, KernelConfig
from redfish_fm.drivers.cxl_fmapi.inventories import DECIDED_MAX
from redfish_fm.fabric.model import Inventory
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import Outcome, OutcomeKind, Write, WriteKind
from redfish_fm.store.memory import DurableState, MemoryStore
from redfish_fm.switches import POOLS_KEY, SwitchFabrics, switch_fabrics
from tests.drivers.cxl_fmapi.peer import IDENTITY, Peer, Reply
from tests.drivers.cxl_fmapi.peer_switch import INTERNAL, OK, SwitchState, peer_of
from tests.drivers.cxl_fmapi.test_failures import pull, tunnelled_identity
from tests.virtual_time import VirtualClock, in_virtual_time

FABRIC = "/redfish/v1/Fabrics/REAL"
HOSTS = (f"{FABRIC}/Endpoints/real1-U0-real1-0", f"{FABRIC}/Endpoints/real1-U1-real1-1")
OTHER_SERIAL = IDENTITY[:8] + bytes(range(8)) + IDENTITY[16:]
BIND, UNBIND = 0x5201, 0x5202
SLD_PORT, MLD_PORT = 3, 5
WAIT_S = 5.0


def stanza(port: int, **more: Any) -> SwitchStanza:
    return SwitchStanza(
        id="real1", fabric="REAL", link="mctp-tcp", address=f"127.0.0.1:{port}", **more
    )


def base_of(inventories: tuple[Inventory, ...]) -> Base:
    rendered = render_inventories(inventories)
    return Base(rendered.documents, rendered.facts)


class Served:
    """A kernel over the fabrics of a configuration, as one client sees it."""

    def __init__(self, kernel: Kernel, fabrics: SwitchFabrics) -> None:
        self.kernel = kernel
        self.fabrics = fabrics

    def get(self, uri: str) -> dict[str, Any]:
        found = self.kernel.published.get(uri)
        assert found is not None, uri
        shown: dict[str, Any] = json.loads(found.body)
        return shown

    def exists(self, uri: str) -> bool:
        return self.kernel.published.exists(uri)

    def conditions(self, uri: str) -> list[str]:
        return [each["Message"] for each in self.get(uri)["Status"].get("Conditions", ())]

    def endpoints(self, port: int) -> list[str]:
        """Return the endpoints of what is behind a port."""
        named = self.kernel.published.state.members_of(f"{FABRIC}/Endpoints")
        return sorted(each for each in named if f"/real1-P{port}-" in each)

    async def write(self, kind: WriteKind, uri: str, name: str, **body: Any) -> Outcome:
        return await self.kernel.commits.commit(Write(kind, uri, name, "tester", body=body))

    async def zone(self, *endpoints: str) -> str:
        return await self._made("Zone", Links={"Endpoints": refs(*endpoints)})

    async def connection(self, host: str, ld: str) -> str:
        """Bind an LD of what is behind the MLD's port."""
        chassis = f"/redfish/v1/Chassis/{ld.rsplit('/', 1)[-1].rpartition('-')[0]}"
        number = ld.rpartition("-ld")[2]
        row = {
            "AccessCapabilities": ["Read", "Write"],
            "MemoryChunk": {"@odata.id": f"{chassis}/MemoryDomains/{number}/MemoryChunks/1"},
        }
        ends = {"InitiatorEndpoints": refs(host), "TargetEndpoints": refs(ld)}
        return await self._made(
            "Connection", ConnectionType="Memory", MemoryChunkInfo=[row], Links=ends
        )

    async def _made(self, name: str, **body: Any) -> str:
        outcome = await self.write(WriteKind.CREATE, f"{FABRIC}/{name}s", name, **body)
        assert outcome.kind is OutcomeKind.CREATED, outcome
        return outcome.uri

    async def delete(self, uri: str) -> Outcome:
        name = uri.rsplit("/", 2)[1].removesuffix("s")
        return await self.write(WriteKind.DELETE, uri, name)

    async def until_found(self) -> None:
        """Wait until the switch is discovered and was looked at since."""
        await until(lambda: self.exists(f"{FABRIC}/Switches/real1/Ports/3"))
        await asyncio.sleep(3.0)

    async def configured(self, *stanzas: SwitchStanza) -> None:
        """Let the configuration have these switches from now on."""
        self.fabrics.change(stanzas)
        await until(lambda: ("REAL" in self.kernel.loops) == bool(stanzas))
        await asyncio.sleep(0.1)


async def until(truth: Callable[[], bool]) -> None:
    """Wait in virtual time until something is so."""
    while not truth():  # noqa: ASYNC110 - whoever makes it true knows nothing of tests
        await asyncio.sleep(0.05)


def linked(entity: dict[str, Any]) -> str:
    return str(entity["EntityLink"]["@odata.id"])


def refs(*uris: str) -> list[dict[str, str]]:
    return [{"@odata.id": uri} for uri in uris]


@contextlib.asynccontextmanager
async def served(config: Config, durable: DurableState) -> AsyncIterator[Served]:
    """Run a service's kernel over what is durable, as the composition root does."""
    clock = VirtualClock()
    store = MemoryStore(durable, clock, "test")
    stored = await store.load()
    async with switch_fabrics(config, clock, [], stored) as fabrics:
        policies = KernelConfig(policies=fabrics.policies)
        kernel = Kernel(store, base_of(fabrics.inventories), fabrics.drivers, clock, policies)
        fabrics.serve(kernel, lambda found: base_of(tuple(found)))
        kernel.start(stored)
        running = asyncio.create_task(kernel.run())
        try:
            yield Served(kernel, fabrics)
        finally:
            await kernel.close()
            running.cancel()
            await asyncio.wait([running])


@contextlib.asynccontextmanager
async def switch() -> AsyncIterator[tuple[SwitchState, Peer, Config]]:
    """Run a switch whose memory device says who it is, and what configures it."""
    state = SwitchState(usps=2)
    peer = peer_of(state)
    port = await peer.listen()
    try:
        yield state, peer, Config(switches=(stanza(port, ld_memory="fixed"),), ephemeral=True)
    finally:
        await peer.close()


async def granted(service: Served, number: int = 2) -> tuple[str, str]:
    """Bind an LD to the first host; return its zone and its connection."""
    await service.until_found()
    ld = next(each for each in service.endpoints(MLD_PORT) if each.endswith(f"-ld{number}"))
    zone = await service.zone(HOSTS[0], ld)
    return zone, await service.connection(HOSTS[0], ld)


@in_virtual_time
async def test_an_ld_that_was_granted_is_bound_again_after_a_restart() -> None:
    durable = DurableState()
    async with switch() as (state, _, config):
        async with served(config, durable) as service:
            await granted(service)
            assert state.vppbs == {(0, 0): (3, MLD_PORT, 2)}
        state.vppbs.clear()
        async with served(config, durable) as service:
            await service.until_found()
            assert state.vppbs == {(0, 0): (3, MLD_PORT, 2)}


@in_virtual_time
async def test_another_device_in_the_place_of_a_granted_one_is_bound_to_nobody() -> None:
    durable = DurableState()
    async with switch() as (state, peer, config):
        async with served(config, durable) as service:
            zone, connection = await granted(service)
        # While the service is down, somebody replaces the device, and the switch forgets.
        state.vppbs.clear()
        state.commands.clear()
        peer.answers[0x5300] = tunnelled_identity(state, OTHER_SERIAL)
        async with served(config, durable) as service:
            await service.until_found()
            await asyncio.sleep(WAIT_S)
            assert BIND not in state.commands
            assert service.get(connection)["Status"]["Health"] == "Critical"
            assert "has no binding for what was granted" in service.conditions(connection)[0]
            # What is shown of the new one is its own, and it can be granted.
            new = next(each for each in service.endpoints(MLD_PORT) if each.endswith("-ld2"))
            assert service.get(new)["Status"]["Health"] == "OK"
            await service.zone(HOSTS[1], new)
            await service.connection(HOSTS[1], new)
            assert state.vppbs == {(1, 0): (3, MLD_PORT, 2)}
            await service.delete(connection)
            await service.delete(zone)
            await asyncio.sleep(3)
            assert state.vppbs == {(1, 0): (3, MLD_PORT, 2)}
            assert service.get(FABRIC)["Status"]["Health"] == "OK"


@pytest.mark.expects_errors
@in_virtual_time
async def test_what_a_switch_still_has_bound_of_another_device_is_a_violation() -> None:
    durable = DurableState()
    async with switch() as (state, peer, config):
        async with served(config, durable) as service:
            _, connection = await granted(service)
        peer.answers[0x5300] = tunnelled_identity(state, OTHER_SERIAL)
        async with served(config, durable) as service:
            await service.until_found()
            assert service.kernel.loops["REAL"].violations
            new = service.endpoints(MLD_PORT)[2]
            entities = service.get(new)["ConnectedEntities"]
            unit = next(uri for each in entities if "/CXLLogicalDevices/" in (uri := linked(each)))
            assert "isolation violation" in service.conditions(unit)[0]
            # The switch was asked for nothing, until whoever granted it lets go.
            assert state.vppbs == {(0, 0): (3, MLD_PORT, 2)}
            await service.delete(connection)
            await asyncio.sleep(3)
            assert state.vppbs == {}


@in_virtual_time
async def test_a_device_that_returns_is_bound_again() -> None:
    durable = DurableState()
    async with switch() as (state, peer, config):
        own = peer.answers[0x5300]
        async with served(config, durable) as service:
            _, connection = await granted(service)
        state.vppbs.clear()
        peer.answers[0x5300] = tunnelled_identity(state, OTHER_SERIAL)
        async with served(config, durable) as service:
            await service.until_found()
            assert state.vppbs == {}
            peer.answers[0x5300] = own
            service.fabrics.drivers["REAL"].switches["real1"].touch()
            await asyncio.sleep(WAIT_S)
            assert state.vppbs == {(0, 0): (3, MLD_PORT, 2)}
            assert service.get(connection)["Status"]["Health"] == "OK"


@in_virtual_time
async def test_a_device_of_another_kind_in_that_place_is_bound_to_nobody() -> None:
    durable = DurableState()
    async with switch() as (state, _, config):
        async with served(config, durable) as service:
            await service.until_found()
            (sld,) = service.endpoints(SLD_PORT)
            zone = await service.zone(HOSTS[0], sld)
            assert state.vppbs == {(0, 0): (2, SLD_PORT, 0xFF)}
        state.vppbs.clear()
        state.commands.clear()
        state.mlds[SLD_PORT] = 4
        async with served(config, durable) as service:
            await service.until_found()
            await asyncio.sleep(WAIT_S)
            assert BIND not in state.commands
            assert service.get(zone)["Status"]["Health"] == "Critical"
            assert service.conditions(zone)


@in_virtual_time
async def test_a_fabric_that_is_taken_out_of_the_file_keeps_its_zones_for_its_return() -> None:
    async with switch() as (state, _, config):
        (own,) = config.switches
        async with served(config, DurableState()) as service:
            zone, connection = await granted(service)
            before = service.get(zone)
            await service.configured()
            assert not service.exists(FABRIC)
            # What is bound in the switch stays bound: nobody looks after it, and nobody undoes it.
            assert state.vppbs == {(0, 0): (3, MLD_PORT, 2)}
            await service.configured(own)
            await service.until_found()
            after = service.get(zone)
            assert after["Links"] == before["Links"]
            assert service.get(connection)["Status"]["Health"] == "OK"
            # It isolates as before: the LD is the first host's, and no other gets it.
            (ld,) = (each for each in service.endpoints(MLD_PORT) if each.endswith("-ld2"))
            with pytest.raises(RedfishError) as refused:
                await service.zone(HOSTS[1], ld)
                await service.connection(HOSTS[1], ld)
            assert refused.value.status == 409
            await service.delete(connection)
            assert state.vppbs == {}


@in_virtual_time
async def test_what_was_unbound_while_a_fabric_was_out_of_the_file_is_bound_when_it_returns() -> (
    None
):
    async with switch() as (state, _, config):
        (own,) = config.switches
        async with served(config, DurableState()) as service:
            await granted(service)
            await service.configured()
            state.vppbs.clear()
            await service.configured(own)
            await service.until_found()
            assert state.vppbs == {(0, 0): (3, MLD_PORT, 2)}


def shown_as_pool(service: Served) -> bool:
    (mld,) = (each for each in service.fabrics.inventories[0].devices if each.lds)
    return mld.pool is not None


@contextlib.asynccontextmanager
async def undecided() -> AsyncIterator[tuple[SwitchState, Config]]:
    """Run a switch of whose memory the configuration says nothing."""
    async with switch() as (state, _, config):
        (own,) = config.switches
        port = int(own.address.rpartition(":")[2])
        yield state, Config(switches=(stanza(port),), ephemeral=True)


@in_virtual_time
async def test_memory_that_was_given_out_whole_stays_a_pool_after_a_restart() -> None:
    durable = DurableState()
    async with undecided() as (state, config):
        state.allocations = [4, 0, 4, 4]
        async with served(config, durable) as service:
            await service.until_found()
            assert shown_as_pool(service)
            state.allocations = [4, 4, 4, 4]
            service.fabrics.drivers["REAL"].switches["real1"].touch()
            await asyncio.sleep(WAIT_S)
            assert shown_as_pool(service)
        async with served(config, durable) as service:
            await service.until_found()
            assert shown_as_pool(service)


@in_virtual_time
async def test_memory_that_was_all_given_stays_as_it_is_though_an_ld_loses_its_own() -> None:
    durable = DurableState()
    async with undecided() as (state, config):
        async with served(config, durable) as service:
            await service.until_found()
            assert not shown_as_pool(service)
        state.allocations = [4, 0, 4, 4]
        async with served(config, durable) as service:
            await service.until_found()
            assert not shown_as_pool(service)


@in_virtual_time
async def test_another_device_is_decided_of_anew_and_what_the_file_says_counts_first() -> None:
    durable = DurableState()
    async with undecided() as (state, config):
        state.allocations = [4, 0, 4, 4]
        async with served(config, durable) as service:
            await service.until_found()
            assert shown_as_pool(service)
        (own,) = config.switches
        fixed = Config(switches=(msgspec.structs.replace(own, ld_memory="fixed"),), ephemeral=True)
        async with served(fixed, durable) as service:
            await service.until_found()
            assert not shown_as_pool(service)
        state.identity, state.allocations = OTHER_SERIAL, [4, 4, 4, 4]
        async with served(config, durable) as service:
            await service.until_found()
            assert not shown_as_pool(service)


@in_virtual_time
async def test_a_fabric_that_answers_no_more_goes_and_returns_with_what_is_under_way_there() -> (
    None
):
    async with switch() as (state, peer, config), served(config, DurableState()) as service:
        zone, connection = await granted(service)
        port = peer.port
        await peer.close()
        await asyncio.sleep(WAIT_S)
        await service.delete(connection)
        assert service.kernel.operations.open_of("REAL")
        await service.configured()
        # Nobody will say that it is unbound, so nobody waits for that.
        await until(lambda: not service.kernel.operations.open_of("REAL"))
        assert state.vppbs != {}
        await peer.listen(port)
        await service.configured(*config.switches)
        await until(lambda: state.vppbs == {})
        assert service.exists(zone)
        assert not service.exists(connection)


@in_virtual_time
async def test_a_fabric_that_answers_stays_while_something_is_under_way_there() -> None:
    async with switch() as (state, peer, config), served(config, DurableState()) as service:
        _, connection = await granted(service)
        peer.answers[UNBIND] = lambda _: Reply(INTERNAL)
        await service.delete(connection)
        assert service.kernel.operations.open_of("REAL")
        service.fabrics.change(())
        await asyncio.sleep(WAIT_S)
        assert "REAL" in service.kernel.loops
        peer.answers[UNBIND] = state.answer
        await until(lambda: not service.kernel.operations.open_of("REAL"))
        await service.configured()


@in_virtual_time
async def test_of_devices_that_a_switch_makes_up_only_some_are_remembered() -> None:
    durable = DurableState()
    async with switch() as (state, peer, config):
        (own,) = config.switches
        auto = Config(switches=(msgspec.structs.replace(own, ld_memory="auto"),), ephemeral=True)
        async with served(auto, durable) as service:
            await service.until_found()
            (driver,) = service.fabrics.drivers.values()
            before = {each.id for each in driver.inventory.devices}
            for number in range(DECIDED_MAX + 8):
                serial = number.to_bytes(8, "big")
                identity = IDENTITY[:8] + serial + IDENTITY[16:]
                peer.answers[0x5300] = tunnelled_identity(state, identity)
                driver.switches["real1"].touch()
                await asyncio.sleep(1)
            assert {each.id for each in driver.inventory.devices} != before
            stored = durable.spaces[Space.META][POOLS_KEY]
            assert len(msgspec.json.decode(stored)) == DECIDED_MAX


# What a switch does wrong, as clients see it


def ld_uri(number: int) -> str:
    serial = "1122334455667788"
    chassis = f"/redfish/v1/Chassis/real1-P{MLD_PORT}-{serial}"
    return f"{chassis}/PCIeDevices/real1-P{MLD_PORT}-{serial}/CXLLogicalDevices/{number}"


@pytest.mark.expects_errors
@in_virtual_time
async def test_an_ld_that_two_hosts_reach_is_critical_whatever_the_switch_thinks_of_it() -> None:
    async with switch() as (state, _, config), served(config, DurableState()) as service:
        await granted(service)
        state.vppbs[1, 1] = (3, MLD_PORT, 2)
        await asyncio.sleep(3)
        assert "isolation violation" in service.conditions(ld_uri(2))[0]
        assert service.get(FABRIC)["Status"]["HealthRollup"] == "Critical"
        assert service.kernel.loops["REAL"].violations
        del state.vppbs[1, 1]
        await asyncio.sleep(3)
        assert service.get(FABRIC)["Status"]["HealthRollup"] == "OK"


@in_virtual_time
async def test_a_device_that_is_pulled_while_bound_is_told_and_can_be_let_go() -> None:
    async with switch() as (state, peer, config), served(config, DurableState()) as service:
        _, connection = await granted(service)
        whole = peer.answers[0x5101]
        pull(peer, MLD_PORT, ltssm=8)
        await asyncio.sleep(3)
        assert state.vppbs == {(0, 0): (3, MLD_PORT, 2)}
        assert service.get(connection)["Status"]["HealthRollup"] == "Critical"
        assert service.get(ld_uri(2))["Status"]["State"] == "Absent"
        peer.answers[0x5101] = whole
        await asyncio.sleep(3)
        assert service.get(connection)["Status"]["HealthRollup"] == "OK"
        pull(peer, MLD_PORT, ltssm=8)
        await asyncio.sleep(3)
        await service.delete(connection)
        assert state.vppbs == {}


@in_virtual_time
async def test_a_bind_that_fails_at_its_end_is_taken_back_and_leaves_nothing() -> None:
    async with switch() as (state, _, config), served(config, DurableState()) as service:
        zone, connection = await granted(service)
        await service.delete(connection)
        await service.delete(zone)
        (ld,) = (each for each in service.endpoints(MLD_PORT) if each.endswith("-ld2"))
        zone = await service.zone(HOSTS[1], ld)
        state.end_code = INTERNAL
        with pytest.raises(RedfishError) as refused:
            await service.connection(HOSTS[1], ld)
        assert "INTERNAL_ERROR" in str(refused.value.messages)
        assert state.vppbs == {}
        await until(lambda: not service.kernel.operations.open_of("REAL"))
        assert not service.kernel.published.state.members_of(f"{FABRIC}/Connections")
        state.end_code = OK
        await service.connection(HOSTS[1], ld)
        assert state.vppbs == {(1, 0): (3, MLD_PORT, 2)}
