"""Laplace noise on every count: LPA, the baseline of Fan and Jin, as published and with a public cap."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import Counted, CountMethod, Plan
from discreet.counting.levels import apart, as_share, expected_noise, level_mechanisms, weighed, without_records
from discreet.counting.outlooks import weighed_outlook
from discreet.counting.profiles import Outlook, Profile
from discreet.counting.published import Cap, check_cap_or_data, most_records
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, as_positive

__all__ = ["LPA"]

REFUTED_BASIS = (
    "M = max|T_u| is read from the records: one more user with 100 records makes an output above 60 likely (0.67) that "
    "had a chance of 1e-26, tests/refutations/test_counting.py"
)


@dataclass(frozen=True)
class LPA(CountMethod):
    """Noise of scale M/ε on every count.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        M. A public number: users with more records are weighed down to M in all. ``"data"``: the largest number of
        records that a user has, as in the paper; all records count in full, and the promise is refuted.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. With a public M a user's weights add up to at most M, in the counts
    of items as in those of edges, so discrete Laplace noise of scale M/ε₁ and M/ε₂ spends ε₁ + ε₂
    (``docs/proofs/counting.md``, Theorem 4). With M from the records the scale of the noise tells who is there.

    ``ItemCounts`` is the same with both lists fused.

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Sections 3.2 and 6).

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> LPA.of(epsilon=1, cap="data").guarantee(shop).standing.value
    'refuted'
    """

    name: ClassVar[str] = "lpa"

    epsilon: Fraction
    cap: Cap
    item_share: Fraction = Fraction(1, 2)

    @classmethod
    def of(cls, *, epsilon: Rational, cap: Cap, item_share: Rational = "1/2") -> LPA:
        return cls(as_positive(epsilon, "epsilon"), cap, as_share(item_share, "item_share"))

    def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        return level_mechanisms(cells, Pure(self.epsilon), self.item_share)

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        if self.cap != "data":
            return weighed(cells, level, self.cap)
        return cells.counts(level, most_records(cells), caps=("all records of each user were counted",))

    def _plan(self, cells: Cells) -> Plan:
        check_cap_or_data(self.cap)
        public = self.cap != "data"
        # What is looked up in the records must be looked up before it can be asked whether the noise can be drawn.
        known = without_records(cells) if public else cells
        expected = expected_noise(self._mechanisms(cells), lambda level: self._sums(known, level))
        return Plan(
            loss=Pure(self.epsilon),
            basis="weighted counts with discrete Laplace noise, docs/proofs/counting.md, Theorem 4"
            if public
            else REFUTED_BASIS,
            caps=self._sums(without_records(cells), "items").caps,
            expected=expected if public or cells.user.size else {},
            standing=Standing.PROVED if public else Standing.REFUTED,
        )

    def _count(self, cells: Cells) -> Counted:
        return apart(cells, self._mechanisms(cells), lambda level: self._sums(cells, level))

    def _outlook(self, cells: Cells, level: Level, profile: Profile) -> Outlook:
        return weighed_outlook(cells, level, profile, None if self.cap == "data" else self.cap)
