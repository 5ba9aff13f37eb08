"""What the program says: answers on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["answer_json", "answer_table", "answer_text", "note", "working"]


@cache
def _out() -> Console:
    from rich.console import Console

    # Tables keep their width in a pipe; rich itself honors NO_COLOR and leaves colors out where there is no terminal.
    return Console(soft_wrap=True) if sys.stdout.isatty() else Console(width=120, soft_wrap=True)


@cache
def _err() -> Console:
    from rich.console import Console

    return Console(stderr=True, soft_wrap=True)


def note(text: str) -> None:
    """Say something that is not the answer."""
    _err().print(text, markup=False, highlight=False)


def answer_text(text: str) -> None:
    """An answer in words."""
    _out().print(text, markup=False, highlight=False)


def answer_json(data: Any) -> None:
    """An answer for machines: one JSON document."""
    json.dump(data, sys.stdout, indent=2, ensure_ascii=False, default=_plain)
    sys.stdout.write("\n")


def answer_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, numbers: Sequence[str] = ()
) -> None:
    """An answer as a table; columns named in ``numbers`` stand to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    _out().print(table)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Long work: a spinner with the time on a terminal, a plain line elsewhere, and a word when it is done."""
    started = time.monotonic()
    if _err().is_terminal:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        bar = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=_err(), transient=True
        )
        with bar:
            bar.add_task(f"{what} …")
            yield
    else:
        yield
    spent = time.monotonic() - started
    if spent >= 2:
        note(f"{what}: {spent:.0f} s")


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction | Path):
        return str(value)
    if hasattr(value, "item"):
        return value.item()
    return str(value)
