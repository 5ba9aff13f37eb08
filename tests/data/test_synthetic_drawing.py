"""What the datasets are drawn with: exact totals, laws that hold, names that do not repeat."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.synthetic import drawing
from discreet.data.synthetic.names import _GENRE_NOUNS, GENRES, PLACE_KINDS, film_titles, place_names
from discreet.errors import UsageError


@given(st.lists(st.floats(0.001, 1_000), min_size=1, max_size=30), st.integers(0, 3), st.integers(3, 50), st.data())
def test_shares_meet_the_total_and_the_ends(weights, least, most, draw):
    total = draw.draw(st.integers(least * len(weights), most * len(weights)))
    counts = drawing.shared_out(total, np.array(weights), least=least, most=most)
    assert counts.sum() == total
    assert counts.min() >= least
    assert counts.max() <= most


def test_shares_follow_the_weights():
    counts = drawing.shared_out(1_000, np.array([1.0, 2.0, 7.0]), least=0, most=1_000)
    assert counts.tolist() == [100, 200, 700]


def test_weighted_rows_draw_by_their_weights():
    rows = drawing.WeightedRows(np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]]))
    generator = np.random.default_rng(1)
    first = np.bincount(rows.draw(np.zeros(40_000, dtype=np.int64), generator), minlength=3)
    assert first[1] == 0
    assert abs(first[0] - 10_000) < 5 * np.sqrt(7_500)
    assert set(rows.draw(np.ones(100, dtype=np.int64), generator).tolist()) == {1}


def choices(counts, n_items, weights, seed, rounds, monkeypatch):
    """Distinct choices of owners with the same weights, as (owner, item) pairs."""
    monkeypatch.setattr(drawing, "MOST_ROUNDS", rounds)
    rows, generator = drawing.WeightedRows(weights[None, :]), np.random.default_rng(seed)
    keys = drawing.distinct_choices(
        np.asarray(counts),
        n_items,
        draw=lambda owner: rows.draw(np.zeros(owner.size, dtype=np.int64), generator),
        weights_of=lambda owner: np.tile(weights, (owner.size, 1)),
        generator=generator,
    )
    assert np.array_equal(keys, np.unique(keys))
    return np.divmod(keys, n_items)


@pytest.mark.parametrize("rounds", [0, 1, 40])
def test_choices_are_distinct_and_as_many_as_asked(rounds, monkeypatch):
    counts = np.array([0, 1, 5, 10, 9, 3])
    owner, item = choices(counts, 10, drawing.zipf_weights(10, exponent=2.0), 1, rounds, monkeypatch)
    assert np.bincount(owner, minlength=6).tolist() == counts.tolist()
    assert item.max() < 10


@pytest.mark.parametrize("rounds", [0, 1, 40])
def test_choices_without_repetition_have_the_right_law(rounds, monkeypatch):
    # Two of three items, one after the other: item i is left out with the chance that the other two come first.
    weights = np.array([0.6, 0.3, 0.1])
    n = 20_000
    owner, item = choices(np.full(n, 2), 3, weights, 5, rounds, monkeypatch)
    assert owner.size == 2 * n
    left_out = 1 - np.bincount(item, minlength=3) / n
    expected = [
        sum(weights[a] * weights[b] / (1 - weights[a]) for a in range(3) for b in range(3) if len({a, b, i}) == 3)
        for i in range(3)
    ]
    assert np.abs(left_out - expected).max() < 5 * np.sqrt(0.25 / n)


def test_numbered_ids_are_in_code_order():
    ids = drawing.numbered("u", 12)
    assert ids.to_list() == sorted(f"u{number}" for number in range(1, 13))


def test_sizes_are_checked():
    assert drawing.check_size(np.int64(5), "users", least=1) == 5
    for wrong in (0, 2.0, None, True):
        with pytest.raises(UsageError, match="users"):
            drawing.check_size(wrong, "users", least=1)


def test_names_do_not_repeat():
    genre = np.arange(120_000) % len(GENRES)
    titles = film_titles(genre)
    assert titles.n_unique() == genre.size
    one_genre = film_titles(np.zeros(60_000, dtype=np.int64))
    assert one_genre.n_unique() == 60_000
    assert place_names(np.arange(60_000) % len(PLACE_KINDS)).n_unique() == 60_000


def test_titles_tell_the_genre():
    nouns = _GENRE_NOUNS["Horror"].split(", ")
    titles = film_titles(np.full(50, GENRES.index("Horror")))
    assert all(any(noun in title for noun in nouns) for title in titles)
    words = pl.Series([noun for text in _GENRE_NOUNS.values() for noun in text.split(", ")])
    assert words.n_unique() == len(words)
