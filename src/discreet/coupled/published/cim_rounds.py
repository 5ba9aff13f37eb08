"""What one round of the Coupled Iteration Mechanism does and costs: budget, updates, accounts.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014 (Section 5.4).
M. Hardt, G. Rothblum: A multiplicative weights mechanism for privacy-preserving data analysis. FOCS 2010.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CIMAccount", "corrected_update", "printed_update", "published_most_updates", "published_round_budget"]


def published_most_updates(n_cells: int, *, eta: float, delta0: float) -> float:
    """u_max = ln N/(η²·δ₀²) (Equation 5.4.5). **No bound**: nothing in Algorithm 6 stops after that number of updates.

    Neither the threshold T nor the noise is in it, though an update says something about the error only through them.

    Examples
    --------
    >>> round(published_most_updates(2**16, eta=7, delta0=0.6), 3)
    0.629
    """
    return math.log(n_cells) / (eta**2 * delta0**2)


def published_round_budget(epsilon: float, n_cells: int, *, eta: float, delta0: float) -> float:
    """ε₀ = ε/u_max (Equation 5.4.7): more than ε itself wherever u_max is below 1.

    Examples
    --------
    >>> [round(published_round_budget(1, n, eta=7, delta0=0.6), 3) for n in (2, 2**16)]
    [25.449, 1.591]
    """
    return epsilon / published_most_updates(n_cells, eta=eta, delta0=delta0)


def printed_update(
    histogram: NDArray[np.float64], touched: NDArray[np.int64], *, answer: float, too_large: bool, step: float
) -> NDArray[np.float64]:
    """Equation 5.4.4 as it is printed: the touched cells times exp(−η·δ·y), then all scaled to sum to 1.

    Parameters
    ----------
    histogram
        x_{t−1}, shares of the cells.
    touched
        The cells that hold a responding row or one coupled with it.
    answer
        Q(x_{t−1}); y is this where the estimate is too large, and 1 − Q(x_{t−1}) where it is too small.
    too_large
        Whether d̂ > 0.
    step
        η·δ.

    Notes
    -----
    The factor is below 1 in both cases: an estimate that is too small becomes smaller.

    Examples
    --------
    >>> half = np.array([0.5, 0.5])
    >>> printed_update(half, np.array([0]), answer=0.5, too_large=False, step=1.0).round(3).tolist()
    [0.378, 0.622]
    """
    changed = histogram.copy()
    changed[touched] *= math.exp(-step * (answer if too_large else 1 - answer))
    return changed / changed.sum()


def corrected_update(
    histogram: NDArray[np.float64], weights: NDArray[np.float64], *, too_large: bool, step: float
) -> NDArray[np.float64]:
    """The update of Hardt and Rothblum: every cell times exp(−η·δ·r), r its weight or 1 minus its weight.

    Examples
    --------
    >>> half, first = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    >>> corrected_update(half, first, too_large=False, step=1.0).round(3).tolist()
    [0.731, 0.269]
    """
    changed = histogram * np.exp(-step * (weights if too_large else 1 - weights))
    return changed / changed.sum()


@dataclass(frozen=True)
class CIMAccount:
    """What a run claims to have spent, and what its rounds add up to.

    Attributes
    ----------
    claimed
        ε.
    per_round
        ε₀, the budget that sets the noise of one round.
    most_updates
        u_max as published.
    rounds, updates
        Queries, and those that changed the estimate.

    Notes
    -----
    Every round compares a noisy answer with the estimate and shows what came of it, so every round spends: ε₀ if its
    noise were for a true sensitivity. The thesis counts rounds with an update only, and no more than u_max of them.
    """

    claimed: float
    per_round: float
    most_updates: float
    rounds: int
    updates: int

    @property
    def spent_on_updates(self) -> float:
        """ε₀ for each update."""
        return self.updates * self.per_round

    @property
    def spent_on_rounds(self) -> float:
        """ε₀ for each round."""
        return self.rounds * self.per_round

    def facts(self) -> dict[str, Any]:
        """For a table with one row."""
        return {
            "claimed": self.claimed,
            "per_round": self.per_round,
            "most_updates": self.most_updates,
            "rounds": self.rounds,
            "updates": self.updates,
            "spent_on_updates": self.spent_on_updates,
            "spent_on_rounds": self.spent_on_rounds,
        }

    def __str__(self) -> str:
        return (
            f"{self.rounds:,} rounds, {self.updates:,} updates: claimed ε = {self.claimed:g}; at ε₀ = "
            f"{self.per_round:.4g} a round the updates alone add up to {self.spent_on_updates:.4g}, all rounds to "
            f"{self.spent_on_rounds:.4g}"
        )
