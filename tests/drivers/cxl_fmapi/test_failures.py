"""What a switch can do to its manager, case by case: nothing is lost, repeated or made up."""

import asyncio
import logging
import struct

import pytest

from redfish_fm.drivers.base import (
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
)
from redfish_fm.drivers.cxl_fmapi.attached import AttachedPolicy
from redfish_fm.drivers.cxl_fmapi.places import LinkKind
from redfish_fm.drivers.cxl_fmapi.watching import REST_S
from redfish_fm.fabric.model import Bind, BindTarget, Media, PortId, PortState, Unbind, VppbId
from tests.drivers.cxl_fmapi.peer import FRAMES, IDENTITY, Asked, Peer, Reply
from tests.drivers.cxl_fmapi.peer_switch import INTERNAL, UNSUPPORTED, SwitchState
from tests.drivers.cxl_fmapi.rigs import LATE_MAX_S, SHORT_IDENTITY, World, world
from tests.virtual_time import in_virtual_time

FREE, OTHER = VppbId("sw0", "0", 0), VppbId("sw0", "1", 1)
SLD = BindTarget("sw0", "3")
BIND = 0x5201
GET_EVENTS, SUBSCRIBE, NOTIFICATION = 0x0100, 0x0105, 0x0106
ABORT = 0x0005
LOGS = 5
RUNS, ENDED = b"\x65\x00\x01\x52" + bytes(4), b"\xc8\x00\x01\x52" + bytes(4)
"""What the Background Operation Status says of a bind."""


def ld(number: int) -> BindTarget:
    return BindTarget("sw0", "5", number)


async def bind(made: World, vppb: VppbId, target: BindTarget, left_s: float = 30.0) -> None:
    await made.driver.apply(Bind(vppb, target), made.clock.now_s() + left_s)


def sent(state: SwitchState, opcode: int) -> int:
    return state.commands.count(opcode)


@in_virtual_time
async def test_1_a_bind_whose_link_drops_is_looked_at_and_never_repeated() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        await made.clock.sleep(LATE_MAX_S)
        peer = made.peers["sw0"]

        def dies(asked: Asked) -> Reply | None:
            state.answer(asked)
            peer.hang_up()
            return None

        peer.answers[BIND] = dies
        handed_s = made.clock.now_s()
        with pytest.raises(DriverUnavailable) as told:
            await bind(made, FREE, SLD)
        assert not isinstance(told.value, DriverNotSent)
        await made.clock.sleep(0.2)
        seen = await made.observed()
        assert seen.barrier_s < handed_s
        await made.clock.sleep(LATE_MAX_S)
        await made.driver.observe()
        seen = await made.observed()
        assert seen.barrier_s > handed_s
        assert seen.bindings[FREE] == SLD
        assert sent(state, BIND) == 1


@in_virtual_time
async def test_2_a_connection_made_anew_is_surveyed_whole_before_anything_is_said() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        state.vppbs[0, 2] = (3, 5, 1)
        state.mlds[6] = 2
        made.peers["sw0"].hang_up()
        with pytest.raises(DriverUnavailable):
            await bind(made, FREE, SLD, left_s=0.01)
        await made.clock.sleep(0.3)
        seen = await made.observed()
        assert seen.bindings[VppbId("sw0", "0", 2)] == ld(1)
        found = {each.id.split("-")[1]: each for each in made.driver.inventory.devices}
        assert len(found["P6"].lds) == 2


@in_virtual_time
async def test_2_nothing_is_said_of_a_connection_whose_switch_was_not_surveyed() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        peer = made.peers["sw0"]
        peer.answers[0x5100] = lambda _: None
        peer.hang_up()
        await made.clock.sleep(0.3)
        assert made.driver.switches["sw0"].connected
        with pytest.raises(DriverUnavailable):
            await made.driver.observe()
        with pytest.raises(DriverUnavailable):
            await bind(made, FREE, SLD, left_s=1.0)
        assert sent(state, BIND) == 0
        peer.answers[0x5100] = state.answer
        await made.observed()


