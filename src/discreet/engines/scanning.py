"""Files that are larger than memory, as records in parts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import polars as pl

from discreet.common.arguments import require_choice, require_whole
from discreet.common.foreign import foreign_errors
from discreet.data.id_forms import IdKinds
from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.data.problems import Missing
from discreet.data.readers.drafts import only_ids
from discreet.data.repeats import POLICIES, Duplicates
from discreet.engines.kinds import ScannedRecords, TableRows, TagRows, scan_rows
from discreet.engines.sources import Source, catalog_of, opened, require_items
from discreet.engines.spilling import Spill
from discreet.errors import DataError, DuplicatesWarning, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from discreet.engines.spark.records import SparkRecords

__all__ = ["Making", "ScannedInteractions", "collect", "public_side", "scan"]

T = TypeVar("T")

RECORDS_AT_ONCE = 5_000_000
"""About so many records has a part where the number of parts is not given."""

MOST_PARTS = 500
"""All of them are written at the same time, each to a file: systems let a program have 1,024 files open, or fewer."""

READING = ("user", "rating", "timestamp", "context", "missing", "ids", "encoding", "name")

Files = str | Path | Iterable[str | Path] | pl.LazyFrame


class ScannedInteractions(Parted):
    """Records of a scan: in a folder of temporary files, one for each part, until ``close`` or the end of the program.

    What is in the files is what was scanned when it was made: a source that changes later changes nothing.
    """

    def __init__(self, spill: Spill, how: Making) -> None:
        self._spill, self._how = spill, how
        self._merged: dict[int, int] | None = {}  # of parts that were read: rows that repeated others
        public, released = how.made(spill.empty).emptied(), how.source.released()
        super().__init__(public if released is None else public.marked_as_released(released))

    @property
    def n_parts(self) -> int:
        return self._spill.n_parts

    def require_open(self) -> None:
        self._spill.require_open()

    def each(self, function: Callable[[Interactions], T]) -> Iterator[T]:
        return (function(self._part(number)) for number in range(self.n_parts))

    def _part(self, number: int) -> Interactions:
        made = self._how.made(self._spill.read(number))
        self._tell_repeats(number, made.dropped_duplicates)
        return made

    def _tell_repeats(self, number: int, merged: int) -> None:
        """Say once, when all parts were read, how many rows repeated others."""
        if self._merged is None:
            return
        self._merged[number] = merged
        if len(self._merged) < self.n_parts:
            return
        if rows := sum(self._merged.values()):
            repeat = "1 row repeats" if rows == 1 else f"{rows:,} rows repeat"
            words = f"{repeat} the user and item of another; {self._how.kept}."
            warnings.warn(f"{self.name or 'the records'}: {words}", DuplicatesWarning, stacklevel=2)
        self._merged = None

    def of_users(self, users: Sequence[Any]) -> Interactions:
        typed = pl.Series("user_id", list(users), strict=False)
        wanted = typed.cast(self._spill.empty["user_id"].dtype, strict=False).drop_nulls()
        numbers = sorted(set(self._spill.numbers_of(wanted).to_list()))
        found = [
            self._spill.read(n).filter(pl.col("user_id").cast(pl.String).is_in(wanted.cast(pl.String).implode()))
            for n in numbers
        ]
        return self._how.made(pl.concat([self._spill.empty, *found]))

    def close(self) -> None:
        """Delete the temporary files."""
        self._spill.close()

    def __enter__(self) -> ScannedInteractions:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Making:
    """How records become ``Interactions``: what was declared about all of them.

    Parameters
    ----------
    source
        What is read.
    items
        The public catalog, or "observed".
    item
        What the caller calls the column of items, also in the catalog.
    declared
        Further settings of ``Interactions``; None for what is left to the source.
    """

    def __init__(self, source: Source, items: Any, item: str | None, **declared: Any) -> None:
        self.source = source
        self._options: dict[str, Any] = {
            **source.declared,
            **{name: value for name, value in declared.items() if value is not None},
            "context": source.context,
            "ids": source.ids or None,
            "missing": source.problems.missing,
            "name": source.name,
        }
        self._catalog, self.observed = catalog_of(items, source, item)
        self._options.pop("items", None)
        self.seen: list[pl.Series] = []

    @property
    def kept(self) -> str:
        """What becomes of several records of one user and item."""
        added = self._options.get("duplicates") == "sum"
        return "their quantities were added up" if added else "the latest of each was kept"

    def batches(self) -> Iterator[pl.DataFrame]:
        """The records with ids of one type: text, if they are text in the files or in the catalog."""
        for batch in self.source.batches():
            alike = self.alike(batch)
            if self.observed:
                self.seen = [pl.concat([*self.seen, alike["item_id"].unique()]).unique()]
            yield alike

    def alike(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Records whose items have ids of the catalog's type."""
        if self._catalog is not None and "item" not in self.source.ids:
            types = {batch["item_id"].dtype, self._catalog["item_id"].dtype}
            if types == {pl.Int64(), pl.String()}:
                as_text = pl.col("item_id").cast(pl.String)
                self._catalog, batch = self._catalog.with_columns(as_text), batch.with_columns(as_text)
        return batch

    def made(self, frame: pl.DataFrame) -> Interactions:
        """The records of some people, as ``batches`` gave them."""
        data = Interactions(frame, items=only_ids(self._items()), **self._options)
        data.lineage = (*self.source.lineage, *data.lineage)
        if not self.source.typed:
            data.typed_columns = frozenset()
        return data

    def _items(self) -> pl.DataFrame | None:
        """The public items; with those that occurred, where it was declared that they are public."""
        if not self.observed:
            return self._catalog
        seen = self.seen[0].to_frame("item_id")
        if self._catalog is None:
            return seen
        return pl.concat([self._catalog, seen.join(self._catalog, on="item_id", how="anti")], how="diagonal")


