"""Answers of neighbor models to many questions at once, for the study of PPNS.

A model with neighbors answers from three things: who is how similar to the one who asks, who is chosen, and what the
chosen have rated. The similarities do not depend on the strategy, and the sybils of the kNN attack are copies of the
one who asks. So instead of one fit for each target, strategy and number of sybils, as ``SybilAttack`` has it, the
similarities are computed once and every strategy draws from them; the answers follow the same law.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.games.sybil import SybilAttack
from discreet.attacks.games.sybil_targets import guessed_right
from discreet.common.arrays import AnyIntegers, Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.neighbors.pair_table import PairTable
from discreet.neighbors.prediction import Chosen, parts_of_size, weighted_mean
from discreet.neighbors.selection import CandidateLists, Candidates, SelectionStrategy
from discreet.neighbors.similarity import Similarity, pair_sensitivities

__all__ = ["Panel", "Question", "RatingPool", "Score", "attack_questions", "left_out", "turned", "whole"]

Score = dict[str, float]
"""How good answers were: "MAE" of those that were given and its standard error "±", NaN where none was; and shares of
*all* questions: "exact" for the very rating, "right" for the rating after rounding, "unanswered".
"""

NOBODY = -1
PROFILES = 1_000
"""How many askers are compared with all users at a time."""

EXACT = 1e-6
"""An answer this close to the rating is the rating itself, and no average that happens to round to it."""

BEHIND = 1e-6
"""What it takes to stand behind somebody of the same similarity."""

# Who asks what


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

    items: Codes
    ratings: Floats
    asked: Codes
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


def left_out(data: Interactions, users: AnyIntegers, *, most: int, seed: int) -> list[Question]:
    """Each rating of some users in turn, asked of a profile that lacks it; at most ``most``, drawn by the seed."""
    found = []
    for question in whole(data, users):
        for place in range(question.asked.size if question.asked.size > 1 else 0):
            items, ratings = np.delete(question.items, place), np.delete(question.ratings, place)
            one = slice(place, place + 1)
            found.append(Question(items, ratings, question.asked[one], question.truth[one], question.person))
    if len(found) > most:
        kept = np.sort(np.random.default_rng(seed).choice(len(found), most, replace=False))
        found = [found[place] for place in kept]
    return found


def whole(data: Interactions, users: AnyIntegers) -> list[Question]:
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


# Who answers


class RatingPool:
    """The users who can be neighbors, and their ratings.

    Parameters
    ----------
    data
        The records, with ratings on a scale.
    """

    def __init__(self, data: Interactions) -> None:
        assert data.scale is not None
        self.data, self.scale, self.n_users = data, data.scale, data.n_users
        # NaN where there is no rating; the last row is of somebody who has rated nothing.
        self.ratings = np.full((data.n_users + 1, data.n_items), np.nan, dtype=np.float32)
        self.ratings[data.user, data.item] = data.rating


class Panel:
    """The similarity of all users to each of the askers.

    Parameters
    ----------
    pool
        Who can be a neighbor.
    questions
        Who asks what.
    similarity
        Which similarity.
    """

    def __init__(self, pool: RatingPool, questions: list[Question], similarity: Similarity) -> None:
        self.pool, self.questions, self.similarity = pool, questions, similarity
        self._similarity, self._sensitivity = _compared(pool.data, questions, similarity)

    @cached_property
    def _own(self) -> tuple[Floats, Floats]:
        """Similarity and RS of those who ask to exact copies of themselves: needed only where there are sybils."""
        return _own(self.pool.data, self.questions, self.similarity)

    def ask(
        self,
        strategy: SelectionStrategy,
        *,
        draws: int = 1,
        fillers: int = 0,
        present: bool = True,
        favored: bool = False,
    ) -> Score:
        """Let every question be answered.

        Parameters
        ----------
        strategy
            Who is chosen among all users; the thesis counts those of similarity 0, too. The neighbors answer by its
            equation 3.5: the mean, weighted by similarity, of the ratings of those who have rated the item.
        draws
            How often neighbors are drawn for each question.
        fillers
            How many exact copies of the one who asks are among the candidates; they know nothing more.
        present
            Whether the person, whose ratings they are, is among the candidates.
        favored
            Whether the person goes first among equals, then the fillers, then the others: a strategy must break ties
            by "id" for that. It is done by taking a millionth off the others, which a cut by similarity sees, too.
        """
        errors, given, exact, right = [], [], [], []
        cells = np.full(len(self.questions), draws * (self.pool.n_users + fillers))
        for part in parts_of_size(cells):
            places = np.repeat(np.arange(len(self.questions))[part], draws)
            chosen, weight = self._choose(strategy, places, fillers=fillers, present=present, favored=favored)
            for place, answer in self._answers(places, chosen, weight):
                truth = self.questions[place].truth
                clipped = np.clip(answer, float(self.pool.scale.low), float(self.pool.scale.high))
                answered = np.isfinite(clipped)
                error = np.abs(clipped - truth)
                errors.append(error[answered])
                given.append(answered)
                exact.append(error <= EXACT)  # false for NaN
                right.append(guessed_right(clipped, truth, self.pool.scale))
        flat = np.concatenate(errors)
        return {
            "MAE": float(flat.mean()) if flat.size else float("nan"),
            "±": float(flat.std() / np.sqrt(flat.size)) if flat.size else float("nan"),
            "exact": float(np.concatenate(exact).mean()),
            "right": float(np.concatenate(right).mean()),
            "unanswered": 1 - float(np.concatenate(given).mean()),
        }

    def alphas(self, strategy: SelectionStrategy) -> Floats:
        """Summed similarity of the neighbors that each question draws once, the person left out: Lu's accuracy."""
        found = []
        for part in parts_of_size(np.full(len(self.questions), self.pool.n_users)):
            places = np.arange(len(self.questions))[part]
            _, weight = self._choose(strategy, places, fillers=0, present=False, favored=False)
            found.append(weight.sum(axis=1))
        return np.concatenate(found)

    def lists(self) -> Iterator[Candidates]:
        """The candidates of each question, the person left out."""
        for place, question in enumerate(self.questions):
            similarity = np.delete(self._similarity[place].astype(np.float64), question.person)
            yield Candidates(similarity, np.delete(self._sensitivity[place].astype(np.float64), question.person))

    def _choose(
        self, strategy: SelectionStrategy, places: Integers, *, fillers: int, present: bool, favored: bool
    ) -> tuple[Integers, Floats]:
        """Codes of the chosen, −1 for none, and their weights; codes from the number of users on are fillers."""
        person = np.array([self.questions[place].person for place in places])
        rows = np.arange(places.size)
        similarity = self._similarity[places].astype(np.float64)
        sensitivity = self._sensitivity[places].astype(np.float64)
        if fillers:
            own = [np.repeat(values[places, None], fillers, axis=1) for values in self._own]
            similarity, sensitivity = np.hstack([similarity, own[0]]), np.hstack([sensitivity, own[1]])
        keep = np.ones(similarity.shape, dtype=bool)
        if not present:
            keep[rows, person] = False
        if favored:
            lowered = np.ones(similarity.shape, dtype=bool)
            lowered[rows, person] = False
            lowered[:, self.pool.n_users :] = False
            similarity = np.where(lowered, similarity - BEHIND * np.abs(similarity), similarity)
        starts = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
        lists = CandidateLists(similarity[keep], starts, sensitivity[keep])
        taken = strategy.choose_many(lists)
        weight = strategy.weights_many(lists, taken)
        codes = np.append(np.nonzero(keep)[1], NOBODY)
        return codes[np.where(taken >= 0, starts[:-1, None] + taken, codes.size - 1)], weight

    def _answers(self, places: Integers, chosen: Integers, weight: Floats) -> Iterator[tuple[int, Floats]]:
        """What the chosen say, draw by draw."""
        # Fillers say nothing about what is asked, and nobody says nothing.
        speaking = np.where((chosen < 0) | (chosen >= self.pool.n_users), self.pool.n_users, chosen)
        for draw, place in enumerate(places.tolist()):
            value = self.pool.ratings[speaking[draw][None, :], self.questions[place].asked[:, None]].astype(np.float64)
            told = Chosen(np.broadcast_to(chosen[draw], value.shape), np.broadcast_to(weight[draw], value.shape), value)
            yield place, weighted_mean(told, means=None)


