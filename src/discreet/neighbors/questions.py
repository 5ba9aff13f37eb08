"""Who asks, and what was answered: the bookkeeping of a model that pays for every question once."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Answers", "Key", "Recipient", "answers_of", "answers_table", "question_key", "strangers"]

Key = tuple[str, Hashable]
"""("user", the id) or ("history", the history as text)."""

Answers = dict[tuple[Key, int], int]
"""By who asked and the code of the item: the noisy sum in grid steps."""


@dataclass(frozen=True)
class Recipient:
    """Who asks: a user of the records, or somebody with a history. The same key is the same recipient."""

    key: Key
    code: int = field(default=-1, compare=False)
    items: NDArray[np.int32] | None = field(default=None, compare=False)
    ratings: NDArray[np.float64] | None = field(default=None, compare=False)


def question_key(question: tuple[Recipient, int]) -> tuple[Key, int]:
    """What an answer is kept under."""
    return question[0].key, question[1]


def strangers(rows: csr_array) -> list[Recipient]:
    """Recipients who are known by their histories only, one a row."""
    people = []
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        items, ratings = rows.indices[begin:end].astype(np.int32), rows.data[begin:end].astype(np.float64)
        key = json.dumps([[int(i), float(r)] for i, r in zip(items, ratings, strict=True)])
        people.append(Recipient(("history", key), -1, items, ratings))
    return people


def answers_table(answers: Answers) -> pl.DataFrame:
    """Answers as a table for the disk; ids are numbers or text."""
    return pl.DataFrame(
        {
            "kind": pl.Series([kind for (kind, _), _ in answers], dtype=pl.String),
            "who": pl.Series([json.dumps(who) for (_, who), _ in answers], dtype=pl.String),
            "item": pl.Series([item for _, item in answers], dtype=pl.Int64),
            "steps": pl.Series(list(answers.values()), dtype=pl.Int64),
        }
    )


def answers_of(table: pl.DataFrame) -> Answers:
    """The inverse of ``answers_table``."""
    return {((kind, json.loads(who)), item): steps for kind, who, item, steps in table.iter_rows()}
