"""Writes that carry an Idempotency-Key: done once, and answered again for a day.

The record of the outcome is an edit of ANSWER space in the transaction of the change itself, so
it is there after a crash exactly when the change is. While the first write runs, its repeats wait
for it. Refusals are not remembered: nothing was done, so a repeat is judged anew.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.control.published import Published
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.mapping.drafts import Draft
from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.passwords import verify_password
from redfish_fm.redfish.retries import Retry, key_reused
from redfish_fm.redfish.writes import Outcome, OutcomeKind, Write, WriteKind

log = logging.getLogger(__name__)

KEPT_S = 86400.0
"""How long an outcome is remembered (DESIGN section 3, Retries)."""
KEPT_MAX = 10_000
"""Outcomes remembered at once, about 3 MB; the oldest go first."""
SWEPT_MAX = 8
"""Records that one commit looks at, and drops where they are over: more than it adds."""

ACTOR = "retries"


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is remembered of one write. `stored` recognises the request (redfish.retries.Retry).

    `operation` is the id of the operation it opened; `task` its Task, once it was told to go on
    there (202); `body` what an action answered with.
    """

    stored: str
    time_s: float
    kind: str
    uri: str
    operation: str | None = None
    task: str | None = None
    body: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Running:
    digest: str
    done: "asyncio.Task[Outcome]"


class Retries:
    """Remembers outcomes by key. One per service; use from one event loop."""

    def __init__(self, writer: Writer, published: Published, clock: Clock) -> None:
        self._writer = writer
        self._published = published
        self._clock = clock
        self._running: dict[str, _Running] = {}

    async def outcome(self, retry: Retry) -> Outcome | None:
        """Return how the write of this key ended, waiting while it runs; None where it is new.

        Raises RedfishError (422) where the key came with another request. Where it returns None
        nothing was awaited since the key was looked up.
        """
        while (running := self._running.get(retry.key)) is not None:
            if running.digest != retry.digest:
                raise key_reused()
            await asyncio.wait([running.done])
            if not running.done.cancelled() and running.done.exception() is None:
                return running.done.result()
        raw = self._raw(retry.key)
        answer = None if raw is None else msgspec.json.decode(raw, type=Answer)
        if answer is None or self._is_over(answer):
            return None
        if not await _is_same(retry, answer.stored):
            raise key_reused()
        return self._told(answer)

    async def once(self, retry: Retry, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Return the outcome of `work`, or of whoever did it before under the same key.

        The work goes on when its caller is cancelled: the client will ask again.
        """
        told = await self.outcome(retry)
        if told is not None:
            return told
        done = asyncio.ensure_future(work())
        self._running[retry.key] = _Running(retry.digest, done)
        done.add_done_callback(lambda _: self._ended(retry.key, done))
        return await asyncio.shield(done)

    def _ended(self, key: str, done: "asyncio.Task[Outcome]") -> None:
        del self._running[key]
        if not done.cancelled():
            # Its caller may be gone; a refusal that nobody reads is not a fault.
            done.exception()

    async def close(self) -> None:
        """Wait until everything that runs has ended."""
        while self._running:
            await asyncio.wait([each.done for each in self._running.values()])

    def remembering(self, draft: Draft, tip: TipView, write: Write) -> Draft:
        """Return the draft of a write with the record of its outcome, if that is asked for.

        Also drops records that are over, a few at a time, and those of a deleted account.
        """
        retry, kept = write.retry, tip.state.spaces[Space.ANSWER]
        if retry is None and not kept:
            return draft
        gone = write.uri if write.kind is WriteKind.DELETE else ""
        dropped = {*self._over(kept), *_of_account(kept, gone)}
        edits = draft.edits
        if retry is not None and retry.key not in _of_account([retry.key], gone):
            dropped.discard(retry.key)
            edits = (*edits, self._record(retry, draft, tip))
        if not edits or (edits is draft.edits and not dropped):
            return draft
        drops = (Edit(Space.ANSWER, key, kept[key], None) for key in sorted(dropped))
        return replace(draft, edits=(*edits, *drops))

    def _record(self, retry: Retry, draft: Draft, tip: TipView) -> Edit:
        operation = None if draft.operation is None else tip.next_id
        now_s = self._clock.wall_s()
        body = None if draft.body is None else dict(draft.body)
        answer = Answer(retry.stored, now_s, draft.kind.value, draft.uri, operation, body=body)
        raw = tip.state.spaces[Space.ANSWER].get(retry.key)
        return Edit(Space.ANSWER, retry.key, raw, msgspec.json.encode(answer))

    def _over(self, kept: Mapping[str, bytes]) -> Iterator[str]:
        """Yield a few of the oldest keys: those that are over, or more than there may be."""
        surplus = len(kept) - KEPT_MAX + 1
        for n, (key, raw) in enumerate(islice(kept.items(), SWEPT_MAX)):
            if n >= surplus and not self._is_over(msgspec.json.decode(raw, type=Answer)):
                return
            yield key

    async def accepted(self, retry: Retry, task: str | None) -> None:
        """Remember that the write goes on as a Task; its record outlives that Task."""

        def post(answer: Answer) -> bytes:
            return msgspec.json.encode(msgspec.structs.replace(answer, task=task))

        await self._amend(retry.key, post)

    async def forget(self, retry: Retry) -> None:
        """Forget a write that hardware refused after it was stored: a repeat shall try again."""
        await self._amend(retry.key, lambda _: None)

    async def _amend(self, key: str, post: Callable[[Answer], bytes | None]) -> None:
        def prepare(tip: TipView) -> Draft:
            raw = tip.state.spaces[Space.ANSWER].get(key)
            if raw is None:
                return Draft(OutcomeKind.NO_OPERATION, "")
            edit = Edit(Space.ANSWER, key, raw, post(msgspec.json.decode(raw, type=Answer)))
            return Draft(OutcomeKind.CHANGED, "", (edit,))

        try:
            await self._writer.submit(prepare, ACTOR)
        except RedfishError as error:
            # The outcome itself is durable; without this a repeat is told of the Task.
            log.warning("an outcome could not be completed: %s", error)

    def _raw(self, key: str) -> bytes | None:
        return self._published.state.spaces[Space.ANSWER].get(key)

    def _is_over(self, answer: Answer) -> bool:
        return self._clock.wall_s() - answer.time_s > KEPT_S

    def _told(self, answer: Answer) -> Outcome:
        kind, task = OutcomeKind(answer.kind), answer.task
        if answer.operation is not None and task is None:
            # Nobody was told: the service ended, or could not store what it told.
            operation = self._published.state.operations.get(answer.operation)
            task = None if operation is None else operation.task
        if task is not None:
            return Outcome(OutcomeKind.ACCEPTED, answer.uri, task)
        return Outcome(kind, answer.uri, body=answer.body)


async def _is_same(retry: Retry, stored: str) -> bool:
    """Return whether the request is the one that `stored` was made of."""
    if stored.startswith("scrypt$"):
        return await asyncio.to_thread(verify_password, retry.digest, stored.encode())
    return retry.digest == stored


def _of_account(keys: Iterable[str], account_uri: str) -> list[str]:
    """Return those of `keys` that belong to an account. The URI of anything else has none."""
    if not account_uri.startswith(f"{ACCOUNTS}/"):
        return []
    return [key for key in keys if key.startswith(f"{account_uri} ")]
