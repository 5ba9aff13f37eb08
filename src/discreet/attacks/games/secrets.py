"""One secret of each of several users: a rating, or whether a record is present."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from discreet.attacks.games.linear import stepped, values_of
from discreet.common.arrays import Codes, Floats, Integers
from discreet.common.remedies import KEEP_LATEST
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError

__all__ = ["PRESENCE", "Secrets"]

PRESENCE = RatingScale.of("0:1")
"""A record that is present or not, as a scale of two values."""


@dataclass(frozen=True, eq=False)
class Secrets:
    """One secret of each of several people, and the records with these secrets.

    ``places`` are the records that are secret, at most one of a user. ``values`` are what they are here, ratings or
    whether the record is there. They are drawn anew, uniformly: 1/V is chance then, whatever else an attacker knows,
    and limits that a guarantee sets can be compared with what is measured.
    """

    data: Interactions
    places: Integers
    values: Floats
    ratings: bool

    @classmethod
    def draw(cls, data: Interactions, *, targets: int, seed: int, ratings: bool, least: int = 2) -> Secrets:
        """Choose users with at least ``least`` records, one record of each, and its value."""
        if targets < 1:
            raise UsageError(f"targets must be at least 1, got {targets}.")
        if data.may_repeat:
            raise UsageError(
                "the attack needs one record of each item by each user; these records may repeat.",
                remedy=KEEP_LATEST,
            )
        able = np.flatnonzero((data.records_per_user >= least) & (data.records_per_user < data.n_items))
        if able.size == 0:
            raise UsageError(f"no user has {least} records and an item left to be asked about.")
        draw = np.random.default_rng(seed)
        people = np.sort(draw.permutation(able)[:targets])
        places = data.user_starts[people] + draw.integers(data.records_per_user[people])
        scale = stepped(data.scale) if ratings else PRESENCE
        # Every value as often as every other, but for what does not divide: less chance than by independent draws.
        steps = draw.permutation((np.arange(people.size) + draw.integers(values_of(scale))) % values_of(scale))
        return cls(data, places, (float(scale.low) + float(scale.step or 1) * steps).astype(np.float64), ratings)

    @property
    def kind(self) -> Literal["rating", "record"]:
        """What is secret."""
        return "rating" if self.ratings else "record"

    @property
    def scale(self) -> RatingScale:
        return stepped(self.data.scale) if self.ratings else PRESENCE

    @cached_property
    def dataset(self) -> Interactions:
        """The records with the secrets that were drawn."""
        return self._with(self.values)

    def dataset_where(self, target: int, value: float) -> Interactions:
        """The same with another secret of one target."""
        values = self.values.copy()
        values[target] = value
        return self._with(values)

    def history(self, target: int, value: float) -> dict[Any, float]:
        """What one target touched, with that value of the secret."""
        place = self.places[target]
        begin, end = self.data.user_starts[self.data.user[place] : self.data.user[place] + 2]
        rated = np.ones(end - begin) if self.data.rating is None else self.data.rating[begin:end].astype(np.float64)
        if self.ratings:
            rated[place - begin] = value
        known = zip(self.data.items.decode(self.data.item[begin:end]), rated.tolist(), strict=True)
        hidden = self.data.items.decode(self.data.item[[place]])[0]
        return {item: rating for item, rating in known if self.ratings or value or item != hidden}

    def untouched(self, target: int) -> Codes:
        """Items that one target has not touched, whatever the secret is."""
        user = self.data.user[self.places[target]]
        begin, end = self.data.user_starts[user : user + 2]
        return np.setdiff1d(np.arange(self.data.n_items, dtype=np.int32), self.data.item[begin:end])

    def _with(self, values: Floats) -> Interactions:
        if self.ratings:
            assert self.data.rating is not None
            rating = self.data.rating.copy()
            rating[self.places] = values
            return self.data.with_ratings(rating, self.data.scale)
        kept = np.ones(len(self.data), dtype=bool)
        kept[self.places] = values > 0
        part = self.data.filter(kept)
        return part if part.items == self.data.items else part.with_catalog(self.data.items)
