"""Open operations: who waits for them, how they end, and that each end is durable before told.

An operation is the durable record of hardware work that a commit asked for (DESIGN section 4).
It ends in one commit: either everything it granted and released was observed, or its grants were
taken back. Releases only roll forward, so a record stays open until they are observed.
"""

import asyncio
from dataclasses import replace

from redfish_fm.clocks import Clock
from redfish_fm.control.published import Published
from redfish_fm.control.tip import TipView, date_time
from redfish_fm.control.writer import Committed, Writer
from redfish_fm.fabric.model import VppbId
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.operations import (
    Operation,
    OperationState,
    encode_operation,
    new_operation,
    take_back,
)
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.writes import OutcomeKind

FINISHED_KEPT = 200
"""Finished operations (Tasks) kept for clients that lost an answer; the oldest go first."""

ACTOR = "reconcile"


class Operations:
    """Opens, ends and remembers operations. One per service; the loops report to it."""

    def __init__(self, writer: Writer, published: Published, clock: Clock) -> None:
        self._writer = writer
        self._published = published
        self._clock = clock
        self._waiters: dict[str, asyncio.Future[RedfishError | None]] = {}
        self._ending: set[str] = set()

    def open_of(self, fabric: str) -> list[Operation]:
        """Return the open operations of one fabric, oldest first, as last published."""
        found = [
            operation
            for operation in self._published.state.operations.values()
            if operation.open and operation.fabric == fabric
        ]
        return sorted(found, key=lambda operation: (len(operation.id), operation.id))

    def opened(self, draft: Draft, tip: TipView, actor: str) -> Draft:
        """Return the draft with its operation's record added, and start waiting for its end."""
        if draft.operation is None:
            return draft
        operation = new_operation(tip.next_id, draft, actor, tip.timestamp())
        self._waiters[operation.id] = asyncio.get_running_loop().create_future()
        record = Edit(Space.OPERATION, operation.id, None, encode_operation(operation))
        return replace(draft, edits=(*draft.edits, record))

    def task_of(self, operation_id: str) -> str | None:
        """Return the URI of the Task that shows an operation, as last published."""
        operation = self._published.state.operations.get(operation_id)
        return None if operation is None else operation.task

    async def verdict(self, operation_id: str, budget_s: float) -> bool:
        """Wait for the end of an operation; False where it is still open after `budget_s`.

        Raises RedfishError with the reason where it failed. Once told False, the record of the
        operation is kept when it ends, so that its Task can be read.
        """
        waiter = self._waiters[operation_id]
        try:
            await asyncio.wait([waiter], timeout=budget_s)
            if not waiter.done() and operation_id in self._ending:
                # Its end is being stored and will drop the record: too late to promise a Task.
                await asyncio.wait([waiter])
            if not waiter.done():
                return False
            error = waiter.result()
        finally:
            self._waiters.pop(operation_id, None)
        if error is not None:
            raise error
        return True

    def forget_waiter(self, operation_id: str) -> None:
        """Stop waiting for an operation whose change was never stored."""
        self._waiters.pop(operation_id, None)

    async def complete(self, operation: Operation) -> None:
        """Record that everything was observed, then answer who waits. Raises RedfishError (503)."""
        failed = operation.state is not OperationState.RUNNING
        ended = replace(
            operation,
            state=operation.ended_state,
            ended=date_time(self._clock.wall_s()),
            percent=100,
        )
        keep = failed or operation.id not in self._waiters
        await self._end(operation, ended if keep else None)
        self._tell(operation.id, None)

    async def take_back(
        self, operation: Operation, failed: frozenset[VppbId], reasons: tuple[Message, ...]
    ) -> None:
        """Take back the grants of an operation and say why. Raises RedfishError (503).

        The record stays open until what was granted is observed released.
        """

        def prepare(tip: TipView) -> Draft:
            current = tip.state.operations.get(operation.id)
            if current is None or not current.granted:
                return Draft(OutcomeKind.NO_OPERATION, operation.uri)
            after = replace(
                current,
                state=OperationState.STOPPING,
                ended_state=OperationState.EXCEPTION,
                granted=(),
                released=(*current.released, *current.granted),
                resources=frozenset(),
                messages=(*current.messages, *reasons),
            )
            record = self._edit(current, after)
            edits = take_back(tip, current, failed)
            return Draft(OutcomeKind.CHANGED, operation.uri, (*edits, record))

        await self._writer.submit(prepare, ACTOR)
        self._tell(operation.id, refusal(reasons))

    async def cancel(self, task: str, actor: str) -> Committed:
        """Delete a Task: forget a finished one, take back the grants of an open one.

        Raises RedfishError: 404 where there is none, 409 where nothing can be taken back.
        """

        def prepare(tip: TipView) -> Draft:
            operation = tip.state.task_operation(task)
            if operation is None:
                raise RedfishError(404, (messages.resource_missing_at_uri(task),))
            if not operation.open:
                gone = self._edit(operation, None)
                return Draft(OutcomeKind.DELETED, task, (gone,))
            if not operation.granted:
                raise RedfishError(409, (messages.operation_not_allowed(),))
            after = replace(
                operation,
                state=OperationState.STOPPING,
                ended_state=OperationState.CANCELLED,
                granted=(),
                released=(*operation.released, *operation.granted),
                resources=frozenset(),
            )
            edits = take_back(tip, operation, frozenset(b.vppb for b in operation.granted))
            return Draft(OutcomeKind.DELETED, task, (*edits, self._edit(operation, after)))

        committed = await self._writer.submit(prepare, actor)
        self._tell(task.rsplit("/", 1)[-1], refusal((messages.operation_failed(),)))
        return committed

    async def _end(self, operation: Operation, after: Operation | None) -> None:
        def prepare(tip: TipView) -> Draft:
            current = tip.state.operations.get(operation.id)
            if current is None or not current.open:
                return Draft(OutcomeKind.NO_OPERATION, operation.uri)
            edits = (self._edit(current, after), *self._surplus(tip))
            return Draft(OutcomeKind.CHANGED, operation.uri, edits)

        self._ending.add(operation.id)
        try:
            await self._writer.submit(prepare, ACTOR)
        finally:
            self._ending.discard(operation.id)

    def _surplus(self, tip: TipView) -> tuple[Edit, ...]:
        finished = [each for each in tip.state.operations.values() if not each.open]
        oldest = sorted(finished, key=lambda each: (len(each.id), each.id))[:-FINISHED_KEPT]
        return tuple(self._edit(each, None) for each in oldest)

    @staticmethod
    def _edit(before: Operation, after: Operation | None) -> Edit:
        post = None if after is None else encode_operation(after)
        return Edit(Space.OPERATION, before.id, encode_operation(before), post)

    def _tell(self, operation_id: str, error: RedfishError | None) -> None:
        waiter = self._waiters.get(operation_id)
        if waiter is not None and not waiter.done():
            waiter.set_result(error)


def refusal(reasons: tuple[Message, ...]) -> RedfishError:
    """Return what a client is told when hardware refused: 409 with every reason."""
    return RedfishError(409, reasons)

