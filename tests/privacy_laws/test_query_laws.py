"""PMW and MWEM: the sums of the proofs with the scales of the code, and exact laws enumerated through the code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

import discreet.coupled as coupled
from discreet.coupled import MWEM, PMW, Coupling, bounds, learned_histogram, mwem, pmw
from discreet.coupled.bounds import single_sum
from discreet.coupled.pmw import PMWPlan
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads import product, workload
from discreet.data import Table
from discreet.privacy import threshold
from discreet.privacy.budget import Budget
from discreet.privacy.mechanisms import GaussianMechanism, LaplaceMechanism
from discreet.privacy.selection import ExponentialMechanism
from discreet.testing import max_log_ratio, renyi_divergence

# The sum in the proof of Theorem 3, for the worst transcript: many queries that were not measured, then c that were.


MANY = 10**12


def laplace_below(x: np.ndarray, scale: float) -> np.ndarray:
    """Pr[X < x] of discrete Laplace noise, x whole."""
    q = math.exp(-1 / scale)
    left = q ** (1 - np.minimum(x, 0.0)) / (1 + q)  # Pr[X ≤ x − 1] for x ≤ 0
    return np.where(x <= 0, left, 1 - q ** np.maximum(x, 1.0) / (1 + q))


def transcript(plan: PMWPlan, like, *, lazy: int, lazy_gap: int, pass_gap: int, threshold: int, less=(1, 1)) -> float:
    """Log-probability of ``lazy`` tests that fail and then all passes; ``less`` shrinks threshold and test noise."""
    b1 = float(plan.tests.threshold_scale(like)) * less[0]
    b2 = float(plan.tests.test_scale(like)) * less[1]
    r = np.arange(-60 * math.ceil(b1), 60 * math.ceil(b1) + threshold + 60 * math.ceil(b2))
    fails = np.log(laplace_below(threshold + r - lazy_gap, b2))
    passes = np.log(laplace_below(1 - (threshold + r - pass_gap), b2))  # X ≥ x is −X < 1 − x
    terms = -np.abs(r) / b1 + lazy * fails + plan.tests.most * passes
    best = terms.max()
    return best + math.log(np.exp(terms - best).sum()) + math.log(math.tanh(1 / (2 * b1)))


def worst_ratio(plan: PMWPlan, *, lazy: int, less=(1, 1)) -> float:
    """What tests cost on neighbors whose lazy gaps rise by Δ and whose passing gaps fall by Δ."""
    like = single_sum(np.zeros(1, dtype=np.int64), QuerySetting(10, coupled.prefix_sums({"a": range(2)}, "a"), None))
    delta = int(like.linf_sensitivity)
    one = transcript(plan, like, lazy=lazy, lazy_gap=0, pass_gap=2 * delta, threshold=3 * delta, less=less)
    other = transcript(plan, like, lazy=lazy, lazy_gap=delta, pass_gap=delta, threshold=3 * delta, less=less)
    return one - other


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of 0 and 1 only: one grid step is one record, and laws have few outcomes."""
    for module in (workload, product, bounds, learned_histogram, pmw, mwem):
        monkeypatch.setattr(module, "GRID", 1)


@pytest.mark.parametrize(("epsilon", "updates"), [(1, 1), (1, 2), (3, 5)])
def test_the_worst_stream_of_tests_costs_its_share_and_a_tenth_less_noise_is_found(coarse, epsilon, updates) -> None:
    plan = PMWPlan.of(Budget(epsilon, selects=True), updates, Fraction(1))
    share = float(plan.tests.loss.epsilon)
    assert share + updates * float(plan.answers.loss.epsilon) == pytest.approx(epsilon)  # type: ignore[attr-defined]
    honest = worst_ratio(plan, lazy=MANY)
    assert 0.999 * share < honest <= share + 1e-9
    assert worst_ratio(plan, lazy=MANY, less=(0.9, 1)) > share
    assert worst_ratio(plan, lazy=MANY, less=(1, 0.9)) > share
    # Half the noise: what a test would get if the distance to the estimate were monotone.
    assert worst_ratio(plan, lazy=MANY, less=(1, 0.5)) > 1.5 * share


