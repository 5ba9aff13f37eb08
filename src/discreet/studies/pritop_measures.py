"""Measuring tagging releases: what tags lose of their meaning, and how well tags are recommended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.evaluation.scores import Scores
from discreet.evaluation.semantic_loss import release_semantic_loss, semantic_loss
from discreet.evaluation.tag_protocol import evaluate_tags
from discreet.privacy.charging import sandbox
from discreet.privacy.release import Release
from discreet.studies.pritop_setting import KINDEST, Setting
from discreet.tagging import PTRJ, PTRL, PTRS, PTRT, FolkRank, OwnTags, PopularTags, PriTop, TagSuppression, recommender
from discreet.tagging.pritop_rewriting import Rewriting
from discreet.tagging.pritop_topics import TopicCounts
from discreet.tagging.tag_recommender import TagRecommender
from discreet.tagging.tag_release import ASSIGNMENTS, TagMethod

__all__ = [
    "MOST_CELLS",
    "Measured",
    "Tick",
    "baselines",
    "measure_ours",
    "measure_pritop",
    "over_topics",
    "proved",
    "replacements",
]

Tick = Callable[[str], None]

MOST_CELLS = 2 * 10**9
"""Noise on every cell of resources × tags takes seconds for a hundred million of them."""


@dataclass(frozen=True, eq=False)
class Measured:
    """How well one way recommends.

    Parameters
    ----------
    name
        What it is called in tables.
    kind
        "paper", "ours" or "reference".
    epsilon
        Its budget, if it has one.
    hides
        What its promise is about, in a word.
    scores
        Recall and precision, with the values of every user.
    triples
        How many triples it publishes, if it publishes any.
    true
        The share of the published triples that are somebody's real ones.
    loss
        Semantic loss of some users where nobody says which tag is in whose place.
    """

    name: str
    kind: str
    epsilon: Fraction | None
    hides: str
    scores: Scores
    triples: int | None = None
    true: float | None = None
    loss: float | None = None


# Figure 4.1


def over_topics(setting: Setting, tick: Tick) -> tuple[pl.DataFrame, TopicCounts]:
    """Semantic loss for every K and ε, and the topics for the chosen K. The topic model is fitted once for each K."""
    rows, kept = [], None
    for topics in sorted({*setting.topics, setting.chosen_topics}):
        method = PriTop.of(epsilon=1, topics=topics, iterations=setting.iterations, inserted_links="none")
        counts = method.fitted_counts(setting.train)
        tick(f"{topics} topics")
        if topics == setting.chosen_topics:
            kept = counts
        for epsilon in setting.losses if topics in setting.topics else ():
            rewriting = replace(method, epsilon=epsilon).rewriting(setting.train, counts)
            rows.append({"K": topics, "epsilon": float(epsilon), **_losses(setting.train, rewriting, counts)})
            tick(f"semantic loss, K = {topics}, ε = {float(epsilon):g}")
    assert kept is not None
    return pl.DataFrame(rows), kept


def _losses(data: TagAssignments, rewriting: Rewriting, counts: TopicCounts) -> dict[str, float]:
    new, topics = replacements(data, rewriting), counts.topic_given_tag
    stays = new >= 0
    return {
        "loss": semantic_loss(data, new, topics=topics)["semantic_loss"],
        "loss_of_replaced": semantic_loss(data.filter(stays), new[stays], topics=topics)["semantic_loss"],
        "deleted": float(1 - stays.mean()),
    }


def replacements(data: TagAssignments, rewriting: Rewriting) -> NDArray[np.int64]:
    """For each triple the code of the tag in its place, −1 where it was deleted; for links that are kept."""
    keys = _keys(data, data.user, data.resource, data.tag)
    stays = np.flatnonzero(rewriting.old >= 0)
    wanted = _keys(data, rewriting.user[stays], rewriting.resource[stays], rewriting.old[stays])
    found = np.searchsorted(keys, wanted)  # triples are sorted by user, resource and tag
    assert (keys[found] == wanted).all()
    new = np.full(len(data), -1, dtype=np.int64)
    new[found] = rewriting.tag[stays]
    return new


# Figures 4.2 to 4.5


def baselines(setting: Setting, tick: Tick) -> Iterator[Measured]:
    """Without privacy, suppression, and what needs no release."""
    for name, model in {
        "FolkRank, no privacy": FolkRank(),
        "own tags alone": OwnTags(),
        "own tags, ties by exact popularity": OwnTags(ties="popular"),
        "popular tags": PopularTags(),
    }.items():
        yield Measured(name, "reference", None, _HIDES.get(name, "nothing"), _asked(setting, model))
        tick(name)
    for sigma in (Fraction(4, 5), Fraction(3, 5)):
        kept = TagSuppression(sigma=sigma).suppress(setting.train)
        name = f"tag suppression, σ = {float(sigma):g}"
        scores = _asked(setting, lambda _, kept=kept: FolkRank().fit(kept), own=False)
        yield Measured(name, "paper", None, "nothing", scores, len(kept), 1.0, 1 - float(sigma))
        tick(name)


def measure_pritop(setting: Setting, counts: TopicCounts, tick: Tick) -> Iterator[Measured]:
    """PriTop as published; with one's own posts beside it; and in its kindest reading."""
    for reading, options in (("PriTop", {}), ("PriTop, kindest reading", KINDEST)):
        for epsilon in setting.published:
            method = PriTop.of(epsilon=epsilon, topics=setting.chosen_topics, **options)
            released = TagAssignments(method.rewriting(setting.train, counts).to_frame(setting.train))
            model = FolkRank().fit(released)
            about = {"triples": len(released), "true": _true_share(setting.train, released)}
            if epsilon == 1:
                about["loss"] = _release_loss(setting, released, counts)
            scores = _asked(setting, lambda _, model=model: model, own=False)
            yield Measured(reading, "paper", epsilon, "nothing (refuted)", scores, **about)
            if epsilon == 1 and not options:
                beside = _asked(setting, lambda _, model=model: model, own=True)
                yield Measured("PriTop and own posts", "paper", epsilon, "nothing (refuted)", beside, **about)
            tick(f"{reading}, ε = {float(epsilon):g}")