def scan(
    source: Files | DataFrame,
    *,
    what: Literal["interactions", "tags", "table"] = "interactions",
    items: Any = None,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    timestamp: str | None = None,
    context: Sequence[str] = (),
    scale: Any = None,
    duplicates: Duplicates | None = None,
    missing: Missing = "error",
    ids: IdKinds = None,
    encoding: str = "utf-8",
    window: Any = None,
    time_zone: str | None = None,
    name: str | None = None,
    parts: int | Literal["auto"] = "auto",
    folder: str | Path | None = None,
    engine: SparkSession | None = None,
    resource: str = "resource_id",
    tag: str = "tag",
    tags: Any = None,
    resources: Any = None,
    domains: Mapping[str, Any] | None = None,
    group: str | None = None,
) -> ScannedInteractions | ScannedRecords | SparkRecords:
    """Records that are never all in memory: read once, cut into parts by person, kept in temporary files.

    Proved methods whose statistics are sums over people take them as they take ``Interactions``, and release the same.

    Parameters
    ----------
    source
        Parquet, Arrow, CSV or TSV files: a path, a folder, a pattern such as "purchases/*.parquet" or several of them;
        or a polars ``LazyFrame``. Every record is read as ``read`` reads it.
    what
        What the rows are: interactions, tags (a user gave a resource a tag) or a table of attributes.
    items
        The public catalog: a file, a table, the ids, or "observed", which declares that it is public knowledge which
        items occur. Files that discreet wrote have one.
    user, item, rating, timestamp
        Names of columns; usual names are recognized.
    context, scale, duplicates, missing, window, time_zone
        As in ``Interactions``.
    ids, encoding
        Of text files, as in ``read``: the type of ids, which is text unless declared, and the encoding.
    name
        What the data are called; by default the name of the file, or of the folder of several files.
    parts
        How many parts, on one machine at most 500; "auto" takes one for every five million records. It changes nothing
        about a release.
    folder
        Where the temporary files go: a folder of mode 0700 is made in it, and removed afterwards. By default the
        system's folder for such files ($TMPDIR). It needs as much room as the records; whether there is so much is
        checked first. For a cluster the URL of a folder that all executors reach.
    engine
        A ``SparkSession``: its executors compute the sums (``docs/spark.md``). The source is then a ``DataFrame`` of
        it, which says so by itself, or paths that it reads (Parquet, ORC, CSV, TSV). Without it this machine does.
    resource, tag, tags, resources
        Of tags: names of columns, and the public lists of tags and resources.
    domains, group
        Of a table, as in ``Table``.

    Warns
    -----
    MissingWarning
        How many rows were left out because a value is missing.
    DuplicatesWarning
        How many rows were merged or left out because they repeat others, once all parts were read.
    DiscreetWarning
        Where the temporary files would take memory, because their folder is in it.

    Privacy
    -------
    The temporary files hold the records. What a crash leaves is removed by the next scan in the same folder.

    Examples
    --------
    >>> import tempfile, discreet as dc
    >>> films = dc.synthetic.films(users=200, items=80, seed=7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     films.to_frame().write_parquet(f"{folder}/films.parquet")
    ...     data = scan(f"{folder}/films.parquet", items=films.items.series, scale="1:5", parts=3)
    ...     release = dc.counting.ItemCounts(epsilon=1, cap=30).release(data)
    >>> data, release.table("counts").height
    (ScannedInteractions('films': 3 parts), 80)
    """
    if parts != "auto":
        require_whole(parts, "parts")
    engine = getattr(source, "sparkSession", engine)
    if what != "interactions":
        require_choice(what, "what", ("interactions", "tags", "table"))
        how = (
            TagRows(user or "user_id", resource, tag, tags, resources, missing, name or "")
            if what == "tags"
            else TableRows(domains or {}, group, name or "")
        )
        many = None if parts == "auto" else parts
        return scan_rows(source, how, parts=many, folder=folder, engine=engine, at_once=RECORDS_AT_ONCE)
    roles = {"user": user, "item": item, "rating": rating, "timestamp": timestamp, "context": tuple(context)}
    if duplicates is not None:
        require_choice(duplicates, "duplicates", POLICIES)
    declared = {"scale": scale, "duplicates": duplicates, "window": window, "time_zone": time_zone}
    if engine is not None:
        from discreet.engines.spark.scanning import scan_on_cluster

        return scan_on_cluster(
            engine,
            source,
            roles=roles,
            items=items,
            declared=declared,
            missing=missing,
            ids=ids,
            name=name,
            parts=None if parts == "auto" else parts,
            folder=None if folder is None else str(folder),
        )
    if parts != "auto" and parts > MOST_PARTS:
        raise UsageError(f"parts must be at most {MOST_PARTS}, got {parts}.", remedy='Give a number below, or "auto".')
    with foreign_errors(lambda words: DataError(f"this cannot be read: {words}.")):
        found = opened(source, missing=missing, ids=ids, encoding=encoding, name=name, **roles)  # type: ignore[arg-type]
        require_items(items, found)
        how = Making(found, items, item, **declared)
        many = min(MOST_PARTS, max(1, math.ceil(found.records / RECORDS_AT_ONCE))) if parts == "auto" else parts
        spill = Spill.of(how.batches(), key="user_id", parts=many, folder=folder, needed=found.size)
    try:
        return ScannedInteractions(spill, how)
    except BaseException:
        spill.close()
        raise


