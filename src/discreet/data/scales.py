"""Rating scales: public facts about a site, never derived from its ratings."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.common.numerals import parse_rational
from discreet.errors import DataError, Remedy, UsageError

__all__ = ["RatingScale", "check_ratings"]

DECLARE_ANOTHER = Remedy(
    "Correct the rating, or declare another scale with scale=.",
    cli="Correct the rating, or declare another scale with --scale LOW:HIGH[:STEP].",
)


@dataclass(frozen=True)
class RatingScale:
    """The lowest and the highest possible rating, and the step between two ratings.

    Parameters
    ----------
    low, high
        The ends of the scale, both included.
    step
        Distance between neighboring ratings; None for a continuous scale.

    Examples
    --------
    >>> stars = RatingScale.of("0.5:5:0.5")
    >>> stars.width, stars.contains(np.array([3.5, 3.7, 5.5]))
    (Fraction(9, 2), array([ True, False, False]))
    """

    low: Fraction
    high: Fraction
    step: Fraction | None = Fraction(1)

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise UsageError(f"a rating scale must rise from its low to its high end, got {self.low} to {self.high}.")
        if self.step is not None and (self.step <= 0 or (self.high - self.low) % self.step):
            raise UsageError(f"steps of {self.step} do not lead from {self.low} to {self.high}.")

    @classmethod
    def of(cls, given: RatingScale | str | tuple[object, ...]) -> RatingScale:
        """Read a scale from a tuple ``(low, high[, step])`` or from text ``"low:high[:step]"``."""
        if isinstance(given, RatingScale):
            return given
        parts = given.split(":") if isinstance(given, str) else list(given)
        if len(parts) not in (2, 3):
            raise UsageError(
                f"{given!r} is not a rating scale.", remedy='Write low:high or low:high:step, for example "1:5".'
            )
        try:
            low, high, *step = [None if part in ("", None, "none") else parse_rational(str(part)) for part in parts]
        except (ValueError, OverflowError):
            raise UsageError(f"{given!r} is not a rating scale.", remedy='Write for example "1:5".') from None
        if low is None or high is None:
            raise UsageError(f"{given!r} has no low or no high end.", remedy='Write for example "1:5".')
        return cls(low, high, step[0] if step else Fraction(1))

    @property
    def width(self) -> Fraction:
        return self.high - self.low

    @property
    def dtype(self) -> type[np.float32] | type[np.float64]:
        """float32 where every rating of the scale is exact in it, float64 elsewhere."""
        exact = self.step is not None and all(
            Fraction(float(np.float32(float(x)))) == x for x in (self.low, self.high, self.step)
        )
        return np.float32 if exact and self.width / (self.step or 1) < 2**20 else np.float64

    def contains(self, ratings: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which ratings are on the scale: between its ends and on a step."""
        low, high = float(self.low), float(self.high)
        inside = (ratings >= low) & (ratings <= high)
        if self.step is not None:
            steps = (np.where(inside, ratings, low) - low) / float(self.step)
            inside &= np.abs(steps - np.rint(steps)) <= 1e-4
        return inside

    def __str__(self) -> str:
        ends = f"{_plain(self.low)}:{_plain(self.high)}"
        return ends + (f":{_plain(self.step)}" if self.step is not None else ":none")


def check_ratings(rating: NDArray[np.floating] | None, scale: RatingScale | None) -> None:
    """Refuse ratings that are not finite or not on the scale, and a scale without ratings."""
    if rating is None:
        if scale is not None:
            raise UsageError("a rating scale was given, but there are no ratings.", remedy="Name the rating column.")
        return
    checks = [(~np.isfinite(rating), "not a finite number", "Remove the record, or correct it.")]
    if scale is not None:
        checks.append((~scale.contains(rating), f"not on the declared scale {scale}", DECLARE_ANOTHER))
    for wrong, what, remedy in checks:
        if wrong.any():
            row = int(np.argmax(wrong))
            value = float(rating[row])
            raise DataError(f"the rating is {what}.", row=row, column="rating", value=value, remedy=remedy)


def _plain(number: Fraction) -> str:
    return f"{float(number):g}" if Fraction(f"{float(number):g}") == number else str(number)
