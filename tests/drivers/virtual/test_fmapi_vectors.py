"""Captured conversations of two switches, held again with the simulated ones: the bytes decide.

The requests go over a real socket as they were captured. Answers are compared byte for byte where
the simulated switch has the same values; where it has others, what is masked is said here.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from redfish_fm.fabric.model import Allocate, BindTarget
from tests.drivers.cxl_fmapi.vectors import FRAMES, Vector, read
from tests.drivers.fmapi_world import FmapiWorld, fmapi_world
from tests.drivers.virtual.fmapi_captured import (
    ONE_MLD,
    ONE_VCS,
    PACKETS_SWITCH,
    SWITCH,
    TWO_VCSS,
    Plan,
)
from tests.drivers.virtual.fmapi_raw import Said, raw_manager
from tests.virtual_time import run

Setup = Callable[[FmapiWorld], None]
LONG_S = 1.0
"""Longer than an operation takes."""

BLOCK = 16


def freed(vcs: int, vppb: int) -> Setup:
    """Return what unbinds a vPPB, as was done off the record."""
    return lambda world: ONE_VCS.force(world.hardware, vcs, vppb, None)


CONVERSATIONS: list[tuple[Plan, range, Mapping[int, Setup]]] = [
    (ONE_VCS, range(35), {}),
    (
        TWO_VCSS,
        range(35, 46),
        {
            41: lambda world: world.hardware.remove_device("d2"),
            44: lambda world: world.hardware.return_device("d2"),
        },
    ),
    (ONE_VCS, range(47, 59), {50: freed(0, 0), 56: freed(0, 9)}),
    (
        ONE_MLD,
        range(59, 67),
        {63: freed(0, 3), 66: lambda world: world.hardware.power_host("h2", False)},
    ),
    (
        PACKETS_SWITCH,
        range(67, 119),
        {
            100: freed(0, 1),
            114: lambda world: world.hardware.return_device("d9"),
            117: lambda world: world.hardware.remove_device("d9"),
        },
    ),
]


async def held(
    plan: Plan, vectors: Iterable[Vector], setups: Mapping[int, Setup], *, frames: bool
) -> list[tuple[Vector, Said]]:
    """Send captured requests to a switch and return what it answers to each."""
    profile = "short-identity" if frames else "jrl"
    answers = []
    async with fmapi_world(plan.inventory(), profile, frames=frames) as world:
        for port, lds in plan.devices.items() if plan.pooled else ():
            for ld in range(lds):
                world.hardware.execute(Allocate(BindTarget(SWITCH, str(port), ld), plan.ld_mib))
        plan.bind(world.hardware)
        for port in plan.absent:
            world.hardware.remove_device(f"d{port}")
        async with raw_manager(world.host, world.port, frames=frames) as manager:
            for vector in vectors:
                setups.get(vector.index, lambda _: None)(world)
                if not shows_running(vector):
                    await asyncio.sleep(LONG_S)
                await manager.send(vector.request)
                answers.append((vector, await manager.answer()))
    return answers


def shows_running(vector: Vector) -> bool:
    """Whether a look at an operation came before its end."""
    return vector.opcode == 0x0002 and bool(vector.payload[0] & 1)


def without_values(vector: Vector, payload: bytes) -> bytes:
    """Return a payload without what only the real switch can have: serial numbers, link numbers.

    The packets switch counts LD memory from its begin to its end, has link numbers of its own,
    and was set up with identity and bandwidth of LDs.
    """
    packets = vector.transport != FRAMES
    if vector.opcode == 0x0001:
        return payload[16:] if packets else payload[:8] + payload[10:]
    if vector.opcode == 0xC003:
        return b"".join(payload[at + 2 : at + 8] + payload[at + 16 : at + 21]
                        for at in range(1, len(payload), 21))  # fmt: skip
    if packets and vector.opcode == 0x5100:
        return payload[1:]
    if packets and vector.opcode == 0x5101:
        return payload[:4] + b"".join(
            payload[at : at + 2] + payload[at + 12 : at + BLOCK]
            for at in range(4, len(payload), BLOCK)
        )
    if packets and vector.opcode == 0x5300:
        inner = payload[8] | payload[9] << 8
        values = {0x5401: 21, 0x5403: 17, 0x5406: 19}.get(inner, len(payload))
        return payload[:values] + bytes(len(payload[values:]))
    return payload


@pytest.mark.parametrize(("plan", "indexes", "setups"), CONVERSATIONS)
def test_a_captured_conversation_is_answered_alike(
    shared: Path, plan: Plan, indexes: range, setups: Mapping[int, Setup]
) -> None:
    vectors = [vector for vector in read(shared) if vector.index in indexes]
    frames = vectors[0].transport == FRAMES
    answered = run(held(plan, vectors, setups, frames=frames))
    assert len(answered) == len(indexes)
    for vector, said in answered:
        seen = (said.first, said.tag, said.opcode, said.eighth, said.code)
        captured = (
            0x01 if frames else 0x10,
            vector.tag,
            vector.response_opcode,
            vector.background << 7,
            vector.return_code,
        )
        assert seen == captured, vector.name
        assert len(said.payload) == len(vector.payload), vector.name
        values = without_values(vector, vector.payload)
        assert without_values(vector, said.payload) == values, vector.name


def test_most_of_what_is_captured_is_compared_whole(shared: Path) -> None:
    whole = [v for v in read(shared) if without_values(v, v.payload) == v.payload]
    assert len(whole) >= 95
