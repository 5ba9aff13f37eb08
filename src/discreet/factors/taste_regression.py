"""From a noisy matrix of tastes to what each item says about the others. All of it is post-processing.

References
----------
H. Steck: Embarrassingly shallow autoencoders for sparse data. WWW 2019.
M. Gavish, D. Donoho: Optimal shrinkage of singular values. IEEE Trans. Inf. Theory 2017.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.factors.spectrum import shrunk_rectangle, shrunk_spectrum

__all__ = ["taste_regression"]

NOISE_RIDGE, USER_RIDGE = 1.25, 0.003
"""Ridge in units of the edge of the noise, and for each user: the same constants for all data."""


def taste_regression(
    noisy: NDArray[np.float64],
    noise: float,
    users: float,
    direction: NDArray[np.float64],
    features: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Weights with which the other items of the head speak for each: ridge regression of every item on the others.

    With Q = (matrix + ridge)⁻¹ the regression of item j on all others has the weights −Q_ij/Q_jj (Steck 2019). The
    ridge stands for the noise that shrinkage leaves, and for how little even many users say about a rare pair.
    """
    # The true matrix has no part along popularity; what is there is noise.
    matrix = noisy - np.outer(direction, direction @ noisy)
    matrix -= np.outer(matrix @ direction, direction)
    if features is None:
        values, vectors = shrunk_spectrum(matrix, noise)
    else:
        values, vectors = np.linalg.eigh(_block_shrunk(matrix, noise, direction, features))
        values = np.maximum(values, 0)
    ridge = NOISE_RIDGE * noise * math.sqrt(noisy.shape[0] / 2) + USER_RIDGE * users
    # ridge·(V·diag(η)·Vᵀ + ridge)⁻¹ = 1 − V·diag(η/(η + ridge))·Vᵀ. Along popularity tastes have no variance, because
    # it was taken out; taken as infinite there, no item is explained by the mere fact that all of them add up.
    inverse = np.eye(noisy.shape[0]) - (vectors * (values / (values + ridge))) @ vectors.T
    inverse -= np.outer(direction, direction)
    weights = -inverse / np.maximum(inverse.diagonal(), 1e-9)
    np.fill_diagonal(weights, 0)
    return weights


def _block_shrunk(
    matrix: NDArray[np.float64], noise: float, direction: NDArray[np.float64], features: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The matrix without its noise, seen from the few directions that public features span.

    Inside these directions and between them and the others the noise has much lower edges than in the whole, so that
    tastes that follow genres stand out where there are too few users for others.
    """
    spanned = features * direction[:, None]
    spanned -= np.outer(direction, direction @ spanned)
    left, sizes, _ = np.linalg.svd(spanned, full_matrices=False)
    basis = left[:, sizes > 1e-6 * max(sizes.max(initial=0), 1e-12)]
    inside = basis.T @ matrix @ basis
    values, vectors = shrunk_spectrum(inside, noise)
    kept = (vectors * values) @ vectors.T
    across = matrix @ basis - basis @ inside
    across = shrunk_rectangle(across, noise / math.sqrt(2))
    outside = matrix - basis @ (basis.T @ matrix)
    outside -= (outside @ basis) @ basis.T
    values, vectors = shrunk_spectrum(outside, noise)
    cross = across @ basis.T
    return basis @ kept @ basis.T + cross + cross.T + (vectors * values) @ vectors.T
