"""The study of coupled rows: the thesis' figures, and judgments on both sides."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from discreet.coupled import CIM, LMCS, LMGS, Coupling
from discreet.data import IntegerDomain, Table, synthetic
from discreet.errors import UsageError
from discreet.studies import StudyReport, cim, study
from discreet.studies.cim.findings import findings
from discreet.studies.cim.inputs import LARGEST, built_in, given, planted
from discreet.studies.cim.measuring import QUICK, Arena, Plan
from discreet.studies.cim.results import Results, tables
from discreet.studies.cim.ways import CHARGED, EVEN, OURS, WAYS, cim_cost, lmcs_cost
from discreet.studies.published import published

SMALL = replace(QUICK, queries=60)


@pytest.fixture(scope="module")
def survey() -> Table:
    return synthetic.survey(households=60, seed=5)


@pytest.fixture(scope="module")
def k(survey: Table) -> int:
    return Coupling.by_group(survey).largest


@pytest.fixture(scope="module")
def report(survey: Table) -> StudyReport:
    return cim.run(survey, seed=1, quick=True)


def test_tables_and_charts(report: StudyReport, k: int) -> None:
    errors, costs, couplings, thresholds, etas, printed = report.tables.values()
    assert errors.columns == ["method", "standing", "ε = 0.1", "ε = 1"]
    assert errors.height == 1 + len(WAYS) + sum(way.cost is not None for way in WAYS)
    assert set(errors["standing"]) == {"", "PROVED", "REFUTED"}
    assert couplings["k"].to_list() == [k]
    assert thresholds["T"].to_list() == list(QUICK.thresholds)
    assert etas["η"].to_list() == list(QUICK.etas)
    assert printed.height == len(published("cim")["rows"])
    assert (costs["spent at least"] >= costs["claimed ε"]).all()
    assert [chart.name for chart in report.charts] == [
        "errors",
        "refuted",
        "updates-over-t",
        "error-over-t",
        "updates-over-eta",
    ]
    for chart in report.charts:
        assert chart.altair().to_dict()
    json.dumps(report.to_dict(), allow_nan=False)
    assert len(report.findings) == 7


def test_what_cim_spends(report: StudyReport) -> None:
    costs = report.tables["What refuted methods claim and spend"]
    spent = costs.filter(method="CIM as printed")["spent at least"].item()
    assert spent == pytest.approx(QUICK.queries * 49 * 0.36 / np.log(11_520))
    assert f"CIM {spent:,.0f}" in report.findings[2]


def test_noise_of_every_answer(report: StudyReport, survey: Table, k: int) -> None:
    """LM&GS has the error of its scale; a tenth of the budget a hundred times as much."""
    errors = report.tables["MSE at ε, survey"].filter(method="LM&GS")
    one, tenth = float(errors["ε = 1"].item()), float(errors["ε = 0.1"].item())
    assert one == pytest.approx(2 * (k * QUICK.queries / len(survey)) ** 2, rel=0.5)
    assert tenth / one == pytest.approx(100, rel=0.7)


def test_a_charge_for_everything(survey: Table, k: int) -> None:
    arena = Arena.of(given(survey, seed=1), SMALL, seed=1)
    ways = {way.name: way for way in WAYS}
    method = ways["CIM corrected"].charged(Fraction(1), survey, arena.setting)
    assert isinstance(method, CIM)
    rounds = method.account(survey.n_cells, rounds=SMALL.queries, updates=0).spent_on_rounds
    assert rounds == pytest.approx(1)
    method = ways["LM&CS"].charged(Fraction(1), survey, arena.setting)
    assert isinstance(method, LMCS)
    scales = method.scales(survey, arena.setting)
    assert float((k / scales).sum()) == pytest.approx(1)
    assert cim_cost(survey, arena.setting) > 1
    assert lmcs_cost(survey, arena.setting) >= 1
    assert isinstance(ways["LM&GS"].method(Fraction(1)), LMGS)


def test_a_planted_coupling_has_the_statistics_of_the_thesis() -> None:
    table = Table({"a": np.zeros(4_000, dtype=int)}, domains={"a": range(2)})
    coupling = planted(table, largest=15, seed=3)
    facts = coupling.statistics()
    assert coupling.public
    assert facts["k"] == 15
    assert facts["coupled_share"] == pytest.approx(0.25, abs=0.01)
    degrees = coupling.degrees.data
    assert degrees.min() >= 0.6
    assert planted(table, largest=15, seed=4).statistics() != facts
    for rows in (1, 2, 3):
        few = Table({"a": [0] * rows}, domains={"a": range(2)})
        assert planted(few, largest=10, seed=1).largest <= rows


def test_inputs_are_narrowed_by_public_domains() -> None:
    wide = Table(
        {"age": [3, 90], "sex": [0, 1], "place": [5, 6], "code": [0, 1]},
        domains={"age": IntegerDomain(0, 99), "sex": range(2), "place": [*range(9_000)], "code": [*range(40_000)]},
    )
    table = given(wide, seed=0).table
    assert table.attributes == ("age", "sex")
    assert table.shape == (6, 2)
    with pytest.raises(UsageError, match="wider bins"):
        given(Table({"n": [1]}, domains={"n": range(40_000)}), seed=0)
    with pytest.raises(UsageError, match="no rows"):
        given(Table({"n": np.zeros(0, dtype=int)}, domains={"n": range(4)}), seed=0)


def test_built_in_inputs() -> None:
    inputs = built_in(seed=0, quick=True)
    assert [one.name for one in inputs] == ["survey", "NLTCS-like", "NetTrace-like"]
    assert inputs[0].coupling.largest == 6
    for one in inputs[1:]:
        assert one.like is not None
        assert one.coupling.largest == LARGEST[one.like] == published("cim")["table_5_2"][one.like]


def test_verdicts_on_both_sides(survey: Table) -> None:
    """Findings say who won, whoever it was."""

    def told(ours: float, others: float, updates: int, deviation: float = 0.1) -> str:
        rows = []
        for way in WAYS:
            for name in (way.name, *([way.name + CHARGED] if way.cost else [])):
                error = ours if name == OURS else others
                rows.append({"method": name, "standing": way.standing, "MSE": error})
        rows.append({"method": EVEN, "standing": "", "MSE": others})
        common = {"input": "survey", "ε": 1.0, "deviation": deviation, "runs": 4}
        results = Results(
            inputs=(given(survey, seed=0),),
            errors=pl.DataFrame([row | common for row in rows]),
            costs=pl.DataFrame(
                {
                    "input": ["survey"] * 2,
                    "method": ["LM&CS", "CIM as printed"],
                    "claimed ε": [1.0, 1.0],
                    "spent at least": [1.2, 900.0],
                }
            ),
            thresholds=pl.DataFrame(
                {
                    "input": ["survey"] * 4,
                    "T": [0.01, 0.01, 0.3, 0.3],
                    "update": ["printed", "corrected"] * 2,
                    "updates": [50, 60, 0, 0],
                    "MSE": [2.0, 2.0, 1.0, 1.0],
                }
            ),
            etas=pl.DataFrame(
                {
                    "input": ["survey"],
                    "η": [7.0],
                    "u_max": [10.0],
                    "ε₀": [1.0],
                    "updates, printed": [updates],
                    "updates, corrected": [updates],
                }
            ),
            couplings=pl.DataFrame(
                {"input": ["survey"], "compared": [None], "k, Pearson": [None], "coupled, Pearson": [None]}
            ),
        )
        assert tables(results)
        return "\n".join(findings(results))

    won = told(1.0, 2.0, updates=5)
    assert won.count("less than all at 1 of 1 budgets, more at none") == 2
    assert "in 0 of 1 settings" in won
    assert "least error at T = 0.3" in won
    lost = told(2.0, 1.0, updates=50)
    assert "less than all at 0 of 1 budgets, more at ε = 1 (2 times" in lost
    assert "in 1 of 1 settings" in lost
    open_question = told(1.0, 2.0, updates=5, deviation=3.0)
    assert "less than all at 0 of 1 budgets, more at none" in open_question


def test_plans() -> None:
    assert len(Plan().epsilons) == 10
    assert Plan().smaller.epsilons == tuple(Fraction(tenth, 10) for tenth in (1, 4, 7, 10))
    assert Plan().queries == published("cim")["parameters"]["queries"]


def test_through_the_door() -> None:
    with pytest.raises(UsageError, match="runs on Table"):
        study("cim", synthetic.films(users=20, items=10, seed=1))
