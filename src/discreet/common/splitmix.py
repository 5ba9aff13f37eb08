"""Words that look random and are a function of their input: the finalizer of SplitMix64.

For what needs no secret randomness: splits, starting points, ties. References: G. Steele, D. Lea, C. Flood: Fast
splittable pseudorandom number generators. OOPSLA 2014.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["GOLDEN", "splitmix", "splitmix_uniforms"]

GOLDEN = 0x9E3779B97F4A7C15


def splitmix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of a word reaches every bit of the result.

    Examples
    --------
    >>> [hex(int(word)) for word in splitmix(np.array([GOLDEN, 2 * GOLDEN % 2**64], dtype=np.uint64))]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def splitmix_uniforms(size: int, start: int = 0) -> NDArray[np.float64]:
    """Numbers from 0 to below 1: the stream of SplitMix64 from a start on."""
    places = np.arange(1, size + 1, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(start)
    return (splitmix(places) >> np.uint64(11)).astype(np.float64) * 2.0**-53
