"""Which rows depend on each other, how strongly, and whether everybody may know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.coupled import degrees as measured
from discreet.coupled.coupled_rows import CoupledRows
from discreet.coupled.edges import edge_degrees
from discreet.data.tables import Table
from discreet.errors import UsageError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Coupling"]


class Coupling(CoupledRows):
    """The coupled degrees of the rows of a table. Built by its class methods, not by hand.

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
        Phrases for a guarantee: what its promise leaves out because of this coupling.

    Attributes
    ----------
    largest : int
        k, the most rows in one group, or what was stated with ``at_most``.
    unit : Unit
        What a promise with this coupling is about: one group of at most k rows, replaced.
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
                "this table has no group column.", remedy='Name it: Table(…, group="household"), or give a graph.'
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
        chosen = _attributes(table, attributes)
        words = f"equal {' and '.join(map(repr, chosen))}"
        return cls(
            len(table),
            public,
            words,
            not_covered=tuple(f"the attribute {one!r}, which was declared public" for one in chosen) if public else (),
            _labels=measured.equal_labels(table, chosen),
        )

    @classmethod
    def by_time(cls, table: Table, attribute: str, *, width: float, start: float = 0.0, public: bool = False) -> Self:
        """Rows whose time falls into the same interval.

        Parameters
        ----------
        attribute
            A numeric attribute: the time.
        width, start
            Length of the intervals, and where one of them begins.
        public
            Declares that everybody knows the time of every row.
        """
        (chosen,) = _attributes(table, [attribute])
        return cls(
            len(table),
            public,
            f"{chosen!r} in the same interval of {width:g}",
            not_covered=(f"the attribute {chosen!r}, which was declared public",) if public else (),
            _labels=measured.interval_labels(table, chosen, width=width, start=start),
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
    def similar(
        cls,
        table: Table,
        attributes: Sequence[str] | None = None,
        *,
        threshold: float = 0.6,
        partners: int | None = None,
    ) -> Self:
        """Rows with similar attributes: the mean over attributes of 1 for equal values, of nearness for numbers."""
        chosen = _attributes(table, attributes)
        matrix = measured.similarity_degrees(table, chosen, threshold=threshold, partners=partners)
        return cls._secret(table, "similar attributes", threshold, matrix)

    @classmethod
    def pearson(
        cls,
        table: Table,
        attributes: Sequence[str] | None = None,
        *,
        threshold: float = 0.6,
        partners: int | None = None,
        standardize: bool = False,
    ) -> Self:
        """Rows whose values correlate: the coupling of the thesis' experiments, with its δ₀ = 0.6.

        Parameters
        ----------
        attributes
            Which values of a row; all unless told. With two of them every correlation is −1 or 1.
        partners
            Keep a pair only if each is among so many strongest partners of the other.
        standardize
            Bring each attribute to mean 0 and deviation 1 first, over the rows; otherwise the attribute with the
            largest numbers decides.
        """
        chosen = _attributes(table, attributes)
        matrix = measured.pearson_degrees(
            table, chosen, threshold=threshold, partners=partners, standardize=standardize
        )
        return cls._secret(table, "Pearson correlation of the rows", threshold, matrix)

    @classmethod
    def kl(
        cls,
        table: Table,
        attributes: Sequence[str] | None = None,
        *,
        threshold: float = 0.6,
        partners: int | None = None,
    ) -> Self:
        """Rows whose profiles are near in Kullback–Leibler divergence: δ = e^−D, D the mean of both directions."""
        chosen = _attributes(table, attributes)
        matrix = measured.divergence_degrees(table, chosen, threshold=threshold, partners=partners)
        return cls._secret(table, "Kullback–Leibler divergence of the rows", threshold, matrix)

    @classmethod
    def _secret(cls, table: Table, origin: str, threshold: float, matrix: csr_array) -> Self:
        return cls(len(table), False, origin, "neighborhoods", threshold, _matrix=matrix)


def _attributes(table: Table, attributes: str | Sequence[str] | None) -> tuple[str, ...]:
    if attributes is None:
        return table.attributes
    chosen = (attributes,) if isinstance(attributes, str) else tuple(attributes)
    for one in chosen:
        if one not in table.domains:
            raise UsageError(
                f"there is no attribute {one!r}.", remedy=f"Choose from {', '.join(map(repr, table.attributes))}."
            )
    if not chosen or len(set(chosen)) < len(chosen):
        raise UsageError(f"{chosen} are not some attributes, each once.")
    return chosen
