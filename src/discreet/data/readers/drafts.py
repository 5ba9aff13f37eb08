"""What a reader has read, and how it becomes a dataset; errors about a record name its file and line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.diagnosis import Columns, Declared, all_problems, values_outside, wrong_rows, wrong_triples
from discreet.data.domains import CategoricalDomain, Domain, as_domain, read_text
from discreet.data.fingerprints import WITHOUT_MISSING, cut_by_record
from discreet.data.frames import as_frame, times_within
from discreet.data.id_forms import IdKind, coded, id_kinds
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.periods import Window
from discreet.data.problems import Found, Missing, Problems
from discreet.data.readers.records import Records, with_seconds
from discreet.data.repeats import Duplicates
from discreet.data.scales import RatingScale
from discreet.data.screening import lacks_id, lacks_value, whole_ids
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import DataError, Remedy, UsageError

__all__ = [
    "Draft",
    "InteractionsDraft",
    "TableDraft",
    "TagsDraft",
    "as_catalog",
    "only_ids",
    "without_missing",
]


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
    problems
        What is wrong with rows that are not in ``records``, and how rows with missing values are treated.
    blanks
        Whether blank text is an id, as in published formats and in files of discreet's own; it never is where missing
        values are dropped.
    released
        Where the records were released themselves: the id and the guarantee of that release.
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
    problems: Problems | None = None
    blanks: bool = True
    released: Mapping[str, Any] | None = None

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
        missing: Missing = "error" if self.problems is None else self.problems.missing
        if self.problems is not None:
            self.records = without_missing(self.records, ("user_id", "item_id"), ("rating", "timestamp"), self.problems)
        declared = Window.declared(window, time_zone)
        self.records = _within(self.records, self.lineage, declared)
        if isinstance(catalog, str) and catalog == "observed":
            catalog, items_public = None, True
        items = as_catalog(self.items if catalog is None else catalog, self.item)
        if "item" not in self.ids:
            self.records, items = _same_ids(self.records, items, "item_id")
        settled_scale = self.scale if scale is None else RatingScale.of(scale)
        settled_duplicates = duplicates or self.duplicates
        settings = Declared(
            Columns(),
            id_kinds(self.ids, ("user", "item")),
            None if settled_scale is None else RatingScale.of(settled_scale),
            None if items_public else only_ids(items),
            settled_duplicates,
            missing,
        )
        if self.problems:
            raise self._all_problems(settings) or self.problems.error()
        try:
            items = self._with_observed(items) if items_public else items
            data = Interactions(
                self.records.frame,
                scale=settled_scale,
                duplicates=settled_duplicates,
                missing=missing,
                items=only_ids(items),
                users=self.users,
                ids=self.ids,
                context=self.context,
                public_user_columns=tuple(public_user_columns) or self.public_user_columns,
                window=declared,
                name=name,
            )
            if not self.blanks and (has_blank(data.users) or has_blank(data.items)):
                raise DataError("an id is blank.")
        except DataError as error:
            raise self._all_problems(settings) or self.records.located(error) from None
        note_dropped(data, self.problems)
        data.lineage = (*self.lineage, *data.lineage)
        data.once_inferred = frozenset(self.once_inferred)
        if not self.typed:
            data.typed_columns = frozenset()
        return data if self.released is None else data.marked_as_released(self.released)

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

    def _all_problems(self, settings: Declared) -> DataError | None:
        """What is wrong with the rows, and with those that could not be read before."""
        problems = Problems(settings.missing) if self.problems is None else self.problems
        return all_problems(
            self.records.frame,
            settings,
            problems,
            blank=not self.blanks or settings.missing == "drop",
            place=self.records.place,
            located=self.records.located,
            names=self.records.names,
        )


@dataclass
class TagsDraft:
    """Triples of user_id, resource_id and tag, and perhaps a timestamp, which is used for a window alone.

    Times of text are read where a window is declared: a column that nobody asked for raises no error.
    """

    records: Records
    vocabulary: Any = None
    resources: Any = None
    lineage: tuple[str, ...] = ()
    ids: Mapping[str, IdKind] = field(default_factory=dict)
    once_inferred: Iterable[str] = ()
    name: str = ""
    problems: Problems | None = None
    blanks: bool = True

    def build(self, *, name: str, window: Any = None, time_zone: str | None = None) -> TagAssignments:
        """The dataset; triples that occur more than once are one.

        Parameters
        ----------
        window, time_zone
            The days that the data are about, and where days begin; other triples are left out first.
        """
        declared = Window.declared(window, time_zone)
        self.records = _within(self.records, self.lineage, declared)
        missing: Missing = "error"
        if self.problems is not None:
            missing = self.problems.missing
            self.records = without_missing(self.records, _TRIPLE.values(), (), self.problems)
            self._require_good(self.problems)
        try:
            data = TagAssignments(self.records.frame, window=declared, ids=self.ids, missing=missing, name=name)
            blanks = [ids for ids in (data.users, data.resources, data.tags) if has_blank(ids)]
            if blanks and not self.blanks:
                raise DataError("an id is blank.")
            data.once_inferred = frozenset(self.once_inferred)
            if self.vocabulary is not None:
                data = data.with_vocabulary(self.vocabulary)
            if self.resources is not None:
                data = data.with_resources(self.resources)
        except DataError as error:
            self._require_good(Problems(missing) if self.problems is None else self.problems, search=True)
            raise self.records.located(error) from None
        data.lineage = (*self.lineage, *((WITHOUT_MISSING,) if missing == "drop" else ()))
        note_dropped(data, self.problems)
        return data

    def _require_good(self, problems: Problems, *, search: bool = False) -> None:
        """Raise what is wrong with the rows; those that are there are searched if others are wrong."""
        if search or problems:
            kinds, blank = id_kinds(self.ids, tuple(_TRIPLE)), not self.blanks or problems.missing == "drop"
            where: Any = {"located": self.records.located, "names": self.records.names}
            wrong_triples(self.records.frame, _TRIPLE, kinds, problems, blank=blank, **where)
        problems.require_none()


@dataclass
class TableDraft:
    """Rows of attributes with the domains that their questionnaire declares."""

    records: Records
    domains: Mapping[str, Any]
    group: str | None = None
    lineage: tuple[str, ...] = ()
    name: str = ""
    problems: Problems | None = None
    blanks: bool = True

    def build(self, *, name: str, domains: Mapping[str, Any] | None = None, group: str | None = None) -> Table:
        """The dataset.

        Parameters
        ----------
        domains
            Domains that replace or follow those of the format; only attributes with a domain are kept.
        group
            The column that says which rows belong together, if not that of the format.
        """
        self.group = group or self.group
        settled = {**self.domains, **(domains or {})}
        if not settled:
            raise UsageError(
                "the domains of the attributes are not known.",
                remedy=Remedy(
                    'Give domains={"sex": ["F", "M"], …}.', cli='Give --domains FILE with {"sex": ["F", "M"], …}.'
                ),
            )
        problems = Problems() if self.problems is None else self.problems
        known = {attribute: as_domain(domain) for attribute, domain in settled.items()}
        self._read_text(known, problems)
        where: Any = {"located": self.records.located, "names": self.records.names}
        group = self.group if self.group in self.records.frame.columns else None
        present = {name: domain for name, domain in known.items() if name in self.records.frame.columns}
        if problems or problems.missing == "drop":
            good = wrong_rows(self.records.frame, present, group, problems, **where)
            self.records = self.records.filtered(pl.Series(good))
            problems.require_none()
        try:
            data = Table(self.records.frame, domains=known, group=self.group, missing=problems.missing, name=name)
        except DataError as error:
            wrong_rows(self.records.frame, present, group, problems, **where)
            raise problems.error() if problems else self.records.located(error) from None
        data.lineage = (*self.lineage, *data.lineage)
        note_dropped(data, self.problems)
        return data

    def _read_text(self, domains: Mapping[str, Domain], problems: Problems) -> None:
        """Give columns of text the types that their domains declare; rows for which that fails are left out."""
        frame, found = self.records.frame, []
        typed = frame
        for attribute, domain in domains.items():
            if attribute not in frame.columns or frame[attribute].dtype != pl.String:
                continue
            text = frame[attribute]
            if isinstance(domain, CategoricalDomain) and "" in domain.values:
                text = text.fill_null("")  # the domain declares what a blank field means
            values = read_text(text, domain)
            typed = typed.with_columns(values.alias(attribute))
            unread = values.is_null().to_numpy()
            if unread.any():
                lacking = unread & lacks_id(frame[attribute])
                found += values_outside(attribute, domain, lacking, unread & ~lacking)
        where: Any = {"located": self.records.located, "names": self.records.names}
        good = problems.add_rows(found, frame, **where)
        self.records = self.records.with_frame(typed)
        if not good.all():
            self.records = self.records.filtered(pl.Series(good))


Draft = InteractionsDraft | TagsDraft | TableDraft


_TRIPLE = {"user": "user_id", "resource": "resource_id", "tag": "tag"}


def without_missing(records: Records, ids: Collection[str], values: Collection[str], problems: Problems) -> Records:
    """The rows in which no value is missing, if missing values are dropped; otherwise all of them."""
    frame = records.frame
    if problems.missing != "drop" or problems:
        return records
    found = [Found(lacks_id(frame[name]), name, "", missing=True) for name in ids if name in frame.columns]
    found += [Found(lacks_value(frame[name]), name, "", missing=True) for name in values if name in frame.columns]
    kept = records.without(found, problems)
    return kept.with_frame(kept.frame.with_columns(whole_ids(kept.frame[n]) for n in ids if n in kept.frame.columns))


def only_ids(items: pl.DataFrame | None) -> pl.DataFrame | pl.Series | None:
    """A catalog without other columns as the ids alone."""
    return items["item_id"] if items is not None and items.width == 1 else items


def has_blank(ids: IdMap) -> bool:
    """Whether a text among ids is blank."""
    return ids.series.dtype == pl.String and bool((ids.series.str.strip_chars() == "").any())


def note_dropped(data: Any, problems: Problems | None) -> None:
    """Put the numbers of rows that were left out while reading on the dataset."""
    if problems is not None and problems.missing == "drop":
        data.dropped_missing, data.missing_by_column = problems.dropped, dict(problems.dropped_by_column)


def _same_ids(records: Records, table: pl.DataFrame | None, column: str) -> tuple[Records, pl.DataFrame | None]:
    """Records and a table with ids of one type: text, if they are text in one of the two."""
    if table is None or {table[column].dtype, records.frame[column].dtype} != {pl.Int64(), pl.String()}:
        return records, table
    as_text = pl.col(column).cast(pl.String)
    return records.with_frame(records.frame.with_columns(as_text)), table.with_columns(as_text)


def as_catalog(given: Any, item: str | None) -> pl.DataFrame | None:
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


def _within(records: Records, lineage: Sequence[str], window: Window | None) -> Records:
    """The records of a window, each by its own time; all of them where none is declared.

    Refuses a part in which a record may be missing because of one outside of the window.
    """
    if window is None:
        return records
    if not cut_by_record(lineage):
        raise DataError(
            "these records were cut by a rule about all records of a user, so that records outside of a window may "
            "have decided about those inside of it.",
            remedy="Declare the window when the whole is read, and cut afterwards.",
        )
    if records.frame.schema.get("timestamp") == pl.String:
        blank = records.frame["timestamp"].str.strip_chars().fill_null("") == ""
        records = with_seconds(records.filtered(~blank), "timestamp", None)
    return records.filtered(times_within(records.frame, "timestamp", window))
