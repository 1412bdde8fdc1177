"""What every store promises. tests/store/contract holds each implementation to it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from redfish_fm.errors import FmError
from redfish_fm.redfish.changes import Change, FeedRecord, Space
from redfish_fm.values import value_class


class StoreError(FmError):
    """Root of what a store can raise."""


class StoreFull(StoreError):
    """No room on the device; the batch was certainly not written."""


class StoreFailed(StoreError):
    """The batch was certainly not written; the reason is in the text."""


class StoreConflict(StoreError):
    """The store is not at `base_seq`: another writer was here. Nothing was written."""


class OutcomeUnknown(StoreError):
    """An error at COMMIT, or the store's thread died: written or not, only a reload can tell."""


class StoreInUse(StoreError):
    """Another process, or another source, owns this state directory. One clear line for a human."""


class StoreMismatch(StoreInUse):
    """This state belongs to another topology or mockup. One clear line for a human."""


class StoreUnreadable(StoreError):
    """Not a database of ours, damaged, or of a newer version. One clear line for a human."""


@dataclass(frozen=True, slots=True)
class StoredState:
    """Everything durable at `seq`. Spaces that hold nothing may be absent."""

    seq: int
    spaces: Mapping[Space, Mapping[str, bytes]]


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as stored: of the token only its SHA-256 hex digest; seconds since 1970."""

    id: str
    token_sha256: str
    user_name: str
    created_s: float
    client: str


@value_class
class LogRow:
    """One entry of a log as stored; what the bytes mean is its writer's. Seconds since 1970.

    `number` counts from 1 in each log and is never given again, whatever has been dropped.
    """

    number: int
    time_s: float
    value: bytes


@dataclass(frozen=True, slots=True)
class StoredLog:
    """One log, oldest entry first. `newest` is the highest number there ever was, 0 for none."""

    newest: int
    rows: Sequence[LogRow]


Cursor = tuple[int, int]
"""How far a subscription has got: feed record and place in it of the last event delivered."""


class Store(Protocol):
    """One durable sequence of changes, written by one writer, in one order."""

    async def load(self) -> StoredState:
        """Return all spaces at the newest sequence number. Also reopens after a failure."""
        ...

    async def commit(self, base_seq: int, changes: Sequence[Change]) -> int:
        """Write `changes` (seq base_seq+1 …) as one transaction; durable when it returns.

        Returns the new sequence number. Raises StoreFull, StoreFailed, StoreConflict (nothing
        written) or OutcomeUnknown (load() to find out; until then commits are refused with
        StoreFailed). Cancelling the caller never cancels the transaction.
        """
        ...

    def follow(self, seq: int) -> AsyncGenerator[FeedRecord]:
        """Yield stored feed records after `seq`, oldest first, then end at the newest.

        Records past retention are gone: a first record later than seq + 1 is a gap to announce.
        """
        ...

    async def put_session(self, row: SessionRow) -> None:
        """Keep a session, outside the sequence; durable when it returns."""
        ...

    async def delete_sessions(self, ids: Sequence[str]) -> None:
        """Forget sessions; unknown ids are ignored."""
        ...

    async def sessions(self) -> list[SessionRow]:
        """Return all stored sessions."""
        ...

    async def append_log(self, log: str, rows: Sequence[LogRow], drop_through: int) -> None:
        """Keep `rows` and drop all up to number `drop_through`, outside the sequence.

        Durable when it returns; fails as commit does. Repeating it changes nothing.
        """
        ...

    async def log(self, log: str) -> StoredLog:
        """Return what is kept of a log; an unknown one is empty."""
        ...

    async def put_cursors(self, cursors: Mapping[str, Cursor | None]) -> None:
        """Keep how far each subscription has got, outside the sequence; None forgets one.

        Durable when it returns; fails as commit does. Repeating it changes nothing.
        """
        ...

    async def cursors(self) -> dict[str, Cursor]:
        """Return how far each subscription has got."""
        ...

    async def close(self) -> None:
        """Finish the running commit, close files and release the lock. Safe to repeat."""
        ...
