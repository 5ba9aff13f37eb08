"""Hand-computed cases; a slow second implementation, one user at a time; scikit-learn and Spark's published example."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as sk

from discreet.data import Interactions
from discreet.errors import EvaluationError
from discreet.evaluation.matches import match
from discreet.evaluation.ranking import (
    RANKING_METRICS,
    average_precision_at_k,
    evaluate_ranking,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)

N_ITEMS = 8


def one_user(name: str, places: list[int], relevant: dict[int, float], k: int) -> float:
    """The definitions once more, in the plainest Python: item codes in order (−1 is an empty place) and gains."""
    first = places[:k]
    hits = [i for i, item in enumerate(first, start=1) if item in relevant]
    if name == "precision":
        return len(hits) / k
    if name == "recall":
        return len(hits) / len(relevant)
    if name == "truncated_recall":
        return len(hits) / min(k, len(relevant))
    if name == "hit":
        return 1.0 if hits else 0.0
    if name == "mrr":
        return 1 / hits[0] if hits else 0.0
    if name == "map":
        return sum(sum(1 for j in hits if j <= i) / i for i in hits) / min(k, len(relevant))
    assert name == "ndcg"
    best = sorted(relevant.values(), reverse=True)[:k]
    gained = sum(relevant[first[i - 1]] / math.log2(i + 1) for i in hits)
    return gained / sum(gain / math.log2(i + 1) for i, gain in enumerate(best, start=1))


@st.composite
def datasets(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Lists with gaps, and a matrix of ratings, 0 for what is not relevant; the first user has something."""
    n_users = draw(st.integers(1, 5))
    depth = draw(st.integers(1, N_ITEMS))
    rows = []
    for _ in range(n_users):
        order = draw(st.permutations(range(N_ITEMS)))[:depth]
        empty = draw(st.sets(st.integers(0, depth - 1)))
        rows.append([-1 if place in empty else item for place, item in enumerate(order)])
    cells = st.lists(st.integers(0, 5), min_size=N_ITEMS, max_size=N_ITEMS)
    ratings = np.array(draw(st.lists(cells, min_size=n_users, max_size=n_users)))
    ratings[0, draw(st.integers(0, N_ITEMS - 1))] = 3
    return np.array(rows), ratings


def as_table(codes: np.ndarray, seed: int = 0) -> pl.DataFrame:
    user, column = np.nonzero(codes >= 0)
    frame = pl.DataFrame({"user_id": user, "item_id": codes[user, column], "rank": column + 1})
    return frame.sample(fraction=1, shuffle=True, seed=seed)


@settings(max_examples=150, deadline=None)
@given(datasets(), st.integers(1, 10), st.sampled_from(["binary", "linear"]))
def test_agrees_with_one_user_at_a_time(dataset: tuple[np.ndarray, np.ndarray], k: int, gains: str) -> None:
    codes, ratings = dataset
    found = match(codes, held_out=sparse.csr_array(ratings), gains=gains)  # type: ignore[arg-type]
    for name, metric in RANKING_METRICS.items():
        expected = [
            one_user(
                name, row.tolist(), {i: float(r) if gains == "linear" else 1.0 for i, r in enumerate(rated) if r}, k
            )
            for row, rated in zip(codes, ratings, strict=True)
            if rated.any()
        ]
        assert metric(found, k=k) == pytest.approx(expected), name


@settings(deadline=None)
@given(datasets(), st.integers(1, 8))
def test_tables_and_matrices_agree(dataset: tuple[np.ndarray, np.ndarray], k: int) -> None:
    codes, ratings = dataset
    user, item = np.nonzero(ratings)
    held_out = Interactions({"user_id": user, "item_id": item}, items=range(N_ITEMS))
    known = np.unique(user)
    by_matrix = evaluate_ranking(codes, held_out=sparse.csr_array(ratings), k=k)
    table = as_table(codes)
    if not table["user_id"].is_in(known.tolist()).any():
        return  # nobody is known: refused, and tested elsewhere
    by_table = evaluate_ranking(table, held_out=held_out, k=k)
    assert by_table.values == by_matrix.values
    assert by_table.per_user is not None
    assert by_table.per_user["user_id"].to_list() == known.tolist()


