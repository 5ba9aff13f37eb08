"""Grouping and smoothing: GS after Kellaris and Papadopoulos, as run by Fan and Jin and corrected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.common.arguments import require_whole
from discreet.common.arrays import Integers
from discreet.counting.cells import Cells, Level, best_records, fresh_key
from discreet.counting.counts import PREFIX, Cap
from discreet.counting.profiles import Expectation, Profile, expected_groups, expected_within
from discreet.counting.published.fan_jin import PublishedCounts
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.losses import Loss
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational

__all__ = ["GS"]


@dataclass(frozen=True)
class GS(PublishedCounts):
    """Counts that look alike share one noisy number: groups of ``width`` in the order of a first, coarse release.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        A public number: the total weight of each user is at most that. ``"data"``: the largest number M of records that
        a user has, as in the paper; averages then get noise of scale M/(w·ε), and the guarantee is refuted.
    width
        How many counts make a group; the last one may have fewer. Public.
    grouping_share
        Share of each budget for the order of the counts.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges.

    Privacy
    -------
    Unit: one user, present or absent. The order comes from noisy counts of one random record of each user (noise of
    scale 1/ε_g). Given the groups, one user changes their sums by at most ``cap`` in L1, whatever the partition, so
    noise of scale cap/ε_c on every sum spends ε_c; every count of a group is released as its sum over its size. Items
    and edges are grouped and released one after the other: in all ε (``docs/proofs/counting.md``, Theorem 6).

    Notes
    -----
    Within a group all counts are equal, so that a top list shorter than a group is drawn at random.

    References
    ----------
    G. Kellaris, S. Papadopoulos: Practical differential privacy via grouping and smoothing. PVLDB 2013.
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Section 6).

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=60, seed=3)
    >>> release = GS(epsilon=1, cap=20, width=10).release(films)
    >>> release.table("counts")["count"].n_unique() <= 6
    True
    """

    name: ClassVar[str] = "gs"
    proof: ClassVar[str] = "sums of groups made from noisy counts, docs/proofs/counting.md, Theorem 6"
    counterexample: ClassVar[str] = (
        "M = max|T_u| is read from the records, and averages of a last group of fewer than w counts get noise for w: "
        "five counts in groups of two cost 1.2 ε, tests/refutations/test_counting.py"
    )

    epsilon: Rational
    cap: Cap = 30
    width: int = 50
    grouping_share: Rational = "1/2"
    item_share: Rational = "1/2"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(self.width, "width")

    def _grouping(self, cells: Cells) -> dict[Level, Budget]:
        return self._budgets(cells, self._budget.part(self.grouping_share))

    @property
    def _counts_budget(self) -> Budget:
        return self._budget.rest(self.grouping_share)

    def _caps(self, cells: Cells) -> tuple[str, ...]:
        return ("one random record of each user was counted for the order", *super()._caps(cells))

    def _drawn_noise(self, cells: Cells) -> dict[str, float]:
        """Of the sum of a group as it is drawn; and of each count, which gets its share of that."""
        expected = super()._drawn_noise(cells)
        for level, grouping in self._grouping(cells).items():
            grouping.noise_on(_one_record_each(cells, level))
            shared = max(1, min(self.width, cells.size(level)))
            expected[f"{PREFIX[level]}noise_sd"] /= shared
            expected[f"{PREFIX[level]}noise_95"] /= shared
        return expected

    def _rounds(self, plan: Plan) -> Rounds:
        cells, noisy = plan.public, {}
        grouping = self._grouping(cells)
        for level, mechanism in self._mechanisms(cells).items():
            key = fresh_key()
            order = yield Round(
                lambda records, level=level, key=key: _one_record_each(
                    records.keep(best_records(records, 1, key=key)), level
                ),
                grouping[level].for_sums(),
            )
            group = groups(order, self.width)
            sizes = np.bincount(group)
            summed = yield Round(
                lambda records, level=level, group=group: group_sums(self._sums(records, level), group),
                mechanism if self._is_public else AveragedNoise(mechanism, sizes, self.width),
            )
            noisy[level] = (summed * float(self._sums(cells, level).step) / sizes)[group]
        return self._parts(plan, noisy)

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        counted = expected_within(cells, level, profile, None if self.cap == "data" else self.cap).counted
        shown = expected_within(cells, level, profile, 1).counted
        noise = self._grouping(cells)[level].noise_on(_one_record_each(cells, level))["noise_sd"]
        return expected_groups(counted, shown, noise, self.width, cells.n_places if level == "edges" else 1)


@dataclass(frozen=True)
class AveragedNoise:
    """As published: noise of scale M/(w·ε) on averages, or M·size/(w·ε) on sums, too little where size < w."""

    mechanism: AdditiveMechanism
    sizes: Integers
    width: int

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss

    def release(self, sums: BoundedSums) -> Integers:
        released = self.mechanism.release(sums)
        if self.sizes.size and self.sizes[-1] < self.width:
            released[-1:] = self.mechanism.release(ragged_group(sums, int(self.sizes[-1]), self.width))
        return released


def groups(order: Integers, width: int) -> Integers:
    """The group of each count: ``width`` at a time from the largest on; equal ones in the order of the catalog.

    Examples
    --------
    >>> groups(np.array([5, 9, 1, 7, 3]), 2)
    array([1, 0, 2, 0, 1])
    """
    group = np.empty(order.size, dtype=np.int64)
    group[np.argsort(-order, kind="stable")] = np.arange(order.size) // width
    return group


def group_sums(sums: BoundedSums, group: Integers) -> BoundedSums:
    """Sums over the groups of a partition: what one user changes in L1 can only become less."""
    values = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(values, group, sums.values)
    return replace(sums, values=values, l2_squared=sums.l1**2, linf=sums.l1)


def ragged_group(sums: BoundedSums, size: int, width: int) -> BoundedSums:
    """The sum of the last group with the bound that the published scale claims for it, size/width of the true one."""
    return replace(sums, values=sums.values[-1:], l1=sums.l1 * Fraction(size, width))


def _one_record_each(drawn: Cells, level: Level) -> BoundedSums:
    return drawn.counts(level, 1, caps=())
