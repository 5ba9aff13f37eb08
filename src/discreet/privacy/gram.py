"""Bounded Gram matrices: who goes with what, as symmetric sums over users.

Their bounds are norms over the *whole* matrix; ``mechanisms`` releases them as upper triangles, with the noise that
symmetry allows. ``docs/proofs/gram.md`` has the theorems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy.bounding import added, require_same_bounds
from discreet.privacy.units import Unit

__all__ = ["DIRECTION_BITS", "MOST_PROJECTED", "BoundedGram", "ProjectedGram", "on_grid"]

DIRECTION_BITS = 14
"""Directions that are taken out of matrices have whole steps of so many bits."""

MOST_PROJECTED = 8192
"""The most rows of a matrix that a direction is taken out of. Two of 8,192 × 8,192 numbers take 1 GB."""

FINE_BITS, LIMB_BITS, HALF_BITS = 22, 40, 31


@dataclass(frozen=True)
class BoundedGram:
    """One or more symmetric sums over users on an integer grid, with what one neighboring step can change.

    Parameters
    ----------
    matrices
        Square int64 matrices, all of one size, upper triangles in use.
    step
        What one grid step is worth.
    frobenius_squared
        A bound on the squared Frobenius norm of what one unit contributes, summed over the matrices, in grid steps.
    unit
        Whose contribution is bounded.
    caps
        The limits that were applied, as phrases for the guarantee.
    l1
        A bound on the sum of the absolute entries of what one unit contributes, over the whole of all matrices; None
        where only Gaussian noise is meant to be added.
    """

    matrices: tuple[NDArray[np.int64], ...]
    step: Fraction
    frobenius_squared: Fraction
    unit: Unit
    caps: tuple[str, ...]
    l1: Fraction | None = None

    def __post_init__(self) -> None:
        size = self.matrices[0].shape[0]
        if any(m.shape != (size, size) or m.dtype != np.int64 for m in self.matrices):
            raise UsageError("Gram matrices are square, of one size, and of whole grid steps (int64).")

    @classmethod
    def weighted(
        cls,
        matrices: tuple[NDArray[np.int64], ...],
        weights: Sequence[int],
        *,
        largest: int,
        step: Fraction,
        unit: Unit,
        caps: tuple[str, ...] = (),
    ) -> BoundedGram:
        """Sums of W_n·x xᵀ over users: n is the number of a user's items, and no entry of x xᵀ exceeds ``largest``.

        The bounds are worked out from the weights, exactly: for one user present or absent by Theorem 2 of
        ``docs/proofs/gram.md``, for one record present or absent by Theorem 4.

        Parameters
        ----------
        weights
            W_1, W_2, … in whole numbers from 0, up to the most items that a user can have: a public list.
        largest
            The largest absolute value of an entry before it is weighed.
        """
        if any(weight < 0 for weight in weights):
            raise UsageError("weights are whole numbers from 0.")
        if unit == Unit("user"):
            moved = [(n * n, weight, 0, 0) for n, weight in enumerate(weights, start=1)]
        elif unit == Unit("record"):
            before = (0, *weights)
            moved = [(n * n, abs(before[n] - w), 2 * n + 1, w) for n, w in enumerate(weights)]
        else:
            raise UsageError(f"weighed Gram matrices are not bounded for {unit}.", remedy="Take user or record.")
        # Of the matrix, so many entries change by the shift and so many are new.
        l1 = max((old * shift + new * entry for old, shift, new, entry in moved), default=0)
        squared = max((old * shift**2 + new * entry**2 for old, shift, new, entry in moved), default=0)
        many = len(matrices)
        return cls(matrices, step, Fraction(many * squared * largest**2), unit, caps, Fraction(many * l1 * largest))

    def __add__(self, other: BoundedGram) -> BoundedGram:
        """The sums of two disjoint groups of units together; their bounds must be equal."""
        require_same_bounds(self, other, ("step", "frobenius_squared", "unit", "caps", "l1"))
        together = zip(self.matrices, other.matrices, strict=True)
        return replace(self, matrices=tuple(added(first, second) for first, second in together))

    @property
    def arrays(self) -> tuple[NDArray[np.int64], ...]:
        """What adds up, as in ``BoundedSums``."""
        return self.matrices

    def with_arrays(self, arrays: tuple[NDArray[np.int64], ...]) -> BoundedGram:
        """The same bounds for other sums."""
        return replace(self, matrices=arrays)

    @property
    def l1_sensitivity(self) -> Fraction:
        """Largest change of the whole matrices by one neighboring step, as a sum of absolute entries."""
        if self.l1 is None:
            raise UsageError("Laplace noise needs a bound on the sum of absolute entries, which these sums lack.")
        return self.l1 * (2 if self._exchanged else 1)

    @property
    def l2_sensitivity_squared(self) -> Fraction:
        """Largest squared change of the whole matrices: of A − A′, which may be twice as long as each."""
        return self.frobenius_squared * (4 if self._exchanged else 1)

    @property
    def _exchanged(self) -> bool:
        """Whether a step takes one contribution out and puts another in."""
        return self.unit.relation != "add-remove"


def on_grid(direction: NDArray[np.float64]) -> NDArray[np.int64]:
    """A direction of length 1 in whole steps of 2^−DIRECTION_BITS."""
    return np.rint(direction * 2**DIRECTION_BITS).astype(np.int64)


@dataclass(frozen=True)
class ProjectedGram:
    """Σ x xᵀ over users on an integer grid, from which a public direction is still to be taken out on both sides.

    The vectors x are sparse, so that the sum is cheap, and may be long; without their part along the direction they are
    short. Sums of disjoint groups are added first; ``settled`` is what is released. ``docs/proofs/gram.md``, Theorem 7.

    Parameters
    ----------
    total
        Σ x xᵀ, symmetric, int64.
    direction
        k: what is taken out is x − k·(k·x)/4^DIRECTION_BITS.
    side
        S: no user's vector is longer than so many grid steps without its part along the direction.
    step, unit, caps
        As in ``BoundedGram``.
    """

    total: NDArray[np.int64]
    direction: NDArray[np.int64]
    side: int
    step: Fraction
    unit: Unit
    caps: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.direction.size > MOST_PROJECTED:
            raise UsageError(
                f"a matrix of {self.direction.size:,} items is too large.",
                remedy=f"Take a head of at most {MOST_PROJECTED:,} items.",
            )
        if sum(int(one) ** 2 for one in self.direction) > 2 * 4**DIRECTION_BITS:
            raise UsageError("a direction that is taken out has length 1.")

    def __add__(self, other: ProjectedGram) -> ProjectedGram:
        """The sums of two disjoint groups of users together."""
        require_same_bounds(self, other, ("side", "step", "unit", "caps"))
        if not np.array_equal(self.direction, other.direction):
            raise UsageError("sums without different directions do not add up.")
        return replace(self, total=added(self.total, other.total))

    @property
    def arrays(self) -> tuple[NDArray[np.int64], ...]:
        """What adds up, as in ``BoundedSums``."""
        return (self.total,)

    def with_arrays(self, arrays: tuple[NDArray[np.int64], ...]) -> ProjectedGram:
        """The same bounds for other sums."""
        return replace(self, total=arrays[0])

    def settled(self) -> BoundedGram:
        """The matrix without the direction, in whole steps, with the bound that rounding leaves."""
        # Every entry is off by less than 1 + 2^−7 steps from one user more, whatever the others are.
        longest = self.side**2 + MOST_PROJECTED + MOST_PROJECTED // 128
        return BoundedGram((self._projected(),), self.step, Fraction(longest) ** 2, self.unit, self.caps)

    def _projected(self) -> NDArray[np.int64]:
        """T − ⌊(k wᵀ + w kᵀ)⌋ in exact arithmetic, with w = T·k/4^m − k·(kᵀT·k)/(2·16^m) in steps of 2^−FINE_BITS."""
        k, total = self.direction, self.total
        low, high = total & (2**HALF_BITS - 1), total >> HALF_BITS
        sums = zip(high @ k, low @ k, strict=True)
        del low, high
        along = [(int(h) << HALF_BITS) + int(rest) for h, rest in sums]
        both = sum(int(a) * b for a, b in zip(k, along, strict=True))
        shift = 4 * DIRECTION_BITS + 1 - FINE_BITS
        fine = [((a << (2 * DIRECTION_BITS + 1)) - both * int(one)) >> shift for one, a in zip(k, along, strict=True)]
        upper = np.array([number >> LIMB_BITS for number in fine], dtype=np.int64)
        lower = np.array([number & (2**LIMB_BITS - 1) for number in fine], dtype=np.int64)
        settled = np.empty_like(total)
        for row in range(k.size):
            whole = (k[row] * upper + upper[row] * k) << (LIMB_BITS - FINE_BITS)
            settled[row] = total[row] - whole - ((k[row] * lower + lower[row] * k) >> FINE_BITS)
        return settled
