"""Candidates of many questions, weighted means, answers that stay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.interactions import Interactions
from discreet.models.published_model import Answers, entity_means
from discreet.neighbors.pair_table import PairTable
from discreet.neighbors.prediction import Chosen, Pools, parts_of_size, ragged, weighted_mean
from discreet.neighbors.selection import Nearest
from discreet.neighbors.similarity import Similarity, similarity_rows
from discreet.testing.models import two_tastes


def chosen(other: list[int], weight: list[float], value: list[float]) -> Chosen:
    return Chosen(np.array([other]), np.array([weight]), np.array([value]))


def test_the_mean_is_weighed_by_similarity_and_negative_weights_turn_what_is_said_around() -> None:
    found = chosen([0, 1], [0.5, -0.5], [5.0, 1.0])
    assert weighted_mean(found, means=np.array([3.0, 3.0])).tolist() == [2.0]
    assert weighted_mean(found, means=None).tolist() == [2.0]
    assert weighted_mean(found, means=None, equal=True).tolist() == [3.0]


def test_who_has_no_rating_says_nothing() -> None:
    found = chosen([0, 1, -1], [0.5, 9.0, 0.0], [4.0, np.nan, np.nan])
    assert weighted_mean(found, means=None).tolist() == [4.0]
    assert weighted_mean(found, means=np.array([3.0, np.nan])).tolist() == [1.0]
    assert np.isnan(weighted_mean(chosen([1], [9.0], [np.nan]), means=None)).all()
    assert np.isnan(weighted_mean(chosen([1], [0.0], [3.0]), means=None)).all()


def test_means_of_those_without_values_are_unknown() -> None:
    np.testing.assert_array_equal(
        entity_means(np.array([2, 2]), np.array([1.0, 4.0]), 4), [np.nan, np.nan, 2.5, np.nan]
    )


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), min_size=1, max_size=20))
def test_ragged_joins_ranges(lists: list[tuple[int, int]]) -> None:
    begin, size = (np.array(column) for column in zip(*lists, strict=True))
    starts, cells = ragged(begin, size)
    for number, (first, length) in enumerate(lists):
        assert cells[starts[number] : starts[number + 1]].tolist() == list(range(first, first + length))


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 40))
def test_parts_cover_everything_once_and_stay_small(cost: list[int], most: int) -> None:
    parts = list(parts_of_size(np.array(cost, dtype=np.int64), most))
    assert [place for part in parts for place in range(part.start, part.stop)] == list(range(len(cost)))
    # The first of a part may stick out over the line before; the others stay under it.
    assert all(sum(cost[part][1:]) < most for part in parts)


def test_pools_leave_candidates_out_and_choose_from_the_rest() -> None:
    pools = Pools(
        starts=np.array([0, 3, 3, 5]),
        other=np.array([4, 7, 9, 7, 4]),
        similarity=np.array([0.9, 0.0, 0.3, 0.2, 0.8]),
        sensitivity=None,
        value=np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
    )
    kept = pools.only(pools.similarity != 0)
    assert kept.starts.tolist() == [0, 2, 2, 4]
    found = kept.choose(Nearest(1, ties="id"))
    assert found.other.tolist() == [[4], [-1], [4]]
    assert found.weight.tolist() == [[0.9], [0.0], [0.8]]
    np.testing.assert_array_equal(found.value, [[1.0], [np.nan], [5.0]])


def test_nobody_to_choose_from_is_nobody_chosen() -> None:
    nothing = Pools(np.zeros(3, dtype=np.int64), np.zeros(0, dtype=int), np.zeros(0), None, np.zeros(0))
    found = nothing.choose(Nearest(2))
    assert found.other.tolist() == [[-1, -1], [-1, -1]]
    assert np.isnan(weighted_mean(found, means=np.zeros(0))).all()


def test_the_best_come_first_and_the_lower_id_among_equals() -> None:
    pools = Pools(np.array([0, 3]), np.array([0, 1, 2]), np.array([0.5, 0.5, 0.9]), None, np.ones(3))
    assert pools.choose(Nearest(2, ties="id")).other.tolist() == [[2, 0]]


# Answers that stay


class Counter:
    """Draws that are never the same twice."""

    def __init__(self) -> None:
        self.drawn = 0

    def some(self, places: np.ndarray) -> np.ndarray:
        return np.array([float(self._next()) for _ in places])

    def rows(self, places: np.ndarray) -> np.ndarray:
        return np.array([[float(self._next()) for _ in range(3)] for _ in places])

    def _next(self) -> int:
        self.drawn += 1
        return self.drawn


def test_an_answer_is_drawn_once() -> None:
    answers, counter = Answers(), Counter()
    assert answers.some(["a", "b", "a"], np.array([0, 0, 0]), counter.some).tolist() == [1, 2, 1]
    assert answers.some(["b", "a"], np.array([0, 2]), counter.some).tolist() == [2, 3]
    assert counter.drawn == 3


def test_answers_about_all_items_keep_what_was_answered_before() -> None:
    answers, counter = Answers(), Counter()
    answers.some(["a"], np.array([1]), counter.some)
    whole = answers.all(["a", "b", "a"], counter.rows)
    assert whole[0].tolist() == whole[2].tolist() == [2, 1, 4]
    assert answers.some(["b"], np.array([2]), counter.some).tolist() == [whole[1, 2]]
    assert answers.all([], counter.rows).size == 0


# Tables of pairs


@pytest.mark.parametrize("form", [None, "lemma", "exact"])
@pytest.mark.parametrize("axis", ["item", "user"])
def test_rows_on_demand_are_the_whole_table(axis: str, form: str | None) -> None:
    data = two_tastes()
    options = {"axis": axis, "similarity": Similarity("pearson"), "form": form}
    whole, few = PairTable(data, **options), PairTable(data, **options, whole=False)  # type: ignore[arg-type]
    assert whole.is_whole
    assert not few.is_whole
    target, other = np.array([3, 3, 1, 7]), np.array([0, 5, 1, 2])
    for one, two in zip(whole.at(target, other), few.at(target, other), strict=True):
        assert (one is None) == (two is None) == (form is None and one is None)
        if one is not None and two is not None:
            np.testing.assert_allclose(one, two, atol=1e-6)


@pytest.mark.parametrize("kind", ["cosine", "cosine_full", "pearson"])
def test_a_newcomer_is_compared_like_a_user(kind: str) -> None:
    """Take one user out, let the same history come in as a stranger's: the similarities are those there were."""
    data, similarity = two_tastes(), Similarity(kind)  # type: ignore[arg-type]
    out = data.users.code("u7")
    rest = data.filter(data.user != out)
    table = PairTable(rest, axis="user", similarity=similarity, form="lemma")
    found = table.newcomers(data.csr[[0, out]][[1, 1]])
    expected = similarity_rows(data, axis="user", similarity=similarity, rows=[out])[0]
    expected = expected[data.users.encode(rest.users.series)]
    np.testing.assert_allclose(found.similarity, [expected, expected], atol=1e-6)
    assert found.lemma is not None
    assert (found.lemma[:, expected != 0] > 0).all()


def test_a_newcomer_without_a_history_is_like_nobody() -> None:
    data = two_tastes()
    table = PairTable(data, axis="user", similarity=Similarity("cosine"), form=None)
    empty = data.csr[[0]] * 0
    empty.eliminate_zeros()
    assert not table.newcomers(empty).similarity.any()


def test_models_on_the_same_data_share_one_table() -> None:
    data = Interactions([("ann", "tea", 5), ("ann", "rum", 4), ("bob", "tea", 3), ("bob", "rum", 3)], scale="1:5")
    with_sensitivity = PairTable(data, axis="item", similarity=Similarity(), form="exact")
    without = PairTable(data, axis="item", similarity=Similarity(), form=None)
    assert with_sensitivity._whole is without._whole
