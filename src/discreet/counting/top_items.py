"""The most popular items: from counts that are already public, or chosen directly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.counting.tables import catalog_table
from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.bounding import BoundedSums, distinct_item_counts
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release
from discreet.privacy.selection import TopK

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["TopItems", "top", "top_items"]


def top(release: Release, k: int = 10) -> pl.DataFrame:
    """The k items with the largest counts of a release, best first. Post-processing: it costs nothing.

    Equal counts stand in the order of the catalog, which is public.
    """
    if release.kind != "item-counts":
        raise ReleaseError(f"a release of kind {release.kind!r} has no item counts.")
    if k < 1:
        raise UsageError(f"k = {k} must be at least 1.")
    best = release.table("counts").sort("count", descending=True, maintain_order=True).head(k)
    return best.with_columns(pl.Series("rank", np.arange(1, best.height + 1)))


@dataclass(frozen=True)
class TopItems:
    """The k items that most users touched, in order, chosen directly: no counts are released and no cap is needed.

    Parameters
    ----------
    k
        How many; public.
    epsilon
        The budget of the whole list.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. A user counts once for each item, so one user raises each count by
    at most 1, whatever the number of items: the scores are monotone with Δ = 1. One shot of Gumbel noise of scale k/ε
    is k exponential mechanisms of ε/k (``docs/proofs/selection.md``, Theorem 3).
    """

    k: int
    epsilon: Fraction

    @classmethod
    def of(cls, k: int, *, epsilon: Rational) -> TopItems:
        return cls(k, as_positive(epsilon, "epsilon"))

    @property
    def mechanism(self) -> TopK:
        return TopK.for_total(self.k, self.epsilon)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"k": self.k, "epsilon": str(self.epsilon)}

    def guarantee(self, data: Interactions) -> Guarantee:
        """What a release will promise, known before it is made."""
        return self._promise(distinct_item_counts(data.emptied()))

    def release(self, data: Interactions, *, ledger: Ledger | None = None) -> Release:
        """Charge the ledger, draw the noise, hand out the list."""
        scores = distinct_item_counts(data)
        if self.k > data.n_items:
            raise UsageError(f"the {self.k} best of {data.n_items} items?", remedy="Ask for fewer.")
        guarantee = self._promise(scores)
        with charged(ledger, data, guarantee, mechanism="top_items", parameters=self.parameters) as charge:
            winners = self.mechanism.choose(scores)
            release = Release(
                kind="top-items",
                guarantee=guarantee,
                mechanism="top_items",
                parameters=self.parameters,
                parts={"top": catalog_table(data, winners, rank=np.arange(1, self.k + 1))},
                dataset=data.name,
            )
            charge.settle(release.id)
        return release

    def _promise(self, scores: BoundedSums) -> Guarantee:
        return Guarantee(
            loss=self.mechanism.loss,
            unit=scores.unit,
            standing=Standing.PROVED,
            basis=TopK.theorem,
            subject=f"the {self.k} most popular of {scores.values.size:,} items in order",
            caps=scores.caps,
            not_covered=("the public list of items", "facts about people at large"),
        )


def top_items(data: Interactions, k: int = 10, *, epsilon: Rational, ledger: Ledger | None = None) -> Release:
    """Release the k items that most users touched, in order; see ``TopItems``.

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> top_items(shop, 2, epsilon=1).table("top").columns
    ['item_id', 'rank']
    """
    return TopItems.of(k, epsilon=epsilon).release(data, ledger=ledger)
