"""Slope One from noisy differences: proved, and free for everybody afterwards.

References
----------
D. Lemire, A. Maclachlan: Slope One predictors for online rating-based collaborative filtering. SDM 2005.
F. McSherry, I. Mironov: Differentially private recommender systems. KDD 2009 (noisy sums over pairs of items).
J. Dong, A. Roth, W. Su: Gaussian differential privacy. J. R. Stat. Soc. B, 2022.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_choice, require_whole
from discreet.common.remedies import DECLARE_SCALE
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.models.heads import HeadChoice, read_statistics
from discreet.models.item_statistics import public_ends
from discreet.models.released_model import NOT_COVERED, SEVERAL_RECORDS, ReleasedModel, require_named_catalog
from discreet.pairs.difference_sums import WeighedPairs, difference_sums, empty_sums
from discreet.pairs.noisy_slopes import NoisySlopes, offsets_of_pairs
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget, as_share
from discreet.privacy.mechanisms import AdditiveMechanism, Exact
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PrivateSlopeOne"]

COUNTS_SHARE = Fraction(1, 5)
"""Of what is spent on pairs, the share for how often they are rated together."""

OWN = 2
"""A person's level is drawn towards the general one with so many ratings' worth."""

_THEOREMS = {
    ("user", "add-remove"): "Theorem 1",
    ("record", "add-remove"): "Theorem 2",
    ("record", "value"): "Theorem 3",
}
_MORE_NOT_COVERED = {
    ("user", "add-remove"): (),
    ("record", "add-remove"): SEVERAL_RECORDS,
    ("record", "value"): ("who rated what", "several records of one user at once"),
}


@dataclass
class PrivateSlopeOne(ReleasedModel):
    """Slope One whose differences and numbers of common raters are noisy sums over all users.

    First, for every item of the catalog, how much and how well it was rated; then, for the items with the most weight
    (the head), Σ w·(r_j − r_k) and Σ w over those who rated both. Thresholds, quotients, clipping and predictions are
    post-processing, so new people and any number of questions cost nothing. Where noise hides the difference of a
    pair, the difference of the two items' offsets stands in for it.

    Parameters
    ----------
    epsilon, delta
        The budget of one fit. A delta of 0 asks for pure ε: Laplace noise, much more of it for whole users.
    unit
        "user": all that one user did is protected. "record": one rating is, present or absent. "record/value": the
        value of one rating is, and it is public who rated what; then counts are exact.
    weight
        "shared": a user's pairs share one contribution, at the weight 1/n for n items (2/(n(n − 1)) for pure ε; 1/√n
        and 1/n where one rating is the unit). "equal": everybody's pairs weigh the same, for whole users under a cap.
    cap
        The most items of one user that are looked at, chosen at random. None for no cap; "equal" needs one.
    head
        Which items are compared: a number of the most rated, a list of ids that is public, or None for a rule that goes
        by the noisy number of users and the noise. With a list of ids there is no first release.
    first_share
        Share of the budget for the first release.
    threshold
        Pairs whose noisy count is at most so many standard deviations of its noise are left to the offsets.

    Attributes
    ----------
    release_ : Release
        What was released; the model is a function of it.
    head_ : int32 array
        Codes of the head.
    offsets_ : float array
        How far above the general level each item is rated, in stars; without a first release it is worked out from the
        pairs, and 0 outside of the head.
    slopes_ : float array, head × head
        How much better the item of the row is liked than that of the column, in stars.

    Privacy
    -------
    Unit: one user, or one rating, present or absent, or the value of one rating; joint: own results use that
    person's own records. Released: item statistics, Σ w·(r_j − r_k) and Σ w of all pairs j < k of the head, with
    rounded normal noise (μ² adds up to what keeps (ε, δ)) or discrete Laplace noise. For one user and w = 1/n the
    differences have L2 sensitivity Δr/2 and the counts less than 1/√2; the bounds in use are exact, in whole numbers,
    and proved in ``docs/proofs/pairs.md``. Not covered: the catalog, the rating scale, own results; where one
    rating is the unit also who the users are, and several ratings of one user at once.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=400, items=60, seed=7)
    >>> model = PrivateSlopeOne(epsilon=8).fit(films)
    >>> model.predict(["film-9"], history={"film-3": 5, "film-8": 4})["score"].is_between(1, 5).all()
    True
    >>> print(PrivateSlopeOne(epsilon=1, delta=0, unit="record").fit(films).guarantee.loss)
    ε = 1
    """

    name: ClassVar[str] = "private-slope-one"

    epsilon: Rational
    delta: Rational = "1e-6"
    unit: Unit | str = "user"
    weight: Literal["shared", "equal"] = "shared"
    cap: int | None = None
    head: int | Sequence[Hashable] | None = None
    first_share: Rational = "1/2"
    threshold: Rational = 1

    def __post_init__(self) -> None:
        self.unit = Unit.of(self.unit, ("user", "record", "record/value"))
        self.head = self.head if self.head is None or isinstance(self.head, int) else tuple(self.head)
        as_share(self.first_share, "first_share")
        require_choice(self.weight, "weight", ("shared", "equal"))
        if self.cap is not None:
            require_whole(self.cap, "cap", least=2)
        if isinstance(self.head, int):
            require_whole(self.head, "head", least=2)
        if self.weight == "equal" and self.cap is None:
            raise UsageError(
                "cap must be given where everybody's pairs weigh the same: many items have no bound.",
                remedy="Give a cap, for users; or let pairs share a weight.",
            )
        if as_fraction(self.threshold, "threshold") < 0:
            raise UsageError(f"threshold must be at least 0, got {self.threshold}.")
        self._budget.loss  # noqa: B018 wrong budgets fail here

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta, self.unit)

    # The release

    def _plan(self, public: Interactions) -> Plan:
        require_named_catalog(public, "differences of items")
        if public.rating is None or public.scale is None:
            raise UsageError("Slope One needs ratings on a public scale.", remedy=DECLARE_SCALE)
        unit, choice = Unit.of(self.unit), HeadChoice.of(self.head, public, self._budget, self.first_share)
        bounded = choice.bounded(public, self.cap)
        bounds = empty_sums(public.scale, choice.most, **self._kind)
        by_difference, by_count = self._mechanisms(choice)
        by_difference.check(bounds.differences)
        if by_count is not None:
            by_count.check(bounds.counts)
        return Plan(
            loss=self._budget.loss,
            unit=unit,
            basis=f"noisy differences and counts of pairs, docs/proofs/pairs.md, {_THEOREMS[unit.what, unit.relation]}",
            subject=f"a Slope One model of {public.n_items:,} items",
            caps=bounded.caps,
            not_covered=(*NOT_COVERED, *_MORE_NOT_COVERED[unit.what, unit.relation]),
            joint=True,
            details={"scale": str(public.scale)},
            expected={**choice.expected(bounded.records), **self._noise(choice, bounds)},
            public=(choice, public),
        )

    @property
    def _kind(self) -> dict[str, Any]:
        """What the bounds of the sums depend on."""
        unit, norm = Unit.of(self.unit), self._budget.norm
        return {"unit": unit, "norm": norm, "most": self.cap, "equal": self.weight == "equal"}

    def _mechanisms(self, choice: HeadChoice) -> tuple[AdditiveMechanism, AdditiveMechanism | None]:
        """For the differences and for the counts, which are exact where it is public who rated what."""
        if Unit.of(self.unit).relation == "value":
            return choice.rest.for_sums(), None
        return choice.rest.part(1 - COUNTS_SHARE).for_sums(), choice.rest.part(COUNTS_SHARE).for_sums()

    def _noise(self, choice: HeadChoice, bounds: WeighedPairs) -> dict[str, float]:
        """The noise on differences and counts of a head of this size."""
        by_difference, by_count = self._mechanisms(choice)
        return {
            "noise_differences": by_difference.standard_deviation(bounds.differences),
            "noise_counts": 0.0 if by_count is None else by_count.standard_deviation(bounds.counts),
        }

    def _prepare(self, data: Interactions, plan: Plan) -> Interactions:
        choice, _ = plan.public
        return choice.bounded(data, self.cap).records

    def _rounds(self, plan: Plan) -> Rounds:
        choice, public = plan.public
        head, parts = yield from choice.rounds(plan, public)
        bounds = empty_sums(public.scale, head.size, **self._kind)
        by_difference, by_count = self._mechanisms(choice)

        def sums(records: Interactions) -> tuple[BoundedSums, BoundedSums]:
            found = difference_sums(records, head, **self._kind)
            return found.differences, found.counts

        differences, counts = yield Round(sums, (by_difference, by_count or Exact("who rated what is public")))
        released = {
            **parts,
            "head": head,
            "differences": differences * float(bounds.differences.step),
            "counts": counts * float(bounds.counts.step),
            "items": pl.DataFrame({"item_id": public.items.series}),
        }
        return released, self._noise(choice, bounds)

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        public = release.parameters
        scale = RatingScale.of(public["scale"])
        self.items_ = IdMap(release.table("items")["item_id"], what="item")
        self.low_, self.high_ = float(scale.low), float(scale.high)
        self.head_ = release.array("head").astype(np.int32)
        first = read_statistics(release, len(self.items_), public_ends(scale))
        self.offsets_, self.level_ = first.offsets, first.level
        if "first" not in release.parts:
            self.offsets_[self.head_] = offsets_of_pairs(
                release.array("differences"),
                release.array("counts"),
                noise_differences=public["noise_differences"],
                width=float(scale.width),
            )
        self._slopes = NoisySlopes.read(
            release.array("differences"),
            release.array("counts"),
            self.offsets_[self.head_],
            noise_differences=public["noise_differences"],
            noise_counts=public["noise_counts"],
            width=float(scale.width),
            threshold=float(as_fraction(self.threshold)),
        )
        self.slopes_ = self._slopes.slopes

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        """Predictions before they are clipped, so that the best stay in order."""
        predicted = self._levels(rows)[:, None] + self.offsets_
        spoken, weights = self._slopes.predicted(rows[:, self.head_].astype(np.float64))
        plain = predicted[:, self.head_]
        predicted[:, self.head_] = np.where(weights > 0, spoken / np.where(weights > 0, weights, 1.0), plain)
        return predicted

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        predicted = np.empty(item.size)
        asked, place = np.unique(row, return_inverse=True)
        step = max(1, 2**22 // max(1, len(self.items_)))
        for begin in range(0, asked.size, step):
            scores = self._score(rows[asked[begin : begin + step]])
            part = np.flatnonzero((place >= begin) & (place < begin + step))
            predicted[part] = scores[place[part] - begin, item[part]]
        return np.clip(predicted, self.low_, self.high_)

    def _levels(self, rows: csr_array) -> NDArray[np.float64]:
        """How far up the scale each person rates, apart from what the items are like."""
        counts = np.diff(rows.indptr)
        owner = np.repeat(np.arange(counts.size), counts)
        own = rows.data.astype(np.float64) - self.offsets_[rows.indices]
        return (np.bincount(owner, weights=own, minlength=counts.size) + OWN * self.level_) / (counts + OWN)

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Differences say which of two items is liked better, not what goes with what."""
        return np.full((items.size, len(self.items_)), -np.inf)
