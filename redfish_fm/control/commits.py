"""What the protocol calls to change something: judge, commit, wait for hardware, answer truly.

Satisfies redfish.writes.Commit. The answer is created/changed/deleted once it is observed within
the sync budget, accepted with a Task otherwise, or an error naming the step that hardware refused.
"""

from redfish_fm.control.operations import Operations, Waiter
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.writes import Outcome, OutcomeKind, Write, WriteKind


class Commits:
    """Carries out writes. `sync_budget_s`: how long an answer waits for hardware."""

    def __init__(self, writer: Writer, operations: Operations, sync_budget_s: float) -> None:
        self._writer = writer
        self._operations = operations
        self._sync_budget_s = sync_budget_s

    async def commit(self, write: Write) -> Outcome:
        """Carry out one write. Raises RedfishError with every reason when it is refused."""
        if write.type_name == "Task" and write.kind is WriteKind.DELETE:
            await self._operations.cancel(write.uri, write.actor, write.if_match)
            return Outcome(OutcomeKind.DELETED, write.uri)
        opened: dict[str, Waiter] = {}

        def judge(tip: TipView) -> Draft:
            draft = self._operations.opened(prepare(write, tip), tip, write.actor)
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
            return Outcome(draft.kind, draft.uri)
        if await self._operations.verdict(change.operation, self._sync_budget_s):
            return Outcome(draft.kind, draft.uri)
        task = self._operations.task_of(change.operation)
        return Outcome(OutcomeKind.ACCEPTED, draft.uri, task)
