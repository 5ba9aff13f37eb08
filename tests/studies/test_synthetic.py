"""The study of synthetic people: what it compares, the attack, and how its claims are judged."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataError
from discreet.evaluation.protocols import strong_generalization
from discreet.studies import StudyReport, study
from discreet.studies.claims import claims_of, verdicts
from discreet.studies.frontier import likes_of
from discreet.studies.study import published
from discreet.studies.synthetic import marginals, membership_auc


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=250, items=40, records=4000, seed=5)


@pytest.fixture(scope="module")
def told() -> list[float]:
    return []


@pytest.fixture(scope="module")
def report(films: dc.Interactions, told: list[float]) -> StudyReport:
    return study("synthetic", films, quick=True, progress=lambda share, what: told.append(share))


def test_everything_is_asked_at_every_budget(report: StudyReport, told: list[float]) -> None:
    table = report.tables["Recall@20 on real people"]
    assert table.columns == ["learned", "model", "none", "1", "8"]
    drawn = table.filter(learned="synthetic people × 1")
    assert drawn["model"].to_list() == ["EASE", "ALS", "item kNN"]
    assert drawn.select("1", "8").null_count().sum_horizontal().item() == 0
    assert table.filter(model="PrivateRecommender").height == 1
    facts = report.tables["Marginals and the attack"]["statistic"].to_list()
    assert "membership, AUC, × 1" in facts
    assert "ratings, total variation" in facts
    assert told[-1] == 1.0
    json.dumps(report.to_dict(), allow_nan=False)


def test_the_same_people_have_the_same_marginals(films: dc.Interactions) -> None:
    found = dict(marginals(films, films))
    assert found["popularity, correlation"] == pytest.approx(1)
    assert found["mean length of a history, ratio"] == 1
    assert found["correlation of pairs of likes among 40 items, correlation"] == pytest.approx(1)
    assert {value for name, value in found.items() if "variation" in name or "Smirnov" in name} == {0.0}


def test_the_attack_finds_copies_and_nobody_else(films: dc.Interactions) -> None:
    """Against the people themselves it is certain; against other people it is a coin."""
    asked = strong_generalization(likes_of(films), 1, 60, 0.8, 5, None)
    assert membership_auc(asked, asked.train) > 0.99
    others = likes_of(dc.synthetic.films(users=250, items=40, records=4000, seed=6))
    assert others.n_items == asked.train.n_items
    assert 0.35 < membership_auc(asked, others) < 0.65


def test_claims_are_judged_on_movielens_alone() -> None:
    rows = [
        ("synthetic people × 1", "EASE", float(epsilon), share) for epsilon, share in ((1, 0.95), (4, 0.85), (8, 1))
    ]
    shares = pl.DataFrame(rows, schema=["learned", "model", "epsilon", "share"], orient="row")
    facts = pl.DataFrame(
        [("membership, AUC, × 1", 1.0, 0.5), ("membership, AUC, × 1", 8.0, 0.7)],
        schema=["statistic", "epsilon", "value"],
        orient="row",
    )
    labels = {"quick": False, "records": 1000209, "users": 6040, "splits": 3}
    found = verdicts(claims_of(published("synthetic")), {"shares": shares, "facts": facts}, labels=labels)
    assert ["does not hold" in one for one in found["verdict"]] == [False, True, False, False, True]
    elsewhere = verdicts(claims_of(published("synthetic")), {"shares": shares, "facts": facts}, labels={"quick": True})
    assert all(one.startswith("not judged") for one in elsewhere["verdict"])


def test_no_records_are_an_error(films: dc.Interactions) -> None:
    with pytest.raises(DataError, match="no records"):
        study("synthetic", films.emptied(), quick=True)


def test_correlations_of_nothing_are_none() -> None:
    from discreet.studies.synthetic import _correlation

    assert _correlation(np.ones(3), np.arange(3.0)) == 0.0
