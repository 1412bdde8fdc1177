"""Listening: binds host and port, plain or TLS, and says in one line why it can not.

Knows sockets and asyncio's servers; what is served is the HttpServer's business. Binding and
serving are two steps, so that a start that can not have its port is over before it made anything.
"""

import asyncio
import errno
import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass

from redfish_fm.errors import FmError
from redfish_fm.server.handshakes import CountedListener
from redfish_fm.server.http import HttpServer
from redfish_fm.server.tls import cut_tls_buffers

_BACKLOG = 512
_TLS_CLOSE_TIMEOUT_S = 2.0
_ADDRESS_ABSENT = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
_Address = tuple[socket.AddressFamily, str]


class ListenError(FmError):
    """The address can not be listened on; one line for the operator."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Bound and accepting. `url` has no trailing slash and no path; `port` is the real one."""

    url: str
    host: str
    port: int
    servers: tuple[asyncio.Server, ...]

    async def close(self) -> None:
        """Stop accepting. Connections that exist are the HttpServer's to close."""
        for server in self.servers:
            server.close()
        await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Bound:
    """Every address of `host` at one port, nobody served yet. `port` is the real one."""

    host: str
    port: int
    sockets: tuple[socket.socket, ...]

    def claim(self) -> None:
        """Take the port for good; who connects from now on waits. Raises ListenError.

        Until then another process can bind it too (SO_REUSEADDR), and the first to claim has it.
        """
        try:
            for sock in self.sockets:
                sock.listen(_BACKLOG)
        except OSError as error:
            raise _refused(self.host, self.port, error) from error

    def close(self) -> None:
        """Let go of the port. Safe to repeat, and after a Listener has closed it."""
        for sock in self.sockets:
            sock.close()


async def bind(host: str, port: int, *, plain: bool) -> Bound:
    """Bind every address of `host`; port 0 picks one free port for all of them.

    `plain` HTTP is refused on any other address than loopback. Raises ListenError.
    """
    addresses = await _resolve(host, port)
    if plain and not all(_is_loopback(address) for _, address in addresses):
        raise ListenError(f"plain HTTP is served on loopback only, not on {host}")
    sockets = _bind(addresses, host, port)
    return Bound(host, int(sockets[0].getsockname()[1]), tuple(sockets))


async def listen(server: HttpServer, bound: Bound, context: ssl.SSLContext | None) -> Listener:
    """Serve whoever connects: over TLS, or as plain HTTP where `context` is None.

    Raises ListenError where somebody else has claimed the port.
    """
    bound.claim()
    if context is not None:
        cut_tls_buffers()
    loop = asyncio.get_running_loop()
    servers = [
        await loop.create_server(
            server.protocol,
            sock=sock if context is None else CountedListener.of(sock, server.handshakes),
            ssl=context,
            backlog=_BACKLOG,
            ssl_handshake_timeout=server.limits.read_timeout_s if context else None,
            ssl_shutdown_timeout=_TLS_CLOSE_TIMEOUT_S if context else None,
        )
        for sock in bound.sockets
    ]
    scheme = "http" if context is None else "https"
    name = f"[{bound.host}]" if ":" in bound.host else bound.host
    return Listener(f"{scheme}://{name}:{bound.port}", bound.host, bound.port, tuple(servers))


async def _resolve(host: str, port: int) -> list[_Address]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ListenError(f"cannot listen on {host}: no such host") from error
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _bind(addresses: list[_Address], host: str, port: int) -> list[socket.socket]:
    """Bind all addresses to one port; an address family this machine lacks is skipped."""
    sockets: list[socket.socket] = []
    refused = ListenError(f"cannot listen on {host}:{port}: no address")
    for family, address in addresses:
        try:
            sockets.append(_bound(family, address, port))
        except OSError as error:
            refused = _refused(host, port, error)
            if error.errno not in _ADDRESS_ABSENT:
                _close(sockets)
                break
        else:
            port = sockets[0].getsockname()[1]
    if not sockets:
        raise refused
    return sockets


def _refused(host: str, port: int, error: OSError) -> ListenError:
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    return ListenError(f"cannot listen on {host}:{port}: {reason}")


def _close(sockets: list[socket.socket]) -> None:
    while sockets:
        sockets.pop().close()


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # IPv4 gets a socket of its own
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setblocking(False)
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock
