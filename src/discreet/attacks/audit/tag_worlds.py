"""Small worlds of tags with public lists, and what an attacker sees in them, as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
import polars as pl

from discreet.attacks.audit.game import Features
from discreet.attacks.audit.small_worlds import OBSERVER
from discreet.data.ids import IdMap
from discreet.data.tags import TagAssignments
from discreet.privacy.release import Release

__all__ = ["Triple", "recommended_tags", "tag_background", "tag_vector", "tagged", "touched_by", "triples_of_others"]

Triple = tuple[str, str, str]

TAGS, RESOURCES = 12, 8
KEYS = ("user_id", "resource_id", "tag")


def tagged(triples: Iterable[Triple]) -> TagAssignments:
    """Triples over the tags t00 … t11 and the resources r0 … r7, all of which are on public lists."""
    data = TagAssignments(list(triples), name="a crafted world")
    vocabulary, catalog = [f"t{tag:02}" for tag in range(TAGS)], [f"r{place}" for place in range(RESOURCES)]
    return data.with_vocabulary(vocabulary).with_resources(catalog)


def triples_of_others(users: int = 12) -> list[Triple]:
    """Posts of some users and an observer on all resources and tags but the last two, by a rule without chance."""
    people = [OBSERVER, *(f"u{user:02}" for user in range(users - 1))]
    return [
        (name, f"r{(place + post) % (RESOURCES - 2)}", f"t{(3 * place + 2 * post) % (TAGS - 2):02}")
        for place, name in enumerate(people)
        for post in range(3)
    ]


def tag_background() -> TagAssignments:
    """The world without a secret.

    Examples
    --------
    >>> tag_background()
    TagAssignments('a crafted world': 36 triples, 12 users, 8 resources, 12 tags)
    """
    return tagged(triples_of_others())


def tag_vector(release: Release, data: TagAssignments) -> Features:
    """Every number of a release, laid out over the users, resources and tags of a world.

    Triples are counted by each pair of a user, a resource and a tag, which is more telling than one by one.
    """
    ids: dict[str, IdMap] = {"user_id": data.users, "resource_id": data.resources, "tag": data.tags}
    vectors = []
    for _, part in sorted(release.parts.items()):
        if not isinstance(part, pl.DataFrame):
            vectors.append(part.astype(np.float64).ravel())
            continue
        keys = [key for key in KEYS if key in part.columns]
        sets = [keys] if len(keys) < 3 else [[one for one in keys if one != left] for left in keys]
        vectors += [_laid(part, {key: ids[key] for key in some}) for some in sets]
        vectors.append(np.array([float(part.height)]))
    return np.concatenate(vectors)


def _laid(part: pl.DataFrame, ids: dict[str, IdMap]) -> Features:
    """How many rows there are for each combination of keys, and the sums of their numbers."""
    shape = tuple(len(one) for one in ids.values())
    codes = [one.encode(part[key].to_list(), unknown="mark") for key, one in ids.items()]
    known = np.logical_and.reduce([code >= 0 for code in codes]) if codes else np.ones(part.height, dtype=bool)
    cells = np.zeros(int(known.sum()), dtype=np.int64)
    for code, size in zip(codes, shape, strict=True):
        cells = cells * size + code[known]
    numbers = [np.ones(part.height), *_numbers(part)]
    sums = [np.bincount(cells, weights=one[known], minlength=prod(shape)) for one in numbers]
    return np.concatenate(sums).astype(np.float64)


def _numbers(part: pl.DataFrame) -> list[Features]:
    return [
        part[name].cast(pl.Float64).fill_null(0.0).to_numpy()
        for name, kind in part.schema.items()
        if kind.is_numeric() and name not in KEYS
    ]


def touched_by(release: Release, triples: pl.DataFrame) -> Features:
    """For each part of a release: how many rows are about these triples, and the sums of their numbers.

    A row is about them if it names a user, a resource and a tag, or as many of the three as it has, that occur together
    in one of the triples.
    """
    told: list[float] = []
    for _, part in sorted(release.parts.items()):
        if not isinstance(part, pl.DataFrame):
            continue
        keys = [key for key in KEYS if key in part.columns]
        for some in [keys] if len(keys) < 3 else [keys, keys[:2], [keys[0], keys[2]], keys[1:]]:
            about = part.join(triples.select(some).unique(), on=some, how="semi")
            told += [float(about.height), *(float(one.sum()) for one in _numbers(about))]
    return np.array(told)


def recommended_tags(model: Any, data: TagAssignments) -> Features:
    """For each resource and tag the tag's place on the observer's list, counted from the end, and its score."""
    resources, tags = data.resources, data.tags
    told = model.recommend([(OBSERVER, resource) for resource in resources.ids()], n=len(tags))
    shape = (len(resources), len(tags))
    places, scores = np.zeros(shape), np.full(shape, np.nan)
    if told.height:
        cells = (resources.encode(told["resource_id"].to_list()), tags.encode(told["tag"].to_list()))
        places[cells] = 1 + len(tags) - told["rank"].cast(pl.Float64).to_numpy()
        scores[cells] = told["score"].cast(pl.Float64).to_numpy()
    return np.concatenate([places.ravel(), scores.ravel()])
