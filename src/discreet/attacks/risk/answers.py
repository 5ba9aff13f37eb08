"""Points of a risk-utility curve, and the answers that it gives, as numbers and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Ceiling", "OperatingPoint", "RiskPoint"]

RISK_OF = {"risk": "the attacker is right in {:.1%}", "limit": "no attacker is right in more than {:.1%}"}


@dataclass(frozen=True)
class RiskPoint:
    """One epsilon.

    Parameters
    ----------
    epsilon
        The budget.
    utility, utility_low, utility_high
        What is left of the recommendations: 1 minus the share of a list that differs from the list without noise
        (Definition 6), and its confidence band.
    risk, risk_low, risk_high
        How often the attacker guesses a secret right (Definition 5), and its confidence band.
    limit
        How often any attacker can, where that is proved.
    """

    epsilon: float
    utility: float
    utility_low: float
    utility_high: float
    risk: float
    risk_low: float
    risk_high: float
    limit: float | None = None

    def words(self) -> str:
        """The point as a sentence."""
        limit = "" if self.limit is None else f"; no attacker can be right in more than {self.limit:.1%}"
        return (
            f"At ε = {self.epsilon:g}, {self.utility:.1%} of the utility is left "
            f"({self.utility_low:.1%} to {self.utility_high:.1%}), and the attacker is right in {self.risk:.1%} "
            f"({self.risk_low:.1%} to {self.risk_high:.1%}){limit}."
        )

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "words": self.words()}


@dataclass(frozen=True)
class OperatingPoint:
    """The best epsilon for given weights.

    Parameters
    ----------
    epsilon, utility, risk
        The point.
    chance
        How often a blind guess is right.
    gain
        value_of_utility · utility − cost_of_risk · (risk − chance) there; 0 is what releasing nothing gives.
    value_of_utility, cost_of_risk
        The weights.
    by
        Whether the risk is one attacker's, or the limit for all.
    as_good
        The neighboring epsilons, from and to, that are as good within the bands.
    rivals
        Other stretches of the curve that are, from and to; without any the point is unique.
    convex
        Whether the curve is convex within its bands.
    edge
        ``"lowest"`` or ``"highest"`` if it is at the end of what was tried.
    """

    epsilon: float
    utility: float
    risk: float
    chance: float
    gain: float
    value_of_utility: float
    cost_of_risk: float
    by: Literal["risk", "limit"]
    as_good: tuple[float, float]
    rivals: tuple[tuple[float, float], ...]
    convex: bool
    edge: Literal["lowest", "highest"] | None

    @property
    def unique(self) -> bool:
        """Whether no other stretch of the curve is as good."""
        return not self.rivals

    def words(self) -> str:
        """The recommendation and why."""
        risk = RISK_OF[self.by].format(self.risk)
        more = f"{self.risk:.3f}" if self.chance == 0 else f"({self.risk:.3f} − {self.chance:.3f})"
        sum_up = f"{self.value_of_utility:g} × {self.utility:.3f} − {self.cost_of_risk:g} × {more} = {self.gain:.3f}"
        parts = [
            f"ε = {self.epsilon:g}: {self.utility:.1%} of the utility is left and {risk}; "
            f"{sum_up} is the most that any ε tried here gives."
        ]
        if self.gain <= 0:
            parts.append("Releasing nothing gives 0: at these weights the model is better not released.")
        elif self.edge == "lowest":
            parts.append("It is the smallest ε that was tried; a smaller one may be better.")
        elif self.edge == "highest":
            parts.append("It is the largest ε that was tried: at these weights less noise always pays.")
        elif self.cost_of_risk:
            parts.append(
                "Beyond it one more point of utility costs more than "
                f"{self.value_of_utility / self.cost_of_risk:.2g} points of risk."
            )
        if self.as_good[0] < self.as_good[1]:
            parts.append(f"From {self.as_good[0]:g} to {self.as_good[1]:g} the difference is within the bands.")
        if self.rivals:
            others = ", ".join(_stretch(rival) for rival in self.rivals)
            parts.append(f"It is not the only one: ε = {others} would be as good within the bands.")
        elif self.convex:
            parts.append("The curve is convex within its bands, so there is no other such point.")
        else:
            parts.append("The curve is not convex, but no other part of it is as good.")
        return " ".join(parts)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "unique": self.unique, "words": self.words()}


@dataclass(frozen=True)
class Ceiling:
    """Up to which epsilon the risk stays below a level.

    Parameters
    ----------
    level
        The level asked for.
    by
        Whether the risk is one attacker's (with its band), or the limit for all.
    chance
        How often a blind guess is right.
    epsilon
        The largest epsilon; None if there is none among those tried.
    above_chance
        For a level that a blind guess exceeds: the largest epsilon with a risk of at most that much above chance.
    all_tried
        Whether the risk stays below at every epsilon that was tried, so that larger ones may do, too.
    """

    level: float
    by: Literal["risk", "limit"]
    chance: float
    epsilon: float | None
    above_chance: float | None
    all_tried: bool

    def words(self) -> str:
        what = "the risk" if self.by == "risk" else "every attacker's risk"
        if self.epsilon is not None:
            more = " (the largest that was tried)" if self.all_tried else ""
            return f"ε up to {self.epsilon:.2g}{more} keeps {what} below {self.level:.1%}."
        if self.level <= self.chance:
            within = (
                f"ε up to {self.above_chance:.2g} keeps {what} within {self.level:.1%} of that."
                if self.above_chance is not None
                else f"No ε that was tried keeps {what} within {self.level:.1%} of that."
            )
            return f"No ε keeps {what} below {self.level:.1%}: a blind guess is right in {self.chance:.1%}. {within}"
        return f"No ε that was tried keeps {what} below {self.level:.1%}."

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "words": self.words()}


def _stretch(ends: tuple[float, float]) -> str:
    return f"{ends[0]:g}" if ends[0] == ends[1] else f"{ends[0]:g} to {ends[1]:g}"
