"""MWEM: what it releases, what it costs, and that it learns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.coupled import MWEM, Coupling, all_marginals, prefix_sums, random_queries
from discreet.coupled.learned_histogram import LearnedHistogram
from discreet.coupled.workloads.workload import GRID
from discreet.data import Table
from discreet.errors import PrivacyError, UsageError
from discreet.privacy import Ledger, Standing
from discreet.privacy.losses import Concentrated, Pure

DOMAINS = {"x": range(16), "y": range(8)}


def table(rows: int = 4000) -> Table:
    rng = np.random.default_rng(1)
    x = np.minimum(rng.geometric(0.3, rows) - 1, 15)
    columns = {"x": x, "y": np.minimum(x // 2 + rng.integers(0, 2, rows), 7), "home": np.arange(rows) // 3}
    return Table(columns, domains=DOMAINS, group="home")


@pytest.mark.parametrize("settings", [{}, {"average": True}, {"delta": "1e-6"}, {"rounds": 3}])
def test_answers_are_those_of_one_histogram_and_better_than_a_guess(settings, fixed_bits) -> None:
    data = table()
    workload = all_marginals(data, 1)
    release = MWEM(epsilon=2, **settings).release(data, workload)
    histogram = release.array("histogram")
    assert histogram.min() >= 0
    assert histogram.sum() == pytest.approx(len(data))
    answers = release.table("answers")["answer"].to_numpy()
    np.testing.assert_allclose(answers, workload.answers(histogram))
    truth = workload.true_answers(data) / GRID
    uniform = workload.answers(np.full(128, len(data) / 128))
    assert np.mean((answers - truth) ** 2) < 0.6 * np.mean((uniform - truth) ** 2)


def test_each_query_is_measured_once_at_most(fixed_bits) -> None:
    data = table(300)
    release = MWEM(epsilon=1, rounds=50).release(data, prefix_sums(data, "y"))
    found = release.table("measurements")
    assert sorted(found["query"]) == list(range(8))
    assert found["answer"].min() >= 0  # type: ignore[operator]
    assert found["answer"].max() <= 300  # type: ignore[operator]
    assert release.parameters["rounds"] == 8


def test_with_a_large_budget_the_worst_query_comes_first_and_all_are_met(fixed_bits) -> None:
    data = table(300)
    workload = prefix_sums(data, "x")
    release = MWEM(epsilon=10**6, rounds=16, passes=300).release(data, workload)
    truth = workload.true_answers(data) / GRID
    uniform = workload.answers(np.full(128, 300 / 128))
    assert release.table("measurements")["query"][0] == int(np.argmax(np.abs(truth - uniform)))
    np.testing.assert_allclose(release.table("answers")["answer"], truth, atol=1.0)


def test_the_whole_budget_is_spent_and_no_more() -> None:
    data = table(300)
    workload = prefix_sums(data, "x")
    assert MWEM(epsilon="1/3", rounds=7).plan(data, workload).guarantee.loss == Pure(Fraction(1, 3))
    loss = MWEM(epsilon=1, delta="1e-6", rounds=7).plan(data, workload).guarantee.loss
    assert isinstance(loss, Concentrated)
    assert Fraction(99, 100) < loss.epsilon_at(Fraction(1, 10**6)) <= 1


def test_groups_scale_noise_and_are_named() -> None:
    data = table(300)
    workload = prefix_sums(data, "x")
    homes = Coupling.by_group(data)
    alone, together = (MWEM(epsilon=1, rounds=4).estimate(data, workload, coupling=one) for one in (None, homes))
    assert alone["score_scale"] == pytest.approx(2 * 2 * 4)  # 2Δ over ε/2I
    assert together["score_scale"] == pytest.approx(3 * alone["score_scale"])
    assert together["noise_sd"] == pytest.approx(3 * alone["noise_sd"], rel=1e-6)
    guarantee = MWEM(epsilon=1).plan(data, workload, coupling=homes).guarantee
    assert guarantee.standing is Standing.PROVED
    assert guarantee.unit.code == "group/replace:3"
    with pytest.raises(PrivacyError, match="computed from the secret rows"):
        MWEM(epsilon=1).plan(data, workload, coupling=Coupling.by_attribute(data, "y"))


def test_rounds_grow_with_the_budget_and_shrink_with_groups() -> None:
    data = table()
    workload = random_queries(data, 1000, seed=1)
    homes = Coupling.by_group(data)
    rounds = [MWEM(epsilon=e).estimate(data, workload)["rounds"] for e in ("1/10", 1, 10)]
    assert rounds == sorted(rounds)
    assert rounds[0] < rounds[-1]
    assert MWEM(epsilon=1).estimate(data, workload, coupling=homes)["rounds"] < rounds[1]


def test_the_ledger_holds_the_release(tmp_path, fixed_bits) -> None:
    data = table(300)
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(data, epsilon=2, unit="record/replace")
    release = MWEM(epsilon=1, rounds=2).release(data, prefix_sums(data, "y"), ledger=ledger)
    assert ledger.account_of_release(release.id) is not None


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"passes": 0}, {"delta": 2}])
def test_settings_that_make_no_sense(wrong) -> None:
    with pytest.raises(UsageError):
        MWEM(epsilon=1, **wrong)
    with pytest.raises(UsageError, match="a Workload"):
        MWEM(epsilon=1).release(table(10), [{"x": 1}])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no rows"):
        MWEM(epsilon=1).release(table(0), prefix_sums(DOMAINS, "x"))


def test_a_fit_weighs_measurements_against_their_noise() -> None:
    """Without noise a measured answer is met; with much of it the estimate hardly moves."""
    queries = prefix_sums({"x": range(16)}, "x")
    exact, doubtful = LearnedHistogram(1000, 16, passes=200), LearnedHistogram(1000, 16, noise=2000.0, passes=200)
    for learned in (exact, doubtful):
        learned.learn(queries[3:4], 900.0)
        learned.learn(queries[0:1], 500.0)
        assert learned.estimate.sum() == pytest.approx(1000)
    found = [queries.answers(learned.estimate) for learned in (exact, doubtful)]
    assert found[0][[3, 0]] == pytest.approx([900, 500], rel=1e-6)
    assert found[1][3] == pytest.approx(250, abs=30)
