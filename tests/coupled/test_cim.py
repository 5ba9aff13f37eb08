"""The Coupled Iteration Mechanism as published: rounds, updates, accounts."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.coupled import CIM, LMCS, Coupling
from discreet.coupled.published import cim
from discreet.coupled.published.cim import CIMAccount, cim_account, corrected_update, printed_update
from discreet.coupled.published.laplace import CoupledCells
from discreet.coupled.workloads.builders import RandomWorkload
from discreet.coupled.workloads.workload import GRID
from discreet.data import Table
from discreet.errors import PrivacyError, UsageError


@pytest.fixture
def dataset() -> tuple[Table, Coupling]:
    """Three hundred rows, most of them in few of 64 cells, coupled in pairs of degree 0.7 and a triangle."""
    rng = np.random.default_rng(2)
    days = np.minimum(rng.geometric(0.2, 300) - 1, 63)
    table = Table({"day": days}, domains={"day": range(64)})
    pairs = [(i, i + 1, 0.7) for i in range(0, 80, 2)] + [(90, 91), (91, 92), (90, 92)]
    return table, Coupling.from_graph(table, [(*pair, 1.0)[:3] for pair in pairs], public=False)


def plain_rounds(method: CIM, workload: RandomWorkload, noisy, cells: CoupledCells):
    """Algorithm 6 and 7, one query after the other."""
    estimate = np.full(workload.n_cells, 1 / workload.n_cells)
    answers, updated = [], []
    for query in range(len(workload)):
        weights = workload.weights(query) / GRID
        known = float(weights @ estimate)
        distance = known - noisy[query]
        updated.append(abs(distance) > method.threshold)
        answers.append(float(noisy[query]) if updated[-1] else known)
        if updated[-1]:
            step = float(method.eta) * cells.mean_degree(weights[cells.cells])
            if method.update == "corrected":
                kept = weights if distance > 0 else 1 - weights
                estimate = estimate * np.exp(-step * kept)
            else:
                y = known if distance > 0 else 1 - known
                bins = np.isin(np.arange(workload.n_cells), cells.touched(weights[cells.cells]))
                estimate = np.where(bins, estimate * math.exp(-step * y), estimate)
            estimate = estimate / estimate.sum()
    return answers, updated, estimate


@pytest.mark.parametrize("update", ["printed", "corrected"])
@pytest.mark.parametrize("kind", ["subset", "weighted"])
def test_rounds_in_blocks_are_the_rounds_of_the_algorithm(
    dataset: tuple[Table, Coupling], update, kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cim, "MOST_AHEAD", 16)
    table, coupling = dataset
    workload = RandomWorkload(table.domains, 300, seed=9, kind=kind)
    cells = CoupledCells.of(table, coupling)
    noise = np.random.default_rng(1).laplace(0, 0.05, 300)
    noisy = workload.true_answers(table) / GRID / 300 + noise
    method = CIM(epsilon=1, threshold="0.15", eta="0.5", update=update)
    run = method._iterated(workload, noisy, cells)
    answers, updated, estimate = run.answers, run.updated, run.estimate
    plain_answers, plain_updated, plain_estimate = plain_rounds(method, workload, noisy, cells)
    assert 3 < sum(plain_updated) < 250
    assert updated.tolist() == plain_updated
    assert answers == pytest.approx(np.array(plain_answers))
    assert (run.estimated == answers).tolist() == (~updated).tolist(), "the estimate answers where there is no update"
    assert (np.abs(run.estimated - noisy) > 0.15).tolist() == plain_updated
    assert estimate == pytest.approx(plain_estimate)


def test_a_release_has_answers_estimate_and_account(dataset: tuple[Table, Coupling], fixed_bits) -> None:
    table, coupling = dataset
    workload = RandomWorkload(table.domains, 200, seed=9)
    release = CIM(epsilon=1).release(table, workload, coupling=coupling, allow_refuted=True)
    answers = release.table("answers")
    assert answers.height == 200
    assert set(answers["source"]) <= {"measured", "estimate"}
    histogram = release.array("histogram")
    assert histogram.sum() == pytest.approx(300)
    assert histogram.min() >= 0
    account = cim_account(release)
    assert account.rounds == 200
    assert account.updates == (answers["source"] == "measured").sum()
    assert account.per_round == release.parameters["epsilon_per_round"] == pytest.approx(17.64 / math.log(64))
    assert account.spent_on_rounds == pytest.approx(200 * account.per_round)
    assert f"{account.updates} updates" in str(account)


def test_with_the_right_update_and_a_small_step_it_learns(fixed_bits) -> None:
    """Without noise to speak of the corrected mechanism comes near the rows; the printed one goes away from them."""
    table = Table({"day": [0] * 700 + [1] * 200 + [5] * 100}, domains={"day": range(16)})
    workload = RandomWorkload(table.domains, 400, seed=3)
    truth, errors = table.histogram() / 1000, {}
    for update in ("printed", "corrected"):
        method = CIM(epsilon=1000, threshold="0.02", eta="0.3", update=update)
        release = method.release(table, workload, allow_refuted=True)
        errors[update] = np.abs(release.array("histogram") / 1000 - truth).sum()
    uniform = np.abs(1 / 16 - truth).sum()
    assert errors["corrected"] < 0.2 * uniform
    assert errors["printed"] > uniform


def test_updates_keep_shares() -> None:
    rng = np.random.default_rng(5)
    before = rng.dirichlet(np.ones(20))
    weights = rng.random(20)
    for too_large in (False, True):
        printed = printed_update(before, np.array([1, 4]), answer=0.3, too_large=too_large, step=2.0)
        right = corrected_update(before, weights, too_large=too_large, step=2.0)
        assert printed.sum() == pytest.approx(1)
        assert right.sum() == pytest.approx(1)
        assert printed[[1, 4]].sum() < before[[1, 4]].sum()
        assert (weights @ right < weights @ before) == too_large


def test_the_noise_follows_the_coupled_sensitivity(dataset: tuple[Table, Coupling]) -> None:
    """The same sensitivities as LM&CS, in shares, with the budget of a round instead of ε/L."""
    from discreet.coupled.query_method import QuerySetting

    table, coupling = dataset
    setting = QuerySetting.of(table, RandomWorkload(table.domains, 30, seed=9, kind="weighted"), coupling)
    method = CIM(epsilon=1)
    in_rows = LMCS(epsilon=1).scales(table, setting) / 30
    assert method.scales(table, setting) == pytest.approx(in_rows / 300 / method.round_budget(64))
    assert in_rows.max() > 1.5


@pytest.mark.parametrize(
    "settings", [{"update": "reversed"}, {"threshold": -1}, {"delta0": "1.1"}, {"epsilon": 0}, {"eta": 0}, {"eta": 101}]
)
def test_mistakes_cost_nothing(dataset: tuple[Table, Coupling], tmp_path: Path, settings) -> None:
    table, _ = dataset
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(table, epsilon=5, unit="record/replace")
    with pytest.raises(UsageError):
        CIM(**{"epsilon": 1, **settings}).release(
            table, RandomWorkload(table.domains, 3, seed=1), ledger=ledger, allow_refuted=True
        )
    assert ledger.statement(table).entries == ()


def test_the_ledger_names_it_and_adds_nothing_up(dataset: tuple[Table, Coupling], tmp_path: Path) -> None:
    """There is no number for what a refuted mechanism costs."""
    table, _ = dataset
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(table, epsilon=5, unit="record/replace")
    CIM(epsilon=1).release(table, RandomWorkload(table.domains, 3, seed=1), ledger=ledger, allow_refuted=True)
    assert [entry.mechanism for entry in ledger.statement(table).refuted] == ["cim"]
    assert ledger.statement(table).spent.epsilon == 0


def test_too_many_couplings_are_found_before_anything_is_charged() -> None:
    table = Table({"day": [0] * 6000}, domains={"day": range(2)})
    workload = RandomWorkload(table.domains, 3, seed=1)
    for method in (CIM(epsilon=1), LMCS(epsilon=1)):
        with pytest.raises(UsageError, match="pairs of rows"):
            method.plan(table, workload, coupling=Coupling.by_attribute(table, "day"))


def test_one_cell_is_too_few() -> None:
    table = Table({"day": [0, 0]}, domains={"day": range(1)})
    with pytest.raises(UsageError, match="single cell"):
        CIM(epsilon=1).plan(table, RandomWorkload(table.domains, 3, seed=1))


def test_it_refuses_without_being_told_twice(dataset: tuple[Table, Coupling]) -> None:
    table, coupling = dataset
    workload = RandomWorkload(table.domains, 3, seed=1)
    method = CIM(epsilon=1)
    assert "one round has ε₀ = 4.242 and ε is 1" in method.plan(table, workload, coupling=coupling).guarantee.basis
    with pytest.raises(PrivacyError, match="allow_refuted"):
        method.release(table, workload, coupling=coupling)


def test_only_cim_keeps_an_account(dataset: tuple[Table, Coupling]) -> None:
    table, _ = dataset
    release = LMCS(epsilon=1).release(table, RandomWorkload(table.domains, 3, seed=1), allow_refuted=True)
    with pytest.raises(UsageError, match="lm-cs keeps no account"):
        cim_account(release)


def test_an_account_adds_up() -> None:
    account = CIMAccount(claimed=1, per_round=0.5, most_updates=2, rounds=100, updates=10)
    assert (account.spent_on_updates, account.spent_on_rounds) == (5, 50)
    assert account.facts()["spent_on_rounds"] == 50
