"""A driver over loopback sockets with the independent peer at the other end, and its contract rig.

Everything runs in virtual time; what a switch does wrong is ordered through SwitchState and Peer.
"""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import Driver, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.attached import AttachedPolicy
from redfish_fm.drivers.cxl_fmapi.driver import CxlFmApiDriver, create
from redfish_fm.drivers.cxl_fmapi.links import LinkPolicy
from redfish_fm.drivers.cxl_fmapi.places import Framing, LinkKind, SwitchPlace
from redfish_fm.fabric.model import BindTarget, Observation, VppbId
from tests.drivers.contract.rig import Rig
from tests.drivers.cxl_fmapi.peer import FRAMES, PACKETS, Asked, Peer, Reply
from tests.drivers.cxl_fmapi.peer_switch import STARTED, SwitchState, peer_of
from tests.virtual_time import VirtualClock

QUIET = LinkPolicy(keep_alive_s=1e6)
SHORT_IDENTITY = struct.pack("<4H4xBB", 0x1DC5, 0xF000, 0, 0, 10, 0)[:14]
LATE_MAX_S = 0.5
SLD, LD = BindTarget("sw0", "3"), BindTarget("sw0", "5", 2)
HOLD_S = 1.4


@dataclass
class World:
    """One driver with its switches, by id: their state, and who speaks for them."""

    driver: CxlFmApiDriver
    clock: VirtualClock
    states: dict[str, SwitchState]
    peers: dict[str, Peer] = field(default_factory=dict)

    async def observed(self) -> Observation:
        """Look until every switch answers."""
        return await until_complete(self.driver, self.clock)


async def until_complete(driver: Driver, clock: Clock) -> Observation:
    """Look until every switch answers."""
    why = "nobody asked"
    for _ in range(200):
        try:
            seen = await driver.observe()
            if seen.complete:
                return seen
            why = f"no answer from {sorted(seen.unreachable)}"
        except DriverUnavailable as error:
            why = str(error)
        await clock.sleep(0.05)
    raise AssertionError(why)


@asynccontextmanager
async def world(
    *states: SwitchState,
    speak: str = PACKETS,
    jrl: bool = False,
    link: LinkKind = LinkKind.MCTP_TCP,
    policy: AttachedPolicy | None = None,
    **place: Any,
) -> AsyncIterator[World]:
    """Yield a driver of switches sw0, sw1, … that are connected."""
    clock = VirtualClock()
    peers = {f"sw{n}": peer_of(state, speak, jrl) for n, state in enumerate(states)}
    framing = Framing.FRAMES if speak == FRAMES else Framing.PACKETS
    places = []
    for id_, peer in peers.items():
        port = await peer.listen() if link is LinkKind.MCTP_TCP else 0
        places.append(SwitchPlace(id_, link, ("127.0.0.1", port), framing=framing, **place))
    driver = create(
        "CXL", places, clock, seed=7, late_max_s=LATE_MAX_S, link_policy=QUIET, policy=policy
    )
    made = World(driver, clock, dict(zip(peers, states, strict=True)), peers)
    try:
        if link is LinkKind.FM_LISTEN:
            for id_, peer in peers.items():
                while (at := driver.connections.port_of(id_)) is None:
                    await clock.sleep(0.01)
                await peer.dial(at)
        yield made
    finally:
        await driver.close()
        for peer in peers.values():
            await peer.close()
        for state in states:
            for task in list(state.running):
                task.cancel()


@dataclass
class Mischief:
    """Spoils the next changing command of a switch, once."""

    state: SwitchState
    peer: Peer
    kind: str = ""
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def attach(self) -> None:
        """Stand between peer and switch."""
        for opcode in (0x5201, 0x5202, 0x5402, 0x5407, 0x5300):
            self.peer.answers[opcode] = self.answer

    def answer(self, asked: Asked) -> Reply | None:
        """Answer, or not."""
        opcode = asked.opcode
        if opcode == 0x5300:
            inner = asked.payload[4:]
            opcode = inner[3] | inner[4] << 8
            if opcode not in (0x5402, 0x5407, 0x5409):
                return self.state.answer(asked)
        kind, self.kind = self.kind, ""
        if kind == "lose":
            self.state.answer(asked)
            return None
        if kind == "late":
            self.peer.hang_up()
            self.tasks.append(asyncio.ensure_future(self._later(asked)))
            return None
        if kind == "hold" and opcode in (0x5201, 0x5202):
            before, self.state.operation_s = self.state.operation_s, HOLD_S
            reply = self.state.answer(asked)
            # The operation reads how long it is to take once it begins.
            asyncio.get_running_loop().call_later(0.001, setattr, self.state, "operation_s", before)
            assert reply is not None
            assert reply.code == STARTED
            return reply
        return self.state.answer(asked)

    async def _later(self, asked: Asked) -> None:
        await asyncio.sleep(0.9 * LATE_MAX_S)
        before, self.state.operation_s = self.state.operation_s, 0
        self.state.answer(asked)
        self.state.operation_s = before


@asynccontextmanager
async def peer_rig(
    state: SwitchState,
    speak: str = PACKETS,
    jrl: bool = False,
    target: BindTarget = SLD,
    other: BindTarget = LD,
    **more: Any,
) -> AsyncIterator[Rig]:
    """Yield the contract's rig over the peer."""
    async with world(state, speak=speak, jrl=jrl) as made:
        peer, clock = made.peers["sw0"], made.clock
        mischief = Mischief(state, peer)
        mischief.attach()
        await made.observed()
        drivers: list[Driver] = []
        first, second = VppbId("sw0", "0", 0), VppbId("sw0", "1", 1)
        toggled = False

        def order(kind: str) -> Any:
            async def means() -> None:
                mischief.kind = kind

            return means

        async def change_behind() -> None:
            nonlocal toggled
            toggled = not toggled
            if toggled:
                state.vppbs[1, 1] = (2, 3, 0xFF)
            else:
                state.vppbs.pop((1, 1), None)
            assert peer.writer is not None
            peer.writer.write(peer.notice(0xC001, bytes((1, 1, 2))))

        async def hold_next_look() -> None:
            plain = peer.answers[0x5200]

            async def slow(asked: Asked) -> Reply | None:
                peer.answers[0x5200] = plain
                await asyncio.sleep(HOLD_S)
                return state.answer(asked)

            peer.answers[0x5200] = slow

        async def cut_all() -> None:
            await peer.close()
            await asyncio.sleep(0)

        async def garble() -> None:
            plain = dict(peer.answers)

            def spoiled(_: Asked) -> Reply:
                peer.answers.update(plain)
                return Reply(payload=b"\x09")

            peer.answers.update(dict.fromkeys(plain, spoiled))

        yield Rig(
            made.driver,
            clock,
            first,
            second,
            target,
            other,
            lose_next_answer=order("lose"),
            run_next_late=order("late"),
            hold_next=order("hold"),
            hold_next_look=hold_next_look,
            hold_s=HOLD_S,
            change_behind=change_behind,
            cut_all=cut_all,
            garble_next=(garble,),
            **more,
        )
        for each in drivers:
            await each.close()
        for task in mischief.tasks:
            task.cancel()
