"""`discreet doctor`: what is installed, and how to get what is not."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata, util

import typer

from discreet.cli.console import AsJson, answer_json, answer_table, answer_text

__all__ = ["doctor"]

CORE = ("numpy", "scipy", "polars", "pyarrow", "numba", "dp-accounting", "sqlalchemy", "typer", "rich", "altair")

EXTRAS: dict[str, tuple[tuple[str, ...], str]] = {
    "postgres": (("psycopg",), "ledgers and the service in PostgreSQL"),
    "pandas": (("pandas",), "tables from and to pandas"),
    "service": (("fastapi", "jinja2", "orjson", "uvicorn"), "discreet serve: HTTP API, jobs, keys and pages"),
    "client": (("httpx",), "dc.Client, for Python programs that use a service"),
    "spark": (("pyspark", "cloudpickle"), "records on a cluster of Apache Spark"),
    "lenskit": (("lenskit",), "LensKit models by name, ours in its pipelines"),
    "implicit": (("implicit",), "implicit models by name, in evaluations, attacks and audits"),
    "surprise": (("surprise",), "Surprise models by name"),
    "rectools": (("rectools",), "RecTools models by name, ours with its interface"),
    "recbole": (("recbole",), "RecBole models by name; Python 3.11"),
    "oracle": (("opendp",), "a second opinion on noise and maps"),
}
"""What each extra gives, and the modules that show that it is there."""


def doctor(as_json: AsJson = False) -> None:
    """Versions, threads, and optional parts: there, or how to get them.

    [bold]Example[/bold]

        discreet doctor
    """
    from discreet import __version__

    versions = {name: _version(name) for name in CORE}
    extras = {name: all(map(util.find_spec, modules)) for name, (modules, _) in EXTRAS.items()}
    threads = {"cores": os.cpu_count() or 1, "polars": _polars_threads(), "numba": _numba_threads()}
    if as_json:
        answer_json(
            {
                "discreet": __version__,
                "python": platform.python_version(),
                "system": platform.platform(),
                "threads": threads,
                "core": versions,
                "extras": extras,
            }
        )
    else:
        answer_text(f"discreet {__version__}, Python {platform.python_version()}, {platform.platform()}")
        answer_text(f"{threads['cores']} cores; threads: polars {threads['polars']}, numba {threads['numba']}")
        answer_table("Core", ["package", "version"], [(n, v or "MISSING") for n, v in versions.items()])
        rows = [
            (name, EXTRAS[name][1], "there" if present else f"pip install 'discreet[{name}]'")
            for name, present in extras.items()
        ]
        answer_table("Optional parts", ["extra", "for", "state"], rows)
    if missing := [name for name, version in versions.items() if version is None]:
        answer_text(f"Missing: {', '.join(missing)}. Reinstall with: {sys.executable} -m pip install discreet")
        raise typer.Exit(1)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _polars_threads() -> int:
    import polars

    return polars.thread_pool_size()


def _numba_threads() -> int:
    import numba

    return numba.get_num_threads()
