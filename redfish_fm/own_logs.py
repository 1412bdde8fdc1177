"""The logs of the service itself: who changed what, and what happened.

A part of the composition root: it puts logbooks in the store behind the LogServices of the
service's own manager, and the stream of events into one of them.
"""

import asyncio
import functools
from collections.abc import Mapping, Sequence

from redfish_fm.clocks import Clock
from redfish_fm.config import Config
from redfish_fm.control.event_log import EventLog
from redfish_fm.control.event_stream import EventStream
from redfish_fm.control.kernel import Kernel
from redfish_fm.control.logbook import Logbook, LogPolicy
from redfish_fm.mapping.service_manager import OwnUris
from redfish_fm.redfish.audit import AuditRecord
from redfish_fm.redfish.audit_entries import audit_entry, kept_record
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.changes import Change, Space
from redfish_fm.redfish.event_entries import event_entry, kept_event
from redfish_fm.redfish.log_resources import LogTable
from redfish_fm.redfish.registries import Registries
from redfish_fm.store.base import Store, StoredState

_DAY_S = 86400.0
_DOCUMENTS, _FACTS = frozenset({Space.DOCUMENT}), frozenset({Space.META})


class OwnLogs:
    """Keeps the audit log and the event log. Load it, run `run` as a task, `close` it."""

    def __init__(
        self,
        config: Config,
        own: OwnUris,
        kernel: Kernel,
        store: Store,
        catalog: Catalog,
        registries: Registries,
        clock: Clock,
    ) -> None:
        self._published = kernel.published
        self._clock = clock
        self._event_log: EventLog | None = None
        policy = LogPolicy(config.audit_log_entries, config.audit_log_days * _DAY_S)
        table = LogTable(
            catalog,
            own.entries,
            "Entries of the audit log",
            words=functools.partial(audit_entry, registries=registries),
        )
        self.audit_log = self._book(own.log, store, table, policy, kernel)
        policy = LogPolicy(config.event_log_entries, config.event_log_days * _DAY_S)
        about = LogTable(
            catalog,
            own.event_entries,
            "Entries of the event log",
            kernel.published.exists,
            words=functools.partial(event_entry, registries=registries),
        )
        self.events = self._book(own.event_log, store, about, policy, kernel)
        self.books: Mapping[str, Logbook] = {
            own.log: self.audit_log,
            own.event_log: self.events,
        }
        self.tables = (table, about)
        kernel.writer.tip_view.logs = {uri: book.state for uri, book in self.books.items()}
        for book in self.books.values():
            kernel.writer.on_publish.add(book.published, spaces=_FACTS)
        kernel.writer.on_publish.add(self._came_or_went, spaces=_DOCUMENTS)

    def _book(
        self, uri: str, store: Store, table: LogTable, policy: LogPolicy, kernel: Kernel
    ) -> Logbook:
        told = functools.partial(self._show_overflow, uri)
        return Logbook(
            uri, store, table, self._clock, policy, reopen=kernel.writer.reopen, told=told
        )

    async def load(self, stored: StoredState) -> None:
        """Take over what is kept. Call once the kernel has the stored state."""
        for book in self.books.values():
            await book.load(stored)

    def follow(self, stream: EventStream) -> None:
        """Put events into their log, from where it ends. Call once both are loaded."""
        self._event_log = EventLog(stream, self.events, kept_event, self._clock)

    def audit(self, record: AuditRecord) -> None:
        """Keep one record of the audit log."""
        self.audit_log.add(record.time_s, functools.partial(kept_record, record))

    async def run(self) -> None:
        """Write what comes until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for book in self.books.values():
                tasks.create_task(book.run())
            if self._event_log is not None:
                tasks.create_task(self._event_log.run())

    async def close(self) -> None:
        """Write what waits. Call when nothing more comes, while the store is open."""
        if self._event_log is not None:
            await self._event_log.close()
        for book in self.books.values():
            await book.close()

    def _came_or_went(self, changes: Sequence[Change]) -> None:
        for change in changes:
            for edit in change.edits:
                if edit.pre is None or edit.post is None:
                    self.events.table.came_or_went(edit.key)

    def _show_overflow(self, uri: str) -> None:
        self._published.observe({uri: {"Overflow": self.books[uri].overflow}})
