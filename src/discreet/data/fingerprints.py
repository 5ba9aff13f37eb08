"""Fingerprints: the same records give the same SHA-256, in whatever order they came."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import stable_text

if TYPE_CHECKING:
    from discreet.data.ids import Codes, IdMap

__all__ = ["Cut", "canonical_order", "covered", "cut_from", "fingerprint_of_records", "kind_of_cut", "origin_of"]

Cut = Literal["rewritten", "posts", "records", "users", "freely"]
"""How a part was made, by what decided about one record of it.

rewritten: each record became another way to write it down, and none was left out.
posts: posts were left out by who tagged what, whatever with, and everybody still has one.
records: a record was left out, or merged with an equal one, by what it says itself and by public facts.
users: a record was left out by what its user's records say and by public facts.
freely: all records may have been looked at.
"""

MARKS: dict[Cut, str] = {"rewritten": "", "posts": "=", "records": "-", "users": "^", "freely": "~"}
"""Before a fingerprint in a lineage: how the part was cut from it."""

# For which neighboring steps of the whole the parts are neighbors, too.
COVERED: dict[tuple[str, str], str] = {
    ("user", "add-remove"): "=-^",
    ("record", "add-remove"): "-",
    ("group", "add-remove"): "-",
    ("user", "replace"): "=",
    ("record", "value"): "=",
}


class _Whole(Protocol):
    @property
    def fingerprint(self) -> Any: ...

    @property
    def lineage(self) -> Any: ...


def cut_from(whole: _Whole, cut: Cut) -> tuple[str, ...]:
    """The lineage of a part.

    What it says must follow from what was called, not from what became of the records: it decides what is refused.
    """
    return (*whole.lineage, MARKS[cut] + whole.fingerprint)


def kind_of_cut(independent: bool | Literal["record"]) -> Cut:
    """What ``independent=`` of a filter declares."""
    if independent == "record":
        return "records"
    return "users" if independent else "freely"


def origin_of(text: str) -> str:
    """The fingerprint in an entry of a lineage."""
    return text.lstrip("".join(MARKS.values()))


def covered(lineage: Sequence[str], what: str, relation: str) -> bool:
    """Whether a promise about a part, for one unit, is a promise about the whole that it was cut from.

    Parameters
    ----------
    what, relation
        The unit: see ``Unit``.

    Examples
    --------
    >>> by_user = ("^" + "0" * 64,)
    >>> covered(by_user, "user", "add-remove"), covered(by_user, "record", "add-remove")
    (True, False)
    """
    admitted = COVERED.get((what, relation), "")
    return all(origin[: len(origin) - len(origin_of(origin))] in ("", *admitted) for origin in lineage)


def fingerprint_of_records(
    *,
    kind: str,
    ids: Sequence[tuple[IdMap, Codes]],
    values: Mapping[str, NDArray[np.generic] | pl.Series | None],
    repeats: bool,
) -> str:
    """SHA-256 over records that are sorted by their codes.

    Only ids that occur are hashed, so a public catalog does not change whose secrets these are.

    Parameters
    ----------
    kind
        Type of the records, part of the hash.
    ids
        Each id column as its map and its codes; the records must be sorted by these.
    values
        Further columns; None is a column that is absent.
    repeats
        Whether records may share all their ids; they are then brought into an order of their own.
    """
    numbers = {name: _as_numbers(column) for name, column in values.items() if column is not None}
    codes = [codes for _, codes in ids]
    if repeats:
        order = _canonical_order(codes, numbers)
        codes = [column[order] for column in codes]
        numbers = {name: (text, column[order]) for name, (text, column) in numbers.items()}

    digest = hashlib.sha256(f"discreet/{kind}/1/{codes[0].size if codes else 0}".encode())
    for (map_, _), column in zip(ids, codes, strict=True):
        seen = np.zeros(len(map_), dtype=bool)
        seen[column] = True
        renumbered = np.cumsum(seen, dtype=np.int32) - np.int32(1)
        _absorb_ids(digest, map_.take(np.flatnonzero(seen)))
        digest.update(np.ascontiguousarray(renumbered[column]).data)
    for name in sorted(numbers):
        text, column = numbers[name]
        digest.update(f"/{name}/{text}/".encode())
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()


def canonical_order(
    codes: Sequence[Codes], values: Mapping[str, NDArray[np.generic] | pl.Series | None]
) -> NDArray[np.int64]:
    """An order of the records that depends on what they hold and not on how they came.

    Examples
    --------
    >>> canonical_order([np.array([0, 0, 0], dtype=np.int32)], {"rating": np.array([3.0, 1.0, 2.0])})
    array([1, 2, 0])
    """
    return _canonical_order(codes, {name: _as_numbers(column) for name, column in values.items() if column is not None})


def _canonical_order(
    codes: Sequence[Codes], numbers: Mapping[str, tuple[str, NDArray[np.generic]]]
) -> NDArray[np.int64]:
    by_name = [numbers[name][1] for name in sorted(numbers)]
    return np.lexsort([*reversed(by_name), *reversed(codes)])


def _absorb_ids(digest: hashlib._Hash, ids: pl.Series) -> None:
    kind = {pl.Int64: "int", pl.String: "text"}.get(type(ids.dtype), "object")
    digest.update(f"/{len(ids)}/{kind}/".encode())
    if ids.dtype == pl.Int64:
        digest.update(ids.to_numpy().tobytes())
        return
    for value in ids:
        # The length goes first so that no two lists of ids run together into the same bytes.
        encoded = (value if kind == "text" else f"{type(value).__name__}:{stable_text(value)}").encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)


def _as_numbers(column: NDArray[np.generic] | pl.Series) -> tuple[str, NDArray[np.generic]]:
    """A column as sortable numbers, and what gives them meaning (the categories of a text column)."""
    if not isinstance(column, pl.Series):
        wide = np.int64 if column.dtype.kind in "iu" else np.float64
        return str(np.dtype(wide)), column.astype(wide)
    if column.dtype.is_numeric() and not column.null_count():
        # One width for each kind of number: the caller's choice of it does not change what the records say.
        wide = pl.Int64 if column.dtype.is_integer() else pl.Float64
        column = column if column.dtype in (pl.UInt64, pl.Int128, pl.UInt128) else column.cast(wide)
        return str(column.dtype), column.to_numpy()
    if column.dtype == pl.Object or column.dtype.is_nested():
        column = pl.Series([stable_text(value) for value in column.to_list()], dtype=pl.String)
    text = column.cast(pl.String)
    categories = text.drop_nulls().unique().sort()
    numbers = pl.Series(np.arange(len(categories), dtype=np.int64))
    codes = text.replace_strict(categories, numbers, default=-1, return_dtype=pl.Int64)
    meaning = hashlib.sha256()
    _absorb_ids(meaning, categories)
    return meaning.hexdigest(), codes.to_numpy()
