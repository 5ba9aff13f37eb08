"""The frontier: accuracy of all proved models over ε, beside a published competitor and models without privacy.

Rankings by strong generalization: a tenth of the users (2,000 at most) is held out, four fifths of their likes are
told, the others asked about. Ratings, where there are any, by a random 80/10/10. ``PrivateRecommender`` also learns
from a quarter and from half of the users, to see accuracy over users × μ.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from discreet.data import splits
from discreet.data.interactions import Interactions
from discreet.errors import DataError, EvaluationError
from discreet.evaluation.protocols import RATING_PROTOCOLS, Questions, Run, run_model, strong_generalization
from discreet.models.likes import liked_records
from discreet.models.registry import settings_of
from discreet.privacy.bounding import distinct_items
from discreet.privacy.losses import mu_for
from discreet.studies.quick import Most
from discreet.studies.study import Measurements, Settings, Steps, Study, made, summarized

__all__ = ["FrontierStudy", "crossover", "distances", "learning_curve", "likes_of", "measurements", "on_fewer"]

LEAST_LIKES, FOLD_IN = 5, 0.8
LEAST_USERS = 20
MOST_TEST_USERS = 2_000
FEATURES = ("genres", "release_year", "year")
"""Public columns of a catalog that say something about tastes, where there are such."""

TUNED = 0
"""The split of MovieLens 1M on which the constants of the models were settled."""

MAIN, POPULAR = "PrivateRecommender", "private popularity"
LENGTHS = [20, 100]
RANKING_METRICS, RATING_METRICS = ("recall@20", "ndcg@100", "catalog@20", "popularity@20"), ("rmse", "mae")

KEYS = {"model": pl.String, "protects": pl.String, "epsilon": pl.Float64, "share": pl.Float64, "metric": pl.String}


class FrontierStudy(Study):
    """Accuracy over ε.

    Ratings from three quarters up the scale on are likes; without a scale every record is one. Where no catalog was
    declared, the items that occur are taken for public. The splits have the seeds ``seed + 1``, ``seed + 2``, …: with
    the default, the split with seed 0, on which constants of the models were settled, is left out.
    """

    name = "frontier"
    compares_models = True
    quick_most = Most(people=1_500, items=1_000, records=50_000)

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        if len(data) == 0:
            raise DataError("there are no records to learn from.")
        records = distinct_items(data if data.catalog_is_public else data.with_catalog("observed"))
        likes = likes_of(records)
        seeds = [seed + TUNED + 1 + split for split in range(settings.splits)]
        test_users = min(MOST_TEST_USERS, math.ceil(likes.n_users / 10))
        columns = [] if records.item_table is None else records.item_table.columns
        features = tuple(name for name in FEATURES if name in columns)
        own = [_listed(kind) for kind in self.models]
        rankers = _able([*self.layout["methods"]["rankings"], *own], records, features, steps)
        rated_records = data.rating is not None and data.scale is not None
        raters = [*self.layout["methods"]["ratings"], *own] if rated_records else []
        shares = [Fraction(share) for share in settings.shares]
        values = {"delta": settings.delta, "features": features}
        fits = sum(len(_budgets(one, settings)) for one in (*rankers, *raters))
        steps.expect(len(seeds) * (fits + len(settings.epsilons) * (len(shares) - 1)))
        ranked, rated = [], []
        for split in seeds:
            asked = strong_generalization(likes, split, test_users, FOLD_IN, LEAST_LIKES, None).with_ratings(records)
            for one in rankers:
                ranked += _runs(one, asked, settings, values, steps)
            for share in shares[:-1]:
                ranked += _runs(rankers[0], on_fewer(asked, share, split), settings, values, steps, share=float(share))
            # One tenth is predicted, and one is left for tuning, which nobody does here.
            asked = RATING_PROTOCOLS["holdout"](records, split) if raters else asked
            for one in raters:
                rated += _runs(one, asked, settings, values, steps)
        if not ranked:
            raise EvaluationError("no model could be fitted.", remedy=" ".join(why for _, why in steps.not_run))
        setting = {
            "records": len(records),
            "catalog": "declared public"
            if data.catalog_is_public
            else "not declared: the items that occur are taken for public",
            "likes": len(likes),
            f"users with {LEAST_LIKES} likes": likes.n_users,
            "users held out": test_users,
            "share of their likes that is told": FOLD_IN,
            "public columns used": list(features),
            "seeds of the splits": seeds,
        }
        labels = {"records": len(records), "users": records.n_users, "delta": f"{float(settings.delta):g}"}
        ratings = summarized(rated, KEYS) if rated else None
        return measurements(setting, summarized(ranked, KEYS), ratings, labels)


def _listed(kind: type[Any]) -> dict[str, Any]:
    """A model of somebody's own, as the layout lists models."""
    known = settings_of(kind)
    budget = {name: f"${name}" for name in ("epsilon", "delta") if name in known}
    return {"name": kind.name, "kind": kind, "protects": "user" if budget else "", "with": budget}


