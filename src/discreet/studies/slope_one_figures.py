"""What is measured for the study of Slope One: lists with noise, and the attackers that read it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.attacks.linear import Histories, RatingAdversary, stepped
from discreet.attacks.risk.noisy_outputs import kept_shares
from discreet.attacks.shown import shown_scores
from discreet.data.interactions import Interactions
from discreet.data.splits import choose_users
from discreet.errors import UsageError
from discreet.pairs import PublishedSlopeOne, SlopeOne

__all__ = ["ATTACKERS", "FIGURE", "PUBLISHED", "QUICK", "Plan", "Trial", "at_utility", "measured", "prepared"]

Floats = NDArray[np.float64]

TOP, LEAST, OVERLAP = 20, 20, 10
"""Length of the lists, T and φ_m of the paper."""

FIGURE = (0.1, 0.32, 1.0, 3.2, 10.0, 32.0, 100.0, 316.0, 1000.0)
FINE = tuple(float(10 ** (step / 6)) for step in range(-6, 19))

PUBLISHED = "one output, as published"
ATTACKERS: dict[str, dict[str, Any]] = {
    PUBLISHED: {"outputs": "one", "clipped": False},
    "one output, on the scale": {"outputs": "one", "clipped": True},
    "all outputs": {"outputs": "all", "clipped": False},
    "all outputs, on the scale": {"outputs": "all", "clipped": True},
}


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes
    ----------
    splits
        How often people are divided into those who are learned from and those who are recommended to.
    rounds
        How often noise is drawn for everybody's list.
    games
        How often the attack is played on everybody, beside its closed form.
    least, overlap
        T and φ_m.
    """

    splits: int = 3
    rounds: int = 1
    games: int = 20
    least: int = LEAST
    overlap: int = OVERLAP


QUICK = Plan(splits=1, games=5, least=8, overlap=3)


@dataclass(frozen=True)
class Trial:
    """One split: scores without noise of people who were not learned from, and what their risk depends on."""

    scores: Floats
    people: Histories
    adversaries: dict[str, RatingAdversary]

    def kept(self, noises: list[float], *, seed: int, rounds: int) -> Floats:
        """Mean share of a list that stays, for each scale of the noise."""
        return kept_shares(self.scores, noises, length=TOP, seed=seed, rounds=rounds).mean(axis=0)

    def risks(self, noises: list[float]) -> dict[str, Floats]:
        """How often each attacker is right about a rating of a person, in closed form."""
        return {
            name: np.array([adversary.risk(self.people, noise=noise, secret="own").mean() for noise in noises])
            for name, adversary in self.adversaries.items()
        }

    def drawn(self, noises: list[float], *, seed: int, games: int) -> Floats:
        """The same for the published attacker, by drawing."""
        adversary = self.adversaries[PUBLISHED]
        return np.array(
            [adversary.simulate(self.people, noise=b, seed=seed, rounds=games, secret="own").mean() for b in noises]
        )


def prepared(data: Interactions, plan: Plan, *, seed: int) -> Interactions:
    """Records with a catalog; an error where the study cannot be run on them."""
    if data.rating is None or len(data) == 0:
        raise UsageError("Slope One compares ratings, and these records have none.")
    stepped(data.scale)
    if data.may_repeat:
        raise UsageError("a person has one rating of an item here.", remedy="Choose duplicates='last'.")
    if int((data.records_per_user >= plan.least).sum()) < 10:
        raise UsageError(f"fewer than ten people have {plan.least} ratings, which the theorem asks for.")
    return data if data.catalog_is_public else data.with_catalog("observed")


def sensitivity(data: Interactions, plan: Plan) -> float:
    """Δf of Theorem 3.1; Δr is the highest rating, as in the paper, or the width of the scale if that is more."""
    scale = stepped(data.scale)
    reach = max(Fraction(scale.high), scale.width)
    return float(
        PublishedSlopeOne(least_ratings=plan.least, minimum_overlap=plan.overlap, rating_range=reach).sensitivity()
    )


def trial(data: Interactions, plan: Plan, model: SlopeOne, *, seed: int) -> Trial:
    """Learn from four fifths of the people; the others who have enough ratings are recommended to."""
    chosen = choose_users(data.n_users, max(1, data.n_users // 5), seed=seed)
    others = chosen & (data.records_per_user >= plan.least) & (data.records_per_user < data.n_items)
    if not others.any():
        raise UsageError("nobody among the fifth that was drawn has enough ratings.", remedy="Try another seed.")
    fitted = model.fit(data.filter(~chosen[data.user]))
    test = data.filter(others[data.user])
    scores = shown_scores(fitted.attach(test), test.users.series.to_list())
    scale = stepped(data.scale)
    adversaries = {name: RatingAdversary(scale, **settings) for name, settings in ATTACKERS.items()}
    return Trial(scores, Histories.of(test), adversaries)


def measured(
    data: Interactions,
    plan: Plan,
    epsilons: tuple[float, ...],
    *,
    seed: int,
    model: Callable[[], SlopeOne] | None = None,
    told: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """One line for each split and ε: what lists keep, and what each attacker gets."""
    make = model or (lambda: SlopeOne(minimum_overlap=plan.overlap))
    noises = [sensitivity(data, plan) / epsilon for epsilon in epsilons]
    rows = []
    for number in range(plan.splits):
        one = trial(data, plan, make(), seed=seed + number)
        kept, risks = one.kept(noises, seed=seed + number, rounds=plan.rounds), one.risks(noises)
        drawn = one.drawn(noises, seed=seed + number, games=plan.games)
        rows += [
            {"split": number, "epsilon": epsilon, "utility": float(kept[place]), "drawn": float(drawn[place])}
            | {name: float(values[place]) for name, values in risks.items()}
            for place, epsilon in enumerate(epsilons)
        ]
        if told is not None:
            told(number + 1)
    return pl.DataFrame(rows)


def at_utility(curve: pl.DataFrame, utility: float) -> dict[str, float] | None:
    """ε and risks where a curve, one line for each ε, reaches a utility; None where it does not.

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
