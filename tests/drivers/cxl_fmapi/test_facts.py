"""Payloads that a third party's encoder makes: the request bytes of libcxlmi, from its own tests.

Neither captured switch speaks most of these commands, so this is where they are held to bytes.
"""

import struct
from typing import Any

import pytest

from redfish_fm.drivers.cxl_fmapi import dcd_commands as dcd
from redfish_fm.drivers.cxl_fmapi import generic_commands as generic
from redfish_fm.drivers.cxl_fmapi import mld_commands as mld
from redfish_fm.drivers.cxl_fmapi import switch_commands as switch
from redfish_fm.drivers.cxl_fmapi.command import NOTHING, Command
from redfish_fm.drivers.cxl_fmapi.events import Extent
from redfish_fm.drivers.cxl_fmapi.numbers import AddPolicy, EventLog, PortOperation, UnbindOption

TAG = bytes(range(16))
GIB = 1 << 30

CASES: list[tuple[Command[Any, Any], Any, str]] = [
    (switch.CONTROL_PORT, switch.PortControl(5, PortOperation.RESET_PPB), "0502"),
    (
        switch.CONFIGURE_PORT,
        switch.PortConfiguration(3, 0x10, 0, 0xF, 1, 0xDEADBEEF),
        "0310f080efbeadde",
    ),
    (switch.GET_PORTS, switch.PortIds((7,)), "0107"),
    (switch.BIND, switch.Bind(1, 2, 9, switch.NO_LD), "01020900ffff"),
    (switch.UNBIND, switch.Unbind(1, 2, UnbindOption.SURPRISE_HOT_REMOVE), "010202"),
    (mld.GET_LD_ALLOCATIONS, mld.LdRange(0, 4), "0004"),
    (
        mld.SET_LD_ALLOCATIONS,
        mld.NewLdAllocations(1, (mld.LdAllocation(4, 0), mld.LdAllocation(8, 0))),
        "02010000" + "0400000000000000" + "00" * 8 + "0800000000000000" + "00" * 8,
    ),
    (mld.SET_QOS_CONTROL, mld.QosControl(True, True, 10, 25, 8, 0x1234, 64), "030a1908341240"),
    (mld.GET_QOS_ALLOCATED, mld.LdCountRange(4, 0), "0400"),
    (mld.SET_QOS_ALLOCATED, mld.LdFractions(0, (10, 20, 30, 40)), "04000a141e28"),
    (mld.SET_QOS_LIMIT, mld.LdFractions(0, (1, 2, 3, 4)), "040001020304"),
    (
        dcd.SET_REGION,
        dcd.RegionConfiguration(0, 2 << 20, True),
        "00000000" + "0000200000000000" + "01000000",
    ),
    (
        dcd.ADD_CAPACITY,
        dcd.AddCapacity(1, AddPolicy.SHARED_ACCESS, 0, 0, TAG, (Extent(1 << 28, 1 << 27, TAG, 7),)),
        "01000300" + "00" * 8 + TAG.hex() + "01000000"
        "0000001000000000" + "0000000800000000" + TAG.hex() + "0700" + "00" * 6,
    ),
    (
        generic.CLEAR_EVENTS,
        generic.EventHandles(EventLog.INFORMATIONAL, False, (0x11, 0x12)),
        "000002000000" + "11001200",
    ),
]


@pytest.mark.parametrize(
    ("command", "request_", "expected"), CASES, ids=[f"{each[0].opcode:04X}" for each in CASES]
)
def test_a_request_is_the_one_that_another_encoder_makes(
    command: Command[Any, Any], request_: Any, expected: str
) -> None:
    assert command.request.encode(request_).hex() == expected
    assert command.request.decode(bytes.fromhex(expected)) == request_


def test_dynamic_capacity_of_a_device_is_read() -> None:
    payload = bytes.fromhex(
        "02010000" + "08000000" + "08000100" + "4000000000000000" + "0000200000000000" + "00" * 56
    )
    info = dcd.GET_DCD_INFO.response_to(NOTHING).decode(payload)
    assert (info.host_count, info.region_count, info.capacity_units) == (2, 1, 64)
    assert info.capacity_units * (256 << 20) == 16 * GIB
    assert (info.add_policies, info.removal_policies) == ({3}, {3})
    assert (info.sanitize_on_release, info.block_sizes_0) == (1, 1 << 21)


def test_the_supply_follows_as_many_regions_as_the_answer_has() -> None:
    region = struct.pack("<QQQQBxxxBxxx", 0, 4, GIB, 2 << 20, 0x08, 1)
    supply = struct.pack("<4I", 16, 15, 8, 7)
    query = dcd.RegionQuery(1, 8, 0)
    for count in (0, 1, 3):
        payload = struct.pack("<HBB", 1, 3, count) + region * count + supply
        found = dcd.GET_REGIONS.response_to(query).decode(payload)
        assert len(found.regions) == count
        assert found.supply == dcd.RegionSupply(16, 15, 8, 7)
    assert found.regions[2] == dcd.Region(0, 4, GIB, 2 << 20, 0x08, True)


def test_extents_come_with_their_generation() -> None:
    extent = struct.pack("<QQ16sH6x", GIB, 2 << 20, TAG, 3)
    payload = struct.pack("<HxxIIII4x", 1, 5, 1, 9, 77) + extent
    found = dcd.GET_EXTENTS.response_to(dcd.ExtentQuery(1, 10, 5)).decode(payload)
    assert (found.start, found.total, found.generation) == (5, 9, 77)
    assert found.extents == (Extent(GIB, 2 << 20, TAG, 3),)


def test_the_sides_of_a_memory_request_lie_where_the_facts_say() -> None:
    request = mld.LdMemoryRequest(1, 0xF, 0x3, 1, 0x0102, 4, 0x1000, b"abcd")
    assert mld.ACCESS_LD_MEMORY.request.encode(request).hex() == (
        "0100f083" + "0201" + "0400" + "0010000000000000" + "61626364"
    )
    assert mld.ACCESS_LD_MEMORY.response_to(request).decode(
        bytes.fromhex("0400ffff") + b"abcdrest"
    ) == mld.LdMemory(tuple(b"abcd"))


def test_a_background_status_tells_running_and_percent_apart() -> None:
    form = generic.BACKGROUND_STATUS.response_to(NOTHING)
    assert form.decode(bytes.fromhex("6500025200000000")) == generic.BackgroundStatus(
        True, 50, 0x5202, 0, 0
    )
    assert form.decode(bytes.fromhex("c800025202000000")) == generic.BackgroundStatus(
        False, 100, 0x5202, 2, 0
    )


def test_heads_of_a_shared_device_are_read() -> None:
    payload = bytes((4, 2, 0, 0, 0, 4, 0, 0, 0, 0, 1, 1))
    found = mld.GET_HEAD_MAP.response_to(mld.LdRange(0, 4)).decode(payload)
    assert found == mld.HeadMap(4, 2, 0, (0, 0, 1, 1))
    payload = bytes((1, 0, 0, 0)) + bytes((3, 16, 8, 0x3F, 6, 5, 4, 0, 4))
    (head,) = mld.GET_HEADS.response_to(mld.HeadRange(0, 1)).decode(payload).heads
    assert (head.port_id, head.link_width, head.link_speed) == (3, 8, 5)
