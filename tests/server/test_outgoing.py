"""Tests of redfish_fm.server.outgoing: no URL leads the service to its own surroundings."""

import asyncio
import ipaddress
import socket

import aiohttp
import pytest

from redfish_fm.server.outgoing import (
    Destination,
    Destinations,
    Pinned,
    Refused,
    Wanted,
    destination,
    redirected,
    wanted,
)

from .conftest import Serve

ANYWHERE = Destinations()
LAB = Destinations.of(["10.0.0.0/8", "2001:db8::/32"])


def resolving(*addresses: str):
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


async def never(host: str, port: int) -> list[str]:
    raise AssertionError(f"{host} was resolved")


INNER = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",  # noqa: S104 - a destination
    "0.1.2.3",
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "::127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::169.254.169.254",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:0:0:0:0:80ff:fffe",
    "2001:db8::5efe:127.0.0.1",
    "2001:db8::200:5efe:169.254.169.254",
]


@pytest.mark.parametrize("address", INNER)
def test_nothing_around_the_service_is_reached_by_default(address: str) -> None:
    assert ANYWHERE.refuses(ipaddress.ip_address(address)) is not None


@pytest.mark.parametrize(
    "address",
    ["192.0.2.1", "10.1.2.3", "2001:db8::1", "fd00::1", "::ffff:192.0.2.1", "64:ff9b::192.0.2.1"],
)
def test_everything_else_is_reached_by_default(address: str) -> None:
    assert ANYWHERE.refuses(ipaddress.ip_address(address)) is None


@pytest.mark.parametrize(
    ("address", "reached"),
    [
        ("10.255.0.1", True),
        ("::ffff:10.0.0.1", True),
        ("2001:db8:1::1", True),
        ("11.0.0.1", False),
        ("127.0.0.1", False),
        ("::ffff:11.0.0.1", False),
        ("2001:db9::1", False),
        ("64:ff9b::10.0.0.1", False),
        ("2001:db8::5efe:192.0.2.1", False),
    ],
)
def test_named_networks_are_all_that_is_reached(address: str, reached: bool) -> None:
    assert (LAB.refuses(ipaddress.ip_address(address)) is None) is reached


def test_who_names_loopback_gets_it() -> None:
    assert Destinations.of(["127.0.0.0/8"]).refuses(ipaddress.ip_address("127.0.0.1")) is None


@pytest.mark.parametrize("address", ["224.0.0.1", "0.0.0.0", "255.255.255.255", "::", "ff02::1"])  # noqa: S104
def test_what_is_no_single_host_is_never_reached(address: str) -> None:
    everything = Destinations.of(["0.0.0.0/0", "::/0"])
    assert everything.refuses(ipaddress.ip_address(address)) is not None


def test_a_network_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        Destinations.of(["fm.example"])


@pytest.mark.parametrize(
    "url",
    [
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://127.1/",
        "https://127.0.0.1./",
        "https://127.0.0.1.:443/",
        "https://[fe80::1%25eth0]/",
        "https://[::1/",
        "https://[v1.x]/",
        "https://①②⑦.0.0.1/",
        "https://fm.example\\@127.0.0.1/",
        "https://user@fm.example/",
        "https://fm.example:0/",
        "https://fm.example:65536/",
        "https://fm.example:x/",
        "https://%31%32%37.0.0.1/",
        "https://fm .example/",
        "https://fm.example/\r\nHost: x",
        "\thttps://fm.example/",
        "https://fm..example/",
        "https://-fm.example/",
        "https:///redfish",
        "https:fm.example",
        "//fm.example/",
        "gopher://fm.example/",
        "file:///etc/passwd",
        "unix:/run/docker.sock",
        "",
    ],
)
async def test_a_url_that_can_be_read_in_two_ways_is_not_even_resolved(url: str) -> None:
    assert isinstance(await destination(url, ANYWHERE, never), Refused)


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port"),
    [
        ("https://fm.example/events?x=1", "https", "fm.example", 443),
        ("HTTP://FM.example:8080", "http", "fm.example", 8080),
        ("https://[2001:DB8::1]:8443/", "https", "2001:db8::1", 8443),
        ("https://192.0.2.1/", "https", "192.0.2.1", 443),
        ("https://rack_7.4u.example./", "https", "rack_7.4u.example.", 443),
    ],
)
def test_a_plain_url_says_what_it_asks_for(url: str, scheme: str, host: str, port: int) -> None:
    found = wanted(url)
    assert isinstance(found, Wanted)
    assert (found.url, found.scheme, found.host, found.port) == (url, scheme, host, port)


