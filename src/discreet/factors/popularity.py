"""What most people like, for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.factors.reference_model import RankingReference
from discreet.privacy.numbers import Rational

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Popularity"]


@dataclass
class Popularity(RankingReference):
    """Items by the number of people who like them: the ranking that every other has to beat.

    Parameters
    ----------
    positive
        Ratings from here on say that an item is liked; None for three quarters of the way up the scale. Without
        ratings every record does.

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

    def _learn_likes(self, likes: Interactions) -> None:
        self.counts_ = likes.records_per_item.astype(np.int64)

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        return np.tile(self.counts_.astype(np.float64), (rows.indptr.size - 1, 1))

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Counts say nothing about what goes with what."""
        return np.full((items.size, len(self.items_)), -np.inf)
