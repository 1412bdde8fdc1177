"""[SWITCH=]HOST:PORT and FAULT=RATE, as settings write them."""

import pytest

from redfish_fm.config import ConfigError, load
from redfish_fm.drivers.virtual.fmapi_profiles import PROFILES
from redfish_fm.drivers.virtual.fmapi_wire import Dialect
from redfish_fm.wire_addresses import WireAddress, fault_rate, is_loopback, wire_address

HOME = {"HOME": "/nowhere"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("127.0.0.1:2508", WireAddress(None, "127.0.0.1", 2508)),
        ("cxl1=localhost:0", WireAddress("cxl1", "localhost", 0)),
        ("a.b-1=[::1]:65535", WireAddress("a.b-1", "::1", 65535)),
        (" [::1]:1 ", WireAddress(None, "::1", 1)),
    ],
)
def test_an_address_has_a_host_and_a_port_and_may_name_a_switch(
    text: str, meant: WireAddress
) -> None:
    assert wire_address(text) == meant


@pytest.mark.parametrize(
    "text", ["", "2508", "127.0.0.1", "::1:5", "=127.0.0.1:1", "a=b=c:1", "h:65536", "h:-1", "h:"]
)
def test_what_is_no_address_is_none(text: str) -> None:
    assert wire_address(text) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [("drop=0.5", ("drop", 0.5)), ("busy=1", ("busy", 1.0)), ("x=0", ("x", 0.0)), ("drop", None),
     ("=1", None), ("drop=1.1", None), ("drop=-0.1", None), ("drop=nan", None), ("drop=x", None)],
)  # fmt: skip
def test_a_rate_is_from_0_to_1(text: str, meant: tuple[str, float] | None) -> None:
    assert fault_rate(text) == meant


@pytest.mark.parametrize(
    ("host", "only_here"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("LOCALHOST", True),
     ("192.0.2.1", False), ("10.0.0.1", False), ("example.com", False), ("::", False)],
)  # fmt: skip
def test_loopback_is_what_only_this_machine_reaches(host: str, only_here: bool) -> None:
    assert is_loopback(host) is only_here


def test_all_mistakes_are_told_at_once_with_where_they_were_given() -> None:
    flags = {"fmapi_listen": ("10.0.0.1:1", "x"), "fmapi_dial": ("127.0.0.1:0",)}
    with pytest.raises(ConfigError) as caught:
        load(flags, HOME | {"REDFISH_FM_FMAPI_FAULTS": "drop=7"})
    assert caught.value.problems == (
        "fmapi_listen: the FM API has no login: on loopback only, not on 10.0.0.1 (--fmapi-listen)",
        "fmapi_listen: 'x' is not [SWITCH=]HOST:PORT, such as cxl1=127.0.0.1:2508 (--fmapi-listen)",
        "fmapi_dial: '127.0.0.1:0': nobody listens on port 0 (--fmapi-dial)",
        "fmapi_faults: 'drop=7' is not FAULT=RATE with a rate from 0 to 1"
        " (REDFISH_FM_FMAPI_FAULTS)",
    )


@pytest.mark.parametrize(
    ("key", "there"),
    [("fmapi_profile", list(PROFILES)), ("dialect", [each.value for each in Dialect])],
)
def test_what_can_be_chosen_is_what_there_is(key: str, there: list[str]) -> None:
    for name in there:
        assert getattr(load({key: name}, HOME), key) == name
    with pytest.raises(ConfigError):
        load({key: "another"}, HOME)
