"""Study: a model every week for a year, by a series, by fits that pay for themselves, and by fewer fits.

Records come by their own times. At each step the model that would be in use is asked the same questions: rankings of
people who are held out (strong generalization), ratings of a random tenth of the records. All ways spend the same ε and
δ over the whole year.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import DataError
from discreet.evaluation.protocols import RATING_PROTOCOLS, Questions, ask_model, strong_generalization
from discreet.models.registry import create
from discreet.models.released_model import ReleasedModel
from discreet.privacy.bounding import distinct_items
from discreet.privacy.charging import sandbox
from discreet.privacy.losses import GaussianLoss, mu_for
from discreet.privacy.series import Factorization
from discreet.series import Series
from discreet.series.settling import settling_step
from discreet.studies.study import Measurements, Settings, Steps, Study

__all__ = ["NightlyStudy", "clock_of"]

DAY = 24 * 3600
FOLD_IN, LEAST_LIKES, LENGTHS = 0.8, 5, [20]
SERIES, WITHOUT = "series", "without privacy"

Models = Iterator[Any]
"""The model in use at each step, from the first that has one."""


class NightlyStudy(Study):
    """Recall@20 and RMSE of the model of each week of a year.

    The steps before ``settle`` only collect records, for all ways alike; where it is not set, the rule of a series for
    as many people as there are decides. People enter the series with ``enter_after``
    records, or on the last step; the other ways learn from all records of everybody so far.
    """

    name = "nightly"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        records = distinct_items(data if data.catalog_is_public else data.with_catalog("observed"))
        start, length = clock_of(records, settings.steps, settings.days)
        assert records.timestamp is not None
        records = records.filter((records.timestamp - start) // length < settings.steps)
        likes = strong_generalization(records, seed, None, FOLD_IN, LEAST_LIKES, None)
        if settings.settle is None:
            priced = create("private-recommender", epsilon=settings.epsilon, delta=settings.delta)
            settings = settings.with_(settle=settling_step(priced, settings.steps, None, records.n_users))
        asked = {"recall@20": ("private-recommender", "ease", likes)}
        if records.rating is not None and records.scale is not None:
            asked["rmse"] = ("private-ratings", "biases", RATING_PROTOCOLS["holdout"](records, seed))
        released = settings.steps - settings.settle
        cadences = {f"every {every} steps" if every > 1 else "every step": every for every in settings.every}
        shown = {*range(settings.settle, settings.steps, settings.shown), settings.steps - 1}
        steps.expect(len(asked) * len(shown) * (len(cadences) + 2))
        rows = []
        for metric, (method, reference, questions) in asked.items():
            parts = _Parts(questions.train, start, length)
            ways: dict[str, Callable[[], Models]] = {SERIES: lambda m=method, p=parts: _series(m, p, settings)}
            for name, every in cadences.items():
                ways[name] = lambda m=method, p=parts, e=every: _fits(m, p, e, settings)
            ways[WITHOUT] = lambda r=reference, p=parts: (
                create(r).fit(p.so_far(t)) if t in shown else None for t in range(settings.settle, settings.steps)
            )
            for name, models in ways.items():
                with sandbox():
                    for t, model in enumerate(models(), start=settings.settle):
                        if t not in shown:
                            continue
                        value = _asked(metric, model, replace(questions, train=parts.so_far(t)))
                        rows.append((metric, name, t, parts.so_far(t).n_users, value))
                        steps.done(f"{metric}, {name}, step {t}")
        keys = {"metric": pl.String, "way": pl.String, "step": pl.Int64, "users": pl.Int64, "value": pl.Float64}
        weeks = pl.DataFrame(rows, schema=keys, orient="row")
        means = weeks.group_by("metric", "way", maintain_order=True).agg(
            mean=pl.col("value").mean(), last=pl.col("value").last()
        )
        noise = {SERIES: Factorization(released).noise_factor(released - 1)}
        noise |= {name: math.sqrt(math.ceil(released / every)) for name, every in cadences.items()}
        compared = pl.DataFrame({"way": list(noise), "noise": list(noise.values())})
        setting = {
            "people held out for rankings": likes.held_out.n_users,
            "first step that releases": settings.settle,
            "steps that release": released,
        }
        return Measurements(setting, {"weeks": weeks, "means": means, "noise": compared}, {}, _labels(settings))


def _labels(settings: Settings) -> dict[str, Any]:
    return {"epsilon": settings.epsilon, "steps": settings.steps, "enter_after": settings.enter_after}


def clock_of(records: Interactions, steps: int, days: int | None) -> tuple[int, int]:
    """When the first step begins, and the seconds of a step; where no days are given, all records are in the steps."""
    if records.timestamp is None or not len(records):
        raise DataError("this study needs records with times.")
    start, end = int(records.timestamp.min()), int(records.timestamp.max())
    return start, math.ceil((end + 1 - start) / steps) if days is None else days * DAY


class _Parts:
    """The training records by step."""

    def __init__(self, train: Interactions, start: int, length: int) -> None:
        assert train.timestamp is not None
        self.train, self.at = train, (train.timestamp - start) // length
        self._latest: tuple[int, Interactions] | None = None

    def of(self, step: int) -> Interactions:
        return self.train.filter(self.at == step, independent="record")

    def so_far(self, step: int) -> Interactions:
        if self._latest is None or self._latest[0] != step:
            self._latest = step, self.train.filter(self.at <= step, independent="record")
        return self._latest[1]


def _series(method: str, parts: _Parts, settings: Settings) -> Models:
    """One series: a release at each step from ``settle`` on."""
    made = create(method, epsilon=settings.epsilon, delta=settings.delta)
    series = Series(made, steps=settings.steps, settle=settings.settle, enter_after=settings.enter_after)
    for t in range(settings.steps):
        release = series.advance(parts.of(t))
        if release is not None:
            yield type(made).of_release(release)


def _fits(method: str, parts: _Parts, every: int, settings: Settings) -> Models:
    """A fit every so many steps, each with an equal share of the budget, in use until the next one."""
    fits = math.ceil((settings.steps - settings.settle) / every)
    share = GaussianLoss(mu_for(settings.epsilon, settings.delta) ** 2 / fits)
    epsilon = share.epsilon_at(Fraction(settings.delta))
    model = None
    for t in range(settings.settle, settings.steps):
        if (t - settings.settle) % every == 0:
            model = create(method, epsilon=epsilon, delta=settings.delta).fit(parts.so_far(t))
        yield model


def _asked(metric: str, model: Any, questions: Questions) -> float:
    """One number of the model in use; people's own results go by all that they did so far."""
    if isinstance(model, ReleasedModel) and not questions.rankings:
        model.attach(questions.train)
    return float(ask_model(metric, model, questions, LENGTHS)[metric])
