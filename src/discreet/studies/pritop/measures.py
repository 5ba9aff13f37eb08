"""Measuring tagging releases: what tags lose of their meaning, and how well tags are recommended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.errors import DataError
from discreet.evaluation.scores import Scores
from discreet.evaluation.semantic_loss import release_semantic_loss, semantic_loss
from discreet.evaluation.tag_protocol import PostQuestions, evaluate_tags, leave_one_post_out
from discreet.privacy.charging import sandbox
from discreet.privacy.release import Release
from discreet.studies.study import Settings, Steps
from discreet.tagging import PTRJ, PTRS, PTRT, FolkRank, OwnTags, PopularTags, PriTop, TagSuppression, recommender
from discreet.tagging.pritop.rewriting import Rewriting
from discreet.tagging.pritop.topics import TopicCounts
from discreet.tagging.recommenders.base import TagRecommender
from discreet.tagging.tag_method import ASSIGNMENTS, TagMethod

__all__ = ["MOST_CELLS", "TagRun", "TagScores", "baselines", "measure_ours", "measure_pritop", "over_topics", "proved"]

LENGTHS = tuple(range(1, 11))
DELTA = Fraction(1, 10**6)
KIND = "PriTop, kindest reading"
MOST_CELLS = 2 * 10**9
"""Noise on every cell of resources × tags takes seconds for a hundred million of them."""

KINDEST: dict[str, Any] = {
    "candidates": "profile",
    "profile": "assignments",
    "noisy_topics": "own",
    "inserted_links": "none",
}
"""The reading of PriTop that recommends best: tags are exchanged for tags of the same person, and none is added."""


@dataclass(frozen=True, eq=False)
class TagRun:
    """Triples, of which one post of each user is left out, and the settings of section 4.5.

    The settings are ``topics`` (K of Figure 4.1) and ``chosen_topics`` (K of all others), ``iterations`` of the topic
    model, ``losses``, ``published`` and ``ours`` (ε of Figure 4.1, of PriTop and of the proved releases), and
    ``sampled`` (users whose released tags are paired with true ones).
    """

    data: TagAssignments
    settings: Settings
    seed: int

    @classmethod
    def of(cls, data: TagAssignments, settings: Settings, *, seed: int) -> TagRun:
        """The run on these triples, without tags that no person chose."""
        if data.n_tags and data.tags.series.dtype == pl.String:
            data = data.cleaned()
        if data.n_users > settings.most_users:
            data = data.sample_users(settings.most_users, seed=seed)
        if len(data) == 0:
            raise DataError("there are no triples to study.")
        # The triples that are left are the data of the study; which tags and resources occur is taken for public.
        data = TagAssignments(data.to_frame(), name=data.name).with_vocabulary("observed").with_resources("observed")
        return cls(data, settings, seed)

    @cached_property
    def questions(self) -> PostQuestions:
        """What is left to learn from, and what is asked for."""
        return leave_one_post_out(self.data, seed=self.seed)

    @property
    def train(self) -> TagAssignments:
        return self.questions.train

    def budgets(self, name: str) -> tuple[Fraction, ...]:
        """Values of ε."""
        return tuple(map(Fraction, getattr(self.settings, name)))


@dataclass(frozen=True, eq=False)
class TagScores:
    """How well one method recommends.

    Parameters
    ----------
    name
        In tables and charts.
    kind
        "paper", "ours" or "reference".
    epsilon
        Its budget, if it has one.
    hides
        What its guarantee is about, in a word.
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


def over_topics(run: TagRun, steps: Steps) -> tuple[pl.DataFrame, TopicCounts]:
    """Semantic loss for every K and ε, and the topics for the chosen K. The topic model is fitted once for each K."""
    rows, kept = [], None
    for topics in sorted({*run.settings.topics, run.settings.chosen_topics}):
        method = PriTop(epsilon=1, topics=topics, iterations=run.settings.iterations, inserted_links="none")
        counts = method.fitted_counts(run.train)
        steps.done(f"{topics} topics")
        if topics == run.settings.chosen_topics:
            kept = counts
        for epsilon in run.budgets("losses") if topics in run.settings.topics else ():
            rewriting = replace(method, epsilon=epsilon).rewriting(run.train, counts)
            rows.append({"K": topics, "epsilon": float(epsilon), **_losses(run.train, rewriting, counts)})
            steps.done(f"semantic loss, K = {topics}, ε = {float(epsilon):g}")
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


