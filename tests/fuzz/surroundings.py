"""What stands around a fuzzed service: receivers of events, and readers of streams."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from redfish_fm.control.delivery import Parcel
from redfish_fm.redfish.requests import Flow
from tests.cases.stack import Outbox
from tests.fuzz.events import DEAD

LISTEN_S = 1.0
"""Virtual time for which a stream is read."""


class Receivers(Outbox):
    """Take or refuse what is sent, by its URL; nothing is kept but what is wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.got = 0

    async def send(self, parcel: Parcel) -> str | None:
        """Take one request as a receiver does; return why not."""
        await asyncio.sleep(0.001)
        if parcel.url.endswith(DEAD):
            return "nobody listens there"
        self.got += 1
        if not json.loads(parcel.body).get("Events"):
            self.wrong.append(f"a request without events was sent to {parcel.url}")
        return None


@dataclass
class Ear:
    """Reads a stream until `end`: a client that reads at once what there is."""

    heard: bytearray = field(default_factory=bytearray)
    over: bool = False
    _told: list[Callable[[], None]] = field(default_factory=list)

    @property
    def behind(self) -> bool:
        return False

    def on_over(self, told: Callable[[], None]) -> None:
        self._told.append(told)

    def send(self, data: bytes) -> None:
        self.heard += data

    async def drained(self) -> None:
        return

    def end(self) -> None:
        self.over = True
        for each in self._told:
            each()


async def heard(flow: Flow, begun: bytes) -> list[str]:
    """Read a stream that began with `begun` for a moment; return what is wrong with it."""
    ear = Ear()
    reading = asyncio.create_task(flow.run(ear))
    await asyncio.sleep(LISTEN_S)
    ear.end()
    await reading
    return misread(begun + bytes(ear.heard))


def misread(text: bytes) -> list[str]:
    """Return what is wrong with server-sent events (HTML "Server-sent events")."""
    wrong = []
    for block in text.decode().split("\n\n"):
        rows = [row.partition(":") for row in block.split("\n") if row]
        data = "\n".join(value.removeprefix(" ") for name, _, value in rows if name == "data")
        if any(name not in ("", "id", "data", "event", "retry") for name, _, _ in rows):
            wrong.append(f"no field of an event stream: {block[:200]!r}")
        elif data and "Events" not in json.loads(data):
            wrong.append(f"no events in one of a stream: {data[:200]!r}")
    return wrong
