"""Folders that Spark reads and writes: by the ending of their names, complete or not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.engines.spark.errors import spark_errors
from discreet.errors import DataError, UsageError
from discreet.privacy import entropy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["hadoop_path", "read_paths", "schema_of", "write_folder"]

MARK = "_discreet"
"""A file in every folder that discreet wrote, and may replace. Spark does not read files that begin so."""


def read_paths(session: SparkSession, source: Any) -> tuple[DataFrame, str, bool]:
    """The rows of files that Spark reads by their ending, Parquet where there is none; a name; whether all are text."""
    paths = [str(source)] if isinstance(source, str | Path) else [str(one) for one in source]
    if not paths:
        raise DataError("there is nothing to scan.", remedy="Give at least one path.")
    endings = {Path(path).suffix.lower() for path in paths}
    if len(endings) > 1:
        raise DataError(f"these are files of different kinds: {', '.join(sorted(endings))}.")
    ending, first = endings.pop(), Path(paths[0]).name.split(".")[0].strip("*")
    with spark_errors():
        if ending in (".csv", ".tsv"):
            separator = "," if ending == ".csv" else "\t"
            return session.read.csv(paths, header=True, sep=separator, escape='"'), first, True
        if ending == ".orc":
            return session.read.orc(paths), first, False  # type: ignore[arg-type]
        return session.read.parquet(*paths), first, False


def hadoop_path(session: SparkSession, folder: str) -> tuple[Any, Any]:
    """A path and its file system."""
    context: Any = session.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(folder)
    return path, path.getFileSystem(context._jsc.hadoopConfiguration())


def schema_of(table: pl.DataFrame) -> StructType:
    """The columns of a table, as Spark names them."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(table.head(0).to_arrow(compat_level=pl.CompatLevel.oldest()).schema)


def write_folder(frame: DataFrame, path: str | Path, *, overwrite: bool) -> None:
    """Write rows beside the place, for the owner alone, and move them there when they are complete.

    A folder is replaced only if discreet wrote it.
    """
    session, given = frame.sparkSession, str(path)
    target, system = hadoop_path(session, given)
    spark: Any = session.sparkContext
    mark, _ = hadoop_path(session, f"{given}/{MARK}")

    def require_ours() -> None:
        if not system.exists(target):
            return
        if not overwrite:
            raise UsageError(f"{path} is there already.", remedy="Choose another place, or overwrite=True.")
        if not system.exists(mark):
            raise UsageError(f"{path} is not replaced: discreet did not write it.", remedy="Choose another place.")

    require_ours()
    aside, _ = hadoop_path(session, f"{given.rstrip('/')}.discreet-{entropy.public_bytes(6).tobytes().hex()}")
    system.mkdirs(aside, spark._jvm.org.apache.hadoop.fs.permission.FsPermission("700"))
    try:
        with spark_errors():
            writer = frame.write.mode("append")
            if Path(given).suffix.lower() == ".csv":
                writer.csv(aside.toString(), header=True)
            else:
                writer.parquet(aside.toString())
        system.create(hadoop_path(session, f"{aside.toString()}/{MARK}")[0]).close()
        require_ours()  # somebody may have made the folder meanwhile
        system.delete(target, True)
        if not system.rename(aside, target):
            raise UsageError(f"{path} cannot be written.", remedy="Does the folder above it exist?")
    except BaseException:
        system.delete(aside, True)
        raise
