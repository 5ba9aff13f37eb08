"""The study of coupled rows: the thesis' figures, and judgments on both sides."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from discreet.coupled import CIM, LMCS, Coupling
from discreet.data import IntegerDomain, Table, synthetic
from discreet.errors import UsageError
from discreet.studies import StudyReport, published, study
from discreet.studies.cim import CHARGED, COSTS, EVEN, OURS, CIMStudy, QueryRun, measurements, over_threshold, standing
from discreet.studies.cim_inputs import built_in, given, planted
from discreet.studies.study import Measurements, Steps

Judge = Callable[..., list[str]]
QUICK = CIMStudy().settings(quick=True)
METHODS = CIMStudy().layout["methods"]
QUERIES = 60


@pytest.fixture(scope="module")
def survey() -> Table:
    return synthetic.survey(households=60, seed=5)


@pytest.fixture(scope="module")
def k(survey: Table) -> int:
    return Coupling.by_group(survey).largest


@pytest.fixture(scope="module")
def report(survey: Table) -> StudyReport:
    return CIMStudy().run(survey, seed=1, quick=True)


def test_tables_and_charts(report: StudyReport, k: int) -> None:
    _, errors, costs, _, couplings, thresholds, bounds, etas, printed, _ = report.tables.values()
    assert errors.columns == ["method", "standing", "ε = 0.1", "ε = 1"]
    assert errors.height == 1 + len(METHODS) + sum(standing(one) == "REFUTED" for one in METHODS)
    assert set(errors["standing"]) == {"", "PROVED", "REFUTED"}
    assert couplings["k"].to_list() == [k]
    assert thresholds.height == 2 * len(QUICK.thresholds)
    assert bounds.height == 3 * len(QUICK.thresholds)
    assert bounds.columns == ["statement", "input", "T", "α", "measured", "bound"]
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


def test_what_cim_spends(report: StudyReport) -> None:
    costs = report.tables["What refuted methods claim and spend"]
    spent = costs.filter(method="CIM as printed")["spent at least"].item()
    assert spent == pytest.approx(QUICK.queries * 49 * 0.36 / np.log(11_520))


def test_noise_of_every_answer(report: StudyReport, survey: Table, k: int) -> None:
    """LM&GS has the error of its scale; a tenth of the budget a hundred times as much."""
    errors = report.tables["MSE at ε, survey"].filter(method="LM&GS")
    one, tenth = float(errors["ε = 1"].item()), float(errors["ε = 0.1"].item())
    assert one == pytest.approx(2 * (k * QUICK.queries / len(survey)) ** 2, rel=0.5)
    assert tenth / one == pytest.approx(100, rel=0.7)


def test_a_charge_for_everything(survey: Table, k: int) -> None:
    run = QueryRun.of(given(survey, seed=1), queries=QUERIES, seed=1)
    methods = {one["name"]: one for one in METHODS}
    cost = COSTS["cim"](run)
    assert cost > 1
    release = run.charged(methods["CIM corrected"], Fraction(1))
    claimed = Fraction(release.parameters["epsilon"])
    method = CIM(epsilon=claimed, update="corrected")
    assert method.account(survey.n_cells, rounds=QUERIES, updates=0).spent_on_rounds == pytest.approx(1)
    claimed = Fraction(run.charged(methods["LM&CS"], Fraction(1)).parameters["epsilon"])
    scales = LMCS(epsilon=claimed).scales(survey, run.setting)
    assert float((k / scales).sum()) == pytest.approx(1)
    assert COSTS["lm-cs"](run) >= 1


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
        assert one.coupling.largest == published("cim")["table_5_2"][one.like]


def found(
    ours: float, others: float, *, updates: int = 5, deviation: float = 0.1, errors: float | None = None
) -> Measurements:
    """A run on one table in which all methods but ours have the same error."""
    rows = [
        {"method": name, "standing": standing(one), "MSE": ours if name == OURS else others}
        for one in METHODS
        for name in (one["name"], *([one["name"] + CHARGED] if one["method"] in COSTS else []))
    ]
    rows.append({"method": EVEN, "standing": "", "MSE": others if errors is None else errors})
    common = {"input": "survey", "ε": 1.0, "deviation": deviation, "runs": 4}
    tables = {
        "errors": pl.DataFrame([row | common for row in rows]),
        "costs": pl.DataFrame(
            {"input": ["survey"] * 2, "method": ["LM&CS", "CIM as printed"], "claimed ε": [1.0, 1.0]}
            | {"spent at least": [1.0, 900.0]}
        ),
        "thresholds": pl.DataFrame(
            {"input": ["survey"] * 3, "T": [0.01, 0.3, 0.4], "update": ["printed"] * 3}
            | {"updates": [50, 10, 0], "MSE": [2.0, 1.0, 1.5]}
        ),
        "etas": pl.DataFrame(
            {"input": ["survey"], "η": [7.0], "u_max": [10.0], "ε₀": [1.0]}
            | {"updates, printed": [updates], "updates, corrected": [updates]}
        ),
        "couplings": pl.DataFrame(
            {"input": ["survey"], "compared": [9], "k, Pearson": [15], "coupled, Pearson": [0.3]}
        ),
    }
    return measurements({}, tables, METHODS, {})


def test_verdicts_on_both_sides(judge: Judge) -> None:
    """The verdict says who won, whoever it was."""

    def told(run: Measurements, *keys: str) -> list[str]:
        return [verdict for key in keys for verdict in judge("cim", key, run)]

    won = found(1.0, 2.0)
    assert told(won, "ours", "ours not behind", "tree", "u_max", "updates", "best T", "least at 0.3") == ["holds"] * 7
    lost = found(2.0, 1.0, updates=50)
    assert told(lost, "ours", "ours not behind", "tree", "u_max") == ["does not hold"] * 4
    unclear = found(1.0, 2.0, deviation=3.0)
    assert told(unclear, "ours", "ours not behind") == ["does not hold", "holds"]
    assert told(won, "lmcs spends", "cim spends") == ["holds", "does not hold"]
    assert told(won, "coupled", "groups") == ["holds", "holds"]
    assert told(won, "asks") == ["does not hold"]
    assert told(found(1.0, 2.0, errors=3.0), "asks") == ["holds"]
    assert set(told(won, "values")) == {"not judged here"}, "no input stands for a dataset of the thesis"
    assert told(won, "noise", "noise of one") == ["does not hold"] * 2


def test_published_values_are_compared_with_ours(judge: Judge) -> None:
    run = found(1.0, 0.229)
    tables = {name: run.tables[name] for name in ("errors", "thresholds", "etas")}
    adult = measurements({}, tables, METHODS, {"Adult": "survey"})
    told = judge("cim", "values", adult)
    kept = adult.tables["published"].with_columns(verdict=pl.Series(told))
    at_one = kept.filter(quantity="MSE of LM&GS", at="ε = 1", data="Adult")
    assert at_one.select("value", "here", "verdict").row(0) == (0.2293, 0.229, "holds")
    assert kept.filter(quantity="MSE of CIM", at="ε = 1", data="Adult")["verdict"].item() == "does not hold"


def test_the_bounds_hold_where_the_estimate_is_nearer_than_the_threshold(judge: Judge) -> None:
    """Where α is below T the proof of Lemma 5 stands; where it is far above, nearly every round is an update."""
    table = synthetic.survey(households=60, seed=1)
    run = QueryRun.of(given(table, seed=1), queries=60, seed=1)
    _, said = over_threshold(run, QUICK.with_(thresholds=(0.0001, 0.9)), Steps())
    lemma = said.filter(pl.col("statement").str.starts_with("Lemma 5"), update="printed")
    assert lemma["α"].is_between(0, 1).all()
    far, near = lemma.rows(named=True)
    assert near["α"] < 0.9
    assert near["measured"] <= near["bound"] < 1
    assert far["measured"] > far["bound"]
    corollary = said.filter(pl.col("statement").str.starts_with("Corollary"), update="printed")
    assert (corollary["bound"] / lemma["bound"]).to_numpy() == pytest.approx(60)
    assert judge("cim", "bounds", {"bounds": said.filter(pl.col("T") > 0.5, statement=near["statement"])}) == ["holds"]
    assert judge("cim", "bounds", {"bounds": said.filter(statement=near["statement"])}) == ["does not hold"]


def test_settings_are_those_of_the_thesis() -> None:
    full = CIMStudy().settings(quick=False)
    assert [Fraction(epsilon) for epsilon in full.epsilons] == [Fraction(tenth, 10) for tenth in range(1, 11)]
    assert set(full.named_epsilons) <= set(full.epsilons)
    assert full.queries == published("cim")["parameters"]["queries"]


def test_other_data_are_refused() -> None:
    with pytest.raises(UsageError, match="runs on Table"):
        study("cim", synthetic.films(users=20, items=10, seed=1))
