"""What was cut while the records were read: which guarantees are refused, with a ledger and without one."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.counting import StreamingBound
from discreet.data.readers import read, write
from discreet.errors import PrivacyError
from discreet.factors import PrivateRatings
from discreet.factors.rating_statistics import record_sums
from discreet.models.registry import create
from discreet.pairs import PrivateSlopeOne
from discreet.privacy.bounding import distinct_items
from discreet.privacy.charging import charged, sandbox
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.units import Unit

ITEMS = ["x", "y", "z"]
ONCE = [("ann", "x", 5.0, 1), ("bob", "x", 2.0, 3), ("ann", "y", 4.0, 4)]
TWICE = [*ONCE, ("ann", "x", 1.0, 9)]


@dataclass(frozen=True)
class Old:
    """A dataset as version 0.1 knew it: the same fingerprint, no mark."""

    fingerprint: str
    lineage: tuple[str, ...] = ()
    name: str = "old"


def latest(rows=TWICE) -> dc.Interactions:
    return dc.Interactions(rows, scale="1:5", duplicates="last", items=ITEMS, name="ratings")


def guarantee(unit: str) -> Guarantee:
    return Guarantee(Pure(Fraction(1, 100)), Unit.of(unit), Standing.PROVED, "a theorem", "a number")


def allowed(data: object, unit: str, ledger: dc.Ledger | None = None) -> bool:
    try:
        with charged(ledger, data, guarantee(unit), mechanism="test", parameters={}):  # type: ignore[arg-type]
            return True
    except PrivacyError as error:
        return "push another one out" not in str(error) or "'last'" in str(error.remedy)


def test_a_later_rating_moves_more_than_one_record_may() -> None:
    """Why the mark is needed: with duplicates="last", one record more moves the sums by more than their bound."""
    before, after = (record_sums(latest(rows)) for rows in (ONCE, TWICE))
    moved = sum(int(step) ** 2 for step in after.values - before.values)
    assert moved > before.l2_sensitivity_squared


@pytest.mark.parametrize("rows", [ONCE, TWICE], ids=["nothing pushed out", "one pushed out"])
def test_guarantees_about_one_record_are_refused_whatever_became_of_the_records(rows) -> None:
    data = latest(rows)
    units = ("record", "record/replace", "record/value", "user", "user/replace", "group:2", "group/replace:2")
    answers = {unit: allowed(data, unit) for unit in units}
    assert [unit for unit, answer in answers.items() if answer] == ["record/value", "user", "user/replace"]


@pytest.mark.parametrize("rows", [ONCE, TWICE])
def test_models_refuse_without_a_ledger(rows) -> None:
    with pytest.raises(PrivacyError, match="push another one out"):
        PrivateRatings(epsilon=1, unit="rating").fit(latest(rows))
    with pytest.raises(PrivacyError, match="push another one out"):
        PrivateSlopeOne(epsilon=1, unit="rating").fit(latest(rows))
    assert PrivateRatings(epsilon=1).fit(latest(rows)).guarantee is not None
    assert PrivateSlopeOne(epsilon=1, unit="value").fit(latest(rows)).guarantee is not None


def test_a_sandbox_measures_what_may_not_be_released() -> None:
    with sandbox():
        assert PrivateRatings(epsilon=1, unit="rating").fit(latest()).guarantee is not None


def test_parts_and_copies_keep_the_mark(tmp_path: Path) -> None:
    data = latest()
    kept = read(write(data, tmp_path / "kept"))
    parts = [
        data.with_catalog("observed"),
        data.with_catalog(["x", "y"], unknown="drop"),
        data.filter(np.ones(len(data), dtype=bool), independent="record"),
        data.emptied(),
        kept,
    ]
    assert kept.fingerprint == data.fingerprint
    assert not any(allowed(part, "record") for part in parts)
    assert all(allowed(part, "user") for part in parts)


def test_readers_that_keep_the_latest_mark_what_they_read(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("user_id,item_id,rating\na,x,5\nb,x,3\n")
    assert allowed(read(file, scale="1:5"), "record")
    assert not allowed(read(file, scale="1:5", duplicates="last"), "record")


def test_visits_of_which_the_latest_is_kept_are_marked() -> None:
    visits = dc.Interactions([("a", "x"), ("b", "y")], duplicates="keep", items=["x", "y"])
    assert allowed(visits, "record")
    assert not allowed(distinct_items(visits), "record")
    assert allowed(distinct_items(visits), "user")


def test_the_ledger_refuses_and_still_finds_old_accounts(tmp_path: Path) -> None:
    data = latest()
    ledger = dc.Ledger(tmp_path / "b.db")
    ledger.open(Old(data.fingerprint), epsilon=1, unit="record")
    assert not allowed(data, "record", ledger)
    assert allowed(data, "user", ledger)
    assert [entry.mechanism for entry in ledger.statement(data).entries] == ["test"]
    other = latest(ONCE)
    ledger.open(other, epsilon=1, unit="user", name="other")
    assert ledger.statement(other).account.name == "other"
    # To link a part makes it data of its own; that its records were cut while they were read stays true.
    part = data.filter(data.rating > 1, independent="record")  # type: ignore[operator]
    ledger.link(part, "old")
    assert not allowed(part, "record", ledger)


def test_the_error_about_duplicates_says_what_each_choice_costs() -> None:
    with pytest.raises(dc.DiscreetError) as caught:
        dc.Interactions(TWICE, scale="1:5")
    assert "one record are then refused" in str(caught.value.remedy)


def stream(tmp_path: Path | None = None) -> StreamingBound:
    held = StreamingBound(1, items=ITEMS, name="stream")
    held.add([("ann", "x"), ("bob", "y")])
    if tmp_path is None:
        return held
    held.save(tmp_path / "state")
    return StreamingBound.resume(tmp_path / "state")


def test_a_stream_is_cut_per_user(tmp_path: Path) -> None:
    held = stream(tmp_path)
    ledger = dc.Ledger(tmp_path / "b.db")
    records = held.records()
    # As version 0.1 opened it: the origin of the stream without a mark.
    old = Old(records.fingerprint, lineage=(records.lineage[0].lstrip("<^"),), name="stream")
    ledger.open(old, epsilon=1, unit="record")
    assert not allowed(records, "record", ledger)
    assert not allowed(records, "record")
    assert allowed(records, "user", ledger)
    held.add([("cat", "z")])
    assert allowed(held.records(), "user", ledger)
    create("weighted", "counts", epsilon="1/10", cap=1).release(held.records(), ledger=ledger)
    assert len(ledger.statement("stream").entries) == 3


def test_a_catalog_marks_a_part_by_what_was_called() -> None:
    data = dc.Interactions(ONCE, scale="1:5")
    lineages = {data.with_catalog(items, unknown="drop").lineage for items in (["x", "y"], ["x"], ["q"])}
    assert lineages == {(f"#{data.fingerprint}",)}
    assert {data.with_catalog(items).lineage for items in (["x", "y"], "observed")} == {()}


@pytest.mark.parametrize("others", [[], [("cat", "no number", 1.0, 1)]])
def test_ids_of_a_declared_type_mark_a_part_by_what_was_called(others) -> None:
    data = dc.Interactions([("ann", "1", 5.0, 1), ("bob", "2", 2.0, 3), *others], scale="1:5")
    numbers = data.with_item_ids("number")
    assert numbers.items.ids() == [1, 2]
    assert [entry[0] for entry in numbers.lineage[:1]] == ["#"]
    assert allowed(numbers, "record")
    assert [entry.rstrip("0123456789abcdef") for entry in numbers.lineage] == ["#", ""]


def test_ids_that_become_one_are_merged() -> None:
    mixed = dc.Interactions([("ann", 1, 5.0, 1), ("ann", "1", 2.0, 3), ("ann", 2.5, 1.0, 1)], scale="1:5")
    text = mixed.with_item_ids("text")
    assert text.to_frame().rows() == [("ann", "1", 2.0, 3)]
    assert [entry.rstrip("0123456789abcdef") for entry in text.lineage] == ["#", "^"]
