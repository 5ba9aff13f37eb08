"""Which rows depend on each other, how strongly, and whether that is public."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from discreet.common.arrays import Integers
from discreet.coupled import degrees as measured
from discreet.coupled.degrees import edge_degrees
from discreet.coupled.workloads.builders import chosen_attributes
from discreet.data.tables import Table
from discreet.errors import PrivacyError, Remedy, UsageError
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Coupling"]

Reach = Literal["neighborhoods", "components"]


@dataclass(frozen=True, eq=False)
class Coupling:
    """The coupled degrees of the rows of a table. Build it with a class method.

    Parameters
    ----------
    n_rows
        Rows of the table it is about.
    public
        Whether it is public knowledge. What was computed from secret values is not, and no proved method takes it.
    origin
        Where it comes from, in words.
    reach
        What a group is: a row with all rows it is coupled with (``"neighborhoods"``), or all rows that can be reached
        from each other (``"components"``).
    threshold
        δ₀: weaker degrees count as none.
    not_covered
        Phrases for a guarantee: what it does not cover because of this coupling.

    Attributes
    ----------
    largest : int
        k, the most rows in one group, or what was stated with ``at_most``.
    unit : Unit
        What a guarantee with this coupling is about: one group of at most k rows, replaced.
    degrees : scipy.sparse.csr_array
        δ, symmetric, 1 on the diagonal; only coupled rows are stored.
    groups : int64 array
        Component of each row.

    Privacy
    -------
    Two tables are neighbors if they agree outside of one group. Each group has at most k rows, so a query whose weights
    lie between 0 and 1 moves by at most k. What is *not* protected: couplings that the public graph lacks, facts about
    a whole group, and what was declared public. Neighborhoods are enough where a row tells nothing about rows outside
    of its own; in a chain, where it does so through others, take components.

    References
    ----------
    T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014 (Sections 5.2 and 5.3).

    Examples
    --------
    >>> rows = {"flu": ["no", "yes", "yes", "no"], "home": [1, 1, 1, 2]}
    >>> table = Table(rows, domains={"flu": ["no", "yes"]}, group="home")
    >>> households = Coupling.by_group(table)
    >>> households
    Coupling(4 rows in groups of at most 3, public: the group column of the table)
    >>> households.unit.code, households.degrees.toarray()[0].tolist()
    ('group/replace:3', [1.0, 1.0, 1.0, 0.0])
    >>> Coupling.from_graph(table, [(0, 1), (1, 2)], public=True).as_components().largest
    3
    """

    n_rows: int
    public: bool
    origin: str
    reach: Reach = "neighborhoods"
    threshold: float = 0.0
    not_covered: tuple[str, ...] = ()
    _labels: Integers | None = None
    _matrix: csr_array | None = None
    _stated: int | None = None

    # Public knowledge

    @classmethod
    def none(cls, table: Table) -> Self:
        """Every row for itself."""
        return cls(len(table), True, "no rows are coupled", _labels=np.arange(len(table), dtype=np.int64))

    @classmethod
    def by_group(cls, table: Table) -> Self:
        """Rows of the same group of the table. Calling this declares public which row belongs to which group."""
        if table.group is None:
            raise UsageError(
                "this table has no group column.",
                remedy=Remedy(
                    'Name it: Table(…, group="household"), or give a graph.',
                    cli="Name a public attribute or a file of edges with --coupling.",
                ),
            )
        not_covered = ("which rows belong to one group",)
        return cls(
            len(table),
            True,
            "the group column of the table",
            not_covered=not_covered,
            _labels=table.group.astype(np.int64),
        )

    @classmethod
    def by_attribute(cls, table: Table, attributes: str | Sequence[str], *, public: bool = False) -> Self:
        """Rows that agree in some attributes.

        Parameters
        ----------
        public
            Declares that everybody knows these attributes of every row: neighboring tables agree in them.
        """
        chosen = chosen_attributes(table.domains, attributes)
        words = f"equal {' and '.join(map(repr, chosen))}"
        return cls(
            len(table),
            public,
            words,
            not_covered=tuple(f"the attribute {one!r}, which was declared public" for one in chosen) if public else (),
            _labels=measured.equal_labels(table, chosen),
        )

    @classmethod
    def from_graph(cls, table: Table, edges: Any, *, public: bool, threshold: float = 0.0) -> Self:
        """Background knowledge: pairs of rows, each with a degree or fully coupled.

        Parameters
        ----------
        edges
            A CSV, Parquet or Arrow file with columns ``row``, ``other`` and optionally ``degree``; a table or tuples of
            the same; a sparse matrix of degrees. Rows count from 0 in the order of the table. A pair may be
            given in one direction or in both.
        public
            Whether it is public knowledge; False for a graph that was worked out from the secret rows.
        threshold
            δ₀. Couplings that are dropped for being weak are not protected.
        """
        matrix = edge_degrees(edges, len(table), threshold=threshold)
        dropped = (f"couplings of a degree below {threshold:g}",) if threshold > 0 else ()
        not_covered = ("the graph of couplings", *dropped)
        return cls(len(table), public, "a given graph", "neighborhoods", threshold, not_covered, _matrix=matrix)

    # Computed from the secret rows

    @classmethod
    def similar(cls, table: Table, attributes: Sequence[str] | None = None, *, threshold: float = 0.6) -> Self:
        """Rows with similar attributes: the mean over attributes of 1 for equal values, of nearness for numbers."""
        return cls._secret(table, "similar attributes", measured.similarity_degrees, attributes, threshold)

    @classmethod
    def pearson(cls, table: Table, attributes: Sequence[str] | None = None, *, threshold: float = 0.6) -> Self:
        """Rows with correlated values: the coupling of the experiments of the thesis, with its δ₀ = 0.6.

        Parameters
        ----------
        attributes
            Which values of a row; all by default. With two of them every correlation is −1 or 1.
        """
        return cls._secret(table, "Pearson correlation of the rows", measured.pearson_degrees, attributes, threshold)

    @classmethod
    def kl(cls, table: Table, attributes: Sequence[str] | None = None, *, threshold: float = 0.6) -> Self:
        """Rows with profiles of small Kullback–Leibler divergence: δ = e^−D, D the mean of both directions."""
        origin = "Kullback–Leibler divergence of the rows"
        return cls._secret(table, origin, measured.divergence_degrees, attributes, threshold)

    @classmethod
    def _secret(
        cls,
        table: Table,
        origin: str,
        degrees: Callable[..., csr_array],
        attributes: Sequence[str] | None,
        threshold: float,
    ) -> Self:
        chosen = table.attributes if attributes is None else chosen_attributes(table.domains, attributes)
        matrix = degrees(table, chosen, threshold=threshold)
        return cls(len(table), False, origin, "neighborhoods", threshold, _matrix=matrix)

    # What it says

    def __repr__(self) -> str:
        known = "public" if self.public else "secret"
        return (
            f"{type(self).__name__}({self.n_rows:,} rows in groups of at most {self.largest:,}, {known}: {self.origin})"
        )

    @cached_property
    def largest(self) -> int:
        """k: the most rows in one group."""
        return self._found if self._stated is None else self._stated

    @cached_property
    def _found(self) -> int:
        if self.n_rows == 0:
            return 1
        if self._labels is None and self.reach == "neighborhoods":
            return int(np.diff(self.degrees.indptr).max())
        return int(np.bincount(self.groups).max())

    @property
    def unit(self) -> Unit:
        return Unit("record", "replace") if self.largest == 1 else Unit("group", "replace", self.largest)

    @cached_property
    def degrees(self) -> csr_array:
        if self._matrix is not None:
            return self._matrix
        assert self._labels is not None
        return measured.block_degrees(self._labels)

    @cached_property
    def groups(self) -> Integers:
        if self._labels is not None:
            return self._labels
        from scipy.sparse.csgraph import connected_components

        return connected_components(self.degrees, directed=False)[1].astype(np.int64)

    def as_components(self) -> Self:
        """The same couplings, with whole components as groups: for rows that depend on each other through others."""
        return replace(self, reach="components", _stated=None)

    def at_most(self, k: int) -> Self:
        """The same coupling with a stated bound, so that guarantees about several tables have one unit."""
        if isinstance(k, bool) or not isinstance(k, int) or k < self._found:
            raise UsageError(
                f"groups of at most {k!r} rows cannot be stated: there is one of {self._found:,}.",
                remedy=f"State a whole number from {self._found:,}.",
            )
        return replace(self, _stated=k)

    def require_public(self, what: str) -> None:
        """Refuse a coupling that was read from the secret rows: what it decides would tell about them."""
        if not self.public:
            raise PrivacyError(
                f"{what} cannot use this coupling: {self.origin} is computed from the secret rows.",
                remedy="Give a coupling that is public: by_group, by_attribute(…, public=True) or from_graph.",
            )

    def require_fits(self, table: Table) -> None:
        """Refuse a coupling of another table."""
        if len(table) != self.n_rows:
            raise UsageError(
                f"this coupling is about {self.n_rows:,} rows; the table has {len(table):,}.",
                remedy="Make the coupling from the same table.",
            )

    def statistics(self) -> dict[str, Any]:
        """Table 5.2 and more, for the owner: unless the coupling is public these are facts about secret rows."""
        sizes = np.bincount(self.groups, minlength=1) if self.n_rows else np.zeros(1, dtype=np.int64)
        partners = sizes[self.groups] if self._labels is not None else np.diff(self.degrees.indptr)
        coupled = int((partners > 1).sum())
        return {
            "origin": self.origin,
            "public": self.public,
            "threshold": self.threshold,
            "rows": self.n_rows,
            "coupled_rows": coupled,
            "coupled_share": coupled / self.n_rows if self.n_rows else 0.0,
            "coupled_pairs": int((partners - 1).sum()) // 2,
            "groups": int((sizes > 1).sum()),
            "largest_neighborhood": int(partners.max(initial=1)),
            "largest_component": int(max(1, sizes.max())),
            "k": self.largest,
        }
