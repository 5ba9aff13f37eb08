"""Every model of this room does what a recommender must."""

from __future__ import annotations

from typing import Any, ClassVar

from discreet.models.recommender import Recommender
from discreet.neighbors import PrivateItemKNN
from discreet.neighbors.knn import KNN, NPNS, PNCF, PPNS, AssuredPPNS, NaiveExponentialNeighbors, UniformNeighbors
from discreet.neighbors.similarity import Similarity
from discreet.testing.models import RecommenderConformance


class TestItemKNN(RecommenderConformance):
    worst_error = 0.8

    def make_model(self) -> Recommender:
        return KNN(k=5)


class TestUserKNN(RecommenderConformance):
    worst_error = 0.9

    def make_model(self) -> Recommender:
        return KNN(k=5, axis="user", similarity=Similarity("cosine_full", minimum_overlap=2, shrinkage=0.5))


class TestKNNAmongAll(RecommenderConformance):
    answers_everything = False

    def make_model(self) -> Recommender:
        return KNN(k=4, axis="user", similarity="cosine", candidates="all", centering=None, fallback=None)


class Drawn(RecommenderConformance):
    """Answers are drawn when they are first asked for, and drawn anew after loading."""

    deterministic = False
    reproducible = False
    fit_options: ClassVar[dict[str, Any]] = {"allow_refuted": True}


class TestKNNWithRandomTies(Drawn):
    def make_model(self) -> Recommender:
        return KNN(k=3, similarity="cosine", ties="random")


class TestUniformNeighbors(Drawn):
    worst_error = 0.8

    def make_model(self) -> Recommender:
        return UniformNeighbors(k=5)


class TestNPNS(Drawn):
    worst_error = 0.8

    def make_model(self) -> Recommender:
        return NPNS(k=5, axis="user", beta=2)


class TestNaiveExponential(Drawn):
    def make_model(self) -> Recommender:
        return NaiveExponentialNeighbors(k=5, epsilon="1/2")


class TestItemPNCF(Drawn):
    def make_model(self) -> Recommender:
        return PNCF(k=5, epsilon=1)


class TestUserPNCF(Drawn):
    def make_model(self) -> Recommender:
        return PNCF(k=5, epsilon=1, axis="user", rs="exact", rs_cap=2)


class TestPPNS(Drawn):
    def make_model(self) -> Recommender:
        return PPNS(k=3, epsilon=1, beta=2)


class TestAssuredPPNS(Drawn):
    def make_model(self) -> Recommender:
        return AssuredPPNS(k=3, epsilon=1, p="3/5")


class TestPrivateItemKNN(RecommenderConformance):
    deterministic = False
    keeps_records = False

    def make_model(self) -> Recommender:
        return PrivateItemKNN(epsilon=8, k=5)


class TestPurePrivateItemKNN(TestPrivateItemKNN):
    def make_model(self) -> Recommender:
        return PrivateItemKNN(epsilon=50, delta=0, k=5)


class TestRatingLevelPrivateItemKNN(TestPrivateItemKNN):
    def make_model(self) -> Recommender:
        return PrivateItemKNN(epsilon=8, k=5, unit="rating")


class TestPureRatingLevelPrivateItemKNN(TestPrivateItemKNN):
    def make_model(self) -> Recommender:
        return PrivateItemKNN(epsilon=8, delta=0, k=5, unit="rating")
