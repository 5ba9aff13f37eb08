"""The Coupled Iteration Mechanism of Zhu's thesis, to the letter, and with its updates turned the right way round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_choice
from discreet.coupled.published.cim_rounds import (
    CIMAccount,
    corrected_update,
    printed_update,
    published_most_updates,
    published_round_budget,
)
from discreet.coupled.published.coupled_cells import CoupledCells
from discreet.coupled.query_method import QueryMethod, QuerySetting, answer_parts
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Pure
from discreet.privacy.method import Parts, Plan
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.published_draws import laplace
from discreet.privacy.release import Release

__all__ = ["CIM", "Update", "cim_account"]

Update = Literal["printed", "corrected"]

MOST_ETA = 100
"""An update by e^−100 leaves nothing; one by e^−1000 cannot be computed."""

MOST_AHEAD = 2048
"""Queries that are answered in one pass while nothing changes; it starts at 1 and doubles."""

BROKEN = (
    "rounds without an update are shown and not charged (0.1 each in a stream where nothing is charged: 1000 after "
    "10,000 queries); nothing stops after u_max updates, and u_max has neither the threshold nor the noise in it; the "
    "noise is for a coupled sensitivity that is looked up in the rows, tests/refutations/test_coupled_iteration.py"
)


@dataclass(frozen=True)
class CIM(QueryMethod):
    """Answer a stream of queries from an estimate that is changed when a noisy answer is far off. **Refuted.**

    Parameters
    ----------
    epsilon
        The claimed budget.
    threshold
        T, as a share of the rows: the estimate answers while it is that near to the noisy answer.
    eta
        η: how far one update goes. 7 in the thesis.
    delta0
        δ₀: the least degree of coupling, which sets the budget of a round. 0.6 in the thesis.
    update
        ``"printed"``: Equation 5.4.4 to the letter, which makes an estimate that is too small still smaller.
        ``"corrected"``: the update of Hardt and Rothblum with the same step.

    Privacy
    -------
    Claimed: ε in all, for a row and all coupled with it. Refuted by ``tests/refutations/test_coupled_iteration.py``,
    in several ways; at the published settings the budget ε₀ of a single round is above ε for every domain of up to
    4.6·10⁷ cells. The release says what its rounds add up to (``cim_account``). ``PMW`` is the proved counterpart.

    Notes
    -----
    Algorithm 6 and 7. Two symbols have no definition in the thesis: a row *responds* to a query if its weight is above
    0, and δ_q is the mean |δ| over all couplings of the responding rows, each row with itself among them, which
    keeps it between δ₀ and 1. Noise is drawn in floating point: there is nothing left that exactness could protect.

    References
    ----------
    T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014 (Section 5.4).

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.coupled.workloads.random import RandomWorkload
    >>> table = dc.Table({"day": [0, 0, 0, 5] * 50}, domains={"day": range(8)})
    >>> release = CIM(epsilon=1).release(table, RandomWorkload(table.domains, 100, seed=1), allow_refuted=True)
    >>> account = cim_account(release)
    >>> account.rounds, round(account.per_round, 2), account.spent_on_rounds > 800 * account.claimed
    (100, 8.48, True)
    """

    name: ClassVar[str] = "cim"
    reads = "records"

    threshold: Rational = "3/10"
    eta: Rational = 7
    delta0: Rational = "6/10"
    update: Update = "printed"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice(self.update, "update", get_args(Update))
        threshold, eta = as_fraction(self.threshold, "threshold"), as_positive(self.eta, "eta")
        delta0 = as_positive(self.delta0, "delta0")
        if threshold < 0:
            raise UsageError(f"threshold must be at least 0, got {self.threshold}.")
        if eta > MOST_ETA:
            raise UsageError(f"eta must be at most {MOST_ETA}, got {self.eta}.", remedy="The thesis has 7.")
        if delta0 > 1:
            raise UsageError(f"delta0 must be at most 1, got {self.delta0}.", remedy="The thesis has 0.6.")
        self._set(threshold=threshold, eta=eta, delta0=delta0)

    def most_updates(self, n_cells: int) -> float:
        """u_max as published."""
        return published_most_updates(n_cells, eta=float(self.eta), delta0=float(self.delta0))

    def round_budget(self, n_cells: int) -> float:
        """ε₀ as published."""
        return published_round_budget(float(self.epsilon), n_cells, eta=float(self.eta), delta0=float(self.delta0))

    def account(self, n_cells: int, *, rounds: int, updates: int) -> CIMAccount:
        """What a number of rounds claims and what it adds up to."""
        return CIMAccount(float(self.epsilon), self.round_budget(n_cells), self.most_updates(n_cells), rounds, updates)

    def scales(self, table: Table, setting: QuerySetting) -> NDArray[np.float64]:
        """Scale of the noise of each round, as a share of the rows: a secret, as each depends on the rows."""
        sensitivities = CoupledCells.of(table, setting.coupling).coupled_sensitivities(setting.workload)
        return sensitivities / setting.n_rows / self.round_budget(setting.workload.n_cells)

    def _plan(self, public: QuerySetting) -> Plan:
        public.workload.require_dense("the estimate of CIM")
        CoupledCells.check(public.coupling)
        n_cells = public.workload.n_cells
        if n_cells < 2:
            raise UsageError("with a single cell there is nothing to estimate.", remedy="Ask about two cells or more.")
        each, claimed = self.round_budget(n_cells), Pure(as_positive(self.epsilon))
        own = f"one round has ε₀ = {each:.4g} and ε is {float(self.epsilon):g}; " if each > claimed.epsilon else ""
        expected = {"epsilon_per_round": each, "published_most_updates": self.most_updates(n_cells)}
        return public.plan(self.name, claimed, own + BROKEN, expected=expected, standing=Standing.REFUTED)

    def _draw(self, data: Table, plan: Plan) -> Parts:
        setting: QuerySetting = plan.public
        workload, n_rows = setting.workload, setting.n_rows
        cells = CoupledCells.of(data, setting.coupling)
        # The same draw decides and is shown, as in Algorithm 6.
        noisy = workload.true_answers(data) / (GRID * n_rows) + laplace(self.scales(data, setting))
        answers, updated, estimate = self._iterated(workload, noisy, cells)
        account = self.account(workload.n_cells, rounds=len(workload), updates=int(updated.sum()))
        return answer_parts(
            setting,
            answers * n_rows,
            source=np.where(updated, "measured", "estimate").tolist(),
            histogram=estimate * n_rows,
            account=pl.DataFrame([account.facts()]),
        )

    def _iterated(
        self, workload: Workload, noisy: NDArray[np.float64], cells: CoupledCells
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
        """Answers, which of them were updates, and the last estimate: all in shares of the rows.

        The estimate answers as many queries at once as it has lately answered without a change.
        """
        estimate = np.full(workload.n_cells, 1 / workload.n_cells)  # x₀
        answers, updated = noisy.copy(), np.zeros(len(workload), dtype=bool)
        query, ahead = 0, 1
        while query < len(workload):
            known = _known(workload, query, ahead, estimate)
            distance = known - noisy[query : query + known.size]
            far = np.flatnonzero(np.abs(distance) > float(self.threshold))
            lazy = int(far[0]) if far.size else known.size
            answers[query : query + lazy] = known[:lazy]
            query, ahead = query + lazy, min(2 * ahead, MOST_AHEAD)
            if far.size:
                updated[query] = True
                estimate = self._updated(
                    estimate, cells, workload.weights(query) / GRID, known[lazy], distance[lazy] > 0
                )
                query, ahead = query + 1, 1
        return answers, updated, estimate

    def _updated(
        self,
        estimate: NDArray[np.float64],
        cells: CoupledCells,
        weights: NDArray[np.float64],
        known: float,
        too_large: bool,
    ) -> NDArray[np.float64]:
        occupied = weights[cells.cells]
        step = float(self.eta) * cells.mean_degree(occupied)
        if self.update == "corrected":
            return corrected_update(estimate, weights, too_large=too_large, step=step)
        return printed_update(estimate, cells.touched(occupied), answer=known, too_large=too_large, step=step)


def _known(workload: Workload, query: int, ahead: int, estimate: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the estimate answers to the next queries: right until the first of them that changes it."""
    if ahead == 1:
        return np.array([workload.weights(query) @ estimate / GRID])
    return np.asarray(workload[query : query + ahead].answers(estimate), dtype=np.float64)


def cim_account(release: Release) -> CIMAccount:
    """What the rounds of a release by CIM claimed and what they add up to."""
    if release.mechanism != CIM.name:
        raise UsageError(f"{release.mechanism} keeps no account of rounds.", remedy="Give a release by CIM.")
    (facts,) = release.table("account").to_dicts()
    return CIMAccount(**{name: facts[name] for name in CIMAccount.__dataclass_fields__})
