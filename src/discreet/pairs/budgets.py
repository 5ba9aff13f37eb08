"""How a budget is divided among the releases of one fit, and the noise that each part buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import UsageError
from discreet.neighbors.item_statistics import Norm
from discreet.privacy.gram import LaplaceGramMechanism
from discreet.privacy.losses import GaussianLoss, Loss, Pure, mu_for
from discreet.privacy.mechanisms import AdditiveMechanism, LaplaceMechanism
from discreet.privacy.normal import NormalGramMechanism, NormalMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive, as_probability
from discreet.privacy.units import Unit

__all__ = ["Budget", "share_of", "unit_of"]

UNITS = {"user": Unit("user"), "rating": Unit("record"), "value": Unit("record", "value")}


@dataclass(frozen=True)
class Budget:
    """A budget that adds up: ε for Laplace noise, μ² for rounded normal noise.

    Parameters
    ----------
    amount
        ε or μ².
    norm
        In which contributions are bounded: 1 for Laplace noise, 2 for normal noise.
    """

    amount: Fraction
    norm: Norm

    @classmethod
    def of(cls, epsilon: Rational, delta: Rational) -> Budget:
        """What keeps (ε, δ); a delta of 0 asks for pure ε.

        Examples
        --------
        >>> Budget.of(2, 0)
        Budget(amount=Fraction(2, 1), norm=1)
        >>> round(float(Budget.of(1, "1e-6").amount) ** 0.5, 4)
        0.2367
        """
        if as_probability(delta) == 0:
            return cls(as_positive(epsilon, "epsilon"), 1)
        return cls(mu_for(epsilon, delta) ** 2, 2)

    @property
    def loss(self) -> Loss:
        """What spending all of it costs."""
        return Pure(self.amount) if self.norm == 1 else GaussianLoss(self.amount)

    def part(self, share: Fraction) -> Budget:
        """A share of it."""
        return Budget(self.amount * share, self.norm)

    def for_sums(self) -> AdditiveMechanism:
        """Noise for a vector of sums."""
        return LaplaceMechanism(self.amount) if self.norm == 1 else NormalMechanism(self.amount)

    def for_gram(self) -> LaplaceGramMechanism | NormalGramMechanism:
        """Noise for symmetric matrices."""
        return LaplaceGramMechanism(self.amount) if self.norm == 1 else NormalGramMechanism(self.amount)


def share_of(value: Rational, name: str) -> Fraction:
    """A share of a budget: more than nothing, less than all."""
    share = as_fraction(value, name)
    if not 0 < share < 1:
        raise UsageError(f"{name} = {value} must be between 0 and 1.")
    return share


def unit_of(text: str, offered: Sequence[str]) -> Unit:
    """What one step changes, by the word of the settings."""
    if text not in offered:
        raise UsageError(f"unit = {text!r} is not offered.", remedy=f"Choose {' or '.join(map(repr, offered))}.")
    return UNITS[text]