@in_virtual_time
async def test_3_a_switch_that_says_nothing_to_what_it_lacks_is_discovered_all_the_same() -> None:
    state = SwitchState(silent={0x0100, 0x5600, 0x5406})
    async with world(state) as made:
        seen = await made.observed()
        assert seen.complete
        connections = made.peers["sw0"].connections
        await made.clock.sleep(100)
        assert (await made.observed()).complete
        assert made.peers["sw0"].connections == connections == 1
        assert made.driver.switches["sw0"].probes.silent == ("Get Event Records (0100h)",)


@in_virtual_time
async def test_4_an_operation_that_fails_at_its_end_is_a_refusal_with_what_the_switch_said() -> (
    None
):
    state = SwitchState(end_code=INTERNAL)
    async with world(state) as made:
        await made.observed()
        with pytest.raises(DriverRejected, match=r"0004h \(INTERNAL_ERROR\)"):
            await bind(made, FREE, SLD)
        assert (await made.observed()).bindings[FREE] is None


@in_virtual_time
async def test_4_a_busy_switch_is_asked_again() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        state.busy = 3
        await bind(made, FREE, SLD)
        assert (await made.observed()).bindings[FREE] == SLD


@in_virtual_time
async def test_4_an_operation_that_never_ends_stays_open_and_is_not_called_failed() -> None:
    state = SwitchState(stuck=True, executes=False, operation_s=0.05)
    async with world(state) as made:
        await made.observed()
        await made.clock.sleep(LATE_MAX_S)
        handed_s = made.clock.now_s()
        with pytest.raises(DriverUnavailable):
            await bind(made, FREE, SLD, left_s=1.0)
        await made.clock.sleep(10 * LATE_MAX_S)
        assert (await made.observed()).barrier_s < handed_s
        state.status = bytes(8)
        assert (await made.observed()).barrier_s > handed_s


@in_virtual_time
async def test_4_an_operation_of_ours_that_never_ends_is_given_up_by_the_switch_in_the_end() -> (
    None
):
    state = SwitchState(operation_s=1e6)
    async with world(state, policy=AttachedPolicy(abort_s=20.0)) as made:
        await made.observed()
        aborted: list[Asked] = []

        def abort(asked: Asked) -> Reply:
            aborted.append(asked)
            for task in state.running:
                task.cancel()
            state.vppbs.pop((0, 0))
            state.status = struct.pack("<BxHHH", 50 << 1, BIND, 0x0012, 0)
            return Reply()

        made.peers["sw0"].answers[ABORT] = abort
        handed_s = made.clock.now_s()
        with pytest.raises(DriverUnavailable):
            await bind(made, FREE, SLD, 5.0)
        while made.clock.now_s() < handed_s + 19.0:
            assert (await made.driver.observe()).barrier_s < handed_s
            await made.clock.sleep(1)
        assert aborted == []
        await made.clock.sleep(1)
        await made.driver.observe()
        seen = await made.driver.observe()
        assert seen.barrier_s > handed_s
        assert seen.bindings[FREE] is None
        assert len(aborted) == 1


@pytest.mark.parametrize("reply", [None, Reply(UNSUPPORTED), Reply(0x0020)])
@in_virtual_time
async def test_4_a_switch_that_gives_nothing_up_is_looked_at_all_the_same(
    reply: Reply | None,
) -> None:
    state = SwitchState(operation_s=1e6)
    async with world(state, policy=AttachedPolicy(abort_s=20.0, look_s=5.0)) as made:
        await made.observed()
        made.peers["sw0"].answers[ABORT] = lambda _: reply
        handed_s = made.clock.now_s()
        with pytest.raises(DriverUnavailable):
            await bind(made, FREE, SLD, 5.0)
        for _ in range(50):
            assert (await made.driver.observe()).barrier_s < handed_s
            await made.clock.sleep(1)


@in_virtual_time
async def test_4_what_another_manager_never_ends_is_not_given_up_by_us() -> None:
    state = SwitchState(operation_s=1e6)
    async with world(state, policy=AttachedPolicy(abort_s=5.0)) as made:
        await made.observed()
        with pytest.raises(DriverUnavailable):
            await bind(made, FREE, SLD, 5.0)
        state.shown_opcode = 0x5202
        for _ in range(20):
            await made.driver.observe()
            await made.clock.sleep(1)
        assert ABORT not in {each.opcode for each in made.peers["sw0"].asked}


