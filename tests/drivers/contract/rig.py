"""What a driver's test file hands to the contract: a Rig, and how to make a fresh one.

A rig is one driver, the names of a few things that its hardware has, and means to disturb that
hardware. Whatever a rig leaves out is not tested, and the skipped tests say so.
"""

import asyncio
from collections.abc import Awaitable, Callable
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
    lose_next_answer: Means | None = None
    """The next command is carried out (or not), its answer never comes."""
    run_next_late: Means | None = None
    """The next command gets no answer and runs up to late_max_s after its link was reset."""
    change_behind: Means | None = None
    """Something else changes the hardware; waits until a watch that began has reached it."""
    hold_next: Means | None = None
    """The next command takes `hold_s`."""
    hold_s: float = 1.0
    cut_all: Means | None = None
    """No switch answers from now on."""

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
        for _ in range(100):
            seen = await self.driver.observe()
            if seen.barrier_s > handed_s:
                return seen
            await self.clock.sleep(self.driver.late_max_s / 10)
        raise AssertionError("no observation ever settles the command")


MakeRig = Callable[[], AbstractAsyncContextManager[Rig]]
"""How a driver's test file makes a fresh rig for each test."""


async def use(means: Means | None) -> None:
    """Use a means, or skip the test where the rig lacks it."""
    if means is None:
        pytest.skip("this rig can not do that to its hardware")
    await means()


async def next_hint(driver: Driver, change: Callable[[], Awaitable[None]]) -> Hint:
    """Return the first hint of a watch that began before `change`."""
    hints = driver.watch()
    waiting = asyncio.ensure_future(anext(hints))
    try:
        await asyncio.sleep(0)
        await change()
        return await asyncio.wait_for(waiting, 30)
    finally:
        waiting.cancel()
