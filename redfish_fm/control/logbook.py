"""One log of the service: entries go to the store in groups, and are shown once they are there.

A group is made and written at most every `group_s`, so a log costs no flush of its own per write,
and many alike are made in one go; what came in the last moment before a crash may be missing, never
anything that was shown. The log is a ring: the oldest entries go when there are too many or when
they are too old. Clearing is a change of wanted state (META), because it has to be all or nothing;
what it cleared is dropped afterwards.
"""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.mapping.drafts import LogState
from redfish_fm.mapping.log_services import cleared_key
from redfish_fm.redfish.changes import Change, Space
from redfish_fm.redfish.log_resources import LogTable
from redfish_fm.store.base import LogRow, Store, StoredState, StoreError, StoreFull

log = logging.getLogger(__name__)

Entry = Callable[[], bytes]
"""Makes what is kept of one entry, from what can no more change."""

WAITING_MAX = 4096
"""Entries that wait for a store which takes none; older ones are lost then, and that is logged."""
LOOK_S = 3600.0
"""Time between two looks for entries that got too old while nothing came."""
RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class LogPolicy:
    """How much is kept: the newest `entries_max`, none older than `age_s`. Seconds."""

    entries_max: int
    age_s: float
    group_s: float = 0.2


class Logbook:
    """Keeps one log. Load it, run `run` as a task, `close` it before the store.

    `reopen` is called with the failure where the store has to be loaded again; `told` after each
    change of what is shown.
    """

    def __init__(
        self,
        uri: str,
        store: Store,
        table: LogTable,
        clock: Clock,
        policy: LogPolicy,
        *,
        reopen: Callable[[StoreError], None],
        told: Callable[[], None] = lambda: None,
    ) -> None:
        self.uri = uri
        """The LogService; also the log's name in the store."""
        self.table = table
        self.policy = policy
        self._store = store
        self._clock = clock
        self._reopen = reopen
        self._told = told
        self._newest = 0
        self._cleared = 0
        self._dropped = 0
        self._shown: dict[int, float] = {}
        self._waiting: list[tuple[int, float, Entry]] = []
        self._wake = asyncio.Event()
        self._failing = False
        self._flushing = asyncio.Lock()

    @property
    def overflow(self) -> bool:
        """Whether entries that nobody cleared are gone."""
        oldest = next(iter(self._shown), self._newest + 1)
        return oldest > self._cleared + 1

    @property
    def newest(self) -> bytes | None:
        """The newest entry that is shown, as it was added."""
        return self.table.newest

    @property
    def waiting(self) -> int:
        """How many entries wait to be stored; of more than WAITING_MAX the oldest are lost."""
        return len(self._waiting)

    async def load(self, stored: StoredState) -> None:
        """Take over what the store has; call once, after the store was loaded."""
        key = cleared_key(self.uri)
        self._cleared = int(stored.spaces.get(Space.META, {}).get(key, b"0"))
        kept = await self._store.log(self.uri)
        self._newest = max(kept.newest, self._cleared)
        self._show([row for row in kept.rows if row.number > self._cleared])
        self._drop_through(self._expired())
        self._told()

    def add(self, time_s: float, entry: Entry) -> None:
        """Take over one entry, at once; it is made when its group is written."""
        self._newest += 1
        self._waiting.append((self._newest, time_s, entry))
        if len(self._waiting) > WAITING_MAX:
            del self._waiting[0]
        self._wake.set()

    def state(self, pre: bytes | None) -> LogState:
        """Return what clearing has to know; `pre` is the META value as it is.

        Who clears means what can be seen: what waits to be stored stays.
        """
        seen = next(reversed(self._shown), self._cleared)
        return LogState(cleared_key(self.uri), pre, seen, self.table.collection().etag)

    def published(self, changes: Sequence[Change]) -> None:
        """Drop what a published change has cleared."""
        key = cleared_key(self.uri)
        for edit in (edit for change in changes for edit in change.edits):
            if edit.space is Space.META and edit.key == key and edit.post is not None:
                self._cleared = int(edit.post)
                self._drop_through(self._cleared)
                self._wake.set()
                self._told()

    async def run(self) -> None:
        """Write what comes, group after group, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._wake.wait()
            await self._clock.sleep(self.policy.group_s)
            self._wake.clear()
            if not await self.flush():
                await self._clock.sleep(RETRY_S)
                self._wake.set()

    async def close(self) -> None:
        """Write what waits. Call when nothing more comes, while the store is open."""
        await self.flush()

    async def flush(self) -> bool:
        """Write what waits now and drop what is too much; return whether that worked."""
        async with self._flushing:
            return await self._flush()

    async def _flush(self) -> bool:
        waiting = [each for each in self._waiting if each[0] > self._cleared]
        rows = [LogRow(number, time_s, entry()) for number, time_s, entry in waiting]
        through = max(self._cleared, self._dropped, self._expired(rows))
        try:
            await self._store.append_log(self.uri, rows, through)
        except StoreError as error:
            self._fail(error)
            return False
        if self._failing:
            log.warning("entries of %s are stored again", self.uri)
            self._failing = False
        # More may have come meanwhile, and the log may have been cleared.
        written = rows[-1].number if rows else 0
        self._waiting = [each for each in self._waiting if each[0] > written]
        self._show([row for row in rows if row.number > self._cleared])
        self._drop_through(through)
        self._told()
        return True

    def _fail(self, error: StoreError) -> None:
        if not self._failing:
            log.warning("entries of %s can not be stored: %s", self.uri, error)
            self._failing = True
        if not isinstance(error, StoreFull):
            self._reopen(error)

    def _show(self, rows: Sequence[LogRow]) -> None:
        for row in rows:
            self._shown[row.number] = row.time_s
            self.table.append(row.number, row.value)

    def _drop_through(self, number: int) -> None:
        self._dropped = max(self._dropped, number)
        while self._shown and (oldest := next(iter(self._shown))) <= number:
            del self._shown[oldest]
        self.table.drop_through(number)

    def _expired(self, coming: Sequence[LogRow] = ()) -> int:
        """Return the number up to which entries have to go, once `coming` are there too; else 0."""
        too_many = len(self._shown) + len(coming) - self.policy.entries_max
        oldest_s = self._clock.wall_s() - self.policy.age_s
        times = itertools.chain(self._shown.items(), ((row.number, row.time_s) for row in coming))
        through = 0
        for place, (number, time_s) in enumerate(times):
            if place >= too_many and time_s >= oldest_s:
                break
            through = number
        return through
