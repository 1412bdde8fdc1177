"""The thread behind a store: order, failures, death."""

import threading

import pytest

from redfish_fm.store.jobs import JobLost, JobThread


@pytest.fixture
def jobs(monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    thread = JobThread("test", (OSError,))
    yield thread
    thread.stop()


def test_jobs_run_in_order_in_another_thread(jobs):
    done: list[int] = []
    futures = [jobs.submit(lambda n=n: done.append(n) or threading.get_ident()) for n in range(50)]
    idents = {future.result(5) for future in futures}
    assert done == list(range(50))
    assert len(idents) == 1
    assert threading.get_ident() not in idents


def test_a_queued_job_can_not_be_cancelled(jobs):
    gate = threading.Event()
    first, second = jobs.submit(gate.wait), jobs.submit(lambda: "done")
    assert not second.cancel()
    gate.set()
    assert (first.result(5), second.result(5)) == (True, "done")


def test_an_expected_failure_is_that_jobs_alone(jobs):
    def fail() -> None:
        raise FileNotFoundError("gone")

    with pytest.raises(FileNotFoundError):
        jobs.submit(fail).result(5)
    assert jobs.submit(lambda: 7).result(5) == 7


def test_an_unexpected_failure_ends_the_thread_and_says_which_jobs_had_begun(jobs):
    gate = threading.Event()

    def fail() -> None:
        gate.wait()
        raise ZeroDivisionError

    running, queued = jobs.submit(fail), jobs.submit(lambda: 7)
    gate.set()
    with pytest.raises(JobLost) as lost:
        running.result(5)
    assert (lost.value.started, type(lost.value.__cause__)) == (True, ZeroDivisionError)
    assert not jobs.alive
    with pytest.raises(JobLost) as lost:
        queued.result(5)
    assert not lost.value.started
    with pytest.raises(JobLost):
        jobs.submit(lambda: 7)


def test_a_thread_is_known_to_be_dead_by_the_time_its_job_is_told(jobs):
    gate, alive = threading.Event(), []

    def fail() -> None:
        gate.wait()
        raise ZeroDivisionError

    future = jobs.submit(fail)
    # Called in the dying thread, at the very moment the failure becomes known.
    future.add_done_callback(lambda _: alive.append(jobs.alive))
    gate.set()
    assert isinstance(future.exception(5), JobLost)
    assert alive == [False]


def test_a_stopped_thread_finishes_what_was_queued(jobs):
    future = jobs.submit(lambda: 7)
    jobs.stop()
    assert future.result(5) == 7
