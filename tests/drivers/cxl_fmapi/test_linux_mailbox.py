"""The mailbox of the Linux kernel, against an ioctl that behaves like the kernel's."""

import asyncio
import ctypes
import errno
import struct
import threading
from pathlib import Path

import pytest

from redfish_fm.clocks import SystemClock
from redfish_fm.drivers.base import DriverNotSent, DriverUnavailable, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.client import SwitchClient
from redfish_fm.drivers.cxl_fmapi.linux_mailbox import Mailbox, kernel_ioctl
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer, Order
from tests.drivers.cxl_fmapi.peer import Asked
from tests.drivers.cxl_fmapi.peer_switch import SwitchState


class Kernel:
    """Reads and writes struct cxl_send_command by its offsets; a switch answers."""

    def __init__(self, state: SwitchState) -> None:
        self.state = state
        self.error = 0
        self.lie = 0
        self.hold: threading.Event | None = None
        self.requests: list[int] = []
        self.bytes: list[bytes] = []

    def __call__(self, _: int, request: int, buffer: bytearray) -> int:
        self.requests.append(request)
        self.bytes.append(bytes(buffer))
        if self.hold is not None:
            self.hold.wait(10)
        if self.error:
            raise OSError(self.error, "told by the kernel")
        (opcode,) = struct.unpack_from("=H", buffer, 8)
        size, pointer = struct.unpack_from("=I4xQ", buffer, 0x10)
        payload = ctypes.string_at(pointer, size) if size else b""
        reply = self.state.answer(Asked(opcode, payload, 0, None, 0))
        assert reply is not None
        room, out = struct.unpack_from("=I4xQ", buffer, 0x20)
        assert len(reply.payload) <= room
        ctypes.memmove(out, reply.payload, len(reply.payload))
        struct.pack_into("=I", buffer, 0x0C, reply.code)
        struct.pack_into("=I", buffer, 0x20, self.lie or len(reply.payload))
        return 0


@pytest.fixture
def device(tmp_path: Path) -> str:
    (tmp_path / "switch0").touch()
    return str(tmp_path / "switch0")


async def test_a_switch_is_used_through_its_mailbox(device: str) -> None:
    kernel = Kernel(SwitchState(operation_s=0))
    mailbox = Mailbox("s1", device, kernel)
    client = SwitchClient(mailbox, SystemClock())
    assert (await client.identify()).vendor_id == 0x1AED
    assert sorted(await client.physical_ports(range(8))) == list(range(8))
    assert (await client.bind(0, 1, 3, None)).port_id == 3
    assert (await client.device(5).ld_info()).ld_count == 4
    await mailbox.close()
    assert set(kernel.requests) == {0xC030CE02}
    assert {len(each) for each in kernel.bytes} == {48}
    assert {struct.unpack_from("=II", each) for each in kernel.bytes} == {(2, 0)}


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (errno.EPERM, DriverUnsupported, "CONFIG_CXL_MEM_RAW_COMMANDS"),
        (errno.ENOTTY, DriverUnsupported, "no CXL mailbox"),
        (errno.EINVAL, DriverNotSent, "the kernel refuses"),
        (errno.EIO, DriverUnavailable, "told by the kernel"),
    ],
)
async def test_what_the_kernel_says_is_told(
    device: str, code: int, kind: type[Exception], text: str
) -> None:
    kernel = Kernel(SwitchState())
    kernel.error = code
    mailbox = Mailbox("s1", device, kernel)
    with pytest.raises(kind, match=text):
        await mailbox.exchange(Order(0x5100))
    await mailbox.close()


async def test_more_than_there_is_room_for_is_no_answer(device: str) -> None:
    kernel = Kernel(SwitchState())
    kernel.lie = 1 << 20
    mailbox = Mailbox("s1", device, kernel)
    with pytest.raises(DriverUnavailable, match="tells of 1048576 bytes"):
        await mailbox.exchange(Order(0x5100))
    await mailbox.close()


async def test_a_file_that_is_not_there_is_told() -> None:
    mailbox = Mailbox("s1", "/nowhere/cxl/switch0", Kernel(SwitchState()))
    with pytest.raises(DriverNotSent, match="No such file"):
        await mailbox.exchange(Order(0x5100))
    await mailbox.close()


async def test_an_ordinary_file_is_no_mailbox(device: str) -> None:
    mailbox = Mailbox("s1", device, kernel_ioctl)
    with pytest.raises(DriverUnsupported, match="is no CXL mailbox"):
        await mailbox.exchange(Order(0x5100))
    await mailbox.close()


async def test_a_command_that_hangs_is_given_up_and_none_is_sent_beside_it(device: str) -> None:
    kernel = Kernel(SwitchState())
    kernel.hold = threading.Event()
    mailbox = Mailbox("s1", device, kernel)
    with pytest.raises(NoAnswer):
        await mailbox.exchange(Order(0x5100, timeout_s=0.005))
    with pytest.raises(DriverNotSent, match="still runs"):
        await mailbox.exchange(Order(0x5100, timeout_s=0.005))
    kernel.hold.set()
    await mailbox.close()
    assert len(kernel.requests) == 1


async def test_nothing_is_sent_after_its_deadline(device: str) -> None:
    kernel = Kernel(SwitchState())
    mailbox = Mailbox("s1", device, kernel)
    with pytest.raises(DriverNotSent, match="deadline"):
        await mailbox.exchange(Order(0x5100, deadline_s=asyncio.get_running_loop().time()))
    await mailbox.close()
    assert kernel.requests == []
