"""The client of one switch, against the independent peer over loopback sockets, in virtual time."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from redfish_fm.drivers.base import (
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
)
from redfish_fm.drivers.cxl_fmapi.caller import REMEMBERED_S, CallPolicy
from redfish_fm.drivers.cxl_fmapi.client import SwitchClient
from redfish_fm.drivers.cxl_fmapi.command import NOTHING
from redfish_fm.drivers.cxl_fmapi.dcd_commands import AddCapacity
from redfish_fm.drivers.cxl_fmapi.events import MLD_PORT
from redfish_fm.drivers.cxl_fmapi.generic_commands import GET_LOGS
from redfish_fm.drivers.cxl_fmapi.links import LinkPolicy
from redfish_fm.drivers.cxl_fmapi.mld_commands import LdAllocation
from redfish_fm.drivers.cxl_fmapi.numbers import (
    AddPolicy,
    BindingStatus,
    EventLog,
    PortOperation,
    ReturnCode,
    Transfer,
    UnbindOption,
)
from redfish_fm.drivers.cxl_fmapi.refusals import BadAnswer, Refused, SwitchBusy
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer
from redfish_fm.drivers.cxl_fmapi.switch_commands import CONFIGURE_PORT, PortConfiguration
from tests.drivers.cxl_fmapi.peer import FRAMES, IDENTITY, PACKETS, Asked, Peer, Reply, always
from tests.drivers.cxl_fmapi.peer_switch import (
    BUSY,
    INVALID,
    OK,
    UNSUPPORTED,
    SwitchState,
    peer_of,
)
from tests.drivers.cxl_fmapi.test_links import dialled
from tests.virtual_time import in_virtual_time

SHORT_IDENTITY = struct.pack("<4H4xBB", 0x1DC5, 0xF000, 0, 0, 10, 0)[:14]
POLICY = LinkPolicy(keep_alive_s=1e6)
READING = PortConfiguration(3, 0, 0, 0xF, Transfer.READ, 0)
PATIENT = CallPolicy(wait_s_first=5, wait_s_max=5)


@asynccontextmanager
async def client_of(
    state: SwitchState, speak: str = PACKETS, jrl: bool = False
) -> AsyncIterator[tuple[SwitchClient, Peer]]:
    peer = peer_of(state, speak, jrl)
    async with dialled(peer, POLICY) as link:
        yield SwitchClient(link, link.clock), peer
    for task in list(state.running):
        task.cancel()


def short_identity() -> SwitchState:
    return SwitchState(identity=SHORT_IDENTITY)


# Who it is


@in_virtual_time
async def test_a_switch_is_identified_on_type_7_first() -> None:
    async with client_of(SwitchState()) as (client, peer):
        identity = await client.identify()
        assert (identity.vendor_id, identity.serial) == (0x1AED, 0x1122334455667788)
        assert [each.message_type for each in peer.asked] == [7]
        assert client.caller.profile.name == "standard"


@in_virtual_time
async def test_a_switch_that_is_silent_on_type_7_is_asked_on_type_8() -> None:
    def strict(asked: Asked) -> Reply | None:
        fm_api = asked.opcode >> 8 >= 0x51
        return state.answer(asked) if asked.message_type == (7 if fm_api else 8) else None

    state = SwitchState()
    async with client_of(state) as (client, peer):
        for opcode in list(peer.answers):
            peer.answers[opcode] = strict
        await client.switch()
        await client.background.status()
        types = [(each.opcode, each.message_type) for each in peer.asked]
        assert types == [(1, 7), (1, 8), (0x5100, 7), (2, 8)]
        assert client.caller.link.keep_alive_type == 8


@pytest.mark.parametrize(
    ("state", "speak", "jrl", "profile"),
    [
        (SwitchState(), PACKETS, False, "standard"),
        (SwitchState(), PACKETS, True, "jrl"),
        (SwitchState(identity=SHORT_IDENTITY), FRAMES, False, "short-identity"),
    ],
)
@in_virtual_time
async def test_the_profile_follows_from_what_is_seen(
    state: SwitchState, speak: str, jrl: bool, profile: str
) -> None:
    async with client_of(state, speak, jrl) as (client, _):
        await client.identify()
        assert client.caller.profile.name == profile


@pytest.mark.parametrize("code", [None, INVALID])
@in_virtual_time
async def test_a_switch_that_does_not_say_who_it_is_gets_no_command(code: int | None) -> None:
    state = SwitchState()
    async with client_of(state) as (client, peer):
        peer.answers[0x0001] = lambda _: None if code is None else Reply(code)
        with pytest.raises(DriverNotSent, match=r"Bind vPPB \(5201h\) was not sent"):
            await client.bind(0, 1, 3, None)
        assert state.commands == []


@in_virtual_time
async def test_another_switch_at_the_same_link_is_noticed() -> None:
    state = SwitchState()
    async with client_of(state) as (client, peer):
        for _ in range(2):
            with pytest.raises(DriverUnsupported):
                await client.subscribe([EventLog.FATAL])
        assert client.caller.lacks(0x0105)
        for changed in (False, True):
            if changed:
                state.identity = state.identity[:8] + bytes(8) + state.identity[16:]
            peer.hang_up()
            await asyncio.sleep(1)
            await client.identify()
            assert client.caller.changes == changed
            assert client.caller.lacks(0x0105) is not changed


# Looking


@in_virtual_time
async def test_all_ports_are_one_command() -> None:
    state = SwitchState()
    async with client_of(state) as (client, _):
        switch = await client.switch()
        ports = await client.physical_ports(sorted(switch.active_ports))
        assert sorted(ports) == list(range(8)) and ports[5].ld_count == 4
        vcss = await client.virtual_switches(switch.active_vcss, switch.vppb_count)
        assert [len(vcss[vcs].vppbs) for vcs in (0, 1)] == [4, 4]
        assert state.commands == [0x0001, 0x5100, 0x5101, 0x5200]


@pytest.mark.parametrize("strict", [False, True])
@in_virtual_time
async def test_ports_that_there_are_not_are_left_out(strict: bool) -> None:
    async with client_of(SwitchState(strict_ports=strict)) as (client, _):
        assert sorted(await client.physical_ports([3, 200, 6])) == [3, 6]


@in_virtual_time
async def test_a_switch_that_needs_all_ports_is_asked_for_all() -> None:
    async with client_of(short_identity(), FRAMES) as (client, peer):
        assert list(await client.physical_ports([4])) == [4]
        assert peer.asked[-1].payload == bytes((5, 0, 1, 2, 3, 4))


@pytest.mark.parametrize(
    ("identity", "most"), [(IDENTITY[:16] + b"\x0a\0", 62), (IDENTITY, 200), (SHORT_IDENTITY, 200)]
)
@in_virtual_time
async def test_many_ports_are_asked_for_in_pieces_that_fit(identity: bytes, most: int) -> None:
    async with client_of(SwitchState(ports=200, identity=identity), FRAMES) as (client, peer):
        assert len(await client.physical_ports(range(200))) == 200
        counts = [each.payload[0] for each in peer.asked if each.opcode == 0x5101]
        assert (sum(counts), max(counts)) == (200, most)


@in_virtual_time
async def test_many_virtual_switches_are_asked_for_in_pieces() -> None:
    async with client_of(SwitchState(vcss=16)) as (client, peer):
        assert len(await client.virtual_switches(range(16), 64)) == 16
        assert [each.payload[2] for each in peer.asked if each.opcode == 0x5200] == [7, 7, 2]
        assert len(await client.virtual_switches(range(4), 4000)) == 4
        assert [each.payload[2] for each in peer.asked[-4:]] == [1, 1, 1, 1]


@in_virtual_time
async def test_a_virtual_switch_that_there_is_not_is_left_out() -> None:
    async with client_of(SwitchState()) as (client, _):
        assert await client.virtual_switches([9]) == {}
        assert list(await client.virtual_switches([0, 9, 1])) == [0, 1]
        with pytest.raises(DriverRejected, match="no vPPB 0 in VCS 9"):
            await client.vppb(9, 0)


@in_virtual_time
async def test_answers_that_can_not_be_read_are_no_facts() -> None:
    async with client_of(SwitchState()) as (client, peer):
        peer.answers[0x5101] = always(payload=bytes((9, 0, 0, 0)) + bytes(40))
        with pytest.raises(BadAnswer, match="9 items need"):
            await client.physical_ports([0])
        peer.answers[0x5200] = always(payload=b"")
        with pytest.raises(BadAnswer):
            await client.virtual_switches([0])


@in_virtual_time
async def test_ports_that_nobody_asked_for_are_ignored() -> None:
    state = SwitchState()
    async with client_of(state) as (client, peer):
        peer.answers[0x5101] = lambda asked: state.do_5101(
            Asked(0x5101, bytes((3, 1, 2, 3)), asked.tag, 7, 0)
        )
        assert list(await client.physical_ports([2])) == [2]


@in_virtual_time
async def test_ports_and_virtual_switches_that_say_they_are_none_are_left_out() -> None:
    async with client_of(SwitchState()) as (client, peer):
        peer.answers[0x5101] = always(payload=bytes((1, 0, 0, 0, 2, 0x0F)) + bytes(14))
        assert await client.physical_ports([2]) == {}
        vcss = bytes((2, 0, 0, 0)) + bytes((1, 0xFF, 0, 0)) + bytes((3, 1, 0, 0))
        peer.answers[0x5200] = always(payload=vcss)
        assert await client.virtual_switches([1]) == {}


# Binding


@pytest.mark.parametrize("operation_s", [0, 0.1, 3.0])
@in_virtual_time
async def test_a_port_is_bound_and_unbound(operation_s: float) -> None:
    state = SwitchState(operation_s=operation_s)
    async with client_of(state) as (client, _):
        seen = await client.bind(1, 2, 3, None)
        assert (seen.status, seen.port_id) == (BindingStatus.BOUND_PHYSICAL_PORT, 3)
        assert state.vppbs == {(1, 2): (2, 3, 0xFF)}
        assert (await client.unbind(1, 2)).status is BindingStatus.UNBOUND
        assert state.vppbs == {}


@in_virtual_time
async def test_an_ld_is_bound() -> None:
    state = SwitchState()
    async with client_of(state) as (client, _):
        seen = await client.bind(0, 1, 5, 3)
        assert (seen.status, seen.port_id, seen.ld_id) == (BindingStatus.BOUND_LD, 5, 3)


@pytest.mark.parametrize(
    ("speak", "identity", "ld"), [(PACKETS, None, 0xFFFF), (FRAMES, SHORT_IDENTITY, 0)]
)
@in_virtual_time
async def test_a_port_without_lds_is_bound_as_the_switch_wants_it(
    speak: str, identity: bytes | None, ld: int
) -> None:
    state = SwitchState()
    state.identity = identity or state.identity
    async with client_of(state, speak) as (client, peer):
        await client.bind(0, 1, 3, None)
        (bind,) = (each for each in peer.asked if each.opcode == 0x5201)
        assert bind.payload == struct.pack("<BBBBH", 0, 1, 3, 0, ld)


@in_virtual_time
async def test_the_option_of_an_unbind_is_sent() -> None:
    async with client_of(SwitchState()) as (client, peer):
        await client.unbind(0, 1, UnbindOption.SURPRISE_HOT_REMOVE)
        (unbind,) = (each for each in peer.asked if each.opcode == 0x5202)
        assert unbind.payload == bytes((0, 1, 2))


@pytest.mark.parametrize("operation_s", [0, 0.1])
@in_virtual_time
async def test_a_refusal_now_or_later_has_its_code(operation_s: float) -> None:
    state = SwitchState(operation_s=operation_s, end_code=INVALID)
    async with client_of(state) as (client, _):
        with pytest.raises(Refused, match=r"Bind vPPB \(5201h\) was answered with 0002h") as caught:
            await client.bind(0, 1, 3, None)
        assert caught.value.code == ReturnCode.INVALID_INPUT
        assert state.vppbs == {}
        assert 2 not in state.commands or operation_s


@in_virtual_time
async def test_what_is_bound_already_is_no_failure() -> None:
    state = SwitchState(vppbs={(0, 1): (2, 3, 0xFF)}, operation_s=0, end_code=INVALID)
    async with client_of(state) as (client, _):
        assert (await client.bind(0, 1, 3, None)).port_id == 3


@in_virtual_time
async def test_a_yes_that_is_not_seen_is_no_success() -> None:
    state = SwitchState(executes=False)
    async with client_of(state) as (client, _):
        with pytest.raises(DriverUnavailable, match="says yes to a bind of vPPB 1"):
            await client.bind(0, 1, 3, None)
    state = SwitchState(executes=False, vppbs={(0, 1): (2, 3, 0xFF)})
    async with client_of(state) as (client, _):
        with pytest.raises(DriverUnavailable, match="says yes to an unbind"):
            await client.unbind(0, 1)


@in_virtual_time
async def test_another_ld_than_asked_is_no_success() -> None:
    state = SwitchState(executes=False, vppbs={(0, 1): (3, 5, 2)})
    async with client_of(state) as (client, _):
        with pytest.raises(DriverUnavailable):
            await client.bind(0, 1, 5, 3)


@in_virtual_time
async def test_operations_of_one_switch_follow_each_other() -> None:
    state = SwitchState(operation_s=1.0)
    async with client_of(state) as (client, _):
        await asyncio.gather(*(client.bind(0, vppb, 1 + vppb, None) for vppb in range(4)))
        assert len(state.vppbs) == 4
        starts = [each for each in state.commands if each == 0x5201]
        assert len(starts) == 4, "none was refused as busy"


@in_virtual_time
async def test_an_operation_that_never_ends_is_left_at_its_deadline() -> None:
    state = SwitchState(stuck=True)
    async with client_of(state) as (client, _):
        began_s = client.caller.clock.now_s()
        with pytest.raises(DriverUnavailable, match="not done with Bind vPPB"):
            await client.bind(0, 1, 3, None, began_s + 5)
        assert client.caller.clock.now_s() - began_s == pytest.approx(5, abs=0.6)
        assert state.commands.count(2) < 30


@in_virtual_time
async def test_who_waits_for_the_turn_too_long_has_sent_nothing() -> None:
    state = SwitchState(operation_s=10)
    async with client_of(state) as (client, _):
        first = asyncio.ensure_future(client.bind(0, 1, 3, None))
        await asyncio.sleep(1)
        with pytest.raises(DriverNotSent, match="waited for its turn"):
            await client.bind(0, 2, 4, None, client.caller.clock.now_s() + 2)
        await first
        assert list(state.vppbs) == [(0, 1)]


@in_virtual_time
async def test_the_operation_of_another_manager_is_not_taken_for_ours() -> None:
    state = SwitchState(shown_opcode=0x5202)
    async with client_of(state) as (client, _):
        with pytest.raises(DriverUnavailable, match="tells of Unbind vPPB"):
            await client.bind(0, 1, 3, None)


@in_virtual_time
async def test_an_operation_that_the_switch_forgot_has_unknown_outcome() -> None:
    state = SwitchState(shown_opcode=0, stuck=True)
    async with client_of(state) as (client, _):
        with pytest.raises(DriverUnavailable, match="knows nothing of Bind vPPB"):
            await client.bind(0, 1, 3, None)


@in_virtual_time
async def test_a_fresh_switch_that_says_it_runs_nothing_is_idle() -> None:
    state = SwitchState(status=bytes((1, 0, 0, 0, 0, 0, 0, 0)))
    async with client_of(state) as (client, _):
        assert (await client.background.status()).running
        await client.bind(0, 1, 3, None)


@in_virtual_time
async def test_a_vppb_that_is_in_progress_is_waited_for() -> None:
    state = SwitchState(vppbs={(0, 1): (1, 0, 0)}, operation_s=0, executes=False)
    async with client_of(state) as (client, _):

        async def end() -> None:
            await asyncio.sleep(3)
            state.vppbs[0, 1] = (2, 3, 0xFF)

        ending = asyncio.ensure_future(end())
        assert (await client.bind(0, 1, 3, None)).port_id == 3
        await ending
        state.vppbs[0, 1] = (1, 0, 0)
        with pytest.raises(DriverUnavailable, match="still being bound"):
            await client.bind(0, 1, 3, None, client.caller.clock.now_s() + 2)


@in_virtual_time
async def test_a_switch_lost_under_a_bind_is_not_asked_twice() -> None:
    state = SwitchState()
    async with client_of(state) as (client, peer):
        await client.identify()

        def cut(asked: Asked) -> None:
            state.answer(asked)
            peer.hang_up()

        peer.answers[0x5201] = cut
        with pytest.raises(DriverUnavailable) as caught:
            await client.bind(0, 1, 3, None)
        assert not isinstance(caught.value, DriverNotSent)
        await asyncio.sleep(1)
        assert state.commands.count(0x5201) == 1
        assert (await client.vppb(0, 1)).port_id == 3


@pytest.mark.parametrize("when", [0x0002, 0x5200])
@in_virtual_time
async def test_a_switch_lost_after_a_bind_leaves_its_outcome_unknown(when: int) -> None:
    state = SwitchState(operation_s=0.5)
    async with client_of(state) as (client, peer):
        await client.identify()

        def cut(_: Asked) -> None:
            if peer.server is not None:
                peer.server.close()
            peer.hang_up()

        peer.answers[when] = cut
        for _ in range(2):
            with pytest.raises(DriverUnavailable) as caught:
                await client.bind(0, 1, 3, None)
            assert isinstance(caught.value, DriverNotSent) is (state.commands.count(0x5201) == 0)
            state.commands.clear()


OTHER_IDENTITY = IDENTITY[:8] + bytes(8) + IDENTITY[16:]


@pytest.mark.parametrize("when", [0x5201, 0x0002, 0x5200])
@pytest.mark.parametrize("unbind", [False, True])
@in_virtual_time
async def test_another_switch_under_a_command_is_not_taken_for_the_first(
    when: int, unbind: bool
) -> None:
    when = 0x5202 if unbind and when == 0x5201 else when
    bound = {(0, 1): (2, 3, 0xFF)}
    state = SwitchState(operation_s=0.5, vppbs=dict(bound) if unbind else {})
    async with client_of(state) as (client, peer):
        await client.identify()

        def replaced(asked: Asked) -> Reply | None:
            peer.answers[when] = state.answer
            state.identity = OTHER_IDENTITY
            reply = Reply(BUSY) if asked.opcode in (0x5201, 0x5202) else None
            # Busy is answered; then, or at once, the connection ends.
            asyncio.get_running_loop().call_later(0.01 if reply else 0, peer.hang_up)
            state.vppbs = {} if unbind else dict(bound)
            return reply

        peer.answers[when] = replaced
        with pytest.raises(DriverUnavailable) as first:
            await (client.unbind(0, 1) if unbind else client.bind(0, 1, 3, None))
        sent = state.commands.count(0x5202 if unbind else 0x5201)
        assert sent == (0 if when in (0x5201, 0x5202) else 1)
        assert isinstance(first.value, DriverNotSent) is (sent == 0)


@in_virtual_time
async def test_a_link_lost_between_two_looks_leaves_the_outcome_unknown() -> None:
    state = SwitchState(operation_s=10)
    async with client_of(state) as (client, peer):
        binding = asyncio.ensure_future(client.bind(0, 1, 3, None))
        await asyncio.sleep(3)
        assert peer.server is not None
        peer.server.close()
        peer.hang_up()
        with pytest.raises(DriverUnavailable, match="the end of Bind vPPB") as caught:
            await binding
        assert not isinstance(caught.value, DriverNotSent)


@in_virtual_time
async def test_a_link_lost_before_the_last_look_leaves_the_outcome_unknown() -> None:
    state = SwitchState(operation_s=0, executes=False, vppbs={(0, 1): (1, 0, 0)})
    async with client_of(state) as (client, peer):
        patient = SwitchClient(client.caller.link, client.caller.clock, PATIENT)
        binding = asyncio.ensure_future(patient.bind(0, 1, 3, None))
        await asyncio.sleep(1)
        assert state.commands[-1] == 0x5200 and peer.server is not None
        peer.server.close()
        peer.hang_up()
        with pytest.raises(DriverUnavailable, match="the outcome was not seen") as caught:
            await binding
        assert not isinstance(caught.value, DriverNotSent)


@pytest.mark.parametrize("unbind", [False, True])
@in_virtual_time
async def test_what_another_switch_shows_is_not_the_outcome(unbind: bool) -> None:
    bound = {(0, 1): (2, 3, 0xFF)}
    state = SwitchState(vppbs=dict(bound) if unbind else {})
    async with client_of(state) as (client, peer):
        patient = SwitchClient(client.caller.link, client.caller.clock, PATIENT)
        ending = patient.unbind(0, 1) if unbind else patient.bind(0, 1, 3, None)
        doing = asyncio.ensure_future(ending)
        await asyncio.sleep(0.5)
        assert state.vppbs == ({} if unbind else bound)
        state.identity = OTHER_IDENTITY
        peer.hang_up()
        with pytest.raises(DriverUnavailable, match="another switch answers") as caught:
            await doing
        assert not isinstance(caught.value, DriverNotSent)


@in_virtual_time
async def test_a_command_that_was_put_off_is_not_sent_to_another_switch() -> None:
    state = SwitchState(busy=1)
    async with client_of(state) as (client, peer):
        patient = SwitchClient(client.caller.link, client.caller.clock, PATIENT)
        bound = asyncio.ensure_future(patient.bind(0, 1, 3, None))
        await asyncio.sleep(0.2)
        state.identity = OTHER_IDENTITY
        peer.hang_up()
        with pytest.raises(DriverNotSent, match="another switch answers"):
            await bound
        assert state.commands.count(0x5201) == 1 and peer.connections == 2


@in_virtual_time
async def test_a_look_that_is_refused_after_a_bind_is_no_refusal_of_the_bind() -> None:
    async with client_of(SwitchState()) as (client, peer):
        peer.answers[0x5200] = always(INVALID)
        with pytest.raises(DriverUnavailable, match="outcome was not seen"):
            await client.bind(0, 1, 3, None)


@in_virtual_time
async def test_a_bind_in_a_virtual_switch_that_there_is_not_has_its_refusal() -> None:
    async with client_of(SwitchState(end_code=INVALID)) as (client, _):
        with pytest.raises(Refused, match="Bind vPPB"):
            await client.bind(77, 1, 3, None)


@in_virtual_time
async def test_a_bind_that_is_not_answered_is_not_repeated() -> None:
    state = SwitchState(silent={0x5201})
    async with client_of(state) as (client, _):
        with pytest.raises(NoAnswer):
            await client.bind(0, 1, 3, None)
        assert state.commands.count(0x5201) == 1
        assert not client.caller.lacks(0x5201)


# Busy, again, not at all


@in_virtual_time
async def test_a_busy_switch_is_asked_until_it_is_not() -> None:
    state = SwitchState(busy=6)
    async with client_of(state) as (client, _):
        assert (await client.switch()).port_count == 8
        assert state.commands.count(0x5100) == 7


@in_virtual_time
async def test_a_switch_that_stays_busy_is_left_at_the_deadline() -> None:
    state = SwitchState(busy=10_000)
    async with client_of(state) as (client, _):
        now_s = client.caller.clock.now_s()
        with pytest.raises(SwitchBusy):
            await client.bind(0, 1, 3, None, now_s + 10)
        assert client.caller.clock.now_s() <= now_s + 10
        assert state.commands.count(0x5201) < 40 and not state.vppbs


@pytest.mark.parametrize(("retries", "good"), [(1, True), (2, False)])
@in_virtual_time
async def test_once_more_is_once(retries: int, good: bool) -> None:
    state = SwitchState(retries=retries)
    async with client_of(state) as (client, _):
        if good:
            await client.switch()
        else:
            with pytest.raises(Refused, match="RETRY_REQUIRED"):
                await client.switch()
        assert state.commands.count(0x5100) == 2


@in_virtual_time
async def test_what_a_switch_lacks_is_asked_twice_for_an_answer_may_be_damaged() -> None:
    state = SwitchState()
    async with client_of(state) as (client, _):
        for _ in range(3):
            with pytest.raises(DriverUnsupported):
                await client.caller.call(GET_LOGS, NOTHING)
        assert state.commands.count(0x0400) == 2


@in_virtual_time
async def test_one_answer_damaged_to_unsupported_makes_no_query_unsupported() -> None:
    state = SwitchState()
    async with client_of(state) as (client, peer):
        damaged = [Reply(UNSUPPORTED)]
        peer.answers[0x5100] = lambda asked: damaged.pop() if damaged else state.answer(asked)
        assert (await client.switch()).port_count == 8
        assert not client.caller.lacks(0x5100)


@in_virtual_time
async def test_denials_are_believed_in_a_row_only() -> None:
    state = SwitchState()
    async with client_of(state) as (client, peer):
        replies = [Reply(UNSUPPORTED), Reply(BUSY), Reply(INVALID), Reply(UNSUPPORTED)]
        peer.answers[0x5102] = lambda _: replies.pop(0)
        for kind in (DriverUnsupported, Refused, DriverUnsupported):
            with pytest.raises(kind):
                await client.control_port(3, PortOperation.RESET_PPB)
        assert replies == []
        assert not client.caller.lacks(0x5102)


@in_virtual_time
async def test_a_switch_that_forgets_a_command_for_good_is_believed_in_the_end() -> None:
    state = SwitchState()
    async with client_of(state) as (client, peer):
        await client.caller.call(CONFIGURE_PORT, READING)
        peer.answers[0x5103] = lambda _: Reply(UNSUPPORTED)
        for kind in (BadAnswer, BadAnswer, BadAnswer, DriverUnsupported, DriverUnsupported):
            with pytest.raises(kind):
                await client.caller.call(CONFIGURE_PORT, READING)
        assert client.caller.lacks(0x5103)


@in_virtual_time
async def test_silence_on_a_query_means_that_it_does_not_exist() -> None:
    state = SwitchState(silent={0x0100})
    async with client_of(state) as (client, _):
        for _ in range(3):
            with pytest.raises(DriverUnsupported):
                await client.events(EventLog.WARNING)
        assert state.commands.count(0x0100) == 2
        assert client.caller.link.generation == 1, "the link was not given up"


@in_virtual_time
async def test_silence_is_not_taken_for_an_answer_for_ever() -> None:
    state = SwitchState(silent={0x0100})
    async with client_of(state) as (client, _):
        with pytest.raises(DriverUnsupported):
            await client.events(EventLog.WARNING)
        state.silent = set()
        await asyncio.sleep(REMEMBERED_S)
        assert (await client.events(EventLog.WARNING)).records == ()


@pytest.mark.parametrize("opcode", [0x5100, 0x5101, 0x5200])
@in_virtual_time
async def test_silence_on_what_no_switch_lacks_is_no_lack(opcode: int) -> None:
    state = SwitchState(silent={opcode})
    async with client_of(state) as (client, _):
        await client.identify()
        ask = {
            0x5100: client.switch,
            0x5101: lambda: client.physical_ports((0,)),
            0x5200: lambda: client.virtual_switches((0,)),
        }[opcode]
        with pytest.raises(NoAnswer):
            await ask()
        state.silent = set()
        await ask()


@in_virtual_time
async def test_one_lost_answer_does_not_make_a_query_unsupported() -> None:
    state = SwitchState()
    async with client_of(state) as (client, peer):
        lost: list[int] = []

        def first_lost(asked: Asked) -> Reply | None:
            lost.append(1)
            return state.answer(asked) if len(lost) > 1 else None

        peer.answers[0x5100] = first_lost
        assert (await client.switch()).port_count == 8
        assert not client.caller.lacks(0x5100)


@in_virtual_time
async def test_silence_on_what_was_answered_before_is_no_lack() -> None:
    state = SwitchState()
    async with client_of(state) as (client, _):
        await client.switch()
        state.silent = {0x5100}
        with pytest.raises(NoAnswer):
            await client.switch()
        assert not client.caller.lacks(0x5100)


@in_virtual_time
async def test_a_switch_that_is_silent_altogether_lacks_nothing() -> None:
    state = SwitchState()
    async with client_of(state) as (client, _):
        await client.identify()
        state.silent = {0x0001, 0x5100}
        with pytest.raises(DriverUnavailable):
            await client.switch()
        state.silent = set()
        await asyncio.sleep(20)
        assert (await client.switch()).port_count == 8


@in_virtual_time
async def test_a_short_deadline_proves_no_lack() -> None:
    state = SwitchState(silent={0x5200})
    async with client_of(state) as (client, _):
        await client.identify()
        with pytest.raises(NoAnswer):
            await client.vppb(0, 0, client.caller.clock.now_s() + 0.5)
        assert not client.caller.lacks(0x5200)


@in_virtual_time
async def test_what_does_not_fit_the_wire_is_rejected_unsent() -> None:
    state = SwitchState()
    async with client_of(state) as (client, _):
        with pytest.raises(DriverRejected, match="port_id is 300"):
            await client.control_port(300, PortOperation.RESET_PPB)
        assert 0x5102 not in state.commands


# Ports and devices


@in_virtual_time
async def test_a_port_is_controlled() -> None:
    async with client_of(SwitchState()) as (client, peer):
        await client.control_port(3, PortOperation.RESET_PPB)
        assert peer.asked[-1].payload == bytes((3, 2))


@pytest.mark.parametrize(
    ("speak", "jrl", "state", "through"),
    [
        (PACKETS, False, SwitchState(), 0x5300),
        (PACKETS, True, SwitchState(typed_tunnel=True), 0x5300),
        (FRAMES, False, SwitchState(identity=SHORT_IDENTITY), None),
    ],
    ids=["plain tunnel", "typed tunnel", "by port"],
)
@in_virtual_time
async def test_a_device_is_reached_behind_its_port(
    speak: str, jrl: bool, state: SwitchState, through: int | None
) -> None:
    async with client_of(state, speak, jrl) as (client, peer):
        device = client.device(5)
        assert (await device.ld_info()).ld_count == 4
        assert [each.range1 for each in (await device.ld_allocations()).allocations] == [4] * 4
        assert (peer.asked[-1].opcode, peer.asked[-1].port) == (
            through or 0x5401,
            0 if through else 5,
        )


@in_virtual_time
async def test_allocations_are_set() -> None:
    state = SwitchState()
    async with client_of(state) as (client, _):
        done = await client.device(5).set_ld_allocations(1, [LdAllocation(8, 0)])
        assert done == (LdAllocation(8, 0),) and state.allocations == [4, 8, 4, 4]


@in_virtual_time
async def test_what_breaks_a_switch_is_never_sent() -> None:
    state = short_identity()
    async with client_of(state, FRAMES) as (client, _):
        with pytest.raises(DriverUnsupported):
            await client.device(5).set_ld_allocations(1, [LdAllocation(8, 0)])
        assert 0x5402 not in state.commands


@in_virtual_time
async def test_the_refusal_of_a_device_is_not_that_of_the_switch() -> None:
    async with client_of(SwitchState()) as (client, _):
        with pytest.raises(Refused, match="Get LD Info"):
            await client.device(3).ld_info()
        with pytest.raises(DriverUnsupported):
            await client.device(5).qos_control()
        assert client.caller.lacks(0x5403, 5)
        assert not client.caller.lacks(0x5403, 6) and not client.caller.lacks(0x5300)


@in_virtual_time
async def test_the_answer_of_another_inner_command_is_no_answer() -> None:
    async with client_of(SwitchState(inner_opcode=0x5401)) as (client, _):
        with pytest.raises(BadAnswer, match="another command"):
            await client.device(5).ld_info()


def extents(total: int, generation: list[int]) -> "object":
    def answer(asked: Asked) -> Reply:
        host, count, start = struct.unpack("<HxxII", asked.payload)
        some = range(start, min(total, start + count))
        head = struct.pack("<HxxIIII4x", host, start, len(some), total, generation[0])
        if len(generation) > 1:
            generation.pop(0)
        return Reply(payload=head + b"".join(struct.pack("<QQ24x", n << 20, 1 << 20) for n in some))

    return answer


@pytest.mark.parametrize(
    ("generations", "good"), [([1], True), ([1, 1, 2], True), (list(range(100)), False)]
)
@in_virtual_time
async def test_extents_are_of_one_moment(generations: list[int], good: bool) -> None:
    state = SwitchState()
    state.do_5603 = extents(45, list(generations))  # type: ignore[attr-defined]
    async with client_of(state) as (client, _):
        if not good:
            with pytest.raises(DriverUnavailable, match="never stand still"):
                await client.device(5).extents(0)
            return
        found = await client.device(5).extents(0)
        assert [each.start >> 20 for each in found] == list(range(45))


@in_virtual_time
async def test_a_device_that_tells_of_extents_without_end_is_not_read_for_ever() -> None:
    state = SwitchState()
    state.do_5603 = extents(0xFFFFFFFF, [1])  # type: ignore[attr-defined]
    async with client_of(state) as (client, _):
        with pytest.raises(BadAnswer, match="tells of 4294967295 extents"):
            await client.device(5).extents(0)
        assert state.commands.count(0x5603) == 1


@in_virtual_time
async def test_capacity_is_offered_to_a_host() -> None:
    state = SwitchState()
    seen: list[bytes] = []

    def accept(asked: Asked) -> Reply:
        seen.append(asked.payload)
        return Reply()

    state.do_5604 = accept  # type: ignore[attr-defined]
    async with client_of(state) as (client, _):
        request = AddCapacity(2, AddPolicy.FREE, 0, 1 << 30, bytes(range(16)), ())
        await client.device(5).add_capacity(request)
    assert seen == [struct.pack("<HBBQ16sI", 2, 0, 0, 1 << 30, bytes(range(16)), 0)]


# Events and logs


def record(handle: int) -> bytes:
    head = UUID(str(MLD_PORT)).bytes + bytes((128, 2, 0, 0)) + struct.pack("<H", handle)
    return head.ljust(128, b"\0")


@in_virtual_time
async def test_a_log_is_read_to_its_end_and_cleared() -> None:
    state = SwitchState(events=[record(handle) for handle in range(1, 6)])
    async with client_of(state) as (client, _):
        batch = await client.events(EventLog.FAILURE)
        assert [each.handle for each in batch.records] == [1, 2, 3, 4, 5]
        assert not batch.overflow and state.events == []
        assert (await client.events(EventLog.FAILURE)).records == ()


@in_virtual_time
async def test_records_that_another_manager_cleared_are_no_error() -> None:
    state = SwitchState(events=[record(1)])
    async with client_of(state) as (client, peer):
        peer.answers[0x0101] = always(ReturnCode.INVALID_HANDLE)
        assert len((await client.events(EventLog.FAILURE)).records) == 1


@in_virtual_time
async def test_a_log_that_never_runs_dry_is_left_alone() -> None:
    state = SwitchState(events=[record(handle) for handle in range(1, 5)])
    async with client_of(state) as (client, peer):
        peer.answers[0x0101] = always()
        batch = await client.events(EventLog.FAILURE)
        assert [each.handle for each in batch.records] == [1, 2]
        assert state.commands.count(0x0100) == 64


def test_the_codes_of_this_peer_are_those_of_the_standard() -> None:
    assert (OK, INVALID, BUSY) == (
        ReturnCode.SUCCESS,
        ReturnCode.INVALID_INPUT,
        ReturnCode.BUSY,
    )


@pytest.mark.parametrize("typed", [False, True])
@in_virtual_time
async def test_an_ld_is_reached_through_two_tunnels(typed: bool) -> None:
    state = SwitchState(typed_tunnel=typed)
    async with client_of(state, jrl=typed) as (client, peer):
        heard: list[bytes] = []
        plain = peer.answers[0x5300]

        def listening(asked: Asked) -> Reply | None:
            heard.append(asked.payload)
            return plain(asked)

        peer.answers[0x5300] = listening
        status = await client.device(5).ld_status(3)
        assert (status.running, status.opcode) == (False, 0)
        head = b"\x08" * typed
        asked = head + bytes((0, 0x55, 0, 2, 0, *bytes(7)))
        inner = bytes((3, 0, len(asked), 0)) + asked
        outer = head + bytes((0, 0x55, 0, 0, 0x53, len(inner), *bytes(6))) + inner
        assert heard == [bytes((5, 0, len(outer), 0)) + outer]


@in_virtual_time
async def test_what_an_ld_lacks_its_device_need_not_lack() -> None:
    state = SwitchState()
    async with client_of(state) as (client, _):
        for _ in range(2):
            with pytest.raises(DriverUnsupported):
                await client.device(5).sanitize(0)
        lacks = client.caller.lacks
        assert lacks(0x4400, 5, of_ld=True)
        assert not lacks(0x4400, 5)


@in_virtual_time
async def test_a_switch_without_tunnels_has_no_way_to_an_ld() -> None:
    async with client_of(short_identity(), FRAMES) as (client, _):
        with pytest.raises(DriverUnsupported, match="no way to an LD"):
            await client.device(5).ld_status(0)
