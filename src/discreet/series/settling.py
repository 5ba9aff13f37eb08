"""When a series of models settles what its sums are about, where there is no history: a rule in public numbers."""

from __future__ import annotations

import math

from discreet.common.arguments import require_whole
from discreet.errors import UsageError
from discreet.privacy.losses import mu_for
from discreet.privacy.method import Method
from discreet.privacy.series import Factorization

__all__ = ["first_with", "settling_step"]

STRENGTH = 1000
"""People × μ / noise of the first release, from which on a head is worth keeping for the rest of the series."""

LATEST = 3
"""At the latest after so many parts of the series; until then last year's model is in use, or none."""


def settling_step(method: Method, steps: int, settle: int | None, expected: int | None) -> int:
    """The first step that releases something.

    Parameters
    ----------
    method
        With the price of the series.
    settle
        That step, where it was said.
    expected
        How many people are expected to have come by the last step, evenly. The step is then the first by which so many
        are expected that the noise of a first release is small beside them, and at the latest a third of the steps.
        None where the records of the first step are a history: that step settles.

    Examples
    --------
    >>> import discreet as dc
    >>> model = dc.PrivateRecommender(epsilon=4, delta="1e-6")
    >>> [settling_step(model, 365, None, expected) for expected in (None, 6_000, 100_000, 10_000_000)]
    [0, 121, 7, 0]
    """
    if settle is not None:
        if isinstance(settle, bool) or not isinstance(settle, int) or not 0 <= settle < steps:
            raise UsageError(f"settle must be a step from 0 to {steps - 1}, got {settle!r}.")
        if settle and method.enters == "records":
            raise UsageError("settle must be left out for counts: there is nothing to settle.")
        return settle
    if expected is not None:
        require_whole(expected, "expected")
    delta = getattr(method, "delta", 0)
    if expected is None or method.enters != "once" or not delta:
        return 0
    return first_with(steps, float(mu_for(method.epsilon, delta)), expected)  # type: ignore[attr-defined]


def first_with(steps: int, mu: float, expected: int, history: int = 0) -> int:
    """The first step by which enough people have come; all of it is public.

    Parameters
    ----------
    mu
        The price of the series.
    expected, history
        People by the last step, and those of them who are there before the first.
    """
    needed = STRENGTH * Factorization(steps).noise_factor(0) / mu - history
    if needed <= 0:
        return 0
    per_step = (expected - history) / steps
    return min(math.ceil(needed / per_step) - 1, steps // LATEST) if per_step else steps // LATEST
