"""What the methods that answer queries share: the public side of a request, and releases of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.coupled.workloads.workload import Workload
from discreet.data.tables import Table
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Loss
from discreet.privacy.method import Method, Parts, Plan
from discreet.privacy.numbers import Rational, as_positive, as_probability
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.coupled.coupling import Coupling

__all__ = ["KIND", "BudgetedMethod", "QueryMethod", "QuerySetting", "answer_parts", "answer_table"]

KIND = "query-answers"


@dataclass(frozen=True)
class QuerySetting:
    """The public side of a request.

    Parameters
    ----------
    n_rows
        The number of rows, public under the relation "replace".
    workload
        The queries.
    coupling
        Which rows depend on each other; without it single rows are protected.
    several
        Whether several curators add up what they measure. What that is then follows from the queries and the kind of
        noise, not from the rows and the budget of one of them.
    """

    n_rows: int
    workload: Workload
    coupling: Coupling | None = None
    several: bool = False

    @classmethod
    def of(cls, table: Table, workload: Workload, coupling: Coupling | None) -> QuerySetting:
        """The setting of a table; refuses queries and couplings that were made for another."""
        if not isinstance(workload, Workload):
            raise UsageError(
                f"queries must be a Workload, got {type(workload).__name__}.",
                remedy="Make one: random_queries(table, 1000, seed=1), queries_from_json(table, …).",
            )
        workload.require_fit(table)
        if not len(table):
            raise UsageError("the table has no rows, so every answer is 0.", remedy="Give a table with rows.")
        if not table.complete:
            # How many rows a condition selects is a secret, and here it would be public.
            raise PrivacyError(
                "these rows were selected from a table. Their number depends on their values, and these methods treat "
                "the number of rows as public.",
                remedy="Ask the whole table, with the condition in the queries, and with a declared value for what is "
                "missing; or, if the condition looked at public values only, make a new table of these rows: "
                "Table(part.to_frame(), domains=…).",
            )
        if coupling is not None:
            coupling.require_fits(table)
        return cls(len(table), workload, coupling)

    @property
    def unit(self) -> Unit:
        """What the guarantee is about: one row or one group of rows, replaced."""
        return Unit("record", "replace") if self.coupling is None else self.coupling.unit

    @property
    def largest(self) -> int:
        """The most rows that one neighboring step can change."""
        return 1 if self.coupling is None else self.coupling.largest

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes, in the order of the table."""
        return list(self.workload.domains)

    def plan(
        self,
        method: str,
        loss: Loss,
        basis: str,
        *,
        expected: Mapping[str, Any] | None = None,
        standing: Standing = Standing.PROVED,
        subject: str | None = None,
    ) -> Plan:
        """The plan of a release, with what its guarantee says about rows that depend on each other.

        Parameters
        ----------
        method
            Name of the method. A proved one does not take a coupling that was computed from the rows.
        loss, basis, expected, standing
            As in ``Plan``.
        subject
            What is released; the answers to the queries by default.
        """
        if self.coupling is not None and standing is Standing.PROVED:
            self.coupling.require_public(method)
        not_covered = ["the number of rows and the declared domains"]
        if self.coupling is None:
            not_covered.append("what a row tells about other rows that depend on it (no coupling was given)")
        else:
            not_covered += ["couplings that the public graph does not have", "facts about more rows than one group has"]
            not_covered += self.coupling.not_covered
            if standing is Standing.PROVED:
                basis += "; for groups and for rows that depend on each other: docs/proofs/coupled.md, Theorems 1 and 2"
        queries = len(self.workload)
        return Plan(
            loss=loss,
            basis=basis,
            subject=subject or f"answers to {queries:,} linear {'query' if queries == 1 else 'queries'}",
            unit=self.unit,
            not_covered=tuple(not_covered),
            standing=standing,
            expected=expected or {},
            details={
                "queries": queries,
                "asked": self.workload.digest(),
                "shape": list(self.workload.shape),
                "rows": self.n_rows,
                "coupling": "none" if self.coupling is None else self.coupling.origin,
            },
            public=self,
        )


@dataclass(frozen=True)
class QueryMethod(Method):
    """A method that answers a workload of linear queries on a table.

    Parameters
    ----------
    epsilon
        The budget, above 0.

    Notes
    -----
    A release has the table "answers" (query, label, answer in records, source) and, where the method has one, the array
    "histogram", or a "tree" of attributes with its counts.
    """

    kind: ClassVar[str] = KIND

    epsilon: Rational

    def __post_init__(self) -> None:
        self._set(epsilon=as_positive(self.epsilon, "epsilon"))

    def _set(self, **values: Any) -> None:
        """Store settings as exact numbers; for ``__post_init__``."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def plan(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, table: Table, workload: Workload, *, coupling: Coupling | None = None
    ) -> Plan:
        """What a release will be and guarantee. Reads no row, spends nothing.

        Parameters
        ----------
        coupling
            Which rows depend on each other; None protects single rows.
        """
        return self._plan(QuerySetting.of(self._whole(table), workload, coupling))

    def draws_rows(self, plan: Plan) -> bool:
        """Whether rows can be drawn from a release by this plan (public): counts of all cells, none negative."""
        return bool(getattr(self, "nonnegative", True))

    def estimate(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, table: Table, workload: Workload, *, coupling: Coupling | None = None
    ) -> dict[str, Any]:
        """What to expect of a release. Reads no row, spends nothing."""
        if coupling is not None:
            coupling.require_public("an estimate")
        plan = self.plan(table, workload, coupling=coupling)
        return {**self._estimate(plan), "cells": workload.n_cells, "unit": plan.unit.code}


@dataclass(frozen=True)
class BudgetedMethod(QueryMethod):
    """A query method with a delta.

    Parameters
    ----------
    epsilon, delta
        The budget. With delta = 0 the guarantee is pure.
    """

    delta: Rational = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(delta=as_probability(self.delta))


def answer_parts(
    setting: QuerySetting,
    answers: Floats | None = None,
    *,
    source: str | Sequence[str] = "estimate",
    histogram: Floats | None = None,
    **parts: Any,
) -> Parts:
    """The parts of a release of answers.

    Answers are in records, one for each query; those of the histogram by default. ``source`` says where they come from
    ("estimate", "measured" …): one word for all, or one for each query. A histogram over all cells is not negative, its
    sum the number of rows.
    """
    if answers is None:
        assert histogram is not None
        answers = np.asarray(setting.workload.answers(histogram), dtype=np.float64)
    table = answer_table(setting.workload.labels(), answers, source)
    kept = {} if histogram is None else {"histogram": np.asarray(histogram, dtype=np.float64)}
    return {"answers": table, **parts, **kept}


def answer_table(labels: Sequence[str], answers: Any, source: str | Sequence[str]) -> pl.DataFrame:
    """Answers with the number of each query, its label and where the answer comes from."""
    return pl.DataFrame(
        {
            "query": np.arange(len(labels), dtype=np.int64),
            "label": pl.Series(labels, dtype=pl.String),
            "answer": np.asarray(answers, dtype=np.float64),
            "source": pl.Series([source] * len(labels) if isinstance(source, str) else list(source), dtype=pl.String),
        }
    )
