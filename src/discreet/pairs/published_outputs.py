"""Noise on what is shown: a plain model whose every output is drawn once, with Laplace noise."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.common.arguments import require_whole
from discreet.data.interactions import Interactions
from discreet.models.published_model import PublishedModel
from discreet.pairs.published_claims import OutputCost
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.published_draws import laplace

if TYPE_CHECKING:
    from scipy.sparse import csr_array


__all__ = ["PublishedOutputs"]


class PublishedOutputs(PublishedModel):
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
    def _outputs(self, rows: csr_array) -> NDArray[np.float64]:
        """f of every item for each history, without noise."""

    @abstractmethod
    def _output(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """f of some items, without noise."""

    def _check(self, data: Interactions) -> None:
        as_positive(self.epsilon, "epsilon")
        require_whole(self.least_ratings, "least_ratings")

    # Using

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
