"""Twins: every way to a new user's list gives the list that a full computation gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.interactions import Interactions
from discreet.errors import DataError, UsageError
from discreet.neighbors import twin_lists, twins
from discreet.neighbors.twin_lists import BuiltList, Cosine, Profile, SimilarityLists
from discreet.neighbors.twins import FullComputation, HashedTwins, ListBuilder, TwinIndex, TwinSearch

Ratings = dict[int, float]

SIMILARITIES: tuple[Cosine, ...] = get_args(Cosine)
BUILDERS: dict[str, Callable[[], ListBuilder]] = {
    "full, by rows": lambda: FullComputation(visit="rows"),
    "full, by columns": FullComputation,
    "one probe": lambda: TwinSearch(1),
    "three probes": TwinSearch,
    "hash": HashedTwins,
}
ITEMS = range(6)


# The right answer, in plain Python. Ratings are small whole numbers, so that sums are exact in any order.


def cosine(a: Ratings, b: Ratings, similarity: Cosine) -> float:
    common = a.keys() & b.keys()
    dot = sum(a[item] * b[item] for item in common)
    over = (common, common) if similarity == "cosine" else (a.keys(), b.keys())
    product = sum(a[item] ** 2 for item in over[0]) * sum(b[item] ** 2 for item in over[1])
    return dot / math.sqrt(product) if product else 0.0


def right_list(
    profile: Ratings, others: dict[int, Ratings], similarity: Cosine, length: int | None = None
) -> list[tuple[int, float]]:
    """Others by falling similarity, ties by code."""
    found = [(code, cosine(profile, other, similarity)) for code, other in others.items()]
    return sorted(found, key=lambda entry: (-entry[1], entry[0]))[:length]


def dataset(profiles: Sequence[Ratings]) -> Interactions:
    rows = [(user, item, rating) for user, profile in enumerate(profiles) for item, rating in profile.items()]
    return Interactions(rows, items=list(ITEMS)) if rows else empty_dataset()


def empty_dataset() -> Interactions:
    return Interactions([(0, 0, 1.0)], items=list(ITEMS)).emptied()


def as_pairs(codes: np.ndarray, values: np.ndarray) -> list[tuple[int, float]]:
    return list(zip(codes.tolist(), values.tolist(), strict=True))


def built_pairs(built: BuiltList) -> list[tuple[int, float]]:
    return as_pairs(built.codes, built.values)


profile_ratings = st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([1.0, 2.0, 3.0, 5.0]), max_size=4)
old_profiles = st.lists(profile_ratings.filter(bool), max_size=6)
films = [{0: 5.0, 1: 3.0}, {0: 5.0, 2: 4.0}, {1: 1.0, 2: 2.0, 3: 5.0}, {3: 4.0}, {0: 2.0, 3: 2.0, 5: 1.0}]


# Lists stay right


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("builder", BUILDERS)
@settings(max_examples=25)
@given(data=st.data())
def test_after_any_sequence_of_adds_every_list_is_a_full_recomputation(
    builder: str, similarity: Cosine, data: st.DataObject
) -> None:
    profiles = data.draw(old_profiles)
    length = None if "probe" in builder else data.draw(st.sampled_from([None, 1, 3]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twin_lists, "MOST_WAITING", 3)  # so that lists are settled, moved and indexed again
        patch.setattr(twin_lists, "LEAST_TAIL", 2)
        index = TwinIndex(dataset(profiles), similarity=similarity, length=length, builder=BUILDERS[builder]())
        for _ in range(data.draw(st.integers(0, 9))):
            again = profiles and data.draw(st.booleans())
            new = data.draw(st.sampled_from(profiles) if again else profile_ratings)
            index.add(new, user_id=len(profiles))
            profiles = [*profiles, new]
            if data.draw(st.booleans()):
                index.lists.list_of(data.draw(st.integers(0, len(profiles) - 1)))
        for row, profile in enumerate(profiles):
            others = {code: other for code, other in enumerate(profiles) if code != row}
            assert as_pairs(*index.lists.list_of(row)) == right_list(profile, others, similarity, length)


@pytest.mark.parametrize("builder", BUILDERS)
def test_ties_go_to_whoever_was_there_first(builder: str) -> None:
    index = TwinIndex(dataset([{0: 1.0}, {0: 2.0}, {1: 1.0}]), builder=BUILDERS[builder]())
    for user_id in ("z", "a"):
        index.add({0: 3.0}, user_id=user_id)
    assert index.neighbors(1, n=9)["user_id"].to_list() == [0, "z", "a", 2]
    assert index.neighbors("a", n=9)["user_id"].to_list() == [0, 1, "z", 2]


def test_new_users_are_found_from_both_sides() -> None:
    index = TwinIndex(dataset(films), similarity="cosine_full")
    index.add({4: 5.0}, user_id=10)
    index.add({4: 3.0}, user_id=11)
    assert index.neighbors(10, n=1).rows() == [(11, 1.0, 1)]
    assert index.neighbors(11, n=1).rows() == [(10, 1.0, 1)]


def test_lists_are_brought_up_to_date_when_they_are_read_or_when_too_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twin_lists, "MOST_WAITING", 2)
    lists = SimilarityLists(dataset(films))
    settled = []
    monkeypatch.setattr(SimilarityLists, "settle", lambda self: settled.append(self.n_rows))
    lists.append(lists.profile(0), lists.list_from_twin(0))
    assert not settled
    lists.append(lists.profile(0), lists.list_from_twin(0))
    assert settled == [7]


# Twins


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("probes", [1, 2, 5, 50])
@given(profiles=st.lists(profile_ratings.filter(bool), min_size=1, max_size=6))
@settings(max_examples=30)
def test_twin_search_always_finds_a_planted_twin(probes: int, similarity: Cosine, profiles: list[Ratings]) -> None:
    lists = SimilarityLists(dataset(profiles), similarity=similarity)
    search = TwinSearch(probes)
    for row, profile in enumerate(profiles):
        sets = search.candidates(lists, lists.profile(row))
        built = search.build(lists, lists.profile(row))
        assert row in sets.common
        assert built.twin == profiles.index(profile)
        assert built_pairs(built) == right_list(profile, dict(enumerate(profiles)), similarity)


RATING = st.floats(-10, 10, width=32, allow_subnormal=False)
"""Ratings are kept in 32 bits: of smaller numbers the squares would be nothing."""


@pytest.mark.parametrize("similarity", SIMILARITIES)
@given(ratings=st.lists(st.lists(RATING, min_size=6, max_size=6), min_size=2, max_size=6))
def test_a_twin_is_found_whatever_numbers_ratings_are(ratings: list[list[float]], similarity: Cosine) -> None:
    """Sums of such numbers do depend on the order: it is the same for probes and for lists."""
    profiles = [{item: rating for item, rating in enumerate(row) if rating > -5} or {0: 1.0} for row in ratings]
    lists = SimilarityLists(dataset(profiles), similarity=similarity)
    for row in range(len(profiles)):
        profile = lists.profile(row)
        by_rows, by_columns = lists.similarities(profile, visit="rows"), lists.similarities(profile)
        assert by_rows.tolist() == by_columns.tolist()
        assert row in TwinSearch(3).candidates(lists, profile).common
        for code, value in as_pairs(*lists.list_of(row)):
            assert by_rows[code] == value
            assert lists.similarities(lists.profile(code))[row] == value


@pytest.mark.parametrize("builder", [TwinSearch(1), TwinSearch(3), HashedTwins()], ids=["c=1", "c=3", "hash"])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_one_rating_less_or_other_is_no_twin(builder: ListBuilder, similarity: Cosine) -> None:
    lists = SimilarityLists(dataset(films), similarity=similarity)
    for profile in ({0: 5.0, 1: 4.0}, {0: 5.0}, {3: 5.0}, {0: 5.0, 1: 3.0, 4: 1.0}, {4: 1.0}):
        built = builder.build(lists, Profile.of(np.array(list(profile)), np.array(list(profile.values()))))
        assert built.twin is None
        assert built_pairs(built) == right_list(profile, dict(enumerate(films)), similarity)


@pytest.mark.parametrize("builder", [TwinSearch, HashedTwins])
def test_only_without_a_twin_it_is_computed(builder: type[TwinSearch] | type[HashedTwins]) -> None:
    class Counted(FullComputation):
        calls = 0

        def build(self, lists: SimilarityLists, profile: Profile) -> BuiltList:
            Counted.calls += 1
            return super().build(lists, profile)

    index = TwinIndex(dataset(films), builder=builder(otherwise=Counted()))
    assert index.add(films[2], user_id="copy").twin_id == 2
    assert Counted.calls == 0
    assert index.add({0: 1.0, 4: 1.0}, user_id="new").twin_id is None
    assert Counted.calls == 1
    assert index.add({4: 1.0, 0: 1.0}, user_id="sybil").twin_id == "new"
    assert Counted.calls == 1


def test_the_sets_are_those_of_algorithm_4() -> None:
    """All users are probes. Over co-rated items, all who share one item with somebody have similarity 1 to them."""
    profiles, new = [{0: 5.0}, {0: 3.0}, {0: 1.0, 1: 1.0}, {1: 2.0}], Profile.of(np.array([0]), np.array([5.0]))
    sets = TwinSearch(4).candidates(SimilarityLists(dataset(profiles)), new)
    assert sorted(sets.sizes) == [2, 3, 3, 4]  # the last probe shares no item with the new user, nor with two others
    assert sets.common.tolist() == [0, 1]
    sets = TwinSearch(4).candidates(SimilarityLists(dataset(profiles), similarity="cosine_full"), new)
    assert sets.sizes == [2, 2, 2, 2]
    assert sets.common.tolist() == [0]  # to the third probe 5/√50 and 3/√18: equal on paper, not in the last bit


def test_probes_are_drawn_from_everybody(fixed_bits: Callable[[int], None]) -> None:
    """Every user is a probe about as often as every other: χ² with 4 degrees of freedom stays below its 99.99 %."""
    fixed_bits(3)
    search, drawn = TwinSearch(2), np.zeros(5)
    for _ in range(500):
        probes = search._drawn(5)
        assert len(set(probes.tolist())) == 2
        drawn[probes] += 1
    assert ((drawn - 200) ** 2 / 200).sum() < 23.5


def test_hash_finds_every_twin() -> None:
    lists, builder = SimilarityLists(dataset(films)), HashedTwins()
    assert [builder.build(lists, lists.profile(row)).twin for row in range(5)] == [0, 1, 2, 3, 4]


def test_hash_does_not_depend_on_the_order_of_the_ratings_or_the_sign_of_zero() -> None:
    index = TwinIndex(dataset([{0: 0.0, 1: 2.0}, {3: 1.0}]))
    assert index.add({1: 2, 0: -0.0}, user_id="again").twin_id == 0


def test_one_entry_stands_for_all_sybils() -> None:
    builder = HashedTwins()
    index = TwinIndex(dataset(films), builder=builder)
    for sybil in range(30):
        index.add({4: 2.0}, user_id=f"sybil-{sybil}")
    assert index.add({4: 2.0}, user_id="last").twin_id == "sybil-0"
    assert sum(rows.size for rows in builder._rows_of.values()) == 6


def test_every_profile_is_hashed_once_and_the_new_one_at_each_build(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []
    monkeypatch.setattr(twins, "digest", lambda profile: hashed.append(0) or profile.columns.tobytes())
    index = TwinIndex(dataset(films))
    for number, calls in enumerate([5 + 1, 2, 2]):
        hashed.clear()
        index.add({4: 1.0}, user_id=f"new-{number}")
        assert len(hashed) == calls


def test_collisions_cost_time_and_never_a_wrong_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twins, "digest", lambda profile: b"the same for all")
    index = TwinIndex(dataset(films))
    profiles = dict(enumerate(films))
    for new, twin in (({4: 2.0}, None), (films[3], 3), ({4: 2.0}, 5), ({}, None), ({}, 8)):
        assert index.add(new, user_id=len(profiles)).twin_id == twin
        profiles[len(profiles)] = new
    for row, profile in profiles.items():
        others = {code: other for code, other in profiles.items() if code != row}
        assert as_pairs(*index.lists.list_of(row)) == right_list(profile, others, "cosine")


def test_a_builder_may_serve_one_index_after_another() -> None:
    hashed, search = HashedTwins(), TwinSearch(2)
    for profiles in (films, [{4: 1.0}], films[::-1]):
        lists = SimilarityLists(dataset(profiles))
        for builder in (hashed, search):
            assert [builder.build(lists, lists.profile(row)).twin for row in range(len(profiles))] == [
                *range(len(profiles))
            ]


# Equality of floating-point numbers


def test_two_formulas_of_the_cosine_differ_in_the_last_bit() -> None:
    generator = np.random.default_rng(1)
    dot, left, right = generator.uniform(1, 100, size=(3, 10_000))
    one_root, two_roots = dot / np.sqrt(left * right), dot / np.sqrt(left) / np.sqrt(right)
    np.testing.assert_allclose(one_root, two_roots, rtol=1e-15)
    assert 0.4 < (one_root != two_roots).mean() < 0.7


def test_probes_from_another_formula_miss_the_twin_and_the_list_is_right_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(2)
    profiles = [{item: float(rating) for item, rating in enumerate(generator.integers(1, 6, 6))} for _ in range(30)]
    lists = SimilarityLists(dataset(profiles), similarity="cosine_full")

    def two_roots(rows: np.ndarray, profile: Profile) -> np.ndarray:
        norm = np.sqrt((profile.ratings**2).sum())
        others = [lists.profile(int(row)).ratings for row in rows]
        return np.array([(profile.ratings @ other) / norm / np.sqrt((other**2).sum()) for other in others])

    search = TwinSearch(10, otherwise=FullComputation())
    assert search.build(lists, lists.profile(7)).twin is not None
    monkeypatch.setattr(lists, "similarities_to", two_roots)
    built = search.build(lists, lists.profile(7))
    assert built.twin is None
    assert built_pairs(built) == right_list(profiles[7], dict(enumerate(profiles)), "cosine_full")


# The edges


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_an_empty_profile_is_like_nobody_and_the_twin_of_another_empty_one(builder: str, similarity: Cosine) -> None:
    index = TwinIndex(dataset(films), similarity=similarity, builder=BUILDERS[builder]())
    assert index.add({}, user_id=5).twin_id is None
    assert index.neighbors(5, n=99).rows() == [(user, 0.0, user + 1) for user in range(5)]
    assert index.add({}, user_id=6).twin_id == (None if "full" in builder else 5)
    assert index.neighbors(6, n=99)["user_id"].to_list() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("builder", BUILDERS)
def test_an_index_may_begin_with_nobody(builder: str) -> None:
    index = TwinIndex(empty_dataset(), builder=BUILDERS[builder]())
    index.add({0: 4.0}, user_id="first")
    assert index.neighbors("first").height == 0
    index.add({0: 4.0}, user_id="second")
    assert index.neighbors("second").rows() == [("first", 1.0, 1)]
    assert index.neighbors("first").rows() == [("second", 1.0, 1)]
    assert len(index) == 2
    assert "second" in index


def test_what_cannot_be_added_changes_nothing() -> None:
    data = Interactions([("ann", "tea", 5), ("bob", "rum", 1)], scale="1:5")
    index = TwinIndex(data)
    with pytest.raises(DataError, match="unknown item 'gin'"):
        index.add({"tea": 5, "gin": 1}, user_id="eve")
    with pytest.raises(DataError, match="'tea' is not on the scale 1:5"):
        index.add({"tea": 9}, user_id="eve")
    with pytest.raises(DataError, match="finite"):
        index.add({"tea": math.nan}, user_id="eve")
    with pytest.raises(DataError, match="no id"):
        index.add({"tea": 5}, user_id=None)
    with pytest.raises(UsageError, match="'bob' is there already"):
        index.add({"tea": 5}, user_id="bob")
    assert len(index) == 2
    assert "eve" not in index
    assert index.add({"tea": 5}, user_id="eve").twin_id == "ann"


def test_ratings_too_large_for_a_cosine_are_refused() -> None:
    with pytest.raises(DataError, match="too large"):
        TwinIndex(Interactions([("ann", "tea", 1e100)]))


def test_wrong_use_is_told() -> None:
    index = TwinIndex(dataset(films))
    with pytest.raises(DataError, match="unknown user 77"):
        index.neighbors(77)
    with pytest.raises(UsageError, match="n = 0"):
        index.neighbors(0, n=0)
    with pytest.raises(UsageError, match="length = 0"):
        TwinIndex(dataset(films), length=0)
    with pytest.raises(UsageError, match="'cosine', 'cosine_full'"):
        TwinIndex(dataset(films), similarity="pearson")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'user', 'item'"):
        TwinIndex(dataset(films), axis="tag")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'rows', 'columns'"):
        FullComputation(visit="all")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="probes must be at least 1"):
        TwinSearch(0)


def test_twin_search_refuses_lists_that_are_cut() -> None:
    index = TwinIndex(dataset(films), length=2, builder=TwinSearch())
    with pytest.raises(UsageError, match="whole lists"):
        index.add({0: 1.0}, user_id="eve")
    assert len(index) == 5


def test_lists_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twin_lists, "MOST_BYTES", 100_000)
    with pytest.raises(UsageError, match="length=100"):
        TwinIndex(dataset(films))
    TwinIndex(dataset(films), length=10)


def test_items_have_lists_too() -> None:
    """Transposed: an item's profile are the ratings that users gave it."""
    profiles = [{0: 5.0, 1: 3.0}, {0: 4.0, 1: 3.0}, {0: 1.0, 1: 5.0, 2: 2.0}]
    index = TwinIndex(dataset(profiles).with_catalog("observed"), axis="item")
    assert index.add({0: 5.0, 1: 4.0, 2: 1.0}, user_id=9).twin_id == 0
    by_item = {item: {user: p[item] for user, p in enumerate(profiles) if item in p} for item in range(3)}
    frame = index.neighbors(9, n=3)
    assert frame.columns == ["item_id", "similarity", "rank"]
    assert [row[:2] for row in frame.rows()] == right_list(by_item[0], by_item, "cosine")


def test_records_without_ratings_count_as_ones() -> None:
    index = TwinIndex(Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")]), similarity="cosine_full")
    assert index.add({"tea": 1}, user_id="eve").twin_id == "bob"
    assert index.neighbors("ann", n=1).rows() == [("bob", 1 / math.sqrt(2), 1)]
