"""Searches are told from everything else, and answers have the form that DSP0266 gives them."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.server import ssdp
from redfish_fm.server.ssdp import URN, Allowance, Announced, Search

UUID = "2f3f1a4e-8c3f-4c52-9d0e-3a1f7f3e9b10"
SERVICE = Announced(UUID, "1.20.0", "https", 8443, "/redfish/v1/")
IPV4, IPV6 = ipaddress.ip_address("192.0.2.1"), ipaddress.ip_address("2001:db8::1")
LINES = (
    "M-SEARCH * HTTP/1.1",
    "HOST: 239.255.255.250:1900",
    'MAN: "ssdp:discover"',
    "MX: 3",
    f"ST: {URN}",
    "",
    "",
)


def datagram(*lines: str) -> bytes:
    return "\r\n".join(lines).encode()


def changed(old: str, new: str | None) -> bytes:
    lines = [new if line.startswith(old) else line for line in LINES]
    return datagram(*(line for line in lines if line is not None))


def headers(message: bytes) -> tuple[str, dict[str, str]]:
    start, *lines = message.decode("ascii").split("\r\n")
    assert lines[-2:] == ["", ""]
    return start, dict(line.split(": ") if ": " in line else (line[:-1], "") for line in lines[:-2])


# -- searches --------------------------------------------------------------------------------


def test_a_search_is_read() -> None:
    assert ssdp.read_search(datagram(*LINES)) == Search(URN, 3)


def test_names_of_headers_have_no_case_and_the_blank_line_may_be_missing() -> None:
    lines = (
        "M-SEARCH * HTTP/1.1",
        'Man:"ssdp:discover"',
        f"sT:  {URN}",
        "mx:1",
    )
    assert ssdp.read_search(datagram(*lines, "")) == Search(URN, 1)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n\r\n",
        b"\xff\xfe\x00",
        changed("M-SEARCH", "NOTIFY * HTTP/1.1"),
        changed("M-SEARCH", "M-SEARCH / HTTP/1.1"),
        changed("M-SEARCH", "M-SEARCH * HTTP/2.0"),
        changed("M-SEARCH", "HTTP/1.1 200 OK"),
        changed("MAN", None),
        changed("MAN", "MAN: ssdp:discover"),
        changed("ST", None),
        changed("ST", "ST: "),
        changed("MX", None),
        changed("MX", "MX: 0"),
        changed("MX", "MX: -1"),
        changed("MX", "MX: 1.5"),
        changed("MX", "MX: 9999999999999"),
        changed("MX", "MX: soon"),
        changed("ST", "ST: " + "x" * ssdp.DATAGRAM_BYTES_MAX),
    ],
)
def test_what_asks_for_no_answer_is_no_search(raw) -> None:
    assert ssdp.read_search(raw) is None


@given(st.binary(max_size=300))
def test_no_datagram_breaks_the_reader(raw) -> None:
    assert ssdp.read_search(raw) is None
    ssdp.read_search(datagram(*LINES[:5]) + raw)


def test_a_long_wait_counts_as_a_short_one() -> None:
    assert ssdp.read_search(changed("MX", "MX: 120")) == Search(URN, ssdp.MX_S_MAX)


# -- targets ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "answered"),
    [
        ("ssdp:all", ("upnp:rootdevice", URN)),
        ("upnp:rootdevice", ("upnp:rootdevice",)),
        (URN, (URN,)),
        (URN.upper(), (URN,)),
        (f"{URN}:20", (f"{URN}:20",)),
        (f"{URN}:2", ()),
        (f"{URN}:21", ()),
        (f"{URN}:", ()),
        (f"{URN}0", ()),
        ("urn:dmtf-org:service:redfish-rest:2", ()),
        ("urn:schemas-upnp-org:device:MediaServer:1", ()),
    ],
)
def test_only_what_the_service_is_is_answered(wanted, answered) -> None:
    assert ssdp.targets_of(Search(wanted, 1), 20) == answered


def test_a_minor_version_of_0_is_no_target() -> None:
    assert ssdp.targets_of(Search(f"{URN}:0", 1), 0) == ()


# -- messages --------------------------------------------------------------------------------


def test_an_answer_names_the_service_and_its_root() -> None:
    start, found = headers(ssdp.answer(SERVICE, IPV4, URN, 1800))
    assert start == "HTTP/1.1 200 OK"
    assert found == {
        "CACHE-CONTROL": "max-age=1800",
        "ST": URN,
        "USN": f"uuid:{UUID}::{URN}",
        "AL": "https://192.0.2.1:8443/redfish/v1/",
        "EXT": "",
    }


def test_an_ipv6_address_is_in_brackets() -> None:
    _, found = headers(ssdp.answer(SERVICE, IPV6, URN, 1800))
    assert found["AL"] == "https://[2001:db8::1]:8443/redfish/v1/"


def test_an_announcement_says_that_the_service_is_there() -> None:
    start, found = headers(ssdp.alive(SERVICE, IPV4, "239.255.255.250", 1800))
    assert start == "NOTIFY * HTTP/1.1"
    assert found == {
        "HOST": "239.255.255.250:1900",
        "CACHE-CONTROL": "max-age=1800",
        "NT": URN,
        "NTS": "ssdp:alive",
        "USN": f"uuid:{UUID}::{URN}",
        "AL": "https://192.0.2.1:8443/redfish/v1/",
    }


def test_the_last_announcement_takes_back_the_same_name() -> None:
    _, found = headers(ssdp.byebye(SERVICE, "ff02::c"))
    assert found == {
        "HOST": "[ff02::c]:1900",
        "NT": URN,
        "NTS": "ssdp:byebye",
        "USN": f"uuid:{UUID}::{URN}",
    }


@pytest.mark.parametrize(("interval_s", "age_s"), [(0, 1800), (600, 1800), (3600, 10800)])
def test_an_announcement_outlives_two_that_get_lost(interval_s, age_s) -> None:
    assert ssdp.max_age_s(interval_s) == age_s


# -- allowance -------------------------------------------------------------------------------


def test_an_allowance_is_used_up_and_fills_again() -> None:
    now_s = [100.0]
    allowance = Allowance(2.0, 4, lambda: now_s[0])
    assert [allowance.take(2), allowance.take(2), allowance.take(1)] == [True, True, False]
    assert not allowance.is_full
    now_s[0] += 0.5
    assert [allowance.take(1), allowance.take(1)] == [True, False]
    now_s[0] += 60
    assert allowance.is_full
    assert [allowance.take(4), allowance.take(1)] == [True, False]
