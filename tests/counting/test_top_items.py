"""The most popular items chosen directly."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dc
from discreet.counting import TopItems, top_items
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.bounding import distinct_item_counts


@pytest.fixture
def visits() -> dc.Interactions:
    """a is visited often by one user, b once by each of two hundred."""
    rows = [("u0", "a")] * 500 + [(f"u{n}", "b") for n in range(200)]
    return dc.Interactions(rows, items=list("abcd"), duplicates="keep")


def test_people_count_not_visits(visits, fixed_bits) -> None:
    assert distinct_item_counts(visits).values.tolist() == [1, 200, 0, 0]
    assert top_items(visits, 1, epsilon=1).table("top")["item_id"].to_list() == ["b"]


def test_the_budget_is_shared_between_the_places(visits) -> None:
    mechanism = TopItems.of(4, epsilon=2).mechanism
    assert mechanism.epsilon == Fraction(1, 2)
    assert mechanism.rate(distinct_item_counts(visits)) == Fraction(1, 2)
    release = top_items(visits, 4, epsilon=2)
    assert release.guarantee.loss.epsilon_at(Fraction(0)) == 2
    assert sorted(release.table("top")["item_id"]) == list("abcd")


def test_more_places_than_items(visits) -> None:
    with pytest.raises(UsageError):
        top_items(visits, 5, epsilon=1)


def test_the_catalog_must_be_public(visits) -> None:
    with pytest.raises(PrivacyError):
        top_items(dc.Interactions([("u", "a")]), 1, epsilon=1)


def test_the_promise_is_known_before(visits) -> None:
    assert str(TopItems.of(2, epsilon=1).guarantee(visits)) == str(top_items(visits, 2, epsilon=1).guarantee)
