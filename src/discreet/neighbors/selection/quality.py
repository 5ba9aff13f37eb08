"""Lu's two measures of a selection: alpha for accuracy, beta for security.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis,
University of Adelaide 2015, section 3.5.
"""

from __future__ import annotations

from discreet.neighbors.selection.lists import Candidates
from discreet.neighbors.selection.strategies import SelectionStrategy

__all__ = ["alpha", "beta"]


def alpha(strategy: SelectionStrategy, candidates: Candidates, *, exact: bool | None = None) -> float:
    """Expected summed similarity of the neighbors, equation 3.15.

    Parameters
    ----------
    strategy
        How the neighbors are chosen.
    candidates
        One list.
    exact
        True: through the exact law. False: by Manly's approximation. None: as the length of the list allows.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.neighbors.selection import Candidates, Nearest, Uniform
    >>> films = Candidates(np.array([0.9, 0.6, 0.3]))
    >>> round(alpha(Nearest(2), films), 6), round(alpha(Uniform(2), films), 6)
    (1.5, 1.2)
    """
    return float(strategy.inclusion(candidates, exact=exact) @ candidates.similarity)


def beta(strategy: SelectionStrategy, candidates: Candidates) -> int:
    """Number of partitions of size k across which the neighbors are selected, down to the last that can give one.

    Notes
    -----
    It is *meant* as the attacker's cost: to fill all partitions with sybils takes beta·k of them. It is no such
    cost, because an attacker need not fill them all; see ``PPNS``.
    """
    return -(-strategy.reach(candidates) // strategy.k)
