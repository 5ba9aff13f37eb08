"""What a client of a model is shown, as arrays over its items."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.attacks.games.observing import predicted, until_refused
from discreet.data.interactions import Interactions
from discreet.errors import BudgetError, UsageError
from discreet.models.recommender import Recommender

__all__ = ["NO_NOISE", "noise_free", "predicts_ratings", "shown_answers", "shown_lists", "shown_scores"]

NO_NOISE = 10**9
"""An epsilon at which the noise of every model of ours is far below the grid of its numbers."""

AT_ONCE = 400
"""Users for whom scores are asked at a time."""

Floats = NDArray[np.float64]


def noise_free(model: Recommender, *, like: Recommender | None = None) -> Recommender:
    """The same model, not fitted, with an epsilon that leaves no noise; a model without one as it is.

    Parameters
    ----------
    like
        A fitted model of the kind: where it chose how many items to compare, the same number is compared.

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


def shown_scores(model: Recommender, users: Sequence[Hashable]) -> Floats:
    """Scores of all items for these users, as a list of everything shows them; −inf for items they have touched."""
    scores = np.full((len(users), len(model.items_)), -np.inf)
    for begin in range(0, len(users), AT_ONCE):
        people = list(users[begin : begin + AT_ONCE])
        told = model.recommend(people, n=len(model.items_))
        place = {user: begin + row for row, user in enumerate(people)}
        rows = told["user_id"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        scores[rows, model.items_.encode(told["item_id"])] = told["score"].to_numpy()
    return scores


def shown_lists(model: Recommender, users: Sequence[Hashable], n: int) -> NDArray[np.bool_]:
    """Which items are among the best ``n`` of these users."""
    listed = np.zeros((len(users), len(model.items_)), dtype=bool)
    told = model.recommend(list(users), n=n)
    if told.height:
        place = {user: row for row, user in enumerate(users)}
        rows = told["user_id"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        listed[rows, model.items_.encode(told["item_id"])] = True
    return listed


def shown_answers(
    model: Recommender,
    items: NDArray[np.int32],
    *,
    user: Hashable | None = None,
    history: Mapping[Any, float] | None = None,
) -> Floats:
    """What one user, or somebody with that history, is shown about items; NaN where there is no answer.

    Returns
    -------
    array of 2 × items
        Scores of a list of everything, which models need not clip to the scale, and predicted ratings.
    """
    return np.vstack([_scores(model, items, user, history), _ratings(model, items, user, history)])


def _scores(
    model: Recommender, items: NDArray[np.int32], user: Hashable, history: Mapping[Any, float] | None
) -> Floats:
    scores = np.full(len(model.items_), np.nan)
    try:
        if history is not None:
            told = model.recommend(history=history, n=scores.size, exclude_seen=False)
        else:
            told = model.recommend([user], n=scores.size, exclude_seen=False)
        scores[model.items_.encode(told["item_id"])] = told["score"].to_numpy()
    except BudgetError:
        pass  # some models answer a limited number of questions; a list of everything is too many
    return scores[items]


def _ratings(
    model: Recommender, items: NDArray[np.int32], user: Hashable, history: Mapping[Any, float] | None
) -> Floats:
    names = model.items_.decode(items)
    if history is None:
        return predicted(model, user, names)
    return until_refused(lambda asked: model.predict(asked, history=history)["score"], names)


def predicts_ratings(model: Recommender, data: Interactions) -> bool:
    """Whether the secret is a rating: there is a scale with steps, and the model predicts on it."""
    if data.rating is None or data.scale is None or data.scale.step is None:
        return False
    fitted = noise_free(model).fit(data, allow_refuted=True)
    # A user with many records: every model has an answer then.
    busiest = data.users.take(np.array([np.argmax(data.records_per_user)], dtype=np.int32))[0]
    answers = shown_answers(fitted, np.arange(min(20, data.n_items), dtype=np.int32), user=busiest)
    return bool(np.isfinite(answers[1]).any())