def test_a_thousand_lazy_rounds_cost_the_threshold_and_nothing_else(coarse) -> None:
    plan = PMWPlan.of(Budget(1, selects=True), 2, Fraction(1))
    like = single_sum(np.zeros(1, dtype=np.int64), QuerySetting(10, coupled.prefix_sums({"a": range(2)}, "a"), None))
    first, second = float(plan.tests.epsilon_threshold), float(plan.tests.threshold_scale(like))
    costs = []
    for rounds in (1, 1000, 10**6):
        laws = [_lazy(plan, like, rounds, gap) for gap in (0, 1)]
        costs.append(laws[0] - laws[1])
    assert costs[0] < costs[1] <= costs[2] <= first + 1e-12
    assert costs[2] == pytest.approx(first, rel=1e-3)
    assert 1 / (0.9 * second) > first  # the same with a tenth less noise on the threshold: 1/b instead of ε₁ = 1/b₁


def _lazy(plan: PMWPlan, like, rounds: int, gap: int) -> float:
    b1, b2 = float(plan.tests.threshold_scale(like)), float(plan.tests.test_scale(like))
    r = np.arange(-60 * math.ceil(b1), 60 * math.ceil(b1) + 60 * math.ceil(b2))
    terms = -np.abs(r) / b1 + rounds * np.log(laplace_below(r - gap, b2))
    return terms.max() + math.log(np.exp(terms - terms.max()).sum())


def test_quadrature_with_continuous_noise() -> None:
    """Shares 0.2 + 0.5 + 0.3 and two passes: the worst stream comes close to 1, and lazy rounds alone cost 0.2."""
    e1, e2, e3, c = 0.2, 0.5, 0.3, 2
    b1, b2 = 1 / e1, 2 * c / e2
    r = np.linspace(-400, 900, 325_001)

    def log_probability(lazy: int, lazy_gap: float, passes: int, pass_gap: float) -> float:
        x, y = r - lazy_gap, r - pass_gap
        failed = np.where(x < 0, x / b2 - math.log(2), np.log1p(-np.exp(-np.maximum(x, 0) / b2) / 2))
        passed = np.where(y > 0, -y / b2 - math.log(2), np.log1p(-np.exp(np.minimum(y, 0) / b2) / 2))
        terms = -np.abs(r) / b1 + lazy * failed + passes * passed
        return terms.max() + math.log(np.exp(terms - terms.max()).sum())

    whole = [log_probability(lazy, 0, c, 1) - log_probability(lazy, 1, c, 0) + e3 for lazy in (1, 10, 1000, 10**6)]
    assert 0.99 < max(whole) <= 1 + 1e-9
    lazy_alone = log_probability(1000, 0, 0, 0) - log_probability(1000, 1, 0, 0)
    assert lazy_alone == pytest.approx(e1, abs=5e-5)
    assert lazy_alone <= e1 + 1e-9


def test_the_potential_falls_as_the_lemma_says(fixed_bits) -> None:
    rng = np.random.default_rng(5)
    for _ in range(2000):
        cells = int(rng.integers(2, 20))
        truth, estimate = rng.dirichlet(np.ones(cells)), rng.dirichlet(np.full(cells, 3.0))
        query, step = rng.random(cells), rng.uniform(0, 2)
        error = float(query @ (truth - estimate))
        bent = estimate * np.exp(math.copysign(step, error) * query)
        fall = float(truth @ np.log(bent / bent.sum() / estimate))
        assert fall >= step * abs(error) - step**2 / 8 - 1e-12


CELLS, ROWS = 3, 2

# Exact laws, through the code: every test is made to fail and to pass, every answer takes each value, and each way has
# the probability that the scales and the gaps of the code give it.


