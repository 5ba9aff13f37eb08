"""Tags and tables in parts: what a scan makes of rows that are not interactions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from discreet.common.foreign import foreign_errors
from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.data.problems import Missing
from discreet.data.readers.drafts import TableDraft
from discreet.data.readers.records import Origins, Records
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.engines.sources import BATCH, ENDINGS, files_of
from discreet.engines.spilling import Spill
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from discreet.engines.spark.records import SparkRecords

__all__ = ["ScannedRecords", "TableRows", "TagRows", "scan_rows"]

T = TypeVar("T")


@dataclass(frozen=True)
class TagRows:
    """How rows become triples of a user, a resource and a tag, with public lists of tags and resources."""

    user: str
    resource: str
    tag: str
    tags: Any
    resources: Any
    missing: Missing = "error"
    name: str = ""

    def __post_init__(self) -> None:
        for what, given in (("tags", self.tags), ("resources", self.resources)):
            if given is None or isinstance(given, str):
                raise UsageError(f"a scan of tags needs the public list of {what}.", remedy=f"Give {what}=….")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.user, self.resource, self.tag)

    @property
    def person(self) -> str:
        return self.user

    def made(self, rows: pl.DataFrame) -> TagAssignments:
        """The triples of some people."""
        found = TagAssignments(
            rows, user=self.user, resource=self.resource, tag=self.tag, missing=self.missing, name=self.name
        )
        made = found.with_vocabulary(self.tags).with_resources(self.resources)
        made.lineage = found.lineage  # no triple was left out
        return made

    def public(self, rows: pl.DataFrame, n_rows: int) -> TagAssignments:
        return self.made(rows).emptied()


@dataclass(frozen=True)
class TableRows:
    """How rows become a table with public domains. Each row is a person, or all rows of a group together."""

    domains: Mapping[str, Any]
    group: str | None = None
    name: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.domains, *([] if self.group is None else [self.group]))

    @property
    def person(self) -> str | None:
        return self.group

    def made(self, rows: pl.DataFrame) -> Table:
        """The table of some rows."""
        return TableDraft(Records(rows, Origins()), self.domains).build(name=self.name, group=self.group)

    def public(self, rows: pl.DataFrame, n_rows: int) -> Table:
        """The table without rows, and their number, which is public where rows are replaced."""
        return _Counted.of(self.made(rows).emptied(), n_rows)


class _Counted(Table):
    """A table of so many rows, none of which is here."""

    @classmethod
    def of(cls, table: Table, n_rows: int) -> _Counted:
        counted = object.__new__(cls)
        vars(counted).update(vars(table), _n_rows=n_rows)
        return counted

    def __len__(self) -> int:
        return self._n_rows  # type: ignore[attr-defined]


class ScannedRecords(Parted):
    """Tags or rows of a table in temporary files, as ``ScannedInteractions`` are."""

    def __init__(self, spill: Spill, how: TagRows | TableRows, n_rows: int) -> None:
        self._spill, self._how = spill, how
        super().__init__(how.public(spill.empty, n_rows))

    @property
    def n_parts(self) -> int:
        return self._spill.n_parts

    def require_open(self) -> None:
        self._spill.require_open()

    def each(self, function: Callable[[Any], T]) -> Iterator[T]:
        return (function(self._how.made(self._spill.read(number))) for number in range(self.n_parts))

    def of_users(self, users: Sequence[Any]) -> Interactions:
        raise UsageError("only interactions are asked for by user.")

    def close(self) -> None:
        """Delete the temporary files."""
        self._spill.close()

    def __enter__(self) -> ScannedRecords:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def scan_rows(
    source: Any, how: TagRows | TableRows, *, parts: int | None, folder: str | Path | None, engine: Any, at_once: int
) -> ScannedRecords | SparkRecords:
    """Rows of files, of a ``LazyFrame`` or of a cluster, in parts; ``at_once`` records a part unless told."""
    if engine is not None:
        from discreet.engines.spark.scanning import rows_on_cluster

        return rows_on_cluster(engine, source, how, parts=parts, folder=None if folder is None else str(folder))
    with foreign_errors(lambda words: DataError(f"this cannot be read: {words}.")):
        rows = source if isinstance(source, pl.LazyFrame) else pl.concat([_lazy(path) for path in files_of(source)])
        known = rows.collect_schema().names()
        if missing := [name for name in how.columns if name not in known]:
            raise DataError("there is no such column.", column=missing[0], remedy=f"There are {', '.join(known)}.")
        chosen = rows.select(how.columns)
        many = parts or max(1, math.ceil(int(chosen.select(pl.len()).collect(engine="streaming").item()) / at_once))
        heights: list[int] = []
        spill = Spill.of(_batches(chosen, heights), key=how.person, parts=many, folder=folder)
    try:
        return ScannedRecords(spill, how, sum(heights))
    except BaseException:
        spill.close()
        raise


def _batches(rows: pl.LazyFrame, heights: list[int]) -> Iterator[pl.DataFrame]:
    """The rows in batches; their numbers are added to ``heights``."""
    yield rows.head(0).collect()
    for batch in rows.collect_batches(chunk_size=BATCH):
        heights.append(batch.height)
        yield batch


def _lazy(path: Path) -> pl.LazyFrame:
    """The rows of a file; those of text files as text."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind == "parquet":
        return pl.scan_parquet(path)
    if kind == "arrow":
        return pl.scan_ipc(path)
    if kind == "text":
        return pl.scan_csv(path, infer_schema=False, separator="," if path.suffix.lower() == ".csv" else "\t")
    raise DataError("tags and tables of this kind of file are not scanned.", file=path, remedy="Write it as Parquet.")
