"""The kNN attack step by step: sybils adopt what earlier answers gave away, and ask again.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
University of Adelaide 2015, chapters 3 and 5 (kNN and beta-kNN attacks, whose sybils never change).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attacks.engine.foreign import as_tables, fit_any
from discreet.attacks.games.game import Features, NeighboringData
from discreet.attacks.games.observing import until_refused
from discreet.attacks.games.sybil import Factory, SybilAttack
from discreet.attacks.games.sybil_targets import Outcome, Sees, SybilTarget, as_features, guessed_right
from discreet.common.arguments import require_whole
from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["AdaptiveSybilAttack", "values_at", "votes_for"]

NEAR = 1 / 20
"""An answer this near to a rating of the scale, in steps, is taken for the rating of one person."""

UNANIMOUS = 0.75
"""Share of all votes that a rating needs to be adopted."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveSybilAttack(SybilAttack):
    """A few ratings of somebody are known; after every answer the sybils also adopt what looks like that person's.

    *Known*: ``known`` ratings of the target, the scale, how often each item was rated. *Seen*: after each of ``rounds``
    fits, what every sybil is predicted for all items, or the list of the first one. *Decided*: sybils have no ratings
    beside the known ones, so an answer comes from real neighbors. One neighbor gives an answer that is a rating of the
    scale; the mean of several seldom is. All sybils vote for the ratings that they were told, over all rounds, the
    first one with the weight of all others. The ``adopted`` ratings with the most votes, at least three quarters of
    them, the rarest items first, go into the profiles of all sybils; the more they share with the target, the fewer
    others are as near. From a list its first items are adopted. The guess is the rating with the most votes, or the
    mean where no answer is a rating of the scale.

    Parameters
    ----------
    rounds
        How many times the model is fitted and asked; 1 is ``SybilAttack``.
    adopted
        How many answers are adopted after each, at most.
    k, known, choose, fillers, beta, sees, length, target_first
        As in ``SybilAttack``.

    Notes
    -----
    Every fit is a release of its own, so the claim of a model with noise is added up over the rounds.

    It pays against models that draw their neighbors, where many sybils and rounds outvote a draw. With too few known
    ratings (2, say) the sybils adopt what other people rated, and get less than ``SybilAttack``.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.neighbors import PrivateItemKNN
    >>> films = dc.synthetic.films(users=120, items=40, seed=7)
    >>> attack = AdaptiveSybilAttack(k=5, known=4, rounds=2)
    >>> row = attack.run(lambda: PrivateItemKNN(epsilon=1, delta=0), films, targets=2, seed=1).rows[0]
    >>> row.model, row.sybils, row.promise
    ('private-item-knn', 5, 'ε = 2')
    """

    name: str = "adaptive-sybil"
    known: int = 4
    rounds: int = 3
    adopted: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("rounds", "adopted"):
            require_whole(getattr(self, field), field)

    @property
    def fits(self) -> int:
        return self.rounds

    # A game of an audit

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        pair = super().datasets(target, data, draw)
        # The settings that the sybils were made with, and what fits the model again.
        return replace(pair, secret=(*pair.secret, self._made_for(target), target), fits=self.rounds)

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        chosen, data, attack, target = pair.secret
        # The model is fitted again to the records that it has; which these are is not told to the attacker.
        present = chosen.number(chosen.target) in fitted.data.users

        def ask(step: int, changed: SybilTarget) -> Any:
            return target.fit(changed.dataset(data, present=present)).model if step else fitted.model

        return as_features(attack.steps(ask, chosen, data, "ratings"))

    # Playing

    def _play(
        self, factory: Factory, target: SybilTarget, data: Interactions, sees: Sees, *, present: bool
    ) -> tuple[Outcome, Guarantee | None]:
        promise: list[Guarantee | None] = []

        def ask(step: int, changed: SybilTarget) -> Any:
            model = as_tables(factory())
            promise.append(fit_any(model, changed.dataset(data, present=present)))
            return model

        outcome = self.steps(ask, target, data, sees)
        return outcome, promise[-1]

    def steps(
        self, fit: Callable[[int, SybilTarget], Any], target: SybilTarget, data: Interactions, sees: Sees
    ) -> Outcome:
        """All rounds: ``fit`` gives the model for a round and the sybils as they are then."""
        items, ratings = self._profile(target)
        counts = data.records_per_item - np.isin(np.arange(data.n_items), target.hidden)
        guesses = np.full(data.n_items, np.nan)
        ratings_of_scale = 0 if data.scale is None else len(votes_for(np.zeros((1, 1)), data.scale))
        seen = np.zeros((ratings_of_scale, data.n_items))
        changed = target
        for step in range(self.rounds):
            model, left = fit(step, changed), np.setdiff1d(np.arange(data.n_items, dtype=np.int32), items)
            if sees == "list":
                shown = model.recommend([target.number(target.observer)], n=self.length)["item_id"].to_list()
                found = np.asarray(data.items.encode(shown) if shown else [], dtype=np.int32)
                guesses[found] = 1.0
                chosen, values = found[: self.adopted], None
                if ratings is not None:
                    assert data.scale is not None
                    values = np.full(chosen.size, float(data.scale.high))
            else:
                assert data.scale is not None
                names = data.items.decode(left)
                pairs = [(sybil, item) for sybil in self._asking(target) for item in names]
                told = until_refused(lambda asked, model=model: model.predict(asked)["score"], pairs)
                told = told.reshape(self.sybils, left.size)
                told = np.clip(told, float(data.scale.low), float(data.scale.high))
                seen[:, left] += votes_for(told, data.scale)
                with np.errstate(invalid="ignore"):
                    mean = np.nansum(told, axis=0) / np.isfinite(told).sum(axis=0)
                most, common = seen[:, left].max(axis=0), values_at(seen[:, left].argmax(axis=0), data.scale)
                answers = np.where(most > 0, common, mean)
                answered = np.isfinite(answers)
                guesses[left[answered]] = answers[answered]
                agreed = np.flatnonzero(most >= UNANIMOUS * (step + 1) * 2 * max(1, self.sybils - 1))
                order = np.lexsort([counts[left[agreed]], -most[agreed]])[: self.adopted]
                chosen, values = left[agreed[order]], common[agreed[order]]
            items = np.append(items, chosen)
            ratings = None if ratings is None or values is None else np.append(ratings, values)
            changed = replace(target, sybils=self._sybils(items, ratings, data))
        told = guesses[target.hidden]
        answered = np.isfinite(told)
        if sees == "list":
            return Outcome(answered, np.full(told.size, bool(np.isfinite(guesses).any())), None, target.probe)
        assert target.truth is not None
        assert data.scale is not None
        right = guessed_right(told, target.truth, data.scale) & answered
        return Outcome(right, answered, np.abs(told - target.truth), target.probe)

    def _asking(self, target: SybilTarget) -> list[Any]:
        """The ids of all sybils, the observer first."""
        return [target.number(target.observer + place) for place in range(self.sybils)]

    def _profile(self, target: SybilTarget) -> tuple[Codes, Floats | None]:
        """What is known of the target: the profile of the observer."""
        users, items, ratings = target.sybils
        own = users == target.observer
        return items[own], None if ratings is None else ratings[own]


def votes_for(answers: Floats, scale: RatingScale) -> Floats:
    """For each rating of the scale and each item: how many sybils were told it, but for rounding.

    The first row has the answers to the observer, who agrees with the target in all that is known; it counts as much as
    all the others together.

    Examples
    --------
    >>> votes_for(np.array([[2.0, 1.5], [1.0, np.nan], [1.0, 2.0]]), RatingScale.of("1:2")).tolist()
    [[2.0, 0.0], [2.0, 1.0]]
    """
    steps = (answers - float(scale.low)) / _step(scale)
    nearest = np.round(steps)
    weight = np.append(max(1, len(answers) - 1), np.ones(len(answers) - 1))
    told = np.abs(steps - nearest) <= NEAR
    return np.vstack(
        [weight @ (told & (nearest == place)) for place in range(round(float(scale.width) / _step(scale)) + 1)]
    )


def values_at(places: Integers, scale: RatingScale) -> Floats:
    """The ratings at places of the scale, from 0."""
    return (float(scale.low) + _step(scale) * places).astype(np.float64)


def _step(scale: RatingScale) -> float:
    return float(scale.step or scale.width / 100)
