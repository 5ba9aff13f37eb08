"""The one source of random bits: the operating system.

Three purposes have a function each, so that a check can tell them apart: noise and selection (``random_bytes``), the
keys by which bounding chooses records (``bounding_key``), and what touches no secret (``public_bytes``): names, and
draws from what was released. None of them has a seed. Tests replace these functions.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError

__all__ = [
    "Keys",
    "Uniform",
    "bounding_key",
    "public_bytes",
    "public_uniforms",
    "public_words",
    "random_bytes",
    "random_words",
]

WORD = 64
MOST_WORDS = 16
"""What is open after so many words is not decided by chance: the entropy source is broken."""


def random_bytes(n: int) -> NDArray[np.uint8]:
    """``n`` independent uniform bytes, for noise and selection inside a mechanism."""
    return np.frombuffer(os.urandom(n), dtype=np.uint8)


def random_words(n: int) -> NDArray[np.uint64]:
    """``n`` independent uniform 64-bit words, for noise and selection inside a mechanism."""
    return random_bytes(8 * n).view(np.uint64)


def bounding_key() -> tuple[int, int]:
    """A fresh key of 128 bits for the choice of records (``privacy.choosing``); inside ``Keys.replayed`` a held one."""
    held = _HELD.get()
    return (Keys() if held is None else held).next()


class Keys:
    """The keys of one release whose people come in parts: every part, in every round, gets the same keys in order.

    A person's records are then chosen alike in all rounds, as they are where everybody is in memory, and alike by every
    process that has a copy: also where a part is computed again because a machine was lost.
    """

    def __init__(self) -> None:
        self._secret = os.urandom(32)
        self._place = 0

    @contextmanager
    def replayed(self) -> Iterator[None]:
        """Give out the keys from the first one on."""
        self._place = 0
        token = _HELD.set(self)
        try:
            yield
        finally:
            _HELD.reset(token)

    def next(self) -> tuple[int, int]:
        self._place += 1
        digest = hashlib.sha256(self._secret + self._place.to_bytes(8, "big")).digest()
        return int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:16], "big")


_HELD: ContextVar[Keys | None] = ContextVar("discreet_held_keys", default=None)


def public_bytes(n: int) -> NDArray[np.uint8]:
    """``n`` independent uniform bytes for what is made of public or released values alone."""
    return np.frombuffer(os.urandom(n), dtype=np.uint8)


def public_words(n: int) -> NDArray[np.uint64]:
    """``n`` independent uniform 64-bit words for what is made of public or released values alone."""
    return public_bytes(8 * n).view(np.uint64)


def public_uniforms(n: int) -> NDArray[np.float64]:
    """``n`` independent uniform numbers in (0, 1) for what is made of public or released values alone."""
    return ((public_words(n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


class Uniform:
    """A uniform number from 0 to 1 of which as many bits are drawn as it takes.

    Parameters
    ----------
    word
        Its first 64 bits.
    """

    def __init__(self, word: int) -> None:
        self.word, self.bits = word, WORD

    def below(self, bounds: Callable[[int], tuple[Fraction, Fraction]]) -> bool:
        """Whether it is below a real number; ``bounds(bits)`` encloses that, the closer the more bits."""
        while True:
            low, high = bounds(self.bits)
            if Fraction(self.word + 1, 2**self.bits) <= low:
                return True
            if Fraction(self.word, 2**self.bits) >= high:
                return False
            self.refine()

    def refine(self) -> None:
        """Draw 64 bits more."""
        if self.bits >= WORD * MOST_WORDS:
            raise PrivacyError("the entropy source repeats itself: nothing was drawn.")
        self.word = (self.word << WORD) | int(random_words(1)[0])
        self.bits += WORD
