"""The Coupled Iteration Mechanism of Zhu's thesis, to the letter, and with its updates turned the right way round.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014 (Section 5.4).
M. Hardt, G. Rothblum: A multiplicative weights mechanism for privacy-preserving data analysis. FOCS 2010.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice
from discreet.common.arrays import Floats, Integers, Mask
from discreet.coupled.published.laplace import CoupledCells
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

__all__ = [
    "CIM",
    "CIMAccount",
    "CIMRounds",
    "Update",
    "cim_account",
    "corrected_update",
    "printed_update",
    "published_most_updates",
    "published_round_budget",
]

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
    >>> from discreet.coupled.workloads.builders import RandomWorkload
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

    def scales(self, table: Table, setting: QuerySetting) -> Floats:
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

    def rounds(self, table: Table, setting: QuerySetting) -> CIMRounds:
        """Every round of one run. **Not** for publication: what the estimate answers in secret is among it."""
        workload, n_rows = setting.workload, setting.n_rows
        # The same draw decides and is shown, as in Algorithm 6.
        noisy = workload.true_answers(table) / (GRID * n_rows) + laplace(self.scales(table, setting))
        return self._iterated(workload, noisy, CoupledCells.of(table, setting.coupling))

    def _draw(self, data: Table, plan: Plan) -> Parts:
        setting: QuerySetting = plan.public
        workload, n_rows = setting.workload, setting.n_rows
        run = self.rounds(data, setting)
        account = self.account(workload.n_cells, rounds=len(workload), updates=int(run.updated.sum()))
        return answer_parts(
            setting,
            run.answers * n_rows,
            source=np.where(run.updated, "measured", "estimate").tolist(),
            histogram=run.estimate * n_rows,
            account=pl.DataFrame([account.facts()]),
        )

    def _iterated(self, workload: Workload, noisy: Floats, cells: CoupledCells) -> CIMRounds:
        """The estimate answers as many queries at once as it has lately answered without a change."""
        estimate = np.full(workload.n_cells, 1 / workload.n_cells)  # x₀
        answers, estimated, updated = noisy.copy(), np.empty(len(workload)), np.zeros(len(workload), dtype=bool)
        query, ahead = 0, 1
        while query < len(workload):
            known = _known(workload, query, ahead, estimate)
            distance = known - noisy[query : query + known.size]
            far = np.flatnonzero(np.abs(distance) > float(self.threshold))
            lazy = int(far[0]) if far.size else known.size
            answers[query : query + lazy] = known[:lazy]
            estimated[query : query + known.size] = known  # those behind the first that is far off are overwritten
            query, ahead = query + lazy, min(2 * ahead, MOST_AHEAD)
            if far.size:
                updated[query] = True
                estimate = self._updated(
                    estimate, cells, workload.weights(query) / GRID, known[lazy], distance[lazy] > 0
                )
                query, ahead = query + 1, 1
        return CIMRounds(answers, updated, estimated, estimate)

    def _updated(self, estimate: Floats, cells: CoupledCells, weights: Floats, known: float, too_large: bool) -> Floats:
        occupied = weights[cells.cells]
        step = float(self.eta) * cells.mean_degree(occupied)
        if self.update == "corrected":
            return corrected_update(estimate, weights, too_large=too_large, step=step)
        return printed_update(estimate, cells.touched(occupied), answer=known, too_large=too_large, step=step)


def _known(workload: Workload, query: int, ahead: int, estimate: Floats) -> Floats:
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


def printed_update(histogram: Floats, touched: Integers, *, answer: float, too_large: bool, step: float) -> Floats:
    """Equation 5.4.4 as it is printed: the touched cells times exp(−η·δ·y), then all scaled to sum to 1.

    Touched are the cells that hold a responding row or one coupled with it; the step is η·δ; y is ``answer`` =
    Q(x_{t−1}) where the estimate is too large (d̂ > 0), and 1 − Q(x_{t−1}) where it is too small. The factor is below 1
    in both cases: an estimate that is too small becomes smaller.

    Examples
    --------
    >>> half = np.array([0.5, 0.5])
    >>> printed_update(half, np.array([0]), answer=0.5, too_large=False, step=1.0).round(3).tolist()
    [0.378, 0.622]
    """
    changed = histogram.copy()
    changed[touched] *= math.exp(-step * (answer if too_large else 1 - answer))
    return changed / changed.sum()


def corrected_update(histogram: Floats, weights: Floats, *, too_large: bool, step: float) -> Floats:
    """The update of Hardt and Rothblum: every cell times exp(−η·δ·r), r its weight or 1 minus its weight.

    Examples
    --------
    >>> half, first = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    >>> corrected_update(half, first, too_large=False, step=1.0).round(3).tolist()
    [0.731, 0.269]
    """
    changed = histogram * np.exp(-step * (weights if too_large else 1 - weights))
    return changed / changed.sum()


@dataclass(frozen=True, eq=False)
class CIMRounds:
    """What happened in a run, in shares of the rows: answers, which of them were updates, what the estimate of that
    round answers, shown or not, and the last estimate.
    """

    answers: Floats
    updated: Mask
    estimated: Floats
    estimate: Floats


@dataclass(frozen=True)
class CIMAccount:
    """What a run claims to have spent, and what its rounds add up to.

    ε₀ (``per_round``) sets the noise of one round; u_max (``most_updates``) is as published. Every round compares a
    noisy answer with the estimate and shows what came of it, so every round spends: ε₀ if its noise were for a true
    sensitivity. The thesis counts rounds with an update only, and no more than u_max of them.
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
