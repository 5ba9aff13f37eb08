"""The models that are compared: proved ones, the published competitor, and models without privacy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.counting.context_popularity import ContextPopularity
from discreet.factors import ALS, DPALS, EASE, Biases, Popularity, PrivateRatings, PrivateRecommender
from discreet.models.recommender import Recommender
from discreet.neighbors import KNN, PrivateItemKNN
from discreet.studies.frontier.questions import FrontierData

__all__ = [
    "BIASES",
    "COMPETITOR",
    "FEATURED",
    "MAIN",
    "POPULAR",
    "RATINGS",
    "ComparedModel",
    "ranking_models",
    "rating_models",
]

MAIN = "PrivateRecommender"
FEATURED, COMPETITOR, POPULAR = f"{MAIN}, features", "DP-ALS", "private popularity"
RATINGS, BIASES = "PrivateRatings", "biases"
BY_RATING = "one rating"

NEIGHBORS = 100
"""Of item kNN without privacy."""


@dataclass(frozen=True)
class ComparedModel:
    """A model by name, for every budget; a reference has none.

    Parameters
    ----------
    name
        In tables and charts.
    make
        A fresh model with a budget.
    protects
        "user", "rating", or "" for a model that protects nobody.
    """

    name: str
    make: Callable[[Fraction, Fraction], Recommender]
    protects: str

    def budgets(self, epsilons: tuple[Fraction, ...]) -> tuple[Fraction | None, ...]:
        """The values of ε that it is fitted with; a model that protects nobody has none."""
        return epsilons if self.protects else (None,)


def ranking_models(data: FrontierData) -> list[ComparedModel]:
    """All that rank, the private ones first."""
    features = data.features
    private = [
        ComparedModel(MAIN, lambda e, d: PrivateRecommender(epsilon=e, delta=d), "user"),
        ComparedModel(FEATURED, lambda e, d: PrivateRecommender(epsilon=e, delta=d, features=features), "user"),
        ComparedModel(COMPETITOR, lambda e, d: DPALS(epsilon=e, delta=d), "user"),
        ComparedModel("PrivateItemKNN", lambda e, d: PrivateItemKNN(epsilon=e, delta=d), "user"),
        ComparedModel(POPULAR, _private_popularity, "user"),
        ComparedModel(
            f"PrivateItemKNN, {BY_RATING}", lambda e, d: PrivateItemKNN(epsilon=e, delta=d, unit="rating"), "rating"
        ),
    ]
    references = [
        ComparedModel("EASE", lambda e, d: EASE(), ""),
        ComparedModel("ALS", lambda e, d: ALS(), ""),
        ComparedModel("item kNN", lambda e, d: KNN(k=NEIGHBORS, similarity="cosine_full"), ""),
        ComparedModel("popularity", lambda e, d: Popularity(), ""),
    ]
    left_out = set() if features else {FEATURED}
    if data.yardstick != "EASE":
        left_out.add("EASE")
    return [one for one in (*private, *references) if one.name not in left_out]


def rating_models() -> list[ComparedModel]:
    """All that predict ratings, the private ones first."""
    return [
        ComparedModel(RATINGS, lambda e, d: PrivateRatings(epsilon=e, delta=d), "user"),
        ComparedModel("PrivateItemKNN", lambda e, d: PrivateItemKNN(epsilon=e, delta=d), "user"),
        ComparedModel(
            f"{RATINGS}, {BY_RATING}", lambda e, d: PrivateRatings(epsilon=e, delta=d, unit="rating"), "rating"
        ),
        ComparedModel(
            f"PrivateItemKNN, {BY_RATING}", lambda e, d: PrivateItemKNN(epsilon=e, delta=d, unit="rating"), "rating"
        ),
        ComparedModel(BIASES, lambda e, d: Biases(), ""),
        ComparedModel("item kNN", lambda e, d: KNN(similarity="pearson"), ""),
    ]


def _private_popularity(epsilon: Fraction, delta: Fraction) -> Recommender:
    # With length 1 everybody's likes weigh 1/√n each: of all lengths the least noise beside one like of anybody.
    return ContextPopularity(epsilon=epsilon, delta=delta, cap=1)
