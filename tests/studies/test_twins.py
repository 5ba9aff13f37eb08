"""The study of TwinSearch: sets, bins and ratios with known answers, and its report."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, synthetic
from discreet.errors import UsageError
from discreet.neighbors.dense import Likeness
from discreet.neighbors.newcomers import Newcomers
from discreet.neighbors.twin_lists import BuiltList, Profile, SimilarityLists
from discreet.neighbors.twins import FullComputation
from discreet.studies import StudyReport, published, twins
from discreet.studies.study import Measurements
from discreet.studies.twins import (
    CLAIM,
    KNOWN,
    METHODS,
    ListTimes,
    TwinsStudy,
    changed,
    largest_bins,
    list_times,
    measurements,
    sets_in_vain,
    side_of,
    sybil,
)  # fmt: skip
from discreet.studies.twins_predictions import predictions

Judge = Callable[..., list[str]]


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=90, items=50, records=1_800, seed=7)


@pytest.fixture(scope="module")
def report(films: Interactions) -> StudyReport:
    steps: list[float] = []
    found = TwinsStudy().run(films, seed=1, quick=True, progress=lambda share, what: steps.append(share))
    assert steps == sorted(steps)
    assert steps[-1] == 1.0
    return found


def timed(first: float, later: float) -> ListTimes:
    return ListTimes([first] * 3, [later] * 6)


def found(*, full: float, search: float, share: float = 0.005) -> Measurements:
    """Everything as fast as the full computation, but for TwinSearch once there is a duplicate."""
    times = {name: timed(full, full) for name in METHODS} | {"TwinSearch c=3": timed(full, search)}
    bins = [{"axis": "user", "similarity": "co-rated", "mean share": share, "largest share": share}]
    cases = {("user", "co-rated", "new"): times, ("item", "co-rated", "new"): times}
    told = [{"similarity": "s", "new": "n", "way": "TwinSearch c=3", "all equal": full / search}]
    return measurements({"newcomers": 30}, cases, pl.DataFrame(), pl.DataFrame(bins), pl.DataFrame(told))  # type: ignore[arg-type]


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
    one, _, ten = sets
    assert [size["probes"] for size in sets] == [1, 3, 10]
    assert lists.n_rows == films.n_users
    assert one["mean Set_i"] == one["mean Set_0"]
    assert ten["mean Set_0"] < one["mean Set_0"]
    assert all(size["mean Set_0"] <= size["largest Set_0"] for size in sets)


def test_ratios_of_times() -> None:
    speed = found(full=1.0, search=0.1).tables["speed"].filter(method="TwinSearch c=3").row(0, named=True)
    assert speed["later"] == pytest.approx(10)
    assert speed["first"] == pytest.approx(1)
    assert speed["all equal"] == pytest.approx(30 / (1 + 29 * 0.1))


def test_every_method_is_timed_and_newcomers_stay(films: Interactions) -> None:
    lists = SimilarityLists(films)
    measured = list_times(lists, changed, n_targets=films.n_users, newcomers=4, trials=2, seed=1)
    assert list(measured) == list(METHODS)
    assert all(len(each.first) == 2 and len(each.later) == 6 for each in measured.values())
    assert lists.n_rows == films.n_users + 2 * 4 * len(METHODS)


def test_a_wrong_list_is_not_timed(films: Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(FullComputation):
        def build(self, lists: SimilarityLists, profile: Profile) -> BuiltList:
            right = super().build(lists, profile)
            return BuiltList(right.codes, right.values * 0.5, right.similarities)

    monkeypatch.setattr(twins, "METHODS", {"wrong": Wrong})
    with pytest.raises(AssertionError, match="wrong list"):
        list_times(SimilarityLists(films), changed, n_targets=films.n_users, newcomers=2, trials=1, seed=1)


# End to end


@pytest.mark.parametrize("rated", [True, False])
def test_predictions_for_newcomers_are_timed_on_every_way(films: Interactions, rated: bool) -> None:
    columns = {"user_id": films.user, "item_id": films.item} | ({"rating": films.rating} if rated else {})
    told = predictions(Interactions(columns), newcomers=3, trials=1, seed=1)
    assert told["way"].unique(maintain_order=True).to_list() == ["computed", "TwinSearch c=3", "hash", "fitted again"]
    assert told.height == 2 * 2 * 4
    computed = told.filter(way="computed")
    assert (computed["later"] == 1).all()
    assert (told["all equal"] > 0).all()
    assert told.filter(way="fitted again")["set up"].null_count() == 4


def test_another_answer_is_not_timed(films: Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Newcomers.rows

    def wrong(self: Newcomers, histories) -> Likeness:
        right = rows(self, histories)
        return right if self.how == "compute" else right.mapped(lambda part: part[:, ::-1])

    monkeypatch.setattr(Newcomers, "rows", wrong)
    with pytest.raises(AssertionError, match="another answer"):
        predictions(films, newcomers=2, trials=1, seed=1)


# Judgments


def test_the_claims_hold_where_the_numbers_do(judge: Judge) -> None:
    good, bad = found(full=1.0, search=1 / 200), found(full=1.0, search=1.0, share=0.2)
    for key in ("6.2", "6.4", "bin", "one", "all"):
        assert set(judge("twins", key, good)) == {"holds"}, key
        assert set(judge("twins", key, bad)) == {"does not hold"}, key
    for key in ("hash", "by column", "end to end"):
        assert set(judge("twins", key, good)) == {"holds"}, key
        assert set(judge("twins", key, found(full=1.0, search=2.0))) == {"does not hold"}, key
    assert judge("twins", "6.3", good) == judge("twins", "6.5", bad) == ["not judged here"]


# The whole


def test_tables_and_charts(report: StudyReport) -> None:
    assert [chart.name for chart in report.charts] == ["figure-6-2", "figure-6-4"]
    for chart in report.charts:
        assert chart.altair().to_dict()
        assert chart.data.filter(pl.col("method") == "full")["times as fast"].to_list() == pytest.approx(
            [1.0] * chart.data.filter(pl.col("method") == "full").height
        )
    claims, speed, told, sets, bins = report.tables.values()
    assert set(claims["claim"]) == {claim["claim"] for claim in published("twins")["claims"]}
    assert speed.height == 2 * 2 * 2 * (len(METHODS) - 1)
    assert speed["30 equal"].min() > 0  # type: ignore[operator]
    assert sets.height == 2 * 2 * 2 * 3
    assert told.height == 2 * 2 * 3
    assert told["30 equal"].min() > 0  # type: ignore[operator]
    assert bins["claimed at most"].unique().to_list() == [1 / CLAIM]


def test_the_bound_is_refuted(report: StudyReport) -> None:
    fullest = report.tables["Fullest bin of width 0.01 of a similarity list"]
    assert fullest["mean share"].min() > 1 / CLAIM  # type: ignore[operator]


def test_ninety_rows_are_no_test_of_the_thesis(report: StudyReport) -> None:
    claims = report.verdicts
    assert claims is not None
    told = claims.filter(pl.col("case") != "")
    assert told["measured"].str.contains("[0-9]").all(), "the numbers are shown all the same"
    for verdict in told["verdict"]:
        assert verdict.startswith("not judged here: ")
        assert "needs users ≥ 943, here 90; needs items ≥ 1,682, here 50" in verdict


def test_the_report_is_json(report: StudyReport) -> None:
    json.dumps(report.to_dict(), allow_nan=False)


def test_large_data_are_sampled_and_items_are_rows(films: Interactions) -> None:
    assert side_of(films, "user", most=40, seed=0).n_users == 40
    items = side_of(films, "item", most=10_000, seed=0)
    assert items.n_users == np.unique(films.item).size
    assert len(items) == len(films)


def test_records_without_ratings_do(films: Interactions) -> None:
    touched = Interactions({"user_id": films.user, "item_id": films.item})
    assert TwinsStudy().run(touched, quick=True).tables


def test_no_records_is_an_error(films: Interactions) -> None:
    with pytest.raises(UsageError, match="no records"):
        TwinsStudy().run(films.emptied())
