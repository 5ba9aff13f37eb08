"""The privacy loss of a private top-k set, by how neighboring score rows differ and by how the set is drawn.

Scores lie in a public range, and every formula here is in units of that range. The **slope** is the factor of a score
in the exponent: the best possible item is e^slope times as likely as the worst.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from discreet.errors import UsageError
from discreet.privacy.losses import Concentrated, Pure
from discreet.privacy.numbers import Rational, as_positive

__all__ = ["RowChange", "Sampler", "concentrated_loss", "pure_loss", "slope_for"]

Sampler = Literal["subset", "gumbel", "permute-and-flip"]
"""One draw of a whole set; k exponential mechanisms in one shot; k rounds of permute-and-flip."""

SAMPLERS: tuple[Sampler, ...] = get_args(Sampler)


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
    _check(sampler)
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
    _check(sampler)
    single = (slope * change.apart(1, size)) ** 2
    if sampler == "gumbel":
        return Concentrated(k * single / 8)
    if sampler == "permute-and-flip":
        return Concentrated(k * single / 2)
    most = exchangeable(k, size)
    moved = min(most, size if change.entries is None else change.entries)
    return Concentrated(min((slope * change.apart(k, size)) ** 2 / 8, most * single / 8, moved * slope**2 / 2))


def slope_for(
    *,
    k: int,
    size: int,
    change: RowChange,
    sampler: Sampler = "subset",
    epsilon: Rational | None = None,
    rho: Rational | None = None,
) -> Fraction:
    """The slope for a budget: exact for ε, rounded down for ρ.

    Examples
    --------
    >>> slope_for(k=10, size=1000, change=RowChange.of("entry"), epsilon=1)
    Fraction(1, 1)
    >>> slope_for(k=10, size=1000, change=RowChange.of("entry"), sampler="gumbel", epsilon=1)
    Fraction(1, 10)
    """
    if (epsilon is None) == (rho is None):
        raise UsageError("give either epsilon or rho.")
    if epsilon is not None:
        return (
            as_positive(epsilon, "epsilon")
            / pure_loss(Fraction(1), k=k, size=size, change=change, sampler=sampler).epsilon
        )
    of_one = concentrated_loss(Fraction(1), k=k, size=size, change=change, sampler=sampler).rho
    squared = as_positive(rho if rho is not None else 0, "rho") / of_one
    return Fraction(math.isqrt(math.floor(squared * 4**64)), 2**64)


def _check(sampler: str) -> None:
    if sampler not in SAMPLERS:
        raise UsageError(f"there is no sampler {sampler!r}.", remedy=f"Choose from: {', '.join(SAMPLERS)}.")
