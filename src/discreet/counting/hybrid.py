"""Between drawing records at random and taking the most popular ones: weights that lean towards what is popular.

References
----------
L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (their future work).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import Counted, CountMethod, Plan
from discreet.counting.levels import (
    as_share,
    clipped,
    fused,
    fused_noise,
    level_mechanisms,
    loss_of,
    part_of,
    weighed,
    without_records,
)
from discreet.counting.outlooks import Look, leaning_outlook
from discreet.counting.popularity import popularity_sums, released_popularity, smoothed
from discreet.counting.profiles import Outlook, Profile
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums, check_cap
from discreet.privacy.losses import Loss
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive, as_probability
from discreet.privacy.weighing import GRID_BITS, sums_within_l1, sums_within_l2

__all__ = ["HybridCounts", "leaning_sums", "leaning_weights"]

MOST_SQUARED = 2**21
"""Squared lengths up to this, in steps of 2^−20, are whole numbers of 62 bits."""


@dataclass(frozen=True)
class HybridCounts(CountMethod):
    """Counts in which a user's allowance goes to popular items first, more so the larger ``gamma`` is.

    A part of the budget buys a first look at popularity. A record of item i then weighs min(1, τ_u·p_i^γ), with the τ_u
    that uses up the user's allowance. γ = 0 weighs all records of a user alike; for large γ the most popular ones
    count in full and the others not at all.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        The most that one user weighs in all; public. With ``delta``, the largest squared length of one user's counts.
    gamma
        How far weights lean towards popular items, from 0; public.
    first
        What one user weighs in the first look.
    first_share
        Share of the budget for the first look.
    item_share
        Share of what is left for the counts of items where there are contexts; the rest goes to the edges. A quarter
        unless given: edges are many and small, and their sums tell about the items, too.
    delta
        Where given, lengths are bounded in L2 and the noise is Gaussian.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. The popularity is released with ε₀ = first_share·ε (or as much of
    ρ). Given it, each user's weights depend on that user's records alone, and add up to at most ``cap`` (or have at
    most that squared length) in whole grid steps; the counts spend the rest. Sum: ε, or the ρ that keeps (ε, δ)
    (``docs/proofs/counting.md``, Theorem 8). Not covered: the catalog, which is public.

    Counts of unpopular items come out low: ``popularity`` in the release is what the weights leaned on.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=40, seed=3)
    >>> release = HybridCounts.of(epsilon=2, cap=5, gamma="1/2").release(films)
    >>> sorted(release.parts), release.array("popularity").shape
    (['counts', 'popularity'], (40,))
    """

    name: ClassVar[str] = "hybrid"

    epsilon: Fraction
    cap: int
    gamma: Fraction = Fraction(1, 2)
    first: int = 1
    first_share: Fraction = Fraction(1, 10)
    item_share: Fraction = Fraction(1, 4)
    delta: Fraction | None = None

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        cap: int,
        gamma: Rational = "1/2",
        first: int = 1,
        first_share: Rational = "1/10",
        item_share: Rational = "1/4",
        delta: Rational | None = None,
    ) -> HybridCounts:
        exponent = as_fraction(gamma, "gamma")
        if not 0 <= exponent <= 1000:
            raise UsageError(f"gamma = {gamma} must be from 0 to 1000.")
        return cls(
            as_positive(epsilon, "epsilon"),
            cap,
            exponent,
            first,
            as_share(first_share, "first_share"),
            as_share(item_share, "item_share"),
            None if delta is None else as_probability(delta),
        )

    @property
    def loss(self) -> Loss:
        """All that is spent: ε, or the largest ρ that keeps (ε, δ)."""
        return loss_of(self.epsilon, self.delta)

    def _first_mechanism(self) -> AdditiveMechanism:
        return part_of(self.loss, self.first_share)

    def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        return level_mechanisms(cells, part_of(self.loss, 1 - self.first_share).loss, self.item_share)

    def _plan(self, cells: Cells) -> Plan:
        check_cap(self.cap)
        check_cap(self.first)
        if self.delta is not None and max(self.cap, self.first) > MOST_SQUARED:
            raise UsageError(f"cap = {self.cap}: with delta, at most {MOST_SQUARED:,} is offered.")
        empty = without_records(cells)
        look = popularity_sums(empty, self.first, self.loss)
        self._first_mechanism().check(look)

        def shape(level: Level) -> BoundedSums:
            if self.delta is None:
                return weighed(empty, level, self.cap)
            return clipped(empty, level, Fraction(self.cap))

        expected = fused_noise(cells, self._mechanisms(cells), shape)
        expected["popularity_noise_sd"] = self._first_mechanism().standard_deviation(look)
        return Plan(
            loss=self.loss,
            basis="popularity, then counts that lean towards it, docs/proofs/counting.md, Theorem 8",
            caps=(*look.caps, *shape("items").caps),
            expected=expected,
        )

    def _count(self, cells: Cells) -> Counted:
        popularity = released_popularity(cells, self.first, self.loss, self._first_mechanism())
        weight = leaning_weights(
            cells, smoothed(popularity), self.cap, gamma=float(self.gamma), squared=self.delta is not None
        )
        counted = fused(cells, self._mechanisms(cells), lambda level: self._sums(cells, level, weight))
        return Counted(counted.items, counted.edges, {"popularity": popularity})

    def _sums(self, cells: Cells, level: Level, weight: NDArray[np.int32]) -> BoundedSums:
        return leaning_sums(cells, level, weight, self.cap, squared=self.delta is not None)

    def _outlook(self, cells: Cells, level: Level, profile: Profile) -> Outlook:
        squared = self.delta is not None
        sums = popularity_sums(without_records(cells), self.first, self.loss)
        noise = self._first_mechanism().standard_deviation(sums)
        look = Look(self.first, noise, "gaussian" if squared else "laplace")
        return leaning_outlook(cells, level, profile, self.cap, float(self.gamma), look)


def leaning_sums(
    cells: Cells, level: Level, weight: NDArray[np.int32], cap: int, *, squared: bool, bits: int = GRID_BITS
) -> BoundedSums:
    """Sums of weights of which those of one user keep to the allowance, as ``leaning_weights`` makes them."""
    sums = cells.totals(level, weight)
    if squared:
        return sums_within_l2(sums, Fraction(cap), may_repeat=cells.may_repeat, bits=bits)
    return sums_within_l1(sums, cap, may_repeat=cells.may_repeat, bits=bits)


def leaning_weights(
    cells: Cells,
    popularity: NDArray[np.float64],
    cap: int,
    *,
    gamma: float,
    squared: bool = False,
    bits: int = GRID_BITS,
) -> NDArray[np.int32]:
    """For each record min(1, τ_u·p^γ) in grid steps, with the τ_u that uses up the user's allowance.

    Parameters
    ----------
    popularity
        Shares above 0, one an item; public or released.
    cap
        The allowance: Σ m·w over a user's items with m records each; Σ (m·w)² where ``squared``.

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
    score = (2 if squared else 1) * gamma * np.log(popularity)
    order = np.argsort(-score, kind="stable")
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return fill(cells.starts, cells.item, rank, score[order], cap, bits, squared)
