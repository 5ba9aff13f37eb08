"""Similarities of people who are not in the data to all users: computed, or taken from somebody equal."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.neighbors.dense import Likeness
from discreet.neighbors.pair_table import PairTable
from discreet.neighbors.twin_lists import Profile, SimilarityLists
from discreet.neighbors.twins import FullComputation, TwinSearch, digest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["NewUsers", "Newcomers"]

NewUsers = Literal["compute", "twins", "hash"]

MOST_REMEMBERED = 1_000
"""So many newcomers without an equal are remembered; those who come later are computed each time."""


class Newcomers:
    """Rows of similarities for people with a history of their own, each compared with all users.

    Parameters
    ----------
    table
        Similarities of the users.
    how
        "compute": compare each newcomer with all users. "twins": look for a user, or an earlier newcomer, with the same
        ratings by TwinSearch (Lu, Algorithm 4) and take that row; compute it where there is none. "hash": the same with
        a dictionary of hashed ratings.

    Attributes
    ----------
    computed, found
        How many rows were computed, and how many taken from an equal.

    Privacy
    -------
    None. How long an answer takes tells whether somebody has exactly these ratings.

    Notes
    -----
    Equal people have equal similarities to everybody, whatever the similarity is, so that a row from an equal is the
    row that would be computed, to the last bit. (Not for ``"cosine_adjusted"``: a newcomer moves the means of items.)
    TwinSearch looks for equals in sorted lists of all users, which are made when the first newcomer comes and take
    12·n² bytes; the dictionary takes one entry a user. Several threads may ask at once; where equals are looked for,
    they take turns.
    """

    def __init__(self, table: PairTable, how: NewUsers) -> None:
        self.table, self.how = table, how
        self.computed = self.found = 0
        self._remembered: list[Likeness] = []
        self._equals: _Hashed | _Searched | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def rows(self, histories: csr_array) -> Likeness:
        """One row for each history, one column for each user."""
        people = histories.indptr.size - 1
        if self.how == "compute" or self.table.n == 0:
            with self._lock:
                self.computed += people
            return self.table.newcomers(histories)
        # One at a time: what is found, computed and remembered of one newcomer is found by the next.
        with self._lock:
            if self._equals is None:
                self._equals = (_Hashed if self.how == "hash" else _Searched)(self.table)
            found = [self._row(histories[[row]]) for row in range(people)]
        form = self.table.form
        parts = {name: np.vstack([getattr(one, name) for one in found]) for name in ("similarity", form) if name}
        return Likeness(**parts)

    def _row(self, history: csr_array) -> Likeness:
        """The row of one newcomer; the caller holds the lock."""
        assert self._equals is not None
        # Where users have no ratings, each of their records counts as 1.
        ratings = np.ones(history.indices.size) if self.table.data.rating is None else history.data
        profile = Profile.of(history.indices, ratings.astype(np.float64))
        equal = self._equals.find(profile)
        if equal is not None:
            self.found += 1
            n = self.table.n
            return self.table.rows(np.array([equal])) if equal < n else self._remembered[equal - n]
        self.computed += 1
        row = self.table.newcomers(history)
        if len(self._remembered) < MOST_REMEMBERED:
            self._remembered.append(row)
            self._equals.add(profile)
        return row


class _Hashed:
    """Equals in a dictionary of hashes; on a hit the ratings themselves are compared."""

    def __init__(self, table: PairTable) -> None:
        self._profiles: list[Profile] = []
        self._codes: dict[bytes, list[int]] = {}
        matrix = table.data.csr
        for begin, end in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
            self.add(Profile.of(matrix.indices[begin:end], matrix.data[begin:end].astype(np.float64)))

    def find(self, profile: Profile) -> int | None:
        for code in self._codes.get(digest(profile), ()):
            if _same(self._profiles[code], profile):
                return code
        return None

    def add(self, profile: Profile) -> None:
        self._codes.setdefault(digest(profile), []).append(len(self._profiles))
        self._profiles.append(profile)


class _Searched:
    """Equals by TwinSearch, in the sorted lists of all users; newcomers enter the lists."""

    def __init__(self, table: PairTable) -> None:
        kind = "cosine_full" if table.similarity.kind == "cosine_full" else "cosine"
        self._lists, self._search = SimilarityLists(table.data, similarity=kind), TwinSearch()

    def find(self, profile: Profile) -> int | None:
        return self._lists.first_equal(self._search.candidates(self._lists, profile).common, profile)

    def add(self, profile: Profile) -> None:
        self._lists.append(profile, FullComputation().build(self._lists, profile))


def _same(one: Profile, other: Profile) -> bool:
    return np.array_equal(one.columns, other.columns) and np.array_equal(one.ratings, other.ratings)
