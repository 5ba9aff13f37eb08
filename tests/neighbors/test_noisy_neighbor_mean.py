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
from discreet.neighbors.drawn_neighbors import ListedRaters
from discreet.neighbors.noisy_neighbor_mean import NoisyNeighborMean
from discreet.neighbors.pair_likeness import KINDS, Likeness, Raters
from discreet.neighbors.rating_means import rating_sums
from discreet.neighbors.similarity import Similarity, similarity_rows
from discreet.privacy import mechanisms, subset_selection
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
    assert isinstance(model._raters, Raters)
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


# Private for every single rating: neighbors drawn as a set


def rating_level(**settings: Any) -> NoisyNeighborMean:
    return NoisyNeighborMean(**{"unit": "rating", "users": "observed", "k": 5, "center": 3, **settings})


@pytest.fixture
def sets(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Fraction]]:
    """Numbers of candidates and rates of all sets that are drawn."""
    seen: list[tuple[int, Fraction]] = []
    draw = subset_selection.draw_subset
    monkeypatch.setattr(
        subset_selection, "draw_subset", lambda s, rate, k: (seen.append((s.size, rate)), draw(s, rate, k))[1]
    )
    return seen


def test_without_noise_a_list_is_the_mean_of_the_nearest(films: dc.Interactions) -> None:
    model = rating_level(epsilon=10**12, queries=3, bound="3/2", center="7/2", shrinkage=3).fit(films)
    similarity = similarity_rows(
        films, axis="user", similarity=Similarity("cosine_shrunk", shrinkage=3), rows=range(films.n_users)
    )
    ratings, compared = films.csr.toarray(), 0
    for user in range(films.n_users):
        order = sorted((-s, other) for other, s in enumerate(similarity[user]) if other != user)
        # Who is drawn among equals is open; where the fifth and the sixth differ, nothing is.
        if order[5][0] - order[4][0] < 1e-5 or compared == 3:
            continue
        compared += 1
        items = [item for item in range(ITEMS) if not ratings[user, item]]
        sums = [
            sum(np.clip(ratings[o, item] - 3.5, -1.5, 1.5) for _, o in order[:5] if ratings[o, item]) for item in items
        ]
        predicted = model.predict([(user, item) for item in items])["score"].to_list()
        assert predicted == pytest.approx(np.clip(3.5 + np.array(sums) / 5, 1, 5), abs=1e-5)
    assert compared == 3


def test_a_list_has_one_price_and_is_drawn_once(
    films: dc.Interactions, draws: list[tuple[Any, Fraction]], sets: list[tuple[int, Fraction]]
) -> None:
    model = rating_level(epsilon=1, queries=4, bound="3/2", shrinkage=1).fit(films)
    assert (draws, sets) == ([], [])
    unrated = [item for item in range(ITEMS) if item not in films.item[films.user == 1]]
    first = model.predict([(1, unrated[0])])
    # One rating moves a sum by B and a similarity by 1/(1+λ) = 1/2 and a step of rounding; a list has ε/4 for each.
    assert draws == [((ITEMS,), Fraction(3, 2) * 2**20 * 4)]
    assert sets == [(79, Fraction(1, 4) / (2**19 + 1))]
    assert model.queries_left == 3
    whole = model.predict([(1, item) for item in unrated])
    assert whole["score"][0] == first["score"].item()
    assert model.recommend([1], n=3)["score"].to_list() == sorted(whole["score"], reverse=True)[:3]
    assert (len(draws), len(sets), model.queries_left) == (1, 1, 3)
    model.recommend(history={0: 5, 1: 1}, n=3)
    assert model.predict([2], history={1: 1, 0: 5}).height == 1
    assert sets[1:] == [(80, sets[0][1])]
    assert (len(draws), model.queries_left) == (2, 2)
    assert model.noise_ == pytest.approx(2**0.5 * 1.5 * 4 / 5, rel=1e-6)


def test_what_one_has_rated_is_not_predicted(films: dc.Interactions) -> None:
    model = rating_level(epsilon=1, queries=2).fit(films)
    rated = films.item[films.user == 3].tolist()
    scores = model.predict([(3, item) for item in range(ITEMS)])["score"]
    assert [item for item in range(ITEMS) if scores[item] is None] == rated
    every = model.recommend([3], n=ITEMS, exclude_seen=False)
    assert set(every["item_id"]) == set(range(ITEMS)) - set(rated)
    assert model.predict([0, 2], history={0: 5})["score"].null_count() == 1


