"""Newcomers through TwinSearch and through a dictionary: the same answers as computing them."""

from __future__ import annotations

import copy
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.neighbors import newcomers
from discreet.neighbors.knn import KNN, PPNS
from discreet.neighbors.similarity import Similarity
from discreet.testing.models import two_tastes

WAYS = ("twins", "hash")


@pytest.fixture(scope="module")
def tastes() -> Interactions:
    return two_tastes()


def history_of(data: Interactions, user: int) -> dict[Any, float]:
    row = data.csr[[user]]
    items = data.items.ids()
    return {items[code]: float(value) for code, value in zip(row.indices, row.data, strict=True)}


def answers(model: KNN, history: dict[Any, float]) -> np.ndarray:
    return model.predict(model.items_.ids(), history=history)["score"].to_numpy()


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    "similarity",
    ["cosine", "cosine_full", "pearson", Similarity("pearson", 2, 3), Similarity("cosine_shrunk", shrinkage=2)],
    ids=str,
)
def test_a_copy_of_a_user_is_found_and_told_the_same(tastes: Interactions, how, similarity) -> None:
    setting = {"k": 3, "axis": "user", "similarity": similarity}
    computed, looked_up = KNN(**setting).fit(tastes), KNN(**setting, new_users=how).fit(tastes)
    for user in (0, 7, 19):
        history = history_of(tastes, user)
        np.testing.assert_array_equal(answers(looked_up, history), answers(computed, history))
    assert (looked_up._strangers.found, looked_up._strangers.computed) == (3, 0)
    assert (computed._strangers.found, computed._strangers.computed) == (0, 3)


@pytest.mark.parametrize("how", WAYS)
def test_the_second_of_equal_newcomers_finds_the_first(tastes: Interactions, how) -> None:
    setting = {"k": 3, "axis": "user", "similarity": "cosine", "centering": None}
    model = KNN(**setting, new_users=how).fit(tastes)
    new = dict(list(history_of(tastes, 3).items())[:4])
    other = {**new, next(iter(new)): 1.0 if next(iter(new.values())) > 2 else 5.0}
    expected = [answers(KNN(**setting).fit(tastes), one) for one in (new, other)]
    for _ in range(3):
        for history, right in zip((new, other), expected, strict=True):
            np.testing.assert_array_equal(answers(model, history), right)
            np.testing.assert_array_equal(answers(model, dict(reversed(list(history.items())))), right)
    assert (model._strangers.computed, model._strangers.found) == (2, 10)


@pytest.mark.parametrize("how", WAYS)
def test_sensitivities_come_with_the_row(tastes: Interactions, how) -> None:
    history = history_of(tastes, 5)
    lost = [PPNS(1, k=2, new_users=way).fit(tastes, allow_refuted=True) for way in ("compute", how)]
    rows = [model._strangers.rows(model._histories(None, history)[0]) for model in lost]
    np.testing.assert_array_equal(rows[0].similarity, rows[1].similarity)
    np.testing.assert_array_equal(rows[0].lemma, rows[1].lemma)
    assert lost[1]._strangers.found == 1


@pytest.mark.parametrize("how", WAYS)
def test_rows_that_are_computed_on_demand(tastes: Interactions, how, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.neighbors.pair_table.WHOLE", 1)
    setting = {"k": 3, "axis": "user", "similarity": "pearson"}
    computed, looked_up = KNN(**setting).fit(tastes), KNN(**setting, new_users=how).fit(tastes)
    assert not looked_up._table.is_whole
    history = history_of(tastes, 2)
    np.testing.assert_array_equal(answers(looked_up, history), answers(computed, history))
    assert looked_up._strangers.found == 1


@pytest.mark.parametrize("how", WAYS)
def test_records_without_ratings(tastes: Interactions, how) -> None:
    touched = Interactions({"user_id": tastes.user, "item_id": tastes.item})
    setting = {"k": 3, "axis": "user", "similarity": "cosine_full"}
    computed, looked_up = KNN(**setting).fit(touched), KNN(**setting, new_users=how).fit(touched)
    history = list(history_of(touched, 2))
    expected = computed.recommend(history=history, n=5)
    assert looked_up.recommend(history=history, n=5).equals(expected)
    assert looked_up._strangers.found == 1
    assert looked_up.recommend(history=[], n=2).height == 2


@pytest.mark.parametrize("how", WAYS)
def test_only_so_many_are_remembered(tastes: Interactions, how, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newcomers, "MOST_REMEMBERED", 1)
    model = KNN(k=3, axis="user", new_users=how).fit(tastes)
    items = tastes.items.ids()
    for first in (1.0, 2.0, 1.0, 2.0):
        answers(model, {items[0]: first, items[1]: 4.0, items[2]: 3.0})
    assert (model._strangers.computed, model._strangers.found) == (3, 1)


def test_where_there_is_nothing_to_look_up() -> None:
    with pytest.raises(UsageError, match="user-based"):
        KNN(new_users="twins")
    with pytest.raises(UsageError, match="user-based"):
        KNN(new_users="hash", axis="user", similarity="cosine_adjusted")
    with pytest.raises(UsageError, match="new_users"):
        KNN(axis="user", new_users="guess")  # type: ignore[arg-type]


def test_the_setting_is_saved(tastes: Interactions, tmp_path) -> None:
    KNN(k=3, axis="user", new_users="hash").fit(tastes).save(tmp_path / "model")
    assert KNN.load(tmp_path / "model").new_users == "hash"


class Switching(list[Any]):
    """A list that lets other threads run after every other row that is added."""

    def append(self, row: Any) -> None:
        place = len(self)
        super().append(row)
        time.sleep(0 if place % 2 else 0.02)


@pytest.mark.parametrize("how", WAYS)
def test_threads_that_ask_at_once_are_told_the_same(tastes: Interactions, how) -> None:
    """Two newcomers who are remembered at the same moment would get each other's places."""
    setting = {"k": 3, "axis": "user", "similarity": "cosine", "centering": None}
    histories = [dict(list(history_of(tastes, user).items())[: 2 + user % 4]) for user in range(12)]
    alone = KNN(**setting).fit(tastes)
    expected = [answers(alone, history) for history in histories]
    model = KNN(**setting, new_users=how).fit(tastes)
    model._strangers._remembered = Switching()
    for _ in range(2):
        with ThreadPoolExecutor(6) as pool:
            told = list(pool.map(lambda history: answers(model, history), histories))
        for one, right in zip(told, expected, strict=True):
            np.testing.assert_array_equal(one, right)
    distinct = {tuple(sorted(history.items())) for history in histories}
    assert model._strangers.computed == len(distinct)
    # A lock is no reason why a fitted model could not be copied.
    assert np.array_equal(answers(copy.deepcopy(alone), histories[0]), expected[0])
    assert model._strangers.computed + model._strangers.found == 24
