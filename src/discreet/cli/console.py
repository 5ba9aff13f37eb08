"""What the program prints: answers on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from discreet.common.numerals import parse_rational

if TYPE_CHECKING:
    from rich.console import Console


__all__ = [
    "AsJson",
    "answer_json",
    "answer_table",
    "answer_text",
    "ask_to_stop",
    "counted",
    "nobody_asked_to_stop",
    "note",
    "progressing",
    "stopping",
    "working",
]

AsJson = Annotated[bool, typer.Option("--json", help="Answer as one JSON document.")]

SELDOM = 15.0
"""Seconds between two lines about the progress where no terminal shows a bar."""

EXACT = ("epsilon", "delta", "rho", "mu", "mu_squared", "scale", "sensitivity", "share", "total")
"""Names of numbers that releases and ledgers keep as exact text."""


@cache
def _out() -> Console:
    from rich.console import Console

    # Tables keep their width in a pipe; rich itself honors NO_COLOR and leaves colors out where there is no terminal.
    # Nothing that is printed is markup: in ids and scales ":100:" would become a picture.
    return Console(soft_wrap=True, emoji=False, width=None if sys.stdout.isatty() else 120)


@cache
def _err() -> Console:
    from rich.console import Console

    return Console(stderr=True, soft_wrap=True, emoji=False)


def note(text: str) -> None:
    """Print something that is not the answer."""
    _err().print(text, markup=False, highlight=False)


def answer_text(text: str) -> None:
    """Print an answer in words."""
    _out().print(text, markup=False, highlight=False)


def answer_json(data: Any) -> None:
    """Print an answer for machines: one JSON document, with every exact number as a float beside its exact text."""
    json.dump(_plain(data), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def answer_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, numbers: Sequence[str] = ()
) -> None:
    """Print an answer as a table.

    Columns named in ``numbers`` are aligned to the right. Whole numbers get commas there and in the column "value";
    elsewhere they are names, which are spelled as they are.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    above = Text(title) if title else None
    table = Table(title=above, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(Text(column), justify="right" if column in numbers else "left", overflow="fold")
    spelled = [_cell if column in (*numbers, "value") else _name for column in columns]
    for row in rows:
        table.add_row(*(Text(spell(value)) for spell, value in zip(spelled, row, strict=True)))
    _out().print(table)


def counted(many: int, what: str, plural: str | None = None) -> str:
    """A number and its noun: ``1 tag``, ``2 tags``.

    Examples
    --------
    >>> counted(1, "tag"), counted(2000, "tag"), counted(2, "entry", "entries")
    ('1 tag', '2,000 tags', '2 entries')
    """
    return f"{many:,} {what if many == 1 else plural or f'{what}s'}"


# Progress

_ASKED = threading.Event()


def ask_to_stop(*_: object) -> NoReturn:
    """The handler of signals that end the program."""
    _ASKED.set()
    raise KeyboardInterrupt


def nobody_asked_to_stop() -> None:
    """Forget earlier signals; when the program begins."""
    _ASKED.clear()


def stopping(update: Callable[[float, str], None]) -> Callable[[float, str], None]:
    """The same progress, which ends work that was to stop: a library may have swallowed the interrupt."""

    def checked(share: float, doing: str) -> None:
        if _ASKED.is_set():
            raise KeyboardInterrupt
        update(share, doing)

    return checked


@contextmanager
def working(what: str) -> Iterator[None]:
    """Long work of unknown length: a spinner on a terminal, and a line with the time when it is done."""
    with _timed(what), _bar(what, known=False):
        yield


@contextmanager
def progressing(what: str) -> Iterator[Callable[[float, str], None]]:
    """Long work of known length: yields what to call with the share done, from 0 to 1, and what is being done."""
    with _timed(what), _bar(what, known=True) as update:
        yield update


@contextmanager
def _timed(what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    spent = time.monotonic() - started
    if spent >= 2:
        note(f"{what}: {spent:.0f} s")


@contextmanager
def _bar(what: str, *, known: bool) -> Iterator[Callable[[float, str], None]]:
    """A bar or a spinner on a terminal; elsewhere a line now and then."""
    if not _err().is_terminal:
        said = [time.monotonic()]

        def say(share: float, doing: str) -> None:
            if time.monotonic() - said[0] >= SELDOM:
                said[0] = time.monotonic()
                note(f"{what}: {share:.0%}, {doing}")

        yield say
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Remaining

    text = TextColumn("{task.description}")
    length = (text, BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), Remaining())
    columns = length if known else (SpinnerColumn(), text, TimeElapsedColumn())
    with Progress(*columns, console=_err(), transient=True) as bar:
        task = bar.add_task(f"{what} …", total=1.0)
        yield lambda share, doing: bar.update(task, completed=share, description=f"{what}: {doing}")


# Values


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_cell(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    return "" if value is None else str(value)


def _name(value: object) -> str:
    return str(value) if isinstance(value, int) else _cell(value)


def _plain(value: Any) -> Any:
    """A value as JSON holds it."""
    if isinstance(value, Mapping):
        plain: dict[str, Any] = {}
        for name, one in value.items():
            exact = _exact(str(name), one)
            if exact is None:
                plain[str(name)] = _plain(one)
            else:
                plain |= {str(name): float(exact), f"{name}_exact": str(exact)}
        return plain
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Fraction):
        return float(value)
    return value.item() if hasattr(value, "item") else str(value)


def _exact(name: str, value: Any) -> Fraction | None:
    """The number that is kept exactly under a name, as a fraction or as text."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, str) and (name in EXACT or name.rpartition("_")[2] in EXACT):
        try:
            return parse_rational(value)
        except (ValueError, OverflowError):
            return None
    return None
