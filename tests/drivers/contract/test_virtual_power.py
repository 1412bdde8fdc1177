"""Virtual BMCs keep the contract of power, in virtual time; and broken ones are found out."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from _pytest.outcomes import Failed

from redfish_fm.drivers.base import DriverError, PowerControl
from redfish_fm.drivers.virtual.faults import Lost, Refuse
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.power import VirtualPower
from redfish_fm.fabric.power import HostState, ResetType
from tests.drivers.contract.power import MakePowerRig, PowerRig, names, run_on
from tests.drivers.fabrics import CXL, machines_of
from tests.virtual_time import VirtualClock, run


@asynccontextmanager
async def virtual_rig(kind: type[VirtualPower] = VirtualPower) -> AsyncIterator[PowerRig]:
    clock = VirtualClock()
    hardware = Hardware(CXL, clock)
    machines = machines_of(hardware)
    drivers: list[PowerControl] = [kind(machines, clock, clock)]

    async def refuse_next() -> None:
        machines.next_fault["host1"] = Refuse()

    async def lose_next_answer() -> None:
        machines.next_fault["host1"] = Lost()

    async def silence() -> None:
        machines.silence("host1")

    async def silence_all() -> None:
        for host in machines.hosts:
            machines.silence(host)

    async def change_behind() -> None:
        machines.lose_power("host1")

    async def successor() -> PowerControl:
        drivers.append(kind(machines, clock, clock))
        return drivers[-1]

    try:
        yield PowerRig(
            drivers[0], clock, "host1", "host2",
            refuse_next=refuse_next, lose_next_answer=lose_next_answer, silence=silence,
            silence_all=silence_all, change_behind=change_behind, successor=successor,
        )  # fmt: skip
    finally:
        for driver in drivers:
            await driver.close()
        machines.close()
        hardware.close()


@pytest.mark.parametrize("name", names())
def test_virtual_bmcs(name: str) -> None:
    run(run_on(virtual_rig, name))


class Repeats(VirtualPower):
    """Sends each command twice, as a driver does that retries blindly."""

    async def reset(self, host: str, asked: ResetType, deadline_s: float) -> None:
        await super().reset(host, asked, deadline_s)
        await super().reset(host, asked, deadline_s)


class Claims(VirtualPower):
    """Says yes to everything, whatever the BMC says."""

    async def reset(self, host: str, asked: ResetType, deadline_s: float) -> None:
        try:
            await super().reset(host, asked, deadline_s)
        except DriverError:
            return


class Remembers(VirtualPower):
    """Shows what it saw first, for ever."""

    _first: Mapping[str, HostState] | None = None

    async def observe(self) -> Mapping[str, HostState]:
        if self._first is None:
            self._first = await super().observe()
        return self._first


BROKEN = {
    Repeats: "test_a_forced_restart_starts_it_once",
    Claims: "test_a_refusal_changes_nothing",
    Remembers: "test_a_lost_answer_is_an_unknown_outcome_and_shows_later",
}


@pytest.mark.parametrize(("kind", "name"), BROKEN.items())
def test_a_broken_driver_is_found_out(kind: type[VirtualPower], name: str) -> None:
    def make() -> object:
        return virtual_rig(kind)

    made: MakePowerRig = make  # type: ignore[assignment]
    with pytest.raises((AssertionError, Failed)):
        run(run_on(made, name))


def test_the_contract_is_not_empty() -> None:
    assert len(names()) > 15
