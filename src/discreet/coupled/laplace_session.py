"""Interactive release, the plain way: every question is measured and paid for by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.coupled.pmw_run import MEASURED
from discreet.coupled.query_method import QueryPlan, QuerySetting, promise, single_sum
from discreet.coupled.sessions import Answer, Session, session_setting
from discreet.coupled.workload import GRID, Workload
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.losses import add
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from discreet.coupled.coupling import Coupling
    from discreet.privacy.ledger import Ledger

__all__ = ["LaplaceSession"]


class LaplaceSession(Session):
    """Each question is measured for itself, with discrete Laplace noise, and charged for itself.

    Attributes
    ----------
    guarantee : Guarantee
        What is promised about all answers so far: their losses added up.

    Privacy
    -------
    Unit: one row, or one group of at most k coupled rows, replaced. An answer at ε gets discrete Laplace noise of scale
    k/ε records and costs ε; the ledger is charged before each. PROVED (``docs/proofs/noise.md``, Theorem 2).

    Examples
    --------
    >>> from discreet.data import synthetic
    >>> session = LaplaceSession.open(synthetic.survey(households=100, seed=7))
    >>> session.ask({"gender": "F"}, epsilon="1/10").source
    'measured'
    >>> print(session.guarantee.loss)
    ε = 0.1
    """

    mechanism = "laplace session"

    def __init__(self, table: Table, setting: QuerySetting, ledger: Ledger | None) -> None:
        super().__init__(setting, table.name)
        self._table: Table | None = table
        self._ledger = ledger
        self._spent: list[Guarantee] = []

    @classmethod
    def open(cls, table: Table, *, coupling: Coupling | None = None, ledger: Ledger | None = None) -> LaplaceSession:
        """Begin; nothing is charged before a question is asked."""
        return cls(table, session_setting(table, coupling), ledger)

    @property
    def guarantee(self) -> Guarantee:
        if not self._spent:
            raise UsageError("nothing was asked, so there is nothing to promise.", remedy="Ask a question first.")
        loss = reduce(add, [one.loss for one in self._spent])
        return replace(self._spent[0], loss=loss, subject=f"answers to {len(self._spent):,} linear queries")

    def ask(self, question: Mapping[str, Any] | Workload, *, epsilon: Rational) -> Answer:
        """Charge the ledger and measure one query.

        Parameters
        ----------
        epsilon
            What this answer may cost.
        """
        with self._lock:
            return self._measured(self._question(question), epsilon)

    def _measured(self, query: Workload, epsilon: Rational) -> Answer:
        budget = as_positive(epsilon, "epsilon")
        mechanism = LaplaceMechanism(budget)
        like = single_sum(np.zeros(1, dtype=np.int64), self._setting)
        mechanism.check(like)
        guarantee = promise(QueryPlan(mechanism.loss, mechanism.theorem), replace(self._setting, workload=query))
        label = query.labels()[0]
        parameters = {"epsilon": str(budget), "question": label}
        assert self._table is not None
        with charged(self._ledger, self._table, guarantee, mechanism=self.mechanism, parameters=parameters):
            noisy = mechanism.release(single_sum(query.true_answers(self._table), self._setting))
        self._spent.append(guarantee)
        return self._told(float(noisy[0]) / GRID, label, MEASURED)

    def close(self) -> Release:
        with self._lock:
            if self._release is None:
                self._release = self._released(self.guarantee, {"rows": self._setting.n_rows}, {})
                self._table = None
            return self._release
