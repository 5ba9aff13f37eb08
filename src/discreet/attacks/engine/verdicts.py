"""What the runs of a game prove, beside what was claimed and what this number of runs could have proved."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from discreet.attacks.engine.bounds import epsilon_lower_bound, mu_lower_bound, rho_lower_bound
from discreet.attacks.engine.claims import Claim, Measure
from discreet.attacks.engine.rules import learn
from discreet.attacks.games.game import Features
from discreet.common.arrays import Floats, Matrix
from discreet.privacy.units import Unit

__all__ = ["Proved", "Score", "Verdict", "evaluate_runs", "line", "proved_by", "runs_needed", "weight"]

Verdict = Literal["refuted", "consistent", "inconclusive", "no claim"]

MAX_RUNS = 10**8
"""More runs than this are not proposed."""


@dataclass(frozen=True)
class Proved:
    """Lower bounds that hold together with the confidence asked for."""

    epsilon: float
    mu: float
    rho: float

    def of(self, measure: Measure) -> float:
        return {"ε": self.epsilon, "μ": self.mu, "ρ": self.rho}[measure]


@dataclass(frozen=True, eq=False)
class Score:
    """One game against one model.

    Parameters
    ----------
    game, view, unit
        What was played, what the attacker saw, and what the two datasets differed in.
    claim
        What is claimed about these datasets; None where nothing is.
    confidence
        Of this game alone; all games together have the confidence of the audit.
    hits, runs_present, false_alarms, runs_absent
        How often the attacker said "present" in how many runs that decided nothing about its rule.
    proved, ceiling
        Lower bounds, and those of an attacker who is always right in as many runs.
    blind
        Whether the attacker saw nothing: in no run was there an answer or a number other than 0.
    how
        The runs in words.
    seconds
        How long it took.
    scores_present, scores_absent
        What the rule made of each run, for the curve.
    """

    game: str
    view: str
    unit: Unit
    claim: Claim | None
    confidence: float
    hits: int
    runs_present: int
    false_alarms: int
    runs_absent: int
    proved: Proved
    ceiling: Proved
    blind: bool = False
    how: str = ""
    seconds: float = 0.0
    scores_present: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    scores_absent: Floats = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def verdict(self) -> Verdict:
        claim = self.claim
        if claim is None:
            return "no claim"
        if self.proved.of(claim.measure) > claim.value or self.proved.epsilon > claim.epsilon:
            return "refuted"
        return "consistent" if self.ceiling.of(claim.measure) > claim.value and not self.blind else "inconclusive"

    @property
    def needs(self) -> int | None:
        """How many runs on each dataset it takes before a violation could show at all, where these were too few."""
        if self.claim is None or self.blind or self.verdict != "inconclusive":
            return None
        return runs_needed(self.claim, self.confidence)

    def to_json(self) -> dict[str, Any]:
        claim = self.claim
        return {
            "game": self.game,
            "view": self.view,
            "unit": str(self.unit),
            "verdict": self.verdict,
            "claimed": None if claim is None else {"loss": claim.loss.to_json(), "epsilon": claim.epsilon},
            "delta": None if claim is None else float(claim.delta),
            "confidence": self.confidence,
            "hits": self.hits,
            "runs_present": self.runs_present,
            "false_alarms": self.false_alarms,
            "runs_absent": self.runs_absent,
            "epsilon_lower": self.proved.epsilon,
            "mu_lower": self.proved.mu,
            "rho_lower": self.proved.rho,
            "epsilon_ceiling": self.ceiling.epsilon,
            "needs_runs": self.needs,
            "blind": self.blind,
            "how": self.how,
            "seconds": round(self.seconds, 2),
        }


def evaluate_runs(
    without: Matrix, with_: Matrix, *, claim: Claim | None, confidence: float, hint: Features | None = None
) -> dict[str, Any]:
    """Learn a rule on the first half of the runs and count on the second: the fields of a score."""
    cut_absent, cut_present = without.shape[0] // 2, with_.shape[0] // 2
    rule = learn(
        without[:cut_absent],
        with_[:cut_present],
        delta=0.0 if claim is None else float(claim.delta),
        alpha=1 - confidence,
        normal=claim is not None and claim.measure != "ε",
        hint=hint,
    )
    absent, present = rule.scores(without[cut_absent:]), rule.scores(with_[cut_present:])
    hits, false = int(rule.decide(present).sum()), int(rule.decide(absent).sum())
    return {
        "hits": hits,
        "runs_present": present.size,
        "false_alarms": false,
        "runs_absent": absent.size,
        "proved": proved_by(hits, present.size, false, absent.size, claim=claim, confidence=confidence),
        "ceiling": proved_by(present.size, present.size, 0, absent.size, claim=claim, confidence=confidence),
        "blind": not any(np.nan_to_num(rows).any() for rows in (without, with_)),
        "scores_present": present,
        "scores_absent": absent,
    }


def proved_by(hits: int, present: int, false: int, absent: int, *, claim: Claim | None, confidence: float) -> Proved:
    """All bounds of one score. They rest on the same two intervals, so they hold together.

    The delta of the claim goes with ε, and the one inside approximate zCDP with ρ.
    """
    counts = (hits, present, false, absent)
    delta = 0.0 if claim is None else float(claim.delta)
    slack = claim.slack if claim is not None and claim.measure == "ρ" else 0.0
    return Proved(
        epsilon=epsilon_lower_bound(*counts, delta=delta, confidence=confidence),
        mu=mu_lower_bound(*counts, confidence=confidence),
        rho=rho_lower_bound(*counts, delta=slack, confidence=confidence),
    )


def runs_needed(claim: Claim, confidence: float) -> int | None:
    """The least number of runs on each dataset, learning included, that has a ceiling above the claim.

    Examples
    --------
    >>> from discreet.privacy.losses import Pure
    >>> from fractions import Fraction
    >>> runs_needed(Claim(Pure(Fraction(3)), Fraction(0)), 0.95)
    152
    """
    halves = range(1, MAX_RUNS)

    def shows(half: int) -> bool:
        return proved_by(half, half, 0, half, claim=claim, confidence=confidence).of(claim.measure) > claim.value

    half = bisect_left(halves, True, key=shows)
    return None if half == len(halves) else 2 * halves[half]


def weight(score: Score) -> tuple[int, float]:
    """Refuted before consistent before inconclusive before nothing claimed, and within each the more the higher."""
    order = {"no claim": 0, "inconclusive": 1, "consistent": 2, "refuted": 3}[score.verdict]
    claim = score.claim
    if claim is None:
        return order, score.proved.epsilon
    return order, max(score.proved.of(claim.measure) / claim.value if claim.value else 0.0, 0.0)


def line(score: Score) -> list[str]:
    """The line of a score in the table of its audit."""
    claim = score.claim
    measure = "ε" if claim is None else claim.measure
    return [
        score.game,
        score.view,
        f"{score.runs_present:,}",
        f"{score.hits / max(1, score.runs_present):.3f}",
        f"{score.false_alarms / max(1, score.runs_absent):.3f}",
        f"{measure} {score.proved.of(measure):.3f}",
        f"{score.ceiling.of(measure):.2f}",
        "–" if claim is None else f"{measure} {claim.value:.3g}",
        "REFUTED" if score.verdict == "refuted" else score.verdict,
    ]
