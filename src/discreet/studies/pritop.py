"""Study: tagging releases, Figures 4.1 to 4.5 and Tables 4.2 and 4.3 of Zhu's thesis, with proved releases beside.

The curves are not in the copy at hand; they are measured again from the text, which gives some numbers. That PriTop
does not give its guarantee is shown in ``tests/refutations/test_pritop.py``.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, section 4.5.
T. Zhu, G. Li, W. Zhou, P. Xiong, C. Yuan: Deferentially private tagging recommendation based on topic model.
PAKDD 2014.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import polars as pl

from discreet.common.arrays import Integers
from discreet.data.tags import TagAssignments
from discreet.errors import DataError
from discreet.evaluation.scores import Scores
from discreet.evaluation.significance import compare, paired_t_test
from discreet.evaluation.tags import (
    PostQuestions,
    evaluate_tags,
    leave_one_post_out,
    release_semantic_loss,
    semantic_loss,
)
from discreet.privacy.charging import sandbox
from discreet.privacy.release import Release
from discreet.studies.pritop_bounds import BOUNDS, loss_bounds
from discreet.studies.study import Measurements, Settings, Steps, Study, made, published_table
from discreet.tagging import FolkRank, OwnTags, PopularTags, PriTop, TagSuppression, recommender
from discreet.tagging.pritop.rewriting import Rewriting
from discreet.tagging.pritop.topics import TopicCounts

__all__ = ["PriTopStudy", "TagRun", "TagScores", "measurements", "replacements"]

LENGTHS = tuple(range(1, 11))
TOP = 10
METRICS = ("recall", "precision")
SUPPRESSION = "tag suppression, σ = 0.8"
KIND = "PriTop, kindest reading"
KINDEST: dict[str, Any] = {
    "candidates": "profile",
    "profile": "assignments",
    "noisy_topics": "own",
    "inserted_links": "none",
}
"""The reading of PriTop that recommends best: tags are exchanged for tags of the same person, and none is added."""

KEY = ("user_id", "resource_id", "tag")


class PriTopStudy(Study):
    """Semantic loss, recall and precision of PriTop, of suppression and of the proved releases.

    One post of each user is left out, and its tags are to be found. Published releases are read by FolkRank as they
    are; proved ones with the remaining posts of the person who asks, which that person knows anyway. The seed draws the
    posts that are left out. Noise and topics are fresh in every run.
    """

    name = "pritop"
    data_kind = TagAssignments

    def builtin(self, *, quick: bool) -> TagAssignments:
        """Listeners: of the size of Last.fm, or a few of them."""
        from discreet.data import synthetic

        few = {"users": self.settings(quick=True).most_users, "resources": 900, "vocabulary": 800}
        return synthetic.listeners(**few if quick else {}, seed=7)

    def measure(self, data: TagAssignments, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        run = TagRun.of(data, settings, seed=seed)
        fits = len({*settings.topics, settings.chosen_topics})
        cells = run.data.n_resources * run.data.n_tags
        proved = [one for one in self.layout["methods"] if cells <= one.get("cells", cells)]
        releases = 6 + 2 * len(settings.published) + len(proved) * len(settings.ours)
        steps.expect(fits + len(settings.topics) * len(settings.losses) + releases)
        losses, bounds, counts = over_topics(run, steps)
        scores = (
            *baselines(run, steps),
            *measure_pritop(run, counts, steps),
            *measure_ours(run, proved, counts, steps),
        )
        for one in self.layout["methods"]:
            if one not in proved:
                steps.skipped(one["name"], f"{cells:,} cells of resources and tags; it takes {one['cells']:,} at most.")
        sampled = min(settings.sampled, run.data.n_users)
        setting = {
            "records": len(run.data),
            "posts": len(run.data.posts),
            "users": run.data.n_users,
            "users who are asked for": len(run.questions.queries),
            "resources": run.data.n_resources,
            "tags": run.data.n_tags,
            "semantic loss of whole releases": f"{sampled} users, tags paired at best",
        }
        here = {name: setting[name] for name in ("records", "users", "resources", "tags")}
        return measurements(setting, {"data": f"here: {run.data.name or 'triples'}", **here}, losses, scores, bounds)


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


def over_topics(run: TagRun, steps: Steps) -> tuple[pl.DataFrame, pl.DataFrame, TopicCounts]:
    """Semantic loss and its bounds for every K and ε, and the topics for the chosen K, whose model is fitted once."""
    rows, said, kept = [], [], None
    for topics in sorted({*run.settings.topics, run.settings.chosen_topics}):
        method = PriTop(epsilon=1, topics=topics, iterations=run.settings.iterations, inserted_links="none")
        counts = method.fitted_counts(run.train)
        steps.done(f"{topics} topics")
        if topics == run.settings.chosen_topics:
            kept = counts
        for epsilon in run.budgets("losses") if topics in run.settings.topics else ():
            here = replace(method, epsilon=epsilon)
            new = replacements(run.train, here.rewriting(run.train, counts))
            rows.append({"K": topics, "epsilon": float(epsilon), **_losses(run.train, new, counts)})
            said += loss_bounds(here, run.train, counts, new)
            steps.done(f"semantic loss, K = {topics}, ε = {float(epsilon):g}")
    assert kept is not None
    return pl.DataFrame(rows), pl.DataFrame(said, schema=BOUNDS), kept


def _losses(data: TagAssignments, new: Integers, counts: TopicCounts) -> dict[str, float]:
    topics, stays = counts.topic_given_tag, new >= 0
    return {
        "loss": semantic_loss(data, new, topics=topics)["semantic_loss"],
        "loss_of_replaced": semantic_loss(data.filter(stays), new[stays], topics=topics)["semantic_loss"],
        "deleted": float(1 - stays.mean()),
    }


def replacements(data: TagAssignments, rewriting: Rewriting) -> Integers:
    """For each triple the code of the tag in its place, −1 where it was deleted; for links that are kept."""
    triples = pl.DataFrame({"user": data.user, "resource": data.resource, "tag": data.tag})
    changed = {"user": rewriting.user, "resource": rewriting.resource, "tag": rewriting.old, "new": rewriting.tag}
    kept = pl.DataFrame(changed).filter(pl.col("tag") >= 0).cast(pl.Int64)
    found = triples.cast(pl.Int64).join(kept, on=["user", "resource", "tag"], how="left", maintain_order="left")
    return found["new"].fill_null(-1).to_numpy()


# Figures 4.2 to 4.5


def baselines(run: TagRun, steps: Steps) -> Iterator[TagScores]:
    """Without privacy, suppression, and what needs no release."""
    for name, hides, model in (
        ("FolkRank, no privacy", "nothing", FolkRank()),
        ("own tags alone", "everything", OwnTags()),
        ("own tags, ties by exact popularity", "nothing", OwnTags(ties="popular")),
        ("popular tags", "nothing", PopularTags()),
    ):
        yield TagScores(name, "reference", None, hides, _asked(run, model))
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
            about = _about(run, released, counts if epsilon == 1 else None)
            scores = _asked(run, lambda _, model=model: model, own=False)
            yield TagScores(reading, "paper", epsilon, "nothing (refuted)", scores, **about)
            if epsilon == 1 and not options:
                beside = _asked(run, lambda _, model=model: model, own=True)
                yield TagScores("PriTop and own posts", "paper", epsilon, "nothing (refuted)", beside, **about)
            steps.done(f"{reading}, ε = {float(epsilon):g}")


def measure_ours(run: TagRun, proved: list[dict[str, Any]], counts: TopicCounts, steps: Steps) -> Iterator[TagScores]:
    """The proved releases, each with the own posts of the person who asks on that person's side."""
    for epsilon in run.budgets("ours"):
        for one in proved:
            name = f"{one['name']}, ε = {float(epsilon):g}"
            release = steps.attempt(name, partial(_released, run, one, epsilon))
            steps.done(name)
            if release is None:
                continue
            scores = _asked(run, lambda _, release=release: recommender(release), own=True)
            about = {}
            if "assignments" in release.parts and release.table("assignments").height:
                # Invented people stand for nobody: no tag of theirs is in the place of another.
                paired = counts if epsilon == 1 and one["method"] != "ptr-s" else None
                about = _about(run, TagAssignments(release.table("assignments")), paired)
            yield TagScores(one["name"], "ours", epsilon, one["hides"], scores, **about)


