"""The linear attack on any model: how its answers move with one secret, and back from the answers to the secret.

An answer that is smooth in one rating is nearly a + b·rating. The attacker knows the algorithm and everything but the
rating, so a and b are found by computing the answers twice without noise, at both ends of the scale; least squares over
all answers give the rating. Against Slope One this is the mean of Theorem 3.3 over all outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.linear import RatingAdversary, stepped, values_of
from discreet.attacks.shown import least_history, noise_free, shown_answers
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.privacy.guarantees import Standing
from discreet.recommender import Recommender

__all__ = ["LinearAttack", "Secrets", "View"]

View = Literal["own", "others"]
Outputs = Literal["one", "all"]
Progress = Callable[[int, int], None]
Floats = NDArray[np.float64]
Known = list[tuple[Floats, Floats]]
"""Answers in both worlds of every target."""

PRESENCE = RatingScale.of("0:1")
"""A record that is there or not, as a scale of two values."""


@dataclass(frozen=True, eq=False)
class Secrets:
    """One secret of each of several people, and the records with these secrets.

    Parameters
    ----------
    data
        The records as they were.
    places
        Which records are secret, at most one of a person.
    values
        What each of them is in this game: a rating drawn from the scale, or whether the record is there.
    ratings
        Whether ratings are secret, or records.

    Notes
    -----
    Secrets are drawn anew, uniformly: 1/V is chance then, whatever else an attacker knows, and limits that a guarantee
    sets can be compared with what is measured.
    """

    data: Interactions
    places: NDArray[np.int64]
    values: Floats
    ratings: bool

    @classmethod
    def draw(cls, data: Interactions, *, targets: int, seed: int, ratings: bool, least: int = 2) -> Secrets:
        """Choose people with at least so many records, one record of each, and its value."""
        if targets < 1:
            raise UsageError(f"targets = {targets} must be at least 1.")
        if data.may_repeat:
            raise UsageError(
                "the attack needs one record of each item by each user; these records may repeat.",
                remedy="Choose duplicates='last' or call without_repeats().",
            )
        able = np.flatnonzero((data.records_per_user >= least) & (data.records_per_user < data.n_items))
        if able.size == 0:
            raise UsageError(f"nobody has {least} records and an item left to be asked about.")
        draw = np.random.default_rng(seed)
        people = np.sort(draw.permutation(able)[:targets])
        places = data.user_starts[people] + draw.integers(data.records_per_user[people])
        scale = stepped(data.scale) if ratings else PRESENCE
        # Every value as often as every other, but for what does not divide: less chance than by independent draws.
        steps = draw.permutation((np.arange(people.size) + draw.integers(values_of(scale))) % values_of(scale))
        return cls(data, places, (float(scale.low) + float(scale.step or 1) * steps).astype(np.float64), ratings)

    @property
    def scale(self) -> RatingScale:
        return stepped(self.data.scale) if self.ratings else PRESENCE

    @cached_property
    def world(self) -> Interactions:
        """The records with the secrets that were drawn."""
        return self._with(self.values)

    def world_where(self, target: int, value: float) -> Interactions:
        """The same with another secret of one target."""
        values = self.values.copy()
        values[target] = value
        return self._with(values)

    def history(self, target: int, value: float) -> dict[Any, float]:
        """What one target touched, with that value of the secret."""
        place = self.places[target]
        begin, end = self.data.user_starts[self.data.user[place] : self.data.user[place] + 2]
        rated = np.ones(end - begin) if self.data.rating is None else self.data.rating[begin:end].astype(np.float64)
        if self.ratings:
            rated[place - begin] = value
        known = zip(self.data.items.decode(self.data.item[begin:end]), rated.tolist(), strict=True)
        hidden = self.data.items.decode(self.data.item[[place]])[0]
        return {item: rating for item, rating in known if self.ratings or value or item != hidden}

    def untouched(self, target: int) -> NDArray[np.int32]:
        """Items that one target has not touched, whatever the secret is."""
        user = self.data.user[self.places[target]]
        begin, end = self.data.user_starts[user : user + 2]
        return np.setdiff1d(np.arange(self.data.n_items, dtype=np.int32), self.data.item[begin:end])

    def _with(self, values: Floats) -> Interactions:
        if self.ratings:
            assert self.data.rating is not None
            rating = self.data.rating.copy()
            rating[self.places] = values
            return self.data.with_ratings(rating, self.data.scale)
        kept = np.ones(len(self.data), dtype=bool)
        kept[self.places] = values > 0
        part = self.data.filter(kept)
        return part if part.items == self.data.items else part.with_catalog(self.data.items)


@dataclass(frozen=True)
class LinearAttack:
    """Guesses secrets from the answers of a model.

    Parameters
    ----------
    view
        ``"own"``: the answers that the target is shown, the setting of the paper. ``"others"``: the answers to an
        invented user who touched the item of the secret and as little else as a model allows, so that they tell how it
        goes with all other items.
    outputs
        Use the most telling ``"one"`` of the answers, or ``"all"`` by least squares.
    clipped
        Whether a guess beyond the scale becomes the nearest value.

    Privacy
    -------
    None: games are played where the records are, and nothing is charged for them.

    Notes
    -----
    What the attacker knows besides. Own answers: a released model is known itself; of a model that adds noise to its
    answers, what these would be without noise. Answers to others: both worlds, computed without noise. A model that
    draws which records it keeps, or which neighbors it uses, draws anew in each of these; an attack that is made for it
    would get more.

    Examples
    --------
    >>> from discreet.data import synthetic
    >>> from discreet.neighbors import PrivateItemKNN
    >>> films = synthetic.films(users=60, items=20, seed=7)
    >>> secrets = Secrets.draw(films, targets=5, seed=1, ratings=True)
    >>> attack = LinearAttack("others")
    >>> model = PrivateItemKNN(epsilon=1)
    >>> attack.right(model.fit(secrets.world), secrets, attack.known(model, secrets)).shape
    (5,)
    """

    view: View = "own"
    outputs: Outputs = "all"
    clipped: bool = True

    def known(self, model: Recommender, secrets: Secrets, *, progress: Progress | None = None) -> Known | None:
        """Answers to others in both worlds of every target, without noise; None for own answers, which need no fits.

        ``model`` may be fitted: how many items it compares is known to the attacker, then.
        """
        if self.view == "own":
            return None
        ends = float(secrets.scale.low), float(secrets.scale.high)
        both = []
        for target in range(secrets.places.size):
            low, high = (self._others(self._fitted(model, secrets, target, end), secrets, target) for end in ends)
            both.append((low, high))
            if progress is not None:
                progress(target + 1, secrets.places.size)
        return both

    def right(
        self,
        model: Recommender,
        secrets: Secrets,
        known: Known | None = None,
        *,
        seed: int = 0,
    ) -> NDArray[np.bool_]:
        """Which secrets are guessed right from a model that was fitted to ``secrets.world``."""
        draw = np.random.default_rng([seed, 1])
        exact = self._side_information(model, secrets) if self.view == "own" else None
        guesses = np.empty(secrets.places.size)
        for target in range(secrets.places.size):
            if self.view == "own":
                assert exact is not None
                answers, low, high = self._own(model, exact, secrets, target)
            else:
                assert known is not None
                answers, (low, high) = self._others(model, secrets, target), known[target]
            guesses[target] = self._guess(answers, low, high, secrets.scale, draw)
        return np.abs(guesses - secrets.values) < float(secrets.scale.step or 1) / 2

    def _guess(
        self,
        answers: Floats,
        low: Floats,
        high: Floats,
        scale: RatingScale,
        draw: np.random.Generator,
    ) -> float:
        """The secret that explains the answers best."""
        telling = np.isfinite(answers) & np.isfinite(high - low) & (high != low)
        if not telling.any():
            # The answers do not depend on the secret: any guess is as good.
            return float(scale.low) + float(scale.step or 1) * int(draw.integers(values_of(scale)))
        # Scores are used where they tell anything, ratings, which may be clipped, only where they do not.
        kind = int(np.argmax(telling.any(axis=1)))
        answers, low, apart = (each[kind, telling[kind]] for each in (answers, low, high - low))
        if self.outputs == "one":
            best = [int(np.argmax(np.abs(apart)))]
            answers, low, apart = answers[best], low[best], apart[best]
        share = np.dot(answers - low, apart) / np.dot(apart, apart)
        return float(
            RatingAdversary(scale, clipped=self.clipped).rounded(float(scale.low) + share * float(scale.width))
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

    def _fitted(self, model: Recommender, secrets: Secrets, target: int, value: float) -> Recommender:
        return noise_free(model, like=model).fit(secrets.world_where(target, value), allow_refuted=True)

    def _side_information(self, model: Recommender, secrets: Secrets) -> Recommender:
        """The model that own answers are compared with: itself where it was released, else the one without noise."""
        promise = model.guarantee
        if promise is None or (promise.standing is Standing.PROVED and promise.joint):
            return model
        return noise_free(model).fit(secrets.world, allow_refuted=True)
