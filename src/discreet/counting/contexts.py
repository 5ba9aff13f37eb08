"""Contexts: the public values that records are counted by, beside their items.

Which values a context has must be public: a table of the values that occur would tell that somebody has one. They are
declared (``"device=phone,laptop"``), known to everybody (``"weekday"``), or part of the data's declared type (an Enum
column). Records whose value is not among them are left out, each user's alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.calendar import HOURS, WEEKDAYS, hour_of, weekday_of
from discreet.data.interactions import Interactions
from discreet.errors import UsageError

__all__ = ["Context", "as_written", "context_of", "contexts_of"]

CALENDAR = {"weekday": (WEEKDAYS, weekday_of), "hour": (HOURS, hour_of)}
"""Contexts that follow from the time of a record, unless the data have a column of that name."""

MOST_CELLS = 2**31
BLOCK = 2**16


@dataclass(frozen=True)
class Context:
    """An attribute with public values.

    Parameters
    ----------
    name
        What it is called: a context column, a column of the table of users, ``weekday`` or ``hour``.
    values
        Its public values in order. Values like ``"<25"``, ``"25-44"`` and ``"45+"`` are bands of a number.
    of_user
        Whether it is a fact about the user, so that all records of a user have one value.

    Examples
    --------
    >>> context_of("age=<25,25-44,45+").values
    ('<25', '25-44', '45+')
    """

    name: str
    values: tuple[str, ...]
    of_user: bool = False

    def __post_init__(self) -> None:
        if not self.values:
            raise UsageError(f"the context {self.name!r} has no values.", remedy=_declare(self.name))
        if "" in self.values:
            raise UsageError(f"the context {self.name!r} has an empty value.", remedy=_declare(self.name))
        if len(set(self.values)) != len(self.values):
            raise UsageError(f"the context {self.name!r} names a value twice.")

    def code(self, value: str) -> int:
        """Where a value stands in the list."""
        if value not in self.values:
            raise UsageError(
                f"the context {self.name!r} has no value {value!r}.", remedy=f"Its values are {', '.join(self.values)}."
            )
        return self.values.index(value)

    @property
    def dtype(self) -> type[np.signedinteger[Any]]:
        """Two bytes for each record where that is enough, which is public as the number of values is."""
        return np.int16 if len(self.values) < 2**15 else np.int32

    def codes(self, data: Interactions) -> NDArray[np.signedinteger[Any]]:
        """The place of each record's value in the list, −1 where it is none of them."""
        if self.name in data.context.columns:
            return _places(data.context[self.name], self)
        if data.user_table is not None and self.name in data.user_table.columns:
            return _places(data.user_table[self.name], self)[data.user]
        if self.name in CALENDAR and data.timestamp is not None:
            known, place_of = CALENDAR[self.name]
            declared = np.array([self.values.index(v) if v in self.values else -1 for v in known], dtype=self.dtype)
            codes = np.empty(len(data), dtype=self.dtype)
            # In blocks, which stay in the processor's cache.
            for start in range(0, codes.size, BLOCK):
                codes[start : start + BLOCK] = declared[place_of(data.timestamp[start : start + BLOCK])]
            return codes
        raise _unknown(self.name, data)


def context_of(text: str) -> Context:
    """Read ``name=value,value,…`` or the name of a context that everybody knows, without data."""
    name, separator, listed = text.partition("=")
    name = name.strip()
    if not name:
        raise UsageError(f"{text!r} names no context.", remedy="Write for example weekday, or device=phone,laptop.")
    if separator:
        return Context(name, tuple(value.strip() for value in listed.split(",")))
    if name in CALENDAR:
        return Context(name, CALENDAR[name][0])
    raise UsageError(
        f"which values has the context {name!r}? Those that occur in the data are secret.", remedy=_declare(name)
    )


