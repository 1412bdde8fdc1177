"""A wire between a manager and a switch that keeps a transcript, and spoils what it is told to.

Passes MCTP packets of 68 bytes on in both directions. It reads them with `struct` alone, as the
standard lays them out, and shares no code with either end. What goes through a tunnel is told as
the command inside it.

    with tapped(port) as tap:
        …                                   a manager that dials tap.port
        tap.changes()                       the commands that change something, in order
        tap.spoil(0x5402, Spoil.LOSE)       what befalls the next such command
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

PACKET_BYTES, _PACKET_HEAD, _CCI_HEAD, _TUNNEL_HEAD = 68, 4, 12, 4
TUNNEL, CCI_TYPE = 0x5300, 8
BUSY = 0x0006
CHANGES = frozenset(
    {0x4400, 0x5102, 0x5201, 0x5202, 0x5402, 0x5404, 0x5407, 0x5409, 0x5602, 0x5604, 0x5605}
)
"""Commands that change what a switch, device or LD does."""

WAIT_S = 30.0


class Spoil(Enum):
    """What becomes of one command."""

    LOSE = "it is carried out, and its answer never arrives"
    CUT = "it is carried out, and the connection ends instead of an answer"
    NEVER = "the connection ends, and it never arrives"
    BUSY = "it never arrives, and is answered with Busy"


@dataclass(frozen=True)
class Told:
    """One command and its answer. `port`, `ld`: whom a tunnel took it to; `code` None: none yet."""

    opcode: int
    request: bytes
    port: int | None = None
    ld: int | None = None
    code: int | None = None
    answer: bytes = b""

    def __str__(self) -> str:
        place = "" if self.port is None else f" port {self.port}"
        place += "" if self.ld is None else f" LD {self.ld}"
        code = "none" if self.code is None else f"{self.code:04X}h"
        return f"{self.opcode:04X}h{place} {self.request.hex()} -> {code} {self.answer.hex()}"


@dataclass
class Tap:
    """The wire. `port` is where a manager finds it."""

    port: int
    heard: list[Told] = field(default_factory=list)
    connections: int = 0
    spoils: list[tuple[int, Spoil]] = field(default_factory=list)
    spoiled: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def spoil(self, opcode: int, how: Spoil, times: int = 1) -> None:
        """Order what befalls the next commands of that kind."""
        with self.lock:
            self.spoils += [(opcode, how)] * times

    def mark(self) -> int:
        """Return the place in the transcript where it ends now."""
        with self.lock:
            return len(self.heard)

    def changes(self, since: int = 0) -> list[Told]:
        """Return the commands from `since` on that change something."""
        with self.lock:
            return [told for told in self.heard[since:] if told.opcode in CHANGES]

    def ordered(self, opcode: int) -> Spoil | None:
        """Return what befalls a command that is here now."""
        with self.lock:
            for number, (meant, how) in enumerate(self.spoils):
                if meant == opcode:
                    del self.spoils[number]
                    self.spoiled.append(opcode)
                    return how
        return None


class _Connection:
    """One manager, and the connection to the switch that was made for it."""

    def __init__(self, tap: Tap, manager: socket.socket, switch: socket.socket) -> None:
        self._tap = tap
        self._manager = manager
        self._switch = switch
        self._open: dict[int, int] = {}
        self._lost: dict[int, Spoil] = {}

    def requests(self) -> None:
        """Pass on what the manager says, until either side ends it."""
        with contextlib.suppress(OSError):
            while (packets := _message(self._manager)) is not None:
                body = _body(packets)
                told = None if body[1] & 0x0F else _request(body)
                how = None if told is None else self._tap.ordered(told.opcode)
                if told is not None:
                    with self._tap.lock:
                        self._open[body[2]] = len(self._tap.heard)
                        self._tap.heard.append(told)
                if how is Spoil.BUSY:
                    self._answer_busy(packets[0], body)
                    continue
                if how is Spoil.NEVER:
                    break
                if how is not None:
                    self._lost[body[2]] = how
                self._switch.sendall(b"".join(packets))
        self._end()

    def answers(self) -> None:
        """Pass on what the switch says, until either side ends it."""
        with contextlib.suppress(OSError):
            while (packets := _message(self._switch)) is not None:
                body = _body(packets)
                how = None
                if body[1] & 0x0F == 1:
                    how = self._lost.pop(body[2], None)
                    self._take_answer(body)
                if how is Spoil.CUT:
                    break
                if how is not Spoil.LOSE:
                    self._manager.sendall(b"".join(packets))
        self._end()

    def _take_answer(self, body: bytes) -> None:
        with self._tap.lock:
            number = self._open.pop(body[2], None)
            if number is not None:
                self._tap.heard[number] = _answered(self._tap.heard[number], body)

    def _answer_busy(self, first: bytes, body: bytes) -> None:
        opcode = struct.unpack_from("<H", body, 4)[0]
        head = struct.pack("<BBBBHHBHH", body[0], 1, body[2], 0, opcode, 0, 0, BUSY, 0)
        packet = bytes((1, first[2], 0, 0xC0 | first[3] & 0x07)) + head
        self._manager.sendall(packet.ljust(PACKET_BYTES, b"\0"))
        self._take_answer(head)

    def _end(self) -> None:
        for each in (self._manager, self._switch):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _message(source: socket.socket) -> list[bytes] | None:
    """Return the packets of the next message, None where the stream ends."""
    packets: list[bytes] = []
    while not packets or not packets[-1][3] & 0x40:
        packet = b""
        while len(packet) < PACKET_BYTES:
            more = source.recv(PACKET_BYTES - len(packet))
            if not more:
                return None
            packet += more
        packets.append(packet)
    return packets


def _body(packets: list[bytes]) -> bytes:
    """Return message type and CCI message, as long as its header says."""
    body = b"".join(packet[_PACKET_HEAD:] for packet in packets)
    return body[: 1 + _CCI_HEAD + struct.unpack_from("<H", body, 6)[0]]


def _request(body: bytes) -> Told:
    """Return a command, out of its tunnels."""
    opcode, payload = struct.unpack_from("<H", body, 4)[0], body[1 + _CCI_HEAD :]
    places: list[int] = []
    while opcode == TUNNEL:
        places.append(payload[0])
        inner = payload[_TUNNEL_HEAD:]
        opcode, payload = struct.unpack_from("<H", inner, 3)[0], inner[_CCI_HEAD:]
    port, ld = [*places, None, None][:2]
    return Told(opcode, payload, port, ld)


def _answered(told: Told, body: bytes) -> Told:
    """Return a command with its answer, out of as many tunnels, or as far as it came."""
    message, tunnels = body[1:], (told.port is not None) + (told.ld is not None)
    code = struct.unpack_from("<H", message, 8)[0]
    for _ in range(tunnels):
        if code:
            break
        message = message[_CCI_HEAD + _TUNNEL_HEAD :]
        code = struct.unpack_from("<H", message, 8)[0]
    return Told(told.opcode, told.request, told.port, told.ld, code, message[_CCI_HEAD:])


@contextlib.contextmanager
def tapped(switch_port: int) -> Iterator[Tap]:
    """Yield a wire to the switch that listens on `switch_port`."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        tap = Tap(int(server.getsockname()[1]))
        threading.Thread(target=_accept, args=(tap, server, switch_port), daemon=True).start()
        yield tap
        # Else accept would go on waiting for whoever has the port next.
        server.shutdown(socket.SHUT_RDWR)


def _accept(tap: Tap, server: socket.socket, switch_port: int) -> None:
    with contextlib.suppress(OSError):
        while True:
            manager, _ = server.accept()
            try:
                switch = socket.create_connection(("127.0.0.1", switch_port), WAIT_S)
            except OSError:
                manager.close()
                continue
            switch.settimeout(None)
            for each in (manager, switch):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tap.connections += 1
            connection = _Connection(tap, manager, switch)
            for run in (connection.requests, connection.answers):
                threading.Thread(target=run, daemon=True).start()
