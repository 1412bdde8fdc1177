"""Whom the responder answers, with which address, after how long, and how often at most."""

import ipaddress
import random
from collections.abc import Iterator

import pytest

from redfish_fm.server import ssdp_responder
from redfish_fm.server.interfaces import InterfaceAddress
from redfish_fm.server.ssdp import URN, Announced
from redfish_fm.server.ssdp_responder import Place, SsdpResponder, places_of

SERVICE = Announced("2f3f1a4e-8c3f-4c52-9d0e-3a1f7f3e9b10", "1.20.0", "https", 8443, "/redfish/v1/")
GROUPS = {4: ("239.255.255.250",), 6: ("ff02::c", "ff05::c")}


class Clock:
    """Time that the test moves."""

    def __init__(self) -> None:
        self.time_s = 0.0

    def now_s(self) -> float:
        return self.time_s

    def wall_s(self) -> float:
        return self.time_s

    async def sleep(self, delay_s: float) -> None:
        raise AssertionError("answers_to does not wait")


def at(text: str, interface: str = "eth0", index: int = 2) -> InterfaceAddress:
    ip, _, length = text.partition("/")
    return InterfaceAddress(interface, index, ipaddress.ip_address(ip), int(length))


PLACE = Place("239.255.255.250", (at("192.0.2.1/24"), at("198.51.100.1/24")))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def responder(clock: Clock) -> Iterator[SsdpResponder]:
    yield SsdpResponder(SERVICE, 600, clock, random.Random(0))  # noqa: S311 - spreads answers only


def search(target: str = URN, mx: int = 3) -> bytes:
    return (
        f'M-SEARCH * HTTP/1.1\r\nMAN: "ssdp:discover"\r\nMX: {mx}\r\nST: {target}\r\n\r\n'.encode()
    )


def asked(responder: SsdpResponder, sender: str, raw: bytes, place: Place = PLACE) -> list[str]:
    return [
        answer.text.decode()
        for answer in responder.answers_to(raw, ipaddress.ip_address(sender), place)
    ]


def test_the_answer_has_the_address_in_the_sender_s_network(responder) -> None:
    (first,) = asked(responder, "192.0.2.77", search())
    (second,) = asked(responder, "198.51.100.77", search())
    assert "AL: https://192.0.2.1:8443/redfish/v1/\r\n" in first
    assert "AL: https://198.51.100.1:8443/redfish/v1/\r\n" in second


def test_a_sender_from_further_off_gets_the_first_address(responder) -> None:
    (answer,) = asked(responder, "203.0.113.9", search())
    assert "AL: https://192.0.2.1:8443/" in answer


def test_a_link_local_sender_gets_an_address_that_needs_no_zone(responder) -> None:
    place = Place("ff02::c", (at("fe80::1/64"), at("2001:db8::1/64")))
    (answer,) = asked(responder, "fe80::77", search(), place)
    assert "AL: https://[2001:db8::1]:8443/" in answer


def test_where_there_is_none_it_gets_the_link_local_one(responder) -> None:
    (answer,) = asked(responder, "fe80::77", search(), Place("ff02::c", (at("fe80::1/64"),)))
    assert "AL: https://[fe80::1]:8443/" in answer


@pytest.mark.parametrize("raw", [search("urn:other"), b"", b"NOTIFY * HTTP/1.1\r\n\r\n"])
def test_everything_else_is_met_with_silence(responder, raw) -> None:
    assert asked(responder, "192.0.2.77", raw) == []


def test_answers_are_spread_over_the_time_the_search_allows(responder) -> None:
    sender = ipaddress.ip_address("192.0.2.77")
    delays = [
        responder.answers_to(search(mx=4), sender, PLACE)[0].delay_s
        for _ in range(ssdp_responder.SENDER_ANSWERS_BURST)
    ]
    assert all(0 <= delay_s <= 4 for delay_s in delays)
    assert max(delays) - min(delays) > 1


def test_one_sender_can_not_draw_answers_without_end(responder, clock) -> None:
    burst = ssdp_responder.SENDER_ANSWERS_BURST
    answered = [asked(responder, "192.0.2.77", search()) for _ in range(burst + 5)]
    assert [len(each) for each in answered] == [1] * burst + [0] * 5
    assert asked(responder, "192.0.2.78", search()) != []
    clock.time_s += 1
    assert asked(responder, "192.0.2.77", search()) != []


def test_many_forged_senders_draw_no_more_than_the_burst(responder, clock) -> None:
    burst = ssdp_responder.ANSWERS_BURST
    senders = [f"192.0.2.{number}" for number in range(1, burst + 50)]
    assert sum(len(asked(responder, sender, search())) for sender in senders) == burst
    clock.time_s += 1
    more = sum(len(asked(responder, f"198.51.100.{number}", search())) for number in range(1, 100))
    assert more == ssdp_responder.ANSWERS_PER_S


def test_a_sender_that_is_refused_takes_nothing_from_others(responder) -> None:
    for _ in range(10 * ssdp_responder.ANSWERS_BURST):
        asked(responder, "192.0.2.77", search())
    assert asked(responder, "192.0.2.78", search()) != []


def test_senders_are_not_remembered_for_ever(responder, clock) -> None:
    for number in range(3 * ssdp_responder.SENDERS_KEPT):
        asked(responder, str(ipaddress.ip_address("10.0.0.0") + number), search())
        clock.time_s += 1
    assert responder.senders_kept <= ssdp_responder.SENDERS_KEPT + 1


def test_every_interface_has_a_place_for_each_group_of_its_families() -> None:
    addresses = [
        at("192.0.2.1/24"),
        at("192.0.2.9/24"),
        at("fe80::1/64"),
        at("198.51.100.1/24", "eth1", 3),
    ]
    found = [
        (each.group, [str(a.ip) for a in each.addresses]) for each in places_of(addresses, GROUPS)
    ]
    assert found == [
        ("239.255.255.250", ["192.0.2.1", "192.0.2.9"]),
        ("ff02::c", ["fe80::1"]),
        ("ff05::c", ["fe80::1"]),
        ("239.255.255.250", ["198.51.100.1"]),
    ]
