"""Similarities of pairs, with their RS where a strategy asks for it: a matrix where that is small, rows otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from discreet.common.arrays import AnyIntegers, Vector
from discreet.data.interactions import Interactions
from discreet.neighbors.dense import Form, Likeness
from discreet.neighbors.profiles import Axis
from discreet.neighbors.similarity import Similarity, pair_sensitivities, similarity_matrix, similarity_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PairTable"]

# Up to so many bytes all pairs are computed at once and kept.
WHOLE = 2**30


class PairTable:
    """How alike the items of a dataset are, or its users.

    Parameters
    ----------
    data
        The records.
    axis
        What is compared.
    similarity
        Which likeness.
    form
        Which RS is needed, if any.
    whole
        Whether all pairs may be computed at once, if they are few enough. They are kept as long as the data live, so
        that models on the same data share them.
    """

    def __init__(
        self, data: Interactions, *, axis: Axis, similarity: Similarity, form: Form | None, whole: bool = True
    ) -> None:
        self.data = data
        self.axis: Axis = axis
        self.similarity = similarity
        self.form: Form | None = form
        self.n = data.n_items if axis == "item" else data.n_users
        fits = self.n**2 * (4 if form is None else 16) <= WHOLE
        self._whole = _kept(data, axis, similarity, form) if whole and fits else None

    @property
    def is_whole(self) -> bool:
        """Whether a pair costs nothing more than looking it up."""
        return self._whole is not None

    def at(self, target: AnyIntegers, other: AnyIntegers) -> tuple[Vector, Vector | None]:
        """Similarity and RS of each pair of codes."""
        if self._whole is not None:
            return self._whole.at(target, other, self.form)
        codes, row = np.unique(target, return_inverse=True)
        return _computed(self.data, self.axis, self.similarity, self.form, codes).at(row, other, self.form)

    def rows(self, codes: AnyIntegers) -> Likeness:
        """Similarities of these to all, one row each."""
        if self._whole is not None:
            return self._whole.mapped(lambda part: part[codes])
        return _computed(self.data, self.axis, self.similarity, self.form, codes)

    def newcomers(self, histories: csr_array) -> Likeness:
        """Rows for people with these histories, each compared with all users as if the newcomers were among them."""
        data = self.data
        counts = np.diff(histories.indptr)
        some = np.flatnonzero(counts)
        rating = None if data.rating is None else np.concatenate([data.rating, histories.data])
        columns = {
            "user_id": np.concatenate([data.user, data.n_users + np.repeat(np.arange(counts.size), counts)]),
            "item_id": np.concatenate([data.item, histories.indices]).astype(np.int64),
        }
        joined = Interactions(
            columns if rating is None else {**columns, "rating": rating},
            items=range(data.n_items),
            scale=data.scale,
            duplicates="keep" if data.may_repeat else "error",
        )
        codes = joined.users.encode((data.n_users + some).tolist())
        found = _computed(joined, "user", self.similarity, self.form, codes)
        known = joined.users.encode(list(range(data.n_users)))

        def spread(part: NDArray[Any]) -> NDArray[Any]:
            """The columns of the known users; rows of zeros for those who have no history."""
            full = np.zeros((counts.size, self.n), dtype=part.dtype)
            full[some] = part[:, known]
            return full

        return found.mapped(spread)


def _computed(
    data: Interactions, axis: Axis, similarity: Similarity, form: Form | None, codes: AnyIntegers | None
) -> Likeness:
    """Rows of these codes, or all. Numbers are 32 bits wide on every way, so that ties are the same on all."""
    if form is not None:
        return pair_sensitivities(data, axis=axis, similarity=similarity, rows=codes)
    if codes is None:
        return Likeness(similarity_matrix(data, axis=axis, similarity=similarity))
    return Likeness(similarity_rows(data, axis=axis, similarity=similarity, rows=codes).astype(np.float32))


# The last whole table of each dataset; it goes with the data.
_KEPT: WeakKeyDictionary[Interactions, tuple[Axis, Similarity, Likeness]] = WeakKeyDictionary()


def _kept(data: Interactions, axis: Axis, similarity: Similarity, form: Form | None) -> Likeness:
    kept = _KEPT.get(data)
    if kept is None or kept[:2] != (axis, similarity) or (form is not None and kept[2].lemma is None):
        kept = _KEPT[data] = (axis, similarity, _computed(data, axis, similarity, form, None))
    return kept[2]
