"""What the counting methods of papers share: numbers that are public, or read from the records as published."""

from __future__ import annotations

from typing import ClassVar

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import CountMethod, PublicLists
from discreet.counting.levels import weighed
from discreet.counting.settings import Cap, normalize
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.guarantees import Standing
from discreet.privacy.method import Plan

__all__ = ["PublishedCounts", "fewest_records", "most_records"]

COUNTED_IN_FULL = ("all records of each user were counted",)


class PublishedCounts(CountMethod):
    """A method of a paper: proved with a public cap, refuted with one that is read from the records ("data").

    Attributes
    ----------
    proof
        The theorem for public numbers.
    counterexample
        Why the guarantee does not hold as published.
    from_data
        The setting that may be "data". Its sums do not add up over parts of the users.
    """

    proof: ClassVar[str]
    counterexample: ClassVar[str] = ""
    from_data: ClassVar[str] = "cap"

    def __post_init__(self) -> None:
        normalize(self, unchecked=() if self._is_public else (self.from_data,))

    @property
    def _is_public(self) -> bool:
        return getattr(self, self.from_data) != "data"

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """Records weighed to at most the cap; or in full, with the largest number that a user has for a bound."""
        cap: Cap = getattr(self, "cap", "data")
        if cap == "data":
            return cells.counts(level, most_records(cells), caps=COUNTED_IN_FULL)
        return weighed(cells, level, cap)

    def _caps(self, cells: Cells) -> tuple[str, ...]:
        return self._sums(cells, "items").caps

    def _plan(self, public: PublicLists) -> Plan:
        return self._plan_of(
            public,
            basis=self.proof if self._is_public else self.counterexample,
            caps=self._caps(public.cells),
            # Where the records set the noise nothing can be said before.
            expected=self._noise(public.cells) if self._is_public else {},
            standing=Standing.PROVED if self._is_public else Standing.REFUTED,
        )


def most_records(cells: Cells) -> int:
    """M = max|T_u|: a fact about one person. At least 1, so that there is noise at all."""
    return max(1, int(cells.records_per_user.max(initial=1)))


def fewest_records(cells: Cells) -> int:
    """d = min|T_u| over users who have records: a fact about one person."""
    counts = cells.records_per_user
    return int(counts[counts > 0].min()) if counts.any() else 1
