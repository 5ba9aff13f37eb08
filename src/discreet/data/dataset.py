"""What Interactions, TagAssignments and Table have in common: parts, lineage and fingerprints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.fingerprints import Cut, HashedColumns
from discreet.data.frames import as_mask
from discreet.data.ids import Codes, IdMap
from discreet.data.periods import Window
from discreet.errors import DataError

__all__ = [
    "Dataset",
    "UserRecords",
    "check_size",
    "frozen",
    "quantiles",
]

MOST_RECORDS = 2**31 - 2


class Dataset(ABC):
    """Base of the three kinds of input data. Immutable.

    Attributes
    ----------
    name : str
        What the data are called in messages and in the ledger.
    lineage : tuple of str
        Fingerprints of the data that these are a part of, each with a mark for the kind of cut.
    once_inferred : frozenset of str
        Columns of text that version 0.1 gave a type by what was in them.
    window : Window or None
        The days that the records are about, as declared by whoever read them; None where nothing was declared.
    released : mapping or None
        Where the records were released themselves: the "id" and the "guarantee" of that release. What is made of such
        records is post-processing, and no ledger is charged for it. None for records of people.
    """

    name: str
    lineage: tuple[str, ...]
    once_inferred: frozenset[str]
    window: Window | None = None
    released: Mapping[str, Any] | None = None

    _independent_cut: ClassVar[Cut] = "users"
    """What ``filter(independent=True)`` declares."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def to_frame(self) -> pl.DataFrame:
        """The records with the caller's ids and values."""

    @abstractmethod
    def _part(self, mask: NDArray[np.bool_], *, cut: Cut | None) -> Self:
        """The records under the mask; without a kind of cut, the lineage stays."""

    @abstractmethod
    def _hashed(self) -> HashedColumns: ...

    @abstractmethod
    def _parts_of_repr(self) -> Sequence[str]: ...

    def __repr__(self) -> str:
        name = f"{self.name!r}: " if self.name else ""
        return f"{type(self).__name__}({name}{', '.join(self._parts_of_repr())})"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the records: the same for the same records in any order, whatever is declared public."""
        return self._hashed().fingerprint()

    @cached_property
    def earlier_fingerprints(self) -> tuple[str, ...]:
        """Fingerprints under which a ledger of version 0.1 may know these records: it inferred types of columns."""
        # Tags have always been text.
        return self._hashed().earlier_fingerprints(self.once_inferred - {"tag"})

    @cached_property
    def hash_by_person(self) -> tuple[int, int]:
        """The number of people, and the sum of a hash of each: of disjoint groups of people they add up."""
        return self._hashed().by_person()

    @cached_property
    def hash_by_person_without_context(self) -> tuple[int, int]:
        """The same for the records without their context columns."""
        contexts = getattr(self, "context", pl.DataFrame()).columns
        return self._hashed().without(contexts).by_person() if contexts else self.hash_by_person

    @property
    def fingerprint_without_context(self) -> str:
        """The fingerprint that the same records have when they are read without their context columns."""
        contexts = getattr(self, "context", pl.DataFrame()).columns
        return self._hashed().without(contexts).fingerprint() if contexts else self.fingerprint

    def filter(
        self,
        keep: NDArray[np.bool_] | Callable[[pl.DataFrame], pl.Series],
        *,
        independent: bool | Literal["record"] = False,
    ) -> Self:
        """The records for which ``keep`` is true: a mask, or a function of ``to_frame()`` that returns one.

        The part remembers the whole, and the ledger charges what is done with the part to the whole.

        Parameters
        ----------
        independent
            Declare that what is kept of one user depends only on that user's records and on public facts; "record" if
            it depends on each record alone, which guarantees for single records need. In a table, both mean that the
            rule looks at one row (or group) at a time. Without this declaration (users with many followers, items with
            five ratings …) nothing can be released from the part on the account of the whole: one user more could
            change what is kept of everybody else.

        Privacy
        -------
        How many rows of a table are kept depends on what they hold. Nothing is guaranteed about a part under the
        relation "replace", for which the number of rows is public. Put the condition into the queries instead.
        """
        mask = as_mask(keep(self.to_frame()) if callable(keep) else keep, len(self))
        if not independent:
            return self._part(mask, cut="freely")
        return self._part(mask, cut="records" if independent == "record" else self._independent_cut)

    def emptied(self) -> Self:
        """No records, the same public lists: what an estimate may read."""
        empty = self._part(np.zeros(len(self), dtype=bool), cut=None)
        for count in ("dropped_duplicates", "dropped_missing", "missing_by_column"):
            vars(empty).pop(count, None)  # facts about the records
        return empty

    def marked_as_released(self, release: Mapping[str, Any]) -> Self:
        """The same records as the content of a release: nothing more is charged for them.

        For readers of releases alone. Records of people that were marked so would be used without any protection.
        """
        copy = self._copy()
        copy.released = dict(release)
        return copy

    def _copy(self) -> Self:
        """A shallow copy without the cached properties."""
        copy = object.__new__(type(self))
        cached = {n for c in type(self).__mro__ for n, value in vars(c).items() if isinstance(value, cached_property)}
        vars(copy).update({name: value for name, value in vars(self).items() if name not in cached})
        return copy


class UserRecords(Dataset):
    """Base of Interactions and TagAssignments: records that belong to users and are sorted by user.

    Attributes
    ----------
    users : IdMap
        Ids of the users.
    user : int32 array
        Code of the user of each record.
    n_users : int
    user_starts : int64 array
        Records of user ``u`` are those from ``user_starts[u]`` to ``user_starts[u + 1]``.
    records_per_user : int64 array
    """

    users: IdMap
    user: Codes
    n_users: int
    user_starts: NDArray[np.int64]
    records_per_user: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.user.size)

    def _set_users(self, users: IdMap, user: Codes) -> None:
        """Set everything that follows from who the record of each row is of; rows are sorted by user."""
        self.users, self.user, self.n_users = users, frozen(user), len(users)
        self.user_starts = np.searchsorted(self.user, np.arange(self.n_users + 1, dtype=np.int32)).astype(np.int64)
        self.records_per_user = np.diff(self.user_starts)

    def sample_users(self, n: int, *, seed: int) -> Self:
        """All records of ``n`` users chosen at random. For experiments: it releases nothing and protects nothing."""
        from discreet.data.splits import choose_users

        return self.filter(choose_users(self.n_users, n, seed=seed)[self.user])


def check_size(records: int, what: str) -> None:
    """Refuse more records than codes of 32 bits can number."""
    if records > MOST_RECORDS:
        raise DataError(f"{records:,} {what} are more than one table can hold.", remedy="Split the data.")


def frozen(column: NDArray[Any]) -> NDArray[Any]:
    """The same array, contiguous and read-only."""
    column = np.ascontiguousarray(column)
    column.flags.writeable = False
    return column


def quantiles(counts: NDArray[np.int64]) -> dict[str, float]:
    """Smallest, largest, mean and some quantiles of counts."""
    if not counts.size:
        return {}
    low, median, high = np.quantile(counts, [0.05, 0.5, 0.95])
    return {
        "min": int(counts.min()),
        "5%": float(low),
        "median": float(median),
        "95%": float(high),
        "max": int(counts.max()),
        "mean": float(counts.mean()),
    }
