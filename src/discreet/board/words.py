"""Losses of privacy, dates and shares, in words for people who do not read formulas."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from fractions import Fraction

__all__ = ["belief", "counted", "day", "days", "factor", "listed", "minute", "moment", "one_in", "percent", "shown"]


def belief(before: float, epsilon: Fraction) -> float:
    """The most that a belief can become: odds grow by a factor of at most exp(ε).

    Examples
    --------
    >>> round(belief(0.5, Fraction(1)), 3), round(belief(0.01, Fraction(2)), 3)
    (0.731, 0.069)
    """
    grown = before * math.exp(min(float(epsilon), 500.0))
    return grown / (1 - before + grown)


def factor(epsilon: Fraction) -> str:
    """The most by which odds can grow, rounded up.

    Examples
    --------
    >>> factor(Fraction(1)), factor(Fraction(0)), factor(Fraction(4)), factor(Fraction(40))
    ('2.8', '1', '55', 'more than a million')
    """
    grown = math.exp(min(float(epsilon), 500.0))
    if grown > 1e6:
        return "more than a million"
    return f"{math.ceil(round(grown * 10, 6)) / 10:g}" if grown < 10 else f"{math.ceil(round(grown, 6)):,}"


def percent(share: float) -> str:
    """A share for people, rounded up: a belief is never stated too low.

    Examples
    --------
    >>> percent(0.7311), percent(0.01), percent(0.0689), percent(0.99995), percent(0)
    ('74 %', '1 %', '7 %', 'more than 99.9 %', '0 %')
    """
    if share > 0.999:
        return "more than 99.9 %"
    if share > 0.99:
        return f"{math.ceil(round(share * 1000, 6)) / 10:.1f} %"
    return f"{math.ceil(round(share * 100, 6))} %"


def one_in(probability: Fraction) -> str:
    """A small probability as people say it.

    Examples
    --------
    >>> one_in(Fraction(1, 10**6)), one_in(Fraction(3, 10**7))
    ('1 in 1,000,000', '1 in 3,333,333')
    """
    return f"1 in {int(1 / probability):,}"


def shown(symbol: str, number: Fraction, *, down: bool = False, digits: int = 3) -> str:
    """A number with its sign, short, and rounded up: what is lost is never stated too low. What is left, ``down``.

    Examples
    --------
    >>> shown("ε", Fraction(1, 3)), shown("ε", Fraction(2, 3), down=True), shown("δ", Fraction(1, 10**6))
    ('ε = 0.334', 'ε = 0.666', 'δ = 1e-6')
    """
    if number <= 0:
        return f"{symbol} = 0"
    scale = Fraction(10) ** (digits - 1 - math.floor(math.log10(number)))
    whole = (math.floor if down else math.ceil)(number * scale)
    text = f"{float(whole / scale):.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    return f"{symbol} = {mantissa}e{int(exponent)}" if exponent else f"{symbol} = {text}"


def moment(text: str) -> datetime:
    """A time of the ledger."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def day(when: date) -> str:
    """A day as people write it: 18 Nov 2026."""
    return f"{when.day} {when:%b %Y}"


def minute(when: datetime) -> str:
    """A time in UTC, to the minute."""
    utc = when.astimezone(UTC)
    return f"{day(utc)} {utc:%H:%M}"


def days(number: float) -> str:
    """A length of time.

    Examples
    --------
    >>> days(1), days(0.04), days(12.6), days(800)
    ('1 day', '1 hour', '13 days', '2.2 years')
    """
    if number < 0.9:
        return counted(max(1, round(number * 24)), "hour")
    return counted(round(number), "day") if number < 730 else f"{number / 365.25:.1f} years"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun: 1 release, 2 releases."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def listed(parts: list[str], most: int = 12) -> str:
    """Words with commas; of many only the first."""
    more = len(parts) - most
    return ", ".join(parts[:most]) + (f" and {more} more" if more > 0 else "")
