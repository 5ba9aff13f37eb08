"""Games on tag assignments: is this person, or this triple, among the data, and with which tag?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.attacks.games.game import RECORD, VALUE, Features, GivenGame, NeighboringData, View
from discreet.attacks.games.observing import OBSERVER
from discreet.data.ids import IdMap
from discreet.data.tags import TagAssignments
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["GivenTriple", "Tagger", "recommended_tags", "seen_tags", "tag_background", "tag_vector", "touched_by"]

Triple = tuple[str, str, str]

TAGS, RESOURCES = 12, 8
KEYS = ("user_id", "resource_id", "tag")
TAGGER, CANARY = "zz-tagger", "zz-canary"
OWN: Triple = (TAGGER, "r0", "t00")


# Datasets


def tagged(triples: Iterable[Triple]) -> TagAssignments:
    """Triples over the tags t00 … t11 and the resources r0 … r7, all of which are on public lists."""
    data = TagAssignments(list(triples), name="a small dataset")
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
    """A small dataset without a secret.

    Examples
    --------
    >>> tag_background()
    TagAssignments('a small dataset': 36 triples, 12 users, 8 resources, 12 tags)
    """
    return tagged(triples_of_others())


def _neighboring(without: Sequence[Triple], with_: Sequence[Triple], unit: Unit, records: int = 1) -> NeighboringData:
    """Two small datasets: the triples of others with some triples more in each."""
    one, other = (tagged([*triples_of_others(), *part]) for part in (without, with_))
    return NeighboringData(one, other, unit, records)


# Games


def tag_canary(target: Target) -> NeighboringData:
    """A user with many triples, most of them of tags and resources that nobody else has."""
    own = [(CANARY, resource, tag) for resource in ("r1", "r6", "r7") for tag in ("t01", "t10", "t11")]
    return _neighboring([], own, Unit(), records=len(own))


def one_tag(target: Target) -> NeighboringData:
    """A user who has one triple, so that all the weight of a user lies on one tag and one resource."""
    return _neighboring([], [(CANARY, "r7", "t11")], Unit())


def exchanged_tags(target: Target) -> NeighboringData:
    """A user who is in both datasets, with the same resources and with other tags on all of them.

    Selections that are made tag by tag have to be paid for tag by tag.
    """
    sides = [[(CANARY, f"r{place}", f"t{first + place:02}") for place in range(6)] for first in (0, 6)]
    return _neighboring(sides[0], sides[1], Unit("user", "replace"), records=6)


def one_assignment(target: Target) -> NeighboringData:
    """One triple more, of a tag and a resource that others use as well, by somebody who has one other triple."""
    return _neighboring([OWN], [OWN, (TAGGER, "r1", "t01")], RECORD)


def lone_tag(target: Target) -> NeighboringData:
    """One triple with a tag that nobody else uses, on a resource that nobody else tags.

    What is made of the tags that occur, or keeps who tagged what, shows a tag or a link that does not exist without it.
    """
    return _neighboring([OWN], [OWN, (TAGGER, "r7", "t11")], RECORD)


def tag_value(target: Target) -> NeighboringData:
    """One post, with one tag or with another; the post is in both datasets."""
    return _neighboring([(TAGGER, "r7", "t10")], [(TAGGER, "r7", "t11")], VALUE)


def public_presence(target: Target, view: View) -> str | None:
    """For games in which something is present in one dataset only."""
    promise = target.guarantee
    if promise is None or promise.unit.relation == "add-remove":
        return None
    return "what is present in one dataset only is public under this guarantee"


class GivenTriple(GivenGame):
    """A triple that is drawn from the given ones, and what the release says about its user, resource and tag."""

    data_type = TagAssignments
    about = "record"

    def obstacle(self, target: Target, data: TagAssignments) -> str | None:
        return super().obstacle(target, data) or public_presence(target, self.view)

    def datasets(self, target: Target, data: TagAssignments, draw: np.random.Generator) -> NeighboringData:
        kept = np.ones(len(data), dtype=bool)
        kept[int(draw.integers(len(data)))] = False
        return NeighboringData(data.filter(kept), data, unit=RECORD, secret=data.filter(~kept).to_frame())

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        return touched_by(fitted.released, pair.secret)


class Tagger(GivenTriple):
    """Somebody who is drawn from the given triples, and what the release says about what they tagged."""

    about = "user"

    def datasets(self, target: Target, data: TagAssignments, draw: np.random.Generator) -> NeighboringData:
        others = data.user != int(draw.integers(data.n_users))
        member = data.filter(~others).to_frame()
        return NeighboringData(data.filter(others), data, records=member.height, secret=member)


# What an attacker sees


def seen_tags(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """The numbers of the release, or what the observer is recommended."""
    if view != "white box":
        return recommended_tags(fitted.model, pair.with_)
    return tag_vector(fitted.released, pair.with_)


def tag_vector(release: Release, data: TagAssignments) -> Features:
    """Every number of a release, laid out over the users, resources and tags of a dataset.

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
