"""What careless noise leaves behind: digits that are too fine, and differences that have no noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.audit.game import Features, Game, Worlds
from discreet.attacks.audit.membership import touched_items
from discreet.attacks.audit.observing import release_vector
from discreet.attacks.audit.small_worlds import OBSERVER, Record, crafted
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.privacy.release import Release

__all__ = ["Traces", "finest_digits"]

MANTISSA = 53
COARSE = 64.0
MOST = 1_000
"""More differences than this are not looked at."""


@dataclass(frozen=True, kw_only=True)
class Traces(Game):
    """A canary, looked for in the last digits of what was released and in differences.

    A number that noise in floating point was added to shows in its lowest digits what it was added to: whether that was
    0 shows most. Noise that two numbers share is gone from their difference. Most items are touched by the canary
    alone, and no item by nobody, so that there are many places to look at.

    References
    ----------
    I. Mironov: On significance of the least significant bits for differential privacy. CCS 2012.
    """

    name: str = "traces"
    effort: int = 4

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if target.guarantee is not None and target.guarantee.unit.what == "record":
            return "the promise is about single records"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        own = touched_items(target)
        people = (OBSERVER, "u0", "u1")
        others: list[Record] = [(user, f"i{item}", 5 - 3 * item) for user in people for item in (0, 1)]
        # Both kinds of ratings: lists of good ones and of all of them must differ.
        canary = [("zz-canary", f"i{2 + item}", 1 if item % 2 else 5) for item in range(own)]
        items = own + 2
        return Worlds(crafted(others, items=items), crafted([*others, *canary], items=items), records=own)

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        assert fitted.release is not None
        parts = _vectors(fitted.release, fitted.data.items)
        digits = [finest_digits(vector) for vector in parts]
        # The finest digit of all comes first: which of the numbers shows it is a matter of chance.
        finest = [vector.min(initial=COARSE) for vector in digits]
        differences = [one - other for one, other in combinations(parts, 2) if one.size == other.size]
        neighbors = [np.diff(vector) for vector in parts]
        return np.concatenate([finest, *digits, *differences, *neighbors])[:MOST]


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


def _vectors(release: Release, items: IdMap) -> list[NDArray[np.float64]]:
    """The numbers of each part of a release."""
    alone = [replace(release, parts={name: part}) for name, part in sorted(release.parts.items())]
    return [release_vector(one, items) for one in alone]
