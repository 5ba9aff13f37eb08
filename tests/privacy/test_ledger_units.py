"""Accounts for groups: what a guarantee about records, or about other groups, is charged there."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.data import Table
from discreet.errors import PrivacyError
from discreet.privacy import Guarantee, Ledger, Pure, Standing, Unit

ROWS = Table({"flu": ["yes", "no"], "home": [1, 1]}, domains={"flu": ["yes", "no"]}, group="home", name="survey")


def charged_in(folder: Path, account: str, guaranteed: str) -> Fraction:
    guarantee = Guarantee(Pure(Fraction(1, 2)), Unit.of(guaranteed), Standing.PROVED, "a theorem", "a count")
    opened = Ledger(folder / "ledger.db").open(ROWS, epsilon=10, unit=account)
    loss = opened.loss_of(guarantee)
    assert isinstance(loss, Pure)
    return loss.epsilon


@pytest.mark.parametrize(
    ("account", "guaranteed", "cost"),
    [
        ("group/replace:6", "record/replace", Fraction(3)),  # six records may change
        ("group:6", "record", Fraction(3)),
        ("group/replace:6", "record", Fraction(6)),  # each of them goes out, and another comes in
        ("group/replace:6", "group:6", Fraction(1)),
        ("group/replace:6", "group/replace:6", Fraction(1, 2)),
        ("group/replace:4", "group/replace:6", Fraction(1, 2)),  # a smaller group changes no more
        ("record/replace", "group/replace:6", Fraction(1, 2)),  # nor does one record of it
        ("record", "group:6", Fraction(1)),  # one record more: the group goes out, and the larger one comes in
        ("record/replace", "group:6", Fraction(1)),
        ("group:4", "group:6", Fraction(1, 2)),
        ("group/replace:10", "group/replace:6", Fraction(5)),  # record by record
        ("group:10", "group:6", Fraction(10)),
        ("record/value", "user", Fraction(1)),
        ("record/replace", "user", Fraction(2)),
    ],
)
def test_what_one_unit_costs_in_an_account_for_another(tmp_path, account, guaranteed, cost) -> None:
    assert charged_in(tmp_path, account, guaranteed) == cost


@pytest.mark.parametrize(
    ("account", "guaranteed"),
    [
        ("record", "group/replace:6"),
        ("user", "group:6"),
        ("group/replace:6", "record/value"),
    ],
)
def test_what_no_number_of_steps_leads_to_is_refused(tmp_path, account, guaranteed) -> None:
    with pytest.raises(PrivacyError, match="the account"):
        charged_in(tmp_path, account, guaranteed)
