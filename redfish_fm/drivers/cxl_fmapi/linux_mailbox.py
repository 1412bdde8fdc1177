"""A switch's mailbox by the Linux kernel: /dev/cxl/switchN or /dev/cxl/memN, one ioctl a command.

No CCI header goes this way, so there is neither tag nor dialect. The ioctl blocks: it runs in a
thread, and a command that is given up may still run there.

    offset  size  field of struct cxl_send_command (48 bytes, native order)
    00      4     id, 2 for raw commands
    04      4     flags
    08      2     opcode
    0C      4     return code, out
    10      4     size of the payload, 8-byte pointer to it at 18
    20      4     room for the answer, out: its size, 8-byte pointer to it at 28
"""

import asyncio
import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Callable

from redfish_fm.drivers.base import DriverNotSent, DriverUnavailable, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.command import CCI
from redfish_fm.drivers.cxl_fmapi.commands import name_of
from redfish_fm.drivers.cxl_fmapi.header import Category, Dialect, Message
from redfish_fm.drivers.cxl_fmapi.numbers import ReturnCode
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer, Order

SEND_COMMAND = 0xC030CE02
"""CXL_MEM_SEND_COMMAND."""

_COMMAND = struct.Struct("=IIHHIIIQIIQ")
_RAW = 2
_ANSWER_BYTES = 1 << 16
_REFUSED = frozenset({errno.EPERM, errno.EACCES})
_ABSENT = frozenset({errno.ENOTTY, errno.EOPNOTSUPP})

Ioctl = Callable[[int, int, bytearray], int]
"""Carries out an ioctl on a file descriptor, which may change the buffer."""


def kernel_ioctl(descriptor: int, request: int, buffer: bytearray) -> int:
    """Ask the kernel."""
    done: int = fcntl.ioctl(descriptor, request, buffer, True)
    return done


class Mailbox:
    """One device file, opened at the first command; a Channel."""

    def __init__(self, name: str, path: str, ioctl: Ioctl = kernel_ioctl) -> None:
        self.name = name
        self.generation = 0
        self.keep_alive_type = CCI
        self._path = path
        self._ioctl = ioctl
        self._descriptor: int | None = None
        self._turn = asyncio.Lock()
        self._running: asyncio.Future[Message] | None = None

    @property
    def dialect(self) -> Dialect | None:
        """Return None: there are no headers."""
        return None

    async def exchange(self, order: Order) -> Message:
        """Send a command and return its answer. Raises as Channel.exchange.

        DriverUnsupported when the kernel passes no commands on.
        """
        async with self._turn:
            self._check(order)
            descriptor = self._open()
            self._running = asyncio.ensure_future(
                asyncio.to_thread(self._send, descriptor, order.opcode, order.payload)
            )
            try:
                async with asyncio.timeout(order.timeout_s):
                    return await asyncio.shield(self._running)
            except TimeoutError as error:
                text = f"{self.name}: no answer to {name_of(order.opcode)}"
                raise NoAnswer(f"{text} in {order.timeout_s:g} s") from error

    async def close(self) -> None:
        """Close the file, once no command runs any more."""
        async with self._turn:
            if self._running is not None:
                await asyncio.wait([self._running])
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _check(self, order: Order) -> None:
        if self._running is not None and not self._running.done():
            raise DriverNotSent(f"{self.name}: the command before still runs")
        now_s = asyncio.get_running_loop().time()
        if order.deadline_s is not None and now_s >= order.deadline_s:
            raise DriverNotSent(f"{self.name}: the deadline has passed")

    def _open(self) -> int:
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            except OSError as error:
                raise DriverNotSent(f"{self.name}: {self._path}: {error.strerror}") from error
            self.generation += 1
        return self._descriptor

    def _send(self, descriptor: int, opcode: int, payload: bytes) -> Message:
        sent = ctypes.create_string_buffer(payload, max(1, len(payload)))
        answer = ctypes.create_string_buffer(_ANSWER_BYTES)
        sent_at = ctypes.addressof(sent) if payload else 0
        fields = (len(payload), 0, sent_at, _ANSWER_BYTES, 0, ctypes.addressof(answer))
        buffer = bytearray(_COMMAND.pack(_RAW, 0, opcode, 0, 0, *fields))
        try:
            self._ioctl(descriptor, SEND_COMMAND, buffer)
        except OSError as error:
            raise self._meaning(opcode, error) from error
        code, size = (
            struct.unpack_from("=I", buffer, 12)[0],
            struct.unpack_from("=I", buffer, 32)[0],
        )
        if size > _ANSWER_BYTES:
            raise DriverUnavailable(f"{self.name}: the kernel tells of {size} bytes of answer")
        begun = code == ReturnCode.BACKGROUND_STARTED
        return Message(Category.RESPONSE, 0, opcode, answer.raw[:size], code & 0xFFFF, begun)

    def _meaning(self, opcode: int, error: OSError) -> Exception:
        if error.errno in _REFUSED:
            return DriverUnsupported(
                f"{self.name}: the kernel passes no commands on "
                "(CONFIG_CXL_MEM_RAW_COMMANDS, CAP_SYS_RAWIO)"
            )
        if error.errno in _ABSENT:
            return DriverUnsupported(f"{self.name}: {self._path} is no CXL mailbox")
        if error.errno == errno.EINVAL:
            return DriverNotSent(f"{self.name}: the kernel refuses {name_of(opcode)}")
        return DriverUnavailable(f"{self.name}: {name_of(opcode)}: {error.strerror}")
