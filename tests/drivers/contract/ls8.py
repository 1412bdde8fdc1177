"""The LS-8 of docs/writing-a-driver.md: an imaginary switch on loopback that can be disturbed.

One connection, one line of JSON, one line in answer; a connection that says "watch" is told of
changes until it ends. A command whose connection is gone is carried out within LATE_MAX_S.
"""

import asyncio
import json
from typing import Any

LATE_MAX_S = 0.3
SLOTS = 4
HOSTS = ["host1", "host2"]
DEVICES = {"D1": "gpu1", "D2": "gpu2", "D3": None}


class Ls8:
    """A powered switch with two hosts, two devices and an empty slot."""

    def __init__(self) -> None:
        self.bound: dict[tuple[str, int], str] = {}
        self.watchers: list[asyncio.StreamWriter] = []
        self.hold_s = 0.0
        self.look_hold_s = 0.0
        self.loses = False
        self.garbage: bytes | None = None
        self.late_s: float | None = None
        self._late: set[asyncio.Task[None]] = set()
        self._connections: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self.watched = asyncio.Event()
        self.has_command = asyncio.Event()
        self.has_lost_manager = asyncio.Event()
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen; returns the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        for task in tuple(self._late):
            task.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)
        for writer in tuple(self._connections):
            writer.transport.abort()
        await self._server.wait_closed()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def change(self, vcs: str, slot: int, port: str) -> None:
        """Bind as somebody else would."""
        self.bound[vcs, slot] = port
        garbage, self.garbage = self.garbage, None
        for watcher in self.watchers:
            watcher.write(b'{"changed": "ls8"}\n' if garbage is None else garbage)
            if garbage is not None:
                watcher.close()
        if garbage is not None:
            self.watchers.clear()
            self.watched.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            verb, *words = json.loads(await reader.readline())
            if verb == "watch":
                self.watchers.append(writer)
                self.watched.set()
                await reader.read()
                if writer in self.watchers:
                    self.watchers.remove(writer)
            elif verb in ("describe", "look"):
                answer = getattr(self, f"_{verb}")()
                hold_s, self.look_hold_s = self.look_hold_s, 0.0
                if not await _gone_within(reader, hold_s):
                    self._answer(writer, answer)
            else:
                await self._command(verb, words, reader, writer)
        except (OSError, ValueError):
            pass  # the manager is gone, or closed before it asked
        finally:
            writer.close()
            self._connections.discard(writer)

    async def _command(
        self,
        verb: str,
        words: list[Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        hold_s, self.hold_s = self.hold_s, 0.0
        self.has_command.set()
        gone = await _gone_within(reader, hold_s)
        late_s, self.late_s = self.late_s, None
        if gone or late_s is not None:
            self._run_late(verb, words, LATE_MAX_S / 2 if late_s is None else late_s)
            self.has_lost_manager.set()
            return
        answer = self._run(verb, words)
        if self.loses:
            self.loses = False
            return
        self._answer(writer, answer)

    def _answer(self, writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
        """Write an answer, or once what `garbage` holds instead."""
        garbage, self.garbage = self.garbage, None
        writer.write(json.dumps(answer).encode() + b"\n" if garbage is None else garbage)

    def _run_late(self, verb: str, words: list[Any], delay_s: float) -> None:
        async def later() -> None:
            await asyncio.sleep(delay_s)
            self._run(verb, words)

        task = asyncio.ensure_future(later())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    def _run(self, verb: str, words: list[Any]) -> dict[str, str]:
        """Carry out a bind or unbind; returns the answer."""
        switch, vcs, slot, target_switch, port = words
        known = switch == target_switch == "ls8" and vcs in ("1", "2") and 0 <= slot < SLOTS
        if not known:
            return {"no": "there is no such switch, partition or slot"}
        holder = next((at for at, bound in self.bound.items() if bound == port), None)
        if verb == "unbind":
            if holder == (vcs, slot):
                del self.bound[vcs, slot]
            return {"yes": ""}
        if DEVICES.get(port) is None:
            return {"no": "there is no device at that port"}
        if holder not in (None, (vcs, slot)) or self.bound.get((vcs, slot), port) != port:
            return {"no": "the port or the slot is taken"}
        self.bound[vcs, slot] = port
        return {"yes": ""}

    def _describe(self) -> dict[str, Any]:
        upstream = [[f"U{n}", "UpstreamPort", host, None] for n, host in enumerate(HOSTS, 1)]
        downstream = [[port, "DownstreamPort", None, device] for port, device in DEVICES.items()]
        uuid = "11111111-2222-3333-4444-55555555555"
        return {
            "switch": "ls8",
            "serial": "LS8-0001",
            "slots": SLOTS,
            "ports": [*upstream, *downstream],
            "devices": [[d, "GPU", "G1", f"S-{d}"] for d in DEVICES.values() if d],
            "hosts": [[host, f"{uuid}{n}", 2, 64, 524_288] for n, host in enumerate(HOSTS)],
        }

    def _look(self) -> dict[str, Any]:
        slots = [[vcs, n, self.bound.get((vcs, n))] for vcs in ("1", "2") for n in range(SLOTS)]
        ports = [[f"U{n}", True, True, 512.0, 16] for n in (1, 2)]
        for port, device in DEVICES.items():
            ports.append(
                [port, True, True, 512.0, 16] if device else [port, False, False, None, None]
            )
        return {"switch": "ls8", "slots": slots, "ports": ports}


async def _gone_within(reader: asyncio.StreamReader, hold_s: float) -> bool:
    """Wait `hold_s`, or until the manager's end of the connection is gone; return which."""
    ended = asyncio.ensure_future(reader.read())
    await asyncio.wait((ended,), timeout=hold_s)
    gone = ended.done()
    ended.cancel()
    await asyncio.gather(ended, return_exceptions=True)
    return gone