class Ways:
    """Runs a function again and again, once for each sequence of choices, and adds up the probabilities.

    The noise r of the threshold is kept as a vector: a test multiplies the probability of each r.
    """

    reach = 200

    def __init__(self) -> None:
        self.script: list[int] = []
        self.place = 0
        self.sizes: list[int] = []
        self.factor = 1.0
        self.thresholds = np.ones(1)
        self.rows = ROWS

    def law(self, run: Callable[[], object]) -> dict[object, float]:
        law: dict[object, float] = {}
        self.script = []
        while True:
            self.place, self.sizes, self.factor, self.thresholds = 0, [], 1.0, np.ones(1)
            outcome = run()
            law[outcome] = law.get(outcome, 0.0) + self.factor * float(self.thresholds.sum())
            script = [*self.script, *[0] * (len(self.sizes) - len(self.script))]
            while script and script[-1] + 1 == self.sizes[len(script) - 1]:
                script.pop()
            if not script:
                return law
            self.script = [*script[:-1], script[-1] + 1]

    def choose(self, options: int) -> int:
        chosen = self.script[self.place] if self.place < len(self.script) else 0
        self.place += 1
        self.sizes.append(options)
        return chosen

    # What stands in for the noise

    def new_threshold(self, scale: float) -> None:
        self.factor *= float(self.thresholds.sum())
        noise = np.arange(-self.reach, self.reach + 1)
        self.thresholds = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(noise) / scale)

    def test(self, gap: int, threshold: int, scale: float) -> bool:
        passes = bool(self.choose(2))
        need = threshold + np.arange(-self.reach, self.reach + 1.0) - gap
        self.thresholds = self.thresholds * laplace_below(1 - need if passes else need, scale)
        return passes

    def answer(self, true: int, most: int, log_pmf) -> int:
        """A value from 0 to ``most``, which the code cuts answers to."""
        value = self.choose(most + 1)
        noise = np.arange(-self.reach, self.reach + 1)
        values = np.clip(true + noise, 0, most)
        self.factor *= float(np.exp(log_pmf(noise))[values == value].sum())
        return value


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch, coarse) -> Ways:
    ways = Ways()
    real = threshold.ThresholdSession.first_pass

    def noise(n: int, scale: Fraction) -> np.ndarray:
        return np.zeros(n, dtype=np.int64)

    def opened(stream: threshold.ThresholdSession, mechanism, like) -> None:
        real_open(stream, mechanism, like)
        ways.new_threshold(float(stream.mechanism.threshold_scale(stream.like)))

    def first_pass(stream: threshold.ThresholdSession, sums) -> int | None:
        assert sums.values.size == 1
        scale = float(stream.mechanism.test_scale(stream.like))
        passes = ways.test(int(sums.values[0]), stream._threshold, scale)
        # The code's own comparison decides, with noise that makes it come out this way.
        stream._stock = np.array([10**6 if passes else -(10**6)], dtype=np.int64)
        place = real(stream, sums)
        assert (place == 0) == passes
        return place

    def release(mechanism, sums) -> np.ndarray:
        return np.array([ways.answer(int(sums.values[0]), ways.rows, mechanism.log_pmf(sums))])

    def pick(mechanism, sums) -> int:
        law = mechanism.law(sums)
        chosen = ways.choose(law.size)
        ways.factor *= float(law[chosen])
        return chosen

    real_open = threshold.ThresholdSession.__init__
    monkeypatch.setattr(threshold, "discrete_laplace", noise)
    monkeypatch.setattr(threshold.ThresholdSession, "__init__", opened)
    monkeypatch.setattr(threshold.ThresholdSession, "first_pass", first_pass)
    monkeypatch.setattr(pmw, "LEAST_BLOCK", 1)
    monkeypatch.setattr(pmw, "MOST_BLOCK", 1)
    monkeypatch.setattr(LaplaceMechanism, "release", release)
    monkeypatch.setattr(GaussianMechanism, "release", release)
    monkeypatch.setattr(ExponentialMechanism, "choose", pick)
    return ways


def tables(rows: int = ROWS) -> list[Table]:
    """All tables of so many rows, in any order of the rows: one for each histogram."""
    datasets = itertools.combinations_with_replacement(range(CELLS), rows)
    return [
        Table({"a": list(cells), "home": [0] * rows}, domains={"a": range(CELLS)}, group="home") for cells in datasets
    ]


def neighbors(apart: int) -> Iterator[tuple[int, int]]:
    """Pairs of tables that differ in at most so many rows."""
    datasets = [table.histogram() for table in tables()]
    for i, j in itertools.permutations(range(len(datasets)), 2):
        if np.abs(datasets[i] - datasets[j]).sum() <= 2 * apart:
            yield i, j


QUESTIONS = [{"a": 0}, {"a": {"in": [0, 2]}}, {"a": 0}]


def pmw_laws(ways: Ways, method: PMW, coupling: bool) -> list[dict[object, float]]:
    queries = coupled.queries_from_json({"a": range(CELLS)}, QUESTIONS)
    laws = []
    for table in tables():
        setting = QuerySetting.of(table, queries, Coupling.by_group(table) if coupling else None)

        def run(table=table, setting=setting) -> object:
            answers, measured = method.begin(table, setting, len(queries)).answer(queries)
            return tuple(answers), tuple(measured)

        laws.append(ways.law(run))
    return laws


@pytest.mark.parametrize("coupling", [False, True])
def test_every_outcome_of_pmw_on_all_neighbors(ways: Ways, coupling: bool) -> None:
    epsilon = 2
    method = PMW(epsilon=epsilon, updates=2, threshold=1, passes=1)
    laws = pmw_laws(ways, method, coupling)
    assert all(sum(law.values()) == pytest.approx(1, abs=1e-9) for law in laws)
    assert len(laws[0]) > 20
    losses = [max_log_ratio(laws[i], laws[j]) for i, j in neighbors(2 if coupling else 1)]
    assert 0.4 * epsilon < max(losses) <= epsilon + 1e-9
    if not coupling:  # what is guaranteed for one row is not for two
        assert max(max_log_ratio(laws[i], laws[j]) for i, j in neighbors(2)) > max(losses) * 1.2


