"""Lists of similar users for people who have just come: computed, found by TwinSearch, or found by a hash.

Twins are two users with the same ratings. Whoever has a twin among those who are there already needs no similarity
computed: the twin's list is theirs. An attack with k equal sybils makes k − 1 such newcomers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice
from discreet.common.arrays import Integers
from discreet.data.ids import as_id_series
from discreet.data.interactions import Interactions
from discreet.errors import DataError, UsageError
from discreet.neighbors.twin_lists import Axis, BuiltList, Cosine, Profile, SimilarityLists, Visit, check_ratings
from discreet.privacy.selection import noisy_order

__all__ = ["FullComputation", "HashedTwins", "ListBuilder", "NewUser", "TwinIndex", "TwinSearch", "TwinSets"]


class ListBuilder(ABC):
    """A way to a new row's similarity list. All ways give the same list, to the last bit and tie."""

    name: ClassVar[str]

    @abstractmethod
    def build(self, lists: SimilarityLists, profile: Profile) -> BuiltList:
        """The list of a profile against all rows that are there. Nothing is added."""


class FullComputation(ListBuilder):
    """Compute all similarities and sort them.

    Parameters
    ----------
    visit
        ``"columns"`` goes through the ratings of the items that the profile has; ``"rows"`` compares the profile with
        every user's row, the O(mn) of the paper.
    """

    name: ClassVar[str] = "full"

    def __init__(self, *, visit: Visit = "columns") -> None:
        require_choice(visit, "visit", ("rows", "columns"))
        self.visit: Visit = visit

    def build(self, lists: SimilarityLists, profile: Profile) -> BuiltList:
        return lists.list_from(lists.similarities(profile, visit=self.visit))


@dataclass(frozen=True, eq=False)
class TwinSets:
    """Who may be a twin, by Algorithm 4.

    Attributes
    ----------
    sizes
        |Set_i|: how many users are exactly as similar to the i-th probe as the new user is.
    common
        Set_0: those who are so for every probe.
    """

    sizes: list[int]
    common: Integers


class TwinSearch(ListBuilder):
    """Search for a twin through a few probes, as published (Algorithm 4); without one, compute in full.

    Twins are equally similar to any third user. So the similarity of the new user to each of c random users is
    computed and looked up in that user's sorted list; who has the same similarity to all c of them is compared rating
    by rating.

    Parameters
    ----------
    probes
        c, the number of random users.
    otherwise
        What to do without a twin; the published way compares with every row.

    Notes
    -----
    Three things that the paper leaves out, without which the algorithm is wrong:

    * the copied list lacks the twin, who is not on their own list: they are put in;
    * the new user must enter the lists of all others, or no probe would ever find the first of k equal sybils for the
      second (``SimilarityLists.append``);
    * "equal" is equality of floating-point numbers: it holds here because all similarities come from the same sums in
      the same order. Two formulas of the cosine that are equal on paper differ in the last bit for half of all pairs.

    The bound |Set_0| ≤ n/125, from which the paper has its factor of 125, takes lists for normally distributed. They
    are not: over co-rated items a fifth of a list lies in one bin of width 0.01 (``benchmarks/twins.py``).

    Probes come from a shuffled deck of the users, c at a time, so that a shuffle serves many newcomers.

    References
    ----------
    Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. Thesis, The
    University of Adelaide, 2015, chapter 6.
    """

    name: ClassVar[str] = "twin-search"

    def __init__(self, probes: int = 3, *, otherwise: ListBuilder | None = None) -> None:
        if probes < 1:
            raise UsageError(f"probes must be at least 1 (algorithm 4), got {probes}.")
        self.probes = probes
        self.otherwise = otherwise or FullComputation(visit="rows")
        self._deck = np.empty(0, dtype=np.int64)

    def build(self, lists: SimilarityLists, profile: Profile) -> BuiltList:
        twin = lists.first_equal(self.candidates(lists, profile).common, profile)
        return self.otherwise.build(lists, profile) if twin is None else lists.list_from_twin(twin)

    def candidates(self, lists: SimilarityLists, profile: Profile) -> TwinSets:
        """Lines 1 to 9: the sets of those who may be twins."""
        if lists.length is not None:
            raise UsageError(
                "TwinSearch looks users up in whole lists, and these are cut to a length.",
                remedy="Leave length out, or use HashedTwins.",
            )
        probes = self._drawn(lists.n_rows)
        votes = np.zeros(lists.n_rows, dtype=np.int64)
        sizes = []
        for probe, similarity in zip(probes, lists.similarities_to(probes, profile), strict=True):
            found = lists.as_similar(int(probe), float(similarity))
            votes[found] += 1
            sizes.append(found.size)
        return TwinSets(sizes, np.flatnonzero(votes == probes.size))

    def _drawn(self, n_rows: int) -> Integers:
        """The next probes of the deck; a new deck where it has too few cards, or those of another game."""
        count = min(self.probes, n_rows)
        if self._deck.size < count or (self._deck.size and self._deck.max() >= n_rows):
            # Noise alone, no score: every order is equally likely.
            self._deck = noisy_order(np.zeros(n_rows, dtype=np.int64), Fraction(1), noise="gumbel", most=n_rows)
        drawn, self._deck = self._deck[:count], self._deck[count:]
        return drawn


