"""Tags and tables of several curators: noisy sums add up, and what follows from them is made of the sums of all."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from tests.combining.test_rounds import Replayed

import discreet as dc
from discreet.combining import combine as combine_module
from discreet.combining import release_round
from discreet.coupled import (
    LMGS,
    MWEM,
    PMW,
    Coupling,
    FixedStrategy,
    HistogramRelease,
    MeasuredMarginals,
    ShrunkHistogram,
    TreeMarginals,
    Workload,
    all_marginals,
    prefix_sums,
    queries_from_json,
    random_queries,
    range_queries,
    synthetic_rows,
)
from discreet.coupled.consistency import onto_simplex
from discreet.coupled.workloads.workload import GRID
from discreet.data.domains import IntegerDomain
from discreet.errors import PrivacyError, ReleaseError, UsageError
from discreet.privacy.draws import Draw, watched
from discreet.privacy.losses import Pure, add
from discreet.privacy.method import Method
from discreet.tagging import PTRJ, PTRS, PTRT, PrivateTopics, recommender, topics_of_release

EPSILONS = (2, 8, 4)

TAGGING: dict[str, Callable[..., Method]] = {
    "popularity": lambda epsilon=8: PTRJ(epsilon=epsilon, delta="1e-6", resources=0),
    "links": lambda epsilon=8: PTRJ(epsilon=epsilon, delta="1e-6", resources=10),
    "pairs and links": lambda epsilon=8: PTRJ(epsilon=epsilon, delta="1e-6", gram_share="1/4", head=20),
    "links, pure": lambda epsilon=8: PTRJ(epsilon=epsilon),
    "assignments": lambda epsilon=8: PTRJ(epsilon=epsilon, unit="assignment"),
    "topics": lambda epsilon=8: PrivateTopics(epsilon=epsilon, delta="1e-6", topics=4),
    "synthetic": lambda epsilon=8: PTRS(epsilon=epsilon, delta="1e-6", topics=4),
    "synthetic, pure": lambda epsilon=8: PTRS(epsilon=epsilon, topics=4),
}

ANSWERING: dict[str, Callable[..., Method]] = {
    "histogram": lambda epsilon=8: HistogramRelease(epsilon=epsilon),
    "histogram, normal": lambda epsilon=8: HistogramRelease(epsilon=epsilon, delta="1e-6"),
    "shrunk": lambda epsilon=8: ShrunkHistogram(epsilon=epsilon, delta="1e-6"),
    "marginals": lambda epsilon=8: MeasuredMarginals(epsilon=epsilon, delta="1e-6"),
    "marginals, unbiased": lambda epsilon=8: MeasuredMarginals(epsilon=epsilon, nonnegative=False),
    "strategy": lambda epsilon=8: FixedStrategy(epsilon=epsilon),
    "cells": lambda epsilon=8: FixedStrategy(epsilon=epsilon, delta="1e-6", strategy="cells", nonnegative=True),
    "lm-gs": lambda epsilon=8: LMGS(epsilon=epsilon),
}

WORKLOADS: dict[str, Callable[[Any], Workload]] = {
    "pairs": lambda table: all_marginals(table, 2),
    "prefix": lambda table: prefix_sums(table, "age"),
    "random": lambda table: random_queries(table, 12, seed=3)[2:9],
    "written": lambda table: queries_from_json(
        table, [{"age": [20, 39]}, {"age": {"weights": [0.5, 0.25, 1.0, 0.0]}, "smokes": "yes"}, {}]
    ),
}


class _WithoutNoise:
    """Gives the sums themselves."""

    def drawn(self, draw: Draw, sample: Callable[[], Any]) -> Any:
        return draw.secret.copy()


@pytest.fixture(scope="module")
def tags() -> dc.TagAssignments:
    data = dc.synthetic.tags(users=240, resources=30, seed=7).cleaned()
    return data.with_vocabulary("observed").with_resources("observed")


@pytest.fixture(scope="module")
def sites(tags: dc.TagAssignments) -> list[dc.TagAssignments]:
    return [_named(tags.filter(tags.user % 3 == number, independent=True), f"site {number}") for number in range(3)]


def _named(data: Any, name: str) -> Any:
    data.name = name
    return data


DOMAINS = {"smokes": ["no", "yes"], "age": IntegerDomain(20, 59, bins=4), "visits": range(3)}


def _table(places: Any, name: str = "") -> dc.Table:
    ages, visits = 20 + (places * 7) % 40, np.minimum(places % 5, 2)
    smokes = np.where((ages < 40) ^ (places % 7 == 0), "yes", "no")
    rows = {"smokes": smokes, "age": ages, "visits": visits, "home": places // 2}
    return dc.Table(rows, domains=DOMAINS, group="home", name=name)


@pytest.fixture(scope="module")
def table() -> dc.Table:
    return _table(np.arange(900))


@pytest.fixture(scope="module")
def clinics() -> list[dc.Table]:
    """Parts of other sizes."""
    parts = np.split(np.arange(900), [200, 500])
    return [_table(places, f"clinic {number}") for number, places in enumerate(parts)]


def all_rounds(methods: list[Method], data: list[Any], *asked: Any, people: Any = "disjoint", **options: Any) -> Any:
    """The releases of each round, and what comes out at the end."""
    rounds: list[list[dc.Release]] = []
    after: dc.Release | None = None
    while after is None or after.kind == "round":
        rounds.append(
            [release_round(one, part, *asked, after=after, **options) for one, part in zip(methods, data, strict=True)]
        )
        after = dc.combine(*rounds[-1], people=people)
    return rounds, after


def _alone(part: dc.Release) -> dc.Release:
    """A combination of one part, which ``combine`` refuses: it would only be renamed."""
    with mock.patch("discreet.combining.combine._require_several"):
        return combine_module(part, people="disjoint")


def _require_equal(one: dc.Release, other: dc.Release) -> None:
    assert one.parts.keys() == other.parts.keys()
    for name, part in one.parts.items():
        same = other.parts[name]
        if isinstance(part, pl.DataFrame):
            assert isinstance(same, pl.DataFrame)
            assert part.drop("count", "answer", strict=False).equals(same.drop("count", "answer", strict=False)), name
            for column in {"count", "answer"} & set(part.columns):
                assert np.allclose(part[column].to_numpy(), same[column].to_numpy(), rtol=1e-9, atol=1e-6), name
        else:
            assert np.allclose(part, same, rtol=1e-9, atol=1e-6), name


# What adds up


@pytest.mark.parametrize("name", [name for name in TAGGING if "synthetic" not in name])
def test_rounds_of_tags_of_one_curator_are_one_release(name: str, tags: dc.TagAssignments) -> None:
    noise, method = Replayed(), TAGGING[name]()
    with watched(noise):
        whole = method.release(tags)
    after: dc.Release | None = None
    with watched(noise.again()):
        while after is None or after.kind == "round":
            after = _alone(release_round(method, tags, after=after))
    _require_equal(whole, after)
    assert after.guarantee.loss == whole.guarantee.loss
    for figure, value in whole.parameters.items():
        assert after.parameters[figure] == pytest.approx(value, rel=1e-9) if isinstance(value, float) else True


@pytest.mark.parametrize("queries", WORKLOADS)
@pytest.mark.parametrize("name", ["histogram", "marginals, unbiased", "strategy", "lm-gs"])
def test_a_round_of_a_table_of_one_curator_is_one_release(name: str, queries: str, table: dc.Table) -> None:
    noise, method, workload = Replayed(), ANSWERING[name](1), WORKLOADS[queries](table)
    with watched(noise):
        whole = method.release(table, workload)
    with watched(noise.again()):
        alone = _alone(release_round(method, table, workload))
    _require_equal(whole, alone)
    assert alone.guarantee.loss == whole.guarantee.loss
    assert alone.parameters["rows"] == 900


@pytest.mark.parametrize("name", TAGGING)
def test_sums_of_tags_and_their_variances_add_up(name: str, sites: list[dc.TagAssignments]) -> None:
    methods = [TAGGING[name](epsilon) for epsilon in EPSILONS]
    rounds, together = all_rounds(methods, sites)
    for number, parts in enumerate(rounds, start=1):
        with mock.patch("discreet.combining.combine.played", wraps=combine_module.__globals__["played"]) as played:
            combined = dc.combine(*parts, people="may-overlap")
        (summed,) = played.call_args.args[3][-1]
        arrays = [np.asarray(part.parts[f"round{number}_1"]) for part in parts]
        assert np.array_equal(summed, sum(arrays))  # type: ignore[arg-type]
        if combined.kind == "round":
            noise = [part.parameters["round"]["noise"][-1][0] for part in parts]
            assert combined.parameters["round"]["noise"][-1] == [math.sqrt(sum(one**2 for one in noise))]
    for figure in (one for one in together.parameters if one.endswith("noise_sd")):
        each = [method.plan(sites[0]).expected[figure] for method in methods]
        assert together.parameters[figure] == pytest.approx(math.sqrt(sum(one**2 for one in each)), rel=1e-6)


@pytest.mark.parametrize("name", TAGGING)
def test_all_rounds_of_tags_spend_exactly_what_one_release_does(name: str, sites: list[dc.TagAssignments]) -> None:
    methods = [TAGGING[name](epsilon) for epsilon in EPSILONS]
    rounds, together = all_rounds(methods, sites)
    for curator, method in enumerate(methods):
        assert reduce(add, [parts[curator].guarantee.loss for parts in rounds]) == method.plan(sites[0]).loss
    assert together.guarantee.loss == methods[1].plan(sites[0]).loss
    assert together.parameters["epsilon"] == "8"
    assert together.kind == methods[0].kind


@pytest.mark.parametrize("name", ["popularity", "links", "pairs and links", "assignments", "topics"])
def test_without_noise_it_is_the_release_of_all_tags(
    name: str, tags: dc.TagAssignments, sites: list[dc.TagAssignments]
) -> None:
    with watched(_WithoutNoise()):
        _, together = all_rounds([TAGGING[name](10**5) for _ in sites], sites)
        whole = TAGGING[name](10**5 / math.sqrt(3)).release(tags)
    if name in ("popularity", "assignments"):  # thresholds of links follow from the noise
        counts = together.table("tags")["count"].to_numpy(), whole.table("tags")["count"].to_numpy()
        assert np.array_equal(*counts)
    if name == "pairs and links":
        assert np.array_equal(together.array("gram"), whole.array("gram"))
    if "links" in together.parts:
        joined = together.table("links").join(whole.table("links"), on=["resource_id", "tag"])
        assert joined.height > 20
        assert np.array_equal(joined["count"].to_numpy(), joined["count_right"].to_numpy())
    if name == "topics":
        assert topics_of_release(together).n_topics == topics_of_release(whole).n_topics


@pytest.mark.parametrize("queries", WORKLOADS)
@pytest.mark.parametrize("name", ["histogram", "strategy", "cells", "lm-gs", "marginals, unbiased"])
def test_without_noise_the_answers_are_those_of_all_rows(
    name: str, queries: str, table: dc.Table, clinics: list[dc.Table]
) -> None:
    workload = WORKLOADS[queries](table)
    with watched(_WithoutNoise()):
        _, together = all_rounds([ANSWERING[name](epsilon) for epsilon in EPSILONS], clinics, workload)
    truth = workload.true_answers(table) / GRID
    assert together.table("answers")["label"].to_list() == workload.labels()
    assert together.table("answers")["answer"].to_numpy() == pytest.approx(truth, abs=1e-6)
    assert together.parameters["rows"] == 900


def test_answers_are_made_of_the_sum_of_all_noisy_counts(table: dc.Table, clinics: list[dc.Table]) -> None:
    """And not of answers that were finished before: of these, what is below 0 would be cut off three times."""
    workload = all_marginals(table, 2)
    parts = [release_round(HistogramRelease(epsilon="1/4"), clinic, workload) for clinic in clinics]
    together = dc.combine(*parts, people="disjoint")
    summed = sum(part.array("round1_1") for part in parts)
    assert any(part.array("round1_1").min() < 0 for part in parts)
    assert np.array_equal(together.array("histogram"), onto_simplex(summed, 900))  # type: ignore[arg-type]
    measured = [release_round(FixedStrategy(epsilon=1, strategy="queries"), clinic, workload) for clinic in clinics]
    answers = dc.combine(*measured, people="disjoint").table("answers")["answer"].to_numpy()
    assert np.array_equal(answers, sum(part.array("round1_1") for part in measured) / GRID)


@pytest.mark.parametrize("name", ANSWERING)
def test_the_guarantee_and_the_noise_of_a_table(name: str, table: dc.Table, clinics: list[dc.Table]) -> None:
    workload = all_marginals(table, 2)
    methods = [ANSWERING[name](epsilon) for epsilon in EPSILONS]
    (parts,), together = all_rounds(methods, clinics, workload)
    losses = [method.plan(table, workload).loss for method in methods]  # type: ignore[call-arg]
    assert [part.guarantee.loss for part in parts] == losses
    assert together.guarantee.loss == losses[1]
    assert together.guarantee.unit == dc.Unit("record", "replace")
    assert "answers to 26 linear queries, combined from 3 curators" in together.describe()
    assert dc.combine(*parts, people="may-overlap").guarantee.loss == reduce(add, losses)
    noise = math.sqrt(sum(part.parameters["round"]["noise"][0][0] ** 2 for part in parts))
    (known,) = [
        together.parameters[figure]
        for figure in ("cell_noise_sd", "noise_sd", "noise_sd_least")
        if figure in together.parameters
    ]
    weights = {"marginals": 1024, "marginals, unbiased": 1024}.get(name, 1)
    assert known == pytest.approx(noise / weights, rel=1e-6)


def test_the_noise_of_many_answers_is_as_stated(table: dc.Table, clinics: list[dc.Table]) -> None:
    workload = range_queries(table, ["age", "visits"], 2000, seed=1)
    methods: list[Method] = [LMGS(epsilon=epsilon) for epsilon in EPSILONS]
    _, together = all_rounds(methods, clinics, workload)
    wrong = together.table("answers")["answer"].to_numpy() - workload.true_answers(table) / GRID
    # Standard errors: 1 / √2000 of a deviation for the mean; below 2.3 % for the deviation itself. Ten of each.
    assert abs(wrong.mean()) < 10 * together.parameters["noise_sd"] / math.sqrt(2000)
    assert abs(wrong.std() / together.parameters["noise_sd"] - 1) < 0.23


def test_answers_without_bias(table: dc.Table, clinics: list[dc.Table]) -> None:
    """Least squares of all noisy marginals: the mean of many combinations is the truth."""
    workload, many = all_marginals(table, 1), 60
    runs = [
        all_rounds([ANSWERING["marginals, unbiased"](epsilon) for epsilon in (1, 2, 4)], clinics, workload)[1]
        for _ in range(many)
    ]
    wrong = np.array([run.table("answers")["answer"].to_numpy() for run in runs]) - workload.true_answers(table) / GRID
    deviation = math.sqrt(runs[0].parameters["expected_mse"])
    # Answers of one query have at most twice the mean deviation of all; ten standard errors of their mean.
    assert np.abs(wrong.mean(axis=0)).max() < 10 * 2 * deviation / math.sqrt(many)
    assert abs(wrong.std() / deviation - 1) < 0.5  # 540 answers


@pytest.mark.parametrize("queries", ["pairs", "prefix", "random"])
@pytest.mark.parametrize("name", ["marginals", "strategy", "shrunk"])
def test_all_curators_measure_the_same_counts(name: str, queries: str) -> None:
    """Whatever their budgets and their numbers of rows are: otherwise their sums were about different things."""
    small, large = _table(np.arange(4)), _table(np.arange(4000))
    workload, measured = WORKLOADS[queries](small), []
    for data, epsilon in ((small, "1/100"), (large, "1/100"), (small, 100), (large, 100)):
        with watched(_WithoutNoise()):
            # The first four rows alone: all counts are then those of the same rows.
            rest = (
                [] if data is small else [release_round(ANSWERING[name](epsilon), _table(np.arange(4, 4000)), workload)]
            )
            part = release_round(ANSWERING[name](epsilon), data, workload)
        measured.append(part.array("round1_1") - sum(one.array("round1_1") for one in rest))
    for other in measured[1:]:
        assert np.array_equal(measured[0], other)


# What is made of a combination


def test_a_recommender_of_tags_of_all(sites: list[dc.TagAssignments], tmp_path: Path) -> None:
    _, together = all_rounds([TAGGING["pairs and links"](20) for _ in sites], sites)
    together.save(tmp_path / "tags")
    model = recommender(dc.Release.load(tmp_path / "tags"))
    own = sites[0].filter(sites[0].user == 0, independent=True)
    best = model.recommend([(own.users.ids()[0], own.resources.ids()[0])], n=5, own=own)
    assert best.height == 5
    assert model.guarantee is not None
    assert model.guarantee.joint
    assert "combined from 3 curators" in model.guarantee.describe()


def test_popularity_alone_is_added_up_as_it_is(sites: list[dc.TagAssignments]) -> None:
    parts = [
        PTRJ(epsilon=epsilon, resources=0).release(site) for epsilon, site in zip(("1/2", 1, 2), sites, strict=True)
    ]
    together = dc.combine(*parts, people="disjoint")
    counts = [part.table("tags")["count"].to_numpy() for part in parts]
    assert np.array_equal(together.table("tags")["count"].to_numpy(), np.sum(counts, axis=0))
    noise = [part.parameters["popularity_noise_sd"] for part in parts]
    assert together.parameters["popularity_noise_sd"] == pytest.approx(math.sqrt(sum(one**2 for one in noise)))
    assert together.guarantee.loss == Pure(Fraction(2))
    assert [part["dataset"] for part in together.parameters["combined"]["parts"]] == ["site 0", "site 1", "site 2"]
    assert recommender(together).recommend([("somebody", "page-1")], n=3).height == 3
    with pytest.raises(ReleaseError, match="there twice"):
        dc.combine(together, parts[0], people="disjoint")


def test_the_noise_of_popularity_is_as_stated() -> None:
    """Sums over nobody: what is released is noise alone."""
    empty = pl.DataFrame(schema=dict.fromkeys(("user_id", "resource_id", "tag"), pl.String))
    nobody = dc.TagAssignments(empty).with_vocabulary([f"tag {number}" for number in range(20_000)])
    parts = [PTRJ(epsilon=one, resources=0).release(nobody) for one in (1, 2, 3)]
    together = dc.combine(*parts, people="disjoint")
    measured = together.table("tags")["count"].to_numpy().std()
    # The standard error is below 1.1 %; ten of them.
    assert abs(measured / together.parameters["popularity_noise_sd"] - 1) < 0.11


@pytest.mark.parametrize("name", ["histogram", "shrunk", "marginals", "cells"])
def test_rows_are_drawn_from_a_combination(name: str, table: dc.Table, clinics: list[dc.Table], tmp_path: Path) -> None:
    workload = all_marginals(table, 3)
    for number, clinic in enumerate(clinics):
        release_round(ANSWERING[name](50), clinic, workload).save(tmp_path / f"{number}")
    folders = [tmp_path / f"{number}" for number in range(3)]
    dc.combine(*folders, people="disjoint").save(tmp_path / "all")
    drawn = synthetic_rows(dc.Release.load(tmp_path / "all"), table.domains, rows=5000)
    shares = (one.histogram(["smokes"]) / len(one) for one in (drawn, table))
    assert np.abs(next(shares) - next(shares)).max() < 0.1  # noise and drawing have deviations below 0.01


@pytest.mark.parametrize("queries", WORKLOADS)
def test_queries_are_the_same_after_saving(
    queries: str, table: dc.Table, clinics: list[dc.Table], tmp_path: Path
) -> None:
    workload = WORKLOADS[queries](table)
    parts = [release_round(HistogramRelease(epsilon=1), clinic, workload) for clinic in clinics]
    for number, part in enumerate(parts):
        part.save(tmp_path / f"{number}")
    kept = dc.combine(*(tmp_path / f"{number}" for number in range(3)), people="disjoint")
    _require_equal(kept, dc.combine(*parts, people="disjoint"))


def test_groups_of_rows(table: dc.Table, clinics: list[dc.Table]) -> None:
    workload, method = all_marginals(table, 2), HistogramRelease(epsilon=1)
    parts = [release_round(method, clinic, workload, coupling=Coupling.by_group(clinic)) for clinic in clinics]
    together = dc.combine(*parts, people="disjoint")
    assert together.guarantee.unit == dc.Unit("group", "replace", 2)
    assert "groups with rows in several parts that were declared disjoint" in together.describe()
    single = method.plan(table, workload).expected["cell_noise_sd"]
    assert together.parameters["cell_noise_sd"] == pytest.approx(2 * math.sqrt(3) * single, rel=0.05)
    stated = [Coupling.by_group(clinic).at_most(3) for clinic in clinics]
    other = release_round(method, clinics[1], workload, coupling=stated[1])
    with pytest.raises(ReleaseError, match=r"different units.*\n?.*at_most"):
        dc.combine(parts[0], other, people="disjoint")
    with pytest.raises(PrivacyError, match="computed from the secret rows"):
        release_round(method, clinics[0], workload, coupling=Coupling.similar(clinics[0]))


@pytest.mark.parametrize("kind", ["tags", "table"])
def test_data_in_parts_release_the_same_rounds(
    kind: Any, tags: dc.TagAssignments, table: dc.Table, tmp_path: Path
) -> None:
    whole: Any = tags if kind == "tags" else table
    whole.to_frame().write_parquet(tmp_path / "data.parquet")
    lists: Any = {"tags": tags.tags.series, "resources": tags.resources.series}
    facts: Any = lists if kind == "tags" else {"domains": DOMAINS, "group": "home"}
    parted = dc.scan(tmp_path / "data.parquet", what=kind, parts=3, folder=tmp_path, **facts)
    method = TAGGING["links"]() if kind == "tags" else ANSWERING["histogram"]()
    asked, noise, found = ([] if kind == "tags" else [all_marginals(table, 2)]), Replayed(), []
    for data in (whole, parted):
        after: dc.Release | None = None
        with watched(noise.again()):
            while after is None or after.kind == "round":
                after = _alone(release_round(method, data, *asked, after=after))
        found.append(after)
    _require_equal(*found)


def test_each_curator_charges_their_own_ledger(clinics: list[dc.Table], tmp_path: Path) -> None:
    ledger, workload = dc.Ledger(tmp_path / "clinic.db"), prefix_sums(clinics[0], "age")
    ledger.open(clinics[0], epsilon=2, unit="record/replace")
    mine = release_round(FixedStrategy(epsilon=1), clinics[0], workload, ledger=ledger)
    (entry,) = ledger.statement(clinics[0]).entries
    assert (entry.mechanism, str(entry.guarantee.loss)) == ("round 1 of strategy", "ε = 1")
    together = dc.combine(mine, release_round(FixedStrategy(epsilon=1), clinics[1], workload), people="disjoint")
    assert ledger.account_of_release(mine.id) is not None
    assert ledger.account_of_release(together.id) is None


def test_a_site_that_leaves_after_the_first_round(sites: list[dc.TagAssignments]) -> None:
    method = TAGGING["links"](8)
    first = dc.combine(*(release_round(method, site) for site in sites), people="disjoint")
    fewer = dc.combine(*(release_round(method, site, after=first) for site in sites[:2]), people="disjoint")
    expected = method.plan(sites[0]).expected
    assert fewer.parameters["popularity_noise_sd"] == pytest.approx(math.sqrt(3) * expected["popularity_noise_sd"])
    assert fewer.parameters["link_noise_sd"] == pytest.approx(math.sqrt(2) * expected["link_noise_sd"])


# What is refused


def test_other_lists_of_tags(tags: dc.TagAssignments, sites: list[dc.TagAssignments]) -> None:
    method = TAGGING["links"]()
    part, listed = release_round(method, sites[0]), tags.tags.series.to_list()
    fewer = sites[1].with_vocabulary(listed[1:], outside="drop")
    with pytest.raises(ReleaseError, match="another list of tags") as refused:
        dc.combine(part, release_round(method, fewer), people="disjoint")
    assert "--vocabulary" in refused.value.cli_message
    resources = sites[1].with_resources(tags.resources.series.to_list()[1:], outside="drop")
    with pytest.raises(ReleaseError, match="another list of resources"):
        dc.combine(part, release_round(method, resources), people="disjoint")
    with pytest.raises(ReleaseError, match="another list of tags"):
        release_round(method, fewer, after=_alone(part))
    direct = [PTRJ(epsilon=1, resources=0).release(site) for site in (sites[0], fewer)]
    with pytest.raises(ReleaseError, match="another list of tags"):
        dc.combine(*direct, people="disjoint")
    # Without links nobody needs a list of resources, and nobody needs the same.
    alone = [release_round(TAGGING["popularity"](), site) for site in (sites[0], resources)]
    assert dc.combine(*alone, people="disjoint").kind == "tag-statistics"


def test_other_settings_of_tags(sites: list[dc.TagAssignments]) -> None:
    part = release_round(TAGGING["links"](), sites[0])
    for other, words in (
        (PTRJ(epsilon=8, delta="1e-6", resources=20), "resources = 20, not 10"),
        (PTRJ(epsilon=8, resources=10), "delta = 0"),
        (PrivateTopics(epsilon=8, delta="1e-6"), "round of private-topics, not of ptr-j"),
    ):
        with pytest.raises(ReleaseError, match=words):
            dc.combine(part, release_round(other, sites[1]), people="disjoint")
    with pytest.raises(ReleaseError, match="different units"):
        dc.combine(part, release_round(TAGGING["assignments"](), sites[1]), people="disjoint")
    with pytest.raises(ReleaseError, match="there twice"):
        dc.combine(part, part, people="may-overlap")


def test_other_queries_and_domains(table: dc.Table, clinics: list[dc.Table]) -> None:
    method = HistogramRelease(epsilon=1)
    first = partial(release_round, method, clinics[0])
    for mine, theirs in (
        (all_marginals(table, 2), all_marginals(table, 1)),
        (prefix_sums(table, "age"), prefix_sums(table, "visits")),
        (random_queries(table, 4, seed=1), random_queries(table, 4, seed=2)),
        (random_queries(table, 4, seed=1), random_queries(table, 4, seed=1, kind="weighted")),
        (random_queries(table, 4, seed=1), all_marginals(table, 1)),
    ):
        with pytest.raises(ReleaseError, match="other queries") as refused:
            dc.combine(first(mine), release_round(method, clinics[1], theirs), people="disjoint")
        assert "--queries" in refused.value.cli_message
    wider = clinics[1].with_domains({**DOMAINS, "age": IntegerDomain(20, 59, bins=5)})
    turned = clinics[1].with_attributes(["age", "smokes", "visits"])
    for odd in (wider, turned):
        again = dc.Table(odd.to_frame(), domains=odd.domains)
        with pytest.raises(ReleaseError, match="other attributes or other domains"):
            dc.combine(
                first(all_marginals(table, 2)),
                release_round(method, again, all_marginals(again, 2)),
                people="disjoint",
            )
    dates = dc.Table({"day": [None]}, domains={"day": [None, "monday"]})
    with pytest.raises(UsageError, match="cannot be written down"):
        release_round(method, dates, all_marginals(dates, 1))


def test_finished_releases_say_what_to_do(sites: list[dc.TagAssignments], clinics: list[dc.Table]) -> None:
    workload = all_marginals(clinics[0], 2)
    answers = [HistogramRelease(epsilon=1).release(clinic, workload) for clinic in clinics]
    with pytest.raises(ReleaseError, match="noisy counts, which such a release does not keep") as refused:
        dc.combine(*answers, people="disjoint")
    assert "--round 1" in str(refused.value)
    linked = [TAGGING["links"]().release(site) for site in sites]
    with pytest.raises(ReleaseError, match="Run the method round by round"):
        dc.combine(*linked, people="disjoint")
    rows = [PTRS(epsilon=1, delta="1e-6", users=5).release(site) for site in sites]
    with pytest.raises(ReleaseError, match="Run the method round by round"):
        dc.combine(*rows, people="disjoint")
    for method in (TreeMarginals(epsilon=1), MWEM(epsilon=1, rounds=2)):
        chosen = [method.release(clinic, workload) for clinic in clinics]
        with pytest.raises(ReleaseError, match=r"it chooses by scores.*Combine counts"):
            dc.combine(*chosen, people="disjoint")
    part = release_round(HistogramRelease(epsilon=1), clinics[0], workload)
    with pytest.raises(ReleaseError, match="some are not"):
        dc.combine(part, answers[1], people="disjoint")


def test_methods_that_cannot_be_combined_say_so(
    sites: list[dc.TagAssignments], clinics: list[dc.Table], tmp_path: Path
) -> None:
    workload = random_queries(clinics[0], 5, seed=1)
    ledger = dc.Ledger(tmp_path / "clinic.db")
    ledger.open(clinics[0], epsilon=2, unit="record/replace")
    for method, words in (
        (MWEM(epsilon=1), "chooses by scores"),
        (TreeMarginals(epsilon=1), "chooses by scores"),
        (PMW(epsilon=1), "does not release sums"),
    ):
        with pytest.raises(UsageError, match=words):
            release_round(method, clinics[0], workload, ledger=ledger)
    assert not ledger.statement(clinics[0]).entries
    for method, words in (
        (PTRT(epsilon=1), "posts of one curator"),
        (PrivateTopics(epsilon=1, delta="1e-6", method="expected"), 'method="gram" can be combined'),
    ):
        with pytest.raises(UsageError, match=words):
            release_round(method, sites[0])
    with (
        mock.patch.multiple("discreet.tagging.sums", CELLS_AT_ONCE=100),
        pytest.raises(UsageError, match="are too many to be kept"),
    ):
        release_round(TAGGING["links"](), sites[0])


def test_data_of_another_kind(sites: list[dc.TagAssignments], clinics: list[dc.Table]) -> None:
    workload = all_marginals(clinics[0], 1)
    with pytest.raises(UsageError, match="histogram is computed from Table, not from TagAssignments"):
        release_round(HistogramRelease(epsilon=1), sites[0], workload)
    with pytest.raises(UsageError, match="ptr-j is computed from TagAssignments, not from Table"):
        release_round(PTRJ(epsilon=1), clinics[0])
    with pytest.raises(UsageError, match="queries and couplings are for tables"):
        release_round(TAGGING["popularity"](), sites[0], workload)
    with pytest.raises(UsageError, match="queries must be a Workload"):
        release_round(HistogramRelease(epsilon=1), clinics[0])


def test_damaged_queries(clinics: list[dc.Table]) -> None:
    parts = [release_round(HistogramRelease(epsilon=1), one, all_marginals(one, 2)) for one in clinics[:2]]
    index, runs = parts[0].array("queries"), parts[0].array("choices")
    wrong_runs = runs.copy()
    wrong_runs[-1, 3] = 99
    for odd in (
        {"queries": index + np.int32(50)},
        {"queries": index[:, :1]},
        {"queries": index[0]},
        {"choices": runs[1:]},
        {"choices": wrong_runs},
        {"choices": runs[:, :2]},
    ):
        damaged = [replace(part, parts={**part.parts, **odd}, id="") for part in parts]
        with pytest.raises(dc.DiscreetError):
            dc.combine(*damaged, people="disjoint")
