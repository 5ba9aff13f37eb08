"""A series from opening to its last step: totals, retries, missed steps, copies, damage."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.series.conftest import ITEMS, visits

import discreet as dc
from discreet.counting import SRA, ItemCounts
from discreet.data.interactions import Interactions
from discreet.errors import LedgerError, PrivacyError, ReleaseError, UsageError
from discreet.privacy.ledger import Ledger
from discreet.series import Series

EXACT = ItemCounts(epsilon=10**6, delta="1e-6", cap=10**3)
"""Hardly any noise, and a cap that nobody reaches."""


def totals(release: Any) -> list[int]:
    return [round(count) for count in release.table("counts")["count"]]


def truth(*nights: Interactions) -> list[int]:
    return np.sum([night.records_per_item for night in nights], axis=0).tolist()


def series(folder: Path | None = None, method: Any = EXACT, steps: int = 4, **settings: Any) -> Series:
    return Series(method, steps=steps, folder=folder, **settings)


# What a user does


def test_a_year_in_five_lines(tmp_path: Path, nights: list[Interactions]) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(nights[0], epsilon=4, delta="1e-6")
    nightly, release = None, None
    for tonight in nights:  # every night the same lines
        nightly = dc.Series(ItemCounts, steps=365, epsilon=4, delta="1e-6", folder=tmp_path / "nightly")
        release = nightly.advance(tonight, ledger=ledger)
    assert nightly is not None
    assert release is not None
    assert release.guarantee.standing.name == "PROVED"
    assert release.parameters["series"]["step"] == 3
    assert ledger.statement("shop").left.epsilon < 0.01
    assert len(ledger.series_steps(nightly.id)) == 4


@pytest.mark.parametrize("durable", [False, True])
def test_every_step_has_the_total_so_far(tmp_path: Path, nights: list[Interactions], durable: bool) -> None:
    counted = series(tmp_path / "s" if durable else None)
    for step, tonight in enumerate(nights):
        assert totals(counted.advance(tonight)) == truth(*nights[: step + 1])


def test_a_full_export_gives_the_same_totals(nights: list[Interactions]) -> None:
    counted = series(records="all")
    rows: list[Any] = []
    for step, tonight in enumerate(nights):
        rows += tonight.to_frame().select("user_id", "item_id", "timestamp").rows()
        assert totals(counted.advance(visits(rows))) == truth(*nights[: step + 1])


def test_the_first_records_count_and_no_more_than_the_cap() -> None:
    counted = series(method=ItemCounts(epsilon=10**6, delta="1e-6", cap=3))
    rows = [("u", ITEMS[place], 10 - place) for place in range(5)]
    assert totals(counted.advance(visits(rows, repeats=False))) == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    assert totals(counted.advance(visits([("u", "i9", 99), ("v", "i9", 99)], repeats=False)))[9] == 1


def test_repeats_count_by_their_squared_length() -> None:
    counted = series(method=ItemCounts(epsilon=10**6, delta="1e-6", cap=9))
    assert totals(counted.advance(visits([("u", "i0", time) for time in range(2)])))[0] == 2
    assert totals(counted.advance(visits([("u", "i0", 10 + time) for time in range(9)])))[0] == 3
    # Nine is all: nothing more fits.
    assert totals(counted.advance(visits([("u", "i1", 50)])))[1] == 0


def test_an_item_counts_once_where_data_have_no_repeats() -> None:
    counted = series()
    counted.advance(visits([("u", "i0", 1)], repeats=False))
    assert totals(counted.advance(visits([("u", "i0", 2), ("u", "i1", 2)], repeats=False)))[:2] == [1, 1]
    # Data that may repeat are held to what the series was opened with: whether they do is nobody's business.
    assert totals(counted.advance(visits([("u", "i2", 3), ("u", "i2", 4), ("u", "i0", 5)])))[:3] == [1, 1, 1]


def test_items_outside_of_the_catalog_are_left_out(nights: list[Interactions]) -> None:
    counted = series()
    counted.advance(nights[0])
    more = Interactions(
        [("u", "i0", None, 7), ("u", "new", None, 7)], rating=None, items=[*ITEMS, "new"], duplicates="keep"
    )
    found = totals(counted.advance(more))
    assert found == (np.array(truth(nights[0])) + np.eye(10, dtype=int)[0]).tolist()


def test_counts_by_context(nights: list[Interactions]) -> None:
    counted = series(contexts=["weekday"])
    release = [counted.advance(tonight) for tonight in nights][-1]
    assert release is not None
    assert totals(release) == truth(*nights)
    assert abs(release.table("edges")["count"].sum() - 120) < 10


def test_what_to_expect_costs_nothing(nights: list[Interactions]) -> None:
    expected = Series(ItemCounts, steps=365, epsilon=4, delta="1e-6").estimate(nights[0])
    assert round(expected["noise_factor"]["last"], 2) == 2.94
    assert round(expected["noise_factor_if_each_step_pays"], 1) == 19.1


# Retries and missed steps


def test_repeating_a_step_returns_it(tmp_path: Path, nights: list[Interactions], ledger: Ledger) -> None:
    counted = series(tmp_path / "s", ItemCounts(epsilon=1, delta="1e-6"))
    first = counted.advance(nights[0], ledger=ledger, step=0)
    second = counted.advance(nights[1], ledger=ledger, step=1)
    assert first is not None
    assert second is not None
    again = Series.resume(tmp_path / "s").advance(nights[0], ledger=ledger, step=0)
    assert again is not None
    assert again.id == first.id
    assert again.table("counts").equals(first.table("counts"))
    assert len(ledger.statement("customers").entries) == 3
    assert ledger.account_of_release(second.id) is not None


def test_missed_steps_are_made_up_for_and_reported(tmp_path: Path, nights: list[Interactions], ledger: Ledger) -> None:
    counted = series(tmp_path / "s")
    counted.advance(nights[0], ledger=ledger)
    release = counted.advance(nights[3], ledger=ledger, step=3)
    assert release is not None
    assert totals(release) == truth(nights[0], nights[3])
    assert counted.missed == (1, 2)
    assert release.parameters["series"]["missed"] == [1, 2]
    assert sorted(ledger.series_steps(counted.id)) == [0, 1, 2, 3]


def test_a_series_ends(nights: list[Interactions]) -> None:
    counted = series(steps=1)
    counted.advance(nights[0])
    with pytest.raises(UsageError, match=r"steps 0 to 0; 1 is none"):
        counted.advance(nights[1])


def test_saved_releases_are_releases(tmp_path: Path, nights: list[Interactions]) -> None:
    release = series().advance(nights[0])
    assert release is not None
    assert dc.Release.load(release.save(tmp_path / "r")).id == release.id


# The ledger


def test_the_whole_series_is_charged_once(tmp_path: Path, nights: list[Interactions], ledger: Ledger) -> None:
    counted = series(tmp_path / "s", ItemCounts(epsilon=2, delta="1e-6"))
    before = ledger.statement("customers").left.epsilon
    counted.open(nights[0], ledger=ledger)
    after = ledger.statement("customers").left.epsilon
    assert 0 < before - after <= 2
    for tonight in nights:
        counted.advance(tonight, ledger=ledger)
    assert ledger.statement("customers").left.epsilon == after
    assert "paid for the 4 steps" in str(ledger.statement("customers"))


def test_an_account_by_name(tmp_path: Path, nights: list[Interactions], ledger: Ledger) -> None:
    counted = series(tmp_path / "s", population="customers")
    assert counted.advance(nights[1], ledger=ledger) is not None


def test_a_series_that_does_not_fit_releases_nothing(tmp_path: Path, nights: list[Interactions]) -> None:
    small = Ledger(tmp_path / "small.db")
    small.open(nights[0], epsilon=1, delta="1e-6", name="customers")
    counted = series(tmp_path / "s", ItemCounts(epsilon=2, delta="1e-6"))
    with pytest.raises(dc.DiscreetError, match="shortfall"):
        counted.advance(nights[0], ledger=small)
    assert counted.last == -1


def test_steps_need_the_ledger_of_the_series(tmp_path: Path, nights: list[Interactions], ledger: Ledger) -> None:
    series(tmp_path / "s").advance(nights[0], ledger=ledger)
    with pytest.raises(LedgerError, match="which records its steps"):
        series(tmp_path / "s").advance(nights[1])
    other = Ledger(tmp_path / "other.db")
    other.open(nights[0], epsilon=10**7, delta="1e-5", name="others")
    with pytest.raises(LedgerError, match="knows of 0 released steps"):
        series(tmp_path / "s").advance(nights[1], ledger=other)


def test_a_series_without_steps_cannot_move_to_another_ledger(
    tmp_path: Path, nights: list[Interactions], ledger: Ledger
) -> None:
    series(tmp_path / "s").open(nights[0], ledger=ledger)
    other = Ledger(tmp_path / "other.db")
    other.open(nights[0], epsilon=10**7, delta="1e-5", name="others")
    other.charge("others", EXACT.plan(nights[0]).guarantee, mechanism="x").settle("y")
    with pytest.raises(LedgerError, match="not the charge of this series"):
        series(tmp_path / "s").advance(nights[0], ledger=other)


@pytest.mark.parametrize("copied_after", [0, 1, 2])
def test_a_copy_cannot_release_a_step_again(
    tmp_path: Path, nights: list[Interactions], ledger: Ledger, copied_after: int
) -> None:
    series(tmp_path / "s").open(nights[0], ledger=ledger)
    for step in range(3):
        if step == copied_after:
            shutil.copytree(tmp_path / "s", tmp_path / "copy")
        series(tmp_path / "s").advance(nights[step], ledger=ledger)
    with pytest.raises(LedgerError, match="A copy or an old state"):
        series(tmp_path / "copy").advance(nights[copied_after], ledger=ledger)
    # The one that released the latest step goes on.
    assert series(tmp_path / "s").advance(nights[3], ledger=ledger) is not None


def test_whoever_comes_second_with_a_step_is_refused(nights: list[Interactions], ledger: Ledger) -> None:
    counted = series()
    counted.advance(nights[0], ledger=ledger)
    charge = ledger.series_charge(counted.id)
    assert charge is not None
    with pytest.raises(LedgerError, match="released already"):
        ledger.record_step(charge, counted.id, 0, "another")


def test_records_that_were_cut_by_looking_at_everybody_are_refused(nights: list[Interactions], ledger: Ledger) -> None:
    counted = series()
    counted.advance(nights[0], ledger=ledger)
    popular = nights[1].filter(nights[1].item < 5)
    with pytest.raises(PrivacyError, match="may look at everybody"):
        counted.advance(popular, ledger=ledger)
    assert counted.advance(nights[1].filter(nights[1].item < 5, independent="record"), ledger=ledger) is not None


# The folder


def test_the_folder_is_for_its_owner_alone(tmp_path: Path, nights: list[Interactions]) -> None:
    series(tmp_path / "s").advance(nights[0])
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "s").iterdir()} == {0o600}


def test_the_secret_state_grows_with_people_and_not_with_steps(tmp_path: Path, nights: list[Interactions]) -> None:
    counted = series(tmp_path / "s", ItemCounts(epsilon=1, delta="1e-6", cap=3), steps=30)

    def secret() -> int:
        return sum(path.stat().st_size for path in (tmp_path / "s").glob("*.arrow"))

    counted.advance(nights[0])
    before = secret()
    for _ in range(20):
        counted.advance(nights[0])
    assert secret() == before
    assert len(list((tmp_path / "s").glob("*.arrow"))) == 4


def test_other_settings_are_refused(tmp_path: Path, nights: list[Interactions]) -> None:
    series(tmp_path / "s").advance(nights[0])
    with pytest.raises(UsageError, match="steps = 4, not 5"):
        series(tmp_path / "s", steps=5)
    with pytest.raises(UsageError, match="parameters"):
        series(tmp_path / "s", ItemCounts(epsilon=1, delta="1e-6"))


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "letters.txt").write_text("dear")
    with pytest.raises(UsageError, match="something else"):
        series(tmp_path / "s")


@pytest.mark.parametrize("name", ["state.json", "series.json", "records-", "step-", "catalog-"])
def test_damage_is_noticed(tmp_path: Path, nights: list[Interactions], name: str) -> None:
    counted = series(tmp_path / "s")
    for tonight in nights[:2]:
        counted.advance(tonight)
    path = next(path for path in (tmp_path / "s").iterdir() if path.name.startswith(name))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ReleaseError, match=r"damaged|changed"):
        series(tmp_path / "s").advance(nights[2])


# What cannot be meant


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": SRA(epsilon=1, cap=2)}, "has no series"),
        ({"method": ItemCounts(epsilon=1)}, "delta must be above 0"),
        ({"steps": 0}, "steps"),
        ({"settle": 1}, "settle must be left out"),
        ({"records": "some"}, "records"),
        ({"people": 10**15}, "64 bits"),
        ({"method": "no-such"}, "no-such"),
        ({"method": ItemCounts}, "epsilon is required"),
        ({"method": 17}, "not a method"),
    ],
)
def test_wrong_settings(nights: list[Interactions], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        series(**settings).advance(nights[0])


def test_columns_that_are_missing_later(nights: list[Interactions]) -> None:
    counted = series()
    counted.advance(nights[0])
    with pytest.raises(UsageError, match="no times"):
        counted.advance(Interactions([("u", "i0")], items=ITEMS, duplicates="keep"))
