"""Interactive release: an analyst asks one question after the other.

References
----------
T. Zhu: Differential privacy for recommender systems and coupled data. PhD thesis, Deakin University, 2014 (Section
2.2.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from discreet.coupled.pmw import PMW
from discreet.coupled.pmw_run import ESTIMATED, MEASURED, PMWRun
from discreet.coupled.product_workload import ProductWorkload
from discreet.coupled.query_method import KIND, QueryPlan, QuerySetting, promise
from discreet.coupled.workload import Workload
from discreet.coupled.workload_json import query_from
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.charging import Charge, charged, in_sandbox
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from discreet.coupled.coupling import Coupling
    from discreet.privacy.ledger import Ledger

__all__ = ["Answer", "QuerySession", "Session", "session_setting"]

USUAL_QUESTIONS = 1000


@dataclass(frozen=True)
class Answer:
    """What an analyst is told.

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


class Session(ABC):
    """Reads questions, remembers answers, ends in a release."""

    mechanism: str

    def __init__(self, setting: QuerySetting, dataset: str) -> None:
        self._setting = setting
        self._dataset = dataset
        self._asked: list[Answer] = []
        self._release: Release | None = None
        self._sandboxed = in_sandbox()
        # One question at a time, whoever asks: answers and what is left of the budget belong together.
        self._lock = RLock()

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised about all answers so far together."""

    @property
    def closed(self) -> bool:
        return self._release is not None

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

    def answers(self) -> pl.DataFrame:
        """Everything that was asked and answered, in order."""
        columns = {
            "query": np.arange(len(self._asked), dtype=np.int64),
            "label": [one.label for one in self._asked],
            "answer": np.array([one.value for one in self._asked], dtype=np.float64),
            "source": [one.source for one in self._asked],
        }
        return pl.DataFrame(columns, schema_overrides={"label": pl.String, "source": pl.String})

    @abstractmethod
    def close(self) -> Release:
        """End the session. The release holds all answers; asking for it again gives the same one."""

    def _question(self, question: Mapping[str, Any] | Workload) -> Workload:
        """One query on this table; a mistake in it costs nothing."""
        if self.closed:
            raise UsageError("this session is closed.", remedy="Open another one.")
        if isinstance(question, Workload):
            self._setting.workload.require_same_domains(question)
            if len(question) != 1:
                raise UsageError(f"{len(question)} queries at once?", remedy="Ask one: workload[i : i + 1].")
            return question
        domains = self._setting.workload.domains
        return ProductWorkload(domains, [query_from(domains, question, len(self._asked))])

    def _told(self, value: float, label: str, source: str) -> Answer:
        self._asked.append(Answer(value, label, source))
        return self._asked[-1]

    def _released(self, guarantee: Guarantee, parameters: Mapping[str, Any], parts: Mapping[str, Any]) -> Release:
        return Release(
            kind=KIND,
            guarantee=guarantee,
            mechanism=self.mechanism,
            parameters={**parameters, "questions": len(self)},
            parts={"answers": self.answers(), **parts},
            dataset=self._dataset,
            sandboxed=self._sandboxed or in_sandbox(),
        )


class QuerySession(Session):
    """Any number of linear queries for one charge: private multiplicative weights, one question at a time.

    Open it with ``QuerySession.open``; it can be used in a ``with`` block.

    Attributes
    ----------
    updates_left : int
        How many more answers can be measured. At 0 the session goes on from the estimate and touches no data.
    guarantee : Guarantee
        What is promised about the whole session.

    Privacy
    -------
    That of ``PMW``: charged once, when the session is opened. Questions may depend on earlier answers.

    Notes
    -----
    Measured answers carry their own noise; the others are those of the histogram as it is at the time. They need not
    agree with each other. The release that ``close`` makes also has the last histogram, from which all queries can be
    answered consistently.

    Examples
    --------
    >>> from discreet.data import synthetic
    >>> table = synthetic.survey(households=100, seed=7)
    >>> with QuerySession.open(table, PMW.of(epsilon=1, updates=5)) as session:
    ...     answer = session.ask({"age": [18, 29], "gender": "F"})
    >>> answer.label, answer.source in ("estimate", "measured"), session.close().table("answers").height
    ('age = 18–29 and gender = F', True, 1)
    """

    def __init__(
        self,
        run: PMWRun,
        setting: QuerySetting,
        guarantee: Guarantee,
        parameters: Mapping[str, Any],
        charge: tuple[ExitStack, Charge],
        dataset: str,
    ) -> None:
        super().__init__(setting, dataset)
        self.mechanism = PMW.name
        self._run, self._guarantee, self._parameters = run, guarantee, parameters
        self._stack, self._charge = charge

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
        questions
            About how many will be asked: it sets the threshold where the method leaves it open. More may be asked.
        """
        if not isinstance(method, PMW):
            raise UsageError(
                f"a session runs on PMW, not on {type(method).__name__}.",
                remedy="Give PMW.of(epsilon=1), or open a LaplaceSession.",
            )
        if isinstance(questions, bool) or not isinstance(questions, int) or questions < 1:
            raise UsageError(f"about {questions!r} questions?", remedy="Give a whole number from 1.")
        setting = session_setting(table, coupling)
        plan = method.planned(setting, questions)
        guarantee = promise(QueryPlan(plan.loss, method.basis()), setting)
        guarantee = replace(guarantee, subject="answers to any number of linear queries")
        parameters = {"method": method.name, **method.parameters, **plan.expected(setting), "rows": setting.n_rows}
        stack = ExitStack()
        charge = stack.enter_context(
            charged(ledger, table, guarantee, mechanism=f"{method.name} session", parameters=parameters)
        )
        run = method.begin(table, setting, questions)
        return cls(run, setting, guarantee, parameters, (stack, charge), table.name)

    @property
    def guarantee(self) -> Guarantee:
        return self._guarantee

    @property
    def updates_left(self) -> int:
        return self._run.updates_left

    def ask(self, question: Mapping[str, Any] | Workload) -> Answer:
        """Answer one question: attributes with what is asked of them, or a workload of one query.

        Parameters
        ----------
        question
            For instance ``{"age": [18, 29], "gender": "F"}``; see ``queries_from_json`` for all that can be asked.
        """
        with self._lock:
            query = self._question(question)
            answers, measured = self._run.answer(query)
            return self._told(float(answers[0]), query.labels()[0], MEASURED if measured[0] else ESTIMATED)

    def histogram(self) -> np.ndarray:
        """The estimate of all cells as it is now: public, nowhere negative, its sum the number of rows."""
        with self._lock:
            return self._run.learned.estimate.copy()

    def close(self) -> Release:
        with self._lock:
            if self._release is None:
                self._release = self._released(self.guarantee, self._parameters, {"histogram": self.histogram()})
                self._run.stop()
                self._charge.settle(self._release.id)
                self._stack.close()
            return self._release


def session_setting(table: Table, coupling: Coupling | None) -> QuerySetting:
    """The public side of a session, whose questions are not known yet: one query that asks nothing stands for them."""
    if not isinstance(table, Table):
        raise UsageError(f"a session is about a Table, not about {type(table).__name__}.")
    if coupling is not None:
        coupling.require_public("a session")
    return QuerySetting.of(table, ProductWorkload(table.domains, [{}]), coupling)
