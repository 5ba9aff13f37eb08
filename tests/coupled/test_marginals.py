"""Weighted marginals in one round: least squares, what is charged, tables without negative counts, drawn rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pytest

from discreet.coupled import (
    Coupling,
    MeasuredMarginals,
    all_marginals,
    marginals,
    prefix_sums,
    queries_from_json,
    random_queries,
    range_queries,
    synthetic_rows,
)
from discreet.coupled.consistency import fit_to_sums
from discreet.coupled.default_method import default_method
from discreet.coupled.marginal_tables import consistent_tables, tree_parts
from discreet.coupled.residuals import MarginalSets, asked_sets, least_squares
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import GRID
from discreet.data import Table, synthetic
from discreet.errors import BudgetError, UsageError
from discreet.privacy.ledger import Ledger

SHAPE = (3, 2, 4)
SMALL = {"a": range(3), "b": range(2), "c": range(4)}


def wide(rows: int = 4_000, attributes: int = 40, size: int = 6) -> Table:
    """More cells than 64 bits can number; each attribute follows the one before it."""
    draw = np.random.default_rng(5)
    codes = [np.minimum(draw.geometric(0.5, rows) - 1, size - 1)]
    for _ in range(attributes - 1):
        codes.append(np.where(draw.random(rows) < 0.7, codes[-1], draw.integers(size, size=rows)))
    names = [f"a{place}" for place in range(attributes)]
    return Table(dict(zip(names, codes, strict=True)), domains=dict.fromkeys(names, range(size)))


def matrix(axes: tuple[int, ...]) -> np.ndarray:
    """The 0/1 matrix of a marginal of the small domain."""
    found = np.ones((1, 1))
    for axis, size in enumerate(SHAPE):
        found = np.kron(found, np.eye(size) if axis in axes else np.ones((1, size)))
    return found


@pytest.mark.parametrize("whole", [False, True])
def test_least_squares_and_its_variances_are_those_of_linear_algebra(whole: bool) -> None:
    """Written out over all cells, with the total as a constraint."""
    workload = queries_from_json(SMALL, [{"a": [0, 1], "b": 1}, {"c": {"weights": [0, 0.5, 1, 1]}, "b": 0}, {"a": 2}])
    assert isinstance(workload, ProductWorkload)
    sets = MarginalSets.of(workload, asked_sets(workload))
    assert sets.whole == (0, 1, 2)
    weights = np.array([1, 0, 2, 3, 2, 1 if whole else 0])
    assert sets.candidates == ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2))
    draw = np.random.default_rng(3)
    chosen = [(axes, w) for axes, w in zip(sets.candidates, weights, strict=True) if w]
    noisy = {axes: draw.normal(10, 3, [SHAPE[axis] for axis in axes]) for axes, _ in chosen}
    rows = np.vstack([w * matrix(axes) for axes, w in chosen])
    data = np.concatenate([w * noisy[axes].ravel() for axes, w in chosen])
    # Σx = 100: a measurement without noise.
    heavy = 1e6 * np.ones((1, prod(SHAPE)))
    design, seen = np.vstack([rows, heavy]), np.append(data, 1e8)
    found = np.linalg.lstsq(design, seen, rcond=1e-12)[0]
    estimates = least_squares(sets, weights, noisy, 100.0)
    for axes in sets.sets:
        assert np.allclose(estimates[axes].ravel(), matrix(axes) @ found, atol=1e-4)
    covariance = np.linalg.pinv(design.T @ design, rcond=1e-14)
    queries = np.stack([workload.weights(place) / GRID for place in range(len(workload))])
    expected = np.einsum("qc,cd,qd->q", queries, covariance, queries).sum()
    assert sets.error(weights.astype(float)) == pytest.approx(expected, rel=1e-5)
    for axes, variance in zip(sets.sets, sets.variance(weights.astype(float)), strict=True):
        assert variance == pytest.approx(np.diag(matrix(axes) @ covariance @ matrix(axes).T).mean(), rel=1e-5)


@pytest.mark.parametrize("norm", [1, 2])
def test_no_other_weights_have_a_smaller_expected_error(norm: Any) -> None:
    workload = all_marginals(SMALL, 2)
    sets = MarginalSets.of(workload, asked_sets(workload))

    def error(weights: np.ndarray) -> float:
        return sets.error(weights) * float(np.linalg.norm(weights, ord=norm)) ** 2

    best = error(sets.weights(norm).astype(float))
    draw = np.random.default_rng(1)
    for _ in range(200):
        assert best <= error(draw.random(len(sets.candidates)) ** 3) * (1 + 1e-3)
    for place in range(len(sets.candidates)):
        for factor in (0.9, 1.1):
            changed = sets.weights(norm).astype(float)
            changed[place] = changed[place] * factor + (changed[place] == 0)
            assert best <= error(changed) * (1 + 1e-3)


@pytest.mark.parametrize("build", [all_marginals, random_queries])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_errors_are_the_expected_ones(delta: Any, build: Any) -> None:
    table = synthetic.survey(households=200, seed=1).with_attributes(["age", "gender", "city", "income"])
    workload = all_marginals(table, 2) if build is all_marginals else random_queries(table, 200, seed=1)
    method = MeasuredMarginals(epsilon=1, delta=delta, nonnegative=False)
    truth = workload.true_answers(table) / GRID
    runs = [np.square(method.release(table, workload).table("answers")["answer"] - truth).mean() for _ in range(12)]
    assert np.mean(runs) == pytest.approx(method.estimate(table, workload)["expected_mse"], rel=0.25)


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("household", [False, True])
def test_the_whole_budget_is_spent_on_what_the_weights_add_up_to(delta: Any, household: bool) -> None:
    table = synthetic.survey(households=200, seed=1)
    coupling = Coupling.by_group(table) if household else None
    method = MeasuredMarginals(epsilon="1/2", delta=delta)
    plan = method.plan(table, all_marginals(table, 2), coupling=coupling)
    setting, strategy = plan.public
    k, weights = setting.largest, [weight for _, weight in strategy.chosen]
    bounds = strategy.bounds(setting)
    assert bounds.l1_sensitivity == 2 * k * sum(weights)
    assert bounds.l2_sensitivity_squared == 2 * k**2 * sum(weight**2 for weight in weights)
    assert bounds.linf_sensitivity == k * max(weights)
    if not delta:
        assert method._budget.for_sums().parameter(bounds) == 2 * k * sum(weights) / Fraction(1, 2)
    assert plan.loss == method._budget.loss


def test_one_row_moves_the_weighted_counts_by_exactly_the_bound() -> None:
    tables = [Table({"a": [0, first], "b": [0, first], "c": [0, first]}, domains=SMALL) for first in (0, 1)]
    workload = all_marginals(SMALL, 2)
    setting, strategy = MeasuredMarginals(epsilon=1, nonnegative=False).plan(tables[0], workload).public
    without, with_ = (strategy.measured(table, setting) for table in tables)
    change = np.abs(without.values - with_.values)
    assert change.sum() == without.l1_sensitivity
    assert (change**2).sum() == without.l2_sensitivity_squared
    assert change.max() == without.linf_sensitivity


def test_one_charge_pays_for_all(tmp_path: Any) -> None:
    table = wide(rows=500)
    ledger = Ledger(tmp_path / "budget.db")
    ledger.open(table, epsilon=1, unit="record/replace")
    MeasuredMarginals(epsilon=1).release(table, all_marginals(table, 1), ledger=ledger)
    with pytest.raises(BudgetError):
        MeasuredMarginals(epsilon="1/100").release(table, all_marginals(table, 1), ledger=ledger)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_large_budget_gives_the_truth_on_a_wide_table(nonnegative: bool) -> None:
    table = wide(attributes=30)
    assert table.n_cells > 2**63
    workload = all_marginals(table, 2)
    release = MeasuredMarginals(epsilon=10**6, nonnegative=nonnegative).release(table, workload)
    truth = workload.true_answers(table) / GRID
    assert np.abs(release.table("answers")["answer"] - truth).max() < 1
    assert ("tree" in release.parts) == nonnegative


def test_answers_agree_with_each_other_and_are_not_negative() -> None:
    table = wide(rows=1000, attributes=6)
    workload = marginals(table, [["a0", "a1"], ["a1", "a2"], ["a1"], ["a0", "a2", "a3"]])
    answers = MeasuredMarginals(epsilon="1/2").release(table, workload).table("answers")["answer"].to_numpy()
    first, second, single, triple = np.split(answers, [36, 72, 78])
    assert answers.min() >= 0
    assert np.allclose(first.reshape(6, 6).sum(axis=0), single, rtol=1e-9)
    assert np.allclose(second.reshape(6, 6).sum(axis=1), single, rtol=1e-9)
    assert triple.sum() == pytest.approx(len(table))


def test_a_table_of_two_attributes_has_the_sums_it_was_given_after_any_number_of_rounds() -> None:
    """Nearly empty off the diagonal: scaling alone needs thousands of rounds for it."""
    table, rows, columns = np.diag([1e6, 1e6, 1.0]) + 1e-9, np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    for rounds in (0, 1, 20):
        fitted = fit_to_sums(table, [columns, rows], rounds=rounds)
        assert fitted.min() >= 0
        assert np.allclose(fitted.sum(axis=0), columns, rtol=1e-9)
        assert np.allclose(fitted.sum(axis=1), rows, rtol=1e-9)


def test_it_errs_less_than_independent_noise_and_than_least_squares() -> None:
    table = wide(attributes=12)
    workload = all_marginals(table, 2)
    truth = workload.true_answers(table) / GRID

    def error(nonnegative: bool) -> float:
        method = MeasuredMarginals(epsilon=1, nonnegative=nonnegative)
        runs = [method.release(table, workload).table("answers")["answer"].to_numpy() - truth for _ in range(3)]
        return float(np.sqrt(np.square(runs).mean()))

    independent = np.sqrt(8) * 66  # 66 marginals share ε = 1
    assert error(nonnegative=True) < 0.7 * error(nonnegative=False) < 0.7 * independent


def test_tables_that_were_not_measured_follow_the_smaller_ones() -> None:
    estimates = {(0,): np.array([30.0, 10.0]), (1,): np.array([20.0, 20.0]), (0, 1): np.full((2, 2), 10.0)}
    found = consistent_tables(estimates, {(0,): 0.01, (1,): 0.01, (0, 1): np.inf}, 40, law="gaussian")
    assert np.allclose(found[0, 1], [[15, 15], [5, 5]], atol=0.5)


def test_rows_are_drawn_from_the_tree_of_pairs_that_tell_most() -> None:
    table = wide(rows=20_000, attributes=30)
    release = MeasuredMarginals(epsilon=200).release(table, all_marginals(table, 2))
    names = table.attributes
    joined = {frozenset(pair) for pair in release.table("tree").select("attribute", "parent").rows() if pair[1]}
    assert joined == {frozenset(pair) for pair in pairwise(names)}
    rows = synthetic_rows(release, table.domains)
    assert len(rows) == len(table)
    for pair in [("a0", "a1"), ("a3", "a4"), ("a0", "a2")]:
        assert np.abs(rows.histogram(pair) - table.histogram(pair)).sum() < 0.08 * len(table)
    assert len(synthetic_rows(release, table.domains, rows=7)) == 7
    with pytest.raises(UsageError, match="does not fit"):
        synthetic_rows(release, {**table.domains, "a0": range(7)})


def test_attributes_that_nothing_is_asked_of_are_drawn_evenly() -> None:
    tables = {(1,): np.array([10.0, 0.0])}
    parts = tree_parts(tables, (4, 2), ["free", "asked"], 10.0)
    assert parts["tree_counts"].tolist() == [2.5, 2.5, 2.5, 2.5, 10.0, 0.0]  # type: ignore[union-attr]


def test_queries_that_marginals_cannot_answer_are_refused_with_what_can() -> None:
    table = wide(rows=100, attributes=13)
    everything = queries_from_json(table, [dict.fromkeys(table.attributes, 0)])
    with pytest.raises(UsageError, match="13 attributes at once") as refused:
        MeasuredMarginals(epsilon=1).plan(table, everything)
    assert "FixedStrategy" in str(refused.value.remedy)
    assert "--method strategy" in refused.value.cli_message


@pytest.mark.parametrize("draws_rows", [False, True])
def test_the_default_method_can_answer_whatever_can_be_asked(draws_rows: bool) -> None:
    from discreet.models.registry import create

    table = wide(rows=200, attributes=14)
    asked = {
        "marginals": all_marginals(table, 2),
        "strategy": prefix_sums(table, "a1"),
        "mixed": queries_from_json(table, [{"a0": [0, 2], "a5": 1}, {"a3": [1, 4]}] * 40),
        "ranges": range_queries(table, ["a2", "a7"], 100, seed=1),
        "all rows": queries_from_json(table, [{}]),
        "random": random_queries(table.with_attributes(["a0", "a1"]), 10, seed=1),
    }
    if not draws_rows:
        asked["too many"] = queries_from_json(table, [dict.fromkeys(table.attributes, 0)] * 60)
        assert [default_method(asked[one]) for one in ("marginals", "strategy", "ranges", "mixed", "too many")] == [
            "marginals", "strategy", "strategy", "marginals", "strategy"
        ]  # fmt: skip
    for name, workload in asked.items():
        on = table.with_attributes(list(workload.domains))
        method = create(default_method(workload, draws_rows=draws_rows), "answers", epsilon=1)
        release = method.release(on, workload)
        assert release.table("answers").height == len(workload), name
        if draws_rows:
            assert len(synthetic_rows(release, on.domains)) == len(on)
