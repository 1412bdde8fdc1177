"""Event streams (server-sent events): what is new goes to all who read, at once and once made.

One task follows the events and sends each to every stream that wants it; the bytes are the same for
all who want the same. A client that reads too slowly leaves that round and reads on at its own
pace, from memory or from the stored feed, until it has caught up: nobody waits for it, and nothing
is kept for it but its position. Each stream is an EventDestination while it lasts; who deletes
that, closes the stream.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from functools import partial

from redfish_fm.clocks import Clock
from redfish_fm.control.delivery_words import DeliveryWords
from redfish_fm.control.event_stream import Batch, EventStream
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.subscriptions import ended, is_stream, stream_opened
from redfish_fm.mapping.uris import EVENT_SERVICE, SUBSCRIPTIONS
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.events import Event, Position, event_id
from redfish_fm.redfish.requests import Sink
from redfish_fm.redfish.sse_filter import StreamFilter
from redfish_fm.redfish.streams import StreamWish
from redfish_fm.redfish.writes import OutcomeKind

log = logging.getLogger(__name__)

ACTOR = "events"
GATHER_S = 0.1
"""Rest after a round: what happens meanwhile goes together. The first event waits for nothing."""
ROUND_MAX = 500
"""Events in one round."""
CATCHING_UP_MAX = 100
"""Events that one client gets in one go while it catches up, some 60 kB."""
AT_ONCE = 64
"""Streams that are sent to before requests have their turn again: about a millisecond."""
KEEP_ALIVE_S = 10.0
"""A stream on which nothing was sent for that long gets a comment; so none is silent for 20 s."""
RETRY_S = 1.0

GREETING = b"retry: 3000\n: events follow\n\n"
"""What comes first: how many ms a client waits before it connects again, and something to read."""
KEEP_ALIVE = b": alive\n\n"


class Stream:
    """One client's events: the flow of its answer. `uri` is its EventDestination."""

    def __init__(
        self, streams: "Streams", uri: str, user_name: str, wish: StreamFilter, after: Position
    ) -> None:
        self.uri = uri
        self.user_name = user_name
        self.filter = wish
        self.position = after
        self.quiet = False
        """Whether nothing was sent since the last look."""
        self._streams = streams
        self._sink: Sink | None = None
        self._ended = False
        self._turn: asyncio.Future[None] | None = None

    async def run(self, sink: Sink) -> None:
        """Send events until the client is gone or the stream is ended."""
        self._sink = sink
        sink.on_over(self._wake)
        try:
            self.send(GREETING)
            while not self._over(sink):
                if await self._caught_up(sink):
                    self._turn = asyncio.get_running_loop().create_future()
                    self._streams.join(self)
                    await self._turn
                    self._streams.leave(self)
        finally:
            self._streams.gone(self)

    def end(self) -> None:
        """Close it: whoever read it may no more, or its EventDestination was deleted."""
        self._ended = True
        self._wake()

    def send(self, data: bytes) -> None:
        """Send to the client; where that is more than it reads, let it go on at its own pace."""
        if self._sink is not None:
            self.quiet = False
            self._sink.send(data)
            if self._sink.behind:
                self._wake()

    async def _caught_up(self, sink: Sink) -> bool:
        """Send what there is by now; return True where nothing is left and no time has passed."""
        while True:
            await sink.drained()
            if self._over(sink):
                return False
            if self.position >= self._streams.sent:
                return True
            batch = await self._streams.read(self.position, CATCHING_UP_MAX)
            data = self._streams.told(batch, self)
            self.position = batch.through
            if data:
                self.send(data)

    def _over(self, sink: Sink) -> bool:
        return self._ended or sink.over

    def _wake(self) -> None:
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(None)


