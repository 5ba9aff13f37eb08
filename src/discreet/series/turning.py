"""At the turn of a period: the last release of one series stays in use until that of the next one tells more."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy.release import Release

__all__ = ["better", "signal"]

NOISE = {"first": "noise_first", "weights": "noise_weights"}
"""The sums about single items that models release, and the parameter that has the deviation of their noise."""


def better(earlier: Release, later: Release) -> Release:
    """Of two releases of one kind the one whose sums stand out more from their noise; post-processing, so it is free.

    A series that has just begun knows few people. Until it knows enough, what the series before it said at its end is
    of more use.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=40, seed=7)
    >>> rough, fine = (dc.counting.ItemCounts(epsilon=e, delta="1e-6").release(films) for e in (0.01, 10))
    >>> better(rough, fine) is better(fine, rough) is fine
    True
    """
    if earlier.kind != later.kind:
        raise UsageError(f"a release of {earlier.kind!r} cannot stand in for one of {later.kind!r}.")
    return earlier if signal(earlier) > signal(later) else later


def signal(release: Release) -> float:
    """The length of the sums about single items in units of their noise, without what noise adds to it."""
    values, noise = _sums(release)
    return math.sqrt(max(0.0, float(values @ values) - values.size * noise**2)) / noise


def _sums(release: Release) -> tuple[NDArray[np.float64], float]:
    if "counts" in release.parts:
        return release.table("counts")["count"].to_numpy(), float(release.parameters["noise_sd"])
    for name, noise in NOISE.items():
        if name in release.parts:
            latest = f"{name}_now" if f"{name}_now" in release.parts else name
            return release.array(latest), float(release.parameters[noise])
    raise UsageError(f"a release of {release.kind!r} has no sums to compare.")