def likes_of(data: Interactions) -> Interactions:
    """Who likes what: liked records without their ratings, of people who like at least five items.

    Rankings go by what is liked. That a model may spend part of its budget on how much would not be fair to it. Models
    that spend nothing on ratings get all of them.
    """
    liked = liked_records(data, None)
    liked = liked.filter((liked.records_per_user >= LEAST_LIKES)[liked.user])
    if liked.n_users < LEAST_USERS:
        raise EvaluationError(
            f"{liked.n_users} users like {LEAST_LIKES} items or more; it takes {LEAST_USERS} to learn from.",
            remedy="Give more records.",
        )
    catalog = pl.DataFrame({"item_id": liked.items.series})
    if liked.item_table is not None:
        catalog = catalog.hstack(liked.item_table)
    return Interactions(liked.to_frame().select("user_id", "item_id"), items=catalog, name=data.name)


def on_fewer(questions: Questions, share: Fraction, seed: int) -> Questions:
    """The same questions to a model that learned from a share of the users."""
    train = questions.train
    kept = splits.choose_users(train.n_users, max(1, round(share * train.n_users)), seed=seed)
    fewer = Questions(train.filter(kept[train.user]), questions.told, questions.held_out, questions.rankings)
    if questions.rated is None:
        return fewer
    return replace(fewer.with_ratings(questions.rated), rated_told=questions.rated_told)


def _able(
    listed: list[dict[str, Any]], records: Interactions, features: tuple[str, ...], steps: Steps
) -> list[dict[str, Any]]:
    """The models that can run on these records; the others are told with the reason."""
    able = []
    for one in listed:
        most = one.get("items", math.inf)
        if "features" in one.get("with", {}) and not features:
            steps.skipped(one["name"], f"the catalog has none of the columns {', '.join(FEATURES)}.")
        elif records.n_items > most:
            steps.skipped(one["name"], f"{records.n_items:,} items; it takes {most:,} at most.")
        else:
            able.append(one)
    return able


def _budgets(one: dict[str, Any], settings: Settings) -> tuple[str | None, ...]:
    """The values of ε that a model is fitted with; one that protects nobody has none."""
    return settings.epsilons if one["protects"] else (None,)


def _runs(
    one: dict[str, Any],
    questions: Questions,
    settings: Settings,
    values: dict[str, Any],
    steps: Steps,
    *,
    share: float = 1.0,
) -> list[tuple[Any, ...]]:
    """A model with every budget on one split: its keys and each metric. Where it cannot run, there are no rows."""
    rows = []
    for epsilon in _budgets(one, settings):
        name = one["name"] if epsilon is None else f"{one['name']}, ε = {epsilon}"
        run = steps.attempt(name, partial(_run, one, {**values, "epsilon": epsilon}, questions))
        steps.done(name)
        if run is None:
            continue
        metrics = RANKING_METRICS if questions.rankings else RATING_METRICS
        found = {metric: run.scores[metric] for metric in metrics}
        found |= {"users": questions.train.n_users, "fit, s": run.fit_seconds}
        key = (one["name"], one["protects"], None if epsilon is None else float(Fraction(epsilon)), share)
        rows += [(*key, metric, value) for metric, value in found.items()]
    return rows


def _run(one: dict[str, Any], values: dict[str, Any], questions: Questions) -> Run:
    return run_model(one["name"], made(one, values), questions, LENGTHS)


# What follows from the measured accuracy


