"""Item-to-item recommendation from noisy numbers of common buyers: proved, and free for everybody afterwards.

References
----------
F. McSherry, I. Mironov: Differentially private recommender systems. KDD 2009 (noisy covariance of items).
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. Project
report, University of Texas at Austin, 2011 (equations 7 and 8).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.common.arrays import Codes, Floats
from discreet.data.interactions import Interactions
from discreet.models.heads import HeadChoice, HeadModel, read_statistics
from discreet.models.item_gram import empty_gram, item_gram
from discreet.models.item_likeness import affinity_of
from discreet.models.item_statistics import ItemStatistics
from discreet.privacy.bounding import BoundedInteractions, require_named_catalog
from discreet.privacy.gram import BoundedGram
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PrivateCosine"]


@dataclass
class PrivateCosine(HeadModel):
    """Co-purchase cosine whose numbers of common buyers are noisy sums over all users.

    First the noisy weight of buyers of every item; then, for the items with the most weight (the head), how much weight
    of buyers each two have in common, and each by itself. Cosines and estimates are post-processing, so new people and
    any number of questions cost nothing. Every record counts as a purchase, whatever its rating.

    Parameters
    ----------
    epsilon, delta
        The budget of one fit. A delta of 0 asks for pure ε: Laplace noise, much more of it for whole users.
    unit
        "user": all that one user did is protected. "record": one purchase is, present or absent.
    cap
        The most items of one user that are looked at, chosen at random. None for no cap.
    head
        Which items are compared: a number of those with the most buyers, a list of ids that is public, or None for a
        rule that goes by the noisy number of users and the noise. With a list of ids there is no first release.
    first_share
        Share of the budget for the first release.
    k
        Only the k largest cosines of each item speak for it; None for all, as equation 8 is printed.

    Attributes
    ----------
    head_ : int32 array
        Codes of the head.
    popularity_ : float array
        Noisy weight of buyers of each item; without a first release of the items of the head only.
    cosines_ : float array, head × head
        Cosines after what noise adds was taken out; 0 on the diagonal, nowhere negative.

    Privacy
    -------
    Unit: one user, or one record, present or absent; joint: a person's own results use that person's own records.
    Released: item statistics and the matrix Σ w·1 1ᵀ over the items of each user, diagonal included, at the weight
    w = 1/n for n items of the head (2/n² for pure ε; 1/√n and 1/n where one record is the unit), with rounded normal or
    discrete Laplace noise; the bounds are exact (``docs/proofs/gram.md``, Theorems 2 and 4). Not covered: the catalog,
    own results; where one record is the unit also who the users are, and several records of one user at once.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=600, items=60, seed=7)
    >>> model = PrivateCosine(epsilon=8).fit(films)
    >>> model.recommend(history=["film-3", "film-8"], n=2).columns
    ['item_id', 'score', 'rank']
    """

    name: ClassVar[str] = "private-cosine"
    least: ClassVar[Mapping[str, int]] = {"cap": 1, "k": 1, "head": 2}

    epsilon: Rational
    delta: Rational = "1e-6"
    unit: Unit | str = "user"
    cap: int | None = None
    head: int | Sequence[Hashable] | None = None
    first_share: Rational = "3/10"
    k: int | None = None

    # The release

    def _plan(self, public: Interactions) -> Plan:
        require_named_catalog(public, "common buyers")
        choice = HeadChoice.of(self.head, public, self._budget, self.first_share)
        mechanism, bounds = choice.rest.for_sums(), empty_gram(choice.most, rated=False, **self._kind)
        mechanism.check(bounds)
        return self._planned(
            public,
            choice,
            basis="noisy numbers of common buyers, docs/proofs/pairs.md, Theorem 4",
            subject="a co-purchase model",
            expected={"noise_together": mechanism.standard_deviation(bounds)},
        )

    def _bounded(self, data: Interactions, choice: HeadChoice) -> BoundedInteractions:
        bounded = super()._bounded(data, choice)
        return replace(bounded, records=_purchases(bounded.records))

    def _rounds(self, plan: Plan) -> Rounds:
        choice, public = plan.public
        head, parts = yield from choice.rounds(plan, _purchases(public))

        def together(bought: Interactions) -> BoundedGram:
            return item_gram(bought, _unrated(public.n_items), head, **self._kind)

        found = {"noise_together": choice.rest.for_sums().standard_deviation(together(_purchases(public)))}
        matrices = yield Round(together, choice.rest.for_sums(), noise=("noise_together",))
        items = pl.DataFrame({"item_id": public.items.series})
        return {**parts, "head": head, "together": matrices[0], "items": items}, found

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        self._read_head(release)
        together = release.array("together")
        if "first" in release.parts:
            self.popularity_ = read_statistics(release, len(self.items_), None).weights
        else:
            self.popularity_ = np.zeros(len(self.items_))
            self.popularity_[self.head_] = together.diagonal()
        k = self.head_.size if self.k is None else self.k
        self.cosines_ = affinity_of(together, release.parameters["noise_together"], k)

    def _score(self, rows: csr_array) -> Floats:
        """Equation 8; below everything that a purchase speaks for, items stand by popularity."""
        touched = rows[:, self.head_].astype(bool).astype(np.float64)
        return self._by_popularity(rows, (touched @ self.cosines_.T) / np.maximum(np.diff(rows.indptr), 1)[:, None])

    def _similar(self, items: Codes) -> Floats:
        return self._alike(items, self.cosines_)


def _purchases(data: Interactions) -> Interactions:
    """The same records without ratings, on codes: sums go by codes alone."""
    if data.rating is None:
        return data
    columns = {"user_id": data.user, "item_id": data.item.astype(np.int64)}
    return Interactions(columns, items=range(data.n_items), duplicates="error")


def _unrated(n_items: int) -> ItemStatistics:
    """Nothing about ratings, which purchases do not have."""
    return ItemStatistics(np.zeros(n_items), np.zeros(n_items), 1.0, 0.0, None, None)
