"""A bar with the time left, for long work that is called from Python: in a terminal, and in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

__all__ = ["Progress", "shown_progress"]

Progress = Callable[[float, str], None]
"""Told the share that is done, from 0 to 1, and what is being done."""

AFTER = 1.0
"""Seconds that work takes before a bar is shown."""

OFTEN = 0.2
"""Seconds between two pictures of a bar."""


@contextmanager
def shown_progress(what: str, given: Progress | bool | None = None) -> Iterator[Progress]:
    """What to tell the progress to: what was given, or a bar where somebody watches.

    Parameters
    ----------
    what
        The work.
    given
        A function that is told the progress; False for none; None or True for a bar on a terminal or in a notebook.

    Examples
    --------
    >>> told = []
    >>> with shown_progress("counting", lambda share, doing: told.append((share, doing))) as progress:
    ...     progress(0.5, "half")
    >>> told
    [(0.5, 'half')]
    """
    if callable(given):
        yield given
        return
    notebook = None if given is False else _notebook_display()
    if notebook is not None:
        yield from _in_notebook(what, notebook)
    elif given is not False and sys.stderr is not None and sys.stderr.isatty():
        yield from _in_terminal(what)
    else:
        yield lambda share, doing: None


def time_left(share: float, seconds: float) -> str:
    """How long it will take, in words, where a share took so many seconds.

    Examples
    --------
    >>> time_left(0.25, 30), time_left(0.5, 600), time_left(0.0, 3)
    ('1:30 left', '10:00 left', '')
    """
    if share <= 0:
        return ""
    left = round(seconds * (1 - min(1.0, share)) / share)
    hours, rest = divmod(left, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d} left" if hours else f"{rest // 60}:{rest % 60:02d} left"


def _notebook_display() -> Callable[..., Any] | None:
    """``display`` of a notebook; None elsewhere. IPython is imported by the notebook, and never here."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return None
    shell = ipython.get_ipython()
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display

    return display


class _Html:
    """A picture of the bar for ``display``, with a line of text for what shows no HTML."""

    def __init__(self, html: str, text: str) -> None:
        self.html, self.text = html, text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


def bar_html(what: str, share: float, doing: str, left: str) -> str:
    """The bar as HTML."""
    words = " · ".join(filter(None, (f"{what}: {doing}", f"{share:.0%}", left)))
    return (
        '<div style="font: 13px/1.5 system-ui, sans-serif; max-width: 40rem">'
        f'<progress value="{min(1.0, max(0.0, share)):.4f}" max="1" style="width: 12rem" aria-label="{escape(what)}">'
        f"</progress> {escape(words)}</div>"
    )


def _in_notebook(what: str, display: Callable[..., Any]) -> Iterator[Progress]:
    started, state = time.monotonic(), {"told": 0.0, "handle": None}

    def update(share: float, doing: str) -> None:
        now = time.monotonic()
        if now - started < AFTER or now - state["told"] < OFTEN:
            return
        state["told"] = now
        left = time_left(share, now - started)
        picture = _Html(bar_html(what, share, doing, left), f"{what}: {share:.0%} {left}")
        if state["handle"] is None:
            state["handle"] = display(picture, display_id=True)
        else:
            state["handle"].update(picture)

    try:
        yield update
    finally:
        if state["handle"] is not None:
            # What was computed is the output; the bar leaves one line.
            text = f"{what}: {time.monotonic() - started:.0f} s"
            state["handle"].update(_Html(f'<div style="font: 13px system-ui; opacity: .7">{escape(text)}</div>', text))


def _in_terminal(what: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    said = TextColumn("{task.description}", markup=False)
    columns = (said, BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True, emoji=False), transient=True) as bar:
        task = bar.add_task(f"{what} …", total=1.0)
        yield lambda share, doing: bar.update(task, completed=share, description=f"{what}: {doing}")