@in_virtual_time
async def test_4_an_operation_of_another_manager_is_not_taken_for_ours() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        state.shown_opcode = 0x5202
        with pytest.raises(DriverUnavailable, match="Unbind"):
            await bind(made, FREE, SLD)
        state.shown_opcode = None
        await made.clock.sleep(1)
        assert (await made.observed()).bindings[FREE] == SLD
        assert sent(state, BIND) == 1


@in_virtual_time
async def test_5_running_with_opcode_0_after_a_start_holds_nothing_up() -> None:
    state = SwitchState(status=b"\x01" + bytes(7))
    async with world(state) as made:
        await made.observed()
        await made.clock.sleep(LATE_MAX_S)
        assert (await made.observed()).barrier_s > 0
        await bind(made, FREE, SLD)


@pytest.mark.parametrize(
    ("vppb", "target"),
    [
        (VppbId("sw0", "0", 4), SLD),
        (VppbId("sw0", "9", 0), SLD),
        (FREE, BindTarget("sw0", "99")),
        (FREE, ld(4)),
        (FREE, ld(0xFFFF)),
        (FREE, BindTarget("sw0", "3", 0)),
        (FREE, BindTarget("sw0", "5")),
        (FREE, BindTarget("sw9", "3")),
    ],
)
@in_virtual_time
async def test_6_what_there_is_not_is_refused_and_never_sent(
    vppb: VppbId, target: BindTarget
) -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        with pytest.raises(DriverRejected):
            await bind(made, vppb, target)
        assert sent(state, BIND) == 0


@in_virtual_time
async def test_6_a_stale_unbind_changes_nothing() -> None:
    state = SwitchState(vppbs={(0, 0): (3, 5, 2)})
    async with world(state) as made:
        await made.observed()
        await made.driver.apply(Unbind(FREE, SLD), made.clock.now_s() + 30)
        assert (await made.observed()).bindings[FREE] == ld(2)
        assert sent(state, 0x5202) == 0


@pytest.mark.parametrize("where", [VppbId("sw0", "0", 1), OTHER])
@in_virtual_time
async def test_7_a_second_bind_of_the_same_ld_is_refused_though_the_switch_would_do_it(
    where: VppbId,
) -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        await bind(made, FREE, ld(2))
        with pytest.raises(DriverRejected, match="bound to vPPB 0 of VCS 0"):
            await bind(made, where, ld(2))
        assert sent(state, BIND) == 1


@in_virtual_time
async def test_7_a_double_binding_that_somebody_made_is_observed_twice() -> None:
    state = SwitchState(vppbs={(0, 0): (3, 5, 2), (1, 1): (3, 5, 2)})
    async with world(state) as made:
        seen = await made.observed()
        assert (seen.bindings[FREE], seen.bindings[OTHER]) == (ld(2), ld(2))


@in_virtual_time
async def test_8_a_device_that_is_pulled_stays_bound_and_can_be_unbound() -> None:
    state = SwitchState(vppbs={(0, 0): (2, 3, 0xFF)})
    async with world(state) as made:
        before = (await made.observed(), made.driver.inventory)
        pull(made.peers["sw0"], 3, ltssm=8)
        seen = await made.observed()
        assert seen.ports[PortId("sw0", "3")] == PortState(False, False)
        assert seen.bindings == before[0].bindings
        assert made.driver.inventory == before[1]
        await made.driver.apply(Unbind(FREE, SLD), made.clock.now_s() + 30)
        assert (await made.observed()).bindings[FREE] is None
        (last,) = [each.payload for each in made.peers["sw0"].asked if each.opcode == 0x5202]
        assert last[2] == 2


@in_virtual_time
async def test_8_another_device_in_the_same_place_is_another_one() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        before = {each.id for each in made.driver.inventory.devices}
        serial = IDENTITY[:8] + bytes(range(8)) + IDENTITY[16:]
        made.peers["sw0"].answers[0x5300] = tunnelled_identity(state, serial)
        made.driver.switches["sw0"].touch()
        await made.clock.sleep(0.1)
        seen = await made.observed()
        (new,) = {each.id for each in made.driver.inventory.devices} - before
        assert new == "sw0-P5-706050403020100"
        assert seen.ports[PortId("sw0", "5")].serial_number == "0706050403020100"


