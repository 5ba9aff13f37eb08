"""Errors of released counts: squared error, divergence, and the top of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.common.arrays import Floats
from discreet.errors import EvaluationError
from discreet.evaluation.checks import as_numbers, check_k, check_lengths, check_same_shape
from discreet.evaluation.scores import Scores

__all__ = [
    "count_mse",
    "evaluate_counts",
    "kl_original_to_released",
    "kl_released_to_original",
    "top_k_precision",
]

FLOOR = 0.01  # Fan & Jin (2015), section 6.3: replaces counts that are not positive


def count_mse(released: Any, *, original: Any) -> float:
    """Mean squared error of counts: the mean of (released − original)² over all of them.

    Examples
    --------
    >>> count_mse([3, 0, 8], original=[5, 0, 7])
    1.6666666666666667
    """
    noisy, true = _pair(released, original)
    return float(np.square(noisy - true).mean())


def kl_released_to_original(released: Any, *, original: Any, floor: float = FLOOR) -> float:
    """Kullback–Leibler divergence D(released ‖ original), in nats.

        D(R ‖ O) = Σ_i R_i · ln(R_i / O_i)

    On **both** sides counts that are zero or negative are first replaced by ``floor``; then each side is divided by
    its sum. The expectation is under the released distribution: released mass where the original has little costs most.

    References
    ----------
    L. Fan, H. Jin. A practical framework for privacy-preserving data analytics. WWW 2015. (The rule for counts that
    are not positive. The direction is not stated there; its figures fit D(original ‖ released).)

    Examples
    --------
    >>> round(kl_released_to_original([1, 1], original=[3, 1]), 4)
    0.1438
    """
    noisy, true = _pair(released, original)
    return _divergence(_distribution(noisy, floor), _distribution(true, floor))


def kl_original_to_released(released: Any, *, original: Any, floor: float = FLOOR) -> float:
    """Kullback–Leibler divergence D(original ‖ released), in nats: the other direction.

    The same rules as in :func:`kl_released_to_original`. The expectation is under the original distribution: missing
    mass where the original has much costs most.

    Examples
    --------
    >>> round(kl_original_to_released([1, 1], original=[3, 1]), 4)
    0.1308
    """
    noisy, true = _pair(released, original)
    return _divergence(_distribution(true, floor), _distribution(noisy, floor))


def top_k_precision(released: Any, *, original: Any, k: int) -> float:
    """Share of the true k largest counts that are among the released k largest.

    Where equal counts leave it open which of them are among the k largest, this is the exact mean over breaking all
    ties at random, on each side independently.

    Parameters
    ----------
    released, original
        Counts of the same items in the same order; or a matrix of each with one row per group (weekday, age …), then
        the mean over the groups.

    Examples
    --------
    >>> top_k_precision([9, 7, 1, 0], original=[8, 2, 5, 1], k=2)
    0.5
    >>> top_k_precision([0, 0, 0, 0], original=[8, 2, 5, 1], k=2)  # no information: k / n
    0.5
    """
    noisy, true = (np.atleast_2d(counts) for counts in _pair(released, original))
    if noisy.ndim != 2 or check_k(k) > noisy.shape[1]:
        raise EvaluationError(
            f"there are no {k} largest among counts of shape {noisy.shape}.",
            remedy="Give a list (or a matrix, one row per group) of at least k counts.",
        )
    return float((_share_in_top(noisy, k) * _share_in_top(true, k)).sum() / (k * len(noisy)))


def evaluate_counts(
    released: Any,
    *,
    original: Any,
    k: int | Sequence[int] = 10,
    floor: float = FLOOR,
) -> Scores:
    """All metrics of released counts. Parameters as in the functions above; ``k`` may be several numbers.

    Examples
    --------
    >>> print(evaluate_counts([9, 7, 1, 0], original=[8, 2, 5, 1], k=[1, 2]))
    mse                      10.7500
    kl_released_to_original   0.4193
    kl_original_to_released   0.6365
    top_1_precision           1.0000
    top_2_precision           0.5000
    counts: 4
    """
    return Scores(
        values={
            "mse": count_mse(released, original=original),
            "kl_released_to_original": kl_released_to_original(released, original=original, floor=floor),
            "kl_original_to_released": kl_original_to_released(released, original=original, floor=floor),
            **{
                f"top_{size}_precision": top_k_precision(released, original=original, k=size)
                for size in check_lengths(k)
            },
        },
        counts={"counts": int(np.asarray(released).size)},
    )


def _pair(released: Any, original: Any) -> tuple[Floats, Floats]:
    noisy = as_numbers(released, what="released counts")
    true = as_numbers(original, what="original counts")
    check_same_shape(noisy, true, what=("released counts", "original counts"))
    return noisy, true


def _distribution(counts: Floats, floor: float) -> Floats:
    if not 0 < floor < np.inf:
        raise EvaluationError(f"floor must be a positive number, got {floor!r}.")
    positive = np.where(counts > 0, counts, floor)
    return positive / positive.sum()


def _divergence(first: Floats, second: Floats) -> float:
    # Rounding can make the divergence of equal distributions slightly negative.
    return max(0.0, float((first * np.log(first / second)).sum()))


def _share_in_top(counts: Floats, k: int) -> Floats:
    """Probability of each count to be among the k largest of its row when ties are broken at random."""
    last = -np.partition(-counts, k - 1, axis=1)[:, k - 1 : k]
    above, level = counts > last, counts == last
    room = k - above.sum(axis=1, keepdims=True)
    return above + level * (room / level.sum(axis=1, keepdims=True))
