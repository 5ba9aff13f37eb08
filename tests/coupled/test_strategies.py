"""Strategies for fixed workloads: exact sums, least squares, errors that are foretold, the right choice."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.coupled import (
    Coupling,
    FixedStrategy,
    marginals,
    prefix_sums,
    queries_from_json,
    random_queries,
    range_queries,
)
from discreet.coupled.strategies import AxisStrategy, product_error
from discreet.coupled.workloads.product import ProductWorkload
from discreet.data import Table
from discreet.errors import PrivacyError, UsageError

GENERATOR = np.random.default_rng(0)


def matrix(axis: AxisStrategy) -> np.ndarray:
    return np.stack([axis.counts(row, 0) for row in np.eye(axis.size, dtype=np.int64)], axis=1).astype(float)


def people(rows: int = 500, ages: int = 32) -> Table:
    generator = np.random.default_rng(1)
    columns = {"age": generator.integers(0, ages, rows), "sex": generator.integers(0, 2, rows)}
    return Table(columns, domains={"age": range(ages), "sex": range(2)})


@pytest.mark.parametrize("size", [1, 2, 7, 16, 23])
@pytest.mark.parametrize("branching", [0, 2, 4])
def test_an_axis_is_the_matrix_it_stands_for(size: int, branching: int) -> None:
    axis = AxisStrategy(size, branching)
    counting = matrix(axis)
    assert counting.shape == (axis.n_counts, size)
    assert set(counting.sum(axis=0)) == {axis.levels}
    gram = counting.T @ counting
    noisy = GENERATOR.normal(size=axis.n_counts)
    assert np.allclose(axis.estimate(noisy, 0), np.linalg.solve(gram, counting.T @ noisy))
    weights = GENERATOR.random((3, size))
    assert np.allclose(axis.solve(weights, axis=1), weights @ np.linalg.inv(gram))


def test_axes_act_along_their_own_dimension() -> None:
    axis = AxisStrategy(6, 2)
    values = GENERATOR.integers(0, 9, (3, 6, 2))
    assert np.array_equal(axis.counts(values, 1), np.einsum("ci,aib->acb", matrix(axis).astype(int), values))
    estimated = axis.estimate(axis.counts(values, 1).astype(float), 1)
    assert np.allclose(estimated, values)


def test_the_foretold_error_is_that_of_constrained_least_squares() -> None:
    table = people(ages=10)
    workload = range_queries(table, ["age", "sex"], 7, seed=2)
    axes = (AxisStrategy(10, 2), AxisStrategy(2))
    counting = np.kron(matrix(axes[0]), matrix(axes[1]))
    covariance = np.linalg.inv(counting.T @ counting)
    ones = np.ones(20)
    covariance -= np.outer(covariance @ ones, covariance @ ones) / (ones @ covariance @ ones)
    rows = np.stack([workload.weights(i) / 4096 for i in range(7)])
    foretold = np.einsum("qi,ij,qj->q", rows, covariance, rows).mean()
    assert product_error(workload.on_asked_attributes(), axes) == pytest.approx(foretold)


@pytest.mark.parametrize(
    ("strategy", "delta", "runs"), [("cells", 0, 120), ("tree", 0, 120), ("queries", 0, 60), ("tree", "1e-6", 60)]
)
def test_the_error_is_the_foretold_one(strategy: Any, delta: Any, runs: int, fixed_bits: object) -> None:
    table = people()
    workload = range_queries(table, "age", 40, seed=1)
    method = FixedStrategy(1, delta=delta, strategy=strategy)
    foretold = method.estimate(table, workload)["expected_mse"]
    truth = workload.true_answers(table) / 4096
    errors = [method.release(table, workload).table("answers")["answer"].to_numpy() - truth for _ in range(runs)]
    measured = float(np.mean(np.square(errors)))
    assert 0.7 * foretold < measured < 1.4 * foretold
    assert abs(np.mean(errors)) < 0.5 * np.sqrt(foretold)


def test_the_best_is_the_least_and_says_so() -> None:
    wide = people(ages=512)
    method = FixedStrategy(1)
    for workload, chosen in (
        (prefix_sums(wide, "age"), "age: ranges in a tree"),
        (marginals(wide, "sex"), "sex: every value"),
        (queries_from_json(wide, [{"age": [10, 300]}]), "the answers"),
    ):
        facts = method.estimate(wide, workload)
        assert facts["chosen"].startswith(chosen)
        assert facts["expected_mse"] == min(v for k, v in facts.items() if k.startswith("expected_mse_"))


def test_attributes_that_nobody_asks_of_are_not_counted() -> None:
    columns = {name: [0, 1, 1] for name in "abcdefghijklmnopqrstuvwxyz"}
    table = Table(columns, domains={name: range(2) for name in columns})
    facts = FixedStrategy(1, strategy="cells").estimate(table, marginals(table, ["a", "c"]))
    assert facts["counts"] == 4


def test_random_queries_have_cells_or_answers(fixed_bits: object) -> None:
    table = people(ages=64)
    facts = FixedStrategy(1).estimate(table, random_queries(table, 2000, seed=1))
    assert facts["chosen"] == "age: every value, sex: every value"
    assert FixedStrategy(1).estimate(table, random_queries(table, 1, seed=1))["chosen"] == "the answers"
    with pytest.raises(UsageError, match="tree"):
        FixedStrategy(1, strategy="tree").estimate(table, random_queries(table, 5, seed=1))


def test_answers_add_up_and_may_be_without_negative_counts(fixed_bits: object) -> None:
    table = people()
    both = ProductWorkload(table.domains, [*marginals(table, "age"), *marginals(table, "sex"), {}])
    answers = FixedStrategy("1/2", strategy="tree").release(table, both).table("answers")["answer"].to_numpy()
    assert answers[:32].sum() == pytest.approx(500)
    assert answers[32:34].sum() == pytest.approx(500)
    assert answers[34] == pytest.approx(500)
    kept = FixedStrategy("1/2", strategy="cells", nonnegative=True).release(table, both)
    assert kept.array("histogram").min() >= 0
    assert kept.array("histogram").sum() == pytest.approx(500)


def test_the_guarantee(fixed_bits: object) -> None:
    table = Table({"age": [1, 2, 3, 4], "home": [0, 0, 0, 1]}, domains={"age": range(8)}, group="home")
    workload = prefix_sums(table, "age")
    guarantee = FixedStrategy("1/2").plan(table, workload, coupling=Coupling.by_group(table)).guarantee
    assert guarantee.unit.code == "group/replace:3"
    assert guarantee.loss.epsilon_at(Fraction(0)) == Fraction(1, 2)
    alone = FixedStrategy("1/2").estimate(table, workload)["noise_sd"]
    together = FixedStrategy("1/2").estimate(table, workload, coupling=Coupling.by_group(table))["noise_sd"]
    assert together == pytest.approx(3 * alone, rel=0.02)


def test_wrong_use_is_refused() -> None:
    table = people()
    with pytest.raises(UsageError, match="strategy"):
        FixedStrategy(1, strategy="wavelet")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="one histogram"):
        FixedStrategy(1, strategy="queries", nonnegative=True).estimate(table, marginals(table, "sex"))
    with pytest.raises(PrivacyError, match="secret"):
        FixedStrategy(1).estimate(table, marginals(table, "sex"), coupling=Coupling.similar(table, ["sex"]))
