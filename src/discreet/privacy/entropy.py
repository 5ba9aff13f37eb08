"""The one source of random bits: the operating system.

Every draw that touches a release comes through ``random_bytes``. It has no seed. Tests replace this one function.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

__all__ = ["random_bytes", "random_words"]


def random_bytes(n: int) -> NDArray[np.uint8]:
    """``n`` independent uniform bytes."""
    return np.frombuffer(os.urandom(n), dtype=np.uint8)


def random_words(n: int) -> NDArray[np.uint64]:
    """``n`` independent uniform 64-bit words."""
    return random_bytes(8 * n).view(np.uint64)
