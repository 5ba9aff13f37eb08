"""Slope One from noisy differences: proved, and free for everybody afterwards.

References
----------
D. Lemire, A. Maclachlan: Slope One predictors for online rating-based collaborative filtering. SDM 2005.
F. McSherry, I. Mironov: Differentially private recommender systems. KDD 2009 (noisy sums over pairs of items).
J. Dong, A. Roth, W. Su: Gaussian differential privacy. J. R. Stat. Soc. B, 2022.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice
from discreet.common.arrays import Codes, Floats, Integers, Matrix
from discreet.common.remedies import DECLARE_SCALE
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.models.heads import HeadChoice, HeadModel, read_statistics
from discreet.models.item_statistics import public_ends
from discreet.models.released_model import SEVERAL_RECORDS
from discreet.pairs.difference_sums import WeighedPairs, difference_sums, empty_sums
from discreet.privacy.bounding import require_named_catalog
from discreet.privacy.mechanisms import AdditiveMechanism, Exact
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PrivateSlopeOne", "offsets_of_pairs", "slopes_of_pairs"]

COUNTS_SHARE = Fraction(1, 5)
"""Of what is spent on pairs, the share for how often they are rated together."""

OWN = 2
"""A person's level is drawn towards the general one with so many ratings' worth."""

SPREAD = 0.06
"""How far the difference of two items usually is from the difference of their offsets, in widths of the scale."""

OFFSETS = 0.12
"""How far items usually are from the general level, in widths of the scale."""

NOISE = ("noise_differences", "noise_counts")
"""The figures of the noise on differences and on counts."""

_THEOREMS = {
    ("user", "add-remove"): "Theorem 1",
    ("record", "add-remove"): "Theorem 2",
    ("record", "value"): "Theorem 3",
}


@dataclass
class PrivateSlopeOne(HeadModel):
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
    units: ClassVar[tuple[str, ...]] = ("user", "record", "record/value")
    least: ClassVar[Mapping[str, int]] = {"cap": 2, "head": 2}

    epsilon: Rational
    delta: Rational = "1e-6"
    unit: Unit | str = "user"
    weight: Literal["shared", "equal"] = "shared"
    cap: int | None = None
    head: int | Sequence[Hashable] | None = None
    first_share: Rational = "1/2"
    threshold: Rational = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice(self.weight, "weight", ("shared", "equal"))
        if self.weight == "equal" and self.cap is None:
            raise UsageError(
                "cap must be given where everybody's pairs weigh the same: many items have no bound.",
                remedy="Give a cap, for users; or let pairs share a weight.",
            )
        if as_fraction(self.threshold, "threshold") < 0:
            raise UsageError(f"threshold must be at least 0, got {self.threshold}.")

    # The release

    def _plan(self, public: Interactions) -> Plan:
        require_named_catalog(public, "differences of items")
        if public.rating is None or public.scale is None:
            raise UsageError("Slope One needs ratings on a public scale.", remedy=DECLARE_SCALE)
        unit, choice = Unit.of(self.unit), HeadChoice.of(self.head, public, self._budget, self.first_share)
        bounds = empty_sums(public.scale, choice.most, **self._kind)
        for mechanism, sums in zip(self._mechanisms(choice), bounds, strict=True):
            mechanism.check(sums)
        return self._planned(
            public,
            choice,
            basis=f"noisy differences and counts of pairs, docs/proofs/pairs.md, {_THEOREMS[unit.what, unit.relation]}",
            subject="a Slope One model",
            expected=self._noise(choice, bounds),
            not_covered=("who rated what", SEVERAL_RECORDS[1]) if unit.relation == "value" else SEVERAL_RECORDS,
            details={"scale": str(public.scale)},
        )

    @property
    def _kind(self) -> dict[str, Any]:
        return {**super()._kind, "equal": self.weight == "equal"}

    def _mechanisms(self, choice: HeadChoice) -> tuple[AdditiveMechanism, AdditiveMechanism | Exact]:
        """For the differences and for the counts, which are exact where it is public who rated what."""
        if Unit.of(self.unit).relation == "value":
            return choice.rest.for_sums(), Exact("who rated what is public")
        return choice.rest.part(1 - COUNTS_SHARE).for_sums(), choice.rest.part(COUNTS_SHARE).for_sums()

    def _noise(self, choice: HeadChoice, bounds: WeighedPairs) -> dict[str, float]:
        """The noise on differences and counts of a head of this size."""
        each = zip(NOISE, self._mechanisms(choice), bounds, strict=True)
        return {name: mechanism.standard_deviation(sums) for name, mechanism, sums in each}

    def _rounds(self, plan: Plan) -> Rounds:
        choice, public = plan.public
        head, parts = yield from choice.rounds(plan, public)
        bounds = empty_sums(public.scale, head.size, **self._kind)
        differences, counts = yield Round(
            lambda records: difference_sums(records, head, **self._kind),
            self._mechanisms(choice),
            noise=NOISE,
        )
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
        self._read_head(release)
        public, scale = release.parameters, RatingScale.of(release.parameters["scale"])
        self.low_, self.high_, width = float(scale.low), float(scale.high), float(scale.width)
        first = read_statistics(release, len(self.items_), public_ends(scale))
        self.offsets_, self.level_ = first.offsets, first.level
        sums, noise = (release.array("differences"), release.array("counts")), public["noise_differences"]
        if "first" not in release.parts:
            self.offsets_[self.head_] = offsets_of_pairs(*sums, noise_differences=noise, width=width)
        self.slopes_, self._weights = slopes_of_pairs(
            *sums,
            self.offsets_[self.head_],
            noise_differences=noise,
            noise_counts=public["noise_counts"],
            width=width,
            threshold=float(as_fraction(self.threshold)),
        )

    def _score(self, rows: csr_array) -> Floats:
        """Predictions before they are clipped, so that the best stay in order."""
        predicted = self._levels(rows)[:, None] + self.offsets_
        # Products of a sparse and a dense matrix are added row by row in the order of the history, so that nobody's
        # numbers depend on who is asked for beside them.
        rated = rows[:, self.head_].astype(np.float64)
        touched = rated.copy()
        touched.data = np.ones(rated.data.size)
        weights = touched @ self._weights
        spoken = rated @ self._weights + touched @ (self._weights * self.slopes_.T)
        plain = predicted[:, self.head_]
        predicted[:, self.head_] = np.where(weights > 0, spoken / np.where(weights > 0, weights, 1.0), plain)
        return predicted

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        predicted = np.empty(item.size)
        asked, place = np.unique(row, return_inverse=True)
        step = max(1, 2**22 // max(1, len(self.items_)))
        for begin in range(0, asked.size, step):
            scores = self._score(rows[asked[begin : begin + step]])
            part = np.flatnonzero((place >= begin) & (place < begin + step))
            predicted[part] = scores[place[part] - begin, item[part]]
        return np.clip(predicted, self.low_, self.high_)

    def _levels(self, rows: csr_array) -> Floats:
        """How far up the scale each person rates, apart from what the items are like."""
        counts = np.diff(rows.indptr)
        owner = np.repeat(np.arange(counts.size), counts)
        own = rows.data.astype(np.float64) - self.offsets_[rows.indices]
        return (np.bincount(owner, weights=own, minlength=counts.size) + OWN * self.level_) / (counts + OWN)


# From noisy sums over pairs to Slope One: post-processing, free of charge


def slopes_of_pairs(
    differences: Matrix,
    counts: Matrix,
    offsets: Matrix,
    *,
    noise_differences: float,
    noise_counts: float,
    width: float,
    threshold: float,
) -> tuple[Matrix, Matrix]:
    """How much better the item of the row is liked than that of the column, and how much the pair counts.

    What noise hides is taken to be what the offsets of the two items say: with C the noisy count and X the noisy
    difference less C times that of the offsets, s = offsets + X·C/(C² + (noise of X/usual size)²). Without noise it
    is the plain quotient.

    Parameters
    ----------
    offsets
        How far above the general level each item is liked, in stars: public or released before.
    noise_differences, noise_counts
        Standard deviations.
    width
        Of the rating scale.
    threshold
        Pairs whose noisy count is at most so many deviations of its noise say no more than the offsets do.
    """
    apart, together = square(differences, -1), square(counts, 1)
    usual = offsets[:, None] - offsets[None, :]
    known = np.where(together > threshold * noise_counts, together, 0.0)
    hidden = (noise_differences**2 + (usual * noise_counts) ** 2) / (SPREAD * width) ** 2
    extra = np.where(known > 0, (apart - known * usual) * known / np.where(known > 0, known**2 + hidden, 1.0), 0.0)
    # Nothing counts for less than the noise lets it look.
    weights = np.maximum(known, noise_counts)
    np.fill_diagonal(weights, 0.0)
    return np.clip(usual + extra, -width, width), weights


def offsets_of_pairs(differences: Matrix, counts: Matrix, *, noise_differences: float, width: float) -> Matrix:
    """How far above the others each item is liked, from noisy upper triangles: weighted least squares, with a ridge for
    what noise adds to the sum of a row.
    """
    apart, together = square(differences, -1), np.maximum(square(counts, 1), 0.0)
    known = together.sum(axis=1)
    noise = apart.shape[0] * noise_differences**2 / (OFFSETS * width) ** 2
    # Without common raters, and without noise, any offset would do: it is 0.
    ridge = noise / np.maximum(known, np.sqrt(noise)) + 1e-9 * (1 + known) if noise else 1e-9 * (1 + known)
    return np.clip(np.linalg.solve(np.diag(known + ridge) - together, apart.sum(axis=1)), -width, width)


def square(triangle: Matrix, sign: int) -> Matrix:
    """The whole matrix from its upper triangle; below it the same with this sign.

    Examples
    --------
    >>> square(np.array([1.0, 2.0, 3.0]), -1)
    array([[ 0.,  1.,  2.],
           [-1.,  0.,  3.],
           [-2., -3.,  0.]])
    """
    size = (1 + round((1 + 8 * triangle.size) ** 0.5)) // 2
    whole = np.zeros((size, size))
    whole[np.triu_indices(size, 1)] = triangle
    return whole + sign * whole.T
