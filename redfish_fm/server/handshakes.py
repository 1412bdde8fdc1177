"""Connections whose TLS handshake is not over: how many there may be, and whose go first.

asyncio tells nobody of a connection before its handshake, so connections that never finish one
are in no count of the server and would take every file the process may open. Here they are
counted from accept on. When there are too many, the oldest of the address that has the most is
closed: whoever connects gets in, and who floods only closes what is its own. Knows sockets only.
"""

import asyncio
import errno
import socket
from typing import Any

from redfish_fm.redfish.throttle import network_of

HANDSHAKES_MAX = 256
"""Handshakes under way at once. One takes milliseconds; a hundred clients never meet here."""

ACCEPTED_AT_ONCE = 64
"""Connections accepted before what was accepted is looked at; asyncio would take 512."""

_NO_FILES = frozenset({errno.EMFILE, errno.ENFILE})


class Handshakes:
    """The connections between accept and the end of their handshake, oldest first."""

    def __init__(self, most: int = HANDSHAKES_MAX) -> None:
        self._most = most
        self._of: dict[str, dict[int, socket.socket]] = {}
        self._network: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._network)

    def begun(self, connection: socket.socket, peer: str) -> None:
        """Count a connection just accepted; give up another one where there are too many."""
        network = network_of(peer)
        number = connection.fileno()
        self.over(number)
        self._network[number] = network
        self._of.setdefault(network, {})[number] = connection
        if len(self._network) > self._most:
            self.give_up_one()

    def over(self, number: int) -> None:
        """Forget the connection of that file: its handshake is done, or it is closed."""
        network = self._network.pop(number, None)
        if network is None:
            return
        others = self._of[network]
        del others[number]
        if not others:
            del self._of[network]

    def give_up_one(self) -> None:
        """End the oldest handshake of whoever has the most of them; there has to be one."""
        most = max(self._of.values(), key=len)
        number, oldest = next(iter(most.items()))
        self.over(number)
        try:
            # Its transport reads the end and closes it; closing here would free its number.
            oldest.shutdown(socket.SHUT_RDWR)
        except OSError:
            # The client is gone already, which its transport is about to notice.
            return


class CountedListener(socket.socket):
    """A listening socket whose connections are counted in `handshakes` from accept on."""

    handshakes: Handshakes
    _accepted = 0

    @classmethod
    def of(cls, sock: socket.socket, handshakes: Handshakes) -> "CountedListener":
        """Return one in the place of `sock`, which is used up."""
        made = cls(sock.family, sock.type, sock.proto, fileno=sock.detach())
        made.setblocking(False)
        made.handshakes = handshakes
        return made

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection, counted until its handshake is over or it is closed."""
        self._pause_after_some()
        try:
            accepted, address = super().accept()
        except OSError as error:
            if error.errno not in _NO_FILES or not len(self.handshakes):
                raise
            # asyncio would say so hundreds of times and be deaf for a second. It comes back.
            self.handshakes.give_up_one()
            raise ConnectionAbortedError from error
        family, kind, proto = accepted.family, accepted.type, accepted.proto
        connection = _Counted(family, kind, proto, fileno=accepted.detach())
        connection.handshakes = self.handshakes
        self.handshakes.begun(connection, str(address[0]))
        return connection, address

    def _pause_after_some(self) -> None:
        """Have the loop come back for more where it has accepted many in this round."""
        if not self._accepted:
            asyncio.get_running_loop().call_soon(self._begin_anew)
        elif self._accepted >= ACCEPTED_AT_ONCE:
            raise BlockingIOError
        self._accepted += 1

    def _begin_anew(self) -> None:
        self._accepted = 0


class _Counted(socket.socket):
    """A connection that is no longer counted once it is closed."""

    handshakes: Handshakes

    def close(self) -> None:
        """Close it; its number may be another connection's from now on."""
        self.handshakes.over(self.fileno())
        super().close()