def measurements(
    setting: dict[str, Any], ranking: pl.DataFrame, ratings: pl.DataFrame | None, labels: dict[str, Any]
) -> Measurements:
    """Tables and figures: means and deviations by model, ε, share of the users and metric, and what follows."""
    curve = learning_curve(ranking, delta=labels["delta"])
    tables = {"ranking": ranking, "curve": curve} | ({} if ratings is None else {"ratings": ratings})
    at_epsilon, at_strength = distances(curve)
    figures = {
        f"users × μ from which {MAIN} beats private popularity, {metric}": crossover(ranking, curve, metric)
        for metric in ("recall@20", "ndcg@100")
    } | {
        "distance of the curves of fewer users at equal ε": at_epsilon,
        "distance of the curves of fewer users at equal users × μ": at_strength,
    }
    learned_from = {"users that rankings are learned from": curve["users"].max()}
    return Measurements(setting | learned_from, tables, figures, labels | {"yardstick": _yardstick(ranking)})


def _yardstick(ranking: pl.DataFrame) -> str:
    """The model without privacy that rankings are compared with."""
    return "EASE" if "EASE" in ranking["model"] else "ALS"


def learning_curve(ranking: pl.DataFrame, *, delta: str) -> pl.DataFrame:
    """PrivateRecommender by share of the users and ε."""
    of_best = ranking.filter(model=_yardstick(ranking), metric="recall@20")["value"]
    best = of_best.item() if of_best.len() else None
    main = ranking.filter(model=MAIN).sort("share", "epsilon")
    mu = [float(mu_for(Fraction(epsilon), delta)) for epsilon in main.filter(metric="users")["epsilon"]]
    users = main.filter(metric="users").with_columns(pl.col("value").round().cast(pl.Int64), mu=pl.Series(mu))
    recall = main.filter(metric="recall@20").join(users, on=["share", "epsilon"], suffix=" of users")
    return recall.select(
        pl.Series("share of users", [str(Fraction(share)) for share in recall["share"]]),
        pl.col("epsilon").alias("ε"),
        pl.col("value of users").alias("users"),
        (pl.col("value of users") * pl.col("mu")).alias("users × μ"),
        pl.col("value").alias("recall@20"),
        "sd",
        (pl.col("value") / best).alias("of the best without privacy"),
    )


def distances(curve: pl.DataFrame) -> tuple[float | None, float | None]:
    """Mean distance of the curves of fewer users from that of all: at equal ε, and at equal users × μ."""
    of_all = pl.col("share of users") == "1"
    whole = curve.filter(of_all)
    if whole.is_empty():
        return None, None
    known, recall = np.log(whole["users × μ"].to_numpy()), whole["recall@20"].to_numpy()
    fewer = curve.filter(~of_all).join(whole, on="ε", suffix=" of all")
    fewer = fewer.filter(pl.col("users × μ").log().is_between(known[0], known[-1]))
    if fewer.is_empty():
        return None, None
    ours = fewer["recall@20"].to_numpy()
    there = np.interp(np.log(fewer["users × μ"].to_numpy()), known, recall)
    return float(np.abs(ours - fewer["recall@20 of all"].to_numpy()).mean()), float(np.abs(ours - there).mean())


def crossover(ranking: pl.DataFrame, curve: pl.DataFrame, metric: str = "recall@20") -> float | None:
    """Users × μ from which tastes beat private popularity, on the line through the points.

    None if they are behind at the largest budget, or if one of the two did not run; 0 if they are ahead at all.
    """
    found = ranking.filter(metric=metric, share=1.0)
    both = found.filter(model=MAIN).join(found.filter(model=POPULAR), on="epsilon", suffix=" of popularity")
    both = both.sort("epsilon")
    if both.is_empty():
        return None
    ahead = (both["value"] - both["value of popularity"]).to_numpy()
    behind = np.flatnonzero(ahead <= 0)
    if not behind.size:
        return 0.0
    last = int(behind[-1])
    if last == ahead.size - 1:
        return None
    strength = dict(curve.filter(pl.col("share of users") == "1").select("ε", "users × μ").iter_rows())
    left, right = (math.log(strength[epsilon]) for epsilon in both["epsilon"][last : last + 2])
    return math.exp(left + ahead[last] / (ahead[last] - ahead[last + 1]) * (right - left))
