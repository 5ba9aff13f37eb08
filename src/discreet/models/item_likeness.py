"""From noisy Gram matrices to likeness of items: post-processing, free of charge.

References
----------
D. Donoho, M. Gavish, I. Johnstone: Optimal shrinkage of eigenvalues in the spiked covariance model. Ann. Stat. 2018.
M. Gavish, D. Donoho: Optimal shrinkage of singular values. IEEE Trans. Inf. Theory 2017.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.common.arrays import Floats

__all__ = ["affinity_of", "agreement_of", "shrunk_spectrum", "without_common_level"]


def affinity_of(together: Floats, noise: float, k: int) -> Floats:
    """How much items speak for each other: the cosine of shrunk co-occurrence, each row with its k largest."""
    return _nearest(_cosine(_shrunk(together, noise), 2 * noise), k)


def agreement_of(products: Floats, together: Floats, noise: float) -> Floats:
    """How ratings of two items go together: shrunk products over how often they come together, drawn towards 0."""
    agreement = _shrunk(products, noise) / (np.maximum(together, 0) + 8 * noise + 1e-12)
    np.fill_diagonal(agreement, 0)
    return agreement


def without_common_level(products: Floats, together: Floats) -> Floats:
    """Products less what any two ratings of one person have in common.

    Where ratings are not relative to their rater's own mean, somebody who rates high rates everything high, and all
    pairs agree. The mean agreement over all pairs is what this adds to each.
    """
    apart = ~np.eye(products.shape[0], dtype=bool)
    total = float(together[apart].sum())
    common = float(products[apart].sum()) / total if total > 0 else 0.0
    return products - float(np.clip(common, 0, 1)) * together


def _shrunk(matrix: Floats, noise: float) -> Floats:
    """The matrix without what noise of this deviation in each entry adds to it."""
    values, vectors = shrunk_spectrum(matrix, noise * math.sqrt(2))
    return (vectors * values) @ vectors.T


def shrunk_spectrum(matrix: Floats, noise: float) -> tuple[Floats, Floats]:
    """Eigenvalues and eigenvectors that rise above the noise, the values shrunk for what noise added to them.

    A symmetric matrix of independent normal noise, of deviation ``noise`` on the diagonal and noise/√2 off it, has its
    spectrum within ±2τ, τ = noise·√(m/2). A true eigenvalue λ > τ shows as λ + τ²/λ and points in the right direction
    with squared cosine 1 − τ²/λ²; η = √(w² − 4τ²) is the multiple of the direction seen that comes nearest to it.

    Examples
    --------
    >>> values, vectors = shrunk_spectrum(np.diag([100.0, 1.0, 0.5]), noise=1.0)
    >>> values.round(2).tolist(), np.abs(vectors[:, 0]).tolist()
    ([99.97], [1.0, 0.0, 0.0])
    """
    edge = noise * np.sqrt(matrix.shape[0] / 2)
    values, vectors = np.linalg.eigh(matrix)
    strong = values > 2 * edge
    return np.sqrt(values[strong] ** 2 - 4 * edge**2), vectors[:, strong]


def _cosine(gram: Floats, floor: float) -> Floats:
    lengths = np.sqrt(np.maximum(gram.diagonal(), floor + 1e-12))
    cosine = gram / np.outer(lengths, lengths)
    np.fill_diagonal(cosine, 0)
    return cosine


def _nearest(likeness: Floats, k: int) -> Floats:
    """Each row with its k largest entries, if positive, and zeros."""
    if k < likeness.shape[1]:
        least = np.partition(likeness, likeness.shape[1] - k, axis=1)[:, likeness.shape[1] - k, None]
        likeness = np.where(likeness >= least, likeness, 0)
    return np.maximum(likeness, 0)
