"""The kNN attack on item-based models."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import ItemSybilAttack, audit
from discreet.attacks.games.registry import attack
from discreet.data import Interactions
from discreet.neighbors import KNN, PPNS, PrivateItemKNN

SETTING = {"axis": "item", "candidates": "rated", "centering": None, "fallback": None, "k": 5, "similarity": "cosine"}


@pytest.fixture(scope="module")
def films() -> Interactions:
    return dc.synthetic.films(users=40, items=20, seed=7)


@pytest.fixture(scope="module")
def alone() -> Interactions:
    """Ann is the only one who rated a, which is known of her; nobody rated z."""
    rows = [("ann", "a", 4), ("ann", "b", 1), ("ann", "c", 3), ("ann", "d", 5)]
    rows += [(f"u{n}", item, 2 + n % 3) for n in range(6) for item in ("b", "c", "d")]
    return Interactions(rows, items=["a", "b", "c", "d", "z"], scale="1:5")


@pytest.mark.parametrize("others_known", [True, False])
def test_every_rating_is_read_where_the_target_decides_the_similarity(alone: Interactions, others_known: bool) -> None:
    """No other person rated the anchor and an item asked about: what the attacker knows of others is not needed."""
    attack = ItemSybilAttack(others_known=others_known)
    row = attack.run(lambda: KNN(**SETTING), alone, targets=["ann"]).rows[0]
    assert (row.hidden, row.exact_present, row.exact_absent) == (3, 1.0, 0.0)
    assert (row.unanswered_present, row.unanswered_absent) == (0.0, 1.0)
    assert row.mae_present == pytest.approx(0)


def test_the_formula_by_hand(alone: Interactions) -> None:
    """Weights cos((1, 4), (5, r)) for the anchor, rated 1, and 1 for the steady item, rated 5."""
    attack = ItemSybilAttack()
    target = attack.draw_targets(alone, ["ann"], 0)[0]
    expected = attack.expected(lambda: KNN(**SETTING), target, alone)
    cosines = [1.0, *((5 + 4 * r) / (np.sqrt(17) * np.sqrt(25 + r * r)) for r in range(1, 6))]
    assert expected[:, 0] == pytest.approx([(5 + cosine) / (1 + cosine) for cosine in cosines])


def test_plain_and_partitioned_neighbors_are_read(films: Interactions, fixed_bits) -> None:
    models = {"knn": lambda: KNN(**SETTING), "ppns": lambda: PPNS(1, beta=4, **SETTING)}
    report = ItemSybilAttack().run(models, films, targets=3, seed=1)
    for row in report.rows:
        assert row.exact_present > 0.9
        assert row.exact_absent < 0.1


def test_the_proved_model_stays_within_its_claim(films: Interactions, fixed_bits) -> None:
    row = ItemSybilAttack().run(lambda: PrivateItemKNN(epsilon=1), films, targets=2, seed=1).rows[0]
    assert row.epsilon_lower == 0
    assert row.exact_present < 0.6


def test_an_audit_refutes_a_claim_for_plain_neighbors(films: Interactions) -> None:
    report = audit(KNN(**SETTING), films, attacks="item-sybil", runs=30, processes=1, claim="1/2")
    assert report["item-sybil"].hits > 0.8 * report["item-sybil"].runs_present
    assert report["item-sybil"].false_alarms <= 1
    assert report.refuted


def test_where_it_does_not_apply(films: Interactions) -> None:
    bought = Interactions(films.to_frame().select("user_id", "item_id"), items=films.items)
    game = attack("item-sybil")
    assert game.obstacle(None, bought) == "there are no ratings on a public scale with steps"  # type: ignore[arg-type]
    row = ItemSybilAttack().run(lambda: KNN(k=5), bought, targets=2).rows[0]
    assert row.obstacle == "there are no ratings on a public scale with steps"
