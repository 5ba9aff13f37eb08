"""Hand-picked records: HPA of Fan and Jin, which counts each user's records of popular items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.counting.cells import Cells, Level
from discreet.counting.expected_errors import NoisyPopularity, expected_by_popularity
from discreet.counting.levels import noisy_lists
from discreet.counting.profiles import Expectation, Profile
from discreet.counting.published.published_counts import PublishedCounts, fewest_records
from discreet.counting.sampling import best_records, fresh_key, random_records
from discreet.counting.settings import Cap
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_fraction

__all__ = ["HPA"]


@dataclass(frozen=True)
class HPA(PublishedCounts):
    """Counts over the ``cap`` records of each user whose items are most popular, by a popularity released before.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        The most records of one user that are counted; public.
    first
        The number d of records of each user, chosen at random, that popularity is estimated from; public. With
        ``"data"`` it is the smallest number of records that a user has, as in the paper: that guarantee is refuted.
    first_share
        Share of the budget for the popularity.
    item_share
        Share of what is left for the counts of items where there are contexts; the rest goes to the edges.

    Privacy
    -------
    Unit: one user, present or absent. Released: noisy counts of ``first`` random records of each user (noise of scale
    d/ε₀), then noisy counts of items and edges over the chosen records (cap/ε₁, cap/ε₂). *Given* the released
    popularity the choice treats every user alone, so the second release spends ε₁ + ε₂ whatever the first one was, and
    the whole ε₀ + ε₁ + ε₂ (``docs/proofs/counting.md``, Theorem 3). Ties, and everything that is estimated at 0 or
    less, are chosen at random. Not covered: the catalog and the values of the contexts, which are public.

    Notes
    -----
    Counts of unpopular items come out far too low.

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Algorithm 2).

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> release = HPA(epsilon=1, cap=1, first=1).release(shop)
    >>> release.array("popularity").shape
    (3,)
    """

    name: ClassVar[str] = "hpa"
    proof: ClassVar[str] = "records chosen by a released popularity, docs/proofs/counting.md, Theorem 3"
    counterexample: ClassVar[str] = (
        "d = min|T_u| is read from the records: one more user with a single record takes the noise on the popularity "
        "from scale 20/ε₀ to 1/ε₀, tests/refutations/test_counting.py"
    )
    from_data: ClassVar[str] = "first"

    epsilon: Rational
    cap: int = 30
    first: Cap = 1
    first_share: Rational = "1/10"
    item_share: Rational = "1/2"

    @property
    def _popularity(self) -> AdditiveMechanism:
        return self._budget.part(self.first_share).for_sums()

    @property
    def _counts_budget(self) -> Budget:
        return self._budget.part(1 - as_fraction(self.first_share))

    def _first(self, cells: Cells) -> int:
        return fewest_records(cells) if self.first == "data" else self.first

    def _first_sums(self, sample: Cells, first: int) -> BoundedSums:
        if self.first == "data":
            how = "popularity was estimated from as many of each user's records as the least active one has"
        else:
            how = f"popularity was estimated from at most {first} of each user's records"
        return sample.counts("items", first, caps=(how,))

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """The counts of the chosen records."""
        caps = (f"each user's records were cut to the {self.cap} of the items estimated to be most popular",)
        return cells.counts(level, self.cap, caps=caps)

    def _caps(self, cells: Cells) -> tuple[str, ...]:
        return (*self._first_sums(cells, self._first(cells)).caps, *super()._caps(cells))

    def _noise(self, cells: Cells) -> dict[str, float]:
        first = self._first_sums(cells, self._first(cells))
        self._popularity.check(first)
        return {**super()._noise(cells), "popularity_noise_sd": self._popularity.standard_deviation(first)}

    def _rounds(self, plan: Plan) -> Rounds:
        cells, first_key, key = plan.public.cells, fresh_key(), fresh_key()

        def first_sums(records: Cells) -> BoundedSums:
            first = self._first(records)
            return self._first_sums(records.keep(random_records(records, first, first_key)), first)

        popularity = yield Round(first_sums, self._popularity)
        # Normalizing would not change the order; where all are 0 or less, all scores are 0 and the choice is random.
        scores = np.maximum(popularity, 0)

        def chosen(records: Cells) -> Cells:
            return records.keep(best_records(records, self.cap, scores, key))

        noisy = yield from noisy_lists(cells, self._mechanisms(cells), self._sums, chosen)
        return self._parts(plan, noisy, popularity=popularity)

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        first = 1 if self.first == "data" else self.first
        noise = self._popularity.standard_deviation(self._first_sums(cells, first))
        return expected_by_popularity(cells, level, profile, self.cap, NoisyPopularity(first, noise))
