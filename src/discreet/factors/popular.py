"""How popular items are, as far as noisy popularity tells: empirical Bayes on what was released. All post-processing.

References
----------
B. Efron: Two modeling strategies for empirical Bayes estimation. Statist. Sci. 2014 (the prior from the noisy values).
J. Kiefer, J. Wolfowitz: Consistency of the maximum likelihood estimator in the presence of infinitely many incidental
parameters. Ann. Math. Stat. 1956.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.common.arrays import Floats

__all__ = ["Spread", "share_needed"]

CERTAIN = 20.0
"""Items whose popularity stands so many deviations above zero are as popular as they look."""

FINENESS = 4
"""Steps of the grid in one deviation of the noise; values are counted in half steps of it."""

SWEEPS = 60
LIST = 40
"""The length of the lists whose popularity is compared: about that of what people are shown."""

TOLERATED, MOST_TOLERATED = 0.005, 0.02
"""The share of the popularity of such lists that may be lost by what is not spent on it; with the largest share of the
budget that leaves something for tastes, more may be."""


@dataclass(frozen=True)
class Spread:
    """How true popularity is spread over the items: how many items have which.

    Parameters
    ----------
    values, counts
        Levels of popularity, and how many items stand at each.
    expected
        The popularity of every item that its noisy value makes likely: the mean of the posterior.

    Examples
    --------
    >>> noisy = np.concatenate([[80.0, 60.0], np.linspace(-3, 3, 999)])
    >>> spread = Spread.of(noisy, noise=1.5)
    >>> spread.expected[:2].tolist(), bool(spread.expected[2:].max() < 1)
    ([80.0, 60.0], True)
    """

    values: Floats
    counts: Floats
    expected: Floats

    @classmethod
    def of(cls, noisy: Floats, noise: float) -> Spread:
        """From noisy values with normal noise of this deviation; what is true is at least 0."""
        large = noisy > CERTAIN * noise
        grid = np.arange(0, CERTAIN * FINENESS + 1) * (noise / FINENESS)
        width = noise / (2 * FINENESS)
        places = np.rint(noisy[~large] / width).astype(np.int64)
        seen, back, often = np.unique(places, return_inverse=True, return_counts=True)
        likely = np.exp(-0.5 * (np.clip((seen[:, None] * width - grid) / noise, -37, 37)) ** 2)
        share = np.full(grid.size, 1 / grid.size)
        posterior = likely
        for _ in range(SWEEPS if seen.size else 0):
            posterior = likely * share
            posterior /= posterior.sum(axis=1, keepdims=True)
            share = often @ posterior / often.sum()
        expected = noisy.astype(np.float64)
        expected[~large] = (posterior @ grid)[back]
        values = np.concatenate([grid, noisy[large]])
        return cls(values, np.concatenate([share * places.size, np.ones(int(large.sum()))]), expected)

    def on_list(self, noise: float, length: int = LIST) -> float:
        """The popularity, added up, that the items of a list are expected to have if noise of this deviation picks it.

        A level v is on the list with probability Φ((v − t)/noise), where t is such that the list has its length.
        """
        from scipy.special import ndtr  # a tenth of a second, which a model that answers does not need

        length = min(length, max(1, int(self.counts.sum()) // 2))
        low, high = self.values.min() - 40 * noise, self.values.max() + 40 * noise
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if self.counts @ ndtr((self.values - middle) / noise) > length else (low, middle)
        return float((self.counts * self.values) @ ndtr((self.values - low) / noise))


def share_needed(spread: Spread, whole: float, shares: Floats) -> float | None:
    """The least of these shares of μ² that picks lists nearly as popular as the whole would; None if none does.

    Parameters
    ----------
    whole
        Deviation of the noise where all of μ² is spent on popularity.
    shares
        Rising, from 0 to 1.
    """
    best = spread.on_list(whole)
    lost = np.array([1 - spread.on_list(whole / np.sqrt(share)) / max(best, 1e-12) for share in shares])
    if (enough := np.flatnonzero(lost <= TOLERATED)).size:
        return float(shares[enough[0]])
    return float(shares[-1]) if lost[-1] <= MOST_TOLERATED else None
