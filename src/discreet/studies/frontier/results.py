"""Everything that was measured in one run of the study, and what follows from it by arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.studies.frontier.contestants import POPULAR, Contestant
from discreet.studies.frontier.measuring import Measured
from discreet.studies.frontier.setting import MAIN, Setting

__all__ = ["Collapse", "Results"]

RECALL = "recall@20"


@dataclass(frozen=True)
class Collapse:
    """How far the curves of fewer users lie from that of all, measured along users × μ and along ε.

    Parameters
    ----------
    at_equal_strength, at_equal_epsilon
        Mean distance in recall from the curve of all users.
    points
        How many points of smaller shares lie in the range of that curve.
    """

    at_equal_strength: float
    at_equal_epsilon: float
    points: int


@dataclass(frozen=True)
class Results:
    """What was measured: rankings, and ratings where there are any."""

    setting: Setting
    ranking: Measured
    ratings: Measured | None
    contestants: tuple[Contestant, ...]

    def protects(self, model: str) -> str:
        """What a model protects: "user", "rating" or ""."""
        return next(one.protects for one in self.contestants if one.name == model)

    def private(self, measured: Measured, *, protects: str | None = None) -> list[str]:
        """The private models of a panel, of one unit or all."""
        return [
            name
            for name in measured.models
            if self.protects(name) and (protects is None or self.protects(name) == protects)
        ]

    def references(self, measured: Measured) -> list[str]:
        return [name for name in measured.models if not self.protects(name)]

    @property
    def epsilons(self) -> list[float]:
        return [float(epsilon) for epsilon in self.setting.epsilons]

    @property
    def best_without_privacy(self) -> float:
        """Recall of the model that rankings are compared with."""
        return self.ranking.mean(self.setting.yardstick, None, RECALL)

    def share(self, model: str, epsilon: float | None) -> float:
        """Recall in units of that without privacy."""
        return self.ranking.mean(model, epsilon, RECALL) / self.best_without_privacy

    def strength(self, epsilon: float, share: float = 1.0) -> float:
        """Users × μ."""
        exact = next(one for one in self.setting.epsilons if float(one) == epsilon)
        return self.ranking.users(share) * self.setting.mu(exact)

    def learning_curve(self) -> pl.DataFrame:
        """PrivateRecommender by share of the users and ε."""
        rows = [
            {
                "share of users": f"{share}",
                "ε": epsilon,
                "users": self.ranking.users(float(share)),
                "users × μ": self.strength(epsilon, float(share)),
                RECALL: self.ranking.mean(MAIN, epsilon, RECALL, float(share)),
                "sd": self.ranking.deviation(MAIN, epsilon, RECALL, float(share)),
            }
            for share in self.setting.shares
            for epsilon in self.epsilons
        ]
        return pl.DataFrame(rows)

    def collapse(self) -> Collapse:
        """Curves of fewer users against that of all."""
        whole = {epsilon: self.ranking.mean(MAIN, epsilon, RECALL) for epsilon in self.epsilons}
        known = np.log([self.strength(epsilon) for epsilon in self.epsilons])
        along, beside = [], []
        for share in (float(one) for one in self.setting.shares[:-1]):
            for epsilon in self.epsilons:
                place, recall = np.log(self.strength(epsilon, share)), self.ranking.mean(MAIN, epsilon, RECALL, share)
                if known[0] <= place <= known[-1]:
                    along.append(abs(recall - np.interp(place, known, list(whole.values()))))
                    beside.append(abs(recall - whole[epsilon]))
        if not along:
            return Collapse(float("nan"), float("nan"), 0)
        return Collapse(float(np.mean(along)), float(np.mean(beside)), len(along))

    def gain(self, epsilon: float, metric: str = RECALL) -> float:
        """How far PrivateRecommender is ahead of private popularity with the same budget."""
        return self.ranking.mean(MAIN, epsilon, metric) - self.ranking.mean(POPULAR, epsilon, metric)

    def crossover(self, metric: str = RECALL) -> float | None:
        """Users × μ from which tastes beat popularity, on the line through the points.

        None if they are behind at the largest budget; 0 if they are ahead at all.
        """
        ahead = [self.gain(epsilon, metric) for epsilon in self.epsilons]
        last = max((place for place, gain in enumerate(ahead) if gain <= 0), default=-1)
        if last < 0:
            return 0.0
        if last == len(ahead) - 1:
            return None
        left, right = (math.log(self.strength(self.epsilons[place])) for place in (last, last + 1))
        return math.exp(left + ahead[last] / (ahead[last] - ahead[last + 1]) * (right - left))
