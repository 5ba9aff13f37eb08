"""Parsing of numbers, with one grammar and limits for the command line, JSON and declarations."""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["parse_rational", "parse_real", "parse_whole"]

MAX_LENGTH = 1000
MAX_EXPONENT = 400

_WHOLE = re.compile(r"[+-]?[0-9]+")
_RATIO = re.compile(r"[+-]?[0-9]+/[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")


def parse_rational(text: str, *, longest: int = MAX_LENGTH) -> Fraction:
    """A number from ``1``, ``0.5``, ``1/2`` or ``1e-6``, exactly.

    Raises
    ------
    ValueError
        If it is not written like this, is longer than ``longest`` or has a denominator of zero.
    OverflowError
        If its exponent is beyond ±400.

    Examples
    --------
    >>> parse_rational(" 1/2 "), parse_rational("1e-6")
    (Fraction(1, 2), Fraction(1, 1000000))
    >>> parse_rational("1_0")
    Traceback (most recent call last):
    ...
    ValueError: not a number
    """
    text = text.strip(" \t")
    if len(text) > longest:
        raise ValueError(f"longer than {longest} characters")
    if _RATIO.fullmatch(text):
        above, below = (int(part) for part in text.split("/"))
        if not below:
            raise ValueError("division by zero")
        return Fraction(above, below)
    matched = _DECIMAL.fullmatch(text)
    if matched is None:
        raise ValueError("not a number")
    if len((matched[1] or "").lstrip("+-0")) > 3 or abs(int(matched[1] or 0)) > MAX_EXPONENT:
        raise OverflowError("too large or too small")
    return Fraction(text)


def parse_real(text: str) -> float:
    """A finite floating-point number, by the grammar of ``parse_rational``; percent signs are not part of it."""
    return float(parse_rational(text))


def parse_whole(text: str) -> int:
    """A whole number: digits and at most a sign.

    Examples
    --------
    >>> parse_whole("-12")
    -12
    """
    text = text.strip(" \t")
    if len(text) > MAX_LENGTH or not _WHOLE.fullmatch(text):
        raise ValueError("not a whole number")
    return int(text)
