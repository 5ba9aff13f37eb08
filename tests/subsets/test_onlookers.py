"""Lists that others may see: what is drawn, what is kept, what is charged, what is said."""

from __future__ import annotations

import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.attacks.engine.claims import claim_about, limit_of
from discreet.data import Interactions
from discreet.errors import BudgetError, DataError, PrivacyError, UsageError
from discreet.neighbors import KNN
from discreet.pairs import PrivateSlopeOne
from discreet.privacy.guarantees import Standing
from discreet.privacy.ledger import Ledger
from discreet.privacy.losses import Pure
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.subsets import ScreenLists, recommend_privately
from discreet.subsets.samplers import RowSampler
from discreet.subsets.score_rows import ScoreRows

HUGE = 10**6


@pytest.fixture(scope="module")
def films() -> Interactions:
    return dc.synthetic.films(users=200, items=40, seed=7)


@pytest.fixture
def model(films: Interactions) -> dc.PrivateRatings:
    return dc.PrivateRatings(epsilon=4).fit(films)


@pytest.fixture
def ledger(tmp_path: Path, films: Interactions) -> Ledger:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=20, delta="1e-6", unit="user")
    return ledger


def seen_by(films: Interactions, user: str) -> set[str]:
    return set(films.items.take(films.csr[films.users.encode([user])].indices).to_list())


def spent(ledger: Ledger, films: Interactions) -> Fraction:
    return 20 - ledger.statement(films).left.epsilon


# What is shown


def test_a_huge_budget_shows_the_best_unseen_items(model, films: Interactions) -> None:
    shown = recommend_privately(model, "u17", 5, HUGE)
    predicted = model.predict([("u17", item) for item in films.items.series])
    unseen = predicted.filter(~pl.col("item_id").is_in(list(seen_by(films, "u17"))))
    best = unseen.sort("score", descending=True).head(5)["item_id"].to_list()
    assert sorted(shown.items["item_id"]) == sorted(best)
    assert shown.items["place"].to_list() == [1, 2, 3, 4, 5]


def test_scores_of_recommend_with_a_range(films: Interactions) -> None:
    """A model that ranks by scores without a scale; the range is the caller's word."""
    ranker = dc.PrivateRecommender(epsilon=8).fit(films)
    shown = recommend_privately(ranker, "u17", 5, 10**9, score_range=(-100, 100), order="list")
    assert sorted(shown.items["item_id"]) == sorted(ranker.recommend(["u17"], n=5)["item_id"])


def test_what_was_seen_is_lowered_and_not_left_out(model, films: Interactions) -> None:
    rows = ScoreRows.of(model)
    row = rows.of_users(["u17", "u3"])
    for line, user in zip(row, ("u17", "u3"), strict=True):
        seen = films.items.encode(sorted(seen_by(films, user)))
        assert set(line[seen]) == {1.0}
        assert np.delete(line, seen).max() > 1.0
    # With little budget seen items do come up: who sees one learns little from it.
    lists = ScreenLists(model, k=10, epsilon="1/100")
    shown = {item for entry in lists.show_all([f"u{i}" for i in range(1, 40)]) for item in entry.items["item_id"]}
    assert len(shown) > 30


def test_a_short_public_list(model, films: Interactions) -> None:
    head = films.items.series[:6].to_list()
    shown = recommend_privately(model, "u17", 3, 1, items=head)
    assert set(shown.items["item_id"]) <= set(head)
    assert "of 6 items" in str(shown.onlookers)


@pytest.mark.parametrize("sampler", ["gumbel", "permute-and-flip"])
def test_ordered_samplers_show_the_order_they_drew(model, films: Interactions, sampler) -> None:
    shown = recommend_privately(model, "u17", 4, 10**9, sampler=sampler)
    predicted = dict(model.predict([("u17", i) for i in films.items.series]).select("item_id", "score").iter_rows())
    scores = [predicted[item] for item in shown.items["item_id"]]
    assert scores == sorted(scores, reverse=True)


# Order


