"""Rows of a cluster become records in parts: one shuffle by person, one checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.common.foreign import foreign_errors
from discreet.data.id_forms import IdKinds, id_kinds
from discreet.data.interactions import Interactions
from discreet.data.problems import Missing, Problems
from discreet.data.readers.generic import Roles
from discreet.data.readers.records import Origins, Records
from discreet.engines.kinds import TableRows, TagRows
from discreet.engines.scanning import Making
from discreet.engines.sources import Source, require_items
from discreet.engines.spark.checkpoints import Checkpoint
from discreet.engines.spark.errors import spark_errors
from discreet.engines.spark.files import read_paths
from discreet.engines.spark.records import PERSON, SparkRecords, as_polars
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["public_on_cluster", "scan_on_cluster"]

PARTS_FOR_EACH_CORE = 2


def scan_on_cluster(
    session: SparkSession, source: Any, *, parts: int | None = None, folder: str | None = None, **options: Any
) -> SparkRecords:
    """Records of a ``DataFrame``, or of paths that Spark reads; arguments as in ``discreet.scan``."""
    require_executors(session)
    chosen, rows = _described(session, source, **options)
    many = parts or PARTS_FOR_EACH_CORE * session.sparkContext.defaultParallelism
    checkpoint = Checkpoint.made(session, folder)
    try:
        with spark_errors():
            written = checkpoint.written(chosen.repartition(many, PERSON).sortWithinPartitions(PERSON))
            rows.settle(written)
            return SparkRecords(written, rows, checkpoint)
    except BaseException:
        checkpoint.close()
        raise


def rows_on_cluster(
    session: SparkSession, source: Any, how: TagRows | TableRows, *, parts: int | None, folder: str | None
) -> SparkRecords:
    """Tags or rows of a table. Without a group every row is a person: rows stay in the partitions that they are in."""
    require_executors(session)
    rows = source if hasattr(source, "repartition") else read_paths(session, source)[0]
    if missing := [name for name in how.columns if name not in rows.columns]:
        raise DataError("there is no such column.", column=missing[0], remedy=f"There are {', '.join(rows.columns)}.")
    if isinstance(how, TagRows):
        how = replace(how, tags=_listed(how.tags), resources=_listed(how.resources))
    many = parts or PARTS_FOR_EACH_CORE * session.sparkContext.defaultParallelism
    checkpoint = Checkpoint.made(session, folder)
    try:
        with spark_errors():
            chosen = rows.select(*(f"`{name}`" for name in how.columns))
            if how.person is not None:
                chosen = chosen.repartition(many, f"`{how.person}`").sortWithinPartitions(f"`{how.person}`")
            written = checkpoint.written(chosen)
            empty = as_polars(written.limit(0).toArrow())
            return SparkRecords(written, how.made, checkpoint, how.person, how.public(empty, written.count()))
    except BaseException:
        checkpoint.close()
        raise


def _listed(given: Any) -> Any:
    """A public list, in memory."""
    return as_polars(given.toArrow()).to_series() if hasattr(given, "toArrow") else given


def public_on_cluster(session: SparkSession, source: Any, **options: Any) -> Interactions:
    """What is public about records: an estimate needs no more. Records are read only for items that are public."""
    chosen, rows = _described(session, source, **options)
    with spark_errors():
        rows.settle(chosen)
        return rows(as_polars(chosen.limit(0).toArrow())).emptied()


def _described(
    session: SparkSession,
    source: Any,
    *,
    roles: Mapping[str, Any],
    items: Any,
    declared: Mapping[str, Any],
    missing: Missing = "error",
    ids: IdKinds = None,
    name: str | None = None,
) -> tuple[DataFrame, _Rows]:
    """The columns that are read, under the names of this package, and how their rows become records."""
    from pyspark.sql.functions import col

    is_frame = hasattr(source, "repartition")
    given, first, text = (source, "", False) if is_frame else read_paths(session, source)
    _, matched = Roles(**roles, what="interactions").matched(given.columns, None)
    kinds = id_kinds(ids or ("text" if text else None), ("user", "item"))
    found = Source(
        files=(Path(first),) if text else (),
        columns=tuple(matched.values()),
        readers=[],
        problems=Problems(missing),
        ids=kinds,
        typed=not text,
        blanks=not text,
        name=first if name is None else name,
    )
    require_items(items, found)
    items = as_polars(items.toArrow()) if hasattr(items, "toArrow") else items
    how = Making(found, items, roles.get("item"), **declared)
    # Before the shuffle: "1" and "01" may be one person, who must be in one partition.
    numbers = {f"{one}_id" for one in ("user", "item") if kinds.get(one) == "number"}
    columns = [(role, col(f"`{column}`")) for column, role in matched.items()]
    chosen = given.select(*((one.cast("bigint") if role in numbers else one).alias(role) for role, one in columns))
    return chosen, _Rows(how, {role: column for column, role in matched.items()})


class _Rows:
    """How rows become records, on executors as everywhere."""

    def __init__(self, how: Making, names: Mapping[str, str]) -> None:
        self._how, self._names = how, dict(names)

    def settle(self, rows: DataFrame) -> None:
        """Look for the items that occur, where it was declared that they are public."""
        if self._how.observed:
            self._how.seen = [as_polars(rows.select("item_id").distinct().toArrow())["item_id"]]

    def __call__(self, rows: pl.DataFrame) -> Interactions:
        # What is counted about these rows goes with them: a task that runs again begins anew.
        source = replace(self._how.source, problems=Problems(self._how.source.problems.missing))
        if rows.schema.get("rating") == pl.String:
            with foreign_errors(lambda words: DataError(f"a rating is no number: {words}.", column="rating")):
                rows = rows.with_columns(pl.col("rating").str.strip_chars().cast(pl.Float64))
        good = source.good(Records(rows, Origins(), self._names)).frame
        source.problems.require_none()
        made = self._how.made(self._how.alike(good.select(source.columns)))
        made.dropped_missing, made.missing_by_column = source.problems.dropped, source.problems.dropped_by_column
        return made


def require_executors(session: SparkSession) -> None:
    """Refuse a cluster whose executors cannot compute what the driver asks for."""
    import discreet

    def version(_: Any) -> list[str]:
        try:
            from discreet import __version__
        except ImportError:
            return [""]
        return [__version__]

    context = session.sparkContext
    with spark_errors():
        found = set(
            context.parallelize(range(many := context.defaultParallelism), many).mapPartitions(version).collect()
        )
    if found - {discreet.__version__}:
        raise UsageError(
            "discreet is not installed on all executors."
            if "" in found
            else f"executors have discreet {', '.join(sorted(found))}, and the driver has {discreet.__version__}.",
            remedy="Install the driver's version there, or ship an environment with --archives; PYSPARK_PYTHON names "
            "its Python.",
        )
