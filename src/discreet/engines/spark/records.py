"""Records on a cluster of Apache Spark: executors compute the sums of parts, the driver draws the noise.

The rows are shuffled once, so that all records of a person are in one partition, and written to a checkpoint. After
that nothing depends on the source any more: a task that runs again reads the same rows, and chooses the same records,
because it has the key of the release.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa

from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.data.problems import Problems
from discreet.engines.spark.checkpoints import Checkpoint
from discreet.engines.spark.errors import spark_errors
from discreet.engines.spark.files import schema_of, write_folder
from discreet.errors import DataError, DiscreetError
from discreet.privacy.bounding import added as added_up

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkRecords"]

T = TypeVar("T")

RECORDS_AT_ONCE = 1_000_000
"""About so many records of whole people an executor has in memory."""

BLOCK = 2**17
"""So many numbers of a sum, one megabyte, travel together."""

PERSON = "user_id"
ROWS = "place int, array int, block long, packed binary"
ERROR, MISSING, BOUNDS = -1, -2, -1
"""In the column "place": a refusal instead of sums, and rows that lack a value. In the column "array": what is equal
for all parts."""


class SparkRecords(Parted):
    """Records of a Spark session, from ``discreet.scan(…, engine=session)``, until ``close`` or the end of the program.

    They are what the source held when they were scanned. Executors need discreet in the driver's version.
    """

    def __init__(
        self,
        frame: DataFrame,
        made: Callable[[pl.DataFrame], Any],
        checkpoint: Checkpoint,
        person: str | None = PERSON,
        public: Any = None,
    ) -> None:
        self._frame, self._made, self._checkpoint, self._person = frame, made, checkpoint, person
        self._nobody = made(as_polars(frame.limit(0).toArrow()))
        self._missing: Problems | None = Problems("drop")  # until it was told, after the first job
        super().__init__(self._nobody.emptied() if public is None else public)

    @cached_property
    def n_parts(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._frame.rdd.getNumPartitions()

    def require_open(self) -> None:
        if self._checkpoint.closed:
            raise DataError("this scan was closed, and its checkpoint is gone.", remedy="Scan the data again.")

    def each(self, function: Callable[[Any], T]) -> Iterator[T]:
        self.require_open()
        with spark_errors():
            rows = self._frame.mapInArrow(_Each(self._made, self._person, function), ROWS).collect()
        # Of nobody, too: there may be no partition with records.
        yield function(self._nobody)
        for row in rows:
            if row.place == ERROR:
                raise pickle.loads(row.packed)
            if row.place == MISSING:
                self._count_missing(row.packed)
                continue
            yield pickle.loads(row.packed)
        self._tell_missing()

    def added(self, function: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        self.require_open()
        nobody = function(self._nobody)
        totals = [[np.zeros_like(array) for array in one.arrays] for one in nobody]
        many = min(sum(-(-array.size // BLOCK) for arrays in totals for array in arrays) + 1, self.n_parts)
        with spark_errors():
            mapped = self._frame.mapInArrow(_Sums(self._made, self._person, function), ROWS)
            keyed = mapped.rdd.map(lambda row: ((row.place, row.array, row.block), bytes(row.packed)))
            for (place, array, block), packed in keyed.reduceByKey(_together, many).toLocalIterator():
                if place == ERROR:
                    raise pickle.loads(packed)
                if place == MISSING:
                    self._count_missing(packed)
                    continue
                if array == BOUNDS:
                    _ = _without_values(nobody[place]) + pickle.loads(packed)  # refuses other bounds
                    continue
                flat = totals[place][array].reshape(-1)
                flat[block * BLOCK : (block + 1) * BLOCK] = np.frombuffer(packed, dtype=np.int64)
        self._tell_missing()
        found = zip(nobody, totals, strict=True)
        return tuple(one + one.with_arrays(tuple(arrays)) for one, arrays in found)

    def _count_missing(self, packed: bytes) -> None:
        """Take in what one partition has left out. Rows of a task that ran again arrive once, as sums do."""
        if self._missing is not None:
            rows, columns = pickle.loads(packed)
            self._missing.dropped += rows
            for name, count in columns.items():
                self._missing.dropped_by_column[name] = self._missing.dropped_by_column.get(name, 0) + count

    def _tell_missing(self) -> None:
        """Say once, when all partitions were read, how many rows were left out because a value is missing."""
        if self._missing is not None:
            told, self._missing = self._missing, None
            told.tell_dropped(self.name, stacklevel=3)

    def of_users(self, users: Sequence[Any]) -> Interactions:
        self.require_open()
        wanted = pl.Series(list(users), strict=False).cast(self._nobody.users.series.dtype, strict=False).drop_nulls()
        with spark_errors():
            schema = self._frame.select(PERSON).schema
            asked = self._frame.sparkSession.createDataFrame([(one,) for one in wanted.to_list()], schema)
            found = self._frame.join(asked, PERSON, "leftsemi").toArrow()
        return self._made(as_polars(found))

    def export(
        self, function: Callable[[Any], Iterator[pl.DataFrame]], path: str | Path, *, overwrite: bool, numbers: int = 0
    ) -> Path:
        """Write Parquet files into a folder, or CSV where its name ends so; executors write them."""
        self.require_open()
        first = next(iter(function(range(0) if numbers else self._nobody)))
        with spark_errors():
            schema = schema_of(first)
            if numbers:
                source = self._frame.sparkSession.range(0, numbers, 1, self.n_parts)
                mapped = source.mapInArrow(_ListsOfNumbers(function), schema)
            else:
                mapped = self._frame.mapInArrow(_Lists(self._made, self._person, function), schema)
        write_folder(mapped, path, overwrite=overwrite)
        return Path(path)

    def close(self) -> None:
        """Delete the checkpoint."""
        self._checkpoint.close()

    def __enter__(self) -> SparkRecords:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class _OnExecutor:
    """What an executor does with a partition; a refusal travels to the driver as a row instead of a stack trace."""

    made: Callable[[pl.DataFrame], Any]
    person: str | None
    function: Callable[[Any], Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        dropped, columns = 0, Counter[str]()

        def parts() -> Iterator[Any]:
            nonlocal dropped
            for group in whole_people(batches, self.person, RECORDS_AT_ONCE):
                part = self.made(group)
                dropped += part.dropped_missing
                columns.update(part.missing_by_column)
                yield self.function(part)

        try:
            yield from self.rows(parts())
        except DiscreetError as error:
            yield _row(ERROR, 0, _partition(), pickle.dumps(error))
        if dropped:
            yield _row(MISSING, 0, _partition(), pickle.dumps((dropped, dict(columns))))

    def rows(self, found: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


class _Each(_OnExecutor):
    def rows(self, found: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        for number, one in enumerate(found):
            yield _row(0, 0, number, pickle.dumps(one))


class _Sums(_OnExecutor):
    """The sums of a partition, in blocks; blocks of zeros are left out."""

    def rows(self, found: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        total: tuple[Any, ...] = ()
        for sums in found:
            total = tuple(map(add, total, sums)) if total else sums
        for place, one in enumerate(total):
            yield _row(place, BOUNDS, _partition(), pickle.dumps(_without_values(one)))
            for number, array in enumerate(one.arrays):
                flat = np.ascontiguousarray(array).reshape(-1)
                for block, begin in enumerate(range(0, flat.size, BLOCK)):
                    if flat[begin : begin + BLOCK].any():
                        yield _row(place, number, block, flat[begin : begin + BLOCK].tobytes())


@dataclass(frozen=True)
class _Lists:
    """Tables that are made of the people of a partition."""

    made: Callable[[pl.DataFrame], Any]
    person: str | None
    function: Callable[[Interactions], Iterator[pl.DataFrame]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for group in whole_people(batches, self.person, RECORDS_AT_ONCE):
            for table in self.function(self.made(group)):
                yield from _as_arrow(table)


@dataclass(frozen=True)
class _ListsOfNumbers:
    """Tables that are made of ranges of numbers."""

    function: Callable[[range], Iterator[pl.DataFrame]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                first, last = batch["id"][0].as_py(), batch["id"][-1].as_py()
                for table in self.function(range(first, last + 1)):
                    yield from _as_arrow(table)


def _as_arrow(table: pl.DataFrame) -> list[pa.RecordBatch]:
    return table.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _row(place: int, array: int, block: int, packed: bytes) -> pa.RecordBatch:
    types = (pa.int32(), pa.int32(), pa.int64(), pa.binary())
    columns = [pa.array([value], kind) for value, kind in zip((place, array, block, packed), types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=["place", "array", "block", "packed"])


def _together(one: bytes, other: bytes) -> bytes:
    return added_up(np.frombuffer(one, dtype=np.int64), np.frombuffer(other, dtype=np.int64)).tobytes()


def _without_values(sums: Any) -> Any:
    """The bounds of sums, without the sums."""
    return sums.with_arrays(tuple(array[(slice(0, 0),) * array.ndim] for array in sums.arrays))


def whole_people(batches: Iterator[pa.RecordBatch], user: str | None, at_once: int) -> Iterator[pl.DataFrame]:
    """Rows that are sorted by person, in groups of about ``at_once`` rows, each with all rows of its people.

    Without a column of the person every row is one.
    """
    waiting: list[pl.DataFrame] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(as_polars(pa.Table.from_batches([batch])))
        if sum(rows.height for rows in waiting) < at_once:
            continue
        rows = pl.concat(waiting)
        if user is None:
            waiting = []
            yield rows
            continue
        last = rows[user].eq_missing(rows[user].tail(1))
        waiting = [rows.filter(last)]
        if not last.all():
            yield rows.filter(~last)
    if waiting:
        yield pl.concat(waiting)


def as_polars(table: pa.Table) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(table))
