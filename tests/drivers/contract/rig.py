"""What a driver's test file hands to the contract: a Rig, and how to make a fresh one.

A rig is one driver, the names of a few things that its hardware has, and means to disturb that
hardware. Whatever a rig leaves out is not tested, and the skipped tests say so.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

import pytest

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import Driver, DriverUnsupported
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Hint,
    Media,
    Observation,
    PartState,
    Step,
    Unbind,
    VppbId,
)

Means = Callable[[], Awaitable[None]]


@dataclass
class Rig:
    """One driver under test, with two vPPBs of different hosts and two free targets.

    Nothing is bound at the beginning. `target` and `other` are different things, each of which
    either vPPB can be bound to; where they are parts of a pool they are allocated already.
    """

    driver: Driver
    clock: Clock
    first: VppbId
    second: VppbId
    target: BindTarget
    other: BindTarget
    part: BindTarget | None = None
    """A part of a pool on the switch of `first` that is not allocated; None where none can be."""
    part_mib: int = 0
    """A size that can be allocated for `part`; twice as much fits too."""
    new_media: Media = Media.CLEAN
    """What the driver says is in a part that was just allocated: dirty, where nobody tells."""
    lose_next_answer: Means | None = None
    """The next command is carried out (or not), its answer never comes."""
    run_next_late: Means | None = None
    """The next command gets no answer and runs later, whether or not the driver resets the link:
    at the latest late_max_s after the hardware saw it lost. The later, the more it proves."""
    change_behind: Means | None = None
    """Somebody else changes something on the switch of `first`, not through this driver. A watch
    has just begun: wait until the hardware knows of it, then change, so that its hint can come.
    Called several times: each call changes something anew."""
    hold_next: Means | None = None
    """The next command takes `hold_s`, then it is carried out and answered with yes."""
    hold_next_look: Means | None = None
    """The next look takes `hold_s`, then it is answered."""
    hold_s: float = 1.0
    """Shorter than a limit of the driver's own; at least twice late_max_s, or a driver that never
    resets its link is not found."""
    cut_all: Means | None = None
    """No switch answers from now on."""
    garble_next: Sequence[Means] = ()
    """Each spoils the next answer, or the next hint, in its own way: it can not be read."""
    successor: Callable[[], Awaitable[Driver]] | None = None
    """A manager hands over `bind` and dies: its command may run up to late_max_s from now. Makes
    the driver of its successor at once; the rig closes that too."""

    @property
    def bind(self) -> Bind:
        return Bind(self.first, self.target)

    @property
    def unbind(self) -> Unbind:
        return Unbind(self.first, self.target)

    def deadline_s(self, seconds: float = 30.0) -> float:
        return self.clock.now_s() + seconds

    async def apply(self, step: Step) -> None:
        await self.driver.apply(step, self.deadline_s())

    async def not_there(self) -> tuple[VppbId, VppbId]:
        """Return a vPPB too many of the VCS of `first`, and one of a switch that does not exist.

        All else of them is as the inventory has it, so that nothing else can be refused.
        """
        switches = {switch.id: switch for switch in (await self.driver.discover()).switches}
        known = {each.id: each for each in switches[self.first.switch].virtual_switches}
        vcs, nowhere = known[self.first.vcs], "no such switch"
        assert nowhere not in switches
        return VppbId(vcs.switch, vcs.id, vcs.vppb_count), VppbId(nowhere, vcs.id, self.first.vppb)

    async def bound(self, vppb: VppbId | None = None) -> BindTarget | None:
        return (await self.driver.observe()).bindings[vppb or self.first]

    async def state(self, target: BindTarget) -> PartState | None:
        """Return what is observed of a part; where it was laid is checked, and left out."""
        state = (await self.driver.observe()).parts.get(target)
        if state is None or not state.extents:
            return state
        assert sum(size for _offset, size in state.extents) == state.size_mib
        return replace(state, extents=())

    async def allocated(self, *, shareable: bool = False) -> BindTarget:
        """Allocate the free part and return it, or skip where the driver allocates nothing."""
        if self.part is None:
            pytest.skip("this rig has nothing to allocate")
        try:
            await self.apply(Allocate(self.part, self.part_mib, shareable))
        except DriverUnsupported:
            pytest.skip("this driver allocates nothing")
        return self.part

    async def clean(self, target: BindTarget) -> None:
        """Look until the contents of `target` are clean."""
        for _ in range(600):
            state = await self.state(target)
            if state is None or state.media is Media.CLEAN:
                return
            await self.clock.sleep(0.1)
        raise AssertionError(f"{target} never becomes clean")

    async def settled(self, handed_s: float) -> Observation:
        """Look until an observation proves the command handed at `handed_s`."""
        late_s = self.driver.late_max_s
        until_s = self.clock.now_s() + self.hold_s + 10 * late_s + 1.0
        while self.clock.now_s() < until_s:
            seen = await self.driver.observe()
            if seen.barrier_s > handed_s:
                return seen
            await self.clock.sleep(max(0.01, late_s / 10))
        raise AssertionError("no observation ever settles the command")

    async def stays_settled(self, handed_s: float) -> None:
        """Look until a command is settled; fail if it changes anything after that."""
        settled = await self.settled(handed_s)
        await self.clock.sleep(self.hold_s + 2 * self.driver.late_max_s)
        assert await self.bound() == settled.bindings[self.first]


MakeRig = Callable[[], AbstractAsyncContextManager[Rig]]
"""How a driver's test file makes a fresh rig for each test."""


async def use(means: Means | None) -> None:
    """Use a means, or skip the test where the rig lacks it."""
    if means is None:
        pytest.skip("this rig can not do that to its hardware")
    await means()


UNASKED_S = 0.05
"""How long hints that come at once and unasked are waited for; one that is later still would only
be taken for the hint of a change."""
HINTS_MAX = 1_000
"""More hints than any fabric of a rig gives where nothing changes."""


async def next_hint(driver: Driver, change: Callable[[], Awaitable[None]]) -> Hint:
    """Return the first hint after `change` of a watch that began before it."""
    hints = driver.watch()
    waiting = asyncio.ensure_future(anext(hints))
    try:
        for _ in range(HINTS_MAX):
            done, _pending = await asyncio.wait({waiting}, timeout=UNASKED_S)
            if not done:
                break
            waiting.result()
            waiting = asyncio.ensure_future(anext(hints))
        await change()
        return await asyncio.wait_for(waiting, 30)
    finally:
        waiting.cancel()
