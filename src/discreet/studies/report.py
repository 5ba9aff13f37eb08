"""What a study found: tables, charts and a few paragraphs, to print, to read in a browser and to keep."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import ReleaseError, UsageError
from discreet.studies.cells import file_name, numeric, plain, readable, words
from discreet.studies.charts import Chart
from discreet.studies.page import Page, svg

__all__ = ["Chart", "Progress", "StudyReport"]

Progress = Callable[[float, str], None]
"""Told the share that is done, from 0 to 1, and what is being done."""

PAGE, RECORD = "report.html", "report.json"


@dataclass(frozen=True, eq=False)
class StudyReport:
    """A published experiment, run again.

    Parameters
    ----------
    name, title
        Which study.
    source
        The publication.
    setting
        What it was run on and with, JSON-like.
    tables
        Tables under their headings, in order.
    charts
        Charts, in order.
    findings
        What came out, in paragraphs; every number in them is from this run.

    Examples
    --------
    >>> cups = {"Cups": pl.DataFrame({"cups": [3]})}
    >>> report = StudyReport("tea", "Tea", "A book", {"seed": 1}, cups, (), ("Three cups.",))
    >>> report.to_dict()["tables"]
    {'Cups': [{'cups': 3}]}
    """

    name: str
    title: str
    source: str
    setting: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    charts: tuple[Chart, ...]
    findings: tuple[str, ...]

    def __post_init__(self) -> None:
        for names in ([chart.name for chart in self.charts], [file_name(heading) for heading in self.tables]):
            if len(set(names)) < len(names):
                raise UsageError(f"two tables or two charts of the study {self.name!r} have the same name.")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it; what is not a number is null."""
        return {
            "study": self.name,
            "title": self.title,
            "source": self.source,
            "setting": plain(self.setting),
            "findings": list(self.findings),
            "tables": {heading: plain(table.to_dicts()) for heading, table in self.tables.items()},
            "charts": {chart.name: chart.to_dict() for chart in self.charts},
        }

    def html(self) -> str:
        """One page with everything on it, and nothing loaded from elsewhere."""
        return self._page({chart.name: svg(chart.altair()) for chart in self.charts}).html()

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the report into a folder: a page, a JSON document, tables as CSV, charts as SVG.

        It is made aside and renamed, so that it is there whole or not at all. What is there already is replaced only if
        it is a report, and only if ``overwrite``.
        """
        target = Path(folder)
        if target.exists() and not overwrite:
            raise ReleaseError(f"{target} is there already.", remedy="Choose another folder, or overwrite=True.")
        if target.exists() and not (target / RECORD).is_file():
            raise ReleaseError(f"{target} is there already and is no report.", remedy="Choose another folder.")
        pictures = {chart.name: svg(chart.altair()) for chart in self.charts}
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as aside:
                made = Path(aside) / "report"
                self._write(made, pictures)
                if target.exists():
                    target.rename(Path(aside) / "replaced")
                shutil.move(made, target)
        except OSError as error:
            raise ReleaseError(f"cannot write {target}: {error.strerror or error}.") from error
        return target

    def _write(self, folder: Path, pictures: Mapping[str, str]) -> None:
        for part in (folder, folder / "tables", folder / "charts"):
            part.mkdir()
        self._page(pictures).save(folder / PAGE)
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        (folder / RECORD).write_text(text + "\n", encoding="utf-8")
        for heading, table in self.tables.items():
            table.write_csv(folder / "tables" / f"{file_name(heading)}.csv")
        for name, picture in pictures.items():
            (folder / "charts" / f"{name}.svg").write_text(picture, encoding="utf-8")

    def _page(self, pictures: Mapping[str, str]) -> Page:
        page = Page(self.title, self.source)
        page.heading("What it shows")
        for finding in self.findings:
            page.text(finding)
        for chart in self.charts:
            page.picture(pictures[chart.name])
        for heading, table in self.tables.items():
            page.heading(heading)
            page.table(table.columns, readable(table), numbers=numeric(table))
        page.heading("Setting")
        page.table(["", "value"], [(name, words(value)) for name, value in self.setting.items()])
        return page
