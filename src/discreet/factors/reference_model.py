"""References that rank: models without privacy that learn from what people like."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.interactions import Interactions
from discreet.errors import DataError, Remedy
from discreet.models.likes import liked_records, threshold_of
from discreet.models.reference_model import ReferenceModel
from discreet.privacy.numbers import Rational

if TYPE_CHECKING:
    pass

__all__ = ["RankingReference"]


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
            raise DataError(
                f"no rating reaches {threshold}: nobody likes anything.",
                remedy=Remedy("Lower positive=.", cli="Lower --option positive=…."),
            )
        self.threshold_ = None if threshold is None else float(Fraction(threshold))
        # Without a public catalog the liked items may be fewer than the items of the model.
        self._learn_likes(likes if len(likes.items) == len(data.items) else likes.with_catalog(data.items.series))