def public_side(
    source: Files, *, items: Any = None, item: str | None = None, engine: SparkSession | None = None, **options: Any
) -> Interactions:
    """What is public about the records of files, and none of them: what an estimate may look at.

    Records are read only where the items that occur are public.
    """
    if engine is not None:
        from discreet.engines.spark.scanning import public_on_cluster

        names = ("user", "rating", "timestamp", "context")
        roles = {name: options.pop(name) for name in names if name in options} | {"item": item}
        read = {name: options.pop(name) for name in ("missing", "ids", "name") if name in options}
        return public_on_cluster(engine, source, roles=roles, items=items, declared=options, **read)
    how = _how(source, items, item, options)
    with foreign_errors(lambda words: DataError(f"this cannot be read: {words}.")):
        batches = how.batches()
        empty = next(batches)
        if how.observed:
            for _ in batches:
                pass
    return how.made(empty).emptied()


def collect(source: Files, *, items: Any = None, item: str | None = None, **options: Any) -> Interactions:
    """The records of several files in memory, read as ``scan`` reads them; its options but for parts and folder."""
    how = _how(source, items, item, options)
    with foreign_errors(lambda words: DataError(f"this cannot be read: {words}.")):
        frame = pl.concat(list(how.batches()))
    return how.made(frame)


def _how(source: Files, items: Any, item: str | None, options: dict[str, Any]) -> Making:
    reading = {name: options[name] for name in READING if name in options}
    declared = {name: value for name, value in options.items() if name not in READING}
    with foreign_errors(lambda words: DataError(f"this cannot be read: {words}.")):
        return Making(opened(source, item=item, **reading), items, item, **declared)
