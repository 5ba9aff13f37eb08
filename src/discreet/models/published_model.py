"""Models as papers describe them: they keep the records, and draw each answer once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.common.arrays import AnyIntegers, Integers, Matrix, Vector
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.method import Reads

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.models.histories import Histories
    from discreet.privacy.ledger import Ledger

__all__ = ["Answers", "PublishedModel", "entity_means", "height_of", "owners_of"]


class PublishedModel(Recommender):
    """A published model, with the guarantee that its paper claims, if any.

    It is saved with the records that it was fitted on. What was drawn is not saved: a loaded model draws anew, and
    nothing is charged a second time.
    """

    needs_records: ClassVar[bool] = True
    reads: ClassVar[Reads] = "records"

    @abstractmethod
    def _claimed(self) -> Guarantee | None:
        """What the paper claims and what became of the claim; None where nothing is claimed."""

    @abstractmethod
    def _check(self, data: Interactions) -> None:
        """Refuse settings and data that the model is not defined for."""

    @abstractmethod
    def _learn(self, data: Interactions) -> None:
        """Learn from the records."""

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        self._check(data)
        claimed = self._claimed()
        paid = nullcontext()
        if claimed is not None:
            paid = charged(
                ledger, data, claimed, mechanism=self.name, parameters=self.parameters, allow_refuted=allow_refuted
            )
        with paid as charge:
            self._start(data, claimed)
            if charge is not None:
                charge.settle()

    def _start(self, data: Interactions, guarantee: Guarantee | None) -> None:
        self.items_, self.guarantee_, self.records_, self._data = data.items, guarantee, data, data
        self._answers = Answers()
        self._learn(data)

    def attach(self, data: Interactions | Parted) -> Self:
        """These models carry their records; others cannot be put in their place."""
        self._require_fitted()
        if data.fingerprint != self._data.fingerprint:
            raise UsageError("this model holds the records it was fitted on.", remedy="Fit a new one on other records.")
        return self

    def _histories(
        self, users: Iterable[Hashable] | None, history: Mapping[Any, float] | Sequence[Any] | None
    ) -> tuple[Histories, IdMap | None]:
        from discreet.models.histories import Histories

        rows, ids = super()._histories(users, history)
        found = Histories(rows)
        if ids is not None:
            found.who = self._data.users.encode(ids.series).astype(np.int64)
        return found, ids

    def _people(self, rows: csr_array) -> list[Hashable]:
        """What to remember the owner of each history by."""
        from discreet.models.histories import person

        who = owners_of(rows)
        return [person(rows, who, row) for row in range(height_of(rows))]


def owners_of(rows: csr_array) -> Integers:
    """Codes of the users whose histories these are; −1 for people who are not in the data."""
    who = getattr(rows, "who", None)
    return np.full(height_of(rows), -1, dtype=np.int64) if who is None else who


def height_of(rows: csr_array) -> int:
    """How many histories there are."""
    return rows.indptr.size - 1


def entity_means(codes: AnyIntegers, values: NDArray[Any], n: int) -> Vector:
    """Mean value of each code; NaN for those that do not occur.

    Examples
    --------
    >>> entity_means(np.array([0, 0, 2]), np.array([1.0, 2.0, 5.0]), 3)
    array([1.5, nan, 5. ])
    """
    counts = np.bincount(codes, minlength=n)
    sums = np.bincount(codes, weights=values, minlength=n)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


class Answers:
    """What was answered once: whoever asks the same again gets the same number, and cannot average noise away."""

    def __init__(self) -> None:
        self._single: dict[Hashable, dict[int, float]] = {}
        self._whole: dict[Hashable, Vector] = {}

    def some(self, who: list[Hashable], item: AnyIntegers, draw: Callable[[Integers], Vector]) -> Vector:
        """The answer to each (who, item); those that are new are drawn, by their places in the list, each once."""
        asked = list(zip(who, item.tolist(), strict=True))
        new: dict[tuple[Hashable, int], int] = {}
        for place, (key, code) in enumerate(asked):
            if key not in self._whole and code not in self._single.get(key, {}):
                new.setdefault((key, code), place)
        if new:
            drawn = draw(np.fromiter(new.values(), dtype=np.int64, count=len(new)))
            for (key, code), value in zip(new, drawn.tolist(), strict=True):
                self._single.setdefault(key, {})[code] = value
        return np.array([self._one(key, code) for key, code in asked], dtype=np.float64)

    def all(self, who: list[Hashable], draw: Callable[[Integers], Matrix]) -> Matrix:
        """The answers about every item to each of these; for those who ask for the first time they are drawn."""
        if not who:
            return draw(np.zeros(0, dtype=np.int64))
        new: dict[Hashable, int] = {}
        for place, key in enumerate(who):
            if key not in self._whole:
                new.setdefault(key, place)
        if new:
            drawn = draw(np.fromiter(new.values(), dtype=np.int64, count=len(new)))
            for key, row in zip(new, drawn, strict=True):
                earlier = self._single.pop(key, {})
                row[list(earlier)] = list(earlier.values())
                self._whole[key] = row
        return np.stack([self._whole[key] for key in who])

    def _one(self, key: Hashable, code: int) -> float:
        whole = self._whole.get(key)
        return self._single[key][code] if whole is None else float(whole[code])
