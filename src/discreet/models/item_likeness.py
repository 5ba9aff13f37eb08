"""From noisy Gram matrices to likeness of items: post-processing, free of charge.

References
----------
D. Donoho, M. Gavish, I. Johnstone: Optimal shrinkage of eigenvalues in the spiked covariance model. Ann. Stat. 2018.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["affinity_of", "agreement_of", "without_common_level"]


def affinity_of(together: NDArray[np.float64], noise: float, k: int) -> NDArray[np.float64]:
    """How much items speak for each other: the cosine of shrunk co-occurrence, each row with its k largest."""
    return _nearest(_cosine(_shrunk(together, noise), 2 * noise), k)


def agreement_of(products: NDArray[np.float64], together: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """How ratings of two items go together: shrunk products over how often they come together, drawn towards 0."""
    agreement = _shrunk(products, noise) / (np.maximum(together, 0) + 8 * noise + 1e-12)
    np.fill_diagonal(agreement, 0)
    return agreement


def without_common_level(products: NDArray[np.float64], together: NDArray[np.float64]) -> NDArray[np.float64]:
    """Products less what any two ratings of one person have in common.

    Where ratings are not relative to their rater's own mean, somebody who rates high rates everything high, and all
    pairs agree. The mean agreement over all pairs is what this adds to each.
    """
    apart = ~np.eye(products.shape[0], dtype=bool)
    total = float(together[apart].sum())
    common = float(products[apart].sum()) / total if total > 0 else 0.0
    return products - float(np.clip(common, 0, 1)) * together


def _shrunk(matrix: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """The matrix with its eigenvalues shrunk by what noise of this size adds, those inside the noise to zero."""
    edge = noise * math.sqrt(matrix.shape[0])
    values, vectors = np.linalg.eigh(matrix)
    kept = np.where(values > 2 * edge, np.sqrt(np.maximum(values**2 - 4 * edge**2, 0)), 0)
    return (vectors * kept) @ vectors.T


def _cosine(gram: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    lengths = np.sqrt(np.maximum(gram.diagonal(), floor + 1e-12))
    cosine = gram / np.outer(lengths, lengths)
    np.fill_diagonal(cosine, 0)
    return cosine


def _nearest(likeness: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Each row with its k largest entries, if positive, and zeros."""
    if k < likeness.shape[1]:
        least = np.partition(likeness, likeness.shape[1] - k, axis=1)[:, likeness.shape[1] - k, None]
        likeness = np.where(likeness >= least, likeness, 0)
    return np.maximum(likeness, 0)
