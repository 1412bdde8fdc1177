"""Switches that dial in: one listening socket, and the link of each switch.

Which switch a connection belongs to is decided by `recognise`, which may ask it; connections of
nobody's switch are closed. A switch that connects anew replaces its older connection.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.links import Link
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.session import Session
from redfish_fm.drivers.cxl_fmapi.wires import Arrival, Wire

log = logging.getLogger(__name__)

Recognise = Callable[[Session], Awaitable[str | None]]
"""Returns the name of the switch that a connection belongs to, None for a stranger."""

EARLY_NOTICES_MAX = 256
"""Notices kept of a switch that is not recognised yet; the oldest give way."""


class Listener:
    """The listening socket. `links` by the names that `recognise` returns."""

    def __init__(
        self,
        address: tuple[str, int],
        wire: Callable[[], Wire],
        links: Mapping[str, Link],
        recognise: Recognise,
        connections_max: int = 64,
    ) -> None:
        self._address = address
        self._wire = wire
        self._links = links
        self._recognise = recognise
        self.connections_max = connections_max
        self._server: asyncio.Server | None = None
        self._misunderstood = False
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen. Raises OSError when the address can not be had."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._session, *self._address)

    @property
    def port(self) -> int:
        """Return the port that is listened on."""
        if self._server is None:
            return self._address[1]
        number: int = self._server.sockets[0].getsockname()[1]
        return number

    async def close(self) -> None:
        """Close the socket and every connection. Safe to repeat."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    def _session(self) -> Session:
        early: deque[Arrival] = deque(maxlen=EARLY_NOTICES_MAX)
        opened = partial(self._accept, early=early)
        return Session(self._wire(), early.append, opened=opened)

    def _accept(self, session: Session, early: deque[Arrival]) -> None:
        if len(self._serving) >= self.connections_max:
            log.warning("a connection too many on port %d is closed", self.port)
            session.close("a connection too many")
            return
        task = asyncio.ensure_future(self._serve(session, early))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, session: Session, early: deque[Arrival]) -> None:
        try:
            link = await self._link_of(session)
            if link is not None:
                session.notice = link.note
                for arrival in early:
                    link.note(arrival)
                await link.carry(session)
        finally:
            session.close("nobody's switch")
            await session.wait_closed()

    async def _link_of(self, session: Session) -> Link | None:
        try:
            name = await self._recognise(session)
        except (DriverUnavailable, Malformed) as error:
            # A switch that is not understood dials again and again, ten times a second.
            level = logging.DEBUG if self._misunderstood else logging.WARNING
            self._misunderstood = True
            log.log(level, "a connection from %s says nothing of itself: %s", session.peer, error)
            return None
        self._misunderstood = False
        link = self._links.get(name) if name is not None else None
        if link is None:
            log.warning("a connection from %s is of no known switch", session.peer)
        return link
