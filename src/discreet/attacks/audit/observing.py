"""What an attacker sees, as numbers: the release itself, or the answers of a model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet.attacks.audit.game import Features
from discreet.data.ids import IdMap
from discreet.errors import BudgetError, DataError
from discreet.privacy.release import Part, Release

__all__ = ["predicted", "recommended", "release_vector", "similarity"]

MOST = 5_000
"""More numbers of one release than this are not looked at."""
DENSE = 300
"""Up to so many items, parts of a release over chosen items are laid out over all of them."""


def release_vector(release: Release, items: IdMap) -> Features:
    """Every number of a release, in an order that means the same in every run.

    Tables with one row an item are laid out in the order of the catalog, with a mark for what is listed; so are arrays
    over the head of the catalog, where a part of that name says which items it is made of.
    """
    head = release.parts.get("head")
    chosen = head if isinstance(head, np.ndarray) and head.ndim == 1 and head.dtype.kind in "iu" else None
    vectors = [
        _table(part, items) if isinstance(part, pl.DataFrame) else _array(part, chosen, len(items))
        for name, part in sorted(release.parts.items())
        if name != "head"
    ]
    if chosen is not None:
        listed = np.zeros(len(items))
        listed[chosen] = 1.0
        vectors.append(listed)
    return np.concatenate([vector[:MOST] for vector in vectors])[:MOST] if vectors else np.zeros(0)


def _array(part: Part, head: Any, n_items: int) -> Features:
    values = np.asarray(part)
    if values.dtype.kind not in "biuf":
        return np.zeros(0)
    values = values.astype(np.float64)
    if head is None or n_items > DENSE or head.size not in values.shape:
        return values.ravel()
    laid = values
    for axis, size in enumerate(values.shape):
        if size == head.size:
            spread = np.zeros((*laid.shape[:axis], n_items, *laid.shape[axis + 1 :]))
            np.moveaxis(spread, axis, 0)[head] = np.moveaxis(laid, axis, 0)
            laid = spread
    return laid.ravel()


def _table(part: pl.DataFrame, items: IdMap) -> Features:
    numbers = [name for name, kind in part.schema.items() if kind.is_numeric() and name != "item_id"]
    if "item_id" in part.columns and part["item_id"].is_unique().all() and part["item_id"].dtype == items.series.dtype:
        codes = items.encode(part["item_id"], unknown="mark")
        rows, codes = np.flatnonzero(codes >= 0), codes[codes >= 0]
        laid = np.zeros((len(numbers) + 1, len(items)))
        laid[-1, codes] = 1.0
        for line, name in zip(laid, numbers, strict=False):
            line[codes] = part[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()[rows]
        return laid.ravel()
    columns = [part[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in numbers]
    return np.concatenate(columns) if columns else np.zeros(0)


def predicted(model: Any, user: Hashable, items: Sequence[Any]) -> Features:
    """Predicted ratings of items for a user; NaN where there is no answer or no budget left for one."""
    try:
        return _answers(model, user, items)
    except BudgetError:
        told = np.full(len(items), np.nan)
        for place, item in enumerate(items):
            try:
                told[place] = _answers(model, user, [item])[0]
            except BudgetError:
                break
        return told


def _answers(model: Any, user: Hashable, items: Sequence[Any]) -> Features:
    told = model.predict([(user, item) for item in items])["score"]
    if len(told) != len(items):
        raise DataError(f"the model gave {len(told)} answers to {len(items)} questions.")
    return told.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def recommended(model: Any, user: Hashable, items: IdMap, n: int) -> Features:
    """For every item its place on the user's list, counted from the end, 0 for none; then its score, NaN for none."""
    try:
        told = model.recommend([user], n=n)
    except BudgetError:
        return np.full(2 * len(items), np.nan)
    codes = items.encode(told["item_id"].to_list()) if told.height else np.zeros(0, dtype=np.int32)
    places, scores = np.zeros(len(items)), np.full(len(items), np.nan)
    places[codes] = n - np.arange(codes.size)
    scores[codes] = told["score"].cast(pl.Float64).to_numpy()
    return np.concatenate([places, scores])


def similarity(model: Any, asked: Sequence[Any], items: IdMap, n: int) -> Features:
    """For each item asked about and every item: whether it is listed as similar, then how similar, NaN for not."""
    listed, scores = np.zeros((len(asked), len(items))), np.full((len(asked), len(items)), np.nan)
    for row, item in enumerate(asked):
        told = model.similar_items([item], n=n)
        if not told.height:
            continue
        codes = items.encode(told["similar_id"].to_list())
        listed[row, codes] = 1.0
        scores[row, codes] = told["score"].cast(pl.Float64).to_numpy()
    return np.concatenate([listed.ravel(), scores.ravel()])
