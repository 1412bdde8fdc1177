"""Virtual switches that a service offers over the FM API, from its settings to the wire."""

import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from redfish_fm.config import Config
from redfish_fm.drivers.base import Driver
from redfish_fm.drivers.virtual.driver import create
from redfish_fm.drivers.virtual.fmapi_faults import WireFault
from redfish_fm.drivers.virtual.fmapi_server import FmapiDialer, FmapiListener
from redfish_fm.fabric.model import Bind, Inventory
from redfish_fm.wires_served import WireMisnamed, WireRefused, misnamed, served_wires
from tests.drivers.fabrics import CXL, FIRST, PCIE, SLD
from tests.drivers.virtual.fmapi_raw import raw_manager
from tests.virtual_time import VirtualClock, in_virtual_time


def renamed(inventory: Inventory, fabric: str, switch: str) -> Inventory:
    """Return an inventory of one bare switch of that name."""
    bare = replace(inventory.switches[0], id=switch, ports=(), virtual_switches=())
    return replace(inventory, fabric=fabric, switches=(bare,), devices=(), hosts=())


@contextlib.asynccontextmanager
async def offered(
    inventories: tuple[Inventory, ...] = (PCIE, CXL), **settings: object
) -> AsyncIterator[tuple[tuple[FmapiListener | FmapiDialer, ...], dict[str, Driver]]]:
    clock = VirtualClock()
    config = msgspec.structs.replace(Config(ephemeral=True), **settings)  # type: ignore[arg-type]
    drivers: dict[str, Driver] = {i.fabric: create(i, clock, clock) for i in inventories}
    try:
        async with served_wires(config, drivers, clock, clock) as ends:
            yield ends, drivers
    finally:
        for driver in drivers.values():
            await driver.close()


@in_virtual_time
async def test_the_first_cxl_switch_is_offered_where_none_is_named() -> None:
    async with offered(fmapi_listen=("127.0.0.1:0",)) as ((end,), drivers):
        assert isinstance(end, FmapiListener) and end.switch.facts.id == "cxl1"
        await drivers["CXL"].apply(Bind(FIRST, SLD), 9)
        async with raw_manager("127.0.0.1", end.port) as manager:
            said = (await manager.ask(0x5200, bytes((0, 1, 1, 0)))).payload
            assert said[8:11] == bytes((2, 3, 0xFF))


@in_virtual_time
async def test_one_switch_may_be_offered_at_several_places_and_dial_too() -> None:
    second = renamed(CXL, "Other", "cxl9")
    places = ("127.0.0.1:0", "cxl1=127.0.0.1:0", "cxl9=127.0.0.1:0")
    settings = {"fmapi_listen": places, "fmapi_dial": ("cxl9=127.0.0.1:9",)}
    async with offered((CXL, second), **settings) as (ends, _):
        assert [end.switch.facts.id for end in ends] == ["cxl1", "cxl1", "cxl9", "cxl9"]
        assert ends[0].switch is ends[1].switch
        assert isinstance(ends[3], FmapiDialer)


@in_virtual_time
async def test_dialect_profile_and_faults_are_those_of_the_settings() -> None:
    async with offered(
        fmapi_listen=("127.0.0.1:0",),
        dialect="jrl",
        fmapi_profile="strict",
        fmapi_faults=("busy=0.25", "drop=0"),
    ) as ((end,), _):
        assert isinstance(end, FmapiListener)
        assert (end.dialect.value, end.switch.profile.name) == ("jrl", "strict")
        assert {WireFault.BUSY, None} == {end.faults.draw(0x5100) for _ in range(500)}


@in_virtual_time
async def test_a_service_without_such_settings_offers_nothing() -> None:
    async with offered() as (ends, _):
        assert ends == ()


@in_virtual_time
async def test_the_log_says_where_a_switch_listens(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with offered(fmapi_listen=("127.0.0.1:0",)) as ((end,), _):
            assert isinstance(end, FmapiListener)
            said = f"FM API: switch cxl1 listens on 127.0.0.1 port {end.port}"
            assert said in caplog.messages


@in_virtual_time
async def test_every_switch_and_fault_that_there_is_not_is_named() -> None:
    settings = {
        "fmapi_listen": ("pcie1=127.0.0.1:0", "127.0.0.1:0"),
        "fmapi_dial": ("nobody=127.0.0.1:1",),
        "fmapi_faults": ("drop=0.1", "fire=0.1"),
    }
    with pytest.raises(WireMisnamed) as caught:
        async with offered(**settings):
            raise AssertionError
    first, second, third = str(caught.value).splitlines()
    assert first == "fmapi_listen: 'pcie1=127.0.0.1:0' names no CXL switch; there are: cxl1"
    assert second == "fmapi_dial: 'nobody=127.0.0.1:1' names no CXL switch; there are: cxl1"
    assert third.startswith("fmapi_faults: there is no fault 'fire'; there are: drop-request, ")


def test_a_fabric_without_cxl_switches_has_none_to_offer() -> None:
    config = Config(ephemeral=True, fmapi_listen=("127.0.0.1:0",))
    assert misnamed(config, [PCIE]) == [
        "fmapi_listen: '127.0.0.1:0' names no CXL switch; there are: none"
    ]


@in_virtual_time
async def test_a_port_that_is_taken_is_told_in_one_line_and_leaves_nothing_behind() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(WireRefused, match=f"cannot listen for fabric managers on {place}"):
            async with offered(fmapi_listen=("127.0.0.1:0", place)):
                raise AssertionError
