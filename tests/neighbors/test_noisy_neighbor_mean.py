"""NoisyNeighborMean: the answers, what they cost, and that a repeated question costs nothing."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import BudgetError, DataError, PrivacyError, ReleaseError, UsageError
from discreet.neighbors.noisy_neighbor_mean import NoisyNeighborMean
from discreet.neighbors.pair_likeness import KINDS, Likeness, Raters
from discreet.neighbors.similarity import Similarity, similarity_rows
from discreet.privacy import mechanisms
from discreet.privacy.ledger import Ledger

ITEMS = 15


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    rng = np.random.default_rng(3)
    rows = [
        (user, int(item), int(np.clip(3 + (2 if (user + item) % 2 else -1) + rng.integers(-1, 2), 1, 5)))
        for user in range(80)
        for item in rng.choice(ITEMS, size=int(rng.integers(2, 9)), replace=False)
    ]
    return dc.Interactions(rows, items=range(ITEMS), scale="1:5")


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Fraction]]:
    """Shapes and scales of all Laplace noise."""
    seen: list[tuple[Any, Fraction]] = []
    laplace = mechanisms.discrete_laplace
    monkeypatch.setattr(
        mechanisms, "discrete_laplace", lambda shape, scale: (seen.append((shape, scale)), laplace(shape, scale))[1]
    )
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_likeness_is_that_of_the_compiled_loops(films: dc.Interactions, kind: Any) -> None:
    assert films.scale is not None
    raters = Raters.of(films, Likeness.of(kind, 2, 3, films.scale))
    expected = similarity_rows(
        films, axis="user", similarity=Similarity(kind, minimum_overlap=2, shrinkage=3), rows=range(films.n_users)
    )
    for user in range(films.n_users):
        np.testing.assert_allclose(raters.similarities(*raters.row(user)), expected[user], atol=1e-12)


@pytest.mark.parametrize("kind", ["pearson", "cosine_shrunk"])
def test_without_noise_it_is_the_mean_of_the_neighbors(films: dc.Interactions, kind: Any) -> None:
    model = NoisyNeighborMean(epsilon=10**10, queries=200, k=7, bound="3/2", similarity=kind, center="7/2").fit(films)
    similarity = similarity_rows(
        films, axis="user", similarity=Similarity(kind, shrinkage=10), rows=range(films.n_users)
    )
    ratings = films.csr.toarray()
    for user, item in [(0, 3), (5, 14), (63, 0)]:
        ranked = sorted((-s, other) for other, s in enumerate(similarity[user]) if other != user and s > 1e-12)
        parts = [np.clip(ratings[o, item] - 3.5, -1.5, 1.5) for _, o in ranked[:7] if ratings[o, item]]
        expected = np.clip(3.5 + sum(parts) / 7, 1, 5)
        assert model.predict([(user, item)])["score"].item() == pytest.approx(expected, abs=1e-5)


def test_ones_own_rating_is_no_answer(films: dc.Interactions) -> None:
    """The recipient is not among the neighbors: with another rating of the item the sum for it stays."""
    model = NoisyNeighborMean(epsilon=1, queries=1, k=3, similarity="cosine_full", center=3).fit(films)
    assert model._raters is not None
    recipient = model._users([9])[0]
    assert recipient.items is not None
    assert recipient.ratings is not None
    neighbors = model._raters.nearest(recipient.items, recipient.ratings, 3, apart_from=recipient.code)
    assert recipient.code not in neighbors
    assert recipient.code in model._raters.nearest(recipient.items, recipient.ratings, 3)


def test_noise_has_the_stated_scale_and_a_repeated_question_draws_none(
    films: dc.Interactions, draws: list[tuple[Any, Fraction]]
) -> None:
    model = NoisyNeighborMean(epsilon=1, queries=10, k=20, bound="3/2", first_share="1/5").fit(films)
    assert draws == [((2 * ITEMS + 2,), 5 * Fraction(2**20))]
    draws.clear()
    first = model.predict([(1, 2), (1, 3), (1, 2)])
    scale = 2 * Fraction(3, 2) * 2**20 / (Fraction(4, 5) / 10)
    assert draws == [((2,), scale)]
    assert model.queries_left == 8
    assert model.predict([(1, 2), (1, 3), (1, 2)]).equals(first)
    assert model.predict([(1, 3)])["score"].item() == first["score"][1]
    assert len(draws) == 1
    model.predict([2, 3], history={0: 5, 1: 1})
    assert model.predict([2], history={1: 1, 0: 5}).height == 1
    assert (len(draws), model.queries_left) == (2, 6)
    assert model.noise_ == pytest.approx(2**0.5 * float(scale) / 2**20 / 20, rel=1e-6)


def test_every_question_is_charged_before_its_noise(
    films: dc.Interactions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(films, epsilon=1, unit="user")
    events: list[str] = []
    charge, laplace = Ledger.charge, mechanisms.discrete_laplace
    monkeypatch.setattr(Ledger, "charge", lambda self, *a, **k: (charge(self, *a, **k), events.append("charge"))[0])
    monkeypatch.setattr(mechanisms, "discrete_laplace", lambda *a: (events.append("draw"), laplace(*a))[1])
    model = NoisyNeighborMean(epsilon=1, queries=4, first_share="1/5").fit(films, ledger=ledger)
    assert ledger.statement(films).spent.epsilon == Fraction(1, 5)
    model.predict([(1, 2)])
    assert ledger.statement(films).spent.epsilon == Fraction(2, 5)
    model.predict([(1, 2), (1, 3), (2, 2)])
    assert ledger.statement(films).spent.epsilon == Fraction(4, 5)
    assert events == ["charge", "draw"] * 3
    assert model.guarantee is not None
    assert model.guarantee.joint
    assert model.guarantee.loss.epsilon_at(Fraction(0)) == 1
    # Another release takes what is left: the last question is refused, and nothing is drawn.
    other = NoisyNeighborMean(epsilon="1/5", queries=1, first_share="99/100").fit(films, ledger=ledger)
    events.clear()
    with pytest.raises(BudgetError):
        model.predict([(3, 3)])
    assert events == []
    assert model.queries_left == 1
    assert other.queries_left == 1


def test_questions_run_out_all_or_none(films: dc.Interactions, draws: list[tuple[Any, Fraction]]) -> None:
    model = NoisyNeighborMean(epsilon=1, queries=3).fit(films)
    model.predict([(1, 2)])
    draws.clear()
    with pytest.raises(BudgetError, match="2 left"):
        model.predict([(1, 2), (1, 3), (1, 4), (1, 5)])
    assert (draws, model.queries_left) == ([], 2)
    with pytest.raises(BudgetError):
        model.recommend([1], n=1)
    best = model.recommend([1], n=5, items=[3, 4], exclude_seen=False)
    assert best["rank"].to_list() == [1, 2]
    assert model.queries_left == 0
    assert model.predict([(1, 2)]).height == 1


def test_a_charge_that_was_not_drawn_counts(films: dc.Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    model = NoisyNeighborMean(epsilon=1, queries=2, center=3).fit(films)

    def broken(*_: Any) -> Any:
        raise OSError("no entropy")

    with monkeypatch.context() as patch:
        patch.setattr(mechanisms, "discrete_laplace", broken)
        with pytest.raises(OSError, match="entropy"):
            model.predict([(1, 2)])
    assert model.queries_left == 1


def test_how_much_was_seen_does_not_change_the_price(films: dc.Interactions) -> None:
    """Recommending pays for seen items too: otherwise what is left would tell others how many there are."""
    items = list(range(6))
    for user in (1, 2, 3):
        model = NoisyNeighborMean(epsilon=1, queries=10, center=3).fit(films)
        best = model.recommend([user], n=10, items=items)
        seen = set(films.item[films.user == films.users.code(user)].tolist())
        assert set(best["item_id"]) == set(items) - seen
        assert model.queries_left == 4


def test_several_at_once_pay_once(films: dc.Interactions, draws: list[tuple[Any, Fraction]]) -> None:
    model = NoisyNeighborMean(epsilon=1, queries=5, center=3).fit(films)
    threads = [Thread(target=model.predict, args=([(1, 2)],)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.queries_left == 4
    assert len(draws) == 1


def test_recommending_for_several(films: dc.Interactions) -> None:
    model = NoisyNeighborMean(epsilon=10**8, queries=100, k=10).fit(films)
    batch = model.recommend([2, 1], n=2, items=[0, 1, 2, 3, 4, 5])
    assert batch.columns == ["user_id", "item_id", "score", "rank"]
    assert batch.filter(batch["user_id"] == 1).equals(model.recommend([1], n=2, items=[0, 1, 2, 3, 4, 5]))
    stranger = model.recommend(history={0: 5, 1: 1}, n=2, items=[2, 3, 4])
    assert stranger.columns == ["item_id", "score", "rank"]
    assert model.recommend([], n=2).height == 0


def test_saved_it_knows_its_answers_and_its_count(films: dc.Interactions, tmp_path: Path) -> None:
    model = NoisyNeighborMean(epsilon=1, queries=6).fit(films)
    answers = model.predict([(1, 2), (2, 3)])
    stranger = model.predict([4], history={0: 5})
    folder = model.save(tmp_path / "model")
    again = NoisyNeighborMean.load(folder)
    assert again.queries_left == 3
    assert again.guarantee == model.guarantee
    assert again.predict([(1, 2), (2, 3)]).equals(answers)
    assert again.predict([4], history={0: 5}).equals(stranger)
    for ask in (lambda: again.predict([(1, 9)]), lambda: again.recommend([1], items=[2])):
        with pytest.raises(UsageError, match="nobody's records"):
            ask()
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(films, epsilon=1, unit="user")
    again.attach(films, ledger=ledger)
    assert again.predict([(1, 2), (2, 3)]).equals(answers)
    again.predict([(1, 9)])
    assert (again.queries_left, ledger.statement(films).spent.epsilon) == (2, model.query_epsilon)
    other = dc.PrivateItemKNN().fit(dc.synthetic.films(users=60, items=20, seed=1)).save(tmp_path / "other")
    with pytest.raises(ReleaseError):
        NoisyNeighborMean.load(other)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"queries": 0},
        {"bound": 0},
        {"bound": "1e-9"},
        {"first_share": 0},
        {"epsilon": -1},
        {"similarity": "cosine_adjusted"},
        {"similarity": "cosine_shrunk", "shrinkage": 0},
        {"center": "middle"},
    ],
)
def test_wrong_settings(films: dc.Interactions, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        NoisyNeighborMean(**wrong).fit(films)


def test_wrong_use(films: dc.Interactions) -> None:
    with pytest.raises(PrivacyError, match="catalog"):
        NoisyNeighborMean().fit(dc.Interactions([("u", "a", 3)], scale="1:5"))
    with pytest.raises(UsageError, match="ratings"):
        NoisyNeighborMean().fit(dc.Interactions([("u", "a")], items=["a"]))
    model = NoisyNeighborMean().fit(films)
    with pytest.raises(UsageError, match="pairs"):
        model.predict([1])
    with pytest.raises(DataError, match="unknown user"):
        model.predict([("nobody", 1)])
    with pytest.raises(UsageError, match="compares users"):
        model.similar_items([1])
    with pytest.raises(UsageError, match="either"):
        model.recommend()
    with pytest.raises(UsageError, match="either"):
        model.recommend([1], history={1: 5})
    with pytest.raises(UsageError, match="at least 1"):
        model.recommend([1], n=0)
    assert model.queries_left == 20
