"""What a noisy matrix of tastes says, and how far it is to be trusted. All of it is post-processing.

References
----------
J. Bun, R. Allez, J.-P. Bouchaud, M. Potters: Rotational invariant estimator for general noisy matrices. IEEE Trans.
Inf. Theory 2016.
J. Leiner, B. Duan, L. Wasserman, A. Ramdas: Data fission: splitting a single data point. J. Am. Stat. Assoc. 2023.
H. Steck: Embarrassingly shallow autoencoders for sparse data. WWW 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.common.arrays import Floats
from discreet.common.splitmix import splitmix_uniforms

__all__ = ["TasteReading", "cleaned_spectrum", "read_tastes"]

NOISE_RIDGE = 0.8
"""Ridge in units of half the edge of the noise, beside the mean of the diagonal."""

SMOOTHING = 3.0
"""Width over which the density of eigenvalues is read, in mean distances of eigenvalues of the noise."""

PARTING = 0.7
"""What is judged by one part of a matrix was read from another with √(1 + parting²) times the noise."""

MOST_JUDGED = 1_500
"""The first so many items of a larger head tell how far tastes are to be trusted."""

LEAST_OWN = 0.1
"""The share of an item's diagonal that tastes never explain."""

PAIRS_ABOVE = 2.5
"""What two items have in common beyond tastes (a film and its sequel) counts as far as it is so many deviations of the
noise above 0."""


@dataclass(frozen=True)
class TasteReading:
    """What each item of the head says about the others.

    Parameters
    ----------
    weights
        Ridge regression of every item on the others, times the degree.
    degree
        From 0 (indistinguishable from noise: items are ranked by popularity alone) to 1.
    """

    weights: Floats
    degree: float


def read_tastes(
    noisy: Floats, noise: float, users: float, direction: Floats, features: Floats | None, order: Floats
) -> TasteReading:
    """Read a released matrix of tastes.

    Parameters
    ----------
    noise
        Deviation of its noise on the diagonal; off it, 1/√2 of that.
    users
        How many people are in it.
    direction
        What was taken out of every taste: popularity, of length 1.
    features
        Public columns of the items.
    order
        How popular items are; the most popular tell how far tastes are to be trusted.
    """
    matrix = _without(noisy, direction)
    judged = np.sort(np.argsort(-order, kind="stable")[:MOST_JUDGED])
    part = matrix[np.ix_(judged, judged)] if judged.size < order.size else matrix
    along = direction[judged] / max(np.linalg.norm(direction[judged]), 1e-12)
    degree = _degree(_without(part, along), noise, users, along, None if features is None else features[judged])
    if degree == 0:
        return TasteReading(np.zeros_like(noisy), 0.0)
    return TasteReading(degree * _regression(matrix, noise, direction, features), degree)


def _without(matrix: Floats, direction: Floats) -> Floats:
    """The matrix without the direction on both sides: the true one has nothing there."""
    matrix = matrix - np.outer(direction, direction @ matrix)
    return matrix - np.outer(matrix @ direction, direction)


def _own(matrix: Floats, direction: Floats) -> Floats:
    """The diagonal D for which D without the direction has the diagonal of the matrix: what no taste would leave.

    People whose items have nothing to do with each other add up to such a D: every item goes with itself alone. With
    q the direction, the diagonal of the rest is D·(1 − 2q²) + q²·Σ q²D.
    """
    squared = direction**2
    factor = np.maximum(1 - 2 * squared, 0.05)
    along = (squared * matrix.diagonal() / factor).sum() / (1 + (squared**2 / factor).sum())
    return (matrix.diagonal() - squared * along) / factor


def _apart(matrix: Floats, own: Floats, direction: Floats) -> Floats:
    """What items have in common beyond what each has with itself."""
    return matrix - _without(np.diag(own), direction)


