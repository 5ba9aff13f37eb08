"""What the models of the frontier learn from, and what they are asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import DataError, EvaluationError
from discreet.evaluation.questions import RATING_PROTOCOLS, Questions, strong_generalization
from discreet.factors.ease import MOST_ITEMS
from discreet.factors.likes import liked_records
from discreet.privacy.bounding import distinct_items
from discreet.privacy.losses import mu_for
from discreet.studies.study import Settings

__all__ = ["FOLD_IN", "LEAST_LIKES", "FrontierData"]

DELTA = Fraction(1, 10**5)
LEAST_LIKES, FOLD_IN = 5, 0.8
LEAST_USERS = 20
MOST_TEST_USERS = 2_000
FEATURES = ("genres", "release_year", "year")
"""Public columns of a catalog that say something about tastes, where there are such."""

TUNED = 0
"""The split of MovieLens 1M on which the constants of the models were settled."""


@dataclass(frozen=True)
class FrontierData:
    """Records, the budgets of a fit, and the splits.

    Parameters
    ----------
    data
        The records, their catalog declared public.
    declared
        Whether the catalog was public before the study took it for that.
    seeds
        One for each split.
    epsilons, delta
        The budgets of a fit.
    shares
        Shares of the users that PrivateRecommender learns from, the last one all.
    """

    data: Interactions
    declared: bool
    seeds: tuple[int, ...]
    epsilons: tuple[Fraction, ...]
    shares: tuple[Fraction, ...]
    delta: Fraction = DELTA

    @classmethod
    def of(cls, data: Interactions, settings: Settings, *, seed: int) -> FrontierData:
        """These records with the splits that follow a seed; too few records are refused."""
        if len(data) == 0:
            raise DataError("there are no records to learn from.")
        first = seed + TUNED + 1  # the split that models were tuned on is left out
        made = cls(
            data=distinct_items(data if data.catalog_is_public else data.with_catalog("observed")),
            declared=data.catalog_is_public,
            seeds=tuple(range(first, first + settings.splits)),
            epsilons=tuple(map(Fraction, settings.epsilons)),
            shares=tuple(map(Fraction, settings.shares)),
        )
        if made.likes.n_users < LEAST_USERS:
            raise EvaluationError(
                f"{made.likes.n_users} users like {LEAST_LIKES} items or more; it takes {LEAST_USERS} to learn from.",
                remedy="Give more records.",
            )
        return made

    @cached_property
    def likes(self) -> Interactions:
        """Who likes what: liked records without their ratings, of people who like at least five items.

        Rankings go by what is liked. That a model may spend part of its budget on how much would not be fair to it.
        """
        liked = liked_records(self.data, None)
        liked = liked.filter((liked.records_per_user >= LEAST_LIKES)[liked.user])
        catalog = pl.DataFrame({"item_id": liked.items.series})
        if liked.item_table is not None:
            catalog = catalog.hstack(liked.item_table)
        return Interactions(liked.to_frame().select("user_id", "item_id"), items=catalog, name=self.data.name)

    @property
    def rated(self) -> bool:
        """Whether there are ratings to predict."""
        return self.data.rating is not None and self.data.scale is not None

    @property
    def features(self) -> tuple[str, ...]:
        """Public columns of the catalog that models can use."""
        table = self.data.item_table
        return () if table is None else tuple(name for name in FEATURES if name in table.columns)

    @property
    def yardstick(self) -> str:
        """The model without privacy that rankings are compared with."""
        return "EASE" if self.data.n_items <= MOST_ITEMS else "ALS"

    @property
    def test_users(self) -> int:
        return min(MOST_TEST_USERS, math.ceil(self.likes.n_users / 10))

    def mu(self, epsilon: Fraction) -> float:
        """What users are multiplied with."""
        return float(mu_for(epsilon, self.delta))

    def ranking_questions(self, seed: int) -> Questions:
        """Strong generalization: a tenth of the people is held out, and four fifths of their likes are told."""
        return strong_generalization(self.likes, seed, self.test_users, FOLD_IN, LEAST_LIKES, None)

    def rating_questions(self, seed: int) -> Questions:
        """80/10/10 at random: one tenth is predicted, and one is left for tuning, which nobody does here."""
        return RATING_PROTOCOLS["holdout"](self.data, seed)
