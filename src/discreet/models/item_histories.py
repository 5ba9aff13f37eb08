"""A history that somebody hands over, as codes of items and ratings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.common.arrays import Codes, Floats
from discreet.data.ids import IdMap
from discreet.errors import DataError, UnknownItemsWarning, UsageError

__all__ = ["as_pair", "history_codes", "unrated_value"]

NAMED = 5
"""How many unknown items a warning names."""


def history_codes(
    items: IdMap, history: Mapping[Any, float] | Sequence[Any], unrated: float = 1.0
) -> tuple[Codes, Floats]:
    """Codes in order, and ratings, ``unrated`` where there are none; unknown items are left out with a warning.

    Examples
    --------
    >>> history_codes(IdMap(["rum", "tea"], what="item"), "tea")  # one id
    (array([1], dtype=int32), array([1.]))
    """
    rated = {history: unrated} if isinstance(history, str) else history
    rated = rated if isinstance(rated, Mapping) else dict.fromkeys(rated, unrated)
    values = np.array([float(value) for value in rated.values()], dtype=np.float64)
    if not np.isfinite(values).all():
        raise DataError("a rating of the history is not a finite number.")
    codes = items.encode(list(rated), unknown="mark") if rated else np.zeros(0, dtype=np.int32)
    if unknown := [item for item, code in zip(rated, codes, strict=True) if code < 0]:
        shown = ", ".join(map(repr, unknown[:NAMED])) + (", …" if len(unknown) > NAMED else "")
        warnings.warn(
            f"{len(unknown)} of {len(rated)} items of the history are unknown to the model and ignored: {shown}.",
            UnknownItemsWarning,
            stacklevel=4,
        )
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    return codes[order], values[order]


def unrated_value(model: object) -> float:
    """What an item of a history without ratings is taken for: a like, where a model tells likes by their ratings."""
    threshold = getattr(model, "threshold_", None)
    return 1.0 if threshold is None else threshold


def as_pair(given: Any) -> tuple[Any, Any]:
    """A user and an item; anything else is an error."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise UsageError(f"{given!r} is not a (user, item) pair.")
    return given[0], given[1]