class Streams:
    """All streams. Run `run` as a task; `end` closes the stream of an EventDestination.

    `allowed(user_name)` tells whether a user may still listen, `enabled()` whether events are sent
    at all. `sent_total` counts events sent, once for each stream.
    """

    def __init__(
        self,
        stream: EventStream,
        words: DeliveryWords,
        writer: Writer,
        clock: Clock,
        *,
        limit: int,
        allowed: Callable[[str], bool],
        enabled: Callable[[], bool],
    ) -> None:
        self._stream = stream
        self._words = words
        self._writer = writer
        self._clock = clock
        self._limit = limit
        self._allowed = allowed
        self._enabled = enabled
        self._open: dict[str, Stream] = {}
        self._opening = 0
        self._joined: dict[Stream, None] = {}
        self._left_behind: set[str] = set()
        self._reap = asyncio.Event()
        self.sent = stream.newest
        """Up to where those who have joined are served, or are being served."""
        self._served = self.sent
        self.read = stream.read
        self.sent_total = 0

    @property
    def open_now(self) -> int:
        """How many streams there are."""
        return len(self._open)

    async def open(self, wish: StreamWish) -> Stream:
        """Return a new stream, whose EventDestination is made. Raises RedfishError (503)."""
        if not self._enabled():
            raise RedfishError(503, (messages.service_disabled(EVENT_SERVICE),))
        if len(self._open) + self._opening >= self._limit:
            raise RedfishError(503, (messages.event_subscription_limit_exceeded(),))

        peer = f"[{wish.peer}]" if ":" in wish.peer else wish.peer

        def prepare(tip: TipView) -> Draft:
            return stream_opened(wish.user_name, peer, wish.filter.shown, tip)

        self._opening += 1
        try:
            committed = await self._writer.submit(prepare, wish.user_name)
        finally:
            self._opening -= 1
        newest = self._stream.newest
        # Nothing is after the end: a client of an earlier life can have had what is gone with it.
        after = newest if wish.after is None else min(wish.after, newest)
        opened = Stream(self, committed.draft.uri, wish.user_name, wish.filter, after)
        self._open[opened.uri] = opened
        if not self._still_wanted(opened):
            # While its EventDestination was being stored; nobody knew the stream yet.
            opened.end()
        return opened

    def _still_wanted(self, stream: Stream) -> bool:
        there = self._writer.tip_view.is_wanted(stream.uri)
        return there and self._enabled() and self._allowed(stream.user_name)

    def end(self, uri: str) -> None:
        """Close the stream of an EventDestination that is gone."""
        found = self._open.get(uri)
        if found is not None:
            found.end()

    def clean_up(self, uris: Iterable[str]) -> None:
        """Have the EventDestinations of streams deleted as soon as the store takes it.

        Those that an earlier life has left, say: whoever read them is gone.
        """
        self._left_behind.update(uris)
        if self._left_behind:
            self._reap.set()

    def check(self) -> None:
        """Close the streams of those who may no longer listen, or all where events are off."""
        enabled = self._enabled()
        answers = {name: enabled and self._allowed(name) for name in self._users()}
        for stream in self._open.values():
            if not answers[stream.user_name]:
                stream.end()

    async def run(self) -> None:
        """Send what is new, until cancelled."""
        self.sent = self._served = self._stream.newest
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._keep_alive())
            tasks.create_task(self._clean_up())

    # What streams call.

    def join(self, stream: Stream) -> None:
        """Have a stream, which has had everything, sent what comes."""
        self._joined[stream] = None

    def leave(self, stream: Stream) -> None:
        """Send no more to a stream; it goes on by itself."""
        self._joined.pop(stream, None)

    def gone(self, stream: Stream) -> None:
        """Forget a stream; its EventDestination goes with it."""
        self.leave(stream)
        self._open.pop(stream.uri, None)
        self.clean_up((stream.uri,))

    def told(self, batch: Batch, stream: Stream) -> bytes:
        """Return what a stream gets of a batch that was read for it alone."""
        events = [event for event in batch.events if _wanted(event, stream)]
        self.sent_total += len(events)
        return b"".join([*self._gap(batch, stream), *map(self._message, events)])

    # The round.

    async def _follow(self) -> None:
        while True:
            await self._stream.wait(self._served)
            batch = await self._stream.read(self._served, ROUND_MAX)
            await self._round(batch)
            if len(batch.events) < ROUND_MAX:
                await self._clock.sleep(GATHER_S)

    async def _round(self, batch: Batch) -> None:
        """Send a batch to all who have had what came before."""
        start, self.sent = self._served, batch.through
        made: dict[Position, bytes] = {}
        same: dict[str, tuple[int, bytes]] = {}
        for place, stream in enumerate([*self._joined]):
            if place % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
            if stream not in self._joined or stream.position >= batch.through:
                continue
            if stream.position == start:
                found = same.get(stream.filter.text)
                if found is None:
                    found = same[stream.filter.text] = self._chosen(batch, stream, made)
                count, data = found
            else:
                count, data = self._chosen(batch, stream, made)
            stream.position = batch.through
            self.sent_total += count
            if data:
                stream.send(data)
        self._served = batch.through

    def _chosen(
        self, batch: Batch, stream: Stream, made: dict[Position, bytes]
    ) -> tuple[int, bytes]:
        """Return how many events of a batch a stream gets, and their bytes."""
        pieces = self._gap(batch, stream)
        gaps = len(pieces)
        for event in batch.events:
            if event.position > stream.position and _wanted(event, stream):
                message = made.get(event.position)
                if message is None:
                    message = made[event.position] = self._message(event)
                pieces.append(message)
        return len(pieces) - gaps, b"".join(pieces)

    def _gap(self, batch: Batch, stream: Stream) -> list[bytes]:
        """Return what says that events before a batch are gone for good."""
        if not batch.gap:
            return []
        return [self._message(self._words.gap(batch, self._clock.wall_s(), stream.uri))]

    def _message(self, event: Event) -> bytes:
        """Return an event as one message of the stream; JSON as we write it has no line breaks."""
        payload = self._words.payload((event,), None, origin=False)
        return b"id: %b\ndata: %b\n\n" % (event_id(event).encode(), payload)

    # Besides.

    async def _keep_alive(self) -> None:
        while True:
            await self._clock.sleep(KEEP_ALIVE_S)
            for place, stream in enumerate([*self._joined]):
                if place % AT_ONCE == AT_ONCE - 1:
                    await asyncio.sleep(0)
                if stream.quiet:
                    stream.send(KEEP_ALIVE)
                stream.quiet = True

    async def _clean_up(self) -> None:
        """Delete the EventDestinations of streams that are over, as many as there are together."""
        while True:
            await self._reap.wait()
            self._reap.clear()
            uris, self._left_behind = self._left_behind, set()
            try:
                await self._writer.submit(partial(_over, frozenset(uris)), ACTOR)
            except RedfishError as error:
                log.warning("streams that are over could not be deleted yet: %s", error)
                self._left_behind |= uris
                self._reap.set()
                await self._clock.sleep(RETRY_S)

    def _users(self) -> set[str]:
        return {stream.user_name for stream in self._open.values()}


def _wanted(event: Event, stream: Stream) -> bool:
    if event.to is not None:
        return event.to == stream.uri
    return stream.filter.matches(event)


def _over(uris: Collection[str], tip: TipView) -> Draft:
    """Return the draft that deletes the EventDestinations of streams that are over.

    Not one that was made under the Id of a stream since that was deleted.
    """
    over = (uri for uri in uris if is_stream(uri, tip.wanted(uri)))
    edits = tuple(edit for uri in over for edit in ended(uri, tip).edits)
    kind = OutcomeKind.DELETED if edits else OutcomeKind.NO_OPERATION
    return Draft(kind, SUBSCRIPTIONS, edits)
