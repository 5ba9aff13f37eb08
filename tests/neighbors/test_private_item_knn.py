"""PrivateItemKNN: what it learns, what it costs, and that it needs nobody's records afterwards."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import BudgetError, DataError, PrivacyError, ReleaseError, UnknownItemsWarning, UsageError
from discreet.models.recommender import load_model
from discreet.neighbors import PrivateItemKNN
from discreet.privacy.losses import Pure
from discreet.privacy.units import Unit

Weight = Callable[[np.ndarray], np.ndarray]


@pytest.fixture(scope="module")
def checkers() -> dc.Interactions:
    """Two tastes: even users like even items, odd users odd ones; what is liked gets a 5, one other item a 1."""
    rng = np.random.default_rng(0)
    rows = []
    for user in range(600):
        liked = rng.choice(np.arange(user % 2, 40, 2), size=8, replace=False)
        rows += [(user, int(item), 5) for item in liked]
        rows.append((user, int(rng.choice(np.arange(1 - user % 2, 40, 2))), 1))
    return dc.Interactions(rows, items=range(40), scale="1:5")


@pytest.fixture(scope="module")
def model(checkers: dc.Interactions) -> PrivateItemKNN:
    return PrivateItemKNN(epsilon=500, delta="1e-6", k=15).fit(checkers)


def test_it_finds_the_two_tastes(model: PrivateItemKNN) -> None:
    best = model.recommend([4, 7], n=5)
    assert (best.filter(best["user_id"] == 4)["item_id"] % 2 == 0).all()
    assert (best.filter(best["user_id"] == 7)["item_id"] % 2 == 1).all()
    alike = model.similar_items([6], n=5)
    assert (alike["similar_id"] % 2 == 0).all()


def test_predictions_go_with_the_taste(model: PrivateItemKNN) -> None:
    own, other = model.predict([12, 13], history={0: 5, 2: 5, 4: 5, 1: 1})["score"]
    assert own > other
    assert model.predict([(0, 2)])["score"].is_between(1, 5).all()


def test_a_stranger_costs_nothing_and_is_served_like_a_user(model: PrivateItemKNN, checkers: dc.Interactions) -> None:
    row = checkers.filter(checkers.user == checkers.users.code(4)).to_frame()
    history = dict(zip(row["item_id"], row["rating"], strict=True))
    stranger = model.recommend(history=history, n=5)
    assert stranger["item_id"].to_list() == model.recommend([4], n=5)["item_id"].to_list()


VARIANTS: list[dict[str, Any]] = [
    {"delta": "1e-6"},
    {"delta": 0},
    {"delta": "1e-6", "unit": "rating"},
    {"delta": 0, "unit": "rating"},
]


@pytest.mark.parametrize(
    ("variant", "weight_of_item", "weight_of_pair"),
    [
        (VARIANTS[0], lambda n: n**-0.5, lambda n: 1 / n),
        (VARIANTS[1], lambda n: 1 / n, lambda n: 2 / n**2),
        (VARIANTS[2], lambda n: n**0.0, lambda n: n**-0.5),
        (VARIANTS[3], lambda n: n**0.0, lambda n: 1 / n),
    ],
)
def test_without_noise_it_is_the_model_without_noise(
    checkers: dc.Interactions, variant: dict[str, Any], weight_of_item: Weight, weight_of_pair: Weight
) -> None:
    """ε → ∞: popularity, offsets, co-occurrence and products come out as plain sums over users would give them."""
    some = checkers.filter((checkers.user + checkers.item) % 5 != 0)  # so that histories differ in length
    model = PrivateItemKNN(epsilon=10**9, head=40, **variant).fit(some)
    counts = some.records_per_user.astype(float)
    assert counts.min() < counts.max()
    np.testing.assert_allclose(
        model.popularity_, np.bincount(some.item, weight_of_item(counts)[some.user], 40), rtol=1e-3
    )
    touched = some.csr.astype(bool).astype(float).toarray()
    together = (touched * weight_of_pair(counts)[:, None]).T @ touched
    np.testing.assert_allclose(model.release_.array("co_counts"), together, rtol=1e-4, atol=1e-4)
    ratings = np.where(touched > 0, some.csr.toarray() - model.offsets_, 0)
    if variant.get("unit") == "rating":
        means = np.bincount(some.item, some.rating, 40) / np.bincount(some.item, minlength=40)
        assert some.rating is not None
        assert model.level_ == pytest.approx(float(some.rating.mean()), abs=1e-3)
        np.testing.assert_allclose(model.level_ + model.offsets_, means, atol=1e-2)
        levels = np.full(counts.size, model.level_)
    else:
        levels = ratings.sum(axis=1) / counts
    relative = np.where(touched > 0, np.clip((ratings - levels[:, None]) / 2, -1, 1), 0)
    products = (relative * weight_of_pair(counts)[:, None]).T @ relative
    np.testing.assert_allclose(model.release_.array("products"), products, rtol=0.02, atol=0.05)


@pytest.mark.parametrize("variant", VARIANTS[1:])
def test_every_variant_finds_the_two_tastes_and_survives_the_disk(
    checkers: dc.Interactions, variant: dict[str, Any], tmp_path: Path
) -> None:
    model = PrivateItemKNN(epsilon=500, k=15, **variant).fit(checkers)
    assert model.ranking_ == "neighbors"
    best = model.recommend([4, 7], n=5)
    assert (best["item_id"] % 2 == (best["user_id"] == 7)).all()
    own, other = model.predict([12, 13], history={0: 5, 2: 5, 4: 5, 1: 1})["score"]
    assert own > other
    again = load_model(model.save(tmp_path / "model"))
    assert again.parameters == model.parameters
    assert again.guarantee == model.guarantee
    history = {0: 5.0, 2: 4.0}
    assert again.recommend(history=history, n=7).equals(model.recommend(history=history, n=7))
    assert again.predict([6, 7], history=history).equals(model.predict([6, 7], history=history))


def test_pure_epsilon_is_charged_as_it_is(checkers: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(checkers, epsilon=1, unit="user")
    model = PrivateItemKNN(epsilon=1, delta=0).fit(checkers, ledger=ledger)
    assert model.guarantee is not None
    assert model.guarantee.loss == Pure(Fraction(1))
    assert model.guarantee.unit == Unit("user")
    assert ledger.statement(checkers).spent.epsilon == 1


def test_one_rating_is_a_unit_of_its_own(checkers: dc.Interactions, tmp_path: Path) -> None:
    """An account for records takes it as it is, a user's guarantee at two steps, and one for users refuses it."""
    ledger = dc.Ledger(tmp_path / "records.db")
    ledger.open(checkers, epsilon=3, unit="record")
    model = PrivateItemKNN(epsilon=1, delta=0, unit="rating").fit(checkers, ledger=ledger)
    assert model.guarantee is not None
    assert model.guarantee.unit == Unit("record")
    assert model.guarantee.caps == ()
    assert "who the users are" in model.guarantee.not_covered
    assert ledger.statement(checkers).spent.epsilon == 1
    PrivateItemKNN(epsilon=1, delta=0).fit(checkers, ledger=ledger)
    assert ledger.statement(checkers).spent.epsilon == 3
    users = dc.Ledger(tmp_path / "users.db")
    users.open(checkers, epsilon=3, delta="1e-6", unit="user")
    with pytest.raises(PrivacyError, match="one record"):
        PrivateItemKNN(epsilon=1, unit="rating").fit(checkers, ledger=users)
    assert users.statement(checkers).entries == ()


