"""Errors of other libraries about files become errors of discreet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.errors import DiscreetError

__all__ = ["foreign_errors", "is_panic"]


@contextmanager
def foreign_errors(make: Callable[[str], DiscreetError]) -> Iterator[None]:
    """Convert every exception in the block that is not a DiscreetError by ``make``, which gets its message.

    Interrupts, exits and MemoryError pass; a panic of polars, which is no ``Exception``, is converted.

    Examples
    --------
    >>> from discreet.errors import DataError
    >>> with foreign_errors(lambda words: DataError(f"the file cannot be understood: {words}.")):
    ...     {}["rating"]
    Traceback (most recent call last):
    ...
    discreet.errors.DataError: the file cannot be understood: KeyError('rating').
    """
    try:
        yield
    except (DiscreetError, MemoryError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        raise make(_words(error)) from error


def is_panic(error: BaseException) -> bool:
    """Whether this is a panic of a Rust library: in polars it is not an ``Exception``."""
    return type(error).__name__ == "PanicException"


def _words(error: BaseException) -> str:
    text = " ".join(repr(error).split())
    return text if len(text) <= 200 else f"{text[:199]}…"