class HashedTwins(ListBuilder):
    """Look a twin up in a dictionary of the hashes of all profiles; without one, compute in full.

    Parameters
    ----------
    otherwise
        What to do without a twin.

    Notes
    -----
    The key is BLAKE2b of the items in rising order and the ratings beside them; on a hit the ratings themselves are
    compared, so a collision costs time and never a wrong list. The first user of each profile stands for all who have
    it: the dictionary has one entry a *different* profile, however many sybils come. The dictionary is made when it
    is first needed, and caught up when there are users that it does not know.

    A hit costs the copy of the list. With lists of a limited length it saves only the sorting, because the
    similarities to users beyond the length are needed for their lists.
    """

    name: ClassVar[str] = "hash"

    def __init__(self, *, otherwise: ListBuilder | None = None) -> None:
        self.otherwise = otherwise or FullComputation()
        self._lists: SimilarityLists | None = None
        self._n_known = 0
        self._rows_of: dict[bytes, Integers] = {}

    def build(self, lists: SimilarityLists, profile: Profile) -> BuiltList:
        self._catch_up(lists)
        twin = self._find(lists, profile, digest(profile))
        return self.otherwise.build(lists, profile) if twin is None else lists.list_from_twin(twin)

    def _find(self, lists: SimilarityLists, profile: Profile, key: bytes) -> int | None:
        rows = self._rows_of.get(key)
        return None if rows is None else lists.first_equal(rows, profile)

    def _catch_up(self, lists: SimilarityLists) -> None:
        if self._lists is not lists:
            self._lists, self._n_known, self._rows_of = lists, 0, {}
        for row in range(self._n_known, lists.n_rows):
            profile = lists.profile(row)
            key = digest(profile)
            if self._find(lists, profile, key) is None:
                before = self._rows_of.get(key, np.empty(0, dtype=np.int64))
                self._rows_of[key] = np.append(before, row)
        self._n_known = lists.n_rows


def digest(profile: Profile) -> bytes:
    """Hash of the canonical bytes of a profile."""
    return blake2b(profile.columns.tobytes() + profile.ratings.tobytes(), digest_size=16).digest()


@dataclass(frozen=True)
class NewUser:
    """Somebody who has been added.

    Attributes
    ----------
    user_id
        Who.
    twin_id
        The earlier user with the same ratings whose list was copied; None if the list was computed.
    """

    user_id: Hashable
    twin_id: Hashable | None


