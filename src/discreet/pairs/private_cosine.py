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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_whole
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.models.heads import HeadChoice, read_statistics
from discreet.models.item_gram import empty_gram, item_gram
from discreet.models.item_likeness import affinity_of
from discreet.models.item_statistics import ItemStatistics
from discreet.models.released_model import NOT_COVERED, SEVERAL_RECORDS, ReleasedModel, require_named_catalog
from discreet.privacy.budget import Budget, as_share
from discreet.privacy.gram import BoundedGram
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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

    epsilon: Rational
    delta: Rational = "1e-6"
    unit: Unit | str = "user"
    cap: int | None = None
    head: int | Sequence[Hashable] | None = None
    first_share: Rational = "3/10"
    k: int | None = None

    def __post_init__(self) -> None:
        self.unit = Unit.of(self.unit, ("user", "record"))
        self.head = self.head if self.head is None or isinstance(self.head, int) else tuple(self.head)
        as_share(self.first_share, "first_share")
        for name, value in (("cap", self.cap), ("k", self.k)):
            if value is not None:
                require_whole(value, name)
        if isinstance(self.head, int):
            require_whole(self.head, "head", least=2)
        self._budget.loss  # noqa: B018 wrong budgets fail here

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta, self.unit)

    # The release

    def _plan(self, public: Interactions) -> Plan:
        require_named_catalog(public, "common buyers")
        unit, choice = Unit.of(self.unit), HeadChoice.of(self.head, public, self._budget, self.first_share)
        bounded = choice.bounded(public, self.cap)
        mechanism, bounds = choice.rest.for_sums(), empty_gram(choice.most, rated=False, **self._kind)
        mechanism.check(bounds)
        return Plan(
            loss=self._budget.loss,
            unit=unit,
            basis="noisy numbers of common buyers, docs/proofs/pairs.md, Theorem 4",
            subject=f"a co-purchase model of {public.n_items:,} items",
            caps=bounded.caps,
            not_covered=(*NOT_COVERED, *(SEVERAL_RECORDS if unit.what == "record" else ())),
            joint=True,
            expected={
                **choice.expected(_purchases(bounded.records)),
                "noise_together": mechanism.standard_deviation(bounds),
            },
            public=(choice, public),
        )

    @property
    def _kind(self) -> dict[str, Any]:
        """What the bounds of the matrix depend on."""
        return {"unit": Unit.of(self.unit), "norm": self._budget.norm, "most": self.cap}

    def _prepare(self, data: Interactions, plan: Plan) -> Interactions:
        choice, _ = plan.public
        return _purchases(choice.bounded(data, self.cap).records)

    def _rounds(self, plan: Plan) -> Rounds:
        choice, public = plan.public
        head, parts = yield from choice.rounds(plan, _purchases(public))

        def together(bought: Interactions) -> BoundedGram:
            return item_gram(bought, _unrated(public.n_items), head, **self._kind)

        found = {"noise_together": choice.rest.for_sums().standard_deviation(together(_purchases(public)))}
        matrices = yield Round(together, choice.rest.for_sums())
        items = pl.DataFrame({"item_id": public.items.series})
        return {**parts, "head": head, "together": matrices[0], "items": items}, found

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
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

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        scores = np.full((items.size, len(self.items_)), -np.inf)
        for row, place in enumerate(self._place[items]):
            if place >= 0:
                likeness = self.cosines_[place]
                scores[row, self.head_] = np.where(likeness > 0, likeness, -np.inf)
        return scores


def _purchases(data: Interactions) -> Interactions:
    """The same records without ratings, on codes: sums go by codes alone."""
    if data.rating is None:
        return data
    columns = {"user_id": data.user, "item_id": data.item.astype(np.int64)}
    return Interactions(columns, items=range(data.n_items), duplicates="error")


def _unrated(n_items: int) -> ItemStatistics:
    """Nothing about ratings, which purchases do not have."""
    return ItemStatistics(np.zeros(n_items), np.zeros(n_items), 1.0, 0.0, None, None)