def cleaned_spectrum(matrix: Floats, noise: float, *, null: int = 0) -> tuple[Floats, Floats]:
    """Eigenvalues without what noise adds to them, and their eigenvectors; those of 0 and below are left out.

    For symmetric noise of deviation ``noise`` on the diagonal and noise/√2 off it, the multiple of v vᵀ that comes
    nearest to the true matrix is λ − 2τ²·Re g(λ), τ² = noise²·m/2, where g is the Stieltjes transform of the spectrum
    seen. Above the spectrum of the noise this is the √(λ² − 4τ²) of ``shrunk_spectrum``; inside it keeps as much as is
    true of many weak directions together.

    Parameters
    ----------
    null
        So many directions were taken out of the matrix: their eigenvalues are 0 and say nothing.

    Examples
    --------
    >>> values, vectors = cleaned_spectrum(np.diag([100.0, 0.0, 0.0, 0.0]), noise=0.1)
    >>> values.round(1).tolist(), np.abs(vectors).round(1).tolist()
    ([100.0], [[1.0], [0.0], [0.0], [0.0]])
    """
    size = matrix.shape[0] - null
    if size < 1:
        return np.zeros(0), np.zeros((matrix.shape[0], 0))
    values, vectors = np.linalg.eigh(matrix.astype(np.float32))
    kept = np.sort(np.argsort(-np.abs(values), kind="stable")[:size])
    seen = values[kept].astype(np.float64)
    variance = noise**2 * size / 2
    width = SMOOTHING * noise / math.sqrt(2)
    density = np.empty(size)
    for begin in range(0, size, 512):
        apart = seen[begin : begin + 512, None] - seen
        density[begin : begin + 512] = (apart / (apart**2 + width**2 + 1e-30)).sum(axis=1) / size
    true = np.maximum.accumulate(seen - 2 * variance * density)
    above = true > 1e-6 * max(true[-1], noise)
    return true[above], vectors[:, kept[above]].astype(np.float64)


def _regression(matrix: Floats, noise: float, direction: Floats, features: Floats | None) -> Floats:
    """Ridge regression of every item on the others, without what popularity alone says.

    With Q = (matrix + ridge)⁻¹ the regression of item j on all others has the weights −Q_ij/Q_jj (Steck 2019).
    """
    own = np.maximum(_own(matrix, direction), noise / 2)
    left, tastes, pairs = own, matrix, np.zeros_like(matrix)
    for _ in range(2):
        apart = _apart(matrix, left, direction) - pairs
        if features is None:
            values, vectors = cleaned_spectrum(apart, noise, null=1)
        else:
            values, vectors = _cleaned_by_features(apart, noise, direction, features)
        tastes = (vectors * values) @ vectors.T
        # What tastes explain of an item's diagonal is not its own.
        left = np.maximum(own - tastes.diagonal(), LEAST_OWN * own)
        pairs = _pairs_beyond(_apart(matrix, left, direction) - tastes, noise)
    ridge = NOISE_RIDGE * noise * math.sqrt(own.size / 2) + own.mean()
    # No eigenvalue of the pairs takes more away than the ridge adds.
    tastes += pairs * min(1.0, 0.9 * ridge / max(_eigenvalue_bound(pairs), 1e-12))
    # Along popularity tastes have no variance, because it was taken out; taken as infinite there, no item is explained
    # by the mere fact that all of them add up. What that alone would say is taken off.
    popular, every = np.outer(direction, direction), np.eye(own.size)
    inverse = ridge * np.linalg.inv(_without(tastes, direction) + ridge * every) - popular
    return _weights(inverse) - _weights(every - popular)


def _pairs_beyond(left: Floats, noise: float) -> Floats:
    """Of what tastes leave, what stands out from the noise: pairs that go together for a reason of their own."""
    left -= PAIRS_ABOVE * noise / math.sqrt(2)
    np.maximum(left, 0, out=left)
    np.fill_diagonal(left, 0)
    return left


def _eigenvalue_bound(matrix: Floats) -> float:
    """No eigenvalue of a symmetric matrix without negative entries is larger, or below its negative: max (Mx)/x, x > 0.

    Examples
    --------
    >>> round(_eigenvalue_bound(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])), 6)
    2.0
    """
    unit = float(matrix.max())
    if unit == 0:
        return 0.0
    image = x = np.ones(matrix.shape[0])
    for _ in range(20):
        x = image / image.max()
        image = matrix @ x / unit + x
    return (float((image / x).max()) - 1) * unit


