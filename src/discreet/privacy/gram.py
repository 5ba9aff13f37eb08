"""Noisy Gram matrices: who goes with what, in one release, with the noise that its symmetry allows.

A symmetric matrix of user contributions is released as its upper triangle. The noise on the diagonal has twice the
variance of the noise off it; then the squared length of one user's contribution, in units of the noise, is half its
squared Frobenius norm. ``docs/proofs/gram.md`` has the theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy.losses import Concentrated
from discreet.privacy.noise import LEAST_SCALE, discrete_gaussian
from discreet.privacy.units import Unit

__all__ = ["BoundedGram", "GramMechanism"]


@dataclass(frozen=True)
class BoundedGram:
    """One or more symmetric sums over users on an integer grid, with what one user can change.

    Parameters
    ----------
    matrices
        Square int64 matrices, all of one size, upper triangles in use.
    step
        What one grid step is worth.
    frobenius_squared
        A bound on the sum over the matrices of the squared Frobenius norms of one user's contribution, in grid steps.
    """

    matrices: tuple[NDArray[np.int64], ...]
    step: Fraction
    frobenius_squared: Fraction
    unit: Unit
    caps: tuple[str, ...]

    def __post_init__(self) -> None:
        size = self.matrices[0].shape[0]
        if any(m.shape != (size, size) or m.dtype != np.int64 for m in self.matrices):
            raise UsageError("Gram matrices are square, of one size, and of whole grid steps (int64).")


@dataclass(frozen=True)
class GramMechanism:
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

    @property
    def loss(self) -> Concentrated:
        return Concentrated(self.rho)

    def variance(self, gram: BoundedGram) -> Fraction:
        """Of the noise off the diagonal, in squared grid steps."""
        exchanged = 1 if gram.unit.relation == "add-remove" else 4
        return max(exchanged * gram.frobenius_squared / (4 * self.rho), LEAST_SCALE**2)

    def standard_deviation(self, gram: BoundedGram) -> float:
        """Of the noise off the diagonal, in the units of the sums."""
        return float(self.variance(gram)) ** 0.5 * float(gram.step)

    def release(self, gram: BoundedGram) -> Sequence[NDArray[np.float64]]:
        """Noisy symmetric matrices in the units of the sums. Charge the ledger first."""
        noisy = [self._noisy(matrix, self.variance(gram)) for matrix in gram.matrices]
        return [matrix.astype(np.float64) * float(gram.step) for matrix in noisy]

    def _noisy(self, matrix: NDArray[np.int64], variance: Fraction) -> NDArray[np.int64]:
        size = matrix.shape[0]
        noisy = np.zeros((size, size), dtype=np.int64)
        upper = np.triu_indices(size, 1)
        noisy[upper] = matrix[upper] + discrete_gaussian(upper[0].size, variance)
        noisy += noisy.T
        np.fill_diagonal(noisy, matrix.diagonal() + discrete_gaussian(size, 2 * variance))
        return noisy
