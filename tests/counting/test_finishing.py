"""Finished counts: they could be counts, they are free, and they say what was done."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.counting import ItemCounts, TopItems, expected_counts, finish_counts
from discreet.counting.context_popularity import ContextPopularity
from discreet.counting.estimation import counts_of
from discreet.counting.finishing import Finish, nonnegative, nonnegative_rows
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.charging import sandbox

DAYS = ["day=dry,wet"]


@pytest.fixture
def noisy(visits, fixed_bits) -> dc.Release:
    return ItemCounts(epsilon="1/10", cap=10).release(visits, contexts=DAYS)


@pytest.mark.parametrize("total", [None, 250])
def test_nonnegative_counts_add_up(noisy, total) -> None:
    before, _ = counts_of(noisy)
    items, edges = counts_of(finish_counts(noisy, "nonnegative", total=total))
    assert edges is not None
    assert (before < 0).any()
    assert (items >= 0).all()
    assert (edges >= 0).all()
    np.testing.assert_allclose(edges.sum(axis=1), items, atol=1e-9)
    np.testing.assert_allclose(items, nonnegative(before, total))
    if total is not None:
        assert items.sum() == pytest.approx(total)


def test_rows_are_projected_one_by_one() -> None:
    rng = np.random.default_rng(2)
    counts, totals = rng.normal(0, 5, (50, 4)), rng.uniform(0, 9, 50)
    totals[3] = 0
    rows = nonnegative_rows(counts, totals)
    for row, count, total in zip(rows, counts, totals, strict=True):
        np.testing.assert_allclose(row, nonnegative(count, float(total)), atol=1e-12)
    assert nonnegative_rows(np.zeros((0, 3)), np.zeros(0)).shape == (0, 3)


def test_expected_counts_are_those_of_the_release(noisy) -> None:
    finished = finish_counts(noisy, "expected")
    for one, other in zip(counts_of(finished), expected_counts(noisy), strict=True):
        np.testing.assert_array_equal(one, other)  # type: ignore[arg-type]


def test_it_is_the_same_guarantee_and_says_what_was_done(noisy, tmp_path: Path) -> None:
    finished = finish_counts(noisy, "nonnegative", total="7/2")
    assert finished.guarantee == noisy.guarantee
    assert finished.parameters["finish"] == {"kind": "nonnegative", "total": 3.5}
    assert finished.parameters["finished_from"] == noisy.id
    assert finished.id != noisy.id
    assert dc.Release.load(finished.save(tmp_path / "tidy")).id == finished.id
    with pytest.raises(ReleaseError, match="already"):
        finish_counts(finished, "expected")


def test_finished_at_once_is_what_the_ledger_knows(visits, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(visits, epsilon=1, unit="user")
    release = ItemCounts(epsilon=1, cap=5).release(visits, contexts=DAYS, finish=Finish("nonnegative"), ledger=ledger)
    assert release.parameters["finish"] == {"kind": "nonnegative"}
    assert ledger.account_of_release(release.id) is not None
    assert ledger.statement(visits).spent.epsilon == 1


def test_finished_counts_are_taken_as_they_are(noisy) -> None:
    """Noise that was taken away once is not taken away again."""
    finished = finish_counts(noisy, "nonnegative")
    model = ContextPopularity.of_release(finished)
    edges = finished.table("edges").filter(day="wet")["count"].to_numpy()
    np.testing.assert_array_equal(model.scores({"day": "wet"}), edges)


def test_what_was_made_in_a_sandbox_stays_there(visits, tmp_path: Path) -> None:
    with sandbox():
        release = ItemCounts(epsilon=1, cap=1).release(visits)
    with pytest.raises(ReleaseError, match="sandbox"):
        finish_counts(release, "nonnegative").save(tmp_path / "out")


def test_mistakes(visits, noisy) -> None:
    with pytest.raises(UsageError, match="'nonnegative', 'expected'"):
        finish_counts(noisy, "tidy")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="total"):
        finish_counts(noisy, "expected", total=5)
    for wrong in (0, -1, "many"):
        with pytest.raises(UsageError, match="total"):
            finish_counts(noisy, "nonnegative", total=wrong)
    with pytest.raises(ReleaseError, match="no item counts"):
        finish_counts(TopItems(k=1, epsilon=1).release(visits), "expected")
