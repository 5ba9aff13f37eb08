"""Exact numbers: budgets as rationals, and bounds on roots and exponentials that are certain.

Epsilon is a ``Fraction`` from the command line to the database. Where a real number must be rounded, the direction
is part of the function's name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from discreet.common.numerals import parse_rational
from discreet.errors import UsageError

__all__ = [
    "Rational",
    "Real",
    "as_fraction",
    "as_positive",
    "as_probability",
    "exp_minus",
    "plain",
    "round_down",
    "round_up",
    "sqrt_up",
    "stated",
]

Rational = int | Fraction | Decimal | str | float


def as_fraction(value: Rational, name: str = "value") -> Fraction:
    """A rational from an int, Fraction, Decimal or text; a float counts as its shortest decimal.

    Examples
    --------
    >>> as_fraction("1/2"), as_fraction(0.1), as_fraction("1e-6")
    (Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000000))
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, float):
            value = repr(float(value))
        elif isinstance(value, Decimal):
            value = str(value)
        number = parse_rational(value) if isinstance(value, str) else Fraction(value)
    except (ValueError, TypeError):
        raise UsageError(
            f"{name} = {_short(value)} is not a number.", remedy='Write for example 1, 0.5, "1/2" or "1e-6".'
        ) from None
    except OverflowError:
        number = None
    if number is None or (number and not Fraction(1, 10**300) < abs(number) < 10**300):
        raise UsageError(
            f"{name} = {_short(value)} is too large or too small.", remedy="Give a number between 1e-300 and 1e300."
        )
    return number


def _short(value: object) -> str:
    """A value in a message: a number of a million digits is not repeated."""
    if isinstance(value, int | Fraction) and Fraction(value).numerator.bit_length() > 1000:
        return "a number of more than 300 digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def as_positive(value: Rational, name: str = "value") -> Fraction:
    """A rational above zero."""
    number = as_fraction(value, name)
    if number <= 0:
        raise UsageError(f"{name} = {value} must be above 0.")
    return number


def as_probability(value: Rational, name: str = "delta") -> Fraction:
    """A rational from 0 up to, but not including, 1."""
    number = as_fraction(value, name)
    if not 0 <= number < 1:
        raise UsageError(f"{name} = {value} must be at least 0 and below 1.")
    return number


def plain(number: Fraction, *, digits: int = 6) -> str:
    """A rational for people: exact where that is short, otherwise rounded **up** and marked with ≈.

    Examples
    --------
    >>> plain(Fraction(1, 2)), plain(Fraction(1, 3)), plain(Fraction(1, 10**6)), plain(Fraction(2**70, 3**40))
    ('0.5', '1/3', '1e-6', '≈97.1068')
    """
    exact = _short_decimal(number)
    if exact is not None:
        return exact
    if number.denominator <= 1000 and abs(number.numerator) <= 1_000_000:
        return str(number)
    return f"≈{float(round_up(float(number), digits)):.{digits}g}"


def stated(symbol: str, number: Fraction, *, down: bool = False) -> str:
    """An equation for people; what is not exact is marked as such and rounded up, or down.

    Examples
    --------
    >>> stated("ε", Fraction(1, 2)), stated("δ", Fraction(2**70, 3**40), down=True)
    ('ε = 0.5', 'δ ≈ 97.1067')
    """
    text = plain(number)
    if not text.startswith("≈"):
        return f"{symbol} = {text}"
    return f"{symbol} ≈ {float(round_down(float(number), 6)):.6g}" if down else f"{symbol} ≈ {text[1:]}"


def _short_decimal(number: Fraction) -> str | None:
    if number.denominator == 1 and abs(number.numerator) < 10**7:
        return str(number.numerator)
    text = f"{float(number):.7g}"
    if Fraction(text) != number:
        return None
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text


def round_up(value: float, digits: int = 12) -> Fraction:
    """The float, rounded up to a few significant decimals: always at least the float itself."""
    return _rounded(value, digits, ROUND_CEILING)


def round_down(value: float, digits: int = 12) -> Fraction:
    """The float, rounded down to a few significant decimals: never more than the float itself."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, rounding: str) -> Fraction:
    if not math.isfinite(value):
        raise UsageError(f"{value} is not a finite number.")
    return Fraction(Context(prec=digits, rounding=rounding).create_decimal(Decimal(value)))


def sqrt_up(value: Fraction, bits: int = 64) -> Fraction:
    """A rational at least √value, and above it by less than 2^−bits.

    Examples
    --------
    >>> root = sqrt_up(Fraction(2))
    >>> root**2 >= 2, float(root)
    (True, 1.4142135623730951)
    """
    scaled = value * 4**bits
    floor = math.isqrt(math.floor(scaled))
    return Fraction(floor if floor * floor == scaled else floor + 1, 2**bits)


class Real:
    """A real number known through rational bounds that can be made as tight as one likes.

    Parameters
    ----------
    bounds
        Gives a lower and an upper bound computed with so many decimal digits.
    """

    def __init__(self, bounds: Callable[[int], tuple[Fraction, Fraction]]) -> None:
        self._bounds = bounds
        self._digits: list[int] = []

    def scaled_floor(self, bits: int) -> int:
        """⌊2^bits · x⌋, certified: precision grows until both bounds agree."""
        precision = 12 + bits // 3
        while precision < 100_000:
            low, high = self._bounds(precision)
            floor = math.floor(low * 2**bits)
            if floor == math.floor(high * 2**bits):
                return floor
            precision *= 2
        raise AssertionError("two bounds that never agree: the number is a multiple of a power of two")

    def byte(self, place: int) -> int:
        """The byte at ``place`` (from 0) of the binary expansion of a number in [0, 1)."""
        digits = self._digits  # one look: another thread may put a longer list there meanwhile
        if len(digits) <= place:
            known = max(8, 2 * len(digits), place + 1)
            digits = self._digits = list(self.scaled_floor(8 * known).to_bytes(known, "big"))
        return digits[place]


@lru_cache(maxsize=4096)
def exp_minus(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds below and above e^−x for a rational x ≥ 0, about ``digits`` digits wide.

    ``Decimal.exp`` is correctly rounded, so one unit in the last place either way encloses the truth.
    """
    down = Context(prec=digits + 8, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
    up = Context(prec=digits + 8, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
    numerator, denominator = Decimal(x.numerator), Decimal(x.denominator)
    least, most = down.divide(numerator, denominator), up.divide(numerator, denominator)
    # copy_negate, not the minus sign: that would round to the precision of the caller's context.
    low = down.next_minus(down.exp(most.copy_negate()))
    high = up.next_plus(up.exp(least.copy_negate()))
    return Fraction(max(low, Decimal(0))), Fraction(min(high, Decimal(1)))
