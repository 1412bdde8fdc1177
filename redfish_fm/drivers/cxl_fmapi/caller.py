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
from redfish_fm.drivers.cxl_fmapi.generic_commands import BACKGROUND_STATUS
from redfish_fm.drivers.cxl_fmapi.header import Category, Message
from redfish_fm.drivers.cxl_fmapi.identify import IDENTIFY, Identity
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.numbers import ReturnCode
from redfish_fm.drivers.cxl_fmapi.profiles import STANDARD, Profile, profile_of
from redfish_fm.drivers.cxl_fmapi.refusals import BadAnswer, SwitchBusy
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer, Order
from redfish_fm.drivers.cxl_fmapi.switch_commands import GET_PORTS, GET_VCSS, IDENTIFY_SWITCH

Q = TypeVar("Q")
R = TypeVar("R")

_QUESTIONS = 2
"""How often a query is asked before silence, or that it is unsupported, is believed."""

_DENIALS, _DENIALS_OF_KNOWN = 2, 4
"""So many answers in a row that a command is unsupported are believed; the second where it was
carried out before."""

REMEMBERED_S = 600.0
"""How long silence is taken for an answer: two answers in a row may just have been lost."""

_NEEDED = frozenset({IDENTIFY_SWITCH.opcode, GET_PORTS.opcode, GET_VCSS.opcode})
"""What no switch lacks: silence on it is nothing but silence."""

