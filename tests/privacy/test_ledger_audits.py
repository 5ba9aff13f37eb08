"""Audits that a ledger keeps: in its chain, in backups, and in ledgers of an older version."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetError, DiscreetWarning, LedgerError, UsageError
from discreet.privacy.ledger import Ledger, restore_ledger

FACTS: dict[str, Any] = {
    "model": "item-counts",
    "verdict": "consistent with ε = 1",
    "digest": "9f" * 32,
    "claim": "ε = 1",
}


def opened(place: str | Path) -> Ledger:
    ledger = Ledger(place, who="ann@shop")
    ledger.open("f1", population="customers", epsilon=2)
    return ledger


def test_an_audit_is_kept_with_its_people_and_charged_nothing(place: str) -> None:
    ledger = opened(place)
    kept = ledger.keep_audit("f1", outcome="consistent", settings={"epsilon": "1"}, saved_in="/kept/a.html", **FACTS)
    assert (kept.id, kept.who, kept.settings, kept.saved_in) == (1, "ann@shop", {"epsilon": "1"}, "/kept/a.html")
    ledger.keep_audit("customers", outcome="refuted", **FACTS)
    ledger.open("f2", population="readers", epsilon=1)
    again = Ledger(place)
    assert [audit.outcome for audit in again.audits("customers")] == ["consistent", "refuted"]
    assert again.audits("readers") == ()
    assert again.statement("customers").spent.epsilon == 0
    assert again.account("f2").name == "readers"


def test_wrong_audits_are_refused(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "budget.db")
    with pytest.raises(UsageError, match="not as 'fine'"):
        ledger.keep_audit("f1", outcome="fine", **FACTS)
    with pytest.raises(BudgetError, match="account"):
        ledger.keep_audit("f9", outcome="refuted", **FACTS)
    with pytest.raises(BudgetError, match="account"):
        Ledger(tmp_path / "none.db").audits("f1")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE discreet_audits SET outcome = 'consistent'",
        "DELETE FROM discreet_audits",
        "INSERT INTO discreet_audits SELECT 9, account, model, settings, claim, outcome, verdict, digest, saved_in, "
        "at, who FROM discreet_audits",
    ],
)
def test_an_audit_that_was_changed_lost_or_added_is_noticed(tmp_path: Path, change: str) -> None:
    opened(tmp_path / "budget.db").keep_audit("f1", outcome="refuted", **FACTS)
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute(change)
    with pytest.raises(LedgerError, match=r"audit [19]"):
        Ledger(tmp_path / "budget.db")


def test_audits_are_in_backups(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "budget.db")
    ledger.keep_audit("f1", outcome="refuted", **FACTS)
    ledger.backup(tmp_path / "copy")
    restore_ledger(tmp_path / "copy", tmp_path / "other.db")
    assert Ledger(tmp_path / "other.db").audits("f1") == ledger.audits("f1")


def test_a_ledger_of_version_3_gets_a_table_of_audits(tmp_path: Path) -> None:
    place = tmp_path / "budget.db"
    opened(place)
    with sqlite3.connect(place) as connection:
        connection.execute("DROP TABLE discreet_audits")
        connection.execute("UPDATE discreet_book SET version = 3")
    head = (tmp_path / "budget.db.head").read_bytes()
    with pytest.warns(DiscreetWarning, match=r"copy from before is .*budget\.db\.version-3"):
        ledger = Ledger(place)
    assert (tmp_path / "budget.db.head").read_bytes() == head
    ledger.keep_audit("f1", outcome="refuted", **FACTS)
    assert len(Ledger(place).audits("f1")) == 1
