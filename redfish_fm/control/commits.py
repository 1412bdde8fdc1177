"""What the protocol calls to change something: judge, commit, wait for hardware, answer truly.

Satisfies redfish.writes.Commit. The answer is created/changed/deleted once it is observed within
the sync budget, accepted with a Task otherwise, or an error naming the step that hardware refused.
"""

from collections.abc import Awaitable

from redfish_fm.control.operations import Operations, Waiter
from redfish_fm.control.retries import Retries
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.tasks import DELETE_COMPLETED
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import Outcome, OutcomeKind, Write, WriteKind


class Commits:
    """Carries out writes. `sync_budget_s`: how long an answer waits for hardware."""

    def __init__(
        self, writer: Writer, operations: Operations, retries: Retries, sync_budget_s: float
    ) -> None:
        self._writer = writer
        self._operations = operations
        self._retries = retries
        self._sync_budget_s = sync_budget_s

    def commit(self, write: Write) -> Awaitable[Outcome]:
        """Carry out one write. Raises RedfishError with every reason when it is refused.

        One with an Idempotency-Key is carried out once, whatever becomes of its caller.
        """
        if write.retry is None:
            return self._carry_out(write)
        return self._retries.once(write.retry, lambda: self._carry_out(write))

    async def _carry_out(self, write: Write) -> Outcome:
        if write.action == DELETE_COMPLETED:
            await self._operations.forget_ended(write, self._retries.remembering)
            return Outcome(OutcomeKind.CHANGED, write.uri)
        if write.type_name == "Task" and write.kind is WriteKind.DELETE:
            await self._operations.cancel(
                write.uri,
                write.actor,
                write.if_match,
                lambda draft, tip: self._retries.remembering(draft, tip, write),
            )
            return Outcome(OutcomeKind.DELETED, write.uri)
        opened: dict[str, Waiter] = {}

        def judge(tip: TipView) -> Draft:
            judged = self._retries.remembering(prepare(write, tip), tip, write)
            draft = self._operations.opened(judged, tip, write.actor, write.request)
            if draft.operation is not None:
                opened[tip.next_id] = self._operations.waiter_of(tip.next_id)
            return draft

        kept = None
        try:
            committed = await self._writer.submit(judge, write.actor)
            kept = None if committed.change is None else committed.change.operation
        finally:
            # Also when the client is gone: its operation then ends as one nobody waits for.
            for operation_id, waiter in opened.items():
                if operation_id != kept:
                    self._operations.forget(operation_id, waiter)
        draft, change = committed.draft, committed.change
        if change is None or change.operation is None:
            return Outcome(draft.kind, draft.uri, body=draft.body)
        return await self._observed(write, draft, change.operation)

    async def _observed(self, write: Write, draft: Draft, operation: str) -> Outcome:
        """Wait until the hardware did it, or leave it to a Task. Raises RedfishError (409)."""
        budget_s = self._sync_budget_s
        if write.wait_s is not None:
            budget_s = min(budget_s, write.wait_s)
        try:
            if await self._operations.verdict(operation, budget_s):
                return Outcome(draft.kind, draft.uri, body=draft.body)
        except RedfishError:
            if write.retry is not None:
                await self._retries.forget(write.retry)
            raise
        task = self._operations.task_of(operation)
        if write.retry is not None:
            await self._retries.accepted(write.retry, task)
        return Outcome(OutcomeKind.ACCEPTED, draft.uri, task)