def _compared(
    data: Interactions, questions: list[Question], similarity: Similarity
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Similarity and RS (by the lemma) of those who ask, one row each, to all users."""
    from scipy.sparse import csr_array

    table = PairTable(data, axis="user", similarity=similarity, form="lemma", whole=False)
    found = []
    for begin in range(0, len(questions), PROFILES):
        part = questions[begin : begin + PROFILES]
        columns = np.concatenate([question.items for question in part])
        starts = np.cumsum([0, *(question.items.size for question in part)])
        ratings = np.concatenate([question.ratings for question in part])
        found.append(table.newcomers(csr_array((ratings, columns, starts), shape=(len(part), data.n_items))))
    return np.vstack([part.similarity for part in found]), np.vstack([part.lemma for part in found])


def _own(data: Interactions, questions: list[Question], similarity: Similarity) -> tuple[Floats, Floats]:
    """Similarity and RS of those who ask to exact copies of themselves."""
    found = np.zeros((2, len(questions)))
    for begin in range(0, len(questions), PROFILES):
        part = questions[begin : begin + PROFILES]
        alone = Interactions(
            {
                "user_id": np.repeat(np.arange(len(part)), [question.items.size for question in part]),
                "item_id": np.concatenate([question.items for question in part]),
                "rating": np.concatenate([question.ratings for question in part]),
            },
            scale=data.scale,
        )
        pairs = pair_sensitivities(alone, axis="user", similarity=similarity)
        found[:, begin : begin + PROFILES] = np.diag(pairs.similarity), np.diag(pairs.lemma)
    return found[0], found[1]
