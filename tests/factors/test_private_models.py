"""The proved models: what they guarantee, what they learn, what they say before and after."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import BudgetError, PrivacyError, UsageError
from discreet.factors import PrivateRatings, PrivateRecommender
from discreet.factors.tastes import TastePlan
from discreet.privacy.losses import GaussianLoss, mu_for
from discreet.testing.models import RecommenderConformance


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=900, items=120, seed=3)


class TestPrivateRecommender(RecommenderConformance):
    deterministic = False
    keeps_records = False

    def make_model(self) -> PrivateRecommender:
        return PrivateRecommender(epsilon=5000, delta="1e-6")


class TestPrivateRatings(RecommenderConformance):
    deterministic = False
    keeps_records = False

    def make_model(self) -> PrivateRatings:
        return PrivateRatings(epsilon=5000, delta="1e-6")


class TestPrivateRatingsOfRecords(RecommenderConformance):
    deterministic = False
    keeps_records = False

    def make_model(self) -> PrivateRatings:
        return PrivateRatings(epsilon=100, delta="1e-6", unit="rating")


@pytest.mark.parametrize("kind", [PrivateRecommender, PrivateRatings])
def test_the_guarantee_is_what_was_asked_for(kind: type, films: dc.Interactions) -> None:
    guarantee = kind(epsilon=2, delta="1e-6").fit(films).guarantee
    assert guarantee.loss == GaussianLoss(mu_for(2, "1e-6") ** 2)
    assert guarantee.loss.epsilon_at(Fraction(1, 10**6)) <= 2
    assert guarantee.joint
    assert guarantee.standing.name == "PROVED"
    assert guarantee.unit.code == "user/add-remove"


@pytest.mark.parametrize("kind", [PrivateRecommender, PrivateRatings])
def test_the_ledger_is_charged_once_and_refuses_a_second_time(
    kind: type, films: dc.Interactions, tmp_path: Path
) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=1, delta="1e-6", unit="user")
    kind(epsilon=1, delta="1e-6").fit(films, ledger=ledger)
    with pytest.raises(BudgetError):
        kind(epsilon=1, delta="1e-6").fit(films, ledger=ledger)


@pytest.mark.usefixtures("fixed_bits")
def test_many_users_get_tastes_and_few_get_popularity(films: dc.Interactions) -> None:
    rich = PrivateRecommender(epsilon=8, delta="1e-6").fit(films)
    assert rich.ranking_ == "tastes"
    assert rich.head_.size > 0
    poor = PrivateRecommender(epsilon="1/10", delta="1e-6").fit(films)
    assert poor.ranking_ == "popularity"
    assert {"first", "second", "items"} == set(poor.release_.parts)
    # Both halves of the budget went into popularity: it is more exact than the first alone.
    true = np.bincount(films.item, minlength=films.n_items)
    first = poor.release_.array("first")[:-1]
    assert np.corrcoef(poor.popularity_, true)[0, 1] > np.corrcoef(first, true)[0, 1]


@pytest.mark.usefixtures("fixed_bits")
def test_tastes_beat_popularity_on_a_dataset_of_two_tastes() -> None:
    rng = np.random.default_rng(5)
    rows = [
        (user, int(item))
        for user in range(3000)
        for item in rng.choice(20, 8, replace=False) + 20 * (user % 2)
        if rng.random() < 0.9
    ]
    data = dc.Interactions(rows, items=list(range(40)))
    model = PrivateRecommender(epsilon=2, delta="1e-6").fit(data)
    for history, own in (([0, 1, 2], range(20)), ([21, 25, 30], range(20, 40))):
        best = model.recommend(history=history, n=10)["item_id"].to_list()
        assert sum(item in own for item in best) >= 9
    alike = model.similar_items(3, n=10)["similar_id"].to_list()
    assert sum(item < 20 for item in alike) >= 9


@pytest.mark.usefixtures("fixed_bits")
@pytest.mark.parametrize("below", ["0", "3/10", "1"])
def test_without_noise_the_matrix_is_the_plain_one(below: str) -> None:
    """ε → ∞: what is released is what the records say."""
    data = dc.synthetic.films(users=300, items=60, seed=1)
    model = PrivateRecommender(epsilon=10**6, delta="1e-6", head=60, below=below).fit(data)
    rated = data.csr.toarray()
    liked = (rated >= 4).astype(float)
    known = liked.sum(axis=1) > 0
    pop = (liked[known] / np.sqrt(liked[known].sum(axis=1))[:, None]).sum(axis=0)
    assert np.allclose(model.popularity_, pop, atol=0.01)
    plan = TastePlan.of(model.release_.array("first"), model.release_.parameters, users=None, most=60)
    height = np.maximum(rated - 1, 0) / 3
    opinions = np.where(rated < 4, float(Fraction(below)) * height, height)
    tastes = opinions[opinions.any(axis=1)] * plan.weights
    tastes -= np.outer(tastes @ plan.direction, plan.direction)
    tastes /= np.linalg.norm(tastes, axis=1)[:, None]
    assert np.allclose(model.release_.array("tastes"), tastes.T @ tastes, atol=0.35)


def test_the_number_of_users_can_be_public(films: dc.Interactions) -> None:
    model = PrivateRecommender(epsilon=1, users=900).fit(films)
    assert model.strength_ == pytest.approx(900 * float(mu_for(1, "1e-6")))
    assert any("number of users" in line for line in model.guarantee.not_covered)  # type: ignore[union-attr]


def test_an_estimate_reads_no_record(films: dc.Interactions) -> None:
    told = PrivateRecommender(epsilon=1).estimate(films, users=5_000)
    assert told == PrivateRecommender(epsilon=1).estimate(films.emptied(), users=5_000)
    assert told["ranking"] == "tastes"
    assert 0.6 < told["expected_share_of_nonprivate_recall"] < 0.8
    assert PrivateRecommender(epsilon="1/10").estimate(films, users=100)["ranking"] == "popularity"
    with pytest.raises(UsageError, match="number of users is not known"):
        PrivateRecommender(1).estimate(films)


@pytest.mark.usefixtures("fixed_bits")
def test_public_features_are_used_and_saved(tmp_path: Path) -> None:
    films = dc.synthetic.films(users=2000, items=120, seed=3)
    assert films.item_table is not None
    column = next(name for name in films.item_table.columns if name != "title")
    model = PrivateRecommender(epsilon=2, features=(column,)).fit(films)
    again = dc.PrivateRecommender.load(model.save(tmp_path / "model"))
    assert again.features == (column,)
    history = {"film-3": 5, "film-8": 4}
    assert model.recommend(history=history, n=5).equals(again.recommend(history=history, n=5))
    with pytest.raises(UsageError, match="no column 'colour'"):
        PrivateRecommender(1, features=("colour",)).fit(films)


def test_a_saved_model_holds_nobody(films: dc.Interactions, tmp_path: Path) -> None:
    folder = PrivateRecommender(epsilon=4).fit(films).save(tmp_path / "model")
    for file in folder.rglob("*"):
        if file.is_file():
            assert b"u17" not in file.read_bytes()
    with pytest.raises(UsageError, match="nobody's records"):
        PrivateRecommender.load(folder).recommend(["u17"])


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0}, {"delta": 0}, {"head": 0}, {"users": 0}, {"first_share": 1}, {"epsilon": "much"}]
)
def test_wrong_settings_cost_nothing(wrong: dict[str, object], films: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=1, delta="1e-6", unit="user")
    with pytest.raises(UsageError):
        PrivateRecommender(**{"epsilon": 1, **wrong}).fit(films, ledger=ledger)  # type: ignore[arg-type]
    assert not ledger.statement(films).entries


def test_a_catalog_is_asked_for() -> None:
    with pytest.raises(PrivacyError, match="public list"):
        PrivateRecommender(1).fit(dc.Interactions([("a", "x"), ("b", "y")]))


def test_ratings_are_asked_for() -> None:
    data = dc.Interactions([("a", "x"), ("b", "y")], items=["x", "y"])
    with pytest.raises(UsageError, match="ratings"):
        PrivateRatings(1).fit(data)
    with pytest.raises(UsageError, match="unit"):
        PrivateRatings(1, unit="film").fit(dc.synthetic.films(users=50, items=20, seed=1))


@pytest.mark.usefixtures("fixed_bits")
def test_ratings_come_nearer_with_budget() -> None:
    films = dc.synthetic.films(users=3000, items=120, seed=3)
    # Every tenth record of a user, but never all of them.
    place = np.arange(len(films)) - films.user_starts[films.user]
    test = place % 10 == 3
    train, held = films.filter(~test), films.filter(test).to_frame()
    errors = {}
    for label, model in {
        "little": PrivateRatings(epsilon="1/5"),
        "much": PrivateRatings(epsilon=20),
        "record": PrivateRatings(epsilon=1, unit="rating"),
    }.items():
        pairs = list(zip(held["user_id"], held["item_id"], strict=True))
        scores = model.fit(train).predict(pairs)["score"]
        errors[label] = float(((scores - held["rating"].cast(pl.Float64)) ** 2).mean() ** 0.5)  # type: ignore[operator]
    assert errors["much"] < errors["little"]
    assert errors["record"] < errors["little"]
    assert PrivateRatings(epsilon=20).fit(train).model_ == "factors"


def test_the_unit_of_a_record_is_told_to_the_ledger(films: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=1, delta="1e-6", unit="user")
    with pytest.raises(PrivacyError):
        PrivateRatings(epsilon=1, unit="rating").fit(films, ledger=ledger)


@pytest.mark.parametrize("kind", [PrivateRecommender, PrivateRatings])
def test_a_budget_too_small_for_any_noise_costs_nothing(kind: type, films: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=1, delta="1e-6", unit="user")
    with pytest.raises(UsageError):
        kind(epsilon="1e-9", delta="1e-13").fit(films, ledger=ledger)
    assert not ledger.statement(films).entries


@pytest.mark.parametrize("kind", [PrivateRecommender, PrivateRatings])
def test_people_who_like_nothing_are_no_reason_to_stop(kind: type) -> None:
    data = dc.Interactions([(f"u{n}", "x", 1.0) for n in range(30)], items=["x", "y", "z"], scale="1:5")
    model = kind(epsilon=50).fit(data)
    assert model.recommend(["u3"], n=2).height == 2


def test_one_rating_is_no_unit_where_records_repeat(tmp_path: Path) -> None:
    """The latest of several records is kept, so that one more would push another out: 1.6 μ instead of μ."""
    rows = [("u", "x", 1.0, 1), ("u", "x", 5.0, 2)]
    data = dc.Interactions(rows, items=["x"], scale="1:5", duplicates="keep")
    with pytest.raises(UsageError, match="one record of an item"):
        PrivateRatings(1, unit="rating").fit(data)


def test_a_head_that_is_too_large_is_refused_before_the_charge() -> None:
    data = dc.Interactions([("ann", "i1")], items=[f"i{n}" for n in range(8300)])
    with pytest.raises(dc.DiscreetError, match="at most 8,192"):
        dc.PrivateRecommender(epsilon=1, head=8200).plan(data)
    assert dc.PrivateRecommender(epsilon=1, head=8192).plan(data).guarantee


@pytest.mark.usefixtures("fixed_bits")
@pytest.mark.parametrize("unit", ["user", "record"])
def test_what_people_think_of_public_features_is_worked_out_on_their_side(unit: str, tmp_path: Path) -> None:
    """Half of the people like one genre, half the other, and nobody any film in particular."""
    rng = np.random.default_rng(7)
    rows = [
        (user, film, 5 if film % 2 == user % 2 else 1)
        for user in range(300)
        for film in rng.choice(60, 20, replace=False).tolist()
    ]
    catalog = pl.DataFrame({"item_id": list(range(60)), "genre": ["drama", "comedy"] * 30})
    data = dc.Interactions(rows, items=catalog, scale="1:5")
    plain = PrivateRatings(epsilon=1, unit=unit).fit(data)
    model = PrivateRatings(epsilon=1, unit=unit, features="genre").fit(data)
    assert model.guarantee is not None
    assert plain.guarantee is not None
    assert model.guarantee.loss == plain.guarantee.loss
    history, asked = {0: 5, 2: 5, 4: 5, 1: 1, 3: 1, 5: 1}, [10, 11]
    told, without = (one.predict(asked, history=history)["score"].to_list() for one in (model, plain))
    assert told[0] - told[1] > 0.25 + without[0] - without[1]
    again = dc.PrivateRatings.load(model.save(tmp_path / "model"))
    assert again.predict(asked, history=history)["score"].to_list() == told
    assert again.features == ("genre",)
    with pytest.raises(UsageError, match="no column 'colour'"):
        PrivateRatings(1, features=("colour",)).fit(data)


def test_columns_may_be_named_in_one_text(films: dc.Interactions) -> None:
    """As on the command line: --option features=genres,year."""
    for model in (PrivateRecommender, PrivateRatings):
        assert model(epsilon=4, features="genres, year").features == ("genres", "year")
    fitted = PrivateRecommender(epsilon=4, features="genres,year").fit(films)
    assert any(name.startswith("year=") for name in fitted.release_.parameters["feature_names"])
