"""Hand-picked records: HPA of Fan and Jin, which counts each user's records of popular items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import Counted, CountMethod, Plan
from discreet.counting.levels import apart, as_share, expected_noise, level_mechanisms, without_records
from discreet.counting.outlooks import Look, picked_outlook
from discreet.counting.profiles import Outlook, Profile
from discreet.counting.published import Cap, check_cap_or_data, fewest_records
from discreet.counting.sampling import best_records, random_records
from discreet.privacy.bounding import BoundedSums, check_cap
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import AdditiveMechanism, LaplaceMechanism
from discreet.privacy.numbers import Rational, as_positive

__all__ = ["HPA"]

REFUTED_BASIS = (
    "d = min|T_u| is read from the records: one more user with a single record takes the noise on the popularity from "
    "scale 20/ε₀ to 1/ε₀, tests/refutations/test_counting.py"
)


@dataclass(frozen=True)
class HPA(CountMethod):
    """Counts over the ``cap`` records of each user whose items are most popular, by a popularity released before.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        The most records of one user that are counted; public.
    first
        The number d of records of each user, chosen at random, that popularity is estimated from; public. With
        ``"data"`` it is the smallest number of records that a user has, as in the paper: that promise is refuted.
    first_share
        Share of the budget for the popularity.
    item_share
        Share of what is left for the counts of items where there are contexts; the rest goes to the edges.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. Released: noisy counts of ``first`` random records of each user
    (noise of scale d/ε₀), then noisy counts of items and edges over the chosen records (cap/ε₁, cap/ε₂). *Given* the
    released popularity the choice treats every user alone, so the second release spends ε₁ + ε₂ whatever the first one
    said, and the whole ε₀ + ε₁ + ε₂ (``docs/proofs/counting.md``, Theorem 3). Ties, and everything that is estimated at
    0 or less, are chosen at random. Not covered: the catalog and the values of the contexts, which are public.

    Counts of unpopular items come out far too low.

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Algorithm 2).

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> release = HPA.of(epsilon=1, cap=1, first=1).release(shop)
    >>> release.array("popularity").shape
    (3,)
    """

    name: ClassVar[str] = "hpa"

    epsilon: Fraction
    cap: int
    first: Cap
    first_share: Fraction = Fraction(1, 10)
    item_share: Fraction = Fraction(1, 2)

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        cap: int,
        first: Cap = 1,
        first_share: Rational = "1/10",
        item_share: Rational = "1/2",
    ) -> HPA:
        return cls(
            as_positive(epsilon, "epsilon"),
            cap,
            first,
            as_share(first_share, "first_share"),
            as_share(item_share, "item_share"),
        )

    @property
    def _popularity(self) -> LaplaceMechanism:
        return LaplaceMechanism(self.epsilon * self.first_share)

    def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        return level_mechanisms(cells, Pure(self.epsilon * (1 - self.first_share)), self.item_share)

    def _first(self, cells: Cells) -> int:
        return fewest_records(cells) if self.first == "data" else self.first

    def _first_sums(self, sample: Cells, first: int) -> BoundedSums:
        if self.first == "data":
            how = "popularity was estimated from as many of each user's records as the least active one has"
        else:
            how = f"popularity was estimated from at most {first} of each user's records"
        return sample.counts("items", first, caps=(how,))

    def _sums(self, sample: Cells, level: Level) -> BoundedSums:
        caps = (f"each user's records were cut to the {self.cap} of the items estimated to be most popular",)
        return sample.counts(level, self.cap, caps=caps)

    def _plan(self, cells: Cells) -> Plan:
        check_cap(self.cap)
        check_cap_or_data(self.first)
        public = self.first != "data"
        empty = without_records(cells)
        expected = expected_noise(self._mechanisms(cells), lambda level: self._sums(empty, level))
        first_sums = self._first_sums(empty, self._first(cells))
        self._popularity.check(first_sums)
        if public or cells.user.size:
            expected["popularity_noise_sd"] = self._popularity.standard_deviation(first_sums)
        return Plan(
            loss=Pure(self.epsilon),
            basis="records chosen by a released popularity, docs/proofs/counting.md, Theorem 3"
            if public
            else REFUTED_BASIS,
            caps=(*first_sums.caps, *self._sums(empty, "items").caps),
            expected=expected,
            standing=Standing.PROVED if public else Standing.REFUTED,
        )

    def _count(self, cells: Cells) -> Counted:
        first = self._first(cells)
        popularity = self._popularity.release(self._first_sums(cells.keep(random_records(cells, first)), first))
        # Normalizing would not change the order; where all are 0 or less, all scores are 0 and the choice is random.
        sample = cells.keep(best_records(cells, self.cap, np.maximum(popularity, 0)))
        counted = apart(cells, self._mechanisms(cells), lambda level: self._sums(sample, level))
        return replace(counted, parts={"popularity": popularity})

    def _outlook(self, cells: Cells, level: Level, profile: Profile) -> Outlook:
        first = 1 if self.first == "data" else self.first
        look = Look(first, self._popularity.standard_deviation(self._first_sums(without_records(cells), first)))
        return picked_outlook(cells, level, profile, self.cap, look)
