"""EASE: each item regressed on all others.

References
----------
H. Steck: Embarrassingly shallow autoencoders for sparse data. WWW 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.common.arguments import require_positive
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.factors.reference_model import RankingReference
from discreet.models.likes import liked_rows
from discreet.privacy.numbers import Rational

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["EASE"]

RIDGE = 4.0
"""Ridge for each root of the number of users: between 300 (MovieLens 1M) and 1,500 (20M), where the optimum is flat."""

AT_ONCE = 12_000
"""Rows of a matrix that LAPACK inverts at once: its threads crash on some machines where a matrix nears 2³¹ bytes."""
MOST_ITEMS = 30_000
"""Beyond this the dense matrix of items × items does not fit an ordinary machine."""


@dataclass
class EASE(RankingReference):
    r"""A linear model of liked items without itself: the non-private reference for rankings.

    .. math:: \min_B \lVert X - XB \rVert_F^2 + \lambda \lVert B \rVert_F^2 \quad \text{with}\quad \mathrm{diag}(B) = 0

    has the solution :math:`B_{ij} = -P_{ij}/P_{jj}`, where :math:`P = (X^\top X + \lambda I)^{-1}`.

    Parameters
    ----------
    ridge
        λ; None for the rule 4·√users.
    positive
        Ratings from here on say that an item is liked; None for three quarters of the way up the scale. Without
        ratings every record does.

    Attributes
    ----------
    weights_ : float array, items × items
        B: how much liking the row says about liking the column.

    Privacy
    -------
    None: the weights are exact functions of everybody's records. ``PrivateRecommender`` is the private counterpart.

    References
    ----------
    H. Steck: Embarrassingly shallow autoencoders for sparse data. WWW 2019.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=200, items=40, seed=7)
    >>> model = EASE().fit(films)
    >>> model.recommend(["u17"], n=3).columns
    ['user_id', 'item_id', 'score', 'rank']
    >>> print(model.guarantee)
    None
    """

    name: ClassVar[str] = "ease"

    ridge: float | None = None
    positive: Rational | None = None

    def _check(self, data: Interactions) -> None:
        if self.ridge is not None:
            require_positive(self.ridge, "ridge")
        if data.n_items > MOST_ITEMS:
            raise UsageError(
                f"a matrix of {data.n_items:,} × {data.n_items:,} items is too large for EASE.",
                remedy="Take ALS, or fewer items.",
            )

    def _learn_likes(self, likes: Interactions) -> None:
        ridge = RIDGE * math.sqrt(likes.n_users) if self.ridge is None else self.ridge
        liked = liked_rows(likes.csr, None)
        gram = (liked.T @ liked).toarray()
        gram[np.diag_indices_from(gram)] += ridge
        self.weights_ = _regressions(gram)

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        # A sparse product adds up each row by itself: nobody's scores depend on who else is asked about.
        return liked_rows(rows, self.threshold_) @ self.weights_

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        weights = self.weights_[items]
        return np.where(weights > 0, weights, -np.inf)


def _regressions(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """B of a positive definite matrix, which may be overwritten: −P/diag(P) without its diagonal, P the inverse."""
    inverse = _inverse(gram)
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return np.ascontiguousarray(weights)


def _inverse(matrix: NDArray[np.float64], at_once: int = AT_ONCE) -> NDArray[np.float64]:
    """The inverse of a positive definite matrix, which may be overwritten."""
    size = matrix.shape[0]
    if size <= at_once:
        return _inverse_at_once(matrix)
    # [[A, B], [Bᵀ, C]] by the Schur complement of A.
    half = size // 2
    side = matrix[:half, half:].copy()
    first = _inverse(matrix[:half, :half], at_once)
    reached = first @ side
    second = _inverse(matrix[half:, half:] - side.T @ reached, at_once)
    across = reached @ second
    inverse = np.empty_like(matrix)
    inverse[:half, :half] = first + across @ reached.T
    inverse[:half, half:] = -across
    inverse[half:, :half] = -across.T
    inverse[half:, half:] = second
    return inverse


def _inverse_at_once(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.linalg import get_lapack_funcs

    factor, invert = get_lapack_funcs(("potrf", "potri"), (matrix,))
    upper, failed = factor(matrix, lower=False, overwrite_a=True)
    if not failed:
        upper, failed = invert(upper, lower=False, overwrite_c=True)
    if failed:
        raise UsageError("the regression of items on each other has no solution.", remedy="Choose a larger ridge.")
    inverse = np.triu(upper)
    inverse += np.triu(upper, 1).T
    return inverse
