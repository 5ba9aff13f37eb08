"""The one source of random bits: the operating system.

Three purposes have a function each, so that a check can tell them apart: noise and selection (``random_bytes``), the
keys by which bounding chooses records (``bounding_key``), and what touches no secret (``public_bytes``): names, and
draws from what was released. None of them has a seed. Tests replace these functions.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

__all__ = ["bounding_key", "public_bytes", "public_words", "random_bytes", "random_words"]


def random_bytes(n: int) -> NDArray[np.uint8]:
    """``n`` independent uniform bytes, for noise and selection inside a mechanism."""
    return np.frombuffer(os.urandom(n), dtype=np.uint8)


def random_words(n: int) -> NDArray[np.uint64]:
    """``n`` independent uniform 64-bit words, for noise and selection inside a mechanism."""
    return random_bytes(8 * n).view(np.uint64)


def bounding_key() -> tuple[int, int]:
    """A fresh key of 128 bits for the choice of records (``privacy.choosing``); it is never kept."""
    high, low = np.frombuffer(os.urandom(16), dtype=np.uint64)
    return int(high), int(low)


def public_bytes(n: int) -> NDArray[np.uint8]:
    """``n`` independent uniform bytes for what is made of public or released values alone."""
    return np.frombuffer(os.urandom(n), dtype=np.uint8)


def public_words(n: int) -> NDArray[np.uint64]:
    """``n`` independent uniform 64-bit words for what is made of public or released values alone."""
    return public_bytes(8 * n).view(np.uint64)
