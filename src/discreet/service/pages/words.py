"""Values as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from discreet.board.words import belief, factor, moment, percent
from discreet.board.words import shown as short_number
from discreet.privacy.ledger import Amount
from discreet.privacy.losses import Loss, loss_from_json
from discreet.privacy.numbers import as_fraction
from discreet.reports import words as plain_words
from discreet.service.populations import amount_of

TINY = Fraction(1, 10**9)
"""Below what anybody reads: accounts round their sums up by about that."""

__all__ = [
    "ago",
    "amount",
    "cell",
    "day",
    "epsilon",
    "figure",
    "left",
    "loss",
    "odds",
    "percent",
    "person",
    "plain_remedy",
    "sentence",
    "short",
    "spent",
    "success",
    "time",
    "tiny",
    "yes_no",
]


def amount(given: Mapping[str, Any] | None) -> str:
    """An amount of privacy: ε = 1, δ = 1e-6."""
    return "not limited" if given is None else str(amount_of(given))


def left(given: Amount) -> str:
    """What is left, in few digits, never stated too high."""
    delta = f", {short_number('δ', given.delta, down=True)}" if given.delta else ""
    return short_number("ε", given.epsilon + TINY, down=True) + delta


def spent(given: Mapping[str, Any]) -> str:
    """What something costs, in few digits, never stated too low."""
    found = amount_of(given)
    delta = f", {short_number('δ', found.delta)}" if found.delta else ""
    return short_number("ε", found.epsilon - TINY) + delta


def person(who: str) -> str:
    """Who did something, without the id of the key."""
    return re.sub(r" \((\w+), \w+\)$", "", who)


def epsilon(given: Any) -> str:
    """A number as people write it: 0.25, 1, 2.45.

    Examples
    --------
    >>> epsilon("1/4"), epsilon("2999999999999/1000000000000"), epsilon("1/3")
    ('0.25', '3', '0.333')
    """
    return f"{float(as_fraction(given)):.3g}"


def loss(given: Mapping[str, Any]) -> str:
    """What a release cost, as ε and δ in few digits, never stated too low.

    Examples
    --------
    >>> loss({"kind": "pure", "epsilon": "1/2"}), loss({"kind": "gaussian", "mu_squared": "1/20"})
    ('ε = 0.5', 'ε ≈ 0.941, δ = 1e-6')
    """
    found: Loss = loss_from_json(dict(given))
    return as_epsilon(str(found))


def as_epsilon(text: str) -> str:
    """A loss in words as ε and δ alone, which those that are accounted otherwise say, too."""
    stated = re.search(r"ε ([≈=]) ([\d.]+) at δ = ([\de.-]+)", text)
    if stated is None:
        return text
    return f"{short_number('ε', Fraction(stated[2]))}, δ = {stated[3]}".replace("=", stated[1], 1)


def odds(given: Any) -> str:
    """The most that even odds become at an epsilon: 2.8 to 1."""
    return f"{factor(as_fraction(given))} to 1"


def success(given: Any) -> float:
    """How often a guess between two equally likely answers is right at most, at an epsilon."""
    return belief(0.5, as_fraction(given))


def figure(value: Any) -> str:
    """A number with as many digits as are worth reading."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return plain_words(value)
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def cell(value: Any) -> str:
    """A value in a table."""
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"
    return plain_words(value)


def day(text: str | None) -> str:
    """A time as a day: 18 Nov 2026."""
    return "" if not text else f"{moment(text):%-d %b %Y}"


def time(text: str | None) -> str:
    """A time to the minute, in UTC."""
    return "" if not text else f"{moment(text):%-d %b %Y, %H:%M} UTC"


def ago(text: str | None) -> str:
    """How long ago a time was."""
    if not text:
        return "never"
    seconds = max(0.0, (datetime.now(UTC) - moment(text)).total_seconds())
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {name}{'' if number == 1 else 's'} ago"
    return "just now"


def short(name: str) -> str:
    """An id, as much of it as tells it apart on a page."""
    head, _, rest = str(name).partition("_")
    return f"{head}_{rest[:6]}…" if len(rest) > 8 else str(name)


def tiny(given: Any) -> str:
    """A small probability in one digit, never stated too low: 3e-7.

    Examples
    --------
    >>> tiny(Fraction(3, 10**7)), tiny("1/3")
    ('3e-7', '0.4')
    """
    return short_number("", as_fraction(given), digits=1).lstrip(" =")


def yes_no(value: Any) -> Any:
    """What is true or false, in words; anything else as it is."""
    return ("yes" if value else "no") if isinstance(value, bool) else value


def sentence(text: str) -> str:
    """A message that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def plain_remedy(text: str) -> str:
    """What to do, without the names of options that pages do not have.

    Examples
    --------
    >>> plain_remedy("Fill it, or leave such rows out with missing='drop'.")
    'Fill it, or leave such rows out.'
    """
    return re.sub(r" with \w+=(?:'\w+')?(?=[.,;])", "", text)
