"""What a reader has read, and how it becomes a dataset: complaints about a record name its file and line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.domains import as_domain
from discreet.data.interactions import Duplicates, Interactions
from discreet.data.readers.records import Records
from discreet.data.scales import RatingScale
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import DataError, UsageError

__all__ = ["Draft", "InteractionsDraft", "TableDraft", "TagsDraft"]


@dataclass
class InteractionsDraft:
    """Records of who touched what, and what the format says about them.

    Parameters
    ----------
    records
        With the columns user_id, item_id[, rating][, timestamp] and those named in ``context``.
    scale
        The rating scale of the format; None for weights.
    duplicates
        What the format makes of several records of one user and item.
    items
        The public catalog, where the format has one.
    users
        What it knows of the users: secret.
    """

    records: Records
    scale: str | RatingScale | None = None
    duplicates: Duplicates = "error"
    items: Any = None
    users: pl.DataFrame | None = None
    context: tuple[str, ...] = ()
    public_user_columns: tuple[str, ...] = ()
    lineage: tuple[str, ...] = ()
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
    ) -> Interactions:
        """The dataset.

        Parameters
        ----------
        scale, duplicates
            Instead of what the format says.
        catalog
            The public catalog, instead of that of the format: a file, a table, ids, or ``"observed"``.
        items_public
            The same as ``catalog="observed"``: it is public knowledge which items occur.
        public_user_columns
            Columns of the table of users that are no secret.
        """
        if isinstance(catalog, str) and catalog == "observed":
            catalog, items_public = None, True
        items = self.items if catalog is None else _catalog(catalog)
        self.records, items = _same_ids(self.records, items, "item_id")
        self.records, users = _same_ids(self.records, self.users, "user_id")
        if items_public:
            items = self._with_observed(items)
        settled_scale = self.scale if scale is None else RatingScale.of(scale)
        settled_duplicates = duplicates or self.duplicates
        try:
            data = Interactions(
                self.records.frame,
                scale=settled_scale,
                duplicates=settled_duplicates,
                items=items,
                users=users,
                context=self.context,
                public_user_columns=tuple(public_user_columns) or self.public_user_columns,
                name=name,
            )
        except DataError as error:
            raise self._located(error, settled_scale, settled_duplicates, items) from None
        data.lineage = self.lineage
        return data

    def _with_observed(self, items: Any) -> Any:
        observed = self.records.frame.select(pl.col("item_id").unique())
        if items is None:
            return observed["item_id"]
        table = items if isinstance(items, pl.DataFrame) else pl.DataFrame({"item_id": items})
        if table["item_id"].dtype != observed["item_id"].dtype:
            return table
        return pl.concat([table, observed.join(table, on="item_id", how="anti")], how="diagonal")

    def _located(self, error: DataError, scale: Any, duplicates: str, items: Any) -> DataError:
        """The same complaint with the line of its culprit, which is looked for only now."""
        frame = self.records.frame
        if scale is not None and "rating" in frame.columns:
            scale = RatingScale.of(scale)
            wrong = ~scale.contains(frame["rating"].to_numpy())
            if wrong.any():
                return self.records.error(
                    int(np.argmax(wrong)),
                    f"the rating is not on the declared scale {scale}.",
                    column="rating",
                    remedy="Correct the rating, or declare another scale with scale=.",
                )
        if items is not None:
            ids = items["item_id"] if isinstance(items, pl.DataFrame) else pl.Series(list(items))
            known = frame["item_id"].is_in(ids.implode()) if ids.dtype == frame["item_id"].dtype else None
            if known is None or not known.all():
                return self.records.error(
                    0 if known is None else int(known.arg_min() or 0),
                    "the item is not in the public catalog.",
                    column="item_id",
                    remedy="Complete the catalog, or say with items_public=True that it is public which items occur.",
                )
        if duplicates == "error":
            fresh = frame.select(pl.struct("user_id", "item_id").is_first_distinct()).to_series()
            if not fresh.all():
                row = int(fresh.arg_min() or 0)
                user, item = frame["user_id"][row], frame["item_id"][row]
                first = int(((frame["user_id"] == user) & (frame["item_id"] == item)).arg_max() or 0)
                return self.records.error(
                    row,
                    f"user {user!r} has a second record of item {item!r}; the first is in {self._place(first)}.",
                    column="item_id",
                    remedy="Choose duplicates='last' (keep the latest) or 'keep' (visits, plays).",
                )
        return _in_file(error, self.records)

    def _place(self, row: int) -> str:
        line = self.records.places.of(row)[1]
        return f"row {row}" if line is None else f"line {line}"


@dataclass
class TagsDraft:
    """Triples of user_id, resource_id and tag."""

    records: Records
    vocabulary: Any = None
    resources: Any = None
    lineage: tuple[str, ...] = ()
    name: str = ""

    def build(self, *, name: str) -> TagAssignments:
        """The dataset; triples that occur more than once are one."""
        try:
            data = TagAssignments(self.records.frame, name=name)
            if self.vocabulary is not None:
                data = data.with_vocabulary(self.vocabulary)
            if self.resources is not None:
                data = data.with_resources(self.resources)
        except DataError as error:
            raise _in_file(error, self.records) from None
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
                "the domains of the attributes are not known.", remedy='Give domains={"sex": ["F", "M"], …}.'
            )
        try:
            data = Table(self.records.frame, domains=settled, group=self.group, name=name)
        except DataError as error:
            raise self._located(error, settled) from None
        data.lineage = self.lineage
        return data

    def _located(self, error: DataError, domains: Mapping[str, Any]) -> DataError:
        for attribute, domain in domains.items():
            if attribute not in self.records.frame.columns:
                continue
            outside = as_domain(domain).encode(self.records.frame[attribute]) < 0
            if outside.any():
                return self.records.error(
                    int(np.argmax(outside)),
                    f"the value is outside the declared domain {as_domain(domain)}.",
                    column=attribute,
                    remedy="Correct the value, or declare another domain with domains=.",
                )
        return _in_file(error, self.records)


Draft = InteractionsDraft | TagsDraft | TableDraft


def _same_ids(records: Records, table: Any, column: str) -> tuple[Records, Any]:
    """Records and a table beside them with ids of one type: text, when they are text in one of the two."""
    if not isinstance(table, pl.DataFrame) or column not in table.columns:
        return records, table
    if {table[column].dtype, records.frame[column].dtype} != {pl.Int64(), pl.String()}:
        return records, table
    as_text = pl.col(column).cast(pl.String)
    return records.with_frame(records.frame.with_columns(as_text)), table.with_columns(as_text)


def _in_file(error: DataError, records: Records) -> DataError:
    """The same complaint with the file that the records came from."""
    return DataError(
        error.what,
        file=error.file or (records.places.files[0] if records.places.files else None),
        line=error.line,
        column=error.column,
        value=error.value,
        remedy=error.remedy,
    )


def _catalog(given: Any) -> Any:
    """A catalog from a file, or as the caller gave it."""
    if isinstance(given, str | Path):
        from discreet.data.readers.generic import read_catalog

        return read_catalog(Path(given))
    return given
