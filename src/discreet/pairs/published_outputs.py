"""Noise on what is shown: a plain model whose every output is drawn once, with Laplace noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.neighbors.model_folder import load_with_records, save_with_records
from discreet.neighbors.prediction import Answers
from discreet.neighbors.selection.draws import laplace
from discreet.pairs.pair_sums import require_whole
from discreet.pairs.published_claims import OutputCost
from discreet.privacy.bounding import distinct_items
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.numbers import Rational, as_positive
from discreet.recommender import Recommender

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.neighbors.histories import Histories
    from discreet.privacy.ledger import Ledger

__all__ = ["PublishedOutputs"]


class PublishedOutputs(Recommender):
    """A plain model whose every output gets Laplace noise of scale Δf/ε when it is first asked for.

    An output that was drawn stays: asking again gives the same number. A loaded model draws anew.
    """

    epsilon: Rational
    least_ratings: int

    @abstractmethod
    def sensitivity(self) -> Fraction:
        """Δf as the theorem has it."""

    @abstractmethod
    def cost(self, outputs: int) -> OutputCost:
        """What so many outputs spend: as claimed for each, and as far as it is known to be true."""

    @abstractmethod
    def _promise(self) -> Guarantee:
        """What was claimed, and what breaks it."""

    @abstractmethod
    def _check(self, data: Interactions) -> None:
        """Refuse settings and data that the theorem does not speak of."""

    @abstractmethod
    def _learn(self, data: Interactions) -> None:
        """Fit the plain model to one record of each user and item."""

    @abstractmethod
    def _outputs(self, rows: csr_array) -> NDArray[np.float64]:
        """f of every item for each history, without noise."""

    @abstractmethod
    def _output(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """f of some items, without noise."""

    # Fitting

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        as_positive(self.epsilon, "epsilon")
        require_whole(self.least_ratings, "least_ratings", least=1)
        self._check(data)
        guarantee = self._promise()
        with charged(
            ledger, data, guarantee, mechanism=self.name, parameters=self.config(), allow_refuted=allow_refuted
        ) as charge:
            self._start(data, guarantee)
            charge.settle()

    def _start(self, data: Interactions, guarantee: Guarantee) -> None:
        self.items_, self.guarantee_, self.records_ = data.items, guarantee, data
        self._data, self._answers = data, Answers()
        self._learn(distinct_items(data))

    # Using

    def _histories(
        self, users: Iterable[Hashable] | None, history: Mapping[Any, float] | Sequence[Any] | None
    ) -> tuple[Histories, IdMap | None]:
        from discreet.neighbors.histories import Histories

        rows, ids = super()._histories(users, history)
        found = Histories(rows)
        if ids is not None:
            found.who = self._data.users.encode(ids.series).astype(np.int64)
        return found, ids

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        scores = self._answers.all(self._people(rows), lambda asking: self._noisy(self._outputs(rows[asking])))
        return np.where(self._served(rows)[:, None], scores, -np.inf)

    def _drawn(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """Noisy outputs of some items; NaN for people with too few ratings."""
        people = self._people(rows)
        found = self._answers.some(
            [people[r] for r in row.tolist()],
            item,
            lambda places: self._noisy(self._output(rows, row[places], item[places])),
        )
        return np.where(self._served(rows)[row], found, np.nan)

    def _noisy(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        return outputs + laplace(np.full(outputs.shape, float(self.sensitivity() / as_positive(self.epsilon))))

    def _served(self, rows: csr_array) -> NDArray[np.bool_]:
        """Who has ratings enough to be recommended anything."""
        return np.diff(rows.indptr) >= self.least_ratings

    def _people(self, rows: csr_array) -> list[Hashable]:
        from discreet.neighbors.histories import person

        size = rows.indptr.size - 1
        known = getattr(rows, "who", None)
        who = np.full(size, -1, dtype=np.int64) if known is None else known
        return [person(rows, who, row) for row in range(size)]

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        """The paper says nothing about showing pairs."""
        return np.full((items.size, len(self.items_)), -np.inf)

    def attach(self, data: Interactions) -> Self:
        """These models carry their records; others cannot be put in their place."""
        self._require_fitted()
        if data.fingerprint != self._data.fingerprint:
            raise UsageError("this model holds the records it was fitted on.", remedy="Fit a new one on other records.")
        return self

    # On disk

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the model into a folder **with the raw records**."""
        self._require_fitted()
        assert self.guarantee_ is not None
        described = {"model": self.name, "config": self.config(), "guarantee": self.guarantee_.to_json()}
        return save_with_records(folder, described, self._data, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model with its records; nothing is charged a second time."""
        described, data = load_with_records(folder, cls.name)
        try:
            model = cls(**described["config"])
            guarantee = Guarantee.from_json(described["guarantee"])
        except (KeyError, TypeError, UsageError) as error:
            raise ReleaseError(f"the description of the model in {folder} is damaged: {error}.") from error
        model._start(data, guarantee)
        return model
