"""Contexts: the public values that records are counted by, beside their items.

Which values a context has must be public: a table of the values that occur would tell that somebody has one. They are
declared (``"device=phone,laptop"``), known to everybody (``"weekday"``), or part of the data's declared type (an Enum
column). Their type is declared with them: it says how the value of a record is read, each record's by itself. Records
whose value is not among the declared ones are left out, each user's alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.data.values import (
    HOURS,
    TYPES,
    WEEKDAYS,
    ValueType,
    hour_of,
    number_in,
    parsed,
    spelled,
    spelled_column,
    truth_in,
    weekday_of,
)
from discreet.errors import UsageError

__all__ = ["TYPES_OF_TABLE", "Context", "columns_named", "context_of", "contexts_of"]

CALENDAR = {"weekday": (WEEKDAYS, weekday_of), "hour": (HOURS, hour_of)}
"""Contexts that follow from the time of a record, unless the data have a column of that name."""

TYPES_OF_TABLE = "the column types of the table that the contexts came in"
"""Not covered by a promise about contexts whose values came in a table that its owner had given types."""

BLOCK = 2**16

_TYPE_OF: dict[str, ValueType] = {kind: kind for kind in TYPES}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*")
_PADDED = re.compile(r"[+-]?0[0-9].*")


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
    kind
        The type of the values, which says how those of the records are read: "number" (1, 1.0 and "1.00" are the same),
        "boolean" (True, "true" and "TRUE" are), "time" (ISO 8601; without a time zone it is UTC) or "text" (compared
        letter by letter, without the blanks around it). Without one it follows from the declared values: numbers and
        bands are numbers, unless one begins with 0 as in "007" or two are equal; true and false are booleans; dates
        are times; anything else is text. A declared value that is not of the type is compared as text.
    from_table
        Whether the values of the records came in a table with column types of its own.

    Examples
    --------
    >>> context_of("age=<25,25-44,45+").values
    ('<25', '25-44', '45+')
    >>> context_of("premium=true,false").kind, context_of("zip:text=1234,5678").kind
    ('boolean', 'text')
    """

    name: str
    values: tuple[str, ...]
    of_user: bool = False
    kind: ValueType | None = None
    from_table: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not self.values:
            raise UsageError(f"the context {self.name!r} has no values.", remedy=_declare(self.name))
        if "" in self.values:
            raise UsageError(f"the context {self.name!r} has an empty value.", remedy=_declare(self.name))
        if self.kind is None:
            object.__setattr__(self, "kind", _kind_of(self.values))
        if self.kind not in TYPES:
            raise UsageError(f"there is no type {self.kind!r} of values.", remedy=f"Choose from {', '.join(TYPES)}.")
        if len(self._place_of) != len(self.values):
            raise UsageError(f"the context {self.name!r} names a value twice.")

    def __str__(self) -> str:
        """The declaration that ``context_of`` reads."""
        kind = "" if self.kind == _kind_of(self.values) else f":{self.kind}"
        return f"{self.name}{kind}={','.join(self.values)}"

    def code(self, value: str) -> int:
        """Where a value stands in the list."""
        if value not in self.values:
            raise UsageError(
                f"the context {self.name!r} has no value {value!r}.", remedy=f"Its values are {', '.join(self.values)}."
            )
        return self.values.index(value)

    def place(self, text: str | None) -> int:
        """Which declared value the value of a record is, as ``spelled`` writes it; −1 for none of them.

        Examples
        --------
        >>> [context_of("age=<25,25+,unknown").place(text) for text in ("24.5", "30", "unknown", "x", None)]
        [0, 1, 2, -1, -1]
        """
        if text is None:
            return -1
        found = self._place_of.get(self._meaning(text), -1)
        if found < 0 and self._bands and (number := number_in(text)) is not None:
            return next((place for place, (low, high) in self._bands.items() if low <= number < high), -1)
        return found

    def _meaning(self, text: str) -> tuple[str, Any]:
        """What is compared: the value in the declared type, or the text where it has none there."""
        assert self.kind is not None
        value = parsed(text, self.kind)
        return ("text", text) if value is None else (self.kind, value)

    @cached_property
    def _place_of(self) -> dict[tuple[str, Any], int]:
        return {self._meaning(value): place for place, value in enumerate(self.values)}

    @cached_property
    def _bands(self) -> dict[int, tuple[Decimal, Decimal]]:
        bands = {place: _band(value) for place, value in enumerate(self.values)}
        return {place: band for place, band in bands.items() if band is not None and self.kind == "number"}

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
            codes = np.empty(data.user.size, dtype=self.dtype)
            # In blocks, which stay in the processor's cache.
            for start in range(0, codes.size, BLOCK):
                codes[start : start + BLOCK] = declared[place_of(data.timestamp[start : start + BLOCK])]
            return codes
        raise _unknown(self.name, data)


