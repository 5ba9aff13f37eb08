"""The linear adversary who knows a part of the other ratings: which part, and the solution for all that is not known.

Park and Acharya define the adversary with all side information, and say that in practice "only partial side information
might be available" and that "a sophisticated inference technique" has to go with it (section 3.3). They measure none.

Notes
-----
An answer that is linear in the ratings of its reader is A_j = c_j + Σ_u b_ju·(r_u − p_u), with the sum over unknown
ratings r_u and what the attacker believes of them, p_u. Of all solutions the one nearest to p is taken, where the
answers have no noise; with noise of variance σ², which what the solution leaves over tells, the one that minimizes
|A − c − B·d|²/σ² + |d|²/τ². τ² is the variance of a rating around the mean of its item, 1 step² here. All columns of B
are equal in Slope One: the sum of all ratings is learned, and each unknown one hides among the others. In item-based
kNN they differ from answer to answer, and enough answers give all ratings away, whatever was known of them.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. 2011,
section 3.3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.attacks.games.secrets import Secrets
from discreet.common.arrays import Floats, Integers

__all__ = ["partly_known", "solve_for_first", "unknown_ratings"]

SMALLEST = 1e-9
"""Singular values below this share of the largest one are rounding."""


def _unknown_rows(secrets: Secrets, target: int, known_share: float) -> Integers:
    """Records of the target whose ratings are not known: the others than the secret one, but for a share of them.

    Which these are is drawn for each target by itself; those known with a smaller share are known with a larger one.
    """
    place = int(secrets.places[target])
    user = int(secrets.data.user[place])
    rows = np.arange(*secrets.data.user_starts[user : user + 2])
    others = np.random.default_rng([user, rows.size]).permutation(rows[rows != place])
    return np.sort(others[round(known_share * others.size) :])


def _believed(secrets: Secrets) -> Floats:
    """The rating nearest to the mean of every item; to the middle of the scale where there is none."""
    data, scale = secrets.data, secrets.scale
    assert data.rating is not None
    counts = data.records_per_item
    sums = np.bincount(data.item, weights=data.rating.astype(np.float64), minlength=data.n_items)
    middle = float(scale.low + scale.high) / 2
    low, step = float(scale.low), float(scale.step or 1)
    return low + step * np.round((np.where(counts > 0, sums / np.maximum(counts, 1), middle) - low) / step)


def partly_known(secrets: Secrets, target: int, known_share: float) -> Secrets:
    """The records as the attacker believes them: unknown ratings of one target are the means of their items."""
    if known_share >= 1 or not secrets.ratings:
        return secrets
    assert secrets.data.rating is not None
    rows, rating = _unknown_rows(secrets, target, known_share), secrets.data.rating.copy()
    rating[rows] = _believed(secrets)[secrets.data.item[rows]]
    return replace(secrets, data=secrets.data.with_ratings(rating, secrets.data.scale))


def unknown_ratings(secrets: Secrets, target: int, known_share: float) -> tuple[list[Any], dict[Any, float]]:
    """Items whose ratings are not known, the secret first; and the target's history as the attacker believes it."""
    rows, likely, data = _unknown_rows(secrets, target, known_share), _believed(secrets), secrets.data
    place = int(secrets.places[target])
    names = data.items.decode(np.append(data.item[place], data.item[rows]))
    believed = secrets.history(target, float(likely[data.item[place]]))
    return names, believed | dict(zip(names[1:], likely[data.item[rows]].tolist(), strict=True))


def solve_for_first(answers: Floats, slopes: Floats, *, one: bool = False) -> float | None:
    """By how much the first unknown differs from what is believed; None where no answer depends on it.

    Parameters
    ----------
    answers
        By how much the answers differ from what is believed: kinds of answers × items, NaN for none.
    slopes
        By how much each answer moves with each unknown: unknowns × kinds × items.
    one
        Use the one answer that moves most with the first unknown.

    Examples
    --------
    >>> slopes = np.array([[[0.5, 0.5]], [[0.5, 0.0]]])
    >>> round(solve_for_first(np.array([[1.5, 1.0]]), slopes), 6)  # the first is 2 off, and the second 1
    2.0
    """
    usable = np.isfinite(answers) & np.isfinite(slopes).all(axis=0)
    telling = usable & (slopes[0] != 0)
    if not telling.any():
        return None
    # Scores are used where they tell anything, ratings, which may be clipped, only where they do not.
    kind = int(np.argmax(telling.any(axis=1)))
    matrix, left = slopes[:, kind, usable[kind]].T, answers[kind, usable[kind]]
    if one:
        best = [int(np.argmax(np.abs(matrix[:, 0])))]
        matrix, left = matrix[best], left[best]
    u, sizes, v = np.linalg.svd(matrix, full_matrices=False)
    kept = sizes > SMALLEST * sizes.max(initial=0.0)
    u, sizes, v = u[:, kept], sizes[kept], v[kept]
    along = u.T @ left
    spare = left.size - sizes.size
    noise = float(np.sum((left - u @ along) ** 2) / spare) if spare else 0.0
    return float((v.T @ (along * sizes / (sizes**2 + noise)))[0])
