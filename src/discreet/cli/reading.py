"""The options of every command that reads data, and what is read with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from discreet.cli.console import working
from discreet.common.plain_json import read_json
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from discreet.data import Interactions, Table, TagAssignments

__all__ = [
    "CatalogReading",
    "DataPath",
    "Reading",
    "RecordsReading",
    "TableReading",
    "TimedReading",
    "columns_of",
    "json_file",
    "named_contexts",
]

DataPath = Annotated[
    Path, typer.Argument(metavar="DATA", help="A file or folder, or ml-1m, ml-100k, ciao, adult of `make data`.")
]
FormatOption = Annotated[str | None, typer.Option("--format", help="Format by name; otherwise it is recognized.")]

MissingOption = Annotated[
    str | None,
    typer.Option("--missing", metavar="POLICY", help="Rows that lack a value: error (the default) or drop."),
]
EncodingOption = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Of a text file: utf-8 (the default), cp1252, latin-1, utf-16."),
]

ROLES = ("user", "item", "rating", "timestamp", "context", "resource", "tag")
BESIDE = ("user_taggedartists.dat", "user_taggedmovies.dat", "tags.csv", "tags.dat")
"""Tags in folders that are read as plays or ratings otherwise: HetRec's Last.fm and MovieLens, and MovieLens itself."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How data are read; what was not given is left to the format."""

    PANEL: ClassVar = "Reading"
    ELSEWHERE: ClassVar[tuple[str, ...]] = ()
    """Options that say where and when records are read, not how."""

    format: FormatOption = None
    missing: MissingOption = None
    encoding: EncodingOption = None
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="ROLE=NAME", help="Column of a generic file, e.g. user=customer; repeatable."),
    ] = None
    ids: Annotated[
        str | None,
        typer.Option(
            "--ids",
            metavar="TYPE",
            help="Type of the ids of a text file: text (the default), number, or for each role: user=number,item=text.",
        ),
    ] = None

    def read(self, path: Path, *, contexts: Sequence[str] = ()) -> Interactions | TagAssignments | Table:
        """Read data of any kind.

        Parameters
        ----------
        contexts
            Contexts that the command counts by; their columns are read where the format reads those that are named.
        """
        from discreet.data import read

        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in self.ELSEWHERE}
        columns = columns_of(given.pop("column") or [])
        if contexts:
            columns |= named_contexts(path, self.format, columns.get("context", []), contexts)
        with working(f"reading {path}"):
            return read(path, **columns, **{name: value for name, value in given.items() if value not in (None, False)})

    def interactions(self, path: Path, *, contexts: Sequence[str] = ()) -> Interactions:
        """Read data that must be interactions, with these context columns."""
        from discreet.data import Interactions

        return _expected(self.read(path, contexts=contexts), Interactions, path, "interactions (user, item, …)")

    def tags(self, path: Path) -> TagAssignments:
        """Read data that must be triples. A folder of HetRec 2011 or of MovieLens is read for its tags."""
        from discreet.data import TagAssignments
        from discreet.data.readers import detect

        if self.format is None and path.is_dir() and "TagAssignments" not in detect(path).returns:
            path = next((path / name for name in BESIDE if (path / name).is_file()), path)
        columns = "Name the columns: --column user=… --column resource=… --column tag=…."
        return _expected(self.read(path), TagAssignments, path, "tags (user, resource, tag)", remedy=columns)

    def table(self, path: Path) -> Table:
        """Read data that must be a table with declared domains."""
        from discreet.data import Table

        known = "Give --domains FILE, a table that discreet wrote, or a known one (discreet data list)."
        return _expected(self.read(path), Table, path, "a table of attributes with declared domains", remedy=known)


@dataclass(frozen=True, kw_only=True)
class TimedReading(Reading):
    """How records are read that may have times, such as tags."""

    window: Annotated[
        str | None,
        typer.Option("--window", metavar="DAYS", help="The days that count: 2026-11 or 2026-11-01..2026-11-30."),
    ] = None
    time_zone: Annotated[
        str | None, typer.Option("--time-zone", metavar="ZONE", help="Where days begin: Europe/Berlin; UTC by default.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RecordsReading(TimedReading):
    """How records of users and items are read."""

    scale: Annotated[
        str | None,
        typer.Option("--scale", metavar="LOW:HIGH[:STEP]", help="The public rating scale of a generic file."),
    ] = None
    duplicates: Annotated[
        str | None, typer.Option("--duplicates", help="Several records of one user and item: error, last, sum or keep.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class CatalogReading(RecordsReading):
    """How records are read for a release, which needs a public list of items."""

    catalog: Annotated[
        Path | None, typer.Option("--catalog", metavar="FILE", help="The public list of items, a table or ids.")
    ] = None
    items_public: Annotated[
        bool, typer.Option("--items-public", help="Declare that it is public knowledge which items occur.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class TableReading:
    """How a table is read."""

    PANEL: ClassVar = "Reading"

    attributes: Annotated[
        str | None, typer.Option("--attributes", metavar="NAME,…", help="Use these attributes alone.")
    ] = None
    domains: Annotated[
        Path | None, typer.Option("--domains", metavar="FILE", help="Public domains of attributes, in JSON.")
    ] = None
    format: FormatOption = None
    encoding: EncodingOption = None

    def read(self, path: Path) -> Table:
        """Read a table with these attributes; a bare file needs domains, any other may be given wider ones."""
        from discreet.data import Table, read
        from discreet.data.domains import domains_from_json

        if self.domains is None:
            table = Reading(format=self.format, encoding=self.encoding).table(path)
        else:
            given = {} if self.encoding is None else {"encoding": self.encoding}
            table = read(
                path, format=self.format, domains=domains_from_json(json_file(self.domains), file=self.domains), **given
            )
            assert isinstance(table, Table)
        return table if self.attributes is None else table.with_attributes(_names(self.attributes))


def json_file(path: Path) -> Any:
    """What a JSON file of the user holds."""
    try:
        return read_json(path)
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror or error}.", file=path) from None
    except ValueError as error:
        raise DataError(f"this is not JSON: {error}.", file=path) from None


def _expected(data: Any, kind: type, path: Path, what: str, *, remedy: str = "") -> Any:
    if not isinstance(data, kind):
        raise UsageError(f"{path} holds {type(data).__name__}; this command needs {what}.", remedy=remedy)
    return data


def columns_of(given: Sequence[str]) -> dict[str, Any]:
    """The columns that were named, by role; there may be several of context."""
    columns: dict[str, Any] = {}
    for role, name in map(_role, given):
        columns[role] = [*columns.get(role, ()), name] if role == "context" else name
    return columns


def named_contexts(path: Path, format: str | None, named: list[str], declared: Sequence[str]) -> dict[str, Any]:
    """The option of the format that reads the columns of declared contexts; none where it reads all that it has."""
    from discreet.data.contexts import columns_named
    from discreet.data.readers import detect, formats

    found = detect(path) if format is None else next((one for one in formats() if format in one.names), None)
    if found is None or "context" not in found.options:
        return {}
    return {"context": list(dict.fromkeys([*named, *columns_named(declared)]))}


def _role(text: str) -> tuple[str, str]:
    role, separator, name = text.partition("=")
    if not separator or role not in ROLES:
        raise UsageError(
            f"--column {text!r} is not understood.", remedy=f"Write ROLE=NAME; the roles are {', '.join(ROLES)}."
        )
    return role, name


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]
