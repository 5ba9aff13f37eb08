"""Neighbors drawn as a set, and the list they make for one person: private for every single rating of the others.

A rating of another user counts either for how like that user is to the person (the person has rated the item) or for
what the neighbors think of the item (the person has not), never for both. That is why a whole list costs no more than
its dearer half.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import PrivacyError, UsageError
from discreet.neighbors.asking import Roster
from discreet.neighbors.item_means import ItemMeans
from discreet.neighbors.mean_levels import Centers, Level
from discreet.neighbors.neighbor_sums import BITS, bounded_list, neighbor_sums
from discreet.neighbors.pair_likeness import Likeness, Raters
from discreet.neighbors.questions import Answers, Recipient
from discreet.neighbors.rating_means import rating_means, rating_sums
from discreet.neighbors.shrunk_lists import BITS as SCORE_BITS
from discreet.neighbors.shrunk_lists import FLOAT_ERROR, whole_ratings
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.subset_selection import SubsetMechanism
from discreet.privacy.units import Unit
from discreet.privacy.weighing import on_grid

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["ListRequest", "ListedRaters", "PublicUsers", "RatingLevel"]

PublicUsers = Sequence[Hashable] | pl.Series | Literal["observed"] | None

LIST = -1
"""Among the answers of a list, in the place of an item: this recipient has paid."""


def public_users(data: Interactions, users: PublicUsers) -> IdMap:
    """The public list of users; who has records at all is a secret of the ratings unless somebody says otherwise."""
    if users is None:
        raise PrivacyError(
            "one rating more or less can make a user appear; promises about ratings need a public list of users.",
            remedy='Give the ids (users=[…]), or declare that it is public who has records: users="observed".',
        )
    if isinstance(users, str) and users != "observed":
        raise UsageError(f"a list of users cannot be {users!r}.", remedy='Give the ids, or "observed".')
    if isinstance(users, str):
        return data.users
    listed = IdMap(users, what="user")
    if listed.series.dtype != data.users.series.dtype:
        raise UsageError(
            f"the listed users have ids of type {listed.series.dtype}, those of the records {data.users.series.dtype}.",
            remedy="Give ids of the type that the records have.",
        )
    return listed


@dataclass(frozen=True, eq=False)
class ListedRaters:
    """Ratings of a public list of users, laid out for comparing one person with all of them.

    Parameters
    ----------
    data
        The records, each user and item once. Those of users who are not on the list count for nothing.
    users
        The list.
    shrinkage
        λ of the shrunk cosine.
    raters
        The same records with ratings as whole numbers: likeness is then exact up to its last few operations.
    rows
        Users with records × items: ratings in stars.
    place
        For each user of the list the row, or −1.
    step
        What one of the whole numbers is worth, in stars.
    """

    data: Interactions
    users: IdMap
    shrinkage: Fraction
    raters: Raters
    rows: csr_array
    place: NDArray[np.int64]
    step: float

    @classmethod
    def of(cls, data: Interactions, users: IdMap, shrinkage: Rational) -> ListedRaters:
        from scipy.sparse import csr_array

        whole = whole_ratings(data)
        ratings = np.asarray(data.csr.data, dtype=np.float64)
        assert data.scale is not None
        assert whole.scale is not None
        return cls(
            data=data,
            users=users,
            shrinkage=as_positive(shrinkage, "shrinkage"),
            raters=Raters.of(whole, Likeness.of("cosine_shrunk", 1, shrinkage, whole.scale)),
            rows=csr_array((ratings, data.item, data.user_starts), shape=(data.n_users, data.n_items)),
            place=data.users.encode(users.series, unknown="mark").astype(np.int64),
            step=float(data.scale.high / whole.scale.high),
        )

    def row(self, code: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Items and ratings of one user of the list."""
        place = int(self.place[code])
        if place < 0:
            return np.zeros(0, dtype=np.int32), np.zeros(0)
        own = slice(self.rows.indptr[place], self.rows.indptr[place + 1])
        return self.rows.indices[own].astype(np.int32), np.asarray(self.rows.data[own], dtype=np.float64)

    def scores(self, recipient: Recipient) -> tuple[NDArray[np.int64], BoundedSums]:
        """Everybody on the list but the recipient, and how like they are: shrunk cosines rounded down to the grid."""
        assert recipient.items is not None
        assert recipient.ratings is not None
        scale = self.raters.data.scale
        assert scale is not None
        own = np.clip(np.rint(recipient.ratings / self.step), 0, float(scale.high))
        likeness = on_grid(self.raters.similarities(recipient.items, own), SCORE_BITS)
        everybody = np.zeros(len(self.users), dtype=np.int64)
        there = self.place >= 0
        everybody[there] = likeness[self.place[there]]
        candidates = np.delete(np.arange(len(self.users)), [recipient.code] if recipient.code >= 0 else [])
        return candidates, self.bounded(everybody[candidates])

    def bounded(self, values: NDArray[np.int64]) -> BoundedSums:
        """Scores of which one rating moves one, by at most ⌈2^bits·(1/(1+λ) + 2·error)⌉ steps, rounding included."""
        most = math.ceil(2**SCORE_BITS * (1 / (1 + self.shrinkage) + 2 * FLOAT_ERROR))
        return BoundedSums(
            values=values,
            step=Fraction(1, 2**SCORE_BITS),
            l1=Fraction(most),
            l2_squared=Fraction(most**2),
            linf=Fraction(most),
            nonnegative=False,
            unit=Unit("record"),
            caps=(),
        )

    def sums(
        self, neighbors: NDArray[np.int64], centers: NDArray[np.float64], bound: int, *, bits: int = BITS
    ) -> NDArray[np.int64]:
        """What these users of the list think of each item: secret."""
        places = self.place[neighbors]
        return neighbor_sums(self.rows, places[places >= 0], centers, bound, bits=bits)


