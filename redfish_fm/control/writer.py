"""The only one who changes wanted state: checks against the tip, commits in groups, publishes.

A submitted write is judged and laid on the tip in one step without await. The flusher takes all
that wait, has the store commit them as one transaction, and publishes them in one step. Whatever
rests on what is not yet durable (also a refusal) leaves only once that is durable.
DESIGN section 3, "One writer".
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from redfish_fm.clocks import Clock
from redfish_fm.control.base import Base
from redfish_fm.control.followers import Followers
from redfish_fm.control.published import Published
from redfish_fm.control.state import WantedState
from redfish_fm.control.tip import TipView
from redfish_fm.mapping.drafts import Draft
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Change
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.running_loop import RunningLoop
from redfish_fm.store.base import (
    OutcomeUnknown,
    Store,
    StoredState,
    StoreError,
    StoreFull,
)
from redfish_fm.values import value_class

log = logging.getLogger(__name__)

Prepare = Callable[[TipView], Draft]
"""Judge one write against the tip: a Draft, or RedfishError with every reason."""

BATCH_MAX = 256
"""Changes in one transaction at most, so that the first of a burst is not kept waiting."""
GATHER_TURNS = 6
"""Turns of the loop that a batch is kept open for what has arrived already.

One until the answers of the batch before have left, three from a request's bytes to the tip, two
for clients that need a moment: with four, a POST costs a tenth more CPU than with six. With
16 writers on SQLite batches are twice as big (0.07 flushes a change, not 0.15) and a POST costs
20 % less CPU. On an idle loop a write waits 20 us for it, a fraction of one flush.
"""
RELOAD_BACKOFF_S = (0.05, 0.2, 1.0, 5.0)
"""Waits between attempts to reload after an unknown COMMIT; the last one repeats."""
PATIENCE_ATTEMPTS = len(RELOAD_BACKOFF_S)
"""Failed reloads after which whoever waits for the disk's answer is told that there is none yet."""


@value_class
class Committed:
    """A write that is durable and published. `change` is None where there was nothing to do."""

    draft: Draft
    change: Change | None


class _InFlight:
    """One change on the tip that is not durable yet, and who waits for it.

    Everybody who waits has a future of their own: one who goes away takes nobody along.
    """

    __slots__ = ("_loop", "_refusal", "_waiting", "change", "decided")

    def __init__(self, change: Change, loop: asyncio.AbstractEventLoop) -> None:
        self.change = change
        self.decided = False
        self._loop = loop
        self._refusal: RedfishError | None = None
        self._waiting: list[asyncio.Future[None]] = []

    async def outcome(self) -> None:
        """Wait until it is durable and published. Raises RedfishError where it failed."""
        if not self.decided:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append(waiter)
            await waiter
        if self._refusal is not None:
            raise self._refusal

    def tell(self, refusal: RedfishError | None) -> None:
        """Say how it ended, once: who was told that the outcome is not known stays told so."""
        if self.decided:
            return
        self.decided, self._refusal = True, refusal
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)


