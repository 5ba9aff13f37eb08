"""Writing of reports: aside first, then renamed, so that a report is there whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.common.plain_json import read_json
from discreet.common.replacing import Kind, place_for, strangers

__all__ = ["MARK", "PAGE", "ReportFolder", "json_text", "save_page"]

MARK = '<meta name="generator" content="discreet">'
"""In the head of every page: only pages with it are replaced."""


def _foreign_page(path: Path) -> str | None:
    with path.open("rb") as file:
        return None if MARK.encode() in file.read(4096) else "it is not a page of discreet"


PAGE = Kind("page", _foreign_page, is_folder=False)


def save_page(html: str, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a page to a file; a page of discreet that is there is replaced if ``overwrite``."""
    return place_for(path, PAGE, overwrite=overwrite).put(lambda aside: aside.write_text(html, encoding="utf-8"))


def json_text(value: Any) -> str:
    """A JSON document as it is written to files."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True)
class ReportFolder:
    """A kind of folder that holds a report.

    Parameters
    ----------
    name
        In messages: "report", "risk report".
    record
        The JSON file by which such a folder is recognized.
    files
        Given the content of the record, the paths of all other files. May raise ``KeyError``, ``TypeError`` or
        ``ValueError`` for a record of something else.

    Examples
    --------
    >>> import tempfile
    >>> notes = ReportFolder("notes", "notes.json", lambda record: [f"{name}.txt" for name in record["names"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = notes.save(Path(folder, "mine"), {"notes.json": json_text({"names": ["a"]}), "a.txt": "A"})
    ...     print(sorted(path.name for path in saved.iterdir()), notes.kind.foreign(saved))
    ['a.txt', 'notes.json'] None
    """

    name: str
    record: str
    files: Callable[[Any], Iterable[str]]

    @property
    def kind(self) -> Kind:
        """How ``common.replacing`` recognizes such a folder."""
        return Kind(self.name, self._foreign)

    def save(self, folder: str | Path, contents: Mapping[str, str | bytes], *, overwrite: bool = False) -> Path:
        """Write files into a folder, by their paths in it.

        What is there already is replaced only if it is the same kind of report, and only if ``overwrite``.
        """
        return place_for(folder, self.kind, overwrite=overwrite).put(lambda aside: _write(aside, contents))

    def _foreign(self, folder: Path) -> str | None:
        try:
            files = {self.record, *self.files(read_json(folder / self.record))}
        except (OSError, ValueError, KeyError, TypeError):
            return f"it has no {self.record} of a {self.name}"
        return strangers(folder, files)


def _write(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    folder.mkdir()
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
