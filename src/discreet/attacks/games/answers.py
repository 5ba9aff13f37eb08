"""What several answers of one model give away together: the same question again and again, and two views compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attacks.games.datasets import OBSERVER, SmallGame
from discreet.attacks.games.game import Features, NeighboringData
from discreet.attacks.games.observing import predicted, recommended
from discreet.attacks.games.records import OneRating, OneValue
from discreet.attacks.games.users import Canary, OneItem

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["AcrossViews", "AskAgain", "AskItemAgain"]

UNCHANGED = 3
"""After this many equal answers the model is not asked further: it draws nothing when it is asked."""


class GuaranteeGame(SmallGame):
    """A game on the two datasets that differ in what the guarantee is about: one user, one record or one value."""

    def datasets(self, target: Target, data: Any, draw: np.random.Generator) -> NeighboringData:
        promise = target.guarantee
        if promise is None or promise.unit.what != "record":
            game = Canary
        else:
            game = OneRating if promise.unit.relation == "add-remove" else OneValue
        return game(name=self.name).datasets(target, data, draw)


@dataclass(frozen=True, kw_only=True)
class AskAgain(GuaranteeGame):
    """The same question many times, and the mean of the answers.

    Noise that is drawn afresh at each call averages out. A guarantee about a fitted model covers all answers that it
    will ever give; one that draws its noise at the call must count its calls, and stop.

    Parameters
    ----------
    asks
        How often the question is asked. A model that gives the same first answers is not asked further.
    """

    effort = 1
    share = 4  # a model that draws when it is asked takes long; any other one leaves its time to other games

    asks: int = 100

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        answers: list[Features] = []
        while len(answers) < self.asks:
            answers.append(super().observe(fitted, pair))
            if len(answers) == UNCHANGED and all(_same(answers[0], answer) for answer in answers[1:]):
                break
        told = np.array(answers)
        answered = ~np.isnan(told)
        times = answered.sum(axis=0)
        totals = np.where(answered, told, 0.0).sum(axis=0)
        return np.where(times > 0, totals / np.maximum(times, 1), np.nan)


class AskItemAgain(AskAgain):
    """The same about a user with one item, as in ``OneItem``: fewer answers tell as much there."""

    about = "user"
    share = 9

    def datasets(self, target: Target, data: Any, draw: np.random.Generator) -> NeighboringData:
        return OneItem(name=self.name).datasets(target, data, draw)


class AcrossViews(GuaranteeGame):
    """Predictions and scores of recommendations, item by item: their differences and their sums.

    Noise that both share is gone from the difference, and noise that enters them with opposite signs from the sum.
    """

    effort = 4

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        items = fitted.data.items
        names = items.ids()
        predictions = predicted(fitted.model, OBSERVER, names)
        scores = recommended(fitted.model, OBSERVER, items, n=len(names))[len(names) :]
        return np.concatenate([predictions - scores, predictions + scores, predictions, scores])


def _same(one: Features, other: Features) -> bool:
    return one.size == other.size and bool(np.array_equal(one, other, equal_nan=True))
