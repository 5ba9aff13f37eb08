"""Laplace noise on every count: LPA, the baseline of Fan and Jin, as published and with a public cap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.counting.cells import Cells, Level
from discreet.counting.expected_errors import expected_within
from discreet.counting.profiles import Expectation, Profile
from discreet.counting.published.published_counts import PublishedCounts
from discreet.counting.settings import Cap
from discreet.privacy.numbers import Rational

__all__ = ["LPA"]


@dataclass(frozen=True)
class LPA(PublishedCounts):
    """Noise of scale M/ε on every count.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        M. A public number: the total weight of each user is at most M. ``"data"``: the largest number of records that a
        user has, as in the paper; all records count in full, and the guarantee is refuted.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges.

    Privacy
    -------
    Unit: one user, present or absent. With a public M a user's weights add up to at most M, in the counts of items as
    in those of edges, so discrete Laplace noise of scale M/ε₁ and M/ε₂ spends ε₁ + ε₂ (``docs/proofs/counting.md``,
    Theorem 4). With M from the records the scale of the noise shows who is in the data.

    Notes
    -----
    ``ItemCounts`` is the same with both lists made consistent.

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Sections 3.2 and 6).

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> LPA(epsilon=1, cap="data").plan(shop).standing.value
    'refuted'
    """

    name: ClassVar[str] = "lpa"
    proof: ClassVar[str] = "weighted counts with discrete Laplace noise, docs/proofs/counting.md, Theorem 4"
    counterexample: ClassVar[str] = (
        "M = max|T_u| is read from the records: one more user with 100 records makes an output above 60 likely (0.67) "
        "that had a chance of 1e-26, tests/refutations/test_counting.py"
    )

    epsilon: Rational
    cap: Cap = 30
    item_share: Rational = "1/2"

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        return expected_within(cells, level, profile, None if self.cap == "data" else self.cap)
