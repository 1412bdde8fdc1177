"""Open operations: who waits for them, how they end, and that each end is durable before told.

An operation is the durable record of hardware work that a commit asked for (DESIGN section 4).
It ends in one commit: either everything it granted and released was observed, or its grants were
taken back. Releases only roll forward, so a record stays open until they are observed; the same
holds for parts of pools that it allocated or frees.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.control.ids import id_order
from redfish_fm.control.published import Published
from redfish_fm.control.task_progress import TaskProgress
from redfish_fm.control.tip import TipView, date_time
from redfish_fm.control.verdicts import work_of
from redfish_fm.control.writer import Committed, Writer
from redfish_fm.mapping.bindings import decode_binding
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.event_messages import TASK_ENDS
from redfish_fm.mapping.operations import (
    Operation,
    OperationState,
    answer_of,
    encode_operation,
    new_operation,
    take_back,
    with_messages,
)
from redfish_fm.mapping.tasks import NO_PROGRESS, Progress, announced, task_place
from redfish_fm.mapping.uris import TASK_SERVICE
from redfish_fm.redfish import etag, messages
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.payloads import payload_of
from redfish_fm.redfish.requests import Request
from redfish_fm.redfish.writes import Outcome, OutcomeKind, Write

FINISHED_KEPT = 200
"""Finished operations (Tasks) kept at most; the oldest go first. How long: control.task_keeper."""

ACTOR = "reconcile"

Waiter = asyncio.Future[RedfishError | bool]
"""How an operation ended for its client: True as asked for, False not yet, or why it failed."""


class Operations:
    """Opens, ends and remembers operations. One per service; the loops report to it.

    `news` is set when there is something to tell of a Task, or one to forget later.
    """

    def __init__(self, writer: Writer, published: Published, clock: Clock) -> None:
        self._writer = writer
        self._published = published
        self._clock = clock
        self._waiters: dict[str, Waiter] = {}
        self._ending: dict[str, asyncio.Future[None]] = {}
        self._seen: dict[str, tuple[Operation, frozenset[str]]] = {}
        self._endless: dict[str, frozenset[str]] = {}
        self._progress = TaskProgress(published)
        self._closing = False
        self.news = asyncio.Event()

    def open_of(self, fabric: str) -> list[Operation]:
        """Return the open operations with work on a fabric, oldest first, as last published.

        Each is whole; `Operation.part` is what this fabric has to do of it.
        """
        found = [
            operation
            for operation in self._published.state.operations.values()
            if operation.open and fabric in operation.fabrics
        ]
        return sorted(found, key=lambda operation: id_order(operation.id))

    def left_of(self, fabric: str) -> list[Operation]:
        """Return the ended operations whose work on a fabric was left when that was taken out."""
        operations = self._published.state.operations.values()
        return [each for each in operations if fabric in each.left and not each.open]

    def opened(
        self, draft: Draft, tip: TipView, actor: str, request: Request | None = None
    ) -> Draft:
        """Return the draft with its operation's record added, and start waiting for its end."""
        if draft.operation is None:
            return draft
        payload = None if request is None else payload_of(request)
        operation = new_operation(tip.next_id, draft, actor, tip.timestamp(), payload)
        self._waiters[operation.id] = asyncio.get_running_loop().create_future()
        record = Edit(Space.OPERATION, operation.id, None, encode_operation(operation))
        return replace(draft, edits=(*draft.edits, record))

    def task_of(self, operation_id: str) -> str | None:
        """Return the URI of the Task that shows an operation, as last published."""
        operation = self._published.state.operations.get(operation_id)
        return None if operation is None else operation.task

    def owner_of(self, task: str) -> str | None:
        """Return the user name of who started the operation that a Task shows."""
        place = task_place(task)
        operation = None if place is None else self._published.state.operations.get(place.operation)
        return None if operation is None else operation.actor

    def awaited(self, operation_id: str) -> bool:
        """Return whether the client of an operation still waits for its answer."""
        waiter = self._waiters.get(operation_id)
        return waiter is not None and not waiter.done()

    def result(self, task: str) -> Outcome | RedfishError | None:
        """Return what the write of a Task would have answered; None while it runs.

        What it made is told also where that is deleted since, and the Task links it no more.
        """
        operation = self._published.state.task_operation(task)
        if operation is None or operation.open:
            return None
        if operation.state is not OperationState.COMPLETED:
            return refusal(operation.messages or (messages.operation_failed(),))
        kind, payload = operation.kind, operation.payload
        if kind is OutcomeKind.CHANGED and (payload is None or payload.method != "PATCH"):
            # An action answers with what it has to say, or with nothing: 204, like a release.
            kind = OutcomeKind.DELETED
        return Outcome(kind, operation.uri, body=answer_of(operation))

    async def verdict(self, operation_id: str, budget_s: float) -> bool:
        """Wait for the end of an operation; False where it is still open after `budget_s`.

        Raises RedfishError with the reason where it failed. Once told False, the record of the
        operation is kept when it ends, so that its Task can be read.
        """
        waiter, told = self._waiters[operation_id], None
        try:
            await asyncio.wait([waiter], timeout=0 if self._closing else budget_s)
            while not waiter.done() and (ending := self._ending.get(operation_id)):
                # Its end is being stored and will drop the record: too late to promise a Task.
                await asyncio.wait([ending])
            told = waiter.result() if waiter.done() else False
        finally:
            self._waiters.pop(operation_id, None)
            if told is not True:
                self.news.set()
        if isinstance(told, RedfishError):
            raise told
        return told

    def waiter_of(self, operation_id: str) -> Waiter:
        """Return what `opened` made for an operation."""
        return self._waiters[operation_id]

    def forget(self, operation_id: str, waiter: Waiter) -> None:
        """Stop waiting for an operation whose change was not stored, or whose client is gone.

        The id may already be another operation's: it was never told, so the next change has it.
        """
        if self._waiters.get(operation_id) is waiter:
            del self._waiters[operation_id]
            self.news.set()

    def close(self) -> None:
        """Let nobody wait any longer: what is open now is answered with its Task."""
        self._closing = True
        for operation_id, waiter in self._waiters.items():
            if not waiter.done() and operation_id not in self._ending:
                waiter.set_result(False)

    async def seen(self, operation: Operation, fabric: str) -> None:
        """Hear that a fabric's newest look shows all its work in `operation`.

        The operation ends once that is so of every fabric with work in it. Raises RedfishError
        (503).
        """
        told = self._seen_of(operation) | {fabric}
        if not told >= operation.fabrics:
            self._seen[operation.id] = (operation, told)
            self._come_to(operation, fabric, work_of(operation.part(fabric)))
            return
        self._seen.pop(operation.id, None)
        await self.complete(operation)

    def unseen(
        self, operation: Operation, fabric: str, done: int = 0, *, endless: bool = False
    ) -> None:
        """Hear that a fabric's newest look shows `done` parts of its work in `operation`.

        `endless`: what is left may never be done there, and whatever is left has no host.
        """
        self._come_to(operation, fabric, done)
        stuck = self._endless.pop(operation.id, frozenset()) - {fabric}
        if endless or stuck:
            self._endless[operation.id] = stuck | {fabric} if endless else stuck
        left = self._seen_of(operation) - {fabric}
        if left:
            self._seen[operation.id] = (operation, left)
        else:
            self._seen.pop(operation.id, None)

    def _come_to(self, operation: Operation, fabric: str, done: int) -> None:
        if self._progress.seen(operation, fabric, done) and not self.awaited(operation.id):
            self.news.set()

    def _seen_of(self, operation: Operation) -> frozenset[str]:
        """Return the fabrics that have seen just this; what was seen of its past proves nothing."""
        known, fabrics = self._seen.get(operation.id, (operation, frozenset[str]()))
        return fabrics if known == operation else frozenset()

    async def complete(self, operation: Operation) -> None:
        """Record that everything was observed, then answer who waits. Raises RedfishError (503)."""
        awaited = self.awaited(operation.id)
        running = operation.state is OperationState.RUNNING
        state = operation.ended_state
        # Told already, unless who cancelled it was gone before that.
        told = True if running else refusal(operation.messages or (messages.operation_failed(),))
        forgotten = running and awaited and not operation.left
        await self._end(operation, None if forgotten else state, told)

    async def abandon(self, operation: Operation) -> None:
        """Record that what was granted is wanted no more: somebody deleted the resource.

        The record stays open for what it releases. Raises RedfishError (503).
        """

        def prepare(tip: TipView) -> Draft:
            if tip.state.operations.get(operation.id) != operation:
                return Draft(OutcomeKind.NO_OPERATION, operation.uri)
            return self._stopping(tip, operation, OperationState.CANCELLED, _called_off(operation))

        committed = await self._writer.submit(prepare, ACTOR)
        if committed.change is not None:
            self._tell(operation.id, refusal((messages.operation_failed(),)))

    async def take_back(
        self, operation: Operation, reasons: tuple[Message, ...], fabric: str = ""
    ) -> None:
        """Take back the grants of an operation and say why, and where. Raises RedfishError (503).

        The record stays open until what was granted is observed released.
        """

        def prepare(tip: TipView) -> Draft:
            current = tip.state.operations.get(operation.id)
            if current is None or not current.open or not current.grants:
                # It ended while another fabric of it was judged.
                return Draft(OutcomeKind.NO_OPERATION, operation.uri)
            return self._stopping(tip, current, OperationState.EXCEPTION, reasons, fabric)

        committed = await self._writer.submit(prepare, ACTOR)
        if committed.change is not None:
            self._tell(operation.id, refusal(reasons))

    async def fail(self, operation: Operation, reasons: tuple[Message, ...]) -> None:
        """End an operation that granted nothing, and say why. Raises RedfishError (503)."""

        def prepare(tip: TipView) -> Draft:
            current = tip.state.operations.get(operation.id)
            if current is None or not current.open:
                return Draft(OutcomeKind.NO_OPERATION, operation.uri)
            after = replace(
                with_messages(current, reasons, ""),
                state=OperationState.EXCEPTION,
                ended=date_time(self._clock.wall_s()),
                percent=100,
            )
            edits = (*self._edits(tip, current, after), *self._surplus(tip))
            return Draft(OutcomeKind.CHANGED, operation.uri, edits)

        committed = await self._writer.submit(prepare, ACTOR)
        if committed.change is not None:
            self._tell(operation.id, refusal(reasons))

    async def note(
        self, operation: Operation, reasons: tuple[Message, ...], fabric: str = ""
    ) -> None:
        """Add to an open operation why it takes so long. Raises RedfishError (503)."""

        def prepare(tip: TipView) -> Draft:
            current = tip.state.operations.get(operation.id)
            if current is None or not current.open:
                return Draft(OutcomeKind.NO_OPERATION, operation.uri)
            after = with_messages(current, reasons, fabric)
            return Draft(OutcomeKind.CHANGED, operation.uri, self._edits(tip, current, after))

        await self._writer.submit(prepare, ACTOR)

    async def leave(
        self, operation: Operation, left: frozenset[str], reasons: tuple[Message, ...]
    ) -> None:
        """Record that nobody looks after these fabrics any more. Raises RedfishError (503)."""

        def prepare(tip: TipView) -> Draft:
            current = tip.state.operations.get(operation.id)
            if current is None or not current.open:
                return Draft(OutcomeKind.NO_OPERATION, operation.uri)
            after = replace(with_messages(current, reasons, ""), left=current.left | left)
            return Draft(OutcomeKind.CHANGED, operation.uri, self._edits(tip, current, after))

        await self._writer.submit(prepare, ACTOR)

    async def caught_up(self, operation: Operation, fabric: str) -> None:
        """Record that what was left in a fabric is done after all. Raises RedfishError (503)."""

        def prepare(tip: TipView) -> Draft:
            current = tip.state.operations.get(operation.id)
            if current is None or fabric not in current.left:
                return Draft(OutcomeKind.NO_OPERATION, operation.uri)
            after = replace(current, left=current.left - {fabric})
            return Draft(OutcomeKind.CHANGED, operation.uri, self._edits(tip, current, after))

        await self._writer.submit(prepare, ACTOR)

    async def cancel(
        self,
        task: str,
        actor: str,
        if_match: tuple[str, ...] | None = None,
        finish: Callable[[Draft, TipView], Draft] = lambda draft, _: draft,
    ) -> Committed:
        """Delete a Task: forget a finished one, take back the grants of an open one.

        One that only cleans and gives back, and waits for what may never be, ends as it is.
        `finish` may add edits to the draft.

        Raises RedfishError: 404 where there is none, 412 for another state of it, 409 where
        nothing can be taken back.
        """

        def prepare(tip: TipView) -> Draft:
            operation = tip.state.task_operation(task)
            if operation is None:
                raise RedfishError(404, (messages.resource_missing_at_uri(task),))
            if not etag.matches(if_match, tip.wanted_tag(task) or ""):
                raise RedfishError(412, (messages.precondition_failed(),))
            if not operation.open:
                gone = self._edits(tip, operation, None)
                return finish(Draft(OutcomeKind.DELETED, task, gone), tip)
            why = _called_off(operation)
            if not operation.grants:
                if not self._is_endless(operation):
                    raise RedfishError(409, (messages.operation_not_allowed(),))
                given_up = self._given_up(tip, operation, why)
                return finish(replace(given_up, kind=OutcomeKind.DELETED, uri=task), tip)
            draft = self._stopping(tip, operation, OperationState.CANCELLED, why, called_off=True)
            return finish(replace(draft, kind=OutcomeKind.DELETED, uri=task), tip)

        committed = await self._writer.submit(prepare, actor)
        self._tell(task.rsplit("/", 1)[-1], refusal((messages.operation_failed(),)))
        return committed

    def _is_endless(self, operation: Operation) -> bool:
        """Return whether nothing is left of it but what may never be done, wherever it has work."""
        ended = self._seen_of(operation) | self._endless.get(operation.id, frozenset())
        return ended >= operation.fabrics

    def _given_up(self, tip: TipView, operation: Operation, reasons: tuple[Message, ...]) -> Draft:
        """Return the draft that ends an operation whatever is left to do of it."""
        running = operation.state is OperationState.RUNNING
        after = replace(
            with_messages(operation, reasons, ""),
            state=OperationState.CANCELLED if running else operation.ended_state,
            ended=date_time(self._clock.wall_s()),
            percent=100,
            called_off=True,
        )
        edits = (*self._edits(tip, operation, after), *self._surplus(tip))
        return Draft(OutcomeKind.CHANGED, operation.uri, edits)

    def _stopping(
        self,
        tip: TipView,
        operation: Operation,
        ended_state: OperationState,
        reasons: tuple[Message, ...],
        fabric: str = "",
        *,
        called_off: bool = False,
    ) -> Draft:
        """Return the draft that takes back all grants; their release is what is left to do."""
        edits = take_back(tip, operation)
        gone = (decode_binding(each.pre) for each in edits
                if each.space is Space.BINDING and each.pre and each.post is None)  # fmt: skip
        granted = {each.vppb for each in operation.granted}
        lost = (each for each in gone if each.vppb not in granted)
        after = replace(
            with_messages(operation, reasons, fabric),
            state=OperationState.STOPPING,
            ended_state=ended_state,
            granted=(),
            allocated=(),
            bandwidth=(),
            released=(*operation.released, *operation.granted, *lost),
            freed=(*operation.freed, *operation.allocated),
            restoring=tuple(before for before, _wish in operation.bandwidth),
            resources=frozenset(),
            called_off=called_off,
        )
        records = self._edits(tip, operation, after)
        return Draft(OutcomeKind.CHANGED, operation.uri, (*edits, *records))

    async def _end(
        self, operation: Operation, state: OperationState | None, told: RedfishError | bool
    ) -> None:
        """Store the end (None: forget the record), then tell it."""

        def prepare(tip: TipView) -> Draft:
            current = tip.state.operations.get(operation.id)
            if current != operation:
                # Cancelled meanwhile, say: what was judged is not what it is now.
                return Draft(OutcomeKind.NO_OPERATION, operation.uri)
            ended = date_time(self._clock.wall_s())
            after = None
            if state is not None:
                after = replace(current, state=state, ended=ended, percent=100)
            edits = (*self._edits(tip, current, after), *self._surplus(tip))
            return Draft(OutcomeKind.CHANGED, operation.uri, edits)

        stored = self._ending[operation.id] = asyncio.get_running_loop().create_future()
        try:
            committed = await self._writer.submit(prepare, ACTOR)
            if committed.change is not None:
                self._tell(operation.id, told)
        finally:
            del self._ending[operation.id]
            stored.set_result(None)

    def _surplus(self, tip: TipView) -> tuple[Edit, ...]:
        finished = [each for each in tip.state.operations.values() if not each.open]
        oldest = sorted(finished, key=lambda each: (each.ended or "", id_order(each.id)))
        del oldest[-FINISHED_KEPT:]
        return tuple(edit for each in oldest for edit in self._edits(tip, each, None))

    def forgetting(self, over: Iterable[Operation], tip: TipView) -> Draft:
        """Return the draft that forgets ended operations, and with them their Tasks."""
        edits = tuple(edit for each in over for edit in self._edits(tip, each, None))
        kind = OutcomeKind.CHANGED if edits else OutcomeKind.NO_OPERATION
        return Draft(kind, TASK_SERVICE, edits)

    async def forget_ended(
        self, write: Write, finish: Callable[[Draft, TipView, Write], Draft]
    ) -> Committed:
        """Delete all Tasks that have ended. Raises RedfishError: 412 for another If-Match, 503."""

        def prepare(tip: TipView) -> Draft:
            if not etag.matches(write.if_match, tip.wanted_tag(write.uri) or ""):
                raise RedfishError(412, (messages.precondition_failed(),))
            ended = [each for each in tip.state.operations.values() if not each.open]
            return finish(self.forgetting(ended, tip), tip, write)

        return await self._writer.submit(prepare, write.actor)

    def _edits(self, tip: TipView, before: Operation, after: Operation | None) -> tuple[Edit, ...]:
        """Return the edits that make an operation another, and tell of it where that is news."""
        post = None if after is None else encode_operation(after)
        record = Edit(Space.OPERATION, before.id, encode_operation(before), post)
        if self.awaited(before.id):
            return (record,)
        self.news.set()
        progress = self._published.progress.get(before.id, NO_PROGRESS)
        told = tip.state.spaces[Space.ANNOUNCED]
        return (record, *told_edit(told, before, after, progress))

    def _tell(self, operation_id: str, told: RedfishError | bool) -> None:
        self._seen.pop(operation_id, None)
        self._endless.pop(operation_id, None)
        waiter = self._waiters.get(operation_id)
        if waiter is not None and not waiter.done():
            waiter.set_result(told)


def told_edit(
    told: Mapping[str, bytes], before: Operation, after: Operation | None, progress: Progress
) -> tuple[Edit, ...]:
    """Return what is to be told of a Task, in ANNOUNCED space; nothing where that was told.

    `told` is what stands there. Of an operation that is gone nothing is left to stand.
    """
    pre = told.get(before.task)
    post = None if after is None else msgspec.json.encode(announced(after, progress))
    return () if pre == post else (Edit(Space.ANNOUNCED, before.task, pre, post),)


def _called_off(operation: Operation) -> tuple[Message, ...]:
    return (Message(TASK_ENDS["Cancelled", "Warning"], (operation.id,)),)


def refusal(reasons: tuple[Message, ...]) -> RedfishError:
    """Return what a client is told when hardware refused: 409 with every reason."""
    return RedfishError(409, reasons)
