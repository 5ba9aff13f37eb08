"""What a reader has read, and how it becomes a dataset: complaints about a record name its file and line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.domains import as_domain
from discreet.data.frames import as_frame
from discreet.data.ids import IdMap
from discreet.data.interactions import Duplicates, Interactions
from discreet.data.readers.records import Records
from discreet.data.readers.roles import column_of
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
    items: pl.DataFrame | pl.Series | range | None = None
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
        items = _catalog(self.items if catalog is None else catalog)
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
                items=items["item_id"] if items is not None and items.width == 1 else items,
                users=users,
                context=self.context,
                public_user_columns=tuple(public_user_columns) or self.public_user_columns,
                name=name,
            )
        except DataError as error:
            # Its culprit is looked for only now.
            raise (
                self._off_scale(settled_scale)
                or self._not_in_catalog(items)
                or self._second_record(settled_duplicates)
                or _in_file(error, self.records)
            ) from None
        data.lineage = self.lineage
        return data

    def _with_observed(self, items: pl.DataFrame | None) -> pl.DataFrame:
        observed = self.records.frame.select(pl.col("item_id").unique())
        if items is None:
            return observed
        known = IdMap(items["item_id"]).encode(observed["item_id"], unknown="mark") >= 0
        return pl.concat([items, observed.filter(pl.Series(~known))], how="diagonal")

    def _off_scale(self, scale: str | RatingScale | None) -> DataError | None:
        frame = self.records.frame
        if scale is None or "rating" not in frame.columns or not frame["rating"].dtype.is_numeric():
            return None
        scale = RatingScale.of(scale)
        wrong = ~scale.contains(frame["rating"].cast(pl.Float64).to_numpy())
        if not wrong.any():
            return None
        return self.records.error(
            int(np.argmax(wrong)),
            f"the rating is not on the declared scale {scale}.",
            column="rating",
            remedy="Correct the rating, or declare another scale with scale=.",
        )

    def _not_in_catalog(self, items: pl.DataFrame | None) -> DataError | None:
        if items is None or self.records.frame["item_id"].null_count():
            return None
        unknown = IdMap(items["item_id"]).encode(self.records.frame["item_id"], unknown="mark") < 0
        if not unknown.any():
            return None
        return self.records.error(
            int(np.argmax(unknown)),
            "the item is not in the public catalog.",
            column="item_id",
            remedy="Complete the catalog, or say with items_public=True that it is public which items occur.",
        )

    def _second_record(self, duplicates: str) -> DataError | None:
        frame = self.records.frame
        fresh = frame.select(pl.struct("user_id", "item_id").is_first_distinct()).to_series()
        if duplicates != "error" or fresh.all():
            return None
        row = int(fresh.arg_min() or 0)
        user, item = frame["user_id"][row], frame["item_id"][row]
        first = int(((frame["user_id"] == user) & (frame["item_id"] == item)).arg_max() or 0)
        line = self.records.places.of(first)[1]
        return self.records.error(
            row,
            f"user {user!r} has a second record of item {item!r}; the first is in "
            f"{f'row {first}' if line is None else f'line {line}'}.",
            column="item_id",
            remedy="Choose duplicates='last' (keep the latest) or 'keep' (visits, plays).",
        )


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


def _same_ids(records: Records, table: pl.DataFrame | None, column: str) -> tuple[Records, pl.DataFrame | None]:
    """Records and a table beside them with ids of one type: text, when they are text in one of the two."""
    if table is None or {table[column].dtype, records.frame[column].dtype} != {pl.Int64(), pl.String()}:
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


def _catalog(given: Any) -> pl.DataFrame | None:
    """A catalog as a table with the column item_id: from a file, a table of any kind, or the ids alone."""
    from discreet.data.readers.generic import read_catalog

    if given is None:
        return None
    if isinstance(given, str | Path):
        return read_catalog(Path(given))
    if isinstance(given, IdMap):
        return pl.DataFrame({"item_id": given.series})
    if isinstance(given, list | tuple | set | frozenset | range | np.ndarray | pl.Series):
        ids = list(given) if isinstance(given, set | frozenset) else given
        return pl.DataFrame({"item_id": IdMap(ids, what="item").series})
    table = as_frame(given, ["item_id"], at_least=1)
    return table.rename({column_of("item_id", table.columns): "item_id"})
