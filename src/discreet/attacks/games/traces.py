"""What careless noise leaves behind: digits that are too fine, and differences that have no noise."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.games.datasets import OBSERVER, Record, SmallGame, added
from discreet.attacks.games.game import Features, NeighboringData
from discreet.attacks.games.observing import release_vector
from discreet.attacks.games.users import touched_items
from discreet.data.interactions import Interactions

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["Traces", "finest_digits"]

MANTISSA = 53
COARSE = 64.0
MOST = 1_000
"""More differences than this are not looked at."""


class Traces(SmallGame):
    """A canary, looked for in the last digits of what is shown and in differences.

    A number that noise in floating point was added to shows in its lowest digits what it was added to: whether that was
    0 shows most. Noise that two numbers share is gone from their difference. Most items are touched by the canary
    alone, and no item by nobody, so that there are many places to look at.

    References
    ----------
    I. Mironov: On significance of the least significant bits for differential privacy. CCS 2012.
    """

    about = "user"
    effort = 4
    share = 9  # digits tell something in a few runs out of a hundred

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        own = touched_items(target)
        others: list[Record] = [(user, f"i{item}", 5 - 3 * item) for user in (OBSERVER, "u0", "u1") for item in (0, 1)]
        # Both kinds of ratings: lists of good ones and of all of them must differ.
        canary = [("zz-canary", f"i{2 + item}", 1 if item % 2 else 5) for item in range(own)]
        return added(others, canary, items=own + 2)

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        parts = self._parts(fitted, pair)
        digits = [finest_digits(vector) for vector in parts]
        # The finest digit of all comes first: which of the numbers shows it is a matter of chance.
        finest = [vector.min(initial=COARSE) for vector in digits]
        # Noise between −1/2 and 1/2 on a count of 0 has digits finer than any sum with a count of 1 or more.
        too_fine = [float((vector < -MANTISSA).sum()) for vector in digits]
        differences = [one - other for one, other in combinations(parts, 2) if one.size == other.size]
        neighbors = [np.diff(vector) for vector in parts]
        return np.concatenate([finest, too_fine, *digits, *differences, *neighbors])[:MOST]

    def _parts(self, fitted: Fitted, pair: NeighboringData) -> list[Features]:
        """The numbers of each part of the release, or the answers of the model."""
        items = fitted.data.items
        if self.view != "white box":
            # Recommendations begin with places, which have no digits.
            return [super().observe(fitted, pair)[-len(items) :]]
        release = fitted.released
        alone = [replace(release, parts={name: part}) for name, part in sorted(release.parts.items())]
        return [release_vector(one, items) for one in alone]


def finest_digits(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The place of the lowest binary digit of each number that is not 0: 0 for odd integers, −1 for halves.

    Examples
    --------
    >>> finest_digits(np.array([6.0, 1.5, 0.0, 0.1])).tolist()
    [1.0, -1.0, 64.0, -55.0]
    """
    fraction, exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    digits = np.abs(fraction * 2.0**MANTISSA).astype(np.int64)
    lowest = np.maximum(digits & -digits, 1)
    place = np.log2(lowest.astype(np.float64)) + exponent - MANTISSA
    return np.where(digits == 0, COARSE, place)
