"""How alike one person is to each user of the records, from the two persons' ratings and nothing else.

The compiled loops of ``similarity`` compare the users of one data set with each other. Here a row may come from
outside, and every number is a function of two rows, bit for bit, which the proof of ``NoisyNeighborMean`` needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.neighbors.profiles import GHOST
from discreet.neighbors.similarity import Similarity
from discreet.privacy.numbers import Rational, as_fraction

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Likeness", "Raters"]

KINDS = ("pearson", "cosine", "cosine_full", "cosine_shrunk")
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Likeness:
    """Which likeness; ``prior`` is λh² of the shrunk cosine."""

    kind: str
    overlap: int
    prior: float
    shrinkage: float

    @classmethod
    def of(cls, kind: str, overlap: int, shrinkage: Rational, scale: RatingScale) -> Likeness:
        if kind not in KINDS:
            # The adjusted cosine takes item means away, to which everybody has contributed.
            raise UsageError(
                f"similarity={kind!r} is not a function of two users' ratings alone, or is not known.",
                remedy=f"Choose one of {', '.join(KINDS)}.",
            )
        checked = Similarity(kind, minimum_overlap=overlap, shrinkage=as_fraction(shrinkage, "shrinkage"))  # type: ignore[arg-type]
        amount = float(checked.shrinkage)
        if kind == "cosine_shrunk":
            highest = float(max(abs(scale.low), abs(scale.high)))
            return cls(kind, checked.minimum_overlap, amount * highest**2, 0.0)
        return cls(kind, checked.minimum_overlap, 0.0, amount)

    def centered(self, ratings: Vector, starts: NDArray[np.integer]) -> Vector:
        """Ratings of each row, for Pearson without the row's mean."""
        if self.kind != "pearson" or not ratings.size:
            return ratings
        counts = np.diff(starts)
        group = np.repeat(np.arange(counts.size), counts)
        means = np.bincount(group, weights=ratings, minlength=counts.size) / np.maximum(counts, 1)
        centered = ratings - means[group]
        # A rating that is the mean must not leave the rounding of the mean behind.
        centered[np.abs(centered) <= GHOST * np.abs(ratings)] = 0.0
        return centered

    def combine(self, count: Vector, product: Vector, left: Vector, right: Vector) -> Vector:
        """Likeness from the number of co-rated items, the inner product and two squared lengths."""
        squared = (left + self.prior) * (right + self.prior)
        with np.errstate(divide="ignore", invalid="ignore"):
            cosine = np.clip(product / np.sqrt(squared), -1, 1)
            if self.prior == 0 and self.kind != "cosine_full":
                cosine = np.where(count == 1, np.sign(product), cosine)  # what rounding would only nearly give
            weight = count / (count + self.shrinkage)
        return np.where((count >= self.overlap) & (squared > 0), cosine * weight, 0.0)


@dataclass(frozen=True, eq=False)
class Raters:
    """Users' ratings laid out for comparing one person with all of them.

    Attributes
    ----------
    rows, touched, values, squares
        Users × items: ratings; ones where there is a rating; ratings as they are compared; their squares.
    """

    data: Interactions
    likeness: Likeness
    rows: csr_array
    touched: csr_array
    values: csr_array
    squares: csr_array

    @classmethod
    def of(cls, data: Interactions, likeness: Likeness) -> Raters:
        """Lay out records that hold each user and item once."""
        from scipy.sparse import csr_array

        ratings = np.asarray(data.csr.data, dtype=np.float64)
        values = likeness.centered(ratings, data.user_starts)
        columns = (ratings, np.ones(ratings.size), values, values**2)
        shape = (data.n_users, data.n_items)
        return cls(
            data, likeness, *(csr_array((column, data.item, data.user_starts), shape=shape) for column in columns)
        )

    @property
    def users(self) -> IdMap:
        return self.data.users

    def row(self, code: int) -> tuple[NDArray[np.int32], Vector]:
        """Items and ratings of one user."""
        own = slice(self.data.user_starts[code], self.data.user_starts[code + 1])
        return self.data.item[own].astype(np.int32), np.asarray(self.rows.data[own], dtype=np.float64)

    def similarities(self, items: NDArray[np.int32], ratings: Vector) -> Vector:
        """Likeness of the person with these ratings to every user.

        Each row of a sparse product is added up in the order of its items, whatever the other rows hold.
        """
        own, there = np.zeros((2, self.data.n_items))
        own[items] = self.likeness.centered(ratings, np.array([0, ratings.size]))
        there[items] = 1.0
        count, product = self.touched @ there, self.values @ own
        if self.likeness.kind == "cosine_full":
            left = np.full(count.size, float((own**2).sum()))
            right = self.squares @ np.ones(own.size)
        else:
            left, right = self.touched @ own**2, self.squares @ there
        return self.likeness.combine(count, product, left, right)

    def nearest(self, items: NDArray[np.int32], ratings: Vector, k: int, *, apart_from: int = -1) -> NDArray[np.int64]:
        """Codes of the k most similar users, of those with similarity above 0; equals stand by id."""
        similarity = self.similarities(items, ratings)
        if apart_from >= 0:
            similarity[apart_from] = 0.0
        order = np.argsort(-similarity, kind="stable")[:k]
        return order[similarity[order] > 0]
