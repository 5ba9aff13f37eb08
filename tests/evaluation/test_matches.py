from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from discreet.data import Interactions
from discreet.errors import EvaluationError
from discreet.evaluation.matches import match

RATED = Interactions(
    [("ann", "tea", 5), ("ann", "rum", 2), ("bob", "tea", 1), ("eve", "gin", 4), ("eve", "rum", 5)], scale="1:5"
)
LISTS = {
    "user_id": ["ann", "ann", "eve", "zoe"],
    "item_id": ["rum", "tea", "rum", "tea"],
    "rank": [1, 3, 2, 1],
}


def test_hits_ideal_and_who_is_counted() -> None:
    found = match(LISTS, held_out=RATED, gains="linear")
    assert found.users.to_list() == ["ann", "bob", "eve"]
    assert found.n_relevant.tolist() == [2, 1, 2]
    assert found.lengths.tolist() == [2, 0, 1]
    assert list(zip(found.hits.user, found.hits.place, found.hits.gain, strict=True)) == [
        (0, 1, 2),
        (0, 3, 5),
        (2, 2, 5),
    ]
    assert list(zip(found.ideal.user, found.ideal.place, found.ideal.gain, strict=True)) == [
        (0, 1, 5),
        (0, 2, 2),
        (1, 1, 1),
        (2, 1, 5),
        (2, 2, 4),
    ]
    assert (found.n_without_relevant, found.n_unknown) == (0, 1)


def test_relevance_can_begin_at_a_rating() -> None:
    found = match(LISTS, held_out=RATED, relevant_from=4)
    assert found.users.to_list() == ["ann", "eve"]
    assert found.n_without_relevant == 1
    assert found.hits.gain.tolist() == [1.0, 1.0]
    assert list(zip(found.hits.user, found.hits.place, strict=True)) == [(0, 3), (1, 2)]


def test_exponential_gains() -> None:
    assert match(LISTS, held_out=RATED, gains="exponential").hits.gain.tolist() == [3.0, 31.0, 31.0]


def test_matrix_beside_interactions_uses_their_codes() -> None:
    codes = np.array([[1, -1, 2], [-1, -1, -1], [-1, 1, -1]])
    by_codes, by_ids = match(codes, held_out=RATED), match(LISTS, held_out=RATED)
    assert by_codes.users.to_list() == by_ids.users.to_list()
    assert by_codes.hits.place.tolist() == by_ids.hits.place.tolist()
    assert by_codes.lengths.tolist() == by_ids.lengths.tolist()


def test_matrix_beside_a_sparse_matrix_numbers_the_rows() -> None:
    relevant = sparse.csr_array(np.array([[0, 0, 0], [1, 0, 1]]))
    found = match(np.array([[0, 1], [2, 1]]), held_out=relevant)
    assert found.users.to_list() == [1]
    assert found.n_without_relevant == 1
    assert found.hits.place.tolist() == [1]


def test_stored_entries_that_repeat_are_one_item() -> None:
    relevant = sparse.coo_array(([1, 1, 1], ([0, 0, 0], [2, 2, 0])), shape=(1, 3))
    unsorted = sparse.csr_array((np.ones(3), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    for matrix in (relevant, unsorted):
        assert match(np.array([[2]]), held_out=matrix).n_relevant.tolist() == [2]
    assert unsorted.indices.tolist() == [2, 0, 2]  # the caller's matrix stays as it was


def test_visits_grade_by_their_number() -> None:
    visits = Interactions([("ann", "tea")] * 3 + [("ann", "rum")], duplicates="keep")
    found = match(LISTS, held_out=visits, gains="linear")
    assert found.n_relevant.tolist() == [2]
    assert found.hits.gain.tolist() == [1.0, 3.0]


def test_ids_of_any_kind() -> None:
    held_out = Interactions([(("a", 1), "tea"), (("b", 2), "rum")])
    found = match({"user_id": [("b", 2)], "item_id": ["rum"], "rank": [1]}, held_out=held_out)
    assert found.users.to_list() == [("a", 1), ("b", 2)]
    assert found.hits.user.tolist() == [1]


def test_nobody_has_a_list() -> None:
    nothing = {"user_id": [], "item_id": [], "rank": np.array([], dtype=np.int64)}
    found = match(nothing, held_out=RATED)
    assert found.lengths.tolist() == [0, 0, 0]
    assert found.hits.user.size == 0


@pytest.mark.parametrize(
    ("recommended", "held_out", "options", "message"),
    [
        (LISTS, RATED, {"relevant_from": 6}, "no user has a relevant held-out item.*lower relevant_from"),
        (np.empty((0, 3), int), sparse.csr_array((0, 5)), {}, "no user has a relevant"),
        (np.array([[0]]), RATED, {}, "1 rows of recommendations and 3 users"),
        (LISTS, RATED.csr, {}, "names users and items by id"),
        (LISTS, [[1, 2]], {}, "held_out must be .*got list"),
        (LISTS, RATED, {"gains": "cubic"}, "gains must be one of .*'cubic'"),
        (LISTS, RATED, {"depth": 0}, "k=0 is not a list length"),
        (LISTS, Interactions([("ann", "tea")]), {"gains": "linear"}, "have no ratings"),
        (LISTS, Interactions([("ann", "tea")]), {"relevant_from": 4}, "have no ratings"),
        (LISTS, Interactions([("ann", "tea", 0)], scale="0:5"), {"gains": "linear"}, "value of 0 has no linear gain"),
        (LISTS, Interactions([("ann", "tea", 5e3)]), {"gains": "exponential"}, "no exponential gain"),
    ],
)
def test_refuses(recommended: object, held_out: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        match(recommended, held_out=held_out, **options)  # type: ignore[arg-type]