def test_every_outcome_of_concentrated_pmw_on_all_neighbors(ways: Ways) -> None:
    method = PMW(epsilon=4, delta="1e-3", updates=2, threshold=1, passes=1)
    laws = pmw_laws(ways, method, False)
    table = tables()[0]
    queries = coupled.queries_from_json(table, QUESTIONS)
    rho = float(method.plan(table, queries).guarantee.loss.concentrated().rho)  # type: ignore[union-attr]
    for order in (1.5, 3.0, 6.0):
        worst = max(renyi_divergence(laws[i], laws[j], order) for i, j in neighbors(1))
        assert 0.2 * rho * order < worst <= rho * order + 1e-9


def test_pmw_that_reuses_the_test_noise_budget_is_found(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken mechanism whose answers get the noise of a single one: all three places together spend more than ε."""
    honest = PMWPlan.of
    monkeypatch.setattr(
        PMWPlan,
        "of",
        classmethod(lambda cls, budget, c, T: PMWPlan(honest(budget, c, T).tests, LaplaceMechanism.of(3), 1)),
    )
    laws = pmw_laws(ways, PMW(epsilon=2, updates=2, threshold=1, passes=1), False)
    assert max(max_log_ratio(laws[i], laws[j]) for i, j in neighbors(1)) > 2


def mwem_laws(ways: Ways, method: MWEM, coupling: bool) -> list[dict[object, float]]:
    queries = coupled.queries_from_json({"a": range(CELLS)}, QUESTIONS[:2])
    laws = []
    for table in tables():

        def run(table=table) -> object:
            release = method.release(table, queries, coupling=Coupling.by_group(table) if coupling else None)
            found = release.table("measurements")
            return tuple(found["query"]), tuple(found["answer"]), tuple(release.table("answers")["answer"].round(9))

        laws.append(ways.law(run))
    return laws


@pytest.mark.parametrize("coupling", [False, True])
def test_every_outcome_of_mwem_on_all_neighbors(ways: Ways, coupling: bool) -> None:
    epsilon = 2
    laws = mwem_laws(ways, MWEM(epsilon=epsilon, rounds=2, passes=1), coupling)
    assert all(sum(law.values()) == pytest.approx(1, abs=1e-9) for law in laws)
    losses = [max_log_ratio(laws[i], laws[j]) for i, j in neighbors(2 if coupling else 1)]
    assert 0.4 * epsilon < max(losses) <= epsilon + 1e-9


def test_every_outcome_of_concentrated_mwem_on_all_neighbors(ways: Ways) -> None:
    method = MWEM(epsilon=4, delta="1e-3", rounds=2, passes=1)
    laws = mwem_laws(ways, method, False)
    table = tables()[0]
    loss = method.plan(table, coupled.queries_from_json(table, QUESTIONS[:2])).guarantee.loss
    rho = float(loss.concentrated().rho)  # type: ignore[union-attr]
    for order in (1.5, 3.0, 6.0):
        worst = max(renyi_divergence(laws[i], laws[j], order) for i, j in neighbors(1))
        assert 0.3 * rho * order < worst <= rho * order + 1e-9


def test_measurements_of_mwem_with_a_tenth_less_noise_are_found(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two measurements alone reach their shares on these tables, so less noise goes beyond them."""
    method = MWEM(epsilon=2, rounds=2, passes=1)
    like = single_sum(np.array([0, 1]), QuerySetting(ROWS, coupled.prefix_sums({"a": range(2)}, "a"), None))
    picking, measuring = method.mechanisms(2)
    assert isinstance(measuring, LaplaceMechanism)

    def cost(mechanism: LaplaceMechanism) -> float:
        log_pmf = mechanism.log_pmf(like)
        noise = np.arange(-50, 51)
        return float(np.max(np.abs(log_pmf(noise) - log_pmf(noise + 1))))

    assert cost(measuring) == pytest.approx(float(measuring.epsilon))
    assert cost(LaplaceMechanism(measuring.epsilon * Fraction(10, 9))) > float(measuring.epsilon) * 1.1
    # The rate of the choice has the factor 2: two scores can move apart by 2Δ.
    assert picking.rate(like) == picking.epsilon / (2 * like.linf_sensitivity)