class ListRequest(NamedTuple):
    """One recipient, everybody who may be a neighbor, and how like they are: secret."""

    raters: ListedRaters
    recipient: Recipient
    candidates: NDArray[np.int64]
    scores: BoundedSums
    centers: Centers

    @property
    def rated(self) -> NDArray[np.bool_]:
        """Which items the recipient has rated."""
        mask = np.zeros(self.centers.size, dtype=bool)
        mask[self.recipient.items] = True
        return mask


@dataclass(frozen=True)
class RatingLevel(Level):
    """One rating: neighbors drawn once for each recipient, and noise for one rating more or less (Theorem 6).

    Parameters
    ----------
    users
        The public list of users, or "observed".
    similarity
        None or "cosine_shrunk".
    """

    users: PublicUsers = None
    similarity: str | None = None

    unit: ClassVar[Unit] = Unit("record")
    basis: ClassVar[str] = "noisy mean of neighbors drawn as a set, docs/proofs/neighbors.md, Theorem 6"
    sold: ClassVar[str] = "lists of neighbor means"
    not_covered: ClassVar[tuple[str, ...]] = ("the public list of users",)
    fewer: ClassVar[str] = "Ask for fewer people, or fit again with more queries."

    @property
    def select(self) -> SubsetMechanism:
        """The choice of neighbors; it may spend all of epsilon, and so may the noise: no rating pays for both."""
        return SubsetMechanism(self.k, self.epsilon)

    @property
    def perturb(self) -> LaplaceMechanism:
        return LaplaceMechanism(self.epsilon)

    def first_sums(self, raters: Roster) -> BoundedSums:
        return rating_sums(raters.data)

    def means(self, noisy: NDArray[np.int64], scale: RatingScale, noise: float) -> ItemMeans:
        return rating_means(noisy, scale, noise)

    def lay_out(self, data: Interactions) -> ListedRaters:
        if self.similarity not in (None, "cosine_shrunk"):
            raise UsageError(
                f"it is not known how far one rating can move similarity={self.similarity!r}.",
                remedy='For unit="rating" take "cosine_shrunk".',
            )
        if self.minimum_overlap != 1:
            raise UsageError(
                f"minimum_overlap = {self.minimum_overlap}: one rating more would lift a similarity from 0 at once.",
                remedy='For unit="rating" leave it at 1; shrinkage does the same smoothly.',
            )
        if data.may_repeat:
            raise UsageError(
                "of several records of one item one hides the other: a rating is not one record here.",
                remedy='Read the data with duplicates="last" or "error".',
            )
        listed = public_users(data, self.users)
        if self.k > len(listed) - 1:
            raise UsageError(f"{self.k:,} neighbors of a user out of {len(listed):,}?", remedy="Choose a smaller k.")
        return ListedRaters.of(data, listed, self.shrinkage)

    def bounded(self, sums: NDArray[np.int64]) -> BoundedSums:
        return bounded_list(sums, self.bound, bits=self.bits)

    def unanswered(self, asked: Sequence[tuple[Recipient, int]], answers: Answers) -> list[Recipient]:
        return list(dict.fromkeys(recipient for recipient, _ in asked if (recipient.key, LIST) not in answers))

    def prepare(self, raters: Roster, new: list[Recipient], centers: Centers) -> list[ListRequest]:
        assert isinstance(raters, ListedRaters)
        return [ListRequest(raters, recipient, *raters.scores(recipient), centers) for recipient in new]

    def draw(self, prepared: list[ListRequest]) -> Answers:
        answers: Answers = {}
        for request in prepared:
            noisy, key = self._list(request), request.recipient.key
            answers[key, LIST] = 0
            # For what the recipient has rated, a rating would have to pay twice: that is not on the list.
            unrated = np.flatnonzero(~request.rated)
            answers.update({(key, int(item)): int(noisy[item]) for item in unrated})
        return answers

    def _list(self, request: ListRequest) -> NDArray[np.int64]:
        """Noisy sums of all items over freshly drawn neighbors."""
        neighbors = request.candidates[self.select.choose(request.scores)]
        sums = request.raters.sums(neighbors, request.centers, self.bound, bits=self.bits)
        return self.perturb.release(self.bounded(sums))
