"""Models of other libraries: with stand-ins for the libraries, and with the real ones where they are installed."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import ImplicitModel, LensKitModel, SurpriseModel, SybilAttack
from discreet.data import Interactions
from discreet.errors import DataError, MissingExtraError, UsageError


@pytest.fixture
def shop() -> Interactions:
    rows = [("ann", "tea", 5), ("ann", "rum", 1), ("bob", "tea", 4), ("bob", "gin", 2), ("cid", "gin", 3)]
    return Interactions(rows, scale="1:5")


def module(name: str, monkeypatch: pytest.MonkeyPatch, **contents: Any) -> ModuleType:
    made = ModuleType(name)
    made.__dict__.update(contents)
    monkeypatch.setitem(sys.modules, name, made)
    return made


def missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)


# Stand-ins


class FakeImplicit:
    """Gives the last items first, and pads its lists as implicit does."""

    def __init__(self, K: int) -> None:
        self.K = K

    def fit(self, rows: Any, show_progress: bool) -> None:
        assert rows.format == "csr"
        assert not show_progress
        self.rows = rows

    def recommend(self, user: int, row: Any, N: int, filter_already_liked_items: bool):
        assert filter_already_liked_items
        assert (row != self.rows[user]).nnz == 0
        items = [i for i in range(row.shape[1] - 1, -1, -1) if row[0, i] == 0][:N]
        ids = np.array(items + [-1] * (N - len(items)), dtype=np.int32)
        scores = np.where(ids >= 0, 1.0 + ids, -np.finfo(np.float32).max)
        return ids, scores


def test_implicit_lists_have_the_callers_ids_and_no_padding(shop, monkeypatch: pytest.MonkeyPatch) -> None:
    module("implicit", monkeypatch)
    module("implicit.nearest_neighbours", monkeypatch, CosineRecommender=FakeImplicit)
    model = ImplicitModel(k=7).fit(shop)
    assert model.model_.K == 7
    listed = model.recommend(["cid", "ann"], n=3)
    assert listed.rows() == [("cid", "tea", 3.0, 1), ("cid", "rum", 2.0, 2), ("ann", "gin", 1.0, 1)]
    assert not hasattr(model, "predict")
    with pytest.raises(DataError, match="eve"):
        model.recommend(["eve"])


def test_nothing_to_recommend_is_an_empty_table(monkeypatch: pytest.MonkeyPatch) -> None:
    module("implicit", monkeypatch)
    module("implicit.nearest_neighbours", monkeypatch, CosineRecommender=FakeImplicit)
    model = ImplicitModel().fit(Interactions([("ann", "tea"), ("bob", "tea")]))
    assert model.recommend(["ann"]).height == 0


def test_surprise_says_when_it_does_not_know(shop, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        def __init__(self, **options: Any) -> None:
            self.options = options

        def fit(self, records: Any) -> None:
            self.known = {(u, i): r for u, i, r, _ in records}

        def predict(self, user: int, item: int) -> SimpleNamespace:
            rating = self.known.get((user, item))
            return SimpleNamespace(est=3.0 if rating is None else rating, details={"was_impossible": rating is None})

    class FakeDataset:
        def __init__(self, reader: tuple[float, float]) -> None:
            assert reader == (1.0, 5.0)

        def construct_trainset(self, records: Any) -> Any:
            return records

    module("surprise", monkeypatch, KNNBasic=Fake, Reader=lambda rating_scale: rating_scale, Dataset=FakeDataset)
    model = SurpriseModel(k=9).fit(shop)
    assert model.model_.options["k"] == 9
    told = model.predict([("bob", "tea"), ("cid", "rum")])
    assert told.rows() == [("bob", "tea", 4.0), ("cid", "rum", None)]
    with pytest.raises(UsageError, match="ratings"):
        SurpriseModel().fit(Interactions([("ann", "tea")]))


class FakePipeline:
    def __init__(self, scorer: Any, predicts_ratings: str) -> None:
        assert predicts_ratings == "raw"
        self.scorer = scorer

    def train(self, frame: Any) -> None:
        self.frame = frame

    def scores(self, user: int, items: list[int]) -> SimpleNamespace:
        own = dict(zip(*(self.frame[self.frame.user_id == user][c] for c in ("item_id", "rating")), strict=True))
        # In an order of its own, as a library may do.
        order = sorted(items, reverse=True)
        return SimpleNamespace(ids=lambda: order, scores=lambda: [own.get(i, np.nan) for i in order])


def fake_lenskit(monkeypatch: pytest.MonkeyPatch) -> None:
    module(
        "lenskit",
        monkeypatch,
        predict=lambda pipeline, user, items: pipeline.scores(user, items),
        recommend=lambda pipeline, user, n: pipeline.scores(user, list(range(n))),
    )
    module("lenskit.pipeline", monkeypatch, topn_pipeline=FakePipeline)
    module("lenskit.knn", monkeypatch, UserKNNScorer=lambda max_nbrs: max_nbrs)
    module("lenskit.data", monkeypatch, from_interactions_df=lambda frame: frame)


def test_lenskit_answers_stand_in_the_order_of_the_questions(shop, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    fake_lenskit(monkeypatch)
    model = LensKitModel(k=4).fit(shop)
    assert model.pipeline_.scorer == 4
    told = model.predict([("ann", "tea"), ("cid", "gin"), ("ann", "rum"), ("ann", "gin")])
    assert told.rows() == [("ann", "tea", 5.0), ("cid", "gin", 3.0), ("ann", "rum", 1.0), ("ann", "gin", None)]
    listed = model.recommend(["bob"], n=3)
    assert listed["item_id"].to_list() == ["tea", "rum", "gin"]
    assert listed["rank"].to_list() == [1, 2, 3]


def test_own_makers_are_used(shop, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    fake_lenskit(monkeypatch)
    assert LensKitModel(make=lambda: "mine").fit(shop).pipeline_.scorer == "mine"


# Without the libraries


@pytest.mark.parametrize(
    ("kind", "package", "extra"),
    [
        (ImplicitModel, "implicit", "implicit"),
        (SurpriseModel, "surprise", "surprise"),
        (LensKitModel, "lenskit", "lenskit"),
    ],
)
def test_a_library_that_is_not_installed(kind, package: str, extra: str, shop, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    missing(package, monkeypatch)
    with pytest.raises(MissingExtraError, match=rf"discreet\[{extra}\]"):
        kind().fit(shop)


@pytest.mark.parametrize("kind", [ImplicitModel, LensKitModel])
def test_lists_need_a_fit(kind) -> None:
    with pytest.raises(UsageError, match="not been fitted"):
        kind().recommend(["ann"])


@pytest.mark.parametrize("kind", [SurpriseModel, LensKitModel])
def test_predictions_need_a_fit(kind) -> None:
    with pytest.raises(UsageError, match="not been fitted"):
        kind().predict([("ann", "tea")])


# The real ones, where they are installed


@pytest.mark.parametrize(
    ("package", "kind", "sees"),
    [("implicit", ImplicitModel, "list"), ("surprise", SurpriseModel, "ratings"), ("lenskit", LensKitModel, "ratings")],
)
def test_attack_on_a_real_library(package: str, kind, sees: str) -> None:
    pytest.importorskip(package)
    films = dc.synthetic.films(users=150, items=60, seed=7)
    row = SybilAttack(k=10, known=6, choose="rarest").run(lambda: kind(k=10), films, targets=6, seed=1).rows[0]
    assert row.sees == sees
    assert row.model == package
    # The target is one of few users who share rare items with the observer, and pulls the answers.
    assert row.exact_present > row.exact_absent
