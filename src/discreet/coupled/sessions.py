"""Interactive release: an analyst asks one question after the other.

References
----------
T. Zhu: Differential privacy for recommender systems and coupled data. PhD thesis, Deakin University, 2014 (Section
2.2.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from discreet.common.arguments import require_whole
from discreet.coupled.pmw import ESTIMATED, MEASURED, PMW
from discreet.coupled.query_method import KIND, QuerySetting, answer_table
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import Workload
from discreet.coupled.workloads.written import query_from
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.charging import charged, in_sandbox
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from discreet.coupled.coupling import Coupling
    from discreet.privacy.ledger import Ledger

__all__ = ["Answer", "QuerySession"]


USUAL_QUESTIONS = 1000


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Attributes
    ----------
    value : float
        In records.
    label : str
        The question in words.
    source : str
        "measured" on the data with noise, or "estimate" from what was measured before.
    """

    value: float
    label: str
    source: str

    def __float__(self) -> float:
        return self.value


class QuerySession:
    """Any number of linear queries for one charge: private multiplicative weights, one question at a time.

    Open it with ``QuerySession.open``; it can be used in a ``with`` block.

    Attributes
    ----------
    updates_left : int
        How many more answers can be measured. At 0 the session goes on from the estimate and reads no data.
    guarantee : Guarantee
        The guarantee of the whole session.

    Privacy
    -------
    That of ``PMW``: charged once, when the session is opened. Questions may depend on earlier answers.

    Notes
    -----
    Measured answers carry their own noise; the others are those of the histogram as it is at the time. They need not
    agree with each other. The release that ``close`` makes has the last histogram, too, from which all queries can be
    answered consistently. For questions that are paid for one by one use ``LMGS`` with a workload of one query.

    Examples
    --------
    >>> from discreet.data import synthetic
    >>> table = synthetic.survey(households=100, seed=7)
    >>> with QuerySession.open(table, PMW(epsilon=1, updates=5)) as session:
    ...     answer = session.ask({"age": [18, 29], "gender": "F"})
    >>> answer.label, answer.source in ("estimate", "measured"), session.close().table("answers").height
    ('age = 18–29 and gender = F', True, 1)
    """

    def __init__(
        self, table: Table, method: PMW, setting: QuerySetting, *, ledger: Ledger | None, questions: int
    ) -> None:
        plan = method.session_plan(setting, questions, subject="answers to any number of linear queries")
        self.guarantee: Guarantee = plan.guarantee
        self._setting, self._dataset, self._method = setting, table.name, method
        self._parameters = {"method": method.name, **method.parameters, **plan.expected, "rows": setting.n_rows}
        self._asked: list[Answer] = []
        self._release: Release | None = None
        self._sandboxed = in_sandbox()
        # One question at a time, whoever asks: answers and what is left of the budget belong together.
        self._lock = RLock()
        self._stack, mechanism = ExitStack(), f"{method.name} session"
        self._charge = self._stack.enter_context(
            charged(ledger, table, plan.guarantee, mechanism=mechanism, parameters=self._parameters)
        )
        self._run = method.begin(table, setting, questions)

    @classmethod
    def open(
        cls,
        table: Table,
        method: PMW,
        *,
        coupling: Coupling | None = None,
        ledger: Ledger | None = None,
        questions: int = USUAL_QUESTIONS,
    ) -> QuerySession:
        """Charge the ledger and begin.

        Parameters
        ----------
        method
            Budget and settings.
        coupling
            Which rows depend on each other; None protects single rows.
        questions
            About how many will be asked: it sets the threshold where the method leaves it open. More may be asked.
        """
        if not isinstance(method, PMW):
            raise UsageError(f"a session runs on PMW, not on {type(method).__name__}.", remedy="Give PMW(epsilon=1).")
        if not isinstance(table, Table):
            raise UsageError(f"a session is about a Table, not about {type(table).__name__}.")
        require_whole(questions, "questions")
        if coupling is not None:
            coupling.require_public("a session")
        # The questions are not known yet: one query that asks nothing stands for them.
        setting = QuerySetting.of(table, ProductWorkload(table.domains, [{}]), coupling)
        return cls(table, method, setting, ledger=ledger, questions=questions)

    @property
    def closed(self) -> bool:
        return self._release is not None

    @property
    def updates_left(self) -> int:
        return self._run.updates_left

    def __len__(self) -> int:
        """Number of questions that were answered."""
        return len(self._asked)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self.closed:
            self.close()

    def ask(self, question: Mapping[str, Any] | Workload) -> Answer:
        """Answer one question: attributes with what is asked of them, or a workload of one query.

        Parameters
        ----------
        question
            For instance ``{"age": [18, 29], "gender": "F"}``; see ``queries_from_json`` for all forms. A mistake in it
            costs nothing.
        """
        with self._lock:
            query = self._query(question)
            answers, measured = self._run.answer(query)
            self._asked.append(Answer(float(answers[0]), query.labels()[0], MEASURED if measured[0] else ESTIMATED))
            return self._asked[-1]

    def _query(self, question: Mapping[str, Any] | Workload) -> Workload:
        if self.closed:
            raise UsageError("this session is closed.", remedy="Open another one.")
        if isinstance(question, Workload):
            self._setting.workload.require_same_domains(question)
            if len(question) != 1:
                raise UsageError(
                    f"a session answers one query at a time, got {len(question)}.",
                    remedy="Ask one: workload[i : i + 1].",
                )
            return question
        domains = self._setting.workload.domains
        return ProductWorkload(domains, [query_from(domains, question, len(self._asked))])

    def answers(self) -> pl.DataFrame:
        """All questions with their answers, in order."""
        asked = self._asked
        return answer_table([one.label for one in asked], [float(one) for one in asked], [one.source for one in asked])

    def histogram(self) -> np.ndarray:
        """The estimate of all cells as it is now: public, not negative, its sum the number of rows."""
        with self._lock:
            return self._run.learned.estimate.copy()

    def close(self) -> Release:
        """End the session. The release holds all answers; calling it again gives the same one."""
        with self._lock:
            if self._release is None:
                self._release = Release(
                    kind=KIND,
                    guarantee=self.guarantee,
                    mechanism=self._method.name,
                    parameters={**self._parameters, "questions": len(self)},
                    parts={"answers": self.answers(), "histogram": self.histogram()},
                    dataset=self._dataset,
                    sandboxed=self._sandboxed or in_sandbox(),
                )
                self._run.stop()
                self._charge.settle(self._release.id)
                self._stack.close()
            return self._release
