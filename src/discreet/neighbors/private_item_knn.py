"""Item neighbors from one noisy Gram release: proved, and free for everybody afterwards.

References
----------
F. McSherry, I. Mironov: Differentially private recommender systems. KDD 2009 (noisy covariance of items).
M. Kearns, M. Pai, A. Roth, J. Ullman: Mechanism design in large games. ITCS 2014 (joint differential privacy).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.models.heads import HeadChoice, HeadModel
from discreet.models.item_gram import empty_gram, item_gram
from discreet.models.item_likeness import affinity_of, agreement_of, without_common_level
from discreet.models.item_statistics import ItemStatistics, public_ends
from discreet.privacy.bounding import require_named_catalog
from discreet.privacy.budget import Budget
from discreet.privacy.gram import BoundedGram
from discreet.privacy.losses import Loss, Pure, loss_from_json
from discreet.privacy.method import Enters, Plan, Round, Rounds
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PrivateItemKNN"]

CAP = 150
"""The most items of one user that are used, unless another number is given."""

_THEOREMS = {
    ("user", 2): "Theorems 1 to 3",
    ("user", 1): "Theorems 2, 3 and 5",
    ("record", 2): "Theorems 1, 4 and 6",
    ("record", 1): "Theorems 4 to 6",
}

CROSSOVER = {"user": 100, "record": 350}
"""Below this strength of signal popularity ranks better than neighbors do. One rating hardly moves popularity, so where
it is the unit popularity is known well and neighbors must be known better."""

SHARE_OF_HEAD = 1 / 8
"""How much of the head a user has usually touched: for the rule only."""


@dataclass
class PrivateItemKNN(HeadModel):
    """Item-based neighbors whose likeness comes from noisy sums over all users.

    Two releases. First, for every item of the catalog, how well it was rated and how much weight of raters it has.
    Then, for the items with the most weight (the head), how ratings go together and how often they come together.
    Likeness, neighbors, truncation and prediction are post-processing, so new people and any number of questions cost
    nothing.

    Parameters
    ----------
    epsilon, delta
        The budget for one fit. A delta of 0 asks for pure ε: Laplace noise, several times as much of it.
    k
        Neighbors of an item.
    cap
        The most items of one user that are looked at, chosen at random; None for 150. For unit="record" nothing is cut,
        and there is no cap to choose.
    head
        Size of the head; None for a rule that goes by the noisy number of users and the noise.
    first_share
        Share of the budget for the first release.
    unit
        "user": all that one user did is protected. "record": one rating of a user is, present or absent, which is
        less, and much more accurate: t ratings of one user together cost t times ε.

    Attributes
    ----------
    head_ : int32 array
        Codes of the head.
    offsets_ : float array
        How far above the general level (for users: above its raters' own) an item is rated, in stars; 0 where there
        are no ratings.
    popularity_ : float array
        Noisy weight of raters of each item.
    affinity_ : float array, head × head
        How much an item of the head speaks for another; each row keeps its k largest. For ranking.
    agreement_ : float array, head × head
        How ratings of two items go together, shrunk. For predictions.
    ranking_ : str
        "neighbors", or "popularity" where noise leaves nothing better.

    Privacy
    -------
    Unit: one user, or one rating, present or absent; joint: a person's own results use that person's own records.
    Spent: ε = ε₀ + ε₁ (delta = 0), or μ² = μ₀² + μ₁², chosen to keep (ε, δ). One user with n items in the head adds
    matrices at the weight 1/n (2/n² for pure ε); where one rating is the unit the weight is 1/√n (1/n for pure ε), and
    ratings are relative to released means only, not to their rater's own. The bounds are worked out in integers, with
    proofs, in ``docs/proofs/gram.md``. Not covered: the catalog, the rating scale, own results; where one rating
    is the unit also who the users are, and several ratings of one user at once.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=400, items=60, seed=7)
    >>> model = PrivateItemKNN(epsilon=8, delta="1e-6", k=20).fit(films)
    >>> model.recommend(["u17"], n=3).columns
    ['user_id', 'item_id', 'score', 'rank']
    >>> model.recommend(history={"film-3": 5, "film-8": 4}, n=2).height
    2
    >>> rated = PrivateItemKNN(epsilon=1, delta=0, unit="record").fit(films)
    >>> print(rated.guarantee.loss, "for", rated.guarantee.unit)
    ε = 1 for one record, present or absent
    """

    name: ClassVar[str] = "private-item-knn"
    least: ClassVar[Mapping[str, int]] = {"k": 1, "cap": 1, "head": 1}
    enters: ClassVar[Enters] = "once"

    epsilon: Rational
    delta: Rational = "1e-6"
    k: int = 50
    cap: int | None = None
    head: int | None = None
    first_share: Rational = "3/10"
    unit: Unit | str = "user"

    def _plan(self, public: Interactions) -> Plan:
        require_named_catalog(public, "item neighbors")
        unit, rated = Unit.of(self.unit), public.rating is not None
        choice = HeadChoice.of(self.head, public, self._budget, self.first_share, head_size)
        bounds = empty_gram(choice.most, rated=rated, **self._kind)
        choice.rest.for_sums().check(bounds)
        return self._planned(
            public,
            choice,
            basis=f"noisy offsets and Gram matrices, docs/proofs/gram.md, {_THEOREMS[unit.what, self._budget.norm]}",
            subject="a neighbor model",
            expected={"noise_gram": choice.rest.for_sums().standard_deviation(bounds)},
            details={"scale": str(public.scale) if rated else None},
        )

    @property
    def _cap(self) -> int | None:
        return CAP if self.cap is None and Unit.of(self.unit).what == "user" else self.cap

    def _rounds(self, plan: Plan) -> Rounds:
        choice, public = plan.public
        head, parts = yield from choice.rounds(plan, public)
        noise, rated = plan.expected["noise_first"], public.rating is not None
        first = ItemStatistics.read(parts["first"], unit=choice.unit, ends=choice.ends, noise=noise)

        def together(records: Interactions) -> BoundedGram:
            return item_gram(records, first, head, **self._kind)

        matrices = yield Round(together, choice.rest.for_sums(), noise=("noise_gram",))
        found = {"noise_gram": choice.rest.for_sums().standard_deviation(together(public))}
        released = {
            **parts,
            "head": head,
            "co_counts": matrices[-1],
            **({"products": matrices[0]} if rated else {}),
            "items": pl.DataFrame({"item_id": public.items.series}),
        }
        return released, found

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        unit = release.guarantee.unit
        self._read_head(release)
        rated, noise = "products" in release.parts, release.parameters["noise_gram"]
        # In a series the head and what ratings are relative to stay; what is known of single items is up to date.
        first = ItemStatistics.read(
            release.array("first_now" if "first_now" in release.parts else "first"),
            unit=unit,
            ends=public_ends(RatingScale.of(release.parameters["scale"]) if rated else None),
            noise=release.parameters["noise_first"],
        )
        self.offsets_, self.popularity_, self.level_ = first.offsets, first.weights, first.level
        self.low_, self.high_ = first.low, first.high
        together = release.array("co_counts")
        self.affinity_ = affinity_of(together, noise, self.k)
        self.agreement_ = np.zeros_like(self.affinity_)
        if rated:
            products = release.array("products")
            if unit.what == "record":
                products = without_common_level(products, together)
            self.agreement_ = agreement_of(products, together, noise)
        # The noise of a series, or of several curators together, is not that of the guarantee.
        combined = release.parameters.get("combined")
        loss = release.guarantee.loss if combined is None else loss_from_json(combined["noise_like"])
        strength = strength_of(first, loss, unit, head=self.head_.size)
        strength /= release.parameters.get("series", {}).get("noise_factor", 1)
        self.ranking_ = "neighbors" if strength >= CROSSOVER[unit.what] else "popularity"

    def _score(self, rows: csr_array) -> Floats:
        if self.ranking_ != "neighbors":
            return self._by_popularity(rows)
        touched = rows[:, self.head_].astype(bool).astype(np.float64)
        return self._by_popularity(rows, touched @ self.affinity_.T)

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        if self.low_ is None or self.high_ is None:
            return np.full(item.size, np.nan)
        # Every history relative to the offsets, and the person's own level with two ratings' worth of the general one.
        centered = rows.astype(np.float64).copy()
        centered.data -= self.offsets_[centered.indices]
        counts = np.diff(centered.indptr)
        totals = np.bincount(np.repeat(np.arange(counts.size), counts), weights=centered.data, minlength=counts.size)
        levels = (totals + 2 * self.level_) / (counts + 2)
        centered.data -= np.repeat(levels, counts)
        predicted = self.offsets_[item] + levels[row]
        places = self._place[item]
        for index in np.flatnonzero(places >= 0):
            begin, end = centered.indptr[row[index]], centered.indptr[row[index] + 1]
            others = self._place[centered.indices[begin:end]]
            known = others >= 0
            weights = self.agreement_[places[index], others[known]]
            values = centered.data[begin:end][known]
            if weights.size > self.k:
                strongest = np.argpartition(-np.abs(weights), self.k)[: self.k]
                weights, values = weights[strongest], values[strongest]
            predicted[index] += float(weights @ values) / (np.abs(weights).sum() + 1)
        return np.clip(predicted, self.low_, self.high_)

    def _similar(self, items: Codes) -> Floats:
        return self._alike(items, self.affinity_)


# How far what users have in common stands out of the noise


def head_size(first: ItemStatistics, budget: Budget) -> float:
    """How many items of the largest weight are worth comparing: the square root of the signal times a constant.

    The constants were chosen on MovieLens: more items share the same signal, fewer leave some of it unused.
    """
    unit = Unit.of(budget.unit)
    strength = strength_of(first, budget.loss, unit, head=1)
    if unit.what == "record":
        return 5 * math.sqrt(strength)
    # At pure ε the signal falls with the size, so size = 8.5·√(signal/size) asks for a third root.
    return (8.5**2 * strength) ** (1 / 3) if budget.is_pure else 8.5 * math.sqrt(strength)


def strength_of(first: ItemStatistics, loss: Loss, unit: Unit, *, head: int) -> float:
    """Signal over noise: users × the length of a usual user's matrix ÷ the noise on an entry.

    With n items in the head, the weights of ``item_gram`` give a matrix of length 1, 2/n, √n and 1; the noise on an
    entry is taken for the whole budget and for two matrices.
    """
    users = first.users
    if isinstance(loss, Pure):
        deviation = math.sqrt(2) / float(loss.epsilon)
        if unit.what == "record":
            return users / (3 * deviation)
        return users * 2 / (SHARE_OF_HEAD * head) / (2 * deviation)
    concentrated = loss.concentrated()
    assert concentrated is not None
    deviation = 1 / math.sqrt(2 * concentrated.rho)
    if unit.what == "user":
        return users / deviation
    records = max(users, float(first.weights.sum()))
    return math.sqrt(users * records) / (math.sqrt(2) * deviation)
