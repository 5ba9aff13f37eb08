"""PMW: answers, the cap and what is guaranteed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.coupled import PMW, Coupling, marginals, prefix_sums, random_queries, range_queries
from discreet.coupled.bounds import single_sum
from discreet.coupled.pmw import PMWRun
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data import Table
from discreet.errors import BudgetError, PrivacyError, UsageError
from discreet.privacy import Ledger, Standing, threshold
from discreet.privacy.threshold import AboveThreshold

DOMAINS = {"x": range(16), "y": range(8)}


def table(rows: int = 4000) -> Table:
    rng = np.random.default_rng(1)
    x = np.minimum(rng.geometric(0.3, rows) - 1, 15)
    columns = {"x": x, "y": np.minimum(x // 2 + rng.integers(0, 2, rows), 7), "home": np.arange(rows) // 2}
    return Table(columns, domains=DOMAINS, group="home")


def error(answers: np.ndarray, workload: Workload, data: Table) -> float:
    return float(np.mean((answers - workload.true_answers(data) / GRID) ** 2))


def test_answers_are_those_of_one_histogram_and_better_than_a_guess(fixed_bits) -> None:
    data = table()
    workload = range_queries(data, ["x", "y"], 500, seed=1)
    release = PMW(epsilon=2).release(data, workload)
    histogram = release.array("histogram")
    assert release.kind == "query-answers"
    assert histogram.min() >= 0
    assert histogram.sum() == pytest.approx(len(data))
    answers = release.table("answers")
    assert answers.columns == ["query", "label", "answer", "source"]
    assert answers["label"].to_list() == workload.labels()
    np.testing.assert_allclose(answers["answer"], workload.answers(histogram))
    uniform = workload.answers(np.full(128, len(data) / 128))
    assert error(answers["answer"].to_numpy(), workload, data) < error(uniform, workload, data) / 10


def test_with_a_large_budget_measured_answers_are_exact(fixed_bits) -> None:
    data = table(200)
    workload = marginals(data, "x")
    release = PMW(epsilon=10**6, updates=16, threshold="1/2", stream=True, passes=200).release(data, workload)
    answers = release.table("answers")
    assert set(answers["source"]) == {"measured", "estimate"}
    assert np.abs(answers["answer"].to_numpy() - workload.true_answers(data) / GRID).max() <= 0.51


def test_the_stream_says_what_was_measured_and_stops_at_the_cap(fixed_bits) -> None:
    data = table()
    workload = prefix_sums(data, "x")
    release = PMW(epsilon=5, updates=3, threshold=50, stream=True).release(data, workload)
    assert release.table("answers")["source"].to_list().count("measured") == 3
    assert release.parameters["updates"] == 3


def test_after_the_cap_no_data_are_touched(fixed_bits) -> None:
    data = table()
    workload = prefix_sums(data, "x")
    setting = QuerySetting.of(data, workload, None)
    looked: list[int] = []

    def truth(block: Workload) -> np.ndarray:
        looked.append(len(block))
        return block.true_answers(data)

    method = PMW(epsilon=5, updates=2, threshold=10)
    run = PMWRun(method.planned(setting, 16), setting, 4, truth)
    for place in range(len(workload)):
        run.answer(workload[place : place + 1])
    assert run.updates_left == 0
    seen = len(looked)
    answers, measured = run.answer(random_queries(data, 300, seed=1))
    assert len(looked) == seen < len(workload)
    assert not measured.any()
    assert np.isfinite(answers).all()


def test_blocks_do_not_change_what_one_by_one_would_give(fixed_bits) -> None:
    """The same bits, the same answers: in one stream and query by query."""
    data = table()
    workload = range_queries(data, ["x", "y"], 200, seed=3)
    setting = QuerySetting.of(data, workload, None)
    method = PMW(epsilon=2, updates=8, threshold=200)
    fixed_bits(5)
    together, measured = method.begin(data, setting, 200).answer(workload)
    fixed_bits(5)
    run = method.begin(data, setting, 200)
    single = [run.answer(workload[place : place + 1]) for place in range(200)]
    assert measured.any()
    # Stocks of noise are drawn in other portions after the first update, so only the queries up to it must agree.
    first = int(np.argmax(measured))
    np.testing.assert_array_equal([one[0][0] for one in single[:first]], together[:first])
    assert single[first][1][0]


def test_guarantees_name_the_unit_the_theorem_and_what_is_left_out() -> None:
    data = table()
    workload = prefix_sums(data, "x")
    alone = PMW(epsilon="1/2").plan(data, workload).guarantee
    assert alone.standing is Standing.PROVED
    assert str(alone.loss) == "ε = 0.5"
    assert alone.unit.code == "record/replace"
    assert any("no coupling was given" in phrase for phrase in alone.not_covered)
    homes = PMW(epsilon="1/2").plan(data, workload, coupling=Coupling.by_group(data)).guarantee
    assert homes.unit.code == "group/replace:2"
    assert "Theorems 1 and 2" in homes.basis
    assert {"couplings that the public graph does not have", "facts about more rows than one group has"} <= set(
        homes.not_covered
    )
    concentrated = PMW(epsilon=1, delta="1e-6", updates=7).plan(data, workload).guarantee
    assert concentrated.loss.epsilon_at(Fraction(1, 10**6)) <= 1
    assert "Theorem 4" in concentrated.basis


def test_scales_follow_the_formulas() -> None:
    data = table()
    workload = prefix_sums(data, "x")
    facts = PMW(epsilon=1, updates=4, threshold=9).estimate(data, workload, coupling=Coupling.by_group(data))
    tests = AboveThreshold.of(Fraction(1, 2), threshold=9, most=4)
    assert facts["test_scale"] == pytest.approx(2 * 4 * 2 / float(tests.epsilon_tests))
    assert facts["threshold_scale"] == pytest.approx(2 / float(tests.epsilon_threshold))
    assert facts["noise_sd"] == pytest.approx(2**0.5 * 4 * 2 / 0.5, rel=1e-6)
    twice = PMW(epsilon=1, updates=4, threshold=9).estimate(data, workload)
    assert facts["test_scale"] == pytest.approx(2 * twice["test_scale"])
    assert "histogram" not in facts


def test_secret_couplings_and_overdrawn_ledgers_are_refused_before_anything_is_drawn(tmp_path) -> None:
    data = table(400)
    workload = prefix_sums(data, "x")
    with pytest.raises(PrivacyError, match="computed from the secret rows"):
        PMW(epsilon=1).release(data, workload, coupling=Coupling.by_attribute(data, "x"))
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(data, epsilon=1, unit="record/replace")
    PMW(epsilon="3/4").release(data, workload, ledger=ledger)
    with pytest.raises(BudgetError):
        PMW(epsilon="1/2").release(data, workload, ledger=ledger)


@pytest.mark.parametrize("wrong", [{"updates": 0}, {"passes": 0}, {"threshold": 0}, {"delta": 1}])
def test_settings_that_make_no_sense(wrong) -> None:
    with pytest.raises(UsageError):
        PMW(epsilon=1, **wrong)


def test_domains_without_a_dense_histogram_are_refused() -> None:
    domains = {name: range(64) for name in "abcde"}
    data = Table({name: [1] for name in "abcde"}, domains=domains)
    with pytest.raises(UsageError, match="an estimate of all cells, which pmw keeps, takes a number for each"):
        PMW(epsilon=1).release(data, prefix_sums(data, "a"))


def test_the_stream_of_tests_is_the_session_of_the_sparse_vector(fixed_bits, monkeypatch) -> None:
    """How often a sum passes is what the law of threshold and test noise says."""
    monkeypatch.setattr(threshold, "DRAWN_AT_ONCE", 1)
    data = table(100)
    setting = QuerySetting.of(data, prefix_sums(data, "x"), None)
    mechanism = AboveThreshold.of(2, threshold=3, most=1)
    gap = single_sum(np.array([2 * GRID]), setting)
    passed = sum(mechanism.begin(gap).first_pass(gap) is not None for _ in range(1500))
    b1, b2 = (float(scale) / GRID for scale in (mechanism.threshold_scale(gap), mechanism.test_scale(gap)))
    r = np.linspace(-60, 60, 240_001)
    above = np.where(1 + r > 0, np.exp(-(1 + r) / b2) / 2, 1 - np.exp(np.minimum(1 + r, 0) / b2) / 2)
    expected = float((np.exp(-np.abs(r) / b1) / (2 * b1) * above).sum() * (r[1] - r[0]))
    assert passed / 1500 == pytest.approx(expected, abs=5 * (expected * (1 - expected) / 1500) ** 0.5)


def test_a_stream_that_is_over_or_asked_about_other_sums_refuses(fixed_bits) -> None:
    data = table(100)
    setting = QuerySetting.of(data, prefix_sums(data, "x"), None)
    like = single_sum(np.array([10**9]), setting)
    stream = AboveThreshold.of(1, threshold=1, most=1).begin(like)
    wider = single_sum(np.array([0]), QuerySetting.of(data, prefix_sums(data, "x"), Coupling.by_group(data)))
    with pytest.raises(PrivacyError, match="another unit"):
        stream.first_pass(wider)
    assert stream.first_pass(like) == 0
    with pytest.raises(PrivacyError, match="this session is over"):
        stream.first_pass(like)


@pytest.mark.parametrize("step", [8.0, -8.0])
def test_the_longest_steps_keep_the_estimate_finite(step: float) -> None:
    from discreet.coupled.kernels import bend

    for weights in (np.array([0, GRID, GRID, 0]), np.array([GRID] * 4), np.array([1, GRID, 7, 0])):
        estimate = np.full(4, 10.0)
        for _ in range(300):
            bend(estimate, weights.astype(np.uint16), step, 40.0, GRID, bool(np.isin(weights, (0, GRID)).all()))
        assert np.isfinite(estimate).all()
        assert estimate.sum() == pytest.approx(40.0)


def test_rows_that_were_picked_are_refused(tmp_path) -> None:
    """How many rows a rule picks is a secret; it would be handed out as the public number of rows."""
    whole = table(100)
    part = whole.filter(lambda frame: frame["x"] == 0, independent=True)
    with pytest.raises(PrivacyError, match="selected from a table"):
        PMW(epsilon=1).release(part, random_queries(part, 3, seed=1))
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(whole, epsilon=1, unit="record/replace")
    guarantee = PMW(epsilon=1).plan(whole, random_queries(whole, 3, seed=1)).guarantee
    with pytest.raises(PrivacyError, match="that a rule picked"):
        ledger.charge(part, guarantee, mechanism="pmw").__enter__()
    assert not list(ledger.statement(whole).entries)
