"""Simple recommenders of tags, which every other has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from discreet.common.arrays import AnyFloats, AnyIntegers, Codes
from discreet.common.splitmix import GOLDEN, splitmix
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.tagging.recommenders.base import OwnTriples, TagRecommender

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["CoOccurringTags", "OwnTags", "PopularTags", "ResourceTags"]


@dataclass
class PopularTags(TagRecommender):
    """Tags by how often they were given to anything, the same for everybody.

    Attributes
    ----------
    counts_ : int64 array
        Triples with each tag.

    Privacy
    -------
    None: the counts are exact.

    Examples
    --------
    >>> triples = [("ann", "blue", "jazz"), ("bob", "blue", "jazz"), ("eve", "hits", "pop")]
    >>> PopularTags().fit(TagAssignments(triples)).recommend([("eve", "hits")], n=1)["tag"].to_list()
    ['jazz']
    """

    name: ClassVar[str] = "popular-tags"

    def _fit(self, data: TagAssignments) -> None:
        self.counts_ = np.bincount(data.tag, minlength=data.n_tags)

    def _score(self, users: Codes, resources: Codes, own: OwnTriples | None = None) -> AnyFloats:
        return np.tile(_widened(self.counts_, own), (users.size, 1))


@dataclass
class ResourceTags(TagRecommender):
    """Tags by how many users gave them to the resource; equal ones, and those that nobody gave it, by popularity.

    Privacy
    -------
    None: the counts are exact.

    Examples
    --------
    >>> triples = [("ann", "blue", "jazz"), ("bob", "hits", "pop"), ("eve", "hits", "pop")]
    >>> ResourceTags().fit(TagAssignments(triples)).recommend([("eve", "blue")], n=1)["tag"].to_list()
    ['jazz']
    """

    name: ClassVar[str] = "resource-tags"

    def _fit(self, data: TagAssignments) -> None:
        self._of_resources = _counts(data.resource, data.tag, (data.n_resources, data.n_tags))
        self._popularity = _below_one(np.bincount(data.tag, minlength=data.n_tags))

    def _score(self, users: Codes, resources: Codes, own: OwnTriples | None = None) -> AnyFloats:
        given = _rows(self._of_resources, resources, own)
        return given.toarray() + _widened(self._popularity, own)


@dataclass
class OwnTags(TagRecommender):
    """The user's own tags by how many resources the user gave them: what costs no privacy at all.

    Parameters
    ----------
    ties
        What settles equal counts. ``"arbitrary"``: nothing that is known about the tags (a fixed scrambling of user
        and tag), and only the user's own tags are shown. ``"popular"``: how often a tag was given by everybody,
        which also fills the list where a user has few tags.

    Privacy
    -------
    With arbitrary ties, a list depends on the triples of the person it is for and on nobody else's. With popular ones
    it also depends on exact counts of everybody's, which nothing protects.

    Examples
    --------
    >>> triples = [("ann", "blue", "jazz"), ("ann", "kind", "jazz"), ("ann", "kind", "old"), ("eve", "hits", "pop")]
    >>> OwnTags().fit(TagAssignments(triples)).recommend([("ann", "hits")])["tag"].to_list()
    ['jazz', 'old']
    """

    name: ClassVar[str] = "own-tags"

    ties: Literal["arbitrary", "popular"] = "arbitrary"

    def __post_init__(self) -> None:
        if self.ties not in ("arbitrary", "popular"):
            raise UsageError(f"ties must be 'arbitrary' or 'popular', got {self.ties!r}.")

    def _fit(self, data: TagAssignments) -> None:
        self._of_users = _counts(data.user, data.tag, (data.n_users, data.n_tags))
        self._popularity = _below_one(np.bincount(data.tag, minlength=data.n_tags))

    def _score(self, users: Codes, resources: Codes, own: OwnTriples | None = None) -> AnyFloats:
        given = _own_rows(self._of_users, users, own)
        if self.ties == "popular":
            return given.toarray() + _widened(self._popularity, own)
        scores = np.full((users.size, _width(given)), -np.inf)
        given.sort_indices()
        query = np.repeat(np.arange(users.size), np.diff(given.indptr))
        # Codes of new tags depend on what others bring: each person's are numbered anew, from the known ones on.
        new = given.indices >= self._popularity.size
        place = np.cumsum(new) - np.append(0, np.cumsum(new))[given.indptr[query]]
        tag = np.where(new, self._popularity.size - 1 + place, given.indices)
        scores[query, given.indices] = given.data + _scrambled(users[query], tag)
        return scores


@dataclass
class CoOccurringTags(TagRecommender):
    """Tags that stand in the same posts as the tags of the resource and as those of the user.

    The tags of the resource vote with the shares of the users who gave them, the user's tags with the shares of the
    resources they were given to. A vote for ``s`` is spread over the tags ``t`` of all posts with ``s`` as
    ``posts(s, t) / posts(s)``, itself included.

    Attributes
    ----------
    beside_ : csr_array
        ``posts(s, t) / posts(s)``.

    Privacy
    -------
    None: the counts are exact.

    References
    ----------
    B. Sigurbjörnsson and R. van Zwol, "Flickr tag recommendation based on collective knowledge", WWW 2008.

    Examples
    --------
    >>> triples = [("ann", "blue", "jazz"), ("bob", "kind", "jazz"), ("bob", "kind", "cool"), ("eve", "hits", "pop")]
    >>> CoOccurringTags().fit(TagAssignments(triples)).recommend([("eva", "blue")], n=2)["tag"].to_list()
    ['jazz', 'cool']
    """

    name: ClassVar[str] = "co-occurring-tags"

    def _fit(self, data: TagAssignments) -> None:
        from scipy.sparse import csr_array, diags_array

        posts = csr_array((np.ones(len(data)), data.tag, data.posts.starts), shape=(len(data.posts), data.n_tags))
        n_posts = np.maximum(1.0, posts.sum(axis=0))
        self.beside_ = csr_array(diags_array(1.0 / n_posts) @ (posts.T @ posts))
        self._of_users = _counts(data.user, data.tag, (data.n_users, data.n_tags))
        self._of_resources = _counts(data.resource, data.tag, (data.n_resources, data.n_tags))

    def _score(self, users: Codes, resources: Codes, own: OwnTriples | None = None) -> AnyFloats:
        from scipy.sparse import csr_array

        of_resources = _shares(_rows(self._of_resources, resources, own))
        votes = csr_array(of_resources + _shares(_own_rows(self._of_users, users, own)))
        n_known = _width(self.beside_)
        scores = votes.toarray()
        # Tags that only the person who asks knows stand beside nothing but themselves.
        scores[:, :n_known] = (votes[:, :n_known] @ self.beside_).toarray()
        return scores


def _counts(row: AnyIntegers, tag: AnyIntegers, shape: tuple[int, int]) -> csr_array:
    """How many triples each row has with each tag."""
    from scipy.sparse import coo_array

    return coo_array((np.ones(row.size), (row, tag)), shape=shape).tocsr()


def _width(counts: csr_array) -> int:
    assert counts.shape is not None
    return counts.shape[1]


def _rows(counts: csr_array, codes: Codes, own: OwnTriples | None) -> csr_array:
    """One row a query, empty where its code is unknown, as wide as all tags."""
    from scipy.sparse import csr_array

    known = (codes >= 0) & (codes < counts.indptr.size - 1)
    rows = csr_array(counts[codes[known]])
    sizes = np.zeros(codes.size, dtype=np.int64)
    sizes[known] = np.diff(rows.indptr)
    n_tags = _width(counts) if own is None else own.n_tags
    return csr_array((rows.data, rows.indices, np.append(0, np.cumsum(sizes))), shape=(codes.size, n_tags))


def _own_rows(counts: csr_array, users: Codes, own: OwnTriples | None) -> csr_array:
    """How often each query's user gave each tag: by their own triples where there are any, else as learned."""
    if own is None:
        return _rows(counts, users, None)
    bring = np.diff(own.starts) > 0
    brought = _counts(own.query, own.tag, (users.size, own.n_tags))
    return brought + _rows(counts, np.where(bring, -1, users).astype(np.int32), own)


def _shares(counts: csr_array) -> csr_array:
    """Rows that sum to one, or to zero where there is nothing."""
    from scipy.sparse import csr_array, diags_array

    return csr_array(diags_array(1.0 / np.maximum(1.0, counts.sum(axis=1))) @ counts)


def _widened(values: AnyIntegers | AnyFloats, own: OwnTriples | None) -> AnyFloats:
    """With zeros for tags that only the person who asks knows."""
    wide = np.zeros(values.size if own is None else own.n_tags)
    wide[: values.size] = values
    return wide


def _below_one(counts: AnyIntegers) -> AnyFloats:
    """In the order of the counts, and less than the step between whole numbers."""
    return counts / (counts.max(initial=0) + 1.0)


def _scrambled(users: AnyIntegers, tags: AnyIntegers) -> AnyFloats:
    """A number from 0 to below 1 for each user with a tag that has nothing to do with what is known of either.

    Not a draw: the same question has the same answer.
    """
    mixed = users.astype(np.int64).view(np.uint64) * np.uint64(GOLDEN)
    mixed = mixed + (tags.astype(np.int64) + 1).view(np.uint64) * np.uint64(0xD1B54A32D192ED03)
    return (splitmix(mixed) >> np.uint64(11)) * 2.0**-53