def test_lists_are_charged_before_anything_is_drawn(
    films: dc.Interactions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(films, epsilon=1, unit="record")
    events: list[str] = []
    charge, laplace, subset = Ledger.charge, mechanisms.discrete_laplace, subset_selection.draw_subset
    monkeypatch.setattr(Ledger, "charge", lambda self, *a, **k: (charge(self, *a, **k), events.append("charge"))[0])
    monkeypatch.setattr(mechanisms, "discrete_laplace", lambda *a: (events.append("noise"), laplace(*a))[1])
    monkeypatch.setattr(subset_selection, "draw_subset", lambda *a: (events.append("set"), subset(*a))[1])
    model = rating_level(epsilon=1, queries=4, center=None).fit(films, ledger=ledger)
    assert ledger.statement(films).spent.epsilon == Fraction(1, 5)
    model.recommend([1, 2], n=3)
    assert ledger.statement(films).spent.epsilon == Fraction(3, 5)
    assert events == ["charge", "noise", "charge", "set", "noise", "set", "noise"]
    with pytest.raises(BudgetError, match="2 left"):
        model.recommend([3, 4, 5], n=1)
    assert model.queries_left == 2
    assert model.guarantee is not None
    assert model.guarantee.unit.code == "record/add-remove"
    assert model.guarantee.joint
    assert "the public list of users" in model.guarantee.not_covered
    assert model.guarantee.loss.epsilon_at(Fraction(0)) == 1


def test_a_list_of_users_decides_who_can_be_a_neighbor(
    films: dc.Interactions, sets: list[tuple[int, Fraction]]
) -> None:
    listed = [*range(5, 40), 1000]
    model = rating_level(users=listed, epsilon=10**12, k=36 - 1, queries=2).fit(films)
    # Everybody else on the list is drawn; who has no records adds nothing, who is not listed is not there.
    ratings = films.csr.toarray()[6:40]
    item = int(np.flatnonzero(films.csr.toarray()[5] == 0)[0])
    expected = 3 + sum(np.clip(r - 3, -2, 2) for r in ratings[:, item] if r) / 35
    assert model.predict([(5, item)])["score"].item() == pytest.approx(np.clip(expected, 1, 5), abs=1e-5)
    assert sets[0][0] == 35
    assert model.predict([(1000, 0)]).height == 1
    with pytest.raises(DataError, match="unknown user"):
        model.predict([(50, 0)])
    assert model.config()["users"] == "listed"
    # One rating fewer makes somebody disappear from the records, not from the list.
    alone = dc.Interactions([(1, 2, 5), (2, 2, 3), (2, 3, 3)], items=range(ITEMS), scale="1:5")
    fewer = dc.Interactions([(2, 2, 3), (2, 3, 3)], items=range(ITEMS), scale="1:5")
    sizes = []
    for data in (alone, fewer):
        fitted = rating_level(users=[1, 2, 3], k=1).fit(data)
        assert isinstance(fitted._raters, ListedRaters)
        sizes.append(fitted._raters.scores(fitted._users([2])[0])[1].values.size)
    assert sizes == [2, 2]


def test_saved_lists_are_kept(films: dc.Interactions, tmp_path: Path) -> None:
    listed = [*range(80), 1000]
    model = rating_level(users=listed, epsilon=1, queries=3, center=None).fit(films)
    whole = model.predict([(1, item) for item in range(ITEMS)])
    again = NoisyNeighborMean.load(model.save(tmp_path / "model"))
    assert again.queries_left == 2
    assert again.predict([(1, item) for item in range(ITEMS)]).equals(whole)
    np.testing.assert_array_equal(again.centers_, model.centers_)
    with pytest.raises(UsageError, match="nobody's records"):
        again.predict([(2, 0)])
    again.attach(films)
    assert again.predict([(1, item) for item in range(ITEMS)]).equals(whole)
    again.predict([(1000, 0)])
    assert again.queries_left == 1
    observed = NoisyNeighborMean.load(rating_level().fit(films).save(tmp_path / "other")).attach(films.emptied())
    assert observed._raters is not None
    assert len(observed._raters.users) == 80


def test_item_means_of_ratings(films: dc.Interactions) -> None:
    model = rating_level(epsilon=10**9, center=None).fit(films)
    assert films.rating is not None
    exact = np.bincount(films.item, weights=films.rating, minlength=ITEMS) / films.records_per_item
    np.testing.assert_allclose(model.centers_, exact, atol=0.01)
    assert model.means_ is not None
    np.testing.assert_allclose(model.means_.popularity, films.records_per_item, atol=0.01)
    assert model.means_.level == pytest.approx(float(np.mean(films.rating)), abs=0.01)
    with pytest.raises(UsageError, match="one record"):
        rating_sums(dc.Interactions([(1, 1, 3)], items=[1], scale="1:5", duplicates="keep"))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"users": "everybody"}, "list of users"),
        ({"users": ["a", "b"]}, "type"),
        ({"similarity": "pearson"}, "how far"),
        ({"minimum_overlap": 2}, "overlap"),
        ({"k": 80}, "neighbors"),
        ({"shrinkage": 0}, "shrinkage"),
        ({"unit": "item"}, "unit"),
        ({"epsilon": "1e-20"}, "scales"),
    ],
)
def test_wrong_settings_for_ratings_cost_nothing(
    films: dc.Interactions, wrong: dict[str, Any], says: str, tmp_path: Path
) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(films, epsilon=1, unit="record")
    with pytest.raises(UsageError, match=says):
        rating_level(center=None, **wrong).fit(films, ledger=ledger)
    assert ledger.statement(films).spent.epsilon == 0


def test_wrong_data_for_ratings(films: dc.Interactions) -> None:
    with pytest.raises(PrivacyError, match="public list of users"):
        rating_level(users=None).fit(films)
    rows = [(user, user % 2, 3) for user in range(9)]
    with pytest.raises(UsageError, match="several records"):
        rating_level().fit(dc.Interactions(rows, items=[0, 1], scale="1:5", duplicates="keep"))
    with pytest.raises(UsageError, match="from 0 on"):
        rating_level().fit(dc.Interactions(rows, items=[0, 1], scale="-5:5"))


def test_what_was_fitted_in_a_sandbox_cannot_be_saved(tmp_path: Path) -> None:
    from discreet.errors import ReleaseError
    from discreet.privacy.charging import sandbox
    from discreet.testing.models import two_tastes

    with sandbox():
        model = NoisyNeighborMean(epsilon=1, k=3).fit(two_tastes())
    with pytest.raises(ReleaseError):
        model.save(tmp_path / "model")
