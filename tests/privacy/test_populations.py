"""Accounts belong to populations: a ledger that has accounts is told whose data new data are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.counting import ItemCounts
from discreet.data import Interactions
from discreet.errors import BudgetError, LedgerError, PrivacyError, UsageError
from discreet.privacy.ledger import Ledger
from discreet.privacy.ledger.families import by_person
from discreet.privacy.release import Release

MONDAY = Interactions([("ann", "tea"), ("bob", "rum")], name="monday")
TUESDAY = Interactions([("ann", "gin"), ("bob", "rum")], name="tuesday")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "budget.db")


def known_as(data: Interactions) -> set[str]:
    """The fingerprints of data, in memory and in parts."""
    return {data.fingerprint, *by_person(data)}


def test_tomorrows_file_opens_no_fresh_account_without_a_word(ledger: Ledger) -> None:
    ledger.open(MONDAY, population="customers", epsilon=1)
    with pytest.raises(LedgerError, match=r"accounts \(customers\).*tuesday.*attach\(data, .customers.\)"):
        ledger.open(TUESDAY, epsilon=1)
    assert [account.name for account in ledger.datasets()] == ["customers"]
    with pytest.raises(BudgetError, match="tuesday has no account"):
        ledger.statement(TUESDAY)
    account = ledger.attach(TUESDAY, "customers")
    assert set(account.fingerprints) == {*known_as(MONDAY), *known_as(TUESDAY)}
    assert ledger.statement(TUESDAY).account == account


def test_a_new_name_says_that_these_are_other_people(ledger: Ledger) -> None:
    ledger.open(MONDAY, population="customers", epsilon=1)
    assert set(ledger.open(TUESDAY, population="staff", epsilon=2).fingerprints) == known_as(TUESDAY)
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


class TestAbout:
    """Data that are attached by the charge itself."""

    COUNTS = ItemCounts(epsilon="1/2", cap=2)
    MONDAY = Interactions([("ann", "tea"), ("bob", "rum")], items=["tea", "rum", "gin"], name="monday")
    TUESDAY = Interactions([("ann", "gin"), ("bob", "rum")], items=["tea", "rum", "gin"], name="tuesday")

    def test_the_charge_attaches_the_data(self, ledger: Ledger) -> None:
        ledger.open(self.MONDAY, population="customers", epsilon=1)
        with pytest.raises(BudgetError, match=r"tuesday has no account.*\(customers\), charge ledger\.about") as error:
            self.COUNTS.release(self.TUESDAY, ledger=ledger)
        assert "--population NAME" in getattr(error.value.remedy, "cli", "")
        customers = ledger.about("customers")
        assert customers.estimate(self.TUESDAY, self.COUNTS.plan(self.TUESDAY).guarantee).fits
        assert set(ledger.datasets()[0].fingerprints) == known_as(self.MONDAY)  # an estimate attaches nothing
        self.COUNTS.release(self.TUESDAY, ledger=customers)
        assert ledger.statement(self.TUESDAY).account.name == "customers"
        self.COUNTS.release(self.MONDAY, ledger=customers)
        assert ledger.statement("customers").left.epsilon == 0

    def test_in_either_kind_of_ledger(self, place: str) -> None:
        ledger = Ledger(place)
        ledger.open(population="customers", epsilon=1)
        self.COUNTS.release(self.TUESDAY, ledger=ledger.about("customers"))
        assert set(ledger.statement(self.TUESDAY).account.fingerprints) == known_as(self.TUESDAY)
        with pytest.raises(BudgetError, match="shortfall"):
            ItemCounts(epsilon=1, cap=2).release(self.MONDAY, ledger=ledger.about("customers"))
        assert set(ledger.datasets()[0].fingerprints) == known_as(self.TUESDAY)

    def test_a_refused_charge_attaches_nothing(self, ledger: Ledger) -> None:
        ledger.open(population="customers", epsilon="1/4")
        with pytest.raises(BudgetError, match="shortfall"):
            self.COUNTS.release(self.TUESDAY, ledger=ledger.about("customers"))
        assert ledger.datasets()[0].fingerprints == ()

    def test_data_of_other_people_are_refused(self, ledger: Ledger) -> None:
        ledger.open(self.MONDAY, population="customers", epsilon=1)
        ledger.open(self.TUESDAY, population="staff", epsilon=1)
        with pytest.raises(LedgerError, match="belongs to the account 'staff', and 'customers' was to be charged"):
            self.COUNTS.release(self.TUESDAY, ledger=ledger.about("customers"))
        with pytest.raises(BudgetError, match="strangers has no account"):
            self.COUNTS.release(self.TUESDAY, ledger=ledger.about("strangers"))
        with pytest.raises(UsageError, match="empty"):
            ledger.about(" ")
        assert not ledger.statement("customers").every

    def test_somebody_attaches_the_data_elsewhere_at_the_same_moment(self, ledger: Ledger) -> None:
        ledger.open(population="customers", epsilon=1)
        ledger.open(population="staff", epsilon=1)
        customers, other = ledger.about("customers"), Ledger(ledger.place)
        write = customers._store.write

        def after_somebody_else() -> Any:
            other.attach(self.TUESDAY, "staff")
            return write()

        customers._store.write = after_somebody_else  # type: ignore[method-assign]
        with pytest.raises(LedgerError, match="belongs to the account 'staff'"):
            self.COUNTS.release(self.TUESDAY, ledger=customers)
        assert not ledger.statement("customers").every

    def test_a_part_that_was_cut_by_looking_at_everybody_stays_refused(self, ledger: Ledger) -> None:
        ledger.open(population="customers", epsilon=1)
        popular = self.MONDAY.filter(self.MONDAY.item < 1)
        with pytest.raises(PrivacyError, match="may look at everybody"):
            self.COUNTS.release(popular, ledger=ledger.about("customers"))

    def test_with_a_key_it_is_charged_once(self, ledger: Ledger, tmp_path: Path) -> None:
        ledger.open(population="customers", epsilon=1)
        tonight = ledger.about("customers").keyed("customers-2026-11-16")
        self.COUNTS.release(self.TUESDAY, ledger=tonight).save(tmp_path / "counts")
        again = self.COUNTS.release(self.TUESDAY, ledger=ledger.keyed("customers-2026-11-16").about("customers"))
        assert again.id == Release.load(tmp_path / "counts").id
        assert len(ledger.statement("customers").every) == 1
