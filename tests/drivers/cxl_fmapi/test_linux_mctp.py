"""MCTP sockets of the Linux kernel, against a pair of sockets that behaves like them."""

import asyncio
import errno
import socket
import struct
from collections.abc import Iterator

import pytest

from redfish_fm.clocks import SystemClock
from redfish_fm.drivers.base import DriverNotSent, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.client import SwitchClient
from redfish_fm.drivers.cxl_fmapi.linux_mctp import KernelAbi, MctpSockets
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer, Order
from redfish_fm.drivers.cxl_fmapi.wires import Arrival
from tests.drivers.cxl_fmapi.peer import Asked, Peer, Reply
from tests.drivers.cxl_fmapi.peer_switch import SwitchState
from tests.virtual_time import in_virtual_time, settle


class PairAbi:
    """Sockets whose other ends a switch answers on, by the message type of the address."""

    def __init__(self, state: SwitchState) -> None:
        self.state = state
        self.addresses: list[bytes] = []
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.error = 0
        self.before = b""

    def open(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        ours.setblocking(False)
        self.pairs.append((ours, theirs))
        return ours

    def send(self, endpoint: socket.socket, data: bytes, address: bytes) -> None:
        if self.error:
            raise OSError(self.error, "told by the kernel")
        self.addresses.append(address)
        opcode = data[3] | data[4] << 8
        asked = Asked(opcode, data[12:], data[1], address[9], 0)
        theirs = next(other for mine, other in self.pairs if mine is endpoint)
        if self.before:
            theirs.send(self.before)
        reply = self.state.answer(asked)
        if reply is not None:
            theirs.send(Peer().message(1, asked.tag, opcode, reply))

    def close(self) -> None:
        for pair in self.pairs:
            for each in pair:
                each.close()


@pytest.fixture
def abi() -> Iterator[PairAbi]:
    made = PairAbi(SwitchState())
    yield made
    made.close()


@in_virtual_time
async def test_a_switch_is_used_through_mctp_sockets(abi: PairAbi) -> None:
    sockets = MctpSockets("s1", 10, 3, abi=abi)
    client = SwitchClient(sockets, SystemClock())
    assert (await client.identify()).vendor_id == 0x1AED
    assert (await client.bind(0, 1, 3, None)).port_id == 3
    sockets.close()
    assert set(abi.addresses) == {struct.pack("=HHIBBBB", 45, 0, 3, 10, 7, 8, 0)}


@in_virtual_time
async def test_each_message_type_has_its_socket(abi: PairAbi) -> None:
    sockets = MctpSockets("s1", 10, abi=abi)
    for kind in (7, 8, 7):
        await sockets.exchange(Order(0x0001, message_type=kind))
    assert (len(abi.pairs), [each[9] for each in abi.addresses]) == (2, [7, 8, 7])
    with pytest.raises(Malformed):
        await sockets.exchange(Order(0x0001, message_type=1))
    sockets.close()


@in_virtual_time
async def test_what_comes_before_an_answer_is_not_taken_for_it(abi: PairAbi) -> None:
    seen: list[Arrival] = []
    sockets = MctpSockets("s1", 10, notice=seen.append, abi=abi)
    peer = Peer()
    for before, dropped in (
        (peer.message(1, 200, 0x5100, Reply()), "late answer"),
        (b"\x09", "malformed message"),
        (peer.message(0, 0, 0x0106, Reply(payload=b"\x01\x00")), None),
    ):
        abi.before = before
        answer = await sockets.exchange(Order(0x5100, message_type=7))
        assert len(answer.payload) == 73
        assert dropped is None or sockets.dropped[dropped] == 1
    assert [(each.message.opcode, each.message_type) for each in seen] == [(0x0106, 7)]
    sockets.close()


@in_virtual_time
async def test_silence_has_its_time(abi: PairAbi) -> None:
    abi.state.silent = {0x5201}
    sockets = MctpSockets("s1", 10, abi=abi)
    with pytest.raises(NoAnswer, match="Bind vPPB"):
        await sockets.exchange(Order(0x5201, bytes(6), 7, timeout_s=2))
    sockets.close()


@in_virtual_time
async def test_what_is_not_sent_is_told_as_such(abi: PairAbi) -> None:
    sockets = MctpSockets("s1", 10, abi=abi)
    abi.error = errno.EHOSTUNREACH
    with pytest.raises(DriverNotSent, match="told by the kernel"):
        await sockets.exchange(Order(0x5100, message_type=7))
    with pytest.raises(DriverNotSent, match="deadline"):
        await sockets.exchange(Order(0x5100, deadline_s=asyncio.get_running_loop().time()))
    sockets.close()


@in_virtual_time
async def test_who_waits_while_it_is_closed_is_answered(abi: PairAbi) -> None:
    abi.state.silent = {0x5100}
    sockets = MctpSockets("s1", 10, abi=abi)
    waiting = asyncio.ensure_future(sockets.exchange(Order(0x5100, message_type=7)))
    await settle()
    sockets.close()
    with pytest.raises(DriverUnavailable, match="closed"):
        await waiting


class NoFamily(KernelAbi):
    def open(self) -> socket.socket:
        raise OSError(errno.EAFNOSUPPORT, "no such family")


@in_virtual_time
async def test_a_kernel_without_the_family_is_told() -> None:
    with pytest.raises(DriverNotSent, match="no MCTP sockets"):
        await MctpSockets("s1", 10, abi=NoFamily()).exchange(Order(0x5100))


def test_what_libc_refuses_is_an_error_of_the_system() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as endpoint:
        address = struct.pack("=HHIBBBB", 45, 0, 1, 10, 7, 8, 0)
        with pytest.raises(OSError, match=r"^\[Errno \d+\]"):
            KernelAbi().send(endpoint, b"data", address)
