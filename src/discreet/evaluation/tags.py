"""Evaluation of tags: held-out posts whose tags are predicted, and the loss of meaning when tags are replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl

from discreet.common.arrays import AnyIntegers, Floats
from discreet.data.interactions import Interactions
from discreet.data.splits import choose_users, seeded
from discreet.data.tags import TagAssignments
from discreet.errors import EvaluationError, UsageError
from discreet.evaluation.checks import as_numbers, check_lengths, check_number
from discreet.evaluation.ranking import evaluate_ranking
from discreet.evaluation.scores import Scores
from discreet.privacy.charging import sandbox
from discreet.privacy.method import Method
from discreet.privacy.release import Release

__all__ = [
    "PostQuestions", "evaluate_tags", "js_divergence", "leave_one_post_out", "release_semantic_loss", "semantic_loss",
]  # fmt: skip

METRICS = ("recall", "precision")
PAIRS_AT_ONCE = 2_000_000
"""Topics × pairs of tags in one block."""


@runtime_checkable
class TagModel(Protocol):
    """A recommender of tags, as ``discreet.tagging.TagRecommender`` is."""

    def fit(self, data: TagAssignments) -> Any: ...
    def fit_release(self, release: Release) -> Any: ...
    def recommend(self, queries: Any, n: int = 10, *, own: TagAssignments | None = None) -> pl.DataFrame: ...


@dataclass(frozen=True, eq=False)
class PostQuestions:
    """One split of triples by posts: triples to fit on, and one held-out post of each test user."""

    train: TagAssignments
    held_out: TagAssignments

    @property
    def queries(self) -> list[tuple[Any, Any]]:
        """The user and the resource of each held-out post."""
        posts = self.held_out.posts
        users, resources = self.held_out.users.take(posts.user), self.held_out.resources.take(posts.resource)
        return list(zip(users.to_list(), resources.to_list(), strict=True))


def leave_one_post_out(data: TagAssignments, *, seed: int, users: int | None = None) -> PostQuestions:
    """Hold out one post of each user, chosen uniformly at random; a user's only post stays.

    Parameters
    ----------
    users
        The number of test users, chosen at random; None for all who have two posts.

    Examples
    --------
    >>> triples = [("ann", "blue", "jazz"), ("ann", "blue", "old"), ("ann", "hits", "pop"), ("bob", "hits", "pop")]
    >>> questions = leave_one_post_out(TagAssignments(triples), seed=1)
    >>> questions.queries, questions.train.n_users
    ([('ann', 'blue')], 2)
    """
    if not isinstance(data, TagAssignments):
        raise UsageError(f"posts are taken from TagAssignments, not from {type(data).__name__}.")
    posts = data.posts
    per_user = np.bincount(posts.user, minlength=data.n_users)
    able = np.flatnonzero(per_user >= 2)
    if not able.size:
        raise EvaluationError("no user has two posts.", remedy="Give triples of users who tagged several resources.")
    if users is not None:
        check_number(users, name="users", what="a number of users")
        if users > able.size:
            raise EvaluationError(f"{users:,} users were asked for, {able.size:,} have two posts.")
        able = able[choose_users(able.size, users, seed=seed)]
    # A number is drawn for every user, so that the choice of users does not change the held-out posts.
    draws = seeded(seed, "leave_one_post_out").random(data.n_users)
    first = np.cumsum(per_user) - per_user
    taken = first[able] + np.minimum((draws[able] * per_user[able]).astype(np.int64), per_user[able] - 1)
    held_out = np.zeros(len(posts), dtype=bool)
    held_out[taken] = True
    mask = np.repeat(held_out, np.diff(posts.starts))
    return PostQuestions(data.without_posts(held_out), data.filter(mask, independent=True))


def evaluate_tags(
    model: TagModel | Method | Callable[[TagAssignments], TagModel],
    data: TagAssignments | PostQuestions,
    *,
    n: int | Sequence[int] = 10,
    seed: int = 0,
    users: int | None = None,
    own: bool | None = None,
) -> Scores:
    """Recall and precision of recommended tags when one post of each user is left out.

    Parameters
    ----------
    model
        A recommender, which is fitted on the remaining triples; a method, with a release that ``recommender`` reads; or
        a function that returns a recommender fitted on the remaining triples.
    data
        Triples, or a split of them (then ``seed`` and ``users`` are ignored).
    n
        One list length, or several.
    seed, users
        As in ``leave_one_post_out``.
    own
        Whether the remaining triples of each user are given to ``recommend(own=)``. By default yes, except for a
        recommender, which was fitted on them: a release does not hold them.

    Returns
    -------
    Scores
        recall@n (hits over the tags of the post) and precision@n (hits over n), with the values of every user:
        ``compare(ours, against=theirs, metric="recall@10")`` is the paired t-test.

    Privacy
    -------
    Nothing is charged, and nothing made here can be released. **The figures are functions of the secret triples,
    computed without noise**: they are for the owner of the data.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.tagging import PopularTags
    >>> data = dc.synthetic.tags(users=60, resources=40, seed=7)
    >>> found = evaluate_tags(PopularTags(), data, n=[5, 10])
    >>> 0 < found["recall@5"] < found["recall@10"] < 1
    True
    """
    lengths = check_lengths(n)
    questions = data if isinstance(data, PostQuestions) else leave_one_post_out(data, seed=seed, users=users)
    with sandbox():
        fitted = _fitted(model, questions.train)
    bring = not isinstance(model, TagModel) if own is None else own
    lists = fitted.recommend(questions.queries, n=max(lengths), own=questions.train if bring else None)
    return evaluate_ranking(
        lists.rename({"tag": "item_id"}).drop("resource_id"),
        held_out=Interactions(questions.held_out.to_frame(), user="user_id", item="tag"),
        k=lengths,
        metrics=METRICS,
    )


def _fitted(model: Any, train: TagAssignments) -> TagModel:
    if isinstance(model, TagModel):
        return copy(model).fit(train)
    made = None
    read = getattr(model, "recommender", None)  # of a method that releases tags
    if read is not None:
        made = read(model.release(train, allow_refuted=True))
    elif callable(model):
        made = model(train)
    if not isinstance(made, TagModel):
        raise UsageError(
            f"a {type(model).__name__} recommends no tags.",
            remedy="Give a TagRecommender, a TagMethod, or a function that makes a fitted TagRecommender of triples.",
        )
    return made


# Semantic loss


def js_divergence(first: Any, second: Any) -> Floats:
    """Jensen-Shannon divergence of the rows of two tables, base 2: from 0 (equal) to 1 (disjoint).

    Examples
    --------
    >>> js_divergence([[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]).tolist()
    [1.0, 0.0]
    """
    one, other = as_numbers(first, what="probabilities"), as_numbers(second, what="probabilities")
    # Equal to the mean of two Kullback-Leibler divergences to the mean, with one logarithm fewer.
    middle = (one + other) / 2
    return np.clip(_entropy(middle) - (_entropy(one) + _entropy(other)) / 2, 0.0, 1.0)


def semantic_loss(data: TagAssignments, replacements: Any, *, topics: Any, largest: float = 1.0) -> Scores:
    """Mean distance of tags to their replacements, where the replacement of each tag is known.

        SLoss = 1/|U| · Σ_u ( Σ_{t ∈ P(u)} d(t, t̂) ) / ( max d · |T(u)| )

    Parameters
    ----------
    data
        The original triples.
    replacements
        For each triple the code of its new tag in ``data.tags``; −1 if it was suppressed, which is the largest loss.
    topics
        Pr(z | t): one row for each tag of ``data.tags``, summing to one.
    largest
        The max d of the formula. The divergence is at most 1; the largest divergence of your topics may be smaller.

    Returns
    -------
    Scores
        ``semantic_loss`` with the value of every user.

    Privacy
    -------
    The figure is a function of the secret triples, without noise.

    Notes
    -----
    d is the Jensen-Shannon divergence, base 2, of the topics of two tags. The loss of tag suppression is the share of
    suppressed tags, which gives the 0.2 of the thesis for σ = 0.8.

    References
    ----------
    T. Zhu, thesis (2014), equation 4.4.1; J. Parra-Arnau et al., "Privacy-preserving enhanced collaborative tagging",
    IEEE Transactions on Knowledge and Data Engineering 26 (2014).

    Examples
    --------
    >>> data = TagAssignments([("ann", "blue", "jazz"), ("ann", "hits", "pop"), ("bob", "blue", "jazz")])
    >>> loss = semantic_loss(data, [0, 0, -1], topics=[[1.0, 0.0], [0.5, 0.5]])
    >>> loss.of_users("semantic_loss").round(3).tolist()
    [0.156, 1.0]
    """
    table = _topics(data, topics)
    new = np.asarray(replacements)
    if new.shape != (len(data),) or not np.issubdtype(new.dtype, np.integer):
        raise EvaluationError(
            f"replacements of shape {new.shape} do not belong to {len(data):,} triples.",
            remedy="Give the code of one tag for each triple, -1 where there is none.",
        )
    if new.size and (new.min() < -1 or new.max() >= data.n_tags):
        raise EvaluationError(f"replacements hold a code outside of the {data.n_tags:,} tags.")
    if not 0 < largest <= 1:
        raise EvaluationError(f"largest={largest!r} is no largest divergence.", remedy="Give a number up to 1.")
    distance = np.full(len(data), largest)
    kept = np.flatnonzero(new >= 0)
    distance[kept] = np.minimum(_distances(table, data.tag[kept], new[kept]), largest)
    lost = np.bincount(data.user, weights=distance / largest, minlength=data.n_users).astype(np.float64)
    return _scores(data, lost)


def release_semantic_loss(data: TagAssignments, released: TagAssignments, *, topics: Any) -> Scores:
    """Semantic loss of a release of triples, where the replacement of each tag is not known.

    The tags of a user are matched to the released tags of the same user so that the sum of distances is smallest; a tag
    without a match is lost (distance 1). Additional released tags cost nothing, as in the formula.

    Parameters
    ----------
    data, topics
        As in ``semantic_loss``.
    released
        The triples of the release. Tags that are not in ``data`` are not matched.

    Notes
    -----
    The smallest sum is a lower bound of the loss with the true replacements.

    Examples
    --------
    >>> data = TagAssignments([("ann", "blue", "jazz"), ("ann", "hits", "pop"), ("bob", "blue", "jazz")])
    >>> released = TagAssignments([("ann", "hits", "jazz"), ("bob", "blue", "pop")])
    >>> loss = release_semantic_loss(data, released, topics=[[1.0, 0.0], [0.5, 0.5]])
    >>> loss.of_users("semantic_loss").round(3).tolist()
    [0.5, 0.311]
    """
    from scipy.optimize import linear_sum_assignment

    if not isinstance(released, TagAssignments):
        raise UsageError(f"a release of triples is TagAssignments, not {type(released).__name__}.")
    table = _topics(data, topics)
    tags = data.tags.encode(released.tags.series, unknown="mark")
    theirs = released.users.encode(data.users.series, unknown="mark")
    lost = np.zeros(data.n_users)
    for user, same in enumerate(theirs):
        before = data.tag[data.user_starts[user] : data.user_starts[user + 1]]
        after = np.empty(0, dtype=np.int32)
        if same >= 0:
            after = tags[released.tag[released.user_starts[same] : released.user_starts[same + 1]]]
            after = after[after >= 0]
        distances = _all_distances(table, before, after)
        row, column = linear_sum_assignment(distances)
        lost[user] = distances[row, column].sum() + before.size - row.size
    return _scores(data, lost)


def _topics(data: TagAssignments, topics: Any) -> Floats:
    if not isinstance(data, TagAssignments):
        raise UsageError(f"semantic loss is measured on TagAssignments, not on {type(data).__name__}.")
    table = as_numbers(topics, what="topics")
    if table.ndim != 2 or table.shape[0] != data.n_tags:
        raise EvaluationError(
            f"topics of shape {table.shape} do not have one row for each of {data.n_tags:,} tags.",
            remedy="Give Pr(z | t) in the order of data.tags.",
        )
    if table.min() < 0 or not np.allclose(table.sum(axis=1), 1.0, atol=1e-6):
        raise EvaluationError("a row of the topics is no probability.", remedy="Give Pr(z | t): rows that sum to one.")
    return table


def _scores(data: TagAssignments, lost: Floats) -> Scores:
    tags_of = np.diff(data.user_starts)
    counted = np.flatnonzero(tags_of > 0)
    loss = lost[counted] / tags_of[counted]
    return Scores(
        {"semantic_loss": float(loss.mean())},
        {"users": counted.size, "tags": len(data)},
        pl.DataFrame({"user_id": data.users.take(counted), "semantic_loss": loss}),
    )


def _distances(table: Floats, first: AnyIntegers, second: AnyIntegers) -> Floats:
    """Divergence of pairs of tags; each distinct pair is computed once."""
    keys, place = np.unique(first.astype(np.int64) * table.shape[0] + second, return_inverse=True)
    one, other = np.divmod(keys, table.shape[0])
    step = max(1, PAIRS_AT_ONCE // table.shape[1])
    parts = [
        js_divergence(table[one[begin : begin + step]], table[other[begin : begin + step]])
        for begin in range(0, one.size, step)
    ]
    return np.concatenate([np.empty(0), *parts])[place]


def _all_distances(table: Floats, before: AnyIntegers, after: AnyIntegers) -> Floats:
    """Divergence of each of some tags to each of others."""
    pairs = _distances(table, np.repeat(before, after.size), np.tile(after, before.size))
    return pairs.reshape(before.size, after.size)


def _entropy(law: Floats) -> Floats:
    """Entropy of each row in bits; 0·log 0 is 0."""
    logarithm = np.log2(law, out=np.zeros_like(law), where=law > 0)
    return -np.einsum("...i,...i->...", law, logarithm)
