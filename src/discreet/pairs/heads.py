"""Which items are compared: a public list, or those that a first, charged release says are touched most."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.neighbors.item_statistics import ItemStatistics, item_statistics_sums, public_ends
from discreet.pairs.budgets import Budget
from discreet.pairs.pair_sums import require_whole
from discreet.privacy.bounding import BoundedInteractions, BoundedSums, cap_items, distinct_items
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

__all__ = ["HeadChoice", "read_statistics"]

LEAST_HEAD, MOST_HEAD = 60, 5000
"""Between these the rule for the size stays; dense matrices of more items are left to those who ask."""

SIZE = {"user": 8.5, "record": 10.0}
"""The head has so many times √(users × μ) items, or √(users × ε)."""


@dataclass
class HeadChoice:
    """How the head is found, settled before anything is charged; ``draw`` makes the first release if there is one.

    Parameters
    ----------
    budget
        Of the whole fit.
    unit
        What one step changes.
    share
        What the first release takes of the budget: 0 where there is none.
    n_items, ends
        Of the catalog and of the rating scale; no ends where there are no ratings.
    size
        How many items; None for the rule.
    codes
        The head itself, where it is public.

    Attributes
    ----------
    sums : BoundedSums or None
        What the first release is about: secret.
    """

    budget: Budget
    unit: Unit
    share: Fraction
    n_items: int
    ends: tuple[float, float] | None
    size: int | None = None
    codes: NDArray[np.int32] | None = None
    sums: BoundedSums | None = field(default=None, init=False)

    @classmethod
    def of(
        cls,
        head: int | Sequence[Hashable] | None,
        data: Interactions,
        budget: Budget,
        *,
        unit: Unit,
        share: Fraction,
    ) -> HeadChoice:
        """Read the setting of a model."""
        ends = public_ends(data.scale if data.rating is not None else None)
        if isinstance(head, int):
            require_whole(head, "head", least=2)
        elif head is not None:
            codes = np.unique(data.items.encode(list(head))).astype(np.int32)
            if codes.size < 2:
                raise UsageError("a head of fewer than two items has no pairs.", remedy="Name more items.")
            return cls(budget, unit, Fraction(0), data.n_items, ends, codes=codes)
        return cls(budget, unit, share, data.n_items, ends, size=head)

    @property
    def most(self) -> int:
        """The most items that the head can have."""
        return self.codes.size if self.codes is not None else min(self.n_items, self.size or MOST_HEAD)

    def bounded(self, data: Interactions, cap: int | None) -> BoundedInteractions:
        """One record of each user and item, and for users no more than the cap."""
        if self.unit.what == "user":
            if cap is not None:
                return cap_items(data, cap)
            return BoundedInteractions(distinct_items(data), data.n_items, 1, ())
        if cap is not None:
            raise UsageError(
                f"cap = {cap!r}: where one rating is the unit nothing is cut; a new one could push an old one out.",
                remedy="Leave cap out, or protect whole users (unit='user').",
            )
        if data.may_repeat:
            raise UsageError(
                "a user may have several records of one item here; a further one would replace another.",
                remedy="Where one rating is the unit, read the data with duplicates='error' or 'last'.",
            )
        return BoundedInteractions(data, data.n_items, 1, ())

    def prepare(self, records: Interactions) -> None:
        """Sum up what the first release is about, and refuse what noise cannot be drawn for."""
        if self.codes is None:
            self.sums = _for_unit(item_statistics_sums(records, unit=self.unit, norm=self.budget.norm), self.unit)
            self.budget.part(self.share).for_sums().check(self.sums)

    def draw(self) -> tuple[NDArray[np.int32], dict[str, Any], dict[str, float]]:
        """The head, and what was released to find it with its noise. Charge the ledger first."""
        if self.codes is not None:
            return self.codes, {}, {}
        assert self.sums is not None
        mechanism = self.budget.part(self.share).for_sums()
        noisy = mechanism.release(self.sums).astype(np.float64) * float(self.sums.step)
        noise = mechanism.standard_deviation(self.sums)
        first = ItemStatistics.read(noisy, unit=self.unit, ends=self.ends, noise=noise)
        size = self.size if self.size is not None else self._rule(first.users)
        return first.head(min(self.n_items, size)), {"first": noisy}, {"noise_first": noise}

    def _rule(self, users: float) -> int:
        strength = math.sqrt(self.budget.amount) if self.budget.norm == 2 else float(self.budget.amount)
        return min(max(LEAST_HEAD, round(SIZE[self.unit.what] * math.sqrt(users * strength))), MOST_HEAD)


def _for_unit(sums: BoundedSums, unit: Unit) -> BoundedSums:
    """The sums of records, bounded for the value of one: the ratings of one item are all that it moves."""
    if unit.relation != "value":
        return sums
    return replace(sums, unit=unit, l1=sums.linf, l2_squared=sums.linf**2)


def read_statistics(release: Release, n_items: int, ends: tuple[float, float] | None) -> ItemStatistics:
    """What the first release tells about single items; nothing where there was none."""
    if "first" not in release.parts:
        level = 0.0 if ends is None else sum(ends) / 2
        return ItemStatistics(np.zeros(n_items), np.zeros(n_items), 1.0, level, *(ends or (None, None)))
    return ItemStatistics.read(
        release.array("first"),
        unit=release.guarantee.unit,
        ends=ends,
        noise=release.parameters["noise_first"],
    )
