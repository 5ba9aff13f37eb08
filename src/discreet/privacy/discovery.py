"""Discovery: which keys are held by enough people to be named, when no public list of them exists.

References
----------
A. Korolova, K. Kenthapadi, N. Mishra, A. Ntoulas: Releasing search queries and clicks privately. WWW 2009.
R. Wilson et al.: Differentially private SQL with bounded user contribution. PoPETs 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedInteractions
from discreet.privacy.losses import Approximate
from discreet.privacy.noise import LEAST_SCALE, check_scale, discrete_laplace
from discreet.privacy.numbers import Rational, as_positive, as_probability

__all__ = ["StabilitySelection"]


@dataclass(frozen=True)
class StabilitySelection:
    """Items that at least about ``threshold`` users hold, found among those that occur.

    Parameters
    ----------
    epsilon, delta
        The budget. δ may not pass 1 − e^−ε.

    Notes
    -----
    **Privacy.** Each user holds at most l distinct items (the cap that the data carry). Every item that occurs gets
    discrete Laplace noise of scale l/ε on its number of users, and is named, with the noisy number, if that reaches
    the threshold. An item that only one user holds passes with probability at most δ₁ = 1 − (1−δ)^(1/l), so that none
    of a user's own items passes but for a chance of δ. Otherwise one user changes counts over the same items by at
    most l.
    (ε, δ)-DP for one user, present or absent: ``docs/proofs/selection.md``, Theorem 7.
    """

    epsilon: Fraction
    delta: Fraction
    name: ClassVar[str] = "stability-based selection"
    theorem: ClassVar[str] = "stability-based selection, docs/proofs/selection.md, Theorem 7"

    def __post_init__(self) -> None:
        if not 0 < self.delta <= -math.expm1(-float(self.epsilon)):
            raise UsageError(
                f"delta = {self.delta} must be above 0 and at most 1 − e^−ε.", remedy="Choose for example 1e-6."
            )

    @classmethod
    def of(cls, *, epsilon: Rational, delta: Rational) -> StabilitySelection:
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta))

    @property
    def loss(self) -> Approximate:
        return Approximate(self.epsilon, self.delta)

    def scale(self, cap: int) -> Fraction:
        """Of the noise, and at least what can be drawn."""
        return max(Fraction(cap) / self.epsilon, LEAST_SCALE)

    def threshold(self, cap: int) -> int:
        """The least τ with Pr[1 + X ≥ τ] = a^(τ−1)/(1+a) ≤ δ₁, a = e^(−ε/l); rounding goes up."""
        scale = float(self.scale(cap))
        one_item = -math.expm1(math.log1p(-float(self.delta)) / cap)
        steps = scale * -math.log(one_item * (1 + math.exp(-1 / scale)))
        return 1 + max(0, math.ceil(steps * (1 + 1e-12)))

    def check(self, data: BoundedInteractions) -> None:
        """Refuse data that nothing can be found in privately: to be called before anything is charged."""
        if data.most_repeats != 1:
            raise UsageError("a user must hold each item once here.", remedy="Bound the records with cap_items.")
        check_scale(self.scale(data.most_records))

    def release(self, data: BoundedInteractions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of the items that pass, and their noisy numbers of users. Charge the ledger first."""
        self.check(data)
        held = np.flatnonzero(data.records.records_per_item)
        users = data.records.records_per_item[held].astype(np.int64)
        noisy = users + discrete_laplace(users.shape, self.scale(data.most_records))
        passed = noisy >= self.threshold(data.most_records)
        return held[passed], noisy[passed]
