"""Checks of settings: each raises an error that names the setting, its value and what is allowed, or does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.errors import DiscreetError, UsageError

__all__ = ["require_choice", "require_positive", "require_share", "require_whole"]


def require_whole(value: Any, name: str, *, least: int = 1, most: int | None = None) -> None:
    """A whole number of at least ``least`` and at most ``most``.

    Examples
    --------
    >>> require_whole(3, "k")
    >>> require_whole(0, "k")
    Traceback (most recent call last):
    discreet.errors.UsageError: k must be a whole number from 1, got 0.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        to = "" if most is None else f" to {most:,}"
        raise UsageError(f"{name} must be a whole number from {least}{to}, got {value!r}.")


def require_positive(value: Any, name: str) -> None:
    """A finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise UsageError(f"{name} must be a number above 0, got {value!r}.")


def require_share(value: Any, name: str) -> None:
    """A number strictly between 0 and 1."""
    if isinstance(value, bool) or not 0 < value < 1:
        raise UsageError(f"{name} must be between 0 and 1, got {value}.")


def require_choice(value: Any, name: str, choices: Sequence[Any], *, error: type[DiscreetError] = UsageError) -> None:
    """One of the listed values."""
    if value not in choices:
        raise error(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