_NEEDED_OF_LD = frozenset({BACKGROUND_STATUS.opcode})
"""What no LD lacks that is asked: only those that overwrite themselves are."""

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
    """Whom a command is for: the switch (port None), the device at a port, or an LD of it."""

    port: int | None
    opcode: int
    of_ld: bool = False


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query and its answer: of a poll almost everything is as it was before."""

    request: object
    answer: bytes
    value: Any


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
        self._silent: dict[_Target, float] = {}
        self._answered: set[_Target] = set()
        self._denied: dict[_Target, int] = {}
        self._last: dict[tuple[int, int | None, int | None], _Asked] = {}

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

    def lacks(self, opcode: int, port: int | None = None, *, of_ld: bool = False) -> bool:
        """Return whether a command is known not to exist; `of_ld`: in the LDs of a device."""
        target = _Target(port, opcode, of_ld)
        missing = target in self._missing or self._is_silent(target)
        return missing or opcode in self.profile.harmful

    def _is_silent(self, target: _Target) -> bool:
        return self._silent.get(target, 0.0) > self.clock.now_s()

    @property
    def missing(self) -> frozenset[str]:
        """Return the names of what the switch, or a device behind it, was found to lack."""
        found = self._missing | {each for each in self._silent if self._is_silent(each)}
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
        ld: int | None = None,
        deadline_s: float | None = None,
    ) -> R:
        """Return the answer to a query, which may be asked again.

        `port`: the device behind it is asked, not the switch; `ld`: that one of it. A query that
        was never answered, while the switch answers others, does not exist: known switches say
        nothing to those.
        """
        until_s, target = self.deadline(deadline_s), _Target(port, command.opcode, ld is not None)
        doubted: DriverUnsupported | None = None
        for _ in range(_QUESTIONS):
            doubted = None
            try:
                message = await self.send(command, request, port=port, ld=ld, deadline_s=until_s)
            except NoAnswer:
                if self.clock.now_s() >= until_s:
                    raise
                await self.barrier()
                continue
            except DriverUnsupported as error:
                if self.lacks(command.opcode, port, of_ld=ld is not None):
                    raise
                doubted = error
                continue
            return self._read_again(command, request, message, (command.opcode, port, ld))
        if doubted is not None:
            raise doubted
        needed = command.opcode in (_NEEDED if port is None else _NEEDED_OF_LD)
        if needed or target in self._answered:
            raise NoAnswer(f"{self.link.name} is silent on {command}")
        self._silent[target] = self.clock.now_s() + REMEMBERED_S
        raise DriverUnsupported(f"{self.link.name} is silent on {command}")

    async def change(
        self,
        command: Command[Q, R],
        request: Q,
        *,
        port: int | None = None,
        ld: int | None = None,
        deadline_s: float | None = None,
    ) -> R:
        """Carry out a command that is done when it is answered, and return the answer."""
        message = await self.send(command, request, port=port, ld=ld, deadline_s=deadline_s)
        return self._read(command, request, message)

    async def send(
        self,
        command: Command[Q, R],
        request: Q,
        *,
        port: int | None = None,
        ld: int | None = None,
        deadline_s: float | None = None,
        changes: int | None = None,
    ) -> Message:
        """Return an accepted answer: success, or begun in the background.

        `changes`: what the attribute was when the switch was chosen; another one gets nothing.
        Asks again while the switch is busy, until the deadline, and once more where it asks for it.
        """
        await self.prepare(command)
        meant = self.changes if changes is None else changes
        if self.lacks(command.opcode, port, of_ld=ld is not None):
            raise DriverUnsupported(f"{self.link.name} has no {command}")
        payload = self._encoded(command, request)
        until_s = self.deadline(deadline_s)

        async def once() -> Message:
            # The link may have been made anew meanwhile, and lead elsewhere.
            await self.prepare(command)
            if self.changes != meant:
                raise DriverNotSent(f"another switch answers at {self.link.name} now")
            return await self._once(command, payload, port, ld, until_s)

        message = await self._patiently(command, once, until_s)
        target = _Target(port, command.opcode, ld is not None)
        if message.return_code in refusals.UNSUPPORTED:
            self._note_missing(command, target)
        else:
            self._denied.pop(target, None)
        refusals.check(command.opcode, message.return_code)
        self._answered.add(target)
        return message

    def _note_missing(self, command: Command[Any, Any], target: _Target) -> None:
        """Note a command that is said not to exist. An answer may be damaged, so it takes several.

        Raises BadAnswer where the command was carried out before: it may have been this time, too.
        """
        denied = self._denied[target] = self._denied.get(target, 0) + 1
        if target in self._answered:
            if denied < _DENIALS_OF_KNOWN:
                raise BadAnswer(f"{self.link.name} had {command}, and says that there is none")
            # Such is a switch with another firmware than before.
            self._answered.discard(target)
        if denied >= _DENIALS:
            self._missing.add(target)

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
        self,
        command: Command[Any, Any],
        payload: bytes,
        port: int | None,
        ld: int | None,
        until_s: float,
    ) -> Message:
        if port is None:
            return await self._exchange(command, payload, until_s)
        form = self.profile.tunnel
        if form is None:
            if ld is not None:
                raise DriverUnsupported(f"{self.link.name} has no way to an LD")
            return await self._exchange(command, payload, until_s, port)
        places = (port,) if ld is None else (port, ld)
        opcode = command.opcode
        for place in reversed(places):
            inner = header.encode(Message(Category.REQUEST, _INNER_TAG, opcode, payload))
            payload = self._encoded(tunnels.TUNNEL, tunnels.wrap(place, inner, form))
            opcode = tunnels.TUNNEL.opcode
        message = await self._exchange(tunnels.TUNNEL, payload, until_s)
        for number in range(len(places)):
            if message.return_code not in refusals.ACCEPTED:
                break
            last = number == len(places) - 1
            message = self._unwrapped(command if last else tunnels.TUNNEL, message, form)
        return message

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

    def _read_again(
        self,
        command: Command[Q, R],
        request: Q,
        message: Message,
        place: tuple[int, int | None, int | None],
    ) -> R:
        """Read an answer, unless it is that of the last time the same was asked there."""
        last = self._last.get(place)
        if last is None or last.answer != message.payload or last.request != request:
            value = self._read(command, request, message)
            last = self._last[place] = _Asked(request, message.payload, value)
        known: R = last.value
        return known

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
            self._denied.clear()
            self._answered.clear()
        self.identity = identity
        self.profile = profile_of(identity, self.link.dialect)