@settings(deadline=None)
@given(datasets(), st.integers(1, 8))
def test_bounds_and_growth(dataset: tuple[np.ndarray, np.ndarray], k: int) -> None:
    codes, ratings = dataset
    found = match(codes, held_out=sparse.csr_array(ratings))
    now = {name: metric(found, k=k) for name, metric in RANKING_METRICS.items()}
    for name, values in now.items():
        assert np.all((values >= 0) & (values <= 1 + 1e-12)), name
    for name in ("recall", "mrr", "hit"):  # a longer list can only help these
        assert np.all(RANKING_METRICS[name](found, k=k + 1) >= now[name]), name
    assert np.all(now["recall"] <= now["truncated_recall"] + 1e-12)
    assert np.all(now["mrr"] <= now["hit"])
    assert np.array_equal(now["hit"] > 0, now["precision"] > 0)


@settings(deadline=None)
@given(datasets(), st.integers(1, 8))
def test_names_of_users_and_items_do_not_matter(dataset: tuple[np.ndarray, np.ndarray], k: int) -> None:
    codes, ratings = dataset
    rng = np.random.default_rng(codes.size)
    items, users = rng.permutation(N_ITEMS), rng.permutation(len(codes))
    renamed = np.where(codes < 0, -1, items[codes])[users]
    moved = np.zeros_like(ratings)
    moved[:, items] = ratings
    first = evaluate_ranking(codes, held_out=sparse.csr_array(ratings), k=k, gains="linear")
    second = evaluate_ranking(renamed, held_out=sparse.csr_array(moved[users]), k=k, gains="linear")
    assert first.values == pytest.approx(dict(second.values))


