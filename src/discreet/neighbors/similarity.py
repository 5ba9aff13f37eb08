"""How alike two items or two users are, and the lists of neighbors that come of it.

*Cosine* is not one thing: over the ratings of common raters, over whole vectors, after taking a mean away. Each variant
has its own name here, and the minimum of common raters, the shrinkage and the rule for ties are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from discreet.common.arguments import require_choice
from discreet.common.arrays import Floats, Integers
from discreet.common.remedies import DECLARE_SCALE, KEEP_LATEST
from discreet.common.threads import available_threads
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.neighbors.dense import Likeness, dense_sensitivities, dense_similarities, refuse_large
from discreet.neighbors.lists import NeighborLists, nearest
from discreet.neighbors.profiles import Axis, Centering, Profiles, profiles_of, rating_step
from discreet.neighbors.selection.lists import Ties
from discreet.privacy import entropy
from discreet.privacy.numbers import as_fraction

if TYPE_CHECKING:
    from discreet.neighbors.kernels import Rule

__all__ = [
    "Likeness",
    "NeighborLists",
    "Similarity",
    "neighbor_lists",
    "pair_sensitivities",
    "similarity_matrix",
    "similarity_rows",
]

Kind = Literal["cosine", "cosine_full", "pearson", "cosine_shrunk", "cosine_adjusted"]

CENTERING: dict[str, Centering] = {
    "cosine": "none",
    "cosine_full": "none",
    "cosine_shrunk": "none",
    "pearson": "entity",
    "cosine_adjusted": "rater",
}


@dataclass(frozen=True)
class Similarity:
    """Which likeness of two entities, items or users; the users or items that rated both are their co-raters.

    Parameters
    ----------
    kind
        ``"cosine"``: Σ x·y / √(Σ x² · Σ y²), all sums over the co-raters. One co-rater makes it 1.
        ``"cosine_full"``: the same with Σ x² and Σ y² over all ratings of the one and of the other.
        ``"pearson"``: cosine over the co-raters after taking the overall mean of each entity away.
        ``"cosine_adjusted"``: cosine over the co-raters after taking the overall mean of each *rater* away.
        ``"cosine_shrunk"``: Σ x·y / √((Σ x² + λh²)(Σ y² + λh²)) over the co-raters, with λ the shrinkage and h the
        largest absolute rating of the public scale; one person moves it by at most 1/(1 + λ) where ratings are not
        negative.
    minimum_overlap
        With fewer co-raters the similarity is 0, and nobody is listed as a neighbor.
    shrinkage
        λ of ``"cosine_shrunk"``; for the others the similarity is multiplied by n/(n + shrinkage), n the number of
        co-raters.

    Examples
    --------
    >>> Similarity("pearson", minimum_overlap=5)
    Similarity(kind='pearson', minimum_overlap=5, shrinkage=Fraction(0, 1))
    """

    kind: Kind = "cosine"
    minimum_overlap: int = 1
    shrinkage: Fraction | float = Fraction(0)

    def __post_init__(self) -> None:
        if self.kind not in CENTERING:
            raise UsageError(f"there is no similarity {self.kind!r}.", remedy=f"Choose one of {', '.join(CENTERING)}.")
        overlap = self.minimum_overlap
        if isinstance(overlap, bool) or not isinstance(overlap, int | np.integer) or overlap < 1:
            raise UsageError(f"minimum_overlap={overlap!r} must be a whole number from 1 on.")
        shrinkage = as_fraction(self.shrinkage, "shrinkage")
        if shrinkage < 0 or (self.kind == "cosine_shrunk" and shrinkage == 0):
            raise UsageError(
                f"shrinkage = {self.shrinkage} must {'be above' if self.kind == 'cosine_shrunk' else 'not be below'} 0."
            )
        object.__setattr__(self, "minimum_overlap", int(overlap))
        object.__setattr__(self, "shrinkage", shrinkage)

    def rule(self, data: Interactions) -> Rule:
        """The numbers that the compiled loops work with."""
        from discreet.neighbors.kernels import Rule

        shrunk = self.kind == "cosine_shrunk"
        return Rule(
            whole=self.kind == "cosine_full",
            overlap=self.minimum_overlap,
            prior=float(self.shrinkage) * _largest_rating(data) ** 2 if shrunk else 0.0,
            shrinkage=0.0 if shrunk else float(self.shrinkage),
        )


def _largest_rating(data: Interactions) -> float:
    """h of the shrunk cosine in the unit of the profiles: a public fact, never looked up in the ratings."""
    if data.may_repeat:
        raise UsageError(
            "a shrunk cosine needs one rating of each item by each user; these records may repeat.",
            remedy=KEEP_LATEST,
        )
    if data.rating is None:
        return 1.0
    if data.scale is None:
        raise UsageError("a shrunk cosine needs to know the largest rating that can be given.", remedy=DECLARE_SCALE)
    return float(max(abs(data.scale.low), abs(data.scale.high))) / rating_step(data)


def neighbor_lists(
    data: Interactions,
    *,
    axis: Axis,
    similarity: Similarity | None = None,
    k: int,
    ties: Ties = "random",
    threads: int | None = None,
) -> NeighborLists:
    """Of each item, or user, the k most similar others.

    Parameters
    ----------
    data
        The records.
    axis
        What is compared: ``"item"`` or ``"user"``.
    similarity
        Which likeness; the co-rated cosine unless told.
    k
        How many neighbors at most.
    ties
        Who comes first among equals: ``"random"`` (one random order for the whole call) or ``"id"`` (the lower code).
    threads
        How many to use: all cores unless told. The result does not depend on it.

    Notes
    -----
    Candidates are the others with at least the minimum of co-raters, whatever the sign of their similarity: who has no
    co-rater is never listed. Every common rater of a pair is visited once, and no dense matrix is made: memory is
    that of two copies of the ratings and, for each thread, of one set of lists.

    Lists are as secret as the records that they come from.

    Examples
    --------
    >>> shop = Interactions([("ann", "tea", 5), ("ann", "rum", 4), ("bob", "tea", 3), ("cy", "gin", 2)])
    >>> lists = neighbor_lists(shop, axis="item", similarity=Similarity("cosine_full"), k=2)
    >>> shop.items.decode(lists.of(shop.items.encode(["tea"])[0])[0])
    ['rum']
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"k={k!r} must be a whole number from 1 on.")
    require_choice(ties, "ties", ("random", "id"))
    profiles, rule, n_threads = _prepared(data, axis, similarity, threads, keep=False)
    order = np.argsort(entropy.random_words(profiles.n)) if ties == "random" else np.arange(profiles.n)
    width = min(int(k), max(profiles.n - 1, 0))
    scores, indices = nearest(profiles, rule, order, width, n_threads)
    if width < k:
        rest = ((0, 0), (0, int(k) - width))
        scores, indices = np.pad(scores, rest), np.pad(indices, rest, constant_values=-1)
    return NeighborLists(indices, scores)


