"""Ratings as general level + offset of the item + offset of the person.

References
----------
Y. Koren: Factor in the neighbors: scalable and accurate collaborative filtering. ACM TKDD 4(1), 2010 (section 2.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.common.arguments import require_positive, require_whole
from discreet.data.interactions import Interactions
from discreet.errors import Remedy, UsageError
from discreet.models.reference_model import ReferenceModel

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Biases"]


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

    def _check(self, data: Interactions) -> None:
        require_positive(self.item_ridge, "item_ridge")
        require_positive(self.user_ridge, "user_ridge")
        require_whole(self.passes, "passes")
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

    def _people(
        self, starts: NDArray[np.int64], item: NDArray[np.integer], ratings: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The offset of each person, from that person's own ratings."""
        owner = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        return _ridge_means(owner, ratings - self.level_ - self.offsets_[item], starts.size - 1, self.user_ridge)

    def _people_of(self, rows: csr_array) -> NDArray[np.float64]:
        return self._people(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float64))

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        return np.clip(self.level_ + self.offsets_ + self._people_of(rows)[:, None], *self._range)

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        return np.clip(self.level_ + self.offsets_[item] + self._people_of(rows)[row], *self._range)

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Offsets say nothing about what goes with what."""
        return np.full((items.size, len(self.items_)), -np.inf)


def _ridge_means(
    group: NDArray[np.integer], values: NDArray[np.float64], n_groups: int, ridge: float
) -> NDArray[np.float64]:
    """The mean of each group, as if it had ``ridge`` further values of 0."""
    return np.bincount(group, weights=values, minlength=n_groups) / (np.bincount(group, minlength=n_groups) + ridge)
