"""A first look at what is popular, paid for like everything else: what later steps may lean on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells
from discreet.counting.levels import clipped, weighed
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.losses import Concentrated, Loss
from discreet.privacy.mechanisms import AdditiveMechanism

__all__ = ["head_of", "popularity_sums", "released_popularity", "smoothed"]


def popularity_sums(cells: Cells, first: int, loss: Loss) -> BoundedSums:
    """Item counts in which each user weighs ``first`` records; of that squared length where noise will be Gaussian.

    Weighing has the mean of drawing so many records, and none of its variance.
    """
    look = (
        clipped(cells, "items", Fraction(first)) if isinstance(loss, Concentrated) else weighed(cells, "items", first)
    )
    return replace(look, caps=tuple(f"for a first look at popularity {phrase}" for phrase in look.caps))


def released_popularity(cells: Cells, first: int, loss: Loss, mechanism: AdditiveMechanism) -> NDArray[np.float64]:
    """Noisy popularity. Charge the ledger first."""
    sums = popularity_sums(cells, first, loss)
    return mechanism.release(sums).astype(np.float64) * float(sums.step)


def smoothed(popularity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of popularity above 0 that add up to 1: max(p, 0) + 1, normalized.

    Examples
    --------
    >>> smoothed(np.array([7.0, -3.0, 0.0])).tolist()
    [0.8, 0.1, 0.1]
    """
    raised = np.maximum(popularity, 0) + 1
    return raised / raised.sum()


def head_of(popularity: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Codes of the ``size`` most popular items in the order of the catalog; ties go to the earlier item."""
    if not 1 <= size <= popularity.size:
        raise UsageError(f"a head of {size} out of {popularity.size} items?")
    return np.sort(np.argsort(-popularity, kind="stable")[:size])