def test_order_does_not_go_by_score(model, films: Interactions, fixed_bits) -> None:
    """Certain items: at random, as listed, by public numbers. Nowhere by score."""
    users = [f"u{i}" for i in range(1, 41)]
    lists = ScreenLists(model, k=2, epsilon=10**9)
    predicted = {
        user: dict(model.predict([(user, i) for i in films.items.series])["item_id", "score"].iter_rows())
        for user in users
    }
    first_is_better = [
        predicted[user][shown.items["item_id"][0]] > predicted[user][shown.items["item_id"][1]]
        for user, shown in zip(users, lists.show_all(users), strict=True)
    ]
    assert 8 <= sum(first_is_better) <= 32
    listed = recommend_privately(model, "u17", 5, HUGE, order="list").items["item_id"]
    assert films.items.encode(listed).tolist() == sorted(films.items.encode(listed).tolist())
    popularity = {item: n for n, item in enumerate(films.items.series)}
    by_number = recommend_privately(model, "u17", 5, HUGE, order=popularity).items["item_id"].to_list()
    assert by_number == sorted(by_number, key=lambda item: -popularity[item])


# Once


def test_a_list_is_drawn_once_per_training(model, films: Interactions) -> None:
    lists = [recommend_privately(model, "u17", 5, "1/10").items for _ in range(6)]
    assert all(one.equals(lists[0]) for one in lists)
    others = [recommend_privately(model, f"u{i}", 5, "1/10").items["item_id"].to_list() for i in range(1, 9)]
    assert len({tuple(sorted(other)) for other in others}) > 1
    model.fit(films)
    again = [recommend_privately(model.fit(films), "u17", 5, "1/10").items for _ in range(6)]
    assert any(not one.equals(lists[0]) for one in again)


def test_other_settings_are_other_lists(model) -> None:
    recommend_privately(model, "u17", 5, 1)
    recommend_privately(model, "u17", 5, 1, order="list")
    recommend_privately(model, "u17", 5, "1")
    assert len(vars(model)["_screen_lists"]) == 3


