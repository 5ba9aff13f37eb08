"""Models without privacy: what they share."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.errors import DataError, ReleaseError, UsageError
from discreet.factors.private_recommender import liked_records, threshold_of
from discreet.neighbors.model_folder import load_with_records, save_with_records
from discreet.privacy.bounding import distinct_items
from discreet.privacy.numbers import Rational
from discreet.recommender import Recommender

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["RankingReference", "ReferenceModel", "liked_rows", "require_whole"]


class ReferenceModel(Recommender):
    """A model that protects nobody: it is there to be compared with.

    It is saved with the records that it was fitted on, and learns from them again when it is loaded.
    """

    @abstractmethod
    def _learn(self, data: Interactions) -> None:
        """Learn from one record of each user and item."""

    def _check(self, data: Interactions) -> None:
        """Refuse settings and data that nothing can be learned with."""

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        # Nothing is promised, so there is nothing to charge.
        self._check(data)
        self._learn(distinct_items(data))
        self.items_, self.guarantee_ = data.items, None

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the model into a folder **with the raw records**."""
        self._require_fitted()
        if self.records_ is None:
            raise UsageError("there are no records to save this model with.", remedy="Fit it first.")
        return save_with_records(
            folder, {"model": self.name, "config": self.config()}, self.records_, overwrite=overwrite
        )

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model with its records and learn from them again."""
        described, data = load_with_records(folder, cls.name)
        try:
            model = cls(**described["config"])
        except (KeyError, TypeError, UsageError) as error:
            raise ReleaseError(f"the description of the model in {folder} is damaged: {error}.") from error
        return model.fit(data)


class RankingReference(ReferenceModel):
    """A reference that ranks by what people like and predicts no ratings.

    Attributes
    ----------
    threshold_ : float or None
        Ratings from here on say that an item is liked; None where every record does.
    """

    positive: Rational | None
    threshold_: float | None

    @abstractmethod
    def _learn_likes(self, likes: Interactions) -> None:
        """Learn from the records that say that somebody likes something."""

    def _learn(self, data: Interactions) -> None:
        threshold = threshold_of(data, self.positive)
        likes = liked_records(data, self.positive)
        if len(likes) == 0:
            raise DataError(f"no rating reaches {threshold}: nobody likes anything.", remedy="Lower positive=.")
        self.threshold_ = None if threshold is None else float(Fraction(threshold))
        # Without a public catalog the liked items may be fewer than the items of the model.
        self._learn_likes(likes if len(likes.items) == len(data.items) else likes.with_catalog(data.items.series))

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """It ranks; it does not predict ratings."""
        return np.full(item.size, np.nan)


def liked_rows(rows: csr_array, threshold: float | None) -> csr_array:
    """Histories as 1 for each liked item and nothing for the others."""
    liked = rows.copy()
    liked.data = np.ones(liked.data.size) if threshold is None else (liked.data >= threshold).astype(np.float64)
    liked.eliminate_zeros()
    return liked


def require_whole(value: Any, name: str) -> None:
    """A setting that is a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} = {value!r} must be a whole number from 1.")


def require_positive(value: Any, name: str) -> None:
    """A setting that is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise UsageError(f"{name} = {value!r} must be a number above 0.")
