"""Tests of redfish_fm.server.handshakes: unfinished handshakes keep nobody out."""

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redfish_fm.server.handshakes import ACCEPTED_AT_ONCE, CountedListener, Handshakes
from redfish_fm.server.tls import ensure_certificate, server_context

from .conftest import Serve
from .wire import get, until

HERE, THERE = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def pair() -> Iterator[list[socket.socket]]:
    """Ends of connections, to be counted: as many as a test takes."""
    ends: list[socket.socket] = []
    yield ends
    for each in ends:
        each.close()


def ends_of(pair: list[socket.socket]) -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    pair += [ours, theirs]
    return ours, theirs


def is_open(theirs: socket.socket) -> bool:
    try:
        return theirs.recv(1) != b""
    except BlockingIOError:
        return True


def test_the_oldest_of_whoever_has_most_is_given_up(pair: list[socket.socket]) -> None:
    handshakes = Handshakes(3)
    peers = [THERE, HERE, HERE, HERE]
    ends = [ends_of(pair) for _ in peers]
    for (ours, _), peer in zip(ends, peers, strict=True):
        handshakes.begun(ours, peer)
    assert [is_open(theirs) for _, theirs in ends] == [True, False, True, True]
    assert len(handshakes) == 3


def test_addresses_of_one_ipv6_network_are_one_peer(pair: list[socket.socket]) -> None:
    handshakes = Handshakes(3)
    peers = [THERE, "2001:db8::1", "2001:db8::2", "2001:db8::3"]
    ends = [ends_of(pair) for _ in peers]
    for (ours, _), peer in zip(ends, peers, strict=True):
        handshakes.begun(ours, peer)
    assert [is_open(theirs) for _, theirs in ends] == [True, False, True, True]


def test_one_that_is_over_counts_no_more(pair: list[socket.socket]) -> None:
    handshakes = Handshakes(1)
    (first, theirs), (second, _) = ends_of(pair), ends_of(pair)
    handshakes.begun(first, HERE)
    handshakes.over(first.fileno())
    handshakes.over(first.fileno())
    handshakes.begun(second, HERE)
    assert is_open(theirs)
    assert len(handshakes) == 1


def test_one_whose_client_is_gone_is_given_up_all_the_same(pair: list[socket.socket]) -> None:
    handshakes = Handshakes(1)
    lost = socket.socket()
    pair.append(lost)
    handshakes.begun(lost, HERE)
    handshakes.begun(ends_of(pair)[0], HERE)
    assert len(handshakes) == 1


@pytest.fixture
def context(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return what to serve with and what to connect with."""
    files = ensure_certificate(tmp_path, "127.0.0.1", time.time())
    return server_context(files), ssl.create_default_context(cafile=files.ca)


async def test_a_flood_of_silent_connections_keeps_nobody_out(
    serve: Serve, context: tuple[ssl.SSLContext, ssl.SSLContext], pair: list[socket.socket]
) -> None:
    served = await serve(context=context[0])
    served.server.handshakes = Handshakes(8)
    served.listener.servers[0].sockets[0]._sock.handshakes = served.server.handshakes  # noqa: SLF001
    for _ in range(40):
        pair.append(socket.create_connection(("127.0.0.1", served.listener.port)))
    client = await served.connect(context[1])
    assert (await client.ask(get())).status == 200
    assert len(served.server.handshakes) <= 8
    pair[-1].setblocking(False)
    assert is_open(pair[-1])
    assert sum(1 for each in pair if not _gone(each)) <= 8


def _gone(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


async def test_handshakes_that_are_done_or_given_up_are_counted_no_more(
    serve: Serve, context: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    served = await serve(context=context[0])
    silent = await asyncio.open_connection("127.0.0.1", served.listener.port)
    await until(lambda: len(served.server.handshakes) == 1)
    client = await served.connect(context[1])
    assert (await client.ask(get())).status == 200
    assert len(served.server.handshakes) == 1
    silent[1].close()
    await until(lambda: len(served.server.handshakes) == 0)


class _NoFiles(socket.socket):
    """A listening socket for which there is no file left."""

    def accept(self) -> tuple[socket.socket, object]:
        raise OSError(errno.EMFILE, "Too many open files")


class _Starved(CountedListener, _NoFiles):
    """The same, counted."""


@pytest.fixture
def starved(pair: list[socket.socket]) -> _Starved:
    made = _Starved()
    made.handshakes = Handshakes()
    pair.append(made)
    return made


async def test_without_files_the_oldest_handshake_makes_room(
    starved: _Starved, pair: list[socket.socket]
) -> None:
    ours, theirs = ends_of(pair)
    starved.handshakes.begun(ours, HERE)
    with pytest.raises(ConnectionAbortedError):
        starved.accept()
    assert not is_open(theirs)


async def test_without_files_and_handshakes_asyncio_has_to_know(starved: _Starved) -> None:
    with pytest.raises(OSError, match="Too many open files") as caught:
        starved.accept()
    assert not isinstance(caught.value, ConnectionError)


async def test_a_round_of_accepts_ends_before_it_takes_every_file(
    pair: list[socket.socket],
) -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=2 * ACCEPTED_AT_ONCE)
    counted = CountedListener.of(listening, Handshakes())
    pair.append(counted)
    for _ in range(ACCEPTED_AT_ONCE + 1):
        pair.append(socket.create_connection(counted.getsockname()))
    for _ in range(ACCEPTED_AT_ONCE):
        pair.append(counted.accept()[0])
    with pytest.raises(BlockingIOError):
        counted.accept()
    await asyncio.sleep(0)
    pair.append(counted.accept()[0])