def test_where_one_rating_is_the_unit_nothing_may_push_another_out(checkers: dc.Interactions) -> None:
    with pytest.raises(UsageError, match="could replace another"):
        PrivateItemKNN(1, unit="rating", cap=20).fit(checkers)
    visits = dc.Interactions([("u", "a"), ("u", "a")], items=["a", "b"], duplicates="keep")
    with pytest.raises(UsageError, match="several records"):
        PrivateItemKNN(1, unit="rating").fit(visits)
    with pytest.raises(UsageError, match="'household'"):
        PrivateItemKNN(1, unit="household").fit(checkers)


def test_it_charges_exactly_what_it_guarantees(checkers: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(checkers, epsilon=1, delta="1e-6", unit="user")
    model = PrivateItemKNN(epsilon=1, delta="1e-6").fit(checkers, ledger=ledger)
    assert model.guarantee is not None
    assert model.guarantee.joint
    assert model.guarantee.at_delta("1e-6").loss.epsilon_at(Fraction(1, 10**6)) <= 1
    assert 0.99 < float(ledger.statement(checkers).spent.epsilon) <= 1
    with pytest.raises(BudgetError):
        PrivateItemKNN(epsilon=1, delta="1e-6").fit(checkers, ledger=ledger)


@pytest.mark.parametrize(
    ("settings", "scale"),
    [
        ({"epsilon": 1}, None),
        ({"epsilon": "1e-40", "delta": "1e-12"}, "1:5"),
        ({"epsilon": "1e-40", "delta": 0}, "1:5"),
        ({"epsilon": "1e-5", "delta": 0, "first_share": "999/1000"}, "1:5"),
        ({"epsilon": 1, "k": 0}, "1:5"),
    ],
)
def test_what_cannot_be_fitted_is_not_charged(settings: dict[str, Any], scale: str | None, tmp_path: Path) -> None:
    data = dc.Interactions([("u", "a", 3), ("v", "b", 4)], items=["a", "b"], scale=scale, name="two")
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(data, epsilon=2, delta="1e-6", unit="user")
    with pytest.raises(UsageError):
        PrivateItemKNN(**settings).fit(data, ledger=ledger)
    assert ledger.statement(data).entries == ()


def test_saved_it_is_a_release_without_anybodys_records(model: PrivateItemKNN, tmp_path: Path) -> None:
    folder = model.save(tmp_path / "model")
    again = load_model(folder)
    assert isinstance(again, PrivateItemKNN)
    assert again.guarantee == model.guarantee
    history = {0: 5.0, 2: 4.0}
    assert again.recommend(history=history, n=7).equals(model.recommend(history=history, n=7))
    with pytest.raises(UsageError, match="nobody's records"):
        again.recommend([4])
    assert model.records_ is not None
    assert again.attach(model.records_).recommend([4]).equals(model.recommend([4]))


def test_recommending_follows_the_house_rules(model: PrivateItemKNN, checkers: dc.Interactions) -> None:
    everything = model.recommend([4], n=1000)
    seen = set(checkers.item[checkers.user == checkers.users.code(4)].tolist())
    assert everything.height == 40 - len(seen)
    assert not seen & set(everything["item_id"])
    assert everything["rank"].to_list() == list(range(1, everything.height + 1))
    assert model.recommend([4], n=1000, exclude_seen=False).height == 40
    assert set(model.recommend([4], n=3, items=[1, 3, 5, 7])["item_id"]) <= {1, 3, 5, 7}
    batch = model.recommend([7, 4], n=3)
    assert batch.filter(batch["user_id"] == 4).equals(model.recommend([4], n=3))


def test_few_users_are_ranked_by_popularity_and_it_says_so() -> None:
    films = dc.synthetic.films(users=60, items=30, seed=1)
    assert PrivateItemKNN(epsilon="1/10").fit(films).ranking_ == "popularity"


@pytest.mark.parametrize("variant", VARIANTS)
def test_plays_without_ratings(variant: dict[str, Any]) -> None:
    rows = [(u, i) for u in range(300) for i in range(u % 2, 20, 2)]
    model = PrivateItemKNN(epsilon=200, **variant).fit(dc.Interactions(rows, items=range(20)))
    assert (model.recommend(history=[0, 2], n=4)["item_id"] % 2 == 0).all()
    assert model.predict([3], history=[0])["score"].null_count() == 1


def test_wrong_use(checkers: dc.Interactions, model: PrivateItemKNN, tmp_path: Path) -> None:
    with pytest.raises(PrivacyError, match="catalog"):
        PrivateItemKNN(1).fit(dc.Interactions([("u", "a", 3)], scale="1:5"))
    with pytest.raises(UsageError, match="scale"):
        PrivateItemKNN(1).fit(dc.Interactions([("u", "a", 3)], items=["a"]))
    with pytest.raises(UsageError, match="Wrap your table"):
        PrivateItemKNN(1).fit([("u", "a", 3)])  # type: ignore[arg-type]
    for wrong in ({"k": "abc"}, {"cap": 0}, {"head": -1}):
        with pytest.raises(UsageError, match="whole number"):
            PrivateItemKNN(**{"epsilon": 1, **wrong}).fit(checkers)  # type: ignore[arg-type]
    assert model.recommend(4, n=2).height == 2  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="fitted"):
        PrivateItemKNN(1).recommend([1])
    with pytest.raises(UsageError, match="delta"):
        PrivateItemKNN(1, delta=-1).fit(checkers)
    with pytest.raises(UsageError):
        model.recommend()
    with pytest.raises(UsageError):
        model.recommend([4], n=0)
    with pytest.raises(DataError, match="unknown user"):
        model.recommend(["nobody"])
    with pytest.warns(UnknownItemsWarning, match="1 of 1 items"):
        model.recommend(history={"film": 3})
    with pytest.raises(ReleaseError):
        load_model(tmp_path)
