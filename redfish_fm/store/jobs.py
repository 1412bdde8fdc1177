"""One thread that runs jobs in order: the only place where a store's files are touched.

Knows nothing of SQL. A job that raises one of `expected` fails alone; anything else is a fault
nobody foresaw, and the thread ends rather than carry on in an unknown state.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from redfish_fm.errors import FmError

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "Future[Any]"]


class JobLost(FmError):
    """The thread died. `started` tells whether this job had begun: if so, its effect is unknown."""

    def __init__(self, started: bool) -> None:
        super().__init__("the thread died " + ("in this job" if started else "before this job"))
        self.started = started


class JobThread:
    """A named daemon thread with a queue.

    A daemon, because a forgotten close() must not keep the process alive; the files survive an
    abrupt end, which is what they are made for.
    """

    def __init__(self, name: str, expected: tuple[type[Exception], ...]) -> None:
        self._expected = expected
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._alive = True
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread still takes jobs."""
        return self._alive

    def submit(self, job: Callable[[], T]) -> "Future[T]":
        """Queue `job` behind all earlier ones. Raises JobLost when the thread is gone."""
        future: Future[T] = Future()
        # Running from the start as far as callers see, so that no cancel() can reach it.
        future.set_running_or_notify_cancel()
        with self._guard:
            if not self._alive:
                raise JobLost(started=False)
            self._queue.put((job, future))
        return future

    def stop(self) -> None:
        """End the thread after the jobs already queued. Does not wait. Safe to repeat."""
        self._queue.put(None)

    def _run(self) -> None:
        try:
            while (item := self._queue.get()) is not None:
                self._carry_out(*item)
        finally:
            self._give_up()

    def _carry_out(self, job: Callable[[], Any], future: "Future[Any]") -> None:
        try:
            result = job()
        except self._expected as error:
            future.set_exception(error)
        except BaseException as error:
            # First dead, then told: whoever hears of it may start a new thread at once.
            self._give_up()
            lost = JobLost(started=True)
            lost.__cause__ = error
            future.set_exception(lost)
            raise
        else:
            future.set_result(result)

    def _give_up(self) -> None:
        with self._guard:
            self._alive = False
        while not self._queue.empty():
            item = self._queue.get()
            if item is not None:
                item[1].set_exception(JobLost(started=False))
