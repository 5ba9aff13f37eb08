"""Sensitivities for coupled rows: those that were published, and those that can be defended.

The names say which is which. All are in the units of the weights: a query sums the weight of every row, so for a count
they are in rows; divide by the number of rows for answers that are shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.common.arrays import AnyFloats, AnyIntegers, Floats
from discreet.coupled.coupling import Coupling
from discreet.errors import PrivacyError, UsageError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "proved_group_sensitivity",
    "proved_influence_sensitivity",
    "published_coupled_sensitivity",
    "published_global_sensitivity",
    "published_record_sensitivities",
]


def published_global_sensitivity(cell_weights: AnyFloats | AnyIntegers, k: int = 1) -> float:
    """k·GS: the largest weight of a cell, times the most rows in a group (Lemma 3). With k = 1 the usual one.

    Holds for a public k. The thesis looks k up in the rows.

    Examples
    --------
    >>> published_global_sensitivity(np.array([0.0, 1.0, 0.5]), k=15)
    15.0
    """
    return k * float(np.max(np.abs(cell_weights), initial=0))


def published_record_sensitivities(degrees: csr_array, row_weights: Floats) -> Floats:
    """CS_i = Σ_j |δ_ij|·|Q(D) − Q(D without row j)| for each row i (Equation 5.3.1).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> published_record_sensitivities(csr_array([[1, -0.5], [-0.5, 1]]), np.array([1.0, 1.0])).tolist()
    [1.5, 1.5]
    """
    return abs(degrees) @ np.abs(row_weights)


def published_coupled_sensitivity(degrees: csr_array, row_weights: Floats) -> float:
    """CS_q = max of CS_i over the rows i that respond to the query (Equation 5.3.2). **Not a sensitivity.**

    It is read from the rows, so it differs between neighbors; it leaves out rows that do not respond but move those
    that do; and where nobody responds it is 0. ``tests/refutations/test_coupled.py`` has what each of these costs.

    Examples
    --------
    A row that is coupled with nine others, of which the query sums only the nine:

    >>> star = np.eye(10)
    >>> star[0] = star[:, 0] = 1
    >>> from scipy.sparse import csr_array
    >>> published_coupled_sensitivity(csr_array(star), np.array([0.0] + [1.0] * 9))
    1.0
    """
    responding = np.asarray(row_weights) != 0
    if not responding.any():
        return 0.0
    return float(published_record_sensitivities(degrees, row_weights)[responding].max())


def proved_group_sensitivity(cell_weights: AnyFloats | AnyIntegers, coupling: Coupling) -> float:
    """k·(largest − smallest weight): what replacing one group of a public coupling changes at most.

    Each of at most k rows goes from one cell to another. That all of them go from the cell of the smallest weight to
    that of the largest is possible, so where one group has k rows the bound is met.

    Examples
    --------
    >>> from discreet.data import Table
    >>> table = Table({"flu": ["no", "yes", "yes"], "home": [1, 1, 2]}, domains={"flu": ["no", "yes"]}, group="home")
    >>> proved_group_sensitivity(np.array([0, 1]), Coupling.by_group(table))
    2.0
    """
    coupling.require_public("a proved sensitivity")
    weights = np.asarray(cell_weights, dtype=np.float64)
    return coupling.largest * float(weights.max() - weights.min())


def proved_influence_sensitivity(coupling: Coupling, row_weights: Floats, *, width: float = 1.0) -> float:
    """B·max over **all** rows i of Σ_j |δ_ij|·|w_j|: coupled sensitivity as it can be defended.

    Parameters
    ----------
    coupling
        Public. Its degrees are bounds on influence: where row i changes, row j moves by at most |δ_ij|·B.
    row_weights
        w: public weights of the rows in the sum Σ_j w_j·x_j of their numbers.
    width
        B: the numbers lie in an interval of this length.

    Notes
    -----
    Exact for these neighbors: moving every x_j by |δ_ij|·B in the direction of w_j is allowed. A counted row is counted
    or not, there is no half of it: for counts every degree above 0 is as good as 1, and
    ``proved_group_sensitivity`` is the bound.

    Examples
    --------
    >>> from discreet.data import Table
    >>> table = Table({"flu": ["no", "yes"]}, domains={"flu": ["no", "yes"]})
    >>> half = Coupling.from_graph(table, [(0, 1, 0.5)], public=True)
    >>> proved_influence_sensitivity(half, np.array([0.0, 1.0])), proved_influence_sensitivity(half, np.ones(2))
    (1.0, 1.5)
    """
    coupling.require_public("a proved sensitivity")
    if coupling.threshold > 0:
        raise PrivacyError(
            f"couplings below {coupling.threshold:g} were dropped, so these degrees bound no influence.",
            remedy="Give all degrees: from_graph(…) without a threshold.",
        )
    weights = np.asarray(row_weights, dtype=np.float64)
    if weights.shape != (coupling.n_rows,):
        raise UsageError(f"{weights.shape} weights do not fit {coupling.n_rows:,} rows.")
    return width * float(published_record_sensitivities(coupling.degrees, weights).max(initial=0))
