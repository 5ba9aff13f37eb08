"""Grouping and smoothing: GS after Kellaris and Papadopoulos, as run by Fan and Jin and corrected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import Counted, CountMethod, Plan
from discreet.counting.levels import (
    PREFIX,
    as_share,
    expected_noise,
    level_mechanisms,
    side_by_side,
    weighed,
    without_records,
)
from discreet.counting.outlooks import grouped_outlook, weighed_outlook
from discreet.counting.profiles import Outlook, Profile
from discreet.counting.published import Cap, check_cap_or_data, most_records
from discreet.counting.sampling import random_records
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, as_positive

__all__ = ["GS"]

REFUTED_BASIS = (
    "M = max|T_u| is read from the records, and averages of a last group of fewer than w counts get noise for w: five "
    "counts in groups of two cost 1.2 ε, tests/refutations/test_counting.py"
)


@dataclass(frozen=True)
class GS(CountMethod):
    """Counts that look alike share one noisy number: groups of ``width`` in the order of a first, coarse release.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        A public number: users with more records are weighed down to it in all. ``"data"``: the largest number M of
        records that a user has, as in the paper; averages then get noise of scale M/(w·ε), and the promise is refuted.
    width
        How many counts make a group; the last one may have fewer. Public.
    grouping_share
        Share of each budget for the order of the counts.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. The order comes from noisy counts of one random record of each user
    (noise of scale 1/ε_g). Given the groups, one user changes their sums by at most ``cap`` in L1, whatever the
    partition, so noise of scale cap/ε_c on every sum spends ε_c; every count of a group is released as its sum over its
    size. Items and edges are grouped and released one after the other: in all ε (``docs/proofs/counting.md``,
    Theorem 6).

    Within a group all counts are equal, so that a top list shorter than a group is drawn by lot.

    References
    ----------
    G. Kellaris, S. Papadopoulos: Practical differential privacy via grouping and smoothing. PVLDB 2013.
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Section 6).

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=60, seed=3)
    >>> release = GS.of(epsilon=1, cap=20, width=10).release(films)
    >>> release.table("counts")["count"].n_unique() <= 6
    True
    """

    name: ClassVar[str] = "gs"

    epsilon: Fraction
    cap: Cap
    width: int
    grouping_share: Fraction = Fraction(1, 2)
    item_share: Fraction = Fraction(1, 2)

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        cap: Cap,
        width: int = 50,
        grouping_share: Rational = "1/2",
        item_share: Rational = "1/2",
    ) -> GS:
        return cls(
            as_positive(epsilon, "epsilon"),
            cap,
            width,
            as_share(grouping_share, "grouping_share"),
            as_share(item_share, "item_share"),
        )

    def _grouping(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        return level_mechanisms(cells, Pure(self.epsilon * self.grouping_share), self.item_share)

    def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        return level_mechanisms(cells, Pure(self.epsilon * (1 - self.grouping_share)), self.item_share)

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        if self.cap != "data":
            return weighed(cells, level, self.cap)
        return cells.counts(level, most_records(cells), caps=("all records of each user were counted",))

    def _plan(self, cells: Cells) -> Plan:
        check_cap_or_data(self.cap)
        if isinstance(self.width, bool) or not isinstance(self.width, int) or self.width < 1:
            raise UsageError(f"width = {self.width!r} must be a whole number of counts, at least 1.")
        public = self.cap != "data"
        # What is looked up in the records must be looked up before it can be asked whether the noise can be drawn.
        known = without_records(cells) if public else cells
        expected_noise(self._grouping(cells), lambda level: _one_record_each(without_records(cells), level))
        mechanisms = self._mechanisms(cells)
        # Of the sum of a group as it is drawn; and of each count, which gets its share of that.
        expected = expected_noise(mechanisms, lambda level: self._sums(known, level))
        for level in mechanisms:
            shared = max(1, min(self.width, cells.size(level)))
            expected[f"{PREFIX[level]}noise_sd"] /= shared
            expected[f"{PREFIX[level]}noise_95"] /= shared
        return Plan(
            loss=Pure(self.epsilon),
            basis="sums of groups made from noisy counts, docs/proofs/counting.md, Theorem 6"
            if public
            else REFUTED_BASIS,
            caps=(
                "one random record of each user was counted for the order",
                *self._sums(without_records(cells), "items").caps,
            ),
            expected=expected if public or cells.user.size else {},
            standing=Standing.PROVED if public else Standing.REFUTED,
        )

    def _count(self, cells: Cells) -> Counted:
        grouping, noisy = self._grouping(cells), {}
        for level, mechanism in self._mechanisms(cells).items():
            drawn = cells.keep(random_records(cells, 1))
            group = groups(grouping[level].release(_one_record_each(drawn, level)), self.width)
            sizes = np.bincount(group)
            sums = group_sums(self._sums(cells, level), group)
            released = mechanism.release(sums) if self.cap != "data" else self._averaged(mechanism, sums, sizes)
            noisy[level] = (released * float(sums.step) / sizes)[group]
        return side_by_side(cells, noisy)

    def _outlook(self, cells: Cells, level: Level, profile: Profile) -> Outlook:
        counted = weighed_outlook(cells, level, profile, None if self.cap == "data" else self.cap).counted
        shown = weighed_outlook(cells, level, profile, 1).counted
        noise = self._grouping(cells)[level].standard_deviation(_one_record_each(without_records(cells), level))
        return grouped_outlook(counted, shown, noise, self.width, cells.n_places if level == "edges" else 1)

    def _averaged(self, mechanism: AdditiveMechanism, sums: BoundedSums, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """As published: noise of scale M/(w·ε) on averages, or M·size/(w·ε) on sums, too little where size < w."""
        released = mechanism.release(sums)
        if sizes.size and sizes[-1] < self.width:
            released[-1:] = mechanism.release(ragged_group(sums, int(sizes[-1]), self.width))
        return released


def groups(order: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """The group of each count: ``width`` at a time from the largest on; equal ones in the order of the catalog.

    Examples
    --------
    >>> groups(np.array([5, 9, 1, 7, 3]), 2)
    array([1, 0, 2, 0, 1])
    """
    group = np.empty(order.size, dtype=np.int64)
    group[np.argsort(-order, kind="stable")] = np.arange(order.size) // width
    return group


def group_sums(sums: BoundedSums, group: NDArray[np.int64]) -> BoundedSums:
    """Sums over the groups of a partition: what one user changes in L1 can only become less."""
    values = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(values, group, sums.values)
    return replace(sums, values=values, l2_squared=sums.l1**2, linf=sums.l1)


def ragged_group(sums: BoundedSums, size: int, width: int) -> BoundedSums:
    """The sum of the last group with the bound that the published scale claims for it, size/width of the true one."""
    return replace(sums, values=sums.values[-1:], l1=sums.l1 * Fraction(size, width))


def _one_record_each(drawn: Cells, level: Level) -> BoundedSums:
    return drawn.counts(level, 1, caps=())
