"""Models without privacy that the proved ones are measured against: popularity, offsets of ratings, and EASE.

References
----------
Y. Koren: Factor in the neighbors: scalable and accurate collaborative filtering. ACM TKDD 4(1), 2010 (section 2.1).
H. Steck: Embarrassingly shallow autoencoders for sparse data. WWW 2019.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.common.arguments import require_positive, require_whole
from discreet.common.arrays import AnyIntegers, Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.errors import DataError, Remedy, UsageError
from discreet.models.likes import liked_records, liked_rows, threshold_of
from discreet.models.reference_model import ReferenceModel
from discreet.privacy.numbers import Rational, as_fraction

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["EASE", "Biases", "Popularity", "RankingReference"]

RIDGE = 4.0
"""Ridge for each root of the number of users: between 300 (MovieLens 1M) and 1,500 (20M), where the optimum is flat."""

AT_ONCE = 12_000
"""Rows of a matrix that LAPACK inverts at once: its threads crash on some machines where a matrix nears 2³¹ bytes."""
MOST_ITEMS = 30_000
"""Beyond this the dense matrix of items × items does not fit an ordinary machine."""


class RankingReference(ReferenceModel):
    """A reference that ranks by what people like and predicts no ratings.

    Attributes
    ----------
    threshold_ : float or None
        Ratings from here on say that an item is liked; None where every record does.
    """

    positive: Rational | None
    threshold_: float | None

    def _check_positive(self) -> None:
        if self.positive is not None:
            as_fraction(self.positive, "positive")

    @abstractmethod
    def _learn_likes(self, likes: Interactions) -> None:
        """Learn from the records that say that somebody likes something."""

    def _learn(self, data: Interactions) -> None:
        threshold = threshold_of(data, self.positive)
        likes = liked_records(data, self.positive)
        if len(likes) == 0:
            raise DataError(
                f"no rating reaches {threshold}: nobody likes anything.",
                remedy=Remedy("Lower positive=.", cli="Lower --option positive=…."),
            )
        self.threshold_ = None if threshold is None else float(Fraction(threshold))
        # Without a public catalog the liked items may be fewer than the items of the model.
        self._learn_likes(likes if len(likes.items) == len(data.items) else likes.with_catalog(data.items.series))


@dataclass
class Popularity(RankingReference):
    """Items by the number of people who like them: the ranking that every other has to beat.

    Parameters
    ----------
    positive
        From which rating on an item is liked, as in ``PrivateRecommender``.

    Attributes
    ----------
    counts_ : int64 array
        How many people like each item.

    Privacy
    -------
    None: the counts are exact. ``PrivateRecommender`` with a small budget is the private counterpart.

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("bob", "tea"), ("ann", "rum"), ("eve", "gin")])
    >>> Popularity().fit(shop).recommend(history=["gin"], n=1)["item_id"].to_list()
    ['tea']
    """

    name: ClassVar[str] = "popularity"

    positive: Rational | None = None

    def __post_init__(self) -> None:
        self._check_positive()

    def _learn_likes(self, likes: Interactions) -> None:
        self.counts_ = likes.records_per_item.astype(np.int64)

    def _score(self, rows: csr_array) -> Floats:
        return np.tile(self.counts_.astype(np.float64), (rows.indptr.size - 1, 1))


@dataclass
class Biases(ReferenceModel):
    """Regularized offsets of items and people: the plainest model that predicts ratings well.

    Offsets of items and of people are worked out in turns, each from what the other leaves of the ratings. A person's
    offset comes from that person's history, so that strangers are served like members.

    Parameters
    ----------
    item_ridge, user_ridge
        So many ratings of nobody in particular draw an offset towards 0.
    passes
        How often the offsets of items are worked out.

    Attributes
    ----------
    level_ : float
        The mean of all ratings.
    offsets_ : float array
        How far above the level each item is rated.

    Privacy
    -------
    None: the offsets are exact. ``PrivateRatings`` is the private counterpart.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=200, items=40, seed=7)
    >>> model = Biases().fit(films)
    >>> model.predict(["film-9"], history={"film-3": 5, "film-8": 4})["score"].is_between(1, 5).all()
    True
    """

    name: ClassVar[str] = "biases"

    item_ridge: float = 4.0
    user_ridge: float = 4.0
    passes: int = 3

    def __post_init__(self) -> None:
        require_positive(self.item_ridge, "item_ridge")
        require_positive(self.user_ridge, "user_ridge")
        require_whole(self.passes, "passes")

    def _check(self, data: Interactions) -> None:
        if data.rating is None:
            raise UsageError(
                "offsets of ratings need ratings.",
                remedy=Remedy(
                    "Name the column: Interactions(…, rating=…).", cli="Name the column: --column rating=NAME."
                ),
            )

    def _learn(self, data: Interactions) -> None:
        assert data.rating is not None
        ratings = data.rating.astype(np.float64)
        self.level_ = float(ratings.mean())
        scale = data.scale
        self._range = (-np.inf, np.inf) if scale is None else (float(scale.low), float(scale.high))
        self.offsets_, users = np.zeros(data.n_items), np.zeros(data.n_users)
        for _ in range(self.passes):
            rest = ratings - self.level_ - users[data.user]
            self.offsets_ = _ridge_means(data.item, rest, data.n_items, self.item_ridge)
            users = self._people(data.user_starts, data.item, ratings)

    def _people(self, starts: Integers, item: AnyIntegers, ratings: Floats) -> Floats:
        """The offset of each person, from that person's own ratings."""
        owner = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        return _ridge_means(owner, ratings - self.level_ - self.offsets_[item], starts.size - 1, self.user_ridge)

    def _people_of(self, rows: csr_array) -> Floats:
        return self._people(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float64))

    def _score(self, rows: csr_array) -> Floats:
        return np.clip(self.level_ + self.offsets_ + self._people_of(rows)[:, None], *self._range)

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        return np.clip(self.level_ + self.offsets_[item] + self._people_of(rows)[row], *self._range)


