"""Models of pairs of items, and which items they compare: a public list, or those that a first release finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.common.arguments import require_whole
from discreet.common.arrays import Codes, Floats, places_of
from discreet.common.remedies import NO_REPEATS
from discreet.data.interactions import Interactions
from discreet.errors import Remedy, UsageError
from discreet.models.item_statistics import ItemStatistics, item_statistics_sums, public_ends
from discreet.models.released_model import NOT_COVERED, SEVERAL_RECORDS, ReleasedModel
from discreet.privacy.bounding import BoundedInteractions, BoundedSums, cap_items, distinct_items
from discreet.privacy.budget import Budget, as_share
from discreet.privacy.method import Parts, Plan, Round
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["HeadChoice", "HeadModel", "read_statistics"]

LEAST_HEAD, MOST_HEAD = 60, 5000
"""Between these the rule for the size stays; dense matrices of more items are left to those who ask."""

SIZE = {"user": 8.5, "record": 10.0}
"""The head has so many times √(users × μ) items, or √(users × ε)."""


def _usual_size(first: ItemStatistics, budget: Budget) -> float:
    amount = float(budget.amount)
    strength = amount if budget.is_pure else math.sqrt(amount)
    return SIZE[Unit.of(budget.unit).what] * math.sqrt(first.users * strength)


@dataclass(frozen=True)
class HeadChoice:
    """How the head is found, settled before anything is charged.

    Parameters
    ----------
    budget
        Of the whole release, with its unit.
    share
        What the first release takes of the budget: 0 where there is none.
    n_items, ends
        Of the catalog and of the rating scale; no ends where there are no ratings.
    size
        How many items; None for the rule.
    codes
        The head itself, where it is public.
    rule
        The size where none was given, by the first release and the budget.
    """

    budget: Budget
    share: Fraction
    n_items: int
    ends: tuple[float, float] | None
    size: int | None = None
    codes: Codes | None = None
    rule: Callable[[ItemStatistics, Budget], float] = _usual_size

    @classmethod
    def of(
        cls,
        head: int | Sequence[Hashable] | None,
        data: Interactions,
        budget: Budget,
        share: Rational,
        rule: Callable[[ItemStatistics, Budget], float] = _usual_size,
    ) -> HeadChoice:
        """Read the setting of a model."""
        ends = public_ends(data.scale if data.rating is not None else None)
        if head is None or isinstance(head, int):
            return cls(budget, as_share(share, "first_share"), data.n_items, ends, size=head, rule=rule)
        codes = np.unique(data.items.encode(list(head))).astype(np.int32)
        if codes.size < 2:
            raise UsageError("a head of fewer than two items has no pairs.", remedy="Name more items.")
        return cls(budget, Fraction(0), data.n_items, ends, codes=codes)

    @property
    def unit(self) -> Unit:
        return Unit.of(self.budget.unit)

    @property
    def most(self) -> int:
        """The most items that the head can have."""
        return self.codes.size if self.codes is not None else min(self.n_items, self.size or MOST_HEAD)

    @property
    def rest(self) -> Budget:
        """What is left for the pairs."""
        return self.budget.part(1 - self.share)

    def bounded(self, data: Interactions, cap: int | None) -> BoundedInteractions:
        """One record for each user and item; where users are the unit, at most ``cap`` for each user."""
        if self.unit.what == "user":
            if cap is not None:
                return cap_items(data, cap)
            return BoundedInteractions(distinct_items(data), data.n_items, 1, ())
        if cap is not None:
            raise UsageError(
                f"cap must be left out where one record is the unit, got {cap!r}: a new record could replace another.",
                remedy=Remedy(
                    "Leave cap out, or protect whole users (unit='user').", cli="Leave cap out, or give --unit user."
                ),
            )
        if data.may_repeat:
            raise UsageError(
                "a user may have several records of one item here; a further one would replace another.",
                remedy=NO_REPEATS,
            )
        return BoundedInteractions(data, data.n_items, 1, ())

    def statistics(self, records: Interactions) -> BoundedSums:
        """What the first release is about."""
        return _for_unit(item_statistics_sums(records, unit=self.unit, norm=self.budget.norm), self.unit)

    def expected(self, public: Interactions) -> dict[str, float]:
        """The noise of the first release; refuses what noise cannot be drawn for."""
        if self.codes is not None:
            return {}
        mechanism, bounds = self.budget.part(self.share).for_sums(), self.statistics(public)
        mechanism.check(bounds)
        return {"noise_first": mechanism.standard_deviation(bounds)}

    def rounds(self, plan: Plan, public: Interactions) -> Generator[Round, Any, tuple[Codes, Parts]]:
        """The first release, if there is one; the head, and what was released to find it."""
        if self.codes is not None:
            return self.codes, {}
        mechanism = self.budget.part(self.share).for_sums()
        noisy = yield Round(self.statistics, mechanism, settles="first", noise=("noise_first",))
        noisy = noisy.astype(np.float64) * float(self.statistics(public).step)
        first = ItemStatistics.read(noisy, unit=self.unit, ends=self.ends, noise=plan.expected["noise_first"])
        size = self.size or min(max(LEAST_HEAD, round(self.rule(first, self.budget))), MOST_HEAD)
        return first.head(min(self.n_items, size)), {"first": noisy}


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


class HeadModel(ReleasedModel):
    """A model of how the items of a head go together, from two releases: of single items, then of pairs of the head.

    A subclass is a dataclass with the settings of this class and its own. It fills in ``_plan`` (with ``_planned``),
    ``_rounds``, ``_build`` (with ``_read_head``) and ``_score``.

    Attributes
    ----------
    head_ : int32 array
        Codes of the head.
    popularity_ : float array
        Noisy weight of the users of each item.
    """

    units: ClassVar[tuple[str, ...]] = ("user", "record")
    least: ClassVar[Mapping[str, int]] = {"cap": 1, "head": 2}
    """The least value of each setting that is a number or None."""

    epsilon: Rational
    delta: Rational
    unit: Unit | str
    cap: int | None
    head: Any
    first_share: Rational
    popularity_: Floats

    def __post_init__(self) -> None:
        self.unit = Unit.of(self.unit, self.units)
        self.head = self.head if self.head is None or isinstance(self.head, int) else tuple(self.head)
        as_share(self.first_share, "first_share")
        for name, least in self.least.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, tuple):
                require_whole(value, name, least=least)
        self._budget.loss  # noqa: B018 wrong budgets fail here

    @property
    def _cap(self) -> int | None:
        return self.cap

    @property
    def _kind(self) -> dict[str, Any]:
        """What the bounds of sums over pairs depend on."""
        return {"unit": Unit.of(self.unit), "norm": self._budget.norm, "most": self._cap}

    # The release

    def _bounded(self, data: Interactions, choice: HeadChoice) -> BoundedInteractions:
        return choice.bounded(data, self._cap)

    def _planned(
        self,
        public: Interactions,
        choice: HeadChoice,
        *,
        basis: str,
        subject: str,
        expected: Mapping[str, float],
        not_covered: tuple[str, ...] = SEVERAL_RECORDS,
        details: Mapping[str, Any] | None = None,
    ) -> Plan:
        """The plan of a release of this head.

        Parameters
        ----------
        expected
            The noise on the pairs.
        not_covered
            What is not covered besides where one record is the unit.
        """
        unit, bounded = Unit.of(self.unit), self._bounded(public, choice)
        return Plan(
            loss=self._budget.loss,
            unit=unit,
            basis=basis,
            subject=f"{subject} of {public.n_items:,} items",
            caps=bounded.caps,
            not_covered=(*NOT_COVERED, *(not_covered if unit.what == "record" else ())),
            joint=True,
            expected={**choice.expected(bounded.records), **expected},
            details=details or {},
            public=(choice, public),
        )

    def _prepare(self, data: Interactions, plan: Plan) -> Interactions:
        return self._bounded(data, plan.public[0]).records

    # Post-processing

    def _read_head(self, release: Release) -> None:
        self.head_ = release.array("head").astype(np.int32)
        self._place = places_of(self.head_, len(self.items_))

    def _by_popularity(self, rows: csr_array, spoken: Floats | None = None) -> Floats:
        """What is spoken for in the head by that; below it, items by popularity: −1/(1 + weight) rises with it."""
        popular = -1 / (1 + np.maximum(self.popularity_, 0)) + 1e-9 * np.minimum(self.popularity_, 0)
        scores = np.tile(popular, (rows.indptr.size - 1, 1))
        if spoken is not None:
            scores[:, self.head_] = np.where(spoken > 0, spoken, scores[:, self.head_])
        return scores

    def _alike(self, items: Codes, likeness: Floats) -> Floats:
        """Positive likeness of the items of the head to each of these."""
        scores = np.full((items.size, len(self.items_)), -np.inf)
        for row, place in enumerate(self._place[items]):
            if place >= 0:
                scores[row, self.head_] = np.where(likeness[place] > 0, likeness[place], -np.inf)
        return scores
