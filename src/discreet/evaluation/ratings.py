"""Errors of predicted ratings."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice
from discreet.common.arrays import Codes, Floats, Mask
from discreet.data import Interactions
from discreet.data.frames import as_frame
from discreet.errors import EvaluationError
from discreet.evaluation.checks import Missing, as_numbers, check_same_shape
from discreet.evaluation.lists import encode
from discreet.evaluation.scores import Scores

__all__ = ["evaluate_ratings"]


def evaluate_ratings(predicted: Any, *, held_out: Interactions, missing: Missing = "error") -> Scores:
    """MAE, RMSE, both by user, and coverage of predictions for held-out ratings.

    ``mae`` is 1/n·Σ|r̂ − r| and ``rmse`` √(1/n·Σ(r̂ − r)²) over
    all answered predictions. ``mae_by_user`` and ``rmse_by_user`` are the means of each user's own error: every
    user weighs the same. ``coverage`` is the share of the held-out ratings that have a prediction.

    Parameters
    ----------
    predicted
        A table with ``user_id``, ``item_id`` and ``score`` in any order of rows, or an array (or series) with one
        prediction for each record of ``held_out`` in its order. A pair that is not in the table, a null and a NaN are
        unanswered; pairs that were not held out are counted as surplus and otherwise ignored.
    held_out
        The ratings that the model has not seen.
    missing
        What to do about missing predictions: ``"error"`` refuses them; ``"skip"`` measures those that there are. Report
        the coverage then: a system that answers only easy questions looks good.

    Examples
    --------
    >>> held_out = Interactions([("ann", "tea", 4), ("ann", "rum", 2), ("bob", "tea", 5)], scale="1:5")
    >>> table = {"user_id": ["bob", "ann", "ann"], "item_id": ["tea", "tea", "rum"], "score": [4.0, 4.0, 3.0]}
    >>> print(evaluate_ratings(table, held_out=held_out))
    mae           0.6667
    rmse          0.8165
    mae_by_user   0.7500
    rmse_by_user  0.8536
    coverage      1.0000
    predictions: 3 · unanswered: 0 · surplus: 0 · users: 2 · users unanswered: 0
    """
    if held_out.rating is None:
        raise EvaluationError("the held-out records have no ratings.", remedy="Use evaluate_ranking.")
    is_array = isinstance(predicted, np.ndarray | pl.Series)
    predictions, surplus = (predicted, 0) if is_array else _aligned_predictions(predicted, held_out)
    errors, answered = _errors(predictions, held_out.rating, missing)
    user, n_users = held_out.user[answered], held_out.n_users
    mae_of, rmse_of = _user_means(errors, user, n_users, power=1), _user_means(errors, user, n_users, power=2)
    per_user = pl.DataFrame({"user_id": held_out.users.series, "mae": mae_of, "rmse": rmse_of}).with_columns(
        pl.col("mae", "rmse").fill_nan(None)
    )
    return Scores(
        values={
            "mae": float(np.abs(errors).mean()),
            "rmse": float(np.sqrt(np.square(errors).mean())),
            "mae_by_user": float(np.nanmean(mae_of)),
            "rmse_by_user": float(np.nanmean(rmse_of)),
            "coverage": float(answered.mean()),
        },
        counts={
            "predictions": errors.size,
            "unanswered": answered.size - errors.size,
            "surplus": surplus,
            "users": int((~np.isnan(mae_of)).sum()),
            "users_unanswered": int(np.isnan(mae_of).sum()),
        },
        per_user=per_user,
    )


def _errors(predicted: Any, actual: Any, missing: Missing) -> tuple[Floats, Mask]:
    """Errors of the answered predictions, and which were answered."""
    require_choice(missing, "missing", ("error", "skip"), error=EvaluationError)
    predictions = as_numbers(predicted, what="predictions", allow_nan=True)
    ratings = as_numbers(actual, what="actual ratings")
    check_same_shape(predictions, ratings, what=("predictions", "actual ratings"))
    answered = ~np.isnan(predictions)
    if missing == "error" and not answered.all():
        raise EvaluationError(
            f"{int((~answered).sum()):,} of {answered.size:,} predictions are missing (NaN); the first is at "
            f"position {int(np.argmin(answered))}.",
            remedy="Give the model a fallback, or measure what was answered with missing='skip'.",
        )
    if not answered.any():
        raise EvaluationError("all predictions are missing.")
    return (predictions - ratings)[answered], answered


def _user_means(errors: Floats, user: Codes, n_users: int, *, power: int) -> Floats:
    """Each user's power mean of the absolute errors; NaN for users without any."""
    number = np.bincount(user, minlength=n_users)
    total = np.bincount(user, weights=np.abs(errors) ** power, minlength=n_users)
    mean = np.full(n_users, np.nan)
    np.divide(total, number, out=mean, where=number > 0)
    return mean if power == 1 else mean ** (1 / power)


def _aligned_predictions(predicted: Any, held_out: Interactions) -> tuple[Floats, int]:
    """A prediction for each held-out record, NaN where the table has none; and how many rows were for other pairs."""
    frame = as_frame(predicted, ["user_id", "item_id", "score"], ids=("user_id", "item_id"))
    user = encode(frame, "user_id", held_out.users)
    item = encode(frame, "item_id", held_out.items)
    score = as_numbers(_scores(frame), what="predictions", allow_nan=True)
    told = pl.DataFrame({"user": user, "item": item, "score": score}).filter(pl.col("user") >= 0, pl.col("item") >= 0)
    twice = told.filter(told.select("user", "item").is_duplicated())
    if twice.height:
        raise EvaluationError(
            f"user {held_out.users.decode([twice['user'][0]])[0]!r} has more than one prediction for item "
            f"{held_out.items.decode([twice['item'][0]])[0]!r}.",
            remedy="Give one prediction for each pair.",
        )
    asked = pl.DataFrame({"user": held_out.user, "item": held_out.item}).cast(pl.Int64)
    found = asked.join(told, on=["user", "item"], how="left", maintain_order="left")["score"]
    return found.fill_null(float("nan")).to_numpy(), len(frame) - told.join(
        asked, on=["user", "item"], how="semi"
    ).height


def _scores(frame: pl.DataFrame) -> Floats:
    if "score" not in frame.columns:
        raise EvaluationError("the table of predictions has no column 'score'.", remedy="Name the predictions 'score'.")
    column = frame["score"]
    if not (column.dtype.is_numeric() or column.dtype == pl.Null):
        raise EvaluationError(f"the column 'score' holds {column.dtype} values.", remedy="Predictions are numbers.")
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
