"""Laplace noise on every query: LM&GS and LM&CS, the baselines of the thesis.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014 (Sections 5.3.2, 5.6.2 and 5.6.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.coupled_cells import CoupledCells
from discreet.coupled.query_method import Answered, QueryMethod, QueryPlan, QuerySetting, single_sum
from discreet.coupled.workload import GRID
from discreet.data.tables import Table
from discreet.neighbors.selection.draws import laplace
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import Rational, as_positive

__all__ = ["LMCS", "LMGS"]

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


@dataclass(frozen=True)
class LMGS(QueryMethod):
    """LM&GS: noise of scale k·L/ε on each of L answers, k rows in the largest group.

    Parameters
    ----------
    epsilon
        The budget for all queries, split evenly as in the thesis.

    Notes
    -----
    **Privacy.** Unit: one group of at most k rows, replaced; one row without a coupling. With a *public* coupling this
    is proved: at most k rows change and each weighs from 0 to 1 in a query, so an answer moves by at most k; discrete
    Laplace noise of scale k·L/ε spends ε/L on it (``docs/proofs/noise.md``, Theorem 2), and L answers spend ε. With a
    coupling that was computed from the rows, as in the thesis, k is a secret that sets the noise: REFUTED.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.coupled.random_workload import RandomWorkload
    >>> table = dc.Table({"flu": ["no", "yes", "no"]}, domains={"flu": ["no", "yes"]})
    >>> release = LMGS.of(epsilon=1).release(table, RandomWorkload(table.domains, 4, seed=1))
    >>> release.guarantee.standing.name, release.table("answers").height
    ('PROVED', 4)
    """

    epsilon: Fraction
    name: ClassVar[str] = "lm-gs"

    @classmethod
    def of(cls, *, epsilon: Rational) -> LMGS:
        return cls(as_positive(epsilon, "epsilon"))

    def _plan(self, setting: QuerySetting) -> QueryPlan:
        mechanism, nothing = self._mechanism(setting), single_sum(np.zeros(0, np.int64), setting)
        mechanism.check(nothing)
        if setting.coupling is not None and not setting.coupling.public:
            return QueryPlan(loss=Pure(self.epsilon), basis=SECRET_SIZE, standing=Standing.REFUTED)
        return QueryPlan(
            loss=Pure(self.epsilon),
            basis=f"{mechanism.theorem}, for one of {len(setting.workload):,} answers at a time",
            expected={
                "scale": float(mechanism.parameter(nothing) / GRID),
                "noise_sd": mechanism.standard_deviation(nothing),
                "noise_95": mechanism.interval(nothing, 0.95),
            },
        )

    def _answer(self, table: Table, setting: QuerySetting) -> Answered:
        truth = single_sum(setting.workload.true_answers(table), setting)
        return Answered(self._mechanism(setting).release(truth) / GRID, source="measured")

    def _mechanism(self, setting: QuerySetting) -> LaplaceMechanism:
        return LaplaceMechanism(self.epsilon / len(setting.workload))


@dataclass(frozen=True)
class LMCS(QueryMethod):
    """LM&CS: noise of scale CS_q·L/ε on each of L answers, with the coupled sensitivity of each query. **Refuted.**

    Parameters
    ----------
    epsilon
        The budget for all queries, split evenly as in the thesis.

    Notes
    -----
    **Privacy.** Claimed: ε for a row with all it is coupled with. Refuted, whatever the coupling: CS_q is a maximum
    over the rows that respond, and these are secret. See ``published_coupled_sensitivity``. ``LMGS`` with a public
    coupling is what remains.

    Noise is drawn in floating point: there is nothing left that exactness could protect.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.coupled.random_workload import RandomWorkload
    >>> table = dc.Table({"flu": ["no", "yes", "no"]}, domains={"flu": ["no", "yes"]})
    >>> release = LMCS.of(epsilon=1).release(table, RandomWorkload(table.domains, 4, seed=1), allow_refuted=True)
    >>> release.guarantee.standing.name
    'REFUTED'
    """

    epsilon: Fraction
    name: ClassVar[str] = "lm-cs"

    @classmethod
    def of(cls, *, epsilon: Rational) -> LMCS:
        return cls(as_positive(epsilon, "epsilon"))

    def scales(self, table: Table, setting: QuerySetting) -> NDArray[np.float64]:
        """Scale of the noise on each answer, in rows: a secret, as each depends on the rows."""
        sensitivities = CoupledCells.of(table, setting.coupling).coupled_sensitivities(setting.workload)
        return sensitivities * (len(setting.workload) / float(self.epsilon))

    def _plan(self, setting: QuerySetting) -> QueryPlan:
        setting.workload.require_dense("coupled sensitivity")
        CoupledCells.check(setting.coupling)
        return QueryPlan(loss=Pure(self.epsilon), basis=COUPLED_SENSITIVITY, standing=Standing.REFUTED)

    def _answer(self, table: Table, setting: QuerySetting) -> Answered:
        truth = setting.workload.true_answers(table) / GRID
        return Answered(truth + laplace(self.scales(table, setting)), source="measured")
