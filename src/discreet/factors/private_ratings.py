"""Predicted ratings from noisy offsets of items and, where there are users enough, a few noisy factors.

What a person's own ratings say is worked out on that person's side, and costs nothing: how far up the scale they rate,
how closely they follow the general opinion, how they take to what is popular, and where they stand on each factor.

References
----------
F. McSherry, I. Mironov: Differentially private recommender systems. KDD 2009 (item offsets and covariance).
M. Kearns, M. Pai, A. Roth, J. Ullman: Mechanism design in large games. ITCS 2014 (joint differential privacy).
R. Salakhutdinov, A. Mnih: Probabilistic matrix factorization. NIPS 2007 (the model that is approximated).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from discreet.common.arrays import Codes, Floats, Integers
from discreet.common.remedies import DECLARE_SCALE, NO_REPEATS
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.factors.kernels import all_scores
from discreet.factors.rare_items import feature_names
from discreet.factors.rating_statistics import (
    OFFSET_CAPS,
    Offsets,
    item_factors,
    offset_sums,
    rating_head,
    ratings_each,
    record_sums,
    residuals_of,
    standing_of,
)
from discreet.factors.statistics import NoisyPopularity, popularity_sums, unit_bounds, unit_gram
from discreet.models.item_features import feature_columns
from discreet.models.released_model import NOT_COVERED, ReleasedModel
from discreet.privacy.bounding import BoundedSums, require_named_items
from discreet.privacy.budget import Budget
from discreet.privacy.gram import BoundedGram
from discreet.privacy.method import Enters, Plan, Round, Rounds
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PrivateRatings"]

CROSSOVER = 3000
"""From this number of users × μ on factors pay for themselves."""

LEAST_RATINGS = 6
"""People with fewer ratings than this have little for factors to be told from: of CiaoDVD, with about three ratings
each, factors are noise."""

WEIGHTS_SHARE, OFFSETS_SHARE = Fraction(15, 100), Fraction(40, 100)
"""Shares of μ² for how much each item is rated and, where factors follow, for its offset."""

FEATURES = 0.008
"""How people differ in what they think of a public feature, in squared halves of the scale; from MovieLens 100K."""

CENTER = 0.3
"""Where people's means lie on most scales, in halves of the scale above the middle: a start, not a claim."""


