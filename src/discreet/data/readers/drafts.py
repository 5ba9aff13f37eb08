"""What a reader has read, and how it becomes a dataset; errors about a record name its file and line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.dataset import SEVERAL_RECORDS, Duplicates
from discreet.data.domains import as_domain, read_text
from discreet.data.fingerprints import cut_by_record
from discreet.data.frames import as_frame, times_within
from discreet.data.id_forms import IdKind, coded
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.periods import Window
from discreet.data.readers.records import Records
from discreet.data.scales import RatingScale
from discreet.data.tables import DECLARE_ANOTHER, Table
from discreet.data.tags import TagAssignments
from discreet.errors import DataError, Remedy, UsageError

__all__ = ["Draft", "InteractionsDraft", "TableDraft", "TagsDraft"]


@dataclass
class InteractionsDraft:
    """Records of users and items, and what the format declares about them.

    Parameters
    ----------
    records
        With the columns user_id, item_id[, rating][, timestamp] and those named in ``context``.
    scale
        The rating scale of the format; None for weights.
    duplicates
        What happens to several records of one user and item.
    items
        The public catalog, where the format has one.
    users
        The table of users, which is secret.
    ids
        The declared type of the ids of "user" and "item"; those that are not named have the type of their column.
    typed
        Whether the file declares types, as Parquet does.
    once_inferred
        Columns of text that version 0.1 gave a type by what was in them.
    item
        What the caller calls the column of items, also in the catalog.
    """

    records: Records
    scale: str | RatingScale | None = None
    duplicates: Duplicates = "error"
    items: pl.DataFrame | pl.Series | range | None = None
    users: pl.DataFrame | None = None
    context: tuple[str, ...] = ()
    public_user_columns: tuple[str, ...] = ()
    lineage: tuple[str, ...] = ()
    ids: Mapping[str, IdKind] = field(default_factory=dict)
    typed: bool = False
    once_inferred: Iterable[str] = ()
    item: str | None = None
    name: str = ""

    def build(
        self,
        *,
        name: str,
        scale: Any = None,
        duplicates: Duplicates | None = None,
        catalog: Any = None,
        items_public: bool = False,
        public_user_columns: Iterable[str] = (),
        window: Any = None,
        time_zone: str | None = None,
    ) -> Interactions:
        """The dataset.

        Parameters
        ----------
        scale, duplicates
            Instead of those of the format.
        catalog
            The public catalog, instead of that of the format: a file, a table, ids, or ``"observed"``.
        items_public
            The same as ``catalog="observed"``: it is public knowledge which items occur.
        public_user_columns
            Columns of the table of users that are public.
        window, time_zone
            The days that the data are about, and where days begin; other records are left out.
        """
        declared = Window.declared(window, time_zone)
        if declared is not None:
            self._require_cut_by_record()
            self.records = self.records.filtered(times_within(self.records.frame, "timestamp", declared))
        if isinstance(catalog, str) and catalog == "observed":
            catalog, items_public = None, True
        items = _catalog(self.items if catalog is None else catalog, self.item)
        if "item" not in self.ids:
            self.records, items = _same_ids(self.records, items, "item_id")
        if items_public:
            items = self._with_observed(items)
        settled_scale = self.scale if scale is None else RatingScale.of(scale)
        settled_duplicates = duplicates or self.duplicates
        try:
            data = Interactions(
                self.records.frame,
                scale=settled_scale,
                duplicates=settled_duplicates,
                items=items["item_id"] if items is not None and items.width == 1 else items,
                users=self.users,
                ids=self.ids,
                context=self.context,
                public_user_columns=tuple(public_user_columns) or self.public_user_columns,
                window=declared,
                name=name,
            )
        except DataError as error:
            raise self._second_record(settled_duplicates, error) or self.records.located(error) from None
        data.lineage = (*self.lineage, *data.lineage)
        data.once_inferred = frozenset(self.once_inferred)
        if not self.typed:
            data.typed_columns = frozenset()
        return data

    def _require_cut_by_record(self) -> None:
        """Refuse a window on a part in which a record may be missing because of one outside of the window."""
        if not cut_by_record(self.lineage):
            raise DataError(
                "these records were cut by a rule about all records of a user, so that records outside of a window may "
                "have decided about those inside of it.",
                remedy="Declare the window when the whole is read, and cut afterwards.",
            )

    def _named(self, column: pl.Series, role: str) -> pl.Series:
        """Ids in their declared type."""
        ids, codes = coded(column, self.ids.get(role), what=role)
        return ids.take(codes)

    def _with_observed(self, items: pl.DataFrame | None) -> pl.DataFrame:
        observed = pl.DataFrame({"item_id": self._named(self.records.frame["item_id"].unique(), "item")})
        if items is None:
            return observed
        items = items.with_columns(self._named(items["item_id"], "item").alias("item_id"))
        known = IdMap(items["item_id"]).encode(observed["item_id"], unknown="mark") >= 0
        return pl.concat([items, observed.filter(pl.Series(~known))], how="diagonal")

    def _second_record(self, duplicates: str, error: DataError) -> DataError | None:
        """The first record that repeats another one, with both lines; None if the error is about something else."""
        if duplicates != "error" or error.remedy != SEVERAL_RECORDS:
            return None
        frame = self.records.frame
        fresh = frame.select(pl.struct("user_id", "item_id").is_first_distinct()).to_series()
        if fresh.all():
            return None
        row = int(fresh.arg_min() or 0)
        user, item = frame["user_id"][row], frame["item_id"][row]
        first = int(((frame["user_id"] == user) & (frame["item_id"] == item)).arg_max() or 0)
        line = self.records.origins.of(first)[1]
        user, item = (self._named(frame[f"{role}_id"][[row]], role)[0] for role in ("user", "item"))
        return self.records.error(
            row,
            f"user {user!r} has a second record of item {item!r}; the first is in "
            f"{f'row {first}' if line is None else f'line {line}'}.",
            column="item_id",
            remedy=SEVERAL_RECORDS,
        )


@dataclass
class TagsDraft:
    """Triples of user_id, resource_id and tag."""

    records: Records
    vocabulary: Any = None
    resources: Any = None
    lineage: tuple[str, ...] = ()
    ids: Mapping[str, IdKind] = field(default_factory=dict)
    once_inferred: Iterable[str] = ()
    name: str = ""

    def build(self, *, name: str) -> TagAssignments:
        """The dataset; triples that occur more than once are one."""
        try:
            data = TagAssignments(self.records.frame, ids=self.ids, name=name)
            data.once_inferred = frozenset(self.once_inferred)
            if self.vocabulary is not None:
                data = data.with_vocabulary(self.vocabulary)
            if self.resources is not None:
                data = data.with_resources(self.resources)
        except DataError as error:
            raise self.records.located(error) from None
        data.lineage = self.lineage
        return data


@dataclass
class TableDraft:
    """Rows of attributes with the domains that their questionnaire declares."""

    records: Records
    domains: Mapping[str, Any]
    group: str | None = None
    lineage: tuple[str, ...] = ()
    name: str = ""

    def build(self, *, name: str, domains: Mapping[str, Any] | None = None) -> Table:
        """The dataset.

        Parameters
        ----------
        domains
            Domains that replace or follow those of the format; only attributes with a domain are kept.
        """
        settled = {**self.domains, **(domains or {})}
        if not settled:
            raise UsageError(
                "the domains of the attributes are not known.",
                remedy=Remedy(
                    'Give domains={"sex": ["F", "M"], …}.', cli='Give --domains FILE with {"sex": ["F", "M"], …}.'
                ),
            )
        self._read_text(settled)
        try:
            data = Table(self.records.frame, domains=settled, group=self.group, name=name)
        except DataError as error:
            raise self.records.located(error) from None
        data.lineage = self.lineage
        return data

    def _read_text(self, domains: Mapping[str, Any]) -> None:
        """Give columns of text the types that their domains declare."""
        frame = self.records.frame
        for attribute, given in domains.items():
            if attribute not in frame.columns or frame[attribute].dtype != pl.String:
                continue
            domain = as_domain(given)
            values = read_text(frame[attribute], domain)
            outside = values.is_null() & frame[attribute].is_not_null()
            if outside.any():
                row, what = int(outside.arg_max() or 0), f"the value is outside the declared domain {domain}."
                raise self.records.error(row, what, column=attribute, remedy=DECLARE_ANOTHER)
            frame = frame.with_columns(values.alias(attribute))
        self.records = self.records.with_frame(frame)


Draft = InteractionsDraft | TagsDraft | TableDraft


def _same_ids(records: Records, table: pl.DataFrame | None, column: str) -> tuple[Records, pl.DataFrame | None]:
    """Records and a table with ids of one type: text, if they are text in one of the two."""
    if table is None or {table[column].dtype, records.frame[column].dtype} != {pl.Int64(), pl.String()}:
        return records, table
    as_text = pl.col(column).cast(pl.String)
    return records.with_frame(records.frame.with_columns(as_text)), table.with_columns(as_text)


def _catalog(given: Any, item: str | None) -> pl.DataFrame | None:
    """A catalog as a table with the column item_id: from a file, a table of any kind, or the ids alone."""
    from discreet.data.readers.generic import catalog_column, read_catalog

    if given is None:
        return None
    if isinstance(given, str | Path):
        return read_catalog(Path(given), item)
    if isinstance(given, IdMap):
        return pl.DataFrame({"item_id": given.series})
    if isinstance(given, list | tuple | set | frozenset | range | np.ndarray | pl.Series):
        ids = list(given) if isinstance(given, set | frozenset) else given
        return pl.DataFrame({"item_id": IdMap(ids, what="item").series})
    table = as_frame(given, ["item_id"], at_least=1)
    return table.rename({catalog_column(table.columns, None, item): "item_id"})
