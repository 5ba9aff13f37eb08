"""Accounts belong to populations: a ledger that has accounts is told whose data new data are."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.data import Interactions
from discreet.errors import BudgetError, LedgerError, UsageError
from discreet.privacy.ledger import Ledger

MONDAY = Interactions([("ann", "tea"), ("bob", "rum")], name="monday")
TUESDAY = Interactions([("ann", "gin"), ("bob", "rum")], name="tuesday")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "budget.db")


def test_tomorrows_file_opens_no_fresh_account_without_a_word(ledger: Ledger) -> None:
    ledger.open(MONDAY, population="customers", epsilon=1)
    with pytest.raises(LedgerError, match=r"accounts \(customers\).*tuesday.*attach\(data, .customers.\)"):
        ledger.open(TUESDAY, epsilon=1)
    assert [account.name for account in ledger.datasets()] == ["customers"]
    with pytest.raises(BudgetError, match="tuesday has no account"):
        ledger.statement(TUESDAY)
    account = ledger.attach(TUESDAY, "customers")
    assert set(account.fingerprints) == {MONDAY.fingerprint, TUESDAY.fingerprint}
    assert ledger.statement(TUESDAY).account == account


def test_a_new_name_says_that_these_are_other_people(ledger: Ledger) -> None:
    ledger.open(MONDAY, population="customers", epsilon=1)
    assert ledger.open(TUESDAY, population="staff", epsilon=2).fingerprints == (TUESDAY.fingerprint,)
    with pytest.raises(LedgerError, match="account of their own"):
        ledger.attach(TUESDAY, "customers")


def test_a_population_is_opened_before_there_are_data(ledger: Ledger) -> None:
    assert ledger.open(population="customers", epsilon=1).fingerprints == ()
    with pytest.raises(LedgerError, match="attach"):
        ledger.open(MONDAY, epsilon=1)
    with pytest.raises(LedgerError, match="there is an account of that name"):
        ledger.open(MONDAY, population="customers", epsilon=1)
    ledger.attach(MONDAY, "customers")
    assert ledger.statement(MONDAY).account.name == "customers"


def test_names_that_are_none(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="needs a name"):
        ledger.open(epsilon=1)
    with pytest.raises(UsageError, match="empty"):
        ledger.open(MONDAY, population=" ", epsilon=1)
    with pytest.raises(UsageError, match="differ here"):
        ledger.open(MONDAY, population="customers", name="staff", epsilon=1)
    assert ledger.open(MONDAY, name="customers", epsilon=1).name == "customers"
