"""The recommender anybody should use: rankings from one noisy matrix of tastes, proved at user level.

References
----------
F. McSherry, I. Mironov: Differentially private recommender systems. KDD 2009 (noisy covariance of items).
J. Dong, A. Roth, W. Su: Gaussian differential privacy. J. R. Stat. Soc. B, 2022.
J. Bun, R. Allez, J.-P. Bouchaud, M. Potters: Rotational invariant estimator for general noisy matrices. IEEE Trans.
Inf. Theory 2016.
H. Steck: Embarrassingly shallow autoencoders for sparse data. WWW 2019 (the linear model that it comes near to).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_whole
from discreet.common.arrays import Codes, Floats, Integers, Mask, places_of
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.factors.denoising import read_tastes
from discreet.factors.kernels import best_by_votes, best_of_one, summed_rows
from discreet.factors.rare_items import RareItems, feature_names
from discreet.factors.statistics import (
    ITEMS_SHARE,
    POPULARITY_STEP,
    Likes,
    Opinions,
    gram_bounds,
    lowest_rating,
    popularity_sums,
    projected_gram,
    rating_height,
)
from discreet.factors.tastes import (
    CROSSOVER,
    HEAD,
    HEAD_OF_FEATURES,
    READING,
    USUAL_ALIKENESS,
    TastePlan,
    below_zero,
    expected_share,
    head_size,
    popularity_share,
    without_popular,
)
from discreet.models.item_features import feature_columns
from discreet.models.released_model import NOT_COVERED, ReleasedModel
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget, as_share
from discreet.privacy.gram import MOST_PROJECTED
from discreet.privacy.method import Enters, Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PrivateRecommender"]

UNFLATTENING = 0.25
POPULARITY_PULL = 0.8
"""How strongly what is popular is shown to those who like what is popular."""


@dataclass
class PrivateRecommender(ReleasedModel):
    """Rankings from how often each item is liked, and from how tastes deviate from that.

    First the popularity of every item and the number of users is released; where the catalog is so long that noise
    would pick what is popular, once more. Then, for the most popular items (the head), the sum over users of y yᵀ,
    where y is a user's taste: the liked items, a little flattened, without what popularity explains, at length 1.
    Everything else is post-processing: what noise adds to the eigenvalues is taken out of the matrix, and what is left
    is a ridge regression of each item on the others. It counts as far as it can be told from noise (``degree_``):
    where it cannot, items are ranked by popularity. Where there are public features, they tell what the head says
    about items outside it.

    Parameters
    ----------
    epsilon, delta
        The budget of one fit.
    positive
        Ratings from here on say that an item is liked; None for three quarters of the way up the scale. Without
        ratings every record does.
    features
        Public columns of the catalog (genres, year …) that help to tell tastes from noise, and stand for what is not
        known about rare items.
    users
        The number of users where it is public; None to count them at the cost of a hundredth of the first release.
    head
        How many items tastes are learned for; None for the rule 6.5·√(users·μ), with features 8·√(users·μ).
    first_share
        Share of μ² for the first release.
    below
        How much ratings below ``positive`` count in tastes, from 0 to 1: who rates what is worth knowing, too. Nothing
        is recommended for them, and they do not make an item popular. A rating says the more the further up the scale
        it is: nothing at the low end, 1 at ``positive``, at most 2.

    Attributes
    ----------
    ranking_ : str
        "tastes", or "popularity" where there are too few users for anything better: then the whole budget went there.
    popularity_ : float array
        Noisy popularity of every item.
    head_ : int32 array
        Codes of the head.
    strength_ : float
        Users × μ: what accuracy depends on.
    degree_ : float
        How far tastes are trusted: 0 where they are indistinguishable from noise, 1 where they stand out.

    Privacy
    -------
    Unit: one user, present or absent; joint: a person's own results use that person's own records. Released: noisy
    popularity and the noisy matrix, with rounded normal noise. Spent: the shares of μ² add up to μ², which keeps (ε, δ)
    exactly.
    Proofs: ``docs/proofs/factors.md``. Not covered: the catalog and its public columns, the rating scale, own
    results.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=600, items=80, seed=7)
    >>> model = dc.PrivateRecommender(epsilon=8).fit(films)
    >>> model.recommend(["u17"], n=3).columns
    ['user_id', 'item_id', 'score', 'rank']
    >>> model.recommend(history={"film-3": 5, "film-8": 4}, n=2).height
    2
    """

    name: ClassVar[str] = "private-recommender"
    enters: ClassVar[Enters] = "once"
    takes_all_ratings: ClassVar[bool] = True
    """Likes are told from other ratings here: evaluations hand over all of them."""

    epsilon: Rational
    delta: Rational = "1e-6"
    positive: Rational | None = None
    features: Sequence[str] = ()
    users: int | None = None
    head: int | None = None
    first_share: Rational = "1/10"
    below: Rational = "1"

    def __post_init__(self) -> None:
        self.features = feature_names(self.features)
        as_share(self.first_share, "first_share")
        as_share(self.below, "below", whole=True)
        if self.positive is not None:
            as_fraction(self.positive, "positive")
        for name, value in (("head", self.head), ("users", self.users)):
            if value is not None:
                require_whole(value, name)
        self._budget.require_delta("tastes are released with normal noise")

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    @property
    def _shares(self) -> tuple[Budget, Budget]:
        """For the first and for the second release."""
        first = as_share(self.first_share, "first_share")
        return self._budget.part(first), self._budget.part(1 - first)

    # The release

    def _plan(self, public: Interactions) -> Plan:
        if self.head is not None and min(self.head, public.n_items) > MOST_PROJECTED:
            raise UsageError(f"a head has at most {MOST_PROJECTED:,} items, got {self.head:,}.", remedy="Take fewer.")
        columns, names = feature_columns(public, self.features) if self.features else (None, ())
        (first, second), likes = self._shares, Likes.of(public, self.positive)
        sums, gram = popularity_sums(likes), gram_bounds()
        declared = () if self.users is None else ("the number of users, which was declared public",)
        return Plan(
            loss=self._budget.loss,
            basis="noisy popularity and tastes, docs/proofs/factors.md, Theorem 2",
            subject=f"a ranking model of {public.n_items:,} items",
            caps=(*sums.caps, *gram.caps),
            not_covered=(*NOT_COVERED, *declared),
            joint=True,
            details={
                "threshold": likes.threshold,
                "lowest": None if likes.threshold is None else lowest_rating(public),
                "mu_squared": str(self._budget.amount),
                "feature_names": list(names),
                "reading": READING,
            },
            expected={
                "noise_whole": self._budget.deviation(sums),
                "noise_first": first.deviation(sums),
                "noise_second": second.deviation(sums),
                "noise_tastes": second.deviation(gram),
            },
            public=(public.items.series, columns if names else None, sums),
        )

    def _prepare(self, data: Interactions, plan: Plan) -> Opinions:
        return Opinions.of(data, self.positive, as_share(self.below, "below", whole=True))

    def _popularity(self, opinions: Opinions) -> BoundedSums:
        """What the first release is about, and the second where tastes do not pay or the first was too noisy."""
        return popularity_sums(opinions.likes)

    def _rounds(self, plan: Plan) -> Rounds:
        items, columns, bounds = plan.public
        (first, second), step = self._shares, float(POPULARITY_STEP)
        asked = Round(self._popularity, first.for_sums(), settles="first", noise=("noise_first",))
        popularity = step * (yield asked).astype(np.float64)
        parts: dict[str, Any] = {"first": popularity, "items": pl.DataFrame({"item_id": items})}
        if columns is not None:
            parts["features"] = columns
        public, found = {**plan.details, **plan.expected}, {}
        tastes = TastePlan.of(popularity, public, users=self.users, most=self.head)
        share = popularity_share(tastes, plan.expected["noise_whole"], first.share)
        if share is None:
            parts["second"] = step * (yield Round(self._popularity, second.for_sums(), noise=("noise_second",)))
            return parts
        if share > first.share:
            more, second = self._budget.part(share - first.share), self._budget.part(1 - share)
            again = yield Round(self._popularity, more.for_sums(), settles="more", noise=("noise_more",))
            parts["more"] = step * again.astype(np.float64)
            found = {"noise_more": more.deviation(bounds), "noise_tastes": second.deviation(gram_bounds())}
            tastes = TastePlan.of(popularity, public | found, users=self.users, most=self.head, more=parts["more"])
        matrices = yield Round(
            lambda people: projected_gram(people.rated, tastes.head, tastes.weights, tastes.direction, people.values),
            second.for_sums(),
            noise=("noise_tastes",),
        )
        return parts | {"head": tastes.head, "tastes": matrices[0]}, found

    def estimate(self, data: Interactions, *, users: int | None = None) -> dict[str, Any]:
        """What to expect of a fit, from public values alone: no record is read, nothing is spent.

        Parameters
        ----------
        users
            A public figure for the number of users, unless the model has one; a guess will do.

        Notes
        -----
        Expectations are for people as alike in what they like as those of MovieLens. Where they have little in common,
        a fit finds that out, and ranks by popularity for longer.
        """
        count = users if users is not None else self.users
        if count is None:
            raise UsageError(
                "the number of users is not known: that of the data is secret, and an estimate spends nothing.",
                remedy="Give a public figure or a guess: estimate(data, users=10_000).",
            )
        plan = self.plan(data)
        mu = math.sqrt(self._budget.amount)
        strength = count * mu
        ranking = "popularity" if strength * USUAL_ALIKENESS < CROSSOVER else "tastes"
        return {
            **self._estimate(plan),
            "mu": mu,
            "users": count,
            "users_times_mu": strength,
            "ranking": ranking,
            "head": head_size(strength, data.n_items, self.head, HEAD_OF_FEATURES if self.features else HEAD)
            if ranking == "tastes"
            else 0,
            "noise_popularity": plan.expected["noise_first"],
            "expected_share_of_nonprivate_recall": expected_share(strength),
        }

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        public, parts = release.parameters, dict[str, Any](release.parts)
        vars(self).pop("_by_popularity", None)  # of an earlier fit
        # In a series the first popularity fixes head and direction; the latest one is for everything else.
        head = parts.get("head")
        most, head = (self.head, None) if head is None else (head.size, head.astype(np.int32))
        settled, given = public.get("settled", public), {"users": self.users, "most": most, "head": head}
        plan = TastePlan.of(parts["first"], settled, **given, more=parts.get("more"))
        latest = parts.get("first_now", parts["first"]), parts.get("more_now", parts.get("more"))
        now = TastePlan.of(latest[0], public, **given, more=latest[1])
        self.ranking_ = "popularity" if "second" in parts else "tastes"
        self.strength_, self.popularity_, self.degree_ = now.strength, now.first.items, 0.0
        self.threshold_ = None if public["threshold"] is None else float(Fraction(public["threshold"]))
        self._lowest = public.get("lowest")
        self.head_, self._rare = np.zeros(0, dtype=np.int32), None
        self._voted, self._votes = self.head_, np.zeros((0, 0), dtype=np.float32)
        self._row = self._column = np.full(plan.first.items.size, -1)
        if self.ranking_ == "popularity":
            second, noise = parts["second"][:-1] / ITEMS_SHARE, (public["noise_first"], public["noise_second"])
            trust = np.array([1 / noise[0] ** 2, 1 / noise[1] ** 2])
            self.popularity_ = (trust[0] * now.first.items + trust[1] * second) / trust.sum()
            return
        assert head is not None
        self.head_ = head
        features = parts["features"][head] if public["feature_names"] else None
        self._row = places_of(head, plan.first.items.size)
        matrix, noise = parts["tastes"], public["noise_tastes"]
        read = read_tastes(matrix, noise, now.first.users, plan.direction, features, now.first.items[head])
        self._regression, self.degree_ = read.weights, read.degree
        if features is not None and features.size and self.degree_:
            facts = parts["features"], plan.item_weights, plan.item_direction, now.first.items
            self._rare = RareItems.of(without_popular(self._regression, plan.direction), head, *facts)
        self._voted = head if self._rare is None else np.union1d(head, self._rare.codes)
        self._column = places_of(self._voted, plan.first.items.size)
        self._votes = self._votes_of_items(plan)

    def _votes_of_items(self, plan: TastePlan) -> NDArray[np.float32]:
        """What liking each item of the head, and each feature of a rare one, adds to the scores: sums of these rows.

        With t = w on the liked items, q the direction of popularity and B the regression, scores are
        (t − (t·q)q)·B + pull·(t·q)q, times w^−unflattening for display; all of it is linear in t. Single precision is
        far finer than the noise, and twice as fast to read.
        """
        tastes, q = without_popular(self._regression, plan.direction), plan.direction
        codes, own, weights = plan.head, q, plan.weights
        if self._rare is not None:
            tastes = np.concatenate([tastes, self._rare.said])
            tastes = np.concatenate([tastes, tastes @ self._rare.shown], axis=1)
            codes, nothing = np.concatenate([codes, self._rare.codes]), np.zeros(self._rare.said.shape[0])
            own, weights = np.concatenate([own, nothing]), np.concatenate([weights, nothing + 1])
        votes = tastes + POPULARITY_PULL * np.outer(own, plan.item_direction[codes])
        votes = weights[:, None] * votes * plan.item_weights[codes] ** -UNFLATTENING
        return votes[:, np.argsort(codes)].astype(np.float32, order="C")

    def _score(self, rows: csr_array) -> Floats:
        scores = np.tile(self.popularity_, (rows.indptr.size - 1, 1))
        if not self.head_.size:
            return scores
        spoken, spoke = summed_rows(*self._spoken(rows), self._votes, self.head_.size)
        # Below everything that votes are about, items stand by popularity; somebody who likes nothing of the head sees
        # that alone.
        bottom = spoken[spoke].min(axis=1, keepdims=True, initial=0) - 1
        scores[spoke] = bottom + below_zero(self.popularity_)
        scores[np.ix_(spoke, self._voted)] = spoken[spoke]
        return scores

    def _top(self, rows: csr_array, n: int, *, allowed: Mask, exclude_seen: bool) -> tuple[Integers, Floats]:
        """The same order without a score for every item of the catalog."""
        if not exclude_seen:
            seen_starts, seen = np.zeros(rows.indptr.size, dtype=np.int64), np.zeros(0, dtype=np.int32)
        else:
            ordered = rows if rows.has_sorted_indices else rows.sorted_indices()
            seen_starts, seen = ordered.indptr.astype(np.int64), ordered.indices.astype(np.int32, copy=False)
        return best_by_votes(*self._spoken(rows), seen_starts, seen, *self._ranked, allowed, min(n, len(self.items_)))

    def _top_of_one(
        self, codes: Codes, values: Floats, n: int, *, allowed: Mask, exclude_seen: bool
    ) -> tuple[Integers, Floats]:
        _, liked, strengths = self._rows_of(np.array([0, codes.size]), codes, values)
        hidden = codes if exclude_seen else codes[:0]
        return best_of_one(liked, strengths, hidden, *self._ranked, allowed, n)

    @cached_property
    def _by_popularity(self) -> tuple[Integers, Floats, Floats]:
        """All items, the most popular first; their popularity; and the same below 0."""
        popularity = self.popularity_
        return np.argsort(-popularity, kind="stable"), popularity, below_zero(popularity)

    @property
    def _ranked(self) -> tuple[NDArray[np.float32], int, Codes, Integers, Integers, Floats, Floats]:
        """What lists are made from, as ``best_of_one`` takes it."""
        return self._votes, self.head_.size, self._voted, self._column, *self._by_popularity

    def _spoken(self, rows: csr_array) -> tuple[Integers, Integers, Floats]:
        codes, ratings = rows.indices.astype(np.int32, copy=False), rows.data.astype(np.float64, copy=False)
        return self._rows_of(rows.indptr.astype(np.int64), codes, ratings)

    def _rows_of(self, starts: Integers, codes: Codes, ratings: Floats) -> tuple[Integers, Integers, Floats]:
        """Where the votes of each history begin, which rows of votes they are, and how strong; −1 for no row."""
        strengths = np.ones(codes.size)
        if self.threshold_ is not None:
            liked = ratings >= self.threshold_
            starts, codes = np.concatenate([[0], np.cumsum(liked)])[starts], codes[liked]
            strengths = strengths[liked]
            if self._lowest is not None:
                strengths = rating_height(ratings[liked], self.threshold_, self._lowest)
        if self._rare is None:
            return starts, self._row[codes], strengths
        return self._rare.spoken(starts, codes, self._row[codes], strengths)

    def _similar(self, items: Codes) -> Floats:
        scores = np.full((items.size, len(self.items_)), -np.inf)
        for row in np.flatnonzero(self._row[items] >= 0):
            likeness = self._regression[self._row[items[row]]]
            scores[row, self.head_] = np.where(likeness > 0, likeness, -np.inf)
        return scores