class Writer:
    """Serialises every change of wanted state. Run `run` as a task; submit from anywhere.

    `on_publish` is told, without await, of each batch just published.
    """

    def __init__(self, store: Store, base: Base, published: Published, clock: Clock) -> None:
        self._store = store
        self._base = base
        self._published = published
        self._clock = clock
        self._tip = WantedState(base)
        self._durable_seq = 0
        self._loop = RunningLoop()
        self._pending: list[_InFlight] = []
        self._flying: list[_InFlight] = []
        self._wake = asyncio.Event()
        self._halted: str | None = "the service is starting"
        self._closing = False
        self._doubt: StoreError | None = None
        self.on_publish = Followers()
        self.tip_view = TipView(self._tip, published, clock)
        self.failed_batches = 0
        self.refusing: str | None = None
        """Why the store did not take the newest change, until it takes one again."""
        self.failed = asyncio.Event()
        self.fresh = True
        """Whether the state that was loaded is one that nobody has written to before."""

    @property
    def tip(self) -> WantedState:
        """The newest state, in flight included. Only the writer changes it."""
        return self._tip

    @property
    def halted(self) -> str | None:
        """Why nothing can be written now, or None."""
        return self._halted

    def start(self, stored: StoredState) -> None:
        """Take over what the store has loaded, as tip and as published, and accept writes."""
        self._tip.load(stored)
        self._published.state.load(stored)
        self._durable_seq = stored.seq
        self.fresh = stored.seq == 0
        self._halted = None

    def rebase(self, base: Base) -> None:
        """Let wanted state rest on another inventory, what is in flight included.

        In one go, and as costly as all that is wanted.
        """
        self._base.become(base)
        self._tip = self._again(self._tip)
        self.tip_view.state = self._tip
        self._published.replace(self._again(self._published.state))

    def _again(self, state: WantedState) -> WantedState:
        fresh = WantedState(self._base)
        fresh.load(StoredState(state.seq, state.spaces))
        return fresh

    async def submit(self, prepare: Prepare, actor: str) -> Committed:
        """Judge a write and make it durable; returns once it is published.

        Raises RedfishError: a refusal of `prepare` (true of durable state), 503 when the store
        can not be written now, 507 when it is full. A cancelled caller does not take it back.
        """
        while True:
            self._refuse_while_halted()
            try:
                draft = prepare(self.tip_view)
            except RedfishError:
                if await self._rests_on_durable_state():
                    raise
                continue
            if not draft.edits:
                if await self._rests_on_durable_state():
                    return Committed(draft, None)
                continue
            flight = self._lay_on_tip(draft, actor)
            await flight.outcome()
            return Committed(draft, flight.change)

    def _refuse_while_halted(self) -> None:
        if self._closing:
            raise unavailable("the service is stopping")
        if self._halted is not None:
            raise unavailable(self._halted)

    async def _rests_on_durable_state(self) -> bool:
        """Wait until what is in flight now is decided; False if it failed, so judge again."""
        in_flight = self._pending or self._flying
        if not in_flight:
            return True
        try:
            await in_flight[-1].outcome()
        except RedfishError:
            return False
        return True

    def _lay_on_tip(self, draft: Draft, actor: str) -> _InFlight:
        operation = draft.operation
        change = Change(
            self._tip.seq + 1,
            self._clock.wall_s(),
            actor,
            draft.edits,
            self.tip_view.next_id if operation is not None else None,
        )
        self._tip.apply_all(change.edits)
        self._tip.seq = change.seq
        flight = _InFlight(change, self._loop.get())
        self._pending.append(flight)
        self._wake.set()
        return flight

    def reopen(self, cause: StoreError) -> None:
        """Load the store again soon: something else than a change has failed there."""
        self._doubt = cause
        self._wake.set()

    async def run(self) -> None:
        """Commit what is submitted, batch after batch, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            doubt, self._doubt = self._doubt, None
            if doubt is not None:
                await self._resolve([], doubt)
            while self._pending:
                await self._gather()
                self._flying = self._pending[:BATCH_MAX]
                del self._pending[:BATCH_MAX]
                await self._commit(self._flying)
                self._flying = []

    async def _gather(self) -> None:
        for _ in range(GATHER_TURNS):
            if len(self._pending) < BATCH_MAX:
                await asyncio.sleep(0)

    async def close(self) -> None:
        """Refuse new writes and wait until everything in flight is answered."""
        self._closing = True
        while undecided := [each for each in (*self._flying, *self._pending) if not each.decided]:
            with contextlib.suppress(RedfishError):
                await undecided[0].outcome()

    def give_up(self) -> None:
        """Refuse new writes and answer whoever still waits, where `run` commits no more."""
        self._closing = True
        self._let_go(self._flying)

    async def _commit(self, batch: list[_InFlight]) -> None:
        changes = [flight.change for flight in batch]
        try:
            self._durable_seq = await self._store.commit(self._durable_seq, changes)
        except OutcomeUnknown as error:
            await self._resolve(batch, error)
        except StoreFull as error:
            self._fail(batch, full(), error)
        except StoreError as error:
            # Certainly not written; but a store that refuses may have to be opened again.
            self._halted = "the store is being opened again"
            self._fail(batch, unavailable("the change could not be stored"), error)
            await self._resolve([], error)
        else:
            self._publish(batch)

    def _publish(self, batch: list[_InFlight]) -> None:
        self.refusing = None
        changes = [flight.change for flight in batch]
        for change in changes:
            self._published.apply(change)
        self.on_publish.tell(changes)
        for flight in batch:
            flight.tell(None)

    def _fail(self, batch: list[_InFlight], answer: RedfishError, cause: StoreError) -> None:
        """Take back everything in flight, newest first: later changes may rest on the batch."""
        self.failed_batches += 1
        self.refusing = "full" if isinstance(cause, StoreFull) else "failed"
        self.failed.set()
        log.warning("batch of %d changes was not stored: %s", len(batch), cause)
        undone = batch + self._pending
        self._pending = []
        for flight in reversed(undone):
            self._tip.apply_all(flight.change.undo())
        self._tip.seq = self._durable_seq
        for flight in undone:
            flight.tell(answer)

    async def _resolve(self, batch: list[_InFlight], cause: StoreError) -> None:
        """Stop writing and ask the disk what is true; then answer the batch, if one is in doubt."""
        self._halted = "the outcome of a commit is being established"
        log.warning("the store is loaded again: %s", cause)
        stored = await self._reload(batch)
        self._durable_seq = stored.seq
        if batch and stored.seq == batch[-1].change.seq:
            self._publish(batch)
        elif batch:
            self._fail(batch, unavailable("the change was not stored"), cause)
        if not self._published.state.holds(stored):
            self._take_over(stored, cause)
        self._halted = None

    def _take_over(self, stored: StoredState, cause: StoreError) -> None:
        """Somebody else wrote: theirs is the truth, and what was laid on top of ours is void."""
        log.error("stored state at %d differs from the published one", stored.seq)
        self._fail([], unavailable("the state was replaced"), cause)
        self._tip = WantedState(self._base)
        self._tip.load(stored)
        self.tip_view.state = self._tip
        fresh = WantedState(self._base)
        fresh.load(stored)
        self._published.replace(fresh)

    async def _reload(self, batch: list[_InFlight]) -> StoredState:
        attempt = 0
        while True:
            try:
                return await self._store.load()
            except StoreError as error:
                delay_s = RELOAD_BACKOFF_S[min(attempt, len(RELOAD_BACKOFF_S) - 1)]
                attempt += 1
                self._halted = "the store can not be read"
                log.warning("reload failed, again in %.2f s: %s", delay_s, error)
                if attempt == PATIENCE_ATTEMPTS:
                    self._let_go(batch)
                await self._clock.sleep(delay_s)

    def _let_go(self, batch: list[_InFlight]) -> None:
        """Answer who waits for a store that is gone: the batch stays in doubt, the rest is void."""
        void, self._pending = self._pending, []
        for flight in reversed(void):
            self._tip.apply_all(flight.change.undo())
        self._tip.seq = batch[-1].change.seq if batch else self._durable_seq
        for flight in void:
            flight.tell(unavailable("the change was not stored"))
        for flight in batch:
            flight.tell(unavailable("whether the change was stored is not known"))


def unavailable(reason: str, retry_after_s: int = 1) -> RedfishError:
    """Return a 503 that says why and when to come back."""
    told = (
        messages.service_temporarily_unavailable(str(retry_after_s)),
        messages.state_not_writable(reason),
    )
    return RedfishError(503, told, {"Retry-After": str(retry_after_s)})


def full() -> RedfishError:
    """Return the 507 of a full device."""
    return RedfishError(507, (messages.insufficient_storage(),))
