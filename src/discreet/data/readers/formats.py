"""Formats: how a folder or a file is recognized as one, which files it has, how they are written, what they mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from discreet.data.problems import Missing, Problems
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft, TagsDraft
from discreet.data.readers.files import first_line
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Records
from discreet.data.repeats import Duplicates
from discreet.errors import DataError

__all__ = ["USER_ITEM_RATING", "Format", "Location", "Source", "begins_with", "first_fields", "published"]


class Location:
    """A folder or a file to read.

    Parameters
    ----------
    path
        The path that the caller gave.
    trusted
        Whether the caller named the format: a file is then read whatever its name is.
    """

    def __init__(self, path: Path, *, trusted: bool = False) -> None:
        self.path = path
        self.trusted = trusted
        self.is_folder = path.is_dir()
        self.folder = path if self.is_folder else path.parent

    @cached_property
    def files(self) -> list[Path]:
        """The files of the folder, by name."""
        try:
            return sorted(path for path in self.folder.iterdir() if path.is_file())
        except OSError as error:
            raise DataError(f"the folder cannot be listed: {error.strerror}.", file=self.folder) from None

    def beside(self, *patterns: str) -> Path | None:
        """The first file of the folder with such a name, plain or with .gz, whatever its case."""
        return next((path for pattern in patterns for path in self.files if _matches(path, pattern)), None)

    def main(self, *patterns: str) -> Path | None:
        """The file that holds the records: the one that was given, or the first of the folder with such a name."""
        if self.is_folder:
            return self.beside(*patterns)
        return self.path if self.trusted or any(_matches(self.path, pattern) for pattern in patterns) else None

    def mains(self, *patterns: str) -> list[Path]:
        """All files that hold records, as in ``main``."""
        if not self.is_folder:
            return [path] if (path := self.main(*patterns)) else []
        return [path for path in self.files if any(_matches(path, pattern) for pattern in patterns)]

    def need(self, *patterns: str) -> Path:
        """As ``main``, but the file must be there."""
        path = self.main(*patterns)
        if path is None:
            raise DataError(
                f"there is no file {' or '.join(patterns)}.", file=self.path, remedy="Check the folder, or the format."
            )
        return path


@dataclass(frozen=True)
class Format:
    """A format that can be read.

    Parameters
    ----------
    name, aliases
        What the format is called in ``read(format=…)``.
    returns
        The type of the dataset.
    summary
        A description in one line.
    recognized
        How it is recognized, in words.
    recognize
        Whether a folder or file has this format.
    load
        Reads it; its keyword arguments are options of the format.
    more_options
        Options that ``load`` takes by ``**``.
    """

    name: str
    returns: str
    summary: str
    recognized: str
    recognize: Callable[[Location], bool]
    load: Callable[..., Any]
    aliases: tuple[str, ...] = ()
    more_options: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that the format is called."""
        return (self.name, *self.aliases)

    @property
    def options(self) -> tuple[str, ...]:
        """The options of this format, besides those of the dataset that it returns."""
        named = inspect.signature(self.load).parameters.values()
        return (*(option.name for option in named if option.kind is option.KEYWORD_ONLY), *self.more_options)


def first_fields(path: Path | None, separator: str) -> list[str]:
    """The fields of the first line of a file, in lower case and without quotes; none without a file."""
    if path is None:
        return []
    return [field.strip().strip('"').casefold() for field in first_line(path).split(separator)]


def begins_with(path: Path | None, separator: str, *names: str) -> bool:
    """Whether the header of a file begins with these columns."""
    return first_fields(path, separator)[: len(names)] == [name.casefold() for name in names]


def _matches(path: Path, pattern: str) -> bool:
    return fnmatch(path.name.lower().removesuffix(".gz"), pattern.lower())


# Formats that are described by their files

USER_ITEM_RATING = (Column("user_id", "integer"), Column("item_id", "integer"), Column("rating", "number"))

Finish = Callable[[Records, Location, str | None], Records]
"""Changes records after reading: gets them, the folder with its other files, and the given encoding."""


@dataclass(frozen=True)
class Source:
    """One file of a published format.

    Parameters
    ----------
    files
        The names that it may have, the usual one first.
    layout
        How it is written; a function of its path and first line where there are several ways.
    finish
        What is done with the records afterwards.
    """

    files: tuple[str, ...]
    layout: Layout | Callable[[Path, str], Layout]
    finish: Finish | None = None

    def read(
        self,
        location: Location,
        *,
        encoding: str | None = None,
        path: Path | None = None,
        problems: Problems | None = None,
    ) -> Records:
        """The records; by default of the file that the caller gave, or that the folder has.

        Parameters
        ----------
        encoding
            Instead of the one that the format is published in.
        problems
            Where everything that is wrong with a line is counted; without it, that is an error.
        """
        path = path or location.need(*self.files)
        layout = self.layout
        if not isinstance(layout, Layout):
            layout = layout(path, first_line(path, encoding=encoding or "utf-8"))
        records = read_delimited(path, replace(layout, encoding=encoding) if encoding else layout, problems)
        if self.finish is None:
            return records
        if problems is not None:
            problems.require_none()  # what comes now knows nothing of rows that are not there
        return self.finish(records, location, encoding)

    def read_beside(self, location: Location, *, encoding: str | None = None) -> pl.DataFrame | None:
        """The table in the same folder; None where there is none."""
        path = location.beside(*self.files)
        return None if path is None else self.read(location, encoding=encoding, path=path).frame


def published(
    name: str,
    summary: str,
    recognized: str,
    *,
    records: Source,
    items: Source | None = None,
    users: Source | None = None,
    scale: str | None = None,
    duplicates: Duplicates = "error",
    tags: bool = False,
    recognize: Callable[[Location], bool] | None = None,
    aliases: tuple[str, ...] = (),
) -> Format:
    """A format that is wholly described by its files.

    Parameters
    ----------
    name, summary, recognized, aliases
        As in :class:`Format`.
    records, items, users
        The files.
    scale, duplicates
        As in :class:`InteractionsDraft`.
    tags
        Whether the records are tag assignments.
    recognize
        Whether a folder or file has this format; by default, whether the file of the records is there.
    """

    def load(place: Location, *, encoding: str | None = None, missing: Missing = "error", tables: bool = True) -> Any:
        problems = Problems(missing)
        found = records.read(place, encoding=encoding, problems=problems)
        if tags:
            return TagsDraft(found, problems=problems)
        sides = [s.read_beside(place, encoding=encoding) if s and tables else None for s in (items, users)]
        return InteractionsDraft(
            found, scale=scale, duplicates=duplicates, items=sides[0], users=sides[1], problems=problems
        )

    def load_records(place: Location, *, encoding: str | None = None, missing: Missing = "error") -> Any:
        return load(place, encoding=encoding, missing=missing)

    return Format(
        name,
        "TagAssignments" if tags else "Interactions",
        summary,
        recognized,
        recognize or (lambda place: place.main(*records.files) is not None),
        load if items or users else load_records,
        aliases=aliases,
    )
