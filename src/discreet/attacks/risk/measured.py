"""Risk and utility of any model with an epsilon, measured: secrets are drawn, models fitted, attacks played."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from discreet.attacks.engine.bounds import band, share
from discreet.attacks.engine.limits import limit_of
from discreet.attacks.games.linear import values_of
from discreet.attacks.games.linear_attack import LinearAttack
from discreet.attacks.games.observing import (
    has_epsilon,
    least_history,
    noise_free,
    predicts_ratings,
    shown_lists,
    with_epsilon,
)
from discreet.attacks.games.secrets import Secrets
from discreet.attacks.risk.curve import RiskCurve, RiskPoint
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.models.recommender import Recommender

__all__ = ["EPSILONS", "OTHERS", "RiskPlan", "measured_curve"]

Progress = Callable[[float, str], None]

EPSILONS = (0.25, 0.5, 1, 2, 4, 8, 16, 32)
OTHERS = "who reads what others are shown, and knows all but the secret"


@dataclass(frozen=True)
class RiskPlan:
    """How much is measured, or drawn; see ``risk_report``."""

    epsilons: tuple[float, ...]
    length: int
    users: int
    targets: int
    fits: int
    seed: int
    confidence: float


def measured_curve(
    model: Recommender, data: Interactions, plan: RiskPlan, *, progress: Progress
) -> tuple[RiskCurve, Secrets, Recommender]:
    """The curve, the secrets that were guessed, and a fitted model, for its guarantee."""
    if not has_epsilon(model):
        raise UsageError(
            f"{model.name} adds no noise, so it has no epsilon to choose.",
            remedy="Choose a model with one: private-slope-one, private-item-knn, private-recommender …",
        )
    progress(0.0, "fitting without noise")
    ratings = predicts_ratings(model, data)
    least = max(2, least_history(model) + 1)
    secrets = Secrets.draw(data, targets=plan.targets, seed=plan.seed, ratings=ratings, least=least)
    people = _people(data, plan)
    ideal = shown_lists(noise_free(model).fit(secrets.dataset, allow_refuted=True), people, plan.length)
    points, values = [], values_of(secrets.scale)
    fitted = model
    for place, epsilon in enumerate(plan.epsilons):
        progress((place + 0.1) / (len(plan.epsilons) + 0.1), f"ε = {epsilon:g}")
        attack, known, kept, right = LinearAttack(), None, [], []
        for number in range(plan.fits):
            # As text, so that 0.1 is one tenth.
            fitted = with_epsilon(model, f"{epsilon:.12g}").fit(secrets.dataset, allow_refuted=True)
            # How many items are compared depends on epsilon, so the answers without noise do, too.
            known = attack.known(fitted, secrets) if known is None else known
            lists = shown_lists(fitted, people, plan.length)
            kept.append((lists & ideal).sum(axis=1) / np.maximum(ideal.sum(axis=1), 1))
            right.append(attack.right(fitted, secrets, known, seed=plan.seed + number))
        games = np.concatenate(right)
        utility = band(np.mean(kept, axis=0), plan.confidence)
        risk = share(int(games.sum()), games.size, plan.confidence)
        limit = limit_of(fitted.guarantee, secret=secrets.kind, values=values)
        points.append(RiskPoint(epsilon, *utility, *risk, limit=limit))
    progress(1.0, "done")
    return RiskCurve(OTHERS, 1 / values, tuple(points), plan.confidence), secrets, fitted


def _people(data: Interactions, plan: RiskPlan) -> list[Hashable]:
    """The users for whom lists are compared: they have at least two records, so they are there with every secret."""
    able = np.flatnonzero((data.records_per_user >= 2) & (data.records_per_user < data.n_items))
    chosen = np.random.default_rng([plan.seed, 2]).permutation(able)[: plan.users]
    return data.users.take(np.sort(chosen).astype(np.int32)).to_list()
