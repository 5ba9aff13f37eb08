"""Popular items and the others, each with its own cap and its own noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import Counted, CountMethod, Plan
from discreet.counting.levels import (
    as_share,
    clipped,
    fused,
    fused_noise,
    level_mechanisms,
    loss_of,
    part_of,
    weighed,
    without_records,
)
from discreet.counting.outlooks import parted_outlook
from discreet.counting.popularity import head_of, popularity_sums, released_popularity
from discreet.counting.profiles import Outlook, Profile
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums, check_cap
from discreet.privacy.losses import Loss
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, as_positive, as_probability

__all__ = ["HeadTailCounts", "least_variance_share"]

Part = Literal["head", "tail"]


def least_variance_share(caps: tuple[int, int], sizes: tuple[int, int], *, squared: bool = False) -> Fraction:
    """The share of a budget for the first of two parts that makes the variance of all their counts least.

    With L1 caps l and m counts, scales b cost Σ l/b = ε and have variance Σ 2m·b²: least where l/b is in proportion to
    l^⅔·m^⅓. With squared lengths C², variances σ² cost Σ C²/(2σ²) = ρ: least where C²/σ² is in proportion to C·√m.

    Parameters
    ----------
    caps
        What one user may weigh in each part; squared lengths where ``squared``.
    sizes
        How many counts each part has.

    Examples
    --------
    >>> share = least_variance_share((5, 25), (200, 15000))
    >>> [round(float(cap / (Fraction("0.45") * part)), 2) for cap, part in ((5, share), (25, 1 - share))]
    [148.12, 60.06]
    """
    first, second = (
        (cap * size) ** 0.5 if squared else cap ** (2 / 3) * size ** (1 / 3)
        for cap, size in zip(caps, sizes, strict=True)
    )
    # Any rational share is as private as any other; a billionth next to the best one is good enough.
    return min(
        max(Fraction(round(10**9 * first / (first + second)), 10**9), Fraction(1, 10**9)), 1 - Fraction(1, 10**9)
    )


@dataclass(frozen=True)
class HeadTailCounts(CountMethod):
    """Counts of the most popular items and of the others, with caps and noise of their own.

    A part of the budget buys a first look at popularity; the ``head`` most popular items by it are the head. A user's
    records there weigh at most ``head_cap`` in all, the others at most ``tail_cap``.

    Parameters
    ----------
    epsilon
        The budget.
    head
        How many items the head has; public.
    head_cap, tail_cap
        The most that one user weighs in each part; public. With ``delta``, the largest squared lengths.
    head_share
        Share of the counts' budget for the head; None for the one that makes the sum of all variances least. Take more
        where only the head matters.
    first, first_share
        What one user weighs in the first look, and its share of the budget.
    item_share
        Share of a part's budget for the counts of items where there are contexts; the rest goes to the edges.
    delta
        Where given, lengths are bounded in L2 and the noise is Gaussian.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. The popularity is released with first_share·ε (or as much of ρ).
    Given it, head and tail are two lists of counts with bounds of their own, which spend the rest between them
    (``docs/proofs/counting.md``, Theorem 9). Not covered: the catalog, which is public.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=40, seed=3)
    >>> release = HeadTailCounts.of(epsilon=2, head=10, head_cap=4, tail_cap=6).release(films)
    >>> release.array("head").size, release.table("counts").height
    (10, 40)
    """

    name: ClassVar[str] = "head-tail"

    epsilon: Fraction
    head: int
    head_cap: int
    tail_cap: int
    head_share: Fraction | None = None
    first: int = 1
    first_share: Fraction = Fraction(1, 10)
    item_share: Fraction = Fraction(1, 2)
    delta: Fraction | None = None

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        head: int,
        head_cap: int,
        tail_cap: int,
        head_share: Rational | None = None,
        first: int = 1,
        first_share: Rational = "1/10",
        item_share: Rational = "1/2",
        delta: Rational | None = None,
    ) -> HeadTailCounts:
        return cls(
            as_positive(epsilon, "epsilon"),
            head,
            head_cap,
            tail_cap,
            None if head_share is None else as_share(head_share, "head_share"),
            first,
            as_share(first_share, "first_share"),
            as_share(item_share, "item_share"),
            None if delta is None else as_probability(delta),
        )

    @property
    def loss(self) -> Loss:
        """All that is spent: ε, or the largest ρ that keeps (ε, δ)."""
        return loss_of(self.epsilon, self.delta)

    def _first_mechanism(self) -> AdditiveMechanism:
        return part_of(self.loss, self.first_share)

    def _mechanisms(self, cells: Cells, part: Part) -> dict[Level, AdditiveMechanism]:
        share = self.head_share
        if share is None:
            sizes = self.head, cells.n_items - self.head
            share = least_variance_share((self.head_cap, self.tail_cap), sizes, squared=self.delta is not None)
        share = share if part == "head" else 1 - share
        return level_mechanisms(cells, part_of(self.loss, (1 - self.first_share) * share).loss, self.item_share)

    def _sums(self, cells: Cells, level: Level, part: Part) -> BoundedSums:
        cap = self.head_cap if part == "head" else self.tail_cap
        return weighed(cells, level, cap) if self.delta is None else clipped(cells, level, Fraction(cap))

    def _plan(self, cells: Cells) -> Plan:
        for cap in (self.head_cap, self.tail_cap, self.first):
            check_cap(cap)
        if isinstance(self.head, bool) or not isinstance(self.head, int) or not 1 <= self.head < cells.n_items:
            raise UsageError(
                f"head = {self.head!r} of {cells.n_items:,} items must be a whole number that leaves a tail.",
            )
        empty = without_records(cells)
        look = popularity_sums(empty, self.first, self.loss)
        self._first_mechanism().check(look)
        expected = {"popularity_noise_sd": self._first_mechanism().standard_deviation(look)}
        expected |= {f"head_{name}": value for name, value in self._noise(cells, "head").items()}
        expected |= self._noise(cells, "tail")
        caps = (
            *look.caps,
            f"of the {self.head} most popular items: {self._sums(empty, 'items', 'head').caps[0]}",
            f"of the others: {self._sums(empty, 'items', 'tail').caps[0]}",
        )
        return Plan(
            loss=self.loss,
            basis="popularity, then counts of a head and of a tail, docs/proofs/counting.md, Theorem 9",
            caps=caps,
            expected=expected,
        )

    def _count(self, cells: Cells) -> Counted:
        popularity = released_popularity(cells, self.first, self.loss, self._first_mechanism())
        head = head_of(popularity, self.head)
        tail = np.setdiff1d(np.arange(cells.n_items), head)
        items = np.empty(cells.n_items)
        edges = np.empty((cells.n_items, cells.n_places)) if cells.contexts else None
        parts: tuple[tuple[Part, NDArray[np.int64]], ...] = (("head", head), ("tail", tail))
        for part, codes in parts:
            there = of_items(cells, codes)
            counted = fused(
                there,
                self._mechanisms(cells, part),
                lambda level, there=there, part=part: self._sums(there, level, part),
            )
            items[codes] = counted.items
            if edges is not None:
                edges[codes] = counted.edges
        return Counted(items, edges, {"popularity": popularity, "head": head})

    def _noise(self, cells: Cells, part: Part) -> dict[str, float]:
        empty = without_records(cells)
        return fused_noise(cells, self._mechanisms(cells, part), lambda level: self._sums(empty, level, part))

    def _outlook(self, cells: Cells, level: Level, profile: Profile) -> Outlook:
        name = "noise_sd" if level == "items" else "edge_noise_sd"
        noise = self._noise(cells, "head")[name], self._noise(cells, "tail")[name]
        law = "laplace" if self.delta is None else "gaussian"
        return parted_outlook(cells, level, profile, self.head, (self.head_cap, self.tail_cap), noise, law)


def of_items(cells: Cells, codes: NDArray[np.int64]) -> Cells:
    """The records of some items, given in the order of the catalog, as cells of a catalog of these alone."""
    place = np.full(cells.n_items, -1, dtype=np.int32)
    place[codes] = np.arange(codes.size, dtype=np.int32)
    item = place[cells.item]
    kept = item >= 0
    return Cells(
        cells.user[kept], item[kept], cells.place[kept], cells.n_users, codes.size, cells.contexts, cells.may_repeat
    )
