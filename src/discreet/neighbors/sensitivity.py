"""How far one co-rater can move a similarity: what the papers say, what is true, and a bound that is smooth.

Pure functions of one pair: the formulas of Lemmas 1 and 2, which ``discreet study pncf`` compares with what is
measured, and a second opinion on the compiled kernels. A pair is given by its co-ratings: ``first[x]`` and
``second[x]`` are what co-rater x gave to the one and to the other entity, for Pearson after taking the means away.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014,
section 3.3.2 (Lemmas 1 and 2).
K. Nissim, S. Raskhodnikova, A. Smith: Smooth sensitivity and sampling in private data analysis. STOC 2007.
"""

from __future__ import annotations

import math
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.common.arrays import Floats, Vector
from discreet.errors import UsageError

__all__ = [
    "exact_sensitivity",
    "lemma_sensitivity",
    "pair_cosine",
    "published_smooth_bound",
    "smooth_bound",
]

Number = TypeVar("Number", float, Floats)


def pair_cosine(first: ArrayLike, second: ArrayLike) -> float:
    """Cosine over the co-ratings; 0 without co-raters or with a vector of zeros.

    Examples
    --------
    >>> pair_cosine([3], [5]), round(pair_cosine([1, 5], [2, 1]), 4), pair_cosine([], [])
    (1.0, 0.6139, 0.0)
    """
    a, b = _pair(first, second)
    length = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / length if length > 0 else 0.0


def lemma_sensitivity(first: ArrayLike, second: ArrayLike, *, form: Literal["derived", "printed"] = "derived") -> float:
    """The papers' recommendation-aware sensitivity RS of a pair, by Lemma 1.

    With n the product of both lengths and n' the same after taking co-rater x out, it is the maximum over x of the
    two terms |a_x·b_x|/n' and |c|·(n − n')/(n·n').

    Parameters
    ----------
    first, second
        The co-ratings.
    form
        "derived": c is the inner product of the whole pair, as equation 3.3.5 has it. "printed": c is the one product
        a_x·b_x, as the lemma says; the second term is then never the larger one, and the lemma is false.

    Notes
    -----
    RS is 1 for one co-rater, as the lemma says; the same where nothing but zeros is left without x. Without co-raters
    it is 0. It may exceed the range of the similarity.

    Examples
    --------
    >>> lemma_sensitivity([1] * 99 + [1], [1] * 99 + [1]) == 1 / 99
    True
    >>> lemma_sensitivity([5, 1], [5, 1])
    25.0
    """
    a, b = _pair(first, second)
    if a.size < 2:
        return float(a.size)
    dot, length = float(a @ b), math.sqrt(float(a @ a) * float(b @ b))
    if length == 0:
        return 1.0
    rest = _lengths_without(a, b)
    product = np.abs(a * b)
    center = abs(dot) if form == "derived" else product
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.maximum(product, center * (length - rest) / length) / rest
    return float(np.where(rest > 0, terms, 1.0).max())


def exact_sensitivity(first: ArrayLike, second: ArrayLike) -> float:
    """The largest change of the similarity when one co-rater leaves: definition 3.3.2, computed.

    It is 1 for one co-rater, as the papers set it, and 0 where all co-ratings are proportional. People who join are
    not looked at, as in the papers.

    Examples
    --------
    >>> round(exact_sensitivity([2] * 10 + [5], [2] * 10 + [1]), 5)
    0.12831
    >>> exact_sensitivity([1, 1, 1], [1, 1, 1])
    0.0
    """
    a, b = _pair(first, second)
    if a.size < 2:
        return float(a.size)
    rest = _lengths_without(a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.where(rest > 0, (float(a @ b) - a * b) / rest, 0.0)
    return float(np.abs(pair_cosine(a, b) - without).max())


def published_smooth_bound(sensitivity: Number, *, beta: float) -> Number:
    """Lemma 2: exp(−β)·RS. It lies below RS for every β > 0, so it is no upper bound, smooth or not.

    Examples
    --------
    >>> published_smooth_bound(2.0, beta=math.log(4))
    0.5
    """
    return math.exp(-beta) * sensitivity


def smooth_bound(first: ArrayLike, second: ArrayLike, *, beta: float, highest: float) -> float:
    """A β-smooth upper bound on the local sensitivity of the co-rated cosine, for ratings in (0, highest].

    With N = min(|a|², |b|²)/highest², one person moves the cosine by at most 1/N and N by at most 1, so
    max(1/N, exp(−β(N − 1))) for N > 1, and 1 otherwise, is an upper bound that one person changes by a factor of at
    most exp(β).

    Notes
    -----
    It serves a few pairs released one by one with noise that admits a smooth bound. It is of no use as the scale of
    one candidate in an exponential mechanism: that scale must not depend on the records at all.

    Examples
    --------
    >>> smooth_bound([5] * 100, [5] * 100, beta=0.5, highest=5)
    0.01
    """
    a, b = _pair(first, second)
    if beta <= 0 or highest <= 0 or np.any(np.concatenate([a, b]) > highest) or np.any(np.concatenate([a, b]) <= 0):
        raise UsageError("a smooth bound needs beta above 0 and ratings above 0, none over the highest.")
    n = min(float(a @ a), float(b @ b)) / highest**2
    return max(1 / n, math.exp(-beta * (n - 1))) if n > 1 else 1.0


def _pair(first: ArrayLike, second: ArrayLike) -> tuple[Vector, Vector]:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or not np.isfinite(a).all() or not np.isfinite(b).all():
        raise UsageError(
            f"co-ratings of shapes {a.shape} and {b.shape} are not a pair.",
            remedy="Give two lists of finite numbers, one of each for every co-rater.",
        )
    return a, b


def _lengths_without(a: Vector, b: Vector) -> Vector:
    """Product of both lengths without each co-rater in turn; rounding must not leave a ghost of what was taken."""
    left = [np.maximum(float(v @ v) - v * v, 0.0) for v in (a, b)]
    left = [np.where(part < 1e-12 * float(v @ v), 0.0, part) for part, v in zip(left, (a, b), strict=True)]
    return np.sqrt(left[0] * left[1])
