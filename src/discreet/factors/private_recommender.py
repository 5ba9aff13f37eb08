"""The recommender anybody should use: rankings from one noisy matrix of tastes, proved at user level.

References
----------
F. McSherry, I. Mironov: Differentially private recommender systems. KDD 2009 (noisy covariance of items).
J. Dong, A. Roth, W. Su: Gaussian differential privacy. J. R. Stat. Soc. B, 2022.
M. Gavish, D. Donoho: Optimal shrinkage of singular values. IEEE Trans. Inf. Theory 2017.
H. Steck: Embarrassingly shallow autoencoders for sparse data. WWW 2019 (the linear model that it comes near to).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.factors.expectation import expected_share
from discreet.factors.item_features import feature_columns
from discreet.factors.kernels import summed_rows
from discreet.factors.released_model import ReleasedModel, require_named_items, require_share
from discreet.factors.statistics import COUNT_SHARE, gram_bounds, popularity_sums, projected_gram
from discreet.factors.taste_regression import taste_regression
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import GaussianLoss, mu_for
from discreet.privacy.normal import NormalGramMechanism, NormalMechanism
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["PrivateRecommender"]

CROSSOVER = 350
"""Below this number of users × μ popularity ranks better than tastes do."""

HEAD = 8.0
LEAST_HEAD = 60
FLATTENING = 0.2
"""Items weigh less by this power of their popularity: noise is the same for all and would drown the rare."""

UNFLATTENING = 0.25
POPULARITY_PULL = 0.8
"""How strongly what is popular is shown to those who like what is popular."""


@dataclass
class PrivateRecommender(ReleasedModel):
    """Rankings from how often each item is liked, and from how tastes deviate from that.

    Two releases. First the popularity of every item and the number of users. Then, for the most popular items (the
    head), the sum over users of y yᵀ, where y is a user's taste: the liked items, a little flattened, without what
    popularity explains, at length 1. Everything else is post-processing: eigenvalues of the noise are taken out of the
    matrix, and what is left is a ridge regression of each item on the others.

    Parameters
    ----------
    epsilon, delta
        The budget of one fit.
    positive
        Ratings from here on say that an item is liked; None for three quarters of the way up the scale. Without
        ratings every record does.
    features
        Public columns of the catalog (genres, year …) that help to tell tastes from noise.
    users
        The number of users where it is public; None to count them at the cost of a hundredth of the first release.
    head
        How many items tastes are learned for; None for the rule 8·√(users·μ).
    first_share
        Share of μ² for the first release.

    Attributes
    ----------
    release_ : Release
        What was released; the model is a function of it.
    ranking_ : str
        "tastes", or "popularity" where there are too few users for anything better: then the whole budget went there.
    popularity_ : float array
        Noisy popularity of every item.
    head_ : int32 array
        Codes of the head.
    strength_ : float
        Users × μ: what accuracy depends on.

    Privacy
    -------
    Unit: one user, present or absent; joint: a person's own results use that person's own records. Released: noisy
    popularity and the noisy matrix, with rounded normal noise. Spent: μ² = μ₁² + μ₂², chosen to keep (ε, δ) exactly.
    Proofs: ``docs/proofs/factors.md``. Not covered: the catalog and its public columns, the rating scale, one's own
    screen.

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

    epsilon: Rational = 1
    delta: Rational = "1e-6"
    positive: Rational | None = None
    features: Sequence[str] = ()
    users: int | None = None
    head: int | None = None
    first_share: Rational = "1/10"

    def __post_init__(self) -> None:
        # One name may be given as it is; from JSON they come as a list.
        self.features = (self.features,) if isinstance(self.features, str) else tuple(self.features)

    # Fitting

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        mu_squared, first, rest = self._budgets()
        liked = liked_records(require_named_items(data, "recommendations"), self.positive)
        columns, names = feature_columns(data, self.features)
        sums = popularity_sums(liked)
        first.check(sums)
        NormalGramMechanism(rest).check(gram_bounds())
        guarantee = self._promise(mu_squared, data.n_items, sums.caps)
        parameters = {**self.config(), "threshold": threshold_of(data, self.positive)}
        with charged(ledger, data, guarantee, mechanism=self.name, parameters=parameters) as charge:
            noisy = first.release(sums).astype(np.float64) * float(sums.step)
            parts: dict[str, Any] = {"first": noisy, "items": pl.DataFrame({"item_id": data.items.series})}
            public = {
                **parameters,
                "mu_squared": str(mu_squared),
                "noise_first": first.standard_deviation(sums),
                "feature_names": list(names),
            }
            if names:
                parts["features"] = columns
            plan = _Plan.of(noisy, public, self)
            if plan.ranking == "popularity":
                again = NormalMechanism(rest)
                parts["second"] = again.release(sums) * float(sums.step)
                public["noise_second"] = again.standard_deviation(sums)
            else:
                gram = projected_gram(liked, plan.head, plan.weights[plan.head], plan.direction)
                matrices = NormalGramMechanism(rest).release(gram)
                parts |= {"head": plan.head, "tastes": matrices[0]}
                public["noise_tastes"] = NormalGramMechanism(rest).standard_deviation(gram)
            release = Release(
                kind=self.name,
                guarantee=guarantee,
                mechanism=self.name,
                parameters=public,
                parts=parts,
                dataset=data.name,
            )
            charge.settle(release.id)
        self._build(release)

    def _budgets(self) -> tuple[Fraction, NormalMechanism, Fraction]:
        mu_squared = mu_for(self.epsilon, self.delta) ** 2
        share = as_fraction(self.first_share, "first_share")
        require_share(share, "first_share")
        for name, value in (("head", self.head), ("users", self.users)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise UsageError(f"{name} = {value!r} must be a whole number from 1.")
        return mu_squared, NormalMechanism(mu_squared * share), mu_squared * (1 - share)

    def _promise(self, mu_squared: Fraction, n_items: int, caps: tuple[str, ...]) -> Guarantee:
        outside = ["the public list of items and rating scale", "facts about people at large", "one's own screen"]
        if self.users is not None:
            outside.insert(1, "the number of users, which was declared public")
        return Guarantee(
            loss=GaussianLoss(mu_squared),
            unit=Unit("user"),
            standing=Standing.PROVED,
            basis="noisy popularity and tastes, docs/proofs/factors.md, Theorem 2",
            subject=f"a ranking model of {n_items:,} items",
            caps=caps,
            not_covered=tuple(outside),
            joint=True,
        )

    def estimate(self, data: Interactions, *, users: int | None = None) -> dict[str, Any]:
        """What to expect of a fit, from public values alone: no record is read, nothing is spent.

        Parameters
        ----------
        users
            A public figure for the number of users, unless the model has one; a guess will do.
        """
        mu_squared, _, _ = self._budgets()
        count = users if users is not None else self.users
        if count is None:
            raise UsageError(
                "how many users are there? The number in the data is secret, and an estimate spends nothing.",
                remedy="Say a public figure, or a guess: estimate(data, users=10_000).",
            )
        mu = math.sqrt(mu_squared)
        strength = count * mu
        ranking = "popularity" if strength < CROSSOVER else "tastes"
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "mu": mu,
            "users": count,
            "users_times_mu": strength,
            "ranking": ranking,
            "head": _head_size(strength, data.n_items, self.head) if ranking == "tastes" else 0,
            "noise_popularity": 1 / (mu * math.sqrt(as_fraction(self.first_share, "first_share"))),
            "noise_tastes": 1 / (mu * math.sqrt(1 - as_fraction(self.first_share, "first_share"))),
            "expected_share_of_nonprivate_recall": expected_share(strength),
        }

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        public = release.parameters
        self.release_, self.guarantee_ = release, release.guarantee
        self.items_ = IdMap(release.table("items")["item_id"], what="item")
        plan = _Plan.of(release.array("first"), public, self)
        self.ranking_, self.strength_, self.popularity_ = plan.ranking, plan.strength, plan.popularity
        self.threshold_ = None if public["threshold"] is None else float(Fraction(public["threshold"]))
        self.head_ = np.zeros(0, dtype=np.int32)
        if self.ranking_ == "popularity":
            second, noise = release.array("second")[:-1] / _ITEMS, (public["noise_first"], public["noise_second"])
            trust = np.array([1 / noise[0] ** 2, 1 / noise[1] ** 2])
            self.popularity_ = (trust[0] * plan.popularity + trust[1] * second) / trust.sum()
            return
        self.head_ = release.array("head").astype(np.int32)
        features = release.array("features")[self.head_] if public["feature_names"] else None
        self._weights, self._direction = plan.weights[self.head_], plan.direction
        self._regression = taste_regression(
            release.array("tastes"), public["noise_tastes"], plan.users, plan.direction, features
        )
        self._votes = self._votes_of_items()

    def _votes_of_items(self) -> NDArray[np.float64]:
        """What liking each item of the head adds to the score of each: scores are sums of these rows.

        With t = w on the liked items, q the direction of popularity and B the regression, scores are
        (t − (t·q)q)·B + pull·(t·q)q, times w^−unflattening for display; all of it is linear in t.
        """
        q, regression = self._direction, self._regression
        votes = regression - np.outer(q, q @ regression) + POPULARITY_PULL * np.outer(q, q)
        return np.ascontiguousarray(self._weights[:, None] * votes * self._weights**-UNFLATTENING)

    def _pool(self, most: int) -> NDArray[np.int64] | None:
        popular = np.argsort(-self.popularity_, kind="stable")[: self.head_.size + most]
        return np.union1d(popular, self.head_)

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        return self._score_among(rows, np.arange(len(self.items_)))

    def _score_among(self, rows: csr_array, items: NDArray[np.int64]) -> NDArray[np.float64]:
        popular = np.tile(self.popularity_[items], (rows.indptr.size - 1, 1))
        if not self.head_.size:
            return popular
        place, column = (np.full(len(self.items_), -1, dtype=np.int64) for _ in range(2))
        place[self.head_] = np.arange(self.head_.size)
        column[items] = np.arange(items.size)
        liked = self._liked(rows)
        spoken, spoke = summed_rows(liked.indptr.astype(np.int64), place[liked.indices], self._votes)
        # Below everything of the head, items stand by popularity; somebody who likes nothing of it sees that alone.
        below = _below_zero(self.popularity_[items])
        scores = np.where(spoke[:, None], spoken.min(axis=1, keepdims=True, initial=0) - 1 + below, popular)
        known = column[self.head_] >= 0
        scores[np.ix_(spoke, column[self.head_[known]])] = spoken[np.ix_(spoke, known)]
        return scores

    def _liked(self, rows: csr_array) -> csr_array:
        """The liked items of histories: those rated from the threshold on, or all where there are no ratings."""
        if self.threshold_ is None:
            return rows
        liked = rows.copy()
        liked.data = (liked.data >= self.threshold_).astype(np.float64)
        liked.eliminate_zeros()
        return liked

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """It ranks; it does not predict ratings."""
        return np.full(item.size, np.nan)

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        scores = np.full((items.size, len(self.items_)), -np.inf)
        place = np.full(len(self.items_), -1, dtype=np.int64)
        place[self.head_] = np.arange(self.head_.size)
        for row, where in enumerate(place[items]):
            if where >= 0:
                likeness = self._regression[where]
                scores[row, self.head_] = np.where(likeness > 0, likeness, -np.inf)
        return scores


