"""Every model of this room does what a recommender must."""

from __future__ import annotations

from typing import Any, ClassVar

from discreet.data import Interactions
from discreet.models.recommender import Recommender
from discreet.pairs import (
    CoPurchaseCosine,
    PrivateCosine,
    PrivateSlopeOne,
    PublishedCosine,
    PublishedSlopeOne,
    SlopeOne,
)
from discreet.testing.models import RecommenderConformance, two_tastes


def purchases() -> Interactions:
    """The same people without ratings: what they love is what they bought."""
    loved = two_tastes().to_frame().filter(two_tastes().to_frame()["rating"] > 1)
    rows = list(loved.select("user_id", "item_id").iter_rows())
    return Interactions(rows, items=two_tastes().items.ids(), name="two tastes, bought")


class TestSlopeOne(RecommenderConformance):
    worst_error = 1.9  # a checkerboard of tastes is what Slope One cannot see

    def make_model(self) -> Recommender:
        return SlopeOne()


class TestSlopeOneWithAThreshold(RecommenderConformance):
    def make_model(self) -> Recommender:
        return SlopeOne(minimum_overlap=3, average="compared", head=10)


class TestWeightedSlopeOne(RecommenderConformance):
    def make_model(self) -> Recommender:
        return SlopeOne(weighted=True)


class TestCoPurchaseCosine(RecommenderConformance):
    def make_model(self) -> Recommender:
        return CoPurchaseCosine()


class TestCoPurchaseCosineOfPurchases(RecommenderConformance):
    def data(self) -> Interactions:
        return purchases()

    def make_model(self) -> Recommender:
        return CoPurchaseCosine(minimum_overlap=1, head=12)


class Published(RecommenderConformance):
    """Outputs are drawn when they are first asked for, and drawn anew after loading."""

    deterministic = False
    reproducible = False
    fit_options: ClassVar[dict[str, Any]] = {"allow_refuted": True}


class TestPublishedSlopeOne(Published):
    def make_model(self) -> Recommender:
        return PublishedSlopeOne(epsilon="1/2", least_ratings=3, minimum_overlap=2, rating_range=5)


class TestPublishedCosine(Published):
    def make_model(self) -> Recommender:
        return PublishedCosine(epsilon=1, least_ratings=3)


class TestPublishedCosineOfPurchases(Published):
    def data(self) -> Interactions:
        return purchases()

    def make_model(self) -> Recommender:
        return PublishedCosine(epsilon=1, least_ratings=2)


class Private(RecommenderConformance):
    deterministic = False
    keeps_records = False


class TestPrivateSlopeOne(Private):
    def make_model(self) -> Recommender:
        return PrivateSlopeOne(epsilon=20)


class TestPurePrivateSlopeOne(Private):
    def make_model(self) -> Recommender:
        return PrivateSlopeOne(epsilon=50, delta=0, head=8, cap=6)


class TestPrivateSlopeOneOfEqualWeight(Private):
    def make_model(self) -> Recommender:
        return PrivateSlopeOne(epsilon=20, weight="equal", cap=10, threshold="1/2")


class TestPrivateSlopeOneForRatings(Private):
    def make_model(self) -> Recommender:
        return PrivateSlopeOne(epsilon=8, unit="rating")


class TestPurePrivateSlopeOneForRatings(Private):
    def make_model(self) -> Recommender:
        return PrivateSlopeOne(epsilon=8, delta=0, unit="rating", first_share="1/4")


class TestPrivateSlopeOneForValues(Private):
    def make_model(self) -> Recommender:
        return PrivateSlopeOne(epsilon=8, unit="value", head=9)


class TestPrivateCosine(Private):
    def make_model(self) -> Recommender:
        return PrivateCosine(epsilon=20)


class TestPurePrivateCosine(Private):
    def make_model(self) -> Recommender:
        return PrivateCosine(epsilon=50, delta=0, unit="rating", k=3)


class TestPrivateCosineOfPurchases(Private):
    def data(self) -> Interactions:
        return purchases()

    def make_model(self) -> Recommender:
        return PrivateCosine(epsilon=20, head=10, cap=5)
