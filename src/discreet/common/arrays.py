"""Names for the kinds of arrays that signatures speak of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnyFloats", "AnyIntegers", "Codes", "Floats", "Integers", "Mask", "Matrix", "Vector"]

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
