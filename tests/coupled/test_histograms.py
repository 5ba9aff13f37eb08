"""Histograms, plain and shrunk, and the tree: what they spend, what they give, what they refuse."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.coupled import (
    MWEM,
    Coupling,
    HistogramRelease,
    QueryMethod,
    ShrunkHistogram,
    TreeMarginals,
    all_marginals,
    random_queries,
)
from discreet.coupled.forests import ForestPlan
from discreet.coupled.histograms import independent_model
from discreet.coupled.query_method import QuerySetting
from discreet.data import Table, synthetic
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Ledger
from discreet.privacy.losses import Concentrated, Pure
from discreet.privacy.mechanisms import GaussianMechanism, LaplaceMechanism, NormalMechanism

METHODS = [HistogramRelease, ShrunkHistogram, TreeMarginals]


@pytest.fixture(scope="module")
def survey() -> Table:
    return synthetic.survey(households=800, seed=3)


def equal_columns(rows: int = 4000) -> Table:
    """Attributes a and b are equal, c and d are equal, e is by itself."""
    generator = np.random.default_rng(0)
    a, c = generator.integers(0, 4, rows), (generator.random(rows) < 0.2).astype(np.int64)
    columns = {"a": a, "c": c, "b": a, "d": c, "e": generator.integers(0, 3, rows)}
    return Table(columns, domains={"a": range(4), "c": range(2), "b": range(4), "d": range(2), "e": range(3)})


def error(table: Table, release: Any) -> float:
    return float(((release.array("histogram") - table.histogram().ravel()) ** 2).sum())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_answers_are_those_of_one_possible_histogram(
    method: Any, delta: Any, survey: Table, fixed_bits: object
) -> None:
    workload = all_marginals(survey, 1)
    release = method(1, delta=delta).release(survey, workload, coupling=Coupling.by_group(survey))
    histogram = release.array("histogram")
    assert histogram.min() >= 0
    assert histogram.sum() == pytest.approx(len(survey))
    assert np.allclose(release.table("answers")["answer"].to_numpy(), workload.answers(histogram))
    assert release.guarantee.unit.code == "group/replace:6"


@pytest.mark.parametrize("method", METHODS)
def test_the_guarantee_is_known_before_and_charged(method: Any, survey: Table, tmp_path: Any) -> None:
    workload = random_queries(survey, 3, seed=1)
    asked = method(epsilon="1/2")
    guarantee = asked.plan(survey, workload).guarantee
    assert guarantee.loss == Pure(Fraction(1, 2))
    assert guarantee.unit.code == "record/replace"
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(survey, epsilon=2, unit="record/replace")
    release = asked.release(survey, workload, ledger=ledger)
    assert release.guarantee == guarantee
    assert ledger.statement(survey).left.epsilon == Fraction(3, 2)
    assert asked.estimate(survey, workload)["cells"] == survey.n_cells


class Spent:
    """Every amount that is spent on noise and choices, in the order it is spent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.amounts: list[Fraction] = []
        for name in ("for_best", "for_top"):
            original = getattr(Budget, name)
            monkeypatch.setattr(Budget, name, self._recording(original))
        fields = {LaplaceMechanism: "epsilon", GaussianMechanism: "rho", NormalMechanism: "mu_squared"}
        for mechanism, field in fields.items():
            monkeypatch.setattr(mechanism, "release", self._releasing(mechanism.release, field))

    def _recording(self, original: Any) -> Any:
        def choose(budget: Budget, *args: Any) -> Any:
            self.amounts.append(budget.amount)
            return original(budget, *args)

        return choose

    def _releasing(self, original: Any, field: str) -> Any:
        def release(mechanism: Any, sums: BoundedSums) -> Any:
            self.amounts.append(getattr(mechanism, field))
            return original(mechanism, sums)

        return release


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("epsilon", ["1/50", "1/5", 1, 5])
def test_what_is_spent_adds_up_exactly(
    method: Any, delta: Any, epsilon: Any, fixed_bits: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every way that the public numbers and the look at the largest cell can choose."""
    spent = Spent(monkeypatch)
    table = equal_columns()
    release = method(epsilon, delta=delta).release(table, random_queries(table, 2, seed=1))
    budget = Budget(epsilon, delta, selects=isinstance(release.guarantee.loss, Concentrated))
    assert sum(spent.amounts) == budget.amount
    assert release.guarantee.loss == budget.loss


def test_dependent_attributes_are_paired_and_independent_ones_are_not_missed(fixed_bits: object) -> None:
    table = equal_columns()
    release = TreeMarginals(4).release(table, all_marginals(table, 2))
    pairs = {frozenset(row) for row in release.table("pairs").iter_rows()}
    assert {frozenset("ab"), frozenset("cd")} <= pairs
    assert error(table, release) < 0.05 * float((table.histogram() ** 2).sum())


def test_less_budget_measures_less() -> None:
    table = equal_columns()
    setting = QuerySetting.of(table, random_queries(table, 1, seed=1), None)
    plans = [ForestPlan.of(setting, Budget(epsilon)) for epsilon in ("1/200", "1/20", "1/5", 4)]
    counted = [(plan.pairs, plan.singles) for plan in plans]
    assert counted == sorted(counted)
    assert counted[0] == (0, 1)
    assert counted[-1] == (4, 5)


def test_shrunk_beats_plain_even_and_mwem(survey: Table, fixed_bits: object) -> None:
    """The claim of the house, on a small scale: the studies have the large one."""
    workload = random_queries(survey, 500, seed=1)
    truth = workload.true_answers(survey) / 4096
    even = workload.answers(np.full(survey.n_cells, len(survey) / survey.n_cells))

    def mean_square(method: QueryMethod, coupling: Coupling | None) -> float:
        runs = [method.release(survey, workload, coupling=coupling).table("answers")["answer"] for _ in range(6)]
        return float(np.mean([(run.to_numpy() - truth) ** 2 for run in runs]))

    for epsilon, coupling in (("1/2", None), (1, None), (2, Coupling.by_group(survey))):
        ours = mean_square(ShrunkHistogram(epsilon), coupling)
        assert ours < 0.97 * float(np.mean((even - truth) ** 2))
        assert ours < mean_square(HistogramRelease(epsilon), coupling)
        assert ours < mean_square(MWEM(epsilon, rounds=5), coupling)


def crowded(rows: int = 4000) -> Table:
    """Half of the rows in one cell of 4,096, a few in others: no single attribute shows how crowded it is."""
    generator = np.random.default_rng(1)
    values = generator.integers(0, 8, (rows, 4))
    values[: rows // 2] = 3, 5, 1, 6
    values[rows // 2 : 3 * rows // 4] = 2, 2, 7, 0
    return Table(dict(zip("abcd", values.T, strict=True)), domains={name: range(8) for name in "abcd"})


def flat(rows: int = 4000) -> Table:
    values = np.random.default_rng(2).integers(0, 8, (4, rows))
    return Table(dict(zip("abcd", values, strict=True)), domains={name: range(8) for name in "abcd"})


def independent(rows: int = 60_000) -> Table:
    generator = np.random.default_rng(3)
    columns = {name: np.minimum(generator.geometric(0.4, rows) - 1, 7) for name in "abcd"}
    return Table(columns, domains={name: range(8) for name in "abcd"})


@pytest.mark.parametrize(
    ("table", "epsilon", "others", "most"),
    [
        (crowded(), "1/20", [HistogramRelease, TreeMarginals], 0.6),
        (crowded(), 1, [HistogramRelease, TreeMarginals], 0.9),
        (independent(), "1/5", [HistogramRelease], 0.4),
        (independent(), 1, [HistogramRelease, TreeMarginals], 0.9),
        (flat(), "1/10", [], 1.1),
        (flat(), 1, [], 1.1),
    ],
)
def test_shrunk_is_never_far_behind_simpler_ways(
    table: Table, epsilon: Any, others: list[Any], most: float, fixed_bits: object
) -> None:
    """Against noise on every cell, a tree, and an even histogram that costs nothing."""
    workload = random_queries(table, 2, seed=1)

    def mean_error(method: Any) -> float:
        return float(np.mean([error(table, method(epsilon).release(table, workload)) for _ in range(4)]))

    even = float(((table.histogram() - len(table) / table.n_cells) ** 2).sum())
    assert mean_error(ShrunkHistogram) < most * min([even, *(mean_error(other) for other in others)])


def test_rows_in_one_cell_are_found(fixed_bits: object) -> None:
    table = Table(dict.fromkeys("abcd", np.ones(2000, dtype=np.int64)), domains={name: range(8) for name in "abcd"})
    release = ShrunkHistogram("1/10").release(table, random_queries(table, 2, seed=1))
    assert error(table, release) < 0.02 * 2000**2
    assert set(release.table("answers")["source"]) == {"cells"}


def test_public_numbers_alone_choose_the_way(survey: Table) -> None:
    """Other rows of the same number and domains have the same plan."""
    for epsilon, way in (("1/1000", "model"), ("1/10", "look"), (500, "cells")):
        plans = [
            ShrunkHistogram(epsilon).estimate(table, random_queries(table, 2, seed=1)) for table in (crowded(), flat())
        ]
        assert plans[0] == plans[1]
        assert plans[0]["way"] == way
    one = Table({"a": [0, 1, 1]}, domains={"a": range(9)})
    assert ShrunkHistogram(1).estimate(one, random_queries(one, 2, seed=1))["way"] == "cells"


def test_cells_expect_what_their_sums_say() -> None:
    """Without noise the model of independent attributes is exact where attributes are independent."""
    counts = np.einsum("a,b,c->abc", [4, 1], [3, 1, 1], [10, 30]).astype(np.int64)
    columns = np.repeat(np.array(list(np.ndindex(counts.shape))), counts.ravel(), axis=0).T
    table = Table(dict(zip("abc", columns, strict=True)), domains={"a": range(2), "b": range(3), "c": range(2)})
    setting = QuerySetting.of(table, random_queries(table, 1, seed=1), None)
    model = independent_model(counts.ravel(), setting, 1e-9, law="laplace")
    assert np.allclose(model, counts.ravel(), rtol=1e-4)


@pytest.mark.parametrize("rows", [100, 100_000])
def test_one_attribute_and_two_work(rows: int, fixed_bits: object) -> None:
    values = np.arange(rows) % 7
    for domains in ({"a": range(7)}, {"a": range(7), "b": range(7)}):
        table = Table(dict.fromkeys(domains, values), domains=domains)
        for method in METHODS:
            release = method(1).release(table, random_queries(table, 2, seed=1))
            assert release.array("histogram").sum() == pytest.approx(rows)


def test_large_domains_take_seconds(fixed_bits: object) -> None:
    domains = {name: range(8) for name in "abcdefg"}  # 2^21 cells
    generator = np.random.default_rng(0)
    table = Table({name: generator.integers(0, 8, 20_000) for name in domains}, domains=domains)
    release = ShrunkHistogram(1).release(table, all_marginals(table, 1))
    assert release.array("histogram").size == 2**21


@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_is_refused_before_the_charge(method: Any, survey: Table, tmp_path: Any) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(survey, epsilon=2, unit="record/replace")
    workload = random_queries(survey, 2, seed=1)
    with pytest.raises(PrivacyError, match="secret"):
        method(1).release(survey, workload, coupling=Coupling.similar(survey, ["city"]), ledger=ledger)
    wide = Table({name: [0] for name in "abcdefghi"}, domains={name: range(8) for name in "abcdefghi"})
    with pytest.raises(UsageError, match="cells"):
        method(1).release(wide, all_marginals(wide, 1), ledger=ledger)
    with pytest.raises(UsageError):
        method("1e-20").release(survey, workload, ledger=ledger)
    with pytest.raises(UsageError):
        method(0)
    assert ledger.statement(survey).left.epsilon == 2


def test_a_budget_without_meaning_is_refused(survey: Table) -> None:
    with pytest.raises(UsageError, match="nothing secret"):
        TreeMarginals(10**20).estimate(survey, random_queries(survey, 2, seed=1))
    # Where nothing is chosen, noise that is nearly always 0 can be drawn.
    assert ShrunkHistogram(10**20).estimate(survey, random_queries(survey, 2, seed=1))["way"] == "cells"
