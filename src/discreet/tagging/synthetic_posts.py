"""Posts of synthetic people, drawn from released sums: post-processing, which costs nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.privacy import entropy
from discreet.tagging.sums.topics import SIZES

__all__ = ["SyntheticPosts", "uniforms"]

TAGS_A_POST = 2.5
"""How many tags a post has on average: a public assumption."""

OWN_TOPIC, ANY_TOPIC = 3.0, 0.3
"""Weights of a person's main topic and of all others in that person's distribution over topics."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SyntheticPosts:
    """What posts are drawn from: distributions that are functions of released sums.

    Attributes
    ----------
    types
        Weights of topics as the main interest of a person.
    sizes
        Weights of the numbers of triples 1, 2–3, 4–7 …
    resources
        Weights of resources × topics.
    tags
        Weights of topics × tags.
    """

    types: Floats
    sizes: Floats
    resources: Floats
    tags: Floats

    def draw(self, n_users: int, resource_ids: IdMap, tag_ids: IdMap) -> pl.DataFrame:
        """Triples of ``n_users`` synthetic people: user_id, resource_id, tag."""
        types = _drawn(_law(self.types), n_users)
        posts = np.maximum(1, np.rint(self._triples(n_users) / TAGS_A_POST)).astype(np.int64)
        user = np.repeat(np.arange(n_users), posts)
        topic = _drawn_in_rows(self._interests(types), user)
        resource = _drawn_in_rows(_laws(self.resources.T), topic)
        many = _poisson(TAGS_A_POST - 1, user.size) + 1
        user, resource, topic = np.repeat(user, many), np.repeat(resource, many), np.repeat(topic, many)
        # Half of the tags follow what led to the resource, half what the resource is about altogether.
        about = _drawn_in_rows(_laws(self.resources), resource)
        topic = np.where(uniforms(topic.size) < 0.5, topic, about)
        tag = _drawn_in_rows(_laws(self.tags), topic)
        rows = np.unique(np.stack([user, resource, tag], axis=1), axis=0)
        # A fresh random number, so that no real person has the name of a synthetic one.
        batch = f"{int(entropy.public_words(1)[0]):016x}"
        names = pl.Series([f"synthetic-{batch}-{number + 1}" for number in range(n_users)], dtype=pl.String)
        return pl.DataFrame(
            {
                "user_id": names.gather(rows[:, 0]),
                "resource_id": resource_ids.take(rows[:, 1]),
                "tag": tag_ids.take(rows[:, 2]),
            }
        )

    def _triples(self, n_users: int) -> NDArray[np.int64]:
        """Numbers of triples: a power of two by weight, and any number up to the next alike."""
        low = 2 ** np.minimum(_drawn(_law(self.sizes), n_users), SIZES - 1)
        return low + (low * uniforms(n_users)).astype(np.int64)

    def _interests(self, types: NDArray[np.int64]) -> Floats:
        """For each person a law over topics, Dirichlet about the main interest; rows are cumulative."""
        from scipy.special import gammaincinv

        weights = ANY_TOPIC * self.types.size * np.tile(_shares(self.types), (types.size, 1))
        weights[np.arange(types.size), types] += OWN_TOPIC
        gammas = gammaincinv(np.maximum(weights, 1e-3), uniforms(weights.size).reshape(weights.shape))
        return _laws(gammas)


def _shares(weights: Floats) -> Floats:
    """Rows that sum to one, or a row; uniform where nothing is left of the sums."""
    positive = np.maximum(weights, 0.0)
    total = positive.sum(axis=-1, keepdims=True)
    return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1 / weights.shape[-1])


def _law(weights: Floats) -> Floats:
    return np.cumsum(_shares(weights))


def _laws(weights: Floats) -> Floats:
    """Cumulative laws, one a row."""
    return np.cumsum(_shares(weights), axis=1)


def uniforms(n: int) -> Floats:
    """Uniform numbers in (0, 1) from the one source of bits."""
    return ((entropy.public_words(n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _drawn(law: Floats, n: int) -> NDArray[np.int64]:
    return np.minimum(np.searchsorted(law, uniforms(n), side="right"), law.size - 1)


def _drawn_in_rows(laws: Floats, row: NDArray[np.int64]) -> NDArray[np.int64]:
    """One draw for each entry of ``row``, from the law of that row."""
    # All laws one after the other, each shifted by its number, are one long increasing list.
    shifted = (np.minimum(laws, 1.0) + np.arange(laws.shape[0])[:, None]).ravel()
    place = np.searchsorted(shifted, row + uniforms(row.size), side="right") - row * laws.shape[1]
    return np.clip(place, 0, laws.shape[1] - 1)


def _poisson(mean: float, n: int) -> NDArray[np.int64]:
    """Poisson numbers by their distribution function."""
    from scipy.special import pdtr

    return np.searchsorted(pdtr(np.arange(40), mean), uniforms(n), side="right").astype(np.int64)
