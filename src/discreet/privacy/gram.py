"""Noisy Gram matrices: who goes with what, in one release, with the noise that its symmetry allows.

A symmetric matrix of contributions is released as its upper triangle, with twice the variance (Gaussian) or twice the
scale (Laplace) on the diagonal. What one contribution costs is then half its norm over the *whole* matrix, so that the
diagonal is paid for like any other entry. ``docs/proofs/gram.md`` has the theorems.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy.bounding import added, require_same_bounds
from discreet.privacy.draws import NoiseLaw, Spend, noisy
from discreet.privacy.losses import Concentrated, Loss, Pure
from discreet.privacy.noise import LEAST_SCALE, check_scale, check_variance
from discreet.privacy.units import Unit

__all__ = ["BoundedGram", "GramMechanism", "LaplaceGramMechanism", "SymmetricMechanism", "noisy_symmetric"]


@dataclass(frozen=True)
class BoundedGram:
    """One or more symmetric sums over users on an integer grid, with what one neighboring step can change.

    Parameters
    ----------
    matrices
        Square int64 matrices, all of one size, upper triangles in use.
    step
        What one grid step is worth.
    frobenius_squared
        A bound on the squared Frobenius norm of what one unit contributes, summed over the matrices, in grid steps.
    unit
        Whose contribution is bounded.
    caps
        The limits that were applied, as phrases for the guarantee.
    l1
        A bound on the sum of the absolute entries of what one unit contributes, over the whole of all matrices; None
        where only Gaussian noise is meant to be added.
    """

    matrices: tuple[NDArray[np.int64], ...]
    step: Fraction
    frobenius_squared: Fraction
    unit: Unit
    caps: tuple[str, ...]
    l1: Fraction | None = None

    def __post_init__(self) -> None:
        size = self.matrices[0].shape[0]
        if any(m.shape != (size, size) or m.dtype != np.int64 for m in self.matrices):
            raise UsageError("Gram matrices are square, of one size, and of whole grid steps (int64).")

    @classmethod
    def weighted(
        cls,
        matrices: tuple[NDArray[np.int64], ...],
        weights: Sequence[int],
        *,
        largest: int,
        step: Fraction,
        unit: Unit,
        caps: tuple[str, ...] = (),
    ) -> BoundedGram:
        """Sums of W_n·x xᵀ over users: n is the number of a user's items, and no entry of x xᵀ exceeds ``largest``.

        The bounds are worked out from the weights, exactly: for one user present or absent by Theorem 2 of
        ``docs/proofs/gram.md``, for one record present or absent by Theorem 4.

        Parameters
        ----------
        weights
            W_1, W_2, … in whole numbers from 0, up to the most items that a user can have: a public list.
        largest
            The largest absolute value of an entry before it is weighed.
        """
        if any(weight < 0 for weight in weights):
            raise UsageError("weights are whole numbers from 0.")
        if unit == Unit("user"):
            moved = [(n * n, weight, 0, 0) for n, weight in enumerate(weights, start=1)]
        elif unit == Unit("record"):
            before = (0, *weights)
            moved = [(n * n, abs(before[n] - w), 2 * n + 1, w) for n, w in enumerate(weights)]
        else:
            raise UsageError(f"weighed Gram matrices are not bounded for {unit}.", remedy="Take user or record.")
        # Of the matrix, so many entries change by the shift and so many are new.
        l1 = max((old * shift + new * entry for old, shift, new, entry in moved), default=0)
        squared = max((old * shift**2 + new * entry**2 for old, shift, new, entry in moved), default=0)
        many = len(matrices)
        return cls(matrices, step, Fraction(many * squared * largest**2), unit, caps, Fraction(many * l1 * largest))

    def __add__(self, other: BoundedGram) -> BoundedGram:
        """The sums of two disjoint groups of units together; their bounds must be equal."""
        require_same_bounds(self, other, ("step", "frobenius_squared", "unit", "caps", "l1"))
        together = zip(self.matrices, other.matrices, strict=True)
        return replace(self, matrices=tuple(added(first, second) for first, second in together))

    @property
    def exchanged(self) -> bool:
        """Whether a step takes one contribution out and puts another in."""
        return self.unit.relation != "add-remove"


@dataclass(frozen=True)
class SymmetricMechanism(ABC):
    """Independent noise on the upper triangle of symmetric sums, more of it on the diagonal."""

    name: ClassVar[str]
    theorem: ClassVar[str]
    law: ClassVar[NoiseLaw]

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What one release spends, whatever the sums."""

    @abstractmethod
    def check(self, gram: BoundedGram) -> None:
        """Refuse sums that the noise cannot be drawn for: to be called before anything is charged."""

    @abstractmethod
    def standard_deviation(self, gram: BoundedGram) -> float:
        """Of the noise off the diagonal, in the units of the sums. That on the diagonal is √2 (Laplace: 2) times it."""

    def spectral_deviation(self, gram: BoundedGram) -> float:
        """σ of the noise as a random symmetric matrix: √2 times the deviation off the diagonal. Its eigenvalues stay
        within σ·√(2n) for n × n matrices.
        """
        return math.sqrt(2) * self.standard_deviation(gram)

    @abstractmethod
    def _parameters(self, gram: BoundedGram) -> tuple[Fraction, Fraction]:
        """The parameter of the noise law on the diagonal, and the one above it."""

    def release(self, gram: BoundedGram) -> Sequence[NDArray[np.float64]]:
        """Noisy symmetric matrices in the units of the sums. Charge the ledger first."""
        (on, off), spend = self._parameters(gram), Spend(self.name, self.loss)
        noisy_matrices = [noisy_symmetric(matrix, self.law, on, off, spend) for matrix in gram.matrices]
        return [matrix.astype(np.float64) * float(gram.step) for matrix in noisy_matrices]