@pytest.mark.parametrize("inner", ["127.0.0.1", "::1", "::ffff:169.254.169.254"])
async def test_one_inner_address_of_a_name_refuses_all_of_them(inner: str) -> None:
    found = await destination("https://fm.example/", ANYWHERE, resolving("192.0.2.1", inner))
    assert isinstance(found, Refused)


async def test_a_name_is_pinned_to_the_addresses_that_were_judged() -> None:
    found = await destination(
        "https://fm.example/", ANYWHERE, resolving("192.0.2.1", "192.0.2.1", "2001:db8::1")
    )
    assert isinstance(found, Destination)
    assert [str(each) for each in found.addresses] == ["192.0.2.1", "2001:db8::1"]


async def test_an_address_is_judged_without_asking_anybody() -> None:
    assert isinstance(await destination("https://192.0.2.1/", ANYWHERE, never), Destination)
    assert isinstance(await destination("https://127.0.0.1/", ANYWHERE, never), Refused)


@pytest.mark.parametrize("failure", [OSError("no such host"), UnicodeError("label too long")])
async def test_a_name_that_nobody_knows_is_refused(failure: Exception) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise failure

    assert isinstance(await destination("https://fm.example/", ANYWHERE, resolve), Refused)
    assert isinstance(await destination("https://fm.example/", ANYWHERE, resolving()), Refused)


async def test_a_name_that_takes_too_long_is_refused() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    found = await destination("https://fm.example/", ANYWHERE, resolve, timeout_s=0.001)
    assert isinstance(found, Refused)


@pytest.mark.parametrize(
    "location",
    ["http://fm.example/", "https://[::1/", "https://0x7f.1/", "//user@fm.example/", "file:///x"],
)
def test_a_redirect_is_looked_at_like_any_url(location: str) -> None:
    start = wanted("https://fm.example/events")
    assert isinstance(start, Wanted)
    assert isinstance(redirected(start, location), Refused)


async def test_a_redirect_to_an_inner_address_is_refused_when_it_is_judged() -> None:
    start = wanted("https://fm.example/a/b")
    assert isinstance(start, Wanted)
    beside, inside = redirected(start, "../c"), redirected(start, "https://[::1]/")
    assert isinstance(beside, Wanted) and beside.url == "https://fm.example/c"
    assert isinstance(inside, Wanted)
    assert isinstance(await destination(inside, ANYWHERE, never), Refused)


async def test_aiohttp_connects_to_the_pinned_address_whatever_the_name_means(serve: Serve) -> None:
    served = await serve()
    loopback = Destinations.of(["127.0.0.0/8"])
    url = f"http://fm.example:{served.listener.port}/redfish/v1"
    found = await destination(url, loopback, resolving("127.0.0.1"))
    assert isinstance(found, Destination)
    connector = aiohttp.TCPConnector(resolver=Pinned(found))
    async with aiohttp.ClientSession(connector=connector) as session:
        async with session.get(url, allow_redirects=False) as answer:
            assert answer.status == 200
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(f"http://other.example:{served.listener.port}/")
    assert [each.headers["host"] for each in served.seen] == [f"fm.example:{found.wanted.port}"]


async def test_ipv6_addresses_are_pinned_as_such() -> None:
    found = await destination("https://[2001:db8::1]/", ANYWHERE, never)
    assert isinstance(found, Destination)
    resolved = await Pinned(found).resolve("2001:db8::1", 443)
    assert [each["family"] for each in resolved] == [socket.AF_INET6]
