"""Who rated what, laid out twice for the compiled loops: by entity and by rater.

An *entity* is what is compared (an item, or a user), a *rater* is what two entities can have in common (a user, or an
item). Inside, entities stand in rising order of their number of ratings. A rater's list of entities, cut off after
one of them, then holds only those that are at least as popular: a popular entity has many raters with short rests,
a rare one has few raters with long rests, and the sums that are hot stand close together.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.common.arrays import Codes, Floats, Integers
from discreet.common.threads import share_out
from discreet.data.interactions import Interactions
from discreet.errors import UsageError

__all__ = ["Axis", "Centering", "Profiles", "profiles_of", "rating_step"]

Axis = Literal["item", "user"]
Centering = Literal["none", "entity", "rater"]
GHOST = 1e-12  # a difference that is smaller than this part of its terms is rounding

Values = NDArray[Any]


class Profiles(NamedTuple):
    """The ratings by entity and by rater. Arrays only: compiled loops take it whole.

    Attributes
    ----------
    starts
        Ratings of the entity at position ``i`` are those from ``starts[i]`` to ``starts[i + 1]`` of the next two.
    rater
        Who rated it, rising within each entity.
    place
        Where the same rating stands in the lists by rater.
    rater_starts
        Ratings by rater ``u`` are those from ``rater_starts[u]`` to ``rater_starts[u + 1]`` of the next two.
    entity
        Position of the rated entity, rising within each rater.
    value
        The rating: a small whole number of steps where all ratings are that, otherwise a 64-bit float.
    squares
        Sum of the squared values of each entity.
    code
        Code of the entity at each position.
    position
        Position of the entity with each code.
    """

    starts: Integers
    rater: Codes
    place: Codes
    rater_starts: Integers
    entity: NDArray[np.unsignedinteger[Any]]
    value: Values
    squares: Floats
    code: Integers
    position: Codes

    @property
    def n(self) -> int:
        """How many entities there are."""
        return self.code.size


def profiles_of(data: Interactions, *, axis: Axis, centering: Centering = "none", threads: int = 1) -> Profiles:
    """Lay the ratings out for comparing items, or users.

    Parameters
    ----------
    data
        The records; those without ratings count as 1, repeated ones are added up.
    axis
        What is compared.
    centering
        What is taken away from each rating: nothing, the mean of its entity, or the mean of its rater.
    threads
        How many to use; the result does not depend on it.
    """
    if axis not in ("item", "user"):
        raise UsageError(f"axis must be 'item' or 'user', got {axis!r}.")
    user, item, value = _records(data)
    entity, rater, n, m = item, user, data.n_items, data.n_users
    if axis == "user":
        entity, rater, n, m = rater, entity, m, n
    if centering != "none":
        value = _centered(value, entity if centering == "entity" else rater)
    return _laid_out(entity, rater, value, n, m, threads)


def rating_step(data: Interactions) -> float:
    """The unit of the values in profiles: the step of the scale where every rating is a multiple of it, or 1."""
    scale = data.scale
    if scale is None or scale.step is None or scale.low % scale.step:
        return 1.0
    return float(scale.step)


def _records(data: Interactions) -> tuple[Codes, Codes, Values]:
    """Users, items and values, each pair of a user and an item once."""
    user, item, value = data.user, data.item, data.rating
    if data.may_repeat:
        summed = data.csr.tocoo()
        user, item, value = summed.row.astype(np.int32), summed.col.astype(np.int32), summed.data
    if value is None:
        return user, item, np.ones(user.size, dtype=np.uint8)
    return user, item, _in_steps(value, data)


def _in_steps(value: Values, data: Interactions) -> Values:
    """Ratings as numbers of steps, a byte each where they are small and whole; a cosine does not depend on the unit.

    Sums of products of small whole numbers are exact. Similarities that are equal then come out equal to the last bit.
    """
    step = rating_step(data)
    if step != 1:
        value = np.rint(value / step)
    if value.size and value.min() >= 0 and value.max() <= 255:
        small = value.astype(np.uint8)
        if np.array_equal(small, value):
            return small
    return value.astype(np.float64)


def _centered(value: Values, group: Codes) -> Floats:
    """Values without the mean of their group."""
    if not value.size:
        return value.astype(np.float64)
    means = np.bincount(group, weights=value) / np.maximum(np.bincount(group), 1)
    centered = value - means[group]
    # A rating that is the mean must not leave the rounding of the mean behind: one co-rater could make it a likeness.
    centered[np.abs(centered) <= GHOST * np.abs(value)] = 0.0
    return centered


def _laid_out(entity: Codes, rater: Codes, value: Values, n: int, m: int, threads: int) -> Profiles:
    """Two stable counting sorts: into entities by popularity, and from there into raters."""
    from discreet.neighbors import kernels

    records = entity.size
    # Every thread sorts its own part of the records into places of its own: none meet, and the order is kept.
    parts = [slice(a, b) for a, b in pairwise(records * part // threads for part in range(threads + 1))]

    counts = np.zeros((len(parts), n), dtype=np.int64)
    share_out(lambda _, part: kernels.count(entity[parts[part]], counts[part]), range(len(parts)), threads)
    popularity = counts.sum(axis=0)
    code = np.argsort(popularity, kind="stable")
    position = np.empty(n, dtype=np.int32)
    position[code] = np.arange(n, dtype=np.int32)
    starts = _starts(popularity[code])
    fill = _offsets(starts, counts[:, code])
    by_entity = np.empty(records, dtype=np.int32), np.empty(records, dtype=value.dtype)
    share_out(
        lambda _, part: kernels.sort_by_entity(
            entity[parts[part]], rater[parts[part]], value[parts[part]], position, fill[part], *by_entity
        ),
        range(len(parts)),
        threads,
    )

    cuts = sorted({0, n, *np.searchsorted(starts, [part.start for part in parts[1:]]).tolist()})
    spans = [slice(starts[a], starts[b]) for a, b in pairwise(cuts)]
    counts = np.zeros((len(spans), m), dtype=np.int64)
    share_out(lambda _, part: kernels.count(by_entity[0][spans[part]], counts[part]), range(len(spans)), threads)
    rater_starts = _starts(counts.sum(axis=0))
    fill = _offsets(rater_starts, counts)
    found = Profiles(
        starts=starts,
        rater=by_entity[0],
        place=np.empty(records, dtype=np.int32),
        rater_starts=rater_starts,
        entity=np.empty(records, dtype=np.uint16 if n <= 2**16 else np.uint32),
        value=np.empty(records, dtype=value.dtype),
        squares=np.zeros(n),
        code=code,
        position=position,
    )
    share_out(
        lambda _, part: kernels.sort_by_rater(cuts[part], cuts[part + 1], by_entity[1], fill[part], found),
        range(len(spans)),
        threads,
    )
    return found


def _starts(counts: Integers) -> Integers:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])


def _offsets(starts: Integers, counts: Integers) -> Integers:
    """Where each part of the records begins within each group."""
    return starts[:-1] + np.cumsum(counts, axis=0) - counts
