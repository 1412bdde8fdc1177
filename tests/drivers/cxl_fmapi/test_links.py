"""Links over real loopback sockets, in virtual time."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from redfish_fm.drivers.base import DriverNotSent, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.command import FM_API
from redfish_fm.drivers.cxl_fmapi.identify import IDENTIFY
from redfish_fm.drivers.cxl_fmapi.links import DialLink, Link, LinkPolicy
from redfish_fm.drivers.cxl_fmapi.listener import Listener
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer, Order, Session
from redfish_fm.drivers.cxl_fmapi.wires import FrameWire, MctpWire, Wire
from tests.drivers.cxl_fmapi.peer import (
    FRAMES,
    IDENTITY,
    Asked,
    Peer,
    Reply,
    always,
    identified,
)
from tests.virtual_time import VirtualClock, in_virtual_time, settle

POLICY = LinkPolicy(silent_max=3, keep_alive_s=1e6)
ECHO = Order(0x5101, b"\x01\x07", 7)


@asynccontextmanager
async def dialled(
    peer: Peer, policy: LinkPolicy = POLICY, connect: bool = True
) -> AsyncIterator[DialLink]:
    """Run a peer and a link to it."""
    await peer.listen()
    wire = FrameWire if peer.speak == FRAMES else MctpWire
    rng = random.Random(1)  # noqa: S311 - spreads attempts
    link = DialLink("s1", (peer.host, peer.port), wire, VirtualClock(), rng, policy)
    running = asyncio.ensure_future(link.run())
    try:
        if connect:
            await link.wait_connected()
        yield link
    finally:
        running.cancel()
        await asyncio.wait([running])
        await peer.close()


def echo(asked: Asked) -> Reply:
    return Reply(payload=asked.payload)


@pytest.mark.parametrize("speak", ["packets", "frames"])
@pytest.mark.parametrize("split", [0, 1, 5])
@in_virtual_time
async def test_a_command_is_answered_however_the_answer_is_split(speak: str, split: int) -> None:
    peer = Peer(speak, split=split, answers={0x5101: echo})
    async with dialled(peer) as link:
        for length in (0, 2, 200):
            answer = await link.exchange(Order(0x5101, bytes(range(length)), 7, port=3))
            assert answer.payload == bytes(range(length))
        assert peer.asked[0].port == (3 if speak == FRAMES else 0)


@pytest.mark.parametrize(("speak", "whole"), [("packets", 68), ("frames", 216)])
@in_virtual_time
async def test_each_packet_and_each_frame_goes_in_one_write(speak: str, whole: int) -> None:
    written: list[int] = []
    async with dialled(Peer(speak, answers={0x5101: echo})) as link:
        assert link.session is not None
        transport = link.session.transport
        write = transport.write

        def note(data: bytes | bytearray | memoryview) -> None:
            written.append(len(data))
            write(data)

        transport.write = note  # type: ignore[method-assign]
        await link.exchange(Order(0x5101, bytes(200), 7))
    assert sum(written) >= 216 and set(written) == {whole}


@in_virtual_time
async def test_commands_go_one_at_a_time_in_the_order_asked() -> None:
    running = 0

    async def slow(asked: Asked) -> Reply:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.sleep(0.5)
        running -= 1
        return Reply(payload=asked.payload)

    peer = Peer(answers={0x5101: slow})
    async with dialled(peer) as link:
        asked = [Order(0x5101, bytes((n,)), 7) for n in range(5)]
        answers = await asyncio.gather(*(link.exchange(each) for each in asked))
    assert [each.payload for each in answers] == [bytes((n,)) for n in range(5)]
    assert len({each.tag for each in peer.asked}) == 5


@in_virtual_time
async def test_a_cancelled_command_leaves_the_link_as_it_was() -> None:
    async def slow(asked: Asked) -> Reply:
        await asyncio.sleep(1)
        return Reply(payload=asked.payload)

    async with dialled(Peer(answers={0x5101: slow, 0x5100: echo})) as link:
        doomed = asyncio.ensure_future(link.exchange(ECHO))
        await asyncio.sleep(0.5)
        doomed.cancel()
        await asyncio.wait([doomed])
        assert (await link.exchange(Order(0x5100, b"next", 7))).payload == b"next"
        assert link.session is not None
        assert link.session.dropped == {"late answer": 1}


@in_virtual_time
async def test_silence_ends_a_command_in_its_time_with_unknown_outcome() -> None:
    async with dialled(Peer()) as link:
        began_s = link.clock.now_s()
        with pytest.raises(NoAnswer, match=r"no answer to Bind vPPB \(5201h\) in 1.5 s"):
            await link.exchange(Order(0x5201, bytes(6), 7, timeout_s=1.5))
        assert link.clock.now_s() - began_s == pytest.approx(1.5)
        assert link.connected


@in_virtual_time
async def test_a_late_answer_is_not_taken_for_the_next_commands() -> None:
    async def late(asked: Asked) -> Reply:
        await asyncio.sleep(3)
        return Reply(payload=b"late")

    peer = Peer(answers={0x5101: late, 0x5100: always(payload=b"right")})
    async with dialled(peer) as link:
        with pytest.raises(NoAnswer):
            await link.exchange(ECHO)
        answer = await link.exchange(Order(0x5100, message_type=7))
        assert answer.payload == b"right"
        assert link.session is not None
        assert link.session.dropped == {"late answer": 1}


@in_virtual_time
async def test_a_tag_is_not_used_again_while_its_answer_may_come() -> None:
    peer = Peer(answers={0x5100: always()})
    async with dialled(peer, LinkPolicy(silent_max=9, keep_alive_s=1e6)) as link:
        with pytest.raises(NoAnswer):
            await link.exchange(ECHO)
        for _ in range(600):
            await link.exchange(Order(0x5100, message_type=7))
    lost = peer.asked[0].tag
    assert lost not in {each.tag for each in peer.asked[1:]}


@in_virtual_time
async def test_a_doubled_answer_is_dropped() -> None:
    peer = Peer(answers={0x5101: lambda asked: Reply(payload=asked.payload, times=2)})
    async with dialled(peer) as link:
        for number in range(4):
            answer = await link.exchange(Order(0x5101, bytes((number,)), 7))
            assert answer.payload == bytes((number,))
        await settle()
        assert link.session is not None
        assert link.session.dropped["late answer"] >= 3


@in_virtual_time
async def test_an_answer_to_another_command_is_dropped() -> None:
    peer = Peer(answers={0x5101: lambda asked: Reply(payload=b"wrong", opcode=0x5200)})
    async with dialled(peer) as link:
        with pytest.raises(NoAnswer):
            await link.exchange(ECHO)
        assert link.session is not None
        assert link.session.dropped == {"answer to another command": 1}


@in_virtual_time
async def test_an_answer_without_opcode_is_matched_by_its_tag() -> None:
    async with dialled(Peer(FRAMES, zero_opcode=True, answers={0x5101: echo})) as link:
        assert (await link.exchange(ECHO)).payload == ECHO.payload


@in_virtual_time
async def test_a_switch_that_answers_nothing_is_given_up_and_dialled_again() -> None:
    peer = Peer()
    async with dialled(peer) as link:
        for _ in range(3):
            with pytest.raises(NoAnswer):
                await link.exchange(ECHO)
        await settle()
        assert not link.connected
        with pytest.raises(DriverNotSent, match="no answer to 3 commands in a row"):
            await link.exchange(ECHO)
        await link.wait_connected()
        assert (link.generation, peer.connections) == (2, 2)


@in_virtual_time
async def test_silence_now_and_then_does_not_end_a_connection() -> None:
    async with dialled(Peer(answers={0x5100: echo})) as link:
        for _ in range(4):
            for _ in range(2):
                with pytest.raises(NoAnswer):
                    await link.exchange(ECHO)
            await link.exchange(Order(0x5100, message_type=7))
        assert link.generation == 1


@in_virtual_time
async def test_a_connection_cut_under_a_command_has_unknown_outcome() -> None:
    peer = Peer()

    def cut(_: Asked) -> None:
        peer.hang_up()

    peer.answers[0x5201] = cut
    async with dialled(peer) as link:
        with pytest.raises(DriverUnavailable) as caught:
            await link.exchange(Order(0x5201, bytes(6), 7))
        assert not isinstance(caught.value, DriverNotSent | NoAnswer)
        await asyncio.sleep(0.2)
        assert link.connected


@in_virtual_time
async def test_a_stream_out_of_step_is_cut_at_once() -> None:
    peer = Peer()

    async def nonsense(_: Asked) -> None:
        await peer.say(b"\x0f" * 68)

    peer.answers[0x5101] = nonsense
    async with dialled(peer) as link:
        with pytest.raises(DriverUnavailable, match="out of step: MCTP header version 15"):
            await link.exchange(ECHO)


@in_virtual_time
async def test_a_switch_that_reads_nothing_is_given_up_in_time() -> None:
    blocked = asyncio.Event()

    async def block(_: Asked) -> None:
        await blocked.wait()

    peer = Peer(answers={0x5101: block}, receive_bytes=4096)
    async with dialled(peer, LinkPolicy(silent_max=99, keep_alive_s=1e6)) as link:
        session = link.session
        assert session is not None
        ours = session.transport.get_extra_info("socket")
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        for _ in range(2):
            with pytest.raises(NoAnswer):
                await link.exchange(Order(0x5101, bytes(1 << 17), 7))
            if session.ended:
                break
        assert session.reason == "the switch reads nothing"
        blocked.set()


@in_virtual_time
async def test_nothing_is_sent_after_its_deadline() -> None:
    peer = Peer(answers={0x5101: echo})
    async with dialled(peer) as link:
        past = Order(0x5101, b"", 7, deadline_s=link.clock.now_s())
        with pytest.raises(DriverNotSent, match="deadline"):
            await link.exchange(past)
        assert peer.asked == []


@in_virtual_time
async def test_attempts_grow_further_apart_and_are_spread() -> None:
    policy = LinkPolicy(again_s_first=0.1, again_s_max=1.0)
    rng = random.Random(5)  # noqa: S311 - spreads attempts
    waits = [policy.again_s(failures, rng) for failures in (0, 1, 2, 3, 10, 5000) for _ in range(9)]
    longest = [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    for most_s, group in zip(longest, range(0, len(waits), 9), strict=True):
        some = waits[group : group + 9]
        assert all(most_s / 2 <= each <= most_s for each in some)
        assert len(set(some)) > 5


@pytest.mark.parametrize(("answers", "most"), [(False, 20), (True, 2000)])
@in_virtual_time
async def test_a_switch_that_answers_nothing_is_dialled_ever_more_rarely(
    answers: bool, most: int
) -> None:
    peer = Peer(answers={0x5101: echo} if answers else {})
    async with dialled(peer) as link:
        until_s = link.clock.now_s() + 60
        while link.clock.now_s() < until_s:
            await link.wait_connected()
            if answers:
                await link.exchange(ECHO)
            peer.hang_up()
            await asyncio.sleep(0.02)
        assert most / 10 < peer.connections < most


@in_virtual_time
async def test_a_switch_that_comes_up_late_is_found() -> None:
    silent, peer = Peer(), Peer(answers={0x5101: echo})
    port = await silent.listen()
    await silent.close()
    rng = random.Random(2)  # noqa: S311 - spreads attempts
    link = DialLink("s1", ("127.0.0.1", port), MctpWire, VirtualClock(), rng, POLICY)
    running = asyncio.ensure_future(link.run())
    await asyncio.sleep(30)
    assert not link.connected and "no connection" in link.reason
    await peer.listen(port)
    await asyncio.wait_for(link.wait_connected(), POLICY.again_s_max + 1)
    assert (await link.exchange(ECHO)).payload == ECHO.payload
    running.cancel()
    await asyncio.wait([running])
    await peer.close()


@in_virtual_time
async def test_a_quiet_link_is_asked_and_a_dead_one_found() -> None:
    policy = LinkPolicy(silent_max=3, keep_alive_s=10.0)
    peer = identified(Peer())
    async with dialled(peer, policy) as link:
        await asyncio.sleep(35)
        assert [each.opcode for each in peer.asked] == [1, 1, 1]
        assert {each.message_type for each in peer.asked} == {7}
        del peer.answers[0x0001]
        await asyncio.sleep(20)
        assert link.generation > 1


@in_virtual_time
async def test_notices_reach_who_waits_and_the_oldest_give_way() -> None:
    peer = Peer(answers={0x5101: echo})
    async with dialled(peer, LinkPolicy(notices_max=4, keep_alive_s=1e6)) as link:
        waiting = asyncio.ensure_future(link.notices())
        await settle()
        await peer.say(peer.notice(0xC001, bytes((0, 1, 3))))
        async with asyncio.timeout(1):
            (first,) = await waiting
        assert (first.message.opcode, first.message.payload) == (0xC001, bytes((0, 1, 3)))
        for number in range(10):
            await peer.say(peer.notice(0xC001, bytes((0, number, 0))))
        await link.exchange(ECHO)
        assert [each.message.payload[1] for each in await link.notices()] == [6, 7, 8, 9]


@in_virtual_time
async def test_a_notice_between_command_and_answer_is_no_answer() -> None:
    peer = Peer(answers={})

    async def chatty(asked: Asked) -> Reply:
        await peer.say(peer.notice(0xC000, b"\x01\x00"))
        return Reply(payload=asked.payload)

    peer.answers[0x5101] = chatty
    async with dialled(peer) as link:
        assert (await link.exchange(ECHO)).payload == ECHO.payload
        assert len(await link.notices()) == 1


@in_virtual_time
async def test_who_waits_for_notices_learns_of_the_end() -> None:
    peer = Peer()
    async with dialled(peer) as link:
        waiting = asyncio.ensure_future(link.notices())
        await settle()
        peer.hang_up()
        async with asyncio.timeout(1):
            assert await waiting == []


# Switches that dial in


def listener_of_one(wire: Callable[[], Wire], link: Link) -> Listener:
    """Return a listener whose every caller that answers Identify is the same switch."""

    async def recognise(session: Session) -> str:
        await session.exchange(Order(IDENTIFY.opcode, message_type=FM_API))
        return link.name

    return Listener(("127.0.0.1", 0), wire, {link.name: link}, recognise)


@asynccontextmanager
async def listening(listener: Listener, *peers: Peer) -> AsyncIterator[None]:
    await listener.start()
    try:
        yield
    finally:
        await listener.close()
        for peer in peers:
            await peer.close()


@in_virtual_time
async def test_a_switch_that_dials_in_is_used() -> None:
    link, peer = (
        Link("s1", VirtualClock(), POLICY),
        identified(Peer(FRAMES, answers={0x5101: echo})),
    )
    listener = listener_of_one(FrameWire, link)
    async with listening(listener, peer):
        with pytest.raises(DriverNotSent, match="never connected"):
            await link.exchange(ECHO)
        await peer.dial(listener.port)
        await link.wait_connected()
        assert (await link.exchange(ECHO)).payload == ECHO.payload


@in_virtual_time
async def test_several_switches_dial_in_and_are_told_apart() -> None:
    links = {name: Link(name, VirtualClock(), POLICY) for name in ("a", "b")}

    async def by_vendor(session: Session) -> str | None:
        answer = await session.exchange(Order(0x0001))
        return {1: "a", 2: "b"}.get(answer.payload[0])

    listener = Listener(("127.0.0.1", 0), FrameWire, links, by_vendor)
    peers = [
        Peer(FRAMES, answers={0x0001: always(payload=bytes((n,)) + IDENTITY[1:]), 0x5101: echo})
        for n in (2, 1, 3)
    ]
    async with listening(listener, *peers):
        for peer in peers:
            await peer.dial(listener.port)
        for name, peer in (("a", peers[1]), ("b", peers[0])):
            await links[name].wait_connected()
            await links[name].exchange(ECHO)
            assert [each.opcode for each in peer.asked] == [0x0001, 0x5101]
        await settle()
        assert not peers[2].tasks


@in_virtual_time
async def test_a_switch_that_dials_anew_replaces_its_connection() -> None:
    link = Link("s1", VirtualClock(), POLICY)
    old, new = (identified(Peer(FRAMES, answers={0x5101: echo})) for _ in range(2))
    listener = listener_of_one(FrameWire, link)
    async with listening(listener, old, new):
        await old.dial(listener.port)
        await link.wait_connected()
        await new.dial(listener.port)
        await asyncio.sleep(1)
        assert link.generation == 2
        await link.exchange(ECHO)
        assert not old.tasks and [each.opcode for each in new.asked] == [0x0001, 0x5101]


@in_virtual_time
async def test_a_caller_that_does_not_answer_never_becomes_the_switch() -> None:
    link, mute = Link("s1", VirtualClock(), POLICY), Peer(FRAMES)
    good = identified(Peer(FRAMES, answers={0x5101: echo}))
    listener = listener_of_one(FrameWire, link)
    async with listening(listener, mute, good):
        await good.dial(listener.port)
        await link.wait_connected()
        await mute.dial(listener.port)
        await asyncio.sleep(10)
        assert link.generation == 1 and not mute.tasks
        assert (await link.exchange(ECHO)).payload == ECHO.payload


@in_virtual_time
async def test_notices_before_a_switch_is_known_are_not_lost() -> None:
    link, peer = Link("s1", VirtualClock(), POLICY), Peer(FRAMES)

    async def chatty(_: Asked) -> Reply:
        await peer.say(peer.notice(0xC001, bytes(3)))
        return Reply(payload=IDENTITY)

    peer.answers[0x0001] = chatty
    listener = listener_of_one(FrameWire, link)
    async with listening(listener, peer):
        await peer.dial(listener.port)
        await link.wait_connected()
        # Within the first second: later a keep-alive would make the switch talk again.
        async with asyncio.timeout(1):
            assert [each.message.opcode for each in await link.notices()] == [0xC001]


@in_virtual_time
async def test_connections_too_many_are_closed() -> None:
    link = Link("s1", VirtualClock(), POLICY)
    listener = listener_of_one(FrameWire, link)
    listener.connections_max = 1
    first, second = identified(Peer(FRAMES)), identified(Peer(FRAMES))
    async with listening(listener, first, second):
        await first.dial(listener.port)
        await link.wait_connected()
        await second.dial(listener.port)
        await settle(30)
        assert not second.tasks and second.asked == []
