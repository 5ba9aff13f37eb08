"""Item–item edges: who touched this also touched that."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl

from discreet.common.arrays import Floats, Integers
from discreet.counting.cells import Cells
from discreet.counting.counts import LIST_LENGTH, check_k, normalize, store
from discreet.counting.item_counts import noisy_popularity, popularity_sums
from discreet.counting.profiles import Expectation, Profile
from discreet.data.ids import group_order
from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.bounding import distinct_items
from discreet.privacy.budget import Budget
from discreet.privacy.gram import BoundedGram
from discreet.privacy.method import Method, Plan, Round, Rounds
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.privacy.weighing import GRID_BITS

__all__ = ["ItemPairs", "bought_together", "head_of", "pair_sums", "pair_weights"]

MOST_HEAD = 8192
"""Larger heads would need more than half a gigabyte for each matrix."""


@dataclass(frozen=True)
class ItemPairs(Method):
    """How many users touched two items both, for all pairs of a head of the catalog, with noise.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        A user with n ≤ cap items counts in full; public. The pairs of a user with n > cap items weigh (cap/n)² each,
        with ``delta`` cap/n.
    head
        How many items have pairs: the most popular ones, by a popularity that is released first; or the ids of these
        items, where it is public which ones they are: then no popularity is released.
    first, first_share
        What one user weighs in the popularity, and its share of the budget.
    delta
        0 for a pure guarantee. Above 0, lengths are bounded in L2 and the noise is normal: far better where users have
        many items.

    Privacy
    -------
    Unit: one user, present or absent. A user with n items of the head contributes a symmetric n × n matrix of one
    weight w_n, the diagonal included. Its entries add up to n²·w_n ≤ cap² (with ``delta`` their squares do), and
    symmetric noise spends ε or μ² (``docs/proofs/counting.md``, Theorem 12). Shares of the popularity and of the pairs
    add up. Not covered: the catalog, and a head that was declared public.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=400, items=60, seed=7)
    >>> release = ItemPairs(epsilon=4, delta="1e-6", cap=5, head=20).release(films)
    >>> release.array("pairs").shape
    (20, 20)
    >>> item = release.table("items")["item_id"][0]
    >>> from discreet.counting import bought_together
    >>> bought_together(release, item, 3).columns
    ['item_id', 'title', 'count', 'share', 'rank']
    """

    name: ClassVar[str] = "item-pairs"
    kind: ClassVar[str] = "item-pairs"
    listed: ClassVar[str] = "counts of pairs"
    adds: ClassVar[Mapping[str, tuple[str, ...]]] = {"pairs": ("noise_sd",)}

    epsilon: Rational
    cap: int
    head: int | Sequence[Any]
    first: int = 1
    first_share: Rational = "1/5"
    delta: Rational = 0

    def __post_init__(self) -> None:
        normalize(self)
        if isinstance(self.head, bool) or self.size < 2:
            raise UsageError(f"head must be at least 2 items, got {self.head!r}.")
        if not isinstance(self.head, int):
            store(self, head=tuple(self.head))

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings, which are public; the ids of a public head are in the table of items."""
        public = not isinstance(self.head, int)
        shown = {name: value for name, value in super().parameters.items() if not (public and name.startswith("first"))}
        return {**shown, "head": self.size, "head_is_public": public}

    @property
    def size(self) -> int:
        """How many items the head has."""
        return self.head if isinstance(self.head, int) else len(self.head)

    @property
    def _pairs_budget(self) -> Budget:
        return self._budget.rest(self.first_share) if isinstance(self.head, int) else self._budget

    def _bounds(self) -> BoundedGram:
        """The bounds with a small matrix: what one user changes does not depend on what is in it."""
        weights = pair_weights(self.size, self.cap, norm=self._budget.norm)
        return _bounded(np.zeros((2, 2), dtype=np.int64), weights, self.cap, norm=self._budget.norm)

    def _public(self, data: Interactions) -> Cells:
        return Cells.of(distinct_items(super()._public(data)))

    def _plan(self, public: Cells) -> Plan:
        n_items, bounds = public.n_items, self._bounds()
        if self.size > min(MOST_HEAD, n_items):
            raise UsageError(f"head must be between 2 and {min(MOST_HEAD, n_items):,} items, got {self.size:,}.")
        self._pairs_budget.for_sums().check(bounds)
        if isinstance(self.head, int):
            self._budget.part(self.first_share).noise_on(popularity_sums(public, self.first, self._budget.norm))
        elif np.unique(self._declared(public)).size != self.size:
            raise UsageError("the head names an item twice.")
        return Plan(
            loss=self._budget.loss,
            basis="weighted pairs with symmetric noise, docs/proofs/counting.md, Theorem 12",
            subject=f"noisy counts of users for all pairs of {self.size:,} out of {n_items:,} items",
            caps=bounds.caps,
            not_covered=public.not_covered,
            expected={"noise_sd": self._pairs_budget.for_sums().standard_deviation(bounds)},
            public=public,
        )

    def _declared(self, public: Cells) -> Integers:
        """Codes of a public head."""
        assert public.data is not None
        assert not isinstance(self.head, int)
        return public.data.items.encode(list(self.head)).astype(np.int64)

    def _prepare(self, data: Interactions, plan: Plan) -> Cells:
        """Each user's items, once each."""
        return Cells.of(distinct_items(data))

    def _rounds(self, plan: Plan) -> Rounds:
        parts: dict[str, Any] = {}
        if isinstance(self.head, int):
            first = self._budget.part(self.first_share)
            parts["popularity"] = yield from noisy_popularity(plan.public, self.first, first)
            head = head_of(parts["popularity"], self.head)
        else:
            head = np.sort(self._declared(plan.public))
        matrices = yield Round(
            lambda records: pair_sums(records.of_items(head), self.cap, norm=self._budget.norm),
            self._pairs_budget.for_sums(),
            noise=("noise_sd",),
        )
        return {**parts, "pairs": matrices[0], "items": plan.public.table(head)}

    def estimate(self, data: Interactions, *, profile: Profile | None = None, k: int = LIST_LENGTH) -> dict[str, Any]:
        """What to expect, from public values alone: no record is read, nothing is spent.

        Parameters
        ----------
        profile
            The popularity that is assumed for ``expected_mse``, the mean squared error of a pair's count, and for
            ``expected_precision``, the share of what goes most often with the most popular item that is expected to be
            found: for users to whom having one item says nothing about the next.
        k
            How long that list is.
        """
        plan, assumed, pure = self.plan(data), profile or Profile(), self._budget.is_pure
        noise = plan.expected["noise_sd"]
        # Items go together by chance alone, and the head is the most popular items.
        touched = assumed.of_one_user(data.n_items)[: self.size]
        kept = min(1.0, (self.cap / max(float(touched.sum()), 1e-12)) ** (2 if pure else 1))
        # The mean of (users·tᵢ·tⱼ)² over all pairs of different items.
        square = (touched**2).sum() ** 2 - (touched**4).sum()
        lost = (1 - kept) ** 2 * assumed.users**2 * float(square) / (self.size * (self.size - 1))
        beside = Expectation(kept * assumed.users * touched[0] * touched[1:])
        return {
            **self._estimate(plan),
            "scale": noise / math.sqrt(2) if pure else noise,
            "expected_mse": lost + noise**2,
            "expected_precision": beside.precision(k, "laplace" if pure else "gaussian", noise),
            "k": k,
            "assumed": str(assumed),
        }


