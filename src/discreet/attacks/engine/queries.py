"""Answers to queries as something that can be audited: a method, the queries, and which rows are coupled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.coupled.coupling import Coupling
from discreet.coupled.workloads.builders import random_queries
from discreet.coupled.workloads.workload import Workload
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.method import Plan
from discreet.privacy.release import Release

__all__ = ["COUPLINGS", "Asked", "Request"]

Questions = int | Callable[[Table], Workload]
Couples = str | Callable[[Table], Coupling | None]


def by_group(table: Table) -> Coupling | None:
    """Rows of one group; every row for itself where the table has no groups."""
    return None if table.group is None else Coupling.by_group(table)


def uncoupled(table: Table) -> None:
    """Every row for itself."""


COUPLINGS: dict[str, Callable[[Table], Coupling | None]] = {
    "group": by_group,
    "none": uncoupled,
    "pearson": Coupling.pearson,
    "similar": Coupling.similar,
    "kl": Coupling.kl,
}
"""Couplings by name; all but the first two are computed from the secret rows."""


@dataclass(frozen=True, eq=False)
class Request:
    """Rows, with the queries about them and the coupling that are public: what an attacker may choose."""

    table: Table
    workload: Workload
    coupling: Coupling | None = None


@dataclass(frozen=True)
class Asked:
    """A method that answers queries, with the queries and the coupling of the rows.

    Parameters
    ----------
    method
        The method.
    queries
        For tables that come without queries: how many random queries, or a function that makes a workload for a table.
        Games on small datasets bring their own.
    coupling
        A name of ``COUPLINGS``, or a function of the table.

    Examples
    --------
    >>> from discreet.coupled import MWEM
    >>> table = Table({"flu": ["no", "yes", "no"]}, domains={"flu": ["no", "yes"]})
    >>> asked = Asked(MWEM(epsilon=1), queries=4)
    >>> asked.release(table).table("answers").height
    4
    """

    method: Any
    queries: Questions = 100
    coupling: Couples = "group"

    def __post_init__(self) -> None:
        if not callable(self.queries) and (not isinstance(self.queries, int) or self.queries < 1):
            raise UsageError(f"queries = {self.queries!r} must be a whole number from 1, or a function of the table.")
        if isinstance(self.coupling, str) and self.coupling not in COUPLINGS:
            raise UsageError(f"there is no coupling {self.coupling!r}.", remedy=f"Choose from: {', '.join(COUPLINGS)}.")

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings, JSON-like."""
        given = {"queries": self.queries, "coupling": self.coupling}
        named = {key: getattr(value, "__qualname__", value) for key, value in given.items()}
        return {"method": self.method.name, **self.method.parameters, **named}

    @property
    def looks_up_coupling(self) -> bool:
        """Whether the coupling is computed from the secret rows."""
        coupling = self.coupling_of(Table([(1, 2, 3), (3, 2, 1)], domains=dict.fromkeys("abc", range(4))))
        return coupling is not None and not coupling.public

    def coupling_of(self, table: Table) -> Coupling | None:
        """The coupling of the rows of a table."""
        return (COUPLINGS[self.coupling] if isinstance(self.coupling, str) else self.coupling)(table)

    def request(self, data: Table | Request) -> Request:
        """A table with its queries and its coupling."""
        if isinstance(data, Request):
            return data
        if not isinstance(data, Table):
            raise UsageError(f"queries are asked of a Table, not of {type(data).__name__}.")
        workload = random_queries(data, self.queries, seed=0) if isinstance(self.queries, int) else self.queries(data)
        return Request(data, workload, self.coupling_of(data))

    def plan(self, data: Any) -> Plan:
        """What the answers will be and guarantee."""
        asked = self.request(data)
        return self.method.plan(asked.table, asked.workload, coupling=asked.coupling)

    def release(self, data: Table | Request, *, allow_refuted: bool = False) -> Release:
        """Answers to the queries that go with the rows."""
        asked = self.request(data)
        return self.method.release(asked.table, asked.workload, coupling=asked.coupling, allow_refuted=allow_refuted)
