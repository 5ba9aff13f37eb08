"""Weights that lean towards popular items: between a random choice of records and the most popular ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import CountMethod, PublicLists
from discreet.counting.expected_errors import NoisyPopularity, expected_leaning
from discreet.counting.levels import consistent_lists, consistent_noise, noisy_lists, within
from discreet.counting.popularity import noisy_popularity, popularity_sums, smoothed
from discreet.counting.profiles import Expectation, Profile
from discreet.counting.settings import store
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.method import Plan, Rounds
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.weighing import GRID_BITS, sums_within_l1, sums_within_l2

__all__ = ["HybridCounts", "leaning_sums", "leaning_weights"]

MOST_SQUARED = 2**21
"""Squared lengths up to this, in steps of 2^−20, are whole numbers of 62 bits."""


@dataclass(frozen=True)
class HybridCounts(CountMethod):
    """Counts in which a user's cap is spent on popular items first, more so the larger ``gamma`` is.

    A noisy popularity p is released first. A record of item i then weighs min(1, τ_u·p_i^γ), with the τ_u that uses up
    the user's cap. γ = 0 weighs all records of a user alike; for large γ the most popular ones count in full and the
    others not at all.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        The most that one user weighs in all; public. With ``delta``, the largest squared length of one user's counts.
    gamma
        How far weights lean towards popular items, from 0; public.
    first
        What one user weighs in the popularity.
    first_share
        Share of the budget for the popularity.
    item_share
        Share of what is left for the counts of items where there are contexts; the rest goes to the edges. A quarter
        unless given: edges are many and small, and their sums tell about the items, too.
    delta
        0 for a pure guarantee. Above 0, lengths are bounded in L2 and the noise is normal.

    Privacy
    -------
    Unit: one user, present or absent. The popularity is released with first_share of ε (or of μ²). Given it, each
    user's weights depend on that user's records alone, and add up to at most ``cap`` (or have at most that squared
    length) in whole grid steps; the counts spend the rest. Sum: ε, or the μ² that keeps (ε, δ)
    (``docs/proofs/counting.md``, Theorem 8). Not covered: the catalog, which is public.

    Notes
    -----
    Counts of unpopular items come out low. On data with many repeats, such as check-ins, counts by context are better
    than those of ``ItemCounts`` (``docs/which-method.md``).

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (their future work).

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=40, seed=3)
    >>> release = HybridCounts(epsilon=2, cap=5, gamma="1/2").release(films)
    >>> sorted(release.parts), release.array("popularity").shape
    (['counts', 'popularity'], (40,))
    """

    name: ClassVar[str] = "hybrid"

    epsilon: Rational
    cap: int = 30
    gamma: Rational = "1/2"
    first: int = 1
    first_share: Rational = "1/10"
    item_share: Rational = "1/4"
    delta: Rational = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        exponent = as_fraction(self.gamma, "gamma")
        if not 0 <= exponent <= 1000:
            raise UsageError(f"gamma must be from 0 to 1000, got {self.gamma}.")
        store(self, gamma=exponent)
        if not self._budget.is_pure and max(self.cap, self.first) > MOST_SQUARED:
            raise UsageError(f"with delta, cap and first must be at most {MOST_SQUARED:,}, got {self.cap}.")

    @property
    def _first_budget(self) -> Budget:
        return self._budget.part(self.first_share)

    @property
    def _counts_budget(self) -> Budget:
        return self._budget.part(1 - as_fraction(self.first_share))

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """Counts without records, with the bounds of those that lean towards popular items."""
        return within(cells, level, self.cap, self._budget.norm)

    def _plan(self, public: PublicLists) -> Plan:
        popularity = popularity_sums(public.cells, self.first, self._budget.norm)
        first = self._first_budget.for_sums()
        first.check(popularity)
        expected = consistent_noise(public.cells, self._noise(public.cells))
        return self._plan_of(
            public,
            basis="popularity, then counts that lean towards it, docs/proofs/counting.md, Theorem 8",
            caps=(*popularity.caps, *self._sums(public.cells, "items").caps),
            expected={**expected, "popularity_noise_sd": first.standard_deviation(popularity)},
        )

    def _rounds(self, plan: Plan) -> Rounds:
        cells, mechanisms = plan.public.cells, self._mechanisms(plan.public.cells)
        popularity = yield from noisy_popularity(cells, self.first, self._first_budget)
        shares, gamma, norm = smoothed(popularity), float(as_fraction(self.gamma)), self._budget.norm

        def weighted(records: Cells) -> tuple[Cells, NDArray[np.int32]]:
            return records, leaning_weights(records, shares, self.cap, gamma=gamma, norm=norm)

        def sums(prepared: tuple[Cells, NDArray[np.int32]], level: Level) -> BoundedSums:
            return leaning_sums(prepared[0], level, prepared[1], self.cap, norm=norm)

        noisy = yield from noisy_lists(cells, mechanisms, sums, weighted)
        return self._parts(plan, consistent_lists(cells, mechanisms, self._sums, noisy), popularity=popularity)

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        sums = popularity_sums(cells, self.first, self._budget.norm)
        noise = self._first_budget.for_sums().standard_deviation(sums)
        popularity = NoisyPopularity(self.first, noise, "laplace" if self._budget.is_pure else "gaussian")
        return expected_leaning(cells, level, profile, self.cap, float(as_fraction(self.gamma)), popularity)


def leaning_sums(
    cells: Cells, level: Level, weight: NDArray[np.int32], cap: int, *, norm: int, bits: int = GRID_BITS
) -> BoundedSums:
    """Sums of weights of which those of one user keep to the cap, as ``leaning_weights`` makes them."""
    sums = cells.totals(level, weight)
    if norm == 2:
        return sums_within_l2(sums, Fraction(cap), may_repeat=cells.may_repeat, bits=bits)
    return sums_within_l1(sums, cap, may_repeat=cells.may_repeat, bits=bits)


def leaning_weights(
    cells: Cells,
    popularity: NDArray[np.float64],
    cap: int,
    *,
    gamma: float,
    norm: int = 1,
    bits: int = GRID_BITS,
) -> NDArray[np.int32]:
    """For each record min(1, τ_u·p^γ) in grid steps, with the τ_u that uses up the user's cap.

    Parameters
    ----------
    popularity
        Shares above 0, one an item; public or released.
    cap
        What a user may weigh: Σ m·w over a user's items with m records each; Σ (m·w)² for norm 2.

    Examples
    --------
    >>> item = np.repeat(np.arange(5, dtype=np.int32), [3, 1, 2, 4, 5])
    >>> one = Cells(np.zeros(15, np.int32), item, np.zeros(15, np.int32), 1, 5, (), may_repeat=True)
    >>> weight = leaning_weights(one, np.array([0.4, 0.3, 0.2, 0.05, 0.05]), 6, gamma=1) / 2**20
    >>> weight[[0, 3, 4, 6, 10]].round(3).tolist()
    [1.0, 0.783, 0.522, 0.13, 0.13]
    """
    from discreet.counting.filling_kernels import fill

    # Lengths add up as squares, so that weights in proportion to p^γ have squares in proportion to p^2γ.
    score = norm * gamma * np.log(popularity)
    order = np.argsort(-score, kind="stable")
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return fill(cells.starts, cells.item, rank, score[order], cap, bits, norm == 2)