@in_virtual_time
async def test_9_a_bind_to_an_empty_port_shows_as_such() -> None:
    state = SwitchState()
    async with world(state) as made:
        pull(made.peers["sw0"], 3, ltssm=0)
        await made.observed()
        await bind(made, FREE, SLD)
        seen = await made.observed()
        assert seen.bindings[FREE] == SLD
        assert not seen.ports[PortId("sw0", "3")].device_present


@in_virtual_time
async def test_10_duplicate_answers_and_notices_between_them_are_not_taken_for_others() -> None:
    state = SwitchState(identity=SHORT_IDENTITY)
    async with world(state, speak=FRAMES) as made:
        await made.observed()
        peer = made.peers["sw0"]

        async def noisy(asked: Asked) -> Reply | None:
            assert peer.writer is not None
            peer.writer.write(peer.notice(0xC001, bytes((0, 0, 1))) * 2)
            reply = state.answer(asked)
            assert reply is not None
            reply.times = 2
            return reply

        peer.answers[0x5200] = peer.answers[BIND] = noisy
        await bind(made, FREE, SLD)
        assert (await made.observed()).bindings[FREE] == SLD


@in_virtual_time
async def test_11_answers_in_any_pieces_are_whole() -> None:
    state = SwitchState()
    async with world(state) as made:
        made.peers["sw0"].split = 7
        await made.observed()
        await bind(made, FREE, ld(3))
        assert (await made.observed()).bindings[FREE] == ld(3)


@in_virtual_time
async def test_12_an_answer_that_is_too_short_is_none_and_one_too_long_is_read() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        peer = made.peers["sw0"]
        peer.answers[0x5100] = longer(state, 20)
        peer.answers[0x5200] = longer(state, -1)
        with pytest.raises(DriverUnavailable, match="cut off"):
            await made.driver.observe()
        peer.answers[0x5200] = state.answer
        made.driver.switches["sw0"].touch()
        assert (await made.observed()).complete


@in_virtual_time
async def test_12_an_answer_damaged_to_unsupported_is_not_believed_of_a_bind() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        peer = made.peers["sw0"]

        def damaged(asked: Asked) -> Reply:
            state.answer(asked)
            peer.answers[BIND] = peer.answers[0x5202] = state.answer
            return Reply(UNSUPPORTED)

        # The first of all: it is looked at, and seen bound.
        peer.answers[BIND] = damaged
        await bind(made, FREE, SLD)
        assert (await made.observed()).bindings[FREE] == SLD
        for step in (Unbind(FREE, SLD), Bind(FREE, SLD), Unbind(FREE, SLD)):
            await made.driver.apply(step, made.clock.now_s() + 30)
        # One that was carried out before: whether it was this time, is not known.
        peer.answers[BIND] = damaged
        with pytest.raises(DriverUnavailable, match="says that there is none"):
            await bind(made, FREE, SLD)
        await made.clock.sleep(1)
        assert (await made.observed()).bindings[FREE] == SLD
        await made.driver.apply(Unbind(FREE, SLD), made.clock.now_s() + 30)
        assert (await made.observed()).bindings[FREE] is None


@in_virtual_time
async def test_a_switch_that_binds_nothing_is_told_so_and_asked_twice() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        asked: list[Asked] = []

        def refuse(each: Asked) -> Reply:
            asked.append(each)
            return Reply(UNSUPPORTED)

        made.peers["sw0"].answers[BIND] = refuse
        for _ in range(4):
            with pytest.raises(DriverUnsupported):
                await bind(made, FREE, SLD)
        assert len(asked) == 2


@in_virtual_time
async def test_13_notices_are_hints_only_and_a_lost_one_is_found_by_the_next_look() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        hints = made.driver.watch()
        waiting = asyncio.ensure_future(anext(hints))
        await made.clock.sleep(0.05)
        peer = made.peers["sw0"]
        assert peer.writer is not None
        peer.writer.write(peer.notice(0xC001, bytes((0, 0, 3))) * 2)
        assert (await waiting).switch == "sw0"
        assert (await made.observed()).bindings[FREE] is None
        state.vppbs[0, 0] = (3, 5, 1)
        assert (await made.observed()).bindings[FREE] == ld(1)


