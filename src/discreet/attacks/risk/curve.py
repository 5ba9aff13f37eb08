"""Risk against utility, one point for each epsilon, and the questions that such a curve answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.attacks.risk.answers import Ceiling, OperatingPoint, RiskPoint
from discreet.common.arrays import Floats, Mask
from discreet.errors import UsageError

__all__ = ["RiskCurve"]

Measure = Literal["risk", "limit"]


@dataclass(frozen=True)
class RiskCurve:
    """Risk against utility for one model and one attacker.

    Parameters
    ----------
    attacker
        Who guesses, in words.
    chance
        How often a blind guess is right.
    points
        By rising epsilon.
    confidence
        Of the bands.

    Examples
    --------
    >>> points = [RiskPoint(e, u, u, u, r, r, r) for e, u, r in ((1, 0.1, 0.02), (5, 0.7, 0.1), (20, 0.9, 0.4))]
    >>> curve = RiskCurve("the neighbors", 0.0, tuple(points))
    >>> curve.operating_point(value_of_utility=1, cost_of_risk=3).epsilon
    5
    >>> curve.keeps_below(0.05).epsilon
    1.8
    >>> round(curve.at(5).utility, 2)
    0.7
    """

    attacker: str
    chance: float
    points: tuple[RiskPoint, ...]
    confidence: float = 0.95

    def __post_init__(self) -> None:
        epsilons = [point.epsilon for point in self.points]
        if len(epsilons) < 2 or any(first >= second for first, second in pairwise(epsilons)):
            raise UsageError("a curve has at least two points, by rising epsilon.")

    @property
    def proved(self) -> bool:
        """Whether a limit for every attacker is known at every point."""
        return all(point.limit is not None for point in self.points)

    def column(self, name: str) -> Floats:
        """One quantity along the curve."""
        return np.array([math.nan if (v := getattr(point, name)) is None else v for point in self.points])

    def to_frame(self) -> pl.DataFrame:
        """One line for each point."""
        return pl.DataFrame([asdict(point) for point in self.points], schema_overrides={"limit": pl.Float64})

    def plot(self) -> Any:
        """An Altair chart: risk against utility, and both over ε with bands."""
        return self._alone().plot()

    def _repr_html_(self) -> str:
        return self._alone()._repr_html_()

    def _alone(self) -> Any:
        """A report on this curve alone."""
        from discreet.attacks.risk.report import RiskReport

        return RiskReport("one attacker", "secret", None, (self,), {})

    def to_json(self) -> dict[str, Any]:
        return {
            "attacker": self.attacker,
            "chance": self.chance,
            "confidence": self.confidence,
            "points": [asdict(point) for point in self.points],
        }

    # Questions

    def operating_point(
        self, *, value_of_utility: float, cost_of_risk: float, by: Measure | None = None
    ) -> OperatingPoint:
        """The epsilon at which value_of_utility · utility − cost_of_risk · (risk − chance) is largest.

        Parameters
        ----------
        value_of_utility, cost_of_risk
            What full utility is worth, and what a risk of 1 costs, in the same coin.
        by
            Count the ``"risk"`` of this attacker, or the ``"limit"`` for every attacker; without it, the limit where
            one is proved.

        Notes
        -----
        Who releases nothing has no utility and the risk of a blind guess: that counts as a gain of 0.

        On a convex curve of risk over utility the best point is unique. Measured curves are convex within their bands
        at most; the answer says whether this one is, which neighboring epsilons are as good within the bands, and
        whether another stretch of the curve is.
        """
        value, cost = _weight(value_of_utility, "value_of_utility"), _weight(cost_of_risk, "cost_of_risk")
        if value == cost == 0:
            raise UsageError("with both weights 0 every epsilon is as good.", remedy="Give the utility a value.")
        measure = self._measure(by)
        gain = value * self.column("utility") - cost * (self.column(measure) - self.chance)
        spread = value * self._half("utility") + cost * (self._half("risk") if measure == "risk" else 0.0)
        best = int(np.argmax(gain))
        stretches = _stretches(gain >= gain[best] - spread[best])
        own = next(stretch for stretch in stretches if stretch[0] <= best <= stretch[-1])
        epsilons = self.column("epsilon")
        return OperatingPoint(
            epsilon=self.points[best].epsilon,
            utility=self.points[best].utility,
            risk=float(self.column(measure)[best]),
            chance=self.chance,
            gain=float(gain[best]),
            value_of_utility=value,
            cost_of_risk=cost,
            by=measure,
            as_good=(float(epsilons[own[0]]), float(epsilons[own[-1]])),
            rivals=tuple(
                (float(epsilons[other[0]]), float(epsilons[other[-1]])) for other in stretches if other is not own
            ),
            convex=self.is_convex(by=measure),
            edge="lowest" if best == 0 else "highest" if best == len(self.points) - 1 else None,
        )

    def is_convex(self, *, by: Measure | None = None) -> bool:
        """Whether no point lies above the convex hull of the curve by more than its bands."""
        measure = self._measure(by)
        slack = self._half("risk") if measure == "risk" else np.zeros(len(self.points))
        above, slopes = self._above_hull(measure)
        return bool((above <= slack + slopes * self._half("utility") + 1e-9).all())

    def bulge(self, *, by: Measure | None = None) -> tuple[float, float]:
        """How far the curve goes above its convex hull, and at which epsilon: 0 for a convex one."""
        above, _ = self._above_hull(self._measure(by))
        place = int(np.argmax(above))
        return float(above[place]), self.points[place].epsilon

    def _above_hull(self, measure: Measure) -> tuple[Floats, Floats]:
        """Height of every point above the lower convex hull of (utility, risk), and the slope of the hull there."""
        utility, risk = self.column("utility"), self.column(measure)
        hull = _lower_hull(utility, risk)
        line = np.interp(utility, utility[hull], risk[hull])
        edges = np.diff(risk[hull]) / np.diff(utility[hull]) if len(hull) > 1 else np.zeros(1)
        place = np.clip(np.searchsorted(utility[hull], utility, side="right") - 1, 0, edges.size - 1)
        return np.maximum(risk - line, 0.0), np.abs(edges[place])

    def keeps_below(self, level: float, *, by: Measure | None = None) -> Ceiling:
        """The largest epsilon up to which the risk, with its band, stays below a level."""
        if not 0 < level < 1:
            raise UsageError(f"a risk below {level} is no question.", remedy="Give a share between 0 and 1: 5%.")
        measure = self._measure(by)
        upper = self.column("risk_high" if measure == "risk" else "limit")
        return Ceiling(
            level=level,
            by=measure,
            chance=self.chance,
            epsilon=self._crossing(upper, level),
            # Below chance nobody can be kept; the same distance above it is what can be had.
            above_chance=self._crossing(upper, self.chance + level) if level <= self.chance else None,
            all_tried=bool((upper <= level).all()),
        )

    def at(self, epsilon: float) -> RiskPoint:
        """Utility and risk at any epsilon between the smallest and the largest that were tried."""
        first, last = self.points[0].epsilon, self.points[-1].epsilon
        if not first <= epsilon <= last:
            raise UsageError(
                f"epsilon = {epsilon:g} is outside of what was tried, {first:g} to {last:g}.",
                remedy="Try it: give it among the epsilons.",
            )
        # Straight over the logarithm of epsilon.
        place, logs = math.log(epsilon), np.log(self.column("epsilon"))
        names = [one.name for one in fields(RiskPoint) if one.name not in ("epsilon", "limit")]
        names += ["limit"] if self.proved else []
        return RiskPoint(epsilon, **{name: float(np.interp(place, logs, self.column(name))) for name in names})

    # Helpers

    def _measure(self, by: Measure | None) -> Measure:
        if by == "limit" and not self.proved:
            raise UsageError("no limit is proved for this model.", remedy="Go by the risk.")
        return by or ("limit" if self.proved else "risk")

    def _half(self, name: str) -> Floats:
        return (self.column(f"{name}_high") - self.column(f"{name}_low")) / 2

    def _crossing(self, upper: Floats, level: float) -> float | None:
        """Up to which epsilon a quantity stays at or below a level; None if it never is."""
        over = np.flatnonzero(upper > level)
        if over.size == 0:
            return self.points[-1].epsilon
        place = int(over[0])
        if place == 0:
            return None
        before, after = upper[place - 1], upper[place]
        logs = np.log(self.column("epsilon"))
        found = math.exp(logs[place - 1] + (level - before) / (after - before) * (logs[place] - logs[place - 1]))
        # Two digits, towards less risk.
        unit = 10.0 ** (math.floor(math.log10(found)) - 1)
        return max(self.points[place - 1].epsilon, round(math.floor(found / unit) * unit, 12))


def _weight(value: float, name: str) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise UsageError(f"{name} = {value} must be a number from 0.")
    return float(value)


def _stretches(chosen: Mask) -> list[Sequence[int]]:
    """Runs of neighboring places that are chosen."""
    places = np.flatnonzero(chosen)
    return [run.tolist() for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)]


def _lower_hull(x: Floats, y: Floats) -> list[int]:
    """Points of the lower convex hull, by rising x; of several with the same x the lowest."""
    hull: list[int] = []
    for place in np.lexsort((y, x)):
        if hull and x[hull[-1]] == x[place]:
            continue
        while len(hull) > 1 and _turn(x, y, hull[-2], hull[-1], int(place)) <= 0:
            hull.pop()
        hull.append(int(place))
    return hull


def _turn(x: Floats, y: Floats, a: int, b: int, c: int) -> float:
    """Above 0 where the way from a over b to c turns left."""
    return float((x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a]))
