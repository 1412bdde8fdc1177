"""A switch by the Linux kernel's MCTP sockets (AF_MCTP), one socket for each message type.

The kernel cuts packets and keeps MCTP tags; a datagram is one CCI message without its type byte.
Python knows no addresses of this family, so sending goes through libc.

    offset  size  field of struct sockaddr_mctp (12 bytes, native order)
    00      2     family, 45
    04      4     network
    08      1     endpoint id
    09      1     message type
    0A      1     tag: 08h in requests, the kernel picks one
"""

import asyncio
import ctypes
import errno
import os
import socket
import struct
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from redfish_fm.drivers.base import DriverNotSent, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi import header
from redfish_fm.drivers.cxl_fmapi.command import CCI, FM_API
from redfish_fm.drivers.cxl_fmapi.commands import name_of
from redfish_fm.drivers.cxl_fmapi.header import Category, Dialect, Message
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer, Order
from redfish_fm.drivers.cxl_fmapi.wires import Arrival

AF_MCTP = 45
_ADDRESS = struct.Struct("=HHIBBBB")
_TAG_OWNER = 0x08
_TAGS = 256
_DATAGRAM_BYTES = 1 << 16
_BURST = 64
"""Datagrams read before others have their turn."""


class Abi(Protocol):
    """The three calls of the kernel; tests bring their own."""

    def open(self) -> socket.socket:
        """Return a datagram socket that does not block. Raises OSError."""
        ...

    def send(self, endpoint: socket.socket, data: bytes, address: bytes) -> None:
        """Send one datagram. Raises OSError."""
        ...


class KernelAbi:
    """The kernel's."""

    def open(self) -> socket.socket:
        """Return a socket of the family."""
        endpoint = socket.socket(AF_MCTP, socket.SOCK_DGRAM)
        endpoint.setblocking(False)
        return endpoint

    def send(self, endpoint: socket.socket, data: bytes, address: bytes) -> None:
        """Send through libc."""
        libc = ctypes.CDLL(None, use_errno=True)
        done = libc.sendto(endpoint.fileno(), data, len(data), 0, address, len(address))
        if done < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))


class MctpSockets:
    """The sockets to one endpoint; a Channel. Opened at the first command."""

    def __init__(
        self,
        name: str,
        eid: int,
        network: int = 1,
        notice: Callable[[Arrival], None] | None = None,
        abi: Abi | None = None,
    ) -> None:
        self.name = name
        self.generation = 0
        self.keep_alive_type = FM_API
        self.dropped: Counter[str] = Counter()
        self._eid = eid
        self._network = network
        self._notice = notice
        self._abi = abi or KernelAbi()
        self._sockets: dict[int, socket.socket] = {}
        self._turn = asyncio.Lock()
        self._tag = 0
        self._waiting: tuple[int, int, asyncio.Future[Message]] | None = None

    @property
    def dialect(self) -> Dialect | None:
        """Return the standard's: the other one is of an emulator."""
        return Dialect.SPEC

    async def exchange(self, order: Order) -> Message:
        """Send a command and return its answer. Raises as Channel.exchange."""
        async with self._turn:
            now_s = asyncio.get_running_loop().time()
            if order.deadline_s is not None and now_s >= order.deadline_s:
                raise DriverNotSent(f"{self.name}: the deadline has passed")
            endpoint = self._socket(order.message_type)
            self._tag = (self._tag + 1) % _TAGS
            request = Message(Category.REQUEST, self._tag, order.opcode, order.payload)
            data = header.encode(request)
            future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
            self._waiting = self._tag, order.opcode, future
            try:
                self._send(endpoint, data, order)
                async with asyncio.timeout(order.timeout_s):
                    return await future
            except TimeoutError as error:
                text = f"{self.name}: no answer to {name_of(order.opcode)}"
                raise NoAnswer(f"{text} in {order.timeout_s:g} s") from error
            finally:
                self._waiting = None
                future.cancel()

    def close(self) -> None:
        """Close the sockets; a command that waits has an unknown outcome. Safe to repeat."""
        for endpoint in self._sockets.values():
            asyncio.get_running_loop().remove_reader(endpoint)
            endpoint.close()
        self._sockets.clear()
        self._fail("closed")

    def _fail(self, reason: str) -> None:
        if self._waiting is not None and not self._waiting[2].done():
            self._waiting[2].set_exception(DriverUnavailable(f"{self.name}: {reason}"))

    def _send(self, endpoint: socket.socket, data: bytes, order: Order) -> None:
        kind = order.message_type
        address = _ADDRESS.pack(AF_MCTP, 0, self._network, self._eid, kind, _TAG_OWNER, 0)
        try:
            self._abi.send(endpoint, data, address)
        except OSError as error:
            # A datagram goes as a whole or not at all.
            raise DriverNotSent(
                f"{self.name}: {name_of(order.opcode)}: {error.strerror}"
            ) from error

    def _socket(self, kind: int) -> socket.socket:
        endpoint = self._sockets.get(kind)
        if endpoint is not None:
            return endpoint
        if kind not in (FM_API, CCI):
            raise Malformed(f"message type {kind} is none of CXL")
        try:
            endpoint = self._abi.open()
        except OSError as error:
            reason = error.strerror
            if error.errno == errno.EAFNOSUPPORT:
                reason = "this kernel has no MCTP sockets (CONFIG_MCTP)"
            raise DriverNotSent(f"{self.name}: {reason}") from error
        asyncio.get_running_loop().add_reader(endpoint, self._readable, endpoint, kind)
        self.generation = 1
        self._sockets[kind] = endpoint
        return endpoint

    def _readable(self, endpoint: socket.socket, kind: int) -> None:
        for _ in range(_BURST):
            try:
                data = endpoint.recv(_DATAGRAM_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                self._fail(f"the socket broke: {error.strerror}")
                return
            try:
                message = header.decode(data, Dialect.SPEC)
            except Malformed:
                self.dropped["malformed message"] += 1
                continue
            self._take(message, kind)

    def _take(self, message: Message, kind: int) -> None:
        if message.category is Category.REQUEST:
            if self._notice is not None:
                self._notice(Arrival(message, kind))
            return
        tag, opcode, future = self._waiting or (-1, 0, None)
        if future is None or future.done() or message.tag != tag:
            self.dropped["late answer"] += 1
        elif message.opcode not in (0, opcode):
            self.dropped["answer to another command"] += 1
        else:
            future.set_result(message)
