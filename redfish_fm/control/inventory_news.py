"""Tells durably of inventory that appears or vanishes while the service runs.

Inventory is never stored, so what is told of it passes through the ANNOUNCED space: one change
marks the resource and takes the mark away again, and the feed has both. Of a tree that comes or
goes its root is told. What was different at the last start nobody knows.
"""

import asyncio
import functools
import logging
from collections.abc import Iterable, Iterator, Mapping, Set

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.event_states import APPEARED, INVENTORY, VANISHED
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind

log = logging.getLogger(__name__)

ACTOR = "discovery"
RETRY_S = 1.0
PART = 500
"""Resources told of in one change."""


class InventoryNews:
    """Say `changed` after each other inventory; run `run` as a task."""

    def __init__(self, writer: Writer, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock
        self._waiting: list[tuple[str, str]] = []
        self._wake = asyncio.Event()

    def changed(self, before: Set[str], after: Set[str]) -> None:
        """Take note of which resources inventory had and has."""
        self._waiting += ((uri, VANISHED) for uri in _roots(before - after))
        self._waiting += ((uri, APPEARED) for uri in _roots(after - before))
        if self._waiting:
            self._wake.set()

    async def run(self) -> None:
        """Commit what is new until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                part = self._waiting[:PART]
                try:
                    await self._writer.submit(functools.partial(_told, part), ACTOR)
                    del self._waiting[: len(part)]
                except RedfishError as error:
                    log.info("inventory is told of later: %s", error)
                    await self._clock.sleep(RETRY_S)


def _told(news: Iterable[tuple[str, str]], tip: TipView) -> Draft:
    announced = tip.state.spaces[Space.ANNOUNCED]
    edits = [edit for uri, mark in news for edit in _passing(uri, mark, announced)]
    return Draft(OutcomeKind.CHANGED if edits else OutcomeKind.NO_OPERATION, "", tuple(edits))


def _passing(uri: str, mark: str, announced: Mapping[str, bytes]) -> Iterator[Edit]:
    now = announced.get(uri)
    state = {} if now is None else msgspec.json.decode(now)
    marked = msgspec.json.encode({**state, INVENTORY: mark})
    yield Edit(Space.ANNOUNCED, uri, now, marked)
    yield Edit(Space.ANNOUNCED, uri, marked, now)


def _roots(uris: Set[str]) -> list[str]:
    """Return those among `uris` that nothing else among them contains, in order."""
    found: list[str] = []
    for uri in sorted(uris, key=lambda each: (each.count("/"), each)):
        parts = uri.split("/")
        above = ("/".join(parts[:end]) for end in range(2, len(parts)))
        if not any(each in uris for each in above):
            found.append(uri)
    return found
