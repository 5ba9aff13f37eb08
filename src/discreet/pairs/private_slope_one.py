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

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.neighbors.item_statistics import public_ends
from discreet.neighbors.released_model import ReleasedModel, require_named_catalog
from discreet.pairs.budgets import Budget, share_of, unit_of
from discreet.pairs.difference_sums import difference_sums, empty_sums
from discreet.pairs.heads import HeadChoice, read_statistics
from discreet.pairs.noisy_slopes import NoisySlopes, offsets_of_pairs
from discreet.pairs.pair_sums import require_whole
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["PrivateSlopeOne"]

COUNTS_SHARE = Fraction(1, 5)
"""Of what is spent on pairs, the share for how often they are rated together."""

OWN = 2
"""A person's level is drawn towards the general one with so many ratings' worth."""

_THEOREMS = {"user": "Theorem 1", "rating": "Theorem 2", "value": "Theorem 3"}


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
        "user": all that one user did is protected. "rating": one rating is, present or absent. "value": the value of
        one rating is, and it is public who rated what; then counts are exact.
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
    Unit: one user, or one rating, present or absent, or the value of one rating; joint: a person's own results use that
    person's own records. Released: item statistics, Σ w·(r_j − r_k) and Σ w of all pairs j < k of the head, with
    rounded normal noise (μ² adds up to what keeps (ε, δ)) or discrete Laplace noise. For one user and w = 1/n the
    differences have L2 sensitivity Δr/2 and the counts less than 1/√2; the bounds in use are exact, in whole numbers,
    and proved in ``docs/proofs/pairs.md``. Not covered: the catalog, the rating scale, one's own screen; where one
    rating is the unit also who the users are, and several ratings of one user at once.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=400, items=60, seed=7)
    >>> model = PrivateSlopeOne(epsilon=8).fit(films)
    >>> model.predict(["film-9"], history={"film-3": 5, "film-8": 4})["score"].is_between(1, 5).all()
    True
    >>> print(PrivateSlopeOne(epsilon=1, delta=0, unit="rating").fit(films).guarantee.loss)
    ε = 1
    """

    name: ClassVar[str] = "private-slope-one"

    epsilon: Rational = 1
    delta: Rational = "1e-6"
    unit: Literal["user", "rating", "value"] = "user"
    weight: Literal["shared", "equal"] = "shared"
    cap: int | None = None
    head: int | Sequence[Hashable] | None = None
    first_share: Rational = "1/2"
    threshold: Rational = 1

    # Fitting

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        require_named_catalog(data, "differences of items")
        if data.rating is None or data.scale is None:
            raise UsageError("Slope One needs ratings on a public scale.", remedy='Declare it: scale="1:5".')
        unit, budget = self._check()
        choice = HeadChoice.of(self.head, data, budget, unit=unit, share=share_of(self.first_share, "first_share"))
        bounded = choice.bounded(data, self.cap)
        choice.prepare(bounded.records)
        rest = budget.part(1 - choice.share)
        exact_counts = unit.relation == "value"
        share = Fraction(0) if exact_counts else COUNTS_SHARE
        by_difference, by_count = rest.part(1 - share).for_sums(), rest.part(share).for_sums() if share else None
        kind = {"unit": unit, "norm": budget.norm, "most": self.cap, "equal": self.weight == "equal"}
        trial = empty_sums(data.scale, choice.most, **kind)
        by_difference.check(trial.differences)
        if by_count is not None:
            by_count.check(trial.counts)
        guarantee = self._promise(unit, budget, data.n_items, bounded.caps)
        with charged(ledger, data, guarantee, mechanism=self.name, parameters=self.config()) as charge:
            head, parts, noise = choice.draw()
            sums = difference_sums(bounded.records, head, **kind)
            counts = sums.counts.values if by_count is None else by_count.release(sums.counts)
            parts |= {
                "head": head,
                "differences": by_difference.release(sums.differences) * float(sums.differences.step),
                "counts": counts * float(sums.counts.step),
                "items": pl.DataFrame({"item_id": data.items.series}),
            }
            noise |= {
                "noise_differences": by_difference.standard_deviation(sums.differences),
                "noise_counts": 0.0 if by_count is None else by_count.standard_deviation(sums.counts),
            }
            release = Release(
                kind=self.name,
                guarantee=guarantee,
                mechanism=self.name,
                parameters={**self.config(), "scale": str(data.scale), **noise},
                parts=parts,
                dataset=data.name,
            )
            charge.settle(release.id)
        self._build(release)

    def _check(self) -> tuple[Unit, Budget]:
        unit = unit_of(self.unit, ("user", "rating", "value"))
        if self.cap is not None:
            require_whole(self.cap, "cap", least=2)
        if self.weight not in ("shared", "equal"):
            raise UsageError(f"weight = {self.weight!r} is not known.", remedy="Use 'shared' or 'equal'.")
        if self.weight == "equal" and self.cap is None:
            raise UsageError(
                "where everybody's pairs weigh the same, somebody with many items has no bound.",
                remedy="Give a cap, for users; or let pairs share a weight.",
            )
        if as_fraction(self.threshold, "threshold") < 0:
            raise UsageError(f"threshold = {self.threshold} must not be below 0.")
        return unit, Budget.of(self.epsilon, self.delta)

    def _promise(self, unit: Unit, budget: Budget, n_items: int, caps: tuple[str, ...]) -> Guarantee:
        more = {
            "user": (),
            "rating": ("who the users are", "several ratings of one user at once"),
            "value": ("who rated what", "several ratings of one user at once"),
        }[self.unit]
        return Guarantee(
            loss=budget.loss,
            unit=unit,
            standing=Standing.PROVED,
            basis=f"noisy differences and counts of pairs, docs/proofs/pairs.md, {_THEOREMS[self.unit]}",
            subject=f"a Slope One model of {n_items:,} items",
            caps=caps,
            not_covered=(
                "the public list of items and rating scale",
                "facts about people at large",
                "one's own screen",
                *more,
            ),
            joint=True,
        )

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        public = release.parameters
        scale = RatingScale.of(public["scale"])
        self.release_, self.guarantee_ = release, release.guarantee
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

    def config(self) -> dict[str, Any]:
        """The settings of this model; a public list of items is a list."""
        head = self.head if self.head is None or isinstance(self.head, int) else list(self.head)
        return {**super().config(), "head": head}
