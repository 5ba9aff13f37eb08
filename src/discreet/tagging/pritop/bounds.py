"""What the thesis promises about the semantic loss of PriTop: Theorems 4.4.1 and 4.4.2, solved for α.

A theorem says that under a condition on α the loss of a user is below α with probability 1 − δ. These are the smallest
α that meet the conditions as printed. Losses lie between 0 and 1: an α of 1 or more says nothing, and one of 0 or less
says that nothing is lost.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, section 4.4.2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.common.arrays import Vector

__all__ = ["normalizer", "perturbation_loss_bound", "selection_loss_bound"]


def perturbation_loss_bound(tags: ArrayLike, *, topics: int, epsilon: float, delta: float) -> Vector:
    """Theorem 4.4.1: α = (4/ε)·ln(K/(δ·|T(u)|)) for users with so many tags.

    Notes
    -----
    The condition is |T(u)| ≥ K·exp(−ε·α/4)/δ. The chance that noise of scale 4/ε exceeds α is divided by |T(u)| in the
    proof, so that the bound falls below 0 where a user has more than K/δ tags.

    Examples
    --------
    >>> perturbation_loss_bound([10, 100, 200], topics=10, epsilon=1, delta=0.1).round(2)
    array([ 9.21,  0.  , -2.77])
    """
    return 4 / epsilon * np.log(topics / (delta * np.asarray(tags, dtype=np.float64)))


def selection_loss_bound(normalizers: ArrayLike, *, epsilon: float, delta: float) -> Vector:
    """Theorem 4.4.2: α = (1 − exp(ε/8)/Q)/δ, where Q is the largest normalizer of a user's tags.

    Notes
    -----
    The condition is Q ≤ exp(ε/8)/(1 − δ·α). A topic of n tags has a Q of at least n, so that α is below 1 only in
    topics of fewer than about 1/(1 − δ) tags.

    Examples
    --------
    >>> selection_loss_bound([1.2, 40], epsilon=1, delta=0.5).round(3)
    array([0.111, 1.943])
    """
    return (1 - np.exp(epsilon / 8) / np.asarray(normalizers, dtype=np.float64)) / delta


def normalizer(distances: ArrayLike, *, epsilon: float) -> float:
    """Q_i = Σ_j exp(ε·d(t_i, t_j)/8) over the tags of a topic, as printed below equation 4.4.13.

    Notes
    -----
    The mechanism draws by exp(ε·(1 − d)/8) (equation 4.3.12), whose sum is another number.

    Examples
    --------
    >>> normalizer([0.0, 0.0, 0.0], epsilon=1)
    3.0
    """
    return float(np.exp(epsilon * np.asarray(distances, dtype=np.float64) / 8).sum())
