"""Work shared out among threads: compiled loops release the interpreter, so plain threads use all cores."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from discreet.errors import UsageError

__all__ = ["available_threads", "share_out"]

Task = TypeVar("Task")


def available_threads(asked: int | None = None) -> int:
    """How many threads to use: as many as asked for, otherwise as many as numba may use."""
    if asked is None:
        from numba import get_num_threads

        return get_num_threads()
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        raise UsageError(f"threads={asked!r} must be a whole number from 1 on.")
    # More threads than a few for each core only cost memory.
    return min(asked, 4 * (os.cpu_count() or 1))


def share_out(work: Callable[[int, Task], object], tasks: Iterable[Task], threads: int) -> None:
    """Call ``work(worker, task)`` for each task, in order; whichever worker is free takes the next.

    Workers count from 0, so that each can have room of its own. An error or an interrupt ends the work at the next
    task.

    Examples
    --------
    >>> found = [[], []]
    >>> share_out(lambda worker, task: found[worker].append(task), range(5), threads=2)
    >>> sorted(found[0] + found[1])
    [0, 1, 2, 3, 4]
    """
    waiting = deque(tasks)

    def run(worker: int) -> None:
        while waiting:
            try:
                task = waiting.popleft()
            except IndexError:  # another worker was faster
                return
            work(worker, task)

    workers = min(threads, len(waiting))
    if workers <= 1:
        run(0)
        return
    with ThreadPoolExecutor(workers) as pool:
        try:
            for future in [pool.submit(run, worker) for worker in range(workers)]:
                future.result()
        finally:
            waiting.clear()
