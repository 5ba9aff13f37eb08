"""Public features, and what they tell about items outside the head of a ranking model. All of it is post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.common.arrays import Codes, Floats, Integers

__all__ = ["RareItems", "feature_names"]

SAID = 0.2
"""How much a rare item says about others, beside what items of the head with its features do on average."""

SHOWN = 2.0
"""How much is said about rare items, beside what is said about items of the head with their features."""

MOST_SHOWN, TIMES_HEAD = 2_000, 3
"""So many rare items at most compete with those of the head, and so many times as many as it has."""

RIDGE = 0.01


def feature_names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Names of columns, also as one text with commas between them, as on the command line.

    Examples
    --------
    >>> feature_names("genres, year"), feature_names(["genres"])
    (('genres', 'year'), ('genres',))
    """
    return tuple(name.strip() for name in given.split(",") if name.strip()) if isinstance(given, str) else tuple(given)


@dataclass(frozen=True)
class RareItems:
    """What items outside the head say about others, and what is said about them.

    A weighted least-squares fit of what the head says on its features stands for them: of what items with a feature
    say, and of what is said about them relative to how popular they are.

    Parameters
    ----------
    codes
        The most popular of them, which can be shown.
    said
        features × head: what an item with each feature says about the head.
    shown
        head × codes: what is said about an item of the head says so much about each of them.
    starts, features, strengths
        For every item outside the head, from ``starts[code]`` to ``starts[code + 1]``, its features and how much each
        counts; nothing for the items of the head.
    """

    codes: Codes
    said: Floats
    shown: Floats
    starts: Integers
    features: Integers
    strengths: Floats

    @classmethod
    def of(
        cls, tastes: Floats, head: Codes, features: Floats, weights: Floats, direction: Floats, popular: Floats
    ) -> RareItems:
        """Read them off what the head says.

        Parameters
        ----------
        tastes
            head × head: what each item of the head says about each.
        features
            0/1 columns of all items.
        weights, direction, popular
            Of all items: how they weigh in a taste, what a taste looks like that is mere popularity, and noisy
            popularity.
        """
        known, rare = features[head], np.setdiff1d(np.arange(popular.size), head)
        best = rare[np.argsort(-popular[rare], kind="stable")[: min(MOST_SHOWN, TIMES_HEAD * head.size)]]
        codes = np.sort(best).astype(np.int32)
        trust = known.T * (direction / weights)[head]
        square = trust @ known
        square += RIDGE * max(np.trace(square) / square.shape[0], 1e-9) * np.eye(square.shape[0])
        said = np.linalg.solve(square, trust) @ tastes
        shown = np.linalg.solve(square, known.T / weights[head]).T @ features[codes].T
        outside = features.copy()
        outside[head] = 0
        item, feature = outside.nonzero()
        starts = np.searchsorted(item, np.arange(popular.size + 1))
        return cls(codes, said, SHOWN * shown * direction[codes], starts, feature, SAID * weights[item])

    def spoken(
        self, starts: Integers, codes: Codes, rows: Integers, strengths: Floats
    ) -> tuple[Integers, Integers, Floats]:
        """Histories of items as histories of rows: items outside the head (row −1) speak through their features.

        Parameters
        ----------
        starts
            Where each history begins.
        codes, rows, strengths
            The items, their rows in the head, and how strongly each is liked.
        """
        many = np.where(rows >= 0, 1, self.starts[codes + 1] - self.starts[codes])
        ends = np.concatenate([[0], np.cumsum(many)])
        entry = np.repeat(np.arange(codes.size), many)
        found, strong = rows[entry], strengths[entry]
        rare = np.flatnonzero(found < 0)
        at = self.starts[codes[entry[rare]]] + rare - ends[entry[rare]]
        found[rare] = self.said.shape[1] + self.features[at]
        strong[rare] *= self.strengths[at]
        return ends[starts], found, strong
