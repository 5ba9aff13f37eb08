"""Recommendations from counts alone, in all and in a context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.counting import ContextPopularity, ItemCounts
from discreet.errors import PrivacyError, ReleaseError, UsageError
from discreet.models.recommender import Recommender, load_model
from discreet.testing.models import RecommenderConformance, two_tastes

LARGE = 10**9


class TestPopularity(RecommenderConformance):
    deterministic = False
    keeps_records = False

    def make_model(self) -> Recommender:
        return ContextPopularity(epsilon=4, cap=5)


class TestContextPopularity(RecommenderConformance):
    deterministic = False
    keeps_records = False

    def make_model(self) -> Recommender:
        return ContextPopularity(epsilon=4, cap=5, contexts=["weekday"], settings={"item_share": "1/3"})

    def data(self) -> dc.Interactions:
        plain = two_tastes()
        frame = plain.to_frame().with_columns(timestamp=pl.int_range(pl.len()) * 86_400)
        return dc.Interactions(frame, items=plain.items, scale=plain.scale)

    def test_ids_come_back_as_the_callers(self) -> None:
        """The inherited test rebuilds the records without their times; here they keep them."""
        frame = self.data().to_frame().with_columns(pl.col("item_id").str.slice(1).cast(pl.Int64))
        numbered = dc.Interactions(frame, items=list(range(14)), scale="1:5")
        model = self.make_model().fit(numbered)
        assert set(model.recommend(["u1"], n=3)["item_id"]) <= set(range(14))


@pytest.fixture
def week() -> dc.Interactions:
    """On Saturdays the young go to the park and the old to the zoo; on Sundays everybody to the fair."""
    rows = [(f"u{n}", "park" if n < 20 else "zoo", "sat") for n in range(50)]
    rows += [(f"u{n}", "fair", "sun") for n in range(40)] + [("u0", "zoo", "sun")]
    frame = pl.DataFrame(rows, schema=["user_id", "item_id", "day"], orient="row")
    people = pl.DataFrame({"user_id": [f"u{n}" for n in range(50)], "age": [20] * 20 + [60] * 30})
    return dc.Interactions(
        frame, context=["day"], items=["park", "zoo", "fair"], duplicates="keep", users=people, name="week"
    )


@pytest.fixture
def model(week) -> ContextPopularity:
    return ContextPopularity(epsilon=LARGE, cap=10, contexts=["day=sat,sun", "age=<25,25+"]).fit(week)


def best(model: ContextPopularity, **context: str) -> list[str]:
    return model.recommend(context=context, n=1)["item_id"].to_list()


def test_a_context_has_its_own_favorites(model) -> None:
    assert best(model, day="sun") == ["fair"]
    assert best(model, day="sat") == ["zoo"]
    assert best(model, day="sat", age="<25") == ["park"]
    assert best(model, age="25+") == ["zoo"]
    assert best(model) == ["fair"]


def test_scores_are_counts_where_there_is_no_noise(model) -> None:
    table = model.recommend(context={"day": "sat"}, n=3)
    assert table.columns == ["item_id", "score", "rank"]
    assert dict(zip(table["item_id"], table["score"].round(), strict=True)) == {"zoo": 30, "park": 20, "fair": 0}


def test_contexts_that_are_not_named_are_summed_over(model) -> None:
    both = sum(model.scores({"day": "sat", "age": age}) for age in ("<25", "25+"))
    assert np.allclose(model.scores({"day": "sat"}), both, atol=0.01)


def test_people_get_what_they_have_not_seen(model) -> None:
    assert model.recommend(["u45"], n=1, context={"day": "sat"})["item_id"].to_list() == ["park"]
    assert model.recommend(["u45"], n=1, context={"day": "sat"}, exclude_seen=False)["item_id"].to_list() == ["zoo"]
    assert model.recommend(history=["fair"], n=1)["item_id"].to_list() == ["zoo"]


@pytest.mark.parametrize(
    ("context", "words"), [({"weather": "fair"}, "weather"), ({"day": "monday"}, "monday"), ({"age": "7"}, "<25")]
)
def test_unknown_contexts_are_named(model, context, words) -> None:
    with pytest.raises(UsageError, match=words):
        model.recommend(context=context)


def test_without_contexts_there_are_none(week) -> None:
    with pytest.raises(UsageError, match="none"):
        ContextPopularity(epsilon=1, cap=3).fit(week).recommend(context={"day": "sat"})


def test_mistakes_cost_nothing(week, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(week, epsilon=10, unit="user")
    wrong: list[dict[str, Any]] = [
        {"epsilon": 0},
        {"epsilon": None},
        {"epsilon": 1, "cap": 0},
        {"epsilon": 1, "contexts": ["day"]},
        {"epsilon": 1, "contexts": ["weather=fair,foul"]},
        {"epsilon": 1, "method": "guessing"},
        {"epsilon": 1, "settings": {"taste": 1}},
    ]
    for settings in wrong:
        with pytest.raises(UsageError):
            ContextPopularity(**settings).fit(week, ledger=ledger)
    with pytest.raises(PrivacyError):
        ContextPopularity(epsilon=1).fit(dc.Interactions([("ann", "tea")]), ledger=ledger)
    with pytest.raises(UsageError, match="numbers or text"):
        ContextPopularity(epsilon=1).fit(dc.Interactions([("ann", (1, 2))]).with_catalog("observed"), ledger=ledger)
    assert ledger.statement(week).entries == ()
    model = ContextPopularity(epsilon=1, contexts=["day=sat,sun"]).fit(week, ledger=ledger)
    assert ledger.statement(week).spent.epsilon == 1
    assert model.guarantee is not None
    assert model.guarantee.joint


def test_a_release_is_a_model_already(week, model, tmp_path: Path) -> None:
    again = ContextPopularity.of_release(model.release_)
    assert again.recommend(context={"day": "sat"}).equals(model.recommend(context={"day": "sat"}))
    folder = again.save(tmp_path / "model")
    loaded = load_model(folder)
    assert isinstance(loaded, ContextPopularity)
    assert loaded.recommend(context={"day": "sat"}).equals(model.recommend(context={"day": "sat"}))
    assert dc.Release.load(folder).id == model.release_.id  # the folder of a model is its release, too
    with pytest.raises(ReleaseError):
        ContextPopularity.of_release(dc.counting.TopItems(k=1, epsilon=1).release(week))


def test_every_counting_method_makes_a_model(week) -> None:
    """Noise of each count, shared by neighbors in the catalog or by groups: all are ranked."""
    ways: dict[str, dict[str, Any]] = {
        "weighted": {"delta": "1e-6"},
        "hybrid": {},
        "dft": {},
        "gs": {"settings": {"width": 1}},
        "sra": {},
    }
    for method, more in ways.items():
        model = ContextPopularity(epsilon=LARGE, cap=None, method=method, contexts=["day=sat,sun"], **more).fit(week)
        assert best(model, day="sat") == ["zoo"], method
        again = ContextPopularity.of_release(model.release_)
        assert again.fit(week).release_.parameters == model.release_.parameters


def test_a_delta_counts_by_length(week) -> None:
    model = ContextPopularity(epsilon=1, delta="1e-6", cap=7).fit(week)
    assert model.release_.guarantee.loss.kind == "gaussian"
    assert model.release_.parameters["cap"] == 7
    assert ContextPopularity(epsilon=1).fit(week).release_.parameters["cap"] == 30


def test_expected_counts_find_more_than_either_alone(fixed_bits) -> None:
    visits = dc.synthetic.checkins(users=600, items=120, seed=3)
    exact = ContextPopularity.of_release(ItemCounts(epsilon=10**6, cap=10).release(visits, contexts=["weekday"]))
    found = {"edges": 0, "marginal": 0, "expected": 0}
    for _ in range(6):
        release = ItemCounts(epsilon=3, cap=10).release(visits, contexts=["weekday"])
        model = ContextPopularity.of_release(release)
        cube = release.table("edges")["count"].to_numpy().reshape(-1, 7)
        for place, day in enumerate(model.contexts_[0].values):
            truth = set(np.argsort(-exact.scores({"weekday": day}))[:10])
            ways = {"edges": cube[:, place], "marginal": model.scores({}), "expected": model.scores({"weekday": day})}
            for way, scores in ways.items():
                found[way] += len(truth & set(np.argsort(-scores)[:10]))
    assert found["expected"] > max(found["edges"], found["marginal"])
