"""Slope One: how much better one item is liked than another by those who rated both.

References
----------
D. Lemire, A. Maclachlan: Slope One predictors for online rating-based collaborative filtering. SDM 2005.
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. Project
report, University of Texas at Austin, 2011 (equations 3 to 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from discreet.common.arguments import require_choice, require_whole
from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.models.published_model import entity_means
from discreet.models.reference_model import ReferenceModel
from discreet.pairs.pair_sums import Pairs, pair_sums

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["SlopeOne"]


@dataclass
class SlopeOne(ReferenceModel):
    """Predictions r̂_ij = mean over the items k that i rated of (s_jk + r_ik), s_jk the mean difference of j and k.

    Parameters
    ----------
    minimum_overlap
        φ_m of equation 4: s_jk counts as 0 unless *more* than so many people rated both.
    weighted
        Weighted Slope One: each s_jk + r_ik counts as often as there are people who rated both, and pairs that were
        left out do not count at all.
    average
        What the plain sum is divided by. "rated": by the number of items that the person rated, as equation 5 is
        printed, even where some s_jk are 0 for want of common raters. "compared": by the number of those that have an
        s_jk, the usual form, and that of the Surprise library.
    head
        Compare the most rated items only, so many of them; the others are predicted by the person's mean. None for all.

    Attributes
    ----------
    pairs_ : Pairs
        s_jk of every pair that has enough common raters.
    means_ : float array
        Mean rating of each item, for people without ratings.

    Privacy
    -------
    None. ``PrivateSlopeOne`` is the proved counterpart, ``PublishedSlopeOne`` the published one.

    Notes
    -----
    Differences are summed as whole numbers of steps of the scale, so s_jk of half-star ratings is exact but for one
    division. Memory goes by the number of pairs with enough common raters, about 20 bytes for each side of a pair (24
    if weighted). With 25 million ratings of 59,000 items choose ``minimum_overlap``, which keeps the pairs
    sparse, or ``head``, which bounds them by head² whatever the data.

    Examples
    --------
    >>> import discreet as dc
    >>> rows = [("ann", "tea", 4), ("ann", "rum", 2), ("bob", "tea", 5), ("bob", "rum", 3.5)]
    >>> model = SlopeOne().fit(dc.Interactions(rows, scale="0.5:5:0.5"))
    >>> model.predict(["tea"], history={"rum": 3})["score"].to_list()
    [4.75]
    """

    name: ClassVar[str] = "slope-one"

    minimum_overlap: int = 0
    weighted: bool = False
    average: Literal["rated", "compared"] = "rated"
    head: int | None = None

    def __post_init__(self) -> None:
        require_whole(self.minimum_overlap, "minimum_overlap", least=0)
        if self.head is not None:
            require_whole(self.head, "head", least=1)
        require_choice(self.average, "average", ("rated", "compared"))

    def _check(self, data: Interactions) -> None:
        if data.rating is None:
            raise UsageError("Slope One compares ratings, and there are none.", remedy="Use CoPurchaseCosine.")

    def _learn(self, data: Interactions) -> None:
        assert data.rating is not None
        sums = pair_sums(data, minimum_overlap=self.minimum_overlap, head=self.head)
        # From the side of item k towards item j it is s_jk, the mean of r_j − r_k.
        slopes = sums.differences / sums.counts
        slopes *= -sums.step
        counts = sums.counts if self.weighted else sums.counts[:0]
        self.pairs_ = Pairs(sums.starts, sums.others, slopes, counts)
        self.level_ = float(data.rating.mean(dtype=np.float64))
        means = entity_means(data.item, data.rating, data.n_items)
        self.means_ = np.where(np.isnan(means), self.level_, means)
        self._range = (-np.inf, np.inf) if data.scale is None else (float(data.scale.low), float(data.scale.high))

    def _score(self, rows: csr_array) -> Floats:
        """Predictions before they are clipped, so that the best stay in order."""
        sums, totals = self.pairs_.scores(rows.indptr, rows.indices, self._said(rows))
        levels, counts = _levels(rows)
        found = self._combined(sums, totals, levels[:, None], counts[:, None])
        return np.where(counts[:, None] > 0, found, self.means_)

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        return np.clip(self.predicted(rows, row, item), *self._range)

    def predicted(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        """Predictions of ``item[i]`` for the history ``rows[row[i]]``, before they are clipped to the scale."""
        sums, totals = self.pairs_.means(rows.indptr, rows.indices, self._said(rows), row, item)
        levels, counts = _levels(rows)
        found = self._combined(sums, totals, levels[row], counts[row])
        return np.where(counts[row] > 0, found, self.means_[item])

    def _said(self, rows: csr_array) -> Floats:
        """What is added to every s_jk before it is weighed; in a plain mean the ratings come to the person's mean."""
        return rows.data.astype(np.float64) if self.weighted else np.zeros(rows.indices.size)

    def _combined(self, sums: Floats, totals: Floats, levels: Floats, counts: Integers) -> Floats:
        """Equations 5 and 6; a person's mean where nothing can be compared."""
        if self.weighted:
            return np.where(totals > 0, sums / np.where(totals > 0, totals, 1), levels)
        return levels + sums / np.maximum(counts if self.average == "rated" else totals, 1)


def _levels(rows: csr_array) -> tuple[Floats, Integers]:
    """Mean and number of the ratings of each history."""
    counts = np.diff(rows.indptr).astype(np.int64)
    owner = np.repeat(np.arange(counts.size), counts)
    totals = np.bincount(owner, weights=rows.data.astype(np.float64), minlength=counts.size)
    return totals / np.maximum(counts, 1), counts
