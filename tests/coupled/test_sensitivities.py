"""Sensitivities as published and as proved, on rows and on cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.coupled import Coupling
from discreet.coupled.published.laplace import CoupledCells
from discreet.coupled.published.sensitivities import (
    proved_group_sensitivity,
    proved_influence_sensitivity,
    published_coupled_sensitivity,
    published_global_sensitivity,
    published_record_sensitivities,
)
from discreet.coupled.workloads.builders import RandomWorkload
from discreet.coupled.workloads.workload import GRID
from discreet.data import Table
from discreet.errors import PrivacyError, UsageError


def rows(n: int) -> Table:
    return Table({"flu": ["no"] * n}, domains={"flu": ["no", "yes"]})


@pytest.fixture
def graph() -> Coupling:
    """A triangle with a tail: 0–1–2–0, 2–3."""
    return Coupling.from_graph(rows(5), [(0, 1, 0.5), (1, 2, -0.25), (0, 2, 1.0), (2, 3, 0.75)], public=True)


def test_the_sensitivity_of_a_record_adds_up_its_degrees(graph: Coupling) -> None:
    found = published_record_sensitivities(graph.degrees, np.array([1.0, 1, 0, 0.5, 1]))
    assert found.tolist() == [1.5, 1.5, 1 + 0.25 + 0.375, 0.5, 1]


def test_coupled_sensitivity_is_the_largest_among_those_who_respond(graph: Coupling) -> None:
    assert published_coupled_sensitivity(graph.degrees, np.array([1.0, 1, 0, 0.5, 1])) == 1.5
    assert published_coupled_sensitivity(graph.degrees, np.zeros(5)) == 0


def test_coupled_is_at_most_k_times_global(graph: Coupling) -> None:
    """Lemma 3, which holds."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        weights = rng.random(5)
        most = published_global_sensitivity(weights, graph.largest)
        assert published_coupled_sensitivity(graph.degrees, weights) <= most


def test_without_couplings_it_is_the_usual_one() -> None:
    alone = Coupling.none(rows(4))
    assert published_coupled_sensitivity(alone.degrees, np.ones(4)) == published_global_sensitivity(np.ones(4)) == 1


def test_the_proved_sensitivity_is_met_and_never_passed(graph: Coupling) -> None:
    """All changes that the degrees allow, to the full or not at all, of numbers between 0 and 1."""
    weights = np.array([0.5, -1, 2, 0, 0.25])
    degrees = np.abs(graph.degrees.toarray())
    worst = 0.0
    for i in range(5):
        for signs in itertools.product((-1, 0, 1), repeat=5):
            worst = max(worst, abs(float((degrees[i] * signs) @ weights)))
    assert proved_influence_sensitivity(graph, weights) == pytest.approx(worst)
    assert proved_influence_sensitivity(graph, weights, width=10) == pytest.approx(10 * worst)


def test_the_group_bound_is_met_and_never_passed() -> None:
    """Tables of four rows in groups of two and two, all of them, and a query with three weights."""
    weights = np.array([0.25, 1.0, 0.5])
    table = Table({"day": [0] * 4, "home": [1, 1, 2, 2]}, domains={"day": range(3)}, group="home")
    bound = proved_group_sensitivity(weights, Coupling.by_group(table))
    worst = max(
        abs(weights[list(before)].sum() - weights[list(after)].sum())
        for before in itertools.product(range(3), repeat=2)
        for after in itertools.product(range(3), repeat=2)
    )
    assert bound == worst == 1.5


def test_what_is_proved_needs_what_is_public(graph: Coupling) -> None:
    table = Table({"a": [1, 2], "b": [2, 4], "c": [3, 6]}, domains=dict.fromkeys("abc", range(10)))
    secret = Coupling.pearson(table)
    with pytest.raises(PrivacyError, match="secret rows"):
        proved_group_sensitivity(np.ones(2), secret)
    with pytest.raises(PrivacyError, match="secret rows"):
        proved_influence_sensitivity(secret, np.ones(2))
    with pytest.raises(PrivacyError, match=r"below 0\.6 were dropped"):
        proved_influence_sensitivity(Coupling.from_graph(rows(2), [], threshold=0.6, public=True), np.ones(2))
    with pytest.raises(UsageError, match="do not fit 5 rows"):
        proved_influence_sensitivity(graph, np.ones(4))


# The same from the cells


@pytest.fixture
def dataset() -> tuple[Table, Coupling]:
    """Two hundred rows in 24 cells, coupled at random with degrees of both signs."""
    rng = np.random.default_rng(4)
    table = Table({"a": rng.integers(0, 5, 200), "b": rng.integers(0, 3, 200)}, domains={"a": range(8), "b": range(3)})
    pairs = {tuple(sorted(pair)) for pair in rng.integers(0, 200, (150, 2)).tolist() if pair[0] != pair[1]}
    return table, Coupling.from_graph(table, [(i, j, float(rng.uniform(-1, 1))) for i, j in sorted(pairs)], public=True)


@pytest.mark.parametrize("kind", ["subset", "weighted"])
def test_cells_and_rows_agree(dataset: tuple[Table, Coupling], kind) -> None:
    table, coupling = dataset
    workload = RandomWorkload(table.domains, 40, seed=6, kind=kind)
    cells = CoupledCells.of(table, coupling)
    found = cells.coupled_sensitivities(workload)
    cell_of_row = np.ravel_multi_index((table.codes["a"], table.codes["b"]), table.shape)
    degrees = np.abs(coupling.degrees.toarray())
    for query in range(len(workload)):
        weights = workload.weights(query)[cell_of_row] / GRID
        assert found[query] == pytest.approx(published_coupled_sensitivity(coupling.degrees, weights))
        occupied = workload.weights(query)[cells.cells] / GRID
        responding = weights > 0
        touched = np.unique(cell_of_row[(degrees[responding] > 0).any(axis=0)])
        assert cells.touched(occupied).tolist() == touched.tolist()
        assert cells.mean_degree(occupied) == pytest.approx(degrees[responding][degrees[responding] > 0].mean())


def test_a_query_that_nobody_responds_to(dataset: tuple[Table, Coupling]) -> None:
    cells = CoupledCells.of(*dataset)
    nothing = np.zeros(cells.cells.size)
    assert (cells.coupled_sensitivity(nothing), cells.mean_degree(nothing), cells.touched(nothing).size) == (0, 1, 0)


def test_what_is_remembered_is_about_the_same_question(dataset: tuple[Table, Coupling]) -> None:
    table, coupling = dataset
    assert CoupledCells.of(table, coupling) is CoupledCells.of(table, coupling)
    alone = CoupledCells.of(table, None)
    assert alone.influence.nnz == 0
    assert CoupledCells.of(table, coupling).influence.nnz > 0
    one, other = (RandomWorkload(table.domains, 5, seed=seed, kind="weighted") for seed in (1, 2))
    assert alone.coupled_sensitivities(one).tolist() != alone.coupled_sensitivities(other).tolist()
    assert alone.coupled_sensitivities(one) is alone.coupled_sensitivities(one)
