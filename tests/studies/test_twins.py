"""The study of TwinSearch: sets, bins and ratios with known answers, and its report."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, synthetic
from discreet.errors import UsageError
from discreet.neighbors.twin_lists import BuiltList, Profile, SimilarityLists
from discreet.neighbors.twins import FullComputation
from discreet.studies import twins, twins_timing
from discreet.studies.published import published_table
from discreet.studies.report import StudyReport
from discreet.studies.twins_claims import claims_table
from discreet.studies.twins_timing import (
    CLAIM,
    KNOWN,
    METHODS,
    Case,
    Measured,
    changed,
    largest_bins,
    measure,
    sets_in_vain,
    sybil,
)


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=90, items=50, records=1_800, seed=7)


@pytest.fixture(scope="module")
def report(films: Interactions) -> StudyReport:
    steps: list[float] = []
    found = twins.run(films, seed=1, quick=True, progress=lambda share, what: steps.append(share))
    assert steps == sorted(steps)
    assert steps[-1] == 1.0
    return found


def timed(first: float, later: float) -> Measured:
    return Measured([first] * 3, [later] * 6)


def case_of(*, full: float, search: float) -> Case:
    """Everything as fast as the full computation, but for TwinSearch once there is a twin."""
    measured = {name: timed(full, full) for name in METHODS}
    measured["TwinSearch c=3"] = timed(full, search)
    return Case("user", "co-rated", "new", 1_000, measured, {})


# Newcomers


def test_a_sybil_has_some_ratings_of_another() -> None:
    whole = Profile(np.arange(20, dtype=np.int32), np.arange(20).astype(np.float64) % 5 + 1)
    new = sybil(whole, np.random.default_rng(1))
    assert new.columns.size == KNOWN
    assert np.array_equal(whole.ratings[new.columns], new.ratings)
    small = Profile(np.arange(3, dtype=np.int32), np.ones(3))
    assert sybil(small, np.random.default_rng(1)).columns.size == 3


def test_a_changed_copy_differs_in_one_rating() -> None:
    whole = Profile(np.arange(20, dtype=np.int32), np.arange(20).astype(np.float64) % 5 + 1)
    new = changed(whole, np.random.default_rng(1))
    assert np.abs(new.ratings - whole.ratings).sum() == 1
    assert new.ratings.min() >= 1
    assert new.ratings.max() <= 5


# Known answers


def test_the_fullest_bin_of_equal_users_is_the_whole_list() -> None:
    equal = Interactions([(user, item, 3) for user in range(6) for item in range(4)])
    assert largest_bins(SimilarityLists(equal)).tolist() == [1.0] * 6


def test_the_fullest_bin_counts_within_a_hundredth() -> None:
    """Users 1 and 2 are at √½ to user 0, user 3 is at 0."""
    rows = [(0, "a", 1), (0, "b", 1), (1, "a", 1), (2, "b", 1), (3, "c", 1)]
    shares = largest_bins(SimilarityLists(Interactions(rows), similarity="cosine_full"))
    assert shares[0] == pytest.approx(2 / 3)


def test_more_probes_leave_fewer_candidates(films: Interactions, fixed_bits: Callable[[int], None]) -> None:
    lists = SimilarityLists(films)
    sets = sets_in_vain(lists, sybil, n_targets=films.n_users, newcomers=60, seed=1)
    assert list(sets) == [1, 3, 10]
    assert lists.n_rows == films.n_users
    assert sets[1].each == sets[1].common
    assert sets[10].common < sets[1].common
    assert all(size.common <= size.largest for size in sets.values())


def test_ratios_of_times() -> None:
    case = case_of(full=1.0, search=0.1)
    assert case.hit("TwinSearch c=3") == pytest.approx(10)
    assert case.speed_up("TwinSearch c=3", 1) == pytest.approx(1)
    assert case.speed_up("TwinSearch c=3", 30) == pytest.approx(30 / (1 + 29 * 0.1))


def test_every_method_is_timed_and_newcomers_stay(films: Interactions) -> None:
    lists = SimilarityLists(films)
    measured = measure(lists, changed, n_targets=films.n_users, newcomers=4, trials=2, seed=1)
    assert list(measured) == list(METHODS)
    assert all(len(each.first) == 2 and len(each.later) == 6 for each in measured.values())
    assert lists.n_rows == films.n_users + 2 * 4 * len(METHODS)


def test_a_wrong_list_is_not_timed(films: Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(FullComputation):
        def build(self, lists: SimilarityLists, profile: Profile) -> BuiltList:
            right = super().build(lists, profile)
            return BuiltList(right.codes, right.values * 0.5, right.similarities)

    monkeypatch.setattr(twins_timing, "METHODS", {"wrong": Wrong})
    with pytest.raises(AssertionError, match="wrong list"):
        measure(SimilarityLists(films), changed, n_targets=films.n_users, newcomers=2, trials=1, seed=1)


# Judgments


def verdicts(case: Case, share: float) -> dict[str, str]:
    bins = [{"axis": "user", "similarity": "co-rated", "mean share": share, "largest share": share}]
    table = claims_table([case], pl.DataFrame(bins), newcomers=30)
    return dict(zip(table["claim"], table["verdict"], strict=True)) | dict(
        zip(table["figure"], table["verdict"], strict=True)
    )


def test_the_claims_hold_where_the_numbers_do() -> None:
    good, bad = verdicts(case_of(full=1.0, search=1 / 200), 0.005), verdicts(case_of(full=1.0, search=1.0), 0.2)
    for claim in ("6.2", "6.1", *(text for text in good if "1/125" in text or "29/125" in text)):
        assert good[claim] == "holds"
        assert bad[claim] == "does not hold"
    assert good["6.3"] == bad["6.5"] == "not run"


# The whole


def test_tables_and_charts(report: StudyReport) -> None:
    assert [chart.name for chart in report.charts] == ["figure-6-2", "figure-6-4"]
    for chart in report.charts:
        assert chart.altair().to_dict()
        assert chart.data.filter(pl.col("method") == "full")["times as fast"].to_list() == pytest.approx(
            [1.0] * chart.data.filter(pl.col("method") == "full").height
        )
    claims, speed, sets, bins = report.tables.values()
    assert set(claims["figure"]) == set(published_table("twins")["figure"])
    assert speed.height == 2 * 2 * 2 * (len(METHODS) - 1)
    assert speed["30 equal"].min() > 0  # type: ignore[operator]
    assert sets.height == 2 * 2 * 2 * 3
    assert bins["claimed at most"].unique().to_list() == [1 / CLAIM]


def test_the_bound_is_refuted(report: StudyReport) -> None:
    claims = report.tables["Claims of the text"]
    assert set(claims.filter(pl.col("figure") == "6.1")["verdict"]) == {"does not hold"}
    fullest = report.tables["Fullest bin of width 0.01 of a similarity list"]
    assert fullest["mean share"].min() > 1 / CLAIM  # type: ignore[operator]


def test_the_report_is_json(report: StudyReport) -> None:
    json.dumps(report.to_dict(), allow_nan=False)
    assert len(report.findings) == 4


def test_large_data_are_sampled_and_items_are_rows(films: Interactions) -> None:
    assert twins._side(films, "user", most=40, seed=0).n_users == 40
    items = twins._side(films, "item", most=10_000, seed=0)
    assert items.n_users == np.unique(films.item).size
    assert len(items) == len(films)


def test_records_without_ratings_do(films: Interactions) -> None:
    touched = Interactions({"user_id": films.user, "item_id": films.item})
    assert twins.run(touched, quick=True).tables


def test_no_records_is_an_error(films: Interactions) -> None:
    with pytest.raises(UsageError, match="no records"):
        twins.run(films.emptied())
