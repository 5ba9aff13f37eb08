"""The study of several curators: what it compares, and how its claims are judged."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataError
from discreet.studies import StudyReport, study
from discreet.studies.claims import claims_of, verdicts
from discreet.studies.curators import divided
from discreet.studies.study import published


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=250, items=40, records=3000, seed=5)


@pytest.fixture(scope="module")
def told() -> list[float]:
    return []


@pytest.fixture(scope="module")
def report(films: dc.Interactions, told: list[float]) -> StudyReport:
    return study("curators", films, quick=True, progress=lambda share, what: told.append(share))


def test_all_ways_are_asked_at_every_budget(report: StudyReport, told: list[float]) -> None:
    table = report.tables["Recall@20"]
    assert table.columns == ["way", "curators", "ε = 2", "ε = 20"]
    ways = [("in one hand", 1), ("alone", 2), ("combined", 2), ("alone", 5), ("combined", 5)]
    assert table.select("way", "curators").rows() == ways
    assert table.null_count().sum_horizontal().item() == 0
    assert [chart.name for chart in report.charts] == ["combined", "alone"]
    assert told[-1] == 1.0
    assert len(told) == 2 * (1 + 2 + 2)
    json.dumps(report.to_dict(), allow_nan=False)


def test_people_are_divided_and_nobody_is_lost(films: dc.Interactions) -> None:
    parts = divided(films, 4, seed=3)
    names = [set(part.users.ids()) for part in parts]
    assert sum(len(one) for one in names) == films.n_users == len(set.union(*names))
    assert max(len(one) for one in names) - min(len(one) for one in names) <= 1
    assert all(part.items.series.equals(films.items.series) for part in parts)
    assert any(set(a.users.ids()) != b for a, b in zip(divided(films, 4, seed=4), names, strict=True))


def judged(recall: dict[tuple[str, int], list[float]]) -> dict[str, list[str]]:
    rows = [
        (*key, epsilon, value)
        for key, values in recall.items()
        for epsilon, value in zip((1.0, 4.0), values, strict=True)
    ]
    schema = {"way": pl.String, "curators": pl.Int64, "epsilon": pl.Float64, "value": pl.Float64}
    tables = {"recall": pl.DataFrame(rows, schema=schema, orient="row")}
    found: dict[str, list[str]] = {}
    for claim in claims_of(published("curators")):
        found[claim["key"]] = verdicts([claim], tables, labels={"quick": False})["verdict"].to_list()
    return found


def test_claims_hold_and_fail_where_they_should() -> None:
    good = {("in one hand", 1): [0.3, 0.4], ("alone", 2): [0.2, 0.3], ("combined", 2): [0.28, 0.38]}
    good |= {("alone", 5): [0.1, 0.2], ("combined", 5): [0.25, 0.35]}
    assert {verdict for verdicts_ in judged(good).values() for verdict in verdicts_} == {"holds"}
    worse = {**good, ("combined", 5): [0.29, 0.15]}
    found = judged(worse)
    assert [one.startswith("does not hold") for one in found["combined beats alone"]] == [False, True]
    assert [one.startswith("does not hold") for one in found["fewer curators are better"]] == [True, False]
    assert judged({**good, ("in one hand", 1): [0.2, 0.2]})["one hand is best"][0].startswith("does not hold")


def test_nothing_to_learn_from(films: dc.Interactions) -> None:
    with pytest.raises(DataError, match="no records"):
        study("curators", films.emptied(), quick=True)


def test_curators_spend_what_one_hand_does(films: dc.Interactions) -> None:
    from discreet.combining import combine, release_round

    method = dc.PrivateRecommender(epsilon=2, delta="1e-5")
    parts, after = divided(films, 3, seed=1), None
    while after is None or after.kind == "round":
        after = combine(*(release_round(method, part, after=after) for part in parts), people="disjoint")
    assert after.guarantee.loss == method.plan(films).loss
    assert np.isclose(after.parameters["noise_first"], np.sqrt(3) * method.plan(films).expected["noise_first"])
