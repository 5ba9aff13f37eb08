"""Simple random sampling of each user's records: SRA of Fan and Jin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import Counted, CountMethod, Plan
from discreet.counting.levels import apart, as_share, expected_noise, level_mechanisms, without_records
from discreet.counting.outlooks import sampled_outlook
from discreet.counting.profiles import Outlook, Profile
from discreet.counting.sampling import random_records
from discreet.privacy.bounding import BoundedSums, check_cap
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, as_positive

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

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. Released: a noisy count for every item of the catalog, and for every
    item in every context, both over *one* sample. One user changes either list by at most ``cap`` in L1, so noise of
    scale cap/ε₁ on items and cap/ε₂ on edges spends ε₁ + ε₂ on the pair. The published proof composes two mechanisms
    that share the sample, which proves nothing; the pair is private all the same (``docs/proofs/counting.md``,
    Theorem 2). Not covered: the catalog and the values of the contexts, which are public.

    The counts are of the sample: those of items that belong to users over the cap come out too low.

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Algorithm 1).

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> method = SRA.of(epsilon=1, cap=1)
    >>> round(method.estimate(shop)["noise_sd"], 3)
    1.357
    >>> method.release(shop).table("counts").columns
    ['item_id', 'count']
    """

    name: ClassVar[str] = "sra"

    epsilon: Fraction
    cap: int
    item_share: Fraction = Fraction(1, 2)

    @classmethod
    def of(cls, *, epsilon: Rational, cap: int, item_share: Rational = "1/2") -> SRA:
        return cls(as_positive(epsilon, "epsilon"), cap, as_share(item_share, "item_share"))

    def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        return level_mechanisms(cells, Pure(self.epsilon), self.item_share)

    def _sums(self, sample: Cells, level: Level) -> BoundedSums:
        return sample.counts(level, self.cap, caps=(f"each user's records were cut to {self.cap} at random",))

    def _plan(self, cells: Cells) -> Plan:
        check_cap(self.cap)
        empty = without_records(cells)
        return Plan(
            loss=Pure(self.epsilon),
            basis="counts of one sample with discrete Laplace noise, docs/proofs/counting.md, Theorem 2",
            caps=self._sums(empty, "items").caps,
            expected=expected_noise(self._mechanisms(cells), lambda level: self._sums(empty, level)),
        )

    def _count(self, cells: Cells) -> Counted:
        sample = cells.keep(random_records(cells, self.cap))
        return apart(cells, self._mechanisms(cells), lambda level: self._sums(sample, level))

    def _outlook(self, cells: Cells, level: Level, profile: Profile) -> Outlook:
        return sampled_outlook(cells, level, profile, self.cap)
