"""Similarities, lists and sensitivities against plain numpy on small datasets, and cases worked out by hand."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from discreet.data import Interactions
from discreet.errors import UsageError
from discreet.neighbors import dense, lists
from discreet.neighbors.similarity import (
    Similarity,
    neighbor_lists,
    pair_sensitivities,
    similarity_matrix,
    similarity_rows,
)

Matrix = NDArray[np.float64]

KINDS = ("cosine", "cosine_full", "pearson", "cosine_shrunk", "cosine_adjusted")
STARS = st.integers(1, 5)
HALVES = st.integers(1, 10).map(lambda steps: steps / 2)
REALS = st.floats(-10, 10, allow_subnormal=False).map(lambda x: round(x, 3))
SCALES: dict[str, Any] = {"1:5": STARS, "0.5:5:0.5": HALVES, "0:5": st.integers(0, 5), "-10:10:none": REALS}


@st.composite
def datasets(draw: st.DrawFn) -> Interactions:
    """Up to 7 users and 7 items; the catalog may have items that nobody rated."""
    scale = draw(st.sampled_from(sorted(SCALES)))
    pairs = st.tuples(st.integers(0, 6), st.integers(0, 6))
    ratings = draw(st.dictionaries(pairs, SCALES[scale], max_size=30))
    records = {
        "user_id": np.array([user for user, _ in ratings], dtype=np.int64),
        "item_id": np.array([item for _, item in ratings], dtype=np.int64),
        "rating": np.array(list(ratings.values()), dtype=np.float64),
    }
    return Interactions(records, scale=scale, items=np.arange(draw(st.integers(7, 9))))


@st.composite
def similarities(draw: st.DrawFn) -> Similarity:
    kind = draw(st.sampled_from(KINDS))
    shrinkage = draw(st.sampled_from((0, Fraction(1, 2), 10))) or int(kind == "cosine_shrunk")
    return Similarity(kind, minimum_overlap=draw(st.integers(1, 3)), shrinkage=shrinkage)


def stars(rows: list[list[int]]) -> Interactions:
    """One list a user, one number an item; 0 is no rating."""
    records = [(f"u{u}", i, r) for u, row in enumerate(rows) for i, r in enumerate(row) if r]
    return Interactions(records, scale="1:5", items=list(range(len(rows[0]))))


# The compiled loops in plain Python


def vectors(data: Interactions, axis: str, kind: str) -> Matrix:
    """One row an entity; NaN where there is no rating."""
    matrix = np.full((data.n_users, data.n_items), np.nan)
    matrix[data.user, data.item] = 1 if data.rating is None else data.rating
    if axis == "item":
        matrix = matrix.T
    counts = [np.maximum((~np.isnan(matrix)).sum(axis=side, keepdims=True), 1) for side in (0, 1)]
    if kind == "pearson":
        return matrix - np.nansum(matrix, axis=1, keepdims=True) / counts[1]
    if kind == "cosine_adjusted":
        return matrix - np.nansum(matrix, axis=0, keepdims=True) / counts[0]
    return matrix


def plain(x: Matrix, y: Matrix, similarity: Similarity, highest: float, gone: int | None = None) -> float:
    """Similarity of two vectors, with one co-rater taken out if told."""
    keep = np.arange(x.size) != (-1 if gone is None else gone)
    common = ~np.isnan(x) & ~np.isnan(y) & keep
    n = int(common.sum())
    if n < similarity.minimum_overlap:
        return 0.0
    inside = [common, common]
    if similarity.kind == "cosine_full":
        inside = [~np.isnan(x) & keep, ~np.isnan(y) & keep]
    prior = float(similarity.shrinkage) * highest**2 if similarity.kind == "cosine_shrunk" else 0.0
    norms = (np.sum(x[inside[0]] ** 2) + prior) * (np.sum(y[inside[1]] ** 2) + prior)
    if norms <= 1e-24:
        return 0.0
    weight = 1.0 if prior else n / (n + float(similarity.shrinkage))
    return weight * float(np.sum(x[common] * y[common])) / np.sqrt(norms)


def highest(data: Interactions) -> float:
    return 1.0 if data.scale is None else float(max(abs(data.scale.low), abs(data.scale.high)))


def plain_matrix(data: Interactions, axis: str, similarity: Similarity) -> Matrix:
    rows = vectors(data, axis, similarity.kind)
    return np.array([[plain(x, y, similarity, highest(data)) for y in rows] for x in rows]).reshape(
        len(rows), len(rows)
    )


def overlaps(data: Interactions, axis: str) -> NDArray[np.int64]:
    rated = (~np.isnan(vectors(data, axis, "cosine"))).astype(np.int64)
    return rated @ rated.T


# Against plain Python


@given(datasets(), similarities(), st.sampled_from(("item", "user")))
def test_rows_and_matrix_are_those_of_the_formulas(data: Interactions, similarity: Similarity, axis: Any) -> None:
    expected = plain_matrix(data, axis, similarity)
    found = similarity_rows(data, axis=axis, similarity=similarity, rows=range(len(expected)))
    assert_allclose(found, expected, atol=1e-9)
    assert_array_equal(found, found.T)
    assert_array_equal(similarity_matrix(data, axis=axis, similarity=similarity), found.astype(np.float32))


@given(datasets(), similarities(), st.sampled_from(("item", "user")), st.integers(1, 9))
def test_lists_are_the_best_of_the_rows(data: Interactions, similarity: Similarity, axis: Any, k: int) -> None:
    rows = similarity_rows(data, axis=axis, similarity=similarity, rows=range(getattr(data, f"n_{axis}s")))
    enough = overlaps(data, axis) >= similarity.minimum_overlap
    found = neighbor_lists(data, axis=axis, similarity=similarity, k=k, ties="id")
    assert found.indices.shape == found.scores.shape == (len(rows), k)
    for code, row in enumerate(rows):
        others = [j for j in range(row.size) if j != code and enough[code, j]]
        best = sorted(others, key=lambda j: (-row[j], j))[:k]
        indices, scores = found.of(code)
        assert indices.tolist() == best
        assert scores.tolist() == row[best].tolist(), "the same bits from either loop"
        assert (found.indices[code, len(best) :] == -1).all()
        assert (found.scores[code, len(best) :] == 0).all()


@given(datasets(), similarities(), st.sampled_from(("item", "user")))
@settings(max_examples=60)
def test_sensitivities_are_those_of_the_definitions(data: Interactions, similarity: Similarity, axis: Any) -> None:
    rows = vectors(data, axis, similarity.kind)
    n = overlaps(data, axis)
    found = pair_sensitivities(data, axis=axis, similarity=similarity)
    assert_array_equal(found.overlap, n)
    assert_array_equal(found.similarity, similarity_matrix(data, axis=axis, similarity=similarity))
    for i, x in enumerate(rows):
        for j, y in enumerate(rows):
            common = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
            if common.size < similarity.minimum_overlap:
                expected = 0.0
            elif common.size == 1:
                expected = 1.0
            else:
                s = plain(x, y, similarity, highest(data))
                expected = max(abs(s - plain(x, y, similarity, highest(data), int(gone))) for gone in common)
            assert found.exact[i, j] == pytest.approx(expected, abs=2e-5)
    part = pair_sensitivities(data, axis=axis, similarity=similarity, rows=[len(rows) - 1] if len(rows) else [])
    for name in ("similarity", "lemma", "exact", "overlap"):
        assert_array_equal(getattr(part, name), getattr(found, name)[len(rows) - 1 :], err_msg=name)


@given(datasets(), st.sampled_from(("cosine", "pearson", "cosine_adjusted")), st.sampled_from(("item", "user")))
def test_the_lemma_is_its_derivation(data: Interactions, kind: Any, axis: Any) -> None:
    from discreet.neighbors.sensitivity import lemma_sensitivity

    rows = vectors(data, axis, kind)
    found = pair_sensitivities(data, axis=axis, similarity=Similarity(kind)).lemma
    for i, x in enumerate(rows):
        for j, y in enumerate(rows):
            common = ~np.isnan(x) & ~np.isnan(y)
            assert found[i, j] == pytest.approx(lemma_sensitivity(x[common], y[common]), rel=1e-4, abs=1e-5)


@given(datasets(), similarities())
def test_users_are_the_items_of_the_transpose(data: Interactions, similarity: Similarity) -> None:
    turned = Interactions(
        {"user_id": data.item, "item_id": data.user, "rating": data.rating},
        scale=data.scale,
        items=np.arange(data.n_users),
        users=None,
    )
    rated = np.unique(data.item)  # who rated nothing is no user of the transpose
    users = similarity_rows(turned, axis="user", similarity=similarity, rows=range(turned.n_users))
    items = similarity_rows(data, axis="item", similarity=similarity, rows=rated)
    assert_array_equal(users, items[:, rated])


@given(datasets(), similarities(), st.sampled_from(("item", "user")), st.integers(1, 4))
@settings(max_examples=40)
def test_threads_do_not_matter(data: Interactions, similarity: Similarity, axis: Any, k: int) -> None:
    one, two, three = (
        neighbor_lists(data, axis=axis, similarity=similarity, k=k, ties="id", threads=threads) for threads in (1, 2, 3)
    )
    for other in (two, three):
        assert_array_equal(one.indices, other.indices)
        assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_matter_in_a_larger_dataset(kind: Any) -> None:
    """Many blocks for each thread, and heaps that overflow."""
    stream = np.random.default_rng(5)
    drawn = stream.random((150, 300)) < stream.beta(0.5, 4, size=300)
    user, item = np.nonzero(drawn)
    data = Interactions(
        {"user_id": user, "item_id": item, "rating": stream.integers(1, 6, size=user.size)}, scale="1:5"
    )
    similarity = Similarity(kind, shrinkage=int(kind == "cosine_shrunk"))
    one, two = (
        neighbor_lists(data, axis="item", similarity=similarity, k=10, ties="id", threads=threads) for threads in (1, 2)
    )
    assert_array_equal(one.indices, two.indices)
    assert_array_equal(one.scores, two.scores)
    rows = similarity_rows(data, axis="item", similarity=similarity, rows=range(data.n_items))
    rows[overlaps(data, "item") == 0] = -np.inf
    np.fill_diagonal(rows, -np.inf)
    best = np.lexsort((np.broadcast_to(np.arange(data.n_items), rows.shape), -rows))[:, :10]
    listed = np.take_along_axis(rows, best, axis=1) > -np.inf
    assert_array_equal(one.indices, np.where(listed, best, -1))
    alone, together = (
        pair_sensitivities(data, axis="item", similarity=similarity, threads=threads).lemma for threads in (1, 2)
    )
    assert_array_equal(alone, together)


# By hand

ALIKE = stars([[5, 4, 1], [3, 1, 0], [0, 2, 0], [4, 0, 0]])


def value(data: Interactions, similarity: Similarity, i: int, j: int, axis: Any = "item") -> float:
    return similarity_rows(data, axis=axis, similarity=similarity, rows=[i])[0, j]


def test_five_kinds_by_hand() -> None:
    assert value(ALIKE, Similarity("cosine"), 0, 1) == pytest.approx(23 / np.sqrt(34 * 17))
    assert value(ALIKE, Similarity("cosine_full"), 0, 1) == pytest.approx(23 / np.sqrt(50 * 21))
    # Item means 4 and 7/3: (5 − 4, 3 − 4) and (4 − 7/3, 1 − 7/3).
    assert value(ALIKE, Similarity("pearson"), 0, 1) == pytest.approx(3 / np.sqrt(2 * (25 + 16) / 9))
    # User means 10/3 and 2.
    x, y = (5 / 3, 1), (2 / 3, -1)
    adjusted = (x[0] * y[0] + x[1] * y[1]) / np.hypot(*x) / np.hypot(*y)
    assert value(ALIKE, Similarity("cosine_adjusted"), 0, 1) == pytest.approx(adjusted)
    shrunk = Similarity("cosine_shrunk", shrinkage=2)
    assert value(ALIKE, shrunk, 0, 1) == pytest.approx(23 / np.sqrt((34 + 50) * (17 + 50)))
    weighted = Similarity("cosine", shrinkage=6)
    assert value(ALIKE, weighted, 0, 1) == pytest.approx(23 / np.sqrt(34 * 17) * 2 / 8)
    # Users 0 and 1 have the first two items in common.
    assert value(ALIKE, Similarity("cosine"), 0, 1, axis="user") == pytest.approx(19 / np.sqrt(41 * 10))


def test_one_co_rater_makes_a_cosine_of_one() -> None:
    assert value(ALIKE, Similarity("cosine"), 0, 2) == 1.0
    assert value(ALIKE, Similarity("cosine", minimum_overlap=2), 0, 2) == 0.0
    assert value(ALIKE, Similarity("pearson"), 1, 2) == 0.0, "its only rating is its mean"


def test_a_rating_that_is_the_mean_is_no_likeness() -> None:
    """Three times 0.1 has the mean 0.10000000000000002, and what is left of the rating is rounding."""
    data = Interactions([(u, i, 0.1) for u in range(3) for i in "ab"])
    assert sum([0.1] * 3) / 3 != 0.1
    for kind in ("pearson", "cosine_adjusted"):
        assert value(data, Similarity(kind), 0, 1) == 0.0


@pytest.mark.parametrize("ratings", [(0.1, 0.7), (1.1, -2.3), (1e-3, 9.999)])
def test_one_co_rater_makes_exactly_one_of_any_numbers(ratings: tuple[float, float]) -> None:
    data = Interactions([("u", "a", ratings[0]), ("u", "b", ratings[1])])
    assert value(data, Similarity("cosine"), 0, 1) == np.sign(ratings[0] * ratings[1])


def test_multiples_have_a_cosine_of_exactly_one() -> None:
    data = Interactions(
        [(u, i, r * f) for u, r in enumerate((0.5, 1.0, 1.5, 2.5)) for i, f in (("a", 1), ("b", 2))], scale="0.5:5:0.5"
    )
    for kind in ("cosine", "cosine_full"):
        assert value(data, Similarity(kind), 0, 1) == 1.0


def test_a_minimum_of_co_raters_also_closes_the_lists() -> None:
    loose = neighbor_lists(ALIKE, axis="item", similarity=Similarity("cosine"), k=5)
    strict = neighbor_lists(ALIKE, axis="item", similarity=Similarity("cosine", minimum_overlap=2), k=5)
    assert loose.sizes.tolist() == [2, 2, 2]
    assert strict.sizes.tolist() == [1, 1, 0]


def test_negative_similarities_are_listed_last() -> None:
    data = stars([[1, 5, 2], [5, 1, 4], [0, 0, 1]])
    found = neighbor_lists(data, axis="item", similarity=Similarity("pearson"), k=2)
    codes, scores = found.of(0)
    assert codes.tolist() == [2, 1]
    assert scores[0] > 0 > scores[1] == -1


def test_shrinkage_is_in_the_unit_of_the_scale() -> None:
    """λh² with h = 5 points, whether ratings are counted in points or in half points."""
    records = [("u", "a", 4.0), ("u", "b", 2.0)]
    similarity = Similarity("cosine_shrunk", shrinkage=1)
    for scale in ("0.5:5:0.5", "1:5", "0:5:none"):
        assert value(Interactions(records, scale=scale), similarity, 0, 1) == pytest.approx(8 / np.sqrt(41 * 29))


def test_records_without_ratings_count_as_one() -> None:
    data = Interactions([("u", "a"), ("u", "b"), ("v", "a")])
    assert value(data, Similarity("cosine_full"), 0, 1) == pytest.approx(1 / np.sqrt(2))
    assert value(data, Similarity("cosine_shrunk", shrinkage=1), 0, 1) == pytest.approx(1 / 2)


def test_repeated_records_are_added_up() -> None:
    data = Interactions([("u", "a", 1), ("u", "a", 2), ("u", "b", 4), ("v", "a", 1)], duplicates="keep")
    assert value(data, Similarity("cosine_full"), 0, 1) == pytest.approx(12 / (4 * np.sqrt(10)))
    with pytest.raises(UsageError, match="may repeat"):
        similarity_rows(data, axis="item", similarity=Similarity("cosine_shrunk", shrinkage=1), rows=[0])


def test_large_whole_numbers_do_not_overflow() -> None:
    """Sums beyond 2²⁴, 2³¹ and 2⁵³ go to the wider loops."""
    for factor in (1, 255, 3000, 10**8):
        data = Interactions([(u, i, factor * (1 + (u * i) % 2)) for u in range(2000) for i in (1, 2)])
        # Item 2 has 2000 ones, item 1 as many ones as twos.
        expected = (1000 + 2 * 1000) / np.sqrt((1000 + 4 * 1000) * 2000)
        found = neighbor_lists(data, axis="item", similarity=Similarity("cosine_full"), k=1)
        assert found.scores[:, 0] == pytest.approx(expected)


# Sensitivities by hand


def test_sensitivities_of_the_refutation() -> None:
    """Without (5, 1) beside ten (2, 2) the cosine changes by 0.12831, more than the lemma as printed allows."""
    found = pair_sensitivities(stars([[2, 2]] * 10 + [[5, 1]]), axis="item", rows=[0])
    assert found.exact[0, 1] == pytest.approx(0.12831, abs=5e-6)
    assert found.lemma[0, 1] >= found.exact[0, 1]


def test_lemma_exceeds_the_range() -> None:
    found = pair_sensitivities(stars([[1, 1], [5, 5]]), axis="item")
    assert found.lemma[0, 1] == 25
    assert found.exact[0, 1] == 0


def test_one_co_rater_has_sensitivity_one_and_none_has_zero() -> None:
    found = pair_sensitivities(stars([[2, 3, 0], [4, 0, 1]]), axis="item")
    assert (found.lemma[0, 1], found.exact[0, 1]) == (1, 1)
    assert (found.lemma[1, 2], found.exact[1, 2], found.overlap[1, 2]) == (0, 0, 0)


def test_losing_the_minimum_of_co_raters_loses_the_similarity() -> None:
    found = pair_sensitivities(stars([[2, 3], [4, 1]]), axis="item", similarity=Similarity(minimum_overlap=2))
    assert found.exact[0, 1] == found.similarity[0, 1]
    assert found.lemma[0, 1] == 1


# Ties

EQUALS = stars([[3, 3, 3, 3, 3]])


def test_ties_by_id() -> None:
    by_id = neighbor_lists(EQUALS, axis="item", similarity=Similarity(), k=2, ties="id")
    assert by_id.indices.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]


def test_ties_at_random_are_fair(fixed_bits: object) -> None:
    counts = np.zeros(5)
    for _ in range(600):
        counts[neighbor_lists(EQUALS, axis="item", similarity=Similarity(), k=1, threads=1).indices[0, 0]] += 1
    assert counts[0] == 0
    assert counts[1:].min() > 110  # 150 expected, sd 11


# The door


@pytest.mark.parametrize("kind", KINDS)
def test_empty_and_single(kind: Any) -> None:
    similarity = Similarity(kind, shrinkage=1)
    for data, n in (
        (ALIKE.filter(np.zeros(len(ALIKE), dtype=bool)), 3),
        (Interactions([("u", "a", 3)], scale="1:5"), 1),
    ):
        found = neighbor_lists(data, axis="item", similarity=similarity, k=2)
        assert found.indices.tolist() == [[-1, -1]] * n
        assert neighbor_lists(data, axis="user", similarity=similarity, k=2).indices.shape == (data.n_users, 2)
        assert similarity_rows(data, axis="item", similarity=similarity, rows=[]).shape == (0, n)
        assert similarity_matrix(data, axis="user", similarity=similarity).shape == (data.n_users,) * 2
        assert pair_sensitivities(data, axis="item", similarity=similarity).lemma.shape == (n, n)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "euclid"}, "euclid"),
        ({"minimum_overlap": 0}, "minimum_overlap"),
        ({"minimum_overlap": 1.5}, "minimum_overlap"),
        ({"shrinkage": -1}, "shrinkage"),
        ({"shrinkage": "many"}, "shrinkage"),
        ({"kind": "cosine_shrunk"}, "above 0"),
    ],
)
def test_bad_settings_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Similarity(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"k": 0}, "k=0"),
        ({"k": 2.0}, "k=2.0"),
        ({"axis": "film"}, "axis"),
        ({"similarity": "cosine"}, "similarity"),
        ({"ties": "first"}, "ties"),
        ({"ties": "attacker"}, "ties"),
        ({"threads": 0}, "threads"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        neighbor_lists(ALIKE, **{"axis": "item", "k": 2, **arguments})


def test_rows_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UsageError, match="0 to 2"):
        similarity_rows(ALIKE, axis="item", rows=[3])
    with pytest.raises(UsageError, match="0 to 2"):
        pair_sensitivities(ALIKE, axis="item", rows=[-1])


def test_large_matrices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "MOST_BYTES", 16)
    with pytest.raises(UsageError, match=r"3 × 3 pairs"):
        similarity_matrix(ALIKE, axis="item")
    with pytest.raises(UsageError, match="neighbor_lists"):
        pair_sensitivities(ALIKE, axis="item")
    with pytest.raises(UsageError, match=r"1 × 3 pairs"):
        similarity_rows(ALIKE, axis="item", rows=[0])


def test_weights_have_no_largest_rating() -> None:
    data = Interactions([("u", "a", 3.0), ("u", "b", 2.0)])
    with pytest.raises(UsageError, match="scale"):
        similarity_rows(data, axis="item", similarity=Similarity("cosine_shrunk", shrinkage=1), rows=[0])


def test_little_memory_means_fewer_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = neighbor_lists(ALIKE, axis="item", similarity=Similarity(), k=2, ties="id")
    monkeypatch.setattr(lists, "MOST_BYTES", 1)
    found = neighbor_lists(ALIKE, axis="item", similarity=Similarity(), k=2, ties="id", threads=4)
    assert_array_equal(found.indices, expected.indices)


def test_the_layout_is_kept_for_the_next_question_and_goes_with_the_data() -> None:
    from discreet.neighbors import similarity

    data = stars([[1, 2], [3, 4]])
    similarity_rows(data, axis="item", rows=[0])
    kept = similarity._KEPT[data]
    similarity_rows(data, axis="item", similarity=Similarity("cosine_full"), rows=[1])
    assert similarity._KEPT[data] is kept
    similarity_rows(data, axis="user", rows=[1])
    assert similarity._KEPT[data] is not kept


def test_import_is_light() -> None:
    code = "import sys, discreet.neighbors.similarity; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
