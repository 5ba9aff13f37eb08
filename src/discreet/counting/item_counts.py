"""Item counts: how often each item of the catalog was touched, in all and in each context, users weighed to a cap."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

from discreet.common.arrays import Codes, Floats
from discreet.counting.cells import Cells, Level
from discreet.counting.counts import COUNT_SUMS, CountMethod, normalize, store
from discreet.counting.profiles import Expectation, NoisyPopularity, Profile, expected_leaning, expected_within
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.method import Enters, Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.weighing import GRID_BITS

__all__ = ["HybridCounts", "ItemCounts", "leaning_weights", "noisy_popularity", "popularity_sums", "smoothed"]

USUAL_CAP, USUAL_NORM_SQUARED = 30, 100
"""The cap unless given: of the total weight, and of the squared length, which noise takes only the root of."""

MOST_SQUARED = 2**21
"""Squared lengths up to this, in steps of 2^−20, are whole numbers of 62 bits."""


@dataclass(frozen=True)
class ItemCounts(CountMethod):
    """Counts in which the weight of every user is bounded, in the norm that the noise is best for.

    Parameters
    ----------
    epsilon
        The budget: an int, a Fraction, a Decimal, text such as "1/2", or a float by its shortest decimal.
    cap
        The most that one user weighs; public. Without delta it is the total weight: of T records each weighs
        min(1, cap/T). With delta it is the squared length of the user's item counts m: each record weighs
        min(1, √(cap/‖m‖²)), so that a user with n different items, once each, weighs √(cap/n) in each. 30 unless
        given, 100 with delta.
    delta
        0 for a pure guarantee and Laplace noise; above 0 for normal noise, which is far smaller where users have more
        than a few records: it grows with the root of the cap.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges. Both lists are
        made consistent afterwards. Half unless given; a quarter with delta, as normal noise grows only with the root of
        what a list goes without.

    Privacy
    -------
    Unit: one user, present or absent. Released: a number for every item of the catalog, and for every item in every
    context. One user changes either list by at most ``cap`` in L1 norm, or by a vector of squared length at most
    ``cap``, in whole grid steps. Without delta discrete Laplace noise of scale cap/ε spends ε
    (``docs/proofs/bounding.md``, Theorem 2); with delta rounded normal noise of variance cap/μ² spends μ², and μ is the
    largest that keeps (ε, δ) (``docs/proofs/counting.md``, Theorem 7). Shares of items and edges add up. Not covered:
    the catalog, which is public.

    Notes
    -----
    Weighing has the mean of drawing ``cap`` records at random and none of its variance. Items touched by many users who
    are over the cap come out too low; by how much depends on the records.

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> release = ItemCounts(epsilon="1/2", cap=10).release(shop)
    >>> release.table("counts").columns
    ['item_id', 'count']
    >>> print(release.guarantee.loss)
    ε = 0.5
    >>> ItemCounts(epsilon=1, delta="1e-6").plan(shop).guarantee.loss.kind
    'gaussian'
    """

    name: ClassVar[str] = "weighted"
    agree: ClassVar[bool] = True
    enters: ClassVar[Enters] = "records"
    adds: ClassVar[Mapping[str, tuple[str, ...]]] = COUNT_SUMS

    epsilon: Rational
    cap: Rational | None = None
    delta: Rational = 0
    item_share: Rational | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        pure = self._norm == 1
        if self.item_share is None:
            store(self, item_share="1/2" if pure else "1/4")
        if self.cap is None:
            store(self, cap=USUAL_CAP if pure else USUAL_NORM_SQUARED)
        if not pure:
            length = as_positive(self.cap, "cap")  # type: ignore[arg-type]
            store(self, cap=int(length) if length.denominator == 1 else length)
        normalize(self, unchecked=() if pure else ("cap",))

    @property
    def _basis(self) -> str:
        if self._norm == 1:
            return "weighted counts with discrete Laplace noise, docs/proofs/bounding.md, Theorem 2"
        return "clipped counts with rounded normal noise, docs/proofs/counting.md, Theorem 7"

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        assert isinstance(self.cap, int | Fraction)
        return cells.within(level, self.cap, self._norm)

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        assert isinstance(self.cap, int | Fraction)
        return expected_within(cells, level, profile, float(self.cap), self._norm)


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
    proof: ClassVar[str] = "popularity, then counts that lean towards it, docs/proofs/counting.md, Theorem 8"
    agree: ClassVar[bool] = True

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
        if self._norm == 2 and max(self.cap, self.first) > MOST_SQUARED:
            raise UsageError(f"with delta, cap and first must be at most {MOST_SQUARED:,}, got {self.cap}.")

    @property
    def _first_budget(self) -> Budget:
        return self._budget.part(self.first_share)

    @property
    def _counts_budget(self) -> Budget:
        return self._budget.rest(self.first_share)

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """Counts without records, with the bounds of those that lean towards popular items."""
        return cells.within(level, self.cap, self._norm)

    def _caps(self, cells: Cells) -> tuple[str, ...]:
        return (*popularity_sums(cells, self.first, self._norm).caps, *super()._caps(cells))

    def _drawn_noise(self, cells: Cells) -> dict[str, float]:
        first = self._first_budget.noise_on(popularity_sums(cells, self.first, self._norm))
        return {**super()._drawn_noise(cells), "popularity_noise_sd": first["noise_sd"]}

    def _rounds(self, plan: Plan) -> Rounds:
        popularity = yield from noisy_popularity(plan.public, self.first, self._first_budget)
        shares, gamma, norm = smoothed(popularity), float(as_fraction(self.gamma)), self._norm

        def weighted(records: Cells) -> tuple[Cells, Codes]:
            return records, leaning_weights(records, shares, self.cap, gamma=gamma, norm=norm)

        def sums(prepared: tuple[Cells, Codes], level: Level) -> BoundedSums:
            records, weight = prepared
            return records.bounded(records.totals(level, weight), self.cap, norm)

        noisy = yield from self._noisy(plan.public, weighted, sums)
        return self._parts(plan, noisy, popularity=popularity)

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        noise = self._drawn_noise(cells)["popularity_noise_sd"]
        popularity = NoisyPopularity(self.first, noise, "laplace" if self._norm == 1 else "gaussian")
        return expected_leaning(cells, level, profile, self.cap, float(as_fraction(self.gamma)), popularity)


def leaning_weights(
    cells: Cells, popularity: Floats, cap: int, *, gamma: float, norm: int = 1, bits: int = GRID_BITS
) -> Codes:
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
    from discreet.counting.kernels import fill

    # Lengths add up as squares, so that weights in proportion to p^γ have squares in proportion to p^2γ.
    score = norm * gamma * np.log(popularity)
    order = np.argsort(-score, kind="stable")
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return fill(cells.starts, cells.item, rank, score[order], cap, bits, norm == 2)


# A popularity that is released before something that depends on it


def popularity_sums(cells: Cells, first: int, norm: int) -> BoundedSums:
    """Item counts in which each user weighs ``first`` records; of that squared length for norm 2.

    Weighing has the mean of drawing ``first`` records, and none of its variance.
    """
    sums = cells.within("items", first, norm)
    return replace(sums, caps=tuple(f"for the popularity {phrase}" for phrase in sums.caps))


def noisy_popularity(public: Cells, first: int, budget: Budget) -> Generator[Round, Any, Floats]:
    """A round that releases the popularity, in records."""
    released = yield Round(partial(popularity_sums, first=first, norm=budget.norm), budget.for_sums())
    return released.astype(np.float64) * float(popularity_sums(public, first, budget.norm).step)


def smoothed(popularity: Floats) -> Floats:
    """Shares of popularity above 0 that add up to 1: max(p, 0) + 1, normalized.

    Examples
    --------
    >>> smoothed(np.array([7.0, -3.0, 0.0])).tolist()
    [0.8, 0.1, 0.1]
    """
    raised = np.maximum(popularity, 0) + 1
    return raised / raised.sum()
