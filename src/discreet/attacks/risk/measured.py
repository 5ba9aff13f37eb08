"""Risk and utility of any model with an epsilon, measured: secrets are drawn, models fitted, attacks played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.linear import values_of
from discreet.attacks.linear_attack import LinearAttack, Secrets
from discreet.attacks.risk.bands import band, share
from discreet.attacks.risk.curve import RiskCurve, RiskPoint
from discreet.attacks.risk.limits import limit_of
from discreet.attacks.shown import has_epsilon, least_history, noise_free, shown_answers, shown_lists, with_epsilon
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.recommender import Recommender

__all__ = ["EPSILONS", "OTHERS", "MeasuredPlan", "measured_curve"]

Progress = Callable[[float, str], None]

EPSILONS = (0.25, 0.5, 1, 2, 4, 8, 16, 32)
OTHERS = "who reads what others are shown, and knows all but the secret"


@dataclass(frozen=True)
class MeasuredPlan:
    """How much is measured; see ``risk_report``."""

    epsilons: tuple[float, ...] = EPSILONS
    length: int = 20
    users: int = 300
    targets: int = 20
    fits: int = 5
    seed: int = 0
    confidence: float = 0.95


@dataclass
class Measured:
    """What was seen of one epsilon."""

    kept: list[NDArray[np.float64]] = field(default_factory=list)
    right: list[NDArray[np.bool_]] = field(default_factory=list)
    limit: float | None = None


def measured_curve(
    model: Recommender, data: Interactions, plan: MeasuredPlan, *, progress: Progress
) -> tuple[RiskCurve, Secrets, Recommender]:
    """The curve, the secrets that were guessed, and a model that was fitted, for what it promises."""
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
    ideal = shown_lists(noise_free(model).fit(secrets.world, allow_refuted=True), people, plan.length)
    points, values = [], values_of(secrets.scale)
    fitted = model
    for place, epsilon in enumerate(plan.epsilons):
        progress((place + 0.1) / (len(plan.epsilons) + 0.1), f"ε = {epsilon:g}")
        seen, fitted = _measure(with_epsilon(model, _text(epsilon)), secrets, people, ideal, plan)
        seen.limit = limit_of(fitted.guarantee, secret="rating" if ratings else "record", values=values)
        games = np.concatenate(seen.right)
        utility = band(np.mean(seen.kept, axis=0), plan.confidence)
        risk = share(int(games.sum()), games.size, plan.confidence)
        points.append(RiskPoint(epsilon, *utility, *risk, limit=seen.limit))
    progress(1.0, "done")
    return RiskCurve(OTHERS, 1 / values, tuple(points), plan.confidence), secrets, fitted


def _measure(
    model: Recommender,
    secrets: Secrets,
    people: Sequence[object],
    ideal: NDArray[np.bool_],
    plan: MeasuredPlan,
) -> tuple[Measured, Recommender]:
    """Fit a model several times; what its lists keep, and what the attack gets."""
    seen, attack, known = Measured(), LinearAttack("others"), None
    fitted = model
    for number in range(plan.fits):
        fitted = with_epsilon(model, getattr(model, "epsilon", None)).fit(secrets.world, allow_refuted=True)
        if known is None:
            # How many items are compared goes by epsilon, so the answers without noise do, too.
            known = attack.known(fitted, secrets)
        lists = shown_lists(fitted, people, plan.length)  # type: ignore[arg-type]
        seen.kept.append((lists & ideal).sum(axis=1) / np.maximum(ideal.sum(axis=1), 1))
        seen.right.append(attack.right(fitted, secrets, known, seed=plan.seed + number))
    return seen, fitted


def predicts_ratings(model: Recommender, data: Interactions) -> bool:
    """Whether the secret is a rating: there is a scale with steps, and the model predicts on it."""
    if data.rating is None or data.scale is None or data.scale.step is None:
        return False
    fitted = noise_free(model).fit(data, allow_refuted=True)
    # Somebody with many records: every model has an answer then.
    busiest = data.users.take(np.array([np.argmax(data.records_per_user)], dtype=np.int32))[0]
    answers = shown_answers(fitted, np.arange(min(20, data.n_items), dtype=np.int32), user=busiest)
    return bool(np.isfinite(answers[1]).any())


def _people(data: Interactions, plan: MeasuredPlan) -> list[object]:
    """Whose lists are compared: people with at least two records, who are there whatever the secrets are."""
    able = np.flatnonzero((data.records_per_user >= 2) & (data.records_per_user < data.n_items))
    chosen = np.random.default_rng([plan.seed, 2]).permutation(able)[: plan.users]
    return data.users.take(np.sort(chosen).astype(np.int32)).to_list()


def _text(epsilon: float) -> str:
    """A budget as it was typed, so that 0.1 is one tenth."""
    return f"{epsilon:.12g}"
