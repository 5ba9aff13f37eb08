"""Study: partitioned probabilistic neighbor selection (PPNS) and the kNN attacks, Figures 5.4 to 5.15 of Lu's thesis.

The curves are not in the copy of the thesis at hand; each figure is measured again from its caption and judged by what
the text says of it. The thesis reports the error of predictions under attack and takes a small one for a success. But
what is predicted there are ratings that the attacker does not know: a small error is the *attacker's* success. So the
share of all hidden ratings that is recovered is shown beside the error, and the same without the target's records.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
University of Adelaide 2015, chapter 5.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.data.splits import seeded
from discreet.errors import UsageError
from discreet.neighbors.similarity import Kind, Similarity
from discreet.studies.ppns.attacks import KNOWN, READINGS, Attacks, Model, strategy
from discreet.studies.ppns.panel import Panel, RatingPool, Score
from discreet.studies.ppns.questions import left_out, turned, whole
from discreet.studies.study import Measurements, Settings, Steps, Study, one_rating_each

__all__ = ["PPNSStudy", "sized"]

Axis = Literal["user", "item"]

MOST_USERS = 1_000
"""Of more users this many are drawn: the size of the data that the thesis uses."""

CELLS = 4_000_000
"""Ratings in question × candidates, at most: where there are more candidates, fewer ratings are asked."""

BETAS = (1, 2, 3, 4)
ACCURACY_METHODS: tuple[tuple[Model, int | None], ...] = (
    ("kNN", None),
    *(("PPNS", beta) for beta in BETAS),
    ("nPNS", None),
    ("PNCF", None),
)
ACCURACY_READINGS: tuple[tuple[str, Kind, bool], ...] = (
    ("co-rated, answer inside", "cosine", True),
    ("co-rated, left out", "cosine", False),
    ("full cosine, left out", "cosine_full", False),
)
"""Name, similarity, and whether the rating in question is among those that the similarity is computed from."""

VARIED = {"β": "beta", "β₀": "beta", "k": "k", "ε": "epsilon", "m": "known", "x": "x"}
"""The option of an attack that each symbol stands for."""


class PPNSStudy(Study):
    """Accuracy without attacks, and the error and the recovered ratings under attack.

    In the tables "exact" is the share of all hidden ratings that the attacker is told to the last digit, "right" the
    share that is right after rounding, which a mean of strangers often is, too; "absent" is the same attack without
    the target's records. Which sweeps there are is in the layout.
    """

    name = "ppns"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        one_rating_each(data)
        sampled = data.sample_users(MOST_USERS, seed=seed) if data.n_users > MOST_USERS else data
        settings = sized(settings, sampled.n_users)
        steps.expect(2 + len(settings.sweeps))
        attacks, tables, labels = Attacks(sampled, settings, seed=seed), {}, dict(settings.values)
        figures: dict[str, Axis] = {"5.4": "item", "5.5": "user"}
        for number, axis in figures.items():
            tables[number], labels[f"{axis}_k"] = accuracy(sampled, settings, axis, seed=seed)
            steps.done(f"{axis}-based accuracy")
        for sweep in settings.sweeps:
            tables[sweep["figure"]] = swept(attacks, settings, sweep)
            steps.done(f"figure {sweep['figure']}")
        labels["averaged"] = ", ".join(map(str, settings.averaged))
        shown = {name: value for name, value in settings.values.items() if name not in ("sweeps", "quick")}
        setting = {
            "data": data.name or repr(data),
            "users": sampled.n_users,
            "items": sampled.n_items,
            "records": len(sampled),
            "seed": seed,
            "m": KNOWN,
            **shown,
        }
        return Measurements(setting, tables, labels=labels)


def sized(settings: Settings, n_users: int) -> Settings:
    """The settings for a number of users.

    The thesis runs the attacks with k = 50 and the accuracy with k = 100 among 943 users, and lets β go up to users/2k.
    Smaller data have a smaller k, so that there are as many partitions.
    """
    k = min(50, n_users // 18)
    if k < 2:
        raise UsageError(
            f"{n_users} users are too few for nine partitions of at least two neighbors.",
            remedy="The study needs at least 36 users; its results mean something from some hundreds on.",
        )
    tenths = (5, 10) if settings.quick else (2, 5, 10, 15, 20)
    ks = tuple(sorted({max(2, k * part // 10) for part in tenths}))
    return settings.with_(k=k, ks=ks, accuracy_k=min(100, 2 * k))


def accuracy(data: Interactions, settings: Settings, axis: Axis, *, seed: int) -> tuple[pl.DataFrame, int]:
    """Errors where nobody attacks, under three readings, and the k that they were measured with."""
    records = data if axis == "user" else turned(data)
    able = np.flatnonzero(records.records_per_user > 1)
    if able.size == 0:
        raise UsageError(f"no {axis} has two ratings, so none can be left out and predicted from the others.")
    people = seeded(seed, f"ppns {axis}s").permutation(able)[: settings.people]
    k, most = min(settings.accuracy_k, records.n_users // 5), min(settings.questions, CELLS // records.n_users)
    pool, rows = RatingPool(records), []
    for reading, kind, inside in ACCURACY_READINGS:
        asked = whole(records, people) if inside else left_out(records, people, most=most, seed=seed)
        panel = Panel(pool, asked, Similarity(kind))
        for model, beta in ACCURACY_METHODS:
            score = panel.ask(strategy(model, k=k, beta=beta), present=False)
            row = {"reading": reading, "model": model, "β": beta, "MAE": score.mae}
            rows.append(row | {"±": score.standard_error, "unanswered": score.unanswered})
    return pl.DataFrame(rows, schema_overrides={"β": pl.Int64}), k


def swept(attacks: Attacks, settings: Settings, sweep: dict[str, Any]) -> pl.DataFrame:
    """One figure: all readings, models and values of one parameter; no row where there was nobody to attack."""
    symbol, rows = sweep["over"], []
    for reading in sweep["readings"]:
        for model in sweep["models"]:
            for value in getattr(settings, sweep["values"]):
                if symbol == "β₀" and value > settings.beta:
                    continue
                options: dict[str, Any] = {VARIED[symbol]: value}
                if sweep.get("averaged"):
                    options["sizes"] = [x for x in settings.averaged if symbol != "β₀" or x <= value]
                    scores = attacks.mean_score(READINGS[reading], model, **options)
                else:
                    scores = attacks.score(READINGS[reading], model, **options)
                if scores is not None:
                    rows.append({"reading": reading, "model": model, symbol: value, **_columns(*scores)})
    return pl.DataFrame(rows).with_columns(pl.col("MAE").fill_nan(None))


def _columns(present: Score, absent: Score) -> dict[str, float]:
    return {
        "MAE": present.mae,
        "exact": present.exact,
        "exact, absent": absent.exact,
        "right": present.right,
        "right, absent": absent.right,
        "unanswered": present.unanswered,
    }