def _released(run: TagRun, one: dict[str, Any], epsilon: Fraction) -> Release:
    with sandbox():
        return made(one, {"epsilon": epsilon}).release(run.train)


def _asked(run: TagRun, model: Any, **options: Any) -> Scores:
    return evaluate_tags(model, run.questions, n=LENGTHS, **options)


def _about(run: TagRun, released: TagAssignments, counts: TopicCounts | None) -> dict[str, Any]:
    """What can be said of released triples: how many, which share is true, and with topics their semantic loss."""
    # Invented people have names where real ones may have numbers.
    told, known = (data.to_frame().select(pl.col(KEY).cast(pl.String)) for data in (released, run.train))
    true = told.join(known, on=KEY, how="semi").height / len(released)
    if counts is None:
        return {"triples": len(released), "true": true}
    some = run.train
    if some.n_users > run.settings.sampled:
        some = some.sample_users(run.settings.sampled, seed=run.seed)
    loss = release_semantic_loss(some, released, topics=counts.topic_given_tag)["semantic_loss"]
    return {"triples": len(released), "true": true, "loss": loss}


# What follows


def measurements(
    setting: dict[str, Any],
    here: dict[str, Any],
    losses: pl.DataFrame,
    scores: tuple[TagScores, ...],
    bounds: pl.DataFrame,
) -> Measurements:
    """Tables of what was measured on the data ``here``."""
    tables = {
        "losses": losses.with_columns(budget=pl.format("ε = {}", pl.col("epsilon"))),
        "scores": pl.concat([_table(one) for one in scores]),
        "at one": pl.concat([_table(one) for one in scores if one.epsilon in (None, 1)]),
        "contents": pl.DataFrame(
            [
                {"method": one.name, "triples": one.triples, "true share": one.true, "semantic loss": one.loss}
                for one in scores
                if one.triples is not None and one.epsilon in (None, 1)
            ],
            schema={"method": pl.String, "triples": pl.Int64, "true share": pl.Float64, "semantic loss": pl.Float64},
        ),
        "bounds": bounds,
        "tests": _tests(scores),
        "datasets": pl.concat([pl.DataFrame([here]), published_table("pritop-datasets")]),
        "told": published_table("pritop-recall"),
    }
    labels = {"fewest": losses["K"].min(), "most": losses["K"].max()}
    return Measurements(setting, tables, labels=labels)


