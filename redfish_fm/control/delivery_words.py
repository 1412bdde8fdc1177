"""Events as what is sent: each rendered once, whoever gets it.

What an event says is the same for everybody, and the stream keeps it; only the envelope around it
differs from one subscription to the next, and the resource that some want along with it. Those that
want the same get the same bytes.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from redfish_fm.control.event_stream import Batch, EventStream
from redfish_fm.redfish import messages
from redfish_fm.redfish.event_filter import EventFilter
from redfish_fm.redfish.events import (
    Event,
    Position,
    envelope,
    event_id,
    fragment,
    made_event,
    member,
)
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.view import Representation

KEPT_MAX = 1024
"""Events with their resources, some 2 kB each, for subscriptions that all want the same."""

Read = Callable[[str], Representation | None]
"""Gives the resource at a URI as it is now."""


class DeliveryWords:
    """Renders what is sent. `read` gives the resources that go along where they are wanted."""

    def __init__(self, stream: EventStream, registries: Registries, read: Read) -> None:
        self._stream = stream
        self._registries = registries
        self._read = read
        self._kept: OrderedDict[Position, bytes] = OrderedDict()

    def payload(self, events: Sequence[Event], context: str | None, *, origin: bool) -> bytes:
        """Return the Event resource with `events`; `origin`: with the resources they are about."""
        one = self._with_origin if origin else self._stream.rendered
        return envelope(event_id(events[-1]), context, [one(event) for event in events])

    def gap(self, batch: Batch, now_s: float, to: str) -> Event:
        """Return the event that says, to one EventDestination, that others before a batch are gone.

        Always the same before the same; `now_s` is the wall time.
        """
        first = batch.events[0].seq if batch.events else batch.through[0]
        time_s = batch.events[0].time_s if batch.events else now_s
        made = made_event(messages.event_buffer_exceeded(), self._registries, time_s)
        return replace(made, seq=first, number=0, to=to)

    def _with_origin(self, event: Event) -> bytes:
        resource = self._origin(event)
        if resource is None:
            return self._stream.rendered(event)
        found = self._kept.get(event.position)
        if found is None:
            found = fragment(member(event, self._registries, resource))
            self._kept[event.position] = found
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return found

    def _origin(self, event: Event) -> Any:
        """Return the resource that an event is about, as it is now; None where it is not shown."""
        if event.origin is None or event.gone:
            return None
        found = self._read(event.origin)
        return None if found is None else msgspec.Raw(found.body)


class Shared:
    """What deliveries to subscriptions with equal wishes have in common, kept for a moment.

    They read at the same ticks, so what one has chosen and rendered is what the next one needs.
    `chosen` and `rendered` count work, for the tests.
    """

    def __init__(self, words: DeliveryWords) -> None:
        self._words = words
        self._matching: OrderedDict[_Choice, tuple[Event, ...]] = OrderedDict()
        self._payloads: OrderedDict[_Payload, bytes] = OrderedDict()
        self.chosen = 0
        self.rendered = 0

    def matching(self, wishes: EventFilter, after: Position, batch: Batch) -> tuple[Event, ...]:
        """Return what matches of a batch that was read after a position: nobody's own events."""
        key = (wishes, after, batch.through)
        found = self._matching.get(key)
        if found is None:
            self.chosen += 1
            matches = wishes.matches
            found = tuple(each for each in batch.events if each.to is None and matches(each))
            _put(self._matching, key, found)
        return found

    def payload(self, wishes: EventFilter, events: Sequence[Event], context: str | None) -> bytes:
        """Return the Event resource with a part, without holes, of what matches."""
        key = (wishes, events[0].position, events[-1].position, context)
        found = self._payloads.get(key)
        if found is None:
            self.rendered += 1
            found = self._words.payload(events, context, origin=False)
            _put(self._payloads, key, found)
        return found


_Choice = tuple[EventFilter, Position, Position]
_Payload = tuple[EventFilter, Position, Position, str | None]
_K = TypeVar("_K")
_V = TypeVar("_V")
SHARED_MAX = 32
"""Choices and payloads, of 100 kB at most, that are kept for the next who wants them."""


def _put(kept: "OrderedDict[_K, _V]", key: _K, value: _V) -> None:
    kept[key] = value
    if len(kept) > SHARED_MAX:
        kept.popitem(last=False)
