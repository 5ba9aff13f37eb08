"""The kNN attack on item-based models: sybils who make the similarity of two items a function of one rating.

An item-based prediction is made of the ratings of the one who asks, weighted by similarities of items. No rating of
the target is in it. The target is in the similarities: the attacker chooses items that few others have rated, so that
the target decides how similar they are, and weighs them against an item whose similarity the sybils fix.

References
----------
J. Calandrino, A. Kilzer, A. Narayanan, E. Felten, V. Shmatikov: "You might also like": privacy risks of collaborative
filtering. IEEE S&P 2011 (passive inference from lists of similar items; the active attack there is on users).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from discreet.attacks.engine.foreign import as_tables, fit_any
from discreet.attacks.engine.making import made
from discreet.attacks.games.datasets import with_users
from discreet.attacks.games.game import Features, NeighboringData
from discreet.attacks.games.linear import values_of
from discreet.attacks.games.observing import has_epsilon, noise_free, predicted
from discreet.attacks.games.sybil import Factory, SybilAttack
from discreet.attacks.games.sybil_targets import Outcome, Sees, SybilTarget
from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.models.recommender import Recommender
from discreet.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["ItemSybilAttack"]


@dataclass(frozen=True, kw_only=True)
class ItemSybilAttack(SybilAttack):
    """Which other items somebody has rated, and how, from predictions of an item-based model.

    *Known*: ``known`` ratings of the target, of the rarest items (the anchors), the scale, how often each item was
    rated, and the algorithm. *Seen*: what one sybil, the observer, is predicted. The fillers give anchors the lowest
    rating and every other item the highest one. The observer gives anchors the lowest rating and one more item, the
    rarest of all, the highest one. Its prediction for an item is a mean of the two, weighted by how similar the item is
    to the anchors, where the target counts, and to the last one, where fillers decide. *Decided*: the attacker computes
    the answers without noise, for every rating that the target may have given and for none, and takes what is nearest
    to the answer.

    Parameters
    ----------
    k, beta
        beta·k sybils: the observer and the fillers. The fewer, the more the target counts.
    known, choose
        How many ratings are known, and which.
    others_known
        Whether the attacker knows the records of all others, as the adversary of differential privacy does. Without
        them the answers are computed for the sybils and the target alone.
    sees
        Ratings; there is nothing to compute from a list.
    target_first
        As in ``SybilAttack``. ``fillers`` and ``length`` have no effect.

    Notes
    -----
    "Unanswered" are hidden ratings of which the attacker says that there is none. All items asked about are given the
    same rating in one such dataset: similarities of pairs do not depend on the other items, or by little.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.neighbors import PrivateItemKNN
    >>> films = dc.synthetic.films(users=120, items=40, seed=7)
    >>> row = ItemSybilAttack().run(lambda: PrivateItemKNN(epsilon=1), films, targets=2, seed=1).rows[0]
    >>> row.model, row.sybils
    ('private-item-knn', 2)
    """

    name: str = "item-sybil"
    k: int = 2
    known: int = 1
    choose: Literal["random", "rarest", "popular"] = "rarest"
    others_known: bool = True

    # A game of an audit

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if data.scale is None or data.scale.step is None:
            return "there are no ratings on a public scale with steps"
        return super().obstacle(target, data)

    def _made_for(self, target: Target) -> Self:
        return self

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        pair = super().datasets(target, data, draw)
        chosen, _ = pair.secret
        expected = cache(lambda: self.expected(lambda: made(target.prototype), chosen, data))
        return NeighboringData(pair.without, pair.with_, records=pair.records, secret=(chosen, data, expected))

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        chosen, data, expected = pair.secret
        answers = self._answers(fitted.model, chosen, data)
        outcome = self._guessed(answers, expected(), chosen, data)
        moved = answers - expected()[0]
        known = moved[np.isfinite(moved)]
        average = known.mean() if known.size else np.nan
        return np.array([outcome.right[outcome.probe], moved[outcome.probe], outcome.right.mean(), average])

    # Preparing

    def _sybils(
        self, items: Codes, ratings: Floats | None, data: Interactions
    ) -> tuple[Integers, Codes, Floats | None]:
        """The observer, who rates the anchors and one item more, and fillers, who rate everything."""
        if data.scale is None or ratings is None:
            return super()._sybils(items, ratings, data)  # it does not apply, and the report says so
        low, high = float(data.scale.low), float(data.scale.high)
        low = low if low > 0 else float(data.scale.step or data.scale.width / 10)
        others = np.setdiff1d(np.arange(data.n_items, dtype=np.int32), items)
        # Other people's records of the rarest item are next to none, with the target and without.
        steady = others[np.argmin(data.records_per_item[others])]
        everything = np.append(items, others).astype(np.int32)
        profile = np.append(items, steady).astype(np.int32)
        fillers = self.sybils - 1
        users = np.append(np.zeros(profile.size), np.repeat(np.arange(1, fillers + 1), everything.size))
        rated = np.append(profile, np.tile(everything, fillers)).astype(np.int32)
        values = np.where(np.isin(rated, items), low, high)
        return users.astype(np.int64) + data.n_users, rated, values

    # Playing

    def _view(self, model: Any, data: Interactions) -> tuple[Sees, str | None]:
        if data.scale is None or data.scale.step is None:
            return "ratings", "there are no ratings on a public scale with steps"
        if not callable(getattr(model, "predict", None)):
            return "ratings", "the model shows no ratings to a client; play the sybil attack on its list"
        return "ratings", None

    def _play(
        self, factory: Factory, target: SybilTarget, data: Interactions, sees: Sees, *, present: bool
    ) -> tuple[Outcome, Guarantee | None]:
        model = as_tables(factory())
        promise = fit_any(model, target.dataset(data, present=present))
        answers = self._answers(model, target, data)
        known = target.computed
        if id(factory) not in known:
            known[id(factory)] = self.expected(factory, target, data)
        return self._guessed(answers, known[id(factory)], target, data), promise

    def _answers(self, model: Any, target: SybilTarget, data: Interactions) -> Floats:
        return predicted(model, target.number(target.observer), data.items.decode(target.hidden), first=target.probe)

    def expected(self, make: Callable[[], Any], target: SybilTarget, data: Interactions) -> Floats:
        """The answers where the target rated none of the items asked about, a row, and then one for each rating."""
        assert data.scale is not None
        step, low = float(data.scale.step or 1), float(data.scale.low)
        users, items, ratings = target.sybils
        anchors = items[users == target.observer][: self.known]
        own = data.item[slice(*data.user_starts[target.target : target.target + 2])]
        assert data.rating is not None
        assert ratings is not None
        rated = data.rating[slice(*data.user_starts[target.target : target.target + 2])]
        known = [float(rated[np.flatnonzero(own == anchor)[0]]) for anchor in anchors]
        others = data if self.others_known else data.filter(np.zeros(len(data), dtype=bool)).with_catalog(data.items)
        rows = []
        for value in (None, *(low + step * place for place in range(values_of(data.scale)))):
            hidden = target.hidden if value is not None else target.hidden[:0]
            user = np.concatenate([users, np.full(anchors.size + hidden.size, target.target)])
            item = np.concatenate([items, anchors, hidden])
            rating = np.concatenate([ratings, known, np.full(hidden.size, value or 0.0)])
            guessed = with_users(others, user, item, rating, without=target.target, number=target.number)
            model = make()
            if isinstance(model, Recommender) and has_epsilon(model):
                model = noise_free(model)
            model = as_tables(model)
            fit_any(model, guessed)
            rows.append(self._answers(model, target, data))
        return np.vstack(rows)

    def _guessed(self, answers: Floats, expected: Floats, target: SybilTarget, data: Interactions) -> Outcome:
        """The rating, or none, whose expected answer is the nearest."""
        assert target.truth is not None
        assert data.scale is not None
        apart = np.abs(expected - answers)
        # No answer is what is expected where nothing is known; equal distances leave the first, none.
        apart = np.where(np.isnan(expected) & np.isnan(answers), 0.0, np.where(np.isnan(apart), np.inf, apart))
        nearest = np.argmin(apart, axis=0)
        guesses = float(data.scale.low) + float(data.scale.step or 1) * (nearest - 1)
        said = nearest > 0
        errors = np.abs(guesses - target.truth)
        return Outcome(said & (errors < float(data.scale.step or 1) / 2), said, errors, target.probe)