def context_of(text: str) -> Context:
    """Read ``name=value,…``, ``name:type=value,…`` or the name of a context that everybody knows, without data."""
    name, kind, listed = _declared(text)
    if not name:
        raise UsageError(f"{text!r} names no context.", remedy="Write for example weekday, or device=phone,laptop.")
    if listed is not None:
        return Context(name, tuple(value.strip() for value in listed.split(",")), kind=kind)
    if name in CALENDAR:
        return Context(name, CALENDAR[name][0], kind="text")
    raise UsageError(
        f"the values of the context {name!r} are not declared; those that occur in the data are secret.",
        remedy=_declare(name),
    )


def columns_named(given: Sequence[str]) -> list[str]:
    """The columns that declarations of contexts name, without those that follow from the time of a record.

    Examples
    --------
    >>> columns_named(["weekday", "region=north,south", "zip:text=1234,5678"])
    ['region', 'zip']
    """
    return [name for name in (_declared(text)[0] for text in given) if name and name not in CALENDAR]


def _declared(text: str) -> tuple[str, ValueType | None, str | None]:
    """Name, type and list of a declaration, as far as it has them."""
    name, separator, listed = text.partition("=")
    name = name.strip()
    stem, _, suffix = name.rpartition(":")
    kind = _TYPE_OF.get(suffix.strip()) if stem else None
    return name if kind is None else stem.strip(), kind, listed if separator else None


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
    return contexts


def _in(given: Context | str, data: Interactions) -> Context:
    name = given.name if isinstance(given, Context) else _declared(given)[0]
    from_table = name in data.typed_columns
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
        return replace(context, of_user=of_user, from_table=from_table)
    every = Context(name, values, of_user, kind="text", from_table=from_table)
    if isinstance(given, str) and "=" not in given:
        return every
    context = context_of(given) if isinstance(given, str) else given
    for value in context.values:
        if _band(value) is None:
            every.code(value)  # names it where it is none: no record could have it
    return replace(context, of_user=of_user, from_table=from_table)


def _enumerated(column: pl.Series) -> tuple[str, ...] | None:
    """The values that the type of a column declares, if it does."""
    return tuple(column.dtype.categories) if isinstance(column.dtype, pl.Enum) else None


def _kind_of(values: tuple[str, ...]) -> ValueType:
    """The type of values that were declared without one; it follows from them alone, so it is as public as they are."""
    numbers = [number_in(value) for value in values]
    bands = any(_band(value) for value in values)
    if bands or all(number is not None and not _PADDED.fullmatch(v) for number, v in zip(numbers, values, strict=True)):
        known = [number for number in numbers if number is not None]
        if len(set(known)) == len(known):
            return "number"
    if {truth_in(value) for value in values} >= {True, False}:
        return "boolean"
    if all(_DAY.fullmatch(value) and parsed(value, "time") for value in values):
        return "time"
    return "text"


def _declare(name: str) -> str:
    return f'Declare all values: "{name}=first,second,third", or bands of a number: "{name}=<25,25-44,45+".'


def _places(column: pl.Series, context: Context) -> NDArray[np.signedinteger[Any]]:
    """Where each value stands; every distinct value is read once and by itself."""
    if column.dtype.is_float() and context.kind == "number":
        _refuse_rounded(column.dtype, context)
    distinct = column.unique()
    codes = pl.Series([context.place(text) for text in spelled_column(distinct)], dtype=pl.Int32)
    return column.replace_strict(distinct, codes, return_dtype=pl.Int32).to_numpy().astype(context.dtype)


def _refuse_rounded(dtype: pl.DataType, context: Context) -> None:
    """Refuse declared numbers that a column of this type can only hold rounded, together with their neighbors."""
    width = np.float32 if dtype == pl.Float32 else np.float64
    for value in context.values:
        number = number_in(value)
        if number is not None and number_in(spelled(width(value)) or "") != number:
            raise UsageError(
                f"the column {context.name!r} is {dtype}, which holds {value} only rounded.",
                remedy="Give the column as text or as whole numbers.",
            )


def _band(value: str) -> tuple[Decimal, Decimal] | None:
    """The half-open range that a band of whole numbers stands for."""
    if match := re.fullmatch(r"<\s*([0-9]{1,18})", value):
        return Decimal("-Infinity"), Decimal(match[1])
    if match := re.fullmatch(r"([0-9]{1,18})\s*[-–]\s*([0-9]{1,18})", value):
        return Decimal(match[1]), Decimal(match[2]) + 1
    if match := re.fullmatch(r"([0-9]{1,18})\s*\+", value):
        return Decimal(match[1]), Decimal("Infinity")
    return None


def _unknown(name: str, data: Interactions) -> UsageError:
    columns = list(data.context.columns) + ([] if data.user_table is None else list(data.user_table.columns))
    known = [*columns, *(name for name in CALENDAR if data.timestamp is not None and name not in columns)]
    has = f"They have {', '.join(known)}." if known else "They have none."
    return UsageError(f"these data have no context {name!r}.", remedy=has)
