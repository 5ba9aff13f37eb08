"""What the thesis says about the rounds and the error of CIM: Lemma 5, Corollary 2 and Theorem 5.5.1, as printed.

T, α, errors and scales are shares of the rows; the scale of a round is CS_q/ε₀, and the thesis takes the largest one.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014 (Sections 5.4.3 and 5.5.2).
"""

from __future__ import annotations

import math

__all__ = ["published_error_bound", "published_update_chance", "published_updates"]


def published_update_chance(*, threshold: float, alpha: float, scale: float) -> float:
    """Lemma 5: the chance of an update is ρ₁ = exp(−|T − α|/scale), where α bounds the error of the estimate.

    Notes
    -----
    The proof has exp((α − T)/scale) and stands for α ≤ T only. Beyond, where the estimate may be further off than T,
    the absolute value turns a bound above 1 into one that falls the worse the estimate is.

    Examples
    --------
    >>> round(published_update_chance(threshold=0.3, alpha=0.1, scale=0.1), 4)
    0.1353
    >>> published_update_chance(threshold=0.1, alpha=0.3, scale=0.1) < 1  # though every estimate is too far off
    True
    """
    return math.exp(-abs(threshold - alpha) / scale)


def published_updates(queries: int, *, threshold: float, alpha: float, scale: float) -> float:
    """Corollary 2: |Q|·ρ₁ updates among the queries.

    Examples
    --------
    >>> round(published_updates(10_000, threshold=0.3, alpha=0.1, scale=0.1))
    1353
    """
    return queries * published_update_chance(threshold=threshold, alpha=alpha, scale=scale)


def published_error_bound(queries: int, *, threshold: float, alpha: float, scale: float, beta: float) -> float:
    """Theorem 5.5.1: scale/2·ln(ρ₁·ρ₂·L/β) + T/2, below which all errors are with probability 1 − β.

    Notes
    -----
    ρ₂ = 1 − ρ₁. The proof multiplies two terms of a sum with each other; the bound may be negative, and −∞ for α = T.

    Examples
    --------
    >>> round(published_error_bound(10_000, threshold=0.3, alpha=0.1, scale=0.1, beta=0.05), 3)
    0.653
    """
    chance = published_update_chance(threshold=threshold, alpha=alpha, scale=scale)
    if chance == 1:
        return -math.inf
    logarithm = -abs(threshold - alpha) / scale + math.log1p(-chance) + math.log(queries / beta)
    return scale / 2 * logarithm + threshold / 2
