"""Item counts: how often each item of the catalog was touched, in all and in each context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import CountMethod, PublicLists
from discreet.counting.expected_errors import expected_within
from discreet.counting.levels import consistent_lists, consistent_noise, noisy_lists, within
from discreet.counting.profiles import Expectation, Profile
from discreet.counting.settings import normalize, store
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.method import Plan, Rounds
from discreet.privacy.numbers import Rational, as_fraction, as_positive

__all__ = ["ItemCounts"]

USUAL_CAP, USUAL_NORM_SQUARED = 30, 100
"""The cap unless given: of the total weight, and of the squared length, which noise takes only the root of."""


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

    epsilon: Rational
    cap: Rational | None = None
    delta: Rational = 0
    item_share: Rational | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        pure = self._budget.is_pure
        if self.item_share is None:
            store(self, item_share="1/2" if pure else "1/4")
        if self.cap is None:
            store(self, cap=USUAL_CAP if pure else USUAL_NORM_SQUARED)
        if not pure:
            length = as_positive(self.cap, "cap")  # type: ignore[arg-type]
            store(self, cap=int(length) if length.denominator == 1 else length)
        normalize(self, unchecked=() if pure else ("cap",))

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        assert self.cap is not None
        return within(cells, level, self.cap, self._budget.norm)

    def _plan(self, public: PublicLists) -> Plan:
        basis = (
            "weighted counts with discrete Laplace noise, docs/proofs/bounding.md, Theorem 2"
            if self._budget.is_pure
            else "clipped counts with rounded normal noise, docs/proofs/counting.md, Theorem 7"
        )
        return self._plan_of(
            public,
            basis=basis,
            caps=self._sums(public.cells, "items").caps,
            expected=consistent_noise(public.cells, self._noise(public.cells)),
        )

    def _rounds(self, plan: Plan) -> Rounds:
        cells, mechanisms = plan.public.cells, self._mechanisms(plan.public.cells)
        noisy = yield from noisy_lists(cells, mechanisms, self._sums)
        return self._parts(plan, consistent_lists(cells, mechanisms, self._sums, noisy))

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        assert self.cap is not None
        return expected_within(cells, level, profile, float(as_fraction(self.cap)), self._budget.norm)
