"""Cases of class DISCOVERY: found by SSDP and by mDNS, on the wire between two namespaces."""

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.redfish.documents import REDFISH_VERSION
from tests.conformance.packs import tool
from tests.conformance.processes import tool_environment
from tests.e2e import namespaces
from tests.e2e.foreign import headers, neighbour, running
from tests.e2e.namespaces import Network
from tests.e2e.service import Service, serving

URN = "urn:dmtf-org:service:redfish-rest:1"
GROUPS = ("239.255.255.250", "ff02::c")
MINOR = REDFISH_VERSION.split(".")[1]
Wire = tuple[Network, Network]


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    reason = namespaces.unavailable()
    if reason is not None:
        pytest.skip(reason)
    with namespaces.neighbours() as both:
        yield both


def served(network: Network, host: str, *flags: str) -> Any:
    arguments = ("--topology", "two-hosts", "--ephemeral", "--host", host, *flags)
    return serving(*arguments, tls=True, wrapper=network.enter)


@pytest.fixture(scope="module", params=["IPv4", "IPv6"])
def announced(request: pytest.FixtureRequest, wire: Wire) -> Iterator[tuple[str, str, str]]:
    """Serve with SSDP; give the group to search in, the URL of the root and its UUID."""
    ours, theirs = wire
    v6 = request.param == "IPv6"
    with served(ours, ours.ipv6 if v6 else ours.ipv4, "--ssdp") as (_, url):
        root = neighbour(theirs, "get", f"{url}/redfish/v1/")
        yield GROUPS[v6], f"{url}/redfish/v1/", root["UUID"]


@pytest.mark.parametrize(
    ("target", "answered"),
    [
        (URN, [URN]),
        (f"{URN}:{MINOR}", [f"{URN}:{MINOR}"]),
        ("upnp:rootdevice", ["upnp:rootdevice"]),
        ("ssdp:all", ["upnp:rootdevice", URN]),
        ("urn:schemas-upnp-org:device:InternetGatewayDevice:1", []),
    ],
)
def test_di_01_a_search_is_answered_with_the_root_or_with_silence(
    wire: Wire, announced: tuple[str, str, str], target: str, answered: list[str]
) -> None:
    group, root, uuid = announced
    found = [each["text"] for each in neighbour(wire[1], "search", group, target)]
    assert all(each.startswith("HTTP/1.1 200 OK\r\n") for each in found)
    assert all(each.endswith("\r\n\r\n") and not re.search("[^\r]\n", each) for each in found)
    seen = [headers(each) for each in found]
    assert sorted(each["ST"] for each in seen) == answered
    for each in seen:
        assert each["USN"] == f"uuid:{uuid}::{each['ST']}"
        assert each["AL"] == root
        assert each["EXT"] == ""
        assert int(each["CACHE-CONTROL"].removeprefix("max-age=")) >= 1800


def test_di_01_rf_discover_finds_the_service(wire: Wire) -> None:
    ours, theirs = wire
    command = tool("rf_discover.py")
    if not Path(command).exists():
        pytest.skip("rf_discover.py is not installed")
    with served(ours, ours.ipv4, "--ssdp") as (_, url):
        told = theirs.run(sys.executable, command, env=tool_environment())
    assert f"{url}/redfish/v1/" in told


def test_di_03_mdns_names_the_service_and_takes_it_back(wire: Wire, tmp_path: Path) -> None:
    ours, theirs = wire
    # A second interface, which is not chosen; nor is it announced that there is loopback.
    ours.run("ip", "link", "add", "other0", "type", "bridge")
    ours.run("ip", "address", "add", "198.51.100.1/24", "dev", "other0")
    ours.run("ip", "link", "set", "other0", "up")
    settings = tmp_path / "settings.toml"
    settings.write_text(f'discovery_interfaces = ["{namespaces.INTERFACE}"]')
    anywhere = "0.0.0.0"  # noqa: S104 - inside a namespace
    with (
        served(ours, anywhere, "--mdns", "--config", str(settings)) as (service, url),
        running(theirs, "neighbour", "browse", "30", "removed") as browsing,
    ):
        browsing.told("added")
        root = neighbour(theirs, "get", f"{url}/redfish/v1/".replace(anywhere, ours.ipv4))
        told_s = _told_to_end_s(service)
        found = browsing.result()
    came, went = found["news"]
    assert url.endswith(f":{came[2]['port']}")
    assert came[2]["addresses"] == [ours.ipv4]
    assert came[2]["properties"] == {
        "txtvers": "1",
        "path": "/redfish/v1",
        "uuid": root["UUID"],
        "protovers": root["RedfishVersion"],
    }
    assert went[:2] == ["removed", came[1]]
    assert went[2] - told_s < 1


def test_di_03_the_type_is_enumerated(wire: Wire) -> None:
    ours, theirs = wire
    with served(ours, ours.ipv4, "--mdns"):
        assert neighbour(theirs, "browse", "30", "added")["types"] == ["_redfish._tcp.local."]


def test_di_03_it_is_off_unless_asked_for(wire: Wire) -> None:
    ours, theirs = wire
    with served(ours, ours.ipv4):
        assert neighbour(theirs, "browse", "2") == {"news": [], "types": []}


def _told_to_end_s(service: Service) -> float:
    """End the service; return when it was told to."""
    told_s = time.time()
    assert service.terminate() == 0
    return told_s
