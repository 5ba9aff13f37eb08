"""What two releases, before and after new records, give away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import TwoReleasesAttack, audit
from discreet.attacks.games.two_releases import NewRecords
from discreet.data import Interactions
from discreet.neighbors import KNN, PrivateItemKNN
from discreet.pairs import SlopeOne
from discreet.privacy import Unit

SETTING = {"axis": "item", "centering": None, "fallback": None, "k": 5, "similarity": "cosine"}


@pytest.fixture(scope="module")
def films() -> Interactions:
    return dc.synthetic.films(users=60, items=30, seed=7)


@pytest.fixture(scope="module")
def quiet() -> Interactions:
    """Ann's x is new, nobody else has it, and nothing else happens between the releases."""
    rows = [*(("ann", item, 4) for item in ("a", "b", "c")), ("ann", "x", 5)]
    rows += [(f"u{n}", item, 2 + n % 3) for n in range(6) for item in ("a", "b", "c", "d")]
    return Interactions(rows, items=["a", "b", "c", "d", "x", "y"], scale="1:5")


@pytest.mark.parametrize("sees", ["ratings", "list"])
@pytest.mark.parametrize("model", [KNN(**SETTING), SlopeOne()], ids=["knn", "slope-one"])
def test_the_new_item_is_found_where_nothing_else_moves(quiet: Interactions, model, sees) -> None:
    game = TwoReleasesAttack(known=3, arriving=0.0, sees=sees)
    row = game.run(lambda: replace(model), quiet, targets=["ann"]).rows[0]
    assert (row.hidden, row.exact_present, row.exact_absent) == (1, 1.0, 0.0)


def test_the_datasets(films: Interactions) -> None:
    game = TwoReleasesAttack(known=4, new=2, arriving=0.1)
    (target,) = game.draw_targets(films, 1, 3)
    assert isinstance(target, NewRecords)
    before = target.before(films)
    present, absent = (target.dataset(films, present=here) for here in (True, False))
    assert len(present) == len(films) + 4  # the observer has what is known
    assert len(absent) == len(present) - 2
    assert len(before) == len(absent) - target.arriving.size
    assert target.arriving.size > 0
    assert (films.user[target.new] == target.target).all()
    assert not np.isin(target.sybils[1], target.hidden).any()
    counts = films.records_per_item[films.item[films.user == target.target]]
    assert sorted(films.records_per_item[target.hidden]) == sorted(counts)[:2]
    assert before.items == present.items == films.items


def test_plain_models_give_new_records_away(films: Interactions) -> None:
    models = {"knn": lambda: KNN(**SETTING), "slope-one": SlopeOne}
    report = TwoReleasesAttack().run(models, films, targets=12, seed=1)
    for row in report.rows:
        assert row.exact_present >= row.exact_absent + 0.3


def test_the_proved_model_stays_within_its_claim(films: Interactions, fixed_bits) -> None:
    games = "two-releases-predictions,two-releases-recommendations"
    report = audit(PrivateItemKNN(epsilon=1), films, attacks=games, runs=3, processes=1)
    assert [score.game for score in report.scores] == games.split(",")
    assert {score.unit for score in report.scores} == {Unit("record")}
    assert not report.refuted


def test_an_audit_refutes_a_claim_for_plain_neighbors(films: Interactions) -> None:
    report = audit(
        KNN(**SETTING), films, attacks="two-releases-predictions", runs=40, processes=1, claim="1/4", unit="record"
    )
    assert report.refuted
