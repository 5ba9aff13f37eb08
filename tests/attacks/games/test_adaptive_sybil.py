"""Sybils whose profiles follow from what earlier answers showed."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import AdaptiveSybilAttack, SybilAttack, audit
from discreet.attacks.engine.claims import claim_about
from discreet.data import Interactions
from discreet.neighbors import KNN, PrivateItemKNN
from discreet.neighbors.similarity import Similarity
from discreet.privacy.units import Unit

SETTING = {"axis": "user", "candidates": "all", "centering": None, "fallback": None, "k": 3}
ALIKE = Similarity("cosine_full")


class Watched(KNN):
    """Keeps the records that it was fitted to."""

    seen: list[Interactions]

    def fit(self, data, **how):  # type: ignore[override]
        self.seen.append(data)
        return super().fit(data, **how)


@pytest.fixture(scope="module")
def films() -> Interactions:
    return dc.synthetic.films(users=40, items=20, seed=7)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[Watched]:
    monkeypatch.setattr(Watched, "seen", [], raising=False)
    return Watched


def test_what_was_told_is_adopted_and_true(films: Interactions, watched: type[Watched]) -> None:
    """With eight known ratings the neighbors of the observer are the target and sybils: all that it is told is true."""
    attack = AdaptiveSybilAttack(k=3, known=8, rounds=3, adopted=2, choose="rarest")
    target = films.users.decode([int(np.argmax(films.records_per_user))])[0]
    row = attack.run(lambda: watched(similarity=ALIKE, **SETTING), films, targets=[target]).rows[0]
    present = watched.seen[:3]
    sizes = [int((data.csr.toarray()[films.n_users] > 0).sum()) for data in present]
    assert sizes == [8, 10, 12]
    own = films.csr.toarray()[films.users.code(target)]
    for data in present:
        observer = data.csr.toarray()[films.n_users]
        assert (observer[observer > 0] == own[observer > 0]).all()
    assert row.exact_present == 1
    assert row.exact_absent < 1


def test_one_round_with_one_voice_is_the_sybil_attack(films: Interactions) -> None:
    factory = lambda: KNN(similarity=ALIKE, **SETTING)  # noqa: E731
    plain = SybilAttack(k=1, known=6).run(factory, films, targets=5, seed=2).rows[0]
    once = AdaptiveSybilAttack(k=1, known=6, rounds=1).run(factory, films, targets=5, seed=2).rows[0]
    assert (once.exact_present, once.exact_absent) == (plain.exact_present, plain.exact_absent)
    assert (once.hits_present, once.hits_absent) == (plain.hits_present, plain.hits_absent)


def test_lists_are_adopted_too(films: Interactions) -> None:
    factory = lambda: KNN(similarity=ALIKE, **SETTING)  # noqa: E731
    row = AdaptiveSybilAttack(k=3, known=6, rounds=2, sees="list").run(factory, films, targets=3, seed=1).rows[0]
    assert row.sees == "list"
    assert row.exact_present > row.exact_absent


def test_the_claim_is_added_up_over_the_rounds(films: Interactions, fixed_bits) -> None:
    model = PrivateItemKNN(epsilon=1, delta=0)
    guarantee = model.fit(films).guarantee
    claim = claim_about(guarantee, Unit(), records=9, fits=3)
    assert claim is not None
    assert claim.epsilon == 3
    report = audit(PrivateItemKNN(epsilon=1, delta=0), films, attacks=[AdaptiveSybilAttack()], runs=2, processes=1)
    score = report["adaptive-sybil"]
    assert score.claim == claim
    assert score.verdict != "refuted"
    row = AdaptiveSybilAttack(k=2).run(lambda: PrivateItemKNN(epsilon=1, delta=0), films, targets=1).rows[0]
    assert row.promise == "ε = 3"
    assert row.epsilon_lower == 0


def test_an_audit_refutes_a_claim_for_plain_neighbors(films: Interactions) -> None:
    model = KNN(similarity=ALIKE, **SETTING)
    game = AdaptiveSybilAttack(known=6, choose="rarest")
    report = audit(model, films, attacks=[game], runs=40, processes=1, claim="1/20")
    assert report["adaptive-sybil"].claim is not None
    assert report["adaptive-sybil"].claim.epsilon == pytest.approx(0.15)
    assert report.refuted