@in_virtual_time
async def test_13_a_switch_that_talks_without_end_is_heard_now_and_then() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        peer, reads = made.peers["sw0"], state.commands.count(GET_EVENTS)
        assert peer.writer is not None
        heard: list[str] = []

        async def listen() -> None:
            async for hint in made.driver.watch():
                heard.append(hint.switch)

        listening = asyncio.ensure_future(listen())
        began_s = made.clock.now_s()
        while made.clock.now_s() < began_s + 2:
            peer.writer.write(peer.notice(NOTIFICATION, bytes((0x1F, 0))))
            await made.clock.sleep(0.001)
        listening.cancel()
        assert 1 < len(heard) <= 2 / REST_S + 2
        assert 1 < state.commands.count(GET_EVENTS) - reads <= LOGS * (2 / REST_S + 2)


@in_virtual_time
async def test_a_switch_that_dials_in_anew_is_asked_to_tell_again() -> None:
    state = SwitchState()
    async with world(state, speak=FRAMES, link=LinkKind.FM_LISTEN) as made:
        await made.observed()
        await made.clock.sleep(1)
        asked, peer = state.commands.count(SUBSCRIBE), made.peers["sw0"]
        at = made.driver.connections.port_of("sw0")
        assert at is not None
        # The older connection is not closed first.
        await peer.dial(at)
        await made.clock.sleep(1)
        assert made.driver.switches["sw0"].channel.generation == 2
        assert state.commands.count(SUBSCRIBE) > asked > 0


@in_virtual_time
async def test_14_a_vppb_that_is_being_changed_after_a_start_is_busy_and_hides_nothing() -> None:
    state = SwitchState(vppbs={(0, 0): (1, 0, 0), (1, 1): (3, 5, 2)}, status=RUNS)
    async with world(state) as made:
        for _ in range(5):
            seen = await made.observed()
            assert (seen.busy, seen.bindings[OTHER]) == ({FREE}, ld(2))
            assert seen.barrier_s < 0
            await made.clock.sleep(0.2)
        with pytest.raises(DriverUnavailable):
            await bind(made, VppbId("sw0", "1", 2), SLD, left_s=5.0)
        assert sent(state, BIND) == 0
        state.vppbs[0, 0], state.status = (2, 3, 0xFF), ENDED
        seen = await made.observed()
        assert (seen.busy, seen.bindings[FREE]) == (frozenset(), SLD)


@in_virtual_time
async def test_14_what_a_vppb_was_before_it_is_changed_is_what_it_shows() -> None:
    state = SwitchState(vppbs={(0, 0): (2, 3, 0xFF)})
    async with world(state) as made:
        await made.observed()
        state.vppbs[0, 0], state.status = (1, 0, 0), RUNS
        seen = await made.observed()
        assert (seen.busy, seen.bindings[FREE]) == (frozenset(), SLD)


@in_virtual_time
async def test_14_nothing_counts_as_clean_while_nobody_knows_what_a_vppb_is_bound_to() -> None:
    state = SwitchState(vppbs={(0, 0): (1, 0, 0)}, status=RUNS)
    async with world(state) as made:
        await made.observed()
        contents = made.driver.switches["sw0"].contents
        contents.begun((5, 0))
        contents.ended((5, 0), clean=True)
        await made.observed()
        assert contents.media((5, 0)) is Media.DIRTY


@in_virtual_time
async def test_14_a_binding_of_somebody_else_is_observed_and_left_alone() -> None:
    state = SwitchState(vppbs={(1, 1): (3, 5, 0)})
    async with world(state) as made:
        assert (await made.observed()).bindings[OTHER] == ld(0)
        with pytest.raises(DriverRejected, match="is bound already"):
            await bind(made, OTHER, SLD)
        assert sent(state, 0x5202) == 0


