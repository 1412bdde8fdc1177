"""The link to one switch over all its connections: who dials, when to dial again, keep-alive.

A DialLink dials the switch; a Link that a Listener feeds waits to be dialled. Either way there
is at most one connection, the newest, and commands fail at once while there is none.
"""

import asyncio
import logging
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import DriverNotSent, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.command import FM_API
from redfish_fm.drivers.cxl_fmapi.header import Dialect, Message
from redfish_fm.drivers.cxl_fmapi.identify import IDENTIFY
from redfish_fm.drivers.cxl_fmapi.session import Order, Session
from redfish_fm.drivers.cxl_fmapi.wires import Arrival, Wire

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LinkPolicy:
    """How patient a link is. Seconds; `silent_max` commands without answer end a connection.

    `again_s_first` doubles with each failure up to `again_s_max`; of that, between half and all
    is waited, so that many managers do not come back at one moment.
    """

    command_timeout_s: float = 2.0
    connect_timeout_s: float = 5.0
    silent_max: int = 3
    keep_alive_s: float = 10.0
    again_s_first: float = 0.1
    again_s_max: float = 10.0
    notices_max: int = 256

    def again_s(self, failures: int, rng: random.Random) -> float:
        """Return how long to wait after so many failures in a row."""
        longest_s = min(self.again_s_max, self.again_s_first * 2.0 ** min(failures, 20))
        return longest_s * rng.uniform(0.5, 1.0)


class Link:
    """One switch's link. `generation` counts connections: what was known before may be stale.

    `keep_alive_type` is the MCTP message type of the command that keeps the link alive: one known
    switch dies of type 8, so whoever knows better says so.
    """

    def __init__(self, name: str, clock: Clock, policy: LinkPolicy | None = None) -> None:
        self.name = name
        self.policy = policy or LinkPolicy()
        self.generation = 0
        self.keep_alive_type = FM_API
        self.reason = "never connected"
        self.lost_s = -math.inf
        """When a connection was last lost."""
        self.clock = clock
        self.session: Session | None = None
        self._up = asyncio.Event()
        self._notices: deque[Arrival] = deque()
        self._noticed = asyncio.Event()

    @property
    def connected(self) -> bool:
        """Return whether there is a connection."""
        return self.session is not None and not self.session.ended

    @property
    def dialect(self) -> Dialect | None:
        """Return the dialect of the newest connection, None before its first answer."""
        return self.session.dialect if self.session is not None else None

    async def wait_connected(self) -> None:
        """Return when there is a connection."""
        await self._up.wait()

    async def exchange(self, order: Order) -> Message:
        """Send a command and return its answer. Raises as Session.exchange; NotSent when down."""
        session = self.session
        if session is None:
            raise DriverNotSent(f"{self.name} is not connected: {self.reason}")
        return await session.exchange(order)

    async def carry(self, session: Session) -> None:
        """Use a running connection until it ends; an older one is closed."""
        if self.session is not None:
            self.session.close("the switch connected anew")
        self.session = session
        self.generation += 1
        self._up.set()
        self._noticed.set()
        log.info("%s is connected (%s)", self.name, session.peer)
        keeper = asyncio.ensure_future(self._keep_alive(session))
        try:
            await session.wait_ended()
        finally:
            self._forget(session)
            keeper.cancel()
            await asyncio.wait([keeper])

    def _forget(self, session: Session) -> None:
        session.close("the link was closed")
        if self.session is session:
            self.session = None
            self._up.clear()
            self.reason, self.lost_s = session.reason, self.clock.now_s()
            self._noticed.set()
        log.info("%s lost its connection: %s", self.name, session.reason)

    async def _keep_alive(self, session: Session) -> None:
        """Ask who it is whenever nothing was heard for a while."""
        quiet_s = self.policy.keep_alive_s
        while not session.ended:
            idle_s = self.clock.now_s() - session.heard_s
            if idle_s < quiet_s:
                await self.clock.sleep(quiet_s - idle_s)
                continue
            order = Order(
                IDENTIFY.opcode,
                message_type=self.keep_alive_type,
                timeout_s=self.policy.command_timeout_s,
            )
            try:
                await session.exchange(order)
            except DriverUnavailable as error:
                log.debug("%s: %s", self.name, error)

    def note(self, arrival: Arrival) -> None:
        """Keep a notice of the switch for whoever asks; the oldest give way."""
        if len(self._notices) >= self.policy.notices_max:
            self._notices.popleft()
        self._notices.append(arrival)
        self._noticed.set()

    async def notices(self) -> list[Arrival]:
        """Return what the switch said unasked; waits for it, or for the connection's end."""
        generation = self.generation
        while not self._notices:
            self._noticed.clear()
            await self._noticed.wait()
            if not self.connected or self.generation != generation:
                break
        found = list(self._notices)
        self._notices.clear()
        return found


class DialLink(Link):
    """A link that dials, and dials again for ever."""

    def __init__(
        self,
        name: str,
        address: tuple[str, int],
        wire: Callable[[], Wire],
        clock: Clock,
        rng: random.Random,
        policy: LinkPolicy | None = None,
    ) -> None:
        super().__init__(name, clock, policy)
        self._address = address
        self._wire = wire
        self._rng = rng

    async def run(self) -> None:
        """Keep the link up until cancelled."""
        failures = 0
        while True:
            session = await self._dial()
            if session is not None:
                await self._use(session)
            # A switch that takes connections and answers nothing has another client.
            failures = 0 if session is not None and session.answered else failures + 1
            await self.clock.sleep(self.policy.again_s(failures, self._rng))

    async def _dial(self) -> Session | None:
        try:
            async with asyncio.timeout(self.policy.connect_timeout_s):
                _, session = await asyncio.get_running_loop().create_connection(
                    lambda: Session(self._wire(), self.note, self.policy.silent_max),
                    *self._address,
                )
        except (OSError, TimeoutError) as error:
            self.reason = f"no connection: {error or 'timeout'}"
            log.debug("%s: %s", self.name, self.reason)
            return None
        return session

    async def _use(self, session: Session) -> None:
        try:
            await self.carry(session)
        finally:
            session.close("the link was closed")
            await session.wait_closed()
