"""Item neighbors from one noisy Gram release: proved at user level, and free for everybody afterwards.

References
----------
F. McSherry, I. Mironov: Differentially private recommender systems. KDD 2009 (noisy covariance of items).
M. Kearns, M. Pai, A. Roth, J. Ullman: Mechanism design in large games. ITCS 2014 (joint differential privacy).
D. Donoho, M. Gavish, I. Johnstone: Optimal shrinkage of eigenvalues in the spiked covariance model. Ann. Stat. 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap, group_order
from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.bounding import BoundedSums, cap_items, require_catalog
from discreet.privacy.charging import charged
from discreet.privacy.gram import BoundedGram, GramMechanism
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Concentrated, rho_for
from discreet.privacy.mechanisms import GaussianMechanism
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.recommender import Recommender

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["PrivateItemKNN"]

BITS = 20
VALUE_BITS = 10
CROSSOVER = 350
"""Below this number of users × μ popularity ranks better than neighbors do."""


@dataclass
class PrivateItemKNN(Recommender):
    """Item-based neighbors whose likeness comes from noisy sums over all users.

    Two releases. First, for every item of the catalog, the sum of its ratings relative to each rater's own mean, and
    how much weight of raters it has. Then, for the items with the most weight (the head), how ratings go together (G)
    and how often they come together (C). Likeness, neighbors, truncation and prediction are post-processing, so new
    people and any number of questions cost nothing.

    Parameters
    ----------
    epsilon, delta
        The budget for one fit.
    k
        Neighbors of an item.
    cap
        The most items of one user that are looked at, chosen at random.
    head
        Size of the head; None for the rule 8.5·√(N·μ) with N from the first release.
    first_share
        Share of the budget for the first release.

    Attributes
    ----------
    release_ : Release
        What was released; the model is a function of it.
    head_ : int32 array
        Codes of the head.
    offsets_ : float array
        How far above its raters' means an item is rated, in stars; 0 where there are no ratings.
    popularity_ : float array
        Noisy weight of raters of each item.
    affinity_ : float array, head × head
        How much an item of the head speaks for another; each row keeps its k largest. For ranking.
    agreement_ : float array, head × head
        How ratings of two items go together, shrunk. For predictions.
    ranking_ : str
        "neighbors", or "popularity" where there are too few users for anything better.

    Privacy
    -------
    Unit: one user, present or absent; joint: a person's own results use that person's own records. Sensitivities and
    their proofs: ``docs/proofs/gram.md``. Spent: ρ = ρ₀ + ρ₁ zCDP, chosen to keep (ε, δ). Not covered: the catalog, the
    rating scale, one's own screen.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=400, items=60, seed=7)
    >>> model = PrivateItemKNN(epsilon=8, delta="1e-6", k=20).fit(films)
    >>> model.recommend(["u17"], n=3).columns
    ['user_id', 'item_id', 'score', 'rank']
    >>> model.recommend(history={"film-3": 5, "film-8": 4}, n=2).height
    2
    """

    name: ClassVar[str] = "private-item-knn"

    epsilon: Rational = 1
    delta: Rational = "1e-6"
    k: int = 50
    cap: int = 150
    head: int | None = None
    first_share: Rational = "3/10"

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        require_catalog(data, "item neighbors")
        if data.items.series.dtype == pl.Object:
            raise UsageError("a saved model names its items: their ids must be numbers or text.")
        for name, value in (("k", self.k), ("cap", self.cap), ("head", self.head if self.head is not None else 1)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} = {value!r} must be a whole number from 1.")
        rho = rho_for(self.epsilon, self.delta)
        share = as_fraction(self.first_share, "first_share")
        if not 0 < share < 1:
            raise UsageError(f"first_share = {share} must be between 0 and 1.")
        bounded = cap_items(data, self.cap)
        guarantee = self._promise(rho, data.n_items, bounded.caps)
        first, sums = GaussianMechanism(rho * share), _first_sums(bounded.records)
        first.check(sums)
        with charged(ledger, data, guarantee, mechanism=self.name, parameters=self.config()) as charge:
            noisy = first.release(sums).astype(np.float64) * float(sums.step)
            parts: dict[str, Any] = {"first": noisy}
            learned = _First.of(noisy, data, first.standard_deviation(sums))
            head = learned.head(self._head_size(learned.users, rho, data.n_items))
            second = GramMechanism(rho * (1 - share))
            gram = _gram(bounded.records, learned, head)
            matrices = second.release(gram)
            parts |= {"head": head, "co_counts": matrices[-1]}
            if data.rating is not None:
                parts["products"] = matrices[0]
            release = Release(
                kind=self.name,
                guarantee=guarantee,
                mechanism=self.name,
                parameters={
                    **self.config(),
                    "rho": str(rho),
                    "scale": None if data.scale is None else str(data.scale),
                    "noise_first": first.standard_deviation(sums),
                    "noise_gram": second.standard_deviation(gram),
                },
                parts={**parts, "items": pl.DataFrame({"item_id": data.items.series})},
                dataset=data.name,
            )
            charge.settle(release.id)
        self._build(release)

    def _head_size(self, users: float, rho: Fraction, n_items: int) -> int:
        rule = 8.5 * math.sqrt(max(users, 1.0) * math.sqrt(2 * rho))
        return min(n_items, self.head if self.head is not None else max(60, round(rule)))

    def _promise(self, rho: Fraction, n_items: int, caps: tuple[str, ...]) -> Guarantee:
        return Guarantee(
            loss=Concentrated(rho),
            unit=Unit("user"),
            standing=Standing.PROVED,
            basis="noisy item offsets and Gram matrices, docs/proofs/gram.md",
            subject=f"a neighbor model of {n_items:,} items",
            caps=caps,
            not_covered=(
                "the public list of items and rating scale",
                "facts about people at large",
                "one's own screen",
            ),
            joint=True,
        )

    # Post-processing: a function of the release alone

    def _build(self, release: Release) -> None:
        parameters = release.parameters
        self.release_, self.guarantee_ = release, release.guarantee
        self.items_ = IdMap(release.table("items")["item_id"], what="item")
        first = _First.of_release(release)
        self.offsets_, self.popularity_, self.level_ = first.offsets, first.weights, first.level
        self.low_, self.high_ = first.low, first.high
        self.head_ = release.array("head").astype(np.int32)
        self._place = np.full(len(self.items_), -1, dtype=np.int64)
        self._place[self.head_] = np.arange(self.head_.size)
        noise = parameters["noise_gram"]
        together = release.array("co_counts")
        self.affinity_ = _nearest(_cosine(_shrunk(together, noise), 2 * noise), self.k)
        self.agreement_ = np.zeros_like(self.affinity_)
        if "products" in release.parts:
            products = _shrunk(release.array("products"), noise)
            self.agreement_ = products / (np.maximum(together, 0) + 8 * noise + 1e-12)
            np.fill_diagonal(self.agreement_, 0)
        strength = first.users * math.sqrt(2 * Fraction(parameters["rho"]))
        self.ranking_ = "neighbors" if strength >= CROSSOVER else "popularity"

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        # Below everything that neighbors speak for, items stand by popularity: −1/(1 + weight) rises with it.
        popular = -1 / (1 + np.maximum(self.popularity_, 0)) + 1e-9 * np.minimum(self.popularity_, 0)
        scores = np.tile(popular, (rows.indptr.size - 1, 1))
        if self.ranking_ == "neighbors":
            touched = rows[:, self.head_].astype(bool).astype(np.float64)
            spoken = touched @ self.affinity_.T
            scores[:, self.head_] = np.where(spoken > 0, spoken, scores[:, self.head_])
        return scores

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
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

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        scores = np.full((items.size, len(self.items_)), -np.inf)
        for row, place in enumerate(self._place[items]):
            if place >= 0:
                likeness = self.affinity_[place]
                scores[row, self.head_] = np.where(likeness > 0, likeness, -np.inf)
        return scores

    # On disk: the release is the model

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        self._require_fitted()
        return self.release_.save(folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        release = Release.load(folder)
        if release.kind != cls.name:
            raise ReleaseError(f"{folder} holds {release.kind!r}, not {cls.name!r}.")
        model = cls(**{field.name: release.parameters[field.name] for field in fields(cls)})
        model._build(release)
        model.records_ = None
        return model


@dataclass(frozen=True)
class _First:
    """What the first release tells: weights, offsets, the number of users, the level of ratings."""

    weights: NDArray[np.float64]
    offsets: NDArray[np.float64]
    users: float
    level: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, noisy: NDArray[np.float64], data: Interactions, noise: float) -> _First:
        scale = data.scale
        ends = None if scale is None or data.rating is None else (float(scale.low), float(scale.high))
        return cls._read(noisy, ends, noise)

    @classmethod
    def of_release(cls, release: Release) -> _First:
        from discreet.data.scales import RatingScale

        text = release.parameters["scale"]
        scale = RatingScale.of(text) if text and "products" in release.parts else None
        ends = None if scale is None else (float(scale.low), float(scale.high))
        return cls._read(release.array("first"), ends, release.parameters["noise_first"])

    @classmethod
    def _read(cls, noisy: NDArray[np.float64], ends: tuple[float, float] | None, noise: float) -> _First:
        n_items = (noisy.size - 2) // 2
        weights = noisy[:n_items] / 0.3
        users = max(1.0, noisy[2 * n_items] / 0.1)
        offsets, level = np.zeros(n_items), 0.0
        if ends is not None:
            half = (ends[1] - ends[0]) / 2
            # The mean of an item's ratings has noise/weight of noise in it; a quarter of the half-range is how far
            # items usually lie apart. Both are known without the records.
            safe = np.maximum(weights, 4 * noise)
            trust = 0.25**2 / (0.25**2 + (noise / safe) ** 2)
            offsets = half * trust * np.clip(noisy[n_items : 2 * n_items] / safe, -1, 1)
            level = (ends[0] + ends[1]) / 2 + half * float(np.clip(noisy[2 * n_items + 1] / 0.1 / users, -1, 1))
        low, high = ends if ends is not None else (None, None)
        return cls(weights, offsets, users, level, low, high)

    def head(self, size: int) -> NDArray[np.int32]:
        """Codes of the items of largest weight, in the order of the catalog."""
        return np.sort(np.argsort(-self.weights, kind="stable")[:size]).astype(np.int32)


def _first_sums(data: Interactions) -> BoundedSums:
    """Weights of raters, relative ratings, users and levels: one vector, four parts, one bound.

    With n items of a user and w = ⌊2^b/√n⌋ the parts contribute at most 9/100, 1/4, 1/100 and 1/100 of 4^b to the
    squared length (docs/proofs/gram.md, Theorem 3).
    """
    counts = data.records_per_user
    weight = np.array([math.isqrt(4**BITS // n) for n in range(1, int(counts.max(initial=1)) + 1)])[counts - 1]
    weights = np.bincount(data.item, weights=(3 * weight // 10)[data.user], minlength=data.n_items)
    relative, levels = np.zeros(data.n_items), 0
    if data.rating is not None and data.scale is not None:
        steps, level = _relative_ratings(data, weight)
        relative = np.bincount(data.item, weights=steps, minlength=data.n_items)
        levels = int(level.sum())
    elif data.rating is not None:
        raise UsageError("ratings need a public scale.", remedy='Declare it: Interactions(…, scale="1:5").')
    people = data.n_users * (2**BITS // 10)
    values = np.concatenate([weights, relative, [people, levels]]).astype(np.int64)
    squared = Fraction(36, 100) * 4**BITS
    return BoundedSums(
        values=values,
        step=Fraction(1, 2**BITS),
        l1=Fraction(math.isqrt(math.floor(squared * values.size)) + 1),
        l2_squared=squared,
        linf=Fraction(2**BITS),
        nonnegative=False,
        unit=Unit("user"),
        caps=(),
    )


def _relative_ratings(data: Interactions, weight: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each rating minus its rater's mean, in half-ranges, weighed; and each rater's mean on the scale.

    A rater's vector is held to length 1/2. Floating point may leave it a hair longer, so the length is checked in whole
    steps, and what is over is shrunk by a step in a thousand until it is not.
    """
    assert data.rating is not None
    assert data.scale is not None
    half = float(data.scale.width) / 2
    middle = float(data.scale.low) + half
    values = (data.rating.astype(np.float64) - middle) / half
    means = np.add.reduceat(values, data.user_starts[:-1]) / data.records_per_user
    apart = values - means[data.user]
    spread = np.sqrt(np.add.reduceat(apart**2, data.user_starts[:-1]) / data.records_per_user)
    factor = np.minimum(1.0, 0.5 / np.maximum(spread, 1e-12))
    steps = np.trunc(apart * factor[data.user] * weight[data.user]).astype(np.int64)
    limit = 4**BITS // 4
    while (over := np.add.reduceat(steps**2, data.user_starts[:-1]) > limit).any():
        steps = np.where(over[data.user], np.trunc(steps * (1 - 2.0**-10)).astype(np.int64), steps)
    level = np.trunc(np.clip(means, -1, 1) * (2**BITS // 10)).astype(np.int64)
    return steps, level


def _gram(data: Interactions, first: _First, head: NDArray[np.int32]) -> BoundedGram:
    """How the head's items go together: products of relative ratings, and co-occurrence, each user's at weight 1/n."""
    from discreet.neighbors.gram_kernels import gram_sums

    place = np.full(data.n_items, -1, dtype=np.int32)
    place[head] = np.arange(head.size, dtype=np.int32)
    values = np.full(len(data), 2**VALUE_BITS, dtype=np.int64)
    if data.rating is not None:
        assert first.low is not None
        assert first.high is not None
        own = data.rating.astype(np.float64) - first.offsets[data.item]
        levels = np.add.reduceat(own, data.user_starts[:-1]) / data.records_per_user
        apart = (own - levels[data.user]) / ((first.high - first.low) / 2)
        values = np.trunc(np.clip(apart, -1, 1) * 2**VALUE_BITS).astype(np.int64)
    kept = np.flatnonzero(place[data.item] >= 0)
    item, user, values = place[data.item[kept]], data.user[kept], values[kept]
    starts = np.searchsorted(user, np.arange(data.n_users + 1))
    order, item_starts = group_order(item, head.size)
    products, counts = gram_sums(item_starts, user[order], order.astype(np.int64), starts, item, values, 4**VALUE_BITS)
    matrices = (products, counts) if data.rating is not None else (counts,)
    return BoundedGram(
        matrices=matrices,
        step=Fraction(1, 4**VALUE_BITS),
        frobenius_squared=Fraction(len(matrices) * 16**VALUE_BITS),
        unit=Unit("user"),
        caps=(),
    )


def _shrunk(matrix: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """The matrix with its eigenvalues shrunk by what noise of this size adds, those inside the noise to zero."""
    edge = noise * math.sqrt(matrix.shape[0])
    values, vectors = np.linalg.eigh(matrix)
    kept = np.where(values > 2 * edge, np.sqrt(np.maximum(values**2 - 4 * edge**2, 0)), 0)
    return (vectors * kept) @ vectors.T


def _cosine(gram: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    lengths = np.sqrt(np.maximum(gram.diagonal(), floor + 1e-12))
    cosine = gram / np.outer(lengths, lengths)
    np.fill_diagonal(cosine, 0)
    return cosine


def _nearest(likeness: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Each row with its k largest entries, if positive, and zeros."""
    if k < likeness.shape[1]:
        least = np.partition(likeness, likeness.shape[1] - k, axis=1)[:, likeness.shape[1] - k, None]
        likeness = np.where(likeness >= least, likeness, 0)
    return np.maximum(likeness, 0)
