"""Two neighbor models with randomized ratings, as the literature has them: systems to audit, not to use.

Both promise ε for the value of one rating. In the first every rating went through randomized response before anything
was computed from it, which keeps that promise; which items somebody rated it does not hide. The second protects only
people whose ratings are used often, and uses the ratings of all others as they are.

References
----------
P. Müllner, E. Lex, M. Schedl, D. Kowald: ReuseKNN: neighborhood reuse for differentially private KNN-based
recommendations. ACM Transactions on Intelligent Systems and Technology 14 (5), 2023.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Self

import numpy as np
import polars as pl

from discreet.common.arrays import Floats, Integers
from discreet.data.interactions import Interactions
from discreet.errors import UsageError

__all__ = ["RandomizedRatingsKNN", "ReuseKNN", "randomized_response"]


def randomized_response(values: Floats, scale: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """Each value kept with probability e^ε/(e^ε + r − 1), otherwise replaced by one of the r − 1 other values.

    Parameters
    ----------
    values
        Ratings, each one of ``scale``.
    scale
        The r possible ratings.
    epsilon
        What one value loses at most: every value comes out with at most e^ε times the probability under another.
    rng
        Draws.

    Examples
    --------
    >>> stars = np.arange(1.0, 6.0)
    >>> randomized_response(np.array([4.0, 1.0]), stars, 100.0, np.random.default_rng(7)).tolist()
    [4.0, 1.0]
    """
    codes = np.abs(values[:, None] - scale).argmin(axis=1)
    kept = rng.random(values.size) < 1 / (1 + (scale.size - 1) * np.exp(-epsilon))
    others = (codes + rng.integers(1, scale.size, size=values.size)) % scale.size
    return scale[np.where(kept, codes, others)]


class RandomizedRatingsKNN:
    """User neighbors on randomized ratings: similarity, neighbors and predictions see nothing else.

    Parameters
    ----------
    epsilon
        Promised for the value of one rating.
    k
        Neighbors of each prediction.
    """

    name = "randomized ratings kNN"

    def __init__(self, epsilon: float = 1.0, k: int = 10) -> None:
        self.epsilon = epsilon
        self.k = k

    def fit(self, data: Interactions) -> Self:
        """Randomize each rating once; keep nothing else."""
        self._prepare(data)
        self.ratings_[self.rated_] = self._randomized(self.ratings_[self.rated_])
        return self

    def predict(self, pairs: Iterable[tuple[Hashable, Hashable]]) -> pl.DataFrame:
        """Weighted mean rating of the k most similar users who rated the item; null where there is none."""
        asked = list(pairs)
        scores = [self._score(self.users_.get(user), self.items_.get(item)) for user, item in asked]
        return pl.DataFrame(
            {
                "user_id": [user for user, _ in asked],
                "item_id": [item for _, item in asked],
                "score": pl.Series(scores, dtype=pl.Float64),
            }
        )

    def recommend(self, users: Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        """The items with the best predictions that a user has not rated."""
        tables = []
        for user in users:
            row = self.users_.get(user)
            left = [item for item, place in self.items_.items() if row is None or not self.rated_[row, place]]
            told = self.predict([(user, item) for item in left]).drop_nulls("score")
            best = told.sort("score", descending=True, maintain_order=True).head(n)
            tables.append(best.with_columns(rank=pl.int_range(1, pl.len() + 1)))
        return pl.concat(tables)

    def _prepare(self, data: Interactions) -> None:
        if data.rating is None or data.scale is None or data.scale.step is None:
            raise UsageError("the model needs ratings on a public scale with steps.")
        low, high, step = (float(value) for value in (data.scale.low, data.scale.high, data.scale.step))
        self.scale_: Floats = np.linspace(low, high, round((high - low) / step) + 1)
        self.users_ = {user: row for row, user in enumerate(data.users.ids())}
        self.items_ = {item: place for place, item in enumerate(data.items.ids())}
        self.rated_ = np.zeros((data.n_users, data.n_items), dtype=bool)
        self.rated_[data.user, data.item] = True
        self.ratings_ = np.zeros(self.rated_.shape)
        self.ratings_[data.user, data.item] = data.rating

    def _randomized(self, values: Floats) -> Floats:
        return randomized_response(values, self.scale_, self.epsilon, np.random.default_rng())

    def _score(self, user: int | None, item: int | None) -> float | None:
        if user is None or item is None:
            return None
        raters = np.flatnonzero(self.rated_[:, item])
        raters = raters[raters != user]
        similarity = self._similarities(user)[raters]
        best = np.argsort(-similarity, kind="stable")[: self.k]
        best = best[similarity[best] > 0]
        if best.size == 0:
            return None
        return float(self.ratings_[raters[best], item] @ similarity[best] / similarity[best].sum())

    def _similarities(self, user: int) -> Floats:
        """Cosine of the ratings of a user with those of everybody."""
        norms = np.sqrt((self.ratings_**2).sum(axis=1))
        return self.ratings_ @ self.ratings_[user] / np.maximum(norms * norms[user], 1e-12)


class ReuseKNN(RandomizedRatingsKNN):
    """User neighbors that uses as few people as it can, and randomizes the ratings of those whom it uses often.

    For each user the items to predict are gone through in order. People who were neighbors of this user before come
    first, then the most similar ones. Whose ratings were used more than ``threshold`` times over all users is called
    vulnerable: these ratings go through randomized response. The others are used as they are.

    Parameters
    ----------
    epsilon
        Claimed for the value of one rating.
    k
        Neighbors of each prediction.
    threshold
        How often somebody's ratings may be used without protection.
    """

    name = "ReuseKNN"

    def __init__(self, epsilon: float = 1.0, k: int = 10, threshold: int = 20) -> None:
        super().__init__(epsilon, k)
        self.threshold = threshold

    def fit(self, data: Interactions) -> Self:
        """Choose the neighbors of every prediction, count how often each person is used, and protect those above."""
        self._prepare(data)
        similarity = np.array([self._similarities(user) for user in range(data.n_users)])
        np.fill_diagonal(similarity, 0.0)
        used = np.zeros(data.n_users, dtype=np.int64)
        self.neighbors_: dict[tuple[int, int], Integers] = {}
        for user in range(data.n_users):
            before = np.zeros(data.n_users, dtype=bool)
            for item in np.flatnonzero(~self.rated_[user]):
                raters = np.flatnonzero(self.rated_[:, item] & (similarity[user] > 0))
                order = np.lexsort((-similarity[user, raters], ~before[raters]))
                chosen = raters[order[: self.k]]
                self.neighbors_[user, int(item)] = chosen
                before[chosen] = True
                used[chosen] += 1
        self.similarity_ = similarity
        self.vulnerable_ = used > self.threshold
        protected = self.rated_ & self.vulnerable_[:, None]
        self.ratings_[protected] = self._randomized(self.ratings_[protected])
        return self

    def _score(self, user: int | None, item: int | None) -> float | None:
        if user is None or item is None:
            return None
        chosen = self.neighbors_.get((user, item), np.zeros(0, dtype=np.int64))
        if chosen.size == 0:
            return None
        weights = self.similarity_[user, chosen]
        return float(self.ratings_[chosen, item] @ weights / weights.sum())
