"""Names for the kinds of arrays that signatures speak of, and where codes stand in one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnyFloats", "AnyIntegers", "Codes", "Floats", "Integers", "Mask", "Matrix", "Vector", "places_of"]

Floats = NDArray[np.float64]
Vector = NDArray[np.float64]
"""Floats in one dimension."""
Matrix = NDArray[np.float64]
"""Floats in two dimensions."""
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
"""Codes of users, items, tags: places in an ``IdMap``."""
Mask = NDArray[np.bool_]
AnyFloats = NDArray[np.floating]
"""Floats of any width."""
AnyIntegers = NDArray[np.integer]
"""Integers of any width, signed or not."""


def places_of(codes: AnyIntegers, size: int) -> Integers:
    """Where each code from 0 to size − 1 stands among these; −1 for the others.

    Examples
    --------
    >>> places_of(np.array([1, 3]), 4).tolist()
    [-1, 0, -1, 1]
    """
    places = np.full(size, -1)
    places[codes] = np.arange(codes.size)
    return places
