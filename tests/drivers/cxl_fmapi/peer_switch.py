"""A small CXL switch behind a Peer: raw bytes in and out, state in plain dicts.

It can misbehave in the ways real ones were seen to: see the fields of SwitchState.
"""

import asyncio
import struct
from dataclasses import dataclass, field

from tests.drivers.cxl_fmapi.peer import FRAMES, IDENTITY, Asked, Peer, Reply

ASSERT, DEASSERT, RESET_PPB = range(3)
OK, STARTED, INVALID, UNSUPPORTED, INTERNAL, RETRY, BUSY = 0, 1, 2, 3, 4, 5, 6


@dataclass
class SwitchState:
    """`vppbs`: (vcs, vppb) to (status, port, ld). `mlds`: port to LD count.

    `operation_s`: how long a background operation takes; 0 answers at once with success.
    `end_code`: what the operation ends with. `silent`: opcodes that are not answered. `held`: ports
    whose PERST# is asserted; `controls`: what was asked by Physical Port Control.
    """

    ports: int = 8
    usps: int = 1
    vcss: int = 2
    vppb_count: int = 4
    mlds: dict[int, int] = field(default_factory=lambda: {5: 4})
    vppbs: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    operation_s: float = 0.1
    end_code: int = OK
    executes: bool = True
    busy: int = 0
    retries: int = 0
    silent: set[int] = field(default_factory=set)
    identity: bytes = IDENTITY
    status: bytes = bytes(8)
    shown_opcode: int | None = None
    stuck: bool = False
    strict_ports: bool = False
    typed_tunnel: bool = False
    inner_opcode: int | None = None
    allocations: list[int] = field(default_factory=lambda: [4, 4, 4, 4])
    events: list[bytes] = field(default_factory=list)
    commands: list[int] = field(default_factory=list)
    held: set[int] = field(default_factory=set)
    controls: list[tuple[int, int]] = field(default_factory=list)
    running: set[asyncio.Task[None]] = field(default_factory=set)

    def attach(self, peer: Peer) -> Peer:
        """Let a peer answer with this switch."""
        for opcode in (1, 2, 0x100, 0x101, 0x105, 0x400, 0x401, 0x5100, 0x5101, 0x5102, 0x5103):
            peer.answers[opcode] = self.answer
        for opcode in (0x5200, 0x5201, 0x5202, 0x5300, 0x5400, 0x5401, 0x5402, 0x5603):
            peer.answers[opcode] = self.answer
        return peer

    def answer(self, asked: Asked) -> Reply | None:
        """Answer one command."""
        self.commands.append(asked.opcode)
        if asked.opcode in self.silent:
            return None
        if asked.opcode not in (1, 2):
            if self.busy:
                self.busy -= 1
                return Reply(BUSY)
            if self.retries:
                self.retries -= 1
                return Reply(RETRY)
        method = getattr(self, f"do_{asked.opcode:04x}", None)
        return method(asked) if method else Reply(UNSUPPORTED)

    def do_0001(self, _: Asked) -> Reply:
        return Reply(payload=self.identity)

    def do_0002(self, _: Asked) -> Reply:
        status = self.status
        if self.shown_opcode is not None:
            status = status[:2] + struct.pack("<H", self.shown_opcode) + status[4:]
        return Reply(payload=status)

    def do_5100(self, _: Asked) -> Reply:
        mask = ((1 << self.ports) - 1).to_bytes(32, "little")
        vcss = ((1 << self.vcss) - 1).to_bytes(32, "little")
        total = self.vcss * self.vppb_count
        head = bytes((0, 0, self.ports, self.vcss))
        return Reply(payload=head + mask + vcss + struct.pack("<HHB", total, len(self.vppbs), 32))

    def do_5101(self, asked: Asked) -> Reply:
        wanted = asked.payload[1 : 1 + asked.payload[0]]
        if self.strict_ports and any(port >= self.ports for port in wanted):
            return Reply(INVALID)
        known = [port for port in wanted if port < self.ports]
        return Reply(
            payload=bytes((len(known), 0, 0, 0)) + b"".join(self._port(port) for port in known)
        )

    def _port(self, port: int) -> bytes:
        if port < self.usps:
            return bytes((port, 4, 2, 0, 0, 3, 16, 16, 0x3F, 5, 5, 4, 0, 4, 0, 0))
        kind = 5 if port in self.mlds else 4
        flags = 4 | (port in self.held) << 1
        return bytes(
            (port, 3, 2, 0, kind, 3, 16, 8, 0x3F, 5, 4, 4, 0, flags, 0, self.mlds.get(port, 0))
        )

    def do_5102(self, asked: Asked) -> Reply:
        port, operation = asked.payload
        self.controls.append((port, operation))
        if operation == ASSERT:
            self.held.add(port)
        elif (operation == DEASSERT) != (port in self.held):
            return Reply(INTERNAL)
        else:
            self.held.discard(port)
        return Reply()

    def do_5103(self, asked: Asked) -> Reply:
        return Reply(payload=struct.pack("<I", asked.payload[1] | asked.payload[2] << 8))

    def do_5200(self, asked: Asked) -> Reply:
        start, limit, count = asked.payload[:3]
        wanted = [vcs for vcs in asked.payload[3 : 3 + count] if vcs < self.vcss]
        if len(wanted) < count:
            return Reply(INVALID)
        out = bytes((count, 0, 0, 0))
        for vcs in wanted:
            out += bytes((vcs, 1, vcs, self.vppb_count))
            for vppb in range(start, min(self.vppb_count, start + limit)):
                out += bytes((*self.vppbs.get((vcs, vppb), (0, 0, 0xFF)), 0xFF))
        return Reply(payload=out)

    def do_5201(self, asked: Asked) -> Reply:
        vcs, vppb, port, _, ld = struct.unpack("<BBBBH", asked.payload)
        bound = (2, port, 0xFF) if ld == 0xFFFF else (3, port, ld)
        return self._operate(0x5201, (vcs, vppb), bound)

    def do_5202(self, asked: Asked) -> Reply:
        return self._operate(0x5202, (asked.payload[0], asked.payload[1]), None)

    def _operate(
        self, opcode: int, vppb: tuple[int, int], then: tuple[int, int, int] | None
    ) -> Reply:
        if self.running:
            return Reply(BUSY)
        if self.operation_s == 0:
            self._end(opcode, vppb, then)
            return Reply(self.end_code)
        self.status = struct.pack("<BxHHH", 50 << 1 | 1, opcode, 0, 0)
        task = asyncio.ensure_future(self._later(opcode, vppb, then))
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return Reply(STARTED, background=True)

    async def _later(
        self, opcode: int, vppb: tuple[int, int], then: tuple[int, int, int] | None
    ) -> None:
        before = self.vppbs.get(vppb)
        self.vppbs[vppb] = (1, *(before or (0, 0, 0))[1:])
        await asyncio.sleep(self.operation_s)
        if before is None:
            del self.vppbs[vppb]
        else:
            self.vppbs[vppb] = before
        self._end(opcode, vppb, then)

    def _end(self, opcode: int, vppb: tuple[int, int], then: tuple[int, int, int] | None) -> None:
        if self.end_code == OK and self.executes:
            self.vppbs.pop(vppb, None)
            if then is not None:
                self.vppbs[vppb] = then
        if not self.stuck:
            self.status = struct.pack("<BxHHH", 100 << 1, opcode, self.end_code, 0)

    def do_5300(self, asked: Asked) -> Reply:
        port, _, size = struct.unpack_from("<BBH", asked.payload)
        inner = asked.payload[4 : 4 + size]
        if self.typed_tunnel:
            inner = inner[1:]
        opcode = inner[3] | inner[4] << 8
        reply = self.answer(Asked(opcode, inner[12:], inner[1], 8, port))
        if reply is None:
            return Reply(INTERNAL)
        shown = self.inner_opcode or opcode
        first = 0x10 if self.typed_tunnel else 1
        out = struct.pack(
            "<BBBHHBHH", first, inner[1], 0, shown, len(reply.payload), 0, reply.code, 0
        )
        out = (b"\x08" if self.typed_tunnel else b"") + out + reply.payload
        return Reply(payload=struct.pack("<HH", len(out), 0) + out)

    def do_5400(self, asked: Asked) -> Reply:
        count = self.mlds.get(asked.port)
        if count is None:
            return Reply(INVALID)
        return Reply(payload=struct.pack("<QHB", count << 30, count, 3))

    def do_5401(self, asked: Asked) -> Reply:
        some = self.allocations[asked.payload[0] :][: asked.payload[1]]
        head = bytes((len(self.allocations), 0, asked.payload[0], len(some)))
        return Reply(payload=head + b"".join(struct.pack("<QQ", each, 0) for each in some))

    def do_5402(self, asked: Asked) -> Reply:
        count, start = asked.payload[:2]
        for index in range(count):
            (self.allocations[start + index],) = struct.unpack_from(
                "<Q", asked.payload, 4 + 16 * index
            )
        return Reply(payload=asked.payload[:2] + b"\xff\xff" + asked.payload[4:])

    def do_0100(self, _: Asked) -> Reply:
        some = self.events[:2]
        more = len(self.events) > 2
        head = struct.pack("<BxHQQH10x", more << 1, 0, 0, 0, len(some))
        return Reply(payload=head + b"".join(some))

    def do_0101(self, asked: Asked) -> Reply:
        count = asked.payload[2]
        handles = struct.unpack_from(f"<{count}H", asked.payload, 6)
        self.events = [
            each for each in self.events if struct.unpack_from("<H", each, 0x14)[0] not in handles
        ]
        return Reply()


def peer_of(state: SwitchState, speak: str = "packets", jrl: bool = False) -> Peer:
    """Return a peer that answers with the switch; frames come with opcode 0."""
    return state.attach(Peer(speak, jrl=jrl, zero_opcode=speak == FRAMES))
