"""Simple random sampling of each user's records: SRA of Fan and Jin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import CountMethod, PublicLists
from discreet.counting.expected_errors import expected_sample
from discreet.counting.levels import noisy_lists
from discreet.counting.profiles import Expectation, Profile
from discreet.counting.sampling import fresh_key, random_records
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.method import Plan, Rounds
from discreet.privacy.numbers import Rational

__all__ = ["SRA"]


@dataclass(frozen=True)
class SRA(CountMethod):
    """Counts over a random choice of ``cap`` records of each user, with discrete Laplace noise.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        The sampling factor l: the most records of one user that are counted; public.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges.

    Privacy
    -------
    Unit: one user, present or absent. Released: a noisy count for every item of the catalog, and for every item in
    every context, both over *one* sample. One user changes either list by at most ``cap`` in L1, so noise of scale
    cap/ε₁ on items and cap/ε₂ on edges spends ε₁ + ε₂ on the pair. The published proof composes two mechanisms that
    share the sample, which proves nothing; the pair is private all the same (``docs/proofs/counting.md``, Theorem 2).
    Not covered: the catalog and the values of the contexts, which are public.

    Notes
    -----
    The counts are of the sample: those of items that belong to users over the cap come out too low.

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Algorithm 1).

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> method = SRA(epsilon=1, cap=1)
    >>> round(method.estimate(shop)["noise_sd"], 3)
    1.357
    >>> method.release(shop).table("counts").columns
    ['item_id', 'count']
    """

    name: ClassVar[str] = "sra"

    epsilon: Rational
    cap: int = 30
    item_share: Rational = "1/2"

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """The counts of a sample."""
        return cells.counts(level, self.cap, caps=(f"each user's records were cut to {self.cap} at random",))

    def _plan(self, public: PublicLists) -> Plan:
        return self._plan_of(
            public,
            basis="counts of one sample with discrete Laplace noise, docs/proofs/counting.md, Theorem 2",
            caps=self._sums(public.cells, "items").caps,
            expected=self._noise(public.cells),
        )

    def _rounds(self, plan: Plan) -> Rounds:
        cells, key = plan.public.cells, fresh_key()

        def sampled(records: Cells) -> Cells:
            return records.keep(random_records(records, self.cap, key))

        return self._parts(plan, (yield from noisy_lists(cells, self._mechanisms(cells), self._sums, sampled)))

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        return expected_sample(cells, level, profile, self.cap)
