"""Why nothing can be announced is said; what is announced: tests/e2e/test_discovery.py."""

import ipaddress
import logging
import random

import pytest

from redfish_fm.server.discovery import Discovery, DiscoverySettings
from redfish_fm.server.interfaces import InterfaceAddress
from redfish_fm.server.ssdp import Announced

from ..virtual_time import VirtualClock

MACHINE = (
    InterfaceAddress("lo", 1, ipaddress.ip_address("127.0.0.1"), 8),
    InterfaceAddress("eth0", 2, ipaddress.ip_address("192.0.2.1"), 24),
)


def listening(bound: str, *interfaces: str) -> Discovery:
    announced = Announced("2f3f1a4e", "1.20.0", "https", 8443, "/redfish/v1/")
    addresses = [ipaddress.ip_address(bound)]
    return Discovery(
        announced,
        addresses,
        interfaces,
        VirtualClock(),
        random.Random(0),  # noqa: S311 - spreads answers only
        lambda: MACHINE,
    )


@pytest.mark.parametrize(
    ("bound", "interfaces", "told"),
    [
        ("192.0.2.1", (), None),
        ("0.0.0.0", ("eth0",), None),  # noqa: S104
        ("127.0.0.1", (), "only this machine reaches the service, on 127.0.0.1"),
        ("0.0.0.0", ("eth1",), "the service, on 0.0.0.0, has no address on eth1"),  # noqa: S104
    ],
)
def test_what_hinders_announcing_is_told(bound, interfaces, told) -> None:
    assert listening(bound, *interfaces).hindrance == told


@pytest.mark.parametrize("settings", [DiscoverySettings(ssdp=True), DiscoverySettings(mdns=True)])
async def test_a_service_on_loopback_warns_that_nothing_is_announced(settings, caplog) -> None:
    discovery = listening("127.0.0.1")
    await discovery.apply(settings)
    await discovery.close()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "nothing is announced: only this machine reaches the service" in record.getMessage()


async def test_once_it_is_closed_nothing_begins_anew(caplog) -> None:
    discovery = listening("127.0.0.1")
    await discovery.close()
    await discovery.apply(DiscoverySettings(ssdp=True))
    assert caplog.records == []


async def test_what_is_off_says_nothing(caplog) -> None:
    discovery = listening("127.0.0.1")
    await discovery.apply(DiscoverySettings())
    await discovery.close()
    assert caplog.records == []


async def test_addresses_that_can_not_be_read_end_nothing(caplog) -> None:
    def broken():
        raise OSError(24, "Too many open files")

    announced = Announced("2f3f1a4e", "1.20.0", "https", 8443, "/redfish/v1/")
    bound, rng = [ipaddress.ip_address("192.0.2.1")], random.Random(0)  # noqa: S311
    discovery = Discovery(announced, bound, (), VirtualClock(), rng, broken)
    await discovery.apply(DiscoverySettings(ssdp=True))
    await discovery.close()
    assert "can not be read" in caplog.text
