"""Models without privacy: what they share."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Self

from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.neighbors.model_folder import load_with_records, save_with_records
from discreet.privacy.bounding import distinct_items
from discreet.recommender import Recommender

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["ReferenceModel"]


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
        described = {"model": self.name, "config": self.config()}
        return save_with_records(folder, described, self.records_, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model with its records and learn from them again."""
        described, data = load_with_records(folder, cls.name)
        try:
            model = cls(**described["config"])
        except (KeyError, TypeError, UsageError) as error:
            raise ReleaseError(f"the description of the model in {folder} is damaged: {error}.") from error
        return model.fit(data)
