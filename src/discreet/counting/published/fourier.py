"""A real Fourier transform in whole numbers: what noise is added to must be integers with a known bound.

The cosines and sines are rounded to integers once, from public values alone. So the transform is a public integer
matrix, sums go through it without any rounding, and what one user can change is bounded for this very matrix
(``docs/proofs/counting.md``, Theorem 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.bounding import BoundedSums
from discreet.privacy.numbers import sqrt_up

__all__ = ["IntegerDFT"]

TABLE_BITS = 16
"""Cosines are whole numbers of 2^−16. With sums of at most 2⁴¹ steps every product sum stays within 63 bits."""


@dataclass(frozen=True)
class IntegerDFT:
    """The first coefficients of the unitary discrete Fourier transform of real vectors, times 2^16·√length.

    Coordinates come in the order Re F₀, Re F₁, Im F₁, Re F₂, …; there is no imaginary part of F₀, nor of the last
    coefficient where all are kept and the length is even.

    Parameters
    ----------
    length
        How many numbers are transformed.
    coefficients
        How many coefficients are kept: at most ⌊length/2⌋ + 1, the others of a real vector repeat these.
    even
        Whether parts of coefficients that stand for two are taken √2-fold. The transform is then an isometry, which
        noise of one L2 scale wants; otherwise they are as they are, which the published L1 scale wants.
    """

    length: int
    coefficients: int
    even: bool = False

    @property
    def has_middle(self) -> bool:
        """Whether the last coefficient is the one at half the length, which is real and stands for itself alone."""
        return self.length % 2 == 0 and 0 < self.length // 2 == self.coefficients - 1

    @property
    def coordinates(self) -> int:
        """How many real numbers the kept coefficients are."""
        return 2 * self.coefficients - 1 - self.has_middle

    def of(self, sums: BoundedSums) -> BoundedSums:
        """The transform of sums, with what one user can change about it.

        Where one user's vector has ‖v‖₂² ≤ S, and table entries are off by at most 1, its transform has ‖·‖₁ ≤
        √(length·S)·(2^16·√k + n) and ‖·‖₂ ≤ √(length·S)·(2^16 + √n), for k coefficients with n coordinates.
        """
        root = sqrt_up(self.length * sums.l2_squared)
        n = self.coordinates
        l2 = root * (2**TABLE_BITS + sqrt_up(Fraction(n)))
        l1 = (
            sqrt_up(Fraction(n)) * l2
            if self.even
            else root * (2**TABLE_BITS * sqrt_up(Fraction(self.coefficients)) + n)
        )
        return BoundedSums(
            values=self._coordinates(sums.values),
            step=sums.step / 2**TABLE_BITS,
            l1=l1,
            l2_squared=l2**2,
            linf=l2,
            nonnegative=False,
            unit=sums.unit,
            caps=sums.caps,
        )

    def back(self, coordinates: NDArray[np.floating]) -> NDArray[np.float64]:
        """The vector whose kept coefficients these are, and all others 0; from what ``of`` gives, in the same steps."""
        parts = np.asarray(coordinates, dtype=np.float64) / math.sqrt(self.length)
        whole = np.zeros(self.length // 2 + 1, dtype=np.complex128)
        pairs = parts[1 : 2 * self._pairs + 1].reshape(-1, 2) / (math.sqrt(2) if self.even else 1.0)
        whole[0] = parts[0]
        whole[1 : self._pairs + 1] = pairs[:, 0] - 1j * pairs[:, 1]
        if self.has_middle:
            whole[-1] = parts[-1]
        return np.fft.irfft(whole, n=self.length, norm="ortho")

    def deviation_back(self, deviation: float) -> float:
        """Standard deviation of every number of ``back``, for noise of this deviation on every coordinate."""
        alone = 1 + self.has_middle
        return deviation * math.sqrt(alone + (2 if self.even else 4) * self._pairs) / self.length

    @property
    def _pairs(self) -> int:
        """Coefficients with two parts, which stand for two of the whole transform."""
        return self.coefficients - 1 - self.has_middle

    def _coordinates(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Product sums with the rows of the integer matrix, one coefficient at a time."""
        angle = np.arange(self.length) * (math.tau / self.length)
        fold = 2**TABLE_BITS * (math.sqrt(2) if self.even else 1.0)
        cosine, sine = (np.rint(fold * wave(angle)).astype(np.int64) for wave in (np.cos, np.sin))
        rows = [values.sum() << TABLE_BITS]
        place = np.zeros(self.length, dtype=np.int64)
        for _ in range(self._pairs):
            place += np.arange(self.length)
            place[place >= self.length] -= self.length
            rows += [values @ cosine[place], values @ sine[place]]
        if self.has_middle:
            rows.append((values[0::2].sum() - values[1::2].sum()) << TABLE_BITS)
        return np.array(rows, dtype=np.int64)
