"""Tells durably what becomes of Tasks, and forgets those that ended long enough ago.

What was last told of a Task stands in the ANNOUNCED space, whose feed is the source of events: the
end of a Task and its removal are told in the commit that makes them so, its start and how far it
has come once a second at most, in one commit for all. An operation whose client still waits for
the answer is no Task to anybody and is not told of. What was not told when the service ended is
told after its next start.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.control.ids import id_order
from redfish_fm.control.operations import Operations, told_edit
from redfish_fm.control.published import Published
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.operations import Operation
from redfish_fm.mapping.tasks import NO_PROGRESS, Progress, ended_s, kept_s
from redfish_fm.mapping.uris import TASK_SERVICE
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind

log = logging.getLogger(__name__)

ACTOR = "tasks"
TOLD_S = 1.0
"""How often progress is told at most."""
LOOK_S = 30.0
"""The longest wait while there are ended Tasks: wall time may be set, and settings may change."""


class TaskKeeper:
    """Follows all operations. Run `run` as a task; `start` first, with a stored state loaded."""

    def __init__(
        self, writer: Writer, published: Published, operations: Operations, clock: Clock
    ) -> None:
        self._writer = writer
        self._published = published
        self._operations = operations
        self._clock = clock

    def start(self) -> None:
        """Go on where the last life of the service was, by what it told."""
        told = self._published.state.spaces[Space.ANNOUNCED]
        for operation in self._published.state.operations.values():
            raw = told.get(operation.task)
            if raw is not None and operation.open:
                percent = msgspec.json.decode(raw, type=dict[str, Any])["PercentComplete"]
                self._published.progressed(operation.id, Progress(percent))
        self._operations.news.set()

    async def run(self) -> None:
        """Tell and forget, until cancelled."""
        news = self._operations.news
        while True:
            news.clear()
            try:
                await self._tell()
                await self._forget()
            except RedfishError as error:
                # The store takes nothing now; nothing was told that is not so.
                log.info("tasks are told of later: %s", error)
                news.set()
            await self._clock.sleep(TOLD_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause_s()):
                    await news.wait()

    def _pause_s(self) -> float | None:
        """Return how long to wait where nothing is new; None: no Task has ended."""
        ends = [*self._ends()]
        if not ends:
            return None
        return min(LOOK_S, max(0.0, min(ends) - self._clock.wall_s()))

    async def _tell(self) -> None:
        """Announce what is new of open Tasks. Raises RedfishError (503)."""
        if not any(True for _ in self._news(self._published.state.operations)):
            return

        def prepare(tip: TipView) -> Draft:
            edits = tuple(self._news(tip.state.operations, tip))
            kind = OutcomeKind.CHANGED if edits else OutcomeKind.NO_OPERATION
            return Draft(kind, TASK_SERVICE, edits)

        await self._writer.submit(prepare, ACTOR)

    def _news(
        self, operations: Mapping[str, Operation], tip: TipView | None = None
    ) -> Iterator[Edit]:
        told = (self._published.state if tip is None else tip.state).spaces[Space.ANNOUNCED]
        for operation in sorted(operations.values(), key=lambda each: id_order(each.id)):
            if operation.open and not self._operations.awaited(operation.id):
                progress = self._published.progress.get(operation.id, NO_PROGRESS)
                yield from told_edit(told, operation, operation, progress)

    async def _forget(self) -> None:
        """Delete the Tasks that ended long enough ago. Raises RedfishError (503)."""
        now_s = self._clock.wall_s()
        if not any(end_s <= now_s for end_s in self._ends()):
            return

        def prepare(tip: TipView) -> Draft:
            lasting_s = _lasting_s(tip.state.spaces[Space.OVERLAY])
            over = [
                each
                for each in tip.state.operations.values()
                if (end_s := ended_s(each)) is not None and end_s + lasting_s <= now_s
            ]
            return self._operations.forgetting(over, tip)

        await self._writer.submit(prepare, ACTOR)

    def _ends(self) -> Iterator[float]:
        """Yield when each Task that has ended is to go, in seconds since 1970."""
        state = self._published.state
        lasting_s = _lasting_s(state.spaces[Space.OVERLAY])
        for operation in state.operations.values():
            end_s = ended_s(operation)
            if end_s is not None:
                yield end_s + lasting_s


def _lasting_s(overlays: Mapping[str, bytes]) -> float:
    raw = overlays.get(TASK_SERVICE)
    return kept_s({} if raw is None else msgspec.json.decode(raw))
