"""Item-to-item recommendation from what is bought together.

References
----------
G. Linden, B. Smith, J. York: Amazon.com recommendations: item-to-item collaborative filtering. IEEE Internet Computing
7(1), 2003.
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. Project
report, University of Texas at Austin, 2011 (equations 7 and 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.common.arguments import require_whole
from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.models.reference_model import ReferenceModel
from discreet.pairs.pair_sums import Pairs, pair_sums

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["CoPurchaseCosine"]


@dataclass
class CoPurchaseCosine(ReferenceModel):
    """Estimates p̂_ij = mean over the items k that i bought of the cosine of the buyers of k and of j.

    Every record counts as a purchase, whatever its rating.

    Parameters
    ----------
    minimum_overlap
        The cosine counts as 0 unless *more* than so many people bought both.
    head
        Compare the items bought most only, so many of them; None for all.

    Attributes
    ----------
    pairs_ : Pairs
        The cosine of every pair that has enough common buyers.
    buyers_ : int64 array
        How many people bought each item.

    Privacy
    -------
    None. ``PrivateCosine`` is the proved counterpart, ``PublishedCosine`` the published one.

    Notes
    -----
    Where the data have ratings nothing is predicted about those. Memory goes by the pairs with enough common buyers, 20
    bytes for each side: with 25 million records choose ``minimum_overlap`` or ``head``.

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea"), ("bob", "rum"), ("cy", "tea")])
    >>> model = CoPurchaseCosine().fit(shop)
    >>> model.recommend(history=["rum"], n=1)["item_id"].to_list(), round(float(model.pairs_.values[0]), 4)
    (['tea'], 0.8165)
    """

    name: ClassVar[str] = "copurchase-cosine"

    minimum_overlap: int = 0
    head: int | None = None

    def __post_init__(self) -> None:
        require_whole(self.minimum_overlap, "minimum_overlap", least=0)
        if self.head is not None:
            require_whole(self.head, "head", least=1)

    def _learn(self, data: Interactions) -> None:
        sums = pair_sums(data, minimum_overlap=self.minimum_overlap, head=self.head)
        self.buyers_ = data.records_per_item.astype(np.int64)
        both = self.buyers_[sums.rows] * self.buyers_[sums.others]
        self.pairs_ = Pairs(sums.starts, sums.others, sums.counts / np.sqrt(both), sums.counts[:0])
        self._rated = data.rating is not None

    def _score(self, rows: csr_array) -> Floats:
        """Equation 8; below everything that a purchase speaks for, items stand by popularity."""
        found = self.estimates(rows)
        return np.where(found > 0, found, -1 / (1 + self.buyers_))

    def estimates(self, rows: csr_array) -> Floats:
        """p̂ of every item for each history; 0 where nothing speaks for it."""
        sums, _ = self.pairs_.scores(rows.indptr, rows.indices, np.zeros(rows.indices.size))
        return sums / np.maximum(np.diff(rows.indptr), 1)[:, None]

    def predicted(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        """p̂ of ``item[i]`` for the history ``rows[row[i]]``."""
        sums, _ = self.pairs_.means(rows.indptr, rows.indices, np.zeros(rows.indices.size), row, item)
        return sums / np.maximum(np.diff(rows.indptr), 1)[row]

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        """Estimates of purchases; nothing is predicted about ratings."""
        return np.full(item.size, np.nan) if self._rated else self.predicted(rows, row, item)

    def _similar(self, items: Codes) -> Floats:
        scores = np.full((items.size, len(self.items_)), -np.inf)
        for row, item in enumerate(items):
            entries = slice(self.pairs_.starts[item], self.pairs_.starts[item + 1])
            scores[row, self.pairs_.others[entries]] = self.pairs_.values[entries]
        return scores
