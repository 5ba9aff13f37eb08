"""Laplace noise on every query: LM&GS and LM&CS, the baselines of the thesis.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014 (Sections 5.3.2, 5.6.2 and 5.6.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary, ref

import numpy as np

from discreet.common.arrays import Floats, Integers
from discreet.coupled.bounds import NONE, all_sums
from discreet.coupled.coupling import Coupling
from discreet.coupled.query_method import QueryMethod, QuerySetting, answer_parts
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data.tables import Table
from discreet.privacy.guarantees import Standing
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.method import Parts, Plan, Round, Rounds
from discreet.privacy.published_draws import laplace

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["LMCS", "LMGS", "CoupledCells"]

SECRET_SIZE = (
    "k, the most rows in one group, is looked up in the secret rows and sets the noise: two rows that happen to "
    "correlate double it, tests/refutations/test_coupled.py"
)

COUPLED_SENSITIVITY = (
    "the scale CS_q is looked up in the rows: one correlated row more doubles the noise (log-ratio 9.3 at ε = 1, "
    "without bound), a query that nobody responds to is answered exactly; its maximum leaves out rows that do not "
    "respond (9·ε for a star of ten rows); and a correlation is no bound on influence, "
    "tests/refutations/test_coupled.py"
)

# Neither keeps a table, a coupling or a workload alive.
_VIEWS: WeakKeyDictionary[Table, tuple[ref[Any], CoupledCells]] = WeakKeyDictionary()

_LAST: WeakKeyDictionary[CoupledCells, tuple[ref[Workload], Floats]] = WeakKeyDictionary()


@dataclass(frozen=True)
class LMGS(QueryMethod):
    """LM&GS: noise of scale k·L/ε on each of L answers, k rows in the largest group.

    Parameters
    ----------
    epsilon
        The budget for all queries, split evenly as in the thesis.

    Privacy
    -------
    Unit: one group of at most k rows, replaced; one row without a coupling. With a *public* coupling this
    is proved: at most k rows change and each weighs from 0 to 1 in a query, so an answer moves by at most k; discrete
    Laplace noise of scale k·L/ε spends ε/L on it (``docs/proofs/noise.md``, Theorem 2), and L answers spend ε. With a
    coupling that was computed from the rows, as in the thesis, k is a secret that sets the noise: REFUTED.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.coupled.workloads.builders import RandomWorkload
    >>> table = dc.Table({"flu": ["no", "yes", "no"]}, domains={"flu": ["no", "yes"]})
    >>> release = LMGS(epsilon=1).release(table, RandomWorkload(table.domains, 4, seed=1))
    >>> release.guarantee.standing.name, release.table("answers").height
    ('PROVED', 4)
    """

    name: ClassVar[str] = "lm-gs"

    @property
    def _mechanism(self) -> LaplaceMechanism:
        return LaplaceMechanism.of(self.epsilon)

    def _plan(self, public: QuerySetting) -> Plan:
        mechanism, like = self._mechanism, all_sums(NONE, public)
        mechanism.check(like)
        if public.coupling is not None and not public.coupling.public:
            return public.plan(self.name, mechanism.loss, SECRET_SIZE, standing=Standing.REFUTED)
        return public.plan(
            self.name,
            mechanism.loss,
            f"{mechanism.theorem}, for one of {len(public.workload):,} answers at a time",
            expected={
                "scale": float(mechanism.parameter(like) / GRID),
                "noise_sd": mechanism.standard_deviation(like),
                "noise_95": mechanism.interval(like, 0.95),
            },
        )

    def _rounds(self, plan: Plan) -> Rounds:
        setting = plan.public
        noisy = yield Round(lambda table: all_sums(setting.workload.true_answers(table), setting), self._mechanism)
        return answer_parts(setting, noisy / GRID, source="measured")


@dataclass(frozen=True)
class LMCS(QueryMethod):
    """LM&CS: noise of scale CS_q·L/ε on each of L answers, with the coupled sensitivity of each query. **Refuted.**

    Parameters
    ----------
    epsilon
        The budget for all queries, split evenly as in the thesis.

    Privacy
    -------
    Claimed: ε for a row with all it is coupled with. Refuted, whatever the coupling: CS_q is a maximum
    over the rows that respond, and these are secret. See ``published_coupled_sensitivity``. ``LMGS`` with a public
    coupling is what remains.

    Notes
    -----
    Noise is drawn in floating point: there is nothing left that exactness could protect.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.coupled.workloads.builders import RandomWorkload
    >>> table = dc.Table({"flu": ["no", "yes", "no"]}, domains={"flu": ["no", "yes"]})
    >>> release = LMCS(epsilon=1).release(table, RandomWorkload(table.domains, 4, seed=1), allow_refuted=True)
    >>> release.guarantee.standing.name
    'REFUTED'
    """

    name: ClassVar[str] = "lm-cs"
    reads = "records"

    def scales(self, table: Table, setting: QuerySetting) -> Floats:
        """Scale of the noise on each answer, in rows: a secret, as each depends on the rows."""
        sensitivities = CoupledCells.of(table, setting.coupling).coupled_sensitivities(setting.workload)
        return sensitivities * (len(setting.workload) / float(self.epsilon))

    def _plan(self, public: QuerySetting) -> Plan:
        public.workload.require_dense("coupled sensitivity")
        CoupledCells.check(public.coupling)
        loss = LaplaceMechanism.of(self.epsilon).loss
        return public.plan(self.name, loss, COUPLED_SENSITIVITY, standing=Standing.REFUTED)

    def _draw(self, data: Table, plan: Plan) -> Parts:
        setting = plan.public
        truth = setting.workload.true_answers(data) / GRID
        return answer_parts(setting, truth + laplace(self.scales(data, setting)), source="measured")


@dataclass(frozen=True, eq=False)
class CoupledCells:
    """The coupling seen from the occupied cells, so that ten thousand queries need not go through the rows.

    What the published mechanisms look up in the rows: all of it secret, none of it paid for. Weights are those of one
    query on the occupied cells; a row responds where its weight is not 0. ``influence`` is |δ| of each coupled row with
    the rows of each cell, added up, rows in falling order of their sums; ``linked`` says which cells hold rows that are
    coupled with each other; ``degree_sum`` and ``degree_count`` are |δ| over all couplings of the rows of a cell, each
    row with itself among them, and their number.
    """

    cells: Integers
    counts: Integers
    influence: csr_array
    cell_of_row: Integers
    linked: csr_array
    degree_sum: Floats
    degree_count: Floats

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

    def coupled_sensitivity(self, weights: Floats) -> float:
        """CS_q (Equation 5.3.2); 0 where nobody responds."""
        from discreet.coupled.kernels import largest_response

        # A row that is coupled with none has its own weight.
        largest = float(weights.max(initial=0))
        starts, cells, degrees, totals, cell_of_row = self._rows
        return largest_response(starts, cells, degrees, totals, cell_of_row, weights, largest)

    def coupled_sensitivities(self, workload: Workload) -> Floats:
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

    def touched(self, weights: Floats) -> Integers:
        """The cells that hold a row that responds, or one that is coupled with such a row (Algorithm 7, steps 1–3)."""
        responding = weights > 0
        if self.linked.nnz:
            responding = responding | ((self.linked @ responding.astype(np.float64)) > 0)
        return self.cells[responding]

    def mean_degree(self, weights: Floats) -> float:
        """Mean |δ| over the couplings of all rows that respond, each with itself among them; 1 where nobody does."""
        responding = weights > 0
        count = float(self.degree_count[responding].sum())
        return float(self.degree_sum[responding].sum()) / count if count else 1.0
