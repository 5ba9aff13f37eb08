"""What all ways of answering queries share: a promise before, a charge, a release of answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.coupled.workload import GRID, Workload
from discreet.data.tables import Table
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Loss
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.coupled.coupling import Coupling
    from discreet.privacy.ledger import Ledger

__all__ = ["Answered", "QueryMethod", "QueryPlan", "QuerySetting", "promise", "require_complete", "single_sum"]

KIND = "query-answers"


@dataclass(frozen=True)
class QuerySetting:
    """The public side of a request: how many rows there are, what is asked, which rows depend on each other.

    Parameters
    ----------
    n_rows
        Number of rows of the table, public under the relation "replace".
    workload
        The queries.
    coupling
        Which rows depend on each other; None protects single rows.
    """

    n_rows: int
    workload: Workload
    coupling: Coupling | None = None

    @classmethod
    def of(cls, table: Table, workload: Workload, coupling: Coupling | None) -> QuerySetting:
        """Look at the public facts of a table, and refuse queries that were made for another."""
        if not isinstance(workload, Workload):
            raise UsageError(
                f"queries come as a Workload, not as {type(workload).__name__}.",
                remedy="Make one: random_queries(table, 1000, seed=1), queries_from_json(table, …).",
            )
        workload.require_fit(table)
        if table.n_cells >= 2**63:
            raise UsageError(
                "the cells of this product domain are too many to be numbered.",
                remedy="Declare wider bins, or leave out attributes: with_attributes(table, […]).",
            )
        if not len(table):
            raise UsageError("the table has no rows, so every answer is 0.", remedy="Give a table with rows.")
        require_complete(table)
        if coupling is not None:
            coupling.require_fits(table)
        return cls(len(table), workload, coupling)

    @property
    def unit(self) -> Unit:
        return Unit("record", "replace") if self.coupling is None else self.coupling.unit

    @property
    def largest(self) -> int:
        """The most rows that one neighboring step can change."""
        return 1 if self.coupling is None else self.coupling.largest


@dataclass(frozen=True)
class QueryPlan:
    """What a method will do, from public values alone.

    Parameters
    ----------
    loss
        What a release spends.
    basis
        The theorem, or the counterexample.
    expected
        Figures about the noise, in records; JSON-able.
    caps
        Phrases for the guarantee.
    """

    loss: Loss
    basis: str
    expected: Mapping[str, Any] = field(default_factory=dict)
    caps: tuple[str, ...] = ()
    standing: Standing = Standing.PROVED


@dataclass(frozen=True)
class Answered:
    """What a method found.

    Parameters
    ----------
    answers
        One answer a query, in records.
    source
        Where each answer came from ("estimate", "measured" …): one word for all, or one a query.
    histogram
        The estimate behind the answers, over all cells: nowhere negative, its sum the number of rows.
    parts
        Further tables or arrays to release.
    """

    answers: NDArray[np.float64]
    source: str | Sequence[str] = "estimate"
    histogram: NDArray[np.float64] | None = None
    parts: Mapping[str, pl.DataFrame | NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class QueryMethod(ABC):
    """A way to answer a workload: subclasses are frozen dataclasses that plan from public values and answer with noise.

    ``_plan`` must read nothing of the rows and must find every mistake: it runs before the ledger is charged.
    ``_answer`` runs after.
    """

    name: ClassVar[str]

    @abstractmethod
    def _plan(self, setting: QuerySetting) -> QueryPlan: ...

    @abstractmethod
    def _answer(self, table: Table, setting: QuerySetting) -> Answered: ...

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings, which are public, JSON-able."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: str(value) if isinstance(value, Fraction) else value for name, value in given.items()}

    def guarantee(self, table: Table, workload: Workload, *, coupling: Coupling | None = None) -> Guarantee:
        """What a release will promise, known before it is made."""
        return self._promised(QuerySetting.of(table, workload, coupling))[1]

    def _promised(self, setting: QuerySetting) -> tuple[QueryPlan, Guarantee]:
        """The plan and its promise; a coupling that was read from the secret rows only feeds what promises nothing."""
        plan = self._plan(setting)
        if setting.coupling is not None and plan.standing is Standing.PROVED:
            setting.coupling.require_public(self.name)
        return plan, promise(plan, setting)

    def estimate(self, table: Table, workload: Workload, *, coupling: Coupling | None = None) -> dict[str, Any]:
        """What to expect, from public values alone: no row is read, nothing is spent."""
        if coupling is not None:
            coupling.require_public("an estimate")
        setting = QuerySetting.of(table, workload, coupling)
        plan, _ = self._promised(setting)
        facts = {"method": self.name, **self.parameters, "queries": len(workload), "cells": workload.n_cells}
        public = {"rows": setting.n_rows, "unit": setting.unit.code, "loss": str(plan.loss)}
        return {**facts, **public, "standing": plan.standing.value, **plan.expected}

    def release(
        self,
        table: Table,
        workload: Workload,
        *,
        coupling: Coupling | None = None,
        ledger: Ledger | None = None,
        allow_refuted: bool = False,
    ) -> Release:
        """Charge the ledger, draw the noise, hand out the answers.

        Parameters
        ----------
        coupling
            Which rows depend on each other; None protects single rows.

        Returns
        -------
        Release
            Of kind "query-answers": the table "answers" (query, label, answer in records, source) and, where the
            method keeps one, the array "histogram".
        """
        setting = QuerySetting.of(table, workload, coupling)
        plan, guarantee = self._promised(setting)
        parameters = {
            "method": self.name,
            **self.parameters,
            "queries": len(workload),
            "shape": list(workload.shape),
            "rows": setting.n_rows,
            "coupling": "none" if coupling is None else coupling.origin,
        }
        with charged(
            ledger, table, guarantee, mechanism=self.name, parameters=parameters, allow_refuted=allow_refuted
        ) as charge:
            answered = self._answer(table, setting)
            release = Release(
                kind=KIND,
                guarantee=guarantee,
                mechanism=self.name,
                parameters={**parameters, **plan.expected},
                parts=_parts(workload, answered),
                dataset=table.name,
            )
            charge.settle(release.id)
        return release


def require_complete(table: Table) -> None:
    """Refuse rows that were picked out of a table: how many a rule picks is a secret, and here it would be public."""
    if not table.complete:
        raise PrivacyError(
            "these rows were picked out of a table; how many there are depends on what the rows hold, and answers "
            "about replaced rows take their number for public.",
            remedy="Ask the whole table, with the condition in the queries; or, where the rule looked at public facts "
            "alone, make a table of its own of these rows: Table(part.to_frame(), domains=…).",
        )


def single_sum(values: NDArray[np.int64], setting: QuerySetting) -> BoundedSums:
    """Answers to queries, each to be used **by itself**: bounded by what one neighboring step changes in one of them.

    A weight is from 0 to 1; measured from ½ it is at most ½ either way. The number of rows is public, so that is a
    shift by a public number, and with k rows replaced one answer moves by at most k.
    """
    half = Fraction(setting.largest * GRID, 2)
    return BoundedSums(
        values=np.asarray(values, dtype=np.int64),
        step=Fraction(1, GRID),
        l1=half,
        l2_squared=half**2,
        linf=half,
        nonnegative=False,
        unit=setting.unit,
        caps=(),
    )


def promise(plan: QueryPlan, setting: QuerySetting) -> Guarantee:
    """The guarantee of a plan, with what it says about rows that depend on each other."""
    queries = len(setting.workload)
    outside, basis = ["the number of rows and the declared domains"], plan.basis
    if setting.coupling is None:
        outside.append("what a row tells about other rows that depend on it (no coupling was given)")
    else:
        outside += ["couplings that the public graph does not have", "facts about more rows than one group has"]
        outside += setting.coupling.not_covered
        if plan.standing is Standing.PROVED:
            basis += "; for groups and for what one row tells through others: docs/proofs/coupled.md, Theorems 1 and 2"
    return Guarantee(
        loss=plan.loss,
        unit=setting.unit,
        standing=plan.standing,
        basis=basis,
        subject=f"answers to {queries:,} linear {'query' if queries == 1 else 'queries'}",
        caps=plan.caps,
        not_covered=tuple(outside),
    )


def _parts(workload: Workload, answered: Answered) -> dict[str, Any]:
    source = answered.source
    table = pl.DataFrame(
        {
            "query": np.arange(len(workload), dtype=np.int64),
            "label": workload.labels(),
            "answer": np.asarray(answered.answers, dtype=np.float64),
            "source": pl.Series([source] * len(workload) if isinstance(source, str) else list(source), dtype=pl.String),
        }
    )
    parts: dict[str, Any] = {"answers": table, **answered.parts}
    if answered.histogram is not None:
        parts["histogram"] = np.asarray(answered.histogram, dtype=np.float64)
    return parts
