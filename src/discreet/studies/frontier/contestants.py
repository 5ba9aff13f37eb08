"""Who takes part: the proved models, the published competitor, and models without privacy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.counting.context_popularity import ContextPopularity
from discreet.factors import ALS, DPALS, EASE, Biases, Popularity, PrivateRatings, PrivateRecommender
from discreet.neighbors import KNN, PrivateItemKNN
from discreet.recommender import Recommender
from discreet.studies.frontier.setting import MAIN, Setting

__all__ = [
    "BIASES",
    "COMPETITOR",
    "FEATURED",
    "POPULAR",
    "RATINGS",
    "Contestant",
    "main_contestant",
    "ranking_contestants",
    "rating_contestants",
]

FEATURED, COMPETITOR, POPULAR = f"{MAIN}, features", "DP-ALS", "private popularity"
RATINGS, BIASES = "PrivateRatings", "biases"
BY_RATING = "one rating"

NEIGHBORS = 100
"""Of item kNN without privacy."""


@dataclass(frozen=True)
class Contestant:
    """A model by name, for every budget; a reference has none.

    Parameters
    ----------
    name
        In tables and charts.
    make
        A fresh model with a budget.
    protects
        What one neighboring step changes: "user", "rating", or "" for a model that protects nobody.
    """

    name: str
    make: Callable[[Fraction, Fraction], Recommender]
    protects: str

    @property
    def private(self) -> bool:
        return self.protects != ""

    def budgets(self, epsilons: tuple[Fraction, ...]) -> tuple[Fraction | None, ...]:
        return epsilons if self.private else (None,)


def main_contestant() -> Contestant:
    """The recommender anybody should use."""
    return Contestant(MAIN, lambda e, d: PrivateRecommender(epsilon=e, delta=d), "user")


def ranking_contestants(setting: Setting) -> list[Contestant]:
    """All that rank, the private ones first."""
    features = setting.features
    private = [
        main_contestant(),
        Contestant(FEATURED, lambda e, d: PrivateRecommender(epsilon=e, delta=d, features=features), "user"),
        Contestant(COMPETITOR, lambda e, d: DPALS(epsilon=e, delta=d), "user"),
        Contestant("PrivateItemKNN", lambda e, d: PrivateItemKNN(epsilon=e, delta=d), "user"),
        Contestant(POPULAR, _private_popularity, "user"),
        Contestant(
            f"PrivateItemKNN, {BY_RATING}", lambda e, d: PrivateItemKNN(epsilon=e, delta=d, unit="rating"), "rating"
        ),
    ]
    references = [
        Contestant("EASE", lambda e, d: EASE(), ""),
        Contestant("ALS", lambda e, d: ALS(), ""),
        Contestant("item kNN", lambda e, d: KNN(k=NEIGHBORS, similarity="cosine_full"), ""),
        Contestant("popularity", lambda e, d: Popularity(), ""),
    ]
    left_out = set() if features else {FEATURED}
    if setting.yardstick != "EASE":
        left_out.add("EASE")
    return [one for one in (*private, *references) if one.name not in left_out]


def rating_contestants() -> list[Contestant]:
    """All that predict ratings, the private ones first."""
    return [
        Contestant(RATINGS, lambda e, d: PrivateRatings(epsilon=e, delta=d), "user"),
        Contestant("PrivateItemKNN", lambda e, d: PrivateItemKNN(epsilon=e, delta=d), "user"),
        Contestant(f"{RATINGS}, {BY_RATING}", lambda e, d: PrivateRatings(epsilon=e, delta=d, unit="rating"), "rating"),
        Contestant(
            f"PrivateItemKNN, {BY_RATING}", lambda e, d: PrivateItemKNN(epsilon=e, delta=d, unit="rating"), "rating"
        ),
        Contestant(BIASES, lambda e, d: Biases(), ""),
        Contestant("item kNN", lambda e, d: KNN(similarity="pearson"), ""),
    ]


def _private_popularity(epsilon: Fraction, delta: Fraction) -> Recommender:
    # With length 1 everybody's likes weigh 1/√n each: of all lengths the least noise beside one like of anybody.
    return ContextPopularity(epsilon=epsilon, delta=delta, cap=None, method="clipped", settings={"norm_squared": 1})
