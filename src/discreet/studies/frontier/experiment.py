"""The frontier: accuracy of all proved models over ε, beside a published competitor and models without privacy.

Rankings by strong generalization: a tenth of the users (2,000 at most) is held out, four fifths of their likes are
told, the others asked about. Ratings, where there are any, by a random 80/10/10. ``PrivateRecommender`` also learns
from a quarter and from half of the users, to see accuracy over users × μ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.studies.frontier.measuring import RANKING_METRICS, measure_rankings, measure_ratings
from discreet.studies.frontier.models import MAIN, POPULAR, ranking_models, rating_models
from discreet.studies.frontier.questions import FOLD_IN, LEAST_LIKES, FrontierData
from discreet.studies.published import published_table
from discreet.studies.study import Measurements, Settings, Steps, Study

__all__ = ["RECALL", "FrontierStudy", "Results"]

RECALL = "recall@20"


class FrontierStudy(Study):
    """Accuracy over ε.

    Ratings from three quarters up the scale on are likes; without a scale every record is one. Where no catalog was
    declared, the items that occur are taken for public. The splits have the seeds ``seed + 1``, ``seed + 2``, …: with
    the default, the split with seed 0, on which constants of the models were settled, is left out.
    """

    name = "frontier"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        of = FrontierData.of(data, settings, seed=seed)
        rankers, raters = ranking_models(of), rating_models() if of.rated else []
        fits = sum(len(one.budgets(of.epsilons)) for one in (*rankers, *raters))
        steps.expect(len(of.seeds) * (fits + len(of.epsilons) * (len(of.shares) - 1)))
        ranking = measure_rankings(of, rankers, steps)
        return Results(of, ranking, measure_ratings(of, raters, steps) if raters else None).measurements()


class Results:
    """What follows from the measured accuracy.

    Parameters
    ----------
    of
        What was measured on.
    ranking, ratings
        Means and deviations by model, ε, share of the users and metric.
    """

    def __init__(self, of: FrontierData, ranking: pl.DataFrame, ratings: pl.DataFrame | None = None) -> None:
        self.of, self.ranking, self.ratings = of, ranking, ratings
        self.epsilons = [float(epsilon) for epsilon in of.epsilons]
        rows = ranking.select("model", "epsilon", "share", "metric", "value", "sd").rows()
        self._found = {row[:4]: row[4:] for row in rows}

    def mean(self, model: str, epsilon: float | None, metric: str = RECALL, share: float = 1.0) -> float:
        """The mean over splits; NaN where nothing was measured."""
        return self._found.get((model, epsilon, share, metric), (math.nan,))[0]

    def users(self, share: float = 1.0) -> int:
        """How many users PrivateRecommender learned from."""
        return round(self.mean(MAIN, self.epsilons[0], "users", share))

    def strength(self, epsilon: float, share: float = 1.0) -> float:
        """Users × μ."""
        exact = next(one for one in self.of.epsilons if float(one) == epsilon)
        return self.users(share) * self.of.mu(exact)

    def learning_curve(self) -> pl.DataFrame:
        """PrivateRecommender by share of the users and ε."""
        best = self.mean(self.of.yardstick, None)
        rows = []
        for share in self.of.shares:
            for epsilon in self.epsilons:
                recall, sd = self._found[MAIN, epsilon, float(share), RECALL]
                users, strength = self.users(float(share)), self.strength(epsilon, float(share))
                row = {"share of users": str(share), "ε": epsilon, "users": users, "users × μ": strength}
                rows.append(row | {RECALL: recall, "sd": sd, "of the best without privacy": recall / best})
        return pl.DataFrame(rows)

    def distances(self) -> tuple[float | None, float | None]:
        """Mean distance of the curves of fewer users from that of all: at equal ε, and at equal users × μ."""
        whole = [self.mean(MAIN, epsilon) for epsilon in self.epsilons]
        known = np.log([self.strength(epsilon) for epsilon in self.epsilons])
        at_epsilon, at_strength = [], []
        for share in (float(one) for one in self.of.shares[:-1]):
            for epsilon, all_users in zip(self.epsilons, whole, strict=True):
                place, recall = np.log(self.strength(epsilon, share)), self.mean(MAIN, epsilon, share=share)
                if known[0] <= place <= known[-1]:
                    at_epsilon.append(abs(recall - all_users))
                    at_strength.append(abs(recall - np.interp(place, known, whole)))
        if not at_epsilon:
            return None, None
        return float(np.mean(at_epsilon)), float(np.mean(at_strength))

    def crossover(self, metric: str = RECALL) -> float | None:
        """Users × μ from which tastes beat private popularity, on the line through the points.

        None if they are behind at the largest budget; 0 if they are ahead at all.
        """
        ahead = [self.mean(MAIN, epsilon, metric) - self.mean(POPULAR, epsilon, metric) for epsilon in self.epsilons]
        last = max((place for place, gain in enumerate(ahead) if gain <= 0), default=-1)
        if last < 0:
            return 0.0
        if last == len(ahead) - 1:
            return None
        left, right = (math.log(self.strength(self.epsilons[place])) for place in (last, last + 1))
        return math.exp(left + ahead[last] / (ahead[last] - ahead[last + 1]) * (right - left))

    def measurements(self) -> Measurements:
        """Everything for the report."""
        tables = {"ranking": self.ranking, "curve": self.learning_curve(), "published": published_table("frontier")}
        if self.ratings is not None:
            tables["ratings"] = self.ratings
        at_epsilon, at_strength = self.distances()
        figures = {
            f"users × μ from which {MAIN} beats private popularity, {metric}": self.crossover(metric)
            for metric in RANKING_METRICS[:2]
        } | {
            "distance of the curves of fewer users at equal ε": at_epsilon,
            "distance of the curves of fewer users at equal users × μ": at_strength,
        }
        labels = {
            "records": len(self.of.data),
            "users": self.of.data.n_users,
            "yardstick": self.of.yardstick,
            "delta": f"{float(self.of.delta):g}",
        }
        return Measurements(self._setting(), tables, figures, labels)

    def _setting(self) -> dict[str, Any]:
        of = self.of
        data = of.data
        return {
            "data": data.name or "records",
            "records": len(data),
            "users": data.n_users,
            "items": data.n_items,
            "catalog": "declared public" if of.declared else "not declared: the items that occur are taken for public",
            "likes": len(of.likes),
            f"users with {LEAST_LIKES} likes": of.likes.n_users,
            "users that rankings are learned from": self.users(),
            "users held out": of.test_users,
            "share of their likes that is told": FOLD_IN,
            "epsilon": [str(epsilon) for epsilon in of.epsilons],
            "delta": str(float(of.delta)),
            "public columns used": list(of.features),
            "seeds of the splits": list(of.seeds),
        }
