"""Declared domains of attributes: public facts about a questionnaire, never derived from its answers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.ids import Codes
from discreet.data.values import number_in, truth_in
from discreet.errors import DataError, UsageError

__all__ = ["CategoricalDomain", "Domain", "IntegerDomain", "as_domain", "domains_from_json", "read_text"]


@dataclass(frozen=True)
class CategoricalDomain:
    """A list of values, in the order of their codes.

    Parameters
    ----------
    values
        The possible values, each once.

    Examples
    --------
    >>> CategoricalDomain(("no", "yes")).encode(pl.Series(["yes", "no", "maybe"]))
    array([ 1,  0, -1], dtype=int32)
    """

    values: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise UsageError(f"{self.values!r} is not a list of values.", remedy='Write ("no", "yes").')
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise UsageError("a domain needs at least one value.", remedy="List the possible values.")
        try:
            distinct = len(set(self.values))
        except TypeError:
            raise UsageError("the values of a domain must be hashable.", remedy="Use text or numbers.") from None
        if distinct < len(self.values):
            twice = next(v for place, v in enumerate(self.values) if v in self.values[:place])
            raise UsageError(f"the domain lists {twice!r} more than once.", remedy="List each value once.")

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.values)

    def encode(self, column: pl.Series) -> Codes:
        """Codes of the values, −1 for one outside the domain."""
        code_of = {value: code for code, value in enumerate(self.values)}
        if column.dtype == pl.Object:
            return np.fromiter((code_of.get(value, -1) for value in column), dtype=np.int32, count=len(column))
        # Each distinct value is looked up once: a column has few of them and many rows.
        distinct = column.unique()
        codes = pl.Series([code_of.get(value, -1) for value in distinct.to_list()], dtype=pl.Int32)
        found = column.replace_strict(distinct, codes, return_dtype=pl.Int32)
        return found.to_numpy().astype(np.int32, copy=False)

    def labels(self) -> list[str]:
        """A name for each code."""
        return [str(value) for value in self.values]

    def __str__(self) -> str:
        shown = ", ".join(map(repr, self.values[:4]))
        return f"{{{shown}{', …' if self.size > 4 else ''}}} ({self.size} values)"


@dataclass(frozen=True)
class IntegerDomain:
    """Whole numbers from ``low`` to ``high``, both included, with one code per number or per bin.

    Parameters
    ----------
    low, high
        The ends.
    bins
        None for one code per number; the number of bins of nearly equal width; or the first number of each bin.

    Examples
    --------
    >>> age = IntegerDomain(0, 99, bins=(0, 18, 65))
    >>> age.encode(pl.Series([17, 18, 99, 100])), age.labels()
    (array([ 0,  1,  2, -1], dtype=int32), ['0–17', '18–64', '65–99'])
    """

    low: int
    high: int
    bins: int | tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not all(_is_whole(end) for end in (self.low, self.high)) or self.low > self.high:
            raise UsageError(f"there are no whole numbers from {self.low!r} to {self.high!r}.")
        if not -(2**63) <= self.low <= self.high < 2**63:
            raise UsageError(f"{self.low} to {self.high} does not fit into 64 bits.")
        numbers = self.high - self.low + 1
        if self.bins is None:
            if numbers > 2**31 - 1:
                raise UsageError(f"{numbers:,} numbers are more than there are codes.", remedy="Give bins.")
            return
        if _is_whole(self.bins):
            if not 1 <= self.bins <= numbers:  # type: ignore[operator]
                raise UsageError(f"{numbers:,} numbers cannot fill {self.bins} bins.", remedy="Give fewer bins.")
            return
        first = tuple(self.bins) if isinstance(self.bins, Iterable) else ()
        object.__setattr__(self, "bins", first)
        if not first or first[0] != self.low or not _rises((*first, self.high + 1)):
            raise UsageError(
                f"bins that begin at {first} do not divide {self.low} to {self.high}.",
                remedy=f"Give rising whole numbers of which the first is {self.low}.",
            )

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self._firsts())

    def encode(self, column: pl.Series) -> Codes:
        """Codes of the numbers, −1 outside the domain and for anything but whole numbers."""
        numbers, whole = _whole_numbers(column)
        inside = whole & (numbers >= self.low) & (numbers <= self.high)
        if self.bins is None:
            codes = np.where(inside, numbers, self.low) - self.low
        else:
            codes = np.searchsorted(np.asarray(self._firsts(), dtype=np.int64), numbers, side="right") - 1
        return np.where(inside, codes, -1).astype(np.int32)

    def labels(self) -> list[str]:
        """A name for each code: the number, or the first and the last number of the bin."""
        firsts = self._firsts()
        lasts = [*(first - 1 for first in firsts[1:]), self.high]
        return [str(a) if a == b else f"{a}–{b}" for a, b in zip(firsts, lasts, strict=True)]

    def _firsts(self) -> range | tuple[int, ...]:
        if self.bins is None:
            return range(self.low, self.high + 1)
        if isinstance(self.bins, tuple):
            return self.bins
        numbers = self.high - self.low + 1
        return tuple(self.low + place * numbers // self.bins for place in range(self.bins))

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


Domain = CategoricalDomain | IntegerDomain


def as_domain(given: Any) -> Domain:
    """A domain from itself, from a range of whole numbers, or from a list of values."""
    if isinstance(given, CategoricalDomain | IntegerDomain):
        return given
    if isinstance(given, range) and given.step == 1 and len(given):
        return IntegerDomain(given.start, given.stop - 1)
    if isinstance(given, list | tuple | range | pl.Series | np.ndarray):
        return CategoricalDomain(tuple(given.tolist() if isinstance(given, np.ndarray) else given))
    raise UsageError(
        f"{given!r} is not a domain.",
        remedy="Give a list of values, a range, a CategoricalDomain or an IntegerDomain.",
    )


def domains_from_json(given: Any, *, file: Path | None = None) -> dict[str, Domain]:
    """Domains as JSON writes them: a list of values; low, high and perhaps bins; or a number of codes from 0.

    Parameters
    ----------
    file
        Where they were read, for errors.

    Examples
    --------
    >>> domains_from_json({"sex": ["F", "M"], "age": {"low": 0, "high": 99, "bins": [0, 18, 65]}})["age"].labels()
    ['0–17', '18–64', '65–99']
    """
    remedy = 'Write {"sex": ["F", "M"], "age": {"low": 0, "high": 99, "bins": [0, 18, 65]}, "region": 12}.'
    if not isinstance(given, dict) or not given:
        raise DataError("these are no domains.", file=file, remedy=remedy)
    domains: dict[str, Domain] = {}
    for name, domain in given.items():
        if isinstance(domain, dict) and {"low", "high"} <= set(domain) <= {"low", "high", "bins"}:
            bins = domain.get("bins")
            domains[name] = IntegerDomain(
                domain["low"], domain["high"], tuple(bins) if isinstance(bins, list) else bins
            )
        elif isinstance(domain, list):
            domains[name] = CategoricalDomain(tuple(domain))
        elif isinstance(domain, int) and not isinstance(domain, bool) and domain > 0:
            domains[name] = IntegerDomain(0, domain - 1)
        else:
            raise DataError("this is not a domain.", file=file, column=str(name), value=domain, remedy=remedy)
    return domains


def read_text(column: pl.Series, domain: Domain) -> pl.Series:
    """A column of text as values of a domain, each parsed by itself; null for other values.

    The domain declares the type: "01" is a number in a domain of numbers, and text in a domain of text.

    Examples
    --------
    >>> read_text(pl.Series(["1", "2.0", "x", None]), IntegerDomain(0, 9)).to_list()
    [1, 2, None, None]
    >>> read_text(pl.Series(["0.50", "no"]), CategoricalDomain((0.5, 1.0))).to_list()
    [0.5, None]
    """
    distinct = column.drop_nulls().unique()
    values = [_in_domain(text, domain) for text in distinct]
    kinds = {int} if isinstance(domain, IntegerDomain) else {type(value) for value in domain.values}
    if len(kinds) > 1:
        value_of = dict(zip(distinct, values, strict=True))
        return pl.Series(column.name, [value_of.get(text) for text in column], dtype=pl.Object)
    typed = pl.Series(values) if any(value is not None for value in values) else pl.Series(values, dtype=pl.String)
    return column.replace_strict(distinct, typed, default=None, return_dtype=typed.dtype)


def _in_domain(text: str, domain: Domain) -> Hashable | None:
    number = number_in(text.strip())
    if isinstance(domain, IntegerDomain):
        inside = number is not None and domain.low <= number <= domain.high and number == int(number)
        return int(number) if inside else None  # type: ignore[arg-type]
    for value in domain.values:
        if isinstance(value, bool):
            same = truth_in(text.strip()) is value
        elif isinstance(value, int | float):
            same = number is not None and number == number_in(str(value))
        else:
            same = text == value
        if same:
            return value
    return None


def _is_whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _is_whole_number(value: object) -> bool:
    """Whether a value of any type is a whole number of 64 bits."""
    if isinstance(value, float | np.floating) and not float(value).is_integer():
        return False
    return isinstance(value, int | float | np.number | np.bool_) and -(2**63) <= value < 2**63  # type: ignore[operator]


def _rises(numbers: tuple[object, ...]) -> bool:
    return all(map(_is_whole, numbers)) and all(a < b for a, b in pairwise(numbers))  # type: ignore[operator]


def _whole_numbers(column: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """The column as int64, and which of its values are whole numbers."""
    if column.dtype.is_float():
        values = column.to_numpy()
        # 2**63 itself is a float that int64 does not reach.
        whole = np.isfinite(values) & (np.abs(values) < 2.0**63) & (np.floor(values) == values)
        return np.where(whole, values, 0).astype(np.int64), whole
    if column.dtype == pl.Object:
        whole = np.array([_is_whole_number(value) for value in column], dtype=bool)
        numbers = (int(value) if kept else 0 for value, kept in zip(column, whole, strict=True))
        return np.fromiter(numbers, dtype=np.int64, count=len(column)), whole
    if not (column.dtype.is_integer() or column.dtype == pl.Boolean):
        return np.zeros(len(column), dtype=np.int64), np.zeros(len(column), dtype=bool)
    narrow = column.cast(pl.Int64, strict=False)
    return narrow.fill_null(0).to_numpy(), narrow.is_not_null().to_numpy()