def pair_sums(cells: Cells, cap: int, *, norm: int, bits: int = GRID_BITS) -> BoundedGram:
    """Weighted numbers of users of each pair of items, and of each item on the diagonal.

    Parameters
    ----------
    cells
        One record for each user and item; the catalog is the head.
    cap
        Users with n items weigh min(1, (cap/n)²) in each pair; min(1, cap/n) for norm 2.
    """
    from discreet.models.gram_kernels import gram_sums

    weights = pair_weights(cells.n_items, cap, norm=norm, bits=bits)
    order, item_starts = group_order(cells.item, cells.n_items)
    _, together = gram_sums(
        item_starts,
        cells.user[order],
        order.astype(np.int64),
        cells.starts,
        cells.item,
        np.ones(cells.item.size, dtype=np.int64),
        np.array([0, *weights], dtype=np.int64)[cells.records_per_user],
        1,
    )
    return _bounded(together, weights, cap, norm=norm, bits=bits)


def pair_weights(size: int, cap: int, *, norm: int, bits: int = GRID_BITS) -> list[int]:
    """W_1, W_2, … for users with 1, 2, … up to ``size`` items, in whole steps, rounded down."""
    return [min(2**bits, cap * 2**bits // n if norm == 2 else cap**2 * 2**bits // n**2) for n in range(1, size + 1)]


def _bounded(matrix: Integers, weights: list[int], cap: int, *, norm: int, bits: int = GRID_BITS) -> BoundedGram:
    how = "cap/n" if norm == 2 else "(cap/n)²"
    return BoundedGram.weighted(
        (matrix,),
        weights,
        largest=1,
        step=Fraction(1, 2**bits),
        unit=Unit("user"),
        caps=(f"pairs of users with n > cap = {cap} items weigh {how} each",),
    )


def head_of(popularity: Floats, size: int) -> Integers:
    """Codes of the ``size`` most popular items in the order of the catalog; ties go to the earlier item."""
    return np.sort(np.argsort(-popularity, kind="stable")[:size])


def bought_together(release: Release, item: Any, k: int = 10) -> pl.DataFrame:
    """What users who touched an item also touched, most of them first. Post-processing: it costs nothing.

    ``count`` is the released weighted number of users of both; ``share`` is its ratio to that of the item itself, from
    0 to 1. An item that noise alone could have put there has no share.
    """
    if release.kind != "item-pairs":
        raise ReleaseError(f"a release of kind {release.kind!r} has no pairs of items.")
    items = release.table("items")
    check_k(k, None)
    listed = items["item_id"].to_list()
    if item not in listed:
        raise UsageError(f"{item!r} is not in the head of this release.", remedy="Its table 'items' lists the head.")
    row = listed.index(item)
    pairs, noise = release.array("pairs"), float(release.parameters["noise_sd"])
    own = pairs[row, row]
    # The diagonal has √2 times the noise of the rest.
    known = own > 2 * math.sqrt(2) * noise
    share = np.clip(pairs[row] / own, 0, 1) if known else np.full(pairs.shape[0], np.nan)
    table = items.with_columns(count=pairs[row], share=pl.Series(share).fill_nan(None))
    best = table.filter(pl.int_range(pl.len()) != row).sort("count", descending=True, maintain_order=True).head(k)
    return best.with_columns(rank=pl.int_range(1, best.height + 1))
