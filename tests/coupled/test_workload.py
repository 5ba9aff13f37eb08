"""Workloads: answers, weights and combinations agree with the matrix that is never made, on dense and sparse counts."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.coupled import (
    Workload,
    all_marginals,
    prefix_sums,
    queries_from_json,
    random_queries,
    range_queries,
)
from discreet.coupled.workloads.builders import RandomWorkload
from discreet.coupled.workloads.product import Choice, ProductWorkload
from discreet.coupled.workloads.workload import GRID
from discreet.data import IntegerDomain, Table
from discreet.errors import UsageError

DOMAINS = {"sex": ["F", "M"], "size": range(7), "age": IntegerDomain(0, 99, bins=(0, 18, 65))}


def table(rows: int = 60) -> Table:
    rng = np.random.default_rng(3)
    columns = {
        "sex": rng.choice(["F", "M"], rows),
        "size": rng.integers(0, 7, rows),
        "age": rng.integers(0, 100, rows),
    }
    return Table(columns, domains=DOMAINS)


def workloads() -> dict[str, Workload]:
    questions = [
        {"sex": "F", "size": {"in": [0, 2, 5]}},
        {},
        {"size": {"weights": [0, 0.1, 0.5, 1, 1, 0, 0.3]}, "sex": "M"},
        {"age": [18, 64], "size": [1, 3]},
    ]
    return {
        "few subsets": random_queries(DOMAINS, 7, seed=1),
        "many subsets": random_queries(DOMAINS, 90, seed=1),
        "weighted": random_queries(DOMAINS, 50, seed=2, kind="weighted"),
        "ranges": range_queries(DOMAINS, ["size", "age"], 40, seed=4),
        "prefix sums": prefix_sums(DOMAINS, "size"),
        "marginals": all_marginals(DOMAINS, 2),
        "questions": queries_from_json(DOMAINS, questions),
    }


@pytest.mark.parametrize("name", list(workloads()))
def test_evaluation_agrees_with_the_matrix(name: str) -> None:
    workload, data = workloads()[name], table()
    matrix = np.array([workload.weights(query) for query in range(len(workload))])
    assert matrix.min() >= 0
    assert matrix.max() <= GRID
    counts = data.histogram().ravel()
    exact = matrix @ counts
    assert workload.answers(counts).dtype == np.int64
    np.testing.assert_array_equal(workload.answers(counts), exact)
    np.testing.assert_array_equal(workload.true_answers(data), exact)
    np.testing.assert_allclose(workload.answers(counts / 3), exact / (3 * GRID), rtol=1e-12)
    factors = np.random.default_rng(1).normal(size=len(workload))
    np.testing.assert_allclose(workload.combine(factors), factors @ matrix / GRID, atol=1e-12)


@pytest.mark.parametrize("name", list(workloads()))
def test_slices_hold_the_same_queries(name: str) -> None:
    workload, counts = workloads()[name], table().histogram().ravel()
    part = workload[2:5]
    assert len(part) == min(3, len(workload) - 2)
    assert part.labels() == workload.labels()[2:5]
    np.testing.assert_array_equal(part.answers(counts), workload.answers(counts)[2:5])
    np.testing.assert_array_equal(part[1:2].weights(0), workload.weights(3))


def test_random_queries_look_random_and_are_made_from_seed_and_number_alone() -> None:
    first, second = random_queries({"a": range(4096)}, 64, seed=1), random_queries({"a": range(4096)}, 64, seed=2)
    bits = np.array([first.weights(query) for query in range(64)]) / GRID
    others = np.array([second.weights(query) for query in range(64)]) / GRID
    assert abs(bits.mean() - 0.5) < 0.01
    spread = np.corrcoef(np.vstack([bits, others])) - np.eye(128)
    assert np.abs(spread).max() < 0.09  # 5.8 standard deviations of a correlation over 4,096 bits
    later = RandomWorkload({"a": range(4096)}, 1, seed=1, first=63)
    np.testing.assert_array_equal(later.weights(0), first.weights(63))
    even = random_queries({"a": range(4096)}, 4, seed=1, kind="weighted").weights(0)
    assert even.max() <= GRID
    assert abs(even.mean() / GRID - 0.5) < 0.03


def test_a_domain_too_large_for_an_array_is_answered_from_its_rows() -> None:
    rng = np.random.default_rng(0)
    names = "abcdefgh"
    data = Table({name: rng.integers(0, 64, 300) for name in names}, domains=dict.fromkeys(names, range(64)))
    workload = range_queries(data, list(names), 20, seed=2)
    inside = [
        np.logical_and.reduce(
            [(data.codes[n] >= c.runs[0][0]) & (data.codes[n] < c.runs[0][1]) for n, c in workload.choices(q).items()]
        ).sum()
        for q in range(20)
    ]
    np.testing.assert_array_equal(workload.true_answers(data), np.array(inside) * GRID)
    pairs = all_marginals({name: range(64) for name in names}, 1)
    np.testing.assert_array_equal(pairs.true_answers(data)[:64], np.bincount(data.codes["a"], minlength=64) * GRID)
    with pytest.raises(UsageError, match="281,474,976,710,656 cells"):
        workload.weights(0)


def test_what_does_not_fit_is_refused() -> None:
    workload = prefix_sums(DOMAINS, "size")
    with pytest.raises(UsageError, match="does not fit 42 cells"):
        workload.answers(np.zeros(41))
    with pytest.raises(UsageError, match="does not fit"):
        workload.answers(np.zeros(42, dtype=np.float32))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no query 7"):
        workload.weights(7)
    with pytest.raises(UsageError, match="do not fit 7 queries"):
        workload.combine(np.zeros(8))
    with pytest.raises(UsageError, match="names no run"):
        _ = workload[7:9]
    with pytest.raises(UsageError, match="slices"):
        _ = workload[3]  # type: ignore[index]
    other = Table({"sex": ["F"], "size": [1]}, domains={"sex": ["F", "M"], "size": range(7)})
    with pytest.raises(UsageError, match="sex, size, age, not sex, size"):
        workload.true_answers(other)
    moved = Table({"sex": ["F"], "size": [1], "age": [3]}, domains={**DOMAINS, "age": IntegerDomain(0, 99)})
    with pytest.raises(UsageError, match="another domain of 'age'"):
        workload.true_answers(moved)


def test_too_many_cells_for_random_queries() -> None:
    with pytest.raises(UsageError, match=r"there are 10,000,000; 4,194,304 is the most.*wider bins"):
        random_queries({"a": range(10**7)}, 10, seed=1)


@pytest.mark.parametrize("queries", [0, -1, True, 2.5])
def test_no_queries_are_no_workload(queries) -> None:
    with pytest.raises(UsageError, match="Ask at least 1"):
        random_queries(DOMAINS, queries, seed=1)


def test_products_of_weights_stay_on_the_grid() -> None:
    half = Choice(((0, 2, GRID // 2),), weighted=True)
    with pytest.raises(UsageError, match="query 1 weighs several attributes"):
        ProductWorkload(DOMAINS, [{}, {"sex": half, "size": half}])
    with pytest.raises(UsageError, match="query 0, attribute 'size': the runs of codes"):
        ProductWorkload(DOMAINS, [{"size": Choice(())}])
    with pytest.raises(UsageError, match="query 0: there is no attribute 'color'"):
        ProductWorkload(DOMAINS, [{"color": Choice(((0, 1, 1),))}])


@pytest.mark.parametrize(
    "choice",
    [
        Choice(((0, 1, 1), (0, 1, 1))),
        Choice(((1, 2, 1), (0, 1, 1))),
        Choice(((0, 2, 1), (3, 9, 1), (4, 5, 1))),
        Choice(((0, 1, 1000),)),
        Choice(((0, 1, -1),)),
        Choice(((0, 1, GRID + 1),), weighted=True),
        Choice(((-1, 1, 1),)),
        Choice(()),
    ],
)
def test_no_query_weighs_a_row_more_than_once(choice: Choice) -> None:
    """Noise is scaled for weights from 0 to 1: a query that weighs more would break every guarantee."""
    with pytest.raises(UsageError, match="query 0, attribute 'x'"):
        ProductWorkload({"x": IntegerDomain(0, 7)}, [{"x": choice}])
