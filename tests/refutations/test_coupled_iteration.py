"""The Coupled Iteration Mechanism of Zhu's thesis is not differentially private, nor does it come near the rows.

Every error with its counterexample, computed through the mechanism itself. What it inherits from coupled sensitivity is
in ``test_coupled.py``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.coupled import CIM, Coupling, queries_from_json
from discreet.coupled.published.cim import cim_account, corrected_update, printed_update
from discreet.coupled.published.laplace import CoupledCells
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.builders import RandomWorkload
from discreet.coupled.workloads.workload import GRID
from discreet.data import IntegerDomain, Table
from discreet.errors import PrivacyError
from discreet.privacy.guarantees import Standing


def setting(table: Table, questions: list[dict[str, object]]) -> QuerySetting:
    return QuerySetting.of(table, queries_from_json(table, questions), None)


def log_density(at: float, center: float, scale: float) -> float:
    return -abs(at - center) / scale - math.log(2 * scale)


# CIM: its own settings


def days(first: int, rows: int = 100) -> Table:
    """Two cells, so many rows in the first."""
    return Table({"day": [0] * first + [1] * (rows - first)}, domains={"day": range(2)})


def test_the_published_settings_break_the_guarantee_in_one_round() -> None:
    method, laws = CIM(epsilon=1), []
    for table in (days(50), days(51)):
        asked = setting(table, [{"day": 0}])
        (scale,) = method.scales(table, asked)
        assert scale == pytest.approx(1 / 100 / method.round_budget(2))
        laws.append((asked.workload.true_answers(table)[0] / GRID / 100, scale))
    # 0.9 is far from the estimate ½: an update, and the noisy answer is shown.
    assert abs(0.5 - 0.9) > float(method.threshold)
    assert log_density(0.9, *laws[1]) - log_density(0.9, *laws[0]) == pytest.approx(25.4, abs=0.05)


def test_one_round_has_more_than_the_whole_budget() -> None:
    method = CIM(epsilon=1)
    assert [method.round_budget(cells) for cells in (2, 2**16)] == [
        pytest.approx(25.449, abs=5e-4),
        pytest.approx(1.591, abs=5e-4),
    ]
    assert method.most_updates(45_700_000) < 1 < method.most_updates(45_900_000)


def test_nothing_stops_after_the_last_update(fixed_bits) -> None:
    """1000 cells and 1000 queries at the published settings. All rows are in one cell, far from the first estimate."""
    table = Table({"day": [0] * 200}, domains={"day": range(1000)})
    release = CIM(epsilon=1).release(table, RandomWorkload(table.domains, 1000, seed=5), allow_refuted=True)
    account = cim_account(release)
    assert account.most_updates < 1
    assert account.updates > 500
    assert account.updates == release.table("answers")["source"].to_list().count("measured")
    assert account.spent_on_updates == pytest.approx(account.updates * 17.64 / math.log(1000))
    assert account.spent_on_updates > 1000 * account.claimed
    assert account.spent_on_rounds == pytest.approx(1000 * account.per_round)


# CIM: rounds without an update


@pytest.mark.parametrize(("rounds", "loss"), [(20, 2.0), (10_000, 1000.0)])
def test_rounds_that_are_not_charged_add_up(rounds: int, loss: float) -> None:
    """60 or 61 rows of 100 in the first cell, ε₀ = T = 0.1: each lazy round tells them apart by ε₀."""
    method = CIM(epsilon=1, threshold="0.1", eta=math.sqrt(0.1 * math.log(2)), delta0=1)
    assert method.round_budget(2) == pytest.approx(0.1)
    chances = []
    for table in (days(60), days(61)):
        asked = setting(table, [{"day": 0}])
        (scale,) = method.scales(table, asked)
        truth = asked.workload.true_answers(table)[0] / GRID / 100
        # Lazy while the noisy answer is from 0.4 to 0.6; below the truth the law is e^(x/b)/2.
        near, far = (math.exp((end - truth) / scale) for end in (0.6, 0.4))
        chances.append((near - far) / 2)
    # The estimate stays, so every round has the same chance, and rounds are independent.
    assert rounds * math.log(chances[0] / chances[1]) == pytest.approx(loss)
    assert method.account(2, rounds=rounds, updates=0).spent_on_updates == 0
    assert method.account(2, rounds=rounds, updates=0).spent_on_rounds == pytest.approx(loss)


def test_a_lazy_round_answers_from_the_estimate(fixed_bits) -> None:
    """What the counterexample above assumes of the code: nothing changes until a noisy answer is far off."""
    method = CIM(epsilon=1, threshold="0.1", eta=math.sqrt(0.1 * math.log(2)), delta0=1)
    answers = method.release(days(60), queries_from_json(days(60), [{"day": 0}] * 50), allow_refuted=True)
    table = answers.table("answers")
    first = table["source"].to_list().index("measured")
    assert 0 < first < 50
    assert table["answer"][:first].to_list() == [50.0] * first
    assert abs(table["answer"][first] - 50) > 10


# CIM: the number of updates


def test_the_bound_on_updates_knows_neither_threshold_nor_noise() -> None:
    bounds = {CIM(epsilon=e, threshold=t).most_updates(1000) for e in ("0.1", 1) for t in ("0.01", "0.3", 1)}
    assert len(bounds) == 1


def divergence(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """KL(first‖second)."""
    return float((first * np.log(first / second)).sum())


def test_even_the_right_update_moves_away_where_the_error_is_above_the_threshold_only() -> None:
    """A step s helps by s·error − s²/8, so it needs an error above s/8 = 0.525 … 0.875; the threshold is 0.3."""
    truth, estimate, first = np.array([0.81, 0.19]), np.array([0.5, 0.5]), np.array([1.0, 0.0])
    assert abs(truth[0] - estimate[0]) > CIM(epsilon=1).threshold
    for step in (7 * 0.6, 7.0):
        after = corrected_update(estimate, first, too_large=False, step=step)
        assert divergence(truth, after) > divergence(truth, estimate)
    small = corrected_update(estimate, first, too_large=False, step=4 * 0.31)
    assert divergence(truth, estimate) - divergence(truth, small) >= 2 * 0.31**2


def test_the_claimed_progress_is_more_than_there_is_to_go() -> None:
    progress = 7**2 * 0.6**2
    assert progress == pytest.approx(17.64)
    assert all(progress > math.log(cells) for cells in (2, 2**16, 45_700_000))


# CIM: the direction


def test_an_estimate_that_is_too_small_is_made_smaller() -> None:
    truth, half, first = np.array([0.9, 0.1]), np.array([0.5, 0.5]), np.array([1.0, 0.0])
    printed = printed_update(half, np.array([0]), answer=0.5, too_large=False, step=1.0)
    right = corrected_update(half, first, too_large=False, step=1.0)
    assert printed == pytest.approx([0.378, 0.622], abs=5e-4)
    assert right == pytest.approx([0.731, 0.269], abs=5e-4)
    assert [divergence(truth, x) for x in (half, printed, right)] == [
        pytest.approx(0.368, abs=5e-4),
        pytest.approx(0.599, abs=5e-4),
        pytest.approx(0.088, abs=5e-4),
    ]


@pytest.mark.parametrize(("update", "expected"), [("printed", [0.378, 0.622]), ("corrected", [0.731, 0.269])])
def test_the_mechanism_itself_does_so(update, expected: list[float]) -> None:
    """One round on 90 and 10 rows, with a noisy answer that happens to be right."""
    table, method = days(90), CIM(epsilon=1, eta=1, update=update)
    asked = setting(table, [{"day": 0}])
    run = method._iterated(asked.workload, np.array([0.9]), CoupledCells.of(table, None))
    updated, estimate = run.updated, run.estimate
    assert updated.tolist() == [True]
    assert estimate == pytest.approx(expected, abs=5e-4)


# CIM: the rest


def test_an_update_shows_which_cells_hold_rows(fixed_bits) -> None:
    """The estimate is shown and only cells with rows are changed: one row more or less in a cell is plain to see."""
    shown = []
    for lonely in (0, 7):
        table = Table({"day": [0] * 99 + [lonely]}, domains={"day": range(8)})
        queries = queries_from_json(table, [{"day": {"in": [0, 7]}}])
        release = CIM(epsilon=100).release(table, queries, allow_refuted=True)
        assert cim_account(release).updates == 1
        estimate = release.array("histogram")
        shown.append(estimate[7] < estimate[6])
    assert shown == [False, True]


def test_the_guaranteed_accuracy_is_half_of_what_the_threshold_allows(fixed_bits) -> None:
    """Theorem 5.5.1: without noise the error is at most T/2. An estimate that is off by 0.29 is never touched."""
    table = Table({"day": [0] * 79_000 + [1] * 21_000}, domains={"day": IntegerDomain(0, 1)})
    method = CIM(epsilon=1)
    asked = setting(table, [{"day": 0}] * 20)
    noise, chance = float(method.scales(table, asked).max()), 0.25  # the chances of both rounds multiply to ¼ at most
    guaranteed = noise / 2 * math.log(chance * 20 / 0.01) + 0.3 / 2
    assert guaranteed < 0.16
    answers = method.release(table, asked.workload, allow_refuted=True).table("answers")
    errors = np.abs(answers["answer"].to_numpy() / 100_000 - 0.79)
    assert errors.tolist() == [pytest.approx(0.29)] * 20


# What it says about itself


@pytest.mark.parametrize("method", [CIM(epsilon=1), CIM(epsilon=1, update="corrected")])
def test_it_says_so_and_refuses(method: CIM) -> None:
    table = days(3)
    public = Coupling.from_graph(table, [(1, 2)], public=True)
    queries = queries_from_json(table, [{"day": 0}])
    guarantee = method.plan(table, queries, coupling=public).guarantee
    assert guarantee.standing is Standing.REFUTED
    assert "tests/refutations/test_coupled_iteration.py" in guarantee.basis
    with pytest.raises(PrivacyError, match="refuted"):
        method.release(table, queries, coupling=public)
