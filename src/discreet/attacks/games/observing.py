"""What an attacker sees, as numbers: the release itself, or the answers of a model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.attacks.games.game import Features, View
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import BudgetError, DataError
from discreet.privacy.release import Part, Release

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted

__all__ = ["everything_shown", "predicted", "recommended", "release_vector", "seen", "similarity", "until_refused"]

MOST = 5_000
"""More numbers of one release than this are not looked at."""
DENSE = 300
"""Up to this many items, parts of a release over chosen items are laid out over all of them."""


def seen(view: View, fitted: Fitted, user: Hashable) -> Features:
    """All that a view shows of a model that was fitted to a small dataset; ``user`` asks for predictions and lists."""
    items = fitted.data.items
    if view == "white box":
        return release_vector(fitted.released, items)
    names, parts = items.ids(), []
    if view == "similar items":
        # The last two items are those that only a secret connects with the others.
        return similarity(fitted.model, [names[0], *names[-2:]], items, n=len(names))
    if "predictions" in view:
        parts.append(predicted(fitted.model, user, names))
    if "recommendations" in view:
        parts.append(recommended(fitted.model, user, items, n=len(names)))
    return np.concatenate(parts)


def everything_shown(fitted: Fitted, views: Iterable[View]) -> bytes:
    """All that a fitted model shows in these views, for comparing two fits."""
    parts, items = [], getattr(fitted.data, "items", None)
    if fitted.release is not None:
        parts.append(release_vector(fitted.release, items if isinstance(items, IdMap) else IdMap([])))
    if isinstance(fitted.data, Interactions):
        names, user = fitted.data.items.ids(), fitted.data.users.ids()[0]
        if "predictions" in views:
            parts.append(predicted(fitted.model, user, names))
        if "recommendations" in views:
            parts.append(recommended(fitted.model, user, fitted.data.items, n=len(names)))
        if "similar items" in views:
            parts.append(similarity(fitted.model, names[:3], fitted.data.items, n=len(names)))
    return b"|".join(part.tobytes() for part in parts)


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


def predicted(model: Any, user: Hashable, items: Sequence[Any], *, first: int = 0) -> Features:
    """Predicted ratings of items for a user; NaN where there is no answer or no budget left for one."""
    return until_refused(lambda asked: model.predict([(user, item) for item in asked])["score"], items, first=first)


def until_refused(ask: Callable[[list[Any]], pl.Series], items: Sequence[Any], *, first: int = 0) -> Features:
    """The answers about items; NaN where there is none.

    A model that allows a limited number of questions is asked one by one, about the item at ``first`` before all
    others, until it refuses.
    """

    def answers(asked: list[Any]) -> Features:
        told = ask(asked)
        if len(told) != len(asked):
            raise DataError(f"the model gave {len(told)} answers to {len(asked)} questions.")
        return _numbers(told)

    try:
        return answers(list(items))
    except BudgetError:
        told = np.full(len(items), np.nan)
        for place in [first, *(place for place in range(len(items)) if place != first)]:
            try:
                told[place] = answers([items[place]])[0]
            except BudgetError:
                break
        return told


def recommended(model: Any, user: Hashable, items: IdMap, n: int) -> Features:
    """For every item its place on the user's list, counted from the end, 0 for none; then its score, NaN for none."""
    try:
        told = model.recommend([user], n=n)
    except BudgetError:
        return np.full(2 * len(items), np.nan)
    codes = _codes(told["item_id"].to_list(), items)
    places, scores = np.zeros(len(items)), np.full(len(items), np.nan)
    places[codes] = n - np.arange(codes.size)
    scores[codes] = _numbers(told["score"])
    return np.concatenate([places, scores])


def _codes(ids: list[Any], items: IdMap) -> NDArray[np.int64]:
    """Codes of ids. Lists are short and asked for thousands of times: a dictionary takes less than a column."""
    known = {item: place for place, item in enumerate(items.ids())} if len(items) <= DENSE else {}
    if all(item in known for item in ids):
        return np.array([known[item] for item in ids], dtype=np.int64)
    return items.encode(ids).astype(np.int64)


def _numbers(column: pl.Series) -> Features:
    return np.array([np.nan if value is None else value for value in column.to_list()], dtype=np.float64)


def similarity(model: Any, asked: Sequence[Any], items: IdMap, n: int) -> Features:
    """For each item asked about and every item: whether it is listed as similar, then how similar, NaN for not."""
    listed, scores = np.zeros((len(asked), len(items))), np.full((len(asked), len(items)), np.nan)
    for row, item in enumerate(asked):
        told = model.similar_items([item], n=n)
        if not told.height:
            continue
        codes = _codes(told["similar_id"].to_list(), items)
        listed[row, codes] = 1.0
        scores[row, codes] = _numbers(told["score"])
    return np.concatenate([listed.ravel(), scores.ravel()])
