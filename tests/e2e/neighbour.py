"""What a foreign machine does on the service's network; `python -m tests.e2e.neighbour WHAT …`.

A test runs this inside a namespace. Each prints one JSON value. What takes SECONDS ends earlier
where stdin ends, and at what is waited for, if that is given: a part of a message, or "removed".

    search GROUP TARGET [MX]     raw M-SEARCH by IPv4 or IPv6, and rubbish before it; the answers,
                                 each with its sender
    upnp TARGET                  async-upnp-client searches; the headers of the answers
    hear SECONDS [PART]          everything that is sent to the groups of SSDP, as text
    browse SECONDS [NEWS]        zeroconf browses; what came and went, and the types there are
    hold NAME SECONDS            a foreign service of that name, of the same type
    frames SECONDS               how many IP datagrams the wire carries, by sender
    hops SECONDS                 how far each announcement may go: IP version and TTL
    patch URL BODY               a PATCH of the administrator's; its status
    get URL [CAFILE]             the service root, over TLS
"""
# ruff: noqa: PLC0415 - each needs its own clients, which are not everywhere

import asyncio
import contextlib
import ipaddress
import json
import select
import socket
import ssl
import struct
import sys
import time
import urllib.request
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.e2e.namespaces import INTERFACE
from tests.e2e.service import PASSWORD, USER

PORT = 1900
GROUPS = ("239.255.255.250", "ff02::c", "ff05::c")
_ETH_P_ALL, _IPV4, _IPV6 = 3, 0x0800, 0x86DD
TYPE = "_redfish._tcp.local."
_RUBBISH = (b"", b"\r\n\r\n", b"\xff" * 1400, b"M-SEARCH * HTTP/1.1\r\nMX: x\r\n:\r\n", b"M-SEARCH")


def search(group: str, target: str, mx: str = "1") -> list[dict[str, str]]:
    """Return the answers to one M-SEARCH, read as text."""
    family = socket.AF_INET6 if ":" in group else socket.AF_INET
    host = f"[{group}]" if ":" in group else group
    text = (
        f"M-SEARCH * HTTP/1.1\r\nHOST: {host}:{PORT}\r\n"
        f'MAN: "ssdp:discover"\r\nMX: {mx}\r\nST: {target}\r\n\r\n'
    )
    found = []
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.1)
        for datagram in (*_RUBBISH, text.encode()):
            sock.sendto(datagram, (group, PORT))
        end_s = time.monotonic() + float(mx) + 0.7
        while time.monotonic() < end_s:
            try:
                data, sender = sock.recvfrom(2048)
            except TimeoutError:
                continue
            found.append({"text": data.decode(), "sender": str(sender[0])})
    return found


def upnp(target: str) -> list[dict[str, str]]:
    """Return the headers that async-upnp-client gives its users."""
    from async_upnp_client.search import async_search

    found: list[dict[str, str]] = []

    async def took(headers: Any) -> None:
        found.append({name: str(value) for name, value in headers.items()})

    source = ("192.0.2.2", 0)
    asyncio.run(async_search(took, timeout=2, search_target=target, source=source))
    return found


def while_wanted(seconds: str) -> Iterator[None]:
    """Go on until the time is over or stdin has ended, with a little pause in between."""
    end_s = time.monotonic() + float(seconds)
    while time.monotonic() < end_s:
        yield
        if select.select([sys.stdin], [], [], 0.01)[0]:
            return


def hear(seconds: str, part: str | None = None) -> list[str]:
    """Return what came to the groups; begins with a line on stderr once it listens."""
    socks = [_member(group) for group in GROUPS]
    print("listening", file=sys.stderr, flush=True)
    found: list[str] = []
    for _ in while_wanted(seconds):
        for sock in socks:
            with contextlib.suppress(BlockingIOError):
                found.append(sock.recv(2048).decode(errors="replace"))
        if part is not None and any(part in each for each in found):
            break
    return found


def _member(group: str) -> socket.socket:
    version = ipaddress.ip_address(group).version
    sock = socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    index = socket.if_nametoindex(INTERFACE)
    if version == 4:
        member = struct.pack("=4s4si", socket.inet_aton(group), bytes(4), index)
        sock.bind((group, PORT))
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
    else:
        member = socket.inet_pton(socket.AF_INET6, group) + struct.pack("@I", index)
        sock.bind((group, PORT, 0, index))
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, member)
    sock.setblocking(False)
    return sock


