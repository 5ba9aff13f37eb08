"""Who asks what in the study of PPNS: observers of the kNN attack, and people whose ratings are left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.games.sybil import SybilAttack
from discreet.data.interactions import Interactions

__all__ = ["Question", "attack_questions", "left_out", "turned", "whole"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Question:
    """Somebody with a few ratings who asks about other items.

    Attributes
    ----------
    items, ratings
        What the one who asks has rated.
    asked, truth
        The items in question, and how they were really rated.
    person
        Whose ratings those are: code of a user among the records.
    """

    items: NDArray[np.int32]
    ratings: Floats
    asked: NDArray[np.int32]
    truth: Floats
    person: int


def attack_questions(data: Interactions, *, known: int, choose: Any, targets: list[Any], seed: int) -> list[Question]:
    """The observers of the kNN attack: each has some ratings of a target and asks for the rest."""
    found = []
    for target in SybilAttack(k=1, known=known, choose=choose, fillers="copies").draw_targets(data, targets, seed):
        _, items, ratings = target.sybils  # with k = 1 the observer is the only one
        assert ratings is not None
        assert target.truth is not None
        found.append(Question(items, ratings, target.hidden, target.truth, target.target))
    return found


def left_out(data: Interactions, users: NDArray[np.integer], *, most: int, seed: int) -> list[Question]:
    """Each rating of some users in turn, asked of a profile that lacks it; at most ``most``, drawn by the seed."""
    found = []
    for question in whole(data, users):
        for place in range(question.asked.size if question.asked.size > 1 else 0):
            rest = np.arange(question.asked.size) != place
            one = slice(place, place + 1)
            found.append(
                Question(
                    question.items[rest],
                    question.ratings[rest],
                    question.asked[one],
                    question.truth[one],
                    question.person,
                )
            )
    if len(found) > most:
        kept = np.sort(np.random.default_rng(seed).choice(len(found), most, replace=False))
        found = [found[place] for place in kept]
    return found


def whole(data: Interactions, users: NDArray[np.integer]) -> list[Question]:
    """All ratings of some users, asked of profiles that contain them: the similarity has seen the answer."""
    assert data.rating is not None
    found = []
    for user in users.tolist():
        part = slice(*data.user_starts[user : user + 2])
        items, ratings = data.item[part], data.rating[part].astype(np.float64)
        found.append(Question(items, ratings, items, ratings, user))
    return found


def turned(data: Interactions) -> Interactions:
    """Items in the place of users: what is user-based on these is item-based on the others."""
    return Interactions({"user_id": data.item, "item_id": data.user, "rating": data.rating}, scale=data.scale)
