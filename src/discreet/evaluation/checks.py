"""Checks of what is measured: values, shapes, list lengths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.common.arrays import Floats
from discreet.errors import EvaluationError

__all__ = [
    "Missing",
    "as_numbers",
    "check_confidence",
    "check_k",
    "check_lengths",
    "check_number",
    "check_same_shape",
]

Missing = Literal["error", "skip"]


def as_numbers(values: Any, *, what: str, allow_nan: bool = False) -> Floats:
    """A non-empty array of finite numbers (NaN only where it means "no answer")."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"the {what} are not all numbers: {error}.", remedy="Give an array of numbers.") from None
    if numbers.ndim == 0:
        raise EvaluationError(f"the {what} are a single value.", remedy="Give an array of numbers.")
    if numbers.size == 0:
        raise EvaluationError(f"there are no {what}.", remedy="A metric needs at least one value.")
    wrong = np.isinf(numbers) if allow_nan else ~np.isfinite(numbers)
    if wrong.any():
        place = np.unravel_index(int(np.argmax(wrong)), numbers.shape)
        where = ", ".join(str(int(index)) for index in place)
        raise EvaluationError(
            f"{int(wrong.sum()):,} of the {numbers.size:,} {what} are not finite; the first is "
            f"{numbers[place]} at position {where}.",
            remedy="Give finite numbers.",
        )
    return numbers


def check_same_shape(first: NDArray[Any], second: NDArray[Any], *, what: tuple[str, str]) -> None:
    if first.shape != second.shape:
        raise EvaluationError(
            f"the {what[0]} have shape {first.shape}, the {what[1]} {second.shape}.",
            remedy="Give one value of each for every position, in the same order.",
        )


def check_k(k: Any) -> int:
    """A list length: a whole number from 1."""
    return check_number(k, name="k", what="a list length")


def check_number(number: Any, *, name: str, what: str) -> int:
    """A whole number from 1."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise EvaluationError(f"{name}={number!r} is not {what}.", remedy="Give a whole number from 1.")
    return int(number)


def check_lengths(k: Any) -> list[int]:
    """One list length or several, each once."""
    lengths = [check_k(one) for one in (k if isinstance(k, Iterable) else [k])]
    if not lengths or len(set(lengths)) < len(lengths):
        raise EvaluationError(
            f"k={lengths} does not name each list length once.", remedy="Give for example k=10 or k=[5, 10]."
        )
    return lengths


def check_confidence(confidence: float) -> None:
    if not isinstance(confidence, int | float | np.floating) or not 0 < confidence < 1:
        raise EvaluationError(
            f"confidence={confidence!r} is not between 0 and 1.", remedy="Give for example 0.95 for 95 %."
        )
