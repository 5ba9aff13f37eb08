"""A private set of k items from a row of scores, for many rows at once, and what it costs.

Scores lie in a public range, and every formula of a loss is in units of that range. The **slope** is the factor of a
score in the exponent: the best possible item is e^slope times as likely as the worst.

References
----------
F. McSherry, K. Talwar: Mechanism design via differential privacy. FOCS 2007.
D. Durfee, R. Rogers: Practical differentially private top-k selection with pay-what-you-get composition. NeurIPS 2019.
R. McKenna, D. Sheldon: Permute-and-flip: a new mechanism for differentially private selection. NeurIPS 2020.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from discreet.common.arrays import Floats, Integers
from discreet.errors import UsageError
from discreet.privacy.budget import Budget
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Concentrated, Loss, Pure
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.selection import noisy_order
from discreet.privacy.subset_selection import draw_subsets
from discreet.privacy.units import Unit

__all__ = [
    "SAMPLERS",
    "GumbelTopK",
    "KSubset",
    "PermuteAndFlipTopK",
    "RowChange",
    "RowSampler",
    "Sampler",
    "concentrated_loss",
    "pure_loss",
    "sampler_class",
    "slope_for",
]

Sampler = Literal["subset", "gumbel", "permute-and-flip"]
"""One draw of a whole set; k exponential mechanisms in one shot; k rounds of permute-and-flip."""

SAMPLERS: tuple[Sampler, ...] = get_args(Sampler)

BITS = 20
"""Scores are rounded to 2^−BITS of their range."""

# What it costs, by how neighboring score rows differ and by how the set is drawn


@dataclass(frozen=True)
class RowChange:
    """How the score rows of neighboring datasets differ.

    Parameters
    ----------
    entries
        The largest number of scores that differ, each by up to the whole range; None for all of them.
    one_way
        Whether all scores that differ rise, or all fall.

    Examples
    --------
    >>> RowChange.of("entry").apart(10, 1000), RowChange.of("row").apart(10, 1000)
    (1, 20)
    """

    entries: int | None = None
    one_way: bool = False

    def __post_init__(self) -> None:
        if self.entries is not None and (isinstance(self.entries, bool) or self.entries < 1):
            raise UsageError(f"entries must be a whole number, at least 1, or None, got {self.entries!r}.")

    @classmethod
    def of(cls, given: RowChange | str | int) -> RowChange:
        """Read a change: "entry", "row", "row, one way", or a number of entries."""
        named = {"entry": cls(1), "row": cls(), "row, one way": cls(one_way=True)}
        if isinstance(given, RowChange):
            return given
        if isinstance(given, str) and given in named:
            return named[given]
        if isinstance(given, int):
            return cls(given)
        raise UsageError(
            f"{given!r} is no change of a row.", remedy=f"Choose from {', '.join(map(repr, named))}, or a number."
        )

    def __str__(self) -> str:
        which = {None: "all scores", 1: "one score"}.get(self.entries, f"{self.entries} scores")
        return which + (", one way" if self.one_way else "")

    def apart(self, k: int, size: int) -> int:
        """The largest change of the difference of the totals of two sets of k of ``size`` items, in ranges."""
        both = exchangeable(k, size) * (1 if self.one_way else 2)
        return min(both, size if self.entries is None else self.entries)


def exchangeable(k: int, size: int) -> int:
    """κ: the largest number of items that one set of k has and another has not; 1 where there is only one set."""
    if not 1 <= k <= size:
        raise UsageError(f"k must be between 1 and the number of items ({size:,}), got {k}.")
    return max(1, min(k, size - k))


def pure_loss(slope: Fraction, *, k: int, size: int, change: RowChange, sampler: Sampler = "subset") -> Pure:
    """ε of a set of k of ``size`` items, drawn with this slope."""
    if sampler == "subset":
        return Pure(slope * change.apart(k, size))
    return Pure(k * slope * change.apart(1, size))


def concentrated_loss(
    slope: Fraction, *, k: int, size: int, change: RowChange, sampler: Sampler = "subset"
) -> Concentrated:
    """ρ (zCDP) of the same set.

    Subset: the smallest of ε²/8, κ·(slope·w)²/8 and min(κ, t)·slope²/2, where w is the largest change of the difference
    of two single scores and t the number of scores that differ. Gumbel: k·(slope·w)²/8. Permute-and-flip, which has no
    bounded range: k·(slope·w)²/2.
    Proofs: ``docs/proofs/selection.md``, Theorems 2 to 4, 9 and 10.
    """
    single = (slope * change.apart(1, size)) ** 2
    if sampler == "gumbel":
        return Concentrated(k * single / 8)
    if sampler == "permute-and-flip":
        return Concentrated(k * single / 2)
    most = exchangeable(k, size)
    moved = min(most, size if change.entries is None else change.entries)
    return Concentrated(min((slope * change.apart(k, size)) ** 2 / 8, most * single / 8, moved * slope**2 / 2))


def slope_for(loss: Loss, *, k: int, size: int, change: RowChange, sampler: Sampler = "subset") -> Fraction:
    """The slope that spends a loss: exact for ε, rounded down for ρ.

    Examples
    --------
    >>> slope_for(Pure(Fraction(1)), k=10, size=1000, change=RowChange.of("entry"))
    Fraction(1, 1)
    >>> slope_for(Pure(Fraction(1)), k=10, size=1000, change=RowChange.of("entry"), sampler="gumbel")
    Fraction(1, 10)
    """
    if isinstance(loss, Pure):
        return loss.epsilon / pure_loss(Fraction(1), k=k, size=size, change=change, sampler=sampler).epsilon
    assert isinstance(loss, Concentrated)
    squared = loss.rho / concentrated_loss(Fraction(1), k=k, size=size, change=change, sampler=sampler).rho
    return Fraction(math.isqrt(math.floor(squared * 4**64)), 2**64)


# The samplers


@dataclass(frozen=True, kw_only=True)
class RowSampler(ABC):
    """Base of the three mechanisms that draw k items.

    Parameters
    ----------
    k
        Number of items; public.
    low, high
        The public range of scores. Scores outside are clipped to it; NaN counts as the lower end.
    epsilon, rho
        The budget of one row: one of the two.
    change
        How neighboring rows differ: "entry", "row", "row, one way" or a number of entries.
    """

    k: int
    low: Rational
    high: Rational
    epsilon: Rational | None = None
    rho: Rational | None = None
    change: RowChange | str | int = "row"

    sampler: ClassVar[Sampler]
    theorem: ClassVar[str]

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or self.k < 1:
            raise UsageError(f"k must be a whole number from 1, got {self.k!r}.")
        if not as_fraction(self.low, "low") < as_fraction(self.high, "high"):
            raise UsageError(f"low must be below high, got {self.low} and {self.high}.")
        self.slope(2 * self.k)  # checks the budget and the change

    # Privacy loss

    @property
    def _spent(self) -> Loss:
        """The budget of one row."""
        if self.epsilon is not None and self.rho is None:
            return Budget(self.epsilon).loss
        if self.rho is None or self.epsilon is not None:
            raise UsageError("give either epsilon or rho.")
        return Concentrated(as_positive(self.rho, "rho"))

    def _how(self, size: int) -> dict[str, Any]:
        return {"k": self.k, "size": size, "change": self._change, "sampler": self.sampler}

    def slope(self, size: int) -> Fraction:
        """The best possible item is e^slope times as likely as the worst, for rows of this length."""
        return slope_for(self._spent, **self._how(size))

    def loss(self, size: int) -> Pure | Concentrated:
        """The privacy loss of one row, in the terms of the budget."""
        return (pure_loss if self.rho is None else concentrated_loss)(self.slope(size), **self._how(size))

    def guarantee(self, size: int) -> Guarantee:
        """The guarantee about the row that the items are drawn from."""
        entries = self._change.entries
        return Guarantee(
            loss=self.loss(size),
            unit=Unit("user", "replace") if entries is None else Unit("score", "value", entries),
            standing=Standing.PROVED,
            basis=self.theorem,
            subject=f"{self.k} of {size:,} items drawn from one person's scores",
            caps=(f"scores were clipped to the range from {self.low} to {self.high}", *self._premise()),
            not_covered=("further draws, each of which costs as much again",),
        )

    def _premise(self) -> tuple[str, ...]:
        change = self._change
        if change.entries is None:
            return ("neighboring rows were taken to differ one way",) if change.one_way else ()
        return (f"neighboring rows were taken to differ in at most {change}",)

    # Drawing

    def choose(self, scores: ArrayLike) -> Integers:
        """Positions of the chosen items: k for a row of scores, users × k for several rows. Charge the ledger first."""
        rows = np.asarray(scores, dtype=np.float64)
        if rows.ndim not in (1, 2) or rows.shape[-1] < self.k:
            raise UsageError(
                f"scores need 1 or 2 dimensions and at least k = {self.k} items, got the shape {rows.shape}."
            )
        whole = self.on_grid(np.atleast_2d(rows))
        chosen = self._draw(whole, self.slope(rows.shape[-1]) / 2**BITS)
        return chosen.reshape(*rows.shape[:-1], self.k)

    def on_grid(self, rows: Floats) -> Integers:
        """Scores as whole numbers from 0 to 2^BITS."""
        low, high = float(as_fraction(self.low)), float(as_fraction(self.high))
        share = (np.clip(np.where(np.isnan(rows), low, rows), low, high) - low) / (high - low)
        return np.clip(np.rint(share * 2**BITS), 0, 2**BITS).astype(np.int64)

    @abstractmethod
    def _draw(self, rows: Integers, rate: Fraction) -> Integers:
        """Users × k positions for users × items whole scores."""

    @property
    def _change(self) -> RowChange:
        return RowChange.of(self.change)


@dataclass(frozen=True, kw_only=True)
class KSubset(RowSampler):
    """A set of k items, every set of the list possible: P(S) ∝ exp(η·Σ scores).

    Privacy
    -------
    With Δ for the range of scores, a budget of ε gives η = ε/Δ where one score changes, ε/(min(t, 2k)·Δ) where t do,
    ε/(2kΔ) where the whole row does and ε/(kΔ) where all of it moves one way; a zCDP budget gives √(2ρ/k)/Δ for whole
    rows (``docs/proofs/selection.md``, Theorems 8 to 11). The distribution is exact: nothing is added to ε or δ for
    rounding. Not covered: *drawing again*. Keep what was drawn.

    Notes
    -----
    Positions are in the order of the list; an order by score would reveal more than the set. Protecting whole rows is
    expensive: for ε = 1 and k = 10 the best possible item is e^(1/20) times as likely as the worst. A short public list
    of items, a small k, or a guarantee about one score only give better lists.

    Examples
    --------
    >>> sampler = KSubset(k=2, low=1, high=5, epsilon=80, change="entry")
    >>> sampler.choose([[4.9, 1.2, 5.0, 1.0], [1.0, 4.8, 1.1, 5.0]])
    array([[0, 2],
           [1, 3]])
    >>> print(KSubset(k=10, low=1, high=5, epsilon=1).slope(1000))
    1/20
    """

    sampler: ClassVar[Sampler] = "subset"
    theorem: ClassVar[str] = "k-subset exponential mechanism, docs/proofs/selection.md, Theorems 9 to 11"

    def _draw(self, rows: Integers, rate: Fraction) -> Integers:
        return draw_subsets(rows, rate, self.k)


@dataclass(frozen=True, kw_only=True)
class GumbelTopK(RowSampler):
    """k items in order, by one draw of Gumbel noise: k exponential mechanisms, each on the remaining items.

    Privacy
    -------
    η = ε/(kΔ) where one score changes, ε/(2kΔ) for whole rows, √(2ρ/k)/Δ for whole rows and zCDP: as good as
    :class:`KSubset` for whole rows, and it gives an order; k times worse where one score changes.
    ``docs/proofs/selection.md``, Theorem 3.

    Examples
    --------
    >>> GumbelTopK(k=2, low=0, high=1, epsilon=800, change="entry").choose([0.1, 0.5, 0.0, 1.0])
    array([3, 1])
    """

    sampler: ClassVar[Sampler] = "gumbel"
    theorem: ClassVar[str] = "one-shot top-k, docs/proofs/selection.md, Theorem 3"

    def _draw(self, rows: Integers, rate: Fraction) -> Integers:
        return np.stack([noisy_order(row, rate, noise="gumbel", most=self.k) for row in rows])


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlipTopK(RowSampler):
    """k items in order, by k rounds of permute-and-flip, each on the remaining items.

    Privacy
    -------
    The pure budgets of :class:`GumbelTopK`; under zCDP half of its η. ``docs/proofs/selection.md``, Theorem 4.

    Examples
    --------
    >>> PermuteAndFlipTopK(k=2, low=0, high=1, epsilon=800, change="entry").choose([0.1, 0.5, 0.0, 1.0])
    array([3, 1])
    """

    sampler: ClassVar[Sampler] = "permute-and-flip"
    theorem: ClassVar[str] = "k rounds of permute-and-flip, docs/proofs/selection.md, Theorem 4"

    def _draw(self, rows: Integers, rate: Fraction) -> Integers:
        return np.stack([self._rounds(row, rate) for row in rows])

    def _rounds(self, row: Integers, rate: Fraction) -> Integers:
        left, chosen = np.arange(row.size), []
        for _ in range(self.k):
            winner = int(noisy_order(row[left], rate, noise="exponential", most=1)[0])
            chosen.append(int(left[winner]))
            left = np.delete(left, winner)
        return np.array(chosen, dtype=np.int64)


def sampler_class(name: str) -> type[RowSampler]:
    """The class of a sampler by its name."""
    for kind in (KSubset, GumbelTopK, PermuteAndFlipTopK):
        if kind.sampler == name:
            return kind
    raise UsageError(f"there is no sampler {name!r}.", remedy="Choose subset, gumbel or permute-and-flip.")
