"""The kNN attack as a game of an audit: invented users copy some ratings of a target and ask for another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.audit.game import Features, Game, View, Worlds
from discreet.attacks.audit.targets import Fitted, Target
from discreet.attacks.sybil import SybilAttack
from discreet.data.interactions import Interactions
from discreet.errors import UsageError

__all__ = ["Sybils"]


@dataclass(frozen=True, kw_only=True)
class Sybils(Game):
    """A target drawn from the records, present or absent, and k sybils who know some of its ratings.

    Parameters
    ----------
    known
        How many ratings of the target are known; the sybils ask for the others.

    See Also
    --------
    discreet.attacks.SybilAttack : the same attack, reported by what it learns.
    """

    name: str = "sybil"
    view: View = "predictions"
    crafted: bool = False
    effort: int = 1
    known: int = 8

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        promise = target.guarantee
        if promise is not None and (promise.unit.what, promise.unit.relation) == ("record", "add-remove"):
            return "the promise is about single records"
        if data.rating is None or data.scale is None:
            return "there are no ratings on a public scale"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        attack = self._attack(target)
        attack._check(data)
        able = np.flatnonzero(data.records_per_user > self.known)
        if able.size == 0:
            raise UsageError(f"nobody has the {self.known + 1} ratings that it takes.")
        game = attack._game(data, int(draw.choice(able)), draw)
        records = int(data.records_per_user[game.target])
        return Worlds(
            game.world(data, present=False),
            game.world(data, present=True),
            records=records,
            secret=(attack, game, data),
        )

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        attack, game, data = worlds.secret
        outcome = attack._ask(fitted.model, game, data, "ratings")
        assert outcome.errors is not None
        errors = np.where(outcome.answered, outcome.errors, np.nan)
        told = errors[outcome.answered]
        return np.array(
            [
                float(outcome.right[outcome.probe]),
                errors[outcome.probe],
                outcome.right.mean(),
                told.mean() if told.size else np.nan,
            ]
        )

    def _attack(self, target: Target) -> SybilAttack:
        k = target.setting("k", 10)
        return SybilAttack(k=k if isinstance(k, int) else 10, known=self.known)
