"""Coverage of the catalog by the lists, evenness, and popularity of the recommended items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arrays import Floats, Integers
from discreet.data import Interactions
from discreet.errors import EvaluationError
from discreet.evaluation.checks import as_numbers, check_lengths
from discreet.evaluation.lists import RankedLists, ranked_lists
from discreet.evaluation.scores import Scores

__all__ = ["catalog_coverage", "evaluate_catalog", "gini", "popularity_percentiles"]


def catalog_coverage(counts: Any) -> float:
    """Share of the catalog that is recommended to at least one user.

    Parameters
    ----------
    counts
        How often each item of the catalog is recommended, zeros included.

    Examples
    --------
    >>> catalog_coverage([3, 0, 1, 0])
    0.5
    """
    return float((_amounts(counts) > 0).mean())


def gini(counts: Any) -> float:
    """Gini coefficient: 0 when every item is recommended equally often, (n − 1) / n when one item takes all.

        G = Σ_{i=1…n} (2i − n − 1)·x₍ᵢ₎ / (n·Σ_i x_i)  with x₍₁₎ ≤ … ≤ x₍ₙ₎

    Parameters
    ----------
    counts
        How often each item of the catalog is recommended, zeros included. Without the zeros every recommender looks
        fair.

    Examples
    --------
    >>> gini([5, 5, 5, 5]), gini([0, 0, 0, 8])
    (0.0, 0.75)
    """
    amounts = np.sort(_amounts(counts))
    if amounts[-1] == 0:
        raise EvaluationError("nothing is recommended.", remedy="Give positive counts.")
    n = amounts.size
    weights = 2 * np.arange(1, n + 1) - n - 1
    # Rounding can make the value of an even distribution slightly negative.
    return max(0.0, float(weights @ amounts / (n * amounts.sum())))


def popularity_percentiles(popularity: Any) -> Floats:
    """The percentile of each item among the items with any popularity: 1 for the most popular, 0 for an unused one.

    Items of equal popularity share the mean of their ranks; ranks are divided by the number of items with any.

    Examples
    --------
    >>> popularity_percentiles([0, 1, 5, 1, 9])
    array([0.   , 0.375, 0.75 , 0.375, 1.   ])
    """
    from scipy.stats import rankdata

    amounts = _amounts(popularity)
    used = amounts > 0
    percentiles = np.zeros(amounts.size)
    percentiles[used] = rankdata(amounts[used]) / max(1, used.sum())
    return percentiles


def evaluate_catalog(recommended: Any, *, trained_on: Any, k: int | Sequence[int] = 10) -> Scores:
    """Coverage, concentration and popularity of what is recommended.

    ``catalog_coverage@k`` and ``gini@k`` are over all lists together; ``popularity@k`` (records in the training data)
    and ``popularity_percentile@k`` are the mean over each list, then over the lists that have anything in the first k
    places.

    Parameters
    ----------
    recommended
        A table ``user_id, item_id, rank`` or a matrix of item codes padded with −1, as in :func:`match`.
    trained_on
        The :class:`Interactions` that the model was fitted on: its items are the catalog, its records their popularity.
        With a matrix, an array of the popularity of each item is possible, too.
    k
        One list length, or several.

    Examples
    --------
    >>> trained_on = Interactions([("ann", "tea"), ("bob", "tea"), ("ann", "rum"), ("eve", "gin")])
    >>> table = {"user_id": ["ann", "bob"], "item_id": ["tea", "tea"], "rank": [1, 1]}
    >>> print(evaluate_catalog(table, trained_on=trained_on, k=1))
    catalog_coverage@1       0.3333
    gini@1                   0.6667
    popularity@1             2.0000
    popularity_percentile@1  1.0000
    items: 3 · lists: 2 · empty: 0
    """
    depths = check_lengths(k)
    popularity = trained_on.records_per_item if isinstance(trained_on, Interactions) else _amounts(trained_on)
    catalog = trained_on.items if isinstance(trained_on, Interactions) else None
    lists = ranked_lists(recommended, items=catalog, n_items=popularity.size, depth=max(depths))
    if (lists.item < 0).any():
        raise EvaluationError(
            f"{int((lists.item < 0).sum()):,} recommendations are of items that the training data do not have.",
            remedy="Declare the whole catalog with trained_on.with_catalog(…).",
        )
    percentiles = popularity_percentiles(popularity)
    values: dict[str, float] = {}
    columns: dict[str, Floats] = {}
    for depth in depths:
        counts = _times_shown(lists, depth, popularity.size)
        values[f"catalog_coverage@{depth}"] = catalog_coverage(counts)
        values[f"gini@{depth}"] = gini(counts)
        for name, worth in (("popularity", popularity), ("popularity_percentile", percentiles)):
            columns[f"{name}@{depth}"] = _list_means(lists, worth, depth)
            values[f"{name}@{depth}"] = float(np.nanmean(columns[f"{name}@{depth}"]))
    filled = lists.lengths() > 0
    per_user = pl.DataFrame({"user_id": lists.user_ids(np.arange(lists.n_users)), **columns})
    return Scores(
        values=values,
        counts={"items": popularity.size, "lists": int(filled.sum()), "empty": int((~filled).sum())},
        per_user=per_user.with_columns(pl.col(*columns).fill_nan(None)),
    )


def _times_shown(lists: RankedLists, depth: int, n_items: int) -> Integers:
    shown = lists.place <= depth
    if not shown.any():
        raise EvaluationError(f"nothing is recommended in the first {depth} places.", remedy="Give longer lists.")
    return np.bincount(lists.item[shown], minlength=n_items)


def _list_means(lists: RankedLists, worth: NDArray[Any], depth: int) -> Floats:
    """Mean worth of each user's first items; NaN for an empty list."""
    shown = lists.place <= depth
    total = np.bincount(lists.user[shown], weights=worth[lists.item[shown]], minlength=lists.n_users)
    means = np.full(lists.n_users, np.nan)
    length = lists.lengths(depth)
    np.divide(total, length, out=means, where=length > 0)
    return means


def _amounts(counts: Any) -> Floats:
    amounts = as_numbers(counts, what="counts")
    if amounts.ndim != 1 or amounts.min() < 0:
        raise EvaluationError(
            f"counts of shape {amounts.shape} from {amounts.min():g} to {amounts.max():g} are not one count per item.",
            remedy="Give a list of counts from 0.",
        )
    return amounts
