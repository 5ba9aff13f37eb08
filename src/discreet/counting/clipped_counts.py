"""Counts clipped in length instead of number: many items of one user cost the root of what they cost in L1."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import Counted, CountMethod, Plan
from discreet.counting.levels import as_share, clipped, fused, fused_noise, level_mechanisms, without_records
from discreet.counting.outlooks import clipped_outlook
from discreet.counting.profiles import Outlook, Profile
from discreet.privacy.losses import Concentrated, rho_for
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, as_positive, as_probability

__all__ = ["ClippedCounts"]


@dataclass(frozen=True)
class ClippedCounts(CountMethod):
    """Counts in which each user's vector has a bounded length, with discrete Gaussian noise.

    Parameters
    ----------
    epsilon, delta
        The budget.
    norm_squared
        The largest squared length of one user's item counts; public. A user with so many different items, touched once
        each, counts in full; a user with n of them weighs √(norm_squared/n) in each.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges. Both are
        fused afterwards. A quarter unless given: edges are many and small, their sums tell about the items, too, and
        Gaussian noise grows only with the root of what a list goes without.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. Released: a number for every item of the catalog, and for every
    item in every context. One user changes the weighted counts by a vector of squared length at most C² =
    ``norm_squared``, in whole grid steps, so discrete Gaussian noise of variance C²/(2ρ) spends ρ
    (``docs/proofs/counting.md``, Theorem 7). Items and edges take the same weights. ρ is the largest that keeps
    (ε, δ). Not covered: the catalog itself, which is public.

    Where users have many items this is far better than weighing with Laplace noise: the noise grows with the root of
    the number of items that count in full, not with the number.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=40, seed=3)
    >>> release = ClippedCounts.of(epsilon=1, delta="1e-6", norm_squared=20).release(films)
    >>> release.table("counts").columns
    ['item_id', 'title', 'count']
    >>> print(release.guarantee.loss)
    ρ ≈ 0.024356 (zCDP; ε ≈ 1 at δ = 1e-6)
    """

    name: ClassVar[str] = "clipped"

    epsilon: Fraction
    delta: Fraction
    norm_squared: Fraction
    item_share: Fraction = Fraction(1, 4)

    @classmethod
    def of(
        cls, *, epsilon: Rational, delta: Rational, norm_squared: Rational, item_share: Rational = "1/4"
    ) -> ClippedCounts:
        return cls(
            as_positive(epsilon, "epsilon"),
            as_probability(delta),
            as_positive(norm_squared, "norm_squared"),
            as_share(item_share, "item_share"),
        )

    @property
    def loss(self) -> Concentrated:
        """The largest zCDP loss that keeps (ε, δ)."""
        return Concentrated(rho_for(self.epsilon, self.delta))

    def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        return level_mechanisms(cells, self.loss, self.item_share)

    def _plan(self, cells: Cells) -> Plan:
        empty = without_records(cells)
        return Plan(
            loss=self.loss,
            basis="clipped counts with discrete Gaussian noise, docs/proofs/counting.md, Theorem 7",
            caps=clipped(empty, "items", self.norm_squared).caps,
            expected=fused_noise(
                cells, self._mechanisms(cells), lambda level: clipped(empty, level, self.norm_squared)
            ),
        )

    def _count(self, cells: Cells) -> Counted:
        return fused(cells, self._mechanisms(cells), lambda level: clipped(cells, level, self.norm_squared))

    def _outlook(self, cells: Cells, level: Level, profile: Profile) -> Outlook:
        return clipped_outlook(cells, level, profile, float(self.norm_squared))