def test_two_threads_see_one_list(model) -> None:
    lists, found = ScreenLists(model, k=5, epsilon="1/10"), []
    threads = [threading.Thread(target=lambda: found.append(lists.show("u17").items)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(one.equals(found[0]) for one in found)


# The ledger


def test_a_proved_model_pays_once_for_all_lists(model, films: Interactions, ledger: Ledger) -> None:
    lists = ScreenLists(model, k=5, epsilon=2, ledger=ledger)
    assert lists.charged_once
    lists.show("u17")
    lists.show_all(["u17", "u3", "u4"])
    assert spent(ledger, films) == 2
    ScreenLists(model, k=5, epsilon=2, ledger=ledger).show("u17")
    assert spent(ledger, films) == 4


def test_a_model_without_guarantee_pays_for_each_list(films: Interactions, ledger: Ledger) -> None:
    lists = ScreenLists(KNN(k=10).fit(films), k=5, epsilon=2, ledger=ledger)
    assert not lists.charged_once
    lists.show("u17")
    lists.show_all(["u17", "u3", "u4"])
    assert spent(ledger, films) == 6
    with pytest.raises(BudgetError):
        lists.show_all([f"u{i}" for i in range(10, 20)])
    assert spent(ledger, films) == 6
    lists.show("u3")


def test_what_is_wrong_is_found_before_the_charge(model, films: Interactions, ledger: Ledger) -> None:
    with pytest.raises(DataError, match="nobody"):
        recommend_privately(model, "nobody", 5, 1, ledger=ledger)
    for wrong in (
        {"k": 0}, {"k": 41}, {"epsilon": 0}, {"protects": "all"}, {"sampler": "laplace"}, {"order": "score"},
        {"order": "drawn"}, {"score_range": (5, 1)}, {"items": ["no film"]},
    ):  # fmt: skip
        with pytest.raises((UsageError, DataError)):
            recommend_privately(model, "u17", **{"k": 5, "epsilon": 1, "ledger": ledger, **wrong})
    assert spent(ledger, films) == 0


def test_the_charge_comes_before_the_draw(model, films: Interactions, ledger: Ledger, monkeypatch) -> None:
    def fail(*given):
        raise RuntimeError("power cut")

    monkeypatch.setattr(RowSampler, "choose", fail)
    with pytest.raises(RuntimeError):
        recommend_privately(model, "u17", 5, 3, ledger=ledger)
    assert spent(ledger, films) == 3


# What is said


def test_both_guarantees(model) -> None:
    shown = recommend_privately(model, "u17", 5, 2)
    assert shown.onlookers.loss == Pure(Fraction(2))
    assert shown.onlookers.unit.code == "user/add-remove"
    assert shown.model is model.guarantee
    assert "The model: PROVED" in shown.statement
    assert "against those who see it: PROVED" in shown.statement
    both = shown.together()
    assert both is not None
    assert both.standing is Standing.PROVED
    at = Fraction(1, 10**6)
    assert both.loss.epsilon_at(at) == 2 + model.guarantee.loss.epsilon_at(at)


def test_an_entry_is_less_than_a_row(model) -> None:
    entry = recommend_privately(model, "u17", 5, 2, protects="entry")
    assert entry.onlookers.unit.code == "score/value"
    assert "the records that the scores were computed from" in entry.onlookers.not_covered
    assert entry.together() is None


def test_a_guarantee_about_a_score_is_believed_nowhere_else(films: Interactions, tmp_path: Path) -> None:
    """A model that guarantees the value of a record: its guarantee and one about a score do not add up."""
    model = PrivateSlopeOne(epsilon=1, unit="value").fit(films)
    entry = recommend_privately(model, "u17", 5, 1, protects="entry")
    assert entry.model is not None
    assert entry.model.unit.code == "record/value"
    assert entry.together() is None
    with pytest.raises(PrivacyError, match="do not add up"):
        entry.model.compose(entry.onlookers)
    assert limit_of(entry.onlookers, secret="rating", values=5) is None
    assert claim_about(entry.onlookers, Unit("record", "value"), records=1) is None
    assert claim_about(entry.onlookers, Unit("user"), records=1) is None
    for unit in ("record/value", "record", "user"):
        ledger = Ledger(tmp_path / f"{unit.replace('/', '-')}.db")
        account = ledger.open(films, epsilon=10, delta="1e-3", unit=unit)
        with pytest.raises(PrivacyError, match="one score of a row"):
            account.loss_of(entry.onlookers)
        with pytest.raises(PrivacyError, match="no guarantee about records"):
            recommend_privately(model, "u17", 5, 1, protects="entry", ledger=ledger)
        assert not ledger.statement(films).entries
    with pytest.raises(UsageError, match="no account of scores"):
        Ledger(tmp_path / "scores.db").open(films, epsilon=1, unit="score/value")


def test_both_guarantees_only_where_both_are_proved(model) -> None:
    shown = recommend_privately(model, "u17", 5, 2)
    claimed = replace(shown, model=replace(model.guarantee, standing=Standing.AS_PUBLISHED))
    assert shown.together() is not None
    assert claimed.together() is None


def test_a_model_without_guarantee_is_named(films: Interactions) -> None:
    shown = recommend_privately(KNN(k=10).fit(films), "u17", 5, 2)
    assert shown.model is None
    assert shown.together() is None
    assert "no guarantee" in shown.statement


def test_the_release_holds_the_list_and_not_the_person(model, tmp_path: Path) -> None:
    shown = recommend_privately(model, "u17", 5, 2)
    folder = shown.release.save(tmp_path / "list")
    assert Release.load(folder).table("items").equals(shown.items)
    assert not any("u17" in file.read_text(errors="ignore") for file in folder.iterdir())


def test_models_that_cannot(films: Interactions) -> None:
    with pytest.raises(UsageError, match="must be a Recommender"):
        recommend_privately(SimpleNamespace(), "u17")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no records"):
        recommend_privately(dc.PrivateRatings(1), "u17")
    secret = Interactions([("a", "x", 3), ("a", "y", 4), ("b", "x", 5)], scale="1:5")
    with pytest.raises(PrivacyError, match="public list"):
        recommend_privately(KNN(k=1).fit(secret), "a", 1)
    unscaled = Interactions([("a", "x", 3.0), ("a", "y", 4.0), ("b", "x", 5.0)], items=["x", "y"])
    with pytest.raises(UsageError, match="range of scores"):
        recommend_privately(KNN(k=1).fit(unscaled), "a", 1)


def test_lists_of_another_training_are_not_shown_for_nothing() -> None:
    """Once lists were paid for, a model fitted on other records must not show theirs on the same ticket."""
    first, second = (dc.synthetic.films(users=120, items=30, seed=seed) for seed in (1, 2))
    model = dc.PrivateRatings(epsilon=4).fit(first)
    lists = ScreenLists(model, k=3, epsilon=2)
    lists.show("u3")
    model.fit(second)
    with pytest.raises(UsageError, match="fitted again"):
        lists.show("u5")
