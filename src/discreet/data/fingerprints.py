"""Fingerprints: the same records have the same SHA-256, in any order. Lineage: what a part was cut from."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import Codes, IdMap, code_order, compact, stable_text

__all__ = [
    "AS_READ",
    "CUT_MARKS",
    "LATEST",
    "WITHOUT_MISSING",
    "Cut",
    "HashedColumns",
    "canonical_order",
    "cut_by_record",
    "cut_from",
    "left_whole",
    "marks_of",
    "origin_of",
    "read_from_stream",
]

Cut = Literal["rewritten", "posts", "items", "records", "users", "freely"]
"""How a part was cut, by what decided about one of its records.

rewritten: each record was written in another form, and none was left out.
posts: records were left out by user, item and time, whatever the tag or rating, and every user still has one.
items: a record was left out by its item and by public facts.
records: a record was left out, or merged with an equal one, by its own content and by public facts.
users: a record was left out by its user's records and by public facts.
freely: it may have depended on all records.
"""

Values = NDArray[np.generic] | pl.Series
"""A column of values beside the ids."""

MOST_EARLIER = 16
"""The largest number of combinations of column types for which fingerprints are computed."""

MARKS: dict[Cut, str] = {"rewritten": "", "posts": "=", "items": "#", "records": "-", "users": "^", "freely": "~"}
"""The mark before a fingerprint in a lineage: how the part was cut from it."""

AS_READ = "<"
"""Comes before the mark of a cut that was made while the records were read: the whole has no fingerprint."""

CUT_MARKS = AS_READ + "".join(MARKS.values())
"""Every character that may come before a fingerprint in a lineage."""

LATEST = AS_READ + MARKS["posts"]
"""The entry in a lineage for ``duplicates="last"``: of a user's records of one item the latest was kept.

