"""Typed commands to one switch over its link: identity, capabilities, retries, tunnels.

Errors are those of drivers.base and nothing else. A command that changes something and is not
answered is never repeated here: its outcome is unknown, and whoever asked has to look.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import (
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
)
from redfish_fm.drivers.cxl_fmapi import header, refusals, tunnels
from redfish_fm.drivers.cxl_fmapi.channel import Channel
from redfish_fm.drivers.cxl_fmapi.command import CCI, FM_API, NOTHING, Command
from redfish_fm.drivers.cxl_fmapi.commands import name_of
from redfish_fm.drivers.cxl_fmapi.header import Category, Message
from redfish_fm.drivers.cxl_fmapi.identify import IDENTIFY, Identity
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.numbers import ReturnCode
from redfish_fm.drivers.cxl_fmapi.profiles import STANDARD, Profile, profile_of
from redfish_fm.drivers.cxl_fmapi.refusals import BadAnswer, SwitchBusy
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer, Order

Q = TypeVar("Q")
R = TypeVar("R")

_QUESTIONS = 2
"""How often a query is asked before silence means that it does not exist."""

_INNER_TAG = 0x55
"""Of messages inside a tunnel, which never meet."""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How patient a caller is, in seconds; waits double from the first to the longest."""

    command_timeout_s: float = 2.0
    deadline_s: float = 30.0
    wait_s_first: float = 0.02
    wait_s_max: float = 0.5

    def wait_s(self, attempt: int) -> float:
        """Return how long to wait before the attempt after this one (the first is 0)."""
        return min(self.wait_s_max, self.wait_s_first * 2.0 ** min(attempt, 20))


@dataclass(frozen=True, slots=True)
class _Target:
    """Whom a command is for: the switch (port None), or the device at a port."""

    port: int | None
    opcode: int


