"""What settings and records the models of this room ask for."""

from __future__ import annotations

from typing import Any

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.neighbors.released_model import require_named_catalog
from discreet.privacy.bounding import distinct_items

__all__ = ["require_named_items", "require_positive", "require_share", "require_whole"]


def require_named_items(data: Interactions, what: str) -> Interactions:
    """Records with a public catalog whose ids can be written, one of each user and item."""
    require_named_catalog(data, what)
    return distinct_items(data)


def require_whole(value: Any, name: str) -> None:
    """A setting that is a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} = {value!r} must be a whole number from 1.")


def require_positive(value: Any, name: str) -> None:
    """A setting that is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise UsageError(f"{name} = {value!r} must be a number above 0.")


def require_share(value: Any, name: str) -> None:
    """A setting that is strictly between 0 and 1."""
    if not 0 < value < 1:
        raise UsageError(f"{name} = {value} must be between 0 and 1.")
