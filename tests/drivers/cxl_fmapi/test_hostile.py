"""Hostile frames over real sockets: links stay up or come back, and hold little."""

import asyncio
import random

import pytest

from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.links import LinkPolicy
from redfish_fm.drivers.cxl_fmapi.session import Order
from tests.drivers.cxl_fmapi.peer import FRAMES, PACKETS, Asked, Peer, Reply
from tests.drivers.cxl_fmapi.test_links import dialled
from tests.virtual_time import run

HELD_BYTES_MAX = 9 << 20
"""Eight messages of the largest size that have no end yet, and what is in the socket."""

FRAMES_A_CHUNK = 100


def hostile(rng: random.Random, peer: Peer) -> bytes:
    """Return one frame or message that is nearly right, or a good one that nobody asked for."""
    opcode = rng.choice((0, 0x0001, 0x5101, 0x5201, 0xC001, rng.randrange(1 << 16)))
    reply = Reply(rng.choice((0, 1, 2, 6)), rng.randbytes(rng.choice((0, 3, 51, 52, 116, 300))))
    message = peer.message(rng.choice((0, 1, 1)), rng.randrange(256), opcode, reply)
    data = bytearray(peer.framed(message, rng.choice((7, 8, 0, 0x70)), rng.randrange(8)))
    # Mostly within a message, so that the stream goes on; rarely in what keeps it in step.
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(data))
        if at % 68 not in (0, 1) or rng.random() < 0.01:
            data[at] = rng.randrange(256)
    if rng.random() < 0.001:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


async def bombard(speak: str, seed: int, count: int) -> tuple[int, int]:
    """Send hostile frames around every answer; return how many commands went well, and badly."""
    rng = random.Random(seed)  # noqa: S311 - repeats, and guards nothing
    peer = Peer(speak)

    async def answer(asked: Asked) -> Reply:
        await peer.say(b"".join(hostile(rng, peer) for _ in range(FRAMES_A_CHUNK)))
        return Reply(payload=asked.payload)

    peer.answers[0x5100] = answer
    good = bad = 0
    policy = LinkPolicy(keep_alive_s=1e6, silent_max=2, notices_max=50)
    async with dialled(peer, policy) as link:
        for number in range(count // FRAMES_A_CHUNK):
            await link.wait_connected()
            payload = number.to_bytes(4, "little")
            try:
                await link.exchange(Order(0x5100, payload, 7))
                good += 1
            except DriverUnavailable:
                bad += 1
                await asyncio.sleep(0)
            if link.session is not None:
                assert link.session.held_bytes <= HELD_BYTES_MAX
        peer.answers[0x5100] = lambda asked: Reply(payload=asked.payload)
        # What was cut off may leave the stream out of step: the link has to find its way back.
        for _ in range(10):
            await link.wait_connected()
            try:
                assert (await link.exchange(Order(0x5100, b"sane", 7))).payload == b"sane"
                return good, bad
            except DriverUnavailable:
                await asyncio.sleep(20)
    raise AssertionError("the link never came back")


@pytest.mark.parametrize("speak", [PACKETS, FRAMES])
def test_hostile_frames_over_a_link_are_survived(speak: str, seed_base: int) -> None:
    good, bad = run(bombard(speak, seed_base, 10_000))
    assert good > 0 and good + bad == 100


@pytest.mark.soak
@pytest.mark.parametrize("speak", [PACKETS, FRAMES])
def test_a_million_hostile_frames_over_a_link_are_survived(speak: str, seed_base: int) -> None:
    good, bad = run(bombard(speak, seed_base, 1_000_000))
    assert good > 0 and good + bad == 10_000
