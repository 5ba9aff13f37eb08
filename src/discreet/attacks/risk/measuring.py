"""Risk and utility of a model over epsilon, a curve for each attacker.

Of most models it is measured: secrets are drawn, models fitted, attacks played. Where noise is added to each answer, as
in Slope One and the co-purchase cosine as they were published, its law is known, so nothing has to be fitted again for
another epsilon: risk is computed, and lists are drawn with one set of noise for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.attacks.engine.bounds import band, share
from discreet.attacks.engine.claims import limit_of
from discreet.attacks.games.linear import HistorySizes, PurchaseAdversary, RatingAdversary, stepped, values_of
from discreet.attacks.games.linear_attack import LinearAttack
from discreet.attacks.games.observing import (
    has_epsilon,
    least_history,
    noise_free,
    predicts_ratings,
    shown_answers,
    shown_lists,
    shown_scores,
    with_epsilon,
)
from discreet.attacks.games.secrets import Secrets
from discreet.attacks.risk.answers import RiskPoint
from discreet.attacks.risk.curve import RiskCurve
from discreet.common.arrays import Floats
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.models.registry import create

__all__ = ["AVERAGING", "NOISY_OUTPUTS", "ONE_ANSWER", "RiskPlan", "kept_shares", "measured_curve", "noisy_curves"]

Progress = Callable[[float, str], None]
Attacker = Callable[[list[float]], list[Floats]]
"""The risk of every user, for each scale of the noise."""

SLOPE_ONE = "published-slope-one"
NOISY_OUTPUTS = (SLOPE_ONE, "published-cosine")
"""Models, by name, that add noise to every answer."""

NOISY_EPSILONS = (
    *(0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20),
    *(30, 50, 70, 100, 150, 200, 300, 500, 700, 1000),
)

AVERAGING = "who uses all answers of a person and keeps to the scale"
ONE_ANSWER = "who uses one answer, as published"
ALL_ESTIMATES = "who uses all answers of a person"
ONE_ESTIMATE = "who uses the most telling answer"

PURCHASES, ROUNDS = 300, 50
"""Where the risk has to be drawn: how many purchases are guessed, and how often each."""

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


# Noise on every answer


def noisy_curves(model: Any, data: Interactions, plan: RiskPlan, *, progress: Progress) -> tuple[RiskCurve, RiskCurve]:
    """The curves of the averaging and of the published attacker, for all users with enough ratings.

    ``model`` is one of ``NOISY_OUTPUTS``.
    """
    enough = data.filter((data.records_per_user >= model.least_ratings)[data.user])
    if enough.n_users < 2:
        raise UsageError(
            f"fewer than two users have the {model.least_ratings} ratings that the model asks for.",
            remedy="Lower least_ratings.",
        )
    progress(0.0, "comparing items")
    plain, sensitivity = _without_noise(model, data)
    people = enough.sample_users(plan.users, seed=plan.seed) if enough.n_users > plan.users else enough
    progress(0.3, "drawing lists")
    noises = [sensitivity / epsilon for epsilon in plan.epsilons]
    scores = shown_scores(plain, people.users.series.to_list())
    kept = kept_shares(scores, noises, length=plan.length, seed=plan.seed)
    utilities = [band(column, plan.confidence) for column in kept.T]
    progress(0.7, "attacking")
    if model.name == SLOPE_ONE:
        chance, attackers = 1 / values_of(stepped(data.scale)), _rating_attackers(enough)
    else:
        chance, attackers = 0.5, _purchase_attackers(plain, people, plan)
    curves = []
    for label, risk in attackers.items():
        risks = [band(column, plan.confidence) for column in risk(noises)]
        points = tuple(RiskPoint(e, *u, *r) for e, u, r in zip(plan.epsilons, utilities, risks, strict=True))
        # Unclipped, the published guess about a rating is less than a blind one.
        least = 0.0 if label == ONE_ANSWER else chance
        curves.append(RiskCurve(label, least, points, plan.confidence))
    progress(1.0, "attacking")
    return curves[0], curves[1]


def kept_shares(scores: Floats, noises: Sequence[float], *, length: int, seed: int, rounds: int = 1) -> Floats:
    """Which share of each list stays when answers get Laplace noise (1 minus Definition 6's distance), people × noises.

    ``scores`` are people × items, −inf for items that are not shown. Noise is drawn ``rounds`` times.

    Examples
    --------
    >>> kept_shares(np.array([[3.0, 2.0, 1.0, 0.0]]), [1e-6, 1e6], length=2, seed=0, rounds=500).round(1)
    array([[1. , 0.5]])
    """
    draw = np.random.default_rng(seed)
    kept = np.zeros((scores.shape[0], len(noises)))
    for row, known in enumerate(scores):
        shown = known[np.isfinite(known)]
        size = min(length, shown.size)
        best = np.argsort(-shown, kind="stable")[:size]
        for _ in range(rounds if size else 0):
            errors = draw.laplace(0.0, 1.0, shown.size)
            for place, noise in enumerate(noises):
                drawn = np.argpartition(-(shown + noise * errors), min(size, shown.size - 1))[:size]
                kept[row, place] += np.isin(drawn, best).sum() / size
    return kept / rounds


def _without_noise(model: Any, data: Interactions) -> tuple[Recommender, float]:
    """The plain model, and the sensitivity by which the published one would scale its noise."""
    if model.name == SLOPE_ONE:
        width = model.rating_range if model.rating_range is not None else stepped(data.scale).width
        plain = create("slope-one", "recommender", minimum_overlap=model.minimum_overlap)
        return plain.fit(data), float(replace(model, rating_range=width).sensitivity())
    return create("copurchase-cosine", "recommender").fit(data), float(model.sensitivity())


def _rating_attackers(data: Interactions) -> dict[str, Attacker]:
    people, scale = HistorySizes.of(data), stepped(data.scale)
    averaging, published = RatingAdversary(scale, outputs="all"), RatingAdversary(scale, clipped=False)
    return {
        AVERAGING: lambda noises: [averaging.risk(people, noise=noise) for noise in noises],
        ONE_ANSWER: lambda noises: [published.risk(people, noise=noise) for noise in noises],
    }


def _purchase_attackers(plain: Recommender, people: Interactions, plan: RiskPlan) -> dict[str, Attacker]:
    secrets = Secrets.draw(people, targets=min(plan.users, PURCHASES), seed=plan.seed, ratings=False)
    apart = np.zeros((secrets.places.size, people.n_items))
    for target in range(secrets.places.size):
        items = secrets.untouched(target)
        without, bought = (shown_answers(plain, items, history=secrets.history(target, end))[0] for end in (0.0, 1.0))
        apart[target, items] = bought - without
    averaging = PurchaseAdversary(outputs="all")
    return {
        ALL_ESTIMATES: lambda noises: list(averaging.simulate(apart, noise=noises, seed=plan.seed, rounds=ROUNDS).T),
        ONE_ESTIMATE: lambda noises: [PurchaseAdversary().risk(apart, noise=noise) for noise in noises],
    }