def baselines(run: TagRun, steps: Steps) -> Iterator[TagScores]:
    """Without privacy, suppression, and what needs no release."""
    for name, model in {
        "FolkRank, no privacy": FolkRank(),
        "own tags alone": OwnTags(),
        "own tags, ties by exact popularity": OwnTags(ties="popular"),
        "popular tags": PopularTags(),
    }.items():
        yield TagScores(name, "reference", None, _HIDES.get(name, "nothing"), _asked(run, model))
        steps.done(name)
    for sigma in (Fraction(4, 5), Fraction(3, 5)):
        kept = TagSuppression(sigma=sigma).suppress(run.train)
        name = f"tag suppression, σ = {float(sigma):g}"
        scores = _asked(run, lambda _, kept=kept: FolkRank().fit(kept), own=False)
        yield TagScores(name, "paper", None, "nothing", scores, len(kept), 1.0, 1 - float(sigma))
        steps.done(name)


def measure_pritop(run: TagRun, counts: TopicCounts, steps: Steps) -> Iterator[TagScores]:
    """PriTop as published; with one's own posts beside it; and in its kindest reading."""
    for reading, options in (("PriTop", {}), (KIND, KINDEST)):
        for epsilon in run.budgets("published"):
            method = PriTop(epsilon=epsilon, topics=run.settings.chosen_topics, **options)
            released = TagAssignments(method.rewriting(run.train, counts).to_frame(run.train))
            model = FolkRank().fit(released)
            about = {"triples": len(released), "true": _true_share(run.train, released)}
            if epsilon == 1:
                about["loss"] = _release_loss(run, released, counts)
            scores = _asked(run, lambda _, model=model: model, own=False)
            yield TagScores(reading, "paper", epsilon, "nothing (refuted)", scores, **about)
            if epsilon == 1 and not options:
                beside = _asked(run, lambda _, model=model: model, own=True)
                yield TagScores("PriTop and own posts", "paper", epsilon, "nothing (refuted)", beside, **about)
            steps.done(f"{reading}, ε = {float(epsilon):g}")


def measure_ours(run: TagRun, counts: TopicCounts, steps: Steps) -> Iterator[TagScores]:
    """The proved releases, each with the own posts of the person who asks on that person's side."""
    for epsilon in run.budgets("ours"):
        for name, method in proved(run, epsilon).items():
            with sandbox():
                release = method.release(run.train)
            scores = _asked(run, lambda train, release=release: _reader(release, train), own=True)
            yield TagScores(name, "ours", epsilon, _HIDES[name], scores, **_about(run, release, counts, epsilon))
            steps.done(f"{name}, ε = {float(epsilon):g}")


_HIDES = {
    "own tags alone": "everything",
    "PTR-J": "all of a person",
    "PTR-J, assignment": "one assignment",
    "PTR-T": "which tag",
    "PTR-S": "all of a person",
}


def proved(run: TagRun, epsilon: Fraction) -> dict[str, TagMethod]:
    """The proved releases for one budget."""
    given: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
    methods: dict[str, TagMethod] = {
        "PTR-J": PTRJ(**given),
        "PTR-J, assignment": PTRJ(**given, unit="assignment"),
        "PTR-T": PTRT(**given),
        "PTR-S": PTRS(**given),
    }
    if run.data.n_resources * run.data.n_tags > MOST_CELLS:
        del methods["PTR-J, assignment"]
    return methods


def _asked(run: TagRun, model: Any, **options: Any) -> Scores:
    return evaluate_tags(model, run.questions, n=LENGTHS, **options)


def _reader(release: Release, train: TagAssignments) -> TagRecommender:
    """What reads a release; where noise left no triple of it, one's own tags are all that there is."""
    if release.kind == ASSIGNMENTS and not release.table("assignments").height:
        return OwnTags().fit(train)
    return recommender(release)


def _about(run: TagRun, release: Release, counts: TopicCounts, epsilon: Fraction) -> dict[str, Any]:
    """What can be said of a release that is a table of triples of the same people."""
    if "assignments" not in release.parts or not release.table("assignments").height:
        return {}
    released = TagAssignments(release.table("assignments"))
    about: dict[str, Any] = {"triples": len(released), "true": _true_share(run.train, released)}
    if epsilon == 1 and release.mechanism != "ptr-s":  # invented people stand for nobody
        about["loss"] = _release_loss(run, released, counts)
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


def _release_loss(run: TagRun, released: TagAssignments, counts: TopicCounts) -> float:
    some = run.train
    if some.n_users > run.settings.sampled:
        some = some.sample_users(run.settings.sampled, seed=run.seed)
    return release_semantic_loss(some, released, topics=counts.topic_given_tag)["semantic_loss"]
