"""PNCF repaired: private item neighbors by a shrunk cosine whose sensitivity is known.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 3 (the published PNCF).
D. Durfee, R. Rogers: Practical differentially private top-k selection with pay-what-you-get composition. NeurIPS 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.models.released_model import NOT_COVERED, ReleasedModel
from discreet.neighbors.shrunk_lists import BITS, ItemMeans, ListRule, item_sums, whole_ratings
from discreet.privacy.bounding import cap_items, require_named_catalog
from discreet.privacy.budget import Budget, as_share
from discreet.privacy.draws import Spend, paid_from
from discreet.privacy.method import Parts, Plan, Reads
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["ShrunkPNCF"]

DROWNED = 0.25
"""Similarities lie between 0 and 1: weights with more noise than this are of no use for ranking."""
TYPICAL = 0.1
"""How large similarities of neighbors usually are: with more noise than this predictions hardly listen to neighbors."""
ROWS_AT_ONCE = 2_000_000


@dataclass
class ShrunkPNCF(ReleasedModel):
    """Item-based neighbors, each list drawn by itself: the published PNCF with its proof repaired.

    For every item the k neighbors are drawn by one shot of Gumbel noise on truncated similarities, and the similarities
    of those drawn get noise. The lists are drawn once. Predictions and recommendations are post-processing from a
    person's own ratings.

    **Prefer** :class:`~discreet.neighbors.PrivateItemKNN`. One user's ratings are in as many lists as the user has
    items, so the budget of a list is the whole one divided by the cap. With ε = 1 and cap = 20 a list would have 0.05,
    and after a fifth for the item means it has 0.04. At k = 10, λ = 100 and an even split the noise on a similarity,
    which lies between 0 and 1, then has a scale of 10/101/0.02 ≈ 5. It takes λ in the thousands, hence items that
    thousands of people have in common, or an ε of about 30, before the lists tell anything; where they do not, the
    model ranks by popularity and says so (``ranking_``). A ``delta`` of 1e-6 makes the noise seven times smaller here.

    Parameters
    ----------
    epsilon
        The budget for one fit: the item means and all lists.
    delta
        0 for pure ε-DP; otherwise the lists are drawn under zCDP, with Gaussian noise, to keep (ε, δ).
    k
        Neighbors of an item.
    cap
        The most items of one user that are looked at, chosen at random; at least 2.
    shrinkage
        λ of the shrunk cosine, above 0: as if so many people had given the highest rating to each of the two items and
        had nothing in common.
    truncation
        w: similarities that lie further than this below the k-th largest are raised to w below it. From 1 on there is
        no truncation.
    first_share
        Share of the budget for the item means.
    selection_share
        Share of a list's budget for the choice of neighbors; the rest is for their similarities.

    Attributes
    ----------
    release_ : Release
        What was released; the model is a function of it.
    means_ : ItemMeans
        Popularity and mean rating of each item, noisy.
    weights_ : sparse float array, items × items
        Row i holds the noisy similarities of the k neighbors of item i, cut to between 0 and 1.
    noise_ : float
        Standard deviation of the noise on a similarity.
    ranking_ : str
        "neighbors", or "popularity" where the noise drowns the similarities.

    Privacy
    -------
    Unit: one user, present or absent; joint: a person's own results use that person's own records. One co-rater moves a
    similarity by at most 1/(1 + λ), for ratings from 0 to the top of the scale; on the integer grid this is
    ⌈2²⁰/(1 + λ) + 2⁻¹⁹⌉ steps. A list costs ε_selection + ε_weights; a user is in at most ``cap`` lists. Spent: first
    release + cap·(ε_selection + ε_weights) = ε. Proofs: ``docs/proofs/neighbors.md``, Theorems 1 to 4. Not covered: the
    catalog, the rating scale, own results.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=400, items=60, seed=7)
    >>> model = ShrunkPNCF(epsilon=2, k=5, cap=10).fit(films)
    >>> model.ranking_, str(model.guarantee.loss)
    ('popularity', 'ε = 2')
    >>> model.recommend(history={"film-3": 5, "film-8": 4}, n=2).height
    2
    """

    name: ClassVar[str] = "shrunk-pncf"
    reads: ClassVar[Reads] = "records"

    epsilon: Rational
    delta: Rational = 0
    k: int = 10
    cap: int = 20
    shrinkage: Rational = 100
    truncation: Rational = "1/2"
    first_share: Rational = "1/5"
    selection_share: Rational = "1/2"

    def __post_init__(self) -> None:
        self.delta = 0 if self.delta is None else self.delta  # as version 0.1 saved it
        as_share(self.first_share, "first_share")
        as_share(self.selection_share, "selection_share")
        self._rule(self.k + 1)
        self._budget.loss  # noqa: B018 wrong budgets fail here

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta, selects=True)

    @property
    def _shares(self) -> tuple[Budget, Budget, Budget, Budget]:
        """For the item means, for all lists, and of each list for the choice and for the similarities."""
        first, selection = as_share(self.first_share, "first_share"), as_share(self.selection_share, "selection_share")
        lists = self._budget.part(1 - first)
        each = lists.part(Fraction(1, self.cap))
        return self._budget.part(first), lists, each.part(selection), each.part(1 - selection)

    # The release

    def _plan(self, public: Interactions) -> Plan:
        require_named_catalog(public, "item neighbors")
        if public.n_items < 2:
            raise UsageError("a single item has no neighbors.")
        bounded, rule = cap_items(public, self.cap), self._rule(public.n_items)
        means, _, _, similarities = self._shares
        of_list = rule.weights(np.zeros(rule.k, dtype=np.int64))
        sums = item_sums(bounded.records)
        means.for_sums().check(sums)
        similarities.for_sums().check(of_list)
        return Plan(
            loss=self._budget.loss,
            basis="shrunk cosine, one-shot top-k and noisy weights, docs/proofs/neighbors.md, Theorem 4",
            subject=f"item means and neighbor lists of {public.n_items:,} items",
            caps=bounded.caps,
            not_covered=NOT_COVERED,
            joint=True,
            details={"scale": None if public.scale is None or public.rating is None else str(public.scale)},
            expected={
                "noise_first": means.for_sums().standard_deviation(sums),
                "noise_weights": similarities.for_sums().standard_deviation(of_list),
            },
            public=public.items.series,
        )

    def _rule(self, n_items: int) -> ListRule:
        return ListRule.of(
            k=min(self.k, n_items - 1), cap=self.cap, shrinkage=self.shrinkage, truncation=self.truncation
        )

    def _draw(self, data: Interactions, plan: Plan) -> Parts:
        bounded = cap_items(data, self.cap)
        means, lists, _, _ = self._shares
        first = means.for_sums().release(item_sums(bounded.records))
        # One user is in at most ``cap`` lists, so all lists together cost that many times one of them.
        with paid_from(Spend("lists of all items", lists.loss)):
            neighbors, weights = self._lists(whole_ratings(bounded.records))
        items = pl.DataFrame({"item_id": plan.public})
        return {"first": first, "neighbors": neighbors, "weights": weights, "items": items}

    def _lists(self, data: Interactions) -> tuple[Codes, Integers]:
        """Neighbors of every item of the catalog and their noisy similarities, in grid steps."""
        n_items, rule = data.n_items, self._rule(data.n_items)
        _, _, selection, similarities = self._shares
        select, perturb = selection.for_top(rule.k), similarities.for_sums()
        neighbors = np.empty((n_items, rule.k), dtype=np.int32)
        weights = np.empty((n_items, rule.k), dtype=np.int64)
        step = max(1, ROWS_AT_ONCE // n_items)
        for begin in range(0, n_items, step):
            targets = np.arange(begin, min(begin + step, n_items))
            for target, row in zip(targets, rule.similarities(data, targets), strict=True):
                # Every other item is a candidate, with or without common raters: which have some is secret.
                others = np.delete(np.arange(n_items), target)
                grid = row[others]
                chosen = select.choose(rule.scores(grid))
                neighbors[target] = others[chosen]
                weights[target] = perturb.release(rule.weights(grid[chosen]))
        return neighbors, weights

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        from scipy.sparse import csr_array

        parameters = release.parameters
        self.scale_ = RatingScale.of(parameters["scale"]) if parameters["scale"] else None
        self.means_ = ItemMeans.of(release.array("first"), self.scale_, parameters["noise_first"])
        neighbors, weights = release.array("neighbors"), release.array("weights")
        cut = np.clip(weights / 2**BITS, 0, 1)
        starts = np.arange(0, neighbors.size + 1, neighbors.shape[1])
        size = len(self.items_)
        self.weights_ = csr_array((cut.ravel(), neighbors.ravel(), starts), shape=(size, size))
        self.weights_.sort_indices()
        self.noise_ = float(parameters["noise_weights"])
        self.ranking_ = "neighbors" if self.noise_ < DROWNED else "popularity"

    def _score(self, rows: csr_array) -> Floats:
        # Below everything that neighbors speak for, items stand by popularity: −1/(1 + weight) rises with it.
        weight = self.means_.popularity
        popular = -1 / (1 + np.maximum(weight, 0)) + 1e-9 * np.minimum(weight, 0)
        scores = np.tile(popular, (rows.indptr.size - 1, 1))
        if self.ranking_ == "popularity":
            return scores
        spoken = (_touched(rows) @ self.weights_.T).toarray()
        return np.where(spoken > 0, spoken, scores)

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        if self.scale_ is None:
            return np.full(item.size, np.nan)
        means, counts = self.means_.means, np.diff(rows.indptr)
        centered = rows.astype(np.float64).copy()
        centered.data -= means[centered.indices]
        totals = np.bincount(np.repeat(np.arange(counts.size), counts), weights=centered.data, minlength=counts.size)
        # A person's own level, with two ratings' worth of nobody's.
        levels = totals / (counts + 2)
        centered.data -= np.repeat(levels, counts)
        near = self.weights_[item]
        agreed = near.multiply(centered[row]).sum(axis=1)
        weight = near.multiply(_touched(rows)[row]).sum(axis=1)
        trust = TYPICAL**2 / (TYPICAL**2 + self.noise_**2)
        predicted = means[item] + levels[row] + trust * agreed / (weight + self.noise_ + 1e-12)
        return np.clip(predicted, float(self.scale_.low), float(self.scale_.high))

    def _similar(self, items: Codes) -> Floats:
        likeness = self.weights_[items].toarray()
        return np.where(likeness > 0, likeness, -np.inf)


def _touched(rows: csr_array) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((np.ones(rows.data.size), rows.indices, rows.indptr), shape=rows.shape)
