"""A record of the feed as the events it means, in order: always the same of the same record.

Pure. Nothing is asked but the record and what inventory says of a URI, so events made anew after a
restart have the ids they had before. Order: within a commit that of its edits; within a look at
hardware what causes before what suffers (a port, its device, who holds that, the system).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.mapping.event_documents import documents_told
from redfish_fm.mapping.event_messages import Told, examples
from redfish_fm.mapping.event_service import TEST_MESSAGE, submitted, tried
from redfish_fm.mapping.event_states import causes, has_health, states_told
from redfish_fm.mapping.subscriptions import is_stream
from redfish_fm.redfish.changes import FeedEntry, FeedOp, FeedRecord
from redfish_fm.redfish.events import Event, EventKind, kind_of, made_event
from redfish_fm.redfish.registries import Registries

FIRST_LOOK = "discover"
"""Actor of a record of what was seen when nobody had looked before: only what is wrong is news."""
FORGOTTEN = "forget"
"""Actor of a record of states that nobody needs any more, for their resources are gone: no news."""

GROUPS = 1_000_000
"""More events than a record can have: EventGroupIds of one record are no other record's."""

_RANKS = {
    name: rank
    for rank, names in enumerate((
        ("Cable", "Port"),
        ("PCIeDevice", "CXLLogicalDevice", "Drive", "NetworkAdapter", "VirtualPCI2PCIBridge"),
        ("Switch", "VirtualCXLSwitch"),
        ("Fabric",),
        ("Endpoint",),
        ("Zone", "Connection"),
        ("ResourceBlock",),
        ("Chassis",),
        ("Manager", "ComputerSystem"),
    ))
    for name in names
}  # fmt: skip
_PARTS = 1.5
"""Where everything else stands: it is part of a device."""


class EventSource:
    """Makes events. `type_of` gives the type at a URI of inventory, `document` what stands there.

    Raises ValueError where a message is not in the registries.
    """

    def __init__(
        self,
        registries: Registries,
        type_of: Callable[[str], str | None],
        document: Callable[[str], Mapping[str, Any] | None],
    ) -> None:
        registries.check(examples())
        self._registries = registries
        self._type_of = type_of
        self._document = document
        self._known: dict[str, tuple[str, str, EventKind]] = {}

    def events_of(self, record: FeedRecord) -> tuple[Event, ...]:
        """Return the events of a record, numbered from 1."""
        if record.actor == FORGOTTEN:
            return ()
        test = self._test(record)
        if test is not None:
            return (replace(test, seq=record.seq, number=1),)
        told = [*self._told(record)]
        if len(record.entries) < 2 or sum(map(_causes, record.entries)) < 2:
            # All of one cause, as most are.
            group = 1 if len(told) > 1 else 0
            return tuple(
                [self._event(record, number, each, group) for number, each in enumerate(told, 1)]
            )
        firsts: dict[str, int] = {}
        groups = [firsts.setdefault(each.origin, number) for number, each in enumerate(told, 1)]
        sizes = Counter(groups)
        return tuple(
            self._event(record, number, each, group if sizes[group] > 1 else 0)
            for number, (each, group) in enumerate(zip(told, groups, strict=True), start=1)
        )

    def _test(self, record: FeedRecord) -> Event | None:
        """Return the test event that a record is, which has nothing else in it then."""
        asked = tried(record.entries[0]) if record.entries else None
        if asked is None:
            return None
        if not asked:
            return made_event(TEST_MESSAGE, self._registries, record.time_s)
        origin = asked.get("OriginOfCondition")
        about = self._type_of(origin.rstrip("/")) if isinstance(origin, str) else None
        return submitted(asked, record.time_s, about)

    def _told(self, record: FeedRecord) -> Iterator[Told]:
        seen: list[tuple[FeedEntry, str | None]] = []
        for entry in record.entries:
            if entry.op is FeedOp.OBSERVED:
                seen.append((entry, self._type_of(entry.uri)))
            elif not is_stream(entry.uri, entry.post or entry.pre):
                # Each reader that comes or goes would be told to all others.
                yield from documents_told(entry, self._type_of)
        for entry, name in sorted(seen, key=_causing_first):
            first = record.actor == FIRST_LOOK
            yield from states_told(entry, name, self._document, first)

    def _event(self, record: FeedRecord, number: int, told: Told, group: int) -> Event:
        key = told.message.key
        severity, resolution, kind = self._known.get(key) or self._words(key)
        return Event(
            record.seq,
            number,
            told.message,
            severity,
            told.origin,
            told.origin_type,
            record.time_s,
            told.kind or kind,
            record.seq * GROUPS + group if group else 0,
            resolution,
            told.specific,
            told.gone,
        )

    def _words(self, key: str) -> tuple[str, str, EventKind]:
        """Return Severity, Resolution and EventType of a message; there are few, told often."""
        row = self._registries.info(key)
        found = self._known[key] = row.severity, row.resolution, kind_of(key, row.severity)
        return found


def _causes(entry: FeedEntry) -> bool:
    return entry.op is FeedOp.OBSERVED and causes(entry)


def _causing_first(seen: tuple[FeedEntry, str | None]) -> tuple[float, bool, str]:
    """Order by what causes: of systems the hosts first, whose health that of their parts is."""
    entry, name = seen
    return (_RANKS.get(name or "", _PARTS), has_health(entry), entry.uri)
