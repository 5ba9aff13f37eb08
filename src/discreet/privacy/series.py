"""Continual release: sums over people, released again at every step, at one price for all steps.

With x_t what comes to the sums at step t, step t releases y_t = Σ_k c_k·x_(t−k) + z_t with fresh normal noise z_t, and
everybody computes the running totals x_0 + … + x_t from y_0, …, y_t. The coefficients c_k = binom(2k, k)/4^k are those
of the square root of the matrix of prefix sums, rounded to whole multiples of 2^−bits: sums stay on an integer grid.
``docs/proofs/series.md`` has the theorems.

References
----------
S. Denisov, B. McMahan, K. Rush, A. Smith, A. Thakurta: Improved differential privacy for SGD via optimal private linear
operators on adaptive streams. NeurIPS 2022.
H. Fichtenberger, M. Henzinger, J. Upadhyay: Constant matters: fine-grained error bound on differentially private
continual observation. ICML 2023.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums, require_same_bounds
from discreet.privacy.draws import Spend, paid_from
from discreet.privacy.gram import BoundedGram
from discreet.privacy.losses import GaussianLoss
from discreet.privacy.mechanisms import NormalMechanism

__all__ = ["Factorization", "SeriesNoise", "Sums"]

Sums = BoundedSums | BoundedGram
Released = NDArray[np.float64]

MOST_STEPS = 4000
MOST_BITS, LEAST_BITS = 12, 4
"""Coefficients are multiples of 2^−12, which costs less than 0.001 % in noise; fewer bits only where sums are large."""

ROOM = 2**62
"""Sums, coefficients and noise stay below this, so that nothing overflows in 64 bits."""


@dataclass(frozen=True)
class Factorization:
    """The matrix of prefix sums A = B·C: C is applied before the noise, B afterwards.

    Both are lower triangular and constant along their diagonals.

    Parameters
    ----------
    steps
        How many steps the series has.
    bits
        The coefficients of C are whole multiples of 2^−bits.

    Examples
    --------
    >>> year = Factorization(365)
    >>> round(year.noise_factor(364), 2)
    2.94
    >>> Factorization(3).coefficients
    (4096, 2048, 1536)
    """

    steps: int
    bits: int = MOST_BITS

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or not 1 <= self.steps <= MOST_STEPS:
            raise UsageError(f"steps must be a whole number from 1 to {MOST_STEPS:,}, got {self.steps!r}.")
        if not LEAST_BITS <= self.bits <= MOST_BITS:
            raise UsageError(f"bits must be from {LEAST_BITS} to {MOST_BITS}, got {self.bits}.")

    @classmethod
    def for_people(cls, steps: int, sums: Sums, people: int) -> Factorization:
        """The finest coefficients for which the sums of so many people cannot overflow; all of it is public."""
        most = math.ceil(_largest_entry(sums)) * people
        for bits in range(MOST_BITS, LEAST_BITS - 1, -1):
            factorization = cls(steps, bits)
            if most * sum(factorization.coefficients) < ROOM:
                return factorization
        raise UsageError(
            f"the sums of {people:,} people over {steps:,} steps do not fit into 64 bits.",
            remedy="Lower people, the most people that may come.",
        )

    @cached_property
    def coefficients(self) -> tuple[int, ...]:
        """c_0, c_1, … in steps of 2^−bits: binom(2k, k)/4^k, rounded to the nearest."""
        one, found = 2 ** (self.bits + 1), []
        binomial = 1
        for k in range(self.steps):
            found.append((binomial * one + 4**k) // (2 * 4**k))
            binomial = binomial * 2 * (2 * k + 1) // (k + 1)
        return tuple(found)

    @cached_property
    def norm_squared(self) -> int:
        """‖C e₁‖² in squared steps of 2^−bits, exactly: Σ c_k²."""
        return sum(c * c for c in self.coefficients)

    @cached_property
    def decoding(self) -> Released:
        """The coefficients of B = A·C⁻¹: the power series 1/((1 − z)·c(z))."""
        c = np.array(self.coefficients, dtype=np.float64) / 2**self.bits
        differences = np.diff(c, prepend=0.0)
        found = np.zeros(self.steps)
        found[0] = 1 / differences[0]
        for k in range(1, self.steps):
            found[k] = -(differences[1 : k + 1] @ found[k - 1 :: -1]) / differences[0]
        return found

    def noise_factor(self, step: int) -> float:
        """Noise on the total at a step, in units of the noise of a single release at the price of the whole series."""
        length = math.sqrt(self.norm_squared) / 2**self.bits
        return length * float(np.linalg.norm(self.decoding[: step + 1]))

    # Before the noise

    def encoded(self, aged: Iterable[tuple[int, Sums]]) -> Sums:
        """Σ c_k·x over what came k steps ago, with what one person changes in **all** steps of the series together.

        Parameters
        ----------
        aged
            Sums with their age in steps. What one person adds, absolute values summed over all steps, must keep to the
            bounds that the sums carry (``docs/proofs/series.md``, Theorem 1): so it is where each person is in the sums
            of one step, and where counts of a person's records of all steps together keep to the bounds.
        """
        total: Sums | None = None
        for age, sums in aged:
            # Whole numbers modulo 2^64: even with more people than were foreseen nothing stops, which would tell.
            scaled = _scaled(sums, self.coefficients[age])
            total = scaled if total is None else _added(total, scaled)
        if total is None:
            raise UsageError("at least the sums of one step are required.")
        return self._bounded(total)

    def _bounded(self, sums: Sums) -> Sums:
        fine, squared = Fraction(1, 2**self.bits), self.norm_squared
        if isinstance(sums, BoundedGram):
            return replace(sums, step=sums.step * fine, frobenius_squared=sums.frobenius_squared * squared, l1=None)
        return replace(
            sums,
            step=sums.step * fine,
            l1=sums.l1 * sum(self.coefficients),
            l2_squared=sums.l2_squared * squared,
            linf=sums.linf * self.coefficients[0],
        )

    # After the noise

    def decoded(self, released: Iterable[Sequence[NDArray[Any]]]) -> list[Released]:
        """The totals of all steps so far: post-processing.

        Parameters
        ----------
        released
            What the steps released, one or more arrays each, **from the latest step back to the first**.
        """
        totals: list[Released] | None = None
        for weight, arrays in zip(self.decoding, released, strict=False):
            parts = [weight * array.astype(np.float64) for array in arrays]
            totals = parts if totals is None else [total + part for total, part in zip(totals, parts, strict=True)]
        if totals is None:
            raise UsageError("at least one released step is required.")
        return totals


@dataclass(frozen=True, eq=False)
class SeriesNoise:
    """The noise of all steps of one series of sums, and what they spend together.

    Parameters
    ----------
    factorization
        The steps.
    mu_squared
        What all steps together spend, in Gaussian differential privacy.

    Privacy
    -------
    All steps together are μ-GDP for one person, present or absent, also where people's later records depend on earlier
    releases (``docs/proofs/series.md``, Theorems 1 and 2).
    """

    factorization: Factorization
    mu_squared: Fraction

    @cached_property
    def spend(self) -> Spend:
        """What all draws of the series are paid from."""
        return Spend("continual release", GaussianLoss(self.mu_squared))

    def grid(self, sums: Sums) -> tuple[Fraction, Fraction]:
        """The step of the finer grid, and the deviation of the smallest noise on it in such steps; both are public."""
        encoded = self.factorization._bounded(sums)
        matrices = isinstance(encoded, BoundedGram)
        return encoded.step, NormalMechanism(self.mu_squared).parameter(encoded, off_diagonal=matrices)

    def check(self, sums: Sums) -> None:
        """Refuse sums that the noise cannot be drawn for; they may be sums over nobody."""
        NormalMechanism(self.mu_squared).check(self.factorization._bounded(sums))

    def release(self, aged: Iterable[tuple[int, Sums]]) -> list[Released]:
        """y_t in the units of the sums: one array for counts, one for each matrix. Charge the ledger first."""
        encoded = self.factorization.encoded(aged)
        with paid_from(self.spend):
            released = NormalMechanism(self.mu_squared).release(encoded)
        if isinstance(released, list):
            return released
        return [released.astype(np.float64) * float(encoded.step)]


def _largest_entry(sums: Sums) -> float:
    """The most that one person adds to one number, in grid steps."""
    return math.sqrt(sums.frobenius_squared) if isinstance(sums, BoundedGram) else float(sums.linf)


def _scaled(sums: Sums, factor: int) -> Sums:
    if isinstance(sums, BoundedGram):
        return replace(sums, matrices=tuple(matrix * factor for matrix in sums.matrices))
    return replace(sums, values=sums.values * factor)


def _added(first: Sums, second: Sums) -> Sums:
    if isinstance(first, BoundedGram) and isinstance(second, BoundedGram):
        require_same_bounds(first, second, ("step", "frobenius_squared", "unit", "caps", "l1"))
        together = zip(first.matrices, second.matrices, strict=True)
        return replace(first, matrices=tuple(one + two for one, two in together))
    assert isinstance(first, BoundedSums)
    assert isinstance(second, BoundedSums)
    require_same_bounds(first, second, ("step", "l1", "l2_squared", "linf", "nonnegative", "unit", "caps"))
    return replace(first, values=first.values + second.values)
