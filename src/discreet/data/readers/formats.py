"""The known formats, and how a folder or a file is recognized as one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.data.readers.files import first_line
from discreet.errors import DataError

__all__ = ["Format", "Location", "begins_with", "first_fields"]


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
