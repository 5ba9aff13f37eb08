"""An audit from a single fit: many canaries, each put in or left out by a coin.

References
----------
T. Steinke, M. Nasr, M. Jagielski: Privacy auditing with one (1) training run. NeurIPS 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.engine.bounds import one_run_lower_bound
from discreet.attacks.engine.claims import Claim
from discreet.attacks.engine.targets import Fitted, Target
from discreet.attacks.engine.verdicts import Proved
from discreet.attacks.games.datasets import with_users
from discreet.attacks.games.game import Attack, View
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.charging import sandbox
from discreet.privacy.units import Unit

__all__ = ["OneRun"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class OneRun(Attack):
    """Canaries of a few rare items each among the caller's records; how alike its items came out gives a canary away.

    One fit, for models that are expensive to fit. What it proves is small for models with noise and large for those
    without; it is a check on the real records that the games on small datasets do not make.

    Parameters
    ----------
    canaries
        How many, at most; fewer where the catalog is too short to give each its own items.
    size
        Items of one canary.
    guessed
        Share of the canaries that are guessed about: half of these, those who look most like it, are said to be in,
        the other half, those who look least like it, are said to be out.
    """

    about = "user"
    unit: ClassVar[Unit] = Unit("user")

    name: str = "one-run"
    view: View = "similar items"
    canaries: int = 400
    size: int = 4
    guessed: float = 0.5

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if data.n_items < 10 * self.size:
            return f"{data.n_items} items are too few for canaries of their own"
        return super().obstacle(target, data)

    def play(
        self, target: Target, data: Interactions, *, claim: Claim | None, confidence: float, seed: int
    ) -> dict[str, Any]:
        """Fit once, guess, and count: the fields of a score."""
        draw = np.random.default_rng([seed, 1])
        items = self._items(data, draw)
        coins = draw.random(items.shape[0]) < 0.5
        fitted = target.fit(_with_canaries(data, items[coins]))
        with sandbox():
            scores = self._scores(fitted, items, draw)
        half = max(1, int(self.guessed * coins.size / 2))
        order = np.argsort(scores, kind="stable")
        said_in, said_out = order[-half:], order[:half]
        hits, misses = int(coins[said_in].sum()), int(coins[said_out].sum())
        correct = hits + half - misses
        delta = 0.0 if claim is None else float(claim.delta)
        shown, most = (
            one_run_lower_bound(right, 2 * half, coins.size, delta=delta, confidence=confidence)
            for right in (correct, 2 * half)
        )
        return {
            "hits": hits,
            "runs_present": hits + misses,
            "false_alarms": half - hits,
            "runs_absent": 2 * half - hits - misses,
            "proved": Proved(shown, 0.0, 0.0),
            "ceiling": Proved(most, 0.0, 0.0),
            "how": f"one fit with {coins.size:,} canaries among the given records, {2 * half:,} guesses, "
            f"{correct:,} of them right",
            "scores_present": scores[coins],
            "scores_absent": scores[~coins],
        }

    def _items(self, data: Interactions, draw: np.random.Generator) -> Integers:
        """Items of each canary, a row each: none has two of them."""
        many = min(self.canaries, data.n_items // self.size)
        if many < 2:
            raise UsageError(f"{data.n_items} items are too few for canaries of {self.size} items.")
        # Rare items first: there a canary stands out most. Equal counts in an order drawn by chance.
        order = draw.permutation(data.n_items)
        rarest = order[np.argsort(data.records_per_item[order], kind="stable")][: many * self.size]
        return draw.permutation(rarest).reshape(many, self.size)

    def _scores(self, fitted: Fitted, items: Integers, draw: np.random.Generator) -> NDArray[np.float64]:
        """How alike the items of each canary came out. What is not listed as alike is less than anything that is."""
        names = [fitted.data.items.decode(row) for row in items]
        told = fitted.model.similar_items([row[0] for row in names], n=fitted.data.n_items)
        listed: dict[tuple[Any, Any], float] = {
            (one, other): score for one, other, score in told.select("item_id", "similar_id", "score").iter_rows()
        }
        least = min(listed.values(), default=0.0) - 1.0
        alike = [np.mean([listed.get((row[0], other), least) for other in row[1:]]) for row in names]
        # Equal scores are broken by chance, not by the order of the canaries.
        return np.asarray(alike) + 1e-12 * draw.random(len(names))


def _with_canaries(data: Interactions, items: Integers) -> Interactions:
    """The records with one user more for each row of items, who gives all of them the best rating."""
    many, size = items.shape
    users = np.repeat(data.n_users + np.arange(many), size)
    best = None
    if data.rating is not None:
        best = np.full(many * size, float(data.scale.high if data.scale is not None else data.rating.max()))
    return with_users(data, users, items.ravel().astype(np.int32), best)
