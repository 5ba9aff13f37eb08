"""The bounds of Theorems 4.4.1 and 4.4.2 of Zhu's thesis beside the losses that are measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arrays import Floats, Integers
from discreet.data.tags import TagAssignments
from discreet.evaluation.tags import js_divergence, semantic_loss
from discreet.tagging import PriTop
from discreet.tagging.pritop.bounds import normalizer, perturbation_loss_bound, selection_loss_bound
from discreet.tagging.pritop.rewriting import members_of, noisy_sizes
from discreet.tagging.pritop.topics import TopicCounts

__all__ = ["BOUNDS", "loss_bounds"]

PERTURBATION_DELTAS, SELECTION_DELTAS = (0.05, 0.5), (0.5, 0.95)
"""δ of both theorems. With a small one the second says nothing about anybody."""

BOUNDS = {
    "statement": pl.String, "K": pl.Int64, "epsilon": pl.Float64, "users": pl.Int64, "measured": pl.Float64,
    "bound": pl.Float64, "within": pl.Float64, "promised": pl.Float64, "slack": pl.Float64,
}  # fmt: skip
"""Of the users about whom a theorem says something (α below 1): mean loss and mean α, the share whose loss is at most
α, the promised share, and the difference of the two, where two standard errors less count as the promised share."""


def loss_bounds(method: PriTop, data: TagAssignments, counts: TopicCounts, replaced: Integers) -> list[dict[str, Any]]:
    """One row for each theorem and δ, of one run.

    Parameters
    ----------
    method, data, counts
        What is run, on which triples, with which topics.
    replaced
        For each triple the code of the tag in its place; −1 where there is none.

    Notes
    -----
    SLoss₁ of a user is the share of the tags that noise on the topic weights deletes, each at the largest distance.
    SLoss₂ is the mean distance of the tags that were kept to what replaced them.
    """
    epsilon = float(method.epsilon)
    weights = method.profiles(data, counts).weights()
    tags = weights.sum(axis=1)
    sizes = noisy_sizes(weights, method.weight_scales(tags)[:, None])
    deleted = np.maximum(weights - sizes, 0).sum(axis=1) / np.maximum(tags, 1)
    kept = replaced >= 0
    chosen = data.filter(kept)
    lost = semantic_loss(chosen, replaced[kept], topics=counts.topic_given_tag).of_users("semantic_loss")
    largest = _largest_normalizers(method, chosen, counts)
    rows = []
    for delta in PERTURBATION_DELTAS:
        alpha = perturbation_loss_bound(tags[tags > 0], topics=method.topics, epsilon=epsilon, delta=delta)
        rows.append(_row(f"Theorem 4.4.1, δ = {delta:g}", deleted[tags > 0], alpha, delta))
    for delta in SELECTION_DELTAS:
        alpha = selection_loss_bound(largest, epsilon=epsilon, delta=delta)
        rows.append(_row(f"Theorem 4.4.2, δ = {delta:g}", lost, alpha, delta))
    return [{**row, "K": method.topics, "epsilon": epsilon} for row in rows]


def _row(statement: str, losses: Floats, alpha: Floats, delta: float) -> dict[str, Any]:
    told = alpha < 1
    loss, bound, users = losses[told], np.maximum(alpha[told], 0.0), int(told.sum())
    row: dict[str, Any] = {"statement": statement, "users": users, "promised": 1 - delta}
    if not users:
        return row
    within = float((loss <= bound).mean())
    at_least = 1 - delta - 2 * math.sqrt(delta * (1 - delta) / users)
    return row | {
        "measured": float(loss.mean()),
        "bound": float(bound.mean()),
        "within": within,
        "slack": within - at_least,
    }


def _largest_normalizers(method: PriTop, data: TagAssignments, counts: TopicCounts) -> Floats:
    """Q of each user with triples: the largest over the user's tags, each in the topic of its pair.

    Topics so large that no α is below 1 count with their number of tags, which is less than Q.
    """
    epsilon, most = float(method.epsilon), math.exp(float(method.epsilon) / 8) / (1 - max(SELECTION_DELTAS))
    members, topics = members_of(counts, method.members), counts.topic_given_tag
    profiles = method.profiles(data, counts)
    known: dict[tuple[int, int], float] = {}
    for topic, tag in set(zip(profiles.topic.tolist(), profiles.tag.tolist(), strict=True)):
        among = members[topic]
        value = float(among.size)
        if among.size and among.size <= most:
            value = normalizer(js_divergence(topics[[tag]], topics[among]), epsilon=epsilon)
        known[topic, tag] = max(1.0, value)
    largest = np.ones(data.n_users)
    pairs = zip(profiles.topic.tolist(), profiles.tag.tolist(), strict=True)
    np.maximum.at(largest, profiles.user, np.array([known[pair] for pair in pairs]))
    return largest[np.bincount(data.user, minlength=data.n_users) > 0]
