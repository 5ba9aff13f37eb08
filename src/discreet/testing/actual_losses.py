"""What one draw really costs between two given datasets, worked out from what went in and the law of the noise.

Nothing here believes a sensitivity: two runs hand over their secret values, and the formulas say how far apart the laws
of their outputs are. ``Spent`` keeps the answer in every sense of privacy at once; None says that there is no bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.errors import PrivacyError
from discreet.privacy.draws import Draw, Spend
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure

__all__ = ["Spent", "actual_loss", "declared_loss"]

NOTHING = Fraction(0)
SLACK = 1 + 1e-9
"""For what is computed in floating point: tails of the normal law and laws of channels."""


@dataclass(frozen=True)
class Spent:
    """A privacy loss in all senses that it has.

    Parameters
    ----------
    pure, rho, mu_squared
        Bounds in ε, in zCDP and in Gaussian DP; None where there is none.
    delta
        The chance of an event that no bound covers.
    apart
        The same losses sorted by what they are at best: the sum of those in ε, in ρ and in μ². As (ε, δ) the first
        adds to what the others come to at δ.
    """

    pure: Fraction | None = NOTHING
    rho: Fraction | None = NOTHING
    mu_squared: Fraction | None = NOTHING
    delta: Fraction = NOTHING
    apart: tuple[Fraction, Fraction, Fraction] = (NOTHING, NOTHING, NOTHING)

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            _added(self.pure, other.pure),
            _added(self.rho, other.rho),
            _added(self.mu_squared, other.mu_squared),
            self.delta + other.delta,
            tuple(one + two for one, two in zip(self.apart, other.apart, strict=True)),  # type: ignore[arg-type]
        )

    def within(self, loss: Loss) -> bool:
        """Whether all of this is allowed by a loss."""
        if isinstance(loss, Pure):
            return self.pure is not None and self.pure <= loss.epsilon and not self.delta
        if isinstance(loss, GaussianLoss):
            return self.mu_squared is not None and self.mu_squared <= loss.mu_squared and not self.delta
        if isinstance(loss, Concentrated):
            return self.rho is not None and self.rho <= loss.rho and self.delta <= loss.delta
        assert isinstance(loss, Approximate)
        return self.delta <= loss.delta and self._epsilon_at(loss.delta - self.delta) <= loss.epsilon

    def _epsilon_at(self, delta: Fraction) -> Fraction | float:
        """The least ε at a δ: all as zCDP, or what is pure added to what the rest comes to."""
        pure, rho, mu_squared = self.apart
        rest = Concentrated(rho + mu_squared / 2) if rho else GaussianLoss(mu_squared)
        together = inf if self.rho is None else _epsilon_at(Concentrated(self.rho), delta)
        return min(together, pure + _epsilon_at(rest, delta))

    def __str__(self) -> str:
        named = {"ε": self.pure, "ρ": self.rho, "μ²": self.mu_squared}
        stated = [f"{name} = {float(value):.6g}" for name, value in named.items() if value is not None]
        return ", ".join(stated or ["unbounded"]) + (f", δ = {float(self.delta):.3g}" if self.delta else "")


def declared_loss(spend: Spend) -> Spent:
    """What a mechanism says that it spends."""
    loss = spend.loss
    if isinstance(loss, Approximate):
        return Spent(loss.epsilon, None, None, loss.delta, (loss.epsilon, NOTHING, NOTHING))
    if isinstance(loss, Pure):
        return _pure(loss.epsilon, None if spend.concentrated is None else spend.concentrated.rho)
    if isinstance(loss, GaussianLoss):
        return Spent(None, loss.mu_squared / 2, loss.mu_squared, apart=(NOTHING, NOTHING, loss.mu_squared))
    assert isinstance(loss, Concentrated)
    return Spent(None, loss.rho, None, loss.delta, (NOTHING, loss.rho, NOTHING))


def actual_loss(pairs: Sequence[tuple[Draw, Draw, Any]]) -> Spent:
    """What the draws of one mechanism cost together: first and second input of each, and the common output."""
    tests = [pair for pair in pairs if pair[0].law == "above threshold"]
    total = _of_threshold(tests) if tests else Spent()
    for first, second, _ in pairs:
        if first.law not in ("above threshold", "threshold"):
            total += _of_draw(first, second)
    return total


def _of_draw(first: Draw, second: Draw) -> Spent:
    law, parameter = first.law, first.parameter
    if law.startswith("keys by "):
        return _of_keys(law.removeprefix("keys by "), first, second)
    if law == "channel":
        return _of_channel(first, second)
    moved = _difference(first, second)
    if law in ("laplace", "gaussian", "normal"):
        return _of_noise(law, moved.reshape(-1), parameter)
    if law.startswith("best by "):
        return _of_order(law, moved, parameter, picks=int(first.public[0]))
    if law == "subset":
        return _of_subsets(moved, parameter, k=int(first.public[0]))
    raise AssertionError(f"no formula for the law {law!r}")


def _difference(first: Draw, second: Draw) -> np.ndarray:
    """second − first in exact whole numbers."""
    return np.asarray(second.secret).astype(object) - np.asarray(first.secret).astype(object)


def _of_noise(law: str, moved: np.ndarray, parameter: Fraction) -> Spent:
    squared = Fraction(int(np.dot(moved, moved))) if moved.size else NOTHING
    if law == "laplace":
        return _pure(Fraction(int(np.abs(moved).sum())) / parameter)
    if law == "gaussian":
        rho = squared / (2 * parameter)
        return Spent(None if rho else NOTHING, rho, None if rho else NOTHING, apart=(NOTHING, rho, NOTHING))
    mu_squared = squared / parameter**2
    return Spent(None if mu_squared else NOTHING, mu_squared / 2, mu_squared, apart=(NOTHING, NOTHING, mu_squared))


def _of_order(law: str, moved: np.ndarray, rate: Fraction, *, picks: int) -> Spent:
    """Keys rate·score + noise: all that counts is how far apart two scores were moved."""
    span = rate * Fraction(int(moved.max() - moved.min()))
    if law == "best by gumbel":  # an exponential mechanism a pick, each of bounded range
        return _pure(picks * span, picks * span**2 / 8)
    return _pure(picks * span)


def _of_subsets(moved: np.ndarray, rate: Fraction, *, k: int) -> Spent:
    """Subsets of k in each row: how far apart the totals of two subsets were moved."""
    total = Spent()
    for row in moved:
        ordered = sorted(int(x) for x in row)
        span = rate * (sum(ordered[-k:]) - sum(ordered[:k]))
        # Theorem 10 of docs/proofs/selection.md has the further bound (rate·Δ₂)²/2.
        rho = min(span**2 / 8, rate**2 * sum(x * x for x in ordered) / 2)
        total += _pure(span, rho)
    return total


def _of_channel(first: Draw, second: Draw) -> Spent:
    """Each entry is an independent use: the largest log-ratio between the rows of its law."""
    law = np.log(first.public[0].law())
    changed = np.flatnonzero(np.asarray(first.secret) != np.asarray(second.secret))
    worst = sum(float(np.abs(law[first.secret[at]] - law[second.secret[at]]).max()) for at in changed)
    return _pure(Fraction(worst / SLACK))


def _of_keys(law: str, first: Draw, second: Draw) -> Spent:
    """Keys that both datasets have move by so much; one that only one has passes the threshold with some chance."""
    both = first.secret.keys() & second.secret.keys()
    moved = np.array([second.secret[key] - first.secret[key] for key in both], dtype=object)
    shared = _of_noise(law, moved, first.parameter)
    alone = [
        weight for one, two in ((first, second), (second, first)) for key, weight in one.secret.items()
        if key not in two.secret
    ]  # fmt: skip
    miss = 1.0
    for weight in alone:
        miss *= 1 - _tail(law, first.parameter, int(first.public[0]) - weight)
    return shared + Spent(delta=Fraction((1 - miss) / SLACK) if alone else NOTHING)


def _tail(law: str, parameter: Fraction, distance: int) -> float:
    """The chance that noise is at least a whole number above 0."""
    assert distance > 0, "a key of one person alone is above the threshold before noise"
    if law == "laplace":
        q = np.exp(-1 / float(parameter))
        return float(q**distance / (1 + q))
    deviation = float(parameter) if law == "normal" else float(parameter) ** 0.5
    shift = 0.5 if law == "normal" else 1.0
    # The discrete law's tail beyond k is at most the normal tail beyond k − 1; rounded noise passes from k − 1/2 on.
    return NormalDist().cdf(-(distance - shift) / deviation)


def _of_threshold(tests: Sequence[tuple[Draw, Draw, Any]]) -> Spent:
    """Sparse vector: the larger of both directions (``docs/proofs/selection.md``, Theorem 6)."""
    return _pure(max(_one_way(tests, 1), _one_way(tests, -1)))


def _one_way(tests: Sequence[tuple[Draw, Draw, Any]], sign: int) -> Fraction:
    """Shift the threshold by the largest rise t, so that what failed still fails; what passed pays t − its rise."""
    threshold_scale, _ = tests[0][0].public
    rises, passes = [], []
    for first, second, place in tests:  # the place of the first sum that passes, if any
        moved = [sign * int(x) for x in _difference(first, second)]
        rises += moved if place is None else moved[: place + 1]
        passes += [] if place is None else [moved[place]]
    shift = max([0, *rises])
    paid = sum((Fraction(shift - rise) for rise in passes), NOTHING) / tests[0][0].parameter
    return shift / threshold_scale + paid


def _pure(epsilon: Fraction, rho: Fraction | None = None) -> Spent:
    zcdp = epsilon**2 / 2 if rho is None else rho
    return Spent(epsilon, zcdp, None if epsilon else NOTHING, apart=(epsilon, NOTHING, NOTHING))


def _added(one: Fraction | None, two: Fraction | None) -> Fraction | None:
    return None if one is None or two is None else one + two


def _epsilon_at(loss: Loss, delta: Fraction) -> Fraction | float:
    if not any(vars(loss).values()):
        return NOTHING
    try:
        return loss.epsilon_at(delta)
    except PrivacyError:
        return inf