def contexts_of(given: Sequence[Context | str], data: Interactions) -> tuple[Context, ...]:
    """Contexts that these data have; facts about users are recognized as such.

    Values that were not declared are taken from the calendar or from an Enum column; never from what occurs, not even
    in a public column about users: that somebody of some value is among them may be known from nothing else.
    """
    contexts = tuple(_in(one, data) for one in given)
    names = [context.name for context in contexts]
    if len(set(names)) != len(names):
        raise UsageError(f"a context is named twice: {', '.join(names)}.")
    for name in names:
        if name in ("item_id", "title", "count", "rank", "score"):
            raise UsageError(f"a context cannot be called {name!r}.", remedy="Rename the column.")
    if math.prod(len(context.values) for context in contexts) * max(data.n_items, 1) >= MOST_CELLS:
        raise UsageError("these contexts and items make more than two thousand million counts.", remedy="Take fewer.")
    return contexts


def _in(given: Context | str, data: Interactions) -> Context:
    name = given.name if isinstance(given, Context) else given.partition("=")[0].strip()
    if name in data.context.columns:
        values, of_user = _enumerated(data.context[name]), False
    elif data.user_table is not None and name in data.user_table.columns:
        values, of_user = _enumerated(data.user_table[name]), True
    elif name in CALENDAR and data.timestamp is not None:
        values, of_user = CALENDAR[name][0], False
    else:
        raise _unknown(name, data)
    if values is None:
        context = context_of(given) if isinstance(given, str) else given
        return Context(name, context.values, of_user)
    every = Context(name, values, of_user)
    if isinstance(given, str) and "=" not in given:
        return every
    context = context_of(given) if isinstance(given, str) else given
    for value in context.values:
        if _band(value) is None:
            every.code(value)  # names it where it is none: no record could have it
    return Context(name, context.values, of_user)


def _enumerated(column: pl.Series) -> tuple[str, ...] | None:
    """The values that the type of a column declares, if it does."""
    return tuple(column.dtype.categories) if isinstance(column.dtype, pl.Enum) else None


def _declare(name: str) -> str:
    return f'Declare all values: "{name}=first,second,third", or bands of a number: "{name}=<25,25-44,45+".'


def _places(column: pl.Series, context: Context) -> NDArray[np.signedinteger[Any]]:
    """Where each value stands: as it is written, or as a number in the first band that holds it.

    Both are tried for every value alone. To decide by the type of the column would let one odd value of one user move
    everybody's.
    """
    written = as_written(column)
    declared = as_written(pl.Series(context.values, dtype=pl.String)).to_list()
    codes = written.replace_strict(declared, list(range(len(declared))), default=-1, return_dtype=pl.Int32)
    places = codes.fill_null(-1).to_numpy().astype(context.dtype)
    bands = [_band(value) for value in context.values]
    if any(bands):
        numbers = written.cast(pl.Float64, strict=False).fill_null(math.nan).to_numpy()
        for place, band in enumerate(bands):
            if band is not None:
                places[(numbers >= band[0]) & (numbers < band[1]) & (places < 0)] = place
    return places


def as_written(column: pl.Series) -> pl.Series:
    """Values as text, each by itself: 1, 1.0 and "1.0" are all written "1", whatever the type of the column is.

    The type follows from everybody's values; one user's 2.5 among whole numbers must not change how the others' are
    written.
    """
    if column.dtype == pl.Object:
        column = pl.Series([None if value is None else str(value) for value in column], dtype=pl.String)
    written = column.cast(pl.String, strict=False)
    return written.str.strip_chars().str.replace(r"^(-?\d+)\.0+$", "${1}")


def _band(value: str) -> tuple[float, float] | None:
    """The half-open range that a band of whole numbers stands for."""
    if match := re.fullmatch(r"<\s*(\d+)", value):
        return -math.inf, float(match[1])
    if match := re.fullmatch(r"(\d+)\s*[-–]\s*(\d+)", value):
        return float(match[1]), float(match[2]) + 1
    if match := re.fullmatch(r"(\d+)\s*\+", value):
        return float(match[1]), math.inf
    return None


def _unknown(name: str, data: Interactions) -> UsageError:
    columns = list(data.context.columns) + ([] if data.user_table is None else list(data.user_table.columns))
    known = [*columns, *(name for name in CALENDAR if data.timestamp is not None and name not in columns)]
    has = f"They have {', '.join(known)}." if known else "They have none."
    return UsageError(f"these data have no context {name!r}.", remedy=has)
