"""Makes observed transitions durable, so that each is told once, also across a restart.

The last announced state of a resource (State, Health, link, binding) stands in the ANNOUNCED
space; where the observed one differs, a change is committed, whose feed record is the event's
source. Resources in their normal state have no entry. What was seen when nobody had looked before,
and what is forgotten with its resource, is committed under other names: it is no transition.
DESIGN section 3, "Feed".
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.control.published import Published
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.event_states import announced_state
from redfish_fm.mapping.events import FIRST_LOOK, FORGOTTEN
from redfish_fm.redfish.changes import Change, Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind

log = logging.getLogger(__name__)

ACTOR = "observe"
INTERVAL_S = 1.0
"""A flapping link is announced this often at most, in its state of that moment."""

PART = 500
"""Resources that are compared in one go: a few ms."""


class Announcer:
    """Compares what is shown with what was told, for the resources that were touched.

    Nothing is told before `looked` is set, so that the first look is told whole.
    """

    def __init__(self, writer: Writer, published: Published, clock: Clock) -> None:
        self.looked = asyncio.Event()
        self._writer = writer
        self._published = published
        self._clock = clock
        self._touched: dict[str, None] = {}
        self._news = asyncio.Event()

    def touched(self, uris: Iterable[str]) -> None:
        """Note resources whose observed properties changed."""
        self._touched.update(dict.fromkeys(uris))
        if self._touched:
            self._news.set()

    def published(self, changes: Iterable[Change]) -> None:
        """Note what was deleted: what was told of it is to be forgotten."""
        told = self._published.state.spaces[Space.ANNOUNCED]
        for edit in (edit for change in changes for edit in change.edits):
            if edit.space is Space.DOCUMENT and edit.post is None and edit.key in told:
                self.touched((edit.key,))

    async def run(self) -> None:
        """Commit what is new, as one change, at most once per INTERVAL_S, until cancelled."""
        await self.looked.wait()
        # In a state that nobody has written to yet nobody has looked before either.
        actor = FIRST_LOOK if self._writer.fresh else ACTOR
        while True:
            uris, self._touched = self._touched, {}
            try:
                await self._announce(uris, actor)
                actor = ACTOR
            except RedfishError as error:
                log.info("announced later: %s", error)
                self.touched(uris)
            await self._clock.sleep(INTERVAL_S)
            await self._news.wait()
            self._news.clear()

    async def _announce(self, uris: Iterable[str], actor: str) -> None:
        news = await self._news_among([*uris])
        if not news:
            return
        await self._commit(news, actor, there=True)
        if not all(map(self._published.exists, news)):
            await self._commit(news, FORGOTTEN, there=False)

    async def _commit(self, news: Sequence[str], actor: str, *, there: bool) -> None:
        """Announce what is new of the resources that are there, or of those that are not."""

        def prepare(tip: TipView) -> Draft:
            uris = [uri for uri in news if tip.exists(uri) is there]
            edits = self._edits(uris, tip.state.spaces[Space.ANNOUNCED])
            kind = OutcomeKind.CHANGED if edits else OutcomeKind.NO_OPERATION
            return Draft(kind, "", tuple(edits))

        await self._writer.submit(prepare, actor)

    async def _news_among(self, uris: Sequence[str]) -> list[str]:
        """Return what has something new to tell; requests are answered in between."""
        news: list[str] = []
        for start in range(0, len(uris), PART):
            if start:
                await asyncio.sleep(0)
            told = self._published.state.spaces[Space.ANNOUNCED]
            news += (edit.key for edit in self._edits(uris[start : start + PART], told))
        return news

    def _edits(self, uris: Iterable[str], told: Mapping[str, bytes]) -> list[Edit]:
        edits = []
        for uri in uris:
            compact = announced_state(uri, self._published.observed(uri) or {})
            now = msgspec.json.encode(compact) if compact else None
            if told.get(uri) != now:
                edits.append(Edit(Space.ANNOUNCED, uri, told.get(uri), now))
        return edits
