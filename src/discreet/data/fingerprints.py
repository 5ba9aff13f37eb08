"""Fingerprints: the same records give the same SHA-256, in whatever order they came."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.data.ids import Codes, IdMap

__all__ = ["fingerprint_of_records"]


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
        order = np.lexsort([*reversed([column for _, column in numbers.values()]), *reversed(codes)])
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


def _absorb_ids(digest: hashlib._Hash, ids: pl.Series) -> None:
    digest.update(f"/{len(ids)}/{'int' if ids.dtype == pl.Int64 else 'text'}/".encode())
    if ids.dtype == pl.Int64:
        digest.update(ids.to_numpy().tobytes())
        return
    for value in ids:
        # The length goes first so that no two lists of ids run together into the same bytes.
        encoded = (value if isinstance(value, str) else f"{type(value).__name__}:{value!r}").encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)


def _as_numbers(column: NDArray[np.generic] | pl.Series) -> tuple[str, NDArray[np.generic]]:
    """A column as sortable numbers, with the text that gives them meaning (the categories of a text column)."""
    if not isinstance(column, pl.Series):
        return str(column.dtype), column
    if column.dtype.is_numeric() and not column.null_count():
        return str(column.dtype), column.to_numpy()
    text = column.cast(pl.String).fill_null("\x00null")
    categories = text.unique().sort()
    codes = text.replace_strict(categories, pl.Series(np.arange(len(categories), dtype=np.int64)))
    meaning = hashlib.sha256("\x1f".join(categories).encode()).hexdigest()
    return meaning, codes.to_numpy()