def _weights(inverse: Floats) -> Floats:
    weights = -inverse / np.maximum(inverse.diagonal(), 1e-9)
    np.fill_diagonal(weights, 0)
    return weights


def _cleaned_by_features(matrix: Floats, noise: float, direction: Floats, features: Floats) -> tuple[Floats, Floats]:
    """The spectrum of the matrix without its noise, seen from the few directions that public features span.

    Inside these directions and between them and the others there is much less noise than in the whole, so that tastes
    that follow genres stand out where there are too few users for others.
    """
    spanned = features * direction[:, None]
    spanned -= np.outer(direction, direction @ spanned)
    left, sizes, _ = np.linalg.svd(spanned, full_matrices=False)
    basis = left[:, sizes > 1e-6 * max(sizes.max(initial=0), 1e-12)]
    inside = basis.T @ matrix @ basis
    values, vectors = cleaned_spectrum(inside, noise)
    kept = basis @ ((vectors * values) @ vectors.T) @ basis.T
    # Each column between has so much noise; what is left of its square is what is true of it.
    across = matrix @ basis - basis @ inside
    squared = (across**2).sum(axis=0)
    across *= np.maximum(0, 1 - noise**2 / 2 * (matrix.shape[0] - basis.shape[1]) / np.maximum(squared, 1e-12))
    outside = matrix - basis @ (basis.T @ matrix)
    outside -= (outside @ basis) @ basis.T
    values, vectors = cleaned_spectrum(outside, noise, null=basis.shape[1] + 1)
    cross = across @ basis.T
    values, vectors = np.linalg.eigh(kept + cross + cross.T + (vectors * values) @ vectors.T)
    above = values > 1e-6 * max(values.max(initial=0), noise)
    return values[above], vectors[:, above]


def _degree(matrix: Floats, noise: float, users: float, direction: Floats, features: Floats | None) -> float:
    """How far tastes are to be trusted: the multiple of them that predicts best what they were not read from.

    An entry of the matrix is off by the noise and by the chance of who is there: variance noise²/2 and, where items
    have nothing to do with each other, D_i·D_j/users. With Z of these variances, M + cZ and M − Z/c are off by
    independent errors. Tastes are read from the one. The other tells without bias how far people follow them: with A
    what items have in common, the error of tastes B at a multiple x falls by 2x·⟨A, B⟩ − x²·⟨M·B, B⟩. Two
    deviations of ⟨A, B⟩ are taken off it, so that what may be chance is not trusted.
    """
    own = np.maximum(_own(matrix, direction), noise / 2)
    variance = noise**2 / 2 + np.outer(own, own) / users
    error = _without(_public_normals(own.size) * np.sqrt(variance), direction)
    read = _regression(matrix + PARTING * error, noise * math.sqrt(1 + PARTING**2), direction, features)
    judge = matrix - error / PARTING
    agreed = float((_apart(judge, _own(judge, direction), direction) * read).sum())
    chance = 2 * math.sqrt(2 * float((variance * read**2).sum()) * (1 + PARTING**-2))
    # The true matrix has nothing below what single items have with themselves, or nearly so.
    spread = max(float(((judge @ read) * read).sum()), LEAST_OWN * float(own @ (read**2).sum(axis=1)), 1e-12)
    return min(1.0, max(0.0, agreed - chance) / spread)


def _public_normals(size: int) -> Floats:
    """A symmetric matrix of numbers that look normal: of variance 1 off the diagonal, 2 on it. The same every time."""
    uniforms = splitmix_uniforms(2 * size * size, start=1).reshape(2, size, size)
    normals = np.sqrt(-2 * np.log1p(-uniforms[0])) * np.cos(2 * np.pi * uniforms[1])
    upper = np.triu(normals, 1)
    return upper + upper.T + np.diag(normals.diagonal() * math.sqrt(2))
