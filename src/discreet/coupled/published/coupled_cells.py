"""The coupling seen from the cells of the histogram, so that ten thousand queries need not go through the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.couplings.coupling import Coupling
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data.tables import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["CoupledCells"]


@dataclass(frozen=True, eq=False)
class CoupledCells:
    """What the published mechanisms look up in the rows: all of it secret, none of it paid for.

    Weights are those of one query on the occupied cells; a row responds where its weight is not 0.

    Parameters
    ----------
    cells, counts
        The cells that hold rows, and how many.
    influence
        |δ| of each coupled row with the rows of each occupied cell, added up; rows in falling order of their sums.
    cell_of_row
        Place among the occupied cells of each coupled row.
    linked
        Which occupied cells hold rows that are coupled with each other.
    degree_sum, degree_count
        |δ| over all couplings of the rows of each occupied cell, each row with itself among them, and their number.
    """

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    influence: csr_array
    cell_of_row: NDArray[np.int64]
    linked: csr_array
    degree_sum: NDArray[np.float64]
    degree_count: NDArray[np.float64]

    @classmethod
    def of(cls, table: Table, coupling: Coupling | None) -> CoupledCells:
        """The view of a table through a coupling; the last one of each table is remembered."""
        key, made = _VIEWS.get(table, (None, None))
        if made is None or key is None or key() is not (coupling or table):
            made = cls._made(table, Coupling.none(table) if coupling is None else coupling)
            _VIEWS[table] = (ref(coupling or table), made)
        return made

    @staticmethod
    def check(coupling: Coupling | None) -> None:
        """Refuse a coupling of too many pairs: to be called before anything is charged."""
        _ = coupling and coupling.degrees

    @classmethod
    def _made(cls, table: Table, coupling: Coupling) -> CoupledCells:
        from scipy.sparse import csr_array

        cells, counts = table.sparse_histogram()
        rows = np.ravel_multi_index([table.codes[one] for one in table.attributes], table.shape)
        place = np.searchsorted(cells, rows)
        degrees = abs(coupling.degrees)
        partners = np.diff(degrees.indptr)
        totals = degrees.sum(axis=1)
        strongest_first = np.argsort(-totals, kind="stable")
        coupled = strongest_first[partners[strongest_first] > 1]
        part = degrees[coupled]
        between = (np.repeat(place[coupled], np.diff(part.indptr)), place[part.indices])
        linked = csr_array((np.ones(part.nnz), between), shape=(cells.size, cells.size))
        # The same numbers under the cells of the rows instead of the rows; those that meet are added up.
        under = (part.data, place[part.indices], part.indptr)
        influence = csr_array(under, shape=(coupled.size, cells.size), copy=True)
        influence.sum_duplicates()
        return cls(
            cells=cells,
            counts=counts,
            influence=influence,
            cell_of_row=place[coupled],
            linked=linked,
            degree_sum=np.bincount(place, weights=totals, minlength=cells.size).astype(np.float64),
            degree_count=np.bincount(place, weights=partners, minlength=cells.size).astype(np.float64),
        )

    def coupled_sensitivity(self, weights: NDArray[np.float64]) -> float:
        """CS_q (Equation 5.3.2); 0 where nobody responds."""
        from discreet.coupled.published.kernels import largest_response

        # A row that is coupled with none has its own weight.
        largest = float(weights.max(initial=0))
        starts, cells, degrees, totals, cell_of_row = self._rows
        return largest_response(starts, cells, degrees, totals, cell_of_row, weights, largest)

    def coupled_sensitivities(self, workload: Workload) -> NDArray[np.float64]:
        """CS_q of each query, in rows; those of the last workload are remembered, as studies ask again and again."""
        last, found = _LAST.get(self, (None, np.empty(0)))
        if last is None or last() is not workload:
            queries = range(len(workload))
            found = np.array([self.coupled_sensitivity(workload.weights(q)[self.cells] / GRID) for q in queries])
            _LAST[self] = (ref(workload), found)
        return found

    @cached_property
    def _rows(self) -> tuple[Any, ...]:
        rows = self.influence
        starts, cells = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
        return starts, cells, rows.data, rows.sum(axis=1), self.cell_of_row

    def touched(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """The cells that hold a row that responds, or one that is coupled with such a row (Algorithm 7, steps 1–3)."""
        responding = weights > 0
        if self.linked.nnz:
            responding = responding | ((self.linked @ responding.astype(np.float64)) > 0)
        return self.cells[responding]

    def mean_degree(self, weights: NDArray[np.float64]) -> float:
        """Mean |δ| over the couplings of all rows that respond, each with itself among them; 1 where nobody does."""
        responding = weights > 0
        count = float(self.degree_count[responding].sum())
        return float(self.degree_sum[responding].sum()) / count if count else 1.0


# Neither keeps a table, a coupling or a workload alive.
_VIEWS: WeakKeyDictionary[Table, tuple[ref[Any], CoupledCells]] = WeakKeyDictionary()
_LAST: WeakKeyDictionary[CoupledCells, tuple[ref[Workload], NDArray[np.float64]]] = WeakKeyDictionary()
