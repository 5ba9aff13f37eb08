"""Settings of counting methods: exact numbers in the place of what was typed, and errors for what cannot be meant."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal

from discreet.privacy.bounding import check_cap
from discreet.privacy.budget import as_share
from discreet.privacy.numbers import as_positive, as_probability

__all__ = ["Cap", "normalize", "store"]

Cap = int | Literal["data"]
"""A public number of records, or "data": looked up in the records, as some papers do."""

CAPS = ("cap", "first", "head_cap", "tail_cap", "count_cap")


def normalize(settings: Any, *, unchecked: tuple[str, ...] = ()) -> None:
    """Make epsilon, delta and shares of a frozen dataclass exact, and check its caps; None stays None.

    Parameters
    ----------
    unchecked
        Shares and caps that the method checks by itself.
    """
    names = [one.name for one in fields(settings)]
    exact = {"epsilon": as_positive(settings.epsilon, "epsilon")}
    if "delta" in names:
        exact["delta"] = as_probability(settings.delta)
    given = {name: getattr(settings, name) for name in names if name not in unchecked}
    shares = {name: value for name, value in given.items() if name.endswith("_share") and value is not None}
    store(settings, **exact, **{name: as_share(value, name) for name, value in shares.items()})
    for name in CAPS:
        if given.get(name) is not None:
            check_cap(given[name])


def store(settings: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is made."""
    for name, value in values.items():
        object.__setattr__(settings, name, value)
