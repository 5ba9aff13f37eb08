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

from typing import Any

import polars as pl

from discreet.data.tags import TagAssignments
from discreet.evaluation.significance import compare, paired_t_test
from discreet.studies.pritop.measures import (
    DELTA,
    KIND,
    LENGTHS,
    MOST_CELLS,
    TagRun,
    TagScores,
    baselines,
    measure_ours,
    measure_pritop,
    over_topics,
    proved,
)  # fmt: skip
from discreet.studies.study import Measurements, Settings, Steps, Study, published_table

__all__ = ["PriTopStudy", "measurements"]

TOP = 10
METRICS = ("recall", "precision")
SUPPRESSION = "tag suppression, σ = 0.8"


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
        releases = 6 + 2 * len(settings.published) + sum(len(proved(run, epsilon)) for epsilon in run.budgets("ours"))
        steps.expect(fits + len(settings.topics) * len(settings.losses) + releases)
        losses, counts = over_topics(run, steps)
        scores = (*baselines(run, steps), *measure_pritop(run, counts, steps), *measure_ours(run, counts, steps))
        return measurements(_described(run), losses, scores)


def _described(run: TagRun) -> dict[str, Any]:
    data = run.data
    cells = data.n_resources * data.n_tags
    left_out = {"left out": f"PTR-J for assignments: {cells:,} cells take too long"} if cells > MOST_CELLS else {}
    return {
        "data": data.name or "triples",
        "triples": len(data),
        "posts": len(data.posts),
        "users": data.n_users,
        "users who are asked for": len(run.questions.queries),
        "resources": data.n_resources,
        "tags": data.n_tags,
        "K": run.settings.chosen_topics,
        "delta of the proved releases": str(float(DELTA)),
        "semantic loss of whole releases": f"{min(run.settings.sampled, data.n_users)} users, tags paired at best",
        "seed of what is left out": run.seed,
        **left_out,
    }


def measurements(setting: dict[str, Any], losses: pl.DataFrame, scores: tuple[TagScores, ...]) -> Measurements:
    """Tables of what was measured."""
    here = {"data": f"here: {setting['data']}", "records": setting["triples"]}
    here |= {name: setting[name] for name in ("users", "resources", "tags")}
    tables = {
        "losses": losses.with_columns(budget=pl.format("ε = {}", pl.col("epsilon"))),
        "scores": pl.concat([_table(one) for one in scores]),
        "at one": pl.concat([_table(one) for one in scores if one.epsilon in (None, 1)]),
        "lengths": pl.DataFrame([_at_lengths(one) for one in scores if one.epsilon in (None, 1)]),
        "contents": pl.DataFrame(
            [
                {"method": one.name, "triples": one.triples, "true share": one.true, "semantic loss": one.loss}
                for one in scores
                if one.triples is not None and one.epsilon in (None, 1)
            ],
            schema={"method": pl.String, "triples": pl.Int64, "true share": pl.Float64, "semantic loss": pl.Float64},
        ),
        "tests": _tests(scores),
        "datasets": pl.concat([pl.DataFrame([here]), published_table("pritop-datasets")]),
        "told": published_table("pritop-recall"),
    }
    labels = {"fewest": losses["K"].min(), "most": losses["K"].max()}
    return Measurements(setting, tables, labels=labels)


def _table(one: TagScores) -> pl.DataFrame:
    """Recall and precision of one method, for every N."""
    rows = [{"N": n, "metric": metric, "value": one.scores[f"{metric}@{n}"]} for metric in METRICS for n in LENGTHS]
    epsilon = None if one.epsilon is None else float(one.epsilon)
    return pl.DataFrame(rows).select(
        pl.lit(one.name).alias("method"),
        pl.lit(one.kind).alias("kind"),
        pl.lit(one.hides).alias("hides"),
        pl.lit(epsilon, pl.Float64).alias("epsilon"),
        pl.all(),
    )


def _at_lengths(one: TagScores) -> dict[str, Any]:
    shown = [f"recall@{n}" for n in (1, 5, 10)] + [f"precision@{n}" for n in (5, 10)]
    return {"method": one.name, "hides": one.hides, **{name: one.scores[name] for name in shown}}


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
