"""Rows of attributes whose domains are declared, for releasing answers to many queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.domains import Domain, as_domain
from discreet.data.fingerprints import covered, cut_from, fingerprint_of_records
from discreet.data.frames import as_frame, as_mask
from discreet.data.ids import Codes, IdMap, compact
from discreet.errors import DataError, UsageError

__all__ = ["Table"]

MOST_DENSE_CELLS = 2**24


class Table:
    """Rows of typed attributes with declared, public domains. Immutable; rows stay in the order they came.

    Parameters
    ----------
    data
        A polars, pandas or Arrow table, a mapping of arrays, or tuples in the order of the domains (then the group).
        Columns that no domain names are left out.
    domains
        The **public** domain of each attribute: a ``CategoricalDomain`` or a list of values, an ``IntegerDomain``
        or a ``range``. A value outside its domain is an error, never a new value.
    group
        Column that says which rows are coupled (a household, a patient …). It is no attribute: no query sees it.
    name
        What to call these data in messages and in the ledger.

    Attributes
    ----------
    attributes : tuple of str
        In the order of the domains.
    domains : mapping
        Domain of each attribute.
    codes : mapping
        Attribute to the int32 code of each row.
    groups : IdMap or None
        Ids of the groups.
    group : int32 array or None
        Code of the group of each row.
    lineage : tuple of str
        Fingerprints of the data that these are a part of.
    complete : bool
        Whether no rows were left out by ``filter``. Only then is the number of rows public where rows are replaced.

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
    codes: Mapping[str, Codes]
    groups: IdMap | None
    group: Codes | None
    name: str
    lineage: tuple[str, ...]
    _frame: pl.DataFrame

    def __init__(self, data: Any, *, domains: Mapping[str, Any], group: str | None = None, name: str = "") -> None:
        if not isinstance(domains, Mapping) or not domains:
            raise UsageError("a table needs the domain of each attribute.", remedy='Give domains={"sex": ["F", "M"]}.')
        if group in domains:
            raise UsageError(f"{group!r} cannot be the group and an attribute.", remedy="Leave it out of domains.")
        wanted = [*domains] if group is None else [*domains, group]
        frame = as_frame(data, wanted, at_least=len(wanted))
        for column in wanted:
            if column not in frame.columns:
                raise DataError(
                    f"there is no column {column!r}; the columns are {', '.join(map(repr, frame.columns))}.",
                    column=column,
                    remedy="Name the columns as the domains do.",
                )
        self.name, self.lineage = name, ()
        self.attributes = tuple(domains)
        self.domains = MappingProxyType({attribute: as_domain(domain) for attribute, domain in domains.items()})
        self.codes = MappingProxyType(
            {attribute: _encode(frame[attribute], domain) for attribute, domain in self.domains.items()}
        )
        self.groups, self.group = None, None
        if group is not None:
            self.groups = IdMap(frame[group], what="group")
            self.group = _frozen(self.groups.encode(frame[group]))
        # The values stay beside the codes: bins must not change whose data the fingerprint says these are.
        self._frame = frame.select(wanted)

    # What it is

    def __len__(self) -> int:
        return self._frame.height

    def __repr__(self) -> str:
        name = f"{self.name!r}: " if self.name else ""
        groups = "" if self.groups is None else f", {len(self.groups):,} groups"
        return f"Table({name}{len(self):,} rows, {len(self.attributes)} attributes, {self.n_cells:,} cells{groups})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each attribute."""
        return tuple(domain.size for domain in self.domains.values())

    @property
    def n_cells(self) -> int:
        """Number of cells of the product domain, exact however large."""
        return prod(self.shape)

    @property
    def complete(self) -> bool:
        return covered(self.lineage, "record", "replace")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the rows: the same for the same values in any order, whatever the domains and bins."""
        return fingerprint_of_records(
            kind="table",
            ids=[] if self.groups is None or self.group is None else [(self.groups, self.group)],
            values={attribute: self._frame[attribute] for attribute in self.attributes},
            repeats=True,
        )

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
            "fingerprint": self.fingerprint,
        }

    def to_frame(self) -> pl.DataFrame:
        """The rows with the caller's values, and the group where there is one."""
        return self._frame

    # Counts

    def histogram(self, attributes: Sequence[str] | None = None) -> NDArray[np.int64]:
        """How many rows fall into each cell of the product domain; one axis an attribute.

        Parameters
        ----------
        attributes
            Which attributes, in this order; all of them unless told.
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
        Which cells are empty is as secret as the counts: noise belongs on all cells of the domain, not on these.
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

    # Parts

    def filter(
        self, keep: NDArray[np.bool_] | Callable[[pl.DataFrame], pl.Series], *, independent: bool = False
    ) -> Table:
        """The rows for which ``keep`` is true: a mask, or a function of ``to_frame()`` that gives one.

        The part remembers where it came from, so the ledger charges what is done with it to the whole;
        ``independent`` declares that the rule looks at one row (or group) at a time.

        Privacy
        -------
        How many rows a rule keeps depends on what they hold, so nothing is promised about a part under the relation
        "replace", for which the number of rows is public. Put the condition into the queries instead.
        """
        mask = as_mask(keep(self._frame) if callable(keep) else keep, len(self))
        part = object.__new__(Table)
        part.name, part.attributes, part.domains = self.name, self.attributes, self.domains
        part.codes = MappingProxyType({name: _frozen(codes[mask]) for name, codes in self.codes.items()})
        part.groups, part.group = None, None
        if self.groups is not None and self.group is not None:
            part.groups, group = compact(self.groups, self.group[mask])
            part.group = _frozen(group)
        part._frame = self._frame.filter(pl.Series(mask))
        part.lineage = cut_from(self, "records" if independent else "freely")
        return part


def _encode(column: pl.Series, domain: Domain) -> Codes:
    """Codes of a column; a blank or a value outside the domain is a DataError that says where."""
    if column.dtype != pl.Object and column.null_count():
        row = int(np.argmax(column.is_null().to_numpy()))
        raise DataError(
            f"row {row} is blank.",
            column=column.name,
            remedy="Write a value of its own for what is not known, and declare it in the domain.",
        )
    codes = domain.encode(column)
    if codes.size and codes.min() < 0:
        row = int(np.argmax(codes < 0))
        raise DataError(
            f"row {row} is outside the declared domain {domain}.",
            column=column.name,
            value=column[row],
            remedy="Correct the value or declare the right domain.",
        )
    return _frozen(codes)


def _frozen(codes: Codes) -> Codes:
    codes = np.ascontiguousarray(codes)
    codes.flags.writeable = False
    return codes
