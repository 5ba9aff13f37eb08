"""Risk and utility of noise on every answer: Slope One and the co-purchase cosine as they were published.

The law of the noise is known, so nothing has to be fitted again for another epsilon: risk is computed, and lists are
drawn with one set of noise for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.engine.bounds import Band, band
from discreet.attacks.games.linear import HistorySizes, PurchaseAdversary, RatingAdversary, stepped, values_of
from discreet.attacks.games.observing import shown_answers, shown_scores
from discreet.attacks.games.secrets import Secrets
from discreet.attacks.risk.curve import RiskCurve, RiskPoint
from discreet.attacks.risk.measured import RiskPlan
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.models.registry import create

__all__ = ["AVERAGING", "EPSILONS", "NOISY_OUTPUTS", "ONE_ANSWER", "kept_shares", "noisy_output_curves"]

Floats = NDArray[np.float64]
Progress = Callable[[float, str], None]
Attacker = Callable[[list[float]], list[Floats]]
"""The risk of every user, for each scale of the noise."""

SLOPE_ONE = "published-slope-one"
NOISY_OUTPUTS = (SLOPE_ONE, "published-cosine")
"""Models, by name, that add noise to every answer."""

EPSILONS = (
    *(0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20),
    *(30, 50, 70, 100, 150, 200, 300, 500, 700, 1000),
)

AVERAGING = "who uses all answers of a person and keeps to the scale"
ONE_ANSWER = "who uses one answer, as published"
ALL_ESTIMATES = "who uses all answers of a person"
ONE_ESTIMATE = "who uses the most telling answer"

PURCHASES, ROUNDS = 300, 50
"""Where the risk has to be drawn: how many purchases are guessed, and how often each."""


def noisy_output_curves(
    model: Any, data: Interactions, plan: RiskPlan, *, progress: Progress
) -> tuple[RiskCurve, RiskCurve]:
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
    utilities = _utilities(plain, people, noises, plan)
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
    """Which share of each list stays when answers get noise (1 minus Definition 6's distance).

    Parameters
    ----------
    scores
        People × items, −inf for items that are not shown.
    noises
        Scales of the Laplace noise.
    length
        How long a list is; shorter where fewer items are shown.
    rounds
        How often noise is drawn.

    Returns
    -------
    array of people × noises

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
        for _ in range(rounds):
            errors = draw.laplace(0.0, 1.0, shown.size)
            for place, noise in enumerate(noises):
                drawn = _largest(shown + noise * errors, size)
                kept[row, place] += np.isin(drawn, best).sum() / max(size, 1)
    return kept / rounds


def _largest(values: Floats, size: int) -> NDArray[np.int64]:
    return np.argpartition(-values, size - 1)[:size] if size < values.size else np.arange(values.size)


def _without_noise(model: Any, data: Interactions) -> tuple[Recommender, float]:
    """The plain model, and the sensitivity by which the published one would scale its noise."""
    if model.name == SLOPE_ONE:
        width = model.rating_range if model.rating_range is not None else stepped(data.scale).width
        plain = create("slope-one", "recommender", minimum_overlap=model.minimum_overlap)
        return plain.fit(data), float(replace(model, rating_range=width).sensitivity())
    return create("copurchase-cosine", "recommender").fit(data), float(model.sensitivity())


def _utilities(plain: Recommender, people: Interactions, noises: list[float], plan: RiskPlan) -> list[Band]:
    scores = shown_scores(plain, people.users.series.to_list())
    kept = kept_shares(scores, noises, length=plan.length, seed=plan.seed)
    return [band(column, plan.confidence) for column in kept.T]


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
