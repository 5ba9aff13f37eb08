"""The splits of an evaluation: records to fit on, records given at use, records to predict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from discreet.data import splits
from discreet.data.interactions import Interactions
from discreet.errors import EvaluationError
from discreet.privacy.numbers import Rational

__all__ = ["RATING_PROTOCOLS", "Questions", "strong_generalization"]

MOST_TEST_USERS = 10_000
TENTH = 0.1
"""The share of the records that ``holdout`` tests on, and the share that it leaves for tuning."""


@dataclass(frozen=True)
class Questions:
    """One split: records to fit the model on, records of the test users that it gets at use, and records to predict."""

    train: Interactions
    told: Interactions
    held_out: Interactions


def strong_generalization(
    data: Interactions,
    seed: int,
    test_users: int | None,
    fold_in: float,
    least_likes: int,
    positive: Rational | None,
) -> Questions:
    """Test users are held out, and the model gets a share of what they like."""
    from discreet.factors.private_recommender import liked_records

    likes = liked_records(data, positive)
    likes = likes.filter((likes.records_per_user >= least_likes)[likes.user], independent=True)
    number = min(MOST_TEST_USERS, math.ceil(likes.n_users / 10)) if test_users is None else test_users
    if not 1 <= number < likes.n_users:
        raise EvaluationError(
            f"{number:,} of {likes.n_users:,} users with {least_likes} likes cannot be held out.",
            remedy="Give more records, fewer test_users, or lower least_likes or positive.",
        )
    cut = splits.strong_generalization(likes, held_out_users=number, fold_in=fold_in, seed=seed)
    return Questions(cut.train, cut.fold_in, cut.target)


def holdout(data: Interactions, seed: int) -> Questions:
    """A random tenth of the records is tested, another tenth is left for tuning."""
    tenth = int(TENTH * len(data))
    if tenth < 1:
        raise EvaluationError(f"a tenth of {len(data)} records cannot be held out.", remedy="Give more records.")
    part = np.zeros(len(data), dtype=np.int64)
    order = splits.seeded(seed, "holdout").permutation(len(data))
    part[order[:tenth]], part[order[tenth : 2 * tenth]] = 1, 2
    train = data.filter(part == 0)
    return Questions(train, train, data.filter(part == 1))


def all_but_one(data: Interactions, seed: int) -> Questions:
    """One random record of each user is tested."""
    cut = splits.all_but_one(data, seed=seed)
    return Questions(cut.train, cut.train, cut.test)


def leave_one_out(data: Interactions, seed: int) -> Questions:
    """The latest record of each user is tested, a random one where there are no times."""
    cut = splits.leave_one_out(data, without_times="random", seed=seed)
    return Questions(cut.train, cut.train, cut.test)


RATING_PROTOCOLS: Mapping[str, Callable[[Interactions, int], Questions]] = {
    "holdout": holdout,
    "all-but-one": all_but_one,
    "leave-one-out": leave_one_out,
}
