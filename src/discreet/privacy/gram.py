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

__all__ = ["BoundedGram"]


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
