"""Implicit alternating least squares: factors of people and items that explain who likes what.

References
----------
Y. Hu, Y. Koren, C. Volinsky: Collaborative filtering for implicit feedback datasets. ICDM 2008.
G. Takács, I. Pilászy, D. Tikk: Applications of the conjugate gradient method for implicit feedback collaborative
filtering. RecSys 2011 (the solver).
S. Rendle, W. Krichene, L. Zhang, Y. Koren: Revisiting the performance of iALS on item recommendation benchmarks.
RecSys 2022 (the objective and how it is regularized).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.common.arguments import require_positive, require_whole
from discreet.common.arrays import Codes, Floats, Integers
from discreet.common.splitmix import GOLDEN, splitmix
from discreet.data.interactions import Interactions
from discreet.factors.kernels import all_scores, ridge_rows
from discreet.factors.references import RankingReference
from discreet.models.likes import liked_rows
from discreet.privacy.numbers import Rational

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["ALS", "cosines", "fixed_normals"]

STEPS = 3
"""Conjugate gradient steps of a row in each sweep: the next sweep goes on from there."""


@dataclass
class ALS(RankingReference):
    """Factors by alternating least squares over what is liked and, lightly, over everything else.

        Σ_{(u,i) liked} (1 − x_uᵀy_i)² + α·Σ_{u,i} (x_uᵀy_i)²
        + λ·Σ_u (n_u + α·I)·‖x_u‖² + λ·Σ_i (n_i + α·U)·‖y_i‖²

    with n the number of likes of a person or an item, U people and I items. A person's factors come from that
    person's history, so that strangers are served like members.

    Parameters
    ----------
    factors
        How many.
    iterations
        How often the factors of people and of items are worked out in turn.
    unobserved_weight
        α: what an item that was not liked weighs, where a liked one weighs 1.
    regularization
        λ.
    positive
        From which rating on an item is liked, as in ``PrivateRecommender``.

    Attributes
    ----------
    item_factors_ : float array, items × factors

    Privacy
    -------
    None: the factors are exact functions of everybody's records. ``DPALS`` is the published private counterpart.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=200, items=40, seed=7)
    >>> model = ALS(factors=8).fit(films)
    >>> model.recommend(history={"film-3": 5, "film-8": 4}, n=2).height
    2
    """

    name: ClassVar[str] = "als"

    factors: int = 64
    iterations: int = 15
    unobserved_weight: float = 0.1
    regularization: float = 0.01
    positive: Rational | None = None

    def __post_init__(self) -> None:
        self._check_positive()
        require_whole(self.factors, "factors")
        require_whole(self.iterations, "iterations")
        require_positive(self.unobserved_weight, "unobserved_weight")
        require_positive(self.regularization, "regularization")

    def _learn_likes(self, likes: Interactions) -> None:
        items = fixed_normals(likes.n_items, self.factors) * (0.1 / math.sqrt(self.factors))
        people = np.zeros((likes.n_users, self.factors))
        sides = [(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)) for matrix in (likes.csr, likes.csc)]
        for _ in range(self.iterations):
            gram, penalty = self._whole(items, np.diff(sides[0][0]))
            people = ridge_rows(*sides[0], items, gram, penalty, people, STEPS)
            gram, penalty = self._whole(people, np.diff(sides[1][0]))
            items = ridge_rows(*sides[1], people, gram, penalty, items, STEPS)
        self.item_factors_ = items

    def _whole(self, factors: Floats, counts: Integers) -> tuple[Floats, Floats]:
        """What everything on the other side contributes to each row, and how much each row is regularized."""
        gram = self.unobserved_weight * (factors.T @ factors)
        return gram, self.regularization * (counts + self.unobserved_weight * factors.shape[0])

    def _people(self, rows: csr_array) -> Floats:
        """The factors of each person, from that person's own history."""
        liked = liked_rows(rows, self.threshold_)
        starts = liked.indptr.astype(np.int64)
        gram, penalty = self._whole(self.item_factors_, np.diff(starts))
        nothing = np.zeros((starts.size - 1, self.factors))
        columns = liked.indices.astype(np.int32)
        return ridge_rows(starts, columns, self.item_factors_, gram, penalty, nothing, 2 * self.factors)

    def _score(self, rows: csr_array) -> Floats:
        return self._score_among(rows, np.arange(len(self.items_)))

    def _score_among(self, rows: csr_array, items: Integers) -> Floats:
        return all_scores(self._people(rows), np.ascontiguousarray(self.item_factors_[items].T))

    def _similar(self, items: Codes) -> Floats:
        return cosines(self.item_factors_, items)


def cosines(factors: Floats, items: Codes) -> Floats:
    """Positive cosines between these items and all; −inf where there is none."""
    norms = np.linalg.norm(factors, axis=1)
    unit = factors / np.where(norms > 0, norms, 1)[:, None]
    likeness = all_scores(unit[items], np.ascontiguousarray(unit.T))
    return np.where(likeness > 0, likeness, -np.inf)


def fixed_normals(rows: int, width: int) -> Floats:
    """Numbers that look independent and normal and are always the same: where a search may begin.

    Quantiles of the finalizer of splitmix64, applied to the places of the matrix.
    """
    from scipy.special import ndtri

    words = splitmix(np.arange(1, rows * width + 1, dtype=np.uint64) * np.uint64(GOLDEN))
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return ndtri(uniform).reshape(rows, width)
