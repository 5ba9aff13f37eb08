"""How long an audit may take, and how the time is divided."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Clock"]

FOR_RUNS = 0.9
"""Share of the time after which no new runs are made; the rest is for learning what they show."""
AT_MOST = 1.2
"""Share of the time after which runs are given up, however few there are."""

SHORTEST = 2.0


@dataclass(frozen=True)
class Clock:
    """The time of an audit, from its beginning on.

    Parameters
    ----------
    seconds
        How long it may take; None for no limit.
    begun
        When it began, as ``time.monotonic`` tells.
    """

    seconds: float | None
    begun: float

    def at(self, share: float) -> float:
        """The time when a share of the seconds is spent; less than ``SHORTEST`` seconds are not enough for anything."""
        return math.inf if self.seconds is None else self.begun + share * max(self.seconds, SHORTEST)

    @property
    def for_runs(self) -> float:
        """Seconds that are left for runs."""
        return self.at(FOR_RUNS) - time.monotonic()

    @property
    def latest(self) -> float:
        """The time when runs are given up."""
        return self.at(AT_MOST)

    def turn(self, weights: Sequence[float]) -> float:
        """The time when the first of several turns ends: each has a share of what is left by its weight."""
        return time.monotonic() + max(0.0, self.for_runs) * weights[0] / sum(weights)
