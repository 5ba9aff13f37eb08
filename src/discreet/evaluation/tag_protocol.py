"""Evaluation of recommended tags: one post of each user is held out, and its tags are predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data.interactions import Interactions
from discreet.data.splits import choose_users, seeded
from discreet.data.tags import TagAssignments
from discreet.errors import EvaluationError, UsageError
from discreet.evaluation.checks import check_lengths, check_number
from discreet.evaluation.ranking import evaluate_ranking
from discreet.evaluation.scores import Scores
from discreet.privacy.charging import sandbox
from discreet.tagging.recommenders.base import TagRecommender
from discreet.tagging.recommenders.local_tags import recommender
from discreet.tagging.tag_method import TagMethod

__all__ = ["PostQuestions", "evaluate_tags", "leave_one_post_out"]

METRICS = ("recall", "precision")


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
    model: TagRecommender | TagMethod | Callable[[TagAssignments], TagRecommender],
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
    bring = not isinstance(model, TagRecommender) if own is None else own
    lists = fitted.recommend(questions.queries, n=max(lengths), own=questions.train if bring else None)
    return evaluate_ranking(
        lists.rename({"tag": "item_id"}).drop("resource_id"),
        held_out=Interactions(questions.held_out.to_frame(), user="user_id", item="tag"),
        k=lengths,
        metrics=METRICS,
    )


def _fitted(model: Any, train: TagAssignments) -> TagRecommender:
    if isinstance(model, TagRecommender):
        return copy(model).fit(train)
    made = None
    if isinstance(model, TagMethod):
        made = recommender(model.release(train, allow_refuted=True))
    elif callable(model):
        made = model(train)
    if not isinstance(made, TagRecommender):
        raise UsageError(
            f"a {type(model).__name__} recommends no tags.",
            remedy="Give a TagRecommender, a TagMethod, or a function that makes a fitted TagRecommender of triples.",
        )
    return made
