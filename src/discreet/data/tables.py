"""Rows of attributes with declared domains, for releasing answers to many queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.dataset import Dataset, frozen
from discreet.data.diagnosis import DECLARE_ANOTHER, wrong_rows
from discreet.data.domains import Domain, as_domain
from discreet.data.fingerprints import WITHOUT_MISSING, Cut, HashedColumns, cut_from, marks_of
from discreet.data.frames import as_frame, require_columns
from discreet.data.ids import Codes, IdMap, compact
from discreet.data.problems import Missing, Problems
from discreet.errors import DataError, UsageError

__all__ = ["Table"]

MOST_DENSE_CELLS = 2**24


class Table(Dataset):
    """Rows of typed attributes with declared, public domains. Immutable; rows keep their order.

    Parameters
    ----------
    data
        A polars, pandas or Arrow table, a mapping of arrays, or tuples in the order of the domains (then the group).
        Columns that no domain names are left out.
    domains
        The **public** domain of each attribute: a ``CategoricalDomain`` or a list of values, an ``IntegerDomain``
        or a ``range``. A value outside its domain is an error, never a new value. Every value is compared by itself;
        text files are read in the types of the domains.
    group
        Column that says which rows are coupled (a household, a patient …). It is no attribute: no query sees it.
    missing
        What to do with a row that lacks a value (None, null, NaN, or blank text that the domain does not declare):
        ``"error"``, or ``"drop"`` it. With ``"drop"`` the number of rows is not public, and methods that take it for
        public refuse the table: declare a value for what is missing instead.
    name
        What the data are called in messages and in the ledger.

    Attributes
    ----------
    attributes : tuple of str
        In the order of the domains.
    domains : mapping
        Domain of each attribute.
    shape : tuple of int
        Number of codes of each attribute.
    n_cells : int
        Number of cells of the product domain, exact however large.
    codes : mapping
        Attribute to the int32 code of each row.
    groups : IdMap or None
        Ids of the groups.
    group : int32 array or None
        Code of the group of each row.
    complete : bool
        Whether no rows were left out by ``filter`` or ``missing="drop"``. Only then is the number of rows public where
        rows are replaced.

    dropped_missing : int
        How many rows ``missing="drop"`` left out. Not private: for the owner of the rows only.
    missing_by_column : dict
        How many of them lack a value in each column.

    Examples
    --------
    >>> from discreet.data import IntegerDomain
    >>> rows = {"smokes": ["no", "yes", "no"], "age": [30, 41, 35], "home": [1, 1, 2]}
    >>> table = Table(rows, domains={"smokes": ["no", "yes"], "age": IntegerDomain(18, 77, bins=3)}, group="home")
    >>> table
    Table(3 rows, 2 attributes, 6 cells, 2 groups)
    >>> table.histogram()
    array([[2, 0, 0],
           [0, 1, 0]])
    """

    attributes: tuple[str, ...]
    domains: Mapping[str, Domain]
    shape: tuple[int, ...]
    n_cells: int
    codes: Mapping[str, Codes]
    groups: IdMap | None
    group: Codes | None
    dropped_missing: int = 0
    missing_by_column: Mapping[str, int] = MappingProxyType({})
    _frame: pl.DataFrame

    _independent_cut: ClassVar[Cut] = "records"

    def __init__(
        self,
        data: Any,
        *,
        domains: Mapping[str, Any],
        group: str | None = None,
        missing: Missing = "error",
        name: str = "",
    ) -> None:
        if not isinstance(domains, Mapping) or not domains:
            raise UsageError("a table needs the domain of each attribute.", remedy='Give domains={"sex": ["F", "M"]}.')
        if group in domains:
            raise UsageError(f"{group!r} cannot be the group and an attribute.", remedy="Leave it out of domains.")
        wanted = [*domains] if group is None else [*domains, group]
        frame = as_frame(data, wanted, at_least=len(wanted))
        require_columns(frame, wanted, "Name the columns as the domains do.")
        self.name, self.lineage, self.once_inferred = name, (), frozenset()
        self.attributes = tuple(domains)
        self.domains = MappingProxyType({attribute: as_domain(domain) for attribute, domain in domains.items()})
        self.shape = tuple(domain.size for domain in self.domains.values())
        self.n_cells = prod(self.shape)
        problems = Problems(missing)
        if missing == "drop":
            good = wrong_rows(frame, self.domains, group, problems)
            problems.require_none()
            frame = frame.filter(pl.Series(good))
            self.dropped_missing, self.missing_by_column = problems.dropped, problems.dropped_by_column
            self.lineage = (WITHOUT_MISSING,)
        try:
            self._read(frame, group)
        except DataError as error:
            wrong_rows(frame, self.domains, group, problems)
            raise problems.error() if problems else error from None
        # The values are kept beside the codes: bins must not change the fingerprint.
        self._frame = frame.select(wanted)

    def _read(self, frame: pl.DataFrame, group: str | None) -> None:
        self.codes = MappingProxyType(
            {attribute: _encode(frame[attribute], domain) for attribute, domain in self.domains.items()}
        )
        self.groups, self.group = None, None
        if group is not None:
            self.groups = IdMap(frame[group], what="group")
            self.group = frozen(self.groups.encode(frame[group]))

    # Properties

    def __len__(self) -> int:
        return self._frame.height

    def _parts_of_repr(self) -> list[str]:
        groups = [] if self.groups is None else [f"{len(self.groups):,} groups"]
        return [f"{len(self):,} rows", f"{len(self.attributes)} attributes", f"{self.n_cells:,} cells", *groups]

    @property
    def complete(self) -> bool:
        return not marks_of(self.lineage)

    def _hashed(self) -> HashedColumns:
        ids = {} if self.groups is None or self.group is None else {"group": (self.groups, self.group)}
        values = {attribute: self._frame[attribute] for attribute in self.attributes}
        return HashedColumns("table", ids, values, repeats=True)

    @cached_property
    def hash_by_person(self) -> tuple[int, int]:
        """The number of rows, and the sum of a hash of each: of disjoint groups of rows they add up."""
        return self._hashed().by_row()

    def describe(self) -> dict[str, Any]:
        """Facts about these rows, for their owner: they are **not** private and not for publication."""
        sizes = np.bincount(self.group, minlength=1) if self.group is not None else None
        return {
            "name": self.name,
            "rows": len(self),
            "attributes": {attribute: str(domain) for attribute, domain in self.domains.items()},
            "shape": self.shape,
            "cells": self.n_cells,
            "groups": None if self.groups is None else len(self.groups),
            "largest_group": None if sizes is None else int(sizes.max()),
            "dropped_missing": self.dropped_missing,
            "missing_by_column": dict(self.missing_by_column),
            "fingerprint": self.fingerprint,
        }

    def to_frame(self) -> pl.DataFrame:
        """The rows with the caller's values, and the group where there is one."""
        return self._frame

    # Counts

    def histogram(self, attributes: Sequence[str] | None = None) -> NDArray[np.int64]:
        """How many rows fall into each cell of the product domain; one axis per attribute.

        Parameters
        ----------
        attributes
            Which attributes, in this order; all of them by default.
        """
        chosen = self._chosen(attributes)
        shape = tuple(self.domains[attribute].size for attribute in chosen)
        if prod(shape) > MOST_DENSE_CELLS:
            raise UsageError(
                f"the product domain has {prod(shape):,} cells; a dense histogram holds {MOST_DENSE_CELLS:,} at most.",
                remedy="Name fewer attributes, declare wider bins, or use sparse_histogram.",
            )
        return np.bincount(self._cells(chosen), minlength=prod(shape)).reshape(shape)

    def sparse_histogram(self, attributes: Sequence[str] | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells that hold rows, and how many they hold.

        Cells are numbered as in the flattened ``histogram``: the last attribute changes first.

        Privacy
        -------
        Which cells are empty is as secret as the counts: add noise to all cells of the domain, not only to these.
        """
        cells = np.sort(self._cells(self._chosen(attributes)))
        begins = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])) if cells.size else np.empty(0, np.int64)
        return cells[begins], np.diff(np.append(begins, cells.size))

    def _chosen(self, attributes: Sequence[str] | None) -> tuple[str, ...]:
        if attributes is None:
            return self.attributes
        chosen = (attributes,) if isinstance(attributes, str) else tuple(attributes)
        unknown = [attribute for attribute in chosen if attribute not in self.domains]
        if unknown or not chosen or len(set(chosen)) < len(chosen):
            what = (
                f"there is no attribute {unknown[0]!r}" if unknown else f"{chosen} are not some attributes, each once"
            )
            raise UsageError(f"{what}.", remedy=f"Choose from {', '.join(map(repr, self.attributes))}.")
        return chosen

    def _cells(self, chosen: tuple[str, ...]) -> NDArray[np.int64]:
        """Flat number of the cell of each row."""
        if prod(self.domains[attribute].size for attribute in chosen) >= 2**63:
            raise UsageError(
                "the cells of this product domain are too many to be numbered.", remedy="Name fewer attributes."
            )
        cells = np.zeros(len(self), dtype=np.int64)
        for attribute in chosen:
            cells *= self.domains[attribute].size
            cells += self.codes[attribute]
        return cells

    # Parts and other shapes

    def with_attributes(self, attributes: Sequence[str]) -> Table:
        """The table with some of its attributes, in this order.

        Examples
        --------
        >>> table = Table({"a": [0, 1], "b": [1, 1], "c": [0, 0]}, domains=dict.fromkeys("abc", range(2)))
        >>> table.with_attributes(["c", "a"]).attributes
        ('c', 'a')
        """
        return self.with_domains({name: self.domains[name] for name in self._chosen(attributes)})

    def with_domains(self, domains: Mapping[str, Any]) -> Table:
        """The table with these attributes and domains; rows, their order and their groups stay.

        Parameters
        ----------
        domains
            The **public** domain of each attribute that is kept. It must include the values of all rows.

        Privacy
        -------
        The ledger charges what is done with the result to this table.

        Examples
        --------
        >>> from discreet.data import IntegerDomain
        >>> table = Table({"age": [3, 40], "sex": ["F", "M"]}, domains={"age": range(100), "sex": ["F", "M"]})
        >>> table.with_domains({"age": IntegerDomain(0, 99, bins=2)}).histogram()
        array([2, 0])
        """
        group = next((name for name in self._frame.columns if name not in self.attributes), None)
        view = Table(self._frame, domains=domains, group=group, name=self.name)
        view.lineage = cut_from(self, "rewritten")
        return view

    def _part(self, mask: NDArray[np.bool_], *, cut: Cut | None) -> Table:
        part = self._copy()
        part.codes = MappingProxyType({name: frozen(codes[mask]) for name, codes in self.codes.items()})
        if self.groups is not None and self.group is not None:
            part.groups, group = compact(self.groups, self.group[mask])
            part.group = frozen(group)
        part._frame = self._frame.filter(pl.Series(mask))
        if cut is not None:
            part.lineage = cut_from(self, cut)
        return part


def _encode(column: pl.Series, domain: Domain) -> Codes:
    """Codes of a column; a DataError where a value is missing or outside the domain."""
    codes = domain.encode(column)
    if codes.size and codes.min() < 0:
        raise DataError(f"a value is outside the declared domain {domain}.", column=column.name, remedy=DECLARE_ANOTHER)
    return frozen(codes)