class TwinIndex:
    """Everybody's list of similar users, kept right while new users come.

    Parameters
    ----------
    data
        The records of those who are there at the beginning.
    axis
        ``"user"``; or ``"item"`` for lists of similar items, to which new items are added by who rated them.
    similarity
        ``"cosine"`` over what both have rated, or ``"cosine_full"`` over whole rows. Users who have nothing in common
        have similarity 0.
    length
        How many entries of each list to keep; None for all (12·n² bytes).
    builder
        How to come to a new user's list; ``HashedTwins`` unless told.

    Privacy
    -------
    None: the lists are the curator's and hold everybody's data. How long ``add`` takes tells whether somebody has
    exactly these ratings; a client must not be able to measure it.

    Notes
    -----
    Ties go to who was there first; of those at the beginning, in the order of their ids. What an update costs is told
    in ``SimilarityLists``.

    Examples
    --------
    >>> shop = Interactions([("ann", "tea", 5), ("ann", "rum", 1), ("bob", "tea", 3), ("bob", "rum", 4)], scale="1:5")
    >>> index = TwinIndex(shop)
    >>> index.add({"rum": 1, "tea": 5}, user_id="eve")
    NewUser(user_id='eve', twin_id='ann')
    >>> index.neighbors("bob", n=2).rows()
    [('ann', 0.7452..., 1), ('eve', 0.7452..., 2)]
    >>> index.neighbors("eve", n=1).rows()
    [('ann', 1.0, 1)]
    """

    def __init__(
        self,
        data: Interactions,
        *,
        axis: Axis = "user",
        similarity: Cosine = "cosine",
        length: int | None = None,
        builder: ListBuilder | None = None,
    ) -> None:
        self.lists = SimilarityLists(data, axis=axis, similarity=similarity, length=length)
        self.axis: Axis = axis
        self.builder = builder or HashedTwins()
        self._scale = data.scale
        rows, self._columns = (data.users, data.items) if axis == "user" else (data.items, data.users)
        self._ids: list[Any] = rows.ids()
        self._code_of = {key: code for code, key in enumerate(self._ids)}
        self._column_of = {key: code for code, key in enumerate(self._columns.ids())}

    def __len__(self) -> int:
        return self.lists.n_rows

    def __contains__(self, user_id: Hashable) -> bool:
        return user_id in self._code_of

    def add(self, profile: Mapping[Any, float], *, user_id: Hashable) -> NewUser:
        """Add a user: build their list, and put them into the lists of all others.

        Parameters
        ----------
        profile
            The ratings by item; it may be empty. An item that the index does not know is an error, and changes nothing.
        user_id
            Who it is: somebody who is not there yet.
        """
        (user_id,) = as_id_series([user_id], what=self.axis)  # refuses what cannot be an id
        if user_id in self._code_of:
            raise UsageError(f"{self.axis} {user_id!r} is there already.", remedy="Give the new one another id.")
        row = self.profile(profile)
        built = self.builder.build(self.lists, row)
        self._code_of[user_id] = self.lists.append(row, built)
        self._ids.append(user_id)
        return NewUser(user_id, None if built.twin is None else self._ids[built.twin])

    def profile(self, ratings: Mapping[Any, float]) -> Profile:
        """Ratings by id as a checked profile in codes, for a builder."""
        codes = [self._column_of.get(key, -1) for key in ratings]
        for key, code in zip(ratings, codes, strict=True):
            if code < 0:
                self._columns.code(key)  # says which, and why
        values = np.array(list(ratings.values()), dtype=np.float64)
        check_ratings(values)
        if self._scale is not None and not self._scale.contains(values).all():
            wrong = int(np.argmin(self._scale.contains(values)))
            raise DataError(
                f"the rating of {list(ratings)[wrong]!r} is not on the scale {self._scale}.",
                column="rating",
                value=float(values[wrong]),
                remedy="Correct the rating.",
            )
        return Profile.of(np.array(codes, dtype=np.int32), values)

    def neighbors(self, user_id: Hashable, *, n: int = 10) -> pl.DataFrame:
        """The n most similar others: user_id (or item_id), similarity, rank."""
        if n < 1:
            raise UsageError(f"n = {n} must be at least 1.")
        if user_id not in self._code_of:
            raise DataError(f"unknown {self.axis} {user_id!r}.", remedy="Check its spelling and type, or add it.")
        codes, values = self.lists.list_of(self._code_of[user_id])
        return pl.DataFrame(
            {
                f"{self.axis}_id": as_id_series([self._ids[code] for code in codes[:n]], what=self.axis),
                "similarity": values[:n],
                "rank": np.arange(1, min(n, codes.size) + 1),
            }
        )