@settings(deadline=None)
@given(datasets(), st.integers(1, 8))
def test_the_best_list_has_the_best_values(dataset: tuple[np.ndarray, np.ndarray], k: int) -> None:
    _, ratings = dataset
    best = np.argsort(-ratings, axis=1, kind="stable")
    found = match(best, held_out=sparse.csr_array(ratings), gains="linear")
    for name in ("truncated_recall", "ndcg", "map", "mrr", "hit"):
        assert RANKING_METRICS[name](found, k=k) == pytest.approx(np.ones(len(found))), name


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, N_ITEMS))
def test_agrees_with_scikit_learn(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    order = np.argsort(rng.random((4, N_ITEMS)), axis=1)
    scores = np.empty((4, N_ITEMS))
    np.put_along_axis(scores, order, -np.arange(N_ITEMS, dtype=float)[None], axis=1)
    ratings = rng.integers(0, 6, size=(4, N_ITEMS))
    ratings[:, 0] = 2
    relevant = sparse.csr_array(ratings)
    assert ndcg_at_k(match(order, held_out=relevant), k=k).mean() == pytest.approx(
        sk.ndcg_score(ratings > 0, scores, k=k)
    )
    assert ndcg_at_k(match(order, held_out=relevant, gains="linear"), k=k).mean() == pytest.approx(
        sk.ndcg_score(ratings, scores, k=k)
    )
    whole = average_precision_at_k(match(order, held_out=relevant), k=N_ITEMS)
    assert whole == pytest.approx(
        [sk.average_precision_score(rated > 0, score) for rated, score in zip(ratings, scores, strict=True)]
    )


def test_agrees_with_the_published_example_of_spark() -> None:
    """The example in the documentation of pyspark.mllib's RankingMetrics, which counts a user without relevant items
    as 0 where we leave that user out: hence 2/3."""
    lists = [[1, 6, 2, 7, 8, 3, 9, 10, 4, 5], [4, 1, 5, 6, 2, 7, 3, 8, 9, 10], [1, 2, 3, 4, 5]]
    codes = np.array([row + [-1] * (10 - len(row)) for row in lists])
    relevant = np.zeros((3, 11))
    relevant[0, [1, 2, 3, 4, 5]] = relevant[1, [1, 2, 3]] = 1
    scores = evaluate_ranking(codes, held_out=sparse.csr_array(relevant), k=[1, 2, 3, 5, 10, 15])
    assert dict(scores.counts)["without_relevant_items"] == 1
    published = {
        "precision@1": 0.33,
        "precision@5": 0.26,
        "precision@15": 0.17,
        "map@15": 0.35,
        "map@1": 0.33,
        "map@2": 0.25,
        "ndcg@3": 0.33,
        "ndcg@10": 0.48,
        "recall@1": 0.06,
        "recall@5": 0.35,
        "recall@15": 0.66,
    }
    ours = {name: math.floor(scores[name] * 2 / 3 * 100 + 1e-9) / 100 for name in published}
    assert ours == published


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_agrees_with_the_definitions_of_recbole(seed: int) -> None:
    """Its formulas on full lists, for all k at once: running sums over a matrix of hits."""
    rng = np.random.default_rng(seed)
    order = np.argsort(rng.random((4, N_ITEMS)), axis=1)
    relevant = rng.random((4, N_ITEMS)) < 0.4
    relevant[:, 0] = True
    hits, n_relevant = np.take_along_axis(relevant, order, axis=1), relevant.sum(axis=1, keepdims=True)
    ranks = np.arange(1, N_ITEMS + 1)
    running, reachable = np.cumsum(hits, axis=1), np.minimum(ranks, n_relevant)
    ideal = np.cumsum(1 / np.log2(ranks + 1))
    expected = {
        "precision": running / ranks,
        "recall": running / n_relevant,
        "ndcg": np.cumsum(hits / np.log2(ranks + 1), axis=1) / ideal[reachable - 1],
        "map": np.cumsum(running / ranks * hits, axis=1) / reachable,
        "mrr": np.where(running > 0, 1 / (1 + hits.argmax(axis=1, keepdims=True)), 0),
        "hit": running > 0,
    }
    scores = evaluate_ranking(order, held_out=sparse.csr_array(relevant), k=ranks.tolist(), metrics=list(expected))
    for name, values in expected.items():
        assert [scores[f"{name}@{k}"] for k in ranks] == pytest.approx(values.mean(axis=0)), name


def test_differs_from_lenskit_where_the_documentation_says_so() -> None:
    """One item of a list of two is relevant, at place 2, and k is 4. LensKit divides the precision by the length of the
    list, and its discount log₂ max(2, place) treats the first two places alike; its recall is our truncated one."""
    found = match(np.array([[0, 1, -1, -1]]), held_out=sparse.csr_array([[0, 1, 0, 0]]), depth=4)
    assert RANKING_METRICS["precision"](found, k=4) == [1 / 4]  # LensKit: 1/2
    assert RANKING_METRICS["ndcg"](found, k=4) == pytest.approx([1 / math.log2(3)])  # LensKit: 1
    many = match(np.array([[0]]), held_out=sparse.csr_array([[1, 1, 1]]))
    assert RANKING_METRICS["truncated_recall"](many, k=1) == [1]  # LensKit's recall
    assert RANKING_METRICS["recall"](many, k=1) == pytest.approx([1 / 3])


def test_by_hand() -> None:
    """Relevant: 1, 3, 4. List: 1, 0, 3. Hits at places 1 and 3."""
    found = match(np.array([[1, 0, 3]]), held_out=sparse.csr_array([[0, 1, 0, 1, 1]]))
    expected = {
        "precision": 2 / 3,
        "recall": 2 / 3,
        "truncated_recall": 2 / 3,
        "ndcg": (1 + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2),
        "map": (1 + 2 / 3) / 3,
        "mrr": 1.0,
        "hit": 1.0,
    }
    assert {name: metric(found, k=3)[0] for name, metric in RANKING_METRICS.items()} == pytest.approx(expected)


def test_short_lists_and_empty_places_are_misses() -> None:
    relevant = sparse.csr_array(np.eye(3))
    found = match(np.array([[0, -1], [-1, 1], [-1, -1]]), held_out=relevant)
    assert precision_at_k(found, k=4).tolist() == [0.25, 0.25, 0.0]
    assert RANKING_METRICS["mrr"](found, k=4).tolist() == [1.0, 0.5, 0.0]
    assert recall_at_k(found, k=4).tolist() == [1.0, 1.0, 0.0]


def test_an_item_that_nobody_held_out_is_a_miss_that_takes_a_place() -> None:
    held_out = Interactions([("ann", "tea"), ("bob", "rum")])
    table = {"user_id": ["ann", "ann"], "item_id": ["unheard of", "tea"], "rank": [1, 2]}
    scores = evaluate_ranking(table, held_out=held_out, k=2)
    assert scores.of_users("mrr@2").tolist() == [0.5, 0.0]


def test_the_rank_sets_the_order_and_the_score_does_not() -> None:
    held_out = Interactions([("ann", "tea")])
    table = pl.DataFrame({"user_id": ["ann"] * 2, "item_id": ["rum", "tea"], "score": [0.9, 0.1], "rank": [2, 1]})
    assert evaluate_ranking(table, held_out=held_out, k=1)["hit@1"] == 1.0


def test_counts_say_who_was_counted() -> None:
    held_out = Interactions([("ann", "tea", 5), ("bob", "tea", 5), ("eve", "tea", 1), ("dan", "rum", 5)], scale="1:5")
    table = {
        "user_id": ["ann", "ann", "bob", "eve", "zoe"],
        "item_id": ["tea", "rum", "tea", "tea", "tea"],
        "rank": [1, 2, 1, 1, 1],
    }
    scores = evaluate_ranking(table, held_out=held_out, k=2, relevant_from=4)
    assert dict(scores.counts) == {
        "users": 3,
        "without_a_list": 1,
        "with_a_short_list": 1,
        "without_relevant_items": 1,
        "unknown": 1,
    }
    assert scores["hit@2"] == pytest.approx(2 / 3)


def test_ten_thousand_users() -> None:
    n_users, n_items, k = 10_000, 5_000, 100
    rng = np.random.default_rng(0)
    codes = ((rng.integers(0, n_items, size=(n_users, 1)) + 7 * np.arange(k)) % n_items).astype(np.int32)
    starts = np.arange(0, 10 * n_users + 1, 10)
    relevant = sparse.csr_array((np.ones(10 * n_users), codes[:, 5:95:9].ravel(), starts), shape=(n_users, n_items))
    scores = evaluate_ranking(codes, held_out=relevant, k=[10, k])
    assert scores["recall@100"] == 1.0
    assert scores["mrr@10"] == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k=0 is not a list length"),
        ({"k": 2.0}, "k=2.0 is not a list length"),
        ({"k": True}, "k=True is not a list length"),
        ({"k": []}, "does not name each list length once"),
        ({"k": [2, 2]}, "does not name each list length once"),
        ({"metrics": ["accuracy"]}, "metrics must be .*precision, recall"),
        ({"metrics": "ndcg"}, "metrics must be .*got 'ndcg'"),
        ({"metrics": []}, r"metrics must be .*got \[\]"),
        ({"metrics": ["mrr", "mrr"]}, "each once"),
    ],
)
def test_refuses(options: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate_ranking(np.array([[0]]), held_out=sparse.csr_array([[1]]), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("metric", RANKING_METRICS.values())
def test_every_metric_checks_k(metric: Callable[..., np.ndarray]) -> None:
    found = match(np.array([[0, 1]]), held_out=sparse.csr_array([[1, 0]]), depth=1)
    with pytest.raises(EvaluationError, match=r"matched depth \(1\)"):
        metric(found, k=2)
    with pytest.raises(EvaluationError, match="k=-1 is not a list length"):
        metric(found, k=-1)
