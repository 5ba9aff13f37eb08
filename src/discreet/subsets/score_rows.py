"""Rows of scores of a fitted model, over a public list of items, in a public range."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.common.arrays import Floats, Integers
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.privacy.bounding import require_catalog
from discreet.privacy.numbers import Rational, as_fraction

__all__ = ["ScoreRows"]


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """Rows of scores of a fitted model.

    Parameters
    ----------
    model
        Fitted, with its records.
    codes
        The model's codes of the items of a row, in order.
    low, high
        The range of scores, public.
    ratings
        Whether a row holds predicted ratings; otherwise the scores that ``recommend`` goes by.
    """

    model: Recommender
    codes: Integers
    low: Fraction
    high: Fraction
    ratings: bool

    @classmethod
    def of(
        cls,
        model: Recommender,
        *,
        items: Sequence[Hashable] | None = None,
        score_range: tuple[Rational, Rational] | None = None,
    ) -> ScoreRows:
        """Check the settings, before anything is computed or charged."""
        records = _records(model)
        if items is None:
            require_catalog(records, "lists for onlookers")
            codes = np.arange(len(model.items_), dtype=np.int64)
        else:
            codes = np.unique(model.items_.encode(list(items)).astype(np.int64))
        if score_range is not None:
            low, high = (as_fraction(end, "score_range") for end in score_range)
            return cls(model, codes, low, high, ratings=False)
        if records.scale is None:
            raise UsageError(
                "the range of scores must be public, and these records have no declared rating scale.",
                remedy="Give score_range=(low, high) for the scores of recommend(), or declare a scale.",
            )
        return cls(model, codes, records.scale.low, records.scale.high, ratings=True)

    @property
    def records(self) -> Interactions:
        return _records(self.model)

    def of_users(self, users: Sequence[Hashable]) -> Floats:
        """Users × items; the lowest score for seen items and for items without a score.

        Seen items are not removed from the row: the missing ones would reveal what was seen.
        """
        people = self.records.users.encode(list(users))
        rows = self._predicted(users) if self.ratings else self._scored(users)
        row, seen = self.records.csr[people].nonzero()
        place = self._places()[seen]
        rows[row[place >= 0], place[place >= 0]] = float(self.low)
        return rows

    def _places(self) -> Integers:
        """The position in a row of each item of the records, or −1."""
        of_code = np.full(len(self.model.items_) + 1, -1, dtype=np.int64)
        of_code[self.codes] = np.arange(self.codes.size)
        # Unknown items have the code −1, the last position, which is in no row.
        return of_code[self.model.items_.encode(self.records.items.series, unknown="mark")]

    def _predicted(self, users: Sequence[Hashable]) -> Floats:
        names = self.model.items_.take(self.codes).to_list()
        table = self.model.predict([(user, item) for user in users for item in names])
        return table["score"].to_numpy().astype(np.float64).reshape(len(users), self.codes.size)

    def _scored(self, users: Sequence[Hashable]) -> Floats:
        names = self.model.items_.take(self.codes)
        rows = np.full((len(users), self.codes.size), np.nan)
        for row, user in enumerate(users):
            table = self.model.recommend([user], n=self.codes.size, exclude_seen=False, items=names)
            found = np.searchsorted(self.codes, self.model.items_.encode(table["item_id"]))
            rows[row, found] = table["score"].to_numpy()
        return rows


def _records(model: Recommender) -> Interactions:
    if not isinstance(model, Recommender):
        raise UsageError(f"model must be a Recommender, got {type(model).__name__}.")
    records = model.records_ if hasattr(model, "items_") else None
    if records is None:
        raise UsageError(
            "this model has no records to compute scores from.",
            remedy="Fit it, or attach the records to a loaded model: attach(data).",
        )
    return records
