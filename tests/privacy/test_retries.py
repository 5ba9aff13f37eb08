"""Retries under a key: what is charged, by the state in which the run before was left."""

from __future__ import annotations

import os
import shutil
import signal
from fractions import Fraction
from pathlib import Path

import pytest
from tests.privacy.conftest import InChild

from discreet.counting import ItemCounts
from discreet.data import Interactions
from discreet.errors import BudgetError, BudgetWarning, LedgerError, UsageError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger import Ledger, tables
from discreet.privacy.losses import Pure
from discreet.privacy.units import Unit

SHOP = Interactions([("ann", "tea"), ("bob", "tea"), ("bob", "rum")], items=["tea", "rum"], name="shop")
HALF = ItemCounts(epsilon="1/2", cap=2)
GUARANTEE = Guarantee(Pure(Fraction(1, 2)), Unit(), Standing.PROVED, "a theorem", "noisy counts")


@pytest.fixture
def ledger(place: str) -> Ledger:
    ledger = Ledger(place)
    ledger.open(SHOP, population="customers", epsilon=1)
    return ledger.keyed("monday")


def spent(ledger: Ledger) -> Fraction:
    return ledger.statement(SHOP).total.epsilon


def test_a_saved_release_is_returned_and_not_charged(ledger: Ledger, tmp_path: Path) -> None:
    first = HALF.release(SHOP, ledger=ledger)
    first.save(tmp_path / "counts")
    again = HALF.release(SHOP, ledger=ledger)
    assert again.id == first.id
    assert again.table("counts").equals(first.table("counts"))
    assert spent(ledger) == Fraction(1, 2)


def test_what_was_saved_is_not_charged_a_second_time(ledger: Ledger) -> None:
    spend = ledger.charge(SHOP, GUARANTEE, mechanism="test")
    spend.settle("release-1")
    spend.note_saved("/somewhere")
    with pytest.raises(LedgerError, match="was made and saved in /somewhere"):
        charge(ledger)
    assert spent(ledger) == Fraction(1, 2)


def test_a_saved_release_that_is_missing_or_another_one_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    HALF.release(SHOP, ledger=ledger).save(tmp_path / "counts")
    shutil.move(tmp_path / "counts", tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match=r"no longer in .*counts: entry 1"):
        HALF.release(SHOP, ledger=ledger)
    HALF.release(SHOP).save(tmp_path / "counts")
    with pytest.raises(LedgerError, match="no longer in"):
        HALF.release(SHOP, ledger=ledger)
    assert spent(ledger) == Fraction(1, 2)


def test_without_a_saved_release_it_is_charged_again_and_told(ledger: Ledger) -> None:
    first = HALF.release(SHOP, ledger=ledger)
    with pytest.warns(BudgetWarning, match="entry 1 under the key 'monday'.* charged again, as entry 2"):
        second = HALF.release(SHOP, ledger=ledger)
    assert first.id != second.id
    assert spent(ledger) == 1
    with pytest.raises(BudgetError):
        HALF.release(SHOP, ledger=ledger)


def test_another_request_under_the_key_is_refused(ledger: Ledger) -> None:
    HALF.release(SHOP, ledger=ledger)
    others = [
        lambda: ItemCounts(epsilon="1/4", cap=2).release(SHOP, ledger=ledger),
        lambda: ItemCounts(epsilon="1/2", cap=1).release(SHOP, ledger=ledger),
        lambda: ledger.charge(SHOP, GUARANTEE, mechanism="another"),
    ]
    tuesday = Interactions([("ann", "tea")], items=["tea", "rum"])
    ledger.attach(tuesday, "customers")
    others.append(lambda: HALF.release(tuesday, ledger=ledger))
    for other in others:
        with pytest.raises(LedgerError, match="something else was asked for under the key 'monday'"):
            other()
    assert spent(ledger) == Fraction(1, 2)


def test_other_keys_are_other_runs(ledger: Ledger) -> None:
    HALF.release(SHOP, ledger=ledger)
    HALF.release(SHOP, ledger=ledger.keyed("tuesday"))
    assert spent(ledger) == 1
    with pytest.raises(UsageError, match="empty"):
        ledger.keyed(" ")


def charge(ledger: Ledger) -> int:
    return ledger.charge(SHOP, GUARANTEE, mechanism="test").id


@pytest.mark.parametrize(("before", "charged"), [("the mark", 1), ("the draw", 2)])
def test_killed_before_the_mark_the_same_charge_is_used_and_after_it_another(
    ledger: Ledger, in_child: InChild, monkeypatch: pytest.MonkeyPatch, before: str, charged: int
) -> None:
    """The process is killed right before the mark "drawing" is written, or right after it was written durably."""

    def kill(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def run() -> None:
        if before == "the mark":
            tables.note_drawing = kill  # type: ignore[assignment]
            charge(ledger)
        else:
            charge(ledger)
            kill()

    assert in_child(run) == -signal.SIGKILL
    outcome = ledger.statement(SHOP).entries[0].outcome
    assert outcome == ("reserved, nothing drawn" if before == "the mark" else "reserved, never settled")
    assert charge(ledger) == charged
    assert len(ledger.statement(SHOP).entries) == charged
    assert spent(ledger) == Fraction(charged, 2)


def test_one_charge_is_drawn_with_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two runs that find the same unmarked charge, one writes the mark."""
    with monkeypatch.context() as patched:
        patched.setattr(tables, "note_drawing", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            charge(ledger)
    marked = tables.note_drawing
    with monkeypatch.context() as patched:

        def another_first(*given: object) -> bool:
            marked(*given)  # type: ignore[arg-type]
            return marked(*given)  # type: ignore[arg-type]

        patched.setattr(tables, "note_drawing", another_first)
        with pytest.raises(LedgerError, match="at the same moment"):
            charge(ledger)


def test_a_charge_that_filled_the_account_is_used_again(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Guarantee(Pure(Fraction(1)), Unit(), Standing.PROVED, "a theorem", "noisy counts")
    with monkeypatch.context() as patched:
        patched.setattr(tables, "note_drawing", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(SHOP, whole, mechanism="test")
    assert ledger.charge(SHOP, whole, mechanism="test").id == 1
    assert spent(ledger) == 1


def test_a_release_that_got_its_name_before_a_crash_counts_as_saved(ledger: Ledger, tmp_path: Path) -> None:
    release = HALF.release(SHOP, ledger=ledger)
    release.write_into(tmp_path / "counts")
    assert not ledger.saved_under("monday", tmp_path / "elsewhere")
    assert ledger.saved_under("monday", tmp_path / "counts")
    assert HALF.release(SHOP, ledger=ledger).id == release.id
    assert spent(ledger) == Fraction(1, 2)
