"""The linear attack on any model: how its answers move with one secret, and back from the answers to the secret.

An answer that is smooth in one rating is nearly a + b·rating. The attacker knows the algorithm and everything but the
rating, so a and b are found by computing the answers twice without noise, at both ends of the scale; least squares over
all answers give the rating. Against Slope One this is the mean of Theorem 3.3 over all outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.attacks.engine.bounds import share
from discreet.attacks.engine.claims import limit_of
from discreet.attacks.games.game import RECORD, VALUE, Features, GivenGame, NeighboringData, View
from discreet.attacks.games.linear import Outputs, RatingAdversary, values_of
from discreet.attacks.games.observing import least_history, noise_free, predicts_ratings, shown_answers, with_epsilon
from discreet.attacks.games.partial import partly_known, solve_for_first, unknown_ratings
from discreet.attacks.games.reports import LinearReport, LinearRow, claimed
from discreet.attacks.games.secrets import Secrets
from discreet.common.arguments import require_whole
from discreet.common.arrays import Floats, Mask
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.privacy.guarantees import Standing

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["LinearAttack", "linear_attack"]

Whose = Literal["own", "others"]
Progress = Callable[[float, str], None]
Known = list[tuple[Floats, Floats]]
"""Answers at both ends of the secret of every target."""

BLIND: dict[Whose, str] = {
    "own": "no answer in the target's own recommendations depends on the secret; read the rows about those of others",
    "others": "no answer to others depends on the secret; read the rows about the target's own recommendations",
}
NO_RECOMMENDER = (
    "it is not a Recommender of discreet, which answers about any history; play the sybil attack (--attack sybil), or "
    "audit it (discreet audit)"
)


@dataclass(frozen=True, kw_only=True)
class LinearAttack(GivenGame):
    """Guesses secrets from the answers of a model.

    Parameters
    ----------
    reads
        ``"own"``: the answers that the target is shown, the setting of the paper. ``"others"``: the answers to an
        invented user who touched the item of the secret and as little else as a model allows, so that they tell how it
        goes with all other items.
    outputs
        Use the most telling ``"one"`` of the answers, or ``"all"`` by least squares.
    clipped
        Whether a guess beyond the scale becomes the nearest value.
    known_share
        Which share of the target's other ratings the attacker knows, 0 to 1. Which items they are of is known. In the
        place of the others stands the mean rating of their item. From own answers all unknown ratings are then solved
        for together, see ``partial``; from the answers to others the secret is, as if the means were the ratings.

    Privacy
    -------
    None: games are played where the records are, and nothing is charged for them.

    Notes
    -----
    What the attacker knows besides. Own answers: a released model is known itself; of a model that adds noise to its
    answers, what these would be without noise. Answers to others: both datasets, computed without noise. A model that
    draws which records it keeps, or which neighbors it uses, draws anew in each of these; an attack that is made for it
    would get more.

    In an audit, which asks what others are shown, the two datasets have the lowest and the highest value of one secret.

    Examples
    --------
    >>> from discreet.data import synthetic
    >>> from discreet.neighbors import PrivateItemKNN
    >>> films = synthetic.films(users=60, items=20, seed=7)
    >>> secrets = Secrets.draw(films, targets=5, seed=1, ratings=True)
    >>> attack, model = LinearAttack(), PrivateItemKNN(epsilon=1)
    >>> attack.right(model.fit(secrets.dataset), secrets, attack.known(model, secrets)).shape
    (5,)
    """

    about = "record"

    name: str = "linear"
    view: View = "predictions and recommendations"
    reads: Whose = "others"
    outputs: Outputs = "all"
    clipped: bool = True
    known_share: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.known_share <= 1:
            raise UsageError(f"known_share = {self.known_share} must be between 0 and 1.")

    # A game of an audit

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if not isinstance(target.prototype, Recommender):
            return "the model is not a Recommender of discreet, which answers about any history"
        return super().obstacle(target, data)

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        model = target.prototype
        ratings = data.rating is not None and data.scale is not None and data.scale.step is not None
        least = max(2, least_history(model) + 1)
        secrets = Secrets.draw(data, targets=1, seed=int(draw.integers(2**31)), ratings=ratings, least=least)
        low, high = (secrets.dataset_where(0, float(end)) for end in (secrets.scale.low, secrets.scale.high))
        # Computed when it is first needed: other processes make their own.
        known = cache(lambda: self.known(model, secrets))
        return NeighboringData(low, high, unit=VALUE if ratings else RECORD, secret=(secrets, known))

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        secrets, known = pair.secret
        answers, (low, high) = self._others(fitted.model, secrets, 0), known()[0]
        found = self._share(answers, low, high)
        return np.array([np.nan if found is None else found])

    # An attack on many secrets at once

    def known(self, model: Recommender, secrets: Secrets) -> Known | None:
        """Answers to others at both ends of every secret, without noise; None for own answers, which need no fits.

        ``model`` may be fitted: how many items it compares is known to the attacker, then.
        """
        if self.reads == "own":
            return None
        both = []
        for target in range(secrets.places.size):
            believed = partly_known(secrets, target, self.known_share)
            low, high = (
                self._others(_noise_free_fit(model, believed.dataset_where(target, float(end))), secrets, target)
                for end in (secrets.scale.low, secrets.scale.high)
            )
            both.append((low, high))
        return both

    def right(
        self,
        model: Recommender,
        secrets: Secrets,
        known: Known | None = None,
        *,
        seed: int = 0,
        told: list[bool] | None = None,
    ) -> Mask:
        """Which secrets are guessed right from a model that was fitted to ``secrets.dataset``.

        Whether any answer depends on the secret is added to ``told``, for each secret.
        """
        draw = np.random.default_rng([seed, 1])
        exact = _side_information(model, secrets) if self.reads == "own" else None
        guesses, scale = np.empty(secrets.places.size), secrets.scale
        for target in range(secrets.places.size):
            if exact is not None and self.known_share < 1 and secrets.ratings:
                found = self._solved(model, exact, secrets, target)
            elif exact is not None:
                found = self._share(*self._own(model, exact, secrets, target))
            else:
                assert known is not None
                found = self._share(self._others(model, secrets, target), *known[target])
            if told is not None:
                told.append(found is not None)
            if found is None:
                # The answers do not depend on the secret: any guess is as good.
                found = int(draw.integers(values_of(scale))) / (values_of(scale) - 1)
            guesses[target] = self._rounded(found, scale)
        return np.abs(guesses - secrets.values) < float(scale.step or 1) / 2

    def _share(self, answers: Floats, low: Floats, high: Floats) -> float | None:
        """Where the answers are between those at the low end (0) and at the high end (1); None if they do not tell."""
        telling = np.isfinite(answers) & np.isfinite(high - low) & (high != low)
        if not telling.any():
            return None
        # Scores are used where they tell anything, ratings, which may be clipped, only where they do not.
        kind = int(np.argmax(telling.any(axis=1)))
        answers, low, apart = (each[kind, telling[kind]] for each in (answers, low, high - low))
        if self.outputs == "one":
            best = [int(np.argmax(np.abs(apart)))]
            answers, low, apart = answers[best], low[best], apart[best]
        return float(np.dot(answers - low, apart) / np.dot(apart, apart))

    def _rounded(self, found: float, scale: RatingScale) -> float:
        return float(
            RatingAdversary(scale, clipped=self.clipped).rounded(float(scale.low) + found * float(scale.width))
        )

    # Answers

    def _own(
        self, model: Recommender, exact: Recommender, secrets: Secrets, target: int
    ) -> tuple[Floats, Floats, Floats]:
        """What the target is shown, and what it would be at both ends of the secret."""
        items = secrets.untouched(target)
        user = secrets.data.users.decode(secrets.data.user[secrets.places[[target]]])[0]
        low, high = (
            shown_answers(exact, items, history=secrets.history(target, float(end)))
            for end in (secrets.scale.low, secrets.scale.high)
        )
        return shown_answers(model, items, user=user), low, high

    def _solved(self, model: Recommender, exact: Recommender, secrets: Secrets, target: int) -> float | None:
        """Where the secret is on its scale, solved for together with the other unknown ratings."""
        items = secrets.untouched(target)
        user = secrets.data.users.decode(secrets.data.user[secrets.places[[target]]])[0]
        unknown, believed = unknown_ratings(secrets, target, self.known_share)

        low, width, step = float(secrets.scale.low), float(secrets.scale.width), float(secrets.scale.step or 1)
        base = shown_answers(exact, items, history=believed)
        slopes = []
        for item in unknown:
            # One step towards the middle of the scale, so that the history stays on it.
            change = step if believed[item] <= low + width / 2 else -step
            other = shown_answers(exact, items, history=believed | {item: believed[item] + change})
            slopes.append((other - base) / change)
        told = shown_answers(model, items, user=user) - base
        rating = solve_for_first(told, np.stack(slopes), one=self.outputs == "one")
        return None if rating is None else (believed[unknown[0]] + rating - low) / width

    def _others(self, model: Recommender, secrets: Secrets, target: int) -> Floats:
        """What an invented user is shown who touched the item of the secret and, where a model needs more, others."""
        secret = int(secrets.data.item[secrets.places[target]])
        by_popularity = np.argsort(-secrets.data.records_per_item, kind="stable")
        more = by_popularity[by_popularity != secret][: least_history(model) - 1]
        touched = np.append(secret, more).astype(np.int32)
        scale = secrets.data.scale
        middle = 1.0 if scale is None else float(scale.low + scale.high) / 2
        items = np.setdiff1d(np.arange(len(model.items_), dtype=np.int32), touched)
        return shown_answers(model, items, history=dict.fromkeys(secrets.data.items.decode(touched), middle))


def _noise_free_fit(model: Recommender, data: Interactions) -> Recommender:
    return noise_free(model, like=model).fit(data, allow_refuted=True)


def _side_information(model: Recommender, secrets: Secrets) -> Recommender:
    """The model that own answers are compared with: itself where it was released, else the one without noise."""
    promise = model.guarantee
    if promise is None or (promise.standing is Standing.PROVED and promise.joint):
        return model
    return noise_free(model).fit(secrets.dataset, allow_refuted=True)


# A report about several models


def linear_attack(
    models: Mapping[str, Any],
    data: Interactions,
    *,
    targets: int = 20,
    fits: int = 3,
    known: Sequence[float] = (1.0,),
    seed: int = 0,
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> LinearReport:
    """Play the linear attack against models.

    Parameters
    ----------
    models
        Models that are not fitted, by name. To those that are no ``Recommender`` the attack does not apply.
    data
        The records.
    targets, fits
        How many people have a secret that is guessed, in each of how many fits. A target costs two more fits.
    known
        Which share of the target's other ratings the attacker knows: a row for each. Where the secret is not a
        rating, all records are known.
    seed
        Draws people and secrets; the noise of the models is not seeded.
    confidence
        Of the intervals. Games in one fit share its noise, so they are approximate.
    progress
        Called with the share that is done, from 0 to 1, and what is being done.

    Privacy
    -------
    None: it is for the owner of the records, and nothing is charged.

    Notes
    -----
    The limit belongs to what others are shown. No joint guarantee covers what a person sees in their own
    recommendations: there the attack succeeds against proved models as it does against plain ones.

    Examples
    --------
    >>> from discreet.data import synthetic
    >>> from discreet.pairs import SlopeOne
    >>> films = synthetic.films(users=80, items=30, seed=7)
    >>> linear_attack({"slope-one": SlopeOne()}, films, targets=5, fits=1).find("slope-one", view="own").right
    1.0
    """
    if not models:
        raise UsageError("there is no model to attack.")
    for name, count, least in (("targets", targets, 1), ("fits", fits, 1), ("seed", seed, 0)):
        require_whole(count, name, least=least)
    started, rows = time.monotonic(), []
    for place, (name, model) in enumerate(models.items()):
        if progress is not None:
            progress(place / len(models), name)
        if not isinstance(model, Recommender):
            secret = "record" if data.rating is None else "rating"
            rows += [
                LinearRow(model=name, secret=secret, view=whose, outputs=outputs, obstacle=NO_RECOMMENDER)
                for whose in ("own", "others")
                for outputs in ("one", "all")
            ]
            continue
        ratings, least = predicts_ratings(model, data), max(2, least_history(model) + 1)
        secrets = Secrets.draw(data, targets=targets, seed=seed, ratings=ratings, least=least)
        rows += _rows(name, model, secrets, fits=fits, known=known, seed=seed, confidence=confidence)
    settings = {"data": data.name, "targets": targets, "fits": fits, "known": list(known), "seed": seed}
    settings["confidence"] = confidence
    return LinearReport(settings, tuple(rows), seconds=time.monotonic() - started)


def _rows(
    name: str, model: Recommender, secrets: Secrets, *, fits: int, known: Sequence[float], seed: int, confidence: float
) -> list[LinearRow]:
    """All views of one model; the fits are the same for all of them."""
    fitted = [
        with_epsilon(model, getattr(model, "epsilon", None)).fit(secrets.dataset, allow_refuted=True)
        for _ in range(fits)
    ]
    promise, values = fitted[0].guarantee, values_of(secrets.scale)
    rows = []
    for portion, whose in product(known if secrets.ratings else (1.0,), ("own", "others")):
        about = LinearAttack(reads=whose, known_share=portion)
        computed = about.known(fitted[0], secrets)
        for outputs in ("one", "all"):
            attack, told = replace(about, outputs=outputs), []
            games = np.concatenate(
                [
                    attack.right(each, secrets, computed, seed=seed + number, told=told)
                    for number, each in enumerate(fitted)
                ]
            )
            mean, low, high = share(int(games.sum()), games.size, confidence)
            limit = limit_of(promise, secret=secrets.kind, values=values) if whose == "others" else None
            row = LinearRow(
                model=name,
                secret=secrets.kind,
                view=whose,
                outputs=outputs,
                known=portion,
                games=games.size,
                right=mean,
                right_low=low,
                right_high=high,
                chance=1 / values,
                limit=limit,
                **claimed(promise),
                obstacle=None if any(told) else BLIND[whose],
            )
            rows.append(row)
    if all(row.obstacle for row in rows):
        return [replace(row, obstacle="no answer depends on the secret; audit it (discreet audit)") for row in rows]
    return rows