def _ridge_means(group: AnyIntegers, values: Floats, n_groups: int, ridge: float) -> Floats:
    """The mean of each group, as if it had ``ridge`` further values of 0."""
    return np.bincount(group, weights=values, minlength=n_groups) / (np.bincount(group, minlength=n_groups) + ridge)


@dataclass
class EASE(RankingReference):
    """A linear model of liked items without itself: the non-private reference for rankings.

        min_B ‖X − XB‖² + λ·‖B‖²  with diag(B) = 0  (Frobenius norms)

    has the solution B_ij = −P_ij/P_jj, where P = (XᵀX + λ·I)⁻¹.

    Parameters
    ----------
    ridge
        λ; None for the rule 4·√users.
    positive
        From which rating on an item is liked, as in ``PrivateRecommender``.

    Attributes
    ----------
    weights_ : float array, items × items
        B: how much liking the row says about liking the column.

    Privacy
    -------
    None: the weights are exact functions of everybody's records. ``PrivateRecommender`` is the private counterpart.

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

    def __post_init__(self) -> None:
        self._check_positive()
        if self.ridge is not None:
            require_positive(self.ridge, "ridge")

    def _check(self, data: Interactions) -> None:
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

    def _score(self, rows: csr_array) -> Floats:
        # A sparse product adds up each row by itself: nobody's scores depend on who else is asked about.
        return liked_rows(rows, self.threshold_) @ self.weights_

    def _similar(self, items: Codes) -> Floats:
        weights = self.weights_[items]
        return np.where(weights > 0, weights, -np.inf)


def _regressions(gram: Floats) -> Floats:
    """B of a positive definite matrix, which may be overwritten: −P/diag(P) without its diagonal, P the inverse."""
    inverse = _inverse(gram)
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return np.ascontiguousarray(weights)


def _inverse(matrix: Floats, at_once: int = AT_ONCE) -> Floats:
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


def _inverse_at_once(matrix: Floats) -> Floats:
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
