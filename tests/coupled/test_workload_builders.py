"""Builders and JSON: what is written is what is asked, and mistakes are named by query, attribute and value."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet.coupled import (
    all_marginals,
    marginals,
    prefix_sums,
    queries_from_json,
    random_queries,
    range_queries,
)
from discreet.coupled.workloads import builders
from discreet.coupled.workloads.workload import GRID
from discreet.data import IntegerDomain, Table
from discreet.errors import DataError, UsageError

DOMAINS = {"sex": ["F", "M"], "size": range(7), "age": IntegerDomain(-5, 99, bins=(-5, 18, 65))}


def test_marginals_are_counts_of_combinations() -> None:
    rng = np.random.default_rng(0)
    data = Table({"x": rng.integers(0, 3, 50), "y": rng.integers(0, 4, 50)}, domains={"x": range(3), "y": range(4)})
    both = marginals(data, ["x", "y"])
    np.testing.assert_array_equal(both.true_answers(data), data.histogram().ravel() * GRID)
    several = marginals(data, [["y"], ["x"]])
    np.testing.assert_array_equal(several.true_answers(data)[:4], data.histogram(["y"]) * GRID)
    assert len(all_marginals(data, 1)) == 7
    assert len(marginals(data, "x")) == 3


def test_prefix_sums_add_up() -> None:
    data = Table({"x": [0, 2, 2, 1]}, domains={"x": range(4)})
    assert (prefix_sums(data, "x").true_answers(data) / GRID).tolist() == [1, 2, 4, 4]


def test_ranges_cover_the_domain_and_follow_the_seed() -> None:
    workload = range_queries(DOMAINS, "size", 300, seed=5)
    runs = [choices["size"].runs[0] for choices in workload if choices]
    assert {start for start, _, _ in runs} == set(range(7))
    assert workload.labels() == range_queries(DOMAINS, "size", 300, seed=5).labels()
    assert workload.labels() != range_queries(DOMAINS, "size", 300, seed=6).labels()


def test_questions_are_read_from_a_file(tmp_path) -> None:
    path = tmp_path / "workload.json"
    asked = [{"size": {"ranges": [[0, 1], [5, 6]]}}, {"age": {"weights": [0, 0.25, 1]}}, {}]
    path.write_text(json.dumps(asked), encoding="utf-8")
    read, given = queries_from_json(DOMAINS, path), queries_from_json(DOMAINS, asked)
    assert read.labels() == given.labels()
    for query in range(len(given)):
        np.testing.assert_array_equal(read.weights(query), given.weights(query))


@pytest.mark.parametrize(
    ("given", "queries"),
    [
        ({"random": {"queries": 4, "seed": 1}}, 4),
        ({"marginals": [["sex"], ["sex", "size"]]}, 16),
        ({"all_marginals": 1}, 12),
        ({"prefix_sums": "size"}, 7),
        ('[{"age": [18, 64]}]', 1),
    ],
)
def test_forms_of_a_workload(given, queries: int) -> None:
    assert len(queries_from_json(DOMAINS, given)) == queries


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"sex": "F"}, {"color": 1}], "query 1: there is no attribute 'color'. Choose from 'sex', 'size', 'age'"),
        ([{"sex": "X"}], "query 0, attribute 'sex': 'X' is outside the declared domain"),
        ([{"size": 7}], "query 0, attribute 'size': 7 is outside the declared domain 0 to 6"),
        ([{"size": [3, 9]}], "9 is outside"),
        ([{"size": [5, 2]}], "from 5 to 2 is empty"),
        ([{"size": [1, 2, 3]}], "is not a range"),
        ([{"size": None}], "None is outside"),
        ([{"size": 1.5}], "1.5 is outside"),
        ([{"size": {"near": 3}}], "is not understood"),
        ([{"size": {"in": []}}], "is not understood"),
        ([{"size": {"weights": [1] * 6}}], "are not 7 weights"),
        ([{"size": {"weights": [0] * 7}}], "all weights are 0"),
        ([{"sex": ["F", "M"]}], "categories have no ranges"),
        ([{"age": [20, 64]}], "20 to 64 cuts through a bin of -5–17, 18–64, 65–99"),
        ([{"age": 20}], "20 cuts through a bin"),
        ([], "at least one query"),
        ([3], "query 0 is 3"),
        ({"random": {"queries": 0, "seed": 1}}, "0 queries"),
        ({"random": {"queries": 1, "seed": -1}}, "seed = -1"),
        ({"random": {"number": 1}}, "does not describe random queries"),
        ({"random": {"queries": 1, "seed": 1, "kind": "dense"}}, "got 'dense'"),
        ({"all_marginals": 4}, "k must be between 1 and the number of attributes (3), got 4"),
        ({"marginals": [["sex", "sex"]]}, "once each"),
        ({"a": 1, "b": 2}, "a list of queries or a mapping"),
        ("{}", "a list of queries or a mapping"),
    ],
)
def test_mistakes_say_where_they_are(given, message: str) -> None:
    with pytest.raises(UsageError) as error:
        queries_from_json(DOMAINS, given)
    assert message in str(error.value)


def test_files_that_are_no_workload(tmp_path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        queries_from_json(DOMAINS, tmp_path / "nothing.json")
    broken = tmp_path / "broken.json"
    broken.write_text('[{"sex": "F"},\n {"size": }]')
    with pytest.raises(DataError, match=r"line 2.*not JSON"):
        queries_from_json(DOMAINS, broken)


def test_builders_refuse_what_no_list_holds() -> None:
    wide = {name: range(100) for name in "abcdef"}
    with pytest.raises(UsageError, match=r"not a workload that can be written out.*fewer attributes"):
        all_marginals(wide, 4)
    with pytest.raises(UsageError, match="no attribute 'z'"):
        prefix_sums(wide, "z")
    with pytest.raises(UsageError, match="about a Table"):
        random_queries(3, 3, seed=1)


def test_weighted_sums_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table({"x": [0, 3], "y": [1, 2]}, domains={"x": range(40), "y": range(25)})
    workload = random_queries(table, 101, seed=3, kind="weighted")
    cells = np.random.default_rng(1).random(workload.n_cells)
    alone = workload.answers(cells)
    monkeypatch.setattr(builders, "WORTH_THREADS", 1)
    for threads in (1, 2, 3, 200):
        monkeypatch.setattr(builders, "available_threads", lambda threads=threads: threads)
        np.testing.assert_array_equal(workload.answers(cells), alone)