It names no fingerprint: the account of the data was opened under their own. ``duplicates="sum"`` has the same one:
which records there are follows from user and item alone, and only the value of each depends on several.
"""

WITHOUT_MISSING = AS_READ + MARKS["records"]
"""The entry in a lineage for ``missing="drop"``: rows with a missing value were left out, each by its own content."""


class _Whole(Protocol):
    @property
    def fingerprint(self) -> Any: ...

    @property
    def lineage(self) -> Any: ...


def cut_from(whole: _Whole, cut: Cut) -> tuple[str, ...]:
    """The lineage of a part.

    It depends on the operation that was called, not on its effect on the records: it decides what is refused.
    """
    names = (*getattr(whole, "earlier_fingerprints", ()), whole.fingerprint)
    return (*whole.lineage, *(MARKS[cut] + name for name in names))


def read_from_stream(origin: str) -> tuple[str, ...]:
    """The lineage of records from a stream: a cut per user, made while they were read."""
    return (AS_READ + MARKS["users"] + origin,)


def origin_of(text: str) -> str:
    """The fingerprint in an entry of a lineage; empty where the entry names none."""
    return text.lstrip(CUT_MARKS)


def marks_of(lineage: Sequence[str]) -> set[str]:
    """The marks in a lineage, but for the one that says that a cut was made while the records were read."""
    return {mark for entry in lineage for mark in entry[: len(entry) - len(origin_of(entry))]} - {AS_READ}


def cut_by_record(lineage: Sequence[str]) -> bool:
    """Whether every cut looked at one record at a time: then no record is missing because of another one."""
    return not marks_of(lineage) - {MARKS["items"], MARKS["records"]} and not any(
        entry.startswith(AS_READ) and entry != WITHOUT_MISSING for entry in lineage
    )


def left_whole(data: _Whole) -> bool:
    """Whether a cut of these data left nothing out: they have the fingerprint of what they were cut from."""
    return any(entry != data.fingerprint and origin_of(entry) == data.fingerprint for entry in data.lineage)


@dataclass(frozen=True, eq=False)
class HashedColumns:
    """The columns that a fingerprint is computed from.

    Parameters
    ----------
    kind
        Type of the records, part of the hash.
    ids
        Each column of ids as its map and its codes; the records must be sorted by these.
    values
        Further columns; None for a column that is absent.
    repeats
        Whether several records may have the same ids; they are then sorted by their values as well.
    """

    kind: str
    ids: Mapping[str, tuple[IdMap, Codes]]
    values: Mapping[str, Values | None]
    repeats: bool

    def fingerprint(self) -> str:
        """SHA-256 over the records. Only ids that occur are hashed, so a public catalog does not change it."""
        numbers = {name: _as_numbers(column) for name, column in self.values.items() if column is not None}
        named = [_in_hashed_order(map_, codes) for map_, codes in self.ids.values()]
        codes = [codes for _, codes in named]
        if self.repeats or any(series.dtype == pl.Object for series, _ in named):
            order = _sorted_by(codes, {name: column for name, (_, column) in numbers.items()})
            codes = [column[order] for column in codes]
            numbers = {name: (text, column[order]) for name, (text, column) in numbers.items()}

        digest = hashlib.sha256(f"discreet/{self.kind}/1/{codes[0].size if codes else 0}".encode())
        for (series, _), column in zip(named, codes, strict=True):
            seen = np.zeros(len(series), dtype=bool)
            seen[column] = True
            renumbered = np.cumsum(seen, dtype=np.int32) - np.int32(1)
            _absorb_ids(digest, series.filter(pl.Series(seen)))
            digest.update(np.ascontiguousarray(renumbered[column]).data)
        for name in sorted(numbers):
            text, column = numbers[name]
            digest.update(f"/{name}/{text}/".encode())
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    def by_person(self) -> tuple[int, int]:
        """How many people there are (the first ids), and the sum of a SHA-256 of each of them, modulo 2^256.

        What one person adds depends on that person's records alone, so the numbers of disjoint groups of people add up
        to those of all of them.
        """
        (people, codes), *others = self.ids.values()
        columns = [_stable_words(map_.series)[theirs] for map_, theirs in others]
        for name in sorted(self.values):
            column = self.values[name]
            if column is not None:
                columns.append(np.full(codes.size, _word(name), dtype=np.uint64))
                columns.append(_value_words(column))
        order = np.lexsort([*reversed(columns), codes])
        rows = np.column_stack([column[order] for column in columns]).astype(np.uint64)
        ends = np.cumsum(np.bincount(codes, minlength=len(people)))
        total, begin, seen = 0, 0, 0
        for name, end in zip(people.series.to_list(), ends.tolist(), strict=True):
            if end > begin:
                told = f"{self.kind}/{type(name).__name__}/{stable_text(name)}/{end - begin}/".encode()
                total += int.from_bytes(hashlib.sha256(told + rows[begin:end].tobytes()).digest(), "big")
                seen += 1
            begin = end
        return seen, total % 2**256

    def by_row(self) -> tuple[int, int]:
        """How many rows there are, and the sum of a SHA-256 of each of them, modulo 2^256: as ``by_person``."""
        named = {name: _stable_words(map_.series)[codes] for name, (map_, codes) in self.ids.items()}
        named |= {name: _value_words(column) for name, column in self.values.items() if column is not None}
        columns = [words for name in sorted(named) for words in (np.full_like(named[name], _word(name)), named[name])]
        rows, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
        kind = f"{self.kind}/row/".encode()
        hashes = (int.from_bytes(hashlib.sha256(kind + row.tobytes()).digest(), "big") for row in rows)
        total = sum(int(many) * one for many, one in zip(counts, hashes, strict=True))
        return int(counts.sum()), total % 2**256

    def without(self, names: Collection[str]) -> HashedColumns:
        """The same records without some of the values beside their ids."""
        return replace(self, values={name: values for name, values in self.values.items() if name not in names})

    def earlier_fingerprints(self, once_inferred: Collection[str]) -> tuple[str, ...]:
        """The fingerprints under which a ledger of version 0.1 may know the same records.

        Parameters
        ----------
        once_inferred
            Names of the columns that are text now, and that version 0.1 may have taken for numbers.
        """
        id_choices = [
            [given, *_as_whole_numbers(given)] if name in once_inferred else [given] for name, given in self.ids.items()
        ]
        value_choices = [
            [given, *_as_typed(given)] if name in once_inferred and isinstance(given, pl.Series) else [given]
            for name, given in self.values.items()
        ]
        found: list[str] = []
        # The first combination is that of the current version.
        combination: tuple[Any, ...]
        for combination in islice(product(*id_choices, *value_choices), 1, MOST_EARLIER):
            named, columns = combination[: len(self.ids)], combination[len(self.ids) :]
            order = code_order([(codes, len(map_)) for map_, codes in named])
            ids = {name: (map_, codes[order]) for name, (map_, codes) in zip(self.ids, named, strict=True)}
            values = {
                name: None if column is None else column[order]
                for name, column in zip(self.values, columns, strict=True)
            }
            found.append(HashedColumns(self.kind, ids, values, self.repeats).fingerprint())
        return tuple(dict.fromkeys(found))


def _word(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _stable_words(values: pl.Series) -> NDArray[np.uint64]:
    """Eight bytes of the SHA-256 of each value, each by itself."""
    told = (f"{type(value).__name__}/{stable_text(value)}" for value in values.to_list())
    return np.fromiter((_word(text) for text in told), dtype=np.uint64, count=len(values))


def _value_words(column: Values) -> NDArray[np.uint64]:
    """Each value of a column as eight bytes, by its type and by itself: what else is in the column does not matter."""
    if not isinstance(column, pl.Series):
        return _number_words(column.astype(np.float64))
    nulls = column.is_null().to_numpy()
    if column.dtype.is_float():
        words = _number_words(column.cast(pl.Float64).fill_null(0.0).to_numpy())
    elif column.dtype in INTEGERS or column.dtype.is_temporal():
        physical = column if column.dtype in INTEGERS else column.to_physical()
        words = physical.cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64).copy()
    else:
        known = column.unique()
        table = pl.DataFrame({"value": known, "word": pl.Series(_stable_words(known), dtype=pl.UInt64)})
        words = column.to_frame("value").join(table, on="value", how="left", nulls_equal=True, maintain_order="left")
        words = words["word"].to_numpy().copy()
    words[nulls] = _word("null")
    return words


INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


def _number_words(numbers: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The bits of numbers; zeros have one sign, and there is one NaN."""
    return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64).copy()


