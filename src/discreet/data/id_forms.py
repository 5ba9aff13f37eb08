"""Ids in a declared type: each is converted by itself, whatever the others are.

The type of a column follows from everybody's records: one text among a million numbers makes all of it text. One user's
record must not decide whether the id of another is found.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.data.ids import Codes, IdMap, as_id_series
from discreet.errors import DataError, DuplicatesWarning, Remedy, UsageError

__all__ = [
    "IdKind",
    "IdKinds",
    "coded",
    "declared_ids",
    "id_as_number",
    "id_as_text",
    "id_kinds",
    "recognized",
    "typed",
    "written",
]

IdKind = Literal["text", "number"]
IdKinds = IdKind | str | Mapping[str, IdKind] | None
"""The declared type of ids, for all of them or for each role ("user=number,item=text")."""

MOST_DIGITS = 19
"""The most digits of a whole number of 64 bits."""


def id_as_text(value: object) -> str | None:
    """Whole numbers, truth values and text as text; None for any other id. 1 and 1.0 are the same number."""
    if isinstance(value, str | bool):
        return str(value)
    number = id_as_number(value)
    return None if number is None else str(number)


def id_as_number(value: object) -> int | None:
    """Whole numbers, and text that is one, as numbers; None for any other id. 1 and 1.0 are the same number."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS and str(int(value)) == value):
            return None
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return int(value) if -(2**63) <= value < 2**63 else None


def written(values: Iterable[Any], dtype: pl.DataType) -> list[Any]:
    """Ids converted to the type of a column; None for those that have no such form. Columns of objects take any.

    Examples
    --------
    >>> written([1, "1", "x", 2.5, ("a", 1)], pl.String())
    ['1', '1', 'x', None, None]
    >>> written([1, "1", "x", 2.5, ("a", 1)], pl.Int64())
    [1, 1, None, None, None]
    """
    if dtype == pl.Object:
        return list(values)
    form = id_as_text if dtype == pl.String else id_as_number
    return [form(value) for value in values]


def recognized(known: IdMap, given: Iterable[Hashable] | pl.Series) -> Codes:
    """Codes of ids that may be of another type than the known ones; −1 for unknown ids.

    Examples
    --------
    >>> recognized(IdMap(["1", "2"]), [2, "1", 3.5])
    array([ 1,  0, -1], dtype=int32)
    """
    series = as_id_series(given, what=known.what)
    if known.series.dtype in (series.dtype, pl.Object):
        return known.encode(series, unknown="mark")
    forms = written(series, known.series.dtype)
    has_form = np.array([form is not None for form in forms], dtype=bool)
    codes = np.full(len(forms), -1, dtype=np.int32)
    names = pl.Series([form for form in forms if form is not None], dtype=known.series.dtype)
    codes[has_form] = known.encode(names, unknown="mark")
    return codes


def typed(given: Any, ids: pl.Series) -> Any:
    """An id that a person typed, in the type of a column of ids if it has a form of that type.

    Examples
    --------
    >>> typed("17", pl.Series([1, 2])), typed(17, pl.Series(["1", "2"])), typed("x", pl.Series([1, 2]))
    (17, '17', 'x')
    """
    if ids.dtype == pl.Object:
        return given
    form = written([given], ids.dtype)[0]
    return given if form is None else form


def id_kinds(given: IdKinds, roles: Sequence[str]) -> dict[str, IdKind | None]:
    """The declared type of the ids of each role; None for those without a declaration.

    Examples
    --------
    >>> id_kinds("number", ["user", "item"]), id_kinds("user=number", ["user", "item"])
    ({'user': 'number', 'item': 'number'}, {'user': 'number', 'item': None})
    """
    kinds: Mapping[str, str | None]
    if isinstance(given, str) and "=" in given:
        pairs = [part.partition("=") for part in given.split(",")]
        kinds = {role.strip(): kind.strip() for role, _, kind in pairs}
    else:
        kinds = given if isinstance(given, Mapping) else dict.fromkeys(roles, given)
    found: dict[str, IdKind | None] = dict.fromkeys(roles)
    for role, kind in kinds.items():
        if role not in roles or kind not in ("text", "number", None):
            raise UsageError(
                f"ids cannot be declared as {role}={kind}.",
                remedy=_declare_ids(roles),
            )
        found[role] = kind
    return found


def declared_ids(given: IdKinds, roles: Sequence[str], usual: IdKind) -> dict[str, IdKind]:
    """The type of the ids of each role: the declared one, or that of the format.

    Examples
    --------
    >>> declared_ids("user=number", ["user", "item"], "text")
    {'user': 'number', 'item': 'text'}
    """
    return {role: kind or usual for role, kind in id_kinds(given, roles).items()}


def coded(column: pl.Series, kind: IdKind | None, *, what: str) -> tuple[IdMap, Codes]:
    """The ids of a column in a declared type, and the code of each row. Every id is converted by itself.

    Examples
    --------
    >>> ids, codes = coded(pl.Series([2, 10, 2]), "text", what="user")
    >>> ids.ids(), codes
    (['10', '2'], array([1, 0, 1], dtype=int32))
    """
    ids = IdMap(column, what=what)
    codes = ids.encode(column)
    dtype = {"text": pl.String(), "number": pl.Int64()}.get(kind or "")
    if dtype is None or ids.series.dtype == dtype:
        _tell_spelled_alike(ids)
        return ids, codes
    # Each distinct id is converted once: a column has far more rows.
    whole_numbers = ids.series.dtype == pl.Int64
    names = ids.series.cast(pl.String) if whole_numbers else pl.Series(written(ids.ids(), dtype), dtype=dtype)
    if names.null_count():
        row = int(np.argmax(names.is_null().to_numpy()[codes]))
        raise DataError(
            f"the {what} id of row {row} is not {'text' if kind == 'text' else 'a whole number'}.",
            value=ids.decode([codes[row]])[0],
            remedy=Remedy(
                "Correct it, or declare another type with ids=.", cli="Correct it, or give another --ids TYPE."
            ),
        )
    named = IdMap(names, what=what)
    return named, named.encode(names)[codes]


def _tell_spelled_alike(ids: IdMap) -> None:
    """Users of several types count as several people, also 3 and "3": a caller who meant one is told."""
    if ids.what != "user" or ids.series.dtype != pl.Object:
        return
    named: dict[str, list[Any]] = {}
    for one in ids.series:
        named.setdefault(str(one), []).append(one)
    if alike := [several for several in named.values() if len(several) > 1]:
        shown = " and ".join(map(repr, alike[0]))
        warnings.warn(
            f"users of several types are spelled alike, as {shown}, and count as several people; names of this kind: "
            f'{len(alike):,}. Give ids="text" if they are one.',
            DuplicatesWarning,
            stacklevel=4,
        )


def _declare_ids(roles: Sequence[str]) -> Remedy:
    if not roles:
        return Remedy("Leave ids= out.", cli="Leave --ids out.")
    what = f"Declare 'text' or 'number', for all ids or for some of {', '.join(roles)}"
    return Remedy(f'{what}: ids="{roles[0]}=number".', cli=f"{what}: --ids {roles[0]}=number.")
