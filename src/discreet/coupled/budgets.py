"""One budget for noise and for choices: pure, or concentrated where a delta is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.bounding import BoundedSums
from discreet.privacy.losses import Concentrated, Loss, Pure, rho_for
from discreet.privacy.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from discreet.privacy.numbers import Rational, as_positive, as_probability
from discreet.privacy.selection import PermuteAndFlip, TopK

__all__ = ["Budget", "Law"]

Law = Literal["laplace", "gaussian"]


@dataclass(frozen=True)
class Budget:
    """What may be spent, and with which noise: ε by discrete Laplace noise, or ρ by discrete Gaussian noise.

    Parameters
    ----------
    amount
        ε or ρ. Parts of a budget add up to it exactly.
    law
        The noise that it is spent on.

    Examples
    --------
    >>> whole = Budget.of(1)
    >>> print(whole.loss, whole.part(Fraction(1, 4)).amount, Budget.of(1, "1e-6").law)
    ε = 1 1/4 gaussian
    """

    amount: Fraction
    law: Law

    @classmethod
    def of(cls, epsilon: Rational, delta: Rational = 0) -> Budget:
        """Pure ε without a delta; with one, the ρ that keeps (ε, δ)."""
        if as_probability(delta) == 0:
            return cls(as_positive(epsilon, "epsilon"), "laplace")
        return cls(rho_for(epsilon, delta), "gaussian")

    @property
    def loss(self) -> Loss:
        return Pure(self.amount) if self.law == "laplace" else Concentrated(self.amount)

    def part(self, share: Fraction) -> Budget:
        """A share of it, from 0 to 1."""
        return Budget(self.amount * share, self.law)

    def noise(self) -> AdditiveMechanism:
        """The additive mechanism that spends all of it."""
        return LaplaceMechanism(self.amount) if self.law == "laplace" else GaussianMechanism(self.amount)

    def pick(self, scores: BoundedSums) -> int:
        """The best candidate, at the price of all of it."""
        if self.law == "laplace":
            return PermuteAndFlip(self.amount).choose(scores)
        return int(TopK.for_rho(1, self.amount).choose(scores)[0])

    def pick_many(self, scores: BoundedSums, picks: int) -> NDArray[np.int64]:
        """The ``picks`` best candidates in order, at the price of all of it."""
        if self.law == "laplace":
            return TopK.for_total(picks, self.amount).choose(scores)
        return TopK.for_rho(picks, self.amount).choose(scores)