def measure_ours(setting: Setting, counts: TopicCounts, tick: Tick) -> Iterator[Measured]:
    """The proved releases, each with the own posts of the person who asks on that person's side."""
    for epsilon in setting.ours:
        for name, method in proved(setting, epsilon).items():
            with sandbox():
                release = method.release(setting.train)
            scores = _asked(setting, lambda train, release=release: _reader(release, train), own=True)
            yield Measured(name, "ours", epsilon, _HIDES[name], scores, **_about(setting, release, counts, epsilon))
            tick(f"{name}, ε = {float(epsilon):g}")


_HIDES = {
    "own tags alone": "everything",
    "PTR-J": "all of a person",
    "PTR-J, assignment": "one assignment",
    "PTR-T": "which tag",
    "PTR-S": "all of a person",
    "PTR-L": "all but presence",
}


def proved(setting: Setting, epsilon: Fraction) -> dict[str, TagMethod]:
    """The proved releases for one budget."""
    given: dict[str, Any] = {"epsilon": epsilon, "delta": setting.delta}
    ways: dict[str, TagMethod] = {
        "PTR-J": PTRJ.of(**given),
        "PTR-J, assignment": PTRJ.of(**given, unit="assignment"),
        "PTR-T": PTRT.of(**given),
        "PTR-S": PTRS.of(**given),
        "PTR-L": PTRL.of(epsilon=epsilon),
    }
    if setting.data.n_resources * setting.data.n_tags > MOST_CELLS:
        del ways["PTR-J, assignment"]
    return ways


def _asked(setting: Setting, model: Any, **options: Any) -> Scores:
    return evaluate_tags(model, setting.questions, n=setting.lengths, **options)


def _reader(release: Release, train: TagAssignments) -> TagRecommender:
    """What reads a release; where noise left no triple of it, one's own tags are all that there is."""
    if release.kind == ASSIGNMENTS and not release.table("assignments").height:
        return OwnTags().fit(train)
    return recommender(release)


def _about(setting: Setting, release: Release, counts: TopicCounts, epsilon: Fraction) -> dict[str, Any]:
    """What can be said of a release that is a table of triples of the same people."""
    if "assignments" not in release.parts or not release.table("assignments").height:
        return {}
    released = TagAssignments(release.table("assignments"))
    about: dict[str, Any] = {"triples": len(released), "true": _true_share(setting.train, released)}
    if epsilon == 1 and release.mechanism != "ptr-s":  # invented people stand for nobody
        about["loss"] = _release_loss(setting, released, counts)
    return about


def _true_share(data: TagAssignments, released: TagAssignments) -> float:
    """The share of released triples that are true."""
    user, resource, tag = (
        theirs.encode(ours.series, unknown="mark").astype(np.int64)[codes]
        for theirs, ours, codes in (
            (data.users, released.users, released.user),
            (data.resources, released.resources, released.resource),
            (data.tags, released.tags, released.tag),
        )
    )
    known = (user >= 0) & (resource >= 0) & (tag >= 0)
    said = _keys(data, user[known], resource[known], tag[known])
    return float(np.isin(said, _keys(data, data.user, data.resource, data.tag)).sum() / len(released))


def _keys(
    data: TagAssignments, user: NDArray[np.integer], resource: NDArray[np.integer], tag: NDArray[np.integer]
) -> NDArray[np.int64]:
    """One number for each triple; they sort as triples do."""
    return (user.astype(np.int64) * data.n_resources + resource) * data.n_tags + tag


def _release_loss(setting: Setting, released: TagAssignments, counts: TopicCounts) -> float:
    some = setting.train
    if some.n_users > setting.sampled:
        some = some.sample_users(setting.sampled, seed=setting.seed)
    return release_semantic_loss(some, released, topics=counts.topic_given_tag)["semantic_loss"]
