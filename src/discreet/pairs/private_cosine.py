"""Item-to-item recommendation from noisy numbers of common buyers: proved, and free for everybody afterwards.

References
----------
F. McSherry, I. Mironov: Differentially private recommender systems. KDD 2009 (noisy covariance of items).
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. Project
report, University of Texas at Austin, 2011 (equations 7 and 8).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.neighbors.item_gram import empty_gram, item_gram
from discreet.neighbors.item_likeness import affinity_of
from discreet.neighbors.item_statistics import ItemStatistics
from discreet.neighbors.released_model import ReleasedModel, require_named_catalog
from discreet.pairs.budgets import Budget, share_of, unit_of
from discreet.pairs.heads import HeadChoice, read_statistics
from discreet.pairs.pair_sums import require_whole
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.normal import NormalGramMechanism
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["PrivateCosine"]


@dataclass
class PrivateCosine(ReleasedModel):
    """Co-purchase cosine whose numbers of common buyers are noisy sums over all users.

    First the noisy weight of buyers of every item; then, for the items with the most weight (the head), how much weight
    of buyers each two have in common, and each by itself. Cosines and estimates are post-processing, so new people and
    any number of questions cost nothing. Every record counts as a purchase, whatever its rating.

    Parameters
    ----------
    epsilon, delta
        The budget of one fit. A delta of 0 asks for pure ε: Laplace noise, much more of it for whole users.
    unit
        "user": all that one user did is protected. "rating": one purchase is, present or absent.
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
    release_ : Release
        What was released; the model is a function of it.
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
    one's own screen; where one record is the unit also who the users are, and several records of one user at once.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=600, items=60, seed=7)
    >>> model = PrivateCosine(epsilon=8).fit(films)
    >>> model.recommend(history=["film-3", "film-8"], n=2).columns
    ['item_id', 'score', 'rank']
    """

    name: ClassVar[str] = "private-cosine"

    epsilon: Rational = 1
    delta: Rational = "1e-6"
    unit: Literal["user", "rating"] = "user"
    cap: int | None = None
    head: int | Sequence[Hashable] | None = None
    first_share: Rational = "3/10"
    k: int | None = None

    # Fitting

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        require_named_catalog(data, "common buyers")
        unit, budget = unit_of(self.unit, ("user", "rating")), Budget.of(self.epsilon, self.delta)
        for name, value in (("cap", self.cap), ("k", self.k)):
            if value is not None:
                require_whole(value, name, least=1)
        choice = HeadChoice.of(self.head, data, budget, unit=unit, share=share_of(self.first_share, "first_share"))
        bounded = choice.bounded(data, self.cap)
        bought = _purchases(bounded.records)
        choice.prepare(bought)
        mechanism = budget.part(1 - choice.share).for_gram()
        kind = {"unit": unit, "norm": budget.norm, "most": self.cap}
        mechanism.check(empty_gram(choice.most, rated=False, **kind))
        guarantee = self._promise(unit, budget, data.n_items, bounded.caps)
        with charged(ledger, data, guarantee, mechanism=self.name, parameters=self.config()) as charge:
            head, parts, noise = choice.draw()
            gram = item_gram(bought, _unrated(data.n_items), head, **kind)
            parts |= {
                "head": head,
                "together": mechanism.release(gram)[0],
                "items": pl.DataFrame({"item_id": data.items.series}),
            }
            # Normal noise is stated for the diagonal, which has √2 times that of the rest.
            off = 2**0.5 if isinstance(mechanism, NormalGramMechanism) else 1.0
            noise["noise_together"] = mechanism.standard_deviation(gram) / off
            release = Release(
                kind=self.name,
                guarantee=guarantee,
                mechanism=self.name,
                parameters={**self.config(), **noise},
                parts=parts,
                dataset=data.name,
            )
            charge.settle(release.id)
        self._build(release)

    def _promise(self, unit: Unit, budget: Budget, n_items: int, caps: tuple[str, ...]) -> Guarantee:
        more = ("who the users are", "several records of one user at once") if unit.what == "record" else ()
        return Guarantee(
            loss=budget.loss,
            unit=unit,
            standing=Standing.PROVED,
            basis="noisy numbers of common buyers, docs/proofs/pairs.md, Theorem 4",
            subject=f"a co-purchase model of {n_items:,} items",
            caps=caps,
            not_covered=("the public list of items", "facts about people at large", "one's own screen", *more),
            joint=True,
        )

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        self.release_, self.guarantee_ = release, release.guarantee
        self.items_ = IdMap(release.table("items")["item_id"], what="item")
        self.head_ = release.array("head").astype(np.int32)
        self._place = np.full(len(self.items_), -1, dtype=np.int64)
        self._place[self.head_] = np.arange(self.head_.size)
        together = release.array("together")
        if "first" in release.parts:
            self.popularity_ = read_statistics(release, len(self.items_), None).weights
        else:
            self.popularity_ = np.zeros(len(self.items_))
            self.popularity_[self.head_] = together.diagonal()
        k = self.head_.size if self.k is None else self.k
        self.cosines_ = affinity_of(together, release.parameters["noise_together"], k)

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        """Equation 8; below everything that a purchase speaks for, items stand by popularity."""
        popular = -1 / (1 + np.maximum(self.popularity_, 0)) + 1e-9 * np.minimum(self.popularity_, 0)
        scores = np.tile(popular, (rows.indptr.size - 1, 1))
        touched = rows[:, self.head_].astype(bool).astype(np.float64)
        estimates = (touched @ self.cosines_.T) / np.maximum(np.diff(rows.indptr), 1)[:, None]
        scores[:, self.head_] = np.where(estimates > 0, estimates, scores[:, self.head_])
        return scores

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """It ranks; it does not predict ratings."""
        return np.full(item.size, np.nan)

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        scores = np.full((items.size, len(self.items_)), -np.inf)
        for row, place in enumerate(self._place[items]):
            if place >= 0:
                likeness = self.cosines_[place]
                scores[row, self.head_] = np.where(likeness > 0, likeness, -np.inf)
        return scores

    def config(self) -> dict[str, Any]:
        """The settings of this model; a public list of items is a list."""
        head = self.head if self.head is None or isinstance(self.head, int) else list(self.head)
        return {**super().config(), "head": head}


def _purchases(data: Interactions) -> Interactions:
    """The same records without ratings, on codes: sums go by codes alone."""
    if data.rating is None:
        return data
    columns = {"user_id": data.user, "item_id": data.item.astype(np.int64)}
    return Interactions(columns, items=range(data.n_items), duplicates="error")


def _unrated(n_items: int) -> ItemStatistics:
    """Nothing about ratings, which purchases do not have."""
    return ItemStatistics(np.zeros(n_items), np.zeros(n_items), 1.0, 0.0, None, None)