def similarity_rows(
    data: Interactions,
    *,
    axis: Axis,
    similarity: Similarity | None = None,
    rows: Iterable[int],
    threads: int | None = None,
) -> Floats:
    """Similarities of some items, or users, to all: one row for each code in ``rows``, one column a code.

    The layout of the ratings is kept as long as the data live, so that asking again is cheap. The numbers are the
    same as in ``neighbor_lists``, to the last bit. Similarity to oneself is what the formula gives.

    Examples
    --------
    >>> shop = Interactions([("ann", "tea", 5), ("ann", "rum", 4), ("bob", "tea", 3), ("bob", "gin", 1)])
    >>> similarity_rows(shop, axis="item", similarity=Similarity("cosine"), rows=shop.items.encode(["tea"]))
    array([[1., 1., 1.]])
    """
    profiles, rule, n_threads = _prepared(data, axis, similarity, threads)
    codes = _checked_codes(rows, profiles.n)
    refuse_large(profiles.n, 8, codes.size)
    return dense_similarities(profiles, rule, codes, n_threads)


def similarity_matrix(
    data: Interactions, *, axis: Axis, similarity: Similarity | None = None, threads: int | None = None
) -> NDArray[np.float32]:
    """Similarities of all pairs of items, or users, in one dense matrix: only for data that are small enough.

    Examples
    --------
    >>> shop = Interactions([("ann", "tea", 4), ("ann", "rum", 3), ("bob", "tea", 3)])
    >>> similarity_matrix(shop, axis="item", similarity=Similarity("cosine_full"))
    array([[1. , 0.8],
           [0.8, 1. ]], dtype=float32)
    """
    refuse_large(data.n_items if axis == "item" else data.n_users, 4)
    profiles, rule, n_threads = _prepared(data, axis, similarity, threads)
    return dense_similarities(profiles, rule, None, n_threads)


