"""Data that may be larger than memory: the options that say how they are read, and what is chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from discreet.cli.console import counted, note, working
from discreet.cli.reading import CatalogReading, RecordsReading, columns_of, named_contexts
from discreet.common.memory import available_memory
from discreet.common.numerals import parse_whole
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from discreet.data import Interactions
    from discreet.data.parted import Parted

__all__ = ["DataFiles", "PartsCatalogReading", "PartsReading", "found_files", "located"]

DataFiles = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A file, a folder of files, a pattern such as 'shop/*.parquet', or ml-1m, ml-100k, ciao of `make data`.",
    ),
]

SHARE = 8
"""Files that are larger than one part in so many of the available memory are read in parts."""

SCANNED = ("csv", "tsv", "text", "parquet", "arrow", "feather", "discreet")
"""Formats of files that can be read in parts."""


@dataclass(frozen=True, kw_only=True)
class PartsReading(RecordsReading):
    """How records are read that may be larger than memory."""

    ELSEWHERE: ClassVar = ("parts", "temporary", "engine", "master", "conf")

    parts: Annotated[
        str,
        typer.Option(
            "--parts",
            metavar="auto|N|memory",
            help="Read the records in N parts, one at a time, or all of them into memory. auto: in parts if the files "
            "are larger than an eighth of the available memory. It changes nothing about a release.",
        ),
    ] = "auto"
    temporary: Annotated[
        Path | None,
        typer.Option(
            "--temporary", metavar="FOLDER", help="Where the parts are kept for the time; $TMPDIR by default."
        ),
    ] = None
    engine: Annotated[
        str | None,
        typer.Option("--engine", metavar="spark", help="Let a cluster of Apache Spark compute the sums (extra spark)."),
    ] = None
    master: Annotated[
        str, typer.Option("--master", metavar="URL", help="With --engine spark: local[2], spark://…, yarn, k8s://….")
    ] = "local[*]"
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark; repeatable."),
    ] = None

    def records(
        self, path: Path, method: Any, *, contexts: Sequence[str] = (), public: bool = False, items: str | None = None
    ) -> Interactions | Parted:
        """The records for a method: in memory, or in parts where that was asked for or they are too large.

        Parameters
        ----------
        method
            What reads them. One that looks at everybody at once needs memory, which is said before anything is charged.
        contexts
            Contexts that the command counts by.
        public
            Whether only what is public about the records is needed, for an estimate.
        items
            The public items, where they are not given by an option.
        """
        if self.engine is not None:
            return self._on_cluster(path, method, contexts, public=public, items=items)
        parts = self._chosen(path, method)
        if parts is None:
            return self.interactions(path, contexts=contexts)
        from discreet.engines.scanning import public_side, scan

        files = found_files(path)
        options = self._options(files[0], contexts, items)
        if public:
            return public_side(files, **options)
        with working(f"reading {path} in parts"):
            data = scan(files, parts=parts, folder=self.temporary, **options)
        note(f"{path}: read in {counted(data.n_parts, 'part')}, one at a time in memory")
        return data

    def any_data(self, path: Path) -> Any:
        """Data of any kind, of which a ledger is to know the fingerprint: interactions may come in parts."""
        files = found_files(path)
        if self.engine is not None or len(files) > 1 or self._chosen(path, None) is not None:
            return self.records(path, None, items="observed")
        return self.read(files[0])

    def interactions(self, path: Path, *, contexts: Sequence[str] = ()) -> Interactions:
        """In memory; several files are put together."""
        files = found_files(path)
        if len(files) == 1:
            return super().interactions(files[0], contexts=contexts)
        from discreet.engines.scanning import collect

        with working(f"reading {path}"):
            return collect(files, **self._options(files[0], contexts, None))

    def _chosen(self, path: Path, method: Any) -> int | Literal["auto"] | None:
        """How many parts; None for memory."""
        asked = _parts(self.parts)
        if asked == "memory":
            return None
        columns, known = columns_of(self.column or []), False
        everybody = f"{getattr(method, 'name', 'this')} looks at everybody at once"
        sums = method is None or getattr(method, "reads", "") == "sums"
        if asked != "auto":
            if not sums:
                raise UsageError(
                    f"{everybody} and needs the data in memory.", remedy="Leave --parts out, or give --parts memory."
                )
            if not scanned_format(path, self.format, columns):
                raise UsageError(
                    f"{path} is of a format that is read in memory alone.",
                    remedy="Write it as Parquet once: discreet data convert DATA --out records.parquet; or name a "
                    "plain table with --format csv or --format parquet.",
                )
            return asked
        size, available = sum(file.stat().st_size for file in found_files(path) if file.is_file()), available_memory()
        if size * SHARE <= available:
            return None
        with suppress(DataError):  # reading it in memory says the same
            known = scanned_format(path, self.format, columns)
        if not known:
            return None
        large = f"{path} ({size / 1e9:,.1f} GB) is larger than an eighth of the {available / 1e9:,.1f} GB of memory"
        if not sums:
            note(f"{large}, but {everybody}: all of it is read into memory.")
            return None
        note(f"{large} that is available: it is read in parts (--parts memory reads all of it).")
        return "auto"

    def _on_cluster(
        self, path: Path, method: Any, contexts: Sequence[str], *, public: bool, items: str | None
    ) -> Interactions | Parted:
        """Records that executors read."""
        if self.engine != "spark":
            raise UsageError(f"--engine {self.engine} is not known.", remedy="Give --engine spark, or leave it out.")
        parts = _parts(self.parts)
        if parts == "memory" or not (method is None or getattr(method, "reads", "") == "sums"):
            raise UsageError("what needs the data in memory does not run on Spark.", remedy="Leave --engine out.")
        if self.encoding is not None:
            raise UsageError("Spark reads text in UTF-8.", remedy="Leave --encoding out, or write the data as Parquet.")
        from discreet.data.contexts import columns_named
        from discreet.engines.scanning import public_side, scan
        from discreet.engines.spark.session import open_session

        settings = dict(_setting(text) for text in self.conf or ())
        options = self._options(path, (), items)
        if contexts:
            options["context"] = list(dict.fromkeys([*options.get("context", ()), *columns_named(contexts)]))
        with working(f"reading {path} with Spark"):
            session = open_session(self.master, settings)
            if public:
                return public_side(located(path), engine=session, **options)
            temporary = None if self.temporary is None else located(self.temporary)
            data = scan(located(path), engine=session, parts=parts, folder=temporary, **options)
        note(f"{located(path)}: {counted(data.n_parts, 'partition')} on {self.master}")
        return data

    def _options(self, file: Path, contexts: Sequence[str], items: str | None) -> dict[str, Any]:
        """The options of ``scan``."""
        columns = columns_of(self.column or [])
        if contexts:
            columns |= named_contexts(file, self.format, columns.get("context", []), contexts)
        names = ("scale", "duplicates", "missing", "ids", "encoding", "window", "time_zone")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return {**columns, **given, "items": items or self._items()}

    def _items(self) -> Any:
        return None


@dataclass(frozen=True, kw_only=True)
class PartsCatalogReading(PartsReading, CatalogReading):
    """How records are read for a release that may be made in parts."""

    def _items(self) -> Any:
        if self.catalog is not None and self.items_public:
            raise UsageError("with several files or in parts, give one of --catalog and --items-public.")
        return "observed" if self.items_public else self.catalog


def located(path: Path) -> str:
    """An absolute path as text; a URL, which a ``Path`` shortens, as it was given."""
    url = re.sub(r"^([a-z][a-z0-9+.-]+):/(?!/)", r"\1://", str(path))
    return url if "://" in url else str(path.absolute())


def _setting(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"--conf {text!r} is not understood.", remedy="Write NAME=VALUE.")
    return name, value


def found_files(path: Path) -> list[Path]:
    """The files of a path, a pattern or a folder; the path itself where ``read`` knows what it is."""
    from discreet.data.readers import detect
    from discreet.engines.sources import files_of

    if path.is_file() or not path.exists():
        return files_of(path) if any(sign in str(path) for sign in "*?[") and not path.exists() else [path]
    try:
        detect(path)
    except DataError:
        return files_of(path)
    return [path]


def scanned_format(path: Path, format: str | None, columns: dict[str, Any]) -> bool:
    """Whether all files hold interactions in a format that can be read in parts."""
    from discreet.data.readers import detect
    from discreet.engines.sources import holds_interactions

    return all(
        (format or detect(file).name) in SCANNED and holds_interactions(file, **columns) for file in found_files(path)
    )


def _parts(text: str) -> int | Literal["auto", "memory"]:
    if text in ("auto", "memory"):
        return text  # type: ignore[return-value]
    try:
        number = parse_whole(text)
    except (ValueError, OverflowError):
        number = 0
    if number < 1:
        raise UsageError(f"--parts must be auto, memory or a number from 1, got {text!r}.")
    return number