def _as_whole_numbers(given: tuple[IdMap, Codes]) -> list[tuple[IdMap, Codes]]:
    """Ids of text as whole numbers, if all that occur are written like one."""
    ids, codes = compact(*given)
    if ids.series.dtype != pl.String or not ids.series.str.contains(r"^(?:0|-?[1-9][0-9]*)$").all():
        return []
    numbers = ids.series.cast(pl.Int64, strict=False)
    if numbers.null_count():
        return []
    renumbered = IdMap(numbers, what=ids.what)
    return [(renumbered, renumbered.encode(numbers)[codes])]


def _as_typed(column: pl.Series) -> list[pl.Series]:
    """A column of text as whole numbers or as fractions, if all its values are such numbers."""
    present = column.drop_nulls()
    if column.dtype != pl.String or not len(present):
        return []
    if present.str.contains(r"^(?:0|-?[1-9][0-9]*)$").all():
        typed = column.cast(pl.Int64, strict=False)
    else:
        typed = column.str.strip_chars().cast(pl.Float64, strict=False)
    return [typed] if typed.null_count() == column.null_count() else []


def canonical_order(codes: Sequence[Codes], values: Mapping[str, Values | None]) -> NDArray[np.int64]:
    """An order of the records that depends on their content and not on the order of input.

    Examples
    --------
    >>> canonical_order([np.array([0, 0, 0], dtype=np.int32)], {"rating": np.array([3.0, 1.0, 2.0])})
    array([1, 2, 0])
    """
    return _sorted_by(codes, {name: _as_numbers(column)[1] for name, column in values.items() if column is not None})


def _sorted_by(codes: Sequence[Codes], numbers: Mapping[str, NDArray[np.generic]]) -> NDArray[np.int64]:
    return np.lexsort([*(numbers[name] for name in sorted(numbers, reverse=True)), *reversed(codes)])


def _in_hashed_order(ids: IdMap, codes: Codes) -> tuple[pl.Series, Codes]:
    """Ids and codes in the order that is hashed: objects by type and representation."""
    if ids.series.dtype != pl.Object:
        return ids.series, codes
    values = ids.ids()
    order = sorted(range(len(values)), key=lambda code: (type(values[code]).__name__, stable_text(values[code])))
    position = np.empty(len(order), dtype=np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    return ids.take(order), position[codes]


def _absorb_ids(digest: hashlib._Hash, ids: pl.Series) -> None:
    kind = {pl.Int64: "int", pl.String: "text"}.get(type(ids.dtype), "object")
    digest.update(f"/{len(ids)}/{kind}/".encode())
    if ids.dtype == pl.Int64:
        digest.update(ids.to_numpy().tobytes())
        return
    for value in ids:
        # The length goes first, so that different lists of ids never give the same bytes.
        encoded = (value if kind == "text" else f"{type(value).__name__}:{stable_text(value)}").encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)


def _as_numbers(column: Values) -> tuple[str, NDArray[np.generic]]:
    """A column as sortable numbers, and a text for their meaning (the categories of a text column)."""
    if not isinstance(column, pl.Series):
        wide = np.int64 if column.dtype.kind in "iu" else np.float64
        return str(np.dtype(wide)), column.astype(wide)
    if column.dtype.is_numeric() and not column.null_count():
        # One width for each kind of number: the caller's choice must not change the fingerprint.
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