def browse(seconds: str, wanted: str | None = None) -> dict[str, Any]:
    """Return what a browser sees in that time, in order, and what each was when it came."""
    from zeroconf import ServiceBrowser, ServiceListener, Zeroconf, ZeroconfServiceTypes

    news: list[list[Any]] = []

    class Listener(ServiceListener):
        def add_service(self, zc: Zeroconf, type_: str, name: str) -> None:
            info = zc.get_service_info(type_, name)
            known = None
            if info is not None:
                properties = {
                    key.decode(): (value or b"").decode() for key, value in info.properties.items()
                }
                known = {
                    "port": info.port,
                    "addresses": sorted(info.parsed_addresses()),
                    "properties": properties,
                }
            news.append(["added", name, known])
            print("added", file=sys.stderr, flush=True)

        def remove_service(self, zc: Zeroconf, type_: str, name: str) -> None:
            news.append(["removed", name, time.time()])

        def update_service(self, zc: Zeroconf, type_: str, name: str) -> None:
            pass

    zc = Zeroconf(interfaces=["192.0.2.2"])
    try:
        ServiceBrowser(zc, TYPE, Listener())
        for _ in while_wanted(seconds):
            if any(each[0] == wanted for each in news):
                break
        types = ZeroconfServiceTypes.find(zc, timeout=1.0)
    finally:
        zc.close()
    return {"news": news, "types": list(types)}


def hold(name: str, seconds: str) -> None:
    """Be a foreign service of that name for a while."""
    from zeroconf import ServiceInfo, Zeroconf

    zc = Zeroconf(interfaces=["192.0.2.2"])
    address = [socket.inet_aton("192.0.2.2")]
    zc.register_service(
        ServiceInfo(TYPE, f"{name}.{TYPE}", port=1, addresses=address, server="foreign.local.")
    )
    print("held", file=sys.stderr, flush=True)
    for _ in while_wanted(seconds):
        pass
    zc.close()


def frames(seconds: str) -> dict[str, int]:
    """Return how many datagrams of UDP and TCP the wire carried, by their sender's address."""
    return dict(Counter(filter(None, map(_sender, _carried(seconds)))))


def hops(seconds: str) -> list[list[int]]:
    """Return the IP versions of announcements, each with its TTL or hop limit, once each."""
    found = set()
    for frame in _carried(seconds):
        if b"NTS: ssdp:" in frame:
            is_v4 = int.from_bytes(frame[12:14]) == _IPV4
            found.add((4, frame[22]) if is_v4 else (6, frame[21]))
    return sorted(map(list, found))


def _carried(seconds: str) -> Iterator[bytes]:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL)) as sock:
        sock.bind((INTERFACE, 0))
        sock.setblocking(False)
        print("listening", file=sys.stderr, flush=True)
        for _ in while_wanted(seconds):
            with contextlib.suppress(BlockingIOError):
                while True:
                    yield sock.recv(4096)


def _sender(frame: bytes) -> str | None:
    kind = int.from_bytes(frame[12:14])
    if kind == _IPV4 and frame[23] in (socket.IPPROTO_UDP, socket.IPPROTO_TCP):
        return socket.inet_ntoa(frame[26:30])
    if kind == _IPV6 and frame[20] in (socket.IPPROTO_UDP, socket.IPPROTO_TCP):
        return socket.inet_ntop(socket.AF_INET6, frame[22:38])
    return None


def get(url: str, cafile: str | None = None) -> Any:
    """Return the document at a URL, which needs no login; trust anybody without a CAFILE."""
    assert url.startswith("https://")
    with urllib.request.urlopen(url, timeout=10, context=_context(cafile)) as answer:  # noqa: S310
        return json.load(answer)


def patch(url: str, body: str) -> int:
    """Return the status of the answer to a PATCH."""
    login = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    headers = {"Content-Type": "application/json", "Authorization": f"Basic {login}"}
    request = urllib.request.Request(url, body.encode(), headers, method="PATCH")  # noqa: S310
    with urllib.request.urlopen(request, timeout=10, context=_context(None)) as answer:  # noqa: S310
        return int(answer.status)


def _context(cafile: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=cafile)
    if cafile is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
