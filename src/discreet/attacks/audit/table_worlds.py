"""Small tables with queries: where one row more in a cell is easy to see, and an answer takes milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet.attacks.audit.asked import Request
from discreet.attacks.audit.game import Features
from discreet.coupled.coupling import Coupling
from discreet.coupled.workload_json import queries_from_json
from discreet.data.tables import Table
from discreet.privacy.release import Release

__all__ = ["answer_vector", "days", "flu", "request", "table_background"]

HOUSEHOLD = 4
"""Rows of one group of every small table that has groups."""


def days(first: int, *, rows: int = 100) -> Table:
    """Two cells: so many rows in the first, the others in the second; four rows a household, in this order."""
    groups = np.arange(rows) // HOUSEHOLD
    return Table(
        {"day": [0] * first + [1] * (rows - first), "home": groups},
        domains={"day": range(2)},
        group="home",
        name="a crafted world",
    )


def flu(*said: str) -> Table:
    """One row a person: "yes", "no", or "away" for somebody who was not asked."""
    return Table({"flu": list(said)}, domains={"flu": ["no", "yes", "away"]}, name="a crafted world")


def table_background() -> Table:
    """A table without a secret."""
    return days(60)


def request(table: Table, questions: Sequence[dict[str, Any]], coupling: Coupling | None = None) -> Request:
    """A table with the questions that are asked of it."""
    return Request(table, queries_from_json(table, list(questions)), coupling)


def answer_vector(release: Release) -> Features:
    """The answers, where each came from, and every other number that was released."""
    answers = release.table("answers")
    numbers = [answers["answer"].to_numpy(), (answers["source"] == "measured").cast(pl.Float64).to_numpy()]
    for name, part in sorted(release.parts.items()):
        if name == "answers":
            continue
        columns = [part[one] for one in part.columns] if isinstance(part, pl.DataFrame) else [pl.Series(part.ravel())]
        numbers += [one.cast(pl.Float64).to_numpy() for one in columns if one.dtype.is_numeric()]
    return np.concatenate(numbers)
