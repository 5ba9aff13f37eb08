"""Published formats described as tables: which files a dataset has, how they are written, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from discreet.data.duplicates import Duplicates
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft, TagsDraft
from discreet.data.readers.files import first_line
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Records

__all__ = ["USER_ITEM_RATING", "Source", "published"]

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

    def read(self, location: Location, *, encoding: str | None = None, path: Path | None = None) -> Records:
        """The records; by default of the file that the caller gave, or that the folder has.

        Parameters
        ----------
        encoding
            Instead of the one that the format is published in.
        """
        path = path or location.need(*self.files)
        layout = self.layout
        if not isinstance(layout, Layout):
            layout = layout(path, first_line(path, encoding=encoding or "utf-8"))
        records = read_delimited(path, replace(layout, encoding=encoding) if encoding else layout)
        return records if self.finish is None else self.finish(records, location, encoding)

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

    def load(place: Location, *, encoding: str | None = None, tables: bool = True) -> Any:
        found = records.read(place, encoding=encoding)
        if tags:
            return TagsDraft(found)
        sides = [s.read_beside(place, encoding=encoding) if s and tables else None for s in (items, users)]
        return InteractionsDraft(found, scale=scale, duplicates=duplicates, items=sides[0], users=sides[1])

    def load_records(place: Location, *, encoding: str | None = None) -> Any:
        return load(place, encoding=encoding)

    return Format(
        name,
        "TagAssignments" if tags else "Interactions",
        summary,
        recognized,
        recognize or (lambda place: place.main(*records.files) is not None),
        load if items or users else load_records,
        aliases=aliases,
    )
