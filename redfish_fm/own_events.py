"""Events of the service: where they come from, whom they are delivered to, and what tests them.

A part of the composition root: it puts the feed, the stream of events, the subscriptions and what
sends to them behind the EventService.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.config import Config
from redfish_fm.control.delivery import HEARTBEAT, TERMINATED, Send
from redfish_fm.control.event_stream import EventStream
from redfish_fm.control.kernel import Kernel
from redfish_fm.control.streams import Streams
from redfish_fm.control.subscriptions import Subscriptions
from redfish_fm.mapping.documents import Documents
from redfish_fm.mapping.drafts import Subscribing
from redfish_fm.mapping.event_messages import examples
from redfish_fm.mapping.event_service import (
    EVENT_TYPES,
    TEST_MESSAGE,
    AboutEvents,
    event_service_documents,
)
from redfish_fm.mapping.events import EventSource
from redfish_fm.mapping.subscriptions import is_stream
from redfish_fm.mapping.uris import EVENT_SERVICE
from redfish_fm.redfish import messages
from redfish_fm.redfish.action_documents import Advertised, actions_property
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.changes import Change, Space
from redfish_fm.redfish.events import Event, fragment, member
from redfish_fm.redfish.privileges import Privileges
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.sse_filter import FORMATS, PROPERTIES, Words
from redfish_fm.redfish.streams import StreamDoor
from redfish_fm.redfish.view import Representation
from redfish_fm.redfish.writes import Commit, Outcome, Write
from redfish_fm.server.outgoing import Destinations
from redfish_fm.server.push import Push
from redfish_fm.store.base import Store, StoredState

_OWN = frozenset(
    {
        "AccountService",
        "EventDestinationCollection",
        "EventService",
        "ManagerAccountCollection",
        "RoleCollection",
        "SessionService",
        "TaskCollection",
        "TaskService",
    }
)
"""Types of the service's own resources, which every world has besides."""
EVENT_STREAM_URI = f"{EVENT_SERVICE}/SSE"
"""EventService ServerSentEventUri."""
_EVERYBODY = frozenset({"Login"})
"""What all have who may read anything."""
_WHO = "/redfish/v1/AccountService"
"""Below which changes say who may listen."""
_MADE_BY_ACTIONS = frozenset({"CompositionReservation", "Task"})
"""Types that come and go though nobody can POST one."""
_ALSO_TOLD = (TEST_MESSAGE, HEARTBEAT, TERMINATED, messages.event_buffer_exceeded())
"""Messages that come from no change: of tests, heartbeats, the end, what was kept no longer."""


def about_events(catalog: Catalog, odata_types: Iterable[str]) -> AboutEvents:
    """Return what there is to subscribe to, where resources of these types are served."""
    told = (message.key for message in (*examples(), *_ALSO_TOLD))
    prefixes = sorted({key.partition(".")[0] for key in told})
    served = {*_OWN, *(each.rpartition(".")[2] for each in odata_types)}
    members = {str(info.member) for name in served if (info := catalog.types.get(name)) is not None}
    return AboutEvents(
        tuple(prefixes),
        tuple(sorted(name for name in served | members if _changes(catalog, name))),
        actions_property(catalog, catalog.types["EventService"], EVENT_SERVICE),
        EVENT_STREAM_URI,
        tuple(PROPERTIES),
    )


def add_events(documents: Documents, about: AboutEvents) -> None:
    """Add the EventService to a world."""
    documents.update(event_service_documents(about))


def _changes(catalog: Catalog, name: str) -> bool:
    """Return whether a resource of a type ever is what an event is about."""
    info = catalog.types.get(name)
    if info is None or info.collection:
        return False
    creatable = info.create is not None and bool(info.create.collections)
    changes = creatable or bool(info.overlay_here) or bool(info.row.observed)
    return changes or name in _MADE_BY_ACTIONS


