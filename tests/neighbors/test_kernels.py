"""The compiled loops one by one: the formula of a pair, the layout of the ratings, the heaps of the lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from discreet.data import Interactions
from discreet.neighbors.kernels import Rule, pair_similarity
from discreet.neighbors.list_kernels import EMPTY, merge, offer, settle
from discreet.neighbors.profiles import Profiles, profiles_of
from discreet.neighbors.similarity import Similarity, neighbor_lists

# The formula

CORATED = Rule(whole=False, overlap=1, prior=0.0, shrinkage=0.0)


def test_multiples_are_exactly_alike_however_long() -> None:
    for n in (1.0, 3.0, 7.0, 1e6 + 3):
        for factor in (1.0, 2.0, 5.0):
            assert pair_similarity(CORATED, 5, factor * n, n, factor**2 * n) == 1.0


def test_rounding_never_leaves_the_range() -> None:
    assert pair_similarity(CORATED, 2, 1.0000000000000002, 1.0, 1.0) == 1.0
    assert pair_similarity(CORATED, 2, -1.0000000000000002, 1.0, 1.0) == -1.0


def test_no_norm_is_no_likeness() -> None:
    assert pair_similarity(CORATED, 2, 0.0, 0.0, 4.0) == 0.0
    assert pair_similarity(CORATED, 1, 0.0, 0.0, 4.0) == 0.0


def test_prior_overlap_and_shrinkage() -> None:
    assert pair_similarity(CORATED._replace(prior=3.0), 1, 1.0, 1.0, 1.0) == 0.25
    assert pair_similarity(CORATED._replace(overlap=2), 1, 1.0, 1.0, 1.0) == 0.0
    assert pair_similarity(CORATED._replace(shrinkage=3.0), 1, 1.0, 1.0, 1.0) == 0.25


# The layout

pairs = st.tuples(st.integers(0, 9), st.integers(0, 9))
datasets = st.dictionaries(pairs, st.integers(1, 5), max_size=60)


def matrix_of(found: Profiles, n_raters: int) -> np.ndarray:
    """One row a code, one column a rater, read from the lists by entity."""
    matrix = np.zeros((found.n, n_raters))
    for i in range(found.n):
        for record in range(found.starts[i], found.starts[i + 1]):
            place = found.place[record]
            assert found.entity[place] == i, "the place of the same rating"
            matrix[found.code[i], found.rater[record]] = found.value[place]
    return matrix


@given(datasets, st.sampled_from(("item", "user")), st.integers(1, 4))
@settings(max_examples=50)
def test_the_layout_holds_every_rating_twice(ratings: dict[Any, int], axis: Any, threads: int) -> None:
    columns = {"user_id": [u for u, _ in ratings], "item_id": [i for _, i in ratings], "rating": list(ratings.values())}
    data = Interactions({name: np.array(column, dtype=np.int64) for name, column in columns.items()}, scale="1:5")
    expected = data.csr.toarray() if axis == "user" else data.csr.toarray().T
    found = profiles_of(data, axis=axis, threads=threads)
    assert_array_equal(matrix_of(found, expected.shape[1]), expected)
    assert_array_equal(found.squares[found.position], (expected**2).sum(axis=1))
    assert_array_equal(found.position[found.code], np.arange(found.n))
    assert (np.diff(np.diff(found.starts)) >= 0).all(), "rising popularity"
    for u in range(expected.shape[1]):
        own = slice(found.rater_starts[u], found.rater_starts[u + 1])
        assert_array_equal(np.sort(found.entity[own]), found.entity[own])
        assert_array_equal(found.value[own], expected[found.code[found.entity[own]], u])
    for one, other in zip(found, profiles_of(data, axis=axis, threads=1), strict=True):
        assert_array_equal(one, other)


def test_small_whole_numbers_take_a_byte_and_others_eight() -> None:
    def dtype(rating: float, **options: Any) -> np.dtype:
        return profiles_of(Interactions([("u", "a", rating)], **options), axis="item").value.dtype

    assert dtype(5, scale="1:5") == np.uint8
    assert dtype(4.5, scale="0.5:5:0.5") == np.uint8
    assert dtype(0.3, scale="0.1:1:0.1") == np.uint8
    assert dtype(7) == np.uint8
    assert dtype(4.5) == np.float64
    assert dtype(256) == np.float64
    assert dtype(-1, scale="-5:5") == np.float64


def test_centering_takes_the_means_away() -> None:
    data = Interactions([("u", "a", 5), ("u", "b", 2), ("v", "a", 2)], scale="1:5")
    by_item = profiles_of(data, axis="item", centering="entity")
    assert matrix_of(by_item, 2).tolist() == [[1.5, -1.5], [0, 0]]
    by_user = profiles_of(data, axis="item", centering="rater")
    assert matrix_of(by_user, 2).tolist() == [[1.5, 0], [-1.5, 0]]


def test_a_catalog_that_does_not_fit_into_two_bytes() -> None:
    data = Interactions([(u, 69_999 - i, 3) for u in range(2) for i in range(3)], scale="1:5", items=range(70_000))
    assert profiles_of(data, axis="item").entity.dtype == np.uint32
    for kind in ("cosine", "cosine_full"):
        found = neighbor_lists(data, axis="item", similarity=Similarity(kind), k=2, ties="id")
        assert found.indices[-3:].tolist() == [[69_998, 69_999], [69_997, 69_999], [69_997, 69_998]]
        assert (found.indices[:-3] == -1).all()


# The heaps


def empty(rows: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((rows, k), -np.inf), np.full((rows, k), EMPTY, dtype=np.int32)


# Few different scores, so that ties are the rule.
offers = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from((-0.5, 0.0, 0.25, 1.0)), st.integers(0, 40)), max_size=80
)


@given(offers, st.integers(1, 7), st.integers(1, 3))
def test_the_best_are_kept_in_order_however_they_come(entries: list[Any], k: int, threads: int) -> None:
    entries = list({(row, rank): (row, score, rank) for row, score, rank in entries}.values())
    heaps = [empty(3, k) for _ in range(threads)]
    for number, (row, score, rank) in enumerate(entries):
        scores, ranks = heaps[number % threads]
        offer(scores[row], ranks[row], score, rank)
    for other in heaps[1:]:
        merge(*heaps[0], *other)
    scores, ranks = heaps[0]
    settle(scores, ranks, np.arange(100, 200))
    for row in range(3):
        best = sorted((-score, rank) for at, score, rank in entries if at == row)[:k]
        assert scores[row, : len(best)].tolist() == [-score for score, _ in best]
        assert ranks[row, : len(best)].tolist() == [100 + rank for _, rank in best]
        assert (ranks[row, len(best) :] == -1).all()
        assert (scores[row, len(best) :] == 0).all()


def test_minus_one_is_above_nothing() -> None:
    """The lowest possible similarity still takes an empty place."""
    scores, ranks = empty(1, 2)
    offer(scores[0], ranks[0], -1.0, 3)
    settle(scores, ranks, np.arange(5))
    assert ranks.tolist() == [[3, -1]]
    assert scores.tolist() == [[-1.0, 0.0]]


@pytest.mark.parametrize("k", [1, 2, 50])
def test_quick_scores_lose_nobody(k: int) -> None:
    """Cosines that differ in the eighth digit only: 32 bits cannot tell them apart, the lists must."""
    stream = np.random.default_rng(3)
    user, item = np.nonzero(np.ones((400, 80)))
    data = Interactions({"user_id": user, "item_id": item, "rating": 254 + stream.integers(0, 2, size=user.size)})
    dense = data.csr.toarray().astype(np.float64)
    exact = (dense.T @ dense) / np.sqrt(np.outer((dense**2).sum(axis=0), (dense**2).sum(axis=0)))
    np.fill_diagonal(exact, -1)
    found = neighbor_lists(data, axis="item", similarity=Similarity("cosine_full"), k=k, ties="id")
    assert_array_equal(found.indices, np.argsort(-exact, axis=1, kind="stable")[:, :k])
