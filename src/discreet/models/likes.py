"""What says that somebody likes something, from public facts alone."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.data.interactions import Interactions
from discreet.privacy.numbers import Rational, as_fraction

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["liked_records", "liked_rows", "threshold_of"]


def threshold_of(data: Interactions, positive: Rational | None) -> str | None:
    """The rating from which an item counts as liked, from public facts; None where there are no ratings."""
    if data.rating is None:
        return None
    if positive is not None:
        return str(as_fraction(positive, "positive"))
    if data.scale is None:
        return None
    low, high = Fraction(data.scale.low), Fraction(data.scale.high)
    return str(low + (high - low) * 3 / 4)


def liked_records(data: Interactions, positive: Rational | None) -> Interactions:
    """The records that say that an item is liked: each is judged by itself."""
    threshold = threshold_of(data, positive)
    if threshold is None or data.rating is None:
        return data
    return data.filter(data.rating >= float(Fraction(threshold)), independent=True)


def liked_rows(rows: csr_array, threshold: float | None) -> csr_array:
    """Histories as 1 for each liked item and nothing for the others."""
    liked = rows.copy()
    liked.data = np.ones(liked.data.size) if threshold is None else (liked.data >= threshold).astype(np.float64)
    liked.eliminate_zeros()
    return liked