class OwnEvents:
    """Stands behind the EventService. `send` delivers instead of real requests, in tests.

    `may_listen` tells whether a user may go on reading a stream, `may_be_told` whether events are
    delivered to what it has subscribed.
    """

    def __init__(
        self,
        config: Config,
        kernel: Kernel,
        store: Store,
        catalog: Catalog,
        registries: Registries,
        privileges: Privileges,
        clock: Clock,
        rng: random.Random,
        may_listen: Callable[[str], bool],
        may_be_told: Callable[[str], bool],
        send: Send | None = None,
    ) -> None:
        self._kernel = kernel
        self._catalog = catalog
        self._registries = registries
        self._privileges = privileges
        self._advertised = Advertised(catalog)
        self._push = Push(
            Destinations.of(config.event_destinations),
            authorities=config.event_authorities,
            verify_all=config.verify_event_destinations,
        )
        registries.check(_ALSO_TOLD)
        source = EventSource(registries, self._type_of, self._inventory)
        self.stream = EventStream(store, source.events_of, self._rendered, clock)
        self.subscriptions = Subscriptions(
            store,
            kernel.writer,
            kernel.published,
            self.stream,
            registries,
            clock,
            rng,
            send or self._push.send,
            self._read,
            may_be_told,
        )
        kernel.writer.tip_view.subscribing = Subscribing(
            self._push.refuses, config.subscription_limit
        )
        self.streams = Streams(
            self.stream,
            self.subscriptions.words,
            kernel.writer,
            clock,
            limit=config.event_stream_limit,
            allowed=may_listen,
            enabled=lambda: self.subscriptions.settings().enabled,
        )
        self.subscriptions.on_end.append(self.streams.end)
        # First what happened, then who is told: a new subscription begins after its own making.
        kernel.writer.on_publish.add(self.stream.published)
        kernel.writer.on_publish.add(self.subscriptions.published, below=(EVENT_SERVICE,))
        kernel.writer.on_publish.add(self._published, below=(_WHO,))

    async def load(self, stored: StoredState) -> None:
        """Begin where the stored state ends. Call once the kernel has it."""
        self.stream.start(stored.seq)
        await self.subscriptions.load()
        documents = self._kernel.published.state.spaces[Space.DOCUMENT]
        self.streams.clean_up(uri for uri, raw in documents.items() if is_stream(uri, raw))
        self._show_enabled()

    async def run(self) -> None:
        """Deliver until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            streaming = tasks.create_task(self.streams.run())
            await self.subscriptions.run()
            streaming.cancel()

    @property
    def door(self) -> StreamDoor:
        """Where streams are opened."""
        return StreamDoor(EVENT_STREAM_URI, EVENT_SERVICE, self._words, self.streams.open)

    def _words(self) -> Words:
        """Return what a $filter may compare with: what the EventService lists at present."""
        service = self._kernel.published.state.document(EVENT_SERVICE) or {}
        return {
            "EventFormatType": FORMATS,
            "EventType": frozenset(EVENT_TYPES),
            "RegistryPrefix": frozenset(service.get("RegistryPrefixes", ())),
            "ResourceType": frozenset(service.get("ResourceTypes", ())),
        }

    def _published(self, changes: Sequence[Change]) -> None:
        """Tell nobody anything who may no more hear it: an account or role can have changed."""
        self.streams.check()
        self.subscriptions.check()

    async def close(self) -> None:
        """Note how far deliveries have got; call when `run` has ended, before the store closes."""
        await self.subscriptions.close()
        await self._push.close()

    def owner_of(self, uri: str) -> str | None:
        """Return the user name of who has a subscription, or what the kernel says of others."""
        return self.subscriptions.owner_of(uri) or self._kernel.owner_of(uri)

    def carrying_out(self, commit: Commit) -> Commit:
        """Return `commit` with what a change of the EventService means besides."""

        async def followed(write: Write) -> Outcome:
            outcome = await commit(write)
            self._show_enabled()
            self.streams.check()
            return outcome

        def carry_out(write: Write) -> Awaitable[Outcome]:
            ours = write.uri == EVENT_SERVICE and write.action is None
            return followed(write) if ours else commit(write)

        return carry_out

    def _show_enabled(self) -> None:
        """Show in its Status whether the service sends anything."""
        enabled = self.subscriptions.settings().enabled
        status: Mapping[str, Any] | None = None if enabled else {"Status": {"State": "Disabled"}}
        self._kernel.published.observe({EVENT_SERVICE: status})

    def _read(self, uri: str) -> Representation | None:
        """Return a resource as a GET shows it to everybody, what it can be asked for included.

        None where a GET takes more than Login: what is sent, its receiver's privileges do not
        guard.
        """
        found = self._kernel.published.get(uri)
        if found is None:
            return None
        above = self._catalog.ancestors(uri)
        name = found.type_name
        shown = self._privileges.allows(name, "GET", _EVERYBODY, ancestors=above, uri=uri)
        return self._advertised.render(found) if shown else None

    def _rendered(self, event: Event) -> bytes:
        return fragment(member(event, self._registries))

    def _inventory(self, uri: str) -> Mapping[str, Any] | None:
        # Asked for anew each time: what is discovered later takes the place of what there was.
        return self._kernel.published.base.parsed(uri)

    def _type_of(self, uri: str) -> str | None:
        info = self._catalog.type_of(uri)
        return None if info is None else info.name
