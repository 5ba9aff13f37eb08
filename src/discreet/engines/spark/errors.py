"""Errors of Spark as errors of discreet."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import DataError

__all__ = ["spark_errors"]

STACK = ("at ", "File ", "Traceback", "JVM stacktrace", "Driver stacktrace", "...", "^", "raise ", "return ")


@contextmanager
def spark_errors() -> Iterator[None]:
    """Errors of Spark without their stack traces, and without its warnings about libraries that are not used here."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            yield
    except (PySparkException, Py4JError) as error:
        lines = [line.strip() for line in str(error).splitlines()]
        told = " ".join(line for line in lines if line and not line.startswith(STACK))
        raise DataError(
            f"Spark failed: {told[:300] or type(error).__name__}.", remedy="The log of Spark says more."
        ) from error
