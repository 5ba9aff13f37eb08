"""Whose secret a noisy neighbor mean keeps: what that decides about neighbors, questions and noise.

``NoisyNeighborMean`` does the bookkeeping and leaves everything that the proof speaks of to a level: ``UserLevel``
here, ``RatingLevel`` in ``drawn_neighbors``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.neighbors.asking import Roster
from discreet.neighbors.item_means import ItemMeans, item_sums
from discreet.neighbors.neighbor_sums import BITS, bounded_questions, neighbor_sums
from discreet.neighbors.pair_likeness import Likeness, Raters
from discreet.neighbors.questions import Answers, Key, Recipient, question_key
from discreet.privacy.bounding import BoundedSums, distinct_items
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import Rational
from discreet.privacy.units import Unit

__all__ = ["Level", "UserLevel"]

Centers = NDArray[np.float64]


@dataclass(frozen=True)
class Level(ABC):
    """How questions are answered.

    Parameters
    ----------
    k
        Neighbors.
    bound
        B in grid steps.
    epsilon
        The price of one question.
    shrinkage, minimum_overlap
        Of the similarity.
    bits
        A step of the sums is 2^−bits.
    """

    k: int
    bound: int
    epsilon: Fraction
    shrinkage: Rational
    minimum_overlap: int
    bits: int = BITS

    unit: ClassVar[Unit]
    basis: ClassVar[str]
    sold: ClassVar[str]
    not_covered: ClassVar[tuple[str, ...]] = ()
    fewer: ClassVar[str]

    # Item means

    @abstractmethod
    def first_sums(self, raters: Roster) -> BoundedSums:
        """What item means are made of."""

    @abstractmethod
    def means(self, noisy: NDArray[np.int64], scale: RatingScale, noise: float) -> ItemMeans:
        """Item means from the noisy sums."""

    # Questions

    @abstractmethod
    def lay_out(self, data: Interactions) -> Roster:
        """The records that questions are answered from; refuses data and settings that the proof does not cover."""

    @abstractmethod
    def bounded(self, sums: NDArray[np.int64]) -> BoundedSums:
        """Sums with how far one unit can move them."""

    @abstractmethod
    def unanswered(self, asked: Sequence[tuple[Recipient, int]], answers: Answers) -> list[Any]:
        """What has to be paid for, each thing once."""

    @abstractmethod
    def prepare(self, raters: Roster, new: list[Any], centers: Centers) -> Any:
        """All that can fail: secret, and done before the charge."""

    @abstractmethod
    def draw(self, prepared: Any) -> Answers:
        """The answers. Charge the ledger first."""

    def promise(self, epsilon: Fraction, subject: str) -> Guarantee:
        """What is kept by spending so much."""
        return Guarantee(
            loss=Pure(epsilon),
            unit=self.unit,
            standing=Standing.PROVED,
            basis=self.basis,
            subject=subject,
            caps=(),
            not_covered=(
                "the public list of items and rating scale",
                *self.not_covered,
                "which questions are asked, and histories handed in with them",
                "one's own answers",
            ),
            joint=True,
        )

    def check(self, data: Interactions) -> None:
        """Refuse data that have no means, and noise that cannot be drawn: before anything is charged."""
        if data.rating is None or data.scale is None:
            raise UsageError("neighbor means need ratings on a public scale.", remedy='Declare it: scale="1:5".')
        if pl.Object in (data.items.series.dtype, data.users.series.dtype):
            raise UsageError("a saved model names items and users: their ids must be numbers or text.")
        LaplaceMechanism(self.epsilon).check(self.bounded(np.zeros(1, dtype=np.int64)))

    @property
    def deviation(self) -> float:
        """Standard deviation of an answer, in stars, for given neighbors."""
        one = self.bounded(np.zeros(1, dtype=np.int64))
        return LaplaceMechanism(self.epsilon).standard_deviation(one) / self.k


@dataclass(frozen=True)
class UserLevel(Level):
    """All ratings of one user: the exact neighbors, and noise for an exchange of one of them (Theorem 5)."""

    similarity: str = "pearson"

    unit: ClassVar[Unit] = Unit("user")
    basis: ClassVar[str] = "noisy mean of the exact neighbors, docs/proofs/neighbors.md, Theorem 5"
    sold: ClassVar[str] = "neighbor means"
    fewer: ClassVar[str] = "Ask about fewer items (items=…), or fit again with more queries."

    def first_sums(self, raters: Roster) -> BoundedSums:
        return item_sums(raters.data)

    def means(self, noisy: NDArray[np.int64], scale: RatingScale, noise: float) -> ItemMeans:
        return ItemMeans.of(noisy, scale, noise)

    def lay_out(self, data: Interactions) -> Raters:
        assert data.scale is not None
        likeness = Likeness.of(self.similarity, self.minimum_overlap, self.shrinkage, data.scale)
        return Raters.of(distinct_items(data), likeness)

    def bounded(self, sums: NDArray[np.int64]) -> BoundedSums:
        return bounded_questions(sums, self.bound)

    def unanswered(self, asked: Sequence[tuple[Recipient, int]], answers: Answers) -> list[tuple[Recipient, int]]:
        return list(dict.fromkeys(question for question in asked if question_key(question) not in answers))

    def prepare(
        self, raters: Roster, new: list[tuple[Recipient, int]], centers: Centers
    ) -> tuple[list[tuple[Recipient, int]], BoundedSums]:
        """The questions and the sums that answer them."""
        assert isinstance(raters, Raters)
        of_all: dict[Key, NDArray[np.int64]] = {}
        for recipient, _ in new:
            if recipient.key not in of_all:
                of_all[recipient.key] = self._sums(raters, recipient, centers)
        values = np.array([of_all[recipient.key][item] for recipient, item in new], dtype=np.int64)
        return new, self.bounded(values)

    def draw(self, prepared: tuple[list[tuple[Recipient, int]], BoundedSums]) -> Answers:
        new, sums = prepared
        noisy = LaplaceMechanism(len(new) * self.epsilon).release(sums)
        return {question_key(question): int(value) for question, value in zip(new, noisy, strict=True)}

    def _sums(self, raters: Raters, recipient: Recipient, centers: Centers) -> NDArray[np.int64]:
        """For every item, what the recipient's neighbors think of it."""
        assert recipient.items is not None
        assert recipient.ratings is not None
        neighbors = raters.nearest(recipient.items, recipient.ratings, self.k, apart_from=recipient.code)
        return neighbor_sums(raters.rows, neighbors, centers, self.bound)
