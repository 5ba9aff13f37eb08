"""Models without privacy: what they share."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from discreet.data.interactions import Interactions
from discreet.models.recommender import Recommender
from discreet.privacy.bounding import distinct_items
from discreet.privacy.method import Reads

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["ReferenceModel"]


class ReferenceModel(Recommender):
    """A model that protects nobody: it is there to be compared with.

    It is saved with the records that it was fitted on, and learns from them again when it is loaded.
    """

    needs_records: ClassVar[bool] = True
    reads: ClassVar[Reads] = "records"

    @abstractmethod
    def _learn(self, data: Interactions) -> None:
        """Learn from one record of each user and item."""

    def _check(self, data: Interactions) -> None:
        """Refuse settings and data that nothing can be learned with."""

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        # Nothing is guaranteed, so there is nothing to charge.
        self.guarantee_ = None  # of an earlier fit, to a release
        self._check(data)
        self._learn(distinct_items(data))
        self.items_ = data.items
