"""Session rows as redfish.sessions wants them kept: a store's failure becomes a refusal.

Sessions live outside the sequence of changes, but in the same file: when their transaction ends in
doubt, the writer has to open the store again, or every later change would be refused.
"""

from collections.abc import Sequence

from redfish_fm.control.writer import Writer, full, unavailable
from redfish_fm.store.base import SessionRow, Store, StoreError, StoreFull


class SessionRows:
    """Satisfies redfish.sessions.SessionStore. Methods raise RedfishError (503 or 507)."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer

    async def put_session(self, row: SessionRow) -> None:
        """Keep a session; durable when it returns."""
        try:
            await self._store.put_session(row)
        except StoreError as error:
            raise self._refusal(error) from error

    async def delete_sessions(self, ids: Sequence[str]) -> None:
        """Forget sessions; durable when it returns."""
        try:
            await self._store.delete_sessions(ids)
        except StoreError as error:
            raise self._refusal(error) from error

    async def sessions(self) -> list[SessionRow]:
        """Return all stored sessions."""
        return await self._store.sessions()

    def _refusal(self, error: StoreError) -> Exception:
        if isinstance(error, StoreFull):
            return full()
        self._writer.reopen(error)
        return unavailable("the session could not be stored")
