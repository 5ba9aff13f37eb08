"""How the steps of series are called in a ledger, and what a statement says of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["STEP", "is_step", "lines_of_series"]

STEP = "step of series "
"""What entries that record the steps of a series are called, before the id of the series."""


def is_step(entry: Any) -> bool:
    """Whether an entry records a step of a series, which another entry has paid for."""
    return entry.mechanism.startswith(STEP)


def lines_of_series(entries: Iterable[Any]) -> list[str]:
    """A line for each series of which steps were recorded."""
    steps: dict[Any, list[int]] = {}
    for entry in entries:
        if is_step(entry):
            steps.setdefault(entry.parameters.get("charge"), []).append(entry.parameters["step"])
    return [
        f"  series    entry {charge} paid for the {len(taken)} steps that were released, the latest step {max(taken)}"
        for charge, taken in steps.items()
    ]
