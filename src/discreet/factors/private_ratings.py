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
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.factors.item_offsets import Offsets, Raters, item_factors, residuals_of, standing_of
from discreet.factors.kernels import dot_products
from discreet.factors.rating_statistics import OFFSET_CAPS, offset_sums, record_sums
from discreet.factors.settings import require_named_items
from discreet.factors.statistics import gram_bounds, popularity_sums, unit_gram
from discreet.neighbors.released_model import ReleasedModel
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import GaussianLoss, mu_for
from discreet.privacy.normal import NormalGramMechanism, NormalMechanism
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["PrivateRatings"]

CROSSOVER = 3000
"""From this number of users × μ on factors pay for themselves."""

LEAST_RATINGS = 6
"""People with fewer ratings than this have little for factors to be told from: of CiaoDVD, with about three ratings
each, factors are noise."""

WEIGHTS_SHARE, OFFSETS_SHARE = Fraction(15, 100), Fraction(40, 100)
"""Shares of μ² for how much each item is rated and, where factors follow, for its offset."""


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
        "user": the whole history of one person; "rating": one rating, present or absent, a weaker promise at which
        offsets are nearly free and no factors are learned.

    Attributes
    ----------
    release_ : Release
        What was released; the model is a function of it.
    model_ : str
        "offsets", or "factors" where users × μ is at least 3000 and people have given six ratings or more.
    offsets_ : float array
        How far above a person's own level each item is rated, in stars.
    features_ : float array
        What people's ratings are regressed on: 1, the offset, the popularity, and the factors.

    Privacy
    -------
    Unit: one user, present or absent (or one record); joint: a person's own results use that person's own records.
    Released: weights of raters, offsets, and with factors one matrix of residuals, with rounded normal noise; μ² adds
    up. Proofs: ``docs/proofs/factors.md``. Not covered: the catalog, the rating scale, one's own screen; at record
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

    epsilon: Rational = 1
    delta: Rational = "1e-6"
    unit: str = "user"

    # Fitting

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        if self.unit not in ("user", "rating"):
            raise UsageError(f"unit = {self.unit!r}?", remedy="Choose 'user' or 'rating'.")
        mu_squared = mu_for(self.epsilon, self.delta) ** 2
        if data.rating is None or data.scale is None:
            raise UsageError(
                "predicted ratings need ratings on a public scale.", remedy='Declare it: Interactions(…, scale="1:5").'
            )
        if self.unit == "rating" and data.may_repeat:
            # Of several records of one item only one is kept: one more could push another out.
            raise UsageError(
                "where one rating is the unit, a user has one record of an item at most.",
                remedy="Read the data with duplicates='error' or 'last'.",
            )
        records = require_named_items(data, "predicted ratings")
        release_of = self._by_user if self.unit == "user" else self._by_record
        sums = popularity_sums(records) if self.unit == "user" else record_sums(records)
        # The largest noise of the parts is that on residuals; the others are within its range.
        NormalMechanism(mu_squared * WEIGHTS_SHARE).check(sums)
        NormalGramMechanism(mu_squared * (1 - WEIGHTS_SHARE - OFFSETS_SHARE)).check(gram_bounds())
        caps = (*sums.caps, *OFFSET_CAPS, *gram_bounds().caps) if self.unit == "user" else sums.caps
        guarantee = self._promise(mu_squared, data.n_items, caps)
        with charged(ledger, data, guarantee, mechanism=self.name, parameters=self.config()) as charge:
            parts, noise = release_of(records, mu_squared)
            release = Release(
                kind=self.name,
                guarantee=guarantee,
                mechanism=self.name,
                parameters={**self.config(), "scale": str(data.scale), "mu_squared": str(mu_squared), **noise},
                parts={**parts, "items": pl.DataFrame({"item_id": data.items.series})},
                dataset=data.name,
            )
            charge.settle(release.id)
        self._build(release)

    def _by_user(self, data: Interactions, mu_squared: Fraction) -> tuple[dict[str, Any], dict[str, float]]:
        first, sums = NormalMechanism(mu_squared * WEIGHTS_SHARE), popularity_sums(data)
        parts: dict[str, Any] = {"weights": first.release(sums).astype(np.float64) * float(sums.step)}
        noise = {"noise_weights": first.standard_deviation(sums)}
        raters = Raters.of(parts["weights"], noise["noise_weights"])
        factors = raters.users * math.sqrt(mu_squared) >= CROSSOVER and raters.ratings_each >= LEAST_RATINGS
        share = OFFSETS_SHARE if factors else 1 - WEIGHTS_SHARE
        second, sums = NormalMechanism(mu_squared * share), offset_sums(data, raters.known**-0.5, CENTER)
        parts["offsets"] = second.release(sums).astype(np.float64) * float(sums.step)
        noise["noise_offsets"] = second.standard_deviation(sums)
        if factors:
            offsets = Offsets.of(raters, parts["offsets"], noise["noise_offsets"])
            head = raters.head(math.sqrt(mu_squared))
            gram = unit_gram(data, head, residuals_of(data, offsets) * raters.known[data.item] ** -0.5)
            third = NormalGramMechanism(mu_squared * (1 - WEIGHTS_SHARE - OFFSETS_SHARE))
            parts |= {"head": head, "residuals": third.release(gram)[0]}
            noise["noise_residuals"] = third.standard_deviation(gram)
        return parts, noise

    def _by_record(self, data: Interactions, mu_squared: Fraction) -> tuple[dict[str, Any], dict[str, float]]:
        mechanism, sums = NormalMechanism(mu_squared), record_sums(data)
        noisy = mechanism.release(sums).astype(np.float64) * float(sums.step)
        return {"records": noisy}, {"noise_records": mechanism.standard_deviation(sums)}

    def _promise(self, mu_squared: Fraction, n_items: int, caps: tuple[str, ...]) -> Guarantee:
        outside = ["the public list of items and rating scale", "facts about people at large", "one's own screen"]
        if self.unit == "rating":
            outside.append("who is in the data, and what several records of one person say together")
        return Guarantee(
            loss=GaussianLoss(mu_squared),
            unit=Unit("user" if self.unit == "user" else "record"),
            standing=Standing.PROVED,
            basis=f"noisy offsets and residuals, docs/proofs/factors.md, Theorem {3 if self.unit == 'user' else 4}",
            subject=f"a rating model of {n_items:,} items",
            caps=caps,
            not_covered=tuple(outside),
            joint=True,
        )

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        from discreet.data.scales import RatingScale

        public = release.parameters
        self.release_, self.guarantee_ = release, release.guarantee
        self.items_ = IdMap(release.table("items")["item_id"], what="item")
        scale = RatingScale.of(public["scale"])
        self.low_, self.high_ = float(scale.low), float(scale.high)
        if self.unit == "user":
            raters = Raters.of(release.array("weights"), public["noise_weights"])
            offsets = Offsets.of(raters, release.array("offsets"), public["noise_offsets"])
        else:
            offsets = Offsets.of_records(release.array("records"), public["noise_records"])
        self._offsets, self.offsets_ = offsets, offsets.offset * (self.high_ - self.low_) / 2
        self.model_, self.features_, self._prior = "offsets", offsets.features, offsets.prior
        if "head" in release.parts:
            factors = item_factors(release, Raters.of(release.array("weights"), public["noise_weights"]))
            self.model_ = "factors"
            self.features_ = np.hstack([offsets.features, factors])
            self._prior = np.concatenate([offsets.prior, np.ones(factors.shape[1])])

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        where = self._people(rows)
        relative = self._offsets.level + self._offsets.offset[item] + (self.features_[item] * where[row]).sum(axis=1)
        return self._in_stars(relative)

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        explained = dot_products(self._people(rows), np.ascontiguousarray(self.features_))
        return self._in_stars(self._offsets.level + self._offsets.offset + explained)

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Cosines of factors; without factors nothing is known of what goes with what."""
        factors = self.features_[:, self._offsets.features.shape[1] :]
        norms = np.linalg.norm(factors, axis=1)
        unit = factors / np.where(norms > 0, norms, 1)[:, None]
        likeness = unit[items] @ unit.T
        return np.where((norms[items][:, None] > 0) & (norms > 0) & (likeness > 0), likeness, -np.inf)

    def _people(self, rows: csr_array) -> NDArray[np.float64]:
        """Where each person stands on every feature, from that person's own ratings."""
        middle, half = (self.low_ + self.high_) / 2, (self.high_ - self.low_) / 2
        ratings = np.clip((rows.data.astype(np.float64) - middle) / half, -1, 1)
        items = rows.indices.astype(np.int64)
        return standing_of(rows.indptr.astype(np.int64), items, ratings, self._offsets, self.features_, self._prior)

    def _in_stars(self, relative: NDArray[np.float64]) -> NDArray[np.float64]:
        middle, half = (self.low_ + self.high_) / 2, (self.high_ - self.low_) / 2
        return np.clip(middle + half * relative, self.low_, self.high_)
