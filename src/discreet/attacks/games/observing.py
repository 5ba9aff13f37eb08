"""What an attacker sees, as numbers: the release itself, or the answers of a model; with noise, and without."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.attacks.games.game import Features, NeighboringData, View
from discreet.common.arrays import Codes, Integers, Mask
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import BudgetError, DataError, UsageError
from discreet.models.recommender import Recommender
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted

__all__ = [
    "OBSERVER", "everything_shown", "noise_free", "predicted", "predicts_ratings", "recommended", "release_vector",
    "released_by_item", "seen", "shown_answers", "shown_lists", "shown_scores", "similarity", "until_refused",
]  # fmt: skip

OBSERVER = "observer"
"""A user of every small dataset, whom the attacker controls."""
NO_NOISE = 10**9
"""An epsilon at which the noise of every model of ours is far below the grid of its numbers."""
AT_ONCE = 400
"""Users for whom scores are asked at a time."""
MOST = 5_000
"""More numbers of one release than this are not looked at."""
DENSE = 300
"""Up to this many items, parts of a release over chosen items are laid out over all of them."""


def seen(view: View, fitted: Fitted, pair: NeighboringData | None = None) -> Features:
    """All that a view shows of a model that was fitted to a small dataset; the observer asks."""
    items = fitted.data.items
    if view == "white box":
        return release_vector(fitted.released, items)
    names, parts = items.ids(), []
    if view == "similar items":
        # The last two items are those that only a secret connects with the others.
        return similarity(fitted.model, [names[0], *names[-2:]], items, n=len(names))
    if "predictions" in view:
        parts.append(predicted(fitted.model, OBSERVER, names))
    if "recommendations" in view:
        parts.append(recommended(fitted.model, OBSERVER, items, n=len(names)))
    return np.concatenate(parts)


def everything_shown(fitted: Fitted, views: Iterable[View]) -> bytes:
    """All that a model, fitted to a small dataset, shows in these views, for comparing two fits."""
    if isinstance(fitted.data, Interactions):
        return b"|".join(seen(view, fitted).tobytes() for view in sorted(views))
    return b"" if fitted.release is None else release_vector(fitted.release, IdMap([])).tobytes()


def release_vector(release: Release, items: IdMap, *, only: str | None = None) -> Features:
    """Every number of a release, or of one part of it, in an order that means the same in every run.

    Tables with one row an item are laid out in the order of the catalog, with a mark for what is listed; so are arrays
    over the head of the catalog, where a part of that name says which items it is made of.
    """
    head, vectors = _head(release), []
    for name, part in sorted(release.parts.items()):
        if only not in (None, name):
            continue
        if isinstance(part, pl.DataFrame):
            vectors.append(_table(part, items))
        elif name != "head" and part.dtype.kind in "biuf":
            vectors.append(_spread(part.astype(np.float64), head, len(items)))
    if head is not None and only in (None, "head"):
        listed = np.zeros(len(items))
        listed[head] = 1.0
        vectors.append(listed)
    return np.concatenate([vector[:MOST] for vector in vectors])[:MOST] if vectors else np.zeros(0)


def released_by_item(release: Release, items: IdMap) -> Features:
    """Numbers of a release that belong to items, a row an item; 0 for what is not listed.

    Tables that have an ``item_id``, several rows of an item taken together, and arrays of which the first side is the
    catalog or the head of it.
    """
    head: Any = _head(release)
    columns: list[Features] = [np.zeros((len(items), 0))]
    for name, part in sorted(release.parts.items()):
        if isinstance(part, pl.DataFrame):
            if "item_id" in part.columns and part["item_id"].dtype == items.series.dtype:
                codes = items.encode(part["item_id"], unknown="mark")
                for numbers in _columns(part):
                    weights = np.nan_to_num(numbers[codes >= 0])
                    columns.append(
                        np.bincount(codes[codes >= 0], weights, len(items)).astype(np.float64)[:, np.newaxis]
                    )
        elif name != "head" and part.dtype.kind in "biuf" and part.ndim:
            if part.shape[0] == len(items):
                columns.append(part.astype(np.float64).reshape(len(items), -1))
            elif head is not None and part.shape[0] == head.size:
                laid = np.zeros((len(items), part[0].size))
                laid[head] = part.reshape(head.size, -1)
                columns.append(laid)
    return np.concatenate(columns, axis=1)


def _head(release: Release) -> Integers | None:
    """The items that arrays of a release are about, where it says so."""
    head = release.parts.get("head")
    return head if isinstance(head, np.ndarray) and head.ndim == 1 and head.dtype.kind in "iu" else None


def _columns(part: pl.DataFrame) -> list[Features]:
    numeric = [name for name, kind in part.schema.items() if kind.is_numeric() and name != "item_id"]
    return [part[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in numeric]


def _spread(values: Features, head: Integers | None, n_items: int) -> Features:
    """An array over the head as one over the catalog, where that is not too long."""
    if head is not None and n_items <= DENSE:
        for axis, size in enumerate(values.shape):
            if size == head.size:
                laid = np.zeros((*values.shape[:axis], n_items, *values.shape[axis + 1 :]))
                np.moveaxis(laid, axis, 0)[head] = np.moveaxis(values, axis, 0)
                values = laid
    return values.ravel()


def _table(part: pl.DataFrame, items: IdMap) -> Features:
    columns = _columns(part)
    if "item_id" in part.columns and part["item_id"].is_unique().all() and part["item_id"].dtype == items.series.dtype:
        codes = items.encode(part["item_id"], unknown="mark")
        rows, codes = np.flatnonzero(codes >= 0), codes[codes >= 0]
        laid = np.zeros((len(columns) + 1, len(items)))
        laid[-1, codes] = 1.0
        for line, numbers in zip(laid, columns, strict=False):
            line[codes] = numbers[rows]
        return laid.ravel()
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


def _codes(ids: list[Any], items: IdMap) -> Integers:
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


# Models without their noise, and what any history is shown


def noise_free(model: Recommender, *, like: Recommender | None = None) -> Recommender:
    """The same model, not fitted, with an epsilon that leaves no noise; a model without one as it is.

    Where a fitted model ``like`` it chose how many items to compare, the same number is compared.

    Examples
    --------
    >>> from discreet.neighbors import PrivateItemKNN
    >>> noise_free(PrivateItemKNN(epsilon=1, k=7)) == PrivateItemKNN(epsilon=10**9, k=7)
    True
    """
    copy = with_epsilon(model, NO_NOISE)
    chosen = getattr(like, "head_", None)
    if chosen is not None and getattr(copy, "head", 0) is None and len(chosen):
        return replace(copy, head=len(chosen))  # type: ignore[type-var]
    return copy


def with_epsilon(model: Recommender, epsilon: Any) -> Recommender:
    """The same model, not fitted, with another epsilon."""
    if not is_dataclass(model):
        raise UsageError(f"the settings of {type(model).__name__} cannot be changed.")
    return replace(model, epsilon=epsilon) if has_epsilon(model) else replace(model)


def has_epsilon(model: Recommender) -> bool:
    """Whether a model has a budget."""
    return is_dataclass(model) and any(field.name == "epsilon" for field in fields(model))


def least_history(model: Recommender) -> int:
    """How many records a person needs to be answered by a model."""
    return int(getattr(model, "least_ratings", 1))


def shown_scores(model: Recommender, users: Sequence[Hashable]) -> Features:
    """Scores of all items for these users, as a list of everything shows them; −inf for items they have touched."""
    scores = np.full((len(users), len(model.items_)), -np.inf)
    for begin in range(0, len(users), AT_ONCE):
        people = list(users[begin : begin + AT_ONCE])
        told = model.recommend(people, n=len(model.items_))
        place = {user: begin + row for row, user in enumerate(people)}
        rows = told["user_id"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        scores[rows, model.items_.encode(told["item_id"])] = told["score"].to_numpy()
    return scores


def shown_lists(model: Recommender, users: Sequence[Hashable], n: int) -> Mask:
    """Which items are among the best ``n`` of these users."""
    listed = np.zeros((len(users), len(model.items_)), dtype=bool)
    told = model.recommend(list(users), n=n)
    if told.height:
        place = {user: row for row, user in enumerate(users)}
        rows = told["user_id"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        listed[rows, model.items_.encode(told["item_id"])] = True
    return listed


def shown_answers(
    model: Recommender, items: Codes, *, user: Hashable | None = None, history: Mapping[Any, float] | None = None
) -> Features:
    """What one user, or somebody with that history, is shown about items, 2 × items; NaN where there is no answer.

    The first row has scores of a list of everything, which models need not clip to the scale, the second predictions.
    """
    scores, names = np.full(len(model.items_), np.nan), model.items_.decode(items)
    try:
        if history is None:
            told = model.recommend([user], n=scores.size, exclude_seen=False)
        else:
            told = model.recommend(history=history, n=scores.size, exclude_seen=False)
        scores[model.items_.encode(told["item_id"])] = told["score"].to_numpy()
    except BudgetError:
        pass  # some models answer a limited number of questions; a list of everything is too many
    if history is None:
        ratings = predicted(model, user, names)
    else:
        ratings = until_refused(lambda asked: model.predict(asked, history=history)["score"], names)
    return np.vstack([scores[items], ratings])


def predicts_ratings(model: Recommender, data: Interactions) -> bool:
    """Whether the secret is a rating: there is a scale with steps, and the model predicts on it."""
    if data.rating is None or data.scale is None or data.scale.step is None:
        return False
    fitted = noise_free(model).fit(data, allow_refuted=True)
    # A user with many records: every model has an answer then.
    busiest = data.users.take(np.array([np.argmax(data.records_per_user)], dtype=np.int32))[0]
    answers = shown_answers(fitted, np.arange(min(20, data.n_items), dtype=np.int32), user=busiest)
    return bool(np.isfinite(answers[1]).any())
