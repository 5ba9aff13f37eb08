"""Numbers have a grammar and a length."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.common.numerals import parse_rational, parse_real, parse_whole
from discreet.data import RatingScale
from discreet.errors import UsageError
from discreet.privacy import Unit
from discreet.privacy.losses import loss_from_json
from discreet.privacy.numbers import as_fraction


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-1.50", Fraction(-3, 2)), (".5", Fraction(1, 2)), ("2.", 2), ("1/3", Fraction(1, 3)), ("+1E+2", 100)],
)
def test_numbers(text: str, value: Fraction) -> None:
    assert parse_rational(text) == parse_rational(f" {text}\t") == value
    assert as_fraction(text) == value
    assert parse_real(text) == float(value)


ODD = ["", "1_0", "٣", "nan", "inf", "1e", "0x1", "1/0", "1 /2", "1/-2", "½", "1.5/2", "1\n", "--1", "9" * 1001]


@pytest.mark.parametrize("text", ODD)
def test_what_is_not_a_number(text: str) -> None:
    for parse in (parse_rational, parse_real):
        with pytest.raises(ValueError, match=r"not a number|longer|zero"):
            parse(text)
    with pytest.raises(UsageError, match="is not a number") as caught:
        as_fraction(text, "epsilon")
    assert len(str(caught.value)) < 200
    with pytest.raises(UsageError):
        RatingScale.of(f"1:{text or 'x'}")


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", Decimal("1e999999"), "1e401", "1e-301", 10**400])
def test_numbers_that_nobody_means_take_no_time(number: str | Decimal | int) -> None:
    started = time.process_time()
    with pytest.raises(UsageError, match="too large or too small") as caught:
        as_fraction(number, "epsilon")
    assert time.process_time() - started < 1
    assert len(str(caught.value)) < 200
    with pytest.raises(UsageError):
        RatingScale.of(f"1:{number}" if isinstance(number, str) else "1:1e999999999")


@pytest.mark.parametrize("text", ["", "1_0", "٣", "²", "1.0", "1e3", "9" * 1001])
def test_whole_numbers(text: str) -> None:
    assert parse_whole("+12") == 12
    with pytest.raises(ValueError, match="not a whole number"):
        parse_whole(text)
    if text:
        with pytest.raises(UsageError, match=r"not a unit|size"):
            Unit.of(f"group:{text}")


def test_losses_of_manifests() -> None:
    assert loss_from_json({"kind": "pure", "epsilon": f"1/{'3' * 1500}"}) is not None
    for odd in ("1_0", "1e999999999", None, [], "9" * 9000, "nan"):
        with pytest.raises(UsageError, match="not a privacy loss"):
            loss_from_json({"kind": "pure", "epsilon": odd})
