"""ShrunkPNCF: the lists it draws, what it pays for them, and that nothing is drawn afterwards."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import BudgetError, PrivacyError, ReleaseError, UsageError
from discreet.models.recommender import Recommender
from discreet.neighbors.shrunk_lists import BITS, ListRule, whole_ratings
from discreet.neighbors.shrunk_pncf import ShrunkPNCF
from discreet.privacy import draws, entropy, selection
from discreet.privacy.ledger import Ledger

ITEMS = 24
SHRINKAGE = 5


@pytest.fixture(scope="module")
def tastes() -> dc.Interactions:
    """Even users like even items, odd users odd ones; item 23 is in the catalog and nobody has touched it."""
    rng = np.random.default_rng(0)
    rows = []
    for user in range(120):
        liked = rng.choice(np.arange(user % 2, ITEMS - 1, 2), size=6, replace=False)
        rows += [(user, int(item), int(rng.integers(3, 6))) for item in liked]
        rows.append((user, int(rng.choice(np.arange(1 - user % 2, ITEMS - 1, 2))), 1))
    return dc.Interactions(rows, items=range(ITEMS), scale="1:5")


@pytest.fixture(scope="module")
def loud(tastes: dc.Interactions) -> ShrunkPNCF:
    """So large an ε that there is no noise, so large a cap that nothing is cut."""
    return ShrunkPNCF(epsilon=10**9, k=5, cap=50, shrinkage=SHRINKAGE, truncation=1).fit(tastes)


def plain_similarities(data: dc.Interactions) -> np.ndarray:
    """The formula, from dense arrays."""
    ratings = data.csr.toarray().astype(float)
    there = (ratings > 0).astype(float)
    squares = (ratings**2).T @ there  # of the row's item over those who rated the column's item
    prior = SHRINKAGE * 25.0
    similarity = ratings.T @ ratings / np.sqrt((squares + prior) * (squares.T + prior))
    np.fill_diagonal(similarity, -1)
    return similarity


def test_without_noise_the_lists_are_the_nearest_items(loud: ShrunkPNCF, tastes: dc.Interactions) -> None:
    similarity = plain_similarities(tastes)
    for item in range(ITEMS):
        found = loud.release_.array("weights")[item] / 2**BITS
        np.testing.assert_allclose(np.sort(found)[::-1], np.sort(similarity[item])[::-1][:5], atol=2**-19)
        neighbors = loud.release_.array("neighbors")[item]
        np.testing.assert_allclose(found, similarity[item, neighbors], atol=2**-19)
        assert len(set(neighbors.tolist()) - {item}) == 5


def test_without_noise_predictions_are_the_formula(loud: ShrunkPNCF, tastes: dc.Interactions) -> None:
    counts = tastes.records_per_user[tastes.user]
    assert tastes.rating is not None
    weight = np.bincount(tastes.item, 1 / counts, ITEMS)
    means = np.bincount(tastes.item, tastes.rating / counts, ITEMS) / np.maximum(weight, 1e-9)
    np.testing.assert_allclose(loud.means_.means[:-1], means[:-1], atol=0.01)
    history = {0: 5.0, 2: 4.0, 7: 1.0}
    own = {item: rating - loud.means_.means[item] for item, rating in history.items()}
    level = sum(own.values()) / 5
    near = {j: s for j, s in zip(loud.weights_[[4]].indices, loud.weights_[[4]].data, strict=True) if j in own}
    pull = sum(s * (own[j] - level) for j, s in near.items()) / sum(near.values()) if near else 0.0
    expected = np.clip(loud.means_.means[4] + level + pull, 1, 5)
    assert loud.predict([4], history=history)["score"].item() == pytest.approx(expected, abs=1e-6)


def test_it_finds_the_two_tastes(loud: ShrunkPNCF) -> None:
    assert loud.ranking_ == "neighbors"
    best = loud.recommend([4, 7], n=3)
    assert (best.filter(best["user_id"] == 4)["item_id"] % 2 == 0).all()
    assert (best.filter(best["user_id"] == 7)["item_id"] % 2 == 1).all()
    assert (loud.similar_items([6], n=4)["similar_id"] % 2 == 0).all()
    assert loud.recommend([4], n=1000).height == ITEMS - 7


def test_truncation_raises_the_far_ones() -> None:
    rule = ListRule.of(k=2, cap=5, shrinkage=1, truncation="1/4", bits=4)
    assert rule.scores(np.array([0, 15, 9, 12])).values.tolist() == [8, 15, 9, 12]
    assert rule.weights(np.array([15, 12])).values.tolist() == [15, 12]


def test_the_samplers_get_the_stated_rates_and_scales(tastes: dc.Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[Fraction] = []
    scales: list[tuple[Any, Fraction]] = []
    order, laplace = selection.noisy_order, draws.SAMPLERS["laplace"]

    def choose(scores, rate, *, noise, most, spend):
        assert (noise, most, scores.size) == ("gumbel", 4, ITEMS - 1)
        rates.append(rate)
        return order(scores, rate, noise=noise, most=most, spend=spend)

    monkeypatch.setattr(selection, "noisy_order", choose)
    monkeypatch.setitem(
        draws.SAMPLERS, "laplace", lambda shape, scale: (scales.append((shape, scale)), laplace(shape, scale))[1]
    )
    ShrunkPNCF(epsilon=1, k=4, cap=3, shrinkage=9, first_share="1/5", selection_share="1/4").fit(tastes)
    step = 2**20 // 10 + 1  # ⌈2^20/(1 + 9)⌉
    of_list = Fraction(4, 5) / 3
    assert set(rates) == {of_list / 4 / (2 * 4 * step)}
    assert len(rates) == ITEMS
    first, *rest = scales
    assert first == ((2 * ITEMS + 2,), 5 * Fraction(2**20))
    # Two of four neighbors at most are among the other items of a user with three.
    assert set(rest) == {((4,), 2 * step / (of_list * Fraction(3, 4)))}
    assert len(rest) == ITEMS


def test_it_charges_before_it_draws_and_what_it_promises(
    tastes: dc.Interactions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(tastes, epsilon=1, unit="user")
    events: list[str] = []
    charge, order, laplace = Ledger.charge, selection.noisy_order, draws.SAMPLERS["laplace"]
    monkeypatch.setattr(Ledger, "charge", lambda self, *a, **k: (charge(self, *a, **k), events.append("charge"))[0])
    monkeypatch.setattr(selection, "noisy_order", lambda *a, **k: (events.append("draw"), order(*a, **k))[1])
    monkeypatch.setitem(draws.SAMPLERS, "laplace", lambda *a: (events.append("draw"), laplace(*a))[1])
    model = ShrunkPNCF(epsilon=1, k=3, cap=5).fit(tastes, ledger=ledger)
    assert events == ["charge"] + ["draw"] * (2 * ITEMS + 1)
    assert ledger.statement(tastes).spent.epsilon == 1
    assert model.guarantee is not None
    assert model.guarantee.joint
    events.clear()
    with pytest.raises(BudgetError):
        ShrunkPNCF(epsilon=1, k=3, cap=5).fit(tastes, ledger=ledger)
    assert events == []


def test_lists_are_drawn_once(loud: ShrunkPNCF, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(n: int) -> np.ndarray:
        raise AssertionError("noise was drawn for a question")

    monkeypatch.setattr(entropy, "random_bytes", nothing)
    assert loud.recommend([4], n=5).equals(loud.recommend([4], n=5))
    assert loud.predict([(4, 1), (5, 2)]).height == 2
    assert loud.similar_items([3]).height > 0


def test_little_budget_is_ranked_by_popularity_and_it_says_so(tastes: dc.Interactions) -> None:
    poor, rich = ShrunkPNCF(epsilon=1).fit(tastes), ShrunkPNCF(epsilon=1, delta="1e-6").fit(tastes)
    assert poor.ranking_ == "popularity"
    assert rich.noise_ < poor.noise_ / 5
    assert poor.recommend([4], n=3).height == 3
    assert rich.guarantee is not None
    assert rich.guarantee.loss.epsilon_at(Fraction(1, 10**6)) <= 1


def test_saved_it_is_a_release_without_anybodys_records(loud: ShrunkPNCF, tmp_path: Path) -> None:
    folder = loud.save(tmp_path / "model")
    again = ShrunkPNCF.load(folder)
    assert isinstance(again, Recommender)
    assert again.guarantee == loud.guarantee
    assert again.recommend(history={0: 5.0, 2: 4.0}).equals(loud.recommend(history={0: 5.0, 2: 4.0}))
    with pytest.raises(UsageError, match="nobody's records"):
        again.recommend([4])
    wrong = dc.PrivateItemKNN(1).fit(dc.synthetic.films(users=60, items=20, seed=1)).save(tmp_path / "other")
    with pytest.raises(ReleaseError):
        ShrunkPNCF.load(wrong)


def test_ratings_become_whole_numbers() -> None:
    halves = whole_ratings(dc.Interactions([("u", "a", 0.5), ("u", "b", 5)], scale="0.5:5:0.5"))
    assert halves.rating is not None
    assert halves.rating.tolist() == [1, 10]
    fine = whole_ratings(dc.Interactions([("u", "a", 0.0), ("u", "b", 9.99)], scale="0:10:none"))
    assert fine.rating is not None
    assert fine.rating.tolist() == [0, 999]
    plays = dc.Interactions([("u", "a"), ("u", "b")])
    assert whole_ratings(plays) is plays
    with pytest.raises(UsageError, match="from 0 on"):
        whole_ratings(dc.Interactions([("u", "a", -3)], scale="-10:10"))
    with pytest.raises(UsageError, match="scale"):
        whole_ratings(dc.Interactions([("u", "a", 3)]))


def test_plays_without_ratings() -> None:
    rows = [(u, i) for u in range(60) for i in range(u % 2, 12, 2)]
    model = ShrunkPNCF(epsilon=10**8, k=3, shrinkage=1).fit(dc.Interactions(rows, items=range(12)))
    assert (model.recommend(history=[0, 2], n=2)["item_id"] % 2 == 0).all()
    assert model.predict([3], history=[0])["score"].null_count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"cap": 1},
        {"shrinkage": 0},
        {"truncation": -1},
        {"first_share": 1},
        {"selection_share": 0},
        {"epsilon": 0},
    ],
)
def test_wrong_settings(tastes: dc.Interactions, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ShrunkPNCF(**{"epsilon": 1, **wrong}).fit(tastes)


def test_wrong_data() -> None:
    with pytest.raises(PrivacyError, match="catalog"):
        ShrunkPNCF(1).fit(dc.Interactions([("u", "a", 3)], scale="1:5"))
    with pytest.raises(UsageError, match="single item"):
        ShrunkPNCF(1).fit(dc.Interactions([("u", "a", 3)], items=["a"], scale="1:5"))
