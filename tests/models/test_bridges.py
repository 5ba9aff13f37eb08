"""Models of discreet inside other libraries: stand-ins here, the real ones in `python -m benchmarks bridges`."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import discreet as dc
from discreet.attacks import RecToolsModel
from discreet.errors import MissingExtraError
from discreet.evaluation import evaluate_ranking
from discreet.factors import EASE
from discreet.models.bridges import lenskit_scorer, rectools_model


@pytest.fixture
def films() -> dc.Interactions:
    return dc.synthetic.films(users=60, items=20, seed=7)


def module(name: str, monkeypatch: pytest.MonkeyPatch, **members: Any) -> None:
    made = ModuleType(name)
    vars(made).update(members)
    monkeypatch.setitem(sys.modules, name, made)


@pytest.mark.parametrize(("make", "extra"), [(lenskit_scorer, "lenskit"), (rectools_model, "rectools")])
def test_a_library_that_is_missing_is_named(make: Any, extra: str) -> None:
    if extra in sys.modules:
        pytest.skip("the library is installed")
    with pytest.raises(MissingExtraError, match=extra):
        make(EASE())


class Users:
    """The map of ids of a RecTools dataset: numbers in the order in which they occur."""

    def __init__(self, ids: list[Any]) -> None:
        self.ids = list(dict.fromkeys(ids))
        self.size = len(self.ids)


class FakeDataset:
    def __init__(self, frame: pd.DataFrame) -> None:
        self.user_id_map, self.item_id_map = Users(frame["user_id"].tolist()), Users(frame["item_id"].tolist())
        user = frame["user_id"].map(self.user_id_map.ids.index)
        item = frame["item_id"].map(self.item_id_map.ids.index)
        table = pd.DataFrame({"user_id": user, "item_id": item, "weight": frame["weight"]})
        self.interactions = SimpleNamespace(df=table)
        shape = (self.user_id_map.size, self.item_id_map.size)
        self.matrix = csr_matrix((table["weight"], (user, item)), shape=shape)
        self.matrix.sort_indices()

    @classmethod
    def construct(cls, frame: pd.DataFrame) -> FakeDataset:
        return cls(frame)

    def get_user_item_matrix(self, include_weights: bool = True) -> Any:
        return self.matrix


class FakeBase:
    def fit(self, dataset: Any) -> Any:
        self._fit(dataset)  # type: ignore[attr-defined]
        return self


def rectools(monkeypatch: pytest.MonkeyPatch) -> None:
    module("rectools", monkeypatch, Columns=SimpleNamespace(User="user_id", Item="item_id", Weight="weight"))
    module("rectools.models", monkeypatch)
    module("rectools.models.base", monkeypatch, ModelBase=FakeBase)
    module("rectools.dataset", monkeypatch, Dataset=FakeDataset)


def test_with_the_interface_of_rectools_lists_are_the_same(films: dc.Interactions, monkeypatch: Any) -> None:
    """Its numbers of items are in another order than our catalog: ids 0, 1, 10, 11 …, 2 as text would be."""
    rectools(monkeypatch)
    frame = films.to_frame().sort("timestamp")
    table = pd.DataFrame({name: frame[name].to_list() for name in ("user_id", "item_id")})
    table["weight"] = frame["rating"].cast(float).to_list()
    dataset = FakeDataset(table)
    model = rectools_model(EASE(), scale="1:5").fit(dataset)
    alone = EASE().fit(dc.Interactions(frame, items=sorted(set(frame["item_id"])), scale="1:5"))
    for number, user in enumerate(dataset.user_id_map.ids[:10]):
        users, items, scores = model._recommend_u2i([number], dataset, 5, True, None)
        expected = alone.recommend([user], n=5)
        assert users == [number] * expected.height
        assert scores == pytest.approx(expected["score"].to_list())
        assert [dataset.item_id_map.ids[item] for item in items] == expected["item_id"].to_list()
    few = np.array([0, 1, 2])
    assert set(model._recommend_u2i([0], dataset, 5, False, few)[1]) <= set(few.tolist())


def test_models_of_rectools_are_asked_as_others_are(films: dc.Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    rectools(monkeypatch)

    class Fake:
        def fit(self, dataset: Any) -> None:
            self.size = dataset.item_id_map.size

        def recommend(self, users: list[int], dataset: Any, k: int, filter_viewed: bool) -> pd.DataFrame:
            rows = [(user, item, 1.0 / (1 + item)) for user in users for item in range(k)]
            return pd.DataFrame(rows, columns=["user_id", "item_id", "score"])

    told = RecToolsModel(Fake).fit(films).recommend(["u2", "u1"], n=3)
    assert told["user_id"].to_list() == ["u2"] * 3 + ["u1"] * 3
    assert told["item_id"].to_list() == films.items.decode(np.arange(3, dtype=np.int32)) * 2
    assert told["rank"].to_list() == [1, 2, 3] * 2


def test_formulas_of_lenskit_and_rectools() -> None:
    """As their sources have them: LensKit 2025.8 ``metrics/ranking``, RecTools 0.18 ``metrics/classification``."""
    from scipy import sparse

    generator = np.random.default_rng(5)
    relevant = generator.random((40, 30)) < 0.2
    relevant[:, 0] = True
    order = np.argsort(generator.random((40, 30)), axis=1)[:, :10]
    hits = np.take_along_axis(relevant, order, axis=1)
    weight = 1 / np.log2(np.arange(1, 11) + 1)
    n = relevant.sum(axis=1)
    ideal = np.array([weight[: min(10, one)].sum() for one in n])
    theirs = {
        "truncated_recall": hits.sum(axis=1) / np.minimum(n, 10),  # LensKit: Recall
        "recall": hits.sum(axis=1) / n,  # RecTools: Recall
        "precision": hits.sum(axis=1) / 10,  # both, where lists are full
        "ndcg": (hits * weight).sum(axis=1) / ideal,  # LensKit with offset=1, RecTools with divide_by_achievable
        "mrr": np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0),  # both
        "hit": hits.any(axis=1),  # both
    }
    found = evaluate_ranking(order, held_out=sparse.csr_array(relevant), k=10, metrics=list(theirs))
    for name, values in theirs.items():
        assert np.abs(found.of_users(f"{name}@10") - values).max() < 1e-9, name