_ITEMS = math.sqrt(1 - COUNT_SHARE**2)


@dataclass(frozen=True)
class _Plan:
    """What the first release says: how many users, whether tastes pay, which head, how items are weighed."""

    popularity: NDArray[np.float64]
    users: float
    strength: float
    ranking: str
    head: NDArray[np.int32]
    weights: NDArray[np.float64]
    direction: NDArray[np.float64]

    @classmethod
    def of(cls, noisy: NDArray[np.float64], public: Mapping[str, Any], model: PrivateRecommender) -> _Plan:
        popularity = noisy[:-1] / _ITEMS
        users = float(model.users) if model.users is not None else max(1.0, noisy[-1] / float(COUNT_SHARE))
        strength = users * math.sqrt(Fraction(public["mu_squared"]))
        size = _head_size(strength, popularity.size, model.head)
        head = np.sort(np.argsort(-popularity, kind="stable")[:size]).astype(np.int32)
        # Nothing is as rare as the noise can make it look.
        known = np.maximum(popularity, public["noise_first"])
        weights = known**-FLATTENING
        weights /= weights.mean()
        direction = known[head] * weights[head]
        direction /= np.linalg.norm(direction)
        ranking = "tastes" if strength >= CROSSOVER else "popularity"
        return cls(popularity, users, strength, ranking, head, weights, direction)


def threshold_of(data: Interactions, positive: Rational | None) -> str | None:
    """The rating from which an item counts as liked, from public facts; None where there are no ratings."""
    if data.rating is None:
        return None
    if positive is not None:
        return str(as_fraction(positive, "positive"))
    if data.scale is None:
        return None
    low, high = Fraction(data.scale.low), Fraction(data.scale.high)
    return str(low + (high - low) * 3 / 4)


def liked_records(data: Interactions, positive: Rational | None) -> Interactions:
    """The records that say that an item is liked: each is judged by itself."""
    threshold = threshold_of(data, positive)
    if threshold is None or data.rating is None:
        return data
    return data.filter(data.rating >= float(Fraction(threshold)), independent=True)


def _head_size(strength: float, n_items: int, head: int | None) -> int:
    return min(n_items, head if head is not None else max(LEAST_HEAD, round(HEAD * math.sqrt(strength))))


def _below_zero(popularity: NDArray[np.float64]) -> NDArray[np.float64]:
    return -1 / (1 + np.maximum(popularity, 0)) + 1e-9 * np.minimum(popularity, 0)
