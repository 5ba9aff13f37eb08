"""Work shared out among threads."""

from __future__ import annotations

import threading

import pytest

from discreet.common.threads import available_threads, share_out
from discreet.errors import UsageError


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_task_is_done_once_by_a_worker_that_exists(threads: int) -> None:
    done: list[tuple[int, int]] = []
    share_out(lambda worker, task: done.append((worker, task)), range(100), threads)
    assert sorted(task for _, task in done) == list(range(100))
    assert {worker for worker, _ in done} <= set(range(threads))


def test_workers_work_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=30)
    share_out(lambda worker, task: meeting.wait(), range(2), threads=2)


def test_nothing_to_do() -> None:
    share_out(lambda worker, task: pytest.fail("there is no task"), [], threads=3)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_comes_out_and_ends_the_work(threads: int) -> None:
    begun: list[int] = []

    def work(worker: int, task: int) -> None:
        begun.append(task)
        raise ZeroDivisionError(task)

    with pytest.raises(ZeroDivisionError):
        share_out(work, range(1000), threads)
    assert len(begun) <= threads


def test_threads_are_counted() -> None:
    assert available_threads() >= 1
    assert available_threads(1) == 1
    for asked in (0, -1, 1.5, True):
        with pytest.raises(UsageError, match="threads"):
            available_threads(asked)  # pyright: ignore[reportArgumentType]
