"""Similarities of pairs, with their RS where a strategy asks for it: a matrix where that is small, rows otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.neighbors.profiles import Axis
from discreet.neighbors.similarity import Similarity, pair_sensitivities, similarity_matrix, similarity_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Likeness", "PairTable"]

Form = Literal["lemma", "exact"]
Vector = NDArray[np.float64]
Integers = NDArray[np.integer]

# Up to so many bytes all pairs are computed at once and kept.
WHOLE = 2**30


@dataclass(frozen=True, eq=False)
class Likeness:
    """Some rows of similarities, and of RS by either form where it was asked for."""

    similarity: NDArray[np.float32]
    lemma: NDArray[np.float32] | None = None
    exact: NDArray[np.float32] | None = None

    def at(self, row: Integers, other: Integers, form: Form | None) -> tuple[Vector, Vector | None]:
        """Similarity and RS of each pair of a row and a column."""
        sensitivity = None if form is None else getattr(self, form)[row, other].astype(np.float64)
        return self.similarity[row, other].astype(np.float64), sensitivity

    def columns(self, codes: Integers) -> Likeness:
        """The same rows, some columns."""
        parts = (self.similarity, self.lemma, self.exact)
        return Likeness(*(None if part is None else part[:, codes] for part in parts))  # type: ignore[arg-type]


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

    def at(self, target: Integers, other: Integers) -> tuple[Vector, Vector | None]:
        """Similarity and RS of each pair of codes."""
        if self._whole is not None:
            return self._whole.at(target, other, self.form)
        codes, row = np.unique(target, return_inverse=True)
        return _computed(self.data, self.axis, self.similarity, self.form, codes).at(row, other, self.form)

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
        found = found.columns(joined.users.encode(list(range(data.n_users))))

        def spread(part: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
            """Rows of zeros for those who have no history."""
            if part is None:
                return None
            full = np.zeros((counts.size, self.n), dtype=np.float32)
            full[some] = part
            return full

        return Likeness(*map(spread, (found.similarity, found.lemma, found.exact)))  # type: ignore[arg-type]


def _computed(
    data: Interactions, axis: Axis, similarity: Similarity, form: Form | None, codes: Integers | None
) -> Likeness:
    """Rows of these codes, or all. Numbers are 32 bits wide on every way, so that ties are the same on all."""
    if form is not None:
        found = pair_sensitivities(data, axis=axis, similarity=similarity, rows=codes)
        return Likeness(found.similarity, found.lemma, found.exact)
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
