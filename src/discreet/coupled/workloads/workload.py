"""Linear queries on a table: what every workload can do, whatever its queries are made of.

A query gives each cell of the product domain a weight from 0 to 1 and sums the weights of all rows. Weights are whole
numbers of grid steps, so that an answer on whole counts is a whole number and noise on it can be exact.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any, Self, overload

import numpy as np

from discreet.common.arrays import Floats, Integers
from discreet.data.domains import Domain, as_domain
from discreet.data.tables import MOST_DENSE_CELLS, Table
from discreet.errors import Remedy, UsageError

__all__ = ["GRID", "Workload"]

GRID = 2**12
"""Grid steps in a weight of 1."""


class Workload(ABC):
    """Linear queries over a product domain. Public: a workload knows domains and weights, never rows.

    Cells are numbered as in ``Table.histogram().ravel()``: the last attribute changes first. Subclasses never hold the
    matrix of queries and cells.

    Parameters
    ----------
    domains
        The public domain of each attribute, in the order of the table.

    Attributes
    ----------
    domains : mapping
        Attribute to domain.
    shape : tuple of int
        Number of codes of each attribute.
    n_cells : int
        Number of cells, exact however large.
    """

    domains: Mapping[str, Domain]

    def __init__(self, domains: Mapping[str, Any]) -> None:
        if not domains:
            raise UsageError("queries need the domains of a table.", remedy="Give table.domains.")
        self.domains = MappingProxyType({name: as_domain(domain) for name, domain in domains.items()})

    @abstractmethod
    def __len__(self) -> int:
        """Number of queries."""

    @abstractmethod
    def labels(self) -> list[str]:
        """What each query asks, in words."""

    def digest(self) -> str:
        """A hash of what is asked: a run that is tried again under its key must ask the same."""
        return hashlib.sha256(repr((list(self.domains.items()), self._identity())).encode()).hexdigest()

    def _identity(self) -> Any:
        """What tells these queries from others over the same domains, with an exact ``repr``."""
        return self.labels()

    @abstractmethod
    def _part(self, places: range) -> Self:
        """The queries at these places."""

    @abstractmethod
    def _sums(self, histogram: Any) -> Any:
        """Σ over the cells of weight (in grid steps) × count for each query, in the type of the counts."""

    @abstractmethod
    def _weights(self, query: int) -> Integers:
        """Weights of one query over all cells, in grid steps."""

    def _table_sums(self, table: Table) -> Integers:
        """The same from a table."""
        return self._sums(np.ascontiguousarray(table.histogram().ravel(), dtype=np.int64))

    def _combined(self, coefficients: Floats) -> Floats:
        """Σ over the queries of coefficient × weight (in grid steps), over all cells."""
        combined = np.zeros(self.n_cells)
        for query, coefficient in enumerate(coefficients):
            combined += coefficient * self._weights(query)
        return combined

    # What it is

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(domain.size for domain in self.domains.values())

    @cached_property
    def n_cells(self) -> int:
        return prod(self.shape)

    @property
    def is_dense(self) -> bool:
        """Whether a histogram of this domain may be held as an array."""
        return self.n_cells <= MOST_DENSE_CELLS

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} queries, {self.n_cells:,} cells)"

    def __getitem__(self, places: slice) -> Self:
        """A run of the queries, in order."""
        if not isinstance(places, slice):
            raise UsageError("queries are cut out by slices.", remedy="Write workload[i : i + 1] for one query.")
        chosen = range(len(self))[places]
        if not chosen or chosen.step != 1:
            raise UsageError(f"{places} names no run of the {len(self):,} queries.", remedy="Write workload[0:10].")
        return self._part(chosen)

    # Evaluation

    @overload
    def answers(self, histogram: Integers) -> Integers: ...

    @overload
    def answers(self, histogram: Floats) -> Floats: ...

    def answers(self, histogram: Integers | Floats) -> Integers | Floats:
        """The answers on a flat histogram, in one pass over blocks.

        Parameters
        ----------
        histogram
            Counts of all cells. Whole counts (int64) give grid steps (int64), exactly; others (float64) give records
            (float64).
        """
        self.require_dense("answering from a histogram of all cells")
        counts = np.asarray(histogram)
        if counts.shape != (self.n_cells,) or counts.dtype not in (np.int64, np.float64):
            raise UsageError(
                f"a histogram of {counts.dtype} and shape {counts.shape} does not fit {self.n_cells:,} cells.",
                remedy="Give the flat counts of all cells as int64 or float64: table.histogram().ravel().",
            )
        sums = self._sums(np.ascontiguousarray(counts))
        return sums if counts.dtype == np.int64 else sums / GRID

    def true_answers(self, table: Table) -> Integers:
        """The answers on a table in grid steps, exactly: **secret**, the way of a mechanism to its data."""
        self.require_fit(table)
        return self._table_sums(table)

    def weights(self, query: int) -> Integers:
        """Weights of one query over all cells in grid steps, from 0 to ``GRID``."""
        self.require_dense("the weights of all cells")
        if not 0 <= query < len(self):
            raise UsageError(f"there is no query {query}; they are numbered from 0 to {len(self) - 1}.")
        return self._weights(query)

    def combine(self, coefficients: Floats) -> Floats:
        """Σ of coefficient × weights over the queries, with weights from 0 to 1: the transpose of ``answers``."""
        self.require_dense("weights of all cells")
        factors = np.ascontiguousarray(coefficients, dtype=np.float64)
        if factors.shape != (len(self),):
            raise UsageError(f"{factors.shape} coefficients do not fit {len(self):,} queries.")
        return self._combined(factors) / GRID

    # Refusals

    def require_dense(self, what: str) -> None:
        """Refuse what needs a number for every cell where there are too many cells."""
        if not self.is_dense:
            raise UsageError(
                f"{what} takes a number for each of {self.n_cells:,} cells; {MOST_DENSE_CELLS:,} is the most.",
                remedy=Remedy(
                    "Take MeasuredMarginals (queries that name few attributes at a time) or FixedStrategy (few "
                    "queries), which need no estimate of all cells; or declare wider bins or fewer attributes.",
                    cli="Leave --method out, or give --method marginals (queries that name few attributes at a time) "
                    "or --method strategy (few queries), which need no estimate of all cells; or ask of fewer "
                    "--attributes.",
                ),
            )

    def require_fit(self, table: Table) -> None:
        """Refuse a table whose domains are not those that the queries were made for."""
        if not isinstance(table, Table):
            raise UsageError(
                f"queries are answered on a Table, not on {type(table).__name__}.",
                remedy='Wrap the rows: Table(rows, domains={"sex": ["F", "M"]}).',
            )
        self.require_same_domains(table)

    def require_same_domains(self, other: Table | Workload) -> None:
        """Refuse a table, or queries, over other domains than these."""
        if tuple(self.domains) != tuple(other.domains):
            raise UsageError(
                f"the attributes of the queries are {', '.join(self.domains)}, not {', '.join(other.domains)}.",
                remedy="Make the workload from the domains of the table.",
            )
        for name, domain in self.domains.items():
            if domain != other.domains[name]:
                raise UsageError(
                    f"the queries were made for another domain of {name!r}: {domain}, not {other.domains[name]}.",
                    remedy="Make the workload from the domains of the table.",
                )