@dataclass
class PrivateRatings(ReleasedModel):
    """Ratings as level of the person + offset of the item + slopes + factors; only items' numbers are released.

    Parameters
    ----------
    epsilon, delta
        The budget of one fit.
    unit
        "user": the whole history of one person; "record": one rating, present or absent, a weaker guarantee at which
        offsets are nearly free and no factors are learned.
    features
        Public columns of the catalog (genres, year …). What a person thinks of each is worked out from that person's
        own ratings, and costs nothing.

    Attributes
    ----------
    model_ : str
        "offsets", or "factors" where users × μ is at least 3000 and people have given six ratings or more.
    offsets_ : float array
        How far above a person's own level each item is rated, in stars.
    features_ : float array
        What people's ratings are regressed on: 1, the offset, the popularity, the factors, and public features.

    Privacy
    -------
    Unit: one user, present or absent (or one record); joint: a person's own results use that person's own records.
    Released: weights of raters, offsets, and with factors one matrix of residuals, with rounded normal noise; μ² adds
    up. Proofs: ``docs/proofs/factors.md``. Not covered: the catalog, the rating scale, own results; at record
    level also who is in the data and how much anybody rated.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=600, items=80, seed=7)
    >>> model = dc.PrivateRatings(epsilon=4).fit(films)
    >>> model.predict(["film-3"], history={"film-1": 5, "film-8": 4}).columns
    ['item_id', 'score']
    """

    name: ClassVar[str] = "private-ratings"
    enters: ClassVar[Enters] = "once"

    epsilon: Rational
    delta: Rational = "1e-6"
    unit: Unit | str = "user"
    features: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.features = feature_names(self.features)
        self.unit = Unit.of(self.unit, ("user", "record"))
        self._budget.require_delta("ratings are released with normal noise")

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta, self.unit)

    @property
    def _by_user(self) -> bool:
        return Unit.of(self.unit).what == "user"

    # The release

    def _plan(self, public: Interactions) -> Plan:
        if public.rating is None or public.scale is None:
            raise UsageError("predicted ratings need ratings on a public scale.", remedy=DECLARE_SCALE)
        if not self._by_user and public.may_repeat:
            # Of several records of one item only one is kept: one more could push another out.
            raise UsageError(
                "where one record is the unit, a user has one record of an item at most.", remedy=NO_REPEATS
            )
        names = feature_columns(public, self.features)[1]
        records, budget = require_named_items(public, "predicted ratings"), self._budget
        if self._by_user:
            sums, first = popularity_sums(records), budget.part(WEIGHTS_SHARE)
            # The largest noise of the parts is that on residuals; the others are within its range.
            budget.part(1 - WEIGHTS_SHARE - OFFSETS_SHARE).deviation(unit_bounds())
            caps, further, theorem = (*sums.caps, *OFFSET_CAPS, *unit_bounds().caps), (), 3
        else:
            sums, first = record_sums(records), budget
            caps, theorem = sums.caps, 4
            further = ("who is in the data, and what several records of one person say together",)
        return Plan(
            loss=budget.loss,
            unit=Unit.of(self.unit),
            basis=f"noisy offsets and residuals, docs/proofs/factors.md, Theorem {theorem}",
            subject=f"a rating model of {public.n_items:,} items",
            caps=caps,
            not_covered=(*NOT_COVERED, *further),
            joint=True,
            details={"scale": str(public.scale), "mu_squared": str(budget.amount), "feature_names": list(names)},
            expected={"noise_weights" if self._by_user else "noise_records": first.deviation(sums)},
            public=public,
        )

    def _prepare(self, data: Interactions, plan: Plan) -> Interactions:
        return require_named_items(data, "predicted ratings")

    def _rounds(self, plan: Plan) -> Rounds:
        known: dict[str, Any] = {"items": pl.DataFrame({"item_id": plan.public.items.series})}
        if plan.details["feature_names"]:
            known["features"] = feature_columns(plan.public, self.features)[0]
        if not self._by_user:
            records = yield Round(record_sums, self._budget.for_sums(), noise=("noise_records",))
            return {"records": records * float(record_sums(plan.public).step), **known}
        budget, noise = self._budget, plan.expected["noise_weights"]
        first = budget.part(WEIGHTS_SHARE).for_sums()
        weights = yield Round(popularity_sums, first, settles="weights", noise=("noise_weights",))
        weights = weights.astype(np.float64) * float(popularity_sums(plan.public).step)
        raters, mu = NoisyPopularity.of(weights, noise), math.sqrt(budget.amount)
        factors = raters.users * mu >= CROSSOVER and ratings_each(raters) >= LEAST_RATINGS
        second = budget.part(OFFSETS_SHARE if factors else 1 - WEIGHTS_SHARE).for_sums()

        def by_offset(records: Interactions) -> BoundedSums:
            return offset_sums(records, raters.known**-0.5, CENTER)

        bounds = by_offset(plan.public)
        found = {"noise_offsets": second.standard_deviation(bounds)}
        parts: dict[str, Any] = {"weights": weights, **known}
        asked = Round(by_offset, second, settles="offsets", noise=("noise_offsets",))
        parts["offsets"] = (yield asked).astype(np.float64) * float(bounds.step)
        if factors:
            offsets = Offsets.of(raters, parts["offsets"], found["noise_offsets"], raters.known**-0.5)
            head = rating_head(raters, mu)
            third = budget.part(1 - WEIGHTS_SHARE - OFFSETS_SHARE).for_sums()

            def by_residual(records: Interactions) -> BoundedGram:
                return unit_gram(records, head, residuals_of(records, offsets) * raters.known[records.item] ** -0.5)

            asked = Round(by_residual, third, noise=("noise_residuals",))
            parts |= {"head": head, "residuals": (yield asked)[0]}
            found["noise_residuals"] = third.spectral_deviation(unit_bounds())
        return parts, found

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        from discreet.data.scales import RatingScale

        public = release.parameters
        scale = RatingScale.of(public["scale"])
        self.low_, self.high_ = float(scale.low), float(scale.high)
        if self._by_user:
            raters, weights = self._raters(release)
            latest = "offsets_now" if "offsets_now" in release.parts else "offsets"
            offsets = Offsets.of(raters, release.array(latest), public["noise_offsets"], weights)
        else:
            offsets = Offsets.of_records(release.array("records"), public["noise_records"])
        self._offsets, self.offsets_ = offsets, offsets.offset * (self.high_ - self.low_) / 2
        self.model_, self.features_, self._prior = "offsets", offsets.features, offsets.prior
        if "head" in release.parts:
            factors = item_factors(release, *self._raters(release))
            self.model_ = "factors"
            self._add_features(factors, 1.0)
        self._factors = self.features_[:, offsets.features.shape[1] :]
        if "features" in release.parts:
            self._add_features(release.array("features"), FEATURES)

    def _add_features(self, columns: Floats, variance: float) -> None:
        """Regress people's ratings on further columns, on which people stand with this variance."""
        self.features_ = np.hstack([self.features_, columns])
        self._prior = np.concatenate([self._prior, np.full(columns.shape[1], variance)])

    @staticmethod
    def _raters(release: Release) -> tuple[NoisyPopularity, Floats]:
        """How much each item is rated, and how items weigh among those of one person: settled early in a series."""
        public = release.parameters
        settled = NoisyPopularity.of(release.array("weights"), public.get("settled", public)["noise_weights"])
        if "weights_now" not in release.parts:
            return settled, settled.known**-0.5
        return NoisyPopularity.of(release.array("weights_now"), public["noise_weights"]), settled.known**-0.5

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        where = self._people(rows)
        relative = self._offsets.level + self._offsets.offset[item] + (self.features_[item] * where[row]).sum(axis=1)
        return self._in_stars(relative)

    def _score(self, rows: csr_array) -> Floats:
        explained = all_scores(self._people(rows), np.ascontiguousarray(self.features_.T))
        return self._in_stars(self._offsets.level + self._offsets.offset + explained)

    def _similar(self, items: Codes) -> Floats:
        """Cosines of factors; without factors nothing is known of what goes with what."""
        factors = self._factors
        norms = np.linalg.norm(factors, axis=1)
        unit = factors / np.where(norms > 0, norms, 1)[:, None]
        likeness = unit[items] @ unit.T
        return np.where((norms[items][:, None] > 0) & (norms > 0) & (likeness > 0), likeness, -np.inf)

    def _people(self, rows: csr_array) -> Floats:
        """Where each person stands on every feature, from that person's own ratings."""
        middle, half = (self.low_ + self.high_) / 2, (self.high_ - self.low_) / 2
        ratings = np.clip((rows.data.astype(np.float64) - middle) / half, -1, 1)
        items = rows.indices.astype(np.int64)
        return standing_of(rows.indptr.astype(np.int64), items, ratings, self._offsets, self.features_, self._prior)

    def _in_stars(self, relative: Floats) -> Floats:
        middle, half = (self.low_ + self.high_) / 2, (self.high_ - self.low_) / 2
        return np.clip(middle + half * relative, self.low_, self.high_)
