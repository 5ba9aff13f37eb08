"""Rating rows and their sorted similarity lists, kept right while new rows come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.common.arguments import require_choice
from discreet.common.arrays import AnyFloats, AnyIntegers, Codes, Floats, Integers
from discreet.data.ids import group_order
from discreet.data.interactions import Interactions
from discreet.errors import DataError, UsageError

__all__ = ["Axis", "BuiltList", "Cosine", "Profile", "SimilarityLists", "Visit"]

Axis = Literal["user", "item"]
Cosine = Literal["cosine", "cosine_full"]
Visit = Literal["rows", "columns"]

MOST_WAITING = 128
"""So many new rows wait at most before all lists are brought up to date in one pass."""

MOST_BYTES = 32 << 30
"""Lists that would take more memory than this are refused: they need a length."""

LARGEST_RATING = 1e60
"""The product of two squared norms must not leave the range of floating point."""

BYTES_PER_ENTRY = 12
LEAST_TAIL = 4096


@dataclass(frozen=True, eq=False)
class Profile:
    """What one row says: columns in rising order, and the ratings beside them.

    The canonical form: two profiles are the same if, and only if, their bytes are the same.
    """

    columns: Codes
    ratings: Floats

    @classmethod
    def of(cls, columns: AnyIntegers, ratings: AnyFloats) -> Profile:
        """Put into order; −0.0 becomes 0.0, which is the same rating in other bytes."""
        order = np.argsort(columns, kind="stable")
        return cls(columns[order].astype(np.int32), ratings[order].astype(np.float64) + 0.0)


@dataclass(frozen=True, eq=False)
class BuiltList:
    """A similarity list for a row that is not in the data yet.

    Attributes
    ----------
    codes, values
        The other rows by falling similarity, ties by code.
    similarities
        The same numbers by code; None where only the best are known.
    twin
        Whose list was copied; None if it was computed.
    """

    codes: Codes
    values: Floats
    similarities: Floats | None
    twin: int | None = None


class SimilarityLists:
    """The rows of a rating matrix, and for each row all others by falling similarity, ties by code.

    Parameters
    ----------
    data
        The records; several records of one user and item are added up.
    axis
        Whether the rows are users or items.
    similarity
        ``"cosine"`` over what both have rated, or ``"cosine_full"`` over whole rows, where an item that was not rated
        counts as 0. Rows that have nothing in common have similarity 0.
    length
        How many entries of each list to keep; None for all.

    Notes
    -----
    Whole lists of n rows take 12·n² bytes (0.44 GB for the users of MovieLens 1M), lists of length L 12·n·L.

    To put a new row into n sorted lists means to move half of each: O(n²) for every new row. It is therefore done late
    and for many at once. A new row waits, with its similarities to all others; a list is brought up to date when it
    is read, and all lists are when ``MOST_WAITING`` rows wait. A list costs O(n) when it is read after a change, and
    a new row O(n) when it comes and O(n²/MOST_WAITING) in the long run; with a length L, O(n + n·L/MOST_WAITING).

    Similarities to earlier rows go through an index by column; rows that came since it was made are visited one by
    one until they are a quarter of all ratings, and then it is made again.
    """

    def __init__(
        self, data: Interactions, *, axis: Axis = "user", similarity: Cosine = "cosine", length: int | None = None
    ) -> None:
        from discreet.neighbors import twin_kernels

        require_choice(axis, "axis", get_args(Axis))
        require_choice(similarity, "similarity", get_args(Cosine))
        if length is not None and length < 1:
            raise UsageError(f"length = {length} must be at least 1.", remedy="Leave it out to keep whole lists.")
        self.similarity: Cosine = similarity
        self.length = length
        self._kernels = twin_kernels
        matrix = data.csr if axis == "user" else data.csc.T.tocsr()
        shape = (data.n_users, data.n_items)
        self.n_rows, self.n_columns = shape if axis == "user" else shape[::-1]
        self._starts = matrix.indptr.astype(np.int64)
        self._columns = matrix.indices.astype(np.int32)
        self._ratings = matrix.data.astype(np.float64) + 0.0
        check_ratings(self._ratings)
        self._norms = np.array([twin_kernels.squared_norm(self._row(row).ratings) for row in range(self.n_rows)])
        self._index_columns()
        self._make_lists()

    # Rows

    def profile(self, row: int) -> Profile:
        """What a row says."""
        view = self._row(row)
        return Profile(view.columns.copy(), view.ratings.copy())

    def _row(self, row: int) -> Profile:
        entries = slice(self._starts[row], self._starts[row + 1])
        return Profile(self._columns[entries], self._ratings[entries])

    def first_equal(self, candidates: Integers, profile: Profile) -> int | None:
        """The first of the candidates whose row is this profile."""
        sizes = self._starts[candidates + 1] - self._starts[candidates]
        for candidate in candidates[sizes == profile.columns.size].tolist():
            row = self._row(candidate)
            if np.array_equal(row.columns, profile.columns) and np.array_equal(row.ratings, profile.ratings):
                return candidate
        return None

    # Similarities

    def similarities(self, profile: Profile, *, visit: Visit = "columns") -> Floats:
        """Similarity of a profile to every row, by code.

        Parameters
        ----------
        visit
            ``"rows"`` goes through all ratings, ``"columns"`` through those of the profile's columns. The numbers are
            the same to the last bit.
        """
        if visit == "rows":
            return self.similarities_to(np.arange(self.n_rows), profile)
        if self._starts[self.n_rows] - self._starts[self._n_indexed] > self._longest_tail:
            self._index_columns()
        indexed = self._kernels.by_columns(
            profile.columns, profile.ratings, *self._by_column, self._norms, self._n_indexed, self._corated
        )
        if self._n_indexed == self.n_rows:
            return indexed
        tail = self.similarities_to(np.arange(self._n_indexed, self.n_rows), profile)
        return np.concatenate([indexed, tail])

    def similarities_to(self, rows: Integers, profile: Profile) -> Floats:
        """Similarity of a profile to some rows."""
        stored = (self._starts, self._columns, self._ratings, self._norms)
        return self._kernels.by_rows(profile.columns, profile.ratings, self.n_columns, *stored, rows, self._corated)

    def own_similarity(self, row: int) -> float:
        """Similarity of a row to an exact copy of itself: 1, or 0 for a row that is empty or all zeros."""
        return 1.0 if self._norms[row] ** 2 > 0 else 0.0

    @property
    def _corated(self) -> bool:
        return self.similarity == "cosine"

    def _index_columns(self) -> None:
        end = self._starts[self.n_rows]
        order, starts = group_order(self._columns[:end], self.n_columns)
        row_of = np.repeat(np.arange(self.n_rows, dtype=np.int32), np.diff(self._starts[: self.n_rows + 1]))
        self._by_column = (starts, row_of[order], self._ratings[:end][order])
        self._n_indexed = self.n_rows
        self._longest_tail = max(LEAST_TAIL, int(end) // 4)

    # Lists

    def list_of(self, row: int) -> tuple[Codes, Floats]:
        """The codes of the other rows and their similarities, nearest first: views that hold until the next change."""
        self._settle(np.array([row], dtype=np.int64))
        end = min(self.n_rows - 1, self._most)
        return self._list_codes[row, :end], self._list_values[row, :end]

    def as_similar(self, row: int, similarity: float) -> AnyIntegers:
        """Rows that have exactly this similarity to a row; itself among them if a copy of it would."""
        codes, values = self.list_of(row)
        found = codes[_equals(values, similarity)]
        return np.append(found, row) if similarity == self.own_similarity(row) else found

    def list_from(self, similarities: Floats) -> BuiltList:
        """Sort similarities to all rows into a list."""
        codes = np.argsort(-similarities, kind="stable")[: self.length].astype(np.int32)
        return BuiltList(codes, similarities[codes], similarities)

    def list_from_twin(self, twin: int) -> BuiltList:
        """The list of an exact copy of a row: the row's own list, with the row itself in it."""
        (codes, values), own = self.list_of(twin), self.own_similarity(twin)
        equals = _equals(values, own)
        place = equals.start + np.searchsorted(codes[equals], twin)
        codes, values = np.insert(codes, place, twin), np.insert(values, place, own)
        if codes.size < self.n_rows or codes.size > self._most:
            return BuiltList(codes[: self.length], values[: self.length], None, twin)
        by_code = np.empty(codes.size)
        by_code[codes] = values
        return BuiltList(codes, values, by_code, twin)

    def append(self, profile: Profile, built: BuiltList) -> int:
        """Add a row with its list, and put it into the lists of all others. Returns its code."""
        row = self.n_rows
        similarities = self.similarities(profile) if built.similarities is None else built.similarities
        self._make_room(profile.columns.size)
        begin = self._starts[row]
        end = begin + profile.columns.size
        self._columns[begin:end], self._ratings[begin:end] = profile.columns, profile.ratings
        self._starts[row + 1] = end
        self._norms[row] = self._kernels.squared_norm(profile.ratings)
        self._list_codes[row, : built.codes.size] = built.codes
        self._list_values[row, : built.values.size] = built.values
        self._reaches[row] = row + 1
        self._waiting[row - self._n_settled, :row] = similarities
        self.n_rows += 1
        if self.n_rows - self._n_settled == MOST_WAITING:
            self.settle()
        return row

    def settle(self) -> None:
        """Bring all lists up to date now rather than when they are read."""
        self._settle(np.arange(self.n_rows))
        self._n_settled = self.n_rows

    def _settle(self, rows: Integers) -> None:
        kept = (self._list_codes, self._list_values, self._reaches, self._waiting)
        self._kernels.settle_lists(rows, *kept, self._n_settled, self.n_rows, self._most)

    def _make_lists(self) -> None:
        n = self.n_rows
        self._capacity = 0
        self._n_settled = n
        self._list_codes, self._list_values = np.empty((0, 0), dtype=np.int32), np.empty((0, 0))
        self._reaches, self._waiting = np.empty(0, dtype=np.int64), np.empty((MOST_WAITING, 0))
        self._make_room(0)
        self._reaches[:n] = n
        for row in range(n):
            similarities = self.similarities(self._row(row))
            similarities[row] = -np.inf  # comes last, and is cut off: nobody is on their own list
            codes = np.argsort(-similarities, kind="stable")[: min(n - 1, self._most)]
            self._list_codes[row, : codes.size] = codes
            self._list_values[row, : codes.size] = similarities[codes]

    @property
    def _most(self) -> int:
        return self._capacity if self.length is None else self.length

    def _make_room(self, n_entries: int) -> None:
        """Room for one more row with so many entries; grows by an eighth, so that n rows are copied O(n) times."""
        end = int(self._starts[self.n_rows]) + n_entries
        if end > self._columns.size:
            self._columns = _grown(self._columns, (end + end // 8,))
            self._ratings = _grown(self._ratings, (end + end // 8,))
        if self.n_rows < self._capacity:
            return
        capacity = self.n_rows + max(MOST_WAITING, self.n_rows // 8)
        width = capacity if self.length is None else self.length
        if capacity * width * BYTES_PER_ENTRY > MOST_BYTES:
            raise UsageError(
                f"whole lists of {self.n_rows:,} rows take {capacity * width * BYTES_PER_ENTRY / 2**30:,.0f} GiB.",
                remedy="Keep the best of each only, for example length=100.",
            )
        self._list_codes = _grown(self._list_codes, (capacity, width))
        self._list_values = _grown(self._list_values, (capacity, width))
        self._waiting = _grown(self._waiting, (MOST_WAITING, capacity))
        self._starts = _grown(self._starts, (capacity + 1,))
        self._norms, self._reaches = _grown(self._norms, (capacity,)), _grown(self._reaches, (capacity,))
        self._capacity = capacity


def _equals(falling: Floats, wanted: float) -> slice:
    """Where the equals of a number stand in a falling list."""
    rising = falling[::-1]
    begin, end = (falling.size - int(np.searchsorted(rising, wanted, side)) for side in ("right", "left"))
    return slice(begin, end)


def check_ratings(ratings: Floats) -> None:
    """Refuse ratings whose similarity cannot be computed."""
    wrong = ~(np.abs(ratings) <= LARGEST_RATING)
    if wrong.any():
        raise DataError(
            "a rating is not a number, or too large for similarities.",
            column="rating",
            value=float(ratings[np.argmax(wrong)]),
            remedy=f"Ratings must be finite and at most {LARGEST_RATING:g}.",
        )


def _grown(array: NDArray, shape: tuple[int, ...]) -> NDArray:
    """The same numbers in the corner of a larger array."""
    larger = np.empty(shape, dtype=array.dtype)
    larger[tuple(slice(0, size) for size in array.shape)] = array
    return larger