@in_virtual_time
async def test_15_moves_in_two_virtual_switches_at_once_do_not_meet() -> None:
    state = SwitchState(vppbs={(0, 0): (3, 5, 0), (1, 1): (2, 3, 0xFF)})
    async with world(state) as made:
        await made.observed()
        until_s = made.clock.now_s() + 30
        await asyncio.gather(
            made.driver.apply(Unbind(FREE, ld(0)), until_s),
            made.driver.apply(Unbind(OTHER, SLD), until_s),
        )
        await asyncio.gather(bind(made, FREE, SLD), bind(made, OTHER, ld(0)))
        seen = await made.observed()
        assert (seen.bindings[FREE], seen.bindings[OTHER]) == (SLD, ld(0))


@in_virtual_time
async def test_16_a_switch_that_dies_of_type_8_and_of_set_ld_allocations_gets_neither() -> None:
    state = SwitchState(identity=SHORT_IDENTITY, allocations=[0, 4, 4, 4])
    async with world(state, speak=FRAMES) as made:
        await made.observed()
        (mld,) = [each for each in made.driver.inventory.devices if each.lds]
        assert mld.pool is None
        assert sent(state, 0x5402) == 0
    state = SwitchState(typed_tunnel=True)
    async with world(state, jrl=True) as made:
        await made.observed()
        await made.clock.sleep(60)
        await made.observed()
        assert {each.message_type for each in made.peers["sw0"].asked} == {7}


@in_virtual_time
async def test_a_switch_that_returns_as_another_one_has_other_devices(
    caplog: pytest.LogCaptureFixture,
) -> None:
    state = SwitchState(vppbs={(0, 0): (3, 5, 2)})
    async with world(state) as made:
        await made.observed()
        before = {each.id for each in made.driver.inventory.devices}
        state.identity = IDENTITY[:8] + bytes(range(8)) + IDENTITY[16:]
        state.vppbs.clear()
        made.peers["sw0"].hang_up()
        await made.clock.sleep(1)
        with caplog.at_level(logging.WARNING):
            seen = await made.observed()
        assert seen.bindings[FREE] is None
        after = {each.id for each in made.driver.inventory.devices}
        assert after
        assert not before & after


@in_virtual_time
async def test_the_only_switch_that_is_meant_is_not_another_one() -> None:
    async with world(SwitchState(), serial=5) as made:
        await made.clock.sleep(1)
        with pytest.raises(DriverUnavailable, match="another switch answers there"):
            await made.driver.observe()
        with pytest.raises(DriverUnavailable):
            await bind(made, FREE, SLD)


@in_virtual_time
async def test_a_silent_switch_is_told_apart_from_those_that_answer() -> None:
    quick = AttachedPolicy(look_s=0.5)
    async with world(SwitchState(), SwitchState(), policy=quick) as made:
        await made.observed()
        await made.peers["sw0"].close()
        seen = await made.driver.observe()
        assert seen.unreachable == {"sw0"}
        assert {vppb.switch for vppb in seen.bindings} == {"sw1"}
        assert {each.id for each in (await made.driver.discover()).switches} == {"sw0", "sw1"}
        await made.driver.apply(
            Bind(VppbId("sw1", "0", 0), BindTarget("sw1", "3")), made.clock.now_s() + 5
        )


def pull(peer: Peer, port: int, ltssm: int) -> None:
    """Take the device out of a port, as the switch shows that."""
    plain = peer.answers[0x5101]

    def without(asked: Asked) -> Reply | None:
        reply = plain(asked)
        assert isinstance(reply, Reply)
        blocks = bytearray(reply.payload)
        for at in range(4, len(blocks), 16):
            if blocks[at] == port:
                blocks[at + 4], blocks[at + 11] = 0, ltssm
        return Reply(payload=bytes(blocks))

    peer.answers[0x5101] = without


def longer(state: SwitchState, by: int) -> object:
    """Return an answer with so many bytes more, or less."""

    def changed(asked: Asked) -> Reply | None:
        reply = state.answer(asked)
        assert reply is not None
        payload = reply.payload
        return Reply(payload=payload + bytes(by) if by > 0 else payload[:by])

    return changed


def tunnelled_identity(state: SwitchState, identity: bytes) -> object:
    """Return an answer to 5300h that lets the devices say who they are."""

    def told(asked: Asked) -> Reply | None:
        mine, state.identity = state.identity, identity
        try:
            return state.answer(asked)
        finally:
            state.identity = mine

    return told
