"""Recommenders with a promise of ε for one user, as other people write them: two correct ones, eight with a mistake.

They are plain classes with ``fit``, ``recommend`` and ``predict`` and know nothing of this library but the records that
they are fitted to. An audit is tested with them: it must refute all in ``BROKEN_RECOMMENDERS`` and none in
``CORRECT_RECOMMENDERS``. Each adds noise to how often items of a public catalog occur.

Examples
--------
>>> import discreet as dc
>>> films = dc.synthetic.films(users=60, items=45, seed=7)
>>> model, asked = FreshNoise(epsilon=1).fit(films), [(films.users.ids()[0], item) for item in films.items.ids()]
>>> model.predict(asked).equals(model.predict(asked))
False
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arrays import Integers
from discreet.data.interactions import Interactions

__all__ = [
    "BROKEN_RECOMMENDERS",
    "CORRECT_RECOMMENDERS",
    "CatalogLeak",
    "FloatNoise",
    "FreshNoise",
    "MissingClipping",
    "NoisyMeans",
    "NoisyPopularity",
    "SeedFromRecords",
    "SharedNoise",
    "TooLittleNoise",
]

Numbers = NDArray[Any]


class NoisyPopularity:
    """Correct: noisy counts of the items and of the good ratings, each with half of ε; nothing but them is kept.

    Parameters
    ----------
    epsilon
        What is promised for one user.
    cap
        How many records of each user count; they are chosen at random.
    """

    def __init__(self, epsilon: float = 1.0, cap: int = 6) -> None:
        self.epsilon = epsilon
        self.cap = cap

    def fit(self, data: Interactions) -> Self:
        """Count with noise."""
        rng = self._generator(data)
        kept = self._clipped(data, rng)
        self.items_ = data.items.ids()
        self._place = {item: place for place, item in enumerate(self.items_)}
        occurrences = np.bincount(data.item[kept], minlength=data.n_items)
        liked = kept[data.rating[kept] >= 4] if data.rating is not None else kept
        likes = np.bincount(data.item[liked], minlength=data.n_items)
        self._publish(occurrences, likes, rng)
        return self

    def recommend(self, users: Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        """The most popular items, for everybody the same."""
        asked, scores = list(users), self._popularity()
        best = [int(place) for place in np.argsort(-scores, kind="stable")[:n]]
        return pl.DataFrame(
            {
                "user_id": [user for user in asked for _ in best],
                "item_id": [self.items_[place] for _ in asked for place in best],
                "score": pl.Series([float(scores[place]) for _ in asked for place in best], dtype=pl.Float64),
                "rank": [rank for _ in asked for rank in range(1, len(best) + 1)],
            }
        )

    def predict(self, pairs: Iterable[tuple[Hashable, Hashable]]) -> pl.DataFrame:
        """How many people like each item; null for items that are not known."""
        asked, scores = list(pairs), self._liking()
        places = [self._place.get(item) for _, item in asked]
        return pl.DataFrame(
            {
                "user_id": [user for user, _ in asked],
                "item_id": [item for _, item in asked],
                "score": pl.Series([None if p is None else float(scores[p]) for p in places], dtype=pl.Float64),
            }
        )

    # The steps, each of which one of the broken ones does wrong

    def _generator(self, data: Interactions) -> np.random.Generator:
        return np.random.default_rng()

    def _clipped(self, data: Interactions, rng: np.random.Generator) -> Integers:
        """The records that count."""
        order = rng.permutation(len(data))
        users = data.user[order]
        sorted_places = np.argsort(users, kind="stable")
        starts = np.searchsorted(users[sorted_places], users[sorted_places])
        return np.sort(order[sorted_places[np.arange(len(data)) - starts < self.cap]])

    def _publish(self, occurrences: Numbers, likes: Numbers, rng: np.random.Generator) -> None:
        scale = 2 * self.cap / self.epsilon
        self.occurrences_ = occurrences + self._noise(occurrences.size, scale, rng)
        self.likes_ = likes + self._noise(likes.size, scale, rng)

    def _noise(self, size: int, scale: float, rng: np.random.Generator) -> Numbers:
        """Discrete Laplace noise: the difference of two geometric numbers."""
        chance = -np.expm1(-1 / scale)
        return rng.geometric(chance, size) - rng.geometric(chance, size)

    def _popularity(self) -> Numbers:
        return self.occurrences_

    def _liking(self) -> Numbers:
        return self.likes_


class NoisyMeans(NoisyPopularity):
    """Correct, with a ``release_``: predicts mean ratings, made of two noisy sums; recommends what is rated best.

    Attributes
    ----------
    release_ : dict
        All that is kept: noisy sums of ratings around the middle of the scale, which are between −2 and 2, and noisy
        counts.
    """

    def fit(self, data: Interactions) -> Self:
        """Sum with noise."""
        assert data.rating is not None
        rng = self._generator(data)
        kept = self._clipped(data, rng)
        self.items_ = data.items.ids()
        self._place = {item: place for place, item in enumerate(self.items_)}
        ratings = np.clip(np.rint(data.rating[kept]), 1, 5).astype(np.int64) - 3
        sums = np.zeros(data.n_items, dtype=np.int64)
        np.add.at(sums, data.item[kept], ratings)
        counts = np.bincount(data.item[kept], minlength=data.n_items)
        self.release_ = {
            "sums": sums + self._noise(data.n_items, 4 * self.cap / self.epsilon, rng),
            "counts": counts + self._noise(data.n_items, 2 * self.cap / self.epsilon, rng),
        }
        return self

    def _popularity(self) -> Numbers:
        return self._liking()

    def _liking(self) -> Numbers:
        return 3 + np.clip(self.release_["sums"] / np.maximum(self.release_["counts"], 5), -2, 2)


class MissingClipping(NoisyPopularity):
    """Broken: noise for ``cap`` records of each user, and all of them count."""

    def _clipped(self, data: Interactions, rng: np.random.Generator) -> Integers:
        return np.arange(len(data))


class FreshNoise(NoisyPopularity):
    """Broken: exact counts are kept, and every answer gets noise of its own. Each keeps ε, all together do not."""

    def _publish(self, occurrences: Numbers, likes: Numbers, rng: np.random.Generator) -> None:
        self._rng, self._exact = rng, (occurrences, likes)

    def _popularity(self) -> Numbers:
        return self._exact[0] + self._noise(len(self.items_), self.cap / self.epsilon, self._rng)

    def _liking(self) -> Numbers:
        return self._exact[1] + self._noise(len(self.items_), self.cap / self.epsilon, self._rng)


class SharedNoise(NoisyPopularity):
    """Broken: recommendations and predictions have the same noise; their difference has none."""

    def _publish(self, occurrences: Numbers, likes: Numbers, rng: np.random.Generator) -> None:
        noise = self._noise(occurrences.size, 2 * self.cap / self.epsilon, rng)
        self.occurrences_, self.likes_ = occurrences + noise, likes + noise


class TooLittleNoise(NoisyPopularity):
    """Broken: a part of the noise that it takes.

    Parameters
    ----------
    epsilon, cap
        As in ``NoisyPopularity``.
    part
        Which part of the scale.
    """

    def __init__(self, epsilon: float = 1.0, cap: int = 6, part: float = 0.5) -> None:
        super().__init__(epsilon, cap)
        self.part = part

    def _noise(self, size: int, scale: float, rng: np.random.Generator) -> Numbers:
        return super()._noise(size, scale * self.part, rng)


class CatalogLeak(NoisyPopularity):
    """Broken: only items that occur are listed and predicted. Which items occur is a fact about the records."""

    def fit(self, data: Interactions) -> Self:
        """Count with noise, then forget the items that do not occur."""
        super().fit(data)
        occurs = np.flatnonzero(np.bincount(data.item, minlength=data.n_items))
        self.items_ = [self.items_[place] for place in occurs]
        self._place = {item: place for place, item in enumerate(self.items_)}
        self.occurrences_, self.likes_ = self.occurrences_[occurs], self.likes_[occurs]
        return self


class FloatNoise(NoisyPopularity):
    """Broken: noise in floating point. Its last digits tell which number it was added to (Mironov 2012)."""

    def _noise(self, size: int, scale: float, rng: np.random.Generator) -> Numbers:
        return rng.laplace(scale=scale, size=size)


class SeedFromRecords(NoisyPopularity):
    """Broken: the generator starts at a checksum of the records, "to be reproducible"."""

    def _generator(self, data: Interactions) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(data.user.tobytes() + data.item.tobytes()))


CORRECT_RECOMMENDERS: dict[str, Callable[[], Any]] = {
    "correct, without a release_": NoisyPopularity,
    "correct, with a release_": NoisyMeans,
}
"""Makers of the correct ones: an audit must refute none."""

BROKEN_RECOMMENDERS: dict[str, Callable[[], Any]] = {
    "missing clipping": MissingClipping,
    "fresh noise at each call": FreshNoise,
    "shared noise": SharedNoise,
    "half the noise": TooLittleNoise,
    "1/50 of the noise": lambda: TooLittleNoise(part=1 / 50),
    "catalog leak": CatalogLeak,
    "float noise": FloatNoise,
    "seed from the records": SeedFromRecords,
}
"""Makers of the broken ones: an audit must refute all."""