def pair_sensitivities(
    data: Interactions,
    *,
    axis: Axis,
    similarity: Similarity | None = None,
    rows: Iterable[int] | None = None,
    threads: int | None = None,
) -> Likeness:
    """Similarities with the recommendation-aware sensitivity (RS) of each pair, of all pairs or of some rows.

    Parameters
    ----------
    rows
        Codes of the rows that are wanted; all unless told, if the matrices are small enough.

    Privacy
    -------
    RS depends on the secret ratings. Noise or weights that are scaled by it are **not** differentially private:
    that is what refutes PNCF.

    Notes
    -----
    Means that were taken away stay as they are when a co-rater leaves, and for ``"cosine_full"`` only co-raters leave.

    References
    ----------
    T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, section 3.3.2.

    Examples
    --------
    >>> shop = Interactions([(u, i, r) for u, r in (("ann", 1), ("bob", 5)) for i in ("tea", "rum")])
    >>> found = pair_sensitivities(shop, axis="item", rows=[0])
    >>> found.similarity, found.lemma, found.exact
    (array([[1., 1.]], dtype=float32), array([[25., 25.]], dtype=float32), array([[0., 0.]], dtype=float32))
    """
    n = data.n_items if axis == "item" else data.n_users
    codes = None if rows is None else _checked_codes(rows, n)
    refuse_large(n, 16, n if codes is None else codes.size)
    profiles, rule, n_threads = _prepared(data, axis, similarity, threads)
    return dense_sensitivities(profiles, rule, codes, n_threads)


# The last layout of each data set that rows were asked of; it goes with the data.
_KEPT: WeakKeyDictionary[Interactions, tuple[Axis, Centering, Profiles]] = WeakKeyDictionary()


def _prepared(
    data: Interactions, axis: Axis, similarity: Similarity | None, threads: int | None, *, keep: bool = True
) -> tuple[Profiles, Rule, int]:
    """The layout of the ratings, the numbers of the similarity, and how many threads to use."""
    similarity = Similarity() if similarity is None else similarity
    if not isinstance(similarity, Similarity):
        raise UsageError(f"similarity must be a Similarity, such as Similarity('cosine'), got {similarity!r}.")
    rule, n_threads, centering = similarity.rule(data), available_threads(threads), CENTERING[similarity.kind]
    kept = _KEPT.get(data)
    if kept is None or kept[:2] != (axis, centering):
        kept = axis, centering, profiles_of(data, axis=axis, centering=centering, threads=n_threads)
        if keep:
            _KEPT[data] = kept
    return kept[2], rule, n_threads


def _checked_codes(codes: Iterable[int], n: int) -> Integers:
    """Whole numbers from 0 to n − 1, as an array."""
    found = np.asarray(codes if isinstance(codes, np.ndarray) else list(codes))
    if found.size == 0 and found.ndim == 1:
        return np.empty(0, dtype=np.int64)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer):
        raise UsageError(f"rows must be a list of codes, not {codes!r}.")
    if found.min() < 0 or found.max() >= n:
        raise UsageError(f"rows has codes from {found.min()} to {found.max()}; they run from 0 to {n - 1}.")
    return found.astype(np.int64)
