"""Metrics of ranked lists: precision, recall, nDCG, MAP, MRR and hit rate at k, for many users at once.

Every function takes the :class:`Matches` of :func:`match` and returns one value per user; the mean over users is the
metric. ``docs/metrics.md`` has all definitions, and how other libraries differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.errors import EvaluationError
from discreet.evaluation.checks import check_k, check_lengths
from discreet.evaluation.matches import Gains, Matches, RankedItems, match
from discreet.evaluation.scores import Scores

__all__ = [
    "RANKING_METRICS",
    "average_precision_at_k",
    "evaluate_ranking",
    "hit_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "recall_at_k",
    "reciprocal_rank_at_k",
    "truncated_recall_at_k",
]


def precision_at_k(matches: Matches, *, k: int) -> Floats:
    """Share of the first ``k`` places that hold a relevant item: hits / k.

    The denominator is k also for a shorter list: an empty place is a miss.

    Examples
    --------
    >>> import scipy.sparse
    >>> found = match(np.array([[0, 1, 2, 3]]), held_out=scipy.sparse.csr_array([[0, 1, 0, 1, 1]]))
    >>> precision_at_k(found, k=4)
    array([0.5])
    """
    return _hit_count(matches, k) / k


def recall_at_k(matches: Matches, *, k: int) -> Floats:
    """Share of **all** relevant items that are among the first ``k``: hits / relevant.

    With more than k relevant items even a perfect list stays below 1; see :func:`truncated_recall_at_k`.

    Examples
    --------
    >>> import scipy.sparse
    >>> found = match(np.array([[1, 0]]), held_out=scipy.sparse.csr_array([[0, 1, 0, 1, 1]]))
    >>> recall_at_k(found, k=2), truncated_recall_at_k(found, k=2)
    (array([0.33333333]), array([0.5]))
    """
    return _hit_count(matches, k) / matches.n_relevant


def truncated_recall_at_k(matches: Matches, *, k: int) -> Floats:
    """Hits / min(k, relevant), which can always reach 1. The Recall@k of Liang et al. (2018).

    References
    ----------
    D. Liang, R. Krishnan, M. Hoffman, T. Jebara. Variational autoencoders for collaborative filtering. WWW 2018.
    """
    return _hit_count(matches, k) / np.minimum(k, matches.n_relevant)


def ndcg_at_k(matches: Matches, *, k: int) -> Floats:
    """Discounted cumulative gain of the first ``k`` places over that of the best possible list.

        DCG@k = Σ_{i=1…k} gain_i / log₂(i + 1)

    The best list has the min(k, relevant) items of the highest gain, highest first. The gains are those of
    :func:`match`, by default 1 for each relevant item.

    References
    ----------
    K. Järvelin, J. Kekäläinen. Cumulated gain-based evaluation of IR techniques. ACM TOIS 20(4), 2002.
    C. Burges et al. Learning to rank using gradient descent. ICML 2005 (the discount log₂(i + 1); exponential gains).

    Examples
    --------
    >>> import scipy.sparse
    >>> found = match(np.array([[0, 1, 2]]), held_out=scipy.sparse.csr_array([[0, 1, 0]]))
    >>> ndcg_at_k(found, k=3).round(4)
    array([0.6309])
    """
    _check(matches, k)
    return _discounted(matches.hits, k) / _discounted(matches.ideal, k)


def average_precision_at_k(matches: Matches, *, k: int) -> Floats:
    """Precision at each hit among the first ``k``, summed, over min(k, relevant). Its mean over users is MAP@k.

        AP@k = 1/min(k, |R|) · Σ_{i ≤ k, i a hit} precision@i

    With k at least the number of relevant items this is the average precision of information retrieval.

    Examples
    --------
    >>> import scipy.sparse
    >>> found = match(np.array([[1, 0, 2]]), held_out=scipy.sparse.csr_array([[0, 1, 1]]))
    >>> average_precision_at_k(found, k=3)  # (1/1 + 2/3) / 2
    array([0.83333333])
    """
    _check(matches, k)
    precision_there = matches.hits.number() / matches.hits.place
    return matches.hits.total(precision_there, k=k) / np.minimum(k, matches.n_relevant)


def reciprocal_rank_at_k(matches: Matches, *, k: int) -> Floats:
    """1 / place of the first hit among the first ``k``, 0 where there is none. Its mean over users is MRR@k."""
    _check(matches, k)
    is_first = matches.hits.number() == 1
    return matches.hits.total(is_first / matches.hits.place, k=k)


def hit_at_k(matches: Matches, *, k: int) -> Floats:
    """1 where any of the first ``k`` is relevant, 0 elsewhere. Its mean over users is the hit rate."""
    return (_hit_count(matches, k) > 0).astype(np.float64)


RANKING_METRICS: Mapping[str, Callable[..., Floats]] = MappingProxyType(
    {
        "precision": precision_at_k,
        "recall": recall_at_k,
        "truncated_recall": truncated_recall_at_k,
        "ndcg": ndcg_at_k,
        "map": average_precision_at_k,
        "mrr": reciprocal_rank_at_k,
        "hit": hit_at_k,
    }
)


def evaluate_ranking(
    recommended: Any,
    *,
    held_out: Any,
    k: int | Sequence[int] = 10,
    metrics: Sequence[str] = tuple(RANKING_METRICS),
    gains: Gains = "binary",
    relevant_from: float | None = None,
) -> Scores:
    """Measure recommended lists on held-out records.

    Parameters
    ----------
    recommended, held_out, gains, relevant_from
        As in :func:`match`.
    k
        One list length, or several.
    metrics
        Any of ``precision``, ``recall``, ``truncated_recall``, ``ndcg``, ``map``, ``mrr``, ``hit``.

    Examples
    --------
    >>> from discreet.data import Interactions
    >>> held_out = Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")])
    >>> table = {"user_id": ["ann", "ann"], "item_id": ["gin", "rum"], "rank": [1, 2]}
    >>> print(evaluate_ranking(table, held_out=held_out, k=2, metrics=["recall", "mrr"]))
    recall@2  0.2500
    mrr@2     0.2500
    users: 2 · without a list: 1 · with a short list: 0 · without relevant items: 0 · unknown: 0
    """
    lengths = check_lengths(k)
    _check_metrics(metrics)
    matches = match(recommended, held_out=held_out, depth=max(lengths), gains=gains, relevant_from=relevant_from)
    columns = {f"{name}@{length}": RANKING_METRICS[name](matches, k=length) for name in metrics for length in lengths}
    return Scores(
        values={name: float(values.mean()) for name, values in columns.items()},
        counts={
            "users": len(matches),
            "without_a_list": int((matches.lengths == 0).sum()),
            "with_a_short_list": int(((matches.lengths > 0) & (matches.lengths < max(lengths))).sum()),
            "without_relevant_items": matches.n_without_relevant,
            "unknown": matches.n_unknown,
        },
        per_user=pl.DataFrame({"user_id": matches.users, **columns}),
    )


def _check_metrics(metrics: Sequence[str]) -> None:
    chosen = [] if isinstance(metrics, str) else list(metrics)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(RANKING_METRICS):
        raise EvaluationError(
            f"metrics must be a list with some of {', '.join(RANKING_METRICS)}, each once, got {metrics!r}."
        )


def _check(matches: Matches, k: int) -> None:
    if check_k(k) > (matches.depth or k):
        raise EvaluationError(
            f"k must be at most the matched depth ({matches.depth}), got {k}.", remedy="Match with a greater depth."
        )


def _hit_count(matches: Matches, k: int) -> Floats:
    _check(matches, k)
    return matches.hits.total(np.ones(matches.hits.user.size), k=k)


def _discounted(places: RankedItems, k: int) -> Floats:
    return places.total(places.gain / np.log2(places.place + 1), k=k)
