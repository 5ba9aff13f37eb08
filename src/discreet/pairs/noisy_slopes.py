"""From noisy sums over pairs to Slope One: post-processing, free of charge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["NoisySlopes", "offsets_of_pairs", "square"]

SPREAD = 0.06
"""How far the difference of two items usually is from the difference of their offsets, in widths of the scale."""

OFFSETS = 0.12
"""How far items usually are from the general level, in widths of the scale."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoisySlopes:
    """Weighted Slope One among the items of a head.

    Attributes
    ----------
    slopes
        s_jk in row j and column k: how much better j is liked than k, in stars.
    weights
        How much the pair counts.
    """

    slopes: Matrix
    weights: Matrix

    @classmethod
    def read(
        cls,
        differences: Matrix,
        counts: Matrix,
        offsets: NDArray[np.float64],
        *,
        noise_differences: float,
        noise_counts: float,
        width: float,
        threshold: float,
    ) -> NoisySlopes:
        """Read them from noisy upper triangles.

        What noise hides is taken to be what the offsets of the two items say: with C the noisy count and X the noisy
        difference less C times that of the offsets, s = offsets + X·C/(C² + (noise of X/usual size)²). Without noise it
        is the plain quotient.

        Parameters
        ----------
        offsets
            How far above the general level each item is liked, in stars: public or released before.
        noise_differences, noise_counts
            Standard deviations.
        width
            Of the rating scale.
        threshold
            Pairs whose noisy count is at most so many deviations of its noise say no more than the offsets do.
        """
        apart, together = square(differences, -1), square(counts, 1)
        usual = offsets[:, None] - offsets[None, :]
        known = np.where(together > threshold * noise_counts, together, 0.0)
        hidden = (noise_differences**2 + (usual * noise_counts) ** 2) / (SPREAD * width) ** 2
        extra = np.where(known > 0, (apart - known * usual) * known / np.where(known > 0, known**2 + hidden, 1.0), 0.0)
        # Nothing counts for less than the noise lets it look.
        weights = np.maximum(known, noise_counts)
        np.fill_diagonal(weights, 0.0)
        return cls(np.clip(usual + extra, -width, width), weights)

    def predicted(self, rows: csr_array) -> tuple[Matrix, Matrix]:
        """Σ w·(s + r) and Σ w over each history of items of the head, for every item of the head.

        Products of a sparse and a dense matrix are added row by row in the order of the history, so that nobody's
        numbers depend on who is asked for beside them.
        """
        touched = rows.copy()
        touched.data = np.ones(rows.data.size)
        spoken = rows @ self.weights + touched @ (self.weights * self.slopes.T)
        return spoken, touched @ self.weights


def offsets_of_pairs(
    differences: NDArray[np.float64], counts: NDArray[np.float64], *, noise_differences: float, width: float
) -> NDArray[np.float64]:
    """How far above the others each item is liked, from noisy upper triangles: weighted least squares, with a ridge for
    what noise adds to the sum of a row.
    """
    apart, together = square(differences, -1), np.maximum(square(counts, 1), 0.0)
    known = together.sum(axis=1)
    noise = apart.shape[0] * noise_differences**2 / (OFFSETS * width) ** 2
    # Without common raters, and without noise, any offset would do: it is 0.
    ridge = noise / np.maximum(known, np.sqrt(noise)) + 1e-9 * (1 + known) if noise else 1e-9 * (1 + known)
    return np.clip(np.linalg.solve(np.diag(known + ridge) - together, apart.sum(axis=1)), -width, width)


def square(triangle: NDArray[np.float64], sign: int) -> Matrix:
    """The whole matrix from its upper triangle; below it the same with this sign.

    Examples
    --------
    >>> square(np.array([1.0, 2.0, 3.0]), -1)
    array([[ 0.,  1.,  2.],
           [-1.,  0.,  3.],
           [-2., -3.,  0.]])
    """
    size = (1 + round((1 + 8 * triangle.size) ** 0.5)) // 2
    whole = np.zeros((size, size))
    whole[np.triu_indices(size, 1)] = triangle
    return whole + sign * whole.T
