"""How far long work is: a bar with the remaining time on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.cli.console import note

__all__ = ["progressing"]

# Where nobody watches, a line is said at most so often, in seconds.
SELDOM = 15.0


@contextmanager
def progressing(what: str) -> Iterator[Callable[[float, str], None]]:
    """Long work whose share is known: yields what to call with that share, from 0 to 1, and what is being done."""
    from rich.console import Console

    console = Console(stderr=True, soft_wrap=True)
    started = time.monotonic()
    if console.is_terminal:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            Remaining(),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(what, total=1.0)
            yield lambda share, doing: bar.update(task, completed=share, description=f"{what}: {doing}")
    else:
        said = [started]

        def say(share: float, doing: str) -> None:
            if time.monotonic() - said[0] >= SELDOM:
                said[0] = time.monotonic()
                note(f"{what}: {share:.0%}, {doing}")

        yield say
    spent = time.monotonic() - started
    if spent >= 2:
        note(f"{what}: {spent:.0f} s")