class Caller:
    """One switch, as commands go. `identity` and `profile` are of the newest connection.

    `changes` counts how often another switch than before answered at this link.
    """

    def __init__(self, link: Channel, clock: Clock, policy: CallPolicy | None = None) -> None:
        self.link = link
        self.clock = clock
        self.policy = policy or CallPolicy()
        self.identity: Identity | None = None
        self.profile: Profile = STANDARD
        self.changes = 0
        self._generic_type = FM_API
        self._generation = 0
        self._introducing = asyncio.Lock()
        self._missing: set[_Target] = set()
        self._silent: set[_Target] = set()
        self._answered: set[_Target] = set()

    async def introduce(self) -> Identity:
        """Return who the switch is, asking once per connection."""
        if self.identity is not None and self.link.generation == self._generation:
            return self.identity
        async with self._introducing:
            generation = self.link.generation
            if self.identity is None or generation != self._generation:
                identity = await self._ask_identity()
                self._meet(identity)
                self._generation = generation
                return identity
            return self.identity

    async def prepare(self, command: Command[Any, Any]) -> Profile:
        """Return how to speak to the switch; where it does not say, nothing has been sent."""
        try:
            await self.introduce()
        except DriverUnavailable as error:
            raise DriverNotSent(f"{command} was not sent: {error}") from error
        return self.profile

    async def barrier(self) -> Identity:
        """Ask who the switch is and return its answer: what was sent before has arrived."""
        identity = await self._identify_as(self._generic_type)
        if identity is None:
            raise BadAnswer(f"{self.link.name} does not tell who it is")
        return identity

    def lacks(self, opcode: int, port: int | None = None) -> bool:
        """Return whether a command is known not to exist."""
        target = _Target(port, opcode)
        return opcode in self.profile.harmful or target in self._missing | self._silent

    @property
    def missing(self) -> frozenset[str]:
        """Return the names of what the switch, or a device behind it, was found to lack."""
        found = self._missing | self._silent
        return frozenset(name_of(target.opcode) for target in found)

    def deadline(self, deadline_s: float | None = None) -> float:
        """Return the deadline on the service clock, the policy's where none is given."""
        return self.clock.now_s() + self.policy.deadline_s if deadline_s is None else deadline_s

    async def call(
        self,
        command: Command[Q, R],
        request: Q,
        *,
        port: int | None = None,
        deadline_s: float | None = None,
    ) -> R:
        """Return the answer to a query, which may be asked again.

        `port`: the device behind it is asked, not the switch. A query that was never answered,
        while the switch answers others, does not exist: known switches say nothing to those.
        """
        until_s = self.deadline(deadline_s)
        for _ in range(_QUESTIONS):
            try:
                message = await self.send(command, request, port=port, deadline_s=until_s)
            except NoAnswer:
                if self.clock.now_s() >= until_s:
                    raise
                await self.barrier()
                continue
            self._answered.add(_Target(port, command.opcode))
            return self._read(command, request, message)
        target = _Target(port, command.opcode)
        if target in self._answered:
            raise NoAnswer(f"{self.link.name} is silent on {command}")
        self._silent.add(target)
        raise DriverUnsupported(f"{self.link.name} is silent on {command}")

    async def change(
        self,
        command: Command[Q, R],
        request: Q,
        *,
        port: int | None = None,
        deadline_s: float | None = None,
    ) -> R:
        """Carry out a command that is done when it is answered, and return the answer."""
        message = await self.send(command, request, port=port, deadline_s=deadline_s)
        return self._read(command, request, message)

    async def send(
        self,
        command: Command[Q, R],
        request: Q,
        *,
        port: int | None = None,
        deadline_s: float | None = None,
        changes: int | None = None,
    ) -> Message:
        """Return an accepted answer: success, or begun in the background.

        `changes`: what the attribute was when the switch was chosen; another one gets nothing.
        Asks again while the switch is busy, until the deadline, and once more where it asks for it.
        """
        await self.prepare(command)
        meant = self.changes if changes is None else changes
        if self.lacks(command.opcode, port):
            raise DriverUnsupported(f"{self.link.name} has no {command}")
        payload = self._encoded(command, request)
        until_s = self.deadline(deadline_s)

        async def once() -> Message:
            # The link may have been made anew meanwhile, and lead elsewhere.
            await self.prepare(command)
            if self.changes != meant:
                raise DriverNotSent(f"another switch answers at {self.link.name} now")
            return await self._once(command, payload, port, until_s)

        message = await self._patiently(command, once, until_s)
        try:
            refusals.check(command.opcode, message.return_code)
        except DriverUnsupported:
            self._missing.add(_Target(port, command.opcode))
            raise
        return message

    async def _patiently(
        self, command: Command[Any, Any], once: Callable[[], Awaitable[Message]], until_s: float
    ) -> Message:
        retried, attempt = False, 0
        while True:
            message = await once()
            if message.return_code == ReturnCode.RETRY_REQUIRED and not retried:
                retried = True
                continue
            if message.return_code != ReturnCode.BUSY:
                return message
            wait_s = self.policy.wait_s(attempt)
            if self.clock.now_s() + wait_s >= until_s:
                raise SwitchBusy(f"{self.link.name} was too busy for {command}")
            await self.clock.sleep(wait_s)
            attempt += 1

    async def _once(
        self, command: Command[Any, Any], payload: bytes, port: int | None, until_s: float
    ) -> Message:
        if port is None:
            return await self._exchange(command, payload, until_s)
        form = self.profile.tunnel
        if form is None:
            return await self._exchange(command, payload, until_s, port)
        inner = header.encode(Message(Category.REQUEST, _INNER_TAG, command.opcode, payload))
        wrapped = self._encoded(tunnels.TUNNEL, tunnels.wrap(port, inner, form))
        outer = await self._exchange(tunnels.TUNNEL, wrapped, until_s)
        if outer.return_code not in refusals.ACCEPTED:
            return outer
        return self._unwrapped(command, outer, form)

    def _unwrapped(
        self, command: Command[Any, Any], outer: Message, form: tunnels.TunnelFormat
    ) -> Message:
        try:
            response = tunnels.TUNNEL.response_to(tunnels.TunnelRequest(0, 0, 0, b"")).decode(
                outer.payload
            )
            inner = header.decode(tunnels.unwrap(response, form))
        except Malformed as error:
            raise BadAnswer(f"{self.link.name}, tunnelled {command}: {error}") from error
        if (inner.category, inner.tag) != (Category.RESPONSE, _INNER_TAG) or (
            inner.opcode not in (0, command.opcode)
        ):
            raise BadAnswer(f"{self.link.name} answered another command than {command}")
        return inner

    async def _exchange(
        self, command: Command[Any, Any], payload: bytes, until_s: float, port: int = 0
    ) -> Message:
        kind = command.message_type if self._generic_type == CCI else FM_API
        return await self._order(
            Order(command.opcode, payload, kind, port, self._timeout_s(until_s), until_s)
        )

    async def _order(self, order: Order) -> Message:
        try:
            return await self.link.exchange(order)
        except Malformed as error:
            raise DriverRejected(f"{self.link.name}: {error}") from error

    def _timeout_s(self, until_s: float) -> float:
        left_s = until_s - self.clock.now_s()
        return max(0.0, min(self.policy.command_timeout_s, left_s))

    @staticmethod
    def _encoded(command: Command[Q, Any], request: Q) -> bytes:
        try:
            return command.request.encode(request)
        except Malformed as error:
            raise DriverRejected(f"{command}: {error}") from error

    def _read(self, command: Command[Q, R], request: Q, message: Message) -> R:
        try:
            return command.response_to(request).decode(message.payload)
        except Malformed as error:
            raise BadAnswer(f"{self.link.name}, {command}: {error}") from error

    async def _ask_identity(self) -> Identity:
        """Ask on type 7 first: one known switch dies of type 8, none of type 7."""
        silence: NoAnswer | None = None
        for kind in (FM_API, CCI):
            try:
                identity = await self._identify_as(kind)
            except NoAnswer as error:
                silence = error
                continue
            if identity is not None:
                self._generic_type = kind
                self.link.keep_alive_type = kind
                return identity
        raise silence or BadAnswer(f"{self.link.name} does not tell who it is")

    async def _identify_as(self, kind: int) -> Identity | None:
        """Return the answer to Identify on one message type, None for a refusal."""
        order = Order(IDENTIFY.opcode, b"", kind, timeout_s=self.policy.command_timeout_s)
        message = await self._order(order)
        if message.return_code != ReturnCode.SUCCESS:
            return None
        return self._read(IDENTIFY, NOTHING, message)

    def _meet(self, identity: Identity) -> None:
        """Take note of who answers; another one than before has other capabilities."""
        self._silent.clear()
        if identity != self.identity:
            self.changes += self.identity is not None
            self._missing.clear()
            self._answered.clear()
        self.identity = identity
        self.profile = profile_of(identity, self.link.dialect)
