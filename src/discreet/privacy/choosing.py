"""Choosing some of a person's records: by a keyed hash of the person, the whole record and its occurrence.

With one stream of random bits for everybody, one person fewer would change everybody's choice. A hash of the person's
own records and of a key does not: whatever the key, each person is treated alone, which is all that a proof asks for
(``docs/proofs/bounding.md``, Theorem 1). The key is fresh for each choice and never kept, so that the choice is random;
equal words cost accuracy, not privacy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.id_forms import id_as_text
from discreet.data.ids import IdMap, stable_text
from discreet.data.interactions import Interactions

__all__ = ["Key", "column_words", "id_words", "keyed_words", "numbered", "record_words"]

Key = tuple[int, int]
Words = NDArray[np.uint64]

_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def record_words(data: Interactions, rows: NDArray[np.integer], key: Key) -> Words:
    """A word for each of these records, which hold all records of their users; equal records get different words."""
    columns = [id_words(data.users)[data.user[rows]], id_words(data.items)[data.item[rows]]]
    if data.rating is not None:
        columns.append(data.rating[rows].astype(np.float64).view(np.uint64))
    if data.timestamp is not None:
        columns.append(data.timestamp[rows].view(np.uint64))
    columns += [column_words(data.context[name])[rows] for name in data.context.columns]
    words = keyed_words(key, columns)
    return numbered(data.user[rows], words) if data.may_repeat else words


def keyed_words(key: Key, columns: Sequence[Words]) -> Words:
    """A keyed hash of each row of these columns.

    Examples
    --------
    >>> column = np.array([7, 8, 7], dtype=np.uint64)
    >>> first, second, third = keyed_words((1, 2), [column, column])
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    high, low = (np.uint64(part) for part in key)
    words = np.full(columns[0].size, high)
    for column in columns:
        words = _mixed(words ^ column)
    return _mixed(words ^ low)


def numbered(group: NDArray[np.integer], words: Words) -> Words:
    """The words again, with those that occur more than once in a group told apart by their occurrence.

    Examples
    --------
    >>> words = np.array([5, 5, 6], dtype=np.uint64)
    >>> np.unique(numbered(np.array([0, 0, 0]), words)).size, np.unique(numbered(np.array([0, 1, 1]), words)).size
    (3, 2)
    """
    order = np.lexsort((words, group))
    begins = np.ones(words.size, dtype=bool)
    begins[1:] = (words[order[1:]] != words[order[:-1]]) | (group[order[1:]] != group[order[:-1]])
    place = np.arange(words.size)
    occurrence = np.empty(words.size, dtype=np.uint64)
    occurrence[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return _mixed(words ^ _mixed(occurrence))


def id_words(ids: IdMap) -> Words:
    """A word for each id that follows from its text alone, whatever the other ids are.

    Examples
    --------
    >>> bool((id_words(IdMap(["7", "a"]))[0] == id_words(IdMap([7]))[0]))
    True
    """
    series = ids.series
    if series.dtype == pl.Object:
        series = pl.Series([id_as_text(value) or stable_text(value) for value in series.to_list()], dtype=pl.String)
    return column_words(series)


def column_words(column: pl.Series) -> Words:
    """A word for each value that follows from its text alone."""
    if column.dtype == pl.Object or column.dtype.is_nested():
        column = pl.Series([stable_text(value) for value in column.to_list()], dtype=pl.String)
    return column.cast(pl.String).hash(_GOLDEN).to_numpy().astype(np.uint64)


def _mixed(words: Words) -> Words:
    """The finalizer of SplitMix64: each bit of the result depends on all bits of the word."""
    words = words + np.uint64(_GOLDEN)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(_FIRST)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(_SECOND)
    return words ^ (words >> np.uint64(31))
