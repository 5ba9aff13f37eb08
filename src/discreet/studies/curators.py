"""Study: one model of several curators, beside the model of one of them and beside one of all records in one hand.

The people who are learned from are divided among the curators at random. Each curator releases the rounds of a model
from their own people, and the rounds are combined. Everybody spends the same ε and δ, and all models are asked the same
questions: rankings of people who are held out (strong generalization).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from discreet.combining import combine, release_round
from discreet.data.interactions import Interactions
from discreet.errors import DataError
from discreet.evaluation.protocols import Questions, ask_model, strong_generalization
from discreet.models.registry import create
from discreet.privacy.bounding import distinct_items
from discreet.privacy.charging import sandbox
from discreet.studies.frontier import FOLD_IN, LEAST_LIKES, MOST_TEST_USERS, likes_of
from discreet.studies.quick import Most
from discreet.studies.study import Measurements, Settings, Steps, Study, summarized

__all__ = ["CuratorsStudy", "divided"]

METHOD, METRIC = "private-recommender", "recall@20"
LENGTHS = [20]
ALONE, COMBINED, ONE_HAND = "alone", "combined", "in one hand"

KEYS = {"way": pl.String, "curators": pl.Int64, "epsilon": pl.Float64}


class CuratorsStudy(Study):
    """Recall@20 of the default recommender: of one curator alone, of all combined, and of all records in one hand.

    What a curator reaches alone is the mean of ``alone`` of them. The splits have the seeds ``seed + 1``, ``seed + 2``,
    …: constants of the model were settled on another one.
    """

    name = "curators"
    quick_most = Most(people=1_500, items=1_000, records=50_000)

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        if len(data) == 0:
            raise DataError("there are no records to learn from.")
        likes = likes_of(distinct_items(data if data.catalog_is_public else data.with_catalog("observed")))
        test_users = min(MOST_TEST_USERS, math.ceil(likes.n_users / 10))
        splits = [seed + 1 + split for split in range(settings.splits)]
        each = sum(min(settings.alone, count) + 1 for count in settings.curators) + 1
        steps.expect(len(splits) * len(settings.epsilons) * each)
        rows, learned_from = [], 0
        with sandbox():
            for split in splits:
                asked = strong_generalization(likes, split, test_users, FOLD_IN, LEAST_LIKES, None)
                learned_from = asked.train.n_users
                for epsilon in settings.epsilons:
                    for way, count, value in _values(asked, epsilon, settings, split, steps):
                        rows.append((way, count, float(epsilon), value))
        recall = summarized(rows, KEYS)
        whole = recall.filter(way=ONE_HAND).select("epsilon", whole="value")
        recall = recall.join(whole, on="epsilon", maintain_order="left").with_columns(
            share=pl.col("value") / pl.col("whole")
        )
        setting: dict[str, Any] = {"people held out": test_users, "people who are learned from": learned_from}
        setting["seeds of the splits"] = splits
        return Measurements(setting, {"recall": recall.drop("whole")}, {}, {"delta": settings.delta})


def _values(
    asked: Questions, epsilon: str, settings: Settings, seed: int, steps: Steps
) -> Iterator[tuple[str, int, float]]:
    def recall(model: Any) -> float:
        return float(ask_model(METRIC, model, asked, LENGTHS)[METRIC])

    method = create(METHOD, epsilon=epsilon, delta=settings.delta)
    yield ONE_HAND, 1, recall(create(METHOD, epsilon=epsilon, delta=settings.delta).fit(asked.train))
    steps.done(f"ε = {epsilon}, {ONE_HAND}")
    for count in settings.curators:
        parts = divided(asked.train, count, seed)
        for part in parts[: settings.alone]:
            yield ALONE, count, recall(create(METHOD, epsilon=epsilon, delta=settings.delta).fit(part))
            steps.done(f"ε = {epsilon}, {ALONE}, {count} curators")
        after = None
        while after is None or after.kind == "round":
            after = combine(*(release_round(method, part, after=after) for part in parts), people="disjoint")
        yield COMBINED, count, recall(type(method).of_release(after))  # type: ignore[attr-defined]
        steps.done(f"ε = {epsilon}, {COMBINED}, {count} curators")


def divided(data: Interactions, curators: int, seed: int) -> list[Interactions]:
    """The people of the data, divided at random into groups of equal size."""
    owner = np.random.default_rng(seed).permutation(data.n_users) % curators
    return [data.filter(owner[data.user] == curator, independent=True) for curator in range(curators)]
