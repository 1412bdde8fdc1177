"""Discovery on a wire: two network namespaces, the service in one, foreign clients in the other.

async-upnp-client and zeroconf's browser are the foreign clients; raw sockets see what those hide.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.server.ssdp_responder import FIRST_ALIVE_S

from . import namespaces
from .announcing import PORT, UUID
from .foreign import Module, headers, neighbour, running
from .namespaces import Network
from .service import serving

URN = "urn:dmtf-org:service:redfish-rest:1"
GROUP_V4, GROUP_V6 = "239.255.255.250", "ff02::c"
ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - inside a namespace
FIRST = len(FIRST_ALIVE_S)
Wire = tuple[Network, Network]


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    reason = namespaces.unavailable()
    if reason is not None:
        pytest.skip(reason)
    with namespaces.neighbours() as both:
        yield both


def served(network: Network, *flags: str) -> Any:
    return serving(*("--topology", "two-hosts", *flags), tls=True, wrapper=network.enter)


# -- the service -----------------------------------------------------------------------------


def test_a_foreign_client_finds_the_service_by_ssdp_and_follows_it_to_its_root(
    wire: Wire, tmp_path: Path
) -> None:
    pytest.importorskip("async_upnp_client", reason="async-upnp-client is not installed")
    ours, theirs = wire
    flags = ("--host", ours.ipv4, "--ssdp", "--state", str(tmp_path))
    with served(ours, *flags):
        (found,) = neighbour(theirs, "upnp", URN)
        assert found["ST"] == URN
        ca = str(tmp_path / "tls" / "ca.pem")
        root = neighbour(theirs, "get", found["AL"], ca)
        assert found["USN"] == f"uuid:{root['UUID']}::{URN}"


def test_it_is_there_at_start_and_gone_at_the_end(wire: Wire) -> None:
    ours, theirs = wire
    with (
        running(theirs, "neighbour", "hear", "30", "ssdp:byebye") as hearing,
        served(ours, "--host", ours.ipv4, "--ssdp", "--ephemeral") as (service, url),
    ):
        hearing.told("listening")
        assert service.terminate() == 0
        heard = [headers(each) for each in hearing.result()]
    kinds = [each["NTS"] for each in heard]
    assert kinds[0] == "ssdp:alive" and kinds[-1] == "ssdp:byebye"
    assert {each["USN"] for each in heard} == {heard[0]["USN"]}
    assert heard[0]["AL"] == f"{url}/redfish/v1/"


def test_it_is_switched_off_and_on_by_a_client(wire: Wire) -> None:
    ours, theirs = wire
    with served(ours, "--host", ours.ipv4, "--ephemeral") as (_, url):
        protocols = f"{url}/redfish/v1/Managers/FabricManager/NetworkProtocol"
        found = []
        for on in (True, False):
            body = json.dumps({"SSDP": {"ProtocolEnabled": on}})
            assert neighbour(theirs, "patch", protocols, body) == 200
            found.append(len(neighbour(theirs, "search", GROUP_V4, URN)))
    assert found == [1, 0]


def test_a_service_that_is_not_asked_to_says_nothing_whatever_is_searched(wire: Wire) -> None:
    ours, theirs = wire
    with (
        running(theirs, "neighbour", "frames", "60") as frames,
        running(theirs, "neighbour", "browse", "2") as browsing,
        served(ours, "--host", ANYWHERE[0], "--ephemeral"),
    ):
        frames.told("listening")
        assert neighbour(theirs, "search", GROUP_V4, "ssdp:all") == []
        assert browsing.result() == {"news": [], "types": []}
        carried = frames.stopped()
    assert carried.pop(theirs.ipv4) > 0, "the searches themselves are seen"
    assert ours.ipv4 not in carried
    assert ours.ipv6 not in carried
    link_local = ours.run("ip", "-6", "address", "show", "dev", namespaces.INTERFACE)
    assert [ip for ip in carried if f" {ip}/" in link_local] == []


def test_a_service_on_loopback_says_that_nothing_is_announced(wire: Wire) -> None:
    ours, _ = wire
    with served(ours, "--ssdp", "--mdns", "--ephemeral") as (service, _):
        assert service.terminate() == 0
    told = "nothing is announced: only this machine reaches the service, on 127.0.0.1"
    assert [line for line in service.complaints if told in line] != []


# -- discovery alone -------------------------------------------------------------------------


@pytest.fixture
def announcer(wire: Wire) -> Iterator[Module]:
    with running(wire[0], "announcing", "1", *ANYWHERE) as module:
        yield module


@pytest.mark.parametrize(("group", "host"), [(GROUP_V4, "192.0.2.1"), (GROUP_V6, "[2001:db8::1]")])
def test_a_search_is_answered_with_the_address_of_its_own_family(
    wire: Wire, announcer: Module, group, host
) -> None:
    announcer.apply(ssdp=True)
    (answer,) = neighbour(wire[1], "search", group, URN)
    assert headers(answer["text"])["AL"] == f"https://{host}:{PORT}/redfish/v1/"


def test_what_is_switched_off_is_taken_back_and_silent_and_can_be_switched_on_again(
    wire: Wire, announcer: Module
) -> None:
    _, theirs = wire
    announcer.apply(ssdp=True)
    with running(theirs, "neighbour", "hear", "30", "ssdp:byebye") as hearing:
        hearing.told("listening")
        announcer.apply(ssdp=False)
        assert headers(hearing.result()[-1])["NTS"] == "ssdp:byebye"
    assert neighbour(theirs, "search", GROUP_V4, "ssdp:all") == []
    announcer.apply(ssdp=True)
    assert len(neighbour(theirs, "search", GROUP_V4, "ssdp:all")) == 2


def test_announcements_are_repeated_in_the_interval_asked_for(
    wire: Wire, announcer: Module
) -> None:
    with running(wire[1], "neighbour", "hear", "3.5") as hearing:
        hearing.told("listening")
        announcer.apply(ssdp=True, ssdp_notify_interval_s=1)
        heard = [headers(each) for each in hearing.result()]
    here = [each for each in heard if each["HOST"].startswith(GROUP_V4)]
    assert len(here) > FIRST
    assert {each["NTS"] for each in here} == {"ssdp:alive"}
    assert {each["USN"] for each in here} == {f"uuid:{UUID}::{URN}"}


def test_an_interval_of_0_announces_nothing_and_answers_all_the_same(
    wire: Wire, announcer: Module
) -> None:
    _, theirs = wire
    with running(theirs, "neighbour", "hear", "30") as hearing:
        hearing.told("listening")
        announcer.apply(ssdp=True, ssdp_notify_interval_s=0)
        assert len(neighbour(theirs, "search", GROUP_V4, URN)) == 1
        announcer.apply()
        heard = hearing.stopped()
    assert [each for each in heard if each.startswith("NOTIFY")] == []


def test_the_scope_chooses_how_far_ipv6_announcements_go(wire: Wire, announcer: Module) -> None:
    hosts = []
    for scope in ("Link", "Site"):
        with running(wire[1], "neighbour", "hear", "0.8") as hearing:
            hearing.told("listening")
            announcer.apply(ssdp=True, ssdp_notify_ipv6_scope=scope)
            heard = [headers(each) for each in hearing.result()]
        hosts.append({each["HOST"] for each in heard if each["NTS"] == "ssdp:alive"})
    link = {f"{GROUP_V4}:1900", "[ff02::c]:1900"}
    assert hosts == [link, link | {"[ff05::c]:1900"}]


def test_announcements_go_as_far_as_asked_for(wire: Wire, announcer: Module) -> None:
    with running(wire[1], "neighbour", "hops", "0.8") as watching:
        watching.told("listening")
        announcer.apply(ssdp=True, ssdp_notify_ttl=5)
        assert watching.result() == [[4, 5], [6, 5]]


def test_a_service_whose_name_is_taken_by_mdns_takes_another(wire: Wire, announcer: Module) -> None:
    _, theirs = wire
    name = f"redfish-fm-{UUID[:8]}"
    with running(theirs, "neighbour", "hold", name, "30") as holding:
        holding.told("held")
        announcer.apply(mdns=True)
        news = neighbour(theirs, "browse", "3")["news"]
    ours = [each for each in news if each[2] and each[2]["properties"].get("uuid") == UUID]
    assert [each[1] for each in ours] == [f"{name}-2._redfish._tcp.local."]


def test_an_address_that_comes_late_is_announced(wire: Wire) -> None:
    ours, theirs = wire
    ours.run("ip", "-4", "address", "flush", "dev", namespaces.INTERFACE)
    url = f"https://{ours.ipv4}:{PORT}/redfish/v1/"
    try:
        with (
            running(ours, "announcing", "50", *ANYWHERE) as announcer,
            running(theirs, "neighbour", "hear", "30", url) as hearing,
        ):
            hearing.told("listening")
            announcer.apply(ssdp=True)
            namespaces.set_up(ours)
            heard = [headers(each) for each in hearing.result()]
    finally:
        namespaces.set_up(ours)
    assert url in {each.get("AL") for each in heard}


def test_what_changes_of_one_protocol_leaves_the_other_alone(wire: Wire, announcer: Module) -> None:
    announcer.apply(ssdp=True, mdns=True)
    with running(wire[1], "neighbour", "browse", "30") as browsing:
        browsing.told("added")
        announcer.apply(ssdp=False, mdns=True)
        announcer.apply(ssdp=True, mdns=True, ssdp_notify_ttl=1)
        assert [each[0] for each in browsing.stopped()["news"]] == ["added"]