def _table(one: TagScores) -> pl.DataFrame:
    """Recall and precision of one method, for every N."""
    about: dict[str, Any] = {"method": one.name, "kind": one.kind, "hides": one.hides}
    about["epsilon"] = None if one.epsilon is None else float(one.epsilon)
    rows = [
        about | {"N": n, "metric": metric, "value": one.scores[f"{metric}@{n}"], "at": f"{metric}@{n}"}
        for metric in METRICS
        for n in LENGTHS
    ]
    return pl.DataFrame(rows, schema_overrides={"epsilon": pl.Float64})


def _tests(scores: tuple[TagScores, ...]) -> pl.DataFrame:
    """Table 4.3: paired t-tests over N = 1 … 10, as published, and over users at N = 10."""
    rows: list[dict[str, Any]] = [
        {"method": "PriTop", "against": f"published, {data}", "metric": metric, "t over N": t, "df": df}
        for data, metric, df, t in published_table("pritop-tests").iter_rows()
    ]
    at_one = {one.name: one for one in scores if one.epsilon in (None, 1)}
    pairs = [("PriTop", SUPPRESSION), (KIND, SUPPRESSION)]
    pairs += [
        (one.name, other) for one in at_one.values() if one.kind == "ours" for other in ("own tags alone", "PriTop")
    ]
    for name, other in pairs:
        for metric in METRICS:
            ours, theirs = at_one[name].scores, at_one[other].scores
            values = [[of[f"{metric}@{n}"] for n in LENGTHS] for of in (ours, theirs)]
            lengths, users = (
                paired_t_test(values[0], against=values[1]),
                compare(ours, against=theirs, metric=f"{metric}@{TOP}"),
            )
            rows.append(
                {
                    "method": name,
                    "against": other,
                    "metric": metric,
                    "t over N": lengths.statistic,
                    "df": lengths.n - 1,
                    "t over users": users.statistic,
                    "df of users": users.n - 1,
                    "difference": users.difference,
                    "p": users.p_value,
                }
            )
    schema = {"method": pl.String, "against": pl.String, "metric": pl.String, "t over N": pl.Float64, "df": pl.Int64}
    users = {"t over users": pl.Float64, "df of users": pl.Int64, "difference": pl.Float64, "p": pl.Float64}
    return pl.DataFrame(rows, schema=schema | users)
