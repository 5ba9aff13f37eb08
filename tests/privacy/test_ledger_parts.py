"""One person has one account, whether the data are in memory, in parts, or cut from either."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import discreet as dc
from discreet.counting import ItemCounts
from discreet.data.readers import write
from discreet.errors import DiscreetWarning, LedgerError, PrivacyError
from discreet.privacy.ledger import families
from discreet.privacy.ledger import ledger as ledgers

FILMS = dc.synthetic.films(users=40, items=12, seed=7)
WHOLE = dc.Interactions(FILMS.to_frame(), items=FILMS.items.series, scale="1:5", name="films")
COUNTS = ItemCounts(epsilon="1/2", cap=3)


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    return dc.Ledger(tmp_path / "budget.db")


def scanned(tmp_path: Path, data: dc.Interactions = WHOLE, **options: Any) -> Any:
    given = {"items": FILMS.items.series, "scale": "1:5", "name": "films", "parts": 3, "folder": tmp_path, **options}
    return dc.scan(data.to_frame().lazy(), **given)


def as_before_parts(data: Any) -> tuple[str, ...]:
    """What ledgers wrote down before there were fingerprints by person."""
    return families.family_of(data)


def cuts() -> dict[str, dc.Interactions]:
    keep = WHOLE.user < 20
    return {
        "filter": WHOLE.filter(keep, independent=True),
        "filter of a filter": WHOLE.filter(keep, independent=True).filter(
            lambda frame: frame["rating"] > 2, independent="record"
        ),
        "sample_users": WHOLE.sample_users(20, seed=7),
        "with_catalog": WHOLE.with_catalog(FILMS.items.ids()[:6], unknown="drop"),
        "with_ratings": WHOLE.with_ratings(WHOLE.rating, WHOLE.scale),  # type: ignore[arg-type]
    }


@pytest.mark.parametrize("cut", cuts())
def test_what_is_cut_in_memory_is_known_or_refused_where_the_account_was_opened_by_a_scan(
    cut: str, ledger: dc.Ledger, tmp_path: Path
) -> None:
    ledger.open(scanned(tmp_path), population="viewers", epsilon=4)
    part = cuts()[cut]
    if cut == "with_ratings":  # the same records: known by person
        COUNTS.release(part, ledger=ledger)
        return
    with pytest.raises(
        LedgerError, match=r"was cut from other data.*viewers by a scan alone.*attach\(whole, 'viewers'"
    ):
        COUNTS.release(part, ledger=ledger)
    with pytest.raises(LedgerError, match="by a scan alone"):
        ledger.open(part, population="others", epsilon=4)
    assert len(ledger.datasets()) == 1
    ledger.attach(WHOLE, "viewers")  # the remedy
    if cut == "sample_users":
        with pytest.raises(PrivacyError, match="may look at everybody"):
            COUNTS.release(part, ledger=ledger)
    else:
        COUNTS.release(part, ledger=ledger)
    with pytest.raises(LedgerError, match="have an account already"):
        ledger.open(part, population="others", epsilon=4)
    assert len(ledger.statement("viewers").entries) == (cut != "sample_users")


def test_a_release_from_the_whole_in_memory_makes_its_parts_known(ledger: dc.Ledger, tmp_path: Path) -> None:
    ledger.open(scanned(tmp_path), population="viewers", epsilon=4)
    COUNTS.release(WHOLE, ledger=ledger)
    COUNTS.release(cuts()["filter"], ledger=ledger)
    assert len(ledger.statement("viewers").entries) == 2


def test_a_part_does_not_become_data_of_its_own_by_a_release(ledger: dc.Ledger, tmp_path: Path) -> None:
    """A part that was cut by a look at everybody stays refused, although a scan knows the same records."""
    freely = WHOLE.filter(WHOLE.user < 20)
    ledger.open(WHOLE, population="viewers", epsilon=4)
    for _ in range(2):
        with pytest.raises(PrivacyError, match="may look at everybody"):
            COUNTS.release(freely, ledger=ledger)


def test_other_data_open_an_account_although_others_were_scanned(ledger: dc.Ledger, tmp_path: Path) -> None:
    ledger.open(scanned(tmp_path), population="viewers", epsilon=4)
    others = dc.synthetic.films(users=30, items=12, seed=8)
    ledger.open(others, population="others", epsilon=4)
    ledger.open(scanned(tmp_path, dc.synthetic.films(users=30, items=12, seed=9)), population="third", epsilon=4)
    part = dc.synthetic.films(users=30, items=12, seed=10).filter(lambda frame: frame["rating"] > 2, independent=True)
    with pytest.warns(DiscreetWarning, match="about the people of viewers, third cannot be told"):
        ledger.open(part, population="fourth", epsilon=4, other_people=True)


class TestEarlierLedgers:
    """Accounts that know their data as they are in memory alone."""

    @pytest.fixture
    def earlier(self, ledger: dc.Ledger) -> dc.Ledger:
        with mock.patch.object(ledgers, "known_as", as_before_parts):
            ledger.open(WHOLE, population="viewers", epsilon=4)
        return ledger

    def test_a_scan_is_refused_with_a_remedy_that_works(self, earlier: dc.Ledger, tmp_path: Path) -> None:
        data = scanned(tmp_path)
        with pytest.raises(LedgerError, match="is in parts, and the ledger knows data of viewers as they are in"):
            COUNTS.release(data, ledger=earlier)
        with pytest.raises(LedgerError, match="cannot be told") as raised:
            earlier.open(data, population="others", epsilon=4)
        assert "discreet ledger attach DATA viewers --parts memory" in raised.value.cli_message
        assert len(earlier.datasets()) == 1
        earlier.attach(WHOLE, "viewers")
        COUNTS.release(data, ledger=earlier)
        with pytest.raises(LedgerError, match="have an account already"):
            earlier.open(data, population="others", epsilon=4)

    def test_data_that_do_not_fit_into_memory_are_attached_as_they_are(
        self, earlier: dc.Ledger, tmp_path: Path
    ) -> None:
        earlier.attach(scanned(tmp_path), "viewers")
        COUNTS.release(scanned(tmp_path, parts=5), ledger=earlier)

    def test_a_named_population_is_charged(self, earlier: dc.Ledger, tmp_path: Path) -> None:
        COUNTS.release(scanned(tmp_path), ledger=earlier.about("viewers"))
        COUNTS.release(scanned(tmp_path), ledger=earlier)
        assert len(earlier.statement("viewers").entries) == 2

    def test_other_people_are_declared(self, earlier: dc.Ledger, tmp_path: Path) -> None:
        with pytest.warns(DiscreetWarning, match="as it was declared that these are other people"):
            earlier.open(scanned(tmp_path), population="others", epsilon=4, other_people=True)

    def test_data_in_memory_are_opened_as_before(self, earlier: dc.Ledger) -> None:
        earlier.open(dc.synthetic.films(users=30, items=12, seed=8), population="others", epsilon=4)


def test_a_scan_of_the_whole_of_a_part_with_an_account(ledger: dc.Ledger, tmp_path: Path) -> None:
    """The account of a part stands for the whole, too; of the whole it knows the fingerprint of memory alone."""
    ledger.open(cuts()["filter"], population="viewers", epsilon=4)
    with pytest.raises(LedgerError, match="cannot be told"):
        ledger.open(scanned(tmp_path), population="others", epsilon=4)
    with pytest.raises(LedgerError, match="cannot be told"):
        COUNTS.release(scanned(tmp_path), ledger=ledger)


def test_tags_and_tables_are_no_reason_to_doubt(ledger: dc.Ledger, tmp_path: Path) -> None:
    tags = dc.TagAssignments([("ann", "page", "news")], name="tags")
    ledger.open(tags, population="taggers", epsilon=4)
    ledger.open(scanned(tmp_path), population="viewers", epsilon=4)


def test_contexts_do_not_make_other_people(ledger: dc.Ledger, tmp_path: Path) -> None:
    frame = WHOLE.to_frame().with_columns(device=(WHOLE.user % 2).astype(str))
    options: dict[str, Any] = {"items": FILMS.items.series, "scale": "1:5"}
    ledger.open(
        dc.scan(frame.lazy(), context=["device"], folder=tmp_path, parts=2, **options), population="viewers", epsilon=4
    )
    COUNTS.release(WHOLE, ledger=ledger)
    COUNTS.release(scanned(tmp_path), ledger=ledger)


def test_a_scanned_part_is_held_to_its_lineage(ledger: dc.Ledger, tmp_path: Path) -> None:
    """Also where the cut left nothing out, so that its records are those of the whole: that would be told."""
    for number, keep in enumerate((WHOLE.user >= 0, WHOLE.user > 0)):
        write(WHOLE.filter(keep), tmp_path / f"{number}.parquet")
    ledger.open(WHOLE, population="viewers", epsilon=4)
    for number in (0, 1):
        data = dc.scan(tmp_path / f"{number}.parquet", parts=2, folder=tmp_path)
        with pytest.raises(PrivacyError, match="may look at everybody"):
            COUNTS.release(data, ledger=ledger)


def test_a_key_is_the_same_run_in_memory_and_in_parts(ledger: dc.Ledger, tmp_path: Path) -> None:
    """Whether a nightly job reads in parts may follow from the memory of the night."""
    ledger.open(WHOLE, population="viewers", epsilon=4)
    first = COUNTS.release(WHOLE, ledger=ledger.keyed("monday"))
    first.save(tmp_path / "monday")
    again = COUNTS.release(scanned(tmp_path), ledger=ledger.keyed("monday"))
    assert again.id == first.id
    third = COUNTS.release(scanned(tmp_path), ledger=ledger.keyed("tuesday"))
    third.save(tmp_path / "tuesday")
    assert COUNTS.release(WHOLE, ledger=ledger.keyed("tuesday")).id == third.id
    assert len(ledger.statement("viewers").entries) == 2
    with pytest.raises(LedgerError, match="something else was asked for"):
        COUNTS.release(cuts()["filter"], ledger=ledger.keyed("tuesday"))
