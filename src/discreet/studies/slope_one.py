"""Study: Slope One with noise on every prediction, Figures 1(a), 1(b) and 2 of Park and Acharya.

The curves are not in the copy at hand; they are measured again from the text, which gives one number: at 70 % utility
the risk is 4 %. Three more attackers are compared with the published one: they keep to the rating scale, or average all
predictions of a person. That the noise does not give its guarantee is shown in ``tests/refutations/test_slope_one.py``.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. Project
report 2011, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from discreet.attacks.games.linear import HistorySizes, RatingAdversary, stepped, values_of
from discreet.attacks.games.observing import shown_scores
from discreet.attacks.risk import RiskCurve, RiskPoint
from discreet.attacks.risk.measuring import kept_shares
from discreet.common.remedies import KEEP_LATEST
from discreet.data.interactions import Interactions
from discreet.data.splits import choose_users
from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.models.registry import create
from discreet.studies.study import Measurements, Settings, Steps, Study, made, published, summarized

__all__ = ["ATTACKERS", "FIGURE", "PUBLISHED", "SlopeOneStudy", "at_utility", "sensitivity"]

TOP = 20
FIGURE = (0.1, 0.32, 1.0, 3.2, 10.0, 32.0, 100.0, 316.0, 1000.0)
FINE = tuple(float(10 ** (step / 6)) for step in range(-6, 19))
UTILITIES = (0.5, 0.7, 0.8, 0.9)

PUBLISHED = "one output, as published"
ATTACKERS: dict[str, dict[str, Any]] = {
    PUBLISHED: {"outputs": "one", "clipped": False},
    "one output, on the scale": {"outputs": "one", "clipped": True},
    "all outputs": {"outputs": "all", "clipped": False},
    "all outputs, on the scale": {"outputs": "all", "clipped": True},
}


class SlopeOneStudy(Study):
    """Risk and utility of noise on what Slope One predicts.

    Equations 4 to 6 as printed. Four fifths of the users are learned from; of the others those with at least T ratings
    are recommended to, from everything that they have not rated. The attacked rating is one of theirs, each as likely
    as the others.
    """

    name = "slope-one"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        records = prepared(data, settings)
        listed = self.layout["methods"]
        steps.expect(2 * settings.splits + len(listed))
        figure = curve_of(records, settings, FIGURE, seed=seed, done=lambda: steps.done("Figure 1"))
        fine = curve_of(records, settings, FINE, seed=seed, done=lambda: steps.done("Figure 2"))
        once = settings.with_(splits=1, games=1)
        others = {}
        for one in listed:
            fitted = partial(made, one, {"overlap": settings.overlap})
            curve = steps.attempt(
                one["name"], lambda fitted=fitted: curve_of(records, once, FINE, seed=seed, model=fitted())
            )
            if curve is not None:
                others[one["name"]] = curve
            steps.done(one["name"])
        described = {
            "φ_m": settings.overlap,
            "Δr": float(_reach(records)),
            "Δf": sensitivity(records, settings),
            "T": settings.least,
            "lists of": TOP,
        }
        chance = 1 / values_of(stepped(records.scale))
        return measurements(figure, fine, others, described, chance=chance)


def prepared(data: Interactions, settings: Settings) -> Interactions:
    """Records with a catalog; an error where the study cannot be run on them."""
    if data.rating is None or len(data) == 0:
        raise UsageError("Slope One compares ratings, and these records have none.")
    stepped(data.scale)
    if data.may_repeat:
        raise UsageError("this study needs one rating of each item by each user.", remedy=KEEP_LATEST)
    if int((data.records_per_user >= settings.least).sum()) < 10:
        raise UsageError(f"fewer than ten people have {settings.least} ratings, which the theorem asks for.")
    return data if data.catalog_is_public else data.with_catalog("observed")


def sensitivity(data: Interactions, settings: Settings) -> float:
    """Δf of Theorem 3.1; Δr is the highest rating, as in the paper, or the width of the scale if that is more."""
    options = {
        "least_ratings": settings.least,
        "minimum_overlap": settings.overlap,
        "rating_range": _reach(data),
    }
    return float(create("published-slope-one", epsilon=1, **options).sensitivity())


def _reach(data: Interactions) -> Fraction:
    """Δr."""
    scale = stepped(data.scale)
    return max(Fraction(scale.high), scale.width)


def curve_of(
    data: Interactions,
    settings: Settings,
    epsilons: tuple[float, ...],
    *,
    seed: int,
    model: Recommender | None = None,
    done: Callable[[], None] = lambda: None,
) -> pl.DataFrame:
    """By ε: the share of a list that stays, and how often each attacker is right, as means over the splits."""
    noises = [sensitivity(data, settings) / epsilon for epsilon in epsilons]
    rows = []
    for number in range(settings.splits):
        fresh = create("slope-one", minimum_overlap=settings.overlap) if model is None else model
        for name, values in _split(data, settings, fresh, noises, seed=seed + number).items():
            rows += [(epsilon, name, value) for epsilon, value in zip(epsilons, values.tolist(), strict=True)]
        done()
    means = summarized(rows, {"epsilon": pl.Float64, "what": pl.String})
    wide = means.pivot("what", index="epsilon", values="value", maintain_order=True)
    return wide.with_columns(utility_sd=means.filter(what="utility")["sd"], difference=1 - pl.col("utility"))


def _split(
    data: Interactions, settings: Settings, model: Recommender, noises: list[float], *, seed: int
) -> dict[str, np.ndarray]:
    """One split, for each scale of the noise: learn from four fifths of the users, recommend to the others."""
    held_out = choose_users(data.n_users, max(1, data.n_users // 5), seed=seed)
    asked = held_out & (data.records_per_user >= settings.least) & (data.records_per_user < data.n_items)
    if not asked.any():
        raise UsageError("nobody among the fifth that was drawn has enough ratings.", remedy="Try another seed.")
    fitted = model.fit(data.filter(~held_out[data.user]))
    test = data.filter(asked[data.user])
    scores = shown_scores(fitted.attach(test), test.users.series.to_list())
    people, scale = HistorySizes.of(test), stepped(data.scale)
    attackers = {name: RatingAdversary(scale, **options) for name, options in ATTACKERS.items()}
    found = {"utility": kept_shares(scores, noises, length=TOP, seed=seed, rounds=1).mean(axis=0)}
    # The risk of the published attacker is also measured by games, to check the closed form.
    games = {"seed": seed, "rounds": settings.games, "secret": "own"}
    found["drawn"] = np.array([attackers[PUBLISHED].simulate(people, noise=b, **games).mean() for b in noises])
    return found | {
        name: np.array([attacker.risk(people, noise=b, secret="own").mean() for b in noises])
        for name, attacker in attackers.items()
    }


def measurements(
    figure: pl.DataFrame,
    fine: pl.DataFrame,
    readings: dict[str, pl.DataFrame],
    setting: dict[str, Any],
    *,
    chance: float,
) -> Measurements:
    """Tables and figures that follow from the measured curves."""
    names = {row["key"]: row for row in published("slope-one")["claims"]}
    told = {0.7: float(names["seventy"]["published"])}
    utilities = [
        {"utility": utility, **there, "published": told.get(utility)}
        for utility in UTILITIES
        if (there := at_utility(fine, utility)) is not None
    ]
    empty = dict.fromkeys(("epsilon", *ATTACKERS))
    others = [{"reading": name, **(at_utility(curve, 0.7) or empty)} for name, curve in readings.items()]
    points = tuple(
        RiskPoint(row["epsilon"], row["utility"], low, high, *[row[PUBLISHED]] * 3)
        for row in fine.iter_rows(named=True)
        # The bands are twice what splits differ by.
        for low, high in [(row["utility"] - 2 * row["utility_sd"], row["utility"] + 2 * row["utility_sd"])]
    )
    curve = RiskCurve(PUBLISHED, 0.0, points)
    seventy = at_utility(fine, 0.7) or empty
    floats = dict.fromkeys(("epsilon", *ATTACKERS), pl.Float64)
    guesses = pl.concat(
        fine.select("epsilon", "utility", risk=pl.col(name), attacker=pl.lit(name)) for name in ATTACKERS
    )
    said = {"epsilon": [None], "utility": [0.7], "risk": [told[0.7]], "attacker": ["published"]}
    guesses = pl.concat([guesses, pl.DataFrame(said, schema=guesses.schema)])
    return Measurements(
        setting,
        {
            "figure": figure,
            "curve": fine,
            "guesses": guesses.sort("attacker", "utility", maintain_order=True),
            "utilities": pl.DataFrame(utilities, schema={"utility": pl.Float64, **floats, "published": pl.Float64}),
            "readings": pl.DataFrame(others, schema={"reading": pl.String, **floats}),
        },
        {
            "Δf": setting["Δf"],
            "random guess": chance,
            "height above the convex hull": curve.bulge()[0],
            "convex within the bands (1: yes)": float(curve.is_convex()),
            "ε at 70 % utility": seventy["epsilon"],
            **{f"risk at 70 % utility, {name}": seventy[name] for name in ATTACKERS},
        },
        labels=setting,
    )


def at_utility(curve: pl.DataFrame, utility: float) -> dict[str, float] | None:
    """ε and risks where a curve, one row for each ε, reaches a utility; None where it does not.

    Examples
    --------
    >>> curve = pl.DataFrame({"epsilon": [1.0, 100.0], "utility": [0.2, 0.8], PUBLISHED: [0.0, 0.5]})
    >>> at_utility(curve, 0.5)
    {'epsilon': 10.0, 'one output, as published': 0.25}
    """
    ordered = curve.sort("epsilon")
    kept = np.maximum.accumulate(ordered["utility"].to_numpy())
    if not kept[0] <= utility <= kept[-1]:
        return None
    logs = np.log10(ordered["epsilon"].to_numpy())
    place = float(np.interp(utility, kept, logs))
    names = [name for name in ATTACKERS if name in ordered.columns]
    found = {"epsilon": round(math.pow(10, place), 9)}
    return found | {name: round(float(np.interp(place, logs, ordered[name].to_numpy())), 9) for name in names}
