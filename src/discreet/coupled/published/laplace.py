"""Laplace noise on every query: LM&GS and LM&CS, the baselines of the thesis.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014 (Sections 5.3.2, 5.6.2 and 5.6.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.bounds import NONE, all_sums
from discreet.coupled.published.coupled_cells import CoupledCells
from discreet.coupled.query_method import QueryMethod, QuerySetting, answer_parts
from discreet.coupled.workloads.workload import GRID
from discreet.data.tables import Table
from discreet.privacy.guarantees import Standing
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.method import Parts, Plan, Round, Rounds
from discreet.privacy.published_draws import laplace

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

    Privacy
    -------
    Unit: one group of at most k rows, replaced; one row without a coupling. With a *public* coupling this
    is proved: at most k rows change and each weighs from 0 to 1 in a query, so an answer moves by at most k; discrete
    Laplace noise of scale k·L/ε spends ε/L on it (``docs/proofs/noise.md``, Theorem 2), and L answers spend ε. With a
    coupling that was computed from the rows, as in the thesis, k is a secret that sets the noise: REFUTED.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.coupled.workloads.random import RandomWorkload
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
    >>> from discreet.coupled.workloads.random import RandomWorkload
    >>> table = dc.Table({"flu": ["no", "yes", "no"]}, domains={"flu": ["no", "yes"]})
    >>> release = LMCS(epsilon=1).release(table, RandomWorkload(table.domains, 4, seed=1), allow_refuted=True)
    >>> release.guarantee.standing.name
    'REFUTED'
    """

    name: ClassVar[str] = "lm-cs"
    reads = "records"

    def scales(self, table: Table, setting: QuerySetting) -> NDArray[np.float64]:
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
