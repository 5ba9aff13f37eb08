"""A budget that several releases share: normal noise where δ is above 0, Laplace noise where it is 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.privacy.gram import BoundedGram, LaplaceGramMechanism
from discreet.privacy.losses import GaussianLoss, Pure, mu_for
from discreet.privacy.mechanisms import AdditiveMechanism, LaplaceMechanism
from discreet.privacy.normal import NormalGramMechanism, NormalMechanism
from discreet.tagging.tag_sums import Order

__all__ = ["TagBudget"]


@dataclass(frozen=True)
class TagBudget:
    """(ε, δ) for everything that is released, in shares that add up to 1 at most.

    With δ > 0 it is spent as μ², the largest for which μ-GDP keeps (ε, δ); shares of μ² add up. With δ = 0 shares of ε
    do.

    Examples
    --------
    >>> budget = TagBudget(Fraction(1), Fraction(1, 10**6))
    >>> budget.additive(Fraction(1, 4)).loss.mu_squared == budget.loss.mu_squared / 4
    True
    >>> str(TagBudget(Fraction(1), Fraction(0)).gram(Fraction(1, 4)).loss)
    'ε = 0.25'
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def order(self) -> Order:
        """The norm that contributions are held to."""
        return 2 if self.delta else 1

    @cached_property
    def loss(self) -> GaussianLoss | Pure:
        """What all shares together spend."""
        return GaussianLoss(mu_for(self.epsilon, self.delta) ** 2) if self.delta else Pure(self.epsilon)

    def additive(self, share: Fraction) -> AdditiveMechanism:
        """Noise for sums."""
        if isinstance(self.loss, GaussianLoss):
            return NormalMechanism(self.loss.mu_squared * share)
        return LaplaceMechanism(self.loss.epsilon * share)

    def gram(self, share: Fraction) -> NormalGramMechanism | LaplaceGramMechanism:
        """Noise for symmetric matrices of sums."""
        if isinstance(self.loss, GaussianLoss):
            return NormalGramMechanism(self.loss.mu_squared * share)
        return LaplaceGramMechanism(self.loss.epsilon * share)

    def gram_noise(self, share: Fraction, gram: BoundedGram) -> float:
        """√2 times the deviation of the noise off the diagonal; for normal noise that is the one on it."""
        mechanism = self.gram(share)
        deviation = mechanism.standard_deviation(gram)
        return deviation if isinstance(mechanism, NormalGramMechanism) else math.sqrt(2) * deviation