@dataclass(frozen=True)
class GramMechanism(SymmetricMechanism):
    """Discrete Gaussian noise of variance v off the diagonal and 2v on it, v = F²/(4ρ).

    Parameters
    ----------
    rho
        The zCDP budget, above 0.

    Notes
    -----
    **Privacy.** For a symmetric contribution A with ‖A‖_F² ≤ F², Σ_{i<j} A_ij²/(2v) + Σ_i A_ii²/(4v) = ‖A‖_F²/(4v) ≤ ρ.
    Discrete Gaussian coordinates of different variances add up like this (``docs/proofs/gram.md``, Theorem 1).
    Under "replaced" a user's contribution is exchanged: the bound is taken four times, as A − A′ may be twice as long.
    """

    rho: Fraction
    name: ClassVar[str] = "discrete Gaussian Gram"
    theorem: ClassVar[str] = "noisy Gram release, docs/proofs/gram.md, Theorem 1"
    law: ClassVar[NoiseLaw] = "gaussian"

    @property
    def loss(self) -> Concentrated:
        return Concentrated(self.rho)

    def variance(self, gram: BoundedGram) -> Fraction:
        """Of the noise off the diagonal, in squared grid steps."""
        exchanged = 4 if gram.exchanged else 1
        return max(exchanged * gram.frobenius_squared / (4 * self.rho), LEAST_SCALE**2)

    def check(self, gram: BoundedGram) -> None:
        check_variance(2 * self.variance(gram))

    def standard_deviation(self, gram: BoundedGram) -> float:
        return float(self.variance(gram)) ** 0.5 * float(gram.step)

    def _parameters(self, gram: BoundedGram) -> tuple[Fraction, Fraction]:
        return 2 * self.variance(gram), self.variance(gram)


@dataclass(frozen=True)
class LaplaceGramMechanism(SymmetricMechanism):
    """Discrete Laplace noise of scale t off the diagonal and 2t on it, t = L/(2ε).

    Parameters
    ----------
    epsilon
        The budget, above 0.

    Notes
    -----
    **Privacy.** For a symmetric contribution A with Σ_ij |A_ij| ≤ L, Σ_{i<j} |A_ij|/t + Σ_i |A_ii|/(2t) = Σ_ij
    |A_ij|/(2t) ≤ ε (``docs/proofs/gram.md``, Theorem 5). Under "replaced" the bound is taken twice.
    """

    epsilon: Fraction
    name: ClassVar[str] = "discrete Laplace Gram"
    theorem: ClassVar[str] = "noisy Gram release, docs/proofs/gram.md, Theorem 5"
    law: ClassVar[NoiseLaw] = "laplace"

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)

    def scale(self, gram: BoundedGram) -> Fraction:
        """Of the noise off the diagonal, in grid steps."""
        if gram.l1 is None:
            raise UsageError("Laplace noise needs a bound on the sum of absolute entries, which these sums lack.")
        exchanged = 2 if gram.exchanged else 1
        return max(exchanged * gram.l1 / (2 * self.epsilon), LEAST_SCALE)

    def check(self, gram: BoundedGram) -> None:
        check_scale(2 * self.scale(gram))

    def standard_deviation(self, gram: BoundedGram) -> float:
        return float(gram.step) / (math.sqrt(2) * math.sinh(1 / (2 * float(self.scale(gram)))))

    def _parameters(self, gram: BoundedGram) -> tuple[Fraction, Fraction]:
        return 2 * self.scale(gram), self.scale(gram)


def noisy_symmetric(
    matrix: NDArray[np.int64], law: NoiseLaw, on: Fraction, off: Fraction, spend: Spend
) -> NDArray[np.int64]:
    """The whole symmetric matrix with fresh noise: one parameter for the diagonal, one for what is above it."""
    above = np.triu_indices(matrix.shape[0], 1)
    released = np.zeros(matrix.shape, dtype=np.int64)
    released[above] = noisy(matrix[above], law, off, spend)
    released += released.T
    np.fill_diagonal(released, noisy(matrix.diagonal(), law, on, spend))
    return released
