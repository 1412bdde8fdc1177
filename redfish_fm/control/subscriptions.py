"""All subscriptions to events: a delivery for each, how far it has got, and how it does.

Follows what is published: a subscription that is made gets a delivery, one that is deleted loses
it. How far each has got is kept in the store at most once a second, so a delivery costs no flush;
after a crash the events of the last second may be sent again, with the same ids. That a receiver
does not answer is shown in the Status of its subscription, and only there. So is that nothing is
sent because whoever made the subscription may not hear of events at present.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.control.delivery import Delivering, Delivery, Send
from redfish_fm.control.delivery_words import DeliveryWords, Read, Shared
from redfish_fm.control.event_stream import EventStream
from redfish_fm.control.published import Published
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.fabric.health import Health
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.event_service import Retrying, retrying
from redfish_fm.mapping.subscription_values import (
    PUSH,
    RetryPolicy,
    Subscription,
    decode_kept,
    read_subscription,
)
from redfish_fm.mapping.subscriptions import barred, ended, suspended, undelivered
from redfish_fm.mapping.uris import EVENT_SERVICE, SUBSCRIPTION
from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.changes import Change, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.events import START, Position
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.times import date_time
from redfish_fm.redfish.wakes import pause
from redfish_fm.store.base import Cursor, Store, StoreError, StoreFull

log = logging.getLogger(__name__)

ACTOR = "events"
FLUSH_S = 1.0
"""Between two notes of how far deliveries have got."""

_BELOW = SUBSCRIPTION.format(subscription="")
_ACCOUNTS = f"{ACCOUNTS}/"
_SPACES = frozenset({Space.DOCUMENT, Space.OVERLAY, Space.SECRET})


class Subscriptions:
    """Load it, give `published` to the writer's on_publish, run `run`, `close` before the store.

    `send` delivers one parcel, `read` gives a resource as it is served, `allowed(user_name)` tells
    whether a user may hear of events. Each of `on_end` is called with the URI of a subscription
    that was deleted, whoever did it.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        published: Published,
        stream: EventStream,
        registries: Registries,
        clock: Clock,
        rng: random.Random,
        send: Send,
        read: Read,
        allowed: Callable[[str], bool],
    ) -> None:
        self._store = store
        self._writer = writer
        self._published = published
        self._stream = stream
        self._clock = clock
        self._settings: Retrying | None = None
        words = DeliveryWords(stream, registries, read)
        self._common = Delivering(
            stream, words, Shared(words), registries, clock, rng, send, self.settings, allowed
        )
        self._deliveries: dict[str, Delivery] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._parting: set[asyncio.Task[None]] = set()
        self._barred: set[str] = set()
        self._group: asyncio.TaskGroup | None = None
        self._cursors: dict[str, Position] = {}
        self._dirty: dict[str, Cursor | None] = {}
        self._since: dict[str, float] = {}
        self._flushing = asyncio.Lock()
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()
        self._closing = False
        self.on_end: list[Callable[[str], None]] = []
        self.events_delivered = 0
        self.failures = 0

    @property
    def words(self) -> DeliveryWords:
        """What events are rendered by: streams share it."""
        return self._common.words

    @property
    def shared(self) -> Shared:
        """What deliveries have in common."""
        return self._common.shared

    def settings(self) -> Retrying:
        """Return what the EventService says about delivery."""
        if self._settings is None:
            self._settings = retrying(self._published.state.document(EVENT_SERVICE) or {})
        return self._settings

    def owner_of(self, uri: str) -> str | None:
        """Return the user who made the subscription at `uri`; None where nobody did."""
        if not uri.startswith(_BELOW):
            return None
        kept = self._published.state.spaces[Space.SECRET].get(uri)
        return decode_kept(kept).owner or None

    @property
    def waiting(self) -> int:
        """How many subscriptions have a receiver that does not take what is sent."""
        return len(self._since)

    async def load(self) -> None:
        """Take over what is stored: call once the writer has it, before `run`."""
        self._cursors = dict(await self._store.cursors())
        for position in self._cursors.values():
            self._stream.known(position)
        documents = self._published.state.spaces[Space.DOCUMENT]
        for uri in [uri for uri in documents if uri.startswith(_BELOW)]:
            self._begin(uri)
        for uri in self._cursors.keys() - self._deliveries.keys():
            self._forget(uri)

    def published(self, changes: Sequence[Change]) -> None:
        """Follow what was published."""
        edits = [edit for change in changes for edit in change.edits if edit.space in _SPACES]
        touched = dict.fromkeys(edit.key for edit in edits)
        if EVENT_SERVICE in touched:
            self._settings = None
        ours = [uri for uri in touched if uri.startswith(_BELOW)]
        parting = _gone_with_accounts(changes) if ours else ()
        for uri in ours:
            self._follow(uri, parting=uri in parting)

    def check(self) -> None:
        """Stop delivering to those who may hear of events no more, and go on where they may."""
        for uri in self._deliveries:
            self._bar(uri)

    def _bar(self, uri: str) -> None:
        delivery = self._deliveries[uri]
        if delivery.barred == (uri in self._barred):
            return
        self._barred ^= {uri}
        self._since.pop(uri, None)
        shown = None
        if delivery.barred:
            log.warning("nothing is sent to %s: who made it may not hear of events", uri)
            shown = {"Status": barred(uri, date_time(self._clock.wall_s()))}
        self._published.observe({uri: shown})
        delivery.look_again()

    async def run(self) -> None:
        """Deliver until cancelled or closed."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for uri in self._deliveries:
                    self._start(uri)
                while not self._closing:
                    await self._wake.wait()
                    self._wake.clear()
                    await pause(self._clock, self._stop, FLUSH_S)
                    await self.flush()
                for task in self._running.values():
                    task.cancel()
        finally:
            self._group = None
            self._running.clear()

    async def close(self) -> None:
        """Deliver no more, and note how far all have got. Call while the store is open."""
        self._closing = True
        self._wake.set()
        self._stop.set()
        running = [*self._running.values(), *self._parting]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        await self.flush()

    async def flush(self) -> None:
        """Keep how far deliveries have got since the last time."""
        async with self._flushing:
            dirty, self._dirty = self._dirty, {}
            if not dirty:
                return
            try:
                await self._store.put_cursors(dirty)
            except StoreError as error:
                # Nothing is lost: after a crash more is sent again.
                log.warning("how far events were delivered could not be stored: %s", error)
                self._dirty = {**dirty, **self._dirty}
                self._wake.set()
                if not isinstance(error, StoreFull):
                    self._writer.reopen(error)

    # What deliveries tell (control.delivery.Watcher).

    def reached(self, uri: str, position: Position) -> None:
        """Note that all up to `position` need not be sent any more."""
        if uri in self._deliveries:
            self._note(uri, position)

    def delivered(self, uri: str, events: int) -> None:
        """Note that a receiver has taken so many events."""
        self.events_delivered += events
        if self._since.pop(uri, None) is not None:
            log.info("events are delivered again to %s", uri)
            self._published.observe({uri: None})

    def failed(self, uri: str, reason: str, last: bool) -> None:
        """Note that a receiver has not, and show it."""
        self.failures += 1
        if uri not in self._deliveries or uri in self._barred:
            return
        if uri not in self._since:
            log.warning("events can not be delivered to %s: %s", uri, reason)
            self._since[uri] = self._clock.wall_s()
        severity = Health.CRITICAL if last else Health.WARNING
        condition = undelivered(uri, reason, date_time(self._since[uri]), severity)
        status = {"Health": severity.value, "Conditions": [condition]}
        self._published.observe({uri: {"Status": status}})

    async def given_up(self, uri: str, policy: RetryPolicy, reason: str) -> bool:
        """End or suspend the subscription; return whether that is done."""
        since = date_time(self._since.get(uri, self._clock.wall_s()))

        def prepare(tip: TipView) -> Draft:
            if policy is RetryPolicy.TERMINATE:
                return ended(uri, tip)
            return suspended(uri, reason, since, tip)

        try:
            await self._writer.submit(prepare, ACTOR)
        except RedfishError as error:
            log.warning("%s could not be ended or suspended: %s", uri, error)
            return False
        log.warning("%s after too many attempts (%s): %s", policy.value, reason, uri)
        return True

    # Which deliveries there are.

    def _follow(self, uri: str, *, parting: bool) -> None:
        if uri not in self._published.state.spaces[Space.DOCUMENT]:
            self._end(uri, parting=parting)
        elif self._is_another(uri):
            # Deleted, and made anew under the same Id in the same batch.
            self._end(uri)
            self._begin_now(uri)
        elif uri in self._deliveries:
            self._update(uri)
        else:
            self._begin_now(uri)

    def _is_another(self, uri: str) -> bool:
        delivery = self._deliveries.get(uri)
        return (
            delivery is not None
            and delivery.subscription.kept.begins != self._read(uri).kept.begins
        )

    def _begin_now(self, uri: str) -> None:
        self._begin(uri)
        if uri in self._deliveries:
            self._start(uri)

    def _read(self, uri: str) -> Subscription:
        spaces = self._published.state.spaces
        document: Mapping[str, object] = msgspec.json.decode(spaces[Space.DOCUMENT][uri])
        return read_subscription(uri, document, spaces[Space.SECRET].get(uri))

    def _begin(self, uri: str) -> None:
        subscription = self._read(uri)
        if subscription.kind == PUSH:
            after = self._cursors.pop(uri, START)
            self._deliveries[uri] = Delivery(subscription, after, self._common, self)
            self._bar(uri)

    def _start(self, uri: str) -> None:
        if self._group is not None and not self._closing:
            self._running[uri] = self._group.create_task(self._deliveries[uri].run())

    def _update(self, uri: str) -> None:
        subscription = self._read(uri)
        self._deliveries[uri].update(subscription)
        if not subscription.enabled and self._since.pop(uri, None) is not None:
            # Why it is suspended stands in the document itself.
            self._published.observe({uri: None})

    def _end(self, uri: str, *, parting: bool = False) -> None:
        running = self._running.pop(uri, None)
        if running is not None:
            running.cancel()
        delivery = self._deliveries.pop(uri, None)
        if delivery is not None:
            heard = delivery.subscription.enabled and uri not in self._since.keys() | self._barred
            if parting and heard and self._group is not None and not self._closing:
                task = self._group.create_task(delivery.part())
                self._parting.add(task)
                task.add_done_callback(self._parting.discard)
            self._forget(uri)
        for each in self.on_end:
            each(uri)

    def _forget(self, uri: str) -> None:
        self._since.pop(uri, None)
        self._barred.discard(uri)
        self._cursors.pop(uri, None)
        self._note(uri, None)

    def _note(self, uri: str, cursor: Cursor | None) -> None:
        self._dirty[uri] = cursor
        self._wake.set()


def _gone_with_accounts(changes: Sequence[Change]) -> set[str]:
    """Return the URIs of all that was deleted by a change that deletes an account."""
    gone = ({edit.key for edit in change.edits if edit.post is None} for change in changes)
    return {
        uri for uris in gone if any(each.startswith(_ACCOUNTS) for each in uris) for uri in uris
    }
