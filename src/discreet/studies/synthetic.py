"""Study: what people who do not exist are good for, and what they give away about those who do.

Rankings by strong generalization, as in the study ``frontier``: EASE, ALS and item kNN learn from synthetic people and
are asked by real ones, beside the same models that learned from real people and ``PrivateRecommender`` at the same ε.
Marginals are compared on all records, with their ratings. The attacker looks for a person's history among the people
who were drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from discreet.attacks import audit
from discreet.common.arrays import Floats
from discreet.data import synthetic
from discreet.data.interactions import Interactions
from discreet.errors import DataError
from discreet.evaluation.protocols import Questions, run_model, strong_generalization
from discreet.factors import draw_interactions
from discreet.models.likes import liked_records
from discreet.models.registry import create
from discreet.privacy.bounding import distinct_items
from discreet.privacy.charging import sandbox
from discreet.studies.frontier import FOLD_IN, LEAST_LIKES, MOST_TEST_USERS, likes_of
from discreet.studies.quick import Most
from discreet.studies.study import Measurements, Settings, Steps, Study, made, summarized

__all__ = ["SyntheticStudy", "marginals", "membership_auc"]

REAL, PRIVATE = "real people", "PrivateRecommender"
COMPARED, TARGETS = 150, 300
"""So many of the most popular items are compared pair by pair; so many members and others are looked for."""

KEYS = {"learned": pl.String, "model": pl.String, "epsilon": pl.Float64}
FACTS = {"statistic": pl.String, "epsilon": pl.Float64}


class SyntheticStudy(Study):
    """Recall of models that learn from synthetic people, their marginals, and an attack on them."""

    name = "synthetic"
    quick_most = Most(people=1_500, items=500, records=50_000)

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        if len(data) == 0:
            raise DataError("there are no records to learn from.")
        records = distinct_items(data if data.catalog_is_public else data.with_catalog("observed"))
        likes = likes_of(records)
        seeds = [seed + 1 + split for split in range(settings.splits)]
        test_users = min(MOST_TEST_USERS, math.ceil(likes.n_users / 10))
        models = self.layout["methods"]["models"]
        drawn = len(settings.times) * len(models)
        steps.expect(len(seeds) * (len(models) + len(settings.epsilons) * (1 + drawn)) + len(settings.epsilons))
        rows: list[tuple[Any, ...]] = []
        found: list[tuple[Any, ...]] = []
        for split in seeds:
            asked = strong_generalization(likes, split, test_users, FOLD_IN, LEAST_LIKES, None)
            for epsilon in (None, *settings.epsilons):
                rows += _recalls(asked, models, epsilon, settings, steps, found)
        with sandbox():
            for epsilon in settings.epsilons:
                drawn_people = draw_interactions(_method(epsilon, settings).release(records))
                found += [(name, float(epsilon), value) for name, value in marginals(records, drawn_people)]
                steps.done(f"marginals, ε = {epsilon}")
        ranking = summarized(rows, KEYS)
        return Measurements(
            {"users held out": test_users, "seeds of the splits": seeds},
            {"ranking": ranking, "shares": _shares(ranking), "facts": summarized(found, FACTS)},
            _audited(settings, seed, steps),
            {"delta": settings.delta},
        )


def _method(epsilon: str, settings: Settings) -> Any:
    return create("synthetic-interactions", epsilon=epsilon, delta=settings.delta)


def _recalls(
    asked: Questions,
    models: list[dict[str, Any]],
    epsilon: str | None,
    settings: Settings,
    steps: Steps,
    found: list[tuple[Any, ...]],
) -> list[tuple[Any, ...]]:
    """Recall@20 of everything that learns with one budget, or without privacy; what an attacker finds, besides."""
    rows: list[tuple[Any, ...]] = []

    def ask(learned: str, name: str, model: Any, questions: Questions) -> None:
        run = steps.attempt(name, partial(run_model, name, model, questions, [20]))
        steps.done(f"{name}, {learned}, ε = {epsilon}")
        if run is not None:
            at = None if epsilon is None else float(epsilon)
            rows.append((learned, name, at, run.scores["recall@20"]))

    if epsilon is None:
        for one in models:
            ask(REAL, one["name"], made(one, {}), asked)
        return rows
    ask(REAL, PRIVATE, create("private-recommender", epsilon=epsilon, delta=settings.delta), asked)
    with sandbox():
        release = _method(epsilon, settings).release(asked.train)
        for times in settings.times:
            people = draw_interactions(release, people=None if times == 1 else times * release.parameters["drawn"])
            found.append((f"membership, AUC, × {times}", float(epsilon), membership_auc(asked, people)))
            for one in models:
                ask(f"synthetic people × {times}", one["name"], made(one, {}), replace(asked, train=people))
    return rows


def _shares(ranking: pl.DataFrame) -> pl.DataFrame:
    """Recall of what learned from synthetic people over that of ``PrivateRecommender`` with the same budget."""
    private = ranking.filter(model=PRIVATE).select("epsilon", best="value")
    learned = ranking.filter(pl.col("learned") != REAL).join(private, on="epsilon")
    return learned.select("learned", "model", "epsilon", share=pl.col("value") / pl.col("best"))


def marginals(real: Interactions, drawn: Interactions) -> Iterable[tuple[str, float]]:
    """How near synthetic people come to real ones, by name."""
    popular = [one.records_per_item / max(1, len(one)) for one in (real, drawn)]
    yield "popularity, correlation", _correlation(*popular)
    yield "popularity, total variation", float(np.abs(popular[0] - popular[1]).sum() / 2)
    yield "activity, Kolmogorov–Smirnov", _apart(real.records_per_user, drawn.records_per_user)
    yield "mean length of a history, ratio", float(drawn.records_per_user.mean() / real.records_per_user.mean())
    head = np.sort(np.argsort(-real.records_per_item, kind="stable")[:COMPARED])
    pairs = [_pair_correlations(liked_records(one, None), head) for one in (real, drawn)]
    yield f"correlation of pairs of likes among {head.size} items, correlation", _correlation(*pairs)
    yield (
        f"correlation of pairs of likes among {head.size} items, ratio of deviations",
        float(pairs[1].std() / max(pairs[0].std(), 1e-12)),
    )
    if real.rating is None or drawn.rating is None or real.scale is None:
        return
    values = np.unique(np.concatenate([real.rating, drawn.rating]))
    shares = [np.searchsorted(values, one) for one in (real.rating, drawn.rating)]
    laws = [np.bincount(one, minlength=values.size) / one.size for one in shares]
    yield "ratings, total variation", float(np.abs(laws[0] - laws[1]).sum() / 2)
    means = [_mean_ratings(one)[head] for one in (real, drawn)]
    yield f"mean ratings of {head.size} items, correlation", _correlation(*means)


def _correlation(one: Floats, other: Floats) -> float:
    if one.std() == 0 or other.std() == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def _apart(one: Any, other: Any) -> float:
    """The largest distance of two empirical distribution functions."""
    points = np.unique(np.concatenate([one, other]))
    ranks = [np.searchsorted(np.sort(values), points, side="right") / values.size for values in (one, other)]
    return float(np.abs(ranks[0] - ranks[1]).max())


def _pair_correlations(likes: Interactions, head: Any) -> Floats:
    """Correlations of having two items, for all pairs of the head."""
    matrix = likes.csr[:, head].toarray() != 0
    matrix = matrix - matrix.mean(axis=0)
    matrix /= np.maximum(matrix.std(axis=0), 1e-9)
    return (matrix.T @ matrix / matrix.shape[0])[np.triu_indices(len(head), 1)]


def _mean_ratings(data: Interactions) -> Floats:
    assert data.rating is not None
    total = np.bincount(data.item, weights=data.rating, minlength=data.n_items)
    return total / np.maximum(data.records_per_item, 1)


def membership_auc(asked: Questions, people: Interactions) -> float:
    """How well the nearest synthetic history tells who was in the data: 0.5 is a coin, 1 is certainty.

    The attacker has the histories of some people who were in the data and of some who were not, and orders them by
    their largest cosine with a synthetic history.
    """
    from scipy.sparse import csr_array

    members = asked.train.csr[: min(TARGETS, asked.train.n_users)]
    shape = (asked.told.n_users, asked.train.n_items)
    held = asked.told.users.encode(asked.held_out.users.series, unknown="mark")
    rest = asked.held_out.csr.tocoo()
    rows = held[rest.coords[0]]
    others = asked.told.csr + csr_array(
        (rest.data[rows >= 0], (rows[rows >= 0], rest.coords[1][rows >= 0])), shape=shape
    )
    scores = [_nearest(one, people) for one in (members, others[:TARGETS])]
    both = np.concatenate(scores)
    order = np.argsort(both, kind="stable")
    ranks = np.empty(both.size)
    ranks[order] = np.arange(1, both.size + 1)
    # Equal scores share their ranks.
    values, place = np.unique(both, return_inverse=True)
    ranks = (np.bincount(place, weights=ranks) / np.bincount(place))[place] if values.size < both.size else ranks
    first, second = scores[0].size, scores[1].size
    return float((ranks[:first].sum() - first * (first + 1) / 2) / (first * second))


def _nearest(histories: Any, people: Interactions) -> Floats:
    """The largest cosine of each history with a synthetic one."""
    known, drawn = histories.astype(np.float32), people.csr.astype(np.float32)
    known.data[:], drawn.data[:] = 1, 1
    lengths = np.sqrt(drawn.sum(axis=1))
    own = np.sqrt(np.maximum(known.sum(axis=1), 1))
    return np.concatenate(
        [
            ((known[first : first + 50] @ drawn.T).toarray() / lengths).max(axis=1) / own[first : first + 50]
            for first in range(0, known.shape[0], 50)
        ]
    )


def _audited(settings: Settings, seed: int, steps: Steps) -> dict[str, float | None]:
    """What an audit by canaries proves about a release on small data, rows and sums together."""
    if not settings.audit_seconds:
        return {}
    films = synthetic.films(users=60, items=30, seed=7)
    method = create("synthetic-interactions", epsilon=settings.audit_epsilon, people=60)
    report = steps.attempt(
        "audit", partial(audit, method, films, attacks="canary", seconds=settings.audit_seconds, seed=seed, processes=1)
    )
    if report is None:
        return {}
    proved = max(score.proved.epsilon for score in report.scores)
    return {"ε promised in the audit": float(settings.audit_epsilon), "ε that the audit proves": proved}
