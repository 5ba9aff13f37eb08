"""What is left of a symmetric matrix when its noise is taken out: shrinkage of eigenvalues.

References
----------
M. Gavish, D. Donoho: Optimal shrinkage of singular values. IEEE Trans. Inf. Theory 2017.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["shrunk_rectangle", "shrunk_spectrum"]


def shrunk_spectrum(matrix: NDArray[np.float64], noise: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


def shrunk_rectangle(matrix: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """A rectangular matrix without its noise of deviation ``noise`` in each entry, by shrinking singular values.

    With β = rows/columns ≤ 1 and y a singular value over noise·√columns, what comes nearest is √((y² − β − 1)² − 4β)/y
    above the edge 1 + √β and nothing below it.
    """
    if not matrix.size:
        return matrix
    wide = max(matrix.shape)
    beta = min(matrix.shape) / wide
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    unit = noise * np.sqrt(wide)
    if unit == 0:
        return matrix
    y = values / unit
    inside = np.maximum((y**2 - beta - 1) ** 2 - 4 * beta, 0)
    kept = np.where(y > 1 + np.sqrt(beta), np.sqrt(inside) / np.maximum(y, 1e-12), 0) * unit
    return (left * kept) @ right
