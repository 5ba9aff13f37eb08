"""Checkpoints of Spark: rows in a folder that executors read again, and that is removed afterwards."""

from __future__ import annotations

import os
import tempfile
import weakref
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.engines.spark.files import hadoop_path
from discreet.engines.spilling import CHECKPOINT, PREFIX, locked_folder, remove, remove_orphans
from discreet.errors import UsageError
from discreet.privacy import entropy

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Checkpoint"]


class Checkpoint:
    """A folder for the rows of one scan, which nobody else may read.

    Parameters
    ----------
    folder
        Where the rows go, as executors name it.
    finish
        What removes it.
    """

    def __init__(self, session: SparkSession, folder: str, finish: Callable[[], None]) -> None:
        self._session, self._folder = session, folder
        self._finish = weakref.finalize(self, finish)

    @classmethod
    def made(cls, session: SparkSession, parent: str | None) -> Checkpoint:
        """A new folder in another one: on this machine where Spark runs on it alone, or by its URL."""
        master = str(session.sparkContext.master)
        if parent is None and not master.startswith("local"):
            raise UsageError(
                f"executors of {master} need a folder that all of them reach.",
                remedy='Give folder="hdfs://…" or another URL that Spark can write to; the records are in it for a '
                "while.",
            )
        if master.startswith("local") and ":/" not in str(parent or ""):
            where = Path(parent or tempfile.gettempdir())
            remove_orphans(where)
            place, lock = locked_folder(where)
            return cls(session, (place / CHECKPOINT).as_uri(), partial(remove, place, lock, os.getpid()))
        folder = f"{str(parent).rstrip('/')}/{PREFIX}{entropy.public_bytes(8).tobytes().hex()}"
        path, system = hadoop_path(session, folder)
        spark: Any = session.sparkContext
        system.mkdirs(path, spark._jvm.org.apache.hadoop.fs.permission.FsPermission("700"))
        return cls(session, folder, partial(_remove_url, session, folder))

    def written(self, frame: DataFrame) -> DataFrame:
        """The rows, from now on read from this folder."""
        spark: Any = self._session.sparkContext
        context = spark._jsc.sc()
        earlier = context.checkpointDir()
        spark.setCheckpointDir(self._folder)
        try:
            return frame.checkpoint(eager=True)
        finally:
            getattr(context, "checkpointDir_$eq")(earlier)  # the caller's own checkpoints go where they went

    @property
    def closed(self) -> bool:
        return not self._finish.alive

    def close(self) -> None:
        self._finish()


def _remove_url(session: SparkSession, folder: str) -> None:
    if session.sparkContext._jsc is not None:  # otherwise the session has ended
        path, system = hadoop_path(session, folder)
        system.delete(path, True)
